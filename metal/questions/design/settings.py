"""The settings of a design study and of a plan for labels, and the price of work."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Literal

from metal.auditing.settings import AuditSettings, Bad, Keep, Margin, PeopleFloor
from metal.data.option import LANGUAGES, ExcludeNoisy, Option, Seed, check_options
from metal.data.text import dollars
from metal.errors import UsageError


@dataclass(frozen=True)
class Prices:
    """What work costs.

    pay: USD for a task, in which one person rates one output; None if unknown. seconds: the time
    that a task takes; None if unknown. fee: the platform's fee in addition to the pay, as a share
    of it (Mechanical Turk: 0.2). test_share: the share of all tasks that are test questions.
    min_hourly: the USD per hour below which pay is too low (GENIE section 6).
    """

    pay: Annotated[
        float | None,
        Option(
            "Dollars per task: one person rates one output.", metavar="USD", least=0, open_ends=True
        ),
    ] = None
    seconds: Annotated[
        float | None,
        Option(
            "Seconds per task. [default: median of the forms]",
            least=0,
            open_ends=True,
        ),
    ] = None
    fee: Annotated[
        float, Option("The platform's fee, as a share of the pay.", least=0, rare=True)
    ] = 0.2
    test_share: Annotated[
        float, Option("Share of all tasks that are test questions.", rare=True)
    ] = 0.1
    min_hourly: Annotated[
        float,
        Option("Warn if an hour pays less than this.", metavar="USD", least=0, rare=True),
    ] = 15.0

    def __post_init__(self) -> None:
        check_options(self)
        if not 0 <= self.test_share < 1:
            raise UsageError(f"`test_share` {self.test_share:g}: use 0 to below 1")

    @property
    def hourly(self) -> float | None:
        """The pay in USD for an hour of work, without the fee; None if pay or time is unknown."""
        return None if self.pay is None or self.seconds is None else self.pay * 3600 / self.seconds

    @property
    def warnings(self) -> tuple[str, ...]:
        """A warning if the pay of an hour is known to be below min_hourly."""
        if self.hourly is None or self.hourly >= self.min_hourly:
            return ()
        return (
            f"{dollars(self.pay)} for {self.seconds:g} seconds is {dollars(self.hourly)} an"
            f" hour, below {dollars(self.min_hourly)}: people are paid too little (GENIE section"
            f" 6); pay {dollars((self.seconds or 0) * self.min_hourly / 3600)} a task or more",
        )

    def cost(self, items: int, raters: int) -> dict[str, float]:
        """The cost if `raters` people each rate `items` items.

        It has the number of tasks (one person rates one output), how many of them are test
        questions, and USD and hours, NaN if pay or time is unknown.

        Test questions are added until they are `test_share` of all tasks: items x raters / (1 -
        test_share) tasks, rounded up.
        >>> Prices(pay=0.5, seconds=60).cost(90, 1)
        {'tasks': 100, 'test_questions': 10, 'usd': 60.0, 'hours': 1.6666666666666667}
        """
        ratings = items * raters
        tasks = math.ceil(ratings / (1 - self.test_share) - 1e-9)
        usd = hours = math.nan
        if self.pay is not None:
            usd = tasks * self.pay * (1 + self.fee)
        if self.seconds is not None:
            hours = tasks * self.seconds / 3600
        return {"tasks": tasks, "test_questions": tasks - ratings, "usd": usd, "hours": hours}


@dataclass(frozen=True)
class PlanSettings:
    """The settings that every plan has."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for run.toml, without settings that are not set."""
        plain = asdict(self)
        plain |= {key: list(value) for key, value in plain.items() if isinstance(value, tuple)}
        plain["prices"] = {
            key: value for key, value in plain["prices"].items() if value is not None
        }
        return {key: value for key, value in plain.items() if value is not None and value != []}


@dataclass(frozen=True)
class DesignSettings(PlanSettings):
    """The settings of a design study. Empty tuples mean all.

    width: the wanted width of the 95% interval. power: the wanted power of a verdict. raters:
    numbers of people per item; if empty, 1 up to the usual number, at most MOST_RATERS, and for
    verdicts only the usual number. judges: if empty, the LLM judges. reference: the people whose
    ratings count (people_named). by: what defines a population of raters: group, rater, or a column
    `day` or `round` of raters.jsonl; auto takes the first of day, round and group in which people
    differ, else rater. rounds: the number of rounds of a simulation; verdicts use a fifth of it.
    thorough: whether verdicts and scores are simulated; else a formula says how many items they
    need. margin, keep, people_floor, bad: the settings of verdicts (metal.auditing.verdict).
    """

    judges: Annotated[
        tuple[str, ...],
        Option(
            "Judges to plan for. [default: the LLM judges in the data]", "-j", aliases=("--judge",)
        ),
    ] = ()
    criteria: Annotated[
        tuple[str, ...], Option("Criteria. [default: all that people rated]", "-c")
    ] = ()
    languages: Annotated[tuple[str, ...], LANGUAGES] = ()
    reference: Annotated[
        str, Option("Whose ratings: group=expert, or rater=A1,A2.", metavar="PEOPLE")
    ] = ""
    by: Annotated[
        Literal["auto", "group", "rater", "day", "round"],
        Option(
            "What defines a population of raters; day and round are keys of raters.jsonl.",
            choices=("auto", "group", "rater", "day", "round"),
            rare=True,
        ),
    ] = "auto"
    raters: Annotated[
        tuple[int, ...],
        Option(
            "People per item, to plan for. [default: the usual number for verdicts, 1 up to it for"
            " scores; at most 5]",
            "-k",
            metavar="N[,N]",
            least=1,
        ),
    ] = ()
    width: Annotated[
        float,
        Option(
            "Half-width wanted for the 95% interval of a score.",
            least=0,
            most=1,
            open_ends=True,
        ),
    ] = 0.05
    power: Annotated[float, Option("Chance of a verdict.", least=0, most=1, open_ends=True)] = 0.8
    margin: Margin = 0.1
    keep: Keep = 0.7
    people_floor: PeopleFloor = 0.2
    bad: Bad = ""
    rounds: Annotated[
        int,
        Option("Rounds per simulation; a fifth as many for verdicts.", least=100, rare=True),
    ] = 500
    seed: Seed = 0
    prices: Prices = field(default_factory=Prices)
    exclude_noisy: ExcludeNoisy = ""
    thorough: Annotated[bool, Option("Simulate instead of using a formula; takes minutes.")] = False

    def __post_init__(self) -> None:
        check_options(self)

    def of_verdicts(self) -> AuditSettings:
        """The settings on which verdicts depend."""
        return AuditSettings(
            languages=self.languages,
            reference=self.reference,
            margin=self.margin,
            keep=self.keep,
            people_floor=self.people_floor,
            bad=self.bad,
            seed=self.seed,
        )


@dataclass(frozen=True)
class LabelSettings(PlanSettings):
    """The settings of a plan for labels.

    half_width: the wanted half-width of the 95% interval, as a share of the scale. budget: instead
    of half_width, the USD for all languages of a criterion together. sources: how many sources the
    judge rates in each language; 0 means those that it has rated. judge_price: USD for the judge to
    rate an output; 0 means that it is already paid.
    """

    half_width: Annotated[
        float,
        Option(
            "Half-width of the 95% interval that you want for a mean, as a share of the scale.",
            least=0,
            most=0.5,
            open_ends=True,
        ),
    ] = 0.05
    budget: Annotated[
        float | None,
        Option(
            "Instead of `half_width`: the total budget for all languages.",
            metavar="USD",
            least=0,
            open_ends=True,
        ),
    ] = None
    sources: Annotated[
        int,
        Option(
            "Sources that the judge rates per language. [default: those it has rated; with"
            " `judge_price` the cheapest number]",
            metavar="N",
            least=0,
        ),
    ] = 0
    judge_price: Annotated[
        float,
        Option(
            "Dollars for the judge to rate one output; 0 if already paid.", metavar="USD", least=0
        ),
    ] = 0.0
    prices: Prices = field(default_factory=lambda: Prices(test_share=0))

    def __post_init__(self) -> None:
        check_options(self)
        if (self.budget or self.judge_price) and self.prices.pay is None:
            raise UsageError(
                "`budget` and `judge_price` need `pay`, what a person gets for an output"
            )
