"""What a leaderboard by people can be told, and the line that identifies its figures."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from metal import __version__
from metal.data.text import signature_line
from metal.errors import UsageError

OVERALL = "overall"
ALL_LANGUAGES = ""  # in tables: all languages together

Aggregation = Literal["mean", "majority"]


@dataclass(frozen=True)
class LeaderboardSettings:
    """Choices of a leaderboard. Empty tuples mean all.

    reference: the people whose ratings count (people.py). criteria: that count, also for overall. aggregate: how
    several labels of one output become its score: their mean, or the label given most often (the mean of several such
    labels); scores without levels are averaged in any case. sample: score this many sources of each language
    (subsample.py), None for all. with_judges: put LLM judges beside people, as metrics are. resamples: of the
    bootstrap by source. permutations: of each test. exclude_noisy: the model (metal.genie.noisy) by which people were
    left out before, "" for none.
    """

    reference: str = ""
    criteria: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    aggregate: Aggregation = "mean"
    sample: int | None = None
    with_judges: bool = False
    resamples: int = 2000
    permutations: int = 1000
    seed: int = 0
    exclude_noisy: str = ""

    def __post_init__(self) -> None:
        if self.resamples < 100:
            raise UsageError(f"{self.resamples} resamples: an interval needs at least 100")
        if self.permutations < 100:
            raise UsageError(f"{self.permutations} permutations: a test needs at least 100")
        if self.aggregate not in get_args(Aggregation):
            raise UsageError(f"aggregate {self.aggregate!r}: one of {', '.join(get_args(Aggregation))}")
        if self.sample is not None and self.sample < 1:
            raise UsageError(f"a sample of {self.sample} sources: use 1 or more")
        if self.seed < 0:
            raise UsageError(f"seed {self.seed}: use 0 or a positive whole number")

    def to_dict(self) -> dict[str, Any]:
        """Plain values for run.toml; what is not set is left out."""
        plain = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}
        return {key: value for key, value in plain.items() if value not in (None, [], "")}


def signature(data: str, settings: LeaderboardSettings) -> str:
    """Program, data, and every setting that moves a figure. data: Dataset.identity."""
    return signature_line(
        {
            "metal": __version__,
            "data": data,
            "board": "people",
            "ref": settings.reference or "all-people",
            "without": f"noisy@{settings.exclude_noisy}" if settings.exclude_noisy else "",
            "crit": "+".join(settings.criteria),
            "langs": "+".join(settings.languages),
            "agg": settings.aggregate,
            "sample": settings.sample,
            "judges": "yes" if settings.with_judges else "",
            "bs": settings.resamples,
            "perm": settings.permutations,
            "seed": settings.seed,
        }
    )
