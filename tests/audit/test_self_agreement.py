"""Judges that were asked again: how often they say the same, and that they are no judges of their
own.
"""

from __future__ import annotations

from dataclasses import replace
from math import isnan

import pytest

from metal.auditing.audit import audit
from metal.auditing.check import lint
from metal.auditing.settings import AuditSettings
from metal.data.dataset import Dataset, assemble, with_parts
from metal.data.ratings import FACTS
from tests.conftest import MakeDataset
from tests.saying import tells

FAST = AuditSettings(resamples=100)


def repeated(dataset: Dataset) -> Dataset:
    """The dataset with judge#2 and judge#3 marked as `judge` asked again."""
    raters = [
        replace(rater, about={"repeats": "judge", "sample": int(rater.rater[-1])})
        if "#" in rater.rater
        else rater
        for rater in dataset.raters.values()
    ]
    return with_parts(dataset, raters=raters, facts=dataset.ratings.loc[:, list(FACTS)])


PEOPLE = {"A1": [0, 1, 2, 2, 1], "A2": [0, 1, 2, 2, 1], "A3": [0, 1, 2, 1, 0]}


def test_self_agreement_by_hand(make_dataset: MakeDataset) -> None:
    # item        1  2  3  4  5     pairs of answers that are equal / pairs of answers
    # judge       0  1  2  2  1
    # judge#2     0  1  1  2  -     item 1: 3/3, 2: 3/3, 3: 1/3, 4: 3/3, 5: one answer only
    # judge#3     0  1  2  2  -     together 10/12; the same every time: items 1, 2, 4
    answers = {
        "judge": [0, 1, 2, 2, 1],
        "judge#2": [0, 1, 1, 2, None],
        "judge#3": [0, 1, 2, 2, None],
    }
    dataset = repeated(make_dataset({"sw": PEOPLE | answers}))
    row = audit(dataset, FAST).tables["self_agreement"].iloc[0]
    assert (row["judge"], row["language"], row["times"], row["items"], row["all_equal"]) == (
        "judge",
        "sw",
        3,
        4,
        3,
    )
    assert row["self_agreement"] == pytest.approx(10 / 12)
    assert row["self_agreement_low"] <= 10 / 12 <= row["self_agreement_high"]


def test_who_is_asked_again_is_no_judge_of_its_own(make_dataset: MakeDataset) -> None:
    answers = {"judge": [0, 1, 2, 2, 1], "judge#2": [0, 1, 1, 2, 1]}
    dataset = repeated(make_dataset({"sw": PEOPLE | answers}))
    assert audit(dataset, FAST).judges == ("judge",)
    assert audit(dataset, replace(FAST, judges=("judge#2",))).judges == ("judge#2",)


def test_one_class_has_no_alpha_and_says_why(make_dataset: MakeDataset) -> None:
    dataset = repeated(make_dataset({"sw": PEOPLE | {"judge": [2] * 5, "judge#2": [2] * 5}}))
    row = audit(dataset, FAST).tables["self_agreement"].iloc[0]
    assert row["self_agreement"] == 1.0
    assert isnan(row["alpha"])
    assert row["undefined"] == "alpha: one class"


def test_without_repeats_the_table_is_empty(make_dataset: MakeDataset) -> None:
    result = audit(make_dataset({"sw": PEOPLE | {"judge": [0, 1, 2, 2, 1]}}), FAST)
    assert result.tables["self_agreement"].empty


def test_equal_answers_on_being_asked_again_are_no_oddity(make_dataset: MakeDataset) -> None:
    many = {name: scores * 20 for name, scores in PEOPLE.items()}
    same = [0, 1, 2, 2, 1] * 20
    findings = lint(repeated(make_dataset({"sw": many | {"judge": same, "judge#2": same}})))
    assert not [finding for finding in findings if "judge#2" in finding.message]


def test_versions_and_what_was_not_sent_are_told(make_dataset: MakeDataset) -> None:
    dataset = make_dataset({"sw": PEOPLE | {"judge": [0, 1, 2, 2, 1]}})
    about = {
        "prompt": "simple",
        "prompt_hash": {"task_quality": "a71e0000"},
        "versions": {"m-2 fp": 3, "m-1 fp": 2},
        "rejected": {"temperature": "unsupported"},
    }
    raters = [
        replace(rater, about=about) if name == "judge" else rater
        for name, rater in dataset.raters.items()
    ]
    facts = dataset.ratings.loc[:, list(FACTS)]
    parts = (dataset.criteria.values(), dataset.sources.values(), dataset.outputs.values())
    result = audit(assemble(dataset.card, *parts, raters, facts), FAST)
    assert tells(result.warnings, "judge: 2 model versions", "(m-2 fp 3, m-1 fp 2)")
    assert tells(result.warnings, "judge:", "without temperature 0", "model rejects")
    signature = result.tables["judges"].iloc[0]["signature"]
    assert "|judge:judge|model:m-2+1|prompt:simple@a71e|without:temperature|" in signature
