"""Verdicts in simulated worlds: rarely wrong, and powerful enough (METHODS in ARCHITECTURE.md)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from metal.auditing.cells import AuditCell
from metal.auditing.settings import AuditSettings
from metal.auditing.verdict import Verdict, verdict
from metal.data.ratings import CodeMatrix
from metal.data.records import Criterion, Level, Scale
from metal.stats.bootstrap import SourceBootstrap

GOOD = "as good as a person"
MIXES = {"even": (0.5, 0.5), "rare": (0.8, 0.15, 0.05), "five": (0.3, 0.3, 0.2, 0.1, 0.1)}


def answers(rng: Any, truth: Any, levels: int, right: float) -> Any:
    """Right with this probability, else any other level."""
    return np.where(rng.random(len(truth)) < right, truth, (truth + rng.integers(1, levels, len(truth))) % levels)


def judge_of(kind: str, rng: Any, truth: Any, levels: int, right: float) -> Any:
    """The answers of a judge; the last level is the bad end."""
    said = answers(rng, truth, levels, right - {"-.15": 0.15, "-.30": 0.3}.get(kind, 0))
    worst = levels - 1
    return {
        "constant": np.zeros_like(truth),
        "random": rng.permutation(said),
        "adversarial": (truth + 1) % levels,
        "calls the bad good": np.where((truth == worst) & (rng.random(len(truth)) < 0.8), 0, said),
        "80% constant": np.where(rng.random(len(truth)) < 0.8, 0, said),
        "never the worst": np.where(said == worst, worst - 1, said),
        "misses the rare class": np.where(said == worst, 0, said),
        "bad levels one up": np.where(truth >= levels - 2, np.maximum(said - 1, 0), said),
        "half one up": np.where(rng.random(len(truth)) < 0.5, np.maximum(said - 1, 0), said),
    }.get(kind, said)


def cell_of(
    people: Any, judge: Any, *, ordered: bool = False, outputs: int = 1, levels: int = 0, bad: bool = True
) -> AuditCell:
    """A cell of one judge `j`, whose lower scores are better."""
    levels = levels or int(max(people.max(), judge.max())) + 1
    names = tuple(f"p{place}" for place in range(people.shape[1]))
    codes = np.column_stack([people, judge]).astype(np.int16)
    matrix = CodeMatrix(
        codes,
        np.arange(len(judge)) // outputs,
        tuple(map(str, range(len(judge)))),
        (*names, "j"),
        codes.astype(np.int32),
        np.arange(float(levels)),
    )
    scale = Scale("ordinal" if ordered else "nominal", tuple(Level(k, f"L{k}") for k in range(levels)))
    settings = AuditSettings(resamples=300, bad="" if ordered or not bad else f"L{levels - 1}")
    criterion = Criterion("c", scale, "lower")
    return AuditCell("en", criterion, matrix, np.arange(len(judge)), names, ("j",), dict.fromkeys(names, ""), settings)


def decide(cell: AuditCell, seed: int = 0) -> Verdict:
    return verdict(cell, "j", SourceBootstrap(300, seed))


def verdicts(kind: str, mix: str, items: int, right: float, times: int, careless: int = 0) -> Counter[str]:
    rng = np.random.default_rng([items, round(right * 100), *map(ord, kind + mix)])
    levels = len(MIXES[mix])
    given: Counter[str] = Counter()
    for seed in range(times):
        truth = rng.choice(levels, items, p=MIXES[mix])
        rights = [0.4] * careless + [right] * (3 - careless)
        people = np.stack([answers(rng, truth, levels, share) for share in rights], axis=1)
        judge = judge_of(kind, rng, truth, levels, right)
        cell = cell_of(people, judge, ordered=mix == "five", levels=levels, bad=kind != "misses the rare class")
        given[decide(cell, seed).verdict] += 1
    return given


@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize(
    "kind",
    [
        *("constant", "random", "adversarial", "calls the bad good", "80% constant", "-.15", "-.30", "never the worst"),
        *("misses the rare class", "half one up", "bad levels one up"),
    ],
)
def test_false_licences_are_rare(kind: str, mix: str) -> None:
    times = 40
    for right in (0.95, 0.8):
        assert verdicts(kind, mix, 100, right, times)[GOOD] <= 0.05 * times + 2 * (0.05 * 0.95 * times) ** 0.5


@pytest.mark.parametrize(
    ("mix", "items", "right", "power"),
    [("even", 100, 0.95, 0.99), ("even", 300, 0.8, 0.88), ("rare", 300, 0.95, 0.99), ("rare", 300, 0.8, 0.81)],
)
def test_a_judge_like_a_person_is_found(mix: str, items: int, right: float, power: float) -> None:
    times = 40
    share = verdicts("person", mix, items, right, times)[GOOD] / times
    assert share >= power - 2 * (power * (1 - power) / times) ** 0.5 - 0.05


def test_a_careless_person_is_left_out() -> None:
    given = verdicts("person", "rare", 300, 0.95, 20, careless=1)
    assert given[GOOD] >= 17


@pytest.mark.parametrize("ordered", [False, True])
def test_unanimous_people_and_an_equal_judge(ordered: bool) -> None:
    truth = np.repeat([0, 1], [40, 10])
    said = decide(cell_of(np.stack([truth] * 3, axis=1), truth, ordered=ordered))
    assert said.verdict == GOOD
    assert (said.share_kept.value, said.below_person.value) == (1, 0)


def test_what_is_missing_is_said() -> None:
    truth = np.repeat([0, 1], [55, 5])
    people = np.stack([truth] * 3, axis=1)
    assert decide(cell_of(people, truth)).reason == "only '0 L0' has 10 items: nothing to tell apart"
    assert (
        decide(cell_of(people, np.full(60, -1), levels=2)).reason
        == "the judge answered none of 60 items with two people"
    )
    few = decide(cell_of(people, truth, outputs=4))
    assert (few.verdict, few.reason) == ("undecided", "15 sources, 20 needed for an interval")


def test_people_who_disagree() -> None:
    rng = np.random.default_rng(4)
    said = decide(cell_of(rng.integers(0, 2, (300, 3)), rng.integers(0, 2, 300)))
    assert said.verdict == "people disagree"
    assert "alpha" in said.reason


def test_a_judge_that_was_never_tested_on_bad_outputs() -> None:
    truth = np.repeat([0, 1], [40, 40])
    said = decide(cell_of(np.stack([truth] * 3, axis=1), truth, levels=3))
    assert said.verdict == "informative"
    assert "never tested on '2 L2' outputs" in said.reason


@pytest.mark.parametrize(("share", "expected"), [(0.9, "informative"), (0.0, "uninformative")])
def test_one_person_an_item(share: float, expected: str) -> None:
    rng = np.random.default_rng(5)
    gold = rng.integers(0, 2, 600)
    judge = np.where(rng.random(600) < share, gold, rng.integers(0, 2, 600))
    said = decide(cell_of(gold[:, None], judge))
    assert said.verdict == expected or (expected == "uninformative" and said.verdict == "undecided")
    assert np.isnan(said.share_kept.value)
    if expected == "informative":
        assert "one person per item" in said.reason


def test_a_few_second_people_do_not_replace_a_thousand_labels() -> None:
    rng = np.random.default_rng(7)
    gold = rng.integers(0, 2, 1000)
    second = np.where(np.arange(1000) < 40, gold, -1)
    said = decide(cell_of(np.stack([gold, second], axis=1), answers(rng, gold, 2, 0.9)))
    assert (said.verdict, said.items) == ("informative", 1000)


def test_who_is_careless_does_not_hang_on_the_judge_or_on_a_part_timer() -> None:
    rng = np.random.default_rng(8)
    truth = rng.integers(0, 2, 300)
    people = np.stack([answers(rng, truth, 2, share) for share in (0.4, 0.95, 0.95)], axis=1)
    people = np.column_stack([people, np.where(np.arange(300) < 12, truth, -1)])
    whole, part = truth.copy(), np.where(np.arange(300) < 100, truth, -2)
    for judge in (whole, part):
        assert decide(cell_of(people, judge, levels=2)).left_out == ("p0",)


def test_names_and_order_do_not_matter() -> None:
    rng = np.random.default_rng(6)
    truth = rng.integers(0, 3, 150)
    people = np.stack([answers(rng, truth, 3, 0.8) for _ in range(4)], axis=1)
    judge = answers(rng, truth, 3, 0.7)
    first = decide(cell_of(people, judge, levels=3))
    turned = decide(cell_of(people[:, ::-1], judge, levels=3))
    assert first.share_kept.value == pytest.approx(turned.share_kept.value)
    assert first.verdict == turned.verdict
