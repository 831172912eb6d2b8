"""A dataset without some people: what is dropped, what stays, and how it is said."""

from __future__ import annotations

import pandas as pd
import pytest

from metal.data.dataset import Dataset, assemble
from metal.data.ratings import facts_from
from metal.data.records import Rater, Rating
from metal.errors import UsageError
from metal.genie.exclusion import only_people, without
from tests.genie.people import METAL, with_golds

RATERS = (
    Rater("A", "human", "native"),
    Rater("B", "human", "native"),
    Rater("tests-only", "human", "native"),
    Rater("judge", "llm", "judge"),
)
WHY = {"A": ("wrong here", "and there"), "judge": ("a judge",), "somebody else": ("not of this dataset",)}


def rated() -> Dataset:
    empty = with_golds(3, raters=RATERS)
    ratings = [
        Rating(output, criterion, rater, 0.0)
        for output in empty.outputs
        for criterion in ("task_quality", "hallucinations")
        for rater in ("A", "B", "judge")
        if not (rater == "A" and output.startswith("sw"))
    ]
    sources, outputs = empty.sources.values(), empty.outputs.values()
    return assemble(empty.card, METAL.values(), sources, outputs, RATERS, facts_from(ratings))


def test_ratings_of_noisy_people_are_dropped_and_no_others() -> None:
    dataset = rated()
    left, _ = without(dataset, WHY)
    kept = dataset.ratings[dataset.ratings["rater"] != "A"]
    pd.testing.assert_frame_equal(left.ratings.astype(str), kept.reset_index(drop=True).astype(str))
    assert list(left.raters) == ["B", "tests-only", "judge"]
    assert "A" not in left.ratings["rater"].cat.categories
    assert (left.outputs, left.sources, left.criteria) == (dataset.outputs, dataset.sources, dataset.criteria)
    assert left.digest != dataset.digest


def test_what_was_dropped_is_counted_and_named() -> None:
    _, excluded = without(rated(), WHY)
    assert excluded.lines == ["A is excluded as noisy (wrong here; and there): 12 ratings dropped"]
    assert excluded.table.astype(str).to_dict("records") == [
        {"rater": "A", "language": "en", "criterion": name, "ratings": "6", "why": "wrong here; and there"}
        for name in ("hallucinations", "task_quality")
    ]


def test_somebody_without_ratings_is_named_too() -> None:
    left, excluded = without(rated(), {"tests-only": ("wrong",)})
    assert excluded.lines == ["tests-only is excluded as noisy (wrong): 0 ratings dropped"]
    assert len(excluded.table) == 0
    assert "tests-only" not in left.raters


def test_nobody_noisy_changes_nothing() -> None:
    dataset = rated()
    left, excluded = without(dataset, {})
    assert left.digest == dataset.digest
    assert (excluded.lines, len(excluded.table)) == ([], 0)


def test_the_dataset_itself_stays_as_it_was() -> None:
    dataset = rated()
    before = dataset.digest, dataset.ratings.copy()
    without(dataset, WHY)
    assert rated().digest == before[0]
    pd.testing.assert_frame_equal(dataset.ratings, before[1])


def test_somebody_has_to_be_left() -> None:
    everybody = {rater.rater: ("wrong",) for rater in RATERS if rater.kind == "human"}
    with pytest.raises(UsageError, match="all 3 people are noisy by their test questions") as raised:
        without(rated(), everybody)
    assert "\n" not in str(raised.value)


def test_only_some_people() -> None:
    dataset = rated()
    left = only_people(dataset, ["B"])
    assert sorted(left.raters) == ["B", "judge"]
    assert set(left.ratings["rater"]) == {"B", "judge"}
    assert only_people(dataset, [*dataset.raters]) is dataset
