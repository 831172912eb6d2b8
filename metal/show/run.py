"""What a report is drawn from: a run folder, read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd
import pyarrow as pa

from metal.data.records import Criterion, Rater
from metal.show.text import name, slug


def with_interval(*names: str) -> set[str]:
    """The columns of figures with intervals."""
    return {f"{name}{end}" for name in names for end in ("", "_low", "_high")}


CELL = {"language", "criterion"}
# The tables a report is drawn from, and the columns it takes from each.
TABLES = {
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


@dataclass(frozen=True)
class Tables:
    """A run as it lies on disk. manifest: run.toml. tables: by name, as the command wrote them."""

    name: str
    manifest: Mapping[str, Any]
    criteria: Mapping[str, Criterion]
    raters: Mapping[str, Rater]
    tables: Mapping[str, pd.DataFrame]
    warnings: tuple[str, ...]

    @cached_property
    def data(self) -> Mapping[str, Any]:
        """What run.toml says of the dataset: identity, title, licence, ..."""
        return dict(self.manifest["datasets"][0])

    def rows(self, table: str, **where: str) -> pd.DataFrame:
        """The rows of a table where columns have these values; an empty table stays empty."""
        rows = self.tables[table]
        for column, value in where.items():
            if rows.empty:
                break
            rows = rows[rows[column] == value]
        return rows

    def records(self, table: str, **where: str) -> list[dict[str, Any]]:
        """The same rows as plain dictionaries."""
        rows = self.rows(table, **where).to_dict("records")
        return [{str(key): value for key, value in row.items()} for row in rows]

    def signature(self, table: str) -> str:
        """The signature of a table as a whole."""
        parts = self.manifest["signature"].split("|")
        return "|".join([*parts[:2], f"stat:{table}", *parts[2:]])


@dataclass(frozen=True)
class Run(Tables):
    """An audit: its TABLES (metal.auditing), and its disagreements (metal.auditing.disagreements.SCHEMA)."""

    disagreements: pa.Table

    @cached_property
    def audited(self) -> tuple[Criterion, ...]:
        """The criteria that were audited, in their declared order."""
        return tuple(self.criteria[name] for name in self.tables["people"]["criterion"].unique())

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """The languages that were audited, in string order."""
        return tuple(sorted(self.tables["people"]["language"].unique()))

    @cached_property
    def judges(self) -> tuple[str, ...]:
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
        return Counter(self.model_and_prompt(judge) for judge in self.judges)
