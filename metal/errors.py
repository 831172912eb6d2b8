"""Every deliberate error of METAL, one tree.

A deliberate error says what is wrong, where, what would be right and what to do next. The command line
prints it as one line and exits with code 2; anything else that is raised is a defect (exit code 1).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class MetalError(Exception):
    """Something the user can put right. `str(error)` is the whole message."""


class UsageError(MetalError):
    """The request itself cannot be carried out: options that contradict, a folder that exists."""


class DataError(MetalError):
    """A file is not what it should be.

    where: the file, with the row where one is known ("ratings.csv row 17").
    problem: what is wrong there; remedy: what would be right and what to do.
    """

    def __init__(self, where: object, problem: str, remedy: str = "") -> None:
        self.where = str(where)
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"{where}: {problem}" + _sentence(problem, remedy))


class UnknownName(MetalError):
    """A name nobody knows, answered with the nearest known ones."""

    def __init__(self, kind: str, name: str, known: Iterable[str], remedy: str = "") -> None:
        choices = [str(choice) for choice in known]
        problem = f"{kind} {name!r} is not known; {nearest(name, choices)}"
        super().__init__(problem + _sentence(problem, remedy))


class MissingExtra(MetalError):
    """An optional library is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional part of METAL: pip install 'metal-eval[{extra}]'")


class Undefined(MetalError):
    """A statistic has no value here (0/0, too few ratings). The message is the reason.

    Never answered with a number in its place: it is carried on as an undefined estimate.
    """


def _sentence(before: str, remedy: str) -> str:
    """The remedy as a sentence of its own after `before`."""
    if not remedy:
        return ""
    return f" {remedy}" if before.endswith(("?", ".")) else f". {remedy}"


def nearest(name: str, known: list[str], show: int = 8) -> str:
    """The known names to show beside an unknown one: near misses first, else all of a short list."""
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    if close:
        return "did you mean " + " or ".join(repr(choice) for choice in close) + "?"
    if not known:
        return "there are none"
    listed = ", ".join(known[:show]) + (f", ... ({len(known)} in all)" if len(known) > show else "")
    return f"known: {listed}"
