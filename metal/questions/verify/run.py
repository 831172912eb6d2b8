"""A run of `metal verify`: run.toml, raters.jsonl, warnings.txt, tables/, report.html."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from metal.data.text import count, figure, name
from metal.questions.verify.compute import DIFFERS, EQUAL, FIGURES, SUMMARY
from metal.runs.columns import LANGUAGE, Column, Tables, with_the_rest
from metal.show.result import Result

PRECISE = partial(figure, form=".6f")
WHOSE = (Column("criterion", "criterion"), LANGUAGE, Column("rater", "rater"))
DESCRIBED: Tables = {
    "summary": with_the_rest(
        (
            Column("figure", "figure", below=lambda row: f"table {name(row['table'])}"),
            Column("library", "by"),
            Column("equal", "equal", count, below=lambda row: f"of {count(row['compared'])}"),
            Column("differ", "differ", count),
            Column("digits", "to digit", count),
            Column("undefined_in_both", "undefined in both", count),
            Column("undefined_in_library", "undefined in the library", count),
            Column("left_undefined", "left undefined by METAL", count),
        ),
        SUMMARY,
    ),
    "figures": with_the_rest(
        (
            *WHOSE,
            Column("figure", "figure", below=lambda row: f"table {name(row['table'])}"),
            Column("says", "is"),
            Column("value", "in the run", PRECISE, below=lambda row: name(row["file"])),
            Column("recomputed", "recomputed", PRECISE, below=lambda row: name(row["library"])),
            Column("digits", "equal digits", count),
            Column("items", "items", count),
        ),
        FIGURES,
    ),
}


@dataclass(frozen=True, repr=False)
class Verified(Result):
    """A run's figures compared with those of other libraries."""

    shown = "summary"
    command = "verify"
    described = DESCRIBED

    @property
    def exit_code(self) -> int:
        """0 if all compared figures are equal, else 1."""
        return int(self.counted[DIFFERS] > 0 or not self.counted[EQUAL])

    @property
    def counted(self) -> dict[str, int]:
        """How many figures are equal, different or undefined, keyed by the words of the table."""
        says = self.tables["figures"]["says"]
        return {kind: int((says == kind).sum()) for kind in (EQUAL, DIFFERS, *sorted({*says}))}

    @property
    def of_run(self) -> str:
        """The folder of the run that was recomputed."""
        return str(self.settings["run"])

    @property
    def libraries(self) -> Mapping[str, str]:
        """The libraries that recomputed it, with their versions."""
        versions: Mapping[str, str] = self.manifest["libraries"]
        return versions

    def more_facts(self) -> Mapping[str, Any]:
        """Further facts for JSON, in addition to the run's tables."""
        return {"verified": self.of_run, "counted": self.counted, "libraries": {**self.libraries}}
