"""run.toml: what every run folder records about itself. It is read only here, so every reader finds
every part.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from metal.data.files import read_toml
from metal.data.present import PRESENT
from metal.errors import DataError

RUN_TOML = "run.toml"
_TEXTS = [str]
_NUMBERS = (
    *("resamples", "permutations", "rounds", "seed", "sample", "repeat", "version", "max_cost"),
    *("margin", "keep", "width", "power", "people_floor", "alpha", "delta"),
)
_READING = {  # how a table was read
    **{name: {} for name in ("columns", "kinds", "groups", "missing")},
    **{name: {} for name in ("directions", "levels", "measures", "ranges", "shifts")},
    **dict.fromkeys(("only", "wide", "ignore"), _TEXTS),
    **dict.fromkeys(("language", "criterion", "generator", "sheet", "weights", "format"), str),
}
_PARTS: dict[str, Any] = {
    "command": str,
    "metal": str,
    "signature": str,
    "raters": _TEXTS,
    "libraries": {},
    "criteria": {},
    "datasets": [
        {
            "path": str,
            "more": _TEXTS,
            "identity": str,
            "digest": str,
            "data": str,
            "name": str,
            "reading": _READING,
        }
    ],
    "settings": {
        "dataset": str,
        "texts": str,
        "aggregate": str,
        "by": str,
        "flip": _TEXTS,
        "judges": _TEXTS,
        "identities": {},
        "prices": {},
        "state": {"not_asked": int, "ratings": int},
        **dict.fromkeys(_NUMBERS, float),
    },
}
_REMEDY = "Restore the file, or make the run again"


class _Table(dict[str, Any]):
    """A table of a run.toml. Looking up a missing key reports a fault of the file."""

    def __init__(self, content: dict[str, Any], path: Path, part: str) -> None:
        super().__init__(content)
        self._path, self._place = path, part

    def __missing__(self, key: str) -> Any:
        raise DataError(self._path, f"no {key!r} in {self._place}", _REMEDY)


def read_run_toml(folder: Path) -> dict[str, Any]:
    """The run.toml of a folder. Missing parts are an empty text, list or table; without a file, all
    are.

    The summary is left out (see metal.data.run_summary). Raises DataError for a part of another
    type, and later for a missing setting that is looked up.
    """
    path = folder / RUN_TOML
    content = read_toml(path) if path.is_file() else {}
    content.pop("summary", None)
    check_shape(content, _PARTS, "", path)
    empty = {
        part: type(shape)() if isinstance(shape, dict | list) else ""
        for part, shape in _PARTS.items()
    }
    parts: dict[str, Any] = empty | content
    parts["settings"] = _Table(parts["settings"], path, "settings")
    parts["datasets"] = [_Table(dataset, path, "datasets") for dataset in parts["datasets"]]
    return parts


def check_shape(value: Any, shape: Any, name: str, path: Path, remedy: str = _REMEDY) -> None:
    """Raise DataError if a value does not have its shape: a type, [the shape of each item], {key:
    the shape of a possible key}. A float is any number that is not negative.
    """
    kind, wanted = type(value), shape if isinstance(shape, type) else type(shape)
    if not (kind in (int, float) and value >= 0 if wanted is float else kind is wanted):
        raise DataError(path, f"{name} is {value!r}", remedy)
    inside: list[tuple[str, Any, Any]] = []
    if wanted is list:
        inside = [(f"[{row}]", part, shape[0]) for row, part in enumerate(value)]
    elif wanted is dict:
        inside = [(f".{key}", value[key], part) for key, part in shape.items() if key in value]
    for key, part, its_shape in inside:
        check_shape(part, its_shape, f"{name}{key}".lstrip("."), path, remedy)


def named_by(run: Path, name: str) -> Path:
    """The file or folder that a run's run.toml names. The name counts from the nearest folder above
    the run from which it leads to something or, if there is none, from the present folder.

    The run's own surroundings come first because the present folder may hold other data under the
    same name.
    """
    above = (folder / name for folder in run.resolve().parents)
    return next((candidate for candidate in above if candidate.exists()), PRESENT.get() / name)
