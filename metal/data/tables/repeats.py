"""Ratings that a rater gave again: an epoch, a round or a trial is a repetition by the rater, not
another output.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from metal.data.tables.cells import as_numbers, as_texts
from metal.data.text import first_few, plural

KEY = ["output", "criterion", "rater"]
MOST_REPEATS = 10**9  # a larger number does not say how often a judge was asked


def without_copies_of_rows(
    frame: pd.DataFrame, tidy: pd.DataFrame, notes: list[str]
) -> pd.DataFrame:
    """The table without ratings from rows that repeat an earlier row of the file; a note says how
    many there were.

    frame: the file, with the rows of the table as its index. Rows are only compared if a rating is
    given twice.
    """
    if not tidy.duplicated(KEY).any():
        return tidy
    texts = frame.apply(lambda column: as_texts(column).astype(object))
    copies = tidy.index.isin(frame.index[texts.duplicated()]) & tidy.duplicated(KEY).to_numpy()
    if copies.any():
        notes.append(
            f"{plural(int(copies.sum()), 'rating')} left out because an earlier row of the file is"
            " the same"
        )
    kept: pd.DataFrame = tidy[~copies]
    return kept


def with_numbered_repeats(
    tidy: pd.DataFrame,
) -> tuple[pd.DataFrame, Mapping[str, tuple[str, int]]]:
    """The table with a judge's later answers under a name of their own, as `with_repeats` returns
    it.

    tidy: a table of `metal export`, whose column `repeat` numbers the times from 1; it is removed.
    """
    numbers = as_numbers(tidy["repeat"]).to_numpy()
    rater = tidy["rater"].astype(object)
    repeated: dict[str, tuple[str, int]] = {}
    names_of = rater.copy()
    later = (numbers > 1) & (numbers <= MOST_REPEATS)
    for name, number in sorted(set(zip(rater[later], numbers[later].astype(int), strict=True))):
        repeated[f"{name}#{number}"] = (name, int(number))
        names_of[(rater == name) & (numbers == number)] = f"{name}#{number}"
    return tidy.drop(columns="repeat").assign(rater=names_of.astype("category")), repeated


def with_repeats(
    tidy: pd.DataFrame, is_person: Callable[[str], bool], notes: list[str]
) -> tuple[pd.DataFrame, Mapping[str, tuple[str, int]]]:
    """The table with a judge's second answers under a name of their own (`gpt-4o#2`).

    Also returns the judge and the number of the repeat for each such name. Of people's answers the
    first is kept, and a note says how many later ones are dropped.

    tidy: has the column `repeat`, which is removed. If nothing was rated twice, the column only
    says when a rating was made.
    """
    rows = tidy.index
    tidy = tidy.reset_index(drop=True)
    repeat = tidy.pop("repeat")
    if (
        not tidy.duplicated(KEY).any()
        or tidy.assign(repeat=repeat).duplicated([*KEY, "repeat"]).any()
    ):
        return tidy.set_index(rows), {}
    numbers = as_numbers(repeat)
    rounds = numbers if np.isfinite(numbers).all() else as_texts(repeat).cat.codes
    in_order = tidy[KEY].assign(place=rounds).sort_values("place", kind="stable")
    time = in_order.groupby(KEY, observed=True, sort=False).cumcount().reindex(tidy.index)
    rater = tidy["rater"].astype(object)
    persons = set(filter(is_person, tidy["rater"].cat.categories))
    later = (time > 0).to_numpy()
    of_people = later & rater.isin(persons).to_numpy()
    if of_people.any():
        names = first_few(sorted(set(rater[of_people])), 3)
        count = plural(int(of_people.sum()), "rating")
        notes.append(
            f"{count} left out because the person had answered before; the first answer counts:"
            f" {names}"
        )
    repeated: dict[str, tuple[str, int]] = {}
    names_of = rater.copy()
    for name, number in sorted(
        set(zip(rater[later & ~of_people], time[later & ~of_people], strict=True))
    ):
        repeated[f"{name}#{number + 1}"] = (name, int(number) + 1)
        names_of[(rater == name) & (time == number)] = f"{name}#{number + 1}"
    if repeated:
        notes.append(
            f"second answers of the same judge, kept as repeats: {first_few(list(repeated), 3)}"
        )
    kept = tidy.assign(rater=names_of.astype("category")).set_index(rows)[~of_people]
    kept["rater"] = kept["rater"].cat.remove_unused_categories()
    return kept, repeated
