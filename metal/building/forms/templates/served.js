// ---------------------------------------------------------------- answers to the server

// What the server has confirmed, by task. All else stays on this device too, and is sent until it is confirmed.
const confirmed = new Map();
const AT_ONCE = 50; // answers in a request
const PATIENCE = [1000, 2000, 5000, 10000, 30000]; // ms to wait after a failure
let failures = 0;
let sending = false;
let refused = false;
let next = 0;
// What is not sent yet is kept under one name for all pages of this person: the tasks of a page change.
const UNSENT = `metal-unsent:${JSON.stringify([data.served.form, data.rater])}`;
let left = []; // unsent answers to tasks that are no longer on the page

const contentOf = ({ scores, comment }) => JSON.stringify([scores, comment]);
const hasContent = ({ scores, comment }) => Boolean(comment) || Object.values(scores).some(Boolean);

function waiting() {
  return answersFile().answers.filter((entry) => {
    const sent = confirmed.get(entry.task);
    return sent === undefined ? hasContent(entry) : sent !== contentOf(entry);
  });
}

function stored() {
  try {
    const kept = JSON.parse(localStorage.getItem(UNSENT));
    return Array.isArray(kept) ? kept.filter((entry) => entry && typeof entry.task === "string" && entry.scores) : [];
  } catch {
    return [];
  }
}

// Keeps what waits on this device. What another tab left there stays, unless it is among those that were sent now.
function keep(sent = []) {
  const own = waiting();
  const contents = new Map(sent.map((entry) => [entry.task, contentOf(entry)]));
  const others = stored().filter((entry) => contents.get(entry.task) !== contentOf(entry) && !own.some(({ task }) => task === entry.task));
  try {
    if (own.length || others.length) localStorage.setItem(UNSENT, JSON.stringify([...others, ...own]));
    else localStorage.removeItem(UNSENT);
  } catch {
    // This browser keeps nothing; what waits is sent as soon as it can be.
  }
}

function sayState() {
  const number = waiting().length;
  unsent = number > 0;
  if (refused) $("saved").textContent = t("Your answers cannot be sent: the study is closed, or your link is no longer valid. They are kept on this device.");
  else if (!number) $("saved").textContent = t("Saved, {time}", { time: clock() });
  else if (failures) $("saved").textContent = t("No connection: {tasks} kept on this device; they will be sent.", { tasks: tasks(number) });
  else $("saved").textContent = t("Saving …");
}

async function send() {
  clearTimeout(next);
  const own = waiting().slice(0, AT_ONCE);
  const entries = own.length ? own : left.slice(0, 1);
  if (sending || refused || !entries.length) {
    sayState();
    return;
  }
  sending = true;
  try {
    const reply = await fetch(data.served.answers, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-CSRF": data.served.csrf },
      body: JSON.stringify({ answers: entries }),
    });
    refused = [401, 403, 410].includes(reply.status);
    if (!own.length && (reply.ok || reply.status === 400)) left.shift(); // what is refused waits for another visit
    if (!reply.ok) throw new Error(String(reply.status));
    for (const entry of entries) confirmed.set(entry.task, contentOf(entry));
    keep(entries);
    failures = 0;
  } catch {
    failures += 1;
  }
  sending = false;
  sayState();
  if ((waiting().length || left.length) && !refused) next = setTimeout(send, failures ? PATIENCE[Math.min(failures, PATIENCE.length) - 1] : 0);
}

async function settled() {
  while (sending) await new Promise((resolve) => setTimeout(resolve, 50));
  await send();
}

on.save = () => {
  keep();
  send();
};
on.tasks = (left) => {
  $("more").hidden = left > 0;
  send();
};
// What the server has counts, but for answers that this device could not send yet.
on.restored = () => {
  const names = new Set(data.tasks.map(({ task }) => task));
  const here = stored();
  answers = data.tasks.map(blank);
  adopt({ answers: data.served.given });
  for (const entry of answersFile().answers) confirmed.set(entry.task, contentOf(entry));
  adopt({ answers: here });
  left = here.filter(({ task }) => !names.has(task));
  unsent = waiting().length > 0;
};
addEventListener("online", send);
for (const button of document.querySelectorAll("form[data-leaves] button")) {
  button.addEventListener("click", async (event) => {
    const form = event.target.closest("form");
    if (form.elements.task) form.elements.task.value = data.tasks[at].task;
    if (!waiting().length || refused) return;
    event.preventDefault(); // what is not sent yet goes first
    await settled();
    if (!waiting().length && form.reportValidity()) form.submit();
  });
}

