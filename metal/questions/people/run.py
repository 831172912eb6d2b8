"""A run of `metal monitor`: run.toml, raters.jsonl, warnings.txt, tables/, report.html."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from metal.data.languages import language_name
from metal.data.text import (
    count,
    figure,
    interval,
    known,
    name,
    percent,
    percent_change,
    probability,
    with_minus,
)
from metal.genie import monitoring
from metal.genie.gold_questions import SIDES
from metal.questions.people.monitor_tables import AGREEMENT, ENDS, PANELS, ROUNDS
from metal.runs.columns import LANGUAGE, Column, Row, Tables, unshown, with_the_rest
from metal.runs.run import EXCLUSIONS
from metal.show.result import Result

NAMED = Column("rater", "rater", below=lambda row: name(row["group"]) if row["group"] else "")


def _with_ends(figure: str, title: str, form: Callable[[Any], str]) -> Column:
    """A column of a figure with its interval below; runs of version 0.1 have no interval."""

    def ends(row: Row) -> str:
        return interval(row.get(f"{figure}_low"), row.get(f"{figure}_high"), form)

    return Column(figure, title, form, direction="higher", below=ends)


AGREED = (
    ("percent_agreement", "agreement", percent),
    ("fleiss_kappa", "Fleiss' kappa", figure),
    ("alpha", "alpha", figure),
)
DESCRIBED: Tables = {
    "raters": with_the_rest(
        (
            NAMED,
            Column(
                "languages",
                "language",
                lambda codes: name(", ".join(map(language_name, codes.split(", ")))),
            ),
            *(Column(f"{side}_right", f"{side} right", count) for side in SIDES),
            Column("weakest", "weakest at"),
            Column(
                "share_right",
                "right there",
                percent,
                direction="higher",
                below=lambda row: interval(row["share_low"], row["share_high"], percent),
            ),
            Column("p_noisy", "P(noisy)", probability, direction="lower"),
            Column("noisy", "", lambda noisy: "noisy" if noisy else ""),
        ),
        monitoring.RATERS,
    ),
    "workers": with_the_rest(
        (
            Column("rater", "rater"),
            LANGUAGE,
            Column("criterion", ""),
            *(
                column
                for side in SIDES
                for column in (
                    Column(f"{side}_right", f"{side} right", count),
                    Column(f"{side}_p_noisy", "P(noisy)", probability),
                )
            ),
        ),
        monitoring.WORKERS,
    ),
    "questions": unshown(*monitoring.QUESTIONS),
    "mixtures": unshown(*monitoring.MIXTURES),
    "behaviour": (
        NAMED,
        LANGUAGE,
        Column("criterion", ""),
        Column("ratings", "ratings", count, below=lambda row: f"{count(row['shared'])} shared"),
        Column("agreement", "agreement", percent, direction="higher"),
        Column("colleagues_agreement", "theirs", percent, direction="higher"),
        Column("severity", "severity", percent_change),
        Column(
            "label_share",
            "top label",
            percent,
            below=lambda row: f"others {percent(row['colleagues_label_share'])}",
        ),
        Column("dawid_skene", "Dawid-Skene", figure, direction="higher"),
        Column("mace", "MACE", figure, direction="higher"),
        *unshown("kind", "group", "shared", "agreement_difference", "colleagues_label_share"),
        *unshown("commented", "repeated", "undefined", "stands_out", "not_compared"),
    ),
    "agreement": with_the_rest(
        (
            *(_with_ends(*described) for described in AGREED),
            *(Column(end, shown=False, later=True) for end in ENDS),
        ),
        AGREEMENT,
    ),
    "panels": unshown(*PANELS),
    **EXCLUSIONS,
    "rounds": unshown(*ROUNDS),
}


@dataclass(frozen=True)
class Monitor(Result):
    """A run that says how far each rater can be relied on."""

    shown = "raters"
    command = "monitor"
    described = DESCRIBED

    @cached_property
    def examined(self) -> list[dict[str, Any]]:
        """One row for each rater who got test questions, noisiest first."""
        return self.records("raters")

    @cached_property
    def noisy(self) -> list[str]:
        """The people who fail the test questions."""
        return [row["rater"] for row in self.examined if row["noisy"]]

    @cached_property
    def why_noisy(self) -> dict[str, list[str]]:
        """For each rater who fails the test questions, the questions that speak against them, in
        words.
        """
        reasons: dict[str, list[str]] = {}
        for row in self.records("workers"):
            if row["noisy"]:
                reasons.setdefault(row["rater"], []).extend(
                    monitoring.why_noisy(row, self.criterion(row["criterion"]))
                )
        return reasons

    @cached_property
    def standing_out(self) -> dict[str, list[str]]:
        """For each rater, what stands out in how they rate compared with colleagues, in words."""
        habits: dict[str, list[str]] = {}
        for row in self.records("behaviour"):
            if known(row["stands_out"]) and row["stands_out"]:
                case = self.where(row["criterion"], row["language"])
                habits.setdefault(row["rater"], []).append(
                    f"{case}: {with_minus(row['stands_out'])}"
                )
        return habits
