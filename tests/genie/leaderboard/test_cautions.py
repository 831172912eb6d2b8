"""What is told before a ranking is read: other people, other texts, and what no test compared."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from metal.data.dataset import Dataset
from tests.genie.leaderboard.boards import Row, dataset, ranked
from tests.genie.leaderboard.test_leaderboard import board, row, rows
from tests.saying import tells

GOOD, BAD = [5.0, 4.0] * 6, [3.0, 1.0] * 6


def open_ranks(one: Mapping[str, Any]) -> tuple[int, int]:
    """The ranks that are not ruled out."""
    return one["rank_low"], one["rank_high"]


def test_one_with_few_sources_does_not_hide_that_the_others_differ() -> None:
    # "few" has 5 sources: p is at least 2^(1 - 5), so that no lead of it is significant.
    # "good" is above "bad" by 2.5 levels on all 12 sources: p = 2 / 4096, times 3 pairs.
    board_of_three = board(dataset(ranked({"few": [5.0] * 5, "good": GOOD, "bad": BAD})))
    spans = {one["generator"]: open_ranks(one) for one in rows(board_of_three)}
    assert spans == {"few": (1, 3), "good": (1, 2), "bad": (2, 3)}
    pair = row(board_of_three, "comparisons", first="good", second="bad")
    assert pair["p_adjusted"] == pytest.approx(3 * pair["p"])
    assert pair["p_adjusted"] < 0.05
    few = [row(board_of_three, "comparisons", first="few", second=name) for name in ("good", "bad")]
    assert few[1]["p"] == 2.0**-4
    assert few[1]["p_adjusted"] == pytest.approx(2 * few[1]["p"])


def test_alike_share_their_ranks() -> None:
    alike = board(dataset(ranked({"good": GOOD, "alike": GOOD, "bad": BAD})))
    assert [open_ranks(one) for one in rows(alike)] == [(1, 2), (1, 2), (3, 3)]
    assert row(alike, "comparisons", first="alike", second="good")["p_adjusted"] == 1
    assert row(alike, "comparisons", first="good", second="bad")["p_adjusted"] < 0.05
    assert alike.warnings == ()


def test_who_shares_sources_with_some_is_tested_against_these() -> None:
    # c shares 6 sources with a, none with b and d, which share all with a.
    lines = ranked({"a": [*GOOD, *GOOD[:6]], "b": BAD, "d": BAD})
    four = board(dataset([*lines, *((f"en-{n}/c", "quality", "A1", 5.0) for n in range(12, 18))]))
    pair = row(four, "comparisons", first="c", second="a")
    assert (pair["sources"], pair["undefined"]) == (6, "")
    assert pair["p"] < pair["p_adjusted"]
    untested = row(four, "comparisons", first="c", second="b")
    assert untested["undefined"] == "p: fewer than 5 shared sources"
    assert math.isnan(untested["p_adjusted"])
    # not told apart from those it was not tested against
    assert open_ranks(row(four, generator="c")) == (1, 4)
    assert open_ranks(row(four, generator="a")) == (1, 2)
    assert row(four, generator="c")["undefined"] == "ranks: fewer than 5 sources shared with b, d"


def test_different_languages_are_told_with_both_ends() -> None:
    found = board(dataset(ranked({"both": GOOD, "one": BAD}) + ranked({"both": GOOD}, "hi")))
    assert [(one["generator"], one["languages"]) for one in rows(found, language="")] == [
        ("both", 2),
        ("one", 1),
    ]
    assert len(found.warnings) == 1
    between = "(sources: from 12 in 1 language to 24 in 2 languages)"
    assert tells(found.warnings, "all languages, quality:", between, '`by="language"`')


def test_as_many_sources_of_other_languages_are_told_as_well() -> None:
    found = board(dataset(ranked({"a": GOOD}) + ranked({"b": GOOD}, "hi")))
    assert tells(
        found.warnings[1],
        "all languages, quality:",
        "(sources: 12 in 1 language each, but not in the same ones)",
    )


def test_the_same_languages_are_no_warning() -> None:
    assert (
        board(
            dataset(ranked({"a": GOOD, "b": GOOD}) + ranked({"a": GOOD, "b": GOOD}, "hi"))
        ).warnings
        == ()
    )


GROUPS = {"A1": "expert", "A2": "expert", "W1": "crowd", "W2": "crowd", "W3": "crowd"}
HIGH, LOW = [5.0, 4.0] * 6, [3.0, 2.0] * 6


def rated_by(panels: Mapping[str, Sequence[str]], groups: Mapping[str, str] = GROUPS) -> Dataset:
    """Experts (A...) score high, the crowd (W...) low, whatever they rate; each panel is that of
    one generator.
    """
    lines: list[Row] = []
    for generator, people in panels.items():
        for person in people:
            lines += ranked({generator: HIGH if person.startswith("A") else LOW}, rater=person)
    return dataset(lines, groups=groups)


MIXED = {"a": ("A1", "W1", "W2"), "b": ("A1", "W1", "W2"), "c": ("A1", "W1", "W2"), "odd": ("A1",)}


def test_a_generator_of_other_people_is_not_tested() -> None:
    found = board(rated_by(MIXED))
    odd = row(found, generator="odd")
    assert odd["rank"] == 1
    assert open_ranks(odd) == (1, 4)
    assert odd["undefined"] == "ranks: rated by group expert only"
    assert {open_ranks(row(found, generator=name)) for name in "abc"} == {(1, 4)}
    pair = row(found, "comparisons", first="odd", second="a")
    assert math.isnan(pair["p"])
    assert math.isnan(pair["p_adjusted"])
    assert tells(
        pair["undefined"], "p:", "(group expert only, and groups crowd 67% and expert 33%)"
    )
    # 2/3 of the crowd's 2 levels below
    assert (pair["sources"], round(pair["difference"], 4)) == (12, 0.3333)
    assert tells(
        found.warnings[0],
        "English, quality:",
        "'odd' by group expert only;",
        "crowd 67% and expert 33%",
        "no test",
        "`reference='group=expert'`",
    )


def test_by_the_group_that_rated_all_nobody_is_odd() -> None:
    found = board(rated_by(MIXED), reference="group=expert")
    assert {one["undefined"] for one in rows(found)} == {""}
    assert {one["rank"] for one in rows(found)} == {1}
    assert found.warnings == ()


@pytest.mark.parametrize("groups", [{}, dict.fromkeys(GROUPS, "native")])
def test_people_of_one_group_or_none_change_nothing(groups: Mapping[str, str]) -> None:
    found = board(rated_by(MIXED, groups))
    assert row(found, generator="odd")["undefined"] == ""
    assert found.warnings == ()


def test_people_without_a_group_are_a_group_beside_others() -> None:
    groups = {name: group for name, group in GROUPS.items() if group == "expert"}
    found = board(rated_by({**MIXED, "odd": ("W1",)}, groups))
    assert tells(row(found, generator="odd")["undefined"], "ranks:", "without a group")
    assert '`reference="group=NAME"`' in found.warnings[0]


@pytest.mark.parametrize(
    ("other", "differs"),
    [
        # Of three: the crowd has 2/3. Another of the same groups, 1/3: moved by .33; of four, 3/4:
        # by .08.
        (("A1", "A2", "W1"), True),
        (("A1", "W1", "W2", "W3"), False),
        (("A2", "W3", "W1"), False),
        (("W1", "W2"), True),
    ],
)
def test_shares_of_groups_have_to_differ_much(other: Sequence[str], *, differs: bool) -> None:
    found = board(rated_by({**MIXED, "odd": other}))
    assert row(found, generator="odd")["undefined"].startswith("ranks: rated by ") is differs
    assert bool(found.warnings) is differs


def test_a_group_that_is_missing_counts_from_a_tenth_on() -> None:
    def odd(sources: int) -> bool:
        # a, b, c: by the crowd, and on so many of 20 sources half by an expert; d: by the crowd
        # only.
        lines = ranked({name: [3.0] * 20 for name in "abcd"}, rater="W1")
        lines += ranked({name: [4.0] * sources for name in "abc"}, rater="A1")
        return "ranks: " in row(board(dataset(lines, groups=GROUPS)), generator="d")["undefined"]

    assert [odd(sources) for sources in (3, 4)] == [False, True]


def test_groups_are_held_against_each_other_on_shared_sources() -> None:
    # Each language has people of its own: on the Hindi sources both were rated by the same group.
    lines = ranked({"both": HIGH, "other": HIGH}, rater="A1") + ranked(
        {"both": HIGH, "hindi": LOW}, "hi", rater="W1"
    )
    found = board(dataset(lines, groups=GROUPS))
    assert row(found, "comparisons", language="", first="both", second="hindi")["p"] < 0.05
    pair = row(found, "comparisons", language="", first="other", second="hindi")
    assert pair["undefined"] == "p: fewer than 5 shared sources"
    assert "'other' by group expert only" in found.warnings[0]
    assert open_ranks(row(found, language="", generator="hindi")) == (2, 3)


def test_many_odd_ones_are_counted_and_a_group_is_quoted_for_the_shell() -> None:
    groups = {"A1": "the experts", "W1": "crowd"}
    few = dict.fromkeys("pqrst", ("A1",))
    found = board(rated_by({**dict.fromkeys("abcdef", ("A1", "W1")), **few}, groups))
    assert (
        "'p', 'q', 'r' by group the experts only; 2 more by further groups; the rest by"
        in found.warnings[0]
    )
    assert "`reference='group=the experts'` ranks all" in found.warnings[0]
    assert sum("different groups" in told for told in found.warnings) == 1


def test_a_criterion_of_other_people_is_told_where_overall_is_not() -> None:
    # errors: "odd" by experts only, the others by both; on quality all by both, so that overall
    # differs by less.
    people = ("A1", "W1", "W2")
    lines = [
        line for name in "abcd" for person in people for line in ranked({name: HIGH}, rater=person)
    ]
    errors = {"a": people, "b": people, "c": people, "d": ("A1", "A2", "W1")}
    lines += [
        (f"en-{n:02d}/{name}", "errors", who, 2)
        for name in errors
        for who in errors[name]
        for n in range(12)
    ]
    found = board(dataset(lines, groups=GROUPS))
    assert tells(found.warnings[0], "English, errors:", "different groups")
    assert "'d' by groups expert 67% and crowd 33%" in found.warnings[0]
    assert {one["undefined"] for one in rows(found, criterion="overall")} == {""}
