"""What changes if a dataset replaces the one in its folder: which ratings join it, and which scores
differ.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from metal.data import ratings, ratings_files
from metal.data.text import plural
from metal.errors import UsageError


def count_joined(ours: pd.DataFrame, folder: Path, shown: str | Path, without: str = "") -> int:
    """How many ratings of the dataset its folder does not have yet. Raises UsageError if the folder
    has ratings that the dataset lacks, except those of the rater `without`.
    """
    on_disk = ratings_files.read_facts(ratings_files.find_ratings(folder))
    key = ["output", "criterion", "rater"]
    new, old = (pd.MultiIndex.from_frame(table[key].astype(object)) for table in (ours, on_disk))
    must_stay = old[on_disk["rater"].astype(str) != without] if without else old
    if not must_stay.isin(new).all():
        raise UsageError(
            f"{shown}: another command added ratings to it meanwhile; nothing was written. Run this"
            " again"
        )
    return int((~new.isin(old)).sum())


def check_same_scores(ours: pd.DataFrame, folder: Path, shown: str | Path) -> None:
    """Raise UsageError if a rating has another score in the folder, which then belongs to another
    dataset.
    """
    theirs = ratings_files.read_facts(ratings_files.find_ratings(folder))
    for name in ("output", "criterion", "rater"):
        theirs[name] = theirs[name].cat.set_categories(ours[name].cat.categories)
    theirs = theirs[theirs[["output", "criterion", "rater"]].notna().all(axis=1)]
    places = pd.Index(ratings.rating_keys(ours)).get_indexer(pd.Index(ratings.rating_keys(theirs)))
    before, now = (
        theirs["score"].to_numpy()[places >= 0],
        ours["score"].to_numpy()[places[places >= 0]],
    )
    differ = (before != now) & ~(np.isnan(before) & np.isnan(now))
    if differ.any():
        problem = (
            f"{shown} has another score for {plural(int(differ.sum()), 'rating')}; nothing was"
            " written"
        )
        raise UsageError(
            f'{problem}. Save to another folder, or join them: `metal.read(..., into="{shown}")`'
        )
