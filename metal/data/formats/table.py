"""Any table of ratings: tidy (one rating a row) or wide (one column a rater).

CSV, TSV, JSONL, Parquet and XLSX. Columns are found by common names (GUESSES) or named by the options.
Work is done on whole columns: a million rows take seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd

from metal.data.dataset import Card
from metal.data.formats.draft import Draft
from metal.data.languages import find_language
from metal.data.ratings import tidy_facts
from metal.data.records import KINDS, MEASURES, Criterion, Direction, Kind, Level, Measure, Output, Rater, Scale, Source
from metal.errors import DataError, UsageError

ENDINGS = (".csv", ".tsv", ".jsonl", ".parquet", ".xlsx")
MOST_LEVELS = 11  # whole numbers with more distinct values than this are a continuous score
NO_ANSWER = "no answer"

# role: the column names it is guessed from, compared in lower case without spaces, dashes and underscores
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
ROLES = tuple(GUESSES)


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read a table file; see `draft_from` for the options."""
    return draft_from(read_frame(path), options, path)


def read_frame(path: Path, *, as_text: bool = False) -> pd.DataFrame:
    """The file as a data frame, texts as they are. Raises UsageError or DataError when it cannot be read.

    as_text: cells of files that tell numbers from texts only by their looks stay texts (`007`).
    """
    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    if path.suffix.lower() not in ENDINGS:
        raise UsageError(f"{path}: tables are read from {', '.join(ENDINGS)}")
    try:
        frame: pd.DataFrame = _readers(as_text)[path.suffix.lower()](path)
        return frame
    except UnicodeDecodeError as error:
        raise DataError(
            path, f"not UTF-8 ({error.reason})", "Save it as UTF-8; from Excel choose 'CSV UTF-8'"
        ) from None
    except pd.errors.EmptyDataError:
        raise DataError(path, "the file is empty", "The first row names the columns") from None
    except (ValueError, OSError, KeyError) as error:
        problem = str(error).strip().splitlines()[-1:] or ["unreadable"]
        raise DataError(path, f"not readable as {path.suffix[1:].upper()} ({problem[0]})", "Write it again") from None


def _readers(as_text: bool) -> Mapping[str, Any]:
    text: dict[str, Any] = {"keep_default_na": False, "na_values": ["", "NaN", "nan"], "encoding": "utf-8-sig"}
    text |= {"dtype": str} if as_text else {}
    return {
        ".csv": lambda path: pd.read_csv(path, **text),
        ".tsv": lambda path: pd.read_csv(path, sep="\t", **text),
        ".jsonl": lambda path: pd.read_json(path, lines=True, dtype=False),
        ".parquet": pd.read_parquet,
        ".xlsx": lambda path: pd.read_excel(path, **{key: value for key, value in text.items() if key != "encoding"}),
    }


def draft_from(frame: pd.DataFrame, options: Mapping[str, Any], where: Path) -> Draft:
    """A draft from a data frame.

    options: columns {role: column}, wide (rater columns, with * as wildcard), language, criterion, kinds and
    groups {rater, with *: value}, shift, levels ((value, label), ...), measure, direction, name.
    Raises DataError or UsageError, naming the columns found, when a needed column is not there.
    """
    frame.columns = [str(name) for name in frame.columns]
    roles = _roles(frame, options, where)
    notes: list[str] = [f"columns read: {', '.join(f'{role} from {column!r}' for role, column in roles.items())}"]
    tidy = _tidy(frame, roles, options, where)
    if tidy.empty:
        raise DataError(where, "no ratings in it", f"{_found(frame)}. Each row below the header is a rating")
    tidy = _identify(tidy, options, notes, where)
    criteria = _criteria(tidy, options, where)
    raters = _raters(tidy, options, notes)
    outputs = tidy.drop_duplicates("output")
    _one_output_each(tidy, where)
    texts = outputs["text"] if "text" in outputs else [""] * len(outputs)
    return Draft(
        Card(options.get("name") or where.stem),
        criteria,
        _sources(tidy),
        tuple(
            Output(str(name), str(source), str(generator), str(language), str(text))
            for name, source, generator, language, text in zip(
                outputs["output"], outputs["source"], outputs["generator"], outputs["language"], texts, strict=True
            )
        ),
        raters,
        tidy_facts(tidy),
        tuple(notes),
    )


def _roles(frame: pd.DataFrame, options: Mapping[str, Any], where: Path) -> dict[str, str]:
    """Which column plays which role: as told, else by its name."""
    told = dict(options.get("columns") or {})
    for role, column in told.items():
        if role not in ROLES:
            raise UsageError(f"--column {role}={column}: roles are {', '.join(ROLES)}")
        if column not in frame:
            raise DataError(where, f"no column {column!r}", f"Columns found: {', '.join(frame.columns)}")
    wide = _wide(frame, options)
    plain = {column.lower().replace("_", "").replace("-", "").replace(" ", ""): column for column in frame.columns}
    roles = dict(told)
    for role, guesses in GUESSES.items():
        if role in told or (wide and role in ("rater", "score")):
            continue
        for guess in guesses:
            column = plain.get(guess)
            if column and column not in roles.values() and column not in wide:
                roles[role] = column
                break
    return roles


def _wide(frame: pd.DataFrame, options: Mapping[str, Any]) -> list[str]:
    patterns: Sequence[str] = options.get("wide") or ()
    return [column for column in frame.columns if any(fnmatchcase(column, pattern) for pattern in patterns)]


def _tidy(frame: pd.DataFrame, roles: dict[str, str], options: Mapping[str, Any], where: Path) -> pd.DataFrame:
    """One rating a row, columns named by role."""
    named = {column: role for role, column in roles.items()}
    wide = _wide(frame, options)
    if options.get("wide") and not wide:
        raise DataError(where, f"no column matches --wide {','.join(options['wide'])}", _found(frame))
    if wide:
        kept = frame[[*named, *wide]].rename(columns=named)
        tidy = kept.melt(id_vars=list(roles), value_vars=wide, var_name="rater", value_name="score")
        # An empty cell of a wide table says nothing: the rater was not asked.
        return tidy[tidy["score"].notna()].reset_index(drop=True)
    for role in ("rater", "score"):
        if role not in roles:
            raise DataError(
                where,
                f"no column for the {role}",
                f"{_found(frame)}. Name it: --column {role}=COLUMN; a wide table: --wide RATERS",
            )
    return frame[list(named)].rename(columns=named)


def _found(frame: pd.DataFrame) -> str:
    return f"Columns found: {', '.join(frame.columns)}"


def _identify(tidy: pd.DataFrame, options: Mapping[str, Any], notes: list[str], where: Path) -> pd.DataFrame:
    """Fill in what identifies a rating: language, criterion, generator, source and output."""
    if "output" not in tidy and "source" not in tidy:
        raise DataError(where, "no column for the output or its source", "Name one with --column output=COLUMN")
    for role, default in (("criterion", "overall"), ("generator", "text")):
        if role not in tidy or options.get(role):
            value = options.get(role) or default
            notes.append(f"{role}: {value!r} for all rows")
            tidy[role] = value
    tidy["language"] = _languages(tidy, options, where)
    for role in ("rater", "criterion", "generator", "source", "output"):
        if role in tidy:
            empty = tidy[role].isna().to_numpy()
            if empty.any():
                raise DataError(f"{where} row {int(empty.argmax()) + 2}", f"{role} is empty", "Every rating needs one")
            tidy[role] = _category(tidy[role])
    if "source" not in tidy:
        tidy["source"] = tidy["output"]
    if "output" not in tidy:
        tidy["output"] = _joined(tidy["source"], tidy["generator"])
    return tidy


def _languages(tidy: pd.DataFrame, options: Mapping[str, Any], where: Path) -> Any:
    told = options.get("language")
    if told:
        code = find_language(told)
        names: Any = [code or told]
        return pd.Categorical.from_codes(np.zeros(len(tidy), dtype=int), names)
    if "language" not in tidy:
        raise DataError(
            where, "no column for the language", "Name it with --column language=COLUMN, or --language CODE"
        )
    column = _category(tidy["language"])
    return column.cat.rename_categories(_distinct_codes(list(column.cat.categories)))


def _distinct_codes(names: list[str]) -> list[str]:
    codes = [find_language(name) or name for name in names]
    return codes if len(set(codes)) == len(codes) else names


def _category(column: pd.Series) -> pd.Series:
    if pd.api.types.is_float_dtype(column) and column.dropna().mod(1).eq(0).all():
        column = column.astype("int64")  # ids that a missing cell had made floats
    return column.astype(str).astype("category")


def _joined(left: pd.Series, right: pd.Series) -> Any:
    """`left/right` as categories, built from the distinct pairs only."""
    key = left.cat.codes.to_numpy().astype(np.int64) * len(right.cat.categories) + right.cat.codes.to_numpy()
    distinct, place = np.unique(key, return_inverse=True)
    first, second = np.divmod(distinct, len(right.cat.categories))
    names: Any = [
        f"{left.cat.categories[a]}/{right.cat.categories[b]}"
        for a, b in zip(first.tolist(), second.tolist(), strict=True)
    ]
    return pd.Categorical.from_codes(place, names)


def _criteria(tidy: pd.DataFrame, options: Mapping[str, Any], where: Path) -> tuple[Criterion, ...]:
    """The criteria, with levels as told or as found; text labels become numbers in `tidy`."""
    measure, direction = options.get("measure"), options.get("direction") or "higher"
    if measure and measure not in MEASURES:
        raise UsageError(f"--measure {measure}: one of {', '.join(MEASURES)}")
    numbers = pd.to_numeric(tidy["score"], errors="coerce")
    asked = tidy["score"].notna().to_numpy()
    found: list[Criterion] = []
    scores = numbers.to_numpy(dtype=np.float64, copy=True)
    for code, name in enumerate(tidy["criterion"].astype("category").cat.categories):
        rows = (tidy["criterion"].astype("category").cat.codes == code).to_numpy() & asked
        words = np.isnan(scores) & rows
        if words.any():
            labels, scores[rows] = _coded(tidy["score"][rows], name, options, where, not words[rows].all())
            found.append(
                Criterion(name, Scale(cast(Measure, measure or "nominal"), labels), cast(Direction, direction))
            )
            continue
        scores[rows] += float(options.get("shift") or 0)
        scale = _scale(np.unique(scores[rows]), options, measure)
        found.append(Criterion(name, scale, cast(Direction, direction)))
    tidy["score"] = scores
    if "reason" not in tidy:
        tidy["reason"] = ""
    reason = tidy["reason"].astype(object)
    tidy["reason"] = reason.where(asked | (reason.notna() & (reason != "")), NO_ANSWER)
    return tuple(found)


def _coded(
    column: pd.Series, criterion: str, options: Mapping[str, Any], where: Path, mixed: bool
) -> tuple[tuple[Level, ...], np.ndarray[Any, Any]]:
    """Levels and scores of labels in words: in the order of --levels, else in string order."""
    words = column.astype(str)
    told: Sequence[tuple[float, str]] = options.get("levels") or ()
    if told:
        values = {label.lower(): value for value, label in told} | {f"{value:g}": value for value, _ in told}
        unknown = [word for word in words.unique() if word.lower() not in values]
        if unknown:
            raise DataError(where, f"label {unknown[0]!r} of {criterion} is not in --levels", f"Add it to {told}")
        return tuple(Level(value, label) for value, label in told), words.str.lower().map(values).to_numpy(dtype=float)
    if mixed:
        bad = next(word for word in words.unique() if pd.isna(pd.to_numeric(word, errors="coerce")))
        row = int((words == bad).to_numpy().argmax())
        raise DataError(
            f"{where} row {int(column.index[row]) + 2}",
            f"score {bad!r} among numbers ({criterion})",
            "Leave missing scores empty, or name all labels with --levels",
        )
    labels = sorted(words.unique())
    place = {label: float(code) for code, label in enumerate(labels)}
    if len(labels) == 1:  # everybody always said the same; a scale has at least two answers
        labels, place = [*labels, "(other)"], place | {"(other)": 1.0}
    return tuple(Level(place[label], label) for label in labels), words.map(place).to_numpy(dtype=float)


def _scale(values: np.ndarray[Any, Any], options: Mapping[str, Any], measure: str | None) -> Scale:
    told: Sequence[tuple[float, str]] = options.get("levels") or ()
    if told:
        return Scale(cast(Measure, measure or "ordinal"), tuple(Level(value, label) for value, label in told))
    whole = np.equal(np.mod(values, 1), 0).all() and 2 <= len(values) <= MOST_LEVELS
    if not whole or measure == "interval":
        return Scale("interval")
    levels = tuple(Level(float(value), f"{value:g}") for value in values)
    return Scale(cast(Measure, measure or "ordinal"), levels)


def _raters(tidy: pd.DataFrame, options: Mapping[str, Any], notes: list[str]) -> tuple[Rater, ...]:
    kinds, groups = dict(options.get("kinds") or {}), dict(options.get("groups") or {})
    first = tidy.drop_duplicates("rater").set_index("rater")
    raters, assumed = [], 0
    for name in tidy["rater"].cat.categories:
        kind = _matching(name, kinds) or (str(first.loc[name, "kind"]) if "kind" in first else "")
        if not kind:
            kind, assumed = "human", assumed + 1
        if kind not in KINDS:
            raise UsageError(f"rater {name!r} has kind {kind!r}; kinds are {', '.join(KINDS)}")
        group = _matching(name, groups) or (str(first.loc[name, "group"]) if "group" in first else "")
        raters.append(Rater(str(name), cast(Kind, kind), group))
    if assumed:
        notes.append(f"{assumed} raters are taken for people; say --kind NAME=llm (metric, baseline) for others")
    return tuple(raters)


def _matching(name: str, by_pattern: Mapping[str, str]) -> str:
    return next((value for pattern, value in by_pattern.items() if fnmatchcase(name, pattern)), "")


def _sources(tidy: pd.DataFrame) -> tuple[Source, ...]:
    first = tidy.drop_duplicates("source")
    texts = first["source_text"].fillna("") if "source_text" in first else [""] * len(first)
    return tuple(
        Source(str(source), str(language), str(text))
        for source, language, text in zip(first["source"], first["language"], texts, strict=True)
    )


def _one_output_each(tidy: pd.DataFrame, where: Path) -> None:
    """An output has one source, generator and language."""
    facts = tidy[["output", "source", "generator", "language"]].drop_duplicates()
    again = facts["output"].duplicated().to_numpy()
    if again.any():
        name = facts["output"].iloc[int(again.argmax())]
        raise DataError(
            where,
            f"output {name!r} has more than one source, generator or language",
            "If ids repeat in each language or system, leave the output column out: --column source=... instead",
        )
