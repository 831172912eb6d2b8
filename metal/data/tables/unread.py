"""Find columns that were not read but may tell ratings or sources apart, so that leaving them out
may mislead.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from metal.data.tables.cells import as_texts
from metal.data.tables.names import COMMENTS, is_nobodys, words_of

# values of a column that may name sources, and outputs to each
FEWEST_SOURCES, OUTPUTS_EACH = 10, 1.5
LONGEST = 60  # characters of a value, on average, beyond which a column holds remarks


def differing(frame: pd.DataFrame, unread: Sequence[str], tidy: pd.DataFrame) -> list[str]:
    """The unread columns whose values differ between ratings of one output.

    Such a column may be a rater, a criterion, a round or another output. tidy: one rating per row,
    with the index of the frame's rows.

    Columns that count or measure something, hold remarks, describe a rater, or number the rows are
    left out, and those that repeat what is read: the label of a score, or a fact about a rater on a
    criterion in a language.
    """
    outputs, raters = tidy["output"].cat.codes.to_numpy(), tidy["rater"].cat.codes.to_numpy()
    names = []
    for name in unread:
        if (
            name not in frame
            or is_nobodys(name)
            or not {*COMMENTS, "remarks", "notes"}.isdisjoint(words_of(name))
        ):
            continue
        values = as_texts(frame[name])
        texts = values.cat.categories
        if (
            len(texts) < 2
            or 2 * len(texts) > len(frame)
            or texts.str.len().to_numpy().mean() > LONGEST
        ):
            continue
        codes = values.cat.codes.reindex(tidy.index).to_numpy()
        if _several(outputs, codes) and _several(raters, codes):
            names.append(name)
    if names:
        names = [name for name in names if not _repeats(as_texts(frame[name]), tidy)]
    return names


def _repeats(values: pd.Series, tidy: pd.DataFrame) -> bool:
    """Whether the values follow from criterion and score, or from rater, criterion and language."""
    codes = values.cat.codes.reindex(tidy.index).to_numpy()
    for read in (["criterion", "score"], ["rater", "criterion", "language"]):
        columns = [name for name in read if name in tidy]
        keys = tidy.groupby(columns, observed=True, dropna=False, sort=False).ngroup()
        if read[-1] in columns and not _several(keys.to_numpy(), codes):
            return True
    return False


def telling_apart(frame: pd.DataFrame, unread: Sequence[str], tidy: pd.DataFrame) -> str:
    """The first unread column that tells apart ratings that otherwise occur twice; "" if
    none does.
    """
    for name in unread:
        if name in frame:
            values = as_texts(frame[name]).reindex(tidy.index)
            if not tidy[["output", "criterion", "rater"]].assign(value=values).duplicated().any():
                return name
    return ""


def may_be_sources(frame: pd.DataFrame, unread: Sequence[str], tidy: pd.DataFrame) -> list[str]:
    """The unread columns that may name sources: an output has one value, most values have several
    outputs, and the name ends like that of an id.
    """
    outputs = tidy["output"].cat.codes.to_numpy()
    names = []
    for name in unread:
        if name not in frame or not name.lower().rstrip("s ").endswith(
            ("id", "no", "nr", "number")
        ):
            continue
        codes = as_texts(frame[name]).cat.codes.reindex(tidy.index).to_numpy()
        values, rated = len(np.unique(codes)), len(np.unique(outputs))
        if (
            not _several(outputs, codes)
            and values >= FEWEST_SOURCES
            and rated >= OUTPUTS_EACH * values
        ):
            names.append(name)
    return names


def _several(keys: np.ndarray, values: np.ndarray) -> bool:
    """Whether any key occurs with several values."""
    last = np.zeros(int(keys.max(initial=0)) + 1, dtype=np.int64)
    last[keys] = values
    return bool((last[keys] != values).any())
