"""What the page of `metal monitor` is drawn from: its run folder, read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from metal.data.text import known, name
from metal.genie import monitoring
from metal.genie.gold_questions import SIDES
from metal.runs.run import CELL, Run
from metal.show.exclusions import COLUMNS

# The tables the page is drawn from, and the columns it takes from each.
NEEDED: dict[str, tuple[str, ...]] = {
    "raters": monitoring.RATERS,
    "workers": monitoring.WORKERS,
    "questions": monitoring.QUESTIONS,
    "mixtures": monitoring.MIXTURES,
    "behaviour": (
        *sorted(CELL),
        *("rater", "kind", "group", "ratings", "shared", "agreement", "colleagues_agreement"),
        *("agreement_difference", "severity", "label_share", "colleagues_label_share", "dawid_skene", "mace"),
        *("commented", "repeated", "undefined", "stands_out", "not_compared"),
    ),
    "agreement": (
        *("language", "criterion", "without_noisy", "people", "items", "fleiss_kappa", "alpha"),
        *("percent_agreement", "undefined"),
    ),
    "panels": ("language", "criterion", "scale", "raters", "items", "mean", "sd"),
    "exclusions": COLUMNS,
    "rounds": ("round", "at", "rater", "ratings", *(f"{side}_{what}" for side in SIDES for what in ("right", "asked"))),
}


@dataclass(frozen=True)
class MonitorRun(Run):
    """A run of `metal monitor`: its tables, NEEDED."""

    command = "monitor"
    needed = NEEDED

    @cached_property
    def examined(self) -> list[dict[str, Any]]:
        """A row a rater with test questions, noisiest first."""
        return self.records("raters")

    @cached_property
    def noisy(self) -> list[str]:
        """Those who fail the test questions."""
        return [row["rater"] for row in self.examined if row["noisy"]]

    @cached_property
    def standing_out(self) -> dict[str, list[str]]:
        """Rater -> what stands out in how they rate beside others, in words."""
        found: dict[str, list[str]] = {}
        for row in self.records("behaviour"):
            if known(row["stands_out"]) and row["stands_out"]:
                where = f"{self.criterion(row['criterion'])}, {row['language']}"
                found.setdefault(row["rater"], []).append(f"{where}: {row['stands_out']}")
        return found

    def criterion(self, key: str) -> str:
        """The criterion's short name; `all criteria` is its own."""
        found = self.criteria.get(key)
        return name(found.short if found else key)
