"""METAL's Tables 1 and 2: worked by hand, and on a dataset of METAL's size and make-up."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from metal.building.describe import (
    ALL,
    NO_CLASS,
    classes,
    lengths,
    quality_of,
    reversals,
    table_1,
    table_2,
)
from metal.data.dataset import Card, Dataset, assemble
from metal.data.metal_criteria import METAL_CRITERIA, metal_criterion
from metal.data.ratings import facts_from
from metal.data.records import Output, Rater, Rating, Source
from tests.conftest import MakeDataset
from tests.saying import tells

LANGUAGES = ("ar", "bn", "en", "fr", "hi", "ja", "ru", "sw", "tr", "zh")


def small() -> Dataset:
    """Two Hindi passages of 10 and 14 tokens, a good and a bad output of each; one good one is not
    to be rated.
    """
    sources = [Source("s1", "hi", "a b", tokens=10), Source("s2", "hi", "c d", tokens=14)]
    outputs = [
        Output("s1/g", "s1", "m/good", "hi", "x", tokens=3),
        Output("s1/b", "s1", "m/bad", "hi", "x", tokens=5),
        Output("s2/g", "s2", "m/good", "hi", "x", chosen=False, tokens=100),
        Output("s2/b", "s2", "m/bad", "hi", "x x", tokens=None),
    ]
    people = [Rater(f"hi-{number}", "human", "native") for number in (1, 2, 3)]
    given = {"s1/g": (2, 2, 0), "s1/b": (0, 0, 1), "s2/b": (0, 1, 2)}
    ratings = [
        Rating(output, "task_quality", f"hi-{number}", score)
        for output, scores in given.items()
        for number, score in enumerate(scores, 1)
    ]
    ratings.append(Rating("s1/b", "hallucinations", "hi-1", 1))
    ratings.append(Rating("s1/g", "hallucinations", "hi-1", None, "no answer"))
    wanted = [metal_criterion("task_quality"), metal_criterion("hallucinations")]
    return assemble(Card("small"), wanted, sources, outputs, people, facts_from(ratings))


def test_lengths_by_hand() -> None:
    row = lengths(small()).iloc[0]
    # passages 10, 14: mean 12, sd sqrt((4 + 4) / 1); outputs 3, 5 are counted, the third has no
    # count
    assert (row["passages"], row["passage_mean"], row["passage_sd"]) == (
        2,
        12,
        pytest.approx(8**0.5),
    )
    assert (row["outputs"], row["output_mean"], row["output_sd"]) == (3, 4, pytest.approx(2**0.5))
    assert (row["passages_counted"], row["outputs_counted"]) == (2, 2)
    assert (row["good"], row["bad"]) == (1, 2)


def test_a_counter_counts_only_what_is_not_known() -> None:
    row = lengths(small(), lambda text: 10 * len(text)).iloc[0]
    assert (row["output_mean"], row["outputs_counted"]) == (pytest.approx((3 + 5 + 30) / 3), 3)


def test_one_passage_has_no_deviation() -> None:
    each = assemble(
        Card("one"),
        [metal_criterion("task_quality")],
        [Source("s", "en", "x", tokens=7)],
        [],
        [],
        facts_from([]),
    )
    result = lengths(each)
    assert np.isnan(result["passage_sd"].iloc[0])
    assert table_1(result)["Passage"].tolist() == ["7.00"]
    assert table_1(result)["Summary"].tolist() == ["-"]


def test_classes_by_hand() -> None:
    result = classes(small()).set_index(["language", "criterion", "quality", "level"])
    # good: 2 2 0 -> Good; bad: 0 0 1 -> Bad, and 0 1 2, whose mean is Medium
    assert result.loc[
        (ALL, "task_quality", "good", "2 Good"), ["count", "items", "share"]
    ].tolist() == [1, 1, 1.0]
    assert result.loc[("hi", "task_quality", "bad", "0 Bad"), ["count", "items"]].tolist() == [1, 2]
    assert result.loc[("hi", "task_quality", "bad", "1 Medium"), ["count", "share"]].tolist() == [
        1,
        0.5,
    ]
    assert result.loc[(ALL, "task_quality", ALL, "1 Medium"), "share"] == pytest.approx(1 / 3)
    # nobody answered: no item, not zero
    assert (ALL, "hallucinations", "good", "1 Present") not in result.index
    assert result.loc[(ALL, "hallucinations", "bad", "1 Present"), "items"] == 1


def test_without_the_mean_three_labels_are_no_class() -> None:
    result = classes(small(), "majority")
    tied = result[(result["level"] == NO_CLASS) & (result["language"] == ALL)]
    assert tied[["quality", "count"]].to_numpy().tolist() == [[ALL, 1], ["bad", 1]]


def test_rates_add_up_with_what_has_no_class() -> None:
    made = small()
    shown = table_2(classes(made, "majority"), made)
    assert shown[shown["figure"] == "count"]["class"].tolist() == ["0", "1", "2", NO_CLASS]
    assert shown[shown["class"] == NO_CLASS]["TQ"].tolist() == ["0 / 1", "0% / 50%"]
    assert shown[shown["figure"] == "count"]["TQ"].tolist() == ["0 / 1", "0 / 0", "1 / 0", "0 / 1"]


def test_only_what_is_asked_for() -> None:
    assert set(classes(small(), criteria=["hallucinations"])["criterion"]) == {"hallucinations"}
    assert classes(small(), languages=["sw"]).empty
    assert lengths(small(), languages=["sw"]).empty


def test_qualities_are_noted_or_in_the_name(make_dataset: MakeDataset) -> None:
    made = small()
    assert quality_of(made) == {"m/good": "good", "m/bad": "bad"}
    noted = replace(made, extra={"generators": {"m/good": {"quality": "medium"}}})
    assert quality_of(noted)["m/good"] == "medium"
    assert quality_of(make_dataset({"en": {"A1": [0, 1]}})) == {}  # g0: a name that says nothing
    names = {
        "gpt-4-Good": "good",
        "demo-bad": "bad",
        "bad": "bad",
        "goodmodel": "",
        "notbad": "",
        "reference": "reference",
    }
    for name, quality in names.items():
        output = Output("o", "s1", name, "hi")
        assert quality_of(replace(made, outputs={"o": output})).get(name, "") == quality


def like_metal(published: dict[str, Any]) -> Dataset:
    """1,000 summaries in ten languages with METAL's numbers of good and bad ones, lengths, and
    aggregate classes.
    """
    rng = np.random.default_rng(0)
    sources, outputs, ratings = [], [], []
    for code, (mean, sd, short, short_sd, good, bad) in zip(
        LANGUAGES, published["table1"].values(), strict=True
    ):
        tokens = [_like(mean, sd, good + bad, rng), _like(short, short_sd, good + bad, rng)]
        for number in range(int(good + bad)):
            quality = "good" if number < good else "bad"
            source = f"{code}/{number}"
            sources.append(Source(source, code, "x", tokens=int(tokens[0][number])))
            outputs.append(
                Output(
                    f"{source}/{quality}",
                    source,
                    f"gpt-4-{quality}",
                    code,
                    "x",
                    tokens=int(tokens[1][number]),
                )
            )
    for place, name in enumerate(
        ("linguistic_acceptability", "output_content_quality", "task_quality")
    ):
        ratings += _rated(
            name, [published["table2"][str(level)][place] for level in range(3)], outputs
        )
    for place, name in ((3, "hallucinations"), (4, "problematic_content")):
        ratings += _rated(
            name, [published["table2"][str(level)][place] for level in range(2)], outputs
        )
    people = [Rater(f"A{number}", "human", "native") for number in (1, 2, 3)]
    wanted = [metal_criterion(name) for name in METAL_CRITERIA]
    return assemble(Card("like-metal"), wanted, sources, outputs, people, facts_from(ratings))


def _like(mean: float, sd: float, count: float, rng: np.random.Generator) -> np.ndarray:
    """So many whole numbers of about that mean and standard deviation."""
    drawn = rng.normal(size=int(count))
    drawn = (drawn - drawn.mean()) / drawn.std(ddof=1)
    return np.round(mean + sd * drawn).clip(1)


def _rated(name: str, counts: list[list[int]], outputs: list[Output]) -> list[Rating]:
    """Three ratings an output, whose majority gives these numbers of (good, bad) outputs at each
    level.
    """
    ratings = []
    for side, quality in enumerate(("good", "bad")):
        levels = [level for level, both in enumerate(counts) for _ in range(both[side])]
        own = [each for each in outputs if each.generator.endswith(quality)]
        assert len(levels) == len(own), (name, quality)
        for number, (output, level) in enumerate(zip(own, levels, strict=True)):
            # a dissent now and then
            other = (level + 1) % len(counts) if number % 3 == 0 else level
            for rater, score in zip(("A1", "A2", "A3"), (level, other, level), strict=True):
                ratings.append(Rating(output.output, name, rater, score))
    return ratings


@pytest.mark.reference
def test_a_dataset_made_like_metals_gives_its_tables(reference: Path) -> None:
    published = json.loads((reference / "oracle" / "metal_published_tables.json").read_text())
    made = like_metal(published)
    assert len(made.outputs) == 1000
    result = lengths(made)
    shown = table_1(result)
    assert list(shown.columns) == ["language", "Passage", "Summary", "Good", "Bad"]
    for row, (mean, sd, short, short_sd, good, bad) in zip(
        result.to_dict("records"), published["table1"].values(), strict=True
    ):
        assert row["passage_mean"] == pytest.approx(mean, abs=0.5)
        assert row["passage_sd"] == pytest.approx(sd, abs=0.5)
        assert row["output_mean"] == pytest.approx(short, abs=5)  # cut off at one token
        assert row["output_sd"] == pytest.approx(short_sd, rel=0.1)
        assert (row["good"], row["bad"]) == (good, bad)
    counted = table_2(classes(made), made)
    short_names = ["LA", "OCQ", "TQ", "H", "PC"]
    for level in ("0", "1", "2"):
        row = counted[(counted["figure"] == "count") & (counted["class"] == level)].iloc[0]
        for place, name in enumerate(short_names):
            good, bad = published["table2"][level][place]
            assert row[name] == (f"{good} / {bad}" if good + bad else "-")


@pytest.mark.reference
def test_what_the_paper_says_of_acceptability_turns_round_as_a_rate(reference: Path) -> None:
    published = json.loads((reference / "oracle" / "metal_published_tables.json").read_text())
    made = like_metal(published)
    words = reversals(classes(made), made)
    # 324 of 520 bad ones are Good in LA, and 313 of 480 good ones: 62.3% against 65.2%
    assert tells(words, "LA 2 Good: more bad outputs", "(313 good, 324 bad)", "65.2%", "62.3%")
    rates = table_2(classes(made), made)
    assert rates[(rates["figure"] == "share") & (rates["class"] == "2")]["LA"].tolist() == [
        "65% / 62%"
    ]
