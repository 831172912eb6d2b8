"""Files compared with JSON Schemas: every fault with its place, in a line."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import tee
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metal.data.files import not_utf8, parse_json, read_toml, text_in
from metal.data.missing import no_such
from metal.data.progress import BYTES, counted_as
from metal.data.tables.first_names import content_ending
from metal.data.text import name
from metal.errors import DataError, nearest

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

MOST = 100  # faults that are kept; the others are counted
NOT_BLANK = r"\S"  # the pattern of a name
BLANK = r"^\s*$"  # the pattern of a text that must be empty
WHOLE = "the record"  # instead of a path
SHOWN = 60  # characters of a value that a message quotes
Values = Iterable[tuple[str, Any]]  # (location, value)


@dataclass
class Faults:
    """The faults of files, a line each. records: how many records were compared, by their kind.
    more: faults beyond the first MOST.
    """

    lines: list[str] = field(default_factory=list)
    records: Counter[str] = field(default_factory=Counter)
    more: int = 0

    def add(self, location: object, problem: str) -> None:
        """Note a fault."""
        if len(self.lines) < MOST:
            self.lines.append(f"{location}: {problem}")
        else:
            self.more += 1

    def compare(self, kind: str, schema: Mapping[str, Any], values: Values) -> None:
        """Note the faults of values by the schema of their kind. A file that cannot be read is a
        fault as well.
        """
        validator, valid = _validator(schema), set[Hashable]()
        try:
            for location, value in values:
                self.records[kind] += 1
                sort = sort_of(value, schema)
                if sort in valid:
                    continue
                number = len(self.lines) + self.more
                for problem in problems(validator, value):
                    self.add(location, problem)
                if sort and number == len(self.lines) + self.more:
                    valid.add(sort)
        except DataError as error:
            self.add(error.where, error.problem)


def _validator(schema: Mapping[str, Any]) -> Validator:
    from jsonschema import Draft202012Validator

    validator: Validator = Draft202012Validator(schema)
    return validator


def sort_of(record: object, schema: Mapping[str, Any]) -> Hashable:
    """The facts that a schema looks at in a record of plain values. Records with equal facts are
    either all valid or all invalid. None for a record that has other values.

    A schema looks at types, at whether a text is blank, whether a number is whole, and whether it
    is between 0 and 1. It also looks at texts that must be one of several choices.
    """
    if not isinstance(record, dict):
        return None
    sorts: list[Hashable] = []
    for key, value in record.items():
        of = schema.get("properties", {}).get(key, {})
        if isinstance(value, str):
            chosen = "enum" in of or of.get("pattern", NOT_BLANK) != NOT_BLANK
            sorts.append((key, value if chosen else bool(value.strip())))
        elif isinstance(value, bool) or value is None:
            sorts.append((key, value, bool))
        elif isinstance(value, int | float):
            sorts.append((key, value < 0, value > 1, value == value // 1))
        else:
            return None
    return tuple(sorts)


def problems(validator: Validator, value: object) -> Iterator[str]:
    """What is wrong with a value; each fault has its path: `levels[0].value is 'x', not a
    number`.
    """
    for error in validator.iter_errors(value):
        path = error.json_path.removeprefix("$").removeprefix(".")
        wording = WORDING.get(str(error.validator), _otherwise)
        yield name(wording(path or WHOLE, error), 300)


# ---------------------------------------------------------------- the words of a fault


def _inside(path: str) -> str:
    """Where a key is missing or unknown; empty if in the record itself."""
    return "" if path == WHOLE else f" in {path}"


def _quoted(value: object) -> str:
    """A value as JSON, cut if it is long."""
    return name(json.dumps(value, ensure_ascii=False, default=str)[: 10 * SHOWN], SHOWN)


def _missing(path: str, error: Any) -> str:
    lacking = error.message.removesuffix(" is a required property")  # each has an error of its own
    why = ", and no score" if lacking == "'reason'" else ""
    return f"no {lacking}{_inside(path)}{why}"


def _unknown(path: str, error: Any) -> str:
    keys = error.schema["properties"]
    first, *others = (key for key in error.instance if key not in keys)
    more = f" (and {len(others)} more)" if others else ""
    return f"unknown key {name(first)!r}{more}{_inside(path)}: {nearest(first, list(keys))}"


def _wrong_type(path: str, error: Any) -> str:
    types = error.validator_value
    allowed = [types] if isinstance(types, str) else types
    return (
        f"{path} is {_quoted(error.instance)}, not {' or '.join(TYPES[each] for each in allowed)}"
    )


def _no_choice(path: str, error: Any) -> str:
    choices = ", ".join(map(_quoted, error.validator_value))
    return f"{path} is {_quoted(error.instance)}, not one of {choices}"


def _no_match(path: str, error: Any) -> str:
    if error.validator_value == BLANK:
        problem = f"{path} is {_quoted(error.instance)} beside a score, but says why there is none"
        return f"{problem}; leave it empty, and write a justification as the comment"
    if not str(error.instance).strip():
        return f"{path} is empty"
    return f"{path} is {_quoted(error.instance)}, which is not of the form {error.validator_value}"


def _too_far(path: str, error: Any) -> str:
    bound = "at least" if error.validator == "minimum" else "at most"
    return f"{path} is {_quoted(error.instance)}; it is {bound} {error.validator_value}"


def _wrong_length(path: str, error: Any) -> str:
    bound = "at least" if error.validator.startswith("min") else "at most"
    return f"{path} has {len(error.instance)} entries; it has {bound} {error.validator_value}"


def _not_allowed(path: str, error: Any) -> str:
    together = " and ".join(error.validator_value.get("required", ["these keys"]))
    return f"{path} has {together}, which exclude each other"


def _otherwise(path: str, error: Any) -> str:
    return f"{path} is {_quoted(error.instance)}, which is not allowed there"


TYPES = {
    "string": "a text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
WORDING: dict[str, Callable[[str, Any], str]] = {
    "required": _missing,
    "additionalProperties": _unknown,
    "type": _wrong_type,
    **dict.fromkeys(("enum", "const"), _no_choice),
    "pattern": _no_match,
    **dict.fromkeys(("minimum", "maximum"), _too_far),
    **dict.fromkeys(("minItems", "maxItems", "minProperties"), _wrong_length),
    "not": _not_allowed,
}


# ---------------------------------------------------------------- values of files


def values_in(path: Path, faults: Faults) -> Iterator[tuple[str, Any]]:
    """The records of a file, each with its place: the lines of JSON Lines, the items of a list, or
    one value. A line that is not JSON is a fault.
    """
    if not path.is_file():
        raise no_such(path, "file")
    if ".jsonl" in (path.suffix, content_ending(path)):
        yield from _lines(path, faults)
        return
    value = read_toml(path) if path.suffix == ".toml" else _strict(path.read_bytes(), path)
    if isinstance(value, dict) and isinstance(value.get("verdicts"), list):
        value = value["verdicts"]  # what `metal audit --json` prints
    if isinstance(value, list):
        yield from ((f"{path} item {number}", item) for number, item in enumerate(value, 1))
    else:
        yield str(path), value


def _lines(path: Path, faults: Faults) -> Iterator[tuple[str, Any]]:
    """The values of a JSON Lines file with their line numbers; blank lines are skipped."""
    with path.open("rb") as file:
        lines, sized = tee(file)
        size = path.stat().st_size
        for number, line in enumerate(counted_as(lines, BYTES, size, map(len, sized))):
            location = f"{path} line {number + 1}"
            try:
                text = line.decode("utf-8-sig" if number == 0 else "utf-8").strip()
            except UnicodeDecodeError as error:
                raise not_utf8(path, number, error) from None
            if not text:
                continue
            try:
                yield location, parse_json(text, parse_constant=_no_constant)
            except json.JSONDecodeError as error:
                faults.add(location, f"not JSON ({error.msg})")


def _strict(content: bytes, path: Path) -> Any:
    """The value of a JSON file. Raises DataError with the line that is not JSON."""
    try:
        return parse_json(text_in(content, path), parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise DataError(f"{path} line {error.lineno}", f"not JSON ({error.msg})") from None


def _no_constant(constant: str) -> float:
    """Refuse NaN and Infinity, which JSON does not have, although Python reads and writes them."""
    raise json.JSONDecodeError(f"{constant} is not a JSON number; write null", constant, 0)
