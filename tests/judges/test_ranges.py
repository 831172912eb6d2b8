"""Ranges instead of scores: in words they are read as in digits."""

import pytest

from metal.data.records import Level, Scale
from metal.raters.judges.reader import TWO_VERDICTS, read_reply

FIVE = Scale("ordinal", tuple(Level(value, str(value)) for value in range(1, 6)))
TEN = Scale("interval", (), 0.0, 10.0)

MIDDLES = [
    ("Score: three or four", "Score: 3 or 4"),
    ("Score: three to four.", "Score: 3 to 4."),
    ("Score: three-four", "Score: 3-4"),
    ("Score: Four or three", "Score: 4 or 3"),
    ("Score: 3 or four", "Score: 3 or 4"),
    ("three or four", "3 or 4"),
    ('{"score": "three or four"}', '{"score": "3 or 4"}'),
    ("I would give it three or four out of ten.", "I would give it 3 or 4 out of 10."),
    ("Note : trois ou quatre", "Note : 3 ou 4"),
    ("Je donne une note de trois à quatre.", "Je donne une note de 3 à 4."),
    ("La note est de trois ou quatre sur dix.", "La note est de 3 ou 4 sur 10."),
    ("स्कोर: तीन या चार", "स्कोर: 3 या 4"),
    ("स्कोर: तीन से चार।", "स्कोर: 3 से 4।"),
    ("स्कोर: तीन और चार के बीच", "स्कोर: 3 और 4 के बीच"),
    ("评分：三到四", "评分：3到4"),
    ("评分：三或四分", "评分：3或4分"),
    ("スコア：三から四", "スコア：3から4です"),
    ("スコア：三か四", "スコア：3か4くらい"),
    ("評価は三と四の間", "評価は3と4の間"),
    ("الدرجة: ثلاثة أو أربعة", "الدرجة: 3 أو 4"),
    ("الدرجة: ثلاثة إلى أربعة", "الدرجة: 3 إلى 4"),
    ("স্কোর: তিন বা চার", "স্কোর: 3 বা 4"),
    ("স্কোর: তিন থেকে চার", "স্কোর: ৩ থেকে ৪"),
    ("Оценка: три или четыре", "Оценка: 3 или 4"),
    ("Оценка: три-четыре", "Оценка: 3-4"),
    ("Puan: üç veya dört", "Puan: 3 veya 4"),
    ("Puan: üç ya da dört", "Puan: 3 ya da 4"),
    ("Puan: üç ile dört arasında", "Puan: 3 ile 4 arasında"),
    ("Puan: üç ve dört arası", "Puan: 3 ve 4 arası"),
    ("Alama: tatu au nne", "Alama: 3 au 4"),
    ("Alama: tatu hadi nne", "Alama: 3 hadi 4"),
    ("Bewertung: drei oder vier", "Bewertung: 3 oder 4"),
    ("Bewertung: drei bis vier Punkte", "Bewertung: 3 bis 4 Punkte"),
    ("Puntuación: tres o cuatro", "Puntuación: 3 o 4"),
    ("Pontuação: três ou quatro", "Pontuação: 3 ou 4"),
    ("Punteggio: tre o quattro", "Punteggio: 3 o 4"),
    ("점수: 삼에서 사", "점수: 3에서 4입니다"),
]
BETWEEN = [
    "Score: between three and four",
    "Оценка: от трёх до четырёх",
    "Оценка: между тремя и четырьмя",
    "الدرجة: بين ثلاثة وأربعة",
    "Alama: kati ya tatu na nne",
    "La note : entre trois et quatre.",
    "Bewertung: zwischen drei und vier Punkten",
    "Puntuación: de tres a cuatro",
]


@pytest.mark.parametrize(("in_words", "in_digits"), MIDDLES)
def test_a_range_in_words_is_read_as_one_in_digits(in_words: str, in_digits: str) -> None:
    for reply in (in_words, in_digits):
        assert read_reply(reply, FIVE).score is None  # it names several levels
        verdict = read_reply(reply, TEN)
        assert (verdict.score, verdict.wavering) == (3.5, True)


@pytest.mark.parametrize("reply", BETWEEN)
def test_no_end_of_a_range_in_words_is_a_score(reply: str) -> None:
    for scale in (FIVE, TEN):
        assert read_reply(reply, scale).score is None


def test_words_that_count_something_are_no_range_of_scores() -> None:
    for reply in (
        "The answer is good, with one or two errors.",
        "Score one, two or three.",
        "给3到4个例子",
    ):
        assert read_reply(reply, TEN).score is None
    for reply in (
        "It gets one or two details wrong. Score: 4",
        "Note: quatre, avec une ou deux fautes.",
    ):
        assert read_reply(reply, TEN).score == 4
    assert read_reply("On a one to five scale: four", FIVE).score == 4
    assert read_reply("评分：四。有一到两个错误。", FIVE).score == 4


def test_a_range_and_another_verdict_are_two() -> None:
    for reply in ("two or three. Score: 2", "2 or 3. Score: 2"):
        assert read_reply(reply, TEN).reason == TWO_VERDICTS


OPEN = [
    *(
        "Score: one or more",
        "score: 1 or more",
        "Score: 3 or higher.",
        "Rating: 3/5 or above",
        "Score: 3+",
    ),
    *(
        "at least 3",
        "I would give it at least a three.",
        "Score: at most 3 points",
        "Score: up to 3",
        "up to three",
    ),
    *(
        "Score: no more than 3",
        "Score: ≥ 3",
        "Score: >=3",
        '{"score": "3 or more"}',
        '{"score": ">= 3"}',
    ),
    *(
        "3 stars or more",
        "Score: three or fewer",
        "Score: 3 and up",
        "a minimum of 3 points",
        "Score: 3, or lower",
    ),
    *("Note : 3 ou plus", "Note : au moins 3", "Bewertung: mindestens 3", "Bewertung: 3 oder mehr"),
    *(
        "Puntuación: al menos 3",
        "Puntuación: 3 o más",
        "评分：至少3分",
        "评分：3分以上",
        "スコア：3以上",
        "점수: 3점 이상",
    ),
    *(
        "स्कोर: कम से कम 3",
        "স্কোর: কমপক্ষে 3",
        "الدرجة: 3 أو أكثر",
        "Оценка: не менее 3",
        "Оценка: 3 или выше",
    ),
    *(
        "Puan: en az 3",
        "Alama: 3 au zaidi",
        "Pontuação: pelo menos três",
        "Punteggio: tre o più",
        "Note : trois ou plus",
    ),
]


@pytest.mark.parametrize("reply", OPEN)
def test_a_judge_that_says_at_least_or_or_more_gives_no_score(reply: str) -> None:
    for scale in (FIVE, TEN):
        assert read_reply(reply, scale).score is None


def test_a_score_beside_an_open_quantity_is_read() -> None:
    for reply in (
        "It has at least one error. Score: 4",
        "Score: 4. Three or more claims are right.",
        "Up to 3 facts are missing; my rating is 4.",
        "The points add up to 4.\nScore: 4",
        "Score: 4 or better yet, good",
        "It scores 4 out of a maximum of 5.",
        "评分：4\n以下是理由。",
        "スコア：4\n以上です。",
        "점수: 4\n이상입니다.",
        "Bewertung: 4. Es gibt mindestens 3 Fehler.",
        "Score: 4 and above all clear",
    ):
        assert read_reply(reply, FIVE).score == 4, reply
