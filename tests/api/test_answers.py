"""Outputs with the scores of all raters: which are chosen, in which order, and what files say."""

from __future__ import annotations

import csv
import io
import json
import math

import pandas as pd
import pytest

from metal.api.answer_files import csv_lines, json_lines
from metal.api.answer_table import (
    ANY,
    BY_LANGUAGE,
    BY_PEOPLE,
    DIFFERS,
    HIGHER,
    JUDGES,
    LOWER,
    NO_SCORE,
    OF,
    PEOPLE,
    Choice,
    RunAnswers,
    typical,
)
from metal.api.answers import of_dataset
from metal.data.dataset import Card, Dataset, assemble
from metal.data.ratings import tidy_facts
from metal.data.records import Criterion, Level, Output, Rater, Scale, Source
from metal.errors import UnknownName

TEXTS = {"a": "=2+3 at Harrow Quay", "b": "Ein Haus am Fluß", "c": "نص", "d": "-quay"}
LANGUAGES = {"a": "en", "b": "de", "c": "ar", "d": "en"}
#           p1, p2, p3, j1, j2; None: asked, no score; absent: not asked
SCORES = {
    "a": (0, 0, 1, 2, 0),
    "b": (2, 2, 2, 1, None),
    "c": (0, 1, 2, 1, 0),
    "d": (1, 1, 1, 1),
}
RATERS = ("p1", "p2", "p3", "j1", "j2")


def dataset_of(raters: tuple[str, ...] = RATERS, nominal: bool = False) -> Dataset:
    sources = [Source("s", "en", "The harbour", title="News")]
    outputs = [Output(name, "s", "g", LANGUAGES[name], text) for name, text in TEXTS.items()]
    measure = "nominal" if nominal else "ordinal"
    levels = (Level(0, "Bad"), Level(1, "Medium"), Level(2, "Good"))
    rows = [
        {"output": output, "criterion": "q", "rater": rater, "score": score, "reason": reason}
        for output, scores in SCORES.items()
        for rater, score in zip(RATERS, scores, strict=False)
        if rater in raters
        for reason in ["refused" if score is None else ""]
    ]
    return assemble(
        Card("small"),
        [Criterion("q", Scale(measure, levels))],
        sources,
        outputs,
        [Rater(name, "human" if name[0] == "p" else "llm", "g") for name in raters],
        tidy_facts(pd.DataFrame(rows)),
    )


@pytest.fixture
def answers() -> RunAnswers:
    return of_dataset(dataset_of())


def chosen(answers: RunAnswers, **choice: str) -> list[str]:
    return list(answers.chosen(Choice(**choice))["output"].astype(str))


def test_people_answer_as_an_audit_counts_them(answers: RunAnswers) -> None:
    # a: 0 twice; b: 2; c: all three differ, and their mean is the level 1; d: 1
    assert answers.items["people"].tolist() == [0, 2, 1, 1]
    assert answers.items["people_range"].tolist() == [1, 0, 2, 0]
    nominal = of_dataset(dataset_of(nominal=True)).items
    assert [math.isnan(people) for people in nominal["people"]] == [False, False, True, False]
    assert nominal["people_range"].tolist() == [1, 0, 1, 0]


@pytest.mark.parametrize(
    ("kind", "outputs"),
    [
        # j1 is 2 of 2 from the people on a, 1 on b; j2 is 1 on c, where people differ more
        (DIFFERS, ["a", "b", "c"]),
        (HIGHER, ["a"]),
        (LOWER, ["b", "c"]),
        (PEOPLE, ["c", "a"]),
        (JUDGES, ["a", "c"]),
        (NO_SCORE, ["b"]),
        (ANY, ["a", "b", "c", "d"]),
        ("", ["a", "b", "c"]),
    ],
)
def test_each_kind_has_its_outputs(answers: RunAnswers, kind: str, outputs: list[str]) -> None:
    assert chosen(answers, kind=kind) == outputs


def test_the_furthest_judge_is_named(answers: RunAnswers) -> None:
    rows = answers.chosen(Choice())
    assert rows["judge"].tolist() == ["j1", "j1", "j2"]
    assert rows["size"].tolist() == [1, 0.5, 0.5]
    assert chosen(answers, judge="j2") == ["c"]
    assert chosen(answers, judge="j2", kind=ANY) == ["c", "a", "b"]


def test_without_people_judges_are_compared_and_without_judges_people() -> None:
    judged = of_dataset(dataset_of(("j1", "j2")))
    assert judged.usual_kind == JUDGES
    assert chosen(judged) == ["a", "c"]
    rated = of_dataset(dataset_of(("p1", "p2", "p3")))
    assert rated.usual_kind == PEOPLE
    alone = of_dataset(dataset_of(("j1",)))
    assert alone.usual_kind == ANY
    assert chosen(alone) == ["a", "b", "c", "d"]


def test_outputs_are_sorted_and_those_without_a_score_come_last(answers: RunAnswers) -> None:
    assert chosen(answers, kind=ANY, sort=BY_PEOPLE) == ["a", "c", "d", "b"]
    assert chosen(answers, kind=ANY, sort=f"-{BY_PEOPLE}") == ["b", "c", "d", "a"]
    assert chosen(answers, kind=ANY, sort=f"{OF}j2") == ["a", "c", "b", "d"]
    assert chosen(answers, kind=ANY, sort=f"-{OF}j1")[0] == "a"
    assert chosen(answers, kind=ANY, sort=BY_LANGUAGE) == ["c", "a", "d", "b"]  # Arabic first


@pytest.mark.parametrize(
    ("words", "outputs"),
    [
        ("quay", ["a", "d"]),
        ("QUAY harrow", ["a"]),
        ("FLUß", ["b"]),
        ("نص", ["c"]),
        ("harbour", ["a", "b", "c", "d"]),
        (".*", []),
    ],
)
def test_texts_are_searched(answers: RunAnswers, words: str, outputs: list[str]) -> None:
    assert sorted(chosen(answers, kind=ANY, q=words)) == outputs


@pytest.mark.parametrize("field", ["language", "criterion", "judge", "kind", "sort"])
def test_unknown_names_are_refused(answers: RunAnswers, field: str) -> None:
    with pytest.raises(UnknownName):
        answers.chosen(Choice(**{field: "nothing"}))


def test_scores_say_who_was_asked(answers: RunAnswers) -> None:
    scores = answers.scores([1, 3])
    assert list(scores[0]) == list(RATERS)
    assert math.isnan(scores[0]["j2"])
    assert scores[1] == {"p1": 1, "p2": 1, "p3": 1, "j1": 1}


def test_files_have_what_was_chosen(answers: RunAnswers) -> None:
    rows = answers.chosen(Choice(kind=ANY))
    table = list(csv.DictReader(io.StringIO("".join(csv_lines(answers, rows)))))
    assert [row["output"] for row in table] == ["a", "b", "c", "d"]
    assert table[0]["output_text"] == "'=2+3 at Harrow Quay"
    assert table[3]["output_text"] == "'-quay"
    assert (table[1]["j1"], table[1]["j2"], table[3]["j2"]) == ("1.0", "", "")
    lines = [json.loads(line) for line in "".join(json_lines(answers, rows)).splitlines()]
    assert lines[0]["output_text"] == TEXTS["a"]
    assert lines[1]["scores"]["j2"] is None
    assert "j2" not in lines[3]["scores"]
    assert lines[0] | {"scores": {}} == {
        "language": "en",
        "criterion": "q",
        "output": "a",
        "generator": "g",
        "title": "News",
        "source_text": "The harbour",
        "output_text": TEXTS["a"],
        "people": 0.0,
        "difference": 1.0,
        "scores": {},
    }


def test_a_choice_without_outputs_gives_empty_files(answers: RunAnswers) -> None:
    rows = answers.chosen(Choice(q="nothing has this"))
    assert "".join(json_lines(answers, rows)) == ""
    assert "".join(csv_lines(answers, rows)).startswith("language,criterion,output")


def test_files_are_written_in_parts(answers: RunAnswers, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = answers.chosen(Choice(kind=ANY))
    whole = "".join(csv_lines(answers, rows))
    monkeypatch.setattr("metal.api.answer_files.BLOCK", 3)
    parts = list(csv_lines(answers, rows))
    assert len(parts) == 2
    assert "".join(parts) == whole


@pytest.mark.parametrize(
    ("scale", "judge", "outputs"),
    [
        # what it most often says is 1 where people say 0: 4 of 6 times
        (Scale("ordinal", (Level(0, "Bad"), Level(1, "Medium"), Level(2, "Good"))),
         [2, 1, 2, 1, 1, 1], ["o1", "o3", "o4"]),
        # too few of the most frequent kind: the next kind fills up
        (Scale("ordinal", (Level(0, "Bad"), Level(1, "Medium"), Level(2, "Good"))),
         [2, 1, 1, 0, 0, 0], ["o1", "o2", "o0"]),
        # on a line, those in the middle of 10, 20, 30, 40, 50 and 60
        (Scale("interval"), [60, 10, 50, 20, 40, 30], ["o3", "o5", "o4"]),
    ],
)  # fmt: skip
def test_typical_disagreements(scale: Scale, judge: list[float], outputs: list[str]) -> None:
    rows = [
        {"output": f"o{number}", "criterion": "q", "rater": rater, "score": score}
        for rater, scores in (("p", [0.0] * 6), ("j", judge))
        for number, score in enumerate(scores)
    ]
    dataset = assemble(
        Card("typical"),
        [Criterion("q", scale)],
        [Source("s", "en")],
        [Output(f"o{number}", "s", "g", "en") for number in range(6)],
        [Rater("p", "human", "g"), Rater("j", "llm", "g")],
        tidy_facts(pd.DataFrame(rows)),
    )
    answers = of_dataset(dataset)
    every = typical(answers.differing(), answers.by_name)
    assert every["output"].tolist() == outputs
    cell = typical(answers.chosen(Choice("en", "q", "j", DIFFERS)), answers.by_name)
    assert cell["output"].tolist() == outputs
