"""The records in the files of a dataset folder: read and write lines of JSON, and the criteria in
dataset.toml.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from types import NoneType
from typing import Any, get_args

from metal.data.files import read_jsonl
from metal.data.records import KINDS, Criterion, Direction, Level, Output, Rater, Scale, Source
from metal.errors import DataError, check_known


def read_raters(folder: str | Path) -> list[Rater]:
    """The raters in raters.jsonl of a dataset or run folder."""
    file = Path(folder) / "raters.jsonl"
    raters = [_rater(record, location) for location, record in numbered_records(file)]
    _check_assisting(raters, file)
    return raters


def numbered_records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a file, each with its place for messages. Raises DataError if the file is
    missing or damaged.
    """
    if not path.is_file():
        remedy = "A dataset folder needs it; `metal.read(...).save(folder)` writes all of them"
        raise DataError(path, "the file is missing", remedy)
    for row, record in read_jsonl(path):
        yield f"{path} row {row + 1}", record


def _check_required(
    record: dict[str, Any], location: str, required: tuple[str, ...], remedy: str
) -> None:
    """Raise DataError unless each required field is a string that is not empty."""
    for name in required:
        if not isinstance(record.get(name), str) or not record[name]:
            raise DataError(location, f"no {name!r}", remedy)


def _check_keys(
    record: dict[str, Any], location: str, required: tuple[str, ...], optional: tuple[str, ...]
) -> None:
    _check_required(record, location, required, f"Each line has {', '.join(required)}")
    check_known(f"{location}: key", record, required + optional)


def read_source(record: dict[str, Any], location: str) -> Source:
    """The source on a line of sources.jsonl."""
    _check_keys(
        record,
        location,
        ("source", "language"),
        ("text", "title", "references", "tokens", "content", "document", "domain"),
    )
    return Source(**_checked(record, location))


def read_output(record: dict[str, Any], location: str) -> Output:
    """The output on a line of outputs.jsonl."""
    required = ("output", "source", "generator", "language")
    optional = (
        "text",
        "note",
        "chosen",
        "flags",
        "tokens",
        "first",
        "second",
        "of",
        "condition",
        "texts",
    )
    _check_keys(record, location, required, optional)
    if type(record.get("chosen", True)) is not bool:
        raise DataError(
            location,
            "chosen is neither true nor false",
            "Leave it out if the output is to be rated",
        )
    return Output(**_checked(record, location))


def _checked(record: dict[str, Any], location: str) -> dict[str, Any]:
    """The fields of a source or an output; null means an empty field. Raises DataError for a field
    of another type.
    """
    checked = dict(record)
    for key in filter(
        checked.__contains__,
        (
            *("text", "title", "content", "document", "domain"),
            *("note", "first", "second", "of", "condition"),
        ),
    ):
        if checked[key] is not None and not isinstance(checked[key], str):
            raise DataError(location, f"{key} is not a text", "Write it in quotes, or leave it out")
        checked[key] = checked[key] or ""
    for key in filter(checked.__contains__, ("references", "flags", "texts")):
        texts = checked[key] or []
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise DataError(location, f"{key} is not a list of texts", f'Write "{key}": []')
        checked[key] = tuple(texts)
    tokens = checked.get("tokens")
    if tokens is not None and (type(tokens) is not int or tokens < 0):
        raise DataError(location, f"tokens is {tokens!r}", "Write a whole number, or leave it out")
    return checked


def _rater(record: dict[str, Any], location: str) -> Rater:
    _check_required(
        record, location, ("rater", "kind"), "Each line has rater, kind and usually group"
    )
    facts = {key: value for key, value in record.items() if key not in ("rater", "kind", "group")}
    if isinstance(record.get("group"), list | dict | bool):
        raise DataError(location, f"group is {record['group']!r}", "Write a text in quotes")
    if not isinstance(facts.get("repeats", ""), str):
        raise DataError(
            location,
            f"repeats is {facts['repeats']!r}",
            "Write the name of the rater that was asked again",
        )
    _check_assisted(record, location)
    ends = facts.get("range") or [None, None]
    is_pair = isinstance(ends, list | tuple) and len(ends) == 2
    if not is_pair or not all(type(end) in (int, float, NoneType) for end in ends):
        raise DataError(
            location,
            f"range is {facts['range']!r}",
            "Write two numbers, the ends of a metric's scale",
        )
    if facts.get("direction", "higher") not in get_args(Direction):
        raise DataError(location, f"direction is {facts['direction']!r}", "Write higher or lower")
    try:
        return Rater(record["rater"], record["kind"], str(record.get("group") or ""), facts)
    except DataError as error:
        raise DataError(location, f"{error.where}: {error.problem}", error.remedy) from None


def _check_assisted(record: dict[str, Any], location: str) -> None:
    """Raise DataError if `assisted_by` is neither a name nor a list of names, or if the rater is no
    person.
    """
    assisted = record.get("assisted_by", "a judge")
    names = [assisted] if isinstance(assisted, str) else assisted
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise DataError(
            location,
            f"assisted_by is {assisted!r}",
            "Write the name of a judge whose answers this person saw, or a list of names",
        )


def _check_assisting(raters: Sequence[Rater], file: Path) -> None:
    """Raise DataError if a judge is said to be assisted, or a person by another person.

    A judge that does not occur is no fault, because it may join later with its run. file:
    raters.jsonl.
    """
    people = {rater.rater for rater in raters if rater.kind == "human"}
    for row, rater in enumerate(raters, 1):
        for name in rater.assisted_by:
            if name in people or rater.rater not in people:
                raise DataError(
                    f"{file} row {row}",
                    f"assisted_by of {rater.rater} ({KINDS[rater.kind]}) names {name!r}",
                    "Only people have `assisted_by`; it names the judges whose answers they saw",
                )


def text_record(text: Source | Output) -> dict[str, Any]:
    """A source or an output as a line of JSON; empty fields are left out, except the text and the
    references.
    """
    record = {}
    for field in fields(text):
        value = getattr(text, field.name)
        if field.name == "text" and getattr(text, "texts", False):
            continue  # made of them
        if field.name in ("text", "references") or value != field.default:
            record[field.name] = list(value) if isinstance(value, tuple) else value
    return record


def rater_record(rater: Rater) -> dict[str, Any]:
    """A rater as a line of raters.jsonl."""
    return {"rater": rater.rater, "kind": rater.kind, "group": rater.group} | dict(rater.about)


# ---------------------------------------------------------------- criteria, in dataset.toml


def read_criterion(name: str, entry: object, path: Path) -> Criterion:
    """A criterion from its TOML table. Raises DataError that names an unknown key."""
    if not isinstance(entry, Mapping):
        raise DataError(
            path,
            f"criterion {name}: {entry!r}",
            f"Write a table that begins with [criteria.{name}]",
        )
    keys = [
        "abbreviation",
        "label",
        "called",
        "question",
        "measure",
        "direction",
        "of_source",
        "levels",
        "range",
    ]
    check_known(f"{path}: criterion {name}: key", entry, keys)
    try:
        levels = tuple(
            Level(float(level["value"]), str(level["label"]), bool(level.get("judges_only", False)))
            for level in entry.get("levels", [])
        )
    except (KeyError, TypeError, ValueError):
        raise DataError(
            path, f"criterion {name}: levels", 'Each is { value = 0, label = "Bad" }'
        ) from None
    ends = entry.get("range", [None, None])
    if not (
        isinstance(ends, list)
        and len(ends) == 2
        and all(isinstance(end, int | float | None) for end in ends)
    ):
        raise DataError(
            path, f"criterion {name}: range {ends!r}", "Write two numbers: range = [1, 5]"
        )
    if not isinstance(entry.get("of_source", True), bool):
        raise DataError(
            path, f"criterion {name}: of_source {entry['of_source']!r}", "Write true or false"
        )
    try:
        scale = Scale(entry.get("measure", "ordinal" if levels else "interval"), levels, *ends)
        texts = {
            key: str(entry[key])
            for key in ("abbreviation", "label", "called", "question")
            if key in entry
        }
        return Criterion(
            name,
            scale,
            entry.get("direction", "higher"),
            of_source=entry.get("of_source", True),
            **texts,
        )
    except DataError as error:
        raise DataError(
            path, f"criterion {name}: {error.where}: {error.problem}", error.remedy
        ) from None


def read_criteria(entries: Mapping[str, object], path: Path) -> dict[str, Criterion]:
    """Criteria from their TOML tables, by name."""
    return {name: read_criterion(name, entry, path) for name, entry in entries.items()}


def checked_tables(tables: dict[str, Any], path: Path) -> dict[str, Any]:
    """The further tables of dataset.toml. Raises DataError if one of METAL's own entries is not a
    table.
    """
    for name in ("sample", "generate", "generators", "probes", "evalset"):
        if not isinstance(tables.get(name, {}), Mapping):
            raise DataError(
                path,
                f"{name} is {tables[name]!r}",
                f"{name} must be a table, [{name}], as METAL writes it; take this line out",
            )
    for table, what in (("generators", "generator"), ("evalset", "evalset of")):
        for name, described in tables.get(table, {}).items():
            if not isinstance(described, Mapping):
                problem = f"{what} {name} is {described!r}"
                fix = f"It must be a table, [{table}.NAME], as METAL writes it; take this line out"
                raise DataError(path, problem, fix)
    return tables


def _level_record(level: Level) -> dict[str, Any]:
    """A level as its TOML table."""
    value = int(level.value) if float(level.value).is_integer() else level.value
    record: dict[str, Any] = {"value": value, "label": level.label}
    return record | {"judges_only": True} if level.judges_only else record


def criterion_record(criterion: Criterion) -> dict[str, Any]:
    """A criterion as its TOML table; read_criterion reads it back."""
    record: dict[str, Any] = {
        key: getattr(criterion, key)
        for key in ("abbreviation", "label", "called", "question")
        if getattr(criterion, key)
    }
    record["measure"] = criterion.scale.measure
    record["direction"] = criterion.direction
    if not criterion.of_source:
        record["of_source"] = False
    if criterion.scale.levels:
        record["levels"] = list(map(_level_record, criterion.scale.levels))
    if criterion.scale.low is not None:
        record["range"] = [criterion.scale.low, criterion.scale.high]
    return record
