"""Scores of generators: what a rater gave a generator as a whole, or for a domain or document.

They are not scores of single outputs, and need not be means of such scores.

A dataset folder keeps them in generator_scores.parquet, if there are any; each row is one score:

language, generator   whose score it is, and of its outputs in which language
domain, document      the part that is scored, as sources name it; both empty for everything
criterion, rater      as in the ratings
score                 a finite number, as the rater gave it; a part without a score has no row
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from metal.data.files import write_new
from metal.errors import DataError

NAMES = ("language", "generator", "domain", "document", "criterion", "rater")
COLUMNS = (*NAMES, "score")
FILE = "generator_scores.parquet"


def generator_scores(rows: Iterable[tuple[Any, ...]] | pd.DataFrame = ()) -> pd.DataFrame:
    """The table of scores of generators, with its column types.

    rows: their values are in the order of COLUMNS.
    """
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    columns = {name: frame[name].astype(str).astype("category") for name in NAMES}
    scores = pd.DataFrame({**columns, "score": frame["score"].astype(np.float64)})
    return scores.reset_index(drop=True)


def of_whole(scores: pd.DataFrame) -> pd.DataFrame:
    """The rows that score a generator as a whole."""
    return scores[(scores["domain"] == "") & (scores["document"] == "")]


def among(scores: pd.DataFrame, **names: Collection[str]) -> pd.DataFrame:
    """The rows whose criterion, rater or generator is one of these."""
    kept = np.ones(len(scores), dtype=bool)
    for column, allowed in names.items():
        kept &= scores[column].isin(list(allowed)).to_numpy()
    return scores if kept.all() else generator_scores(scores[kept])


def joined_scores(ours: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
    """Two tables joined into one; if both score the same thing, the score of the first is kept."""
    both = pd.concat([table.astype(dict.fromkeys(NAMES, str)) for table in (ours, theirs)])
    return generator_scores(both.drop_duplicates(list(NAMES)))


def check_generator_scores(
    scores: pd.DataFrame, names: Mapping[str, Collection[str]], file: object
) -> None:
    """Raise DataError for a name that the dataset lacks, a score that is no finite number, or a
    second score of the same thing.

    names: {column: the names that the dataset has}.
    """
    for column, in_dataset in names.items():
        unknown = ~scores[column].isin(list(in_dataset)).to_numpy()
        if unknown.any():
            row = int(unknown.argmax())
            problem = f"{column} {scores[column].iloc[row]!r} does not exist in the dataset"
            raise DataError(
                f"{file} row {row + 1}", problem, "Remove the row, or add what it names"
            )
    endless = ~np.isfinite(scores["score"].to_numpy())
    if endless.any():
        row = int(endless.argmax())
        problem = f"score {scores['score'].iloc[row]} is not a finite number"
        raise DataError(f"{file} row {row + 1}", problem, "Remove the row if there is no score")
    again = scores.duplicated(list(NAMES)).to_numpy()
    if again.any():
        line = scores.iloc[int(again.argmax())]
        problem = f"{line['rater']!r} scores {line['generator']!r} in {line['language']} twice"
        raise DataError(f"{file} row {int(again.argmax()) + 1}", problem, "Keep one of them")


# ---------------------------------------------------------------- the file


def read_generator_scores(folder: Path) -> pd.DataFrame:
    """The scores in a dataset folder; an empty table if it has no such file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = folder / FILE
    if not file.is_file():
        return generator_scores()
    try:
        table = pq.read_table(file)
        if sorted(table.column_names) != sorted(COLUMNS):
            problem = f"the columns are {', '.join(table.column_names)}"
            raise DataError(file, problem, f"They should be {', '.join(COLUMNS)}")
        types = {name: pa.string() for name in NAMES} | {"score": pa.float64()}
        schema = pa.schema([(name, types[name]) for name in COLUMNS])
        return generator_scores(table.select(list(COLUMNS)).cast(schema).to_pandas())
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        problem = f"a damaged Parquet file ({' '.join(str(error).split())})"
        raise DataError(file, problem, "Take the file from a backup") from None


def write_generator_scores(scores: pd.DataFrame, folder: Path) -> None:
    """Write the scores into a dataset folder; without scores, nothing is written."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if scores.empty:
        return
    plain = {name: pa.array(scores[name].astype(str).tolist(), pa.string()) for name in NAMES}
    content = pa.BufferOutputStream()
    table = pa.table({**plain, "score": pa.array(scores["score"], pa.float64())})
    pq.write_table(table, content, compression="zstd")
    write_new(folder / FILE, bytes(content.getvalue().to_pybytes()))
