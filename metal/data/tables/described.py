"""What a table says of its criteria beside the scores: the label of each level, and whole records.

label             the word for the score in the same row
criterion_record  JSON of the criterion, in one row of each; `metal export` writes it
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd

from metal.data.dataset_lines import read_criterion
from metal.data.files import parse_json
from metal.data.holdings import CRITERION_RECORD, EXPORTED, LABEL
from metal.data.records import Criterion
from metal.data.scale_texts import is_number
from metal.data.tables.cells import as_texts
from metal.data.tables.names import GUESSES
from metal.data.text import first_few, plural
from metal.errors import DataError

LONG = ("criterion", "rater", "score", LABEL)  # columns of a table in which labels are searched
MOST_LEVELS = 100  # of a criterion whose levels have labels


@dataclass(frozen=True)
class Described:
    """What a table says of its criteria, by their names. levels: value -> label."""

    criteria: Mapping[str, Criterion] = field(default_factory=dict)
    levels: Mapping[str, Mapping[float, str]] = field(default_factory=dict)

    def __deepcopy__(self, memo: object) -> Described:
        """Return the object itself, because it never changes, while pandas copies everything in
        `attrs` at every step.
        """
        return self

    def options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options with what the table says; levels that the user names take precedence.

        `described` gives a criterion by its name, `recorded` has the names of those whose records
        the data have.
        """
        others = options.get("described", {}.get)
        described = {
            "described": lambda name: self.criteria.get(name) or others(name),
            "recorded": {*options.get("recorded", ()), *self.criteria},
        }
        own = {name: [*of_criterion.items()] for name, of_criterion in self.levels.items()}
        levels = below(options.get("levels"), own)
        return {**options, **described} | ({"levels": levels} if levels else {})


NOTHING = Described()


def columns_of_export(columns: Collection[str]) -> dict[str, str]:
    """The roles of the columns that `metal export` writes; empty for other tables."""
    if not {CRITERION_RECORD, *EXPORTED} <= {*columns}:
        return {}
    return {role: role for role in GUESSES if role in columns}


def without_descriptions(
    frame: pd.DataFrame, notes: list[str], file: Path
) -> tuple[pd.DataFrame, Described]:
    """The frame without the columns that describe criteria, and what these say. Notes say for which
    criteria.

    Raises DataError for a record that is no criterion, and for two records of one criterion.
    """
    if not {*LONG} <= {*frame.columns}:
        return frame, NOTHING
    criteria = {}
    if CRITERION_RECORD in frame:
        criteria = _criteria_in(frame, file)
        frame = frame.drop(columns=CRITERION_RECORD)
        notes.append(
            f"{plural(len(criteria), 'criterion', 'criteria')} read from {CRITERION_RECORD!r}"
        )
    levels = _levels_in(frame)
    levels = {name: of for name, of in levels.items() if name not in criteria}
    if levels:
        notes.append(f"labels of levels read from {LABEL!r}: {first_few([*levels])}")
    if levels or criteria:
        frame = frame.drop(columns=LABEL)
    return frame, Described(criteria, levels)


def _criteria_in(frame: pd.DataFrame, file: Path) -> dict[str, Criterion]:
    """The criteria whose records the column has."""
    rows = _distinct(frame, "criterion", CRITERION_RECORD)
    criteria: dict[str, Criterion] = {}
    for name, text in rows:
        try:
            record = parse_json(text)
        except json.JSONDecodeError as error:
            problem = f"{CRITERION_RECORD} of {name}: not JSON ({error.msg})"
            raise DataError(file, problem, "Leave the column out, or write it again") from None
        criterion = read_criterion(name, record, file)
        if criteria.setdefault(name, criterion) != criterion:
            problem = f"two different records of criterion {name}"
            raise DataError(file, problem, f"Rename one, or leave {CRITERION_RECORD!r} out")
    return criteria


def _levels_in(frame: pd.DataFrame) -> dict[str, dict[float, str]]:
    """The levels of criteria in which each label stands beside one number, and each number beside
    one label. Criteria whose labels are the numbers themselves are left out.
    """
    numbers: dict[str, dict[str, set[float]]] = {}
    refused: set[str] = set()
    for criterion, score, label in _distinct(frame, "criterion", "score", LABEL):
        of_criterion = numbers.setdefault(criterion, {})
        if is_number(score) and len(of_criterion) < MOST_LEVELS:
            of_criterion.setdefault(label, set()).add(float(score))
        else:
            refused.add(criterion)
    return {
        criterion: dict(sorted((min(values), label) for label, values in by_label.items()))
        for criterion, by_label in numbers.items()
        if criterion not in refused and _are_labels(by_label)
    }


def _distinct(frame: pd.DataFrame, *columns: str) -> Iterator[tuple[str, ...]]:
    """The different rows of these columns as texts, without those that have an empty cell."""
    texts = pd.DataFrame({name: as_texts(frame[name]) for name in columns})
    rows = texts.drop_duplicates().astype(object).dropna()
    return filter(lambda row: all(map(str.strip, row)), rows.itertuples(index=False, name=None))


def _are_labels(numbers: Mapping[str, Collection[float]]) -> bool:
    """Whether each label has one number of its own, and is not itself that number. numbers: the
    numbers of each label.
    """
    if all(map(is_number, numbers)):
        return False
    values = list(chain.from_iterable(numbers.values()))
    return len({*values}) == len(values) == len(numbers) > 1


def below(users: Any, own: Mapping[str, Any]) -> dict[str, Any]:
    """The user's option by criterion or pattern, together with the data's own values for criteria
    that none of the patterns fits. users: {criterion: value}, or a value for all, or None.
    """
    if users is not None and not isinstance(users, Mapping):
        users = {"*": users}
    users = users or {}
    rest = {
        name: value
        for name, value in own.items()
        if not any(fnmatchcase(name, pattern) for pattern in users)
    }
    return {**users, **rest}
