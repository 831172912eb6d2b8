"""What is told before a ranking is read: other people, other texts, and clusters that hold different generators."""

from __future__ import annotations

import math

import pytest

from metal.genie.leaderboard.cautions import told_apart
from tests.genie.leaderboard.boards import dataset, ranked
from tests.genie.leaderboard.test_leaderboard import board, row, rows

GOOD, BAD = [5.0, 4.0] * 6, [3.0, 1.0] * 6


def test_the_first_of_a_cluster_has_few_sources_and_the_others_differ() -> None:
    # "few" has 5 sources, so that no lead of it can be significant after Holm: all three are in its cluster.
    # "good" is above "bad" by 2.5 levels on all 12 sources: p = 1 / 201 or a little more, alone in its family.
    found = board(dataset(ranked({"few": [5.0] * 5, "good": GOOD, "bad": BAD})))
    assert [(one["generator"], one["cluster"]) for one in rows(found)] == [("few", 1), ("good", 1), ("bad", 1)]
    pair = row(found, "comparisons", first="good", second="bad")
    assert pair["p_holm"] == pair["p"] < 0.05
    few = [row(found, "comparisons", first="few", second=name) for name in ("good", "bad")]
    assert few[1]["p_holm"] == pytest.approx(2 * few[1]["p"])
    assert few[1]["p_holm"] > 0.05
    assert [one["second"] for one in told_apart(rows(found), rows(found, "comparisons"))] == ["bad"]
    (told,) = [text for text in found.warnings if "in one cluster" in text]
    assert told.startswith("en, quality: 1 pair of generators in one cluster differs by a test of their own")
    assert f"'good' above 'bad' by 0.625 (p {pair['p_holm']:.3f} on 12 sources)" in told
    assert told.endswith("see p_holm in tables/comparisons.csv")


def test_clusters_whose_members_do_not_differ_are_not_told() -> None:
    found = board(dataset(ranked({"good": GOOD, "alike": GOOD, "bad": BAD})))
    assert [one["cluster"] for one in rows(found)] == [1, 1, 2]
    assert row(found, "comparisons", first="alike", second="good")["p_holm"] == 1
    assert row(found, "comparisons", first="good", second="bad")["p_holm"] < 0.05  # of two clusters
    assert told_apart(rows(found), rows(found, "comparisons")) == []
    assert found.warnings == ()


def test_who_is_in_no_cluster_has_no_corrected_p() -> None:
    # c shares 6 sources with a, none with b and d, which share all with a: c is in no cluster.
    lines = ranked({"a": [*GOOD, *GOOD[:6]], "b": BAD, "d": BAD})
    found = board(dataset([*lines, *((f"en-{n}/c", "quality", "A1", 5.0) for n in range(12, 18))]))
    pair = row(found, "comparisons", first="c", second="a")
    assert (pair["sources"], pair["undefined"]) == (6, "p_holm: one of them is in no cluster")
    assert pair["p"] < 0.5
    assert math.isnan(pair["p_holm"])
    assert row(found, "comparisons", first="a", second="b")["undefined"] == ""


def test_different_languages_are_told_with_both_ends() -> None:
    found = board(dataset(ranked({"both": GOOD, "one": BAD}) + ranked({"both": GOOD}, "hi")))
    assert [(one["generator"], one["languages"]) for one in rows(found, language="")] == [("both", 2), ("one", 1)]
    assert found.warnings == (
        "all languages, quality: generators were rated in different languages (sources: from 12 in 1 language to 24 in "
        "2 languages); scores are not of the same texts, people or languages, tests are on shared sources only; "
        '`by="language"` ranks within each language',
    )


def test_as_many_sources_of_other_languages_are_told_as_well() -> None:
    found = board(dataset(ranked({"a": GOOD}) + ranked({"b": GOOD}, "hi")))
    assert (
        "all languages, quality: generators were rated in different languages (sources: 12 in 1 language each, not "
        "the same)" in found.warnings[1]
    )


def test_the_same_languages_are_no_warning() -> None:
    assert board(dataset(ranked({"a": GOOD, "b": GOOD}) + ranked({"a": GOOD, "b": GOOD}, "hi"))).warnings == ()
