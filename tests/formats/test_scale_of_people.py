"""A scale that is read off the answers: what only judges answered counts only for those judges."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import metal
from metal.api.read import draft_of
from tests.saying import tells

LABELS = {1: "Bad", 2: "Medium", 3: "Good"}


def table(other: dict[int, object] | None = None, *, words: bool = False) -> pd.DataFrame:
    """Three people and gpt on 100 outputs, on three levels; with `other`, a second judge that
    answers as the first person does, but for these outputs.
    """
    rng, rows = np.random.default_rng(2), []
    for item in range(100):
        true = int(rng.integers(1, 4))
        answers: dict[str, object] = {}
        for rater in ("a", "b", "c", "gpt"):
            answer = true if rng.random() < 0.8 else int(rng.integers(1, 4))
            answers[rater] = LABELS[answer] if words else answer
        if other is not None:
            answers["other"] = other.get(item, answers["a"])
        rows += [
            ("hi", f"s{item}", f"o{item}", "quality", rater, KINDS[rater], answer)
            for rater, answer in answers.items()
        ]
    columns = ["language", "source", "output", "criterion", "rater", "kind", "score"]
    return pd.DataFrame(rows, columns=columns)


KINDS = {"a": "human", "b": "human", "c": "human", "gpt": "llm", "other": "llm"}
SIGNATURE = ["signature"]  # names the data


def of_gpt(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    audit = metal.audit(frame, resamples=100)
    verdicts, judges = (
        each[each["judge"] == "gpt"].drop(columns=SIGNATURE, errors="ignore").reset_index(drop=True)
        for each in (audit.verdicts, audit.judges)
    )
    return verdicts, judges


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({7: 0}, False),
        ({7: 5}, False),
        ({7: 0, 9: 4, 11: 7}, False),
        ({7: "Very bad"}, True),
        ({7: "Excellent", 8: "Very good"}, True),
    ],
)
def test_another_judge_off_peoples_scale_moves_no_verdict(
    other: dict[int, object], words: bool
) -> None:
    alone, figures_alone = of_gpt(table(words=words))
    beside, figures = of_gpt(table(other, words=words))
    pd.testing.assert_frame_equal(alone, beside)
    pd.testing.assert_frame_equal(figures_alone, figures)


def test_the_judge_itself_is_seen_on_the_wider_scale() -> None:
    audit = metal.audit(table(dict.fromkeys(range(40), 0)), resamples=100)
    verdict = audit.verdicts.set_index("judge").loc["other"]
    assert "'0'" in verdict["reason"]


def test_said_and_kept_in_a_dataset(tmp_path: Path) -> None:
    table({7: 0}).to_csv(tmp_path / "ratings.csv", index=False)
    dataset = metal.read(tmp_path / "ratings.csv")
    levels = {level.value: level.judges_only for level in dataset.criteria["quality"].scale.levels}
    assert levels == {0: True, 1: False, 2: False, 3: False}
    dataset.save(tmp_path / "data")
    again = metal.read(tmp_path / "data").criteria["quality"].scale.levels
    assert [level.judges_only for level in again] == [True, False, False, False]
    declared = metal.read(tmp_path / "ratings.csv", levels={"quality": "0,1,2,3"})
    assert not any(level.judges_only for level in declared.criteria["quality"].scale.levels)


def test_people_on_levels_beside_a_judge_on_a_line_are_said(tmp_path: Path) -> None:
    table({7: 1.5}).to_csv(tmp_path / "ratings.csv", index=False)
    notes = "\n".join(draft_of(tmp_path / "ratings.csv", "table", {}).notes)
    assert tells(notes, "1 to 3", "other did not", "continuous scores")


def test_what_an_unnamed_criterion_is_called_is_for_pages_only() -> None:
    """Nothing that a judge is sent, or that tells data apart, depends on it."""
    data = metal.read(table().drop(columns="criterion"))
    criterion = data.criteria["overall"]
    assert (criterion.title, criterion.asked_as, criterion.label) == ("ratings", "overall", "")
    named = replace(data, criteria={"overall": replace(criterion, called="")})
    assert named.digest == data.digest
    asked = metal.prompt_show(data, criterion="overall", question="Is it good?").user
    assert asked == metal.prompt_show(named, criterion="overall", question="Is it good?").user
    told = metal.read(table().assign(criterion="overall")).criteria["overall"]
    assert told.title == "overall"
