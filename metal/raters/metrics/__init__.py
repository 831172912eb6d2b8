"""Automatic metrics: texts in, numbers out. One family a file.

A family's file has `open_metric(asked) -> Metric`. To add a metric, write it there and add its line to METRICS; without
touching METAL, name a function in a file, `path/to/metric.py:function`, or offer an entry point (own.py).
`metal.raters.metrics.conformance` says what is odd about a metric.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module

from metal.errors import DataError, UnknownName, UsageError
from metal.raters.metrics import own
from metal.raters.metrics.contract import Answer, Item, Metric, Scored
from metal.raters.metrics.names import read_name, split_names

__all__ = ["METRICS", "Item", "Metric", "Scored", "find_metric", "known_metrics", "score_all", "scored", "split_names"]


@dataclass(frozen=True)
class Known:
    """A metric that METAL has: its module, what it is, the extra it needs."""

    module: str
    summary: str
    extra: str = ""


METRICS: Mapping[str, Known] = {
    "bleu": Known("surface", "BLEU of a text, 0 to 100 (sacrebleu)"),
    "chrf": Known("surface", "F-score of rows of characters, 0 to 100 (sacrebleu); the safest across scripts"),
    "chrf++": Known("surface", "chrF with rows of words, 0 to 100 (sacrebleu)"),
    "ter": Known("surface", "edits to reach the reference, 0 is best (sacrebleu); slow on texts of 50 words or more"),
    "rouge-1": Known("rouge", "F1 of shared tokens, 0 to 1, every script"),
    "rouge-2": Known("rouge", "F1 of shared pairs of tokens, 0 to 1, every script"),
    "rouge-3": Known("rouge", "F1 of shared threes of tokens, 0 to 1, every script"),
    "rouge-l": Known("rouge", "F1 of the longest common subsequence, 0 to 1, every script"),
    "length-ratio": Known("shape", "characters of the output / of the reference, or to=source"),
    "compression": Known("shape", "tokens of the source / of the output"),
    "novelty": Known("shape", "share of pairs of tokens (n=2) that the source lacks"),
    "copy-rate": Known("shape", "share of the output in spans of 5 tokens or more (span=5) that the source has too"),
    "bertscore": Known("bertscore", "F1 of tokens matched by a model's vectors (model=, layer=)", "neural"),
    "bleurt": Known("bleurt", "BLEURT by a model in Transformers' format (model=)", "neural"),
    "embedding": Known("embedding", "cosine of sentence vectors (model=, to=reference|source)", "neural"),
    "comet": Known("comet", "COMET (model=); needs an environment of its own"),
    "comet-qe": Known("comet", "COMET without references (model=); needs an environment of its own"),
}


def known_metrics() -> dict[str, str]:
    """Every metric's name and summary: METAL's, then those of installed packages.

    Raises UsageError for a name that is taken twice.
    """
    if taken := sorted(set(own.offered()) & set(METRICS)):
        raise UsageError(f"{own.offered()[taken[0]].value} offers a metric {taken[0]!r}, which METAL has; rename it")
    return {name: known.summary for name, known in METRICS.items()} | {
        name: f"from {point.value}" for name, point in own.offered().items()
    }


def find_metric(name: str) -> Metric:
    """The metric of a name: `chrf`, `bleu(tokenize=zh)`, `path/to/metric.py:function`, or a package's.

    Raises UnknownName with near misses; UsageError and MissingExtra where it cannot be used as asked.
    """
    if own.is_file(name):
        return own.metric_from_file(name)
    asked = read_name(name)
    if asked.name.lower() in METRICS:
        asked = replace(asked, name=asked.name.lower())
        metric: Metric = import_module(f"metal.raters.metrics.{METRICS[asked.name].module}").open_metric(asked)
        return metric
    if asked.name in known_metrics():
        if asked.options:
            raise UsageError(f"metric {asked.name} is from {own.offered()[asked.name].value} and has no options")
        return own.metric_offered(asked.name)
    raise UnknownName("metric", asked.name, known_metrics(), "Your own: path/to/metric.py:function")


def score_all(metric: Metric, items: Sequence[Item]) -> list[float | None]:
    """The score of each item, None where there is none; `scored` has the reasons too."""
    return [one.score for one in scored(metric, items)]


def scored(metric: Metric, items: Sequence[Item]) -> list[Scored]:
    """The score of each item or the reason why it has none: no text, nothing to compare with, or the metric's own.

    Empty references do not count. Where the metric is not defined for several references, the best one counts.
    Raises DataError when the metric gives another number of answers than it was asked for.
    """
    asked: list[Item] = []
    counts: list[int] = []  # questions by item
    reasons = [_lacking(metric, item) for item in items]
    for item, reason in zip(items, reasons, strict=True):
        questions = [] if reason else _questions(metric, item)
        asked += questions
        counts.append(len(questions))
    answers = list(metric.score(asked)) if asked else []
    if len(answers) != len(asked):
        raise DataError(f"metric {metric.name}", f"{len(answers)} scores for {len(asked)} texts", "It gives one each")
    results, at = [], 0
    for count, reason in zip(counts, reasons, strict=True):
        results.append(Scored(None, reason) if reason else _best(metric, answers[at : at + count]))
        at += count
    return results


def _lacking(metric: Metric, item: Item) -> str:
    if not item.text.strip():
        return "the output is empty"
    if "references" in metric.needs and not any(map(str.strip, item.references)):
        return "no reference"
    if "source" in metric.needs and not item.source.strip():
        return "the source has no text"
    return ""


def _questions(metric: Metric, item: Item) -> list[Item]:
    references = tuple(reference for reference in item.references if reference.strip())
    if metric.multi_reference or "references" not in metric.needs:
        return [replace(item, references=references)]
    return [replace(item, references=(reference,)) for reference in references]


def _best(metric: Metric, answers: Sequence[Answer]) -> Scored:
    numbers = [float(answer) for answer in answers if not isinstance(answer, str) and math.isfinite(answer)]
    if numbers:
        return Scored(metric.better(numbers))
    return Scored(None, next((answer for answer in answers if isinstance(answer, str) and answer), "no finite number"))
