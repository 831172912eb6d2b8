// ---------------------------------------------------------------- disagreements

const PAGE = 10;
const filters = $("filters");

function distance(data, item, score) {
  if (score === null || item.p === null) return null;
  if (data.criteria[item.c].nominal) return score === item.p ? 0 : 1;
  return Math.abs(score - item.p);
}

// How far apart the chosen parties are on an item; null where they do not differ.
function difference(data, item, wanted) {
  let largest = null;
  if (wanted.who !== "people") {
    for (const [rater, score] of item.q) {
      const [name, kind] = data.raters[rater];
      if (kind === "person" || (wanted.judge && name !== wanted.judge)) continue;
      const away = distance(data, item, score);
      if (away) largest = Math.max(largest ?? 0, away);
    }
  }
  if (wanted.who !== "judge" && !wanted.judge && item.a !== "all agree") largest = Math.max(largest ?? 0, item.r);
  return largest;
}

function matches(data, item, wanted) {
  if (wanted.language && item.l !== wanted.language) return false;
  if (wanted.criterion && item.c !== wanted.criterion) return false;
  if (wanted.case && item.a !== wanted.case) return false;
  const size = difference(data, item, wanted);
  if (size === null || size < Number(wanted.size || 0)) return false;
  if (!wanted.text) return true;
  const needle = wanted.text.toLowerCase();
  const places = [item.t, item.x, item.y, ...item.q.map((rating) => rating[4])];
  return places.some((place) => data.texts[place].toLowerCase().includes(needle)) || item.o.toLowerCase().includes(needle);
}

function label(data, item, score) {
  if (score === null) return null;
  const level = data.criteria[item.c].levels.find(([value]) => value === score);
  return level && level[1] !== String(score) ? `${score} ${level[1]}` : String(score);
}

const anchor = (item) => `item=${encodeURIComponent(item.c)}/${encodeURIComponent(item.o)}`;

function row(data, item, [rater, score, given, reason, comment]) {
  const [name, kind, group] = data.raters[rater];
  const away = data.criteria[item.c].levels.length && distance(data, item, score) > 0;
  const line = make("tr", null, { class: away ? "away" : undefined, role: "row" });
  const head = make("th", null, { scope: "row" });
  head.append(make("bdi", name));
  const words = score === null ? `no answer: ${reason || "no reason given"}` : label(data, item, score);
  line.append(head, make("td", group && group !== name ? `${kind}, ${group}` : kind), make("td", away ? `${words} ≠` : words));
  line.append(make("td", data.texts[comment], { class: "comment", dir: "auto" }));
  return line;
}

function text(data, item, title, place) {
  const parts = [];
  if (data.texts[place]) {
    parts.push(make("h4", title));
    const body = make("div", data.texts[place], { class: "text", lang: item.l.includes("-") ? undefined : item.l, tabindex: "0" });
    body.dir = data.languages[item.l][1] === "rtl" ? "rtl" : "auto";
    parts.push(body);
  }
  return parts;
}

// Where an app shows the page: the address of an output with the messages and replies about it.
function fully(item) {
  const query = new URLSearchParams({ output: item.o, of: item.c });
  return make("a", "messages and replies", { href: `${document.body.dataset.output}?${query}` });
}

function card(data, item) {
  const node = make("article", null, { id: anchor(item) });
  const title = make("h3");
  title.append(make("span", `${data.criteria[item.c].label}, ${data.languages[item.l][0]}`));
  title.append(make("a", "link to this", { href: `#${anchor(item)}` }));
  let people = "no class (a tie)";
  if (item.p !== null) people = data.criteria[item.c].levels.length ? label(data, item, item.p) : `on average ${Number(item.p.toPrecision(5))}`;
  const facts = make("p", null, { class: "soft" });
  facts.append("people: ", make("b", people), ` (${item.a}) · generator `, make("bdi", item.g), " · output ", make("bdi", item.o));
  if (document.body.dataset.output) facts.append(" · ", fully(item));
  node.append(title, facts);
  if (data.texts[item.t]) node.append(make("h4", "Title"), make("div", data.texts[item.t], { class: "text", dir: "auto" }));
  node.append(...text(data, item, "Source", item.x), ...text(data, item, "Output", item.y));
  const name = `Ratings of ${item.o}, ${data.criteria[item.c].label}`;
  const scroll = make("div", null, { class: "scroll", tabindex: "0", role: "region", "aria-label": name });
  const table = make("table", null, { class: "small" });
  const head = make("tr");
  for (const column of ["rater", "kind", "score", "comment"]) head.append(make("th", column, { scope: "col" }));
  const top = make("thead");
  top.append(head);
  const body = make("tbody");
  for (const rating of item.q) body.append(row(data, item, rating));
  table.append(top, body);
  scroll.append(table);
  node.append(scroll);
  return node;
}

async function browse() {
  let data;
  try {
    data = await unpack();
  } catch {
    $("no-unpacking").hidden = false;
    return;
  }
  const judges = data.raters.filter(([, kind]) => kind !== "person").map(([name]) => name).sort();
  for (const name of judges) filters.elements.judge.append(make("option", name, { value: name }));
  for (const [code, [name]] of Object.entries(data.languages)) filters.elements.language.append(make("option", name, { value: code }));
  for (const [key, criterion] of Object.entries(data.criteria)) filters.elements.criterion.append(make("option", criterion.label, { value: key }));

  let found = [];
  let shown = 0;
  function showMore() {
    for (const item of found.slice(shown, shown + PAGE)) $("items").append(card(data, item));
    shown = Math.min(shown + PAGE, found.length);
    $("more").hidden = shown >= found.length;
    $("found").textContent = found.length
      ? `${found.length.toLocaleString("en")} found, the largest differences first; ${shown.toLocaleString("en")} shown.`
      : "None found; widen the choice.";
  }
  function list(items) {
    found = items;
    shown = 0;
    $("items").replaceChildren();
    showMore();
  }
  const chosen = () => Object.fromEntries([...new FormData(filters)].filter(([, value]) => value !== ""));
  function search() {
    const wanted = chosen();
    const matching = data.items.filter((item) => matches(data, item, wanted));
    const size = (item) => difference(data, item, wanted) / data.criteria[item.c].span;
    const sizes = new Map(matching.map((item) => [item, size(item)]));
    list(matching.sort((one, other) => sizes.get(other) - sizes.get(one)));
  }
  // The address carries the choice, so that it can be sent to others.
  function remember() {
    const wanted = new URLSearchParams(chosen()).toString();
    history.replaceState(null, "", wanted ? `#disagreements?${wanted}` : "#disagreements");
    search();
  }
  function clear() {
    for (const field of filters.elements) if (field.name) field.value = "";
  }
  function follow() {
    const hash = location.hash.slice(1);
    if (hash.startsWith("item=")) {
      const item = data.items.find((one) => anchor(one) === hash || decodeURI(anchor(one)) === hash);
      if (!item) {
        list([]);
        $("found").textContent = "The output of this link is not in the page; look for it in disagreements.parquet.";
        $("disagreements").scrollIntoView();
        return;
      }
      clear();
      const rest = data.items.filter((one) => one !== item && one.o === item.o);
      list([item, ...rest]);
      $("found").textContent = `One output by its link${rest.length ? `, with its ${rest.length} other criteria` : ""}. Clear the choice to see all.`;
      $("items").firstChild.classList.add("here");
      $("items").firstChild.scrollIntoView();
      return;
    }
    const [section, query] = hash.split("?", 2);
    if (section === "disagreements" && query !== undefined) {
      clear();
      const wanted = new URLSearchParams(query);
      for (const field of filters.elements) if (wanted.has(field.name)) field.value = wanted.get(field.name);
      search();
      $("disagreements").scrollIntoView();
      return;
    }
    if ($("items").childElementCount) return;
    search();
    if (hash && $(hash)) $(hash).scrollIntoView(); // the list has moved what comes after it
  }
  filters.addEventListener("submit", (event) => event.preventDefault());
  filters.addEventListener("input", remember);
  filters.addEventListener("reset", () => setTimeout(remember));
  $("more").addEventListener("click", showMore);
  addEventListener("hashchange", follow);
  follow();
  document.body.dataset.ready = "";
}
if (filters) browse();
