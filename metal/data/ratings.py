"""The ratings table: its schema, checks, joins and arrays (ratings_files.py reads and writes it).

On disk a rating is six facts (FACTS), plus those of OPTIONAL that at least one rating has. In
memory they are joined with facts about the output and the rater into the tidy table (COLUMNS): one
row per rating, names as pandas categories, so a million ratings take some tens of megabytes.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from metal.data.progress import counted_as
from metal.data.records import Criterion, Output, Rater, Rating, Scale
from metal.data.text import plural
from metal.errors import DataError, nearest

FACTS = ("output", "criterion", "rater", "score", "reason", "comment")
CONFIDENCE = "confidence"  # the probability of the level that was answered
EXPECTED = "expected"  # the mean of the levels, each weighted by its probability
ALSO = "also"  # the values of other levels that would do as well: 0|2
NUMBERS = (CONFIDENCE, EXPECTED)
OPTIONAL = (*NUMBERS, ALSO)
COLUMNS = (
    "language",
    "source",
    "generator",
    "output",
    "criterion",
    "rater",
    "kind",
    "group",
    *FACTS[3:],
)

# what messages name in place of a file when ratings come from a DataFrame
FRAME = Path("DataFrame")

# Codes in a code matrix that are not a level of the scale.
UNANSWERED = -1
NOT_ASKED = -2

# ---------------------------------------------------------------- build


def facts_in(table: Container[str]) -> list[str]:
    """The facts that a table of ratings has, in columns with their names."""
    return [*FACTS, *(name for name in OPTIONAL if name in table)]


def facts_from(ratings: Iterable[Rating]) -> pd.DataFrame:
    """Facts from Rating records, for importers with up to some hundred thousand ratings."""
    names = [*FACTS, *OPTIONAL]
    return tidy_facts(pd.DataFrame(map(attrgetter(*names), ratings), columns=names))


def tidy_facts(frame: pd.DataFrame) -> pd.DataFrame:
    """The facts with METAL's column types; empty columns for reason and comment are added if they
    are missing.
    """
    facts: dict[str, Any] = {}
    for name in ("output", "criterion", "rater"):
        column = frame[name].reset_index(drop=True)
        categorical = isinstance(column.dtype, pd.CategoricalDtype)
        facts[name] = _used_only(column) if categorical else column.astype(str).astype("category")
    facts["score"] = pd.to_numeric(frame["score"].reset_index(drop=True)).astype(np.float64)
    reason = (
        frame["reason"].reset_index(drop=True)
        if "reason" in frame
        else pd.Series("", index=range(len(frame)))
    )
    if isinstance(reason.dtype, pd.CategoricalDtype):
        facts["reason"] = (
            reason if "" in reason.cat.categories else reason.cat.add_categories([""])
        ).fillna("")
    else:
        facts["reason"] = (
            reason.astype(object).where(reason.notna(), "").astype(str).astype("category")
        )
    comment = (
        frame["comment"].reset_index(drop=True)
        if "comment" in frame
        else pd.Series("", index=range(len(frame)))
    )
    if isinstance(comment.dtype, pd.StringDtype):
        facts["comment"] = comment.fillna("").astype("str")
    else:
        facts["comment"] = comment.astype(object).where(comment.notna(), "").astype("str")
    for name in NUMBERS:
        if name in frame and frame[name].notna().any():
            facts[name] = frame[name].reset_index(drop=True).astype(np.float64)
    if ALSO in frame:
        also = frame[ALSO].reset_index(drop=True).astype(object)
        also = also.where(also.notna(), "").astype("str")
        facts |= {ALSO: also} if (also != "").any() else {}
    return pd.DataFrame(facts, index=range(len(frame)))


def _used_only(column: pd.Series) -> pd.Series:
    """The column without categories that do not occur. They are found by counting, which is faster
    than sorting.
    """
    counts = np.bincount(
        column.array.codes.astype(np.intp) + 1, minlength=len(column.cat.categories) + 1
    )
    return column if counts[1:].all() else column.cat.remove_unused_categories()


# ---------------------------------------------------------------- check and join


def row_of(path: Path, row: int) -> str:
    """The row of a rating as a text editor or spreadsheet counts it (the header of a CSV
    is row 1).
    """
    return f"{path} row {row_number(path, row)}"


def row_number(path: Path, row: int) -> int:
    """The number that people give to row `row` (from 0) of the data."""
    if path == FRAME:
        return row
    return row + (2 if path.suffix in (".csv", ".tsv", ".xlsx") else 1)


def join(
    facts: pd.DataFrame,
    *,
    criteria: Mapping[str, Criterion],
    outputs: Mapping[str, Output],
    raters: Mapping[str, Rater],
    ratings_file: Path,
) -> pd.DataFrame:
    """The tidy table: facts joined with outputs and raters, after every rating was checked.

    Raises DataError naming the first row that is wrong: unknown output, criterion or rater, a score
    off the scale or infinite, a rating without score and reason, or an output rated twice by one
    rater on one criterion.
    """
    judged = (
        "Every rated output needs a line in outputs.jsonl, and a run needs the dataset that it"
        " judged (probes: `metal probe report`)"
    )
    checks = (
        partial(_check_known, facts, "output", outputs, ratings_file, judged),
        partial(
            _check_known,
            facts,
            "criterion",
            criteria,
            ratings_file,
            "Declare it in dataset.toml under [criteria]",
        ),
        partial(
            _check_known,
            facts,
            "rater",
            raters,
            ratings_file,
            "Every rater needs a line in raters.jsonl",
        ),
        partial(_check_scores, facts, criteria, ratings_file),
        partial(check_once, facts, ratings_file),
    )
    for check in counted_as(checks, "checks"):
        check()
    table = {name: facts[name] for name in facts_in(facts)}
    of = {
        "language": "output",
        "source": "output",
        "generator": "output",
        "kind": "rater",
        "group": "rater",
    }
    for field, by in counted_as(of.items(), "columns"):
        records: Mapping[str, Any] = outputs if by == "output" else raters
        values = [getattr(records[name], field) for name in facts[by].cat.categories.tolist()]
        table[field] = _spread(values, facts[by].array.codes)
    return pd.DataFrame(
        {name: table[name] for name in (*COLUMNS, *facts_in(facts)[len(FACTS) :])},
        index=facts.index,
    )


def _spread(values: list[str], codes: np.ndarray[Any, Any]) -> Any:
    """A categorical column from one value per category of another column."""
    names = sorted(set(values))
    places = dict(zip(names, range(len(names)), strict=True))
    spread = np.array([places[value] for value in values], np.intp)[codes] if values else codes
    return pd.Categorical.from_codes(spread, pd.Index(names, dtype="str"))


def _check_known(
    facts: pd.DataFrame, column: str, names: Mapping[str, Any], file: Path, remedy: str
) -> None:
    unknown = np.array(
        [name not in names for name in facts[column].cat.categories.tolist()], dtype=bool
    )
    if not unknown.any():
        return
    hits = np.flatnonzero(unknown[facts[column].array.codes])
    if not len(hits):
        return
    name = str(facts[column].iloc[hits[0]])
    raise DataError(
        row_of(file, int(hits[0])),
        f"{column} {name!r} does not exist ({plural(len(hits), 'such row')});"
        f" {nearest(name, list(names))}",
        remedy,
    )


def _check_scores(facts: pd.DataFrame, criteria: Mapping[str, Criterion], file: Path) -> None:
    score = facts["score"].to_numpy()
    answered = ~np.isnan(score)
    silent = np.flatnonzero(~answered & (facts["reason"] == "").to_numpy())
    if len(silent):
        raise DataError(
            row_of(file, int(silent[0])),
            f"no score and no reason ({plural(len(silent), 'such row')})",
            "Say why in the column 'reason' (refused, unparsable, skipped, ...)",
        )
    if CONFIDENCE in facts and (doubtful := no_probability(facts[CONFIDENCE])).any():
        row = int(doubtful.argmax())
        problem = f"confidence {facts[CONFIDENCE].iloc[row]:g} is not a probability"
        raise DataError(row_of(file, row), problem, "Write it from 0 to 1, or leave it out")
    check_on_scale(facts, criteria, partial(row_of, file))
    if EXPECTED in facts:
        _check_expected(facts, criteria, file)
    if ALSO in facts:
        _check_also(facts, criteria, file)


def check_on_scale(
    facts: pd.DataFrame, criteria: Mapping[str, Criterion], locate: Callable[[int], str]
) -> None:
    """Raise DataError for the first score off the scale of its criterion.

    locate: how messages name row n (from 0).
    """
    score = facts["score"].to_numpy()
    codes = facts["criterion"].array.codes
    for code, name in enumerate(facts["criterion"].cat.categories):
        rows = np.flatnonzero((codes == code) & ~np.isnan(score))
        scale = criteria[name].scale
        wrong = off_scale(score[rows], scale)
        if wrong.any():
            row = int(rows[np.flatnonzero(wrong)[0]])
            count = plural(int(wrong.sum()), "such row")
            problem = (
                f"score {score[row]:g} is not on the scale of {name} ({scale.describe()}; {count})"
            )
            raise DataError(locate(row), problem, _scale_that_holds(score[rows], scale, name))


def values_of(also: str) -> list[float]:
    """The values in a text such as `0|2`. Raises ValueError for other texts."""
    return [float(value) for value in also.split("|") if value.strip()]


def _check_also(facts: pd.DataFrame, criteria: Mapping[str, Criterion], file: Path) -> None:
    """Raise DataError for the first value in the column `also` that is no level of its
    criterion.
    """
    for row in np.flatnonzero(facts[ALSO] != ""):
        text, name = str(facts[ALSO].iloc[row]), str(facts["criterion"].iloc[row])
        scale = criteria[name].scale
        try:
            wrong = not scale.levels or not {*values_of(text)} <= {*scale.values}
        except ValueError:
            wrong = True
        if wrong:
            raise DataError(
                row_of(file, int(row)),
                f"also {text!r} has no levels of {name} ({scale.describe()})",
                "Write the values of the other right answers, such as 0|2",
            )


def _check_expected(facts: pd.DataFrame, criteria: Mapping[str, Criterion], file: Path) -> None:
    """Raise DataError for the first value in the column `expected` (a mean of levels) that is off
    its scale.
    """
    codes = facts["criterion"].array.codes
    for code, name in enumerate(facts["criterion"].cat.categories):
        scale = criteria[name].scale
        if not scale.ends:
            continue
        rows = np.flatnonzero((codes == code) & facts["score"].notna())
        expected = facts[EXPECTED].iloc[rows]
        outside = expected.notna() & ~expected.between(*scale.ends)
        if outside.any():
            row = int(rows[outside.to_numpy().argmax()])
            problem = (
                f"expected {facts[EXPECTED].iloc[row]:g} is not on the scale of {name}"
                f" ({scale.describe()})"
            )
            raise DataError(
                row_of(file, row),
                problem,
                "Write a mean of levels, or leave it out",
            )


def _scale_that_holds(
    scores: np.ndarray[Any, np.dtype[np.float64]], scale: Scale, name: str
) -> str:
    """Advice on scores off the scale: a range or levels that include all of them, or a shift that
    puts all on the scale.
    """
    if not scale.levels:
        low, high = (f"{score:.15g}" for score in (scores.min(), scores.max()))
        ends = {name: f"{low}..{high}"}
        return (
            f"All scores are from {low} to {high}; if that is the scale: `ranges={ends}`, or"
            " declare it in dataset.toml"
        )
    shift = scale.values[0] - float(scores.min())
    if shift and not off_scale(scores + shift, scale).any():
        return f"If it begins at {scores.min():g} there: `shifts={ {name: f'{shift:g}'} }`"
    return "Declare all its levels, with `levels` or in dataset.toml"


def no_probability(column: pd.Series) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which confidences are outside 0 to 1; a missing one is no fault."""
    return np.asarray(column.notna() & ~column.between(0, 1))


def off_scale(
    score: np.ndarray[Any, np.dtype[np.float64]], scale: Scale
) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """True for each score that is off the scale."""
    if scale.levels:
        return np.isin(score, scale.values, invert=True)
    if scale.low is not None and scale.high is not None:
        return np.asarray((score < scale.low) | (score > scale.high))
    return np.asarray(~np.isfinite(score))


def check_once(facts: pd.DataFrame, file: Path, remedy: str = "Keep one of them") -> None:
    """Raise DataError for a rating that occurs twice. The index of `facts` has the row in
    the file.
    """
    key = rating_keys(facts)
    if not _any_twice(key):
        return
    again = pd.Series(key).duplicated().to_numpy()
    second = int(np.flatnonzero(again)[0])
    first = int(np.flatnonzero(key == key[second])[0])
    line = facts.iloc[second]
    raise DataError(
        row_of(file, int(facts.index[second])),
        f"rater {line['rater']!r} rates output {line['output']!r} on {line['criterion']} a second"
        f" time (first in row {row_number(file, int(facts.index[first]))};"
        f" {plural(int(again.sum()), 'such row')})",
        remedy,
    )


def _any_twice(key: np.ndarray[Any, np.dtype[np.int64]]) -> bool:
    """Whether a number occurs twice.

    key: numbers from 0; if they are close together, they are counted, which is faster.
    """
    if not len(key) or int(key.max()) < 4 * len(key) + 1_000_000:
        return bool((np.bincount(key) > 1).any())
    return bool(pd.Series(key).duplicated().any())


def rating_keys(facts: pd.DataFrame) -> np.ndarray[Any, np.dtype[np.int64]]:
    """An integer for each rating; two are equal exactly if output, criterion and rater are the
    same.
    """
    key = np.zeros(len(facts), dtype=np.int64)
    for name in ("output", "criterion", "rater"):
        key = key * max(len(facts[name].cat.categories), 1) + facts[name].array.codes.astype(
            np.int64
        )
    return key


# ---------------------------------------------------------------- to arrays


@dataclass(frozen=True)
class CodeMatrix:
    """The ratings of one criterion in one language as class codes.

    codes: (items, raters) positions among the values, UNANSWERED (-1) or NOT_ASKED (-2). values:
    the meaning of each code: the levels of the scale or, if it has none, the scores that occur.
    sources: (items,) codes of the source each output belongs to. outputs, raters: the names in
    order. places: (items, raters) the position of each rating among the rows, -1 if there is none.
    """

    codes: np.ndarray[Any, np.dtype[Any]]
    sources: np.ndarray[Any, np.dtype[np.int64]]
    outputs: tuple[str, ...]
    raters: tuple[str, ...]
    places: np.ndarray[Any, np.dtype[np.int32]]
    values: np.ndarray[Any, np.dtype[np.float64]]

    def of(self, raters: Sequence[str]) -> np.ndarray[Any, np.dtype[Any]]:
        """The matrix with only the columns of these raters."""
        return self.codes[:, list(map(self.raters.index, raters))]


def code_matrix(rows: pd.DataFrame, criterion: Criterion) -> CodeMatrix:
    """The code matrix of rows that all belong to one criterion (and usually one language).

    Raters and outputs are in string order, so the order of the file does not matter.
    """
    outputs, item = names_in(rows["output"])
    raters, column = names_in(rows["rater"])
    _, source = names_in(rows["source"])
    score = rows["score"].to_numpy()
    values = np.asarray(
        criterion.scale.values if criterion.scale.levels else np.unique(score[~np.isnan(score)])
    )
    order = np.argsort(values)
    rank = np.clip(np.searchsorted(values[order], score), 0, max(len(values) - 1, 0))
    few = np.int16 if len(values) < np.iinfo(np.int16).max else np.int32
    codes = np.full((len(outputs), len(raters)), NOT_ASKED, dtype=few)
    codes[item, column] = np.where(
        np.isnan(score), UNANSWERED, order[rank] if len(values) else UNANSWERED
    )
    places = np.full(codes.shape, -1, dtype=np.int32)
    places[item, column] = np.arange(len(rows))
    source_of = np.zeros(len(outputs), dtype=np.int64)
    source_of[item] = source
    return CodeMatrix(codes, source_of, tuple(outputs), tuple(raters), places, values)


def names_in(column: pd.Series) -> tuple[list[str], np.ndarray[Any, np.dtype[np.int64]]]:
    """The names in a categorical column, in string order, and the position of each row's name among
    them.
    """
    codes = column.array.codes
    used = np.flatnonzero(np.bincount(codes))
    names: list[str] = column.cat.categories[used].tolist()
    order = sorted(range(len(names)), key=names.__getitem__)
    rank = np.zeros(len(column.cat.categories), dtype=np.int64)
    rank[used[order]] = np.arange(len(names))
    return [names[at] for at in order], rank[codes]
