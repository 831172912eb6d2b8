"""What every page must be: quiet, self-contained, no wider than the window, accessible, harmless,
true to its files.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

import metal

Visiting = Callable[..., Any]
LOOKS = ((390, "dark"), (1280, "light"))
HOSTILE = (
    "<script>window.pwned = 1</script>",
    '"><img src=x onerror="window.pwned = 2">',
    "\u062d\u0643\u0645 \u202e\u0645",
    "x" * 200,
    "=HYPERLINK(1)",
)


def visits(visit: Visiting, page: Path, **options: Any) -> list[Any]:
    """The page on a phone in the dark and on a desk in the light, with everything open that can
    be.
    """
    seen = []
    for width, scheme in LOOKS:
        seen.append(
            visit(page, viewport={"width": width, "height": 900}, color_scheme=scheme, **options)
        )
        seen[-1].page.evaluate(
            "for (const part of document.querySelectorAll('details')) part.open = true"
        )
    return seen


def check_quiet(visit: Visiting, page: Path, *sections: str) -> list[Any]:
    """The page says nothing, loads nothing, runs nothing that it shows, fits, and has these
    sections; its visits.
    """
    both = visits(visit, page)
    for (width, _), seen in zip(LOOKS, both, strict=True):
        assert seen.said == []
        assert seen.requests == [page.resolve().as_uri()]
        assert seen.page.evaluate("window.pwned") is None
        assert (
            seen.page.locator(
                "main img, main b:not(figcaption b, #items b), main [onfocus], main script"
            ).count()
            == 0
        )
        assert seen.page.evaluate("document.documentElement.scrollWidth") == width
        for section in sections:
            assert seen.page.locator(f"#h-{section}").is_visible()
    return both


def check_policy(seen: Any) -> None:
    """What is fetched from elsewhere or added to the page as a script is refused."""
    add = (
        "document.body.append(Object.assign(document.createElement('script'), {textContent:"
        " 'window.ran = true'}))"
    )
    fetch = "fetch('https://example.org/').then(() => 'loaded', (error) => error.constructor.name)"
    assert seen.page.evaluate(fetch) == "TypeError"
    seen.page.evaluate(add)
    assert seen.page.evaluate("window.ran") is None
    assert any("Content Security Policy" in words for words in seen.said)


# The smallest text of the page's charts in CSS pixels as shown, the pairs of their texts that
# overlap, the texts that
# leave their drawing or the page's margins.
CHARTS = """
() => {
  const small = [], meet = [], out = [];
  for (const svg of document.querySelectorAll("svg.ch")) {
    const box = svg.getBoundingClientRect(), scale = box.width / svg.viewBox.baseVal.width;
    const texts = [...svg.querySelectorAll("text")].map((text) => [text, text.getBoundingClientRect()]);
    small.push(...texts.map(([text]) => parseFloat(getComputedStyle(text).fontSize) * scale));
    texts.forEach(([one, a], place) => {
      if (a.left < box.left - 1 || a.right > box.right + 1 || a.left < 10 || a.right > innerWidth - 10) {
        out.push(one.textContent);
      }
      for (const [other, b] of texts.slice(place + 1)) {
        const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (wide > 3 && high > 5) meet.push(one.textContent + " | " + other.textContent);
      }
    });
  }
  return [Math.min(...small), meet, out];
}"""  # noqa: E501


def check_charts(visit: Visiting, page: Path) -> None:
    """The text of every chart is 12 pixels or more as shown; none lies on another or is cut at an
    edge.
    """
    for seen in visits(visit, page):
        smallest, meet, out = seen.page.evaluate(CHARTS)
        assert smallest >= 12
        assert meet == [], meet
        assert out == [], out


# Removes rows and marks of charts that are like one before in all but their texts: Axe takes its
# time for each.
ALIKE = """
() => {
  const before = new Set();
  for (const part of document.querySelectorAll("tbody tr, svg.ch :is(text, path, line, circle, rect)")) {
    const look = part.outerHTML.replace(/>[^<]+</g, "><").replace(/ (?!class)[\\w-]+="[^"]*"/g, "");
    if (before.has(look) && part.parentElement.childElementCount > 1) part.remove();
    before.add(look);
  }
}"""  # noqa: E501


def check_page(visit: Visiting, page: Path, *sections: str) -> None:
    """Quiet, with these sections, and accessible."""
    check_accessible(visit, page, check_quiet(visit, page, *sections))


def check_saved(visit: Visiting, result: Any, folder: Path | str, *sections: str) -> str:
    """Saved, it opens again with the same tables; on its page, with these sections, names are text.
    The page's HTML.
    """
    folder = result.save(folder)
    opened = metal.open_run(folder).tables
    assert opened.keys() == result.tables.keys()
    for name, table in result.tables.items():
        pd.testing.assert_frame_equal(opened[name], table, check_exact=True)
    html = (folder / "report.html").read_text(encoding="utf-8")
    check_names_are_text(html)
    check_page(visit, folder.resolve() / "report.html", *sections)
    return html


def check_accessible(visit: Visiting, page: Path, both: list[Any] | None = None) -> None:
    """Axe finds nothing; both: visits of the page, which then show less of what is alike."""
    from axe_playwright_python.sync_playwright import Axe

    for seen in both or visits(visit, page):
        seen.page.evaluate(ALIKE)
        violations = (
            Axe().run(seen.page, options={"resultTypes": ["violations"]}).response["violations"]
        )
        assert not violations, [
            (violation["id"], violation["nodes"][0]["html"]) for violation in violations
        ]


def check_names_are_text(html: str) -> None:
    """No hostile name is markup, none holds a character that a page must not."""
    assert html.count("<script") == 2
    for markup in ("window.pwned = 1</script>", "<img", "<b>g", "<svg onload"):
        assert markup not in html
    # closed isolates, for names from right to left
    outside = re.sub("\u2068[^\u2068\u2069]*\u2069", "", html)
    assert not re.search(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", outside
    )


def unpacked(blob: str) -> dict[str, Any]:
    """What a page carries for its script; blob: as it stands there, or the whole page."""
    blob = blob.split('id="texts">')[-1].split("<")[0]
    payload: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(blob), -15))
    return payload


def check_csv(run: Path, missing: frozenset[str] = frozenset()) -> None:
    """The page's CSV files are those of the folder, byte for byte; missing: tables that the page is
    not drawn from.
    """
    csv = unpacked((run / "report.html").read_text(encoding="utf-8"))["csv"]
    assert set(csv) == {file.stem for file in (run / "tables").glob("*.csv")} - missing
    for name, content in csv.items():
        assert content.encode() == (run / "tables" / f"{name}.csv").read_bytes()
