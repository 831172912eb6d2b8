"""An audit's run folder: run.toml, raters.jsonl, warnings.txt, tables/, disagreements.parquet,
report.html.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq

from metal.auditing.disagreements import SCHEMA
from metal.auditing.in_order import NAMES as OF_ORDER
from metal.auditing.judging import STATISTICS, Statistic, added_statistics
from metal.auditing.verdict import AS_GOOD, LIKE_A_PERSON, VERDICTS, today
from metal.boards.rankable import Rankable
from metal.data.dataset import Dataset
from metal.data.languages import language_order
from metal.data.records import Criterion
from metal.data.text import (
    capital,
    count,
    coverage,
    figure,
    name,
    p_value,
    percent,
    plural,
    rounded,
    signed,
    slugs,
)
from metal.errors import DataError
from metal.questions.dataset.columns import LENGTHS
from metal.runs.columns import HEAD, JUDGE, Column, Figure, Rate, Row, Share, Tables, unshown
from metal.runs.parts import again, read_parquet
from metal.runs.run import CELL, EXCLUSIONS, Run
from metal.stats.aggregate import ALL_RULES

ROWS = 5_000  # outputs of a row group, each with its texts and ratings: one is read at a time
AGAIN = again("audit")

Ordered = partial(Figure, shown=False, later=True)  # of ordered scales, in the cell that is opened
LEVELS = unshown("case", "side", "level", "count")
PEOPLE_ALSO = unshown("sources", "min_raters", "dropped", "undefined", "some_agree", "none_agree")
# of verdicts: not in runs before version 0.2
LATER = ("classes", "unshown", "p_like", "p_informative", "panel")
JUDGES_ALSO = unshown("answered", "sources", "dropped", "undefined", "alt_test_passed")
# Figures of a judge that rest on other items than those answered, and the column that says on how
# many.
ITEMS_OF = {"leniency": "leniency_items"} | dict.fromkeys(OF_ORDER, "order_items")


FORMS: dict[str, Callable[[Any], str]] = {"figure": figure, "percent": percent, "signed": signed}


def column_of(name: str, statistic: Statistic) -> Column:
    """The column of the tables that holds a statistic of judges."""
    return Column(
        name,
        statistic.title,
        FORMS[statistic.form],
        interval=True,
        direction=statistic.direction,
        shown=statistic.shown,
        later=statistic.later,
    )


def _sources(row: Row) -> str:
    return f"{count(row['sources'])} sources"


DESCRIBED: Tables = {
    "people": (
        *HEAD,
        Column("people", "people", count),
        Column("items_with_class", "items", count, below=_sources),
        Figure("pairwise_f1", "F1 pairwise"),
        Figure("leave_one_out_f1", "F1 against the others"),
        Figure("against_all_f1", "F1 against all"),
        Figure("fleiss_kappa", "Fleiss' kappa"),
        Figure("alpha", "alpha"),
        Column("fleiss_items", "with two ratings", count),
        Column(
            "table_6_kappa", "Fleiss' kappa", figure, interval=True, direction="higher", shown=False
        ),
        Figure("gwet_ac1", "Gwet's AC1"),
        Rate("percent_agreement", "agreement"),
        Column("all_agree", "all / some / none agree", count),
        *PEOPLE_ALSO,
    ),
    "judges": (
        *HEAD,
        JUDGE,
        Column("asked", "items", count, below=_sources),
        Column("coverage", "coverage", coverage, direction="higher"),
        *(column_of(name, each) for name, each in STATISTICS.items()),
        Column("leniency_items", "on items with two people", count, later=True),
        Ordered("kappa_with_others", "quadratic kappa with the others"),
        Ordered("person_kappa_with_others", "a person's quadratic kappa"),
        Ordered("spearman", "Spearman's rho with the others"),
        Ordered("person_spearman", "a person's rho"),
        Ordered("pearson", "Pearson's r with the others"),
        Ordered("person_pearson", "a person's r"),
        Column("order_items", shown=False, later=True),
        Column(
            "alt_test_winning_rate",
            "alternative annotator test",
            figure,
            direction="higher",
            below=lambda row: {"yes": "passed", "no": "failed"}.get(row["alt_test_passed"], ""),
        ),
        *JUDGES_ALSO,
    ),
    "verdicts": (
        *HEAD,
        JUDGE,
        Column("verdict", "verdict", capital),
        Rate("share_kept", "exact answers, of a person's"),
        Rate("order_kept", "order, of a person's", later=True),
        Rate("kappa_kept", "kappa, of a person's", later=True),
        Figure("below_person", "against a person", format=signed),
        Figure("above_constant", "lead over a constant", format=signed),
        Column("confirmed", "people confirm each other", percent, direction="higher", later=True),
        Column("confirmed_bad", "at the bad end", percent, direction="higher", later=True),
        Column("bad_items", "items at the bad end", figure, later=True),
        Column("items", "items", count, below=_sources),
        Column("items_needed", "items for even odds of a verdict", rounded),
        *unshown("sources", "reason", "left_out", "signature"),
        Column("plainly", shown=False, later=True),
        Column("not_like", shown=False, later=True),
        Column("misses_bad", shown=False, later=True),
        Column("bad_open", shown=False, later=True),
        *(Column(name, shown=False, later=True) for name in LATER),
    ),
    "differences": (
        *CELL,
        *unshown("first", "second", "undefined", "p_adjusted"),
        Figure("difference", "difference", format=signed),
    ),
    "class_distribution": (*CELL, *LEVELS),
    "class_distribution_overall": (
        *LEVELS,
        *unshown("criterion", "rater", "compared", "compared_people"),
    ),
    "self_agreement": (
        *HEAD,
        JUDGE,
        Column("times", "times", count),
        Column("items", "items", count),
        Rate("self_agreement", "self-agreement"),
        Column("all_equal", "always the same", count),
        Figure("alpha", "alpha"),
        *unshown("undefined"),
    ),
    "lengths": LENGTHS,
    "classes_by_quality": (*CELL, *unshown("quality", "level", "count", "items", "share")),
    "table_3": (),
    "table_6": (),
}
FURTHER: Tables = {
    "by_class": (
        *HEAD,
        JUDGE,
        Column("level", "people say"),
        Column("items", "items", rounded),
        Rate("recall", "recall"),
        Column("person_recall", "a person's recall", percent, direction="higher"),
        Rate("precision", "precision"),
        Column("person_precision", "a person's precision", percent, direction="higher"),
        Column("judge_share", "share of the judge's answers", percent),
        Column("people_share", "share of people's", percent),
        *unshown("undefined"),
    ),
    "confusion": (
        *HEAD,
        JUDGE,
        Column("people_say", "people say"),
        Column("judge_says", "judge says"),
        Column("share", "share", percent),
        Column("person_share", "a person says so", percent),
    ),
    "by_certainty": (
        *HEAD,
        JUDGE,
        Column("case", "people"),
        Column("items", "items", count),
        Rate("percent_agreement", "agreement with their aggregate"),
    ),
    "pairs": (
        *HEAD,
        Column("judge", "rater"),
        Column("items", "pairs", count),
        Column("both_orders", "in both orders", count),
        Rate("swap_consistency", "same answer when swapped"),
        Share("first_place", "chose what was shown first"),
        Figure("first_place_log_odds", "log-odds of the first place", format=signed, direction=""),
        Column("p_adjusted", "p, corrected", p_value),
        *unshown("undefined"),
    ),
    "strengths": (
        *HEAD,
        Column("rater", "by"),
        Column("generator", "generator"),
        Column("rank", "rank", count),
        Column("rank_low", "first rank", count, later=True),
        Column("rank_high", "last rank", count, later=True),
        Figure("points", "points against the others"),
        Figure("strength", "strength", format=signed),
        Column("wins", "wins", count, below=lambda row: f"{count(row['ties'])} ties"),
        Column("comparisons", "comparisons", count),
        *unshown("ties", "undefined"),
    ),
    "own_outputs": (
        *HEAD,
        JUDGE,
        Column("own", "its own"),
        Column("says", "says", capital),
        Figure("preference", "scores its own higher by", format=signed, direction=""),
        Column("p_adjusted", "p, corrected", p_value),
        Column("above_people_own", "more lenient than people by, its own", signed),
        Column("above_people_others", "others", signed),
        Column(
            "outputs", "outputs", count, below=lambda row: f"{count(row['own_outputs'])} its own"
        ),
        *unshown("own_outputs", "span", "undefined"),
    ),
    "scores": (
        *HEAD,
        JUDGE,
        Column("answered", "items", count, below=_sources),
        Column("coverage", "coverage", coverage, direction="higher"),
        Figure("skill", "skill"),
        Figure("person_skill", "a person's skill"),
        Figure("skill_shifted", "skill, shifted"),
        Figure("skill_recalibrated", "skill, recalibrated"),
        Figure("shift", "higher than people by", format=signed, direction=""),
        Figure("rmse", "error (RMSE)", direction="lower"),
        Figure("person_rmse", "a person's error", direction="lower"),
        Figure("concordance", "concordance"),
        Figure("person_concordance", "a person's concordance"),
        Figure("correlation", "Pearson's r"),
        Figure("person_correlation", "a person's r"),
        *unshown("asked", "sources", "dropped", "undefined"),
    ),
    "justifications": (
        HEAD[1],
        JUDGE,
        Column("reasons", "reasons", count, below=lambda row: f"{count(row['read'])} read"),
        Share("in_output_language", "in the output's language"),
        Share("in_english", "in English"),
        Share("names_level", "name a level"),
        Share("contradicts", "of these, with a level other than the score", direction="lower"),
        Share("quotes_found", "quotations found in the texts", direction="higher"),
        Column(
            "opening_share", "begin alike", percent, below=lambda row: f"{name(row['opening'])} ..."
        ),
        Figure("predicts_score", "words predict the score", direction=""),
        Figure("predicts_error", "words predict the mistake", direction=""),
        *unshown("answered", "read", "named", "quotes", "opening", "undefined", "signature"),
    ),
    "picked": (
        *HEAD,
        Column("judge", "looks best"),
        Column("judges", "of judges", count),
        Column("share_kept", "kept of what a person knows", percent, direction="higher"),
        Column("optimism", "flattered by", percent),
        Column("share_kept_chosen", "kept, corrected for the choice", percent, direction="higher"),
        *unshown("signature"),
    ),
    "together": (
        *HEAD,
        JUDGE,
        Column(
            "p_languages",
            "p among its languages",
            p_value,
            below=lambda row: plural(row["languages"], "language"),
        ),
        Column(
            "p_cells", "p among all cells", p_value, below=lambda row: plural(row["cells"], "cell")
        ),
        Column("kept_at_least", "keeps at least", percent, direction="higher"),
        *unshown("languages", "cells", "signature"),
    ),
    "remarks": (
        *HEAD,
        JUDGE,
        Column(
            "line",
            "what it says",
            below=lambda row: f"metal {row['question']}, {name(row['run'])}, {row['data']}",
        ),
        *unshown("weight", "question", "run", "data", "signature"),
    ),
}


@dataclass(frozen=True, repr=False)
class AuditRun(Run):
    """An audit: its tables, and its disagreements in the form of
    metal.auditing.disagreements.SCHEMA.
    """

    disagreement_table: pa.Table

    command = "audit"
    described = DESCRIBED
    optional: ClassVar[Tables] = {**EXCLUSIONS, **FURTHER}

    @cached_property
    def rankable(self) -> Rankable:
        """Which parts of the data can be ranked."""
        return Rankable.read(self.manifest.get("rankable"))

    @classmethod
    def _of_data(cls, dataset: Dataset) -> dict[str, Any]:
        return {"rankable": Rankable.of(dataset).to_dict()}

    @classmethod
    def _read_more(cls, folder: Path) -> tuple[Any, ...]:
        return (_disagreements(folder / "disagreements.parquet"),)

    def _write_more(self, folder: Path) -> None:
        pq.write_table(
            self.disagreement_table, folder / "disagreements.parquet", ROWS, compression="zstd"
        )

    @property
    def _large(self) -> tuple[Any, ...]:
        return (self.disagreement_table,)

    def verdict_counts(self) -> dict[str, dict[str, int]]:
        """The number of cells (judge, language, criterion) by verdict and language."""
        table = self.tables["verdicts"]
        cells: Counter[tuple[str, str]] = Counter()
        if len(table):
            cells.update(zip(map(today, table["verdict"]), table["language"], strict=True))
        counts: dict[str, dict[str, int]] = {}
        for word, code in sorted(cells, key=lambda cell: language_order(cell[1])):
            counts.setdefault(word, {})[code] = cells[word, code]
        return {word: counts[word] for word in VERDICTS if word in counts}

    def _check(self, folder: Path) -> None:
        for table in ("people", "judges", "verdicts"):
            self._check_names(folder, table, "criterion", self.criteria, "run.toml")
        for table in ("judges", "verdicts"):
            self._check_names(folder, table, "judge", self.raters, "raters.jsonl")
        self._check_names(folder, "verdicts", "verdict", (*VERDICTS, AS_GOOD), "its place")
        if (rule := self.settings.get("aggregate", ALL_RULES[0])) not in ALL_RULES:
            raise DataError(folder / "run.toml", f"aggregate is {rule!r}", AGAIN)
        ratings = self.disagreement_table["ratings"].chunks
        for rater in {
            rater
            for part in ratings
            for rater in part.flatten().field("rater").unique().to_pylist()
        }:
            if rater not in self.raters:
                raise DataError(
                    folder, f"rater {rater!r} of the tables is not in raters.jsonl", AGAIN
                )

    def columns(self, table: str) -> tuple[Column, ...]:
        """The descriptions of a table's columns, with the statistics of judges that other packages
        add.
        """
        added = added_statistics().items() if table == "judges" else ()
        have = self.tables[table]
        more = (column_of(name, statistic) for name, statistic in added if name in have)
        return (*super().columns(table), *more)

    @cached_property
    def audited(self) -> tuple[Criterion, ...]:
        """The audited criteria that have classes, in the order in which the dataset
        declares them.
        """
        audited = (self.criteria[name] for name in self.tables["people"]["criterion"].unique())
        return tuple(criterion for criterion in audited if criterion.scale.levels)

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """The audited languages, sorted by name."""
        return tuple(sorted(self.tables["people"]["language"].unique(), key=language_order))

    @cached_property
    def judge_names(self) -> tuple[str, ...]:
        """The judges in the order of the audit: LLM judges, metrics, baselines."""
        table = self.tables["verdicts"]
        return tuple(table["judge"].unique()) if len(table) else ()

    @cached_property
    def best_verdict(self) -> str:
        """What this run calls the best verdict; runs before version 0.2 have other rules and
        another name.
        """
        return LIKE_A_PERSON if "p_like" in self.tables["verdicts"] else AS_GOOD

    @cached_property
    def judged(self) -> Sequence[dict[str, Any]]:
        """Each verdict under its present name, with the figures it is based on and the judge's
        kind.

        Baselines are left out if there are other judges.
        """
        if not self.judge_names:
            return ()
        keys = ["language", "criterion", "judge"]
        figures = self.tables["judges"].drop(columns="sources")
        joined = (
            self.tables["verdicts"].drop(columns="signature").merge(figures, on=keys, how="left")
        )
        joined["verdict"] = list(map(today, joined["verdict"]))
        joined["kind"] = [self.raters[judge].kind for judge in joined["judge"]]
        cells = [
            {str(key): value for key, value in row.items()} for row in joined.to_dict("records")
        ]
        return [cell for cell in cells if cell["kind"] != "baseline"] or cells

    @cached_property
    def _slugs(self) -> dict[str, str]:
        return slugs(self.criteria)

    def slug(self, criterion: Criterion) -> str:
        """A unique name of the criterion for file names and anchors."""
        return self._slugs[criterion.name]

    def model_and_prompt(self, judge: str) -> tuple[str, str]:
        """A judge's model and prompt; if the model was not recorded, the judge's own name."""
        return self._made_of[judge]

    @cached_property
    def _made_of(self) -> dict[str, tuple[str, str]]:
        raters = self.raters.items()
        return {
            key: (name(of.about.get("model") or key), name(of.about.get("prompt") or ""))
            for key, of in raters
        }


class AuditFigures(AuditRun):
    """An audit without its disagreements, which may have very many texts."""

    @classmethod
    def _read_more(cls, folder: Path) -> tuple[Any, ...]:
        return (SCHEMA.empty_table(),)


def _disagreements(path: Path) -> pa.Table:
    try:
        return read_parquet(path, "audit").select(SCHEMA.names).cast(SCHEMA)
    # Arrow's errors are kinds of these
    except (KeyError, ValueError, TypeError, NotImplementedError) as error:
        if isinstance(error, DataError):
            raise
        first = str(error).split("\n")[0]
        raise DataError(path, f"not the columns of disagreements ({first})", AGAIN) from None
