"""A column is raters' names only where its cells can be names; a judge's scores beside people are
not lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import metal
from metal.errors import DataError
from tests.saying import tells

SCORES = [4, 4, 4, 1, 2, 5, 3, 2, 1, 5, 3, 4]
OTHERS = [4, 2, 3, 1, 2, 5, 3, 1, 2, 4, 5, 4]
PASSED = ["pass", "fail"] * 6


def written(tmp_path: Path, columns: Mapping[str, Sequence[object]]) -> Path:
    """A file of one row an output."""
    texts = {
        "id": [f"o{number}" for number in range(12)],
        "answer": [f"Answer {number}." for number in range(12)],
    }
    path = tmp_path / "t.csv"
    pd.DataFrame(texts | dict(columns)).to_csv(path, index=False)
    return path


def kinds(path: Path, **options: Any) -> dict[str, str]:
    return {name: rater.kind for name, rater in metal.read(path, **options).raters.items()}


@pytest.mark.parametrize(
    "columns",
    [
        {"score": SCORES, "judge": OTHERS},
        {"rating": PASSED, "judge": PASSED[::-1]},
        {"score": [0.5, 0.25] * 6, "judge": [0.465, 0.084] * 6},
    ],
)
def test_scores_under_judge_are_a_judges_not_names_of_people(
    tmp_path: Path, columns: Mapping[str, Sequence[object]]
) -> None:
    path = written(tmp_path, columns)
    assert kinds(path) == {next(iter(columns)): "human", "judge": "llm"}
    note = "'judge' holds scores"
    assert note in " ".join(metal.read(path).report)
    if columns.get("score") == SCORES:
        assert kinds(path, columns={"rater": "judge"}) == dict.fromkeys("12345", "human")


def test_a_list_of_scores_beside_a_judges_score(tmp_path: Path) -> None:
    lists = [str([score + 60, other + 60, 62]) for score, other in zip(SCORES, OTHERS, strict=True)]
    path = written(tmp_path, {"scores": lists, "judge": [other + 60 for other in OTHERS]})
    assert kinds(path) == {
        "judge": "llm",
        "scores_1": "human",
        "scores_2": "human",
        "scores_3": "human",
    }


def test_decimals_under_evaluator_are_asked_about(tmp_path: Path) -> None:
    path = written(tmp_path, {"rating": SCORES, "evaluator": [score / 7 for score in OTHERS]})
    with pytest.raises(DataError, match=r'`wide=\["rating", "evaluator"\]`'):
        metal.read(path)
    options: dict[str, Any] = {"wide": ["rating", "evaluator"], "kinds": {"evaluator": "llm"}}
    assert kinds(path, **options) == {"rating": "human", "evaluator": "llm"}


def test_words_of_another_scale_under_judge_are_no_names(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r'wide=\["verdict", "judge"\]'):
        metal.read(written(tmp_path, {"score": SCORES, "verdict": PASSED, "judge": PASSED}))


def test_criteria_beside_a_judges_scores_are_asked_about(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"do not say.*fluency, adequacy"):
        metal.read(
            written(tmp_path, {"fluency": SCORES, "adequacy": SCORES[::-1], "judge": OTHERS})
        )


def test_numbers_under_annotator_that_may_be_ids_are_asked_about(tmp_path: Path) -> None:
    path = written(tmp_path, {"annotator": OTHERS, "score": SCORES})
    with pytest.raises(DataError, match="'annotator' may hold"):
        metal.read(path)
    assert kinds(path, columns={"rater": "annotator"}) == dict.fromkeys("12345", "human")
    assert (
        kinds(path, wide=["score", "annotator"], kinds={"annotator": "llm"})["annotator"] == "llm"
    )


def test_numbers_of_people_who_each_rated_all_outputs_are_ids(tmp_path: Path) -> None:
    path = written(tmp_path, {"score": SCORES})
    frame = pd.read_csv(path)
    tables = [
        frame.assign(judge=number, score=(frame["score"] + number) % 5 + 1)
        for number in range(1, 6)
    ]
    pd.concat(tables).to_csv(path, index=False)
    assert kinds(path) == dict.fromkeys("12345", "human")


@pytest.mark.parametrize(
    ("columns", "score", "judge"),
    [
        (
            {"user_id": ["u1", "u2", "u3"] * 4, "thumbs_up": [0, 1] * 6, "gpt_score": OTHERS},
            "thumbs_up",
            "gpt_score",
        ),
        (
            {
                "score": SCORES,
                "annotator": ["ann", "ben"] * 6,
                "judge": ["gpt-4o"] * 12,
                "judge_score": OTHERS,
            },
            "score",
            "judge_score",
        ),
        ({"reviewer": SCORES, "grade": SCORES[::-1], "gpt-4o": OTHERS}, "grade", "gpt-4o"),
    ],
)
def test_a_judges_scores_beside_names_of_people_are_not_lost(
    tmp_path: Path, columns: Mapping[str, Sequence[object]], score: str, judge: str
) -> None:
    path = written(tmp_path, columns)
    with pytest.raises(DataError, match=f"column {judge!r} is named like a judge") as refused:
        metal.read(path)
    assert tells(str(refused.value), "one rater", f'`wide=["{score}", "{judge}"]`', "who rated")
    assert kinds(path, wide=[score, judge]) == {score: "human", judge: "llm"}
    people = next(name for name in columns if name in ("user_id", "annotator", "reviewer"))
    alone = kinds(path, columns={"rater": people, "score": score})
    assert len(alone) > 1
    assert {*alone.values()} == {"human"}


def test_src_and_tgt_that_hold_codes_are_the_languages(tmp_path: Path) -> None:
    texts = [f"Text {number}." for number in range(6)]
    rows = [
        ("en", "de", text, rater, score)
        for score, text in enumerate(texts)
        for rater in ("r1", "r2")
    ]
    path = tmp_path / "t.csv"
    pd.DataFrame(rows, columns=["src", "tgt", "mt", "rater", "score"]).to_csv(path, index=False)
    dataset = metal.read(path)
    assert dataset.languages == ("en-de",)
    assert len(dataset.sources) == len(dataset.outputs) == 6


def test_src_beside_ids_of_segments_is_the_text_of_the_source(tmp_path: Path) -> None:
    rows = []
    for segment in range(6):
        for rater in ("r1", "r2"):
            rows.append(
                (
                    "en-de",
                    segment,
                    "s",
                    f"Input {segment}.",
                    f"Text {segment}.",
                    rater,
                    50 + segment,
                )
            )
    path = tmp_path / "t.csv"
    pd.DataFrame(rows, columns=["lp", "seg_id", "system", "src", "hyp", "rater", "ESA"]).to_csv(
        path, index=False
    )
    dataset = metal.read(path)
    assert sorted(str(source.text) for source in dataset.sources.values()) == [
        f"Input {n}." for n in range(6)
    ]


def test_no_error_is_better_than_a_critical_one(tmp_path: Path) -> None:
    words = ["None", "Minor", "Major", "Critical"]
    (criterion,) = metal.read(
        written(tmp_path, {"ann_1": words * 3, "ann_2": words[::-1] * 3})
    ).criteria.values()
    assert [level.label for level in criterion.scale.levels] == words
    assert criterion.direction == "lower"


PAIRS = (
    ("English", "German", "en-de"),
    ("EN", "DE", "en-de"),
    ("eng_Latn", "deu_Latn", "en-de"),
    ("English", "Chinese (Simplified)", "en-zh"),
)


@pytest.mark.parametrize(("of_input", "of_output", "pair"), PAIRS)
@pytest.mark.parametrize(
    "columns", [("src", "tgt"), ("source", "target"), ("source_language", "target_language")]
)
def test_names_or_codes_of_languages_in_two_columns_are_a_pair(
    of_input: str, of_output: str, pair: str, columns: tuple[str, str], tmp_path: Path
) -> None:
    both = dict(zip(columns, ([of_input] * 12, [of_output] * 12), strict=True))
    dataset = metal.read(written(tmp_path, {**both, "human_score": SCORES, "llm_score": OTHERS}))
    assert dataset.languages == (pair,)
    assert len(dataset.sources) == len(dataset.outputs) == 12


@pytest.mark.parametrize("texts", [("The house {}.", "Das Haus {}."), ("house", "Haus")])
def test_texts_in_src_and_tgt_are_no_languages(texts: tuple[str, str], tmp_path: Path) -> None:
    columns = {
        name: [text.format(n) for n in range(12)]
        for name, text in zip(("src", "tgt"), texts, strict=True)
    }
    dataset = metal.read(written(tmp_path, {**columns, "human_score": SCORES, "llm_score": OTHERS}))
    assert dataset.languages == ("und",)
    assert len(dataset.outputs) == 12


@pytest.mark.parametrize(
    "codes", [("en", "de"), ("pt-BR", "zh-Hant"), ("English-German", "English-French")]
)
def test_a_column_of_codes_under_a_name_of_ones_own_is_the_language(
    codes: tuple[str, str], tmp_path: Path
) -> None:
    texts = {"l": [*codes] * 6, "human_score": SCORES, "llm_score": OTHERS}
    assert len(metal.read(written(tmp_path, texts)).languages) == 2


@pytest.mark.parametrize(
    ("name", "values"),
    [("country", ("de", "fr")), ("seen", ("no", "is")), ("part", ("cat", "and"))],
)
def test_a_column_of_other_short_words_is_no_language(
    name: str, values: tuple[str, str], tmp_path: Path
) -> None:
    columns = {name: [*values] * 6, "human_score": SCORES, "llm_score": OTHERS}
    assert metal.read(written(tmp_path, columns)).languages == ("und",)


def translated(tmp_path: Path, **more: Sequence[object]) -> Path:
    """Two translators, each with a translation of every source, and a score of each translation."""
    columns: dict[str, Sequence[object]] = {
        "segment_id": [number // 2 for number in range(12)],
        "lp": ["en-de"] * 12,
        "source": [f"A text with the number {number // 2}." for number in range(12)],
        "mt": [f"Text {number // 2} von t{number % 2}." for number in range(12)],
        "translator": [f"t{number % 2}" for number in range(12)],
        "DA": [40 + 3 * number for number in range(12)],
    }
    path = tmp_path / "da.csv"
    pd.DataFrame({**columns, **more}).to_csv(path, index=False)
    return path


def test_translators_with_texts_of_their_own_are_generators(tmp_path: Path) -> None:
    path = translated(tmp_path)
    with pytest.raises(DataError) as raised:
        metal.read(path)
    assert tells(str(raised.value), "no column for the rater", '`wide=["DA"]`')
    dataset = metal.read(path, wide=["DA"])  # as the message says
    assert {output.generator for output in dataset.outputs.values()} == {"t0", "t1"}
    assert set(dataset.raters) == {"DA"}
    assert tells(dataset.report, "generator from 'translator'")


def test_translators_who_all_rated_the_same_texts_are_raters(tmp_path: Path) -> None:
    path = translated(tmp_path, mt=[f"Text {number // 2}." for number in range(12)])
    dataset = metal.read(path)
    assert set(dataset.raters) == {"t0", "t1"}
    assert list(dataset.criteria) == ["DA"]
