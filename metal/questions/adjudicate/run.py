"""A run of `metal adjudicate report`: tables/, run.toml, raters.jsonl, report.html."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from metal.data.text import capital, count, estimate, known, percent, plural, signed
from metal.questions.adjudicate.tables import ADJUDICATED, AGREEMENT
from metal.questions.adjudicate.verdicts import LESS, UNDECIDED
from metal.runs.columns import HEAD, JUDGE, Column, Row, Tables, with_the_rest
from metal.runs.run import DISQUALIFIES, NOTED, WARNS, VerdictLine
from metal.show.result import Result

Accuracy = partial(Column, format=signed, interval=True)
Share = partial(Column, format=percent, interval=True)


def _of(row: Row) -> str:
    return f"of {count(row['disputed'])} disputed"


DESCRIBED: Tables = {
    "adjudicated": with_the_rest(
        (
            *HEAD,
            JUDGE,
            Column("verdict", "verdict", capital),
            Accuracy("difference", "accuracy less a person's"),
            Column("decided", "decided", count, below=_of),
            Column("items", "outputs", count),
            Column("reason", "remark"),
            Accuracy("if_random", "if 10% are wrong at random"),
            Accuracy("if_crowd", "if 10% are wrong with most people"),
            Share("recall", "finds of the bad end"),
            Share("recall_of_people", "a person finds"),
            Share("precision", "right when it says so"),
            Share("precision_of_people", "a person is right"),
        ),
        ADJUDICATED,
    ),
    "adjudicators": with_the_rest(
        (
            *HEAD,
            Column("first", "adjudicator"),
            Column("second", "and"),
            Column("same", "decide alike", percent, below=lambda row: f"of {count(row['both'])}"),
            Column("differ", "differ", count),
        ),
        AGREEMENT,
    ),
}


@dataclass(frozen=True, repr=False)
class Adjudicated(Result):
    """Whether judges are as often right as a person, by somebody who knows."""

    shown = "adjudicated"
    command = "adjudicate report"
    described = DESCRIBED

    def remarks(self) -> Iterator[VerdictLine]:
        """The verdict of each case, and on how many answers it rests."""
        for row in self.records("adjudicated"):
            weight = {LESS: DISQUALIFIES, UNDECIDED: WARNS}.get(row["verdict"], NOTED)
            figure = ""
            if known(row["difference"]):
                figure = f" ({estimate(row, 'difference', signed)})"
            who = plural(int(row["adjudicators"]), "expert")
            line = (
                f"adjudicated: {row['verdict']}{figure}; {count(row['decided'])} of"
                f" {count(row['disputed'])} disputed outputs by {who}"
            )
            yield VerdictLine(row["judge"], row["language"], row["criterion"], line, weight)
