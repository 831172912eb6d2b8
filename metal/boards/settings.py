"""The settings of a board, in one place; every setting is part of its signature."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Literal

from metal.data.option import (
    ExcludeNoisy,
    Option,
    Permutations,
    Resamples,
    Seed,
    check_options,
)
from metal.data.records import KINDS
from metal.data.text import signature_line
from metal.version import __version__

AlphaRule = Annotated[
    Literal["smallest", "middle"],
    Option("Which alpha to take from the interval.", choices=("smallest", "middle"), rare=True),
]


@dataclass(frozen=True)
class BoardSettings:
    """The settings of a board. An empty tuple means all.

    reference: the people with whom raters are compared (people_named). common: whether to compare
    only on outputs that all raters scored. expected: whether to score by the mean of levels
    weighted by probability, for raters that have it. exact: whether scores that differ only by
    rounding are different. members: the kinds of rater in the ensemble. nonzero: the number of
    nonzero coefficients of the ensemble. alpha: the lasso's alpha; None takes one from the interval
    by `rule` (metal.stats.ensemble.choose_alpha). human_generators:
    generators that are people, besides those marked in dataset.toml. families: generator -> family,
    besides those in dataset.toml. resamples: number of bootstrap samples over sources.
    permutations: number per test. version: the version of the board. exclude_noisy: the model
    (metal.genie.noisy) that chose whom to leave out, "" for none.
    """

    reference: str = ""
    criteria: Annotated[
        tuple[str, ...], Option("Criteria, or overall. [default: all criteria and overall]", "-c")
    ] = ()
    languages: Annotated[
        tuple[str, ...], Option("Languages. [default: all together, and each alone]", "-l")
    ] = ()
    raters: Annotated[
        tuple[str, ...], Option("Raters on the board; default all in the data.", "-r")
    ] = ()
    common: Annotated[bool, Option("Compare on the outputs that every rater scored.")] = False
    expected: Annotated[
        bool,
        Option(
            "Score judges by the mean of levels weighted by token probabilities, where available.",
            rare=True,
        ),
    ] = False
    exact: Annotated[
        bool,
        Option(
            "Compare scores as floats, as WMT does: -25.200000000000003 does not tie with -25.2.",
            rare=True,
        ),
    ] = False
    members: Annotated[
        tuple[str, ...],
        Option(
            "Kinds of rater in the ensemble. [default: metric]",
            choices=tuple(KINDS),
            rare=True,
        ),
    ] = ("metric",)
    nonzero: Annotated[
        int, Option("Members of the ensemble.", metavar="K", least=1, most=50, rare=True)
    ] = 3
    alpha: Annotated[
        float | None,
        Option(
            "The lasso's alpha. [default: from the interval that gives K members]",
            least=0,
            open_ends=True,
            rare=True,
        ),
    ] = None
    rule: AlphaRule = "smallest"
    human_generators: tuple[str, ...] = ()
    families: Mapping[str, str] = field(default_factory=dict)
    resamples: Resamples = 2000
    permutations: Permutations = 1000
    seed: Seed = 0
    version: int = 1
    exclude_noisy: ExcludeNoisy = ""

    def __post_init__(self) -> None:
        check_options(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for run.toml, without settings that are not set."""
        plain = {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in asdict(self).items()
        }
        return {key: value for key, value in plain.items() if value not in (None, [], {})}


@dataclass(frozen=True)
class CrowdSettings:
    """Settings besides those of the board.

    area: the share of the scale that counts as its bottom, and also as its top. examples: the
    number of examples for each area, rater and cell. equal_panels: whether each output keeps only
    as many people of a group as reference people rated it.
    """

    area: Annotated[
        float,
        Option(
            "Share of the scale that counts as low or high. [default: 1/3]",
            metavar="SHARE",
            least=0,
            most=0.5,
            open_ends=True,
            rare=True,
        ),
    ] = 1 / 3
    examples: Annotated[int, Option("Outputs to draw from each area.", least=0, rare=True)] = 5
    equal_panels: Annotated[
        bool, Option("Use as many crowd workers per output as experts, drawn by `seed`.", rare=True)
    ] = False

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True)
class ReferenceSettings:
    """Settings besides those of the board. most: the largest number of references; None takes the
    number that all sources have. draws: number of random subsets.

    beside: raters of the dataset that the chart draws as lines next to the metrics.
    """

    most: Annotated[
        int | None,
        Option(
            "Largest number of references. [default: as many as all sources have]",
            metavar="K",
            least=1,
        ),
    ] = None
    draws: Annotated[
        int, Option("Random subsets for each number of references.", least=1, rare=True)
    ] = 5
    beside: Annotated[
        tuple[str, ...], Option("Raters in the dataset to draw as lines for comparison.")
    ] = ()

    def __post_init__(self) -> None:
        check_options(self)


def signature(data: str, settings: BoardSettings, **subject: object) -> str:
    """A line that names the program, the data, the subject of the figure, and every setting that
    changes the figure. data: Dataset.identity.
    """
    parts: dict[str, object] = {
        "metal": __version__,
        "data": data,
        "version": settings.version,
    } | subject
    parts |= {
        "ref": settings.reference or "all-people",
        "without": f"noisy@{settings.exclude_noisy}" if settings.exclude_noisy else "",
        "raters": "+".join(settings.raters),
    }
    if subject.get("lang") == "all":
        parts |= {"langs": "+".join(settings.languages)}
    parts |= {name: "yes" for name in ("common", "expected", "exact") if getattr(settings, name)}
    parts |= {
        "members": "+".join(settings.members),
        "nonzero": settings.nonzero,
        "alpha": settings.rule if settings.alpha is None else f"{settings.alpha:.10g}",
        "written": "+".join(settings.human_generators),
        "families": "+".join(f"{name}={family}" for name, family in settings.families.items()),
        "bs": settings.resamples,
        "perm": settings.permutations,
        "seed": settings.seed,
    }
    return signature_line(parts)
