"""Rating patterns: each distinct row of ratings once, with the number of its occurrences.

Three raters on three levels make at most 64 different rows, however many items there are, so a
bootstrap resample is a few counts instead of a new table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

Codes = np.ndarray[Any, np.dtype[Any]]
Numbers = np.ndarray[Any, np.dtype[np.float64]]
Counts = np.ndarray[Any, np.dtype[Any]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]

_DENSE_KEYS = 1 << 16


@dataclass(frozen=True)
class Patterns:
    """rows: (patterns, columns) distinct rows of codes. which: (items,) the pattern of each
    item.
    """

    rows: Codes
    which: Codes

    @cached_property
    def counts(self) -> Codes:
        """(patterns,) how many items have each pattern."""
        return np.bincount(self.which, minlength=len(self.rows))


def find_patterns(codes: Codes) -> Patterns:
    """The distinct rows of `codes`, (items, columns) whole numbers of any sign.

    >>> find_patterns(np.array([[0, 1], [2, 2], [0, 1]])).counts.tolist()
    [2, 1]
    """
    codes = np.asarray(codes)
    if codes.shape[0] == 0:
        return Patterns(codes.astype(np.int64), np.zeros(0, dtype=np.int64))
    columns = np.ascontiguousarray(codes.T)  # each side by side in memory
    low = [int(column.min()) for column in columns]
    widths = [int(column.max()) - least + 1 for column, least in zip(columns, low, strict=True)]
    if math.prod(widths) >= 2**62:
        rows, which = np.unique(codes, axis=0, return_inverse=True)
        return Patterns(rows, which.reshape(-1))
    key = np.zeros(len(codes), dtype=np.int64)
    for column, least, width in zip(columns, low, widths, strict=True):
        key *= width
        key += column.astype(np.int64) - least
    first, which = distinct(key)
    return Patterns(codes[first], which)


def distinct(key: Codes) -> tuple[Codes, Codes]:
    """The first item with each distinct value of `key` (whole numbers >= 0), and the position of
    each item's value among them.

    Distinct values are in rising order.
    >>> first, place = distinct(np.array([7, 2, 7, 5]))
    >>> first.tolist(), place.tolist()
    ([1, 3, 0], [2, 0, 2, 1])
    """
    if not len(key):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    size = int(key.max()) + 1
    if size > max(_DENSE_KEYS, 4 * len(key)):
        _, first, which = np.unique(key, return_index=True, return_inverse=True)
        return first, which
    first_of = np.full(size, -1, dtype=np.int64)
    first_of[key[::-1]] = np.arange(len(key) - 1, -1, -1)
    present = np.flatnonzero(first_of >= 0)
    number = np.zeros(size, dtype=np.int64)
    number[present] = np.arange(len(present))
    return first_of[present], number[key]


def class_counts(rows: Codes, levels: int) -> Codes:
    """(patterns, levels): how many raters gave each class; negative codes do not count.

    >>> class_counts(np.array([[0, 2, 2, -1], [1, 1, 1, 0]]), 3).tolist()
    [[1, 0, 2], [1, 3, 0]]
    """
    # adding up columns is quicker than adding up rows
    columns = np.ascontiguousarray(np.asarray(rows).T)
    return np.stack([(columns == level).sum(axis=0) for level in range(levels)], axis=1)


def one_hot(codes: Codes, levels: int) -> Codes:
    """(patterns, levels) indicators, 0 or 1; a negative code gives a row of zeros."""
    return np.asarray(np.asarray(codes)[:, None] == np.arange(levels)[None, :], dtype=np.int8)


def total(weights: Any, features: Any) -> Numbers:
    """(..., F) the sums of features (patterns, F) if patterns occur as often as weights (...,
    patterns) say.

    weights: an array of counts, or another object with `@` (see metal.stats.bootstrap). In memory,
    the values of one sum for all resamples are next to each other, which makes arithmetic over
    resamples fast.
    """
    if not isinstance(weights, np.ndarray | list | tuple):
        return np.asarray(weights @ features, dtype=np.float64)
    weights, features = (
        np.asarray(weights, dtype=np.float64),
        np.asarray(features, dtype=np.float64),
    )
    return np.asarray((features.T @ weights.T).T)


def margins(weights: Any, truth: Codes, answer: Codes, levels: int) -> Numbers:
    """(..., 3, levels): how often each class was answered rightly, was true, and was answered.

    Patterns without truth or answer are left out. The margins are the diagonal of a confusion
    matrix and the sums of its rows and columns. Agreement needs nothing else, however many classes
    there are. weights: (..., patterns), see `total`; truth, answer: (patterns,) codes.
    >>> margins(np.array([3, 1]), np.array([0, 1]), np.array([0, 0]), 2).tolist()
    [[3.0, 0.0], [3.0, 1.0], [4.0, 0.0]]
    """
    return margins_of_pairs(weights, [(truth, answer)], levels)[..., 0, :, :]


def margins_of(truth: Codes, answer: Codes, levels: int) -> Numbers:
    """(3, levels) the margins of items, each counted once, without finding patterns first.

    >>> margins_of(np.array([0, 1, -1]), np.array([0, 0, 1]), 2).tolist()
    [[1, 0], [1, 1], [2, 0]]
    """
    both = (truth >= 0) & (answer >= 0)
    counted = truth[both & (truth == answer)], truth[both], answer[both]
    return np.stack([np.bincount(codes, minlength=levels) for codes in counted])


def margins_of_pairs(weights: Any, pairs: Sequence[tuple[Codes, Codes]], levels: int) -> Numbers:
    """(..., pairs, 3, levels): the margins of each pair of truth and answer."""
    flat = total(weights, margin_features(pairs, levels))
    return flat.reshape(*flat.shape[:-1], len(pairs), 3, levels)


def margin_features(pairs: Sequence[tuple[Codes, Codes]], levels: int) -> Codes:
    """(patterns, pairs x 3 x levels) what a pattern adds to the margins of each pair."""
    each = []
    for truth, answer in pairs:
        both = (np.asarray(truth) >= 0) & (np.asarray(answer) >= 0)
        true, answered = (one_hot(np.where(both, codes, -1), levels) for codes in (truth, answer))
        each.append(np.stack([true * answered, true, answered], axis=1))
    return np.stack(each, axis=1).reshape(len(pairs[0][0]), len(pairs) * 3 * levels)


def ratio(top: Any, bottom: Any) -> Numbers:
    """top / bottom, NaN if bottom is 0: an undefined share is not a number.

    >>> ratio([3, 0], [4, 0]).tolist()
    [0.75, nan]
    """
    bottom = np.asarray(bottom, dtype=np.float64)
    return np.asarray(np.asarray(top, dtype=np.float64) / np.where(bottom != 0, bottom, np.nan))


def sums_and_counts(cell: Codes, values: Numbers, *shape: int) -> tuple[Numbers, Numbers]:
    """The sum of the values in each cell of a table of this shape, and the number of values.

    >>> sums, counts = sums_and_counts(np.array([0, 3, 3]), np.array([1.0, 2.0, 5.0]), 2, 2)
    >>> sums.tolist(), counts.tolist()
    ([[1.0, 0.0], [0.0, 7.0]], [[1.0, 0.0], [0.0, 2.0]])
    """
    size = math.prod(shape)
    sums, counts = np.bincount(cell, values, size), np.bincount(cell, minlength=size)
    return sums.astype(np.float64).reshape(shape), counts.astype(np.float64).reshape(shape)


def mean_of_defined(values: Sequence[Numbers]) -> Numbers:
    """The elementwise mean of equally shaped results over the defined ones; NaN if none is defined.

    >>> mean_of_defined(
    ...     [np.array([1.0, np.nan]), np.array([4.0, np.nan]), np.array([np.nan, np.nan])]
    ... ).tolist()
    [2.5, nan]
    """
    stacked = np.stack(values)
    defined = ~np.isnan(stacked)
    return ratio(np.where(defined, stacked, 0.0).sum(axis=0), defined.sum(axis=0))
