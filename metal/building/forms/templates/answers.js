"use strict";
// What people and models wrote goes into the page as text only, never as markup. The language is that of 2018, since
// one newer sign would leave an old phone with a page that does nothing.
const $ = (id) => document.getElementById(id);
const data = JSON.parse($("data").textContent);
const count = data.tasks.length;
const KEY = `metal-form:${JSON.stringify([data.dataset, data.rater, data.digest])}`;
const IDLE = 120000; // ms without a sign of life after which no time is counted
const MOST = 3600; // seconds that one task can take
const VIEWS = ["guidelines", "task", "tasks"];

let answers = data.tasks.map(blank);
let at = null; // place of the task on the screen
let unsent = false; // whether something was answered since the last download
let storing = true;
let later = 0;

// What a form that is a file, or one on a server, does besides.
const on = { save() {}, change() {}, tasks() {}, restored() {} };

function blank() {
  return { scores: data.criteria.map(() => ""), comment: "", seconds: 0 };
}

function make(tag, text, attributes = {}) {
  const node = document.createElement(tag);
  node.textContent = text;
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
}

function fill(node, ...children) {
  node.textContent = "";
  node.append(...children);
}

// A text of the form in the rater's language, or in English where it has no translation.
const t = (text, values = {}) =>
  Object.entries(values).reduce((words, [name, value]) => words.split(`{${name}}`).join(value), data.words[text] || text);
const tasks = (number) => (number === 1 ? t("1 task") : t("{number} tasks", { number }));

// ---------------------------------------------------------------- answers

const answered = (place) => answers[place].scores.filter(Boolean).length;
const isRated = (place) => data.criteria.every(({ optional }, number) => optional || answers[place].scores[number]);
const unrated = () => answers.map((_, place) => place).filter((place) => !isRated(place));
const state = (place) => (isRated(place) ? "rated" : answered(place) ? "part" : "");
const stateWords = { rated: t("rated"), part: t("rated in part"), "": t("not rated") };

function allowed(criterion, score) {
  if (typeof score !== "string" || !score.trim()) return false;
  if (criterion.values.length) return criterion.values.includes(score);
  const number = Number(score);
  return Number.isFinite(number) && (criterion.low === null || (number >= Number(criterion.low) && number <= Number(criterion.high)));
}

function answersFile() {
  const entries = answers.map(({ scores, comment, seconds }, place) => ({
    task: data.tasks[place].task,
    scores: Object.fromEntries(data.criteria.map(({ name }, number) => [name, scores[number]])),
    comment,
    seconds: Math.round(seconds),
  }));
  return { metal: "answers", version: 1, dataset: data.dataset, rater: data.rater, answers: entries };
}

// Takes over what a file says; a task that it leaves blank keeps what is here. Counts what was of no use.
function adopt(found) {
  const places = new Map(data.tasks.map(({ task }, place) => [task, place]));
  const result = { taken: 0, unknown: 0, refused: 0 };
  for (const entry of found.answers) {
    const place = places.get(entry && entry.task);
    if (place === undefined) {
      result.unknown += 1;
      continue;
    }
    const given = new Map(Object.entries(entry.scores || {}).filter(([, score]) => score !== ""));
    const comment = typeof entry.comment === "string" ? entry.comment : "";
    const answer = answers[place];
    let taken = Boolean(comment);
    data.criteria.forEach((criterion, number) => {
      if (!given.has(criterion.name)) return;
      const fits = allowed(criterion, given.get(criterion.name));
      if (fits) answer.scores[number] = given.get(criterion.name);
      taken = taken || fits;
      result.refused += !fits;
    });
    answer.comment = comment || answer.comment;
    if (Number.isFinite(entry.seconds)) answer.seconds = Math.min(Math.max(entry.seconds, answer.seconds), MOST);
    result.taken += taken;
  }
  return result;
}

// ---------------------------------------------------------------- kept on this device

function warn() {
  $("warning").hidden = false;
  $("warning").textContent =
    t("This browser cannot keep your answers on this device. Do not close or reload this page before you have downloaded them; to go on later, load the downloaded file.");
  $("saved").textContent = t("Not saved on this device");
}

const clock = () => new Date().toLocaleTimeString(data.locale, { hour: "2-digit", minute: "2-digit" });

function save() {
  clearTimeout(later);
  later = 0;
  try {
    localStorage.setItem(KEY, JSON.stringify({ ...answersFile(), unsent }));
    storing = true;
    $("warning").hidden = true;
    if (!data.served) $("saved").textContent = t("Saved on this device, {time}", { time: clock() });
  } catch {
    storing = false;
    if (!data.served) warn();
  }
  on.save();
}

function saveSoon() {
  if (!later) later = setTimeout(save, 400);
}

function restore(text) {
  try {
    const found = JSON.parse(text);
    answers = data.tasks.map(blank);
    adopt(found);
    unsent = found.unsent === true;
  } catch {
    // Nothing was kept, or nothing that can be read: the form starts afresh.
  }
}

function changed() {
  unsent = true;
  on.change();
  showProgress();
  saveSoon();
}

// ---------------------------------------------------------------- time spent, while the page is looked at

let ticked = performance.now();
let alive = ticked;

function tick() {
  const now = performance.now();
  const passed = Math.min(now - ticked, 2000) / 1000; // a sleeping computer spends no time on a task
  ticked = now;
  if (at === null || document.hidden || now - alive > IDLE) return;
  answers[at].seconds = Math.min(answers[at].seconds + passed, MOST);
}
