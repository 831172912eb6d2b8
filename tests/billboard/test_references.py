"""Agreement by the number of references: which references are drawn, what is scored, and how the
curve comes about.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import pearsonr

from metal.boards.references import COLUMNS, ReferenceCurve, reference_curve
from metal.boards.settings import BoardSettings, ReferenceSettings
from metal.data import formats
from metal.data.dataset import Dataset
from metal.errors import UnknownName, UsageError
from metal.raters.metrics import Item, Metric, find_metric, scored
from metal.raters.metrics.contract import Answer
from tests.billboard.boards import board
from tests.saying import tells

EXPERT = BoardSettings(reference="group=expert")
REFERENCES = [["one", "one two three four", "nine"], ["two", "seven", "three two one zero"]]
TEXTS = ["one two", "nine", "three four five six", "two", "one two three", "seven eight nine"]
EXPERTS = {"quality": {"E1": [0, 1, 2, 1, 0, 2, 2, 0, 1, 2, 1, 0]}}


def small(
    references: Sequence[Sequence[str]] = REFERENCES, **more: dict[str, list[float]]
) -> Dataset:
    """Six sources of two outputs."""
    return board({"en": EXPERTS | more}, references=references, texts=TEXTS)


def metric(
    score: Callable[[Item], Answer], asked: list[Item] | None = None, **about: object
) -> Metric:
    """A metric of one function; asked: takes what it is asked."""

    def answers(items: Sequence[Item]) -> list[Answer]:
        if asked is not None:
            asked.extend(items)
        return [score(item) for item in items]

    return Metric("made", "", answers, "made", **about)  # type: ignore[arg-type]


def shared(item: Item) -> float:
    """How many words the text and its first reference share."""
    return float(len(set(item.text.split()) & set(item.references[0].split())))


def together(item: Item) -> float:
    """The same with the words of all references."""
    return float(
        len(set(item.text.split()) & {word for one in item.references for word in one.split()})
    )


def rows(found: ReferenceCurve, name: str = "made") -> pd.DataFrame:
    table = found.table
    return table[table["metric"] == name].set_index("references")


@pytest.mark.parametrize(("score", "several"), [(shared, False), (together, True)])
def test_with_all_references_it_is_the_metric_itself(
    score: Callable[[Item], Answer], several: bool
) -> None:
    made, dataset = metric(score, multi_reference=several), small()
    found = rows(reference_curve(dataset, [made], EXPERT))
    items = [Item.of(output, dataset.sources[output.source]) for output in dataset.outputs.values()]
    alone = [one.score for one in scored(made, items)]
    assert found.index.tolist() == [1, 2, 3]
    assert found.loc[3, "pearson"] == pytest.approx(
        pearsonr(alone, EXPERTS["quality"]["E1"]).statistic
    )
    assert found["draws"].tolist() == [5, 5, 1]
    assert found["spread"].isna().tolist() == [False, False, True]
    assert (found["lowest"] <= found["pearson"]).all()
    assert (found["pearson"] <= found["highest"]).all()


def test_a_draw_is_one_subset_a_source_that_grows() -> None:
    asked: list[Item] = []
    dataset = small([[f"r{n}" for n in range(6)]])
    made = metric(together, asked, multi_reference=True)
    reference_curve(dataset, [made], EXPERT, ReferenceSettings(draws=1))
    by_text: dict[tuple[str, str], list[frozenset[str]]] = {}
    for item in asked:
        by_text.setdefault((item.source, item.text), []).append(frozenset(item.references))
    orders: dict[str, set[tuple[frozenset[str], ...]]] = {}
    for (source, _), subsets in by_text.items():
        grown = sorted(subsets, key=len)
        assert [len(subset) for subset in grown] == [1, 2, 3, 4, 5, 6]
        assert all(small < large for small, large in pairwise(grown))
        orders.setdefault(source, set()).add(tuple(grown))
    # the same for both outputs of a source
    assert {len(of_source) for of_source in orders.values()} == {1}
    assert len(set.union(*orders.values())) > 1  # and not for all sources


def test_equal_questions_are_asked_once_and_only_of_rated_outputs() -> None:
    asked: list[Item] = []
    scores: dict[str, list[float | None]] = {
        "E1": [0, 1, 2, 1, None, None],
        "C1": [0, 1, 2, 1, 2, 2],
    }
    dataset = board(
        {"en": {"quality": scores}}, references=REFERENCES, texts=["x y", "x y", "z", "one"]
    )
    steps: list[tuple[int, int]] = []
    made = metric(shared, asked)
    reference_curve(
        dataset, [made], EXPERT, progress=lambda done, total: steps.append((done, total))
    )
    questions = [(item.source, item.text, item.references) for item in asked]
    # en0: one text; en1: two; three references each
    assert len(questions) == len(set(questions)) == 3 + 2 * 3
    assert "source 2" not in {item.source for item in asked}
    assert steps[0] == (0, 9)
    assert steps[-1] == (9, 9)


def test_the_seed_draws() -> None:
    made, dataset = metric(shared), small()
    one, again, other = (
        reference_curve(dataset, [made], replace(EXPERT, seed=seed), ReferenceSettings(draws=2))
        for seed in (0, 0, 1)
    )
    pd.testing.assert_frame_equal(one.table, again.table)
    assert rows(one).loc[1, "pearson"] != rows(other).loc[1, "pearson"]
    assert rows(one).loc[3, "pearson"] == rows(other).loc[3, "pearson"]
    assert one.signature != other.signature


def test_sources_with_fewer_references_are_left_out_and_counted() -> None:
    dataset = small([["one two ten"], ["two ten", "three", " "], []])  # no text is a reference
    found = reference_curve(dataset, [metric(shared)], EXPERT)
    assert rows(found).index.tolist() == [1]  # what all that have any have
    assert rows(found).loc[1, ["sources", "outputs", "left_out"]].tolist() == [4, 8, 2]
    assert len(found.notes) == 1
    assert tells(found.notes, "2 of 6 sources", "no reference")
    found = reference_curve(dataset, [metric(shared)], EXPERT, ReferenceSettings(most=2))
    assert rows(found).loc[2, ["sources", "outputs", "left_out"]].tolist() == [2, 4, 4]
    assert tells(found.notes[1], "2 of 6 sources", "fewer than 2 references")
    with pytest.raises(UsageError, match=r"`most` 3: no source.*2 references"):
        reference_curve(dataset, [metric(shared)], EXPERT, ReferenceSettings(most=3))


def test_what_needs_no_references_is_a_line() -> None:
    length = metric(lambda item: float(len(item.text)), needs=("source",))
    dataset = small(score={"m": [float(n) for n in range(12)]})
    found = reference_curve(dataset, [length], EXPERT, ReferenceSettings(beside=("m",)))
    human = EXPERTS["quality"]["E1"]
    lengths = [len(output.text) for output in dataset.outputs.values()]
    assert found.table["references"].isna().all()
    values = found.table.set_index("metric")["pearson"]
    assert values["made"] == pytest.approx(pearsonr(lengths, human).statistic)
    assert values["m"] == pytest.approx(pearsonr(range(12), human).statistic)
    assert tuple(found.table.columns[: len(COLUMNS)]) == COLUMNS


def test_lower_is_better() -> None:
    up = reference_curve(small(), [metric(shared)], EXPERT)
    down = reference_curve(small(), [metric(lambda item: -shared(item), direction="lower")], EXPERT)
    assert rows(down)["pearson"].tolist() == pytest.approx(rows(up)["pearson"].tolist())


def test_texts_without_a_score_are_left_out() -> None:
    made = metric(lambda item: "no word" if item.text == "two" else shared(item))
    found = rows(reference_curve(small(), [made], EXPERT))
    # the last draw compares "nine" with itself alone
    assert found["outputs"].tolist() == [9, 10, 10]
    constant = rows(reference_curve(small(), [metric(lambda item: 1.0)], EXPERT))
    assert constant["pearson"].isna().all()
    assert set(constant["undefined"]) == {"pearson: constant scores"}


def test_what_cannot_be_drawn() -> None:
    with pytest.raises(UsageError, match="no source with rated"):
        reference_curve(small([]), [metric(shared)], EXPERT)
    with pytest.raises(UsageError, match="no metric"):
        reference_curve(small(), [], EXPERT)
    with pytest.raises(UnknownName, match="rater 'comet'"):
        reference_curve(small(), [metric(shared)], EXPERT, ReferenceSettings(beside=("comet",)))
    for settings in ({"most": 0}, {"draws": 0}):
        with pytest.raises(UsageError):
            ReferenceSettings(**settings)


@pytest.mark.reference
def test_more_references_are_better_on_the_released_summaries(reference: Path) -> None:
    dataset = formats.read("thumb", reference / "thumb", {}).assemble(reference)
    settings = replace(EXPERT, criteria=("overall",))
    found = rows(
        reference_curve(
            dataset, [find_metric("rouge-l")], settings, ReferenceSettings(most=10, draws=2)
        ),
        "rouge-l",
    )
    assert found["outputs"].unique().tolist() == [1800]
    assert found.loc[10, "pearson"] > found.loc[4, "pearson"] > found.loc[1, "pearson"]
    assert np.isnan(found.loc[10, "spread"])
