"""People's ratings that a harness keeps among an item's metadata. The names of the fields say who
rated, and on which criterion.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from metal.data.tables.names import is_machine, is_person, plain


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
