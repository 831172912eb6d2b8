"""The documents: every command, program and output of a page is run, in order, in a folder of its
own.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from metal.raters.judges.providers import find_provider
from tests import pages

DOCS = pages.ROOT / "docs"
# The guide is run by tests/test_guide.py, in prepared folders.
OTHERS = [
    path
    for path in sorted(DOCS.rglob("*.md"))
    if path.parent.name != "guide" and path.name != "gallery.md"
]


def _page(path: Path) -> object:
    marks = (
        []
        if all((pages.ROOT / name).exists() for name in pages.wanted(path))
        else [pytest.mark.reference]
    )
    return pytest.param(path, marks=marks, id=str(path.relative_to(DOCS)))


@pytest.mark.slow
@pytest.mark.parametrize("page", [_page(path) for path in OTHERS])
def test_page(
    page: Path, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    published = request.node.get_closest_marker("reference")
    reference = request.getfixturevalue("reference") if published else None
    pages.run(page, tmp_path, reference, monkeypatch)


@pytest.mark.parametrize(
    "text",
    [
        "```console\n$ echo 1\n2\n```\n",
        "```bash\nmetal audit missing.csv\n```\n",
        "```python\n>>> 1 + 1\n3\n```\n",
        "```python\nassert False\n```\n",
    ],
)
def test_what_is_not_true_is_found(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(AssertionError):
        pages.run(page, tmp_path, None, monkeypatch)


def test_what_is_true_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        '```csv title="a/b.csv"\nx\n1\n2\n```\n```console\n$ cat a/b.csv\nx\n...\n2\n$ metal audit'
        " missing.csv\nmetal: missing.csv: no such ...\n```\n"
        + "```python\nx = 1\n```\n1. Indented\n\n    ```python\n    >>> x + 1\n    2\n    ```\n"
    )
    assert pages.run(page, tmp_path, None, monkeypatch)["x"] == 1


@pytest.mark.slow
def test_the_gallery_has_what_it_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages.run(DOCS / "gallery.md", tmp_path, None, monkeypatch)
    text = (DOCS / "gallery.md").read_text(encoding="utf-8")
    linked = re.findall(r'href="([^"]+)"', text)
    pictures = re.findall(r'href="[^"]+"><img src="([^"]+)"', text)
    assert len(pictures) == len(linked)
    assert all((DOCS / path).stat().st_size < 70_000 for path in pictures)
    assert len(linked) == len({path for path in linked if (tmp_path / "site" / path).is_file()}) > 3


@pytest.mark.slow
def test_the_site_builds_strictly_and_fetches_nothing(tmp_path: Path) -> None:
    """Every link is right, every page is in the navigation, and no page loads anything from
    elsewhere.
    """
    pytest.importorskip("zensical", reason="zensical is not installed: make test installs it")
    shutil.copytree(DOCS, tmp_path / "docs")
    shutil.copy(pages.ROOT / "mkdocs.yml", tmp_path)
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert not built.returncode, re.sub(r"\x1b\[[\d;]*m", "", built.stdout + built.stderr)
    navigation = re.findall(r"[\w/-]+\.md", (pages.ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert sorted(navigation) == sorted(
        path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")
    )
    for path in (tmp_path / "site").rglob("*.html"):
        loads = r'<(?:script|img|link|iframe)[^>]+(?:src|href)="(?:https?:)?//[^"]+'
        assert not re.findall(loads, path.read_text(encoding="utf-8")), path.name


def test_every_extra_is_on_the_page_about_installing_and_no_page_names_another() -> None:
    declared = tomllib.loads((pages.ROOT / "pyproject.toml").read_text("utf-8"))["project"][
        "optional-dependencies"
    ]
    page = (DOCS / "how-to" / "install.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `([a-z]+)` \|", page, flags=re.MULTILINE) == [*declared]
    for path in [*DOCS.rglob("*.md"), pages.ROOT / "README.md"]:
        for package, extras in re.findall(
            r"pip install (?:-q )?'?([\w.-]+)\[([\w,]+)\]", path.read_text("utf-8")
        ):
            assert {*extras.split(",")} <= {*declared}, path
            assert package == "metal-eval" or path.name == "install.md", path


def test_a_workflow_on_a_page_installs_what_its_judge_needs() -> None:
    """The libraries of the tests' own environment would hide what a fresh one lacks."""
    shown = 0
    for path in DOCS.rglob("*.md"):
        for block in pages.blocks(path):
            steps = re.findall(r"- run: (.+)$", block.text, flags=re.MULTILINE)
            installed = " ".join(step for step in steps if "pip install" in step)
            for provider in re.findall(r"metal (?:judge|generate) .*?(\w[\w-]+):", " ".join(steps)):
                shown += 1
                extra = find_provider(provider).extra
                assert re.search(rf"metal(-eval)?\[{extra}\]", installed), path
    assert shown >= 2
