"use strict";
// What people and models wrote goes into the page as text only, never as markup.
document.documentElement.classList.add("js");
const $ = (id) => document.getElementById(id);

function make(tag, text, attributes = {}) {
  const node = document.createElement(tag);
  if (text !== undefined && text !== null) node.textContent = text;
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined) node.setAttribute(key, value);
  return node;
}

// ---------------------------------------------------------------- the packed part of the page

let unpacked = null;
function unpack() {
  unpacked ??= (async () => {
    const bytes = Uint8Array.from(atob($("texts").textContent), (char) => char.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return JSON.parse(await new Response(stream).text());
  })();
  return unpacked;
}

// ---------------------------------------------------------------- what is folded, signatures, downloads

// A link into something folded opens it; paper has everything open.
function reveal(node) {
  for (let fold = node?.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
}
const linked = () => $(decodeURIComponent(location.hash.slice(1)).split("?")[0]);
addEventListener("hashchange", () => reveal(linked()));
reveal(linked());
addEventListener("beforeprint", () => {
  for (const fold of document.querySelectorAll("details.fold, details.judge")) {
    fold.removeAttribute("name");
    fold.open = true;
  }
});

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = make("textarea", text, { readonly: "", class: "hidden" });
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
}
for (const button of document.querySelectorAll("button.copy")) {
  button.addEventListener("click", async () => {
    const words = button.firstChild.textContent;
    await copy(button.dataset.copy);
    button.firstChild.textContent = "Copied";
    setTimeout(() => (button.firstChild.textContent = words), 1500);
  });
}
for (const button of document.querySelectorAll("button.csv")) {
  button.addEventListener("click", async () => {
    const { csv } = await unpack();
    const url = URL.createObjectURL(new Blob([csv[button.dataset.csv]], { type: "text/csv;charset=utf-8" }));
    const link = make("a", "", { href: url, download: `${button.dataset.csv}.csv` });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  });
}

