"""README: one page, whose commands and programs run and whose picture is of today's page.

`python -m tests.test_readme` takes the picture anew.
"""

from __future__ import annotations

import html
import re
import tempfile
from pathlib import Path

import pytest

import metal
from tests import pages
from tests.browser import FLAGS, chromium

README = pages.ROOT / "README.md"
PICTURE = pages.ROOT / "docs" / "images" / "audit.png"
SIZE = {"width": 1200, "height": 564}  # to the end of the matrix


def page_of_mlqe(folder: Path) -> Path:
    """The page that the picture is of."""
    metal.audit(pages.ROOT / "datasets" / "mlqe").save(folder / "mlqe")
    return folder / "mlqe" / "report.html"


def test_it_is_one_page_whose_links_are_right() -> None:
    text = README.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    linked = re.findall(r"\]\(([^)]+)\)", text)
    assert [path for path in linked if not (pages.ROOT / path).is_file()] == []


@pytest.mark.slow
def test_what_it_shows_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = pages.run(README, tmp_path, None, monkeypatch)
    assert {"openai:gpt-4o-mini/simple", "mine"} < set(names["audit"].judges["judge"])
    assert (tmp_path / "runs" / "audit" / "report.html").is_file()


@pytest.mark.slow
def test_its_commands_are_its_functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row of the table of commands beside functions runs, both ways."""
    rows = re.findall(
        r"^\| `(metal [^`]+)` \| `([^`]+)` \|$",
        README.read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )
    both = "".join(
        f"```bash\n{command}\n```\n\n```python\nimport metal\n\n{call}\n```\n\n"
        for command, call in rows
    )
    page = tmp_path / "rows.md"
    page.write_text(f"<!-- has: datasets/demo -->\n\n{both}", encoding="utf-8")
    assert len(rows) > 3
    pages.run(page, tmp_path, None, monkeypatch)


def test_the_picture_is_of_todays_page(tmp_path: Path) -> None:
    """Its words are the headline of the page. Where that has changed: python -m tests.test_readme,
    and the words.
    """
    [words] = re.findall(
        r"!\[(.*?)\]\(docs/images/audit\.png\)", README.read_text(encoding="utf-8")
    )
    [headline] = re.findall(
        r"<h1[^>]*>(.*?)</h1>", page_of_mlqe(tmp_path).read_text(encoding="utf-8"), flags=re.DOTALL
    )
    assert " ".join(html.unescape(re.sub("<[^>]+>", "", headline)).split()) == words
    assert PICTURE.stat().st_size < 200_000


if __name__ == "__main__":
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        page = browser.new_page(viewport=SIZE)
        page.goto(page_of_mlqe(Path(folder)).as_uri())
        page.screenshot(path=PICTURE)
        browser.close()
