"""An audit's run folder: run.toml, raters.jsonl, warnings.txt, tables/ (CSV, JSON, Parquet), disagreements.parquet,
report.html.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from metal.auditing.audit import Audit
from metal.auditing.disagreements import SCHEMA
from metal.auditing.verdict import VERDICTS
from metal.data.dataset import Dataset
from metal.data.records import Criterion, Manifest
from metal.data.text import name, slug
from metal.errors import DataError
from metal.runs.parts import again, read_parquet
from metal.runs.run import CELL, Run, with_interval

ROWS = 50_000  # outputs of a row group, each with its texts and ratings
AGAIN = again("audit")

# The tables a report is drawn from, and the columns it takes from each.
NEEDED = {
    "people": CELL
    | {"people", "items_with_class", "sources", "min_raters", "dropped", "undefined", "alpha", "percent_agreement"}
    | {"all_agree", "some_agree", "none_agree"}
    | with_interval("fleiss_kappa", "pairwise_f1", "leave_one_out_f1", "against_all_f1", "gwet_ac1"),
    "judges": CELL
    | {"judge", "asked", "answered", "coverage", "sources", "dropped", "undefined", "alpha"}
    | {"alt_test_winning_rate", "alt_test_passed"}
    | with_interval("weighted_f1", "strict_f1", "macro_f1", "kappa", "kappa_quadratic", "percent_agreement", "gwet_ac1")
    | with_interval("majority_f1", "lead_over_majority", "difference_to_people"),
    "verdicts": CELL | {"judge", "verdict", "reason", "signature"},
    "differences": CELL | {"first", "second", "undefined", "p_adjusted"} | with_interval("difference"),
    "class_distribution": CELL | {"case", "side", "level", "count"},
    "class_distribution_overall": {"criterion", "case", "side", "rater", "level"}
    | {"count", "compared", "compared_people"},
    "self_agreement": CELL
    | {"judge", "times", "items", "all_equal", "undefined", "alpha"}
    | with_interval("self_agreement"),
    "lengths": {"language", "passages", "passage_mean", "passage_sd", "passages_counted"}
    | {"outputs", "output_mean", "output_sd", "outputs_counted"},
    "classes_by_quality": CELL | {"quality", "level", "count", "items", "share"},
    "table_3": set(),
    "table_6": set(),
}


# Those of a run that left people out.
OPTIONAL = {"exclusions": {"rater", "language", "criterion", "ratings", "why"}}


@dataclass(frozen=True, repr=False)
class AuditRun(Run):
    """An audit: its tables (NEEDED), and its disagreements (metal.auditing.disagreements.SCHEMA)."""

    disagreement_table: pa.Table

    command = "audit"
    needed = NEEDED
    optional = OPTIONAL

    @classmethod
    def of(cls, audit: Audit, dataset: Dataset, manifest: Manifest, name: str = "") -> Self:
        """The run of an audit that was just made."""
        raters = {rater: dataset.raters[rater] for rater in audit.compared}
        return cls(
            name or dataset.card.name,
            manifest.to_dict(),
            dataset.criteria,
            raters,
            audit.tables,
            audit.warnings,
            audit.disagreements,
        )

    @classmethod
    def _read_more(cls, folder: Path) -> tuple[Any, ...]:
        return (_disagreements(folder / "disagreements.parquet"),)

    def _write_more(self, folder: Path) -> None:
        pq.write_table(self.disagreement_table, folder / "disagreements.parquet", ROWS, compression="zstd")

    def _check(self, folder: Path) -> None:
        _check_names(self, folder)

    @cached_property
    def audited(self) -> tuple[Criterion, ...]:
        """The criteria that were audited, in their declared order."""
        return tuple(self.criteria[name] for name in self.tables["people"]["criterion"].unique())

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """The languages that were audited, in string order."""
        return tuple(sorted(self.tables["people"]["language"].unique()))

    @cached_property
    def judge_names(self) -> tuple[str, ...]:
        """The judges in the order of the audit: LLM judges, metrics, baselines."""
        table = self.tables["judges"]
        return tuple(table["judge"].unique()) if len(table) else ()

    @cached_property
    def _slugs(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for key in self.criteria:
            plain = slug(key)
            taken = plain in found.values()
            found[key] = f"{plain}-{len(found) + 1}" if taken else plain
        return found

    def slug(self, criterion: Criterion) -> str:
        """The criterion's name for files and anchors, its own."""
        return self._slugs[criterion.name]

    def model_and_prompt(self, judge: str) -> tuple[str, str]:
        """What a judge is made of; its own name stands for a model that was not recorded."""
        about = self.raters[judge].about
        return name(about.get("model") or judge), name(about.get("prompt") or "")

    def shown_as(self, judge: str) -> tuple[str, str]:
        """Model and prompt for a table, with the judge's own name where they do not tell it from another."""
        model, prompt = self.model_and_prompt(judge)
        alone = self._made[model, prompt] == 1
        return (model if alone else f"{model} ({name(judge)})"), prompt

    @cached_property
    def _made(self) -> Counter[tuple[str, str]]:
        return Counter(self.model_and_prompt(judge) for judge in self.judge_names)


def _disagreements(path: Path) -> pa.Table:
    try:
        return read_parquet(path, "audit").select(SCHEMA.names).cast(SCHEMA)
    except (KeyError, ValueError, TypeError, NotImplementedError) as error:  # Arrow's errors are kinds of these
        if isinstance(error, DataError):
            raise
        first = str(error).split("\n")[0]
        raise DataError(path, f"not the columns of disagreements ({first})", AGAIN) from None


def _check_names(run: AuditRun, folder: Path) -> None:
    """Every name in the tables is known, so that a page is never drawn from parts of different runs."""
    judged = [run.tables[table] for table in ("judges", "verdicts") if len(run.tables[table])]
    disagreeing = [rater for part in run.disagreement_table["ratings"].chunks for rater in _raters(part)]
    known: tuple[tuple[str, Any, Collection[str], str], ...] = (
        ("criterion", run.tables["people"]["criterion"], run.criteria, "run.toml"),
        *(("criterion", table["criterion"], run.criteria, "run.toml") for table in judged),
        *(("judge", table["judge"], run.raters, "raters.jsonl") for table in judged),
        ("rater", disagreeing, run.raters, "raters.jsonl"),
        *(("verdict", table["verdict"], VERDICTS, "its place") for table in judged if "verdict" in table),
    )
    for what, names, choices, where in known:
        for one in dict.fromkeys(names):
            if one not in choices:
                raise DataError(folder, f"{what} {one!r} of the tables is not in {where}", AGAIN)


def _raters(ratings: pa.Array) -> list[str]:
    found: list[str] = ratings.flatten().field("rater").unique().to_pylist()
    return found
