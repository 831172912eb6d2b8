// The screen and the keys; answers.js, which comes before in the same script, keeps the answers.

// ---------------------------------------------------------------- what is on the screen

let arrived = location.hash; // the address whose view is on the screen

function showProgress() {
  const rated = count - unrated().length;
  $("bar").value = rated;
  $("count").textContent = t("{rated} of {count} rated", { rated, count });
  if (at !== null) document.title = `${t("Task {number} of {count}", { number: at + 1, count })}, ${t("rating form of {rater}", { rater: data.rater })}`;
}

function showText(node, text, side) {
  node.textContent = text;
  node.lang = side.lang;
  node.dir = side.dir;
}

function showTask() {
  const task = data.tasks[at];
  const sides = data.languages[task.language];
  $("task-heading").textContent = t("Task {number} of {count}", { number: at + 1, count });
  showText($("title"), task.title, sides.source);
  showText($("source-body"), task.source, sides.source);
  for (const name of data.texts) {
    const text = task[name];
    showText($(`${name}-body`), text || t("(This text is empty.)"), text ? sides.output : document.documentElement);
  }
  $("title").hidden = !task.title;
  $("source").hidden = !task.title && !task.source;
  for (const button of document.querySelectorAll("button.whole")) fold(button);
  showAnswers();
  $("previous").disabled = at === 0;
}

function showAnswers() {
  const answer = answers[at];
  data.criteria.forEach((criterion, number) => {
    for (const radio of document.getElementsByName(`c${number}`)) radio.checked = radio.value === answer.scores[number];
    const field = $(`c${number}n`);
    if (field) {
      field.value = answer.scores[number];
      sayError(field, "");
    }
    showState(number);
  });
  if ($("comment").value !== answer.comment) $("comment").value = answer.comment;
  mark();
}

function showState(number) {
  const given = Boolean(answers[at].scores[number]);
  $(`c${number}`).classList.toggle("answered", given);
  const clear = $(`c${number}`).querySelector(".clear");
  if (clear) clear.hidden = !given;
}

// A text longer than its place can be opened whole.
function fold(button, open = false) {
  const text = $(`${button.dataset.of}-text`);
  text.classList.toggle("open", open);
  text.scrollTop = 0;
  button.hidden = !open && text.scrollHeight <= text.clientHeight + 4;
  button.setAttribute("aria-expanded", String(open));
  button.textContent = open ? t("Show less") : t("Show the whole text");
}

function showTasks() {
  const left = unrated();
  $("summary").textContent = left.length
    ? t("{rated} of {tasks} rated on every question, {left} still to do.", { rated: count - left.length, tasks: tasks(count), left: left.length })
    : data.served ? t("All these tasks are rated.") : t("All tasks are rated. Download your answers and send the file back.");
  const times = answers.filter((answer, place) => isRated(place) && answer.seconds > 0).map(({ seconds }) => seconds);
  const middle = times.sort((one, other) => one - other)[Math.floor(times.length / 2)];
  const minutes = Math.max(1, Math.round((middle * left.length) / 60));
  $("pace").textContent =
    left.length && times.length >= 5 ? t("At your pace so far, about {minutes} min are left.", { minutes }) : "";
  $("first-unrated").hidden = !left.length;
  if (left.length) $("first-unrated").href = `#task-${left[0] + 1}`;
  on.tasks(left.length);
  fill(
    $("list"),
    ...data.tasks.map((_, place) => {
      const line = document.createElement("li");
      const words = `${t("Task {number}", { number: place + 1 })}, ${stateWords[state(place)]}`;
      line.append(make("a", place + 1, { href: `#task-${place + 1}`, class: `mark ${state(place)}`, "aria-label": words }));
      return line;
    }),
  );
}

function showGuidelines() {
  const left = unrated();
  const begun = answers.some((answer, place) => answered(place) || answer.comment);
  $("start").textContent = !begun ? t("Start") : left.length ? t("Go on with task {number}", { number: left[0] + 1 }) : t("See all tasks");
  $("start").href = !left.length ? "#tasks" : `#task-${left[0] + 1}`;
}

function show() {
  tick();
  const found = /^#task-(\d+)$/.exec(location.hash);
  at = found && count ? Math.min(Math.max(Number(found[1]), 1), count) - 1 : null;
  const view = at !== null ? "task" : location.hash === "#tasks" ? "tasks" : "guidelines";
  for (const name of VIEWS) $(`view-${name}`).hidden = name !== view;
  if (at !== null) $("to-rating").href = `#task-${at + 1}`;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === (location.hash || "#guidelines")) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = t("Rating form of {rater}", { rater: data.rater });
  ({ guidelines: showGuidelines, task: showTask, tasks: showTasks })[view]();
  showProgress();
  return view;
}

function arrive() {
  arrived = location.hash;
  const view = show();
  saveSoon();
  scrollTo(0, 0);
  $(`${view}-heading`).focus({ preventScroll: true });
}

// The view changes at once: the event of the address comes later, and a key pressed before it would be the old task's.
function go(place) {
  location.hash = place < count ? `#task-${place + 1}` : "#tasks";
  if (location.hash !== arrived) arrive();
}

function goToUnrated() {
  const left = unrated();
  if (!left.length) go(count);
  else if (left.length === 1 && left[0] === at) moveOn();
  else go(left.find((place) => place > at) || left[0]);
}

// ---------------------------------------------------------------- answering

const fieldsetOf = (node) => node && node.closest("fieldset");
const openQuestions = () => data.criteria.map((_, number) => number).filter((number) => !answers[at].scores[number]);

// The question that digits answer: the one with the focus, else the first without an answer.
function current() {
  const focused = fieldsetOf(document.activeElement);
  const open = openQuestions();
  return focused ? Number(focused.id.slice(1)) : open.length ? open[0] : null;
}

function mark() {
  if (at === null) return;
  const number = current();
  for (const fieldset of document.querySelectorAll("fieldset")) fieldset.classList.toggle("here", fieldset.id === `c${number}`);
}

// From a question to the next without an answer, or to the button that leads on.
function moveOn(from = -1) {
  const open = openQuestions();
  const number = [...open.filter((one) => one > from), ...open][0];
  const target = number === undefined ? $("next") : $(`c${number}`).querySelector("input");
  target.focus({ preventScroll: true });
  (fieldsetOf(target) || target).scrollIntoView({ block: "nearest" });
}

function setScore(number, score) {
  if (answers[at].scores[number] === score) return;
  answers[at].scores[number] = score;
  showState(number);
  changed();
}

function sayError(field, words) {
  $(field.getAttribute("aria-describedby")).textContent = words;
  if (words) field.setAttribute("aria-invalid", "true");
  else field.removeAttribute("aria-invalid");
}

function readNumber(field, number) {
  const criterion = data.criteria[number];
  const blankField = !field.value && !field.validity.badInput;
  const fits = allowed(criterion, field.value);
  const wanted = criterion.low === null ? t("Write a number.") : t("Write a number from {low} to {high}.", criterion);
  sayError(field, fits || blankField ? "" : wanted);
  setScore(number, fits ? field.value : "");
}

function chooseByDigit(digit) {
  const number = current();
  if (number === null) {
    tell(t("Every question is answered. Go to a question with Tab to change its answer."));
    return;
  }
  const { keys, values } = data.criteria[number];
  const place = keys.indexOf(digit);
  if (place < 0) {
    tell(values.length ? t("No answer has the key {digit} here.", { digit }) : t("Write a number in the field of this question."));
    return;
  }
  $(`c${number}l${place}`).checked = true;
  setScore(number, values[place]);
  moveOn(number);
}

function tell(words) {
  $("told").textContent = words;
}

function toggleKeys() {
  $("keys").open = !$("keys").open;
  if ($("keys").open) $("keys").querySelector("summary").focus();
}

const shortcuts = new Map([
  ["n", () => go(at + 1)],
  ["Enter", () => go(at + 1)],
  ["p", () => at && go(at - 1)],
  ["u", goToUnrated],
  ["?", toggleKeys],
  ["؟", toggleKeys],
]);

// What a key writes; where that is no Latin letter or digit, what stands on the key in that place elsewhere.
function keyName(event) {
  if (event.key.length > 1) return event.key;
  if (/[a-z0-9?]/i.test(event.key) || event.shiftKey) return event.key.toLowerCase();
  const place = /^(?:Key([NPU])|Digit(\d)|Numpad(\d))$/.exec(event.code);
  return place ? place.slice(1).find(Boolean).toLowerCase() : event.key;
}

function onKey(event) {
  alive = performance.now();
  if (at === null || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const node = event.target;
  if (node.matches("textarea")) {
    if (event.key === "Escape") $("task-heading").focus();
    return;
  }
  if (node.matches("input[type=number]")) {
    if (event.key !== "Enter") return;
    event.preventDefault();
    moveOn(current());
    return;
  }
  if (event.key === "Enter" && node.matches("a, button, summary")) return;
  const name = keyName(event);
  const action = /^[0-9]$/.test(name) ? () => chooseByDigit(name) : shortcuts.get(name);
  if (!action) return;
  event.preventDefault();
  tell("");
  action();
}

// ---------------------------------------------------------------- wiring

data.criteria.forEach((criterion, number) => {
  for (const radio of document.getElementsByName(`c${number}`)) radio.addEventListener("change", () => setScore(number, radio.value));
  if (!criterion.values.length) $(`c${number}n`).addEventListener("input", (event) => readNumber(event.target, number));
});
for (const button of document.querySelectorAll("button.clear")) {
  button.addEventListener("click", () => {
    setScore(Number(button.dataset.of), "");
    showAnswers();
    fieldsetOf(button).querySelector("input").focus();
  });
}
for (const button of document.querySelectorAll("button.whole")) {
  button.addEventListener("click", () => fold(button, button.getAttribute("aria-expanded") !== "true"));
}
$("questions").addEventListener("submit", (event) => event.preventDefault());
$("comment").addEventListener("input", (event) => {
  answers[at].comment = event.target.value;
  changed();
});
$("previous").addEventListener("click", () => go(at - 1));
$("next").addEventListener("click", () => go(at + 1));
$("unrated").addEventListener("click", goToUnrated);
document.addEventListener("keydown", onKey);
for (const kind of ["focusin", "focusout", "change"]) document.addEventListener(kind, () => setTimeout(mark));
for (const kind of ["pointerdown", "pointermove", "wheel", "touchstart", "scroll"]) {
  document.addEventListener(kind, () => (alive = performance.now()), { capture: true, passive: true });
}
setInterval(tick, 1000);
addEventListener("hashchange", () => {
  if (location.hash !== arrived) arrive();
});
document.addEventListener("visibilitychange", () => {
  tick();
  if (document.hidden) save();
});
addEventListener("pagehide", save);
addEventListener("beforeunload", (event) => {
  save();
  if (!unsent) return;
  event.preventDefault();
  event.returnValue = "";
});
// The same form in another tab: its answers are the newer ones.
addEventListener("storage", (event) => {
  if (event.key !== KEY || !event.newValue) return;
  restore(event.newValue);
  show();
});

try {
  restore(localStorage.getItem(KEY));
  on.restored();
} catch {
  storing = false; // a browser may forbid even to look; saving says so
}
save();
show();
document.body.dataset.ready = "";
