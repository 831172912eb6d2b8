"""Outputs with the answers of judges and people, read from a dataset or run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from metal.api.answer_table import DIFFERS, Choice, RunAnswers, ranges_of
from metal.api.options import names
from metal.api.output_texts import TEXTS
from metal.data.dataset_lines import read_criteria, read_criterion, read_raters
from metal.data.pairs import swapped_pairs
from metal.data.people import people_in
from metal.data.run_toml import RUN_TOML
from metal.errors import DataError, UsageError
from metal.runs.parts import again, command_of, read_manifest, read_parquet, read_texts
from metal.stats.aggregate import TIE, settled

if TYPE_CHECKING:
    from metal.data.dataset import Dataset
    from metal.data.records import Criterion
    from metal.runs.judges_run import RatingsRun

DISAGREEMENTS = "disagreements.parquet"
ITEM_COLUMNS = ("language", "criterion", "output", "generator", "people", "people_range")
RATING_COLUMNS = ("ratings.list.element.rater", "ratings.list.element.score")
KEYS = ["language", "criterion", "output"]
RATED = dict.fromkeys((*KEYS, "generator", "rater", "kind"), "str") | {"score": "float64"}
DIGITS = 10  # of the mean of equal scores, which would else differ from them
SLICE = 20_000  # items whose classes are counted at a time


def of_audit(folder: Path) -> RunAnswers:
    """The outputs of an audit on which a judge differs from people, or people differ among
    themselves.

    Comments are not read, and texts only when they are asked for, so that a large audit needs
    little memory. Raises UsageError if the folder is no audit, DataError if a part of it cannot be
    used.
    """
    criteria = criteria_of(folder)
    table = read_parquet(folder / DISAGREEMENTS, "audit", [*ITEM_COLUMNS, *RATING_COLUMNS])
    if not {*ITEM_COLUMNS, "ratings"} <= set(table.column_names):
        raise DataError(folder / DISAGREEMENTS, "not the columns of disagreements", again("audit"))
    kinds = {rater.rater: rater.kind for rater in read_raters(folder)}
    texts = partial(read_texts, folder / DISAGREEMENTS, "audit", TEXTS)
    return of_disagreements(table, criteria, kinds, texts)


def of_disagreements(
    table: pa.Table,
    criteria: Mapping[str, Criterion],
    kinds: Mapping[str, str],
    texts: Callable[[], Iterable[Sequence[str]]],
) -> RunAnswers:
    """The outputs in an audit's table of disagreements.

    kinds: of all raters. texts: reads the columns TEXTS of the table row by row.
    """
    items = table.select(ITEM_COLUMNS).to_pandas(strings_to_categorical=True)
    items["span"] = _spans(items, criteria)
    ratings = table["ratings"].combine_chunks()
    flat = ratings.flatten()
    scored = pd.DataFrame(
        {
            "item": ratings.value_parent_indices().to_numpy().astype(np.int32),
            "rater": flat.field("rater").dictionary_encode().to_pandas().astype("category"),
            "score": flat.field("score").to_numpy(zero_copy_only=False),
        }
    )
    people, judges = _by_kind(kinds)
    codes = items["output"].cat.codes
    return RunAnswers(
        items, scored, criteria, people, judges, lambda: zip(codes, texts(), strict=True)
    )


def criteria_of(audit: Path) -> dict[str, Criterion]:
    """The criteria of an audit, by name."""
    entries = read_manifest(audit, "audit")["criteria"]
    return {key: read_criterion(key, entry, audit / "run.toml") for key, entry in entries.items()}


def of_dataset(dataset: Dataset) -> RunAnswers:
    """All outputs of a dataset that were rated."""
    return _of_ratings(dataset.ratings, dataset.criteria, dataset)


def of_raters(run: RatingsRun, dataset: Dataset | None) -> RunAnswers:
    """The outputs that the raters of a run rated, with people's ratings of the same.

    dataset: the one that the run rated; without it, languages, texts and people are missing.
    """
    return _of_ratings(_rated_in(run, dataset), criteria_in(run, dataset), dataset)


def criteria_in(run: RatingsRun, dataset: Dataset | None) -> dict[str, Criterion]:
    """The criteria of a run and of the dataset that it rated, by name."""
    criteria = read_criteria(run.manifest["criteria"], run.folder / RUN_TOML)
    return {**criteria, **(dataset.criteria if dataset else {})}


def _rated_in(run: RatingsRun, dataset: Dataset | None) -> pd.DataFrame:
    """The ratings of a run and people's ratings of the same outputs and criteria, in the columns
    RATED.
    """
    own, outputs = run.ratings, dataset.outputs if dataset else {}
    kinds = {name: rater.kind for name, rater in run.raters.items()}
    names_of = [name for name in own["output"].astype(str).unique() if name in outputs]
    own = own.assign(kind=own["rater"].astype(str).map(kinds))
    for column in ("language", "generator"):
        values = {name: getattr(outputs[name], column) for name in names_of}
        own[column] = own["output"].astype(str).map(values).fillna("")
    asked = own.loc[:, ["output", "criterion"]].astype(str).drop_duplicates()
    own = own.loc[:, [*RATED]].astype(RATED)
    if dataset is None:
        return own.reset_index(drop=True)
    people = dataset.ratings[dataset.ratings["rater"].isin(people_in(dataset.raters))]
    people = people.loc[:, [*RATED]].astype(RATED)
    both = [people.merge(asked, on=["output", "criterion"]), own]
    return pd.concat(both, ignore_index=True)


def _of_ratings(
    ratings: pd.DataFrame, criteria: Mapping[str, Criterion], dataset: Dataset | None
) -> RunAnswers:
    """The outputs in a table of ratings; dataset: where their texts are."""
    keys = ratings.loc[:, KEYS].astype("category")
    numbers = keys.groupby(KEYS, sort=False, observed=True).ngroup().to_numpy().astype(np.int32)
    first = np.unique(numbers, return_index=True)[1]
    items = keys.iloc[first].reset_index(drop=True)
    items["output"] = items["output"].cat.remove_unused_categories()
    items["generator"] = ratings["generator"].iloc[first].astype("category").array
    scored = pd.DataFrame(
        {
            "item": numbers,
            "rater": ratings["rater"].astype("category").array,
            "score": ratings["score"].to_numpy(),
        }
    ).sort_values("item", kind="stable", ignore_index=True)
    kinds = ratings.loc[:, ["rater", "kind"]].astype(str).drop_duplicates()
    people, judges = _by_kind(dict(zip(kinds["rater"], kinds["kind"], strict=True)))
    by_people = scored[scored["rater"].isin(people)]
    items["people"] = _people_answers(by_people, items, criteria)
    items["span"] = _spans(items, criteria)
    items["people_range"] = ranges_of(items, by_people)
    outputs = items["output"].cat.categories.astype(str).tolist()
    return RunAnswers(
        items, scored, criteria, people, judges, lambda: _texts_of_dataset(dataset, outputs)
    )


def _by_kind(kinds: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """The names of people, and of all other raters."""
    people = sorted(name for name, kind in kinds.items() if kind == "human")
    return people, sorted(kinds.keys() - set(people))


def _people_answers(
    by_people: pd.DataFrame, items: pd.DataFrame, criteria: Mapping[str, Criterion]
) -> Any:
    """(items,) the answer of the people: their most frequent one as an audit counts it or, of
    scores without classes, their mean; NaN without one.
    """
    item, score = by_people["item"].to_numpy(), by_people["score"].to_numpy()
    means = by_people.groupby("item")["score"].mean().reindex(range(len(items)))
    answers = means.round(DIGITS).to_numpy(copy=True)
    for name, criterion in criteria.items():
        values = np.sort([level.value for level in criterion.scale.levels])
        here = np.flatnonzero(items["criterion"] == name)
        for start in range(0, len(here) if len(values) else 0, SLICE):
            part = here[start : start + SLICE]
            rows = np.isin(item, part) & ~np.isnan(score)
            counts = np.zeros((len(part), len(values)), dtype=np.int64)
            at = np.searchsorted(part, item[rows]), np.searchsorted(values, score[rows])
            np.add.at(counts, at, 1)
            ordered = criterion.scale.measure != "nominal"
            classes = settled(counts, values, ordered=ordered)
            if criterion.scale.tie is not None:
                tie = criterion.scale.levels[criterion.scale.tie].value
                classes = np.where(classes == TIE, np.searchsorted(values, tie), classes)
            answers[part] = np.where(classes >= 0, values[classes], np.nan)
    return answers


def _texts_of_dataset(
    dataset: Dataset | None, outputs: Sequence[str]
) -> Iterator[tuple[int, Sequence[str]]]:
    """The texts of outputs that a dataset has, each with its number among these outputs."""
    for number, name in enumerate(outputs):
        if dataset and name in dataset.outputs:
            output = dataset.outputs[name]
            source = dataset.sources[output.source]
            yield number, (source.title, source.text, output.text)


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
