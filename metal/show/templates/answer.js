
// ---------------------------------------------------------------- the verdict that was chosen

const LEVELS =
  "Intervals are 95%. Shares of a person's figures, differences to a person, leads over a constant, and the figures in the reason have 90% intervals (5% beyond each end). " +
  "Without one person: the lowest and highest value when each person is left out in turn.";
const SETTLES =
  "Somebody who knows can settle whether it is right as often as a person, with 40 outputs on which they differ: ";
const CLASSES =
  " Class by class: judge and each person in turn are compared with the others' most frequent answer, so nobody reaches 100% where people differ.";

function table([caption, heads, rows]) {
  const node = make("table", null, { class: "small" });
  node.append(make("caption", caption));
  const head = make("tr");
  for (const words of heads) head.append(make("th", words, { scope: "col" }));
  node.append(make("thead"), make("tbody"));
  node.tHead.append(head);
  for (const cells of rows) {
    const line = make("tr");
    cells.forEach(([words, below], place) => {
      const cell = place ? make("td", words, { class: "n" }) : make("th", words, { scope: "row" });
      if (below) cell.append(make("span", below, { class: "below" }));
      line.append(cell);
    });
    node.tBodies[0].append(line);
  }
  const scroll = make("div", null, { class: "scroll", tabindex: "0", role: "region", "aria-label": caption });
  scroll.append(node);
  return scroll;
}

// The list of reasons is for those without this script: with it, a link to a verdict opens it above.
const reasons = new Map([...document.querySelectorAll(".reasons li")].map((reason) => [reason.id, reason.textContent]));
for (const reason of document.querySelectorAll(".reasons li")) reason.removeAttribute("id");

// Where an app shows the page: the address of what can be done about a verdict.
function on(chosen, more = {}) {
  const query = new URLSearchParams({ language: chosen.l, criterion: chosen.c, judge: chosen.j, ...more });
  return `${document.body.dataset.on}?${query}`;
}

// What the matrix itself says of a verdict that has neither details nor a reason on the page.
function unlisted(link) {
  const about = [link.closest("table").dataset.judge, link.closest("tr").cells[0].textContent, link.dataset.of];
  const [verdict, figures] = [...link.querySelectorAll("strong, small")].map((part) => part.textContent);
  return `${about.join(", ")}: ${verdict} (${figures}). The reason is in tables/verdicts.csv.`;
}

async function explain() {
  const place = location.hash.slice(1);
  const link = place.startsWith("why-") && document.querySelector(`a.v[href="#${CSS.escape(place)}"]`);
  for (const other of document.querySelectorAll("a.v[aria-current]")) other.removeAttribute("aria-current");
  const why = $("why");
  if (!link) return;
  link.setAttribute("aria-current", "true");
  reveal(link);
  const listed = reasons.get(place);
  const data = await unpack().catch(() => null);
  const chosen = data?.cells[place];
  const [who, ...said] = (chosen?.r ?? listed ?? unlisted(link)).split(": ");
  const back = make("a", "Back to the cell", { href: link.hash });
  back.addEventListener("click", (event) => {
    event.preventDefault();
    link.scrollIntoView({ block: "center" });
    link.focus({ preventScroll: true });
  });
  why.replaceChildren(make("h2", who), back, make("p", said.join(": ")));
  if (chosen) {
    const figures = make("dl", null, { class: "figures" });
    for (const [title, value, ends] of chosen.f) {
      const pair = make("div");
      const said = make("dd", value);
      if (ends) said.append(make("span", ends, { class: "below" }));
      pair.append(make("dt", title), said);
      figures.append(pair);
    }
    const tables = make("div", null, { class: "tables" });
    tables.append(...chosen.t.map(table));
    const wanted = { language: chosen.l, criterion: chosen.c, who: "judge", judge: chosen.j };
    const items = data.items.filter((item) => matches(data, item, wanted));
    const others = make("ul", null, { class: "notes" });
    others.append(...chosen.o.map((line) => make("li", line)));
    if (chosen.o.length) why.append(make("p", "Other runs say:"), others);
    if (chosen.s) {
      const settles = make("p", SETTLES, { class: "sign" });
      if (document.body.dataset.on) settles.append(make("a", "do it here", { href: on(chosen, { way: "adjudicate" }) }), " or type ");
      settles.append(make("code", chosen.s));
      why.append(settles);
    }
    why.append(figures, make("p", LEVELS + (chosen.t.length ? CLASSES : ""), { class: "soft" }), tables);
    if (document.body.dataset.on) {
      const further = make("p");
      further.append(make("a", "Go on from here: look at its answers, ask a person, ask the judge again", { href: on(chosen) }));
      why.append(further);
    }
    if (items.length) {
      const typical = chosen.y.map((output) => items.find((item) => item.o === output));
      const cards = typical.filter(Boolean).map((item) => card(data, item));
      const all = items.length < chosen.n ? `${items.length.toLocaleString("en")} of its ${chosen.n.toLocaleString("en")} disagreements` : "All its disagreements";
      why.append(make("h3", "Typical disagreements"), ...cards, make("a", all, { href: `#disagreements?${new URLSearchParams(wanted)}` }));
    } else {
      const none = "Judge and people agree on every fully rated output.";
      const elsewhere = `None of the ${chosen.n.toLocaleString("en")} outputs on which judge and people differ is on this page; they are in disagreements.parquet.`;
      why.append(make("p", chosen.n ? elsewhere : none, { class: "soft" }));
    }
  } else {
    const where = "In the folder of this run, tables/judges.csv has its figures and disagreements.parquet its answers.";
    why.append(make("p", where, { class: "soft" }));
  }
  link.closest(".scroll").after(why);
  why.hidden = false;
  const { top } = why.getBoundingClientRect();
  if (top < 0 || top > innerHeight - 200) why.scrollIntoView();
}
addEventListener("hashchange", explain);

// ---------------------------------------------------------------- the matrix, turned and sorted

const ORDER = ["good", "once", "some", "none", "split", "open"];
const heads = (matrix) => [...matrix.tHead.rows[0].cells].slice(1);

function redraw(matrix, columns, rows, cell) {
  const line = matrix.tHead.rows[0];
  line.replaceChildren(line.cells[0], ...columns.map((words) => make("th", words, { scope: "col", role: "columnheader" })));
  const body = rows.map((words, down) => {
    const row = make("tr", null, { role: "row" });
    row.append(make("th", words, { scope: "row", role: "rowheader" }));
    columns.forEach((of, across) => {
      const td = cell(down, across);
      td.firstElementChild?.setAttribute("data-of", of);
      row.append(td);
    });
    return row;
  });
  matrix.tBodies[0].replaceChildren(...body);
}

function parts(matrix) {
  const rows = [...matrix.tBodies[0].rows];
  return [heads(matrix).map((head) => head.textContent), rows.map((row) => row.cells[0].textContent), rows.map((row) => [...row.cells].slice(1))];
}

function turn(matrix) {
  const [columns, rows, cells] = parts(matrix);
  redraw(matrix, rows, columns, (down, across) => cells[across][down]);
}

// Rows and columns whose verdicts are better come first; of equal ones, those that keep more of what a person knows.
function sort(matrix) {
  const [columns, rows, cells] = parts(matrix);
  const mean = (numbers, none) => (numbers.length ? numbers.reduce((sum, number) => sum + number, 0) / numbers.length : none);
  const worth = (list) => {
    const links = list.map((td) => td.firstElementChild).filter(Boolean);
    const places = links.map((link) => ORDER.indexOf(link.classList[1]));
    const shares = links.map((link) => parseFloat(link.dataset.kept)).filter(Number.isFinite);
    return [mean(places, ORDER.length), -mean(shares, -Number.MAX_VALUE)];
  };
  const ranked = (names, of) => {
    const worths = names.map((_, place) => worth(of(place)));
    const order = names.map((_, place) => place);
    return order.sort((one, other) => worths[one][0] - worths[other][0] || worths[one][1] - worths[other][1]);
  };
  const down = ranked(rows, (row) => cells[row]);
  const across = ranked(columns, (column) => cells.map((row) => row[column]));
  redraw(matrix, across.map((place) => columns[place]), down.map((place) => rows[place]), (row, column) => cells[down[row]][across[column]]);
}

for (const [button, work] of [["turn", turn], ["sort", sort]]) {
  $(button)?.addEventListener("click", () => document.querySelectorAll("table.answers").forEach(work));
}
explain();
