"use strict";
// A part of a page that changes by itself is asked for again; everything in it is the server's own HTML.
async function again(part) {
  try {
    const reply = await fetch(location.href, { headers: { Accept: "text/html" } });
    const page = new DOMParser().parseFromString(await reply.text(), "text/html");
    const fresh = page.getElementById(part.id);
    if (reply.ok && fresh && !part.contains(document.activeElement)) part.replaceChildren(...fresh.childNodes);
  } catch {
    // The server is away; the next try may reach it.
  }
  setTimeout(again, Number(part.dataset.again), part);
}
for (const part of document.querySelectorAll("[data-again]")) setTimeout(again, Number(part.dataset.again), part);
for (const button of document.querySelectorAll("button[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "Copied";
  });
}
