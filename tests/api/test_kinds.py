"""A kind of run is one record: what METAL's own have, an outside package's has too."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner

import metal
from metal.cli import metal as command_line
from metal.runs.kinds import kind_of, kinds, load, meaning
from metal.show.pages import Page
from metal.show.result import Result
from tests import DEMO, ROOT
from tests.api import reference
from tests.conftest import offer

EXAMPLE = ROOT / "examples/top_marks"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The example package, as if it were installed."""
    monkeypatch.syspath_prepend(str(EXAMPLE))
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    (entry,) = re.findall(
        r'^(top-marks) = "(.*)"$', (EXAMPLE / "pyproject.toml").read_text(), re.MULTILINE
    )
    offer(site, "metal-top-marks", "metal.kinds", " = ".join(entry) + "\n")
    yield
    for name in ("top_marks", "TopMarks"):  # METAL keeps what was asked for
        vars(metal).pop(name, None)


def terminal(*words: str) -> str:
    run = CliRunner().invoke(command_line, list(words))
    assert run.exit_code == 0, run.output
    return run.stdout


@pytest.mark.usefixtures("installed")
def test_a_kind_of_another_package_is_everywhere(tmp_path: Path) -> None:
    run = metal.top_marks(DEMO, least=5)
    assert isinstance(run, metal.TopMarks)
    assert {"top_marks", "TopMarks"} <= {*dir(metal), *metal.__all__}
    assert "top-marks" in terminal("--help").partition("\nRank:\n")[2].partition("\n\n")[0]
    assert "Leave out raters with fewer ratings." in terminal("top-marks", "--help")
    folder = str(tmp_path / "run")
    first = terminal("top-marks", str(DEMO), "--out", folder)
    assert "gives the best mark in" in first
    assert "What to do next" in first
    assert type(metal.open_run(folder)) is metal.TopMarks
    assert "gives the best mark in" in (tmp_path / "run/report.html").read_text()
    again = ("top-marks", str(DEMO), "--out", folder)
    assert "Best marks" in terminal(*again, "-v")
    assert json.loads(terminal(*again, "--json"))["top_marks"][0].keys() >= {"rater", "top"}
    assert "| best mark |" in terminal(*again, "--markdown").replace("  ", " ")
    terminal("report", folder, "--latex", str(tmp_path / "latex"))
    assert "best mark" in next((tmp_path / "latex").glob("*.tex")).read_text()
    pages = reference.pages()
    assert "share of them at the best level of the criterion" in pages["tables.md"]
    assert "metal top-marks" in pages["verbs.md"]
    assert any("TopMarks" in text for name, text in pages.items() if "python" in name)
    assert "gives the best mark in" in terminal("ls", str(tmp_path))


def test_without_the_package_there_is_no_trace_of_it() -> None:
    assert not hasattr(metal, "top_marks")
    assert "top-marks" not in terminal("--help")
    assert not [command for command in kinds() if "marks" in command]


def test_a_broken_package_takes_nothing_else_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(tmp_path, "metal-broken", "metal.kinds", "broken = not_there:KIND\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "broken (not_there:KIND) cannot be loaded" in " ".join(terminal("--help").split())
    assert "audit" in kinds()
    assert metal.audit


def test_type_checkers_see_what_is_there() -> None:
    """The imports that only they make are the names that Python finds."""
    tree = ast.parse((ROOT / "metal/__init__.py").read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    seen = {
        (statement.module, alias.name)
        for statement in block.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    missing = sorted(set(metal.__all__) - {name for _, name in seen})
    lines = [f"from {getattr(metal, name).__module__} import {name} as {name}" for name in missing]
    assert lines == [], "add these to the imports for type checkers in metal/__init__.py"
    assert {name for _, name in seen} - set(metal.__all__) == set(), "remove these there"
    for module, name in seen:
        assert getattr(import_module(str(module)), name) is getattr(metal, name)


@pytest.mark.parametrize("command", kinds())
def test_every_kind_has_its_parts(command: str) -> None:
    kind = kind_of(command)
    run = load(kind.run)
    assert issubclass(run, Result)
    assert run.command == command
    if not isinstance(run.shown, property):  # which of its tables, each run decides
        assert run.shown in run.described
    assert isinstance(load(kind.page), Page)
    assert getattr(metal, kind.name) is load(kind.function)
    assert meaning(kind, "language")
