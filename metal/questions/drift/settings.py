"""The margins of a comparison with an earlier judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from metal.data.option import Option, check_options

Share = Annotated[float, Option(least=0, most=1, open_ends=True)]
Alpha = Annotated[
    float, Option("Chance of a wrong claim.", least=0, most=0.5, open_ends=True, rare=True)
]
Power = Annotated[
    float,
    Option(
        "Power for which the needed outputs are computed.",
        least=0,
        most=1,
        open_ends=True,
        rare=True,
    ),
]


@dataclass(frozen=True)
class Margins:
    """The margins declared beforehand: differences that do not matter in agreement with people, in
    the mean score (as a share of the scale) and in coverage.

    alpha: the probability of error of each claim. power: the planned power.
    """

    agreement: Share = 0.05
    mean: Share = 0.05
    coverage: Share = 0.05
    alpha: Alpha = 0.05
    power: Power = 0.8

    def __post_init__(self) -> None:
        check_options(self)
