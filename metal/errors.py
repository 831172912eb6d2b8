"""Every deliberate error of METAL, in one tree.

A deliberate error says what is wrong, where, what would be right and what to do next. Messages
speak of parameters in backticks (`` `resamples` ``). The command line turns them into flags, prints
the message as one line and exits with code 2. Anything else that is raised is a defect (exit code
70).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any


class MetalError(Exception):
    """Something the user can fix. `str(error)` is the whole message."""

    def __reduce__(self) -> tuple[Any, ...]:
        # its arguments are not those of its class, which makes the message of them
        return _again, (type(self), self.args), self.__dict__


def _again(kind: type[MetalError], args: tuple[Any, ...]) -> MetalError:
    """An error that comes from another process."""
    return kind.__new__(kind, *args)


class UsageError(MetalError):
    """The request itself cannot be carried out: options contradict each other, a folder exists."""


class NothingToDo(UsageError):
    """The request is already done; the command line says so, and succeeds."""


class Declined(UsageError):
    """Somebody was asked before money is spent and said no; nothing was done."""


class DataError(MetalError):
    """A file is not what it should be.

    where: the file, with the row if the fault is in one ("ratings.csv row 17").
    problem: what is wrong there. remedy: what would be right and what to do.
    """

    def __init__(self, where: object, problem: str, remedy: str = "") -> None:
        self.where = str(where)
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"{where}: {problem}" + _sentence(problem, remedy))


class UnknownOrder(DataError):
    """Answers in words whose order is not known. criterion: their criterion. words: all of the
    words.
    """

    def __init__(
        self, where: object, criterion: str, words: Iterable[str], problem: str, remedy: str
    ) -> None:
        self.criterion = criterion
        self.words = tuple(words)
        super().__init__(where, problem, remedy)


class NoColumn(DataError):
    """A table has no column for a role. role: the role. columns: the existing columns. answers:
    those that may hold answers.

    templates: templates of `wide` that may read them.
    """

    def __init__(
        self,
        where: object,
        role: str,
        columns: Iterable[str],
        problem: str,
        remedy: str,
        answers: Iterable[str] = (),
        templates: Iterable[str] = (),
    ) -> None:
        self.templates = tuple(templates)
        self.role = role
        self.columns = tuple(columns)
        self.answers = tuple(answers)
        super().__init__(where, problem, remedy)


class UnknownName(MetalError):
    """A name that does not exist; the message shows the nearest ones that do, or the text of
    `instead`.
    """

    def __init__(
        self, kind: str, name: str, choices: Iterable[str], remedy: str = "", *, instead: str = ""
    ) -> None:
        problem = (
            f"{kind} {name!r} is not known; {instead or nearest(name, list(map(str, choices)))}"
        )
        super().__init__(problem + _sentence(problem, remedy))


def check_known(kind: str, names: Iterable[str], choices: Iterable[str], remedy: str = "") -> None:
    """Raise UnknownName for the first of the names that is not among the choices."""
    choices = list(choices)
    for name in names:
        if name not in choices:
            raise UnknownName(kind, name, choices, remedy)


class MissingExtra(MetalError):
    """An optional library is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(
            f"{what} needs an optional part of METAL: pip install 'metal-eval[{extra}]'"
        )


class Undefined(MetalError):
    """A statistic has no value here (0/0, too few ratings). The message is the reason.

    It is never replaced by a number, but passed on as an undefined estimate.
    """


def _sentence(before: str, remedy: str) -> str:
    """The remedy as a separate sentence after `before`."""
    if not remedy:
        return ""
    return f" {remedy}" if before.endswith(("?", ".")) else f". {remedy}"


def nearest(name: str, choices: list[str], show: int = 8) -> str:
    """The names to suggest for an unknown one: near misses if there are any, else the first few of
    all.

    >>> nearest("qualty", ["quality", "fluency"])
    "did you mean 'quality'?"
    >>> nearest("x", ["quality", "fluency"])
    'known: quality, fluency'
    """
    close = difflib.get_close_matches(name, choices, n=3, cutoff=0.5)
    if close:
        return "did you mean " + " or ".join(map(repr, close)) + "?"
    if not choices:
        return "there are none"
    return f"known: {', '.join(choices[:show])}" + (
        f", ... ({len(choices)} in all)" if len(choices) > show else ""
    )
