"""A run of `metal adjudicate report`: tables/, run.toml, raters.jsonl, report.html."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from metal.data.text import capital, count, estimate, known, percent, plural, signed, within
from metal.questions.adjudicate.between import SIDES
from metal.questions.adjudicate.sorts import DISPUTED
from metal.questions.adjudicate.tables import ADJUDICATED, AGREEMENT, RIGHT, TABLE_OF
from metal.questions.adjudicate.verdicts import LESS, UNDECIDED
from metal.runs.columns import HEAD, JUDGE, Column, Row, Tables, with_the_rest
from metal.runs.run import DISQUALIFIES, NOTED, WARNS, VerdictLine
from metal.show.result import Result


def few(number: float) -> str:
    """A number that may have a fraction, because adjudicators can differ."""
    return f"{number:g}"


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
    "right": with_the_rest(
        (
            *HEAD,
            Column("rater", "rater", within),
            Column("kind", "kind"),
            Share("right", "right"),
            Column("decided", "decided", count, below=lambda row: f"of {count(row['ambiguous'])}"),
        ),
        RIGHT,
    ),
    "sides": with_the_rest(
        (
            *HEAD,
            Column("first", "first", within),
            Column("second", "second", within),
            Share("sides", "sides with the first"),
            Column(
                "first_good",
                "good outputs, where the first scores higher",
                few,
                below=lambda row: f"of {count(row['first_higher'])}",
            ),
            Column(
                "second_good",
                "good outputs, where the second scores higher",
                few,
                below=lambda row: f"of {count(row['second_higher'])}",
            ),
        ),
        SIDES,
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
    """Whether judges are right as often as a person, according to somebody who knows."""

    command = "adjudicate report"
    described = DESCRIBED

    @property
    def draw(self) -> str:
        """Which outputs were drawn."""
        return str(self.manifest["settings"].get("draw", DISPUTED))

    @property
    def shown(self) -> str:  # type: ignore[override]
        """The table that represents the run."""
        return TABLE_OF[self.draw]

    def to_be_saved_in(self, folder: Path) -> Adjudicated:
        """The run whose page names this folder in the next command."""
        settings = self.manifest["settings"] | {"report": str(folder)}
        return replace(self, manifest={**self.manifest, "settings": settings})

    def remarks(self) -> Iterator[VerdictLine]:
        """The verdict of each case, with the number of decisions behind it."""
        for row in self.records("adjudicated"):
            if not row["decided"]:
                continue
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
