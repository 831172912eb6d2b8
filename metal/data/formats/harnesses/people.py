"""People's ratings that a harness keeps among an item's metadata. The names of the fields say who
rated, and on which criterion.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from metal.data.people import NAMELESS
from metal.data.tables.names import is_machine, is_person, plain
from metal.data.text import plural

PERSON = "annotator"  # whom the results do not name


def is_a_person(name: str, kinds: Mapping[str, str]) -> bool:
    """Whether a field of the metadata holds a person's ratings: because the user says so, or by its
    name.
    """
    if any(pattern.strip("*") and fnmatchcase(name, pattern) for pattern in kinds):
        return next(kind for p, kind in kinds.items() if fnmatchcase(name, p)) == "human"
    return is_person(name) and not is_machine(name)


def criterion_named(name: str, criteria: Sequence[str]) -> str | None:
    """The criterion that occurs in the name of a person's scores; the longest if there are several.
    If none occurs, the only criterion.
    """
    named = [criterion for criterion in criteria if plain(criterion) in plain(name)]
    if not named and len(criteria) == 1:
        return criteria[0]
    return max(named, key=len, default=None)


def without_criterion(name: str, criterion: str) -> str:
    """The person's part of a name such as `human_fluency`, without the criterion."""
    spelled = "[ _-]*".join(map(re.escape, re.split("[ _-]+", criterion)))
    return re.sub(rf"[ _.-]*{spelled}[ _.-]*", "", name, flags=re.I) or name


def name_people(rows: Iterable[dict[str, Any]]) -> str:
    """Give names to the people whom the results do not name, and return a note on them.

    If an output has several such ratings on one criterion, different people gave them:
    `annotator_1`, `annotator_2`. The same name in two outputs need not be one person.
    """
    nameless: list[dict[str, Any]] = []
    names: set[str] = set()
    for row in rows:
        if row["kind"] == "human" and not row.get("rater"):
            nameless.append(row)
        else:
            names.add(str(row.get("rater")))
    if not nameless:
        return ""
    name = PERSON
    while any(each.startswith(name) for each in names):
        name = f"unnamed {name}"
    ratings: Counter[tuple[Any, Any]] = Counter()
    for row in nameless:
        rated = row.get("output"), row.get("criterion")
        ratings[rated] += 1
        row.pop("repeat", None)
        row["rater"] = f"{name}_{ratings[rated]}"
    note = f"{NAMELESS}{plural(len(nameless), 'rating')}"
    most = max(ratings.values())
    if most > 1:
        return (
            f"{note}. Several ratings of one output count as ratings by different people, "
            f"{name}_1 to {name}_{most}; each of these names may stand for several people"
        )
    for row in nameless:
        row["rater"] = name
    return f"{note}. {name} may stand for several people"
