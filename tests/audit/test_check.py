"""Data problems are found; clean data give none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from metal.auditing.check import lint, profile
from metal.data import formats
from metal.data.dataset import Card, Dataset, assemble, with_parts
from metal.data.ratings import facts_from
from metal.data.records import Criterion, Output, Rater, Rating, Scale, Source
from tests.conftest import MakeDataset

RNG = np.random.default_rng(0)


def scores(items: int = 60) -> list[int | None]:
    return RNG.integers(0, 3, items).tolist()


def codes(dataset: Dataset) -> list[str]:
    return [finding.code for finding in lint(dataset)]


def test_clean_data(make_dataset: MakeDataset) -> None:
    assert codes(make_dataset({"hi": {"A1": scores(), "A2": scores(), "judge": scores()}})) == []


def test_one_label(make_dataset: MakeDataset) -> None:
    dataset = make_dataset({"hi": {"A1": scores(), "A2": scores(), "judge": [2] * 60}})
    assert codes(dataset) == ["one-label"]
    assert "judge gives 2 to all 60 outputs" in lint(dataset)[0].message


def test_identical_raters(make_dataset: MakeDataset) -> None:
    same = scores()
    dataset = make_dataset({"hi": {"A1": scores(), "A2": same, "judge": same}})
    assert codes(dataset) == ["identical-raters"]
    assert "A2 and judge" in lint(dataset)[0].message


def test_agreement_by_chance_on_few_outputs_is_no_finding(make_dataset: MakeDataset) -> None:
    rare: list[int | None] = [0] * 58 + [1, 2]
    assert "identical-raters" not in codes(
        make_dataset({"hi": {"A1": rare, "A2": rare, "A3": scores()}})
    )


def test_swapped_languages_never_meet(make_dataset: MakeDataset) -> None:
    raters = {"A1": scores(40), "A2": scores(40), "judge": scores(40)}
    dataset = make_dataset({"hi": raters, "en": raters})
    half = [output.output for output in dataset.outputs.values() if output.language == "hi"][:20]
    table = dataset.ratings
    human = (table["kind"] == "human").to_numpy()
    first = table["output"].isin(half).to_numpy()
    english = (table["language"] == "en").to_numpy()
    swapped = with_parts(
        dataset, facts=table[(human & first) | (~human & ~first) | english].reset_index(drop=True)
    )
    (message,) = [finding.message for finding in lint(swapped) if finding.code == "never-meet"]
    assert message.startswith("Hindi ")
    assert "(20 and 20 outputs)" in message


def test_missing_answers_and_labels_of_machines_only(make_dataset: MakeDataset) -> None:
    people = [0, 1] * 30
    judge: list[int | None] = [None, 2, 0] * 20
    dataset = make_dataset({"hi": {"A1": people, "A2": people[::-1], "judge": judge}})
    messages = " / ".join(finding.message for finding in lint(dataset))
    assert "judge: 20 of 60 ratings have no score (refused 20)" in messages
    assert "judges say 'Good' 20 times" in messages


def test_a_metric_file_copied_over_another() -> None:
    """Released data: one metric has the same scores for two generators on every source."""
    values = RNG.random(40)
    sources = [Source(f"s{n}", "en") for n in range(40)]
    outputs = [
        Output(f"s{n}/{g}", f"s{n}", g, "en")
        for n in range(40)
        for g in ("BanditSum", "NEUSUM", "other")
    ]
    ratings = [
        Rating(f"s{n}/{g}", "overall", "comet", float(values[n] + (0.1 * n if g == "other" else 0)))
        for n in range(40)
        for g in ("BanditSum", "NEUSUM", "other")
    ]
    criterion = Criterion("overall", Scale("interval"))
    dataset = assemble(
        Card("x"), [criterion], sources, outputs, [Rater("comet", "metric")], facts_from(ratings)
    )
    assert [finding.message for finding in lint(dataset)] == [
        "overall: comet gives BanditSum and NEUSUM the same score on all 40 sources"
    ]


def test_profile_counts(make_dataset: MakeDataset) -> None:
    tables = profile(
        make_dataset({"hi": {"A1": [0, 1, None], "A2": [0, None, None], "judge": [1, 1, 1]}})
    )
    assert tables["ratings"].iloc[0].to_dict() == {
        "language": "hi",
        "criterion": "task_quality",
        "outputs": 3,
        "human": 6,
        "llm": 3,
        "by 1": 1,
        "by 2": 1,
    }
    raters = tables["raters"].set_index("rater")
    assert raters.loc["A1", "coverage"] == pytest.approx(2 / 3)
    labels = tables["labels"].set_index(["rater", "level"])["count"]
    assert labels[("judge", "1 Medium")] == 3
    assert labels[("judge", "0 Bad")] == 0


@pytest.mark.reference
def test_the_real_data_have_their_faults(reference: Path) -> None:
    def messages(name: str, folder: str) -> str:
        return " / ".join(
            f.message for f in lint(formats.read(name, reference / folder, {}).assemble(Path(name)))
        )

    assert "Malayalam: 1831 rated only 3 outputs" in messages("pariksha", "pariksha")
    assert "gpt-4o-mini: 297 of 4,500 ratings have no score" in messages("basse", "basse")
    assert "judges say 'Ignore'" in messages("alttest", "alttest/lgbteen")
