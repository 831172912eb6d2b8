"""The ratings of an EvalSet folder as one table of facts, built by whole columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metal.data.ratings import tidy_facts

if TYPE_CHECKING:
    from metal.data.formats.evalset.pair import LanguagePair
    from metal.data.formats.evalset.people import RatedOutputs


def facts_of(
    pairs: Sequence[LanguagePair], criteria: Sequence[str], raters: Sequence[str]
) -> pd.DataFrame:
    """The facts of all pairs. criteria, raters: all names."""
    outputs: list[str] = []
    starts: list[int] = []
    rated: list[RatedOutputs] = []
    for pair in pairs:
        starts += [len(outputs)] * len(pair.ratings)
        outputs += [output.output for output in pair.outputs]
        rated += pair.ratings
    sizes = [len(each.outputs) for each in rated]
    score = _joined([each.scores for each in rated], np.float64)
    places = [start + each.outputs for start, each in zip(starts, rated, strict=True)]
    columns = {
        "output": _names(_joined(places, np.int64), outputs),
        "criterion": _repeated([each.criterion for each in rated], sizes, criteria),
        "rater": _repeated([each.rater.rater for each in rated], sizes, raters),
        "score": score,
        "reason": _names(np.isnan(score).astype(np.int8), ["", "no score"]),
        "comment": pd.Series(_comments(rated, sizes), dtype="str"),
    }
    return tidy_facts(pd.DataFrame(columns))


def _joined(parts: list[Any], kind: Any) -> Any:
    return np.concatenate([np.zeros(0, kind), *parts])


def _names(codes: Any, names: Sequence[str]) -> pd.Categorical:
    return pd.Categorical.from_codes(codes, pd.Index(list(names), dtype="str"))


def _repeated(names: list[str], sizes: list[int], every: Sequence[str]) -> pd.Categorical:
    """A column of names, each repeated. every: all names that occur."""
    code_of = {name: code for code, name in enumerate(every)}
    codes = np.repeat(np.array([code_of[name] for name in names], np.int64), sizes)
    return _names(codes, every)


def _comments(rated: Sequence[RatedOutputs], sizes: list[int]) -> Any:
    comments = np.full(sum(sizes), "", dtype=object)
    end = 0
    for each, size in zip(rated, sizes, strict=True):
        end += size
        if len(each.comments):
            comments[end - size : end] = each.comments
    return comments
