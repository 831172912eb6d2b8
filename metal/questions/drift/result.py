"""What `metal.diff` and `metal.gate` return."""

from __future__ import annotations

from metal.api.results import Result
from metal.data.languages import language_name
from metal.data.text import (
    MINUS,
    count,
    estimate,
    percent,
    percent_change,
    plural,
    printable,
    without_isolates,
)
from metal.questions.drift.compute import BETTER, EQUIVALENT, UNDECIDED, WORSE, reason
from metal.runs.columns import Row
from metal.questions.drift.run import FAILED, DiffRun, GateRun

MOST_NAMED = 3


class Diff(Result, DiffRun):
    """Judges before and after, by language and criterion."""

    shown = "drift"

    def assert_not_worse(self, margin: float | None = None, *, allow_undecided: bool = False) -> None:
        """Raise AssertionError unless no judge agrees less with people or answers less than before, beyond the margin.

        margin: what does not matter; that of the comparison if None. allow_undecided: pass also where it cannot be
        shown, so that only what is shown to be worse fails.
        """
        given = self.margins
        margin = given.agreement if margin is None else margin
        worse: list[Row] = []
        undecided: list[Row] = []
        for row in self.ranked():
            if row["says"] == WORSE and row["coverage_change_p_adjusted"] < given.alpha and row["coverage_change"] < 0:
                worse.append(row)
            elif not (row["difference_low"] > -margin and row["coverage_change_low"] > -margin):
                lower = row["difference"] < 0 and row["difference_p_adjusted"] < given.alpha
                (worse if lower else undecided).append(row)
        parts = [f"worse than {self.baseline}: {self._named(worse)}"] if worse else []
        if undecided and not allow_undecided:
            parts.append(f"not shown to be within {percent(margin)} of {self.baseline}: {self._named(undecided)}")
        if parts:
            raise AssertionError("; ".join(parts).replace(MINUS, "-"))

    def _named(self, rows: list[Row]) -> str:
        words = [
            f"{row['judge']} in {language_name(row['language'])} on {self.criterion(row['criterion'])} (agreement with "
            f"people {percent(row['agreement_after'])}, was {percent(row['agreement_before'])}, "
            f"{estimate(row, 'difference', percent_change)}, {plural(row['outputs'], 'output')}"
            f"{'; ' + reason(row, 'coverage_change') if row['coverage_change'] < 0 else ''})"
            for row in rows[:MOST_NAMED]
        ]
        more = [f"{len(rows) - MOST_NAMED} more"] if len(rows) > MOST_NAMED else []
        return ", ".join([*words, *more])


class Gate(Result, GateRun):
    """Judges on anchors, within margins that were declared beforehand. `exit_code`: 0, 1, or 3 where undecided."""

    shown = "drift"

    @property
    def exit_code(self) -> int:
        """0 equivalent, 1 worse or different, 3 undecided."""
        return {EQUIVALENT: 0, UNDECIDED: 3}.get(self.verdict, 1)

    def junit(self) -> str:
        """The result as JUnit's XML: a test for each judge, criterion and language, and for each signature."""
        from xml.etree.ElementTree import Element, SubElement, indent, tostring

        suite = Element("testsuite", name=printable(self.name))
        for row in self.records("drift"):
            case = SubElement(
                suite, "testcase", classname=printable(f"{row['judge']}.{row['criterion']}"), name=row["language"]
            )
            passed = row["says"] in (EQUIVALENT, BETTER)
            if not passed:
                needs = f"; needs about {count(row['needed'])} outputs" if row["says"] == UNDECIDED else ""
                words = without_isolates(printable(f"{row['says']}: {row['why']}{needs}"))
                SubElement(case, "failure" if row["says"] in FAILED else "error", type=row["says"], message=words)
        changes = {row["judge"]: row for row in self.changed}
        for judge in dict.fromkeys(row["judge"] for row in self.records("signature")):
            case = SubElement(suite, "testcase", classname=printable(judge), name="signature")
            if change := changes.get(judge):
                words = printable(f"{change['part']} changed from {change['before']} to {change['after']}")
                SubElement(case, "failure", type="different", message=words)
        cases = list(suite)
        suite.set("tests", str(len(cases)))
        for kind, name in (("failure", "failures"), ("error", "errors")):
            suite.set(name, str(sum(case.find(kind) is not None for case in cases)))
        indent(suite)
        return tostring(suite, encoding="unicode", xml_declaration=True) + "\n"
