"""What other runs say of a judge stands in the verdicts that it bears on: of the runs that were
given, of no others.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import metal
from metal.cli import metal as command_line
from metal.data.files import bundled
from metal.errors import UsageError
from metal.questions.audit import answer
from metal.questions.bias.run import LanguageBias
from metal.runs.run import DISQUALIFIES, VerdictLine
from tests.report.checks import Visiting, check_names_are_text
from tests.saying import tells

DEMO, GOOD = bundled("datasets/demo"), "constructed:good"
HERE = {"judge": GOOD, "language": "hi", "criterion": "hallucinations"}
FEW: dict[str, Any] = {"criteria": "hallucinations", "resamples": 100}


class Blind(LanguageBias):
    """A run with a line on all criteria, one on a judge that was not audited, one that would be
    markup.
    """

    def remarks(self) -> Iterator[VerdictLine]:
        yield VerdictLine(
            GOOD, "hi", "", "blind to swapped outputs: A .58 [.50, .66]", DISQUALIFIES
        )
        yield VerdictLine("other", "hi", "", "blind")
        yield VerdictLine(
            GOOD, "en", "hallucinations", '<script>window.pwned = 1</script>"><img src=x>'
        )


@cache
def bias() -> LanguageBias:
    return metal.bias_language(DEMO, criteria="hallucinations")


@pytest.mark.slow
def test_lines_stand_in_the_verdicts_they_bear_on(tmp_path: Path, visit: Visiting) -> None:
    folder = bias().save(tmp_path / "bias")
    out = [
        "audit",
        str(DEMO),
        str(folder),
        "-c",
        "hallucinations",
        "--resamples",
        "100",
        "--out",
        str(tmp_path / "run"),
    ]
    printed = CliRunner().invoke(command_line, out, env={"COLUMNS": "80"})
    assert printed.exit_code == 0, printed.output
    lean = bias().records("language_bias", **HERE)[0]
    line = (
        f"leans +{lean['lean']:.2f} of 1 [+{lean['lean_low']:.2f}, +{lean['lean_high']:.2f}]"
        " towards better"
    )
    assert line in " ".join(printed.output.split())
    run = metal.open_run(tmp_path / "run")
    (row,) = run.records("remarks", **HERE)
    assert row["line"] == f"{line}, with quality held equal"
    assert (row["weight"], row["question"], row["run"]) == ("warns", "bias language", "bias")
    # one for each, and what is blind
    assert len(run.tables["remarks"]) >= len(run.tables["verdicts"])
    assert "bias language" in {beside["question"] for beside in run.manifest["beside"]}
    html = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert f"Bias language: {line}, with quality held equal." in html
    page = visit(tmp_path / "run" / "report.html").page
    page.evaluate(f"location.hash = '{_place(html)}'")
    page.locator("#why li").wait_for()
    assert line in page.locator("#why li").inner_text().replace("\N{MINUS SIGN}", "-")
    as_json = CliRunner().invoke(command_line, [*out, "--json"])
    assert (
        line
        in next(
            row for row in json.loads(as_json.stdout)["remarks"] if HERE.items() <= row.items()
        )["line"]
    )


def _place(html: str) -> str:
    """The anchor of the verdict on hallucinations in Hindi."""
    return html.split(f">{GOOD}, Hallucinations, Hindi")[0].rsplit('id="', 1)[1].rstrip('"')


def test_no_run_no_line() -> None:
    assert "remarks" not in metal.audit(DEMO, **FEW).tables


def test_the_verdicts_stay_what_they_are() -> None:
    assert metal.audit(DEMO, bias(), **FEW).verdicts.equals(metal.audit(DEMO, **FEW).verdicts)


def test_what_disqualifies_comes_first_and_what_bears_on_nothing_is_counted() -> None:
    given = bias()
    blind = Blind(
        given.name, given.manifest, given.criteria, given.raters, given.tables, given.warnings
    )
    run = metal.audit(DEMO, given, blind, **FEW)
    first = next(iter(answer.cards(run)))
    assert first.title == "Other runs say"
    assert "hallucinations in Hindi: blind to swapped outputs: A .58 [.50, .66]" in first.words
    assert [
        warning for warning in run.warnings if tells(warning, "1 line", "audited here: other hi")
    ]
    html = run.report()
    assert "blind to swapped outputs" in html
    check_names_are_text(html)


def test_other_data_and_another_prompt_are_said() -> None:
    given = bias()
    elsewhere = {**given.data, "digest": "0123456789ab", "identity": "demo@0123"}
    moved = replace(given, manifest={**given.manifest, "datasets": [elsewhere]})
    run = metal.audit(DEMO, moved, **FEW)
    assert [
        warning for warning in run.warnings if "is of other data (demo@0123, here demo@" in warning
    ]
    assert len(run.tables["remarks"])
    dataset = metal.read(DEMO)
    asked = {
        hash_: replace(
            dataset.raters[GOOD], about={"prompt": "p", "prompt_hash": {"hallucinations": hash_}}
        )
        for hash_ in "ab"
    }
    data = replace(dataset, raters={**dataset.raters, GOOD: asked["a"]})
    run = metal.audit(data, replace(given, raters={**given.raters, GOOD: asked["b"]}), **FEW)
    assert [
        warning
        for warning in run.warnings
        if f"{GOOD} was asked with another prompt there" in warning
    ]
    assert GOOD not in set(run.tables["remarks"]["judge"])


def test_a_result_that_says_nothing_of_judges_is_refused() -> None:
    with pytest.raises(UsageError, match="a result of `metal audit` says nothing of judges"):
        metal.audit(DEMO, metal.audit(DEMO, **FEW))
