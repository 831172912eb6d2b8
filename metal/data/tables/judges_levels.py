"""Mark levels that only judges gave, if a scale is derived from the answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from metal.data.records import Criterion, Rater
from metal.data.tables.levels import metal_levels
from metal.data.tables.scales import are_levels, options_of
from metal.data.text import first_few


def levels_of_judges(
    criteria: Sequence[Criterion],
    tidy: pd.DataFrame,
    raters: Iterable[Rater],
    options: Mapping[str, Any],
    notes: list[str],
) -> list[Criterion]:
    """Mark the levels that no person gave, in criteria whose levels are those that occur.

    Notes say which levels these are. They also name the criteria on which people's answers are
    levels, but all answers are read as scores, because judges' answers are not levels.
    """
    answered = tidy[tidy["score"].notna()]
    people = [rater.rater for rater in raters if rater.kind == "human"]
    by_person = answered["rater"].isin(people)
    marked = {criterion.name: criterion for criterion in criteria}
    for name, criterion in marked.items():
        declared = options_of(name, [*marked], options).keys() & {"levels", "ranges"}
        of_metal = criterion.scale.levels and criterion.scale.levels == metal_levels(name)
        if declared or of_metal:
            continue
        of_it = answered["criterion"] == name
        by_people = np.unique(answered["score"][of_it & by_person])
        if len(by_people) > 1:
            judges = answered[of_it & ~answered["score"].isin(by_people)]
            marked[name] = _beside_people(criterion, by_people, judges, notes)
    return [*marked.values()]


def _beside_people(
    criterion: Criterion,
    by_people: np.ndarray[Any, Any],
    judges: pd.DataFrame,
    notes: list[str],
) -> Criterion:
    """Mark the levels of a criterion that only judges gave.

    judges: the judges' ratings with answers that no person gave.
    """
    who = first_few([*dict.fromkeys(judges["rater"].astype(str))])
    levels = tuple(
        replace(level, judges_only=level.value not in by_people) for level in criterion.scale.levels
    )
    extra = [level.shown for level in levels if level.judges_only]
    if extra:
        notes.append(
            f"{criterion.name}: {first_few(extra)} was answered by {who}, but by no person, so it"
            " counts as a level only for judges that gave it; if people could have chosen it, list"
            " all `levels`"
        )
    elif not levels and len(judges) and are_levels(by_people):
        notes.append(
            f"{criterion.name}: people answered with whole numbers from {by_people[0]:g} to"
            f" {by_people[-1]:g}, {who} did not, so all answers are read as continuous scores;"
            f" leave {who} out of the file to compare the others by classes"
        )
    return replace(criterion, scale=replace(criterion.scale, levels=levels))
