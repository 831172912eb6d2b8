"""Automatic metrics, which turn texts into numbers. Each family of metrics has a file.

A metric is found by name: an entry point of the group `metal.metrics`. METAL declares its own
metrics in pyproject.toml, each as a `MetricFactory`; other packages add metrics in the same way
(own.py says what an entry point may name). `path/to/metric.py:function` is a metric too and needs
no package. `metal.raters.metrics.conformance` finds odd behaviour of a metric.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from metal.data.plugins import load_plugin, plugins
from metal.errors import DataError, UnknownName
from metal.raters.metrics import own
from metal.raters.metrics.contract import (
    NO_REFERENCE,
    Answer,
    Item,
    Metric,
    MetricFactory,
    Scored,
    read_name,
    split_names,
)

__all__ = [
    "Item",
    "Metric",
    "MetricFactory",
    "Scored",
    "extra_of",
    "find_metric",
    "is_built_in",
    "known_metrics",
    "score_all",
    "scored",
    "split_names",
]


def known_metrics() -> dict[str, str]:
    """The name and summary of every metric: first METAL's, then metrics of other packages, which
    are not imported.

    Raises UsageError if two packages offer the same name.
    """
    return {
        name: _built_in(name).summary if is_built_in(name) else f"from {point.value}"
        for name, point in plugins(own.GROUP).items()
    }


def is_built_in(name: str) -> bool:
    """Whether a metric, named without options, is one of METAL's own."""
    point = plugins(own.GROUP).get(name.lower())
    return point is not None and point.value.startswith("metal.")


def extra_of(name: str) -> str:
    """The extra of metal-eval that one of METAL's own metrics needs; empty if it needs none."""
    return _built_in(name).extra


def _built_in(name: str) -> MetricFactory:
    factory: MetricFactory = load_plugin(own.GROUP, "metric", name)
    return factory


def find_metric(name: str) -> Metric:
    """Find a metric by name: `chrf`, `bleu(tokenize=zh)`, `path/to/metric.py:function`, or a metric
    of another package.

    Raises UnknownName with similar names, and UsageError or MissingExtra if the metric cannot be
    used as asked.
    """
    if own.is_file(name):
        return own.metric_from_file(name)
    asked = read_name(name)
    if is_built_in(asked.name):
        asked = replace(asked, name=asked.name.lower())
    if asked.name not in plugins(own.GROUP):
        raise UnknownName(
            "metric", asked.name, known_metrics(), "Your own: path/to/metric.py:function"
        )
    return own.metric_offered(asked)


def score_all(metric: Metric, items: Sequence[Item]) -> list[float | None]:
    """The score of each item, None if there is none; `scored` gives the reasons too."""
    return [answer.score for answer in scored(metric, items)]


def scored(metric: Metric, items: Sequence[Item]) -> list[Scored]:
    """The score of each item, or the reason why it has none: no text, nothing to compare with, or a
    reason from the metric.

    Empty references do not count. If the metric is not defined for several references, the best of
    the scores counts. Raises DataError if the number of answers differs from the number of
    questions.
    """
    reasons = [_lacking(metric, item) for item in items]
    questions = [
        [] if reason else _questions(metric, item)
        for item, reason in zip(items, reasons, strict=True)
    ]
    asked = [question for of_item in questions for question in of_item]
    answers = list(metric.score(asked)) if asked else []
    if len(answers) != len(asked):
        raise DataError(
            f"metric {metric.name}",
            f"{len(answers)} scores for {len(asked)} texts",
            "It should give one for each text",
        )
    remaining = iter(answers)
    return [
        Scored(None, reason) if reason else _best(metric, [next(remaining) for _ in of_item])
        for reason, of_item in zip(reasons, questions, strict=True)
    ]


def _lacking(metric: Metric, item: Item) -> str:
    """Says which text the metric needs and the item lacks; empty if the item has all texts."""
    if not item.text.strip():
        return "the output is empty"
    if "references" in metric.needs and not any(map(str.strip, item.references)):
        return NO_REFERENCE
    if "source" in metric.needs and not item.source.strip():
        return "the source has no text"
    return ""


def _questions(metric: Metric, item: Item) -> list[Item]:
    """The item in the form in which the metric gets it: once, or once for each reference."""
    references = tuple(reference for reference in item.references if reference.strip())
    if metric.multi_reference or "references" not in metric.needs:
        return [replace(item, references=references)]
    return [replace(item, references=(reference,)) for reference in references]


def _best(metric: Metric, answers: Sequence[Answer]) -> Scored:
    numbers = [
        float(answer) for answer in answers if not isinstance(answer, str) and math.isfinite(answer)
    ]
    if numbers:
        return Scored(metric.better(numbers))
    return Scored(
        None,
        next(
            (answer for answer in answers if isinstance(answer, str) and answer), "no finite number"
        ),
    )
