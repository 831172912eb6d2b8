"""Outputs and sources whose texts stay in a file, for programs that keep large datasets open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from sys import intern
from typing import Any, TypeVar

from metal.data.records import Output, Source
from metal.data.text_file import TextFile

# Whether the datasets that are read from now on leave their texts in a file.
IN_FILE: ContextVar[bool] = ContextVar("IN_FILE", default=False)
TEXTS = ("text", "texts", "references")  # the fields that are left there
Record = TypeVar("Record", Source, Output)


@contextmanager
def texts_in_file() -> Iterator[None]:
    """Have datasets that are read meanwhile leave their texts in a file."""
    before = IN_FILE.set(True)
    try:
        yield
    finally:
        IN_FILE.reset(before)


@dataclass(frozen=True, slots=True)
class _Text:
    """A text in a file."""

    file: TextFile
    number: int


class _Field:
    """A field of a record with a text, or with several, each read when somebody asks for it."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, record: Any, owner: type) -> Any:
        return _read(vars(record)[self.name])

    def __set__(self, record: Any, value: object) -> None:
        vars(record)[self.name] = value


def _read(held: object) -> Any:
    if isinstance(held, _Text):
        return held.file[held.number]
    return tuple(map(_read, held)) if isinstance(held, tuple) else held


class _Stored:
    """A record that equals the one that it stands for, and is pickled as that."""

    def __eq__(self, other: object) -> bool:
        plain = type(self).__bases__[1]
        return isinstance(other, plain) and _values(self) == _values(other)

    def __hash__(self) -> int:
        return hash(_values(self))

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return type(self).__bases__[1], _values(self)


class StoredSource(_Stored, Source):
    """A source whose texts are in a file."""

    text: str = _Field()  # type: ignore[assignment]  # a string for whoever asks
    references: tuple[str, ...] = _Field()  # type: ignore[assignment]


class StoredOutput(_Stored, Output):
    """An output whose texts are in a file."""

    text: str = _Field()  # type: ignore[assignment]
    texts: tuple[str, ...] = _Field()  # type: ignore[assignment]


def _values(record: Any) -> tuple[Any, ...]:
    return tuple(getattr(record, field.name) for field in fields(record))


def with_texts_in_file(records: Iterable[Record]) -> Iterable[Record]:
    """The records one after another, with their texts in a file if IN_FILE says so."""
    return _stored(records, TextFile()) if IN_FILE.get() else records


def _stored(records: Iterable[Record], file: TextFile) -> Iterator[Record]:
    """The records one after another, with their texts in a file."""
    for record in records:
        left: Any = object.__new__(StoredOutput if isinstance(record, Output) else StoredSource)
        for name, value in vars(record).items():
            if name in TEXTS:
                value = _left_in(file, value)
            elif isinstance(value, str):
                value = intern(value)  # generators and languages occur often
            object.__setattr__(left, name, value)
        yield left


def _left_in(file: TextFile, value: Any) -> Any:
    """A text or several, left in the file unless they are empty or in a file already."""
    if isinstance(value, str) and value:
        return _Text(file, file.add(value))
    return tuple(_left_in(file, text) for text in value) if isinstance(value, tuple) else value
