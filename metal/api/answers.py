"""Outputs with the answers of judges and people. Those on which judges and people differ most come
first.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metal.api.options import names
from metal.data.dataset_lines import read_criterion, read_raters
from metal.data.pairs import swapped_pairs
from metal.errors import DataError, UsageError, check_known
from metal.runs.parts import again, command_of, read_manifest, read_parquet

if TYPE_CHECKING:
    from metal.data.dataset import Dataset
    from metal.data.records import Criterion

DISAGREEMENTS = "disagreements.parquet"
ITEM_COLUMNS = ("language", "criterion", "output", "generator", "people", "people_range")
RATING_COLUMNS = ("ratings.list.element.rater", "ratings.list.element.score")

HIGHER, LOWER, DIFFERS, PEOPLE, NO_SCORE = "higher", "lower", "differs", "people", "none"
KINDS = {
    DIFFERS: "a judge differs from the people",
    HIGHER: "a judge scores higher than the people",
    LOWER: "a judge scores lower than the people",
    PEOPLE: "the people differ among themselves",
    NO_SCORE: "a judge gave no score",
}


@dataclass(frozen=True)
class Choice:
    """What to look for; an empty value means all.

    kind: a key of KINDS.
    """

    language: str = ""
    criterion: str = ""
    judge: str = ""
    kind: str = ""

    def to_dict(self) -> dict[str, str]:
        """The values that are not empty, as they stand in an address."""
        return {name: value for name, value in vars(self).items() if value}


@dataclass(frozen=True)
class RunAnswers:
    """The outputs of a run, and what each judge answered on them.

    items: one row for each output and criterion: language, criterion, output, generator, people
    (their aggregate, NaN without one), people_range (the largest distance between two people) and
    span (the range of the scale; 0 if it is nominal).

    answers: one row for each answer of a judge: item (a row number of `items`), judge, score.

    by_name: the criteria that are known, by name.
    """

    items: pd.DataFrame
    answers: pd.DataFrame
    by_name: Mapping[str, Criterion]
    judges: Sequence[str]
    languages: Sequence[str] = field(init=False)
    criteria: Sequence[str] = field(init=False)

    def __post_init__(self) -> None:
        for column, name in (("language", "languages"), ("criterion", "criteria")):
            object.__setattr__(self, name, sorted(map(str, self.items[column].unique())))

    def chosen(self, choice: Choice) -> pd.DataFrame:
        """The items of a choice with `judge`, `score` and `size`, the largest differences first.

        Each item comes with the answer that is furthest from the people. size: the distance as a
        share of the scale; of people among themselves if that is the kind chosen. Raises
        UnknownName.
        """
        for what, wanted, choices in (
            ("language", choice.language, self.languages),
            ("criterion", choice.criterion, self.criteria),
            ("judge", choice.judge, self.judges),
            ("kind", choice.kind, KINDS),
        ):
            check_known(what, [wanted] if wanted else [], choices)
        items = self._items_of(choice)
        if choice.kind == PEOPLE:
            span = items["span"].where(items["span"] > 0, 1.0)
            apart = items.assign(judge="", score=np.nan, size=items["people_range"] / span)
            return apart[apart["size"] > 0].sort_values("size", ascending=False, kind="stable")
        answers = self.answers
        if choice.judge:
            answers = answers[answers["judge"] == choice.judge]
        joined = answers.join(items, on="item", how="inner")
        joined["size"] = _sizes(joined, choice.kind)
        joined = joined[joined["size"].notna()]
        # of equal differences, those on which people agree come first
        order = ["size", "people_range", "item"]
        joined = joined.sort_values(order, ascending=[False, True, True], kind="stable")
        return joined.drop_duplicates("item")

    def _items_of(self, choice: Choice) -> pd.DataFrame:
        items = self.items
        for column in ("language", "criterion"):
            if wanted := getattr(choice, column):
                items = items[items[column] == wanted]
        return items


def _sizes(joined: pd.DataFrame, kind: str) -> pd.Series:
    """The distance of each answer from the people as a share of the scale; NaN for an answer that
    is not of the chosen kind.
    """
    unanswered = joined["score"].isna()
    if kind == NO_SCORE:
        return unanswered.map({True: 0.0, False: np.nan})
    away = joined["score"] - joined["people"]
    nominal = joined["span"] == 0
    sizes = (away.abs() / joined["span"].where(~nominal, 1.0)).where(~nominal, (away != 0) * 1.0)
    sizes = sizes.where(away.notna())
    if kind == HIGHER:
        return sizes.where((away > 0) & ~nominal)
    if kind == LOWER:
        return sizes.where((away < 0) & ~nominal)
    return sizes.where(sizes > 0) if kind == DIFFERS else sizes


def of_audit(folder: Path) -> RunAnswers:
    """The outputs of an audit on which a judge differs from people, or people differ among
    themselves.

    Texts and comments are not read, so that a large audit needs little memory. Raises UsageError if
    the folder is no audit, DataError if a part of it cannot be used.
    """
    criteria = criteria_of(folder)
    table = read_parquet(folder / DISAGREEMENTS, "audit", [*ITEM_COLUMNS, *RATING_COLUMNS])
    if not {*ITEM_COLUMNS, "ratings"} <= set(table.column_names):
        raise DataError(folder / DISAGREEMENTS, "not the columns of disagreements", again("audit"))
    items = table.select(ITEM_COLUMNS).to_pandas(strings_to_categorical=True)
    items["span"] = _spans(items, criteria)
    ratings = table["ratings"].combine_chunks()
    flat = ratings.flatten()
    answers = pd.DataFrame(
        {
            "item": ratings.value_parent_indices().to_numpy().astype(np.int32),
            "judge": flat.field("rater").dictionary_encode().to_pandas(),
            "score": flat.field("score").to_numpy(zero_copy_only=False),
        }
    )
    judges = sorted(rater.rater for rater in read_raters(folder) if rater.kind != "human")
    answers = answers[answers["judge"].isin(judges)]
    return RunAnswers(items, answers, criteria, judges)


def criteria_of(audit: Path) -> dict[str, Criterion]:
    """The criteria of an audit, by name."""
    entries = read_manifest(audit, "audit")["criteria"]
    return {key: read_criterion(key, entry, audit / "run.toml") for key, entry in entries.items()}


def of_judges(table: pd.DataFrame, criteria: Mapping[str, Criterion]) -> RunAnswers:
    """The outputs that a run of judges rated.

    table: the run's replies in the form of metal.api.replies.COLUMNS. criteria: those of the run's
    dataset, as far as it is there.
    """
    keys = ["language", "criterion", "output"]
    numbers = table.groupby(keys, sort=False, observed=True).ngroup()
    first = ~numbers.duplicated()
    items = table.loc[first, [*keys, "people"]].reset_index(drop=True)
    items = items.assign(generator="", people_range=0.0)
    items["span"] = _spans(items, criteria)
    answers = pd.DataFrame({"item": numbers, "judge": table["judge"], "score": table["score"]})
    return RunAnswers(items, answers, criteria, sorted(map(str, table["judge"].unique())))


def outputs_named(
    only: Path | None, dataset: Dataset, options: Mapping[str, Any]
) -> Collection[str] | None:
    """The outputs that a CSV names, or on which judges and people differ in an audit.

    only: the CSV or the folder of the audit; without it the result is None. options: those of
    `metal.annotate_export`, by name. Raises UsageError if the audit is of other data, or if an
    option needs an audit and there is none.
    """
    from metal.building.choose import listed_in

    if only is None or not only.is_dir():
        for option in ("judges", "items"):
            if options[option]:
                raise UsageError(f"`{option}` needs the run folder of an audit in `only`")
        return listed_in(only, dataset) if only else None
    outputs = differing_outputs(
        only,
        languages=names(options["languages"]),
        criteria=names(options["criteria"]),
        judges=names(options["judges"]),
        items=options["items"],
    )
    # an audit names a pair once, and the data may hold only its reverse order
    held = {pair: output for output, pair in swapped_pairs(dataset).items()}
    held |= dict(zip(dataset.outputs, dataset.outputs, strict=True))
    unknown = [output for output in outputs if output not in held]
    if unknown:
        raise UsageError(
            f"{only} is not an audit of these data: its output {unknown[0]!r} is not in them"
        )
    return [held[output] for output in outputs]


def differing_outputs(
    audit: Path,
    *,
    languages: Sequence[str] = (),
    criteria: Sequence[str] = (),
    judges: Sequence[str] = (),
    items: int | None = None,
) -> list[str]:
    """The outputs on which judges and people differ in an audit.

    Empty sequences stand for all. items: at most this many for each language and criterion, those
    with the largest differences. Raises UsageError for a folder that is no audit, UnknownName for a
    language, criterion or judge on which nothing differs.
    """
    command = command_of(audit)
    if command != "audit":
        raise UsageError(f"{audit} is a run of `metal {command}`, not of `metal audit`")
    answers = of_audit(audit)
    differing: dict[str, None] = {}
    for language, criterion in product(
        languages or answers.languages, criteria or answers.criteria
    ):
        chosen = [
            answers.chosen(Choice(language, criterion, judge, DIFFERS)) for judge in judges or [""]
        ]
        apart = pd.concat(chosen).sort_values("size", ascending=False, kind="stable")
        outputs = apart["output"].astype(str).drop_duplicates()
        differing |= dict.fromkeys(outputs if items is None else outputs.head(items))
    return list(differing)


def _spans(items: pd.DataFrame, criteria: Mapping[str, Criterion]) -> pd.Series:
    """The range of each item's scale. It is 0 for a nominal scale. For a scale without ends, it is
    the range of the people's scores, or 1.
    """
    means = items.groupby("criterion", observed=True)["people"]
    observed = (means.max() - means.min()).where(lambda spans: spans > 0, 1.0)
    spans = {str(name): span for name, span in observed.items()}
    for name, criterion in criteria.items():
        if criterion.scale.measure == "nominal":
            spans[name] = 0.0
        elif ends := criterion.scale.ends:
            spans[name] = ends[1] - ends[0]
    return items["criterion"].map(spans).astype(float)


def rows_of(audit: Path, numbers: Sequence[int]) -> list[dict[str, Any]]:
    """Rows of an audit's disagreements with texts and ratings, read from the file.

    numbers: row numbers in rising order.
    """
    import pyarrow.parquet as pq

    rows: list[dict[str, Any]] = []
    with pq.ParquetFile(audit / DISAGREEMENTS) as file:
        start = 0
        for group in range(file.num_row_groups):
            end = start + file.metadata.row_group(group).num_rows
            inside = [number - start for number in numbers if start <= number < end]
            if inside:
                rows += file.read_row_group(group).take(inside).to_pylist()
            start = end
    return rows
