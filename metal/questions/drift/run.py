"""The run folders of `metal gate`, with a baseline or with a gate: run.toml, raters.jsonl,
warnings.txt, tables/, report.html.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from metal.data.languages import language_name
from metal.data.text import (
    MINUS,
    capital,
    count,
    coverage,
    estimate,
    p_value,
    percent,
    percent_change,
    plural,
    printable,
    recorded,
    share,
    signed,
    without_isolates,
)
from metal.errors import DataError
from metal.questions.drift.compute import (
    BETTER,
    CHANGED,
    DIFFERENT,
    DRIFT,
    EQUIVALENT,
    SIGNATURE,
    UNDECIDED,
    WORSE,
    reason,
)
from metal.questions.drift.settings import Margins
from metal.runs.columns import HEAD, JUDGE, Column, Row, Tables, with_the_rest
from metal.runs.parts import again
from metal.runs.run import NOTED, WARNS, VerdictLine
from metal.show.result import Result

DESCRIBED: Tables = {
    "drift": with_the_rest(
        (
            *HEAD,
            Column(
                "judge",
                "judge",
                below=lambda row: f"before: {row['before']}" * (row["before"] != row["judge"]),
            ),
            Column("says", "says", capital, below=lambda row: row["why"]),
            Column("agreement_before", "agreement before", percent),
            Column("agreement_after", "agreement now", percent, direction="higher"),
            Column(
                "difference",
                "change of agreement",
                percent_change,
                interval=True,
                direction="higher",
            ),
            Column("difference_p_adjusted", "p, corrected", p_value),
            Column("mean_before", "mean before", share),
            Column("mean_after", "mean now", share),
            Column("mean_change", "change of the mean", signed, interval=True),
            Column("mean_change_p_adjusted", "p, corrected", p_value),
            Column("flips", "other answers", percent),
            Column("floor", "when asked again at the baseline", percent),
            Column("excess_flips_p_adjusted", "p, corrected", p_value),
            Column("coverage_before", "coverage before", coverage),
            Column("coverage_after", "coverage now", coverage, direction="higher"),
            Column("coverage_change_p_adjusted", "p, corrected", p_value),
            Column(
                "outputs", "outputs", count, below=lambda row: f"{count(row['sources'])} sources"
            ),
            Column("needed", "needed", count),
        ),
        DRIFT,
    ),
    "signature": with_the_rest(
        (
            JUDGE,
            Column("part", "part"),
            Column("before", "before", recorded),
            Column("after", "now", recorded),
            Column("says", "says", capital),
        ),
        SIGNATURE,
    ),
}
FAILED = (WORSE, DIFFERENT)


MOST_NAMED = 3


@dataclass(frozen=True, repr=False)
class Diff(Result):
    """Judges before and after, by language and criterion.

    changed_answers: the outputs on which a judge gives another answer than before
    (metal.questions.drift.changed); they are not saved.
    """

    changed_answers: pd.DataFrame = field(default_factory=pd.DataFrame, compare=False)

    shown = "drift"
    command = "diff"
    described = DESCRIBED

    def _check(self, folder: Path) -> None:
        margins = self.manifest["settings"]["margins"]
        if not isinstance(margins, dict) or set(margins) != set(vars(Margins())):
            wrong = (
                f"settings.margins is {margins!r}, not a number for each of"
                f" {', '.join(vars(Margins()))}"
            )
            raise DataError(folder / "run.toml", wrong, again(self.command))

    @property
    def margins(self) -> Margins:
        """The margins that were declared beforehand."""
        return Margins(**self.manifest["settings"]["margins"])

    @property
    def baseline(self) -> str:
        """What the judges are compared with."""
        return str(self.manifest["settings"]["baseline"])

    def remarks(self) -> Iterator[VerdictLine]:
        """Lines on whether the judge has changed."""
        for row in self.records("drift"):
            change = (
                f"agreement with people changed by {estimate(row, 'difference', percent_change)}"
            )
            line = f"{row['says']} beside {self.baseline}: {row['why'] or change}"
            weight = WARNS if row["says"] in FAILED else NOTED
            yield VerdictLine(row["judge"], row["language"], row["criterion"], line, weight)

    def ranked(self) -> list[dict[str, Any]]:
        """The rows, those that failed first, and among these the largest change first."""
        order = (WORSE, DIFFERENT, UNDECIDED, BETTER, EQUIVALENT)
        rows = self.records("drift")
        return sorted(
            rows,
            key=lambda row: (order.index(row["says"]), -abs(row[row["by"]] if row["by"] else 0)),
        )

    def assert_not_worse(
        self, margin: float | None = None, *, allow_undecided: bool = False
    ) -> None:
        """Raise AssertionError unless every judge is shown not to agree with people less, or answer
        less often, beyond the margin.

        margin: a change that does not matter; by default the comparison's margin. allow_undecided:
        pass also if nothing can be shown, so that only a change shown to be worse fails.
        """
        declared = self.margins
        margin = declared.agreement if margin is None else margin
        worse: list[Row] = []
        undecided: list[Row] = []
        for row in self.ranked():
            if (
                row["says"] == WORSE
                and row["coverage_change_p_adjusted"] < declared.alpha
                and row["coverage_change"] < 0
            ):
                worse.append(row)
            elif not (row["difference_low"] > -margin and row["coverage_change_low"] > -margin):
                lower = row["difference"] < 0 and row["difference_p_adjusted"] < declared.alpha
                (worse if lower else undecided).append(row)
        parts = [f"worse than {self.baseline}: {self._named(worse)}"] if worse else []
        if undecided and not allow_undecided:
            parts.append(
                f"not shown to be within {percent(margin)} of {self.baseline}:"
                f" {self._named(undecided)}"
            )
        if parts:
            raise AssertionError("; ".join(parts).replace(MINUS, "-"))

    def _named(self, rows: list[Row]) -> str:
        changes = [
            f"{row['judge']} in {language_name(row['language'])} on"
            f" {self.criterion(row['criterion'])} (agreement with "
            f"people {percent(row['agreement_after'])}, was {percent(row['agreement_before'])}, "
            f"{estimate(row, 'difference', percent_change)}, {plural(row['outputs'], 'output')}"
            f"{'; ' + reason(row, 'coverage_change') if row['coverage_change'] < 0 else ''})"
            for row in rows[:MOST_NAMED]
        ]
        more = [f"{len(rows) - MOST_NAMED} more"] if len(rows) > MOST_NAMED else []
        return ", ".join([*changes, *more])


@dataclass(frozen=True, repr=False)
class Gate(Diff):
    """Judges on anchors, within margins that were declared beforehand. `exit_code`: 0, 1, or 3 if
    undecided.
    """

    shown = "drift"
    command = "gate"

    def more_facts(self) -> Mapping[str, Any]:
        """Further facts for JSON, in addition to the run's tables."""
        return {"verdict": self.verdict}

    @property
    def changed(self) -> list[dict[str, Any]]:
        """The parts of the signature that differ although they should be the same."""
        return self.records("signature", says=CHANGED)

    @property
    def verdict(self) -> str:
        """The verdict over all languages: worse, different, undecided or equivalent."""
        says = [row["says"] for row in self.ranked()]
        if WORSE in says:
            return WORSE
        if DIFFERENT in says or self.changed:
            return DIFFERENT
        return UNDECIDED if UNDECIDED in says else EQUIVALENT

    @property
    def exit_code(self) -> int:
        """0 equivalent, 1 worse or different, 3 undecided."""
        return {EQUIVALENT: 0, UNDECIDED: 3}.get(self.verdict, 1)

    def junit(self) -> str:
        """The result as JUnit's XML, with a test for each judge, criterion and language, and for
        each signature.
        """
        from xml.etree.ElementTree import Element, SubElement, indent, tostring

        suite = Element("testsuite", name=printable(self.name))
        for row in self.records("drift"):
            case = SubElement(
                suite,
                "testcase",
                classname=printable(f"{row['judge']}.{row['criterion']}"),
                name=row["language"],
            )
            passed = row["says"] in (EQUIVALENT, BETTER)
            if not passed:
                needs = (
                    f"; needs about {count(row['needed'])} outputs"
                    if row["says"] == UNDECIDED
                    else ""
                )
                message = without_isolates(printable(f"{row['says']}: {row['why']}{needs}"))
                SubElement(
                    case,
                    "failure" if row["says"] in FAILED else "error",
                    type=row["says"],
                    message=message,
                )
        changes = {row["judge"]: row for row in self.changed}
        for judge in dict.fromkeys(row["judge"] for row in self.records("signature")):
            case = SubElement(suite, "testcase", classname=printable(judge), name="signature")
            if change := changes.get(judge):
                message = printable(
                    f"{change['part']} changed from {change['before']} to {change['after']}"
                )
                SubElement(case, "failure", type="different", message=message)
        cases = list(suite)
        suite.set("tests", str(len(cases)))
        for kind, name in (("failure", "failures"), ("error", "errors")):
            suite.set(name, str(sum(case.find(kind) is not None for case in cases)))
        indent(suite)
        return tostring(suite, encoding="unicode", xml_declaration=True) + "\n"
