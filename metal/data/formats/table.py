"""Any table of ratings: tidy (one rating per row) or wide (one column per rater).

Files (CSV, TSV, JSONL, Parquet, XLSX) and DataFrames. Columns are recognised by common names (GUESSES) or named in the
options. Work is done on whole columns: a million rows take seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from metal.data.dataset import Card
from metal.data.formats import COMMON_OPTIONS, Draft, Format, with_common_options
from metal.data.languages import find_language
from metal.data.ratings import FRAME, row_of, tidy_facts
from metal.data.records import DIRECTIONS, KINDS, MEASURES, Criterion, Level, Output, Rater, Scale, Source
from metal.errors import DataError, UnknownName, UsageError

ENDINGS = (".csv", ".tsv", ".jsonl", ".parquet", ".xlsx")
MOST_LEVELS = 11  # whole numbers with more distinct values than this are a continuous score
NO_ANSWER = "no answer"

# role: the column names it is recognised by, compared in lower case without spaces, dashes and underscores
GUESSES: Mapping[str, tuple[str, ...]] = {
    "rater": ("rater", "annotator", "worker", "workerid", "annotatorid", "raterid", "judge", "evaluator", "user"),
    "score": ("score", "rating", "label", "value", "answer", "judgement", "judgment", "grade"),
    "criterion": ("criterion", "criteria", "metric", "dimension", "aspect", "question", "attribute"),
    "language": ("language", "lang", "locale", "langcode", "languagecode"),
    "source": ("source", "sourceid", "docid", "documentid", "promptid", "segid", "passageid", "inputid", "document"),
    "generator": ("generator", "system", "model", "sys", "systemid", "modelname"),
    "output": ("output", "outputid", "item", "itemid", "summaryid", "taskid", "task", "id"),
    "kind": ("kind", "ratertype", "ratingtype"),
    "group": ("group", "ratergroup"),
    "reason": ("reason", "missingreason"),
    "comment": ("comment", "justification", "explanation", "feedback", "rationale", "notes"),
    "text": ("text", "summary", "response", "hypothesis", "hyp", "translation", "outputtext"),
    "source_text": ("sourcetext", "passage", "prompt", "article", "input"),
}
OPTIONS = frozenset(
    {"columns", "wide", "language", "criterion", "generator", "kinds", "groups"}
    | {"shift", "levels", "measure", "direction", "directions"}
)


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read a table file; see `draft_from` for the options."""
    return draft_from(read_frame(path), options, path)


def read_ratings(frame: pd.DataFrame, **options: Any) -> Draft:
    """Ratings in a DataFrame, read as the format `table` reads a file. The frame is left as it is.

    options: those of `draft_from`, and `only`, the kinds of rater to keep. Rows in messages are counted from 0.
    Raises UnknownName for an option that does not exist, and what `draft_from` raises.

    >>> frame = pd.DataFrame({"id": ["a", "a"], "annotator": ["A1", "gpt-4"], "rating": [1, 0]})
    >>> draft = read_ratings(frame, language="hi", kinds={"gpt*": "llm"})
    >>> [rater.kind for rater in draft.raters]
    ['human', 'llm']
    >>> draft.notes[0]
    "columns read: rater from 'annotator', score from 'rating', output from 'id'"
    """
    for name in options:
        if name not in OPTIONS | COMMON_OPTIONS:
            raise UnknownName("option", name, sorted(OPTIONS | COMMON_OPTIONS))
    return with_common_options(draft_from(frame, {"name": "ratings"} | options, FRAME), options)


def read_frame(path: str | Path, *, as_text: bool = False) -> pd.DataFrame:
    """The file as a data frame, texts as they are. Raises UsageError or DataError when it cannot be read.

    as_text: cells of files that tell numbers from texts only by their looks stay texts (`007`).
    """
    path = Path(path)
    ending = path.suffix.lower()
    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    if ending not in ENDINGS:
        raise UsageError(f"{path}: tables are read from {', '.join(ENDINGS)}")
    cells: dict[str, Any] = {"keep_default_na": False, "na_values": ["", "NaN", "nan"]}
    cells |= {"dtype": str} if as_text else {}
    try:
        if ending == ".parquet":
            return pd.read_parquet(path)
        if ending == ".jsonl":
            return pd.read_json(path, lines=True, dtype=False)
        if ending != ".xlsx":
            cells |= {"sep": "\t" if ending == ".tsv" else ",", "encoding": "utf-8-sig"}
        table: pd.DataFrame = pd.read_excel(path, **cells) if ending == ".xlsx" else pd.read_csv(path, **cells)
        return table
    except UnicodeDecodeError as error:
        raise DataError(
            path, f"not UTF-8 ({error.reason})", "Save it as UTF-8; from Excel choose 'CSV UTF-8'"
        ) from None
    except pd.errors.EmptyDataError:
        raise DataError(path, "the file is empty", "The first row names the columns") from None
    except (ValueError, OSError, KeyError) as error:
        problem = str(error).strip().splitlines()[-1:] or ["unreadable"]
        raise DataError(path, f"not readable as {path.suffix[1:].upper()} ({problem[0]})", "Write it again") from None


def draft_from(frame: pd.DataFrame, options: Mapping[str, Any], where: Path) -> Draft:
    """A draft from a data frame. where: the file that messages name.

    options:

    - columns {role: column}: which column plays which role (see GUESSES)
    - wide: the columns of raters in a wide table, with * as wildcard
    - language, criterion, generator: of all rows
    - kinds, groups {rater, with *: value}; raters without a kind are taken for people
    - shift: a number added to every score
    - levels: {value: label} or ((value, label), ...) in rising order; measure: see Scale
    - directions {criterion, with *: "higher" or "lower"}: which scores are better; direction: of all other criteria
    - name: of the dataset

    Raises DataError or UsageError, with the names of the columns, when a needed column is missing.
    """
    frame = frame.rename(columns=str).reset_index(drop=True)
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise DataError(where, f"two columns are called {twice!r}", "Rename one of them")
    patterns = [options["wide"]] if isinstance(options.get("wide"), str) else options.get("wide") or ()
    wide = [name for name in frame.columns if any(fnmatchcase(name, pattern) for pattern in patterns)]
    if patterns and not wide:
        raise DataError(where, f"no column matches `wide={list(patterns)}`", _columns_of(frame))
    roles = _roles(frame, wide, options, where)
    notes: list[str] = [f"columns read: {', '.join(f'{role} from {column!r}' for role, column in roles.items())}"]
    tidy = _tidy(frame, roles, wide, where)
    if tidy.empty:
        raise DataError(where, "no ratings in it", f"{_columns_of(frame)}. Each row below the header is a rating")
    tidy = _identify(tidy, options, notes, where)
    criteria = _criteria(tidy, options, where)
    raters = _raters(tidy, options, notes)
    _check_outputs(tidy, where)
    return Draft(
        Card(options.get("name") or where.stem),
        criteria,
        tuple(Source(*row) for row in _first_rows(tidy, "source", "language", "source_text")),
        tuple(Output(*row) for row in _first_rows(tidy, "output", "source", "generator", "language", "text")),
        raters,
        tidy_facts(tidy),
        tuple(notes),
    )


def _columns_of(frame: pd.DataFrame) -> str:
    return f"Columns found: {', '.join(frame.columns)}"


def _roles(frame: pd.DataFrame, wide: Sequence[str], options: Mapping[str, Any], where: Path) -> dict[str, str]:
    """{role: column}: as named in the options, else by the names of the columns."""
    roles: dict[str, str] = dict(options.get("columns") or {})
    for role, column in roles.items():
        if role not in GUESSES:
            raise UsageError(f"`columns={ {role: column} }`: roles are {', '.join(GUESSES)}")
        if column not in frame:
            raise DataError(where, f"no column {column!r}", _columns_of(frame))
    plain = {column.lower().replace("_", "").replace("-", "").replace(" ", ""): column for column in frame.columns}
    for role, guesses in GUESSES.items():
        if role in roles or (wide and role in ("rater", "score")):
            continue
        free = [column for column in map(plain.get, guesses) if column and column not in {*roles.values(), *wide}]
        if free:
            roles[role] = free[0]
    return roles


def _tidy(frame: pd.DataFrame, roles: dict[str, str], wide: Sequence[str], where: Path) -> pd.DataFrame:
    """One rating per row, columns named by role; the index is the row in the file."""
    named = {column: role for role, column in roles.items()}
    if wide:
        kept = frame[[*named, *wide]].rename(columns=named)
        tidy = kept.melt(id_vars=list(roles), value_vars=wide, var_name="rater", value_name="score", ignore_index=False)
        # An empty cell of a wide table says nothing: the rater was not asked.
        return tidy[tidy["score"].notna()]
    for role in ("rater", "score"):
        if role not in roles:
            remedy = f'{_columns_of(frame)}. Name it: `columns={{"{role}": COLUMN}}`; a wide table: `wide=RATERS`'
            raise DataError(where, f"no column for the {role}", remedy)
    return frame[list(named)].rename(columns=named)


def _identify(tidy: pd.DataFrame, options: Mapping[str, Any], notes: list[str], where: Path) -> pd.DataFrame:
    """Fill in what identifies a rating: language, criterion, generator, source and output."""
    if "output" not in tidy and "source" not in tidy:
        remedy = 'Name one with `columns={"output": COLUMN}`'
        raise DataError(where, "no column for the output or its source", remedy)
    for role, default in (("criterion", "overall"), ("generator", "text")):
        if role not in tidy or options.get(role):
            tidy[role] = options.get(role) or default
            notes.append(f"{role}: {options.get(role) or default!r} for all rows")
    if options.get("language"):
        tidy["language"] = options["language"]
    elif "language" not in tidy:
        remedy = 'Name it with `columns={"language": COLUMN}`, or `language=CODE`'
        raise DataError(where, "no column for the language", remedy)
    for role in ("language", "rater", "criterion", "generator", "source", "output"):
        if role in tidy:
            empty = tidy[role].isna().to_numpy()
            if empty.any():
                row = int(tidy.index[int(empty.argmax())])
                raise DataError(row_of(where, row), f"{role} is empty", "Every rating needs one")
            tidy[role] = _category(tidy[role])
    codes = {name: find_language(name) or name for name in tidy["language"].cat.categories}
    tidy["language"] = tidy["language"].map(codes).astype("category")
    if "source" not in tidy:
        tidy["source"] = tidy["output"]
    if "output" not in tidy:
        tidy["output"] = _joined(tidy["source"], tidy["generator"])
    return tidy


def _category(column: pd.Series) -> pd.Series:
    if pd.api.types.is_float_dtype(column) and column.dropna().mod(1).eq(0).all():
        column = column.astype("int64")  # ids that a missing cell had made floats
    return column.astype(str).astype("category")


def _joined(left: pd.Series, right: pd.Series) -> Any:
    """`left/right` as categories, built from the distinct pairs only."""
    width = len(right.cat.categories)
    key = left.cat.codes.to_numpy().astype(np.int64) * width + right.cat.codes.to_numpy()
    pairs, place = np.unique(key, return_inverse=True)
    names = [f"{left.cat.categories[pair // width]}/{right.cat.categories[pair % width]}" for pair in pairs.tolist()]
    return pd.Categorical.from_codes(place, pd.Index(names))


# ---------------------------------------------------------------- criteria


def _criteria(tidy: pd.DataFrame, options: Mapping[str, Any], where: Path) -> tuple[Criterion, ...]:
    """The criteria, with the levels of the options or those that occur; labels in words become numbers in `tidy`."""
    if options.get("measure") and options["measure"] not in MEASURES:
        raise UsageError(f"`measure` {options['measure']}: one of {', '.join(MEASURES)}")
    names = tidy["criterion"].cat.categories
    directions = _directions(names, options)
    answered = tidy["score"].notna().to_numpy()
    scores = pd.to_numeric(tidy["score"], errors="coerce").to_numpy(dtype=np.float64, copy=True)
    criteria: list[Criterion] = []
    for code, name in enumerate(names):
        rows = (tidy["criterion"].cat.codes == code).to_numpy() & answered
        words = np.isnan(scores) & rows
        if words.any():
            scale, scores[rows] = _coded(tidy["score"][rows], name, options, where, not words[rows].all())
        else:
            scores[rows] += float(options.get("shift") or 0)
            scale = _scale(np.unique(scores[rows]), options)
        criteria.append(Criterion(name, scale, directions[name]))
    tidy["score"] = scores
    reason = tidy["reason"].astype(object) if "reason" in tidy else pd.Series("", index=tidy.index, dtype=object)
    tidy["reason"] = reason.where(answered | (reason.notna() & (reason != "")), NO_ANSWER)
    return tuple(criteria)


def _directions(names: pd.Index[str], options: Mapping[str, Any]) -> dict[str, Any]:
    """{criterion: whether higher or lower scores are better}. Raises UnknownName for a pattern that fits no criterion,
    since a misspelt one would turn a criterion round without a word.
    """
    patterns: Mapping[str, str] = options.get("directions") or {}
    default = options.get("direction") or "higher"
    for direction in (default, *patterns.values()):
        if direction not in DIRECTIONS:
            raise UsageError(f"direction {direction!r}: one of {', '.join(DIRECTIONS)} (is better)")
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise UnknownName("`directions`: criterion", pattern, list(names))
    return {name: _matching(name, patterns) or default for name in names}


def _coded(
    column: pd.Series, criterion: str, options: Mapping[str, Any], where: Path, mixed: bool
) -> tuple[Scale, np.ndarray[Any, Any]]:
    """Scale and scores of labels in words: in the order of the option `levels`, else in string order."""
    words = column.astype(str)
    measure: Any = options.get("measure") or "nominal"
    levels = _levels(options)
    if levels:
        values = {level.label.lower(): level.value for level in levels}
        values |= {f"{level.value:g}": level.value for level in levels}
        unknown = [word for word in words.unique() if word.lower() not in values]
        if unknown:
            shown = ", ".join(level.shown for level in levels)
            raise DataError(where, f"label {unknown[0]!r} of {criterion} is not in `levels`", f"Add it to {shown}")
        return Scale(measure, levels), words.str.lower().map(values).to_numpy(dtype=float)
    if mixed:
        row = int(pd.to_numeric(words, errors="coerce").isna().to_numpy().argmax())
        remedy = "Leave missing scores empty, or name all labels with `levels`"
        place = row_of(where, int(column.index[row]))
        raise DataError(place, f"score {words.iloc[row]!r} among numbers ({criterion})", remedy)
    labels = sorted(words.unique())
    codes = {label: float(code) for code, label in enumerate(labels)}
    # A scale has at least two answers, also where all raters always gave the same one.
    answers = labels if len(labels) > 1 else [*labels, "(other)"]
    scale = Scale(measure, tuple(Level(float(code), label) for code, label in enumerate(answers)))
    return scale, words.map(codes).to_numpy(dtype=float)


def _scale(values: np.ndarray[Any, Any], options: Mapping[str, Any]) -> Scale:
    """The scale of scores in numbers: the levels of the options, else those that occur."""
    measure: Any = options.get("measure") or "ordinal"
    if options.get("levels"):
        return Scale(measure, _levels(options))
    whole_numbers = np.equal(np.mod(values, 1), 0).all() and 2 <= len(values) <= MOST_LEVELS
    if not whole_numbers or measure == "interval":
        return Scale("interval")
    return Scale(measure, tuple(Level(float(value), f"{value:g}") for value in values))


def _levels(options: Mapping[str, Any]) -> tuple[Level, ...]:
    levels = options.get("levels") or ()
    return tuple(Level(value, label) for value, label in (levels.items() if isinstance(levels, Mapping) else levels))


# ---------------------------------------------------------------- raters and outputs


def _raters(tidy: pd.DataFrame, options: Mapping[str, Any], notes: list[str]) -> tuple[Rater, ...]:
    raters, assumed = [], 0
    for name, given_kind, given_group in sorted(_first_rows(tidy, "rater", "kind", "group")):
        kind: Any = _matching(name, options.get("kinds") or {}) or given_kind
        if kind not in (*KINDS, ""):
            raise UsageError(f"rater {name!r} has kind {kind!r}; kinds are {', '.join(KINDS)}")
        assumed += not kind
        raters.append(Rater(name, kind or "human", _matching(name, options.get("groups") or {}) or given_group))
    if assumed:
        others = '`kinds={"NAME": "llm"}` (metric, baseline)'
        notes.append(f"{assumed} raters are taken for people; say {others} for others")
    return tuple(raters)


def _matching(name: str, by_pattern: Mapping[str, str]) -> str:
    return next((value for pattern, value in by_pattern.items() if fnmatchcase(name, pattern)), "")


def _first_rows(tidy: pd.DataFrame, name: str, *others: str) -> Iterator[Any]:
    """The cells of the first row of each output, source or rater as texts; cells that are not there are empty."""
    first = tidy.drop_duplicates(name).reindex(columns=[name, *others]).astype(object).fillna("")
    return (list(map(str, row)) for row in first.itertuples(index=False, name=None))


def _check_outputs(tidy: pd.DataFrame, where: Path) -> None:
    """Raises DataError for an output with two sources, generators or languages."""
    facts = tidy[["output", "source", "generator", "language"]].drop_duplicates()
    again = facts["output"].duplicated().to_numpy()
    if again.any():
        name = facts["output"].iloc[int(again.argmax())]
        problem = f"output {name!r} has more than one source, generator or language"
        remedy = "If ids repeat in each language or system, leave the output column out"
        raise DataError(where, problem, remedy + ': `columns={"source": ...}` instead')


FORMAT = Format("CSV, TSV, JSONL, Parquet, XLSX; one rating per row or one column per rater", read, OPTIONS)
