"""Names that print and read back, the registry, scores that do not exist, and scores as Billboard
released them.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metal.data.formats.passages import xlsum_names
from metal.data.records import Direction, Output, Source
from metal.errors import DataError, UnknownName, UsageError
from metal.raters.metrics import (
    Item,
    Metric,
    Scored,
    extra_of,
    find_metric,
    is_built_in,
    known_metrics,
    score_all,
    scored,
    split_names,
)
from metal.raters.metrics.conformance import SAMPLES
from metal.raters.metrics.contract import Answer, Asked, Need, read_name
from tests.genie.people import lines

CORE = [
    name
    for name in known_metrics()
    if is_built_in(name) and not extra_of(name) and not name.startswith("comet")
]


def fixed(
    answers: Sequence[Answer],
    needs: tuple[Need, ...] = ("references",),
    direction: Direction = "higher",
    multi_reference: bool = False,
) -> Metric:
    """A metric that gives these answers one after the other, and says what it was asked in
    `asked`.
    """
    return Metric(
        "fixed",
        "",
        lambda items: answers[: len(items)],
        "1",
        needs,
        direction,
        multi_reference=multi_reference,
    )


# ---------------------------------------------------------------- names


@pytest.mark.parametrize("name", CORE)
def test_every_name_prints_and_is_found_again(name: str) -> None:
    metric = find_metric(name)
    assert metric.name == name
    assert metric.signature
    assert find_metric(metric.name) == metric
    assert find_metric(name.upper()).name == name


@pytest.mark.parametrize(
    ("asked", "printed"),
    [
        ("bleu(tokenize=zh)", "bleu(tokenize=zh)"),
        (" bleu( smooth=none,tokenize = zh ) ", "bleu(tokenize=zh, smooth=none)"),
        ("bleu(tokenize=auto)", "bleu"),
        ("chrf(beta=3, lowercase=yes)", "chrf(beta=3, lowercase=yes)"),
        ("novelty(n=2)", "novelty"),
        ("chrF++", "chrf++"),
    ],
)
def test_options_print_in_one_order_and_only_where_unusual(asked: str, printed: str) -> None:
    assert find_metric(asked).name == printed
    assert find_metric(printed) == find_metric(asked)


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters='"'), min_size=1))
def test_any_value_without_quotes_reads_back(value: str) -> None:
    printed, values = Asked("x", {"model": value}).fill(model="", layer=0)
    assert values == {"model": value, "layer": 0}
    assert dict(read_name(printed).options) == {"model": value}


def test_names_between_commas() -> None:
    assert split_names("chrf, bleu(tokenize=zh, smooth=none),rouge-l,") == [
        "chrf",
        "bleu(tokenize=zh, smooth=none)",
        "rouge-l",
    ]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("rougeL", "did you mean 'rouge-l'"),
        ("meteor", "Your own: path/to/metric.py:function"),
        ("bleu(tokenise=zh)", "option 'tokenise' is not known; did you mean 'tokenize'"),
        ("bleu(tokenize=jp)", "tokenize 'jp' is not known; known: auto, 13a"),
        # would download its model
        ("bleu(tokenize=flores200)", "tokenize 'flores200' is not known"),
        ("bleu(zh)", "KEY=VALUE"),
        ("bleu(tokenize=zh, tokenize=13a)", "each once"),
        ("bleu(", "a name with options"),
        ("", "write a name"),
        ("chrf(beta=0)", "chrf: beta=0: write 1 or more"),
        ("novelty(n=0)", "novelty: n=0: write"),
        ("copy-rate(span=five)", "span='five': write a whole number"),
        ("chrf(lowercase=1)", "lowercase='1': write yes or no"),
        ("rouge-l(stem=yes)", "option 'stem' is not known; there are none"),
    ],
)
def test_what_is_wrong_with_a_name(name: str, message: str) -> None:
    with pytest.raises((UnknownName, UsageError)) as error:
        find_metric(name)
    assert message in str(error.value)


# ---------------------------------------------------------------- scores


def test_an_item_of_a_dataset() -> None:
    output = Output("o1", "s1", "model", "zh-en", "Hello")
    source = Source("s1", "zh", "你好", references=("Hi", " Hello\n", "hello"))
    # itself is no reference
    assert Item.of(output, source) == Item("Hello", ("Hi", "hello"), "你好", "zh-en")


@pytest.mark.parametrize("name", CORE)
def test_missing_is_never_zero(name: str) -> None:
    metric = find_metric(name)
    items = [
        Item("", ("a",), "b"),
        Item(" \n", ("a",), "b"),
        Item("text"),
        Item("text", (" ",), ""),
    ]
    result = scored(metric, items)
    lacking = "no reference" if "references" in metric.needs else "the source has no text"
    assert [entry.reason for entry in result] == ["the output is empty"] * 2 + [lacking] * 2
    assert score_all(metric, items) == [None] * 4


def test_the_best_over_references_is_the_lowest_where_lower_is_better() -> None:
    items = [Item("a", ("x", "y")), Item("b", ()), Item("c", ("z",))]
    assert score_all(fixed([3.0, 1.0, 2.0]), items) == [3.0, None, 2.0]
    assert score_all(fixed([3.0, 1.0, 2.0], direction="lower"), items) == [1.0, None, 2.0]


def test_several_references_in_one_question_where_the_metric_takes_them() -> None:
    asked: list[Item] = []

    def score(items: Sequence[Item]) -> list[Answer]:
        asked.extend(items)
        return [1.0] * len(items)

    items = [Item("a", ("x", " ", "y"))]
    score_all(Metric("m", "", score, "1", multi_reference=True), items)
    score_all(Metric("m", "", score, "1"), items)
    assert [item.references for item in asked] == [("x", "y"), ("x",), ("y",)]


def test_an_answer_that_is_no_number_has_its_reason() -> None:
    items = [Item("a", ("x", "y")), Item("b", ("x",)), Item("c", ("x",))]
    result = scored(fixed(["too short", 0.5, math.nan, "too long"]), items)
    assert result == [Scored(0.5), Scored(None, "no finite number"), Scored(None, "too long")]


def test_a_metric_that_needs_nothing() -> None:
    assert score_all(fixed([1.0, 2.0], needs=()), [Item("a"), Item(""), Item("b")]) == [
        1.0,
        None,
        2.0,
    ]


def test_a_metric_is_not_asked_about_nothing() -> None:
    def never(items: Sequence[Item]) -> list[Answer]:
        raise AssertionError

    assert score_all(Metric("m", "", never, "1"), [Item("")]) == [None]


def test_as_many_answers_as_questions() -> None:
    with pytest.raises(DataError, match="metric fixed: 1 scores for 2 texts"):
        score_all(fixed([1.0]), [Item("a", ("x", "y"))])


@pytest.mark.parametrize(
    "wrong",
    [{"name": " x"}, {"direction": "up"}, {"needs": ("gold",)}, {"low": 1.0, "high": 0.0}],
    ids=lambda wrong: next(iter(wrong)),
)
def test_a_metric_checks_itself(wrong: dict[str, object]) -> None:
    entire: dict[str, object] = {
        "name": "m",
        "summary": "",
        "score": lambda items: [],
        "signature": "1",
    }
    with pytest.raises(DataError):
        Metric(**(entire | wrong))  # type: ignore[arg-type]


@pytest.mark.parametrize(("score", "reason"), [(None, ""), (1.0, "because"), (math.nan, "")])
def test_a_score_or_a_reason(score: float | None, reason: str) -> None:
    with pytest.raises(DataError):
        Scored(score, reason)


def test_samples_are_of_the_languages_of_xlsum() -> None:
    assert set(SAMPLES) == set(xlsum_names())
    assert len(set(SAMPLES.values())) == len(SAMPLES) == 45


GENERATOR, TEXTS = "BART", 25


@pytest.mark.reference
@pytest.mark.parametrize(
    ("name", "released"),
    [
        ("bleu", "SentBLEU"),
        ("chrf", "chrF"),
        ("chrf++", "chrFpp"),
        ("rouge-3", "ROUGE-3"),
        ("rouge-l", "ROUGE-L"),
    ],
)
def test_as_released(name: str, released: str, reference: Path) -> None:
    references = {
        line["set_id"]: tuple(line["refs"])
        for line in lines(reference / "thumb/cnndm_references.jsonl")
    }
    outputs = {
        line["set_id"]: line["hyp"]
        for line in lines(reference / "thumb/cnndm_THumB-1.0.jsonl")
        if line["SYS"] == GENERATOR
    }
    with (reference / f"billboard/results/cnndm/{GENERATOR}||{released}.csv").open(
        encoding="utf-8", newline=""
    ) as file:
        theirs = {int(row["set_id"]): float(row["score"]) for row in csv.DictReader(file)}
    # Their ROUGE drops letters with accents; ours keeps them.
    plain = [item for item in outputs if "".join((outputs[item], *references[item])).isascii()][
        :TEXTS
    ]
    assert len(plain) == TEXTS
    items = [Item(outputs[item], references[item], "", "en") for item in plain]
    assert score_all(find_metric(name), items) == pytest.approx([theirs[item] for item in plain])
