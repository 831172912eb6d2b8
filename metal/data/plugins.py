"""Parts that other packages can add to METAL: providers, judges, formats, metrics, probes, forms,
platforms, engines, ...

Each kind is a group of entry points (`metal.providers`, `metal.formats`, ...). METAL declares its
own in pyproject.toml like any other package, and everything that lists a kind reads this list.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from metal.errors import UsageError, check_known


def plugins(group: str) -> dict[str, EntryPoint]:
    """The entry points of a group by name: METAL's first, then those of other packages, each in
    string order.

    Nothing is imported. Raises UsageError if two packages offer the same name.
    """
    return dict(_plugins(group, tuple(sys.path)))


def load_plugin(group: str, kind: str, name: str, remedy: str = "") -> Any:
    """Import the object to which the entry point of this name refers.

    kind: what messages call the object ("format"). Raises UnknownName, and UsageError if it cannot
    be
    imported.
    """
    offered = plugins(group)
    check_known(kind, [name], offered, remedy)
    try:
        return offered[name].load()
    except (ImportError, AttributeError) as error:
        raise UsageError(
            f"{kind} {name} ({offered[name].value}) cannot be loaded: {error}"
        ) from error


@lru_cache(maxsize=32)
def _plugins(group: str, path: tuple[str, ...]) -> dict[str, EntryPoint]:
    by_name: dict[str, EntryPoint] = {}
    points = entry_points(group=group)
    # The order in pyproject.toml is lost on the way: build backends write entry points sorted, or
    # not.
    for point in sorted(
        points, key=lambda point: (not point.value.startswith("metal."), point.name)
    ):
        if by_name.setdefault(point.name, point).value != point.value:
            both = f"{by_name[point.name].value} and {point.value}"
            raise UsageError(
                f"{both} both offer {point.name!r} in {group}; uninstall or rename one of them"
            )
    return by_name
