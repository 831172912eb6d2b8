"""Scores of metrics on a dataset's outputs, computed here or elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from metal.data.dataset import Card, Dataset, assemble
from metal.data.ratings import facts_from
from metal.data.records import METRIC_SCORE, Criterion, Output, Rater, Scale, Source
from metal.errors import DataError, UsageError
from metal.raters.metrics import Item, Metric, find_metric
from metal.raters.metrics.contract import Answer
from metal.raters.metrics.dataset_scores import (
    AT_ONCE,
    NOT_AGAIN,
    Scores,
    Table,
    about_references,
    changed,
    in_place_of,
    metric_rater,
    not_in,
    outputs_to_score,
    outside_scores,
    rater,
    score_outputs,
    together,
    with_metric_score,
)
from tests.conftest import TASK_QUALITY
from tests.saying import tells


def dataset(
    *outputs: Output, criteria: Sequence[Criterion] = (TASK_QUALITY,), **source: Any
) -> Dataset:
    """s1 has two references, s2 one."""
    sources = [
        Source("s1", "en", "long text", references=("the cat sat", "a dog")),
        Source("s2", "zh", "原文", references=("雨停了",)),
    ]
    sources = [replace(entry, **source) for entry in sources]
    return assemble(Card("made"), criteria, sources, outputs, [], facts_from([]))


OUTPUTS = (
    Output("s1/a", "s1", "a", "en", "the cat lay down"),
    Output("s1/b", "s1", "b", "en", "a dog"),
    Output("s2/a", "s2", "a", "zh", "雨没停"),
)


def by_output(scores: Scores) -> dict[str, Any]:
    rows = scores.facts.astype({"output": str, "reason": str})
    return {
        row.output: row.reason if row.score != row.score else row.score
        for row in rows.itertuples(index=False)
    }


def test_scores_worked_by_hand() -> None:
    made = dataset(*OUTPUTS)
    scores = score_outputs(find_metric("rouge-1"), made, OUTPUTS)
    # the cat | lay down with the cat sat: 2 x 2 / (4 + 3);
    # 雨 停 of 雨 没 停 with 雨 停 了: 2 x 2 / (3 + 3)
    # s1/b is a reference, whose score was 1 for it; it is compared with the other one.
    assert by_output(scores) == pytest.approx({"s1/a": 4 / 7, "s1/b": 0.0, "s2/a": 2 / 3})
    assert (scores.rater.rater, scores.rater.kind, scores.rater.group) == (
        "rouge-1",
        "metric",
        "metric",
    )
    assert scores.rater.about["signature"] == find_metric("rouge-1").signature
    assert set(scores.facts["criterion"]) == {METRIC_SCORE.name}


def test_an_output_that_is_a_reference_is_never_compared_with_itself() -> None:
    """People's summaries that are also the references had chrF 100, and lifted its r with
    people.
    """
    cafe = Output("s2/people", "s2", "people", "en", " cafe\u0301  au lait")
    references = {"references": ("caf\u00e9 au\nlait",)}
    made = dataset(OUTPUTS[1], cafe, **references)
    outputs = list(made.outputs.values())
    chrf = find_metric("chrf")
    scores = by_output(score_outputs(chrf, made, outputs))
    assert tells(scores["s2/people"], "is the only reference")
    assert scores["s1/b"] < 30
    assert tells(about_references([chrf], made, outputs), "1 output ('s2/people')", "not compared")
    assert about_references([find_metric("compression")], made, outputs) == []
    upper = replace(cafe, text="CAFÉ au lait")
    assert isinstance(
        by_output(score_outputs(chrf, dataset(upper, **references), [upper]))["s2/people"], float
    )


def test_lower_is_better_is_negated_and_said() -> None:
    outputs = (OUTPUTS[0], replace(OUTPUTS[1], text="a dog."))
    scores = score_outputs(find_metric("ter(no_punct=yes)"), dataset(*outputs), outputs)
    # the cat | lay down to the cat | sat: one word other, one too many, of the references' mean
    # length (3 + 2) / 2
    assert by_output(scores) == pytest.approx({"s1/a": -100 * 2 / 2.5, "s1/b": 0.0})
    assert str(scores.facts["score"][1]) == "0.0"
    assert scores.rater.about.items() >= {"direction": "lower", "negated": True}.items()


def test_what_describes_is_not_negated() -> None:
    metric = find_metric("copy-rate")
    assert (metric.direction, metric.descriptive) == ("lower", True)
    made = dataset(
        Output("s1/a", "s1", "a", "en", "of five words it copies"), text="of five words it copies"
    )
    scores = score_outputs(metric, made, list(made.outputs.values()))
    assert by_output(scores) == {"s1/a": 1.0}
    assert "negated" not in scores.rater.about
    assert scores.rater.about["descriptive"] is True


def spying(asked: list[Item]) -> Metric:
    def score(items: Sequence[Item]) -> list[Answer]:
        asked.extend(items)
        return [float(len(item.text)) for item in items]

    return Metric("length", "", score, "1")


def test_equal_texts_with_equal_references_are_scored_once() -> None:
    asked: list[Item] = []
    outputs = [
        Output(f"s{s}/{g}", f"s{s}", f"g{g}", "en", "the same") for s in (1, 2) for g in range(300)
    ]
    steps: list[tuple[int, int]] = []
    made = dataset(*outputs)
    scores = score_outputs(
        spying(asked), made, outputs, progress=lambda done, total: steps.append((done, total))
    )
    assert len(asked) == 2 + 1  # two references for s1
    assert scores.facts["score"].tolist() == [8.0] * 600
    assert steps == [(2, 2)]
    many = [replace(entry, text=f"{number}") for number, entry in enumerate(outputs)]
    score_outputs(
        spying([]), dataset(*many), many, progress=lambda done, total: steps.append((done, total))
    )
    assert steps[1:] == [(AT_ONCE, 600), (2 * AT_ONCE, 600), (600, 600)]


def test_which_outputs_are_scored() -> None:
    more = (
        replace(OUTPUTS[0], output="empty", text=" "),
        replace(OUTPUTS[0], output="not chosen", chosen=False),
    )
    assert outputs_to_score(dataset(*OUTPUTS, *more), [find_metric("chrf")]) == list(OUTPUTS)


@pytest.mark.parametrize(
    ("source", "text", "message"),
    [
        ({}, "", "made has no texts of outputs"),
        (
            {"references": ()},
            "x",
            "no references.*chrf, rouge-l.*references; add",
        ),
        ({"references": (" ",)}, "x", "has no references"),
        ({"text": ""}, "x", "no texts .* novelty is compared"),
    ],
)
def test_nothing_to_compare_with(source: dict[str, Any], text: str, message: str) -> None:
    made = dataset(*(replace(entry, text=text) for entry in OUTPUTS), **source)
    with pytest.raises(UsageError, match=message):
        outputs_to_score(made, [find_metric(name) for name in ("chrf", "novelty", "rouge-l")])


def test_one_source_without_references_is_no_error() -> None:
    made = dataset(*OUTPUTS)
    lacking = replace(made, sources=dict(made.sources) | {"s2": Source("s2", "zh")})
    outputs = outputs_to_score(lacking, [find_metric("chrf")])
    assert by_output(score_outputs(find_metric("chrf"), lacking, outputs))["s2/a"] == "no reference"


def test_a_criterion_of_that_name_with_another_scale() -> None:
    own = replace(METRIC_SCORE, scale=Scale("interval", (), 1, 5))
    with pytest.raises(UsageError, match=r"'score' \(1 to 5, higher"):
        with_metric_score(dataset(*OUTPUTS, criteria=[own]))
    same = replace(METRIC_SCORE, label="Mine")
    assert with_metric_score(dataset(*OUTPUTS, criteria=[same])).criteria == {"score": same}
    assert list(with_metric_score(dataset(*OUTPUTS)).criteria) == ["task_quality", "score"]


def test_names_that_are_no_utf_8() -> None:
    rater = metric_rater(
        replace(find_metric("chrf"), name="a\udcff.py:f", signature="a\udcff.py:f|1")
    )
    assert (rater.rater, rater.about["signature"]) == ("a\ufffd.py:f", "a\ufffd.py:f|1")


# ---------------------------------------------------------------- scores that are there already


def test_more_outputs_leave_earlier_scores_as_they_are() -> None:
    chrf, made = find_metric("chrf"), dataset(*OUTPUTS)
    entire = score_outputs(chrf, made, OUTPUTS)
    earlier = score_outputs(chrf, made, OUTPUTS[:2])
    assert changed(metric_rater(chrf), earlier, made) == ""
    missing = not_in(earlier, OUTPUTS)
    assert missing == [OUTPUTS[2]]
    joined = together(earlier, score_outputs(chrf, made, missing), made)
    assert by_output(joined) == by_output(entire)
    assert joined.rater == entire.rater


@pytest.mark.parametrize(
    "other",
    [
        {"text": "another source"},
        {"references": ("one\n", "two")},
        {"references": ("one", "\ntwo")},
    ],
)
def test_texts_that_changed(other: dict[str, Any]) -> None:
    metric = find_metric("rouge-l")
    before = dataset(*OUTPUTS, references=("one", "two"))
    earlier = score_outputs(metric, before, OUTPUTS)
    assert "texts other than" in changed(metric_rater(metric), earlier, dataset(*OUTPUTS, **other))
    one_other = dataset(*OUTPUTS[:2], replace(OUTPUTS[2], text="雨停"), references=("one", "two"))
    assert "texts other than" in changed(metric_rater(metric), earlier, one_other)
    assert "texts other than" in changed(
        metric_rater(metric), earlier, dataset(*OUTPUTS[:2], references=("one", "two"))
    )


def test_a_metric_that_changed() -> None:
    made = dataset(*OUTPUTS)
    earlier = score_outputs(find_metric("bleu"), made, OUTPUTS)
    assert "another signature" in changed(
        metric_rater(find_metric("bleu(smooth=none)"), "bleu"), earlier, made
    )
    person = Scores(Rater("bleu", "human"), earlier.facts)
    assert changed(metric_rater(find_metric("bleu")), person, made) == "is of kind human"


def test_what_is_not_scored_again_has_no_score() -> None:
    made = dataset(*OUTPUTS)
    earlier = score_outputs(find_metric("rouge-1"), made, OUTPUTS)
    later = score_outputs(find_metric("rouge-l"), made, OUTPUTS[:1], name="rouge-1")
    assert by_output(in_place_of(earlier, later, made)) == pytest.approx(
        {"s1/a": 4 / 7, "s1/b": NOT_AGAIN, "s2/a": NOT_AGAIN}
    )


IDS = ("007", "b", "雨", "d", "e")


@pytest.fixture
def made() -> Dataset:
    outputs = [Output(name, "s", f"g{number}", "en") for number, name in enumerate(IDS)]
    return assemble(Card("made"), [TASK_QUALITY], [Source("s", "en")], outputs, [], facts_from([]))


def read(made: Dataset, lower: bool = False, **columns: list[Any]) -> tuple[Scores, list[str]]:
    table = Table(Path("comet.csv"), pd.DataFrame(columns))
    new = rater("comet", "1", "lower" if lower else "higher", negated=lower)
    return outside_scores(table, made, new, list(made.outputs.values()))


def test_by_output(made: Dataset) -> None:
    scores, lacking = read(
        made, Output=["雨", "007", "b"], score=["0.5", "", "-1e1"], more=["x", "y", "z"]
    )
    assert scores.outputs == ["雨", "007", "b"]
    assert scores.facts["score"].tolist()[::2] == [0.5, -10.0]
    assert math.isnan(scores.facts["score"][1])
    assert list(scores.facts["reason"]) == ["", "no score in comet.csv", ""]
    assert lacking == ["d", "e"]


def test_by_source_and_generator_and_lower_is_better(made: Dataset) -> None:
    scores, lacking = read(made, True, source=["s", "s"], generator=["g4", "g0"], score=[2.5, 0.0])
    assert dict(zip(scores.outputs, scores.facts["score"], strict=True)) == {"e": -2.5, "007": 0.0}
    assert str(scores.facts["score"][1]) == "0.0"
    assert len(lacking) == 3


@pytest.mark.parametrize("cell", ["", "NaN", "nan", "NA", "None", None, math.nan])
def test_no_score(made: Dataset, cell: object) -> None:
    scores, _ = read(made, output=["b"], score=[cell])
    assert list(scores.facts["reason"]) == ["no score in comet.csv"]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"output": ["b", "x", "y", "z", "w"], "score": [1] * 5},
            "4 outputs ('x', 'y', 'z', ...) not in the dataset",
        ),
        ({"output": ["7"], "score": [1]}, "did you mean '007'"),
        (
            {"output": ["b", "d", "b", "b"], "score": [1] * 4},
            "comet.csv: 1 output ('b') more than once",
        ),
        ({"output": ["b", "x", "b"], "score": [1] * 3}, "1 output ('x') not in the dataset"),
        ({"output": ["b", "x", "b"], "score": [1] * 3}, "; 1 output ('b') more than once"),
        ({"output": [None, "b"], "score": [1] * 2}, "1 output ('') not in the dataset"),
        (
            {"source": ["s"], "generator": ["g9"], "score": [1]},
            "('s by g9') not in the dataset; did you mean 's by g",
        ),
        (
            {"source": ["s"] * 2, "generator": ["g1"] * 2, "score": [1, 2]},
            "('s by g1') more than once",
        ),
        (
            {"output": ["b", "d"], "score": ["1", "high"]},
            "comet.csv row 3: score 'high' is not a finite number",
        ),
        ({"output": ["b"], "score": ["inf"]}, "score 'inf' is not a finite number"),
        ({"output": ["b"], "scores": [1]}, "(columns found: output, scores)"),
        ({"source": ["s"], "score": [1]}, "source, generator and"),
        ({"output": [], "score": []}, "no rows below the header"),
    ],
)
def test_faults(made: Dataset, columns: dict[str, list[Any]], message: str) -> None:
    with pytest.raises(DataError) as fault:
        read(made, **columns)
    assert message in str(fault.value)
    assert "\n" not in str(fault.value)


def test_two_outputs_of_one_source_and_generator() -> None:
    outputs = [Output(name, "s", "g", "en") for name in "ab"]
    made = assemble(Card("made"), [TASK_QUALITY], [Source("s", "en")], outputs, [], facts_from([]))
    with pytest.raises(UsageError, match=r"2 outputs of source 's' by 'g'.*`output`"):
        read(made, source=["s"], generator=["g"], score=[1])
