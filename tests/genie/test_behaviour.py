"""People beside their colleagues: how each rates, and who agree on everything at once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from metal.data import formats
from metal.data.dataset import Card, Dataset, assemble
from metal.data.formats.thumb import read as read_thumb
from metal.data.ratings import facts_from, tidy_facts
from metal.data.records import Criterion, Level, Output, Rater, Rating, Scale, Source
from metal.genie.behaviour import ALL_CRITERIA, COLUMNS, behaviour
from metal.questions.people.monitor_tables import Unanimous, not_compared, stands_out, unanimous
from tests.saying import tells

QUALITY = Criterion(
    "quality", Scale("ordinal", tuple(Level(value, f"L{value}") for value in range(5)))
)
ERRORS = Criterion("errors", Scale("nominal", (Level(0, "no"), Level(1, "yes"))), direction="lower")
FREE = Criterion("length", Scale("interval"))

Scores = dict[str, list[int | float | None]]


def made(
    scores: dict[Criterion, Scores] | Scores,
    *,
    groups: dict[str, str] | None = None,
    comments: dict[str, list[str]] | None = None,
    per_source: int = 2,
) -> Dataset:
    """One output per item, `per_source` of each source; "-" in a list is an item nobody asked the
    rater about.
    """
    by_criterion: Any = (
        scores if any(isinstance(key, Criterion) for key in scores) else {QUALITY: scores}
    )
    names = list(dict.fromkeys(name for rows in by_criterion.values() for name in rows))
    items = max(len(row) for rows in by_criterion.values() for row in rows.values())
    sources = [Source(f"s{one}", "en") for one in range((items + per_source - 1) // per_source)]
    outputs = [
        Output(f"o{one:03}", f"s{one // per_source}", f"g{one % per_source}", "en")
        for one in range(items)
    ]
    raters = [Rater(name, "human", (groups or {}).get(name, "")) for name in names]
    ratings = [
        Rating(
            f"o{one:03}",
            criterion.name,
            name,
            score,
            "" if score is not None else "refused",
            (comments or {}).get(name, [""] * items)[one],
        )
        for criterion, rows in by_criterion.items()
        for name, row in rows.items()
        for one, score in enumerate(row)
        if score != "-"
    ]
    return assemble(Card("made"), list(by_criterion), sources, outputs, raters, facts_from(ratings))


def crowd(
    items: int = 120, people: int = 4, seed: int = 0
) -> tuple[np.ndarray, dict[str, list[int]]]:
    """The truth, and people who see it within one level."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 5, items)
    near = [
        np.clip(truth + rng.choice([-1, 0, 0, 0, 1], items), 0, 4).tolist() for _ in range(people)
    ]
    return truth, {f"A{number}": row for number, row in enumerate(near)}


def rows(dataset: Dataset, criterion: str = "quality") -> dict[str, dict[str, Any]]:
    """The row of each rater."""
    found = behaviour(dataset, resamples=200)
    assert list(found.columns) == list(COLUMNS)
    return {row["rater"]: row for row in found.to_dict("records") if row["criterion"] == criterion}


def test_progress_is_of_all_slices_by_their_ratings() -> None:
    told: list[int] = []
    # groups x: 6 ratings, y: 4
    scores = {"A": [0, 4, 4], "B": [0, 4, 0], "C": ["-", 4, 4], "D": [0, "-", 4]}
    behaviour(
        made(scores, groups={**dict.fromkeys("AB", "x"), **dict.fromkeys("CD", "y")}),
        progress=lambda done, _: told.append(done),
    )
    # of x three quarters (.6 x 75) are its one fit, the rest its two people; the same of y, from
    # 60; per cent are cut
    assert [*dict.fromkeys(told)] == [0, 45, 52, 60, 90, 94, 100]


def test_figures_by_hand() -> None:
    # Items 0-3; A 0 0 4 4, B 0 0 4 -, C 0 4 4 4. Shares of the scale 0, 0, 1, 1 and so on.
    found = rows(made({"A": [0, 0, 4, 4], "B": [0, 0, 4, "-"], "C": [0, 4, 4, 4]}, per_source=1))
    a, c = found["A"], found["C"]
    assert (a["ratings"], a["shared"], a["sources"], a["compared"]) == (4, 4, 4, 3)
    assert a["ties"] == 1  # item 1: B says 0, C says 4
    assert a["majority_agreement"] == 1  # items 0, 2, 3
    assert a["agreement"] == pytest.approx((1 + 0.5 + 1) / 3)
    assert a["colleagues_agreement"] == pytest.approx((1 + 0 + 1) / 3)
    assert a["agreement_difference"] == pytest.approx(0.5 / 3)
    # A gives 0 where the mean of the others is 2 of 4
    assert a["severity"] == pytest.approx((0 + 0.5 + 0 + 0) / 4)
    assert c["severity"] == pytest.approx(-1 / 4)
    assert c["distance"] == pytest.approx(1 / 4)
    assert (c["label"], c["label_share"]) == ("4 L4", 0.75)
    assert c["colleagues_label_share"] == pytest.approx((0 + 0 + 1 + 1) / 4)
    assert c["majority_agreement"] == pytest.approx(3 / 4)


def test_a_quiet_crowd_has_nobody_standing_out() -> None:
    found = rows(made(crowd()[1]))
    assert {name: stands_out(row) for name, row in found.items()} == {
        f"A{number}": [] for number in range(4)
    }


def test_a_guesser_disagrees_more_than_colleagues_do() -> None:
    guesses = np.random.default_rng(9).integers(0, 5, 120).tolist()
    found = rows(made(crowd()[1] | {"guess": guesses}))
    assert len(stands_out(found["guess"])) == 1
    assert tells(stands_out(found["guess"]), "with colleagues more")
    assert all(not stands_out(found[f"A{number}"]) for number in range(4))
    assert (
        found["guess"]["dawid_skene"]
        < 0.35
        < min(found[f"A{number}"]["dawid_skene"] for number in range(4))
    )
    assert found["guess"]["mace"] < 0.1 < min(found[f"A{number}"]["mace"] for number in range(4))


def test_hard_items_condemn_nobody() -> None:
    # Two panels: A and B, C, D on items all find easy; E with B, C, D on items that all of them
    # guess.
    rng = np.random.default_rng(3)
    easy = rng.integers(0, 5, 60).tolist()
    scores: Scores = {
        "A": [*easy, *["-"] * 60],
        "E": [*["-"] * 60, *rng.integers(0, 5, 60).tolist()],
    }
    scores |= {name: [*easy, *rng.integers(0, 5, 60).tolist()] for name in "BCD"}
    found = rows(made(scores))
    assert found["E"]["majority_agreement"] < 0.4
    assert stands_out(found["E"]) == []


def test_one_label_where_others_use_all() -> None:
    found = rows(made(crowd()[1] | {"lazy": [2] * 120}))
    said = " ".join(stands_out(found["lazy"]))
    assert "nearly always says “2 L2”: in 100% of ratings" in said
    assert found["lazy"]["label_difference_low"] > 0.5


def test_one_label_that_all_give_is_no_reason() -> None:
    same = {f"A{number}": [4] * 60 for number in range(3)}
    found = rows(made(same))
    assert all(stands_out(row) == [] for row in found.values())
    assert np.isnan(found["A0"]["mace"])
    assert tells(found["A0"]["undefined"], "mace:", "answers", "one class")


def test_severe_and_mild_and_the_direction_of_the_scale() -> None:
    truth, people = crowd()
    found = rows(made(people | {"hard": np.clip(truth - 1, 0, 4).tolist()}))
    assert "much severer than colleagues" in " ".join(stands_out(found["hard"]))
    found = rows(made(people | {"mild": np.clip(truth + 1, 0, 4).tolist()}))
    assert found["mild"]["severity"] < 0
    (words,) = (reason for reason in stands_out(found["mild"]) if "milder" in reason)
    # signs oppose no word
    assert re.search(r"(\d+%) of the scale above theirs \(\1 \[\d+%, \d+%\], p < 0.001", words)
    assert (
        not_compared(found["mild"] | {"ratings": 0, "unanswered": 1080})
        == "answered none of 1,080 test questions"
    )
    yes = np.random.default_rng(0).random((4, 80)) < 0.1
    scores: Scores = {f"A{one}": yes[one].astype(int).tolist() for one in range(4)} | {
        "sees": [1] * 80
    }
    found = rows(made({ERRORS: scores}), "errors")
    # finds errors everywhere, and errors are bad
    assert "severer" in " ".join(stands_out(found["sees"]))
    assert found["sees"]["severity"] > 0.8


def test_a_worker_who_is_always_wrong_and_one_alone() -> None:
    truth = np.random.default_rng(0).integers(0, 2, 60)
    scores: Scores = {f"A{one}": truth.tolist() for one in range(3)} | {
        "wrong": (1 - truth).tolist()
    }
    found = rows(made({ERRORS: scores}), "errors")
    assert tells(stands_out(found["wrong"]), "never gives the label", "(0 of 60 ratings)")
    assert found["A0"]["majority_agreement"] == 1
    alone = rows(made({"A": [1, 2, 3]}))["A"]
    assert tells(not_compared(alone), "no colleague", "(3 ratings)")
    assert stands_out(alone) == []
    assert np.isnan(
        [alone["agreement"], alone["severity"], alone["dawid_skene"], alone["label_share"]]
    ).all()
    assert "severity: no colleague" in alone["undefined"]


def test_no_answers_few_answers_and_one_colleague() -> None:
    truth, people = crowd(40, 2)
    few: Scores = {"few": [*truth[:6].tolist(), *["-"] * 34], "silent": [None] * 40}
    found = rows(made(people | few))
    assert tells(not_compared(found["few"]), "6 on 3 sources (20 on 10 needed)")
    assert stands_out(found["few"]) == []
    assert not_compared(found["silent"]) == "answered none of 40 test questions"
    assert (found["silent"]["ratings"], found["silent"]["unanswered"]) == (0, 40)
    pair = rows(made(people))["A0"]
    assert "agreement_difference: no output" in pair["undefined"]


def test_comments_said_again_on_other_outputs() -> None:
    _, people = crowd(60, 3)
    own = [f"remark {number}" for number in range(60)]
    comments = {"A0": ["  Good   answer"] * 40 + ["good answer"] * 20, "A1": own, "A2": [""] * 60}
    found = rows(made(people, comments=comments))
    assert (found["A0"]["commented"], found["A0"]["repeated"], found["A0"]["repeated_outputs"]) == (
        1,
        1,
        60,
    )
    assert found["A0"]["colleagues_repeated"] == 0
    assert any("“Good answer” on 60 outputs" in reason for reason in stands_out(found["A0"]))
    assert found["A1"]["repeated"] == 0
    assert np.isnan(found["A2"]["repeated"])
    assert "repeated: no comments" in found["A2"]["undefined"]


def test_a_comment_on_two_criteria_of_one_output_is_not_repeated() -> None:
    comments = {name: [f"{name} on {one}" for one in range(40)] for name in ("A0", "A1", "A2")}
    _, people = crowd(40, 3)
    errors: Scores = {name: [0, 1] * 20 for name in people}
    found = rows(made({QUALITY: people, ERRORS: errors}, comments=comments), ALL_CRITERIA)
    assert found["A0"]["comments"] == 80
    assert found["A0"]["repeated"] == 0
    assert tells(found["A0"]["undefined"], "label_share:", "different scales")
    assert found["A0"]["ratings"] == 80


def test_experts_are_not_set_beside_the_crowd() -> None:
    truth, people = crowd(80, 6)
    severe = {f"E{one}": np.clip(truth - 2, 0, 4).tolist() for one in range(2)}
    groups = dict.fromkeys(people, "crowd") | dict.fromkeys(severe, "expert")
    assert rows(made(people | severe, groups=groups))["E0"]["severity"] == 0


def test_a_criterion_without_levels_or_ends() -> None:
    found = rows(made({FREE: {f"A{one}": [1.5, 2.5, 3.0] for one in range(3)}}), "length")["A0"]
    assert tells(found["undefined"], "severity:", "no ends")
    assert tells(found["undefined"], "label_share:", "no levels")


def test_the_order_of_ratings_does_not_matter() -> None:
    _, people = crowd(50, 4)
    first = rows(made(people))
    second = rows(made(dict(reversed(list(people.items())))))
    assert repr(sorted(first.items())) == repr(sorted(second.items()))


@pytest.mark.reference
def test_pariksha(reference: Path) -> None:
    """Released ratings: a severe worker, opposite scales, copied comments, and one with nine
    ratings.
    """
    dataset = formats.read("pariksha", reference / "pariksha", {}).assemble(Path("pariksha"))
    found = behaviour(dataset, resamples=200)
    said = {
        (row["language"], row["rater"], row["criterion"]): " ".join(stands_out(row))
        for row in found.to_dict("records")
    }
    assert "severer" in said["bn", "2429", ALL_CRITERIA]
    assert "disagrees" in said["hi", "10198", ALL_CRITERIA]
    assert "severer" in said["ta", "9663", "hallucinations"]
    assert "nearly always says “0 Absent”" in said["ta", "9162", "hallucinations"]
    assert "repeats comments" in said["hi", "9961", ALL_CRITERIA]


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
    # one label for all: alike by chance too
    assert not any(one.suspicious for one in unanimous(*by_all(same)))
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
