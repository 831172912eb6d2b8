"""Questions in a terminal; the user can go back to earlier ones."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import click

from metal.errors import MetalError, UsageError
from metal.show.terminal import console

INTERRUPTED = 130  # the exit code of what somebody ended
NOBODY = "`ask=True` asks in a terminal, and nothing was typed; leave it out, or give options"
BACK, QUIT = ("b", "back"), ("q", "quit")
NEEDED = "an answer is needed here; Ctrl-C ends the questions"


class Nobody(UsageError):
    """Raised if a question cannot be answered, because there is no terminal."""


class Back(Exception):
    """Raised if the user wants to go back to the previous question."""


class Dialogue:
    """Questions with the answers so far. When the user goes back, the dialogue starts again from
    the first question and reuses earlier answers.
    """

    def __init__(self) -> None:
        self.answers: list[Any] = []
        self.place = 0
        self.error: MetalError | None = None
        self._refused: dict[str, list[Any]] = {}

    @property
    def is_new(self) -> bool:
        """Whether the next question has not been shown yet."""
        return self.place == len(self.answers)

    def again(self) -> None:
        """Start again with the first question."""
        self.place = 0

    def back(self) -> None:
        """Forget the last answer."""
        if not self.answers:
            console.say("This is the first question.")
        self.answers = self.answers[:-1]

    def refuse(self, error: MetalError) -> None:
        """Say why the last answer cannot be used, and forget it."""
        self.error = error
        console.say(console.worded(str(error)))
        *before, last = self.answers
        self._refused.setdefault(repr(before), []).append(last)
        self.answers = before

    def left(self, choices: Sequence[str]) -> Sequence[str]:
        """The choices of the next question that have not been refused. Raises the last error if
        none is left.
        """
        refused = self._refused.get(repr(self.answers[: self.place]), [])
        left = [choice for choice in choices if choice not in refused]
        if self.error and not left:
            raise self.error
        return left

    def ask(self, question: str, *, value_proc: Callable[[str], Any], default: Any = None) -> Any:
        """Ask, and parse what is typed with `value_proc`; Enter takes the default. Raises Back."""
        if self.is_new:
            if not self.place:
                console.say("Enter takes the answer in brackets; b goes back a question, q quits.")
            try:
                parse = partial(_parsed, value_proc, needed=default is None)
                answer = prompt(question, default=default, value_proc=parse)
            except Nobody:
                raise self.error or Nobody(NOBODY) from None
            if answer in QUIT:
                console.say("Quit: nothing was written.")
                raise SystemExit(INTERRUPTED)
            if answer in BACK:
                raise Back
            self.answers.append(answer)
        self.place += 1
        return self.answers[self.place - 1]


def _parsed(value_proc: Callable[[str], Any], text: str, *, needed: bool) -> Any:
    """Parse an answer; b goes back and q quits, unless the question takes such an answer."""
    if needed and not text.strip():
        raise click.UsageError("an answer is needed here; b goes back a question, q quits")
    try:
        return value_proc(text)
    except click.UsageError:
        if text.strip().lower() in (*BACK, *QUIT):
            return text.strip().lower()
        raise


def prompt(question: str, *, instead: str = NOBODY, **settings: Any) -> Any:
    """Read an answer from the user. If there is no terminal, raises UsageError, which says what to
    do instead.
    """
    if settings.get("default") is None:
        settings = {**settings, **_needed(settings)}
    try:
        return click.prompt(console.clean(question), **settings)
    except click.Abort:
        if sys.stdin.isatty():
            raise
        raise Nobody(instead) from None


def _needed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a question without a default: Enter then prints that an answer is needed,
    about which click itself is silent.
    """
    read = settings.get("value_proc") or click.types.convert_type(settings.get("type"))

    def answer(text: str) -> Any:
        if not text.strip() and "value_proc" not in settings:
            raise click.UsageError(NEEDED)
        return read(text)

    return {"default": "", "show_default": False, "value_proc": answer}


def one_of(choices: Sequence[str]) -> Callable[[str], str]:
    """A parser that accepts one of these values and reports any other."""

    def read(text: str) -> str:
        if text.strip() not in choices:
            raise click.UsageError(f"{text!r} is not one of {', '.join(choices)}")
        return text.strip()

    return read
