"""Options, each declared once for a setting, for a function's parameter, and for the
command line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import inf
from numbers import Integral, Real
from typing import Annotated, Any, get_args, get_type_hints

from metal.errors import UsageError


@dataclass(frozen=True)
class Option:
    """A setting that is a parameter of a function and an option on the command line.

    help: what it means. short: its letter (`-c`). metavar: the placeholder for its value. choices:
    the values it may have. least, most: its range, with an end excluded if `open_ends` names it.
    flag: its name on the command line, if that is not the parameter's. aliases: older spellings
    that still work. bare: its value if it is given without one. check: a `module:function` that
    reads such a value. commas: names may contain commas, so the function splits them. by_criterion:
    CRITERION=VALUE, or one value for all criteria. rare: shown only by `--help-all`.
    """

    help: str = ""
    short: str = ""
    metavar: str = ""
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    open_ends: bool = False
    flag: str = ""
    aliases: tuple[str, ...] = ()
    bare: str = ""
    check: str = ""
    commas: bool = False
    by_criterion: bool = False
    rare: bool = False

    def holds(self, value: Any, *, integral: bool) -> bool:
        """Whether the option may have this value.

        integral: whether its values are whole numbers.
        """
        if self.choices:
            return value in self.choices
        if isinstance(value, bool) or not isinstance(value, Integral if integral else Real):
            return False
        least = -inf if self.least is None else self.least
        most = inf if self.most is None else self.most
        number = float(value)
        return least < number < most if self.open_ends else least <= number <= most

    def possible(self, *, integral: bool) -> str:
        """The possible values, in words for messages.

        >>> Option(least=0, most=1).possible(integral=False), Option(least=1).possible(integral=True)
        ('a share from 0 to 1', 'a whole number, 1 or more')
        """  # noqa: E501
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        of_one = (self.least, self.most) == (0, 1)
        what = "a share" if of_one else "a number"
        if integral:
            what = "a whole number"
        if self.open_ends:
            above = "" if self.least is None else f"above {self.least:g}"
            below = "" if self.most is None else f"below {self.most:g}"
            return f"{what} {' and '.join(filter(None, (above, below)))}"
        if self.most is None:
            return f"{what}, {self.least:g} or more"
        return f"{what} from {self.least or 0:g} to {self.most:g}"


def option_in(annotation: Any) -> tuple[Any, Option | None]:
    """The plain type of an annotation, and its Option if it has one."""
    kind, *metadata = get_args(annotation) or (annotation,)
    option = next((part for part in metadata if isinstance(part, Option)), None)
    return (kind, option) if option else (annotation, None)


@cache
def options_in(record: type) -> Mapping[str, tuple[Any, Option]]:
    """The plain type and the Option of each field of a settings record; fields without an Option
    are left out.
    """
    hints = get_type_hints(record, include_extras=True)
    options = {name: option_in(annotation) for name, annotation in hints.items()}
    return {name: (kind, option) for name, (kind, option) in options.items() if option}


def check_value(name: str, kind: Any, option: Option, value: Any) -> None:
    """Raise UsageError for a value that the option may not have; if there are several values, each
    is checked.

    kind: the type, which says whether None is allowed, and whether only whole numbers are allowed.
    """
    if not option.choices and option.least is None and option.most is None:
        return
    kinds = {kind, *get_args(kind)}
    if value is None and type(None) in kinds:
        return
    integral = int in kinds
    if isinstance(value, str) and Sequence[str] in kinds:
        value = [part.strip() for part in value.split(",") if part.strip()]
    for each in value if isinstance(value, tuple | list) else (value,):
        if not option.holds(each, integral=integral):
            shown = f"{each:g}" if isinstance(each, float) else repr(each)
            raise UsageError(f"`{name}` {shown}: use {option.possible(integral=integral)}")


def check_options(settings: object) -> None:
    """Raise UsageError for a setting that its Option does not allow; for `__post_init__`."""
    for name, (kind, option) in options_in(type(settings)).items():  # type: ignore[arg-type]
        check_value(name, kind, option, getattr(settings, name))


JUDGES = Option("Judges to include. [default: all in the data]", "-j")
LANGUAGES = Option("Languages; default all.", "-l")
Seed = Annotated[int, Option("Random seed.", least=0, rare=True)]
Resamples = Annotated[
    int,
    Option(
        "Bootstrap resamples for the 95% intervals, drawn by source.",
        least=100,
        aliases=("--bootstrap",),
        rare=True,
    ),
]
Permutations = Annotated[int, Option("Permutations of each test.", least=100, rare=True)]
ExcludeNoisy = Annotated[
    str,
    Option(
        "Exclude people who fail the test questions (see `metal.monitor`). [without a value:"
        " rate-learned-2]",
        metavar="[=MODEL[@BETA]]",
        bare="rate-learned-2",
        check="metal.genie.noisy:model_and_beta",
        rare=True,
    ),
]
