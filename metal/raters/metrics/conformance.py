"""Is a metric what it says it is? Tried on sentences in 45 languages; each trial ends in one sentence.

A finding that does not hold is no proof of a bad metric: learned metrics rarely give identical texts the very same
score in every language. It says what a reader of its scores should know.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from metal.errors import UsageError
from metal.raters.metrics import score_all, scored
from metal.raters.metrics.contract import Item, Metric
from metal.raters.metrics.own import RAISED
from metal.raters.metrics.samples import SAMPLES

ODD_TEXTS = ("…", "?!", "a", "7", "🙂", "\u200f", "<b>&amp;</b>", "=1+1", "word " * 2000)
NEAR = 1e-5  # scores of models differ a little with what else is in a batch

Scores = Sequence[float | None]


@dataclass(frozen=True)
class Trial:
    """What one trial showed. holds: whether it is as it should be; None where there is nothing to hold to."""

    trial: str
    holds: bool | None
    words: str


def conformance(metric: Metric, *, clock: Callable[[], float], samples: Mapping[str, str] = SAMPLES) -> list[Trial]:
    """The findings about a metric, one a trial.

    clock: gives seconds, such as time.perf_counter. samples: a sentence a language; UsageError for fewer than two.
    """
    if len(samples) < 2:
        raise UsageError("trying a metric takes sentences in two languages or more")
    same = [Item(text, (text,), text, language) for language, text in samples.items()]
    started = clock()
    scores = score_all(metric, same)
    seconds = clock() - started
    unrelated = score_all(metric, [replace(item, text=other.text) for item, other in _pairs(same)])
    return [
        _identity(metric, same, scores),
        _second_reference(metric, same, scores),
        _direction(metric, same, scores, unrelated),
        _range(metric, [*scores, *unrelated]),
        _empty(metric, same[0]),
        _odd_texts(metric, same[0]),
        _determinism(metric, same, scores),
        _unicode(metric, same),
        Trial("speed", None, f"{1000 * seconds / len(same):.3g} ms a sentence, loading included"),
    ]


def _identity(metric: Metric, same: Sequence[Item], scores: Scores) -> Trial:
    best = metric.best
    if "references" not in metric.needs or best is None:
        return Trial("identity", None, f"identical texts have no best score to reach: {_why_no_best(metric)}")
    short = [at for at, score in enumerate(scores) if score is None or abs(score - best) > NEAR]
    if not short:
        return Trial("identity", True, f"identical texts reach {best:g} in all {len(same)} languages")
    first = scores[short[0]]
    shown = "missing" if first is None else f"{first:.6g}"
    where = _listed(same, short)
    return Trial("identity", False, f"identical texts do not reach {best:g} in {where}; in the first it is {shown}")


def _second_reference(metric: Metric, same: Sequence[Item], scores: Scores) -> Trial:
    if "references" not in metric.needs or metric.descriptive:
        return Trial("second reference", None, "references do not say how good a text is here")
    two_references = [replace(item, references=(other.text, item.text)) for item, other in _pairs(same)]
    worse = [
        at
        for at, (alone, both) in enumerate(zip(scores, score_all(metric, two_references), strict=True))
        if alone is not None and (both is None or _worse(metric, both, alone))
    ]
    if worse:
        where = _listed(same, worse)
        return Trial("second reference", False, f"another reference makes an identical text worse in {where}")
    return Trial("second reference", True, "another reference takes nothing from an identical text")


def _direction(metric: Metric, same: Sequence[Item], scores: Scores, unrelated: Scores) -> Trial:
    if "references" not in metric.needs or metric.descriptive:
        return Trial("direction", None, "without references there is no text that is surely better")
    not_worse = [
        at
        for at, (own, other) in enumerate(zip(scores, unrelated, strict=True))
        if own is not None and other is not None and not _worse(metric, other, own)
    ]
    if not_worse:
        where = _listed(same, not_worse)
        return Trial("direction", False, f"a sentence in another language is no worse than an identical one in {where}")
    return Trial("direction", True, f"{metric.direction} is better: identical beats unrelated in every language")


def _range(metric: Metric, scores: Scores) -> Trial:
    numbers = [score for score in scores if score is not None]
    if not numbers:
        return Trial("range", False, "no sentence has a score")
    seen = f"scores from {min(numbers):.4g} to {max(numbers):.4g}"
    low = -float("inf") if metric.low is None else metric.low
    high = float("inf") if metric.high is None else metric.high
    if min(numbers) < low - NEAR or max(numbers) > high + NEAR:
        return Trial("range", False, f"{seen}, outside {low:g} to {high:g}")
    return Trial("range", True, f"{seen}, within {low:g} to {high:g}")


def _empty(metric: Metric, item: Item) -> Trial:
    """Without output, references and source in turn: no score where the metric needs it, no fault where it does not."""
    lacking = [replace(item, text=" \n"), replace(item, references=()), replace(item, source="")]
    try:
        answers = scored(metric, lacking)
    except Exception as error:  # a metric can raise anything
        return Trial("empty texts", False, f"stops where a text it says it does not need is missing: {_shown(error)}")
    reasons = [answer.reason for answer in answers if answer.score is None]
    undeclared = [reason for reason in reasons if reason.startswith(RAISED)]
    if undeclared:
        return Trial("empty texts", False, f"fails where a text it says it does not need is missing: {undeclared[0]}")
    return Trial("empty texts", True, "no score, because " + ", ".join(reasons))


def _odd_texts(metric: Metric, item: Item) -> Trial:
    try:
        answers = scored(metric, [replace(item, text=text) for text in ODD_TEXTS])
    except Exception as error:  # a metric can raise anything
        return Trial("odd texts", False, f"stops at one of them: {_shown(error)}")
    without = [answer.reason for answer in answers if answer.score is None]
    raised = [reason for reason in without if reason.startswith(RAISED)]
    if raised:
        return Trial("odd texts", False, f"{len(raised)} of {len(ODD_TEXTS)} have no score: {raised[0]}")
    words = f"punctuation, a letter, an emoji, {len(ODD_TEXTS[-1])} characters: no fault"
    return Trial("odd texts", True, words + (f"; {len(without)} have no score: {without[0]}" if without else ""))


def _determinism(metric: Metric, same: Sequence[Item], scores: Scores) -> Trial:
    if list(scores) != score_all(metric, same):
        return Trial("determinism", False, "the same texts get other scores a second time")
    backwards = score_all(metric, same[::-1])[::-1]
    if any(map(_apart, scores, backwards)):
        return Trial("determinism", False, "a score depends on which texts are scored before or beside it")
    return Trial("determinism", True, "the same texts get the same scores, in any order")


def _unicode(metric: Metric, same: Sequence[Item]) -> Trial:
    composed, decomposed = (
        score_all(metric, [replace(item, text=unicodedata.normalize(form, item.text)) for item in same])
        for form in ("NFC", "NFD")
    )
    differing = [at for at, apart in enumerate(map(_apart, composed, decomposed)) if apart]
    if differing:
        where = _listed(same, differing)
        return Trial("Unicode forms", False, f"composed and decomposed texts (NFC, NFD) differ in {where}")
    return Trial("Unicode forms", True, "composed and decomposed texts (NFC, NFD) score the same")


def _pairs(same: Sequence[Item]) -> list[tuple[Item, Item]]:
    """Each item with a sentence in another language."""
    half = len(same) // 2
    return [(item, same[(index + half) % len(same)]) for index, item in enumerate(same)]


def _worse(metric: Metric, score: float, than: float) -> bool:
    return than - score > NEAR if metric.direction == "higher" else score - than > NEAR


def _apart(score: float | None, other: float | None) -> bool:
    return score != other if score is None or other is None else abs(score - other) > NEAR


def _why_no_best(metric: Metric) -> str:
    if metric.descriptive:
        return "it says what a text is like, not how good it is"
    return "its range has no better end" if "references" in metric.needs else "it uses no reference"


def _listed(same: Sequence[Item], indices: Sequence[int]) -> str:
    first = ", ".join(same[index].language for index in indices[:8])
    return first + (f" and {len(indices) - 8} more" if len(indices) > 8 else "")


def _shown(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:200]
