"""The documents: every command, program and output of a page is run, in order, in a folder of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import pages

DOCS = pages.ROOT / "docs"


def _page(path: Path) -> object:
    marks = [] if all((pages.ROOT / name).exists() for name in pages.wanted(path)) else [pytest.mark.reference]
    return pytest.param(path, marks=marks, id=str(path.relative_to(DOCS)))


@pytest.mark.parametrize("page", [_page(path) for path in sorted(DOCS.rglob("*.md"))])
def test_page(page: Path, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_what_is_not_true_is_found(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(AssertionError):
        pages.run(page, tmp_path, None, monkeypatch)


def test_what_is_true_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        '```csv title="a/b.csv"\nx\n1\n2\n```\n'
        "```console\n$ cat a/b.csv\nx\n...\n2\n$ metal audit missing.csv\nmetal: missing.csv: no such ...\n```\n"
        + "```python\nx = 1\n```\n1. Indented\n\n    ```python\n    >>> x + 1\n    2\n    ```\n"
    )
    assert pages.run(page, tmp_path, None, monkeypatch)["x"] == 1
