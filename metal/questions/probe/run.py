"""A run of `metal probe report`: run.toml, raters.jsonl, warnings.txt, tables/, report.html."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from metal.data.text import UNDEFINED, capital, count, estimate, figure, p_value, percent, signed
from metal.questions.bias.conditions import FALLS, STAYS
from metal.questions.probe.compute import AGAINST, CAPPED, MOVED, NOT_LURED, PROBES, TRENDS
from metal.runs.columns import HEAD, JUDGE, Column, Tables, with_the_rest
from metal.runs.run import DISQUALIFIES, NOTED, WARNS, VerdictLine
from metal.show.result import Result

MUST = {FALLS: "fall", STAYS: "stay", CAPPED: "not rise"}  # what a score must do

if TYPE_CHECKING:
    import pandas as pd

    from metal.data.dataset import Dataset

DESCRIBED: Tables = {
    "probes": with_the_rest(
        (
            *HEAD,
            JUDGE,
            Column("condition", "changed", below=lambda row: row["kind"]),
            Column("expected", "must", lambda expected: MUST.get(expected, UNDEFINED)),
            Column("says", "says", capital),
            Column("a", "A", figure, interval=True),
            Column("p_adjusted", "p, corrected", p_value),
            Column("strict", "clean better", percent, interval=True),
            Column("change", "change", signed, interval=True),
            Column("raised", "to the best score", percent, interval=True),
            Column("selectivity", "selectivity", signed),
            Column("room", "could fall", percent),
            Column("people_a", "people's A", figure, interval=True),
            Column("p", "p, no difference", p_value),
            Column("pairs", "pairs", count, below=lambda row: f"{count(row['sources'])} sources"),
            Column("unanswered", "unanswered", count),
        ),
        PROBES,
    ),
    "trends": with_the_rest(
        (
            *HEAD,
            JUDGE,
            Column("probe", "changed"),
            Column("doses", "doses"),
            Column("trend", "falls with the dose", figure, interval=True),
            Column("p", "p", p_value),
            Column("outputs", "outputs", count),
        ),
        TRENDS,
    ),
}


@dataclass(frozen=True, repr=False)
class ProbeReport(Result):
    """What judges are blind to, by language."""

    shown = "probes"
    command = "probe report"
    described = DESCRIBED

    def remarks(self) -> Iterator[VerdictLine]:
        """Lines on everything found against a judge, which must not be used where it is blind or
        lured.

        There is also a line on the effect of orders in the text, whether an effect is shown or not.
        """
        for row in self.records("probes"):
            if row["says"] in AGAINST:
                weight = WARNS if row["says"] == MOVED else DISQUALIFIES
                yield VerdictLine(
                    row["judge"], row["language"], row["criterion"], row["line"], weight
                )
            elif row["says"] == NOT_LURED and row["probe"].startswith("order"):
                change = estimate(row, "change", signed)
                line = f"not shown that {row['what']} raises its scores: {change}"
                yield VerdictLine(row["judge"], row["language"], row["criterion"], line, NOTED)


@dataclass(frozen=True, repr=False)
class ProbePlan:
    """A dataset of probes, in `folder`.

    made: a row for each language and condition, with the number of outputs that were changed, the
    number that could not be changed, and the reason.
    """

    dataset: Dataset
    folder: Path
    made: pd.DataFrame
    warnings: tuple[str, ...]

    @property
    def calls(self) -> int:
        """How many calls one judge with one prompt makes."""
        return len(self.dataset.outputs) * len(self.dataset.asked)

    def __repr__(self) -> str:
        return (
            f"<{self.calls:,} calls a judge: {len(self.dataset.outputs):,} outputs in"
            f" {self.folder}>"
        )

    def _repr_html_(self) -> str:
        html: str = self.made.to_html(index=False)
        return html
