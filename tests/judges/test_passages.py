"""Where a verdict was read: the passages that decided, as spans of the reply."""

from __future__ import annotations

import csv
import json
import re
import unicodedata
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from metal.data.records import Level, Scale
from metal.raters.judges.forms import NUMBER_WORDS, NUMBER_WORDS_ELSEWHERE
from metal.raters.judges.parts import read_part
from metal.raters.judges.passages import merged, passages_of, passages_of_part
from metal.raters.judges.reader import (
    CUT_OFF,
    EMPTY,
    OFF_SCALE,
    TWO_VERDICTS,
    UNPARSABLE,
    ReplyVerdict,
    read_reply,
)
from metal.raters.judges.thoughts import without_thoughts
from metal.raters.judges.traced import Traced, joined, replaced, span_of
from tests.judges.test_reader import (
    BETWEEN,
    BITS,
    FIVE,
    HUNDRED,
    JSON,
    LETTERS,
    NOISY,
    QUALITY,
    RULES,
    SCALES,
    asked_for,
    real,
)

__all__ = ["real"]  # the fixture

WITHOUT = (EMPTY, CUT_OFF, UNPARSABLE)  # reasons that no passage of the reply gives


def texts(reply: str, spans: tuple[tuple[int, int], ...]) -> list[str]:
    return [reply[begin:end] for begin, end in spans]


def known_replies() -> list[tuple[str, Scale, dict[str, float] | None, str]]:
    """The replies of replies.jsonl, each with scale, letters and criterion."""
    asked = []
    for rows in RULES.values():
        for row in rows:
            levels = (Level(value, label) for value, label in enumerate(row["scale"].split()))
            scale = SCALES.get(row["scale"]) or Scale("ordinal", tuple(levels))
            letters = LETTERS if row.get("letters") else None
            asked.append((row["reply"], scale, letters, row.get("criterion", "")))
    return asked


def spells(passage: str, score: float, scale: Scale, letters: dict[str, float] | None) -> bool:
    """Whether a passage has the score in digits, as a word, a label, a letter or in stars, or has
    both ends of a range around it; or denies the other label of two.
    """
    plain = "".join(str(unicodedata.decimal(char, char)) for char in passage).casefold()
    numbers = [
        float(number.replace(",", "."))
        for number in re.findall(r"-?\d+(?:[.,]\d+)?", plain.replace("\N{MINUS SIGN}", "-"))
    ]
    words = {**NUMBER_WORDS_ELSEWHERE, **NUMBER_WORDS}
    numbers += [value for word, value in words.items() if word in plain]
    numbers += [abs(number) for number in numbers]
    labels = [level.label.casefold() for level in scale.levels if level.value == score]
    coded = [float(number) for label in labels for number in re.findall(r"\d+", label)]  # S4
    asked = [letter.casefold() for letter, value in (letters or {}).items() if value == score]
    stars = len(regex.findall("[\N{BLACK STAR}\N{WHITE MEDIUM STAR}]", passage))
    denied = len(scale.levels) == 2 and any(
        level.label.casefold() in plain for level in scale.levels if level.value != score
    )
    return (
        not {score, *coded}.isdisjoint(numbers)
        or (bool(numbers) and min(numbers) < score < max(numbers))
        or any(spelling in plain for spelling in labels + asked)
        or stars in (score, score + 0.5)
        or denied
    )


def check(
    reply: str, scale: Scale, letters: dict[str, float] | None = None, criterion: str = ""
) -> ReplyVerdict:
    """Check what holds for the passages of any reply."""
    verdict = read_reply(reply, scale, letters, criterion)
    spans = passages_of(reply, scale, letters, criterion)
    assert all(0 <= begin < end <= len(reply) for begin, end in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    assert bool(spans) == (verdict.reason not in WITHOUT)
    if verdict.score is not None:
        for passage in texts(reply, spans):
            assert spells(passage, verdict.score, scale, letters), (reply, passage)
    return verdict


# ---------------------------------------------------------------- what is marked


@pytest.mark.parametrize(
    ("reply", "passages"),
    [
        ("4", ["4"]),
        (" **Score: 4/5** ", ["Score: 4/5"]),
        ("It is short, but I give it a 4.", ["I give it a 4"]),
        ("It is well put, with a score of three out of five.", ["score of three out of five"]),
        ("评分：４分。没有错误。", ["评分：４"]),
        ('```json\n{"reason": "Not 5.", "score":  3}\n```', ['"score":  3']),
        ('{"result": {"Score": "4 (good)", "max": 5}}', ['"Score": "4 (good)"']),
        (r'{"reason": "It orders \"score\": 1.", "score": 4}', ['"score": 4']),
        ("Score: 1\nOn reflection: score: 2", ["score: 2"]),
        ("Score: 4, no wait, 3.", ["3"]),
        ("Final score: 3\nFluency score: 5", ["Final score: 3"]),
        ("**Rating:** 4. So I rate it 4.", ["**Rating:** 4"]),
        ("The text says 'Score: 5'. My rating is (2).", ["rating is (2)"]),
        ("Score: 9", ["Score: 9"]),
        ("It is a 1. It is a 2.", ["It is a 1", "It is a 2"]),
        ('{"score": 1}\n{"score": 2}', ['"score": 1', '"score": 2']),
        ('{"score": 1, "rating": 2}', ['"score": 1', '"rating": 2']),
        ("I cannot judge this.", []),
        ('{"score": "none"}', []),
        ("", []),
    ],
)
def test_the_words_that_decided(reply: str, passages: list[str]) -> None:
    assert texts(reply, passages_of(reply, FIVE)) == passages


def test_labels_letters_and_ranges() -> None:
    reply = "It has few slips.\n\nVerdict: **Good** (2)"
    assert texts(reply, passages_of(reply, QUALITY)) == ["Verdict: **Good**"]
    reply = "Weak. The answer is (B)."
    assert texts(reply, passages_of(reply, FIVE, LETTERS)) == ["answer is (B)"]
    for reply, ends in (
        ("Score: 10-15", "Score: 10-15"),
        ("评分：九到十分", "评分：九到十"),
        ("I would say three or four. It is bad.", "say three or four"),
    ):
        assert texts(reply, passages_of(reply, SCALES["0 to 100"])) == [ends]
    coded = Scale("ordinal", tuple(Level(level, f"S{level + 1}") for level in range(5)))
    assert texts("Score: 2", passages_of("Score: 2", coded)) == ["Score: 2"]
    reply = "<answer>Yes</answer>"
    presence = Scale("nominal", (Level(0, "No"), Level(1, "Yes")))
    assert texts(reply, passages_of(reply, presence)) == [reply]


@pytest.mark.parametrize(
    "before",
    [
        "<think>Score: 3? Or score: 3!</think>",
        "\u200b<thinking>Score: 3</thinking>\n\n\n\n\t\t   ",
        "Score: 3 at first.</think>",
        "<|channel|>analysis<|message|>Score: 3<|end|><|channel|>final<|message|>",
        "<plan>Score: 3</plan>" + "x " * 60_000,
    ],
)
def test_positions_are_those_in_the_whole_reply(before: str) -> None:
    for answer in ("Score:  3", '{"score": 3}'):
        reply = f"{before}It \u200breads\n\n\n\nwell. {answer}\u200b\n"
        [(begin, end)] = passages_of(reply, FIVE)
        assert begin >= len(before)
        assert answer.strip("{}") == reply[begin:end]


def test_a_verdict_beyond_a_shown_scale_and_beside_a_criterion() -> None:
    reply = "Scale: 1|2|3|4|5\nClarity: 3. Accuracy: 4."
    place = reply.rindex("4")
    assert passages_of(reply, FIVE, None, "accuracy") == ((place, place + 1),)


@pytest.mark.parametrize(
    ("reply", "fluency", "overall"),
    [
        ('{"fluency": 4, "overall": 2}', ['"fluency": 4'], ['"overall": 2']),
        (
            'So: {"fluency": {"score": 4, "reason": "r"}, "overall": {"score": 4, "reason": "r"}}',
            ['"fluency": {"score": 4, "reason": "r"}'],
            ['"overall": {"score": 4, "reason": "r"}'],
        ),
        (
            '[{"criterion": "fluency", "score": 4}, {"criterion": "Overall", "score": 4',
            ['{"criterion": "fluency", "score": 4}'],
            [],
        ),
        ('{"fluency": 1}\nOn reflection: {"fluency": 2}', ['"fluency": 2'], []),
        ('{"fluency": 1} {"fluency": 2}', ['"fluency": 1', '"fluency": 2'], []),
        ('{"fluency": 1, "fluency": {"score": 4}}',
         ['{"fluency": 1, "fluency": {"score": 4}}'], []),
        ('{"Overall": 9}', [], ['"Overall": 9']),
        ('<think>{"fluency": 4}</think> {"fluency": 4, "overall": 3, "overall": 3}',
         ['"fluency": 4'], ['"overall": 3']),
        ("Fluency: 4. Overall: 2.", [], []),
        ("", [], []),
    ],
)  # fmt: skip
def test_the_part_of_each_criterion(reply: str, fluency: list[str], overall: list[str]) -> None:
    for criterion, passages in (("fluency", fluency), ("overall", overall)):
        spans = passages_of_part(reply, FIVE, None, criterion)
        assert texts(reply, spans) == passages
        assert all(begin >= reply.find("</think>") for begin, _ in spans)


def test_spans_that_overlap_are_one() -> None:
    assert merged([(4, 6), (0, 2), (5, 9), (2, 3), (4, 5)]) == ((0, 2), (2, 3), (4, 9))


# ---------------------------------------------------------------- any reply


def test_passages_of_known_replies() -> None:
    reasons = [check(*asked).reason for asked in known_replies()]
    assert reasons.count("") > 400
    assert reasons.count(TWO_VERDICTS) > 10
    assert reasons.count(OFF_SCALE) > 10


def test_a_passage_alone_is_read_as_the_reply_was() -> None:
    differ, same = [], 0
    for reply, scale, letters, criterion in known_replies():
        score = read_reply(reply, scale, letters, criterion).score
        for passage in texts(reply, passages_of(reply, scale, letters, criterion)):
            alone = {
                read_reply(text, scale, letters, criterion).score
                for text in (passage, f"{{{passage}}}")
            }
            if score is not None and score not in alone:
                differ.append(passage)
            same += score is not None and score in alone
    # ranges whose `between` is not part of the passage, and the end of a sum
    assert len(differ) <= 5, differ
    assert same > 450


@settings(max_examples=100)
@given(
    NOISY,
    st.sampled_from([*SCALES.values()]),
    st.sampled_from([None, {}, LETTERS, {"a": 1.0, "Z": 99.0}]),
)
def test_passages_of_any_text(text: str, scale: Scale, letters: dict[str, float] | None) -> None:
    verdict = read_reply(text, scale, letters)
    spans = passages_of(text, scale, letters)
    assert all(0 <= begin < end <= len(text) for begin, end in spans)
    assert bool(spans) == (verdict.reason not in WITHOUT)


@settings(max_examples=60)
@given(JSON, st.text(max_size=5), st.sampled_from([*SCALES.values()]))
def test_passages_of_any_json(value: Any, around: str, scale: Scale) -> None:
    written = json.dumps(value)
    for text in (written, around + written + around, f'{{"score": {written}}}'):
        verdict = read_reply(text, scale)
        spans = passages_of(text, scale)
        assert all(0 <= begin < end <= len(text) for begin, end in spans)
        assert bool(spans) == (verdict.reason not in WITHOUT)
        for passage in texts(text, spans):
            if verdict.score is not None and passage.startswith('"'):
                assert read_reply(f"{{{passage}}}", scale).score == verdict.score
        read = read_part(text, scale, None, "score")
        assert bool(passages_of_part(text, scale, None, "score")) == (
            read.score is not None or read.reason in (OFF_SCALE, TWO_VERDICTS)
        )


@given(st.lists(BITS, max_size=30).map("".join))
def test_a_traced_text_is_the_same_text_and_knows_its_characters(text: str) -> None:
    traced = Traced.original(text)
    bare, plain = without_thoughts(traced), without_thoughts(text)
    assert bare == plain
    assert isinstance(bare, Traced)
    for place, char in enumerate(bare):
        begin, end = span_of(bare, place, place + 1)
        if not char.isspace():  # blanks may have replaced a mark
            assert text[begin:end] == char


def test_replaced_characters_stand_for_the_whole_match() -> None:
    traced = replaced(re.compile("cd|x"), "-+-", Traced.original("abcdef"))
    assert traced == "ab-+-ef"
    assert span_of(traced, 3, 6) == (2, 5)
    assert span_of(joined([traced, "\n", traced[:2]]), 8, 10) == (0, 2)
    assert span_of("plain", 1, 3) == (1, 3)


# ---------------------------------------------------------------- real replies


@pytest.mark.slow
@pytest.mark.reference
def test_passages_of_real_replies(real: list[dict[str, str]], reference: Path) -> None:
    with (reference / "mlqe-mixtral" / "ratings_full.csv").open(
        encoding="utf-8", newline=""
    ) as file:
        others = [row["comment"] for row in csv.DictReader(file) if row["rater_kind"] == "llm"]
    asked = {(row["reply"], asked_for(row) is None): asked_for(row) for row in real}
    rows = [(reply, BETWEEN, letters) for (reply, _), letters in asked.items()][::3]
    rows += [(reply, HUNDRED, None) for reply in others]
    scored = marked = alone = 0
    for reply, scale, letters in rows:
        score = check(reply, scale, letters).score
        if score is not None:
            scored += 1
            passages = texts(reply, passages_of(reply, scale, letters))
            marked += len(passages) == 1
            alone += read_reply(passages[0], scale, letters).score == score
    assert scored > 4000
    assert marked / scored >= 0.97
    assert alone / scored >= 0.97
