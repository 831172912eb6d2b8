"""Runs of `metal diff` and `metal gate`: run.toml, raters.jsonl, warnings.txt, tables/, report.html."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metal.data.text import (
    capital,
    count,
    coverage,
    estimate,
    p_value,
    percent,
    percent_change,
    recorded,
    share,
    signed,
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
    Margins,
)
from metal.questions.audit.run import HEAD, JUDGE
from metal.runs.columns import Column, Tables, with_the_rest
from metal.runs.parts import again
from metal.runs.run import NOTED, WARNS, Run, VerdictLine

DESCRIBED: Tables = {
    "drift": with_the_rest(
        (
            *HEAD,
            Column("judge", "judge", below=lambda row: f"before: {row['before']}" * (row["before"] != row["judge"])),
            Column("says", "says", capital, below=lambda row: row["why"]),
            Column("agreement_before", "agreement before", percent),
            Column("agreement_after", "agreement now", percent, direction="higher"),
            Column("difference", "change of agreement", percent_change, interval=True, direction="higher"),
            Column("difference_p_adjusted", "p, corrected", p_value),
            Column("mean_before", "mean before", share),
            Column("mean_after", "mean now", share),
            Column("mean_change", "change of the mean", signed, interval=True),
            Column("mean_change_p_adjusted", "p, corrected", p_value),
            Column("flips", "other answers", percent),
            Column("floor", "when asked again before", percent),
            Column("excess_flips_p_adjusted", "p, corrected", p_value),
            Column("coverage_before", "coverage before", coverage),
            Column("coverage_after", "coverage now", coverage, direction="higher"),
            Column("coverage_change_p_adjusted", "p, corrected", p_value),
            Column("outputs", "outputs", count, below=lambda row: f"{count(row['sources'])} sources"),
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


@dataclass(frozen=True, repr=False)
class DiffRun(Run):
    """Judges before and after: tables `drift` and `signature`."""

    command = "diff"
    described = DESCRIBED

    def _check(self, folder: Path) -> None:
        margins = self.manifest["settings"]["margins"]
        if not isinstance(margins, dict) or set(margins) != set(vars(Margins())):
            wrong = f"settings.margins is {margins!r}, not a number of each of {', '.join(vars(Margins()))}"
            raise DataError(folder / "run.toml", wrong, again(self.command))

    @property
    def margins(self) -> Margins:
        """What was declared beforehand."""
        return Margins(**self.manifest["settings"]["margins"])

    @property
    def baseline(self) -> str:
        """What the judges are compared with."""
        return str(self.manifest["settings"]["baseline"])

    def remarks(self) -> Iterator[VerdictLine]:
        """Whether the judge is what it was."""
        for row in self.records("drift"):
            change = f"agreement with people changed by {estimate(row, 'difference', percent_change)}"
            line = f"{row['says']} beside {self.baseline}: {row['why'] or change}"
            weight = WARNS if row["says"] in FAILED else NOTED
            yield VerdictLine(row["judge"], row["language"], row["criterion"], line, weight)

    def ranked(self) -> list[dict[str, Any]]:
        """The rows, those that failed first, and of these the greatest change."""
        order = (WORSE, DIFFERENT, UNDECIDED, BETTER, EQUIVALENT)
        rows = self.records("drift")
        return sorted(rows, key=lambda row: (order.index(row["says"]), -abs(row[row["by"]] if row["by"] else 0)))


@dataclass(frozen=True, repr=False)
class GateRun(DiffRun):
    """Judges on anchors, within margins that were declared beforehand."""

    command = "gate"

    @property
    def changed(self) -> list[dict[str, Any]]:
        """The parts of the signature that should be the same and are not."""
        return self.records("signature", says=CHANGED)

    @property
    def verdict(self) -> str:
        """worse, different, undecided or equivalent: of all languages together."""
        says = [row["says"] for row in self.ranked()]
        if WORSE in says:
            return WORSE
        if DIFFERENT in says or self.changed:
            return DIFFERENT
        return UNDECIDED if UNDECIDED in says else EQUIVALENT
