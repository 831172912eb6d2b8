// ---------------------------------------------------------------- answers out and in, of a form that is a file

function download() {
  tick();
  const url = URL.createObjectURL(new Blob([fileText()], { type: "application/json" }));
  const link = make("a", "", { href: url, download: data.file });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
  unsent = false;
  save();
  $("unfinished").hidden = true;
  $("sent").textContent = t("{file} was given to your browser to save. Find it among your downloads and send it back.", { file: data.file });
}

const fileText = () => `${JSON.stringify(answersFile(), null, 1)}\n`;

function askToDownload() {
  const left = unrated().length;
  if (!left) {
    download();
    return;
  }
  $("sent").textContent = "";
  $("unfinished").hidden = false;
  $("unfinished").querySelector("p").textContent =
    t(left === 1 ? "1 of {tasks} is not rated on every question." : "{left} of {tasks} are not rated on every question.", { left, tasks: tasks(count) }) + ` ${t("You can download what there is, and go on and download again later.")}`;
}

let before = null; // what was here before a file was loaded

async function load(file) {
  const problem = (words) => fill($("loading"), make("p", words, { class: "error" }));
  let found;
  try {
    found = JSON.parse(await new Response(file).text());
  } catch {
    problem(t("This is not an answers file. Choose the file that you downloaded."));
    return;
  }
  if (!found || found.metal !== "answers" || found.version !== 1 || !Array.isArray(found.answers)) {
    problem(t("This is not an answers file of a form like this one."));
  } else if (found.rater !== data.rater || found.dataset !== data.dataset) {
    problem(t("This file is not yours: it is by {theirs}, this form is for {yours}.", { theirs: `${found.rater} (${found.dataset})`, yours: `${data.rater} (${data.dataset})` }));
  } else {
    before = { answers: JSON.parse(JSON.stringify(answers)), unsent };
    sayLoaded(adopt(found));
  }
}

function sayLoaded({ taken, unknown, refused }) {
  changed();
  save();
  showTasks();
  const words = [t("Answers to {tasks} were loaded.", { tasks: tasks(taken) })];
  if (unknown) words.push(t("Not in this form, and left out: {tasks}.", { tasks: tasks(unknown) }));
  if (refused) words.push(t("Scores left out because they are not on the scale: {number}.", { number: refused }));
  fill($("loading"), make("p", words.join(" ")));
  $("undo").hidden = false;
}

function undo() {
  ({ answers, unsent } = before);
  $("undo").hidden = true;
  fill($("loading"), make("p", t("Your answers are as they were before.")));
  save();
  showTasks();
  showProgress();
}

$("download").addEventListener("click", askToDownload);
$("anyway").addEventListener("click", download);
$("by-hand").addEventListener("toggle", () => ($("as-text").value = $("by-hand").open ? fileText() : ""));
$("load").addEventListener("change", async (event) => {
  if (event.target.files.length) await load(event.target.files[0]);
  event.target.value = "";
});
$("undo").addEventListener("click", undo);
on.tasks = () => {
  $("unfinished").hidden = true;
  $("by-hand").open = false;
};
on.change = () => ($("sent").textContent = "");

