"""Verbs and statistics of other packages: `metal.NAME` and `metal NAME`, a figure of every
audit.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import metal
from metal.cli import metal as command_line
from metal.errors import UsageError
from tests import DEMO
from tests.conftest import offer

VERB = '''
from typing import Annotated

from metal.api.options import Option, StrPath


def longest(data: StrPath, *, most: Annotated[int, Option("How many to show.", "-n", least=1)] = 1) -> str:
    """Show the longest outputs of `data`.

    Returns their ids.
    """
    import metal

    outputs = metal.read(data).outputs.values()
    return " ".join(output.output for output in sorted(outputs, key=lambda output: -len(output.text))[:most])
'''  # noqa: E501
STATISTIC = '''
import numpy as np

from metal.auditing.judging import Statistic


def first_class(margins):
    """The share of answers that are the first class."""
    with np.errstate(invalid="ignore"):
        return margins[..., 2, 0] / margins[..., 2, :].sum(axis=-1)


FIRST = Statistic(lambda judged: judged.estimate(first_class), "first class", "The share of <first> answers.")
'''  # noqa: E501


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder where packages are installed."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    return folder


def test_a_verb_is_a_function_and_a_command(site: Path) -> None:
    (site / "longest_outputs.py").write_text(VERB)
    offer(site, "longest-outputs", "metal.verbs", "longest = longest_outputs:longest\n")
    assert len(metal.longest(DEMO, most=2).split()) == 2
    run = CliRunner().invoke(command_line, ["longest", str(DEMO), "-n", "2"])
    assert run.output.split() == metal.longest(DEMO, most=2).split()
    assert "longest" in CliRunner().invoke(command_line, ["--help"]).output
    shown = CliRunner().invoke(command_line, ["longest", "--help"]).output
    assert "How many to show." in shown
    assert "outputs of DATA" in shown
    assert inspect.isfunction(metal.longest)


def test_a_statistic_is_in_tables_page_and_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = metal.read(DEMO)
    judge = metal.judge(
        data, lambda source, output, criterion: 1, name="constant", out=tmp_path / "judge"
    )
    few: dict[str, Any] = {"languages": "en", "criteria": "task_quality", "resamples": 100}
    before = metal.audit(data, judge, **few)
    (tmp_path / "first_class.py").write_text(STATISTIC)
    offer(tmp_path, "first-class", "metal.statistics", "first_share = first_class:FIRST\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    audit = metal.audit(data, judge, **few)
    figure = audit["constant", "en", "task_quality"].first_share
    assert (figure.value, figure.low, figure.high) == (0, 0, 0)
    audit.save(tmp_path / "audit")
    opened = metal.open_run(tmp_path / "audit")
    assert {"first_share", "first_share_low", "first_share_high"} <= set(opened.judges)
    html = (tmp_path / "audit" / "report.html").read_text()
    assert html.count("first class") == 2
    assert "The share of &lt;first&gt; answers." in html
    before.save(tmp_path / "before")
    assert "first class" not in (tmp_path / "before" / "report.html").read_text()


def test_a_statistic_with_the_name_of_a_column_is_refused(site: Path, tmp_path: Path) -> None:
    (site / "first_class.py").write_text(STATISTIC)
    offer(site, "first-class", "metal.statistics", "kappa = first_class:FIRST\n")
    with pytest.raises(UsageError, match=r"first_class:FIRST.*'kappa'"):
        metal.audit(DEMO, metal.judge(DEMO, "majority", out=tmp_path / "judge"), resamples=100)
