"""The ratings table: schema, check, read, write, to arrays.

On disk a rating is six facts (FACTS). In memory they are joined with what is known of the output and
the rater into the tidy table (COLUMNS): one row a rating, names as pandas categories, so that a million
ratings take some tens of megabytes.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd
import pyarrow as pa

from metal.errors import DataError, UsageError, nearest
from metal.records import Criterion, Output, Rater, Rating

FACTS = ("output", "criterion", "rater", "score", "reason", "comment")
REQUIRED_FACTS = ("output", "criterion", "rater", "score")
COLUMNS = (
    "language",
    "source",
    "generator",
    "output",
    "criterion",
    "rater",
    "kind",
    "group",
    "score",
    "reason",
    "comment",
)
FORMATS = (".parquet", ".csv", ".jsonl")

# Codes in a code matrix that are not a level of the scale.
UNANSWERED = -1
NOT_ASKED = -2

_NAMES = pa.dictionary(pa.int32(), pa.string())
_TYPES = {
    "output": _NAMES,
    "criterion": _NAMES,
    "rater": _NAMES,
    "score": pa.float64(),
    "reason": _NAMES,
    "comment": pa.string(),
}
_NO_NUMBER = ["", "NaN", "nan", "NA", "null", "None"]


# ---------------------------------------------------------------- build


def facts_from(ratings: Iterable[Rating]) -> pd.DataFrame:
    """Facts from Rating records (importers with up to some hundred thousand ratings)."""
    rows = [(r.output, r.criterion, r.rater, r.score, r.reason, r.comment) for r in ratings]
    return tidy_facts(pd.DataFrame(rows, columns=list(FACTS)))


def tidy_facts(frame: pd.DataFrame) -> pd.DataFrame:
    """The facts with METAL's column types; absent reason and comment columns become empty ones."""
    facts = pd.DataFrame(index=range(len(frame)))
    for name in ("output", "criterion", "rater"):
        column = frame[name].reset_index(drop=True)
        facts[name] = column if isinstance(column.dtype, pd.CategoricalDtype) else column.astype(str).astype("category")
    facts["score"] = pd.to_numeric(frame["score"].reset_index(drop=True)).astype(np.float64)
    reason = frame["reason"].reset_index(drop=True) if "reason" in frame else pd.Series("", index=facts.index)
    if isinstance(reason.dtype, pd.CategoricalDtype):
        facts["reason"] = _filled_category(reason)
    else:
        facts["reason"] = reason.astype(object).where(reason.notna(), "").astype(str).astype("category")
    comment = frame["comment"].reset_index(drop=True) if "comment" in frame else pd.Series("", index=facts.index)
    facts["comment"] = comment.astype(object).where(comment.notna(), "").astype("str")
    return facts


def _filled_category(column: pd.Series) -> pd.Series:
    if "" not in column.cat.categories:
        column = column.cat.add_categories([""])
    return column.fillna("")


# ---------------------------------------------------------------- read and write


def find_ratings(folder: Path) -> Path:
    """The ratings file of a dataset or run folder: ratings.parquet, .csv or .jsonl."""
    found = [folder / f"ratings{ending}" for ending in FORMATS if (folder / f"ratings{ending}").is_file()]
    if not found:
        raise DataError(folder, "no ratings file", "It should hold ratings.parquet, ratings.csv or ratings.jsonl")
    if len(found) > 1:
        raise DataError(
            folder,
            f"two ratings files: {', '.join(path.name for path in found)}",
            "Keep one; they may differ",
        )
    return found[0]


def read_facts(path: Path) -> pd.DataFrame:
    """The facts in a ratings file (.parquet, .csv, .jsonl).

    Raises DataError for unknown or missing columns, text that is not UTF-8, and scores that are no numbers.
    """
    readers = {".parquet": _read_parquet, ".csv": _read_csv, ".jsonl": _read_jsonl}
    if path.suffix not in readers:
        raise UsageError(f"{path}: ratings are read from {', '.join(FORMATS)}, not from {path.suffix or 'this'!r}")
    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    table = readers[path.suffix](path)
    for name in ("output", "criterion", "rater"):
        if table[name].null_count:
            row = int(np.flatnonzero(table[name].is_null().to_numpy(zero_copy_only=False))[0])
            raise DataError(_row(path, row), f"{name} is empty", "Every rating names its output, criterion and rater")
    return tidy_facts(table.to_pandas())


def _check_columns(path: Path, columns: Sequence[str]) -> None:
    unknown = [name for name in columns if name not in FACTS]
    if unknown:
        raise DataError(
            path,
            f"unknown column {unknown[0]!r}: {nearest(unknown[0], list(FACTS))}",
            "Other layouts are read by `metal import table`",
        )
    missing = [name for name in REQUIRED_FACTS if name not in columns]
    if missing:
        raise DataError(
            path,
            f"no column {missing[0]!r} (columns found: {', '.join(columns)})",
            "Other layouts are read by `metal import table`",
        )


def _read_parquet(path: Path) -> pa.Table:
    import pyarrow.parquet as pq

    try:
        columns = pq.read_schema(path).names
    except pa.ArrowInvalid:
        raise DataError(path, "not a Parquet file", "Write it again, or give the ratings as .csv or .jsonl") from None
    _check_columns(path, columns)
    names = [name for name in ("output", "criterion", "rater", "reason") if name in columns]
    table = pq.read_table(path, read_dictionary=names)
    return _cast(path, table)


def _read_csv(path: Path) -> pa.Table:
    from pyarrow import csv as arrow_csv

    with path.open("rb") as file:
        header_line = file.readline()
    try:
        header = next(csv.reader(io.StringIO(header_line.decode("utf-8-sig"))), [])
    except UnicodeDecodeError as error:
        raise _not_utf8(path, 0, error) from None
    if not header:
        raise DataError(path, "the file is empty", f"The first row names the columns: {','.join(FACTS)}")
    _check_columns(path, header)
    options = arrow_csv.ConvertOptions(
        column_types={name: _TYPES[name] for name in header},
        null_values=_NO_NUMBER,
        strings_can_be_null=False,
        quoted_strings_can_be_null=True,
    )
    try:
        return arrow_csv.read_csv(
            path, parse_options=arrow_csv.ParseOptions(newlines_in_values=True), convert_options=options
        )
    except pa.ArrowInvalid as error:
        _explain_csv(path, header, error)


def _explain_csv(path: Path, header: list[str], error: Exception) -> NoReturn:
    """Find the row that pyarrow could not read, and say what is wrong with it."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as failure:
        line = path.read_bytes()[: failure.start].count(b"\n")
        raise _not_utf8(path, line, failure) from None
    position = header.index("score")
    for number, fields in enumerate(csv.reader(io.StringIO(text, newline=""))):
        if not number or not fields:
            continue
        if len(fields) != len(header):
            raise DataError(
                _row(path, number - 1),
                f"{len(fields)} fields where the header names {len(header)}",
                "Quote fields that hold commas or line breaks",
            )
        if fields[position] not in _NO_NUMBER:
            _number(fields[position], _row(path, number - 1))
    raise DataError(path, f"not readable as CSV ({error})", "Write it again, or use Parquet")


def _read_jsonl(path: Path) -> pa.Table:
    columns: dict[str, list[Any]] = {name: [] for name in FACTS}
    for row, record in read_jsonl(path):
        if row == 0 or not record.keys() <= columns.keys() or not record.keys() >= set(REQUIRED_FACTS):
            _check_columns(path, list(record))
        score = record["score"]
        if score is not None and (isinstance(score, bool) or not isinstance(score, int | float)):
            score = _number(score, _row(path, row))
        columns["score"].append(score)
        for name in ("output", "criterion", "rater"):
            value = record[name]
            columns[name].append(None if value in (None, "") else str(value))
        for name in ("reason", "comment"):
            columns[name].append(str(record.get(name) or ""))
    return pa.table({name: pa.array(values, _TYPES[name]) for name, values in columns.items()})


def _number(text: object, where: str) -> float:
    try:
        return float(str(text))
    except ValueError:
        raise DataError(
            where,
            f"score {text!r} is not a number",
            "Give level values; an unanswered rating has an empty score",
        ) from None


def _cast(path: Path, table: pa.Table) -> pa.Table:
    try:
        return table.cast(pa.schema([(name, _TYPES[name]) for name in table.column_names]))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise DataError(path, f"columns of the wrong type ({error})", "score is a number, the rest is text") from None


def _not_utf8(path: Path, row: int, error: UnicodeDecodeError) -> DataError:
    return DataError(
        f"{path} line {row + 1}",
        f"not UTF-8 (byte 0x{error.object[error.start]:02x})",
        "Save it as UTF-8; from Excel choose 'CSV UTF-8'",
    )


def _row(path: Path, row: int) -> str:
    """Where a rating stands, as a text editor or spreadsheet counts (the header is row 1 of a CSV)."""
    return f"{path} row {row + (2 if path.suffix == '.csv' else 1)}"


def read_jsonl(path: Path) -> Iterable[tuple[int, dict[str, Any]]]:
    """Rows (from 0) and objects of a JSON Lines file; blank lines are passed over.

    Raises DataError for what is not UTF-8, not JSON or not an object, naming the line.
    """
    with path.open("rb") as file:
        row = 0
        for number, line in enumerate(file):
            try:
                text = line.decode("utf-8-sig" if number == 0 else "utf-8").strip()
            except UnicodeDecodeError as error:
                raise _not_utf8(path, number, error) from None
            if not text:
                continue
            try:
                record = json.loads(text)
            except json.JSONDecodeError as error:
                raise DataError(
                    f"{path} line {number + 1}", f"not JSON ({error.msg})", "One JSON object a line"
                ) from None
            if not isinstance(record, dict):
                raise DataError(f"{path} line {number + 1}", "not a JSON object", 'One object a line: {"output": ...}')
            yield row, record
            row += 1


def write_facts(facts: pd.DataFrame, path: Path) -> None:
    """Write the six facts as .parquet, .csv or .jsonl, whole or not at all."""
    frame = facts.loc[:, list(FACTS)]
    partial = path.with_name(path.name + ".part")
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        table = pa.Table.from_pandas(frame, preserve_index=False).cast(pa.schema(list(_TYPES.items())))
        pq.write_table(table.replace_schema_metadata(None), partial, compression="zstd")
    elif path.suffix == ".csv":
        frame.to_csv(partial, index=False, lineterminator="\n")
    else:
        frame.astype(dict.fromkeys(("output", "criterion", "rater", "reason"), str)).to_json(
            partial, orient="records", lines=True, force_ascii=False
        )
    os.replace(partial, path)


# ---------------------------------------------------------------- check and join


def join(
    facts: pd.DataFrame,
    *,
    criteria: Mapping[str, Criterion],
    outputs: Mapping[str, Output],
    raters: Mapping[str, Rater],
    where: Path,
) -> pd.DataFrame:
    """The tidy table: facts joined with outputs and raters, after checking every rating.

    Raises DataError naming the first row that is wrong: unknown output, criterion or rater, a score off
    the scale or infinite, no score and no reason, an output rated twice by one rater on one criterion.
    """
    _check_known(facts, "output", outputs, where, "Ratings need a line in outputs.jsonl")
    _check_known(facts, "criterion", criteria, where, "Declare it in dataset.toml under [criteria]")
    _check_known(facts, "rater", raters, where, "Ratings need a line in raters.jsonl")
    _check_scores(facts, criteria, where)
    _check_once(facts, where)

    rated = [outputs[name] for name in facts["output"].cat.categories]
    known = [raters[name] for name in facts["rater"].cat.categories]
    by_output = facts["output"].cat.codes.to_numpy()
    by_rater = facts["rater"].cat.codes.to_numpy()
    table = pd.DataFrame(
        {
            "language": _spread([item.language for item in rated], by_output),
            "source": _spread([item.source for item in rated], by_output),
            "generator": _spread([item.generator for item in rated], by_output),
            "output": facts["output"],
            "criterion": facts["criterion"],
            "rater": facts["rater"],
            "kind": _spread([rater.kind for rater in known], by_rater),
            "group": _spread([rater.group for rater in known], by_rater),
            "score": facts["score"],
            "reason": facts["reason"],
            "comment": facts["comment"],
        }
    )
    return table.loc[:, list(COLUMNS)]


def _spread(values: list[str], codes: np.ndarray[Any, Any]) -> Any:
    """A categorical column from one value a category of another column."""
    small = pd.Categorical(values)
    return pd.Categorical.from_codes(small.codes[codes] if len(values) else codes, dtype=small.dtype)


def _check_known(facts: pd.DataFrame, column: str, known: Mapping[str, Any], where: Path, remedy: str) -> None:
    categories = facts[column].cat.categories
    unknown = np.array([name not in known for name in categories], dtype=bool)
    if not unknown.any():
        return
    hits = np.flatnonzero(unknown[facts[column].cat.codes.to_numpy()])
    if not len(hits):
        return
    name = str(facts[column].iloc[hits[0]])
    raise DataError(
        _row(where, int(hits[0])),
        f"{column} {name!r} does not exist ({len(hits)} such rows); {nearest(name, list(known))}",
        remedy,
    )


def _check_scores(facts: pd.DataFrame, criteria: Mapping[str, Criterion], where: Path) -> None:
    score = facts["score"].to_numpy()
    answered = ~np.isnan(score)
    silent = np.flatnonzero(~answered & (facts["reason"] == "").to_numpy())
    if len(silent):
        raise DataError(
            _row(where, int(silent[0])),
            f"no score and no reason ({len(silent)} such rows)",
            "Say why in the column 'reason' (refused, unparsable, skipped, ...)",
        )
    codes = facts["criterion"].cat.codes.to_numpy()
    for code, name in enumerate(facts["criterion"].cat.categories):
        rows = np.flatnonzero((codes == code) & answered)
        scale = criteria[name].scale
        wrong = ~np.isin(score[rows], scale.values) if scale.levels else ~np.isfinite(score[rows])
        if wrong.any():
            row = int(rows[np.flatnonzero(wrong)[0]])
            raise DataError(
                _row(where, row),
                f"score {score[row]:g} is not on the scale of {name} ({scale.describe()}; {int(wrong.sum())} rows)",
                "Declare the levels in dataset.toml, or shift the scores (`metal import table --shift -1`)",
            )


def _check_once(facts: pd.DataFrame, where: Path) -> None:
    key = rating_keys(facts)
    again = pd.Series(key).duplicated().to_numpy()
    if not again.any():
        return
    second = int(np.flatnonzero(again)[0])
    first = int(np.flatnonzero(key == key[second])[0])
    line = facts.iloc[second]
    raise DataError(
        _row(where, second),
        f"rater {line['rater']!r} rates output {line['output']!r} on {line['criterion']} a second time "
        f"(first in row {first + (2 if where.suffix == '.csv' else 1)}; {int(again.sum())} such rows)",
        "Keep one of them",
    )


def rating_keys(facts: pd.DataFrame) -> np.ndarray[Any, np.dtype[np.int64]]:
    """One integer a rating that is equal exactly for the same output, criterion and rater."""
    key = np.zeros(len(facts), dtype=np.int64)
    for name in ("output", "criterion", "rater"):
        key = key * max(len(facts[name].cat.categories), 1) + facts[name].cat.codes.to_numpy().astype(np.int64)
    return key


# ---------------------------------------------------------------- to arrays


@dataclass(frozen=True)
class CodeMatrix:
    """The ratings of one criterion in one language as class codes.

    codes: (items, raters) positions on the scale, UNANSWERED (-1) or NOT_ASKED (-2).
    sources: (items,) codes of the source each output belongs to. outputs, raters: the names in order.
    """

    codes: np.ndarray[Any, np.dtype[np.int16]]
    sources: np.ndarray[Any, np.dtype[np.int64]]
    outputs: tuple[str, ...]
    raters: tuple[str, ...]

    def of(self, raters: Sequence[str]) -> np.ndarray[Any, np.dtype[np.int16]]:
        """The columns of these raters."""
        return self.codes[:, [self.raters.index(rater) for rater in raters]]


def code_matrix(rows: pd.DataFrame, criterion: Criterion) -> CodeMatrix:
    """The code matrix of rows that all belong to one criterion (and usually one language).

    Raters stand in string order, outputs in order of their names, so that the order of the file does not matter.
    """
    outputs, item = _names(rows["output"])
    raters, column = _names(rows["rater"])
    _, source = _names(rows["source"])
    score = rows["score"].to_numpy()
    values = np.asarray(criterion.scale.values)
    order = np.argsort(values)
    position = order[np.clip(np.searchsorted(values[order], score), 0, len(values) - 1)]
    codes = np.full((len(outputs), len(raters)), NOT_ASKED, dtype=np.int16)
    codes[item, column] = np.where(np.isnan(score), UNANSWERED, position)
    source_of = np.zeros(len(outputs), dtype=np.int64)
    source_of[item] = source
    return CodeMatrix(codes, source_of, tuple(outputs), tuple(raters))


def _names(column: pd.Series) -> tuple[list[str], np.ndarray[Any, np.dtype[np.int64]]]:
    """The names in a categorical column, in string order, and the place of each row's name among them."""
    used, place = np.unique(column.cat.codes.to_numpy(), return_inverse=True)
    names = [str(column.cat.categories[code]) for code in used]
    order = sorted(range(len(names)), key=names.__getitem__)
    rank = np.empty(len(names), dtype=np.int64)
    rank[order] = np.arange(len(names))
    return [names[at] for at in order], rank[place]
