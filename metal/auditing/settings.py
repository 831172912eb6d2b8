"""The settings of an audit, and the signature of a figure, which names every setting that affects
it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal, TypeAlias, get_args

from metal.data.option import (
    JUDGES,
    LANGUAGES,
    ExcludeNoisy,
    Option,
    Resamples,
    Seed,
    check_options,
)
from metal.data.text import signature_line
from metal.version import __version__

# the human ceilings leave out people with fewer ratings, whose F1 would be noise at full weight
MIN_RATED = 10

Aggregate: TypeAlias = Literal[
    "majority-or-mean", "majority-or-middle", "majority", "dawid-skene", "mace"
]

Margin = Annotated[
    float,
    Option(
        "Non-inferiority margin: how far below a person a judge may be.", least=0, most=1, rare=True
    ),
]
Keep = Annotated[
    float,
    Option(
        "Share of a person's lead over a constant that the judge must keep.",
        least=0,
        most=1,
        rare=True,
    ),
]
PeopleFloor = Annotated[
    float, Option("People's alpha below which they disagree.", least=0, most=1, rare=True)
]
Bad = Annotated[
    str,
    Option(
        "The worst label of a scale without order; a judge must find it.",
        metavar="LABEL",
        rare=True,
    ),
]


@dataclass(frozen=True)
class AuditSettings:
    """The settings of an audit. Empty tuples mean all.

    reference: the people to compare with: "" for all, `group=NAME` (or only NAME), or
    `rater=NAME,NAME`. aggregate: how people's ratings become one label (metal.stats.aggregate).
    min_raters: the ratings that an item needs to count; 0 means the most common number of ratings
    of an item, at most 3 (METAL's panel). epsilon: how much worse than a person a judge may be in
    the alternative annotator test; None means the value for the people's group (EPSILON). wilcoxon:
    whether that test also tests people with fewer than 30 items. exclude_noisy: the model
    (metal.genie.noisy) that decides whom to leave out before the audit; "" for none. paper_compat:
    whether Fleiss' kappa is 0.0 if all ratings are in one class, as in Table 6 of the METAL paper.
    margin, keep, people_floor, bad: limits of the verdicts (metal.auditing.verdict). standardise:
    for verdicts on ordered scales, whether to subtract each rater's mean from the scores and divide
    by the rater's spread. Raises UsageError for impossible values.
    """

    judges: Annotated[tuple[str, ...], JUDGES] = ()
    criteria: Annotated[tuple[str, ...], Option("Criteria. [default: all with levels]", "-c")] = ()
    languages: Annotated[tuple[str, ...], LANGUAGES] = ()
    reference: Annotated[
        str,
        Option("Compare with these people only: group=expert, or rater=A1,A2.", metavar="PEOPLE"),
    ] = ""
    aggregate: Annotated[
        str,
        Option(
            "How to combine people's ratings of an item: by majority (without one: the mean,"
            " the middle or none), or by a model that weighs people by their agreement.",
            choices=get_args(Aggregate),
            rare=True,
        ),
    ] = "majority-or-mean"
    min_raters: Annotated[
        int,
        Option(
            "An item counts if at least N people rated it. [default: the usual panel, at most 3]",
            metavar="N",
            least=0,
            rare=True,
        ),
    ] = 0
    epsilon: Annotated[
        float | None,
        Option(
            "Margin of the alternative annotator test. [default: 0.2 for people of group"
            " expert, 0.1 for crowd, else 0.15]",
            least=0,
            most=1,
            rare=True,
        ),
    ] = None
    wilcoxon: Annotated[
        bool, Option("Also test people with fewer than 30 items, by Wilcoxon's test.", rare=True)
    ] = False
    resamples: Resamples = 2000
    seed: Seed = 0
    paper_compat: Annotated[
        bool,
        Option(
            "Print Fleiss' kappa as 0.0 if all ratings are in one class, as in Table 6 of the METAL"
            " paper.",
            rare=True,
        ),
    ] = False
    exclude_noisy: ExcludeNoisy = ""
    margin: Margin = 0.1
    keep: Keep = 0.7
    people_floor: PeopleFloor = 0.2
    bad: Bad = ""
    standardise: Annotated[
        bool, Option("Standardise each rater's scores before a verdict.", rare=True)
    ] = False

    def __post_init__(self) -> None:
        check_options(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for run.toml, without settings that are not set.

        `wilcoxon` is written as `small`, as in earlier versions.
        """
        values: dict[str, Any] = {}
        for name, value in asdict(self).items():
            if name == "wilcoxon":
                values["small"] = "wilcoxon" if value else "leave out"
            elif value not in (None, ()):
                values[name] = list(value) if isinstance(value, tuple) else value
        return values


def signature(data: str, settings: AuditSettings, **subject: object) -> str:
    """A line with the program, the data, what a figure is about, and the settings that affect it;
    equal lines mean equal figures.

    data: Dataset.identity. subject: judge, language (lang), criterion (crit), n, dropped, ... in
    this order; the separators | and : never occur unescaped in a value.
    """
    without = (
        f"noisy@{settings.exclude_noisy}" if settings.exclude_noisy else subject.get("without")
    )
    epsilon = "group" if settings.epsilon is None else f"{settings.epsilon:g}"
    small = "wilcoxon" if settings.wilcoxon else ""
    compat = "paper" if settings.paper_compat else ""
    scores = "standardised" if settings.standardise else ""
    drawn = {"bs": settings.resamples, "seed": settings.seed}
    limits = {"margin": "margin", "keep": "keep", "floor": "people_floor"}
    changed = {
        key: getattr(settings, name)
        for key, name in limits.items()
        if getattr(settings, name) != getattr(AuditSettings, name)
    }
    parts = {
        "metal": __version__,
        "data": data,
        **subject,
        "agg": settings.aggregate,
        "minr": settings.min_raters or "panel",
        "ref": settings.reference.removeprefix("group="),
        "without": without,
        "eps": epsilon,
        "small": small,
        # a verdict has no resamples
        **(drawn if subject.get("stat") != "verdicts" else {}),
        "compat": compat,
        **changed,
        "bad": settings.bad,
        "scores": scores,
    }
    return signature_line(parts)
