"""The reply reader: forms it must know, traps it must not fall into, and real replies checked by
hand.
"""

from __future__ import annotations

import csv
import json
import math
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metal.data.records import Level, Scale
from metal.raters.judges import forms
from metal.raters.judges.call import answer_schema
from metal.raters.judges.reader import (
    CUT_OFF,
    EMPTY,
    OFF_SCALE,
    TWO_VERDICTS,
    UNPARSABLE,
    ReplyVerdict,
    read_reply,
)
from metal.raters.judges.reply_words import Deferred
from tests.conftest import HALLUCINATIONS, TASK_QUALITY

SCALES = {
    "quality": TASK_QUALITY.scale,
    "presence": HALLUCINATIONS.scale,
    "1-5": Scale("ordinal", tuple(Level(value, str(value)) for value in range(1, 6))),
    "0-10": Scale("ordinal", tuple(Level(value, str(value)) for value in range(11))),
    "1 to 5": Scale("interval", (), 1, 5),
    "0 to 1": Scale("interval", (), 0, 1),
    "0 to 100": Scale("interval", (), 0, 100),
    "free": Scale("interval"),
    "-1 to 1": Scale("ordinal", (Level(-1, "Worse"), Level(0, "Same"), Level(1, "Better"))),
    "nested": Scale(
        "nominal", (Level(0, "Bad"), Level(1, "Not bad"), Level(2, "Very good"), Level(3, "Good"))
    ),
}
QUALITY, FIVE, BETWEEN, HUNDRED = (
    SCALES[name] for name in ("quality", "1-5", "1 to 5", "0 to 100")
)
LETTERS = {letter: float(place) for place, letter in enumerate("ABCDE", 1)}
REPLIES, HAND_CHECKED = (
    Path(__file__).with_name(name) for name in ("replies.jsonl", "hand_checked_replies.csv")
)


def rules() -> dict[str, list[dict[str, Any]]]:
    """Rule -> replies that keep it, each with what is to be read; a rule's own line says what they
    have in common.
    """
    replies: dict[str, list[dict[str, Any]]] = {}
    shared: dict[str, Any] = {}
    for line in REPLIES.read_text(encoding="utf-8").split("\n")[:-1]:
        if "rule" in (row := json.loads(line)):
            shared = row
            replies[row["rule"]] = []
        else:
            replies[shared["rule"]].append(shared | row)
    return replies


RULES = rules()


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_replies_are_read_by_this_rule(rule: str) -> None:
    wrong = []
    for row in RULES[rule]:
        levels = (Level(value, label) for value, label in enumerate(row["scale"].split()))
        scale = SCALES.get(row["scale"]) or Scale("ordinal", tuple(levels))
        letters = LETTERS if row.get("letters") else None
        verdict = read_reply(row["reply"], scale, letters, criterion=row.get("criterion", ""))
        read = {
            key: getattr(verdict, key)
            for key in ("score", "reason", "justification", "wavering")
            if key in row
        }
        if read.items() - row.items():
            wrong.append((row["reply"], read))
    assert RULES[rule]
    assert not wrong


def test_a_number_of_thousands_of_digits_is_no_verdict() -> None:
    for reply in (
        '{"score": ' + "9" * 5000 + "}",
        "Score: " + "9" * 5000,
        "9" * 5000,
        "-" * 5000,
        "1e" + "9" * 50,
    ):
        assert read_reply(reply, FIVE).score is None


def test_minus_zero_is_zero() -> None:
    for reply in ("-0", '{"score": -0.0}', "Score: -0"):
        score = read_reply(reply, QUALITY).score
        assert score == 0
        assert score is not None
        assert math.copysign(1, score) == 1


def test_letters_that_only_look_alike_do_not_raise() -> None:
    for reply in (
        "Score: Medıum",
        "Score: Medİum",
        "Verdict: ABSENT",
        "Score: Abſent",
        "Score: sıx",
        "**Preſent**",
    ):
        for scale in SCALES.values():
            read_reply(reply, scale)


def test_letters_count_only_where_asked_for_in_any_case_and_on_the_scale() -> None:
    assert read_reply("B", FIVE).score is None
    assert read_reply("Answer: B", FIVE, {}).score is None
    assert read_reply("Answer: a", FIVE, {"a": 1.0}).score == 1
    for reply in ("A", "Answer: A", '{"score": "A"}'):
        assert read_reply(reply, FIVE, {"A": 9.0}).score is None


CODED = Scale("ordinal", tuple(Level(place, f"S{place + 1}") for place in range(5)))


def test_a_number_is_that_of_the_label_unless_the_judge_was_shown_the_numbers_of_levels() -> None:
    for reply in ("1", "Score: 1", '{"score": 1}', "S1", "1 out of 5"):
        assert read_reply(reply, CODED).score == 0
    assert read_reply("0", CODED).reason == OFF_SCALE
    assert read_reply('{"score": 1}', CODED, numbered=True).score == 1
    assert read_reply('{"score": "S1"}', CODED, numbered=True).score == 0
    assert read_reply("Answer: B", CODED, {"A": 0.0, "B": 1.0}).score == 1


def test_a_range_on_levels_names_several_and_is_no_score() -> None:
    for reply in ("Score: 3-5", '{"score": "2-4"}', "a score of 2 to 4 out of 5"):
        assert read_reply(reply, FIVE).score is None


# ---------------------------------------------------------------- any text at all

WORDS = """
score Score: rate / 5 4 - 3.5 % { } [ ] " ' : , ** good Bad Absent not ★ \ufe0f stars one five answer A B) ( ) </think>
<think> ``` json null NaN 1e999 scale from to ı ½ ٤ \0 \ud800 maximum confidence
"""  # noqa: E501
BITS = st.sampled_from([*WORDS.split(), "not a", "out of", " ", "\n"])
NOISY = st.one_of(st.text(), st.lists(BITS).map("".join), st.lists(BITS).map(" ".join))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | BITS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["score", "Score", "answer", "justification", "x"]), inner, max_size=3
        )
    ),
)


def check(text: str, scale: Scale, letters: dict[str, float] | None) -> None:
    result = read_reply(text, scale, letters)
    if result.score is None:
        assert result.reason in (EMPTY, CUT_OFF, UNPARSABLE, OFF_SCALE, TWO_VERDICTS)
        assert not result.wavering
    else:
        assert not result.reason
        assert scale.allows(result.score)
        assert math.isfinite(result.score)


@pytest.mark.slow
@settings(max_examples=100)
@given(
    NOISY,
    st.sampled_from([*SCALES.values()]),
    st.sampled_from([None, {}, LETTERS, {"a": 1.0, "Z": 99.0}]),
)
def test_any_text_gives_a_verdict_on_the_scale_or_a_reason(
    text: str, scale: Scale, letters: dict[str, float] | None
) -> None:
    check(text, scale, letters)


@settings(max_examples=60)
@given(
    JSON, st.text(max_size=5), st.sampled_from([*SCALES.values()]), st.sampled_from([None, LETTERS])
)
def test_any_json_gives_a_verdict_on_the_scale_or_a_reason(
    value: object, around: str, scale: Scale, letters: dict[str, float] | None
) -> None:
    written = json.dumps(value)
    for text in (
        written,
        around + written + around,
        f'{{"score": {written}}}',
        f"```json\n{written}\n```",
    ):
        check(text, scale, letters)


@given(st.sampled_from((0, 1, 2)), st.text(), st.text(alphabet="abc .,;\n€é字", max_size=40))
def test_a_planted_object_is_found(score: int, justification: str, around: str) -> None:
    planted = json.dumps({"score": score, "justification": justification})
    for text in (
        planted,
        f"{around}\n{planted}\n{around}",
        f"```json\n{planted}\n```",
        f"<think>{around}</think>{planted}",
    ):
        result = read_reply(text, QUALITY)
        assert (result.score, result.justification, result.wavering) == (
            score,
            justification.strip(),
            False,
        )


@given(st.sampled_from((1, 2, 3, 4, 5)), st.text(alphabet="bcd ,;\n€é字", max_size=60))
def test_a_planted_line_is_found(score: int, around: str) -> None:
    result = read_reply(f"{around}.\nScore: {score}\n{around}", FIVE)
    assert (result.score, result.wavering) == (score, False)


@given(
    st.sampled_from((0, 1, 2)) | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
)
def test_a_number_is_taken_exactly_or_not_at_all(number: float) -> None:
    allowed = answer_schema(QUALITY)["properties"]["score"]["enum"]
    result = read_reply(json.dumps({"score": number}), QUALITY)
    assert (result.score, result.reason) == (
        (number, "") if number in allowed else (None, OFF_SCALE)
    )


LONG = 250_000  # of what grows with its square it would take minutes


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    [
        "{",
        "[",
        '{"a":',
        '{"score":',
        '{"',
        "{} ",
        "score ",
        "score: ",
        "score is a ",
        "to be ",
        "not a ",
        "from being a ",
        "a\n",
        "-\n",
        "**",
        "(1 ",
        "1",
        "1/",
        "one ",
        "★ ",
        "scale ",
        "Good\n",
        "Good ",
        "A ",
        "</think>",
        "<think>",
        "confidence ",
        "give it ",
        '\\"',
        "```a",
        "I give ",
        'I give "" ',
        "final score ",
        "2. ",
        "<|channel|>",
        "the reference says ",
        "得分 ",
        "5 üzerinden ",
        "falls to ",
        "<a>",
        "<think>a</think>",
        "[/THINK]",
        "no, ",
        "1, ",
        "1|",
        "1-2 ",
        "4 for a, ",
        "cannot rate ",
        "impossible de ",
        "overall ",
        "Good, ",
        "a: 1\n",
        "I would make ",
    ],
)
def test_long_texts_of_anything_are_read_within_seconds(unit: str) -> None:
    began = time.process_time()
    read_reply("x" + unit * (LONG // len(unit)) + "x", QUALITY, LETTERS)
    assert time.process_time() - began < 20


@pytest.mark.parametrize(
    "gap", [" ", "\n", "\t", "\N{NO-BREAK SPACE}", "*", "\n*", '"', "'", "_", "(", "`", "#", "- "]
)
def test_a_long_gap_is_read_within_seconds(gap: str) -> None:
    began = time.process_time()
    for before in ("score", "Good", "not", "4 out of", "answer", "rate it", "4", "4 of"):
        read_reply(before + gap * 50_000 + "x", QUALITY, LETTERS)
    assert time.process_time() - began < 20


@pytest.mark.parametrize("inner", ['{"score": 2}', "1", ""])
def test_a_hundred_thousand_nested_braces(inner: str) -> None:
    began = time.process_time()
    result = read_reply('{"a":' * 100_000 + inner + "}" * 100_000, QUALITY)
    assert result.score in (None, 2)
    assert read_reply("{" * 100_000 + "\nScore: 2", QUALITY).score == 2
    assert read_reply("[" * 100_000 + '{"score": 2}' + "]" * 100_000, QUALITY).score == 2
    assert time.process_time() - began < 20


# ---------------------------------------------------------------- real replies


@pytest.fixture(scope="module")
def real(reference: Path) -> list[dict[str, str]]:
    """29,112 replies of two judges to five prompts on SummEval; each with the id that the checked
    rows have.
    """
    import pyarrow.parquet as pq

    rows: list[dict[str, str]] = pq.read_table(
        reference / "llm_replies" / "summeval_llm_replies.parquet"
    ).to_pylist()
    for row in rows:
        named = [row[key] for key in ("judge", "prompt", "criterion", "doc_id", "system", "reply")]
        row["id"] = sha256("\x1f".join(named).encode()).hexdigest()[:16]
    return rows


def asked_for(row: dict[str, str]) -> dict[str, float] | None:
    return LETTERS if row["prompt"] in ("mcq", "altmcq") else None


def read_all(rows: list[dict[str, str]], scale: Scale) -> list[ReplyVerdict]:
    """What is read from each; most replies came more than once, and are read once."""
    asked = {(row["reply"], asked_for(row) is None): asked_for(row) for row in rows}
    read = {
        (reply, free): read_reply(reply, scale, letters) for (reply, free), letters in asked.items()
    }
    return [read[row["reply"], asked_for(row) is None] for row in rows]


FRAGMENTS = (
    "score", "Score out of 5", "rating", "fluency_", "I would", "rate", "give it a", "deserves",
    "gets", "overall",
    "final", "for", "and", "for meaning", "level", "stars", "star", "four", "One", "2", "4", "-3",
    "4.5", "/5",
    "out of", "five", ":", "=", "(", ")", ".", ",", ";", "\n", " ", " ", " ", "**", '"', "|", "<b>",
    "</b>",
    "\\boxed{", "}", "[RESULT]", "of", "is", "a", "text", "Clarity: ", "not", "\u2605",
    "\N{MINUS SIGN}1", "no,",
    "trois sur cinq", "4\u5206",
)  # fmt: skip
PAIRS = (
    *((form.begins, form.pattern) for form in forms.FORMS),
    (forms.NAMED_LINE_BEGINS, forms.NAMED_LINE),
    (forms.ENDS_IN_NUMBER, forms.ASPECT),
    (forms.ONE_OF_EACH, forms.FOR_EACH),
    (forms.ANY_STAR, forms.COUNTED_STARS),
)


def skipped_wrongly(text: str) -> list[Deferred]:
    """The forms that a text has, though it does not seem to have their beginning."""
    return [form for begins, form in PAIRS if form.search(text) and not begins.search(text)]


@settings(deadline=None, max_examples=100)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=16).map("".join))
def test_a_form_that_a_text_has_is_not_skipped(text: str) -> None:
    assert not skipped_wrongly(text)


def test_no_form_of_a_known_reply_is_skipped() -> None:
    replies = [str(row["reply"]) for rows in rules().values() for row in rows]
    assert sum(any(form.search(reply) for _, form in PAIRS) for reply in replies) > 100
    assert not [reply for reply in replies if skipped_wrongly(reply)]


@pytest.mark.reference
def test_no_form_of_a_real_reason_is_skipped(reference: Path) -> None:
    with (reference / "mlqe-mixtral" / "ratings_full.csv").open(
        encoding="utf-8", newline=""
    ) as file:
        texts = {text for row in csv.DictReader(file) for text in row.values() if len(text) > 20}
    assert len(texts) > 1000
    assert not [text for text in sorted(texts)[::7] if skipped_wrongly(text)]


@pytest.mark.slow
@pytest.mark.reference
def test_nearly_every_real_reply_has_a_verdict(real: list[dict[str, str]]) -> None:
    assert len(real) == 29_112
    result = read_all(real[::6], BETWEEN)
    assert sum(verdict.score is not None for verdict in result) / len(result) >= 0.995
    assert sum(verdict.wavering for verdict in result) / len(result) < 0.002
    # On whole numbers only, what is lost are the halves, and each says so.
    entire = read_all(real[::12], FIVE)
    assert {verdict.reason for verdict in entire} == {"", OFF_SCALE}
    for between, five in zip(result[::2], entire, strict=True):
        assert between.score is not None
        assert five.score == (between.score if between.score.is_integer() else None)


@pytest.mark.reference
def test_right_on_two_hundred_replies_checked_by_hand(real: list[dict[str, str]]) -> None:
    by_id = {row["id"]: row for row in real}
    with HAND_CHECKED.open(encoding="utf-8", newline="") as file:
        checked = list(csv.DictReader(file))
    assert len({row["id"] for row in checked}) == 200
    wrong = []
    for row in checked:
        reply = by_id[row["id"]]
        result = read_reply(reply["reply"], BETWEEN, asked_for(reply))
        if (result.score, result.wavering) != (float(row["score"]), bool(row["wavering"])):
            wrong.append((row["id"], row["score"], result.score, result.wavering))
    assert not wrong


@pytest.mark.reference
@pytest.mark.parametrize(
    ("identity", "score", "wavering"),
    [
        # a second verdict on the same criterion: which one counts?
        ("26a9e523b25ada8c", None, False),
        ("c6e0843afc7403a4", 4, False),  # names the top value as what was not reached
        ("87a4365c3d591ff1", 4, False),
        ("bdade6b7e567a334", 4, False),
        ("9c5d621ce0eb70cc", 2, False),  # counts in brackets before the verdict
        ("74e695d9c71f6af4", 4, False),  # a match result
        ("ecbc32e1dfaeb207", 1, False),  # a number in brackets after an adjective
        ("7b16145fce9715dd", 1, False),  # points
        ("ad7cfa143f4f3a63", 1.5, False),  # a decimal in the first sentence
        ("b9ab8d26f63adc35", 3, False),  # a bare number early, the reason after it
    ],
)
def test_odd_replies_read_by_hand(
    real: list[dict[str, str]], identity: str, score: float | None, wavering: bool
) -> None:
    reply = next(row for row in real if row["id"] == identity)
    result = read_reply(reply["reply"], BETWEEN, asked_for(reply))
    assert (result.score, result.wavering) == (score, wavering)


@pytest.mark.slow
@pytest.mark.reference
def test_replies_the_reader_was_not_made_for(reference: Path) -> None:
    """Mixtral on MLQE, 0 to 100: most without a verdict give one for meaning and another for
    grammar.
    """
    with (reference / "mlqe-mixtral" / "ratings_full.csv").open(
        encoding="utf-8", newline=""
    ) as file:
        replies = [row["comment"] for row in csv.DictReader(file) if row["rater_kind"] == "llm"]
    read = [read_reply(reply, HUNDRED) for reply in replies]
    assert len(read) == 1052
    assert sum(verdict.score is not None for verdict in read) / 1052 >= 0.95
    assert sum(verdict.reason not in ("", TWO_VERDICTS) for verdict in read) / 1052 < 0.02
    assert sum(verdict.wavering for verdict in read) / 1052 < 0.05


@pytest.mark.reference
def test_hostile_replies_are_read_right_or_not_at_all(reference: Path) -> None:
    lines = (reference / "harness" / "replies.jsonl").read_text(encoding="utf-8").split("\n")
    wrong, left_out, rows = [], [], [json.loads(line) for line in lines if line]
    for row in rows:
        if row["levels"]:
            scale = Scale("ordinal", tuple(Level(value, label) for value, label in row["levels"]))
        else:
            scale = Scale("interval", (), *row["ends"])
        score = read_reply(row["reply"], scale).score
        if score is not None and score != row["score"]:
            wrong.append((row["reply"], score))
        elif score != row["score"]:
            left_out.append(row["reply"])
    assert len(wrong) <= 0.02 * len(rows), wrong
    assert len(left_out) <= 0.05 * len(rows), left_out


@pytest.mark.reference
def test_the_replies_of_pariksha_give_the_scores_beside_them(reference: Path) -> None:
    folder = reference / "pariksha" / "gpt_eval" / "outputs" / "round1" / "individual"
    replies = []
    for path in sorted(folder.glob("*/*.json")):
        for row in json.loads(path.read_text(encoding="utf-8")):
            replies += [each for each in row.values() if isinstance(each, dict)]
    assert len(replies) == 4620
    for reply in replies:
        assert read_reply(json.dumps(reply, ensure_ascii=False), QUALITY).score == reply["score"]


@pytest.mark.parametrize(
    "reply", ["Score: 4. Corrected score: 2", "Rating: 4\n\nI misread it.\nRevised rating: 2"]
)
def test_a_score_that_is_called_corrected_or_revised_replaces_the_first(reply: str) -> None:
    scale = Scale("ordinal", tuple(Level(value, str(value)) for value in range(1, 6)))
    assert read_reply(reply, scale).score == 2
    assert read_reply("Score: 2. Revised translation: 5", scale).score == 2


TAKEN_BACK = (
    *("Actually, I missed an error.", "I made a mistake.", "Sorry, that was wrong.", "Hmm, no."),
    *("Upon re-reading I must lower it.", "Having checked again:"),
)


@pytest.mark.parametrize("gap", [" ", "\n", "\n\n"])
@pytest.mark.parametrize("first", ['{"score": 4}', "Score: 4"])
@pytest.mark.parametrize("second", ['{"score": 2}', "Score: 2"])
def test_a_judge_that_takes_its_score_back_is_never_read_by_the_first(
    first: str, second: str, gap: str
) -> None:
    for words in TAKEN_BACK:
        verdict = read_reply(f"{first}{gap}{words}{gap}{second}", FIVE)
        assert verdict.score == 2 or verdict.reason == TWO_VERDICTS, words
    for words in ("Revised:", "Final:", "On reflection:"):
        assert read_reply(f"{first}{gap}{words}{gap}{second}", FIVE).score == 2, words


@pytest.mark.parametrize("words", TAKEN_BACK)
def test_two_objects_or_an_object_and_a_labelled_score_that_differ_are_two_verdicts(
    words: str,
) -> None:
    for later in ('{"score": 2}', "Score: 2", "**Rating:** 2"):
        assert read_reply(f'{{"score": 4}} {words} {later}', FIVE).reason == TWO_VERDICTS
    assert read_reply(f'Score: 4 {words} {{"score": 2}}', FIVE).reason == TWO_VERDICTS


def test_an_object_that_is_an_example_or_quoted_is_no_verdict() -> None:
    assert read_reply('For example, {"score": 4} would mean good.', FIVE).reason == UNPARSABLE
    assert read_reply('For example, {"score": 4} would mean good.\nScore: 2', FIVE).score == 2
    for later in (
        'A reply like {"score": 2} would be too harsh.',
        '> {"score": 2}',
        "It says \"{'score': 2}\".",
    ):
        assert read_reply(f'{{"score": 4}}\n\n{later}', FIVE).score == 4
    assert read_reply('It omits much, for example the date. {"score": 2}', FIVE).score == 2
