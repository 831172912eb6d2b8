"""The settings of an audit, and the signature of a figure, which names every setting that moves it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from metal.data.text import signature_line
from metal.errors import UsageError
from metal.stats.aggregate import ALL_RULES
from metal.version import __version__

# the human ceilings leave out people with fewer ratings, whose F1 would be noise at full weight
MIN_RATED = 10


@dataclass(frozen=True)
class AuditSettings:
    """The settings of an audit. Empty tuples mean all.

    reference: the people to compare with: "" for all, `group=NAME` (or only NAME), or
    `rater=NAME,NAME`. aggregate: how people's ratings become one label (metal.stats.aggregate).
    min_raters: the ratings that an item needs to count; 0 means the most common number of ratings
    of an item, at most 3 (METAL's panel). epsilon: how much worse than a person a judge may be in
    the alternative annotator test; None means the value for the people's group (EPSILON). wilcoxon:
    whether that test also tests people with fewer than 30 items. exclude_noisy: the model
    (metal.genie.noisy) by which people were left out before the audit, "" for none. paper_compat:
    kappa of one class is 0.0, as in METAL's Table 6. margin, keep, people_floor, bad: of the
    verdicts (metal.auditing.verdict). standardise: verdicts on ordered scales look at scores less
    each rater's mean, in units of each rater's spread. Raises UsageError for values that are not
    possible.
    """

    judges: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    reference: str = ""
    aggregate: str = "majority-or-mean"
    min_raters: int = 0
    epsilon: float | None = None
    wilcoxon: bool = False
    resamples: int = 2000
    seed: int = 0
    paper_compat: bool = False
    exclude_noisy: str = ""
    margin: float = 0.10
    keep: float = 0.7
    people_floor: float = 0.2
    bad: str = ""
    standardise: bool = False

    def __post_init__(self) -> None:
        if self.aggregate not in ALL_RULES:
            raise UsageError(f"aggregate {self.aggregate!r}: one of {', '.join(ALL_RULES)}")
        if self.resamples < 100:
            raise UsageError(f"{self.resamples} resamples: an interval needs at least 100")
        if self.seed < 0:
            raise UsageError(f"seed {self.seed}: use 0 or a positive whole number")
        if self.min_raters < 0:
            raise UsageError(
                f"min_raters {self.min_raters}: use 1 or more, or 0 for the size of the panel"
            )
        for name in ("margin", "keep", "people_floor", "epsilon"):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= 1:
                raise UsageError(f"{name} {value}: use a share from 0 to 1")

    def to_dict(self) -> dict[str, Any]:
        """Plain values for run.toml, without what is not set. `wilcoxon` is written as `small`, as
        it always was.
        """
        values: dict[str, Any] = {}
        for name, value in asdict(self).items():
            if name == "wilcoxon":
                values["small"] = "wilcoxon" if value else "leave out"
            elif value not in (None, ()):
                values[name] = list(value) if isinstance(value, tuple) else value
        return values


def signature(data: str, settings: AuditSettings, **about: object) -> str:
    """Program, data, what a figure is about, and the settings that move it: the same signature, the
    same figure.

    data: Dataset.identity. about: judge, language (lang), criterion (crit), n, dropped, ... in this
    order; the separators | and : never occur unescaped in a value.
    """
    parts = {
        "metal": __version__,
        "data": data,
        **about,
        "agg": settings.aggregate,
        "minr": settings.min_raters or "panel",
        "ref": settings.reference.removeprefix("group="),
        "without": (
            f"noisy@{settings.exclude_noisy}" if settings.exclude_noisy else about.get("without")
        ),
        "eps": "group" if settings.epsilon is None else f"{settings.epsilon:g}",
        "small": "wilcoxon" if settings.wilcoxon else "",
        # a verdict has no resamples
        "bs": "" if about.get("stat") == "verdicts" else settings.resamples,
        "seed": "" if about.get("stat") == "verdicts" else settings.seed,
        "compat": "paper" if settings.paper_compat else "",
        "margin": "" if settings.margin == AuditSettings.margin else settings.margin,
        "keep": "" if settings.keep == AuditSettings.keep else settings.keep,
        "floor": (
            "" if settings.people_floor == AuditSettings.people_floor else settings.people_floor
        ),
        "bad": settings.bad,
        "scores": "standardised" if settings.standardise else "",
    }
    return signature_line(parts)
