"""What a board can be told, in one place; every setting is part of its signature."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from math import inf
from typing import Any, get_args

from metal.data.records import KINDS
from metal.data.text import signature_line
from metal.errors import UsageError
from metal.stats.bootstrap import check_resampling
from metal.stats.ensemble import Rule
from metal.version import __version__


@dataclass(frozen=True)
class BoardSettings:
    """Choices of a board. Empty tuples mean all.

    reference: the people to agree with (people_named). common: compare on the outputs that all
    raters scored. expected: take the means of levels by their probabilities for the scores of
    raters that have them. members: kinds of rater an ensemble is made of. nonzero: its number of
    coefficients. alpha: None takes one from the interval by `rule`
    (metal.stats.ensemble.choose_alpha). human_generators: people among the generators, besides
    those that dataset.toml marks. families: generator -> family, besides those of dataset.toml.
    resamples: of the bootstrap by source. permutations: of each test. version: the state of the
    board. exclude_noisy: the model (metal.genie.noisy) by which people were left out before, "" for
    none.
    """

    reference: str = ""
    criteria: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    raters: tuple[str, ...] = ()
    common: bool = False
    expected: bool = False
    members: tuple[str, ...] = ("metric",)
    nonzero: int = 3
    alpha: float | None = None
    rule: Rule = "smallest"
    human_generators: tuple[str, ...] = ()
    families: Mapping[str, str] = field(default_factory=dict)
    resamples: int = 2000
    permutations: int = 1000
    seed: int = 0
    version: int = 1
    exclude_noisy: str = ""

    def __post_init__(self) -> None:
        check_resampling(seed=self.seed, permutations=self.permutations, resamples=self.resamples)
        if self.nonzero < 1:
            raise UsageError(f"an ensemble of {self.nonzero}: use 1 or more")
        if self.alpha is not None and not 0 < self.alpha < inf:
            raise UsageError(f"alpha {self.alpha}: use a number above 0")
        if self.rule not in get_args(Rule):
            raise UsageError(f"rule {self.rule!r}: one of {', '.join(get_args(Rule))}")
        for kind in self.members:
            if kind not in KINDS:
                raise UsageError(f"members {kind!r}: one of {', '.join(KINDS)}")

    def to_dict(self) -> dict[str, Any]:
        """Plain values for run.toml; what is not set is left out."""
        plain = {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in asdict(self).items()
        }
        return {key: value for key, value in plain.items() if value not in (None, [], {})}


def signature(data: str, settings: BoardSettings, **about: object) -> str:
    """Program, data, what the figure is about, and every setting that changes it. data:
    Dataset.identity.
    """
    parts: dict[str, object] = {
        "metal": __version__,
        "data": data,
        "version": settings.version,
    } | about
    parts |= {
        "ref": settings.reference or "all-people",
        "without": f"noisy@{settings.exclude_noisy}" if settings.exclude_noisy else "",
        "raters": "+".join(settings.raters),
        "langs": "+".join(settings.languages) if about.get("lang") == "all" else "",
        "common": "yes" if settings.common else "",
        "expected": "yes" if settings.expected else "",
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
