"""People who agree on everything at once, more often than people can."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from metal.data.dataset import Card, Dataset, assemble
from metal.data.formats.thumb import read as read_thumb
from metal.data.ratings import tidy_facts
from metal.data.records import Criterion, Level, Output, Rater, Scale, Source
from metal.genie.monitor_tables import Unanimous, unanimous

SCALE = Scale("ordinal", tuple(Level(value, str(value)) for value in range(1, 6)))


def rated(scores: np.ndarray) -> Dataset:
    """scores: (outputs, criteria, people)."""
    outputs, criteria, people = scores.shape
    names = [f"c{number}" for number in range(criteria)]
    rows = [
        (f"o{output}", names[criterion], f"w{person}", scores[output, criterion, person])
        for output in range(outputs)
        for criterion in range(criteria)
        for person in range(people)
    ]
    return assemble(
        Card("made"),
        [Criterion(name, SCALE) for name in names],
        [Source(f"o{output}", "en") for output in range(outputs)],
        [Output(f"o{output}", f"o{output}", "g", "en") for output in range(outputs)],
        [Rater(f"w{person}", "human", "crowd") for person in range(people)],
        tidy_facts(pd.DataFrame(rows, columns=["output", "criterion", "rater", "score"])),
    )


def by_all(scores: np.ndarray) -> tuple[Dataset, list[str]]:
    dataset = rated(scores)
    return dataset, [*dataset.raters]


def test_people_who_rate_by_themselves_are_not_suspected() -> None:
    drawn = np.random.default_rng(0).choice([1, 2, 3], p=[0.05, 0.05, 0.9], size=(300, 4, 3))
    (found,) = unanimous(*by_all(drawn))
    assert (found.group, found.people, found.criteria, found.outputs) == ("crowd", 3, 4, 300)
    assert found.share == pytest.approx(found.expected, abs=0.1)
    assert not found.suspicious


def test_a_copied_column_is() -> None:
    drawn = np.random.default_rng(0).integers(1, 6, size=(300, 4, 3))
    drawn[:150] = drawn[:150, :, :1]
    (found,) = unanimous(*by_all(drawn))
    # Of the other half a criterion comes out alike once in 25, all four once in 390,625.
    assert found.same == 150
    assert found.expected == pytest.approx((0.5 + 0.5 / 25) ** 4, abs=0.02)
    assert found.suspicious


def test_few_outputs_people_or_criteria_suspect_nobody() -> None:
    same = np.full((100, 2, 3), 2)
    assert not any(one.suspicious for one in unanimous(*by_all(same)))  # one label for all: alike by chance too
    assert not list(unanimous(*by_all(same[:, :1])))
    assert not list(unanimous(*by_all(same[:, :, :2])))
    assert not Unanimous("", "en", 3, 2, 40, 30, 0.01).suspicious


@pytest.mark.reference
def test_the_crowd_of_thumb_is_mostly_one_list(reference: Path) -> None:
    dataset = read_thumb(reference / "thumb", {}).assemble(Path("thumb"))
    crowd = {one.group: one for one in unanimous(dataset, [*dataset.raters])}
    assert (crowd["crowd"].same, crowd["crowd"].outputs) == (807, 1600)
    assert crowd["crowd"].suspicious
    assert not crowd["expert"].suspicious
