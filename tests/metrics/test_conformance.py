"""The trials find what is wrong: each with a metric that has just that fault."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import pytest

from metal.errors import UsageError
from metal.raters.metrics import Item, Metric, find_metric
from metal.raters.metrics.conformance import SAMPLES, Trial, conformance
from metal.raters.metrics.contract import Answer
from tests.metrics.test_metrics import CORE
from tests.saying import tells


def clock() -> Callable[[], float]:
    ticks = count(step=9)
    return lambda: next(ticks) / 2  # 4.5 s between two looks at it


def findings(metric: Metric) -> dict[str, Trial]:
    return {finding.trial: finding for finding in conformance(metric, clock=clock())}


def metric(score: Callable[[Item], Answer], **identity: Any) -> Metric:
    return Metric(
        "tried",
        "",
        lambda items: [score(item) for item in items],
        "1",
        **({"low": 0.0, "high": 1.0} | identity),
    )


def equal(item: Item) -> float:
    return float(unicodedata.normalize("NFC", item.text) in item.references)


@pytest.mark.parametrize("name", CORE)
def test_metals_own_metrics_are_as_they_say(name: str) -> None:
    result = findings(find_metric(name))
    assert [finding for finding in result.values() if finding.holds is False] == []
    judging = not find_metric(name).descriptive
    assert [result[trial].holds for trial in ("identity", "second reference", "direction")] == [
        judging or None
    ] * 3


def test_a_metric_without_fault() -> None:
    result = findings(metric(equal))
    assert [finding.holds for finding in result.values()] == [True] * 8 + [None]
    assert result["identity"].words == "identical texts reach 1 in all 45 languages"
    assert result["empty texts"].words == "no score, because the output is empty, no reference"
    # 4.5 s over 45 sentences
    assert tells(result["speed"].words, "100 ms per sentence")


def test_identity_missed_in_scripts_that_a_tokenizer_does_not_know() -> None:
    from rouge_score import rouge_scorer

    theirs = rouge_scorer.RougeScorer(["rouge1"])
    result = findings(
        metric(lambda item: theirs.score(item.references[0], item.text)["rouge1"].fmeasure)
    )
    assert result["identity"].holds is False
    assert tells(
        result["identity"].words,
        "in am, ar, bn, my, zh, zh-Hant, gu, hi and 17 more;",
        "score is 0",
    )
    assert result["direction"].holds is False


def test_a_direction_the_wrong_way_round() -> None:
    result = findings(metric(equal, direction="lower"))
    assert (result["identity"].holds, result["direction"].holds) == (False, False)


def ranks(items: Sequence[Item]) -> list[Answer]:
    return [at / len(items) for at in range(len(items))]


def mean(item: Item) -> float:
    return sum(item.text == reference for reference in item.references) / len(item.references)


NUMBERS = count()
FAULTY = {
    "no score in one language": (
        metric(lambda item: "too foreign" if item.language == "yo" else equal(item)),
        ("identity", ".*not reach 1 in yo;.* is missing"),
    ),
    "a mean over references": (
        metric(mean, multi_reference=True),
        ("second reference", ".* worse in am, ar,.*"),
    ),
    "out of range": (
        metric(lambda item: 100 * equal(item)),
        ("range", "scores from 0 to 100, outside 0 to 1"),
    ),
    "never a score": (metric(lambda item: "never"), ("range", "no sentence has a score")),
    "a need not declared": (
        metric(lambda item: float(item.text == item.references[0]), needs=()),
        ("empty texts", "raises an error if a text is missing .* not to need: IndexError.*"),
    ),
    "no letters": (
        metric(lambda item: len(item.references) / sum(letter.isalpha() for letter in item.text)),
        ("odd texts", "raises an error .*: ZeroDivisionError: .*"),
    ),
    "another score each time": (
        metric(lambda item: float(next(NUMBERS)), high=None),
        ("determinism", ".*other scores the second time"),
    ),
    "texts before count": (
        Metric("ranks", "", ranks, "1", low=0.0, high=1.0),
        ("determinism", ".*before or together with it"),
    ),
}


@pytest.mark.parametrize("fault", FAULTY)
def test_each_fault_is_told(fault: str) -> None:
    faulty, (trial, words) = FAULTY[fault]
    result = findings(faulty)[trial]
    assert result.holds is False
    assert re.fullmatch(words, result.words)


def test_odd_texts_without_a_score_are_no_fault() -> None:
    message = findings(metric(lambda item: "too long" if len(item.text) > 1000 else equal(item)))[
        "odd texts"
    ]
    assert message.holds
    assert message.words.endswith("10000 characters: no fault; 1 have no score: too long")


def test_forms_of_unicode() -> None:
    result = findings(metric(lambda item: float(item.text in item.references)))["Unicode forms"]
    assert result.holds is False
    assert "differ in ar, az, " in result.words
    assert "en" not in result.words.partition("differ in ")[2].split(", ")


def test_two_languages_at_least() -> None:
    with pytest.raises(UsageError, match="two or more languages"):
        conformance(metric(equal), clock=clock(), samples={"en": SAMPLES["en"]})
