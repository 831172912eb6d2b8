"use strict";
// Comforts only: every page works without this script.
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches?.("input,select,textarea")) return;
  const target = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (!target) return;
  event.preventDefault();
  if (target.matches("a")) target.click();
  else target.focus();
});

// The rows that have all words typed; the words stay in the address, so that it can be sent to others.
for (const field of document.querySelectorAll("[data-filter]")) {
  const input = field.querySelector("input");
  const rows = [...document.querySelectorAll(field.dataset.filter)].map((row) => [
    row,
    (row.dataset.searched ?? row.textContent).toLowerCase(),
  ]);
  const show = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const [row, text] of rows) {
      row.hidden = !words.every((word) => text.includes(word));
      if (!row.hidden) shown += 1;
    }
    field.querySelector("output").textContent = words.length ? `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")}` : "";
  };
  const typed = () => {
    show();
    history.replaceState(null, "", input.value ? `#q=${encodeURIComponent(input.value)}` : location.pathname);
  };
  field.hidden = false;
  if (location.hash.startsWith("#q=")) input.value = decodeURIComponent(location.hash.slice(3));
  input.addEventListener("input", typed);
  show();
}
