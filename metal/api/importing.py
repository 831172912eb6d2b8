"""What the reader of a table only guessed, and the options that state it. `metal import --ask` and
the app's import wizard share these steps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from fnmatch import fnmatchcase
from glob import escape
from typing import TYPE_CHECKING, Any

from metal.data.tables.directions import GUESSED, why_direction

if TYPE_CHECKING:
    from metal.data.dataset import Dataset
    from metal.data.formats import Draft
    from metal.data.records import Criterion, Scale


def is_stated(name: str, patterns: Mapping[str, Any]) -> bool:
    """Whether the user stated something about this rater or criterion; * in a pattern means any
    letters.
    """
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def guessed_directions(dataset: Dataset, stated: Mapping[str, Any]) -> list[Criterion]:
    """The criteria for which METAL only guessed which end is better.

    stated: the option `directions`.
    """
    return [
        criterion
        for name, criterion in dataset.criteria.items()
        if has_direction(criterion.scale) and direction_reason(dataset, name, stated) in GUESSED
    ]


def direction_reason(dataset: Dataset, criterion: str, stated: Mapping[str, Any]) -> str:
    """Why METAL takes one end of a scale as the better one. stated: the option `directions`."""
    rows = dataset.ratings["criterion"] == criterion
    return why_direction(
        dataset.criteria[criterion],
        dataset.ratings.loc[rows, "score"].to_numpy(),
        declared=is_stated(criterion, stated),
    )


def has_direction(scale: Scale) -> bool:
    """Whether one end of a scale can be the better one."""
    return scale.measure != "nominal" or len(scale.levels) == 2


def doubtful_scores(
    dataset: Dataset, scales: Mapping[str, Any]
) -> dict[str, tuple[str, frozenset[str]]]:
    """Scores that may mean no answer, by criterion: a line about them, and their values as texts.

    They are scores far from the others, and 0 if most scales begin with 1. scales: the options
    `levels` and `ranges` together.
    """
    from metal.auditing.check import far_scores, score_counts
    from metal.data.tables.answers import zero_may_be_no_answer

    doubts = {
        far.criterion: (far.line, frozenset(f"{value:.15g}" for value in far.counts))
        for far in far_scores(score_counts(dataset))
    }
    for name, criterion in dataset.criteria.items():
        if zero_may_be_no_answer(criterion.scale) and not is_stated(name, scales):
            line = f"{name}: 0 occurs among scores up to {criterion.scale.values[-1]:g}"
            doubts.setdefault(name, (line, frozenset({"0"})))
    return doubts


def explicit_options(draft: Draft, dataset: Dataset, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with everything that the reader recognized, except the scales of METAL's
    criteria.
    """
    if draft.columns is None:
        return dict(options)
    roles = draft.columns.roles
    named = {role: name for role, name in roles.items() if role not in draft.columns.of_format}
    explicit = {**options, "columns": named, "wide": draft.columns.wide}
    for role, values in (("language", dataset.languages), ("criterion", dataset.criteria)):
        if role not in roles and len(values) == 1:
            explicit[role] = next(iter(values))
    if "kind" not in roles and "only" not in options:
        raters = dataset.raters.values()
        usual = Counter(rater.kind for rater in raters).most_common(1)[0][0]
        explicit["kinds"] = {escape(r.rater): r.kind for r in raters if r.kind != usual} | {
            "*": usual
        }
    criteria = {escape(name): criterion for name, criterion in dataset.criteria.items()}
    explicit["directions"] = {name: criterion.direction for name, criterion in criteria.items()}
    return explicit | _options_of_scales(criteria)


def _options_of_scales(criteria: Mapping[str, Criterion]) -> dict[str, Any]:
    """The options that state each scale, except those of METAL's criteria.

    criteria: the criteria by name, as typed.
    """
    from metal.data.metal_criteria import METAL_CRITERIA, metal_criterion
    from metal.data.tables.levels import metal_name

    ours = {name: metal_criterion(name).scale for name in METAL_CRITERIA}
    scales = {
        name: c.scale for name, c in criteria.items() if c.scale != ours.get(metal_name(c.name))
    }
    ends = {name: (scale.low, scale.high) for name, scale in scales.items()}
    return {
        "measures": {name: scale.measure for name, scale in scales.items()},
        "levels": {name: typed_levels(scale) for name, scale in scales.items() if scale.levels},
        "ranges": {
            name: f"{low:.15g}..{high:.15g}"
            for name, (low, high) in ends.items()
            if low is not None
        },
    }


def typed_levels(scale: Scale) -> str:
    """The levels as typed: `Bad<Good` if values count from 0, `1,2` if levels are only numbers,
    else `1=Bad,2=Good`.
    """
    labels = [level.label for level in scale.levels]
    numbers = [f"{value:.15g}" for value in scale.values]
    if labels == numbers:
        return ",".join(numbers)
    if scale.values == tuple(range(len(labels))):
        return "<".join(labels)
    return ",".join(f"{number}={label}" for number, label in zip(numbers, labels, strict=True))
