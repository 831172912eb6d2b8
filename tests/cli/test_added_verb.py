"""A verb of another package: a function with an entry point is `metal.NAME` and `metal NAME`."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
from click.testing import CliRunner

import metal
from metal.cli import metal as command_line
from tests.installed import offer

SOURCE = '''
from typing import Annotated

from metal.api.options import Option, StrPath


def longest(data: StrPath, *, most: Annotated[int, Option("How many to show.", "-n", least=1)] = 1) -> str:
    """Show the longest outputs of `data`.

    Returns their ids.
    """
    import metal

    outputs = metal.read(data).outputs.values()
    return " ".join(output.output for output in sorted(outputs, key=lambda output: -len(output.text))[:most])
'''


@pytest.fixture(autouse=True)
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package with one verb is installed."""
    (tmp_path / "longest_outputs.py").write_text(SOURCE)
    offer(tmp_path, "longest-outputs", "metal.verbs", "longest = longest_outputs:longest\n")
    monkeypatch.syspath_prepend(str(tmp_path))


def test_it_is_a_function_and_a_command() -> None:
    demo = Path(metal.__file__).parents[1] / "datasets" / "demo"
    assert len(metal.longest(demo, most=2).split()) == 2
    run = CliRunner().invoke(command_line, ["longest", str(demo), "-n", "2"])
    assert run.output.split() == metal.longest(demo, most=2).split()
    assert "longest" in CliRunner().invoke(command_line, ["--help"]).output
    shown = CliRunner().invoke(command_line, ["longest", "--help"]).output
    assert "How many to show." in shown
    assert "outputs of DATA" in shown
    assert inspect.isfunction(metal.longest)
