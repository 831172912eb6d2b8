"""Generators ranked by people: every figure worked by hand, and what must hold for any."""

from __future__ import annotations

import math
from collections.abc import Mapping
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metal.data.dataset import Dataset, assemble
from metal.errors import UnknownName, UsageError
from metal.genie.output_scores import sources_chosen
from metal.questions.leaderboard.beside import rating_command
from metal.questions.leaderboard.compute import LeaderboardTables, leaderboard
from metal.questions.leaderboard.generator_scores import generator_means
from metal.questions.leaderboard.settings import LeaderboardSettings
from metal.stats.bootstrap import SourceBootstrap
from tests.genie.leaderboard.boards import dataset, output, ranked
from tests.saying import tells

QUICK: dict[str, Any] = {"permutations": 200}


def board(made: Dataset, **told: Any) -> LeaderboardTables:
    return leaderboard(made, LeaderboardSettings(**QUICK | told))


def rows(
    found: LeaderboardTables, table: str = "leaderboard", **where: str
) -> list[dict[str, Any]]:
    frame = found.tables[table]
    for column, value in where.items():
        frame = frame[frame[column] == value]
    return frame.to_dict("records")  # type: ignore[return-value]


def row(found: LeaderboardTables, table: str = "leaderboard", **where: str) -> dict[str, Any]:
    (one,) = rows(found, table, **where)
    return one


# ---------------------------------------------------------------- by hand


def test_score_standard_error_and_bound_by_hand() -> None:
    # g: 5, 4, 3 on three sources = shares 1, .75, .5: mean .75
    #   deviations .25, 0, -.25: sqrt(.125) / 3 = .117851   at most sqrt(.75 * .25 / 3) = .25
    made = dataset(ranked({"g": [5, 4, 3]}))
    one = row(board(made), generator="g")
    assert (one["score"], one["outputs"], one["sources"], one["ratings"], one["people"]) == (
        0.75,
        3,
        3,
        3,
        1,
    )
    assert one["standard_error"] == pytest.approx(math.sqrt(0.125) / 3)
    assert one["worst_error"] == pytest.approx(0.25)
    assert one["score_low"] <= 0.75 <= one["score_high"]
    assert (one["rank"], one["rank_low"], one["rank_high"], one["undefined"]) == (1, 1, 1, "")


def test_several_outputs_of_a_source_stand_together() -> None:
    # Source 00: shares 1 and .5 (sum 1.5 of 2); 01: 0 (of 1). Score 1.5 / 3 = .5 (not the mean of
    # source means, .375)
    #   off: 1.5 - .5 * 2 = .5 and 0 - .5 = -.5: sqrt(.5) / 3 = .235702
    #   at most sqrt(.5 * .5 * (4 + 1)) / 3 = .372678, not sqrt(.25 / 3) = .288675
    made = dataset(
        [
            ("en-00/g", "quality", "A1", 5),
            ("en-00/g#2", "quality", "A1", 3),
            ("en-01/g", "quality", "A1", 1),
        ]
    )
    one = row(board(made))
    assert (one["score"], one["outputs"], one["sources"]) == (0.5, 3, 2)
    assert one["standard_error"] == pytest.approx(math.sqrt(0.5) / 3)
    assert one["worst_error"] == pytest.approx(math.sqrt(1.25) / 3)


def test_people_are_averaged_before_outputs() -> None:
    # Output 0: 5, 1, 1 = shares 1, 0, 0: 1/3. Output 1: 3 = .5. Mean of the two: 5/12, not the mean
    # of all four.
    made = dataset(
        [*ranked({"g": [5, 3]}), ("en-00/g", "quality", "A2", 1), ("en-00/g", "quality", "A3", 1)]
    )
    one = row(board(made))
    assert one["score"] == pytest.approx(5 / 12)
    assert (one["ratings"], one["people"]) == (4, 3)


@pytest.mark.parametrize(
    ("labels", "share"),
    # 5, 1, 1: the label 1 = share 0. 5, 1: a tie of 1 and 0, their mean. 5, 4, 2, 2, 5: a tie of 5
    # and 2 = 1 and .25.
    [((5, 1, 1), 0.0), ((5, 1), 0.5), ((5, 4, 2, 2, 5), 0.625)],
)
def test_majority_of_labels(labels: tuple[float, ...], share: float) -> None:
    made = dataset(
        [("en-00/g", "quality", f"A{place}", label) for place, label in enumerate(labels)]
    )
    assert row(board(made, aggregate="majority"))["score"] == pytest.approx(share)


def test_the_majority_of_scores_without_levels_is_their_mean() -> None:
    made = dataset(
        [("en-00/g", "errors", f"A{place}", score) for place, score in enumerate((0, 0, 6))]
    )
    assert row(board(made, aggregate="majority"))["score"] == pytest.approx(0.8)


def test_overall_is_the_mean_of_criteria_each_turned_the_right_way() -> None:
    # Source 00: quality 5 and 3 = .75; errors 2 of 0..10, lower is better = .8
    #   -> (.75 + .8) / 2 = .775, where pooling the three ratings would give .7667
    # Source 01 has quality only: not in overall, and that is said.
    made = dataset(
        [
            ("en-00/g", "quality", "A1", 5),
            ("en-00/g", "quality", "A2", 3),
            ("en-00/g", "errors", "A1", 2),
            ("en-01/g", "quality", "A1", 1),
        ]
    )
    found = board(made)
    assert found.main == "overall"
    assert found.counted == ("quality", "errors")
    one = row(found, criterion="overall")
    assert one["score"] == pytest.approx(0.775)
    assert (one["outputs"], one["ratings"], one["people"]) == (1, 3, 2)
    assert len(found.warnings) == 1
    assert tells(found.warnings, "English: 1 outputs", "not count for overall")
    assert row(found, criterion="quality")["outputs"] == 2
    assert row(board(made, criteria=("errors",)))["score"] == pytest.approx(0.8)


def test_one_source_has_no_interval_and_no_error() -> None:
    one = row(board(dataset(ranked({"g": [4]}))))
    assert one["score"] == 0.75
    assert np.isnan([one["score_low"], one["score_high"], one["standard_error"]]).all()
    assert tells(one["undefined"], "interval: one source", "error: one source")


def test_answers_without_a_score_are_counted() -> None:
    made = dataset(
        [
            *ranked({"g": [4, 4]}),
            ("en-01/g", "quality", "A2", None),
            ("en-02/g", "quality", "A2", None),
        ]
    )
    one = row(board(made))
    assert (one["score"], one["outputs"], one["ratings"], one["unanswered"]) == (0.75, 2, 2, 2)


# ---------------------------------------------------------------- scales without ends


def test_a_scale_without_ends_has_plain_means_and_no_bound() -> None:
    # g: the mean of -3 and -1 is -2 on the first output; with -10 and 0, (-2 - 10 + 0) / 3 = -4
    #   off by 2, -6 and 4: sqrt(4 + 36 + 16) / 3 = 2.494438
    #   t(2) = 4.302653 times the standard deviation sqrt(56 / 2) / sqrt(3)
    made = dataset(
        [
            *ranked({"g": [-3, -10, 0]}, criterion="open"),
            ("en-00/g", "open", "A2", -1),
        ]
    )
    found = board(made)
    one = row(found)
    assert (found.main, one["scale"], one["score"], one["ratings"]) == ("open", "own", -4, 4)
    assert one["standard_error"] == pytest.approx(math.sqrt(56) / 3)
    half = 4.302653 * math.sqrt(28 / 3)
    assert (one["score_low"], one["score_high"]) == pytest.approx((-4 - half, -4 + half))
    assert math.isnan(one["worst_error"])
    assert tells(one["undefined"], "standard error:", "the scale has no ends")


def test_without_ends_and_lower_is_better_the_least_is_first() -> None:
    # many: 6, 7, ... mistakes; few: 5 fewer on each of 12 sources
    mistakes = {
        "many": [6.0 + number for number in range(12)],
        "few": [1.0 + number for number in range(12)],
    }
    found = board(dataset(ranked(mistakes, criterion="mistakes")))
    first, second = rows(found)
    assert (first["generator"], first["score"], first["rank"]) == ("few", 6.5, 1)
    assert (second["generator"], second["score"], second["rank_low"]) == ("many", 11.5, 2)
    assert first["score_low"] < 6.5 < first["score_high"]
    pair = row(found, "comparisons")
    assert (pair["first"], pair["difference"]) == ("few", 5)  # so much better


def test_overall_has_only_criteria_whose_scales_have_ends() -> None:
    # Source 00: quality 5 = 1, errors 2 = .8: .9; open -50 is no share of anything
    made = dataset(
        [
            ("en-00/g", "quality", "A1", 5),
            ("en-00/g", "errors", "A1", 2),
            ("en-00/g", "open", "A1", -50),
        ]
    )
    found = board(made)
    assert found.main == "overall"
    assert row(found, criterion="overall")["score"] == pytest.approx(0.9)
    assert row(found, criterion="open")["score"] == -50
    assert tells(found.warnings, "'open'", "not count for overall", "no ends")


def test_judges_beside_a_scale_without_ends_stay_in_its_units() -> None:
    made = dataset(
        [*ranked({"g": [-3, -10]}, criterion="open"), ("en-00/g", "open", "j1", -7)],
    )
    one = row(board(made, with_judges=True), "beside")
    assert (one["scale"], one["score"], one["outputs"], one["asked"]) == ("own", -7, 1, 2)


@pytest.mark.parametrize("sources", [10, 60])
def test_intervals_without_ends_cover_the_truth(sources: int) -> None:
    # Sums of errors as in MQM: 60% of segments without any, others with some of weight 1 or 5.
    rng = np.random.default_rng(sources)
    size = (1000, sources)
    errors = rng.poisson(1.0, size) + 5.0 * rng.poisson(0.6, size)
    scores = -errors * (rng.random(size) < 0.4)
    found = generator_means(scores, np.ones(size), ends=False)
    truth = -0.4 * (1 + 5 * 0.6)
    covered = ((found["score_low"] <= truth) & (truth <= found["score_high"])).mean()
    assert covered >= {10: 0.83, 60: 0.91}[sources]  # percentiles of a bootstrap: 81% of 10


# ---------------------------------------------------------------- what holds for any


SHARES = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])


@given(st.lists(st.lists(SHARES, min_size=1, max_size=4), min_size=2, max_size=12))
@settings(max_examples=20)
def test_the_interval_holds_the_score_and_the_error_is_no_more_than_the_worst(
    by_source: list[list[float]],
) -> None:
    sums, counts = (
        np.array([[sum(part) for part in by_source]]),
        np.array([[len(part) for part in by_source]]),
    )
    found = generator_means(sums, counts.astype(float))
    assert found["score_low"][0] - 1e-9 <= found["score"][0] <= found["score_high"][0] + 1e-9
    assert 0 <= found["score"][0] <= 1
    single = generator_means(sums / counts, np.ones_like(sums))
    assert single["standard_error"][0] <= single["worst_error"][0] + 1e-9
    assert single["worst_error"][0] <= 0.5 / math.sqrt(len(by_source)) + 1e-9


def test_the_error_is_what_the_bootstrap_finds_and_ignoring_sources_is_too_narrow() -> None:
    # Three outputs per source that agree with each other: the error is that of 60 sources, not of
    # 180 outputs.
    rng = np.random.default_rng(3)
    sums = 3 * rng.choice([0.0, 1.0], size=(1, 60))
    bootstrap = SourceBootstrap(4000, 0)
    found = generator_means(sums, np.full((1, 60), 3.0))
    drawn = bootstrap.totals(sums.T)[:, 0] / 180
    assert found["standard_error"][0] == pytest.approx(drawn.std(), rel=0.05)
    # all or nothing is the worst there is
    assert found["standard_error"][0] == pytest.approx(found["worst_error"][0])
    assert found["standard_error"][0] > 1.7 * math.sqrt(
        found["score"][0] * (1 - found["score"][0]) / 180
    )


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    # 300 worlds of 60 sources with 1 to 3 outputs that share their source's quality.
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 4, size=(300, 60)).astype(float)
    quality = np.clip(rng.normal(0.6, 0.2, size=counts.shape), 0.1, 0.9)
    truth = float(np.clip(np.random.default_rng(1).normal(0.6, 0.2, 10**6), 0.1, 0.9).mean())
    found = generator_means(rng.binomial(counts.astype(int), quality).astype(float), counts)
    covered = float(((found["score_low"] <= truth) & (truth <= found["score_high"])).mean())
    assert 0.90 <= covered <= 0.98


@pytest.mark.parametrize(
    ("sources", "shares"),
    [(10, (0.05, 0.15, 0.8)), (20, (0.01, 0.03, 0.96)), (60, (0.0, 0.02, 0.98))],
)
def test_intervals_near_the_ceiling_cover_and_have_a_width(
    sources: int, shares: tuple[float, ...]
) -> None:
    # Three levels; percentiles of a bootstrap covered 85, 53 and 68%, and had no width in 14, 47
    # and 30% of worlds.
    scores = np.random.default_rng(0).choice([0.0, 0.5, 1.0], (1000, sources), p=shares)
    found = generator_means(scores, np.ones_like(scores))
    truth = float(np.dot(shares, [0.0, 0.5, 1.0]))
    assert ((found["score_low"] <= truth) & (truth <= found["score_high"])).mean() >= 0.93
    assert (found["score_high"] > found["score_low"]).all()


def likert(
    names: str, seed: int, sources: int = 12, **better: float
) -> dict[str, list[float | None]]:
    random = Random(seed)
    return {
        name: [
            float(min(5, max(1, round(random.gauss(3 + better.get(name, 0), 1)))))
            for _ in range(sources)
        ]
        for name in names
    }


def test_a_generator_that_joins_changes_nothing_for_the_others() -> None:
    scores = likert("abc", 1)
    before = {one["generator"]: one for one in rows(board(dataset(ranked(scores))))}
    # The new one was rated on some of the sources, and on sources that nobody else has.
    joined = ranked(scores | {"d": [5.0] * 5}) + [
        (f"en-9{n}/d", "quality", "A2", 5.0) for n in range(4)
    ]
    after = {one["generator"]: one for one in rows(board(dataset(joined)))}
    figures = (
        "score",
        "score_low",
        "score_high",
        "standard_error",
        "worst_error",
        "outputs",
        "ratings",
    )
    for name in "abc":
        assert [after[name][key] for key in figures] == [before[name][key] for key in figures]
    assert after["d"]["rank"] == 1


@given(st.randoms(use_true_random=False))
@settings(max_examples=5)
def test_the_order_of_lines_does_not_matter(random: Random) -> None:
    lines = (
        ranked(likert("abc", 2))
        + ranked(likert("abc", 3), rater="A2")
        + ranked(likert("ab", 4), "hi")
    )
    made = dataset(lines)
    random.shuffle(lines)
    outputs, sources = [*made.outputs.values()], [*made.sources.values()]
    random.shuffle(outputs)
    random.shuffle(sources)
    facts = made.ratings.sample(frac=1, random_state=random.randrange(100))
    facts = facts[["output", "criterion", "rater", "score", "reason", "comment"]].reset_index(
        drop=True
    )
    again = assemble(
        made.card, made.criteria.values(), sources, outputs, made.raters.values(), facts
    )
    one, other = board(made), board(again)
    for name, table in one.tables.items():
        assert table.equals(other.tables[name])


# ---------------------------------------------------------------- ranks


def test_equal_scores_share_a_rank_and_open_ranks_follow_tests() -> None:
    scores = {
        "good": [5.0] * 12,
        "alike": [5.0] * 11 + [4.0],
        "bad": [2.0] * 12,
        "worse": [2.0] * 12,
    }
    found = board(dataset(ranked(scores)))
    assert [
        (one["generator"], one["rank"], one["rank_low"], one["rank_high"]) for one in rows(found)
    ] == [
        ("good", 1, 1, 2),
        ("alike", 2, 1, 2),
        ("bad", 3, 3, 4),
        ("worse", 3, 3, 4),
    ]
    pair = row(found, "comparisons", first="good", second="bad")
    # 3 levels apart on all 12 sources: the lead is as large, either way, only when nothing or all
    # is exchanged.
    assert (pair["sources"], pair["difference"]) == (12, 0.75)
    assert pair["p"] == 2.0**-11
    assert pair["p_adjusted"] == pytest.approx(6 * 2.0**-11)  # of 6 pairs four are like this
    assert row(found, "comparisons", first="bad", second="worse")["p"] == 1


def test_too_few_shared_sources_are_no_comparison() -> None:
    scores = likert("ab", 5)
    found = board(
        dataset([*ranked(scores), *((f"en-9{n}/c", "quality", "A1", 5.0) for n in range(6))])
    )
    one = row(found, generator="c")
    assert (one["rank_low"], one["rank_high"]) == (1, 3)
    assert one["undefined"] == "ranks: fewer than 5 sources shared with a, b"
    assert (one["rank"], one["score"]) == (1, 1)
    assert math.isnan(row(found, "comparisons", first="c", second="a")["p"])
    assert len(found.warnings) == 2
    assert tells(found.warnings[0], "English, quality:", "fewer than 5 sources", "'c'")
    assert tells(found.warnings[1], "English, quality:", "different sources, 6 to 12")


def test_two_that_share_nothing_are_not_told_apart() -> None:
    found = board(dataset([("en-00/a", "quality", "A1", 5), ("en-01/b", "quality", "A1", 1)]))
    assert all((one["rank_low"], one["rank_high"]) == (1, 2) for one in rows(found))
    assert all("ranks: fewer than 5 sources shared with" in one["undefined"] for one in rows(found))
    assert math.isnan(row(found, "comparisons")["difference"])


def test_few_permutations_do_not_hide_a_difference() -> None:
    scores = {name: [5.0, 4.0] * 15 for name in "abcdefghijk"} | {"worse": [1.0, 2.0] * 15}
    made = leaderboard(dataset(ranked(scores)), LeaderboardSettings(permutations=100))
    assert made.warnings == ()
    assert row(made, generator="worse")["rank_low"] == 12


# ---------------------------------------------------------------- who, where, which


def test_only_the_reference_people_count() -> None:
    made = dataset(
        [*ranked({"g": [5, 5]}), *ranked({"g": [1, 1], "h": [1, 1]}, rater="W1")],
        groups={"A1": "expert", "W1": "crowd"},
    )
    assert row(board(made, reference="group=expert"))["score"] == 1
    assert row(board(made, reference="rater=W1"), generator="g")["score"] == 0
    assert row(board(made), generator="g")["score"] == 0.5
    left = row(board(made, reference="group=expert"), "coverage", generator="h")
    assert (left["outputs_rated"], left["outputs_to_rate"]) == (0, 2)
    with pytest.raises(
        UnknownName, match="group of people 'experts' is not known; did you mean 'expert'"
    ):
        board(made, reference="group=experts")


def test_all_languages_together_then_each() -> None:
    made = dataset(ranked({"g": [5, 5, 5]}) + ranked({"g": [1], "h": [3]}, "hi"))
    found = board(made)
    assert list(dict.fromkeys(found.tables["leaderboard"]["language"])) == ["", "en", "hi"]
    assert row(found, language="", generator="g")["score"] == 0.75  # of outputs, not of languages
    assert row(found, language="hi", generator="g")["score"] == 0
    assert list(
        dict.fromkeys(board(made, languages=("hi",)).tables["leaderboard"]["language"])
    ) == ["hi"]
    with pytest.raises(
        UnknownName, match=r"language 'xx' is not known; known: en \(English\), hi \(Hindi\)"
    ):
        board(made, languages=("xx",))


def test_a_language_without_ratings_has_no_ranking_but_work_to_do() -> None:
    found = board(dataset(ranked({"g": [5, 5]}), more=[output("hi-00/g")]))
    assert set(found.tables["leaderboard"]["language"]) == {"", "en"}
    assert row(found, "coverage", language="hi")["outputs_to_rate"] == 1


def test_criteria_without_an_order_are_left_out_and_named() -> None:
    made = dataset(
        [*ranked({"g": [5, 5]}), ("en-00/g", "category", "A1", 2), ("en-00/g", "open", "A1", 7)]
    )
    found = board(made)
    assert found.left_out == ("category",)
    assert found.counted == ("quality", "open")
    assert tells(found.warnings[0], "criterion 'category'", "(nominal)")
    with pytest.raises(UsageError, match="criterion 'category': its levels have no order"):
        board(made, criteria=("category",))
    with pytest.raises(UnknownName, match=r"people rated 'errors'.*known: quality"):
        board(made, criteria=("errors",))


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (
            dataset([("en-00/g", "quality", "j1", 5)]),
            "no ratings by people yet",
        ),
        (
            dataset([("en-00/g", "quality", "A1", None)]),
            "that can be scored",
        ),
        (
            dataset([("en-00/g", "category", "A1", 2)]),
            "can be scored: 'category'.*no order",
        ),
    ],
)
def test_nothing_to_rank_is_told(made: Dataset, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        board(made)


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"permutations": 10}, "`permutations` 10: use a whole number, 100 or more"),
        ({"aggregate": "median"}, "`aggregate` 'median': use one of mean, majority"),
        ({"sample": 0}, "`sample` 0: .* 1 or more"),
        ({"seed": -1}, "`seed` -1: use a whole number, 0 or more"),
    ],
)
def test_settings_that_cannot_be(told: Mapping[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        LeaderboardSettings(**told)


# ---------------------------------------------------------------- the sample, and what is still to
# be rated


def test_only_the_sample_is_scored() -> None:
    made = dataset(ranked(likert("ab", 6, 20)))
    chosen = sources_chosen(made.sources.values(), 8, 3)
    found = board(made, sample=8, seed=3)
    one = row(found, generator="a")
    scores = [
        score
        for name, _, _, score in ranked(likert("ab", 6, 20))
        if name.endswith("/a") and name[:5] in chosen
    ]
    assert one["score"] == pytest.approx(np.mean([(score - 1) / 4 for score in scores if score]))
    assert (one["sources"], row(found, "coverage", generator="a")["sources"]) == (8, 8)
    assert "|sample:8|" in found.signature
    assert board(made, sample=100).warnings == (
        "English: `sample=100` takes all of its 20 sources",
    )


def test_what_is_still_to_be_rated() -> None:
    more = [
        output("en-02/g"),
        output("en-03/g", text=" "),
        output("en-04/g", chosen=False),
        output("en-00/new"),
    ]
    found = board(dataset(ranked({"g": [5, 5]}), more=more))
    assert row(found, "coverage", generator="g") == {
        "language": "en",
        "generator": "g",
        "sources": 4,
        "sources_rated": 2,
        "outputs": 4,
        "outputs_rated": 2,
        "outputs_to_rate": 1,
        "without_text": 1,
    }
    assert row(found, "coverage", generator="new")["outputs_to_rate"] == 1
    assert [one["generator"] for one in rows(found)] == ["g"]


def test_the_command_that_hands_out_the_rest_is_safe_in_a_shell() -> None:
    assert (
        rating_command("data/x", ["g"]) == "metal annotate export data/x --to html --generators g"
    )
    assert (
        rating_command("x", ["a b", "$(rm)"], sample=5, seed=2)
        == "metal annotate export x --to html --generators 'a b' --generators '$(rm)' --sample 5"
        " --seed 2"
    )


# ---------------------------------------------------------------- metrics and judges beside


def test_metrics_and_judges_are_asked_on_the_outputs_that_people_rated() -> None:
    lines = [*ranked({"g": [5, 1]}), *ranked({"g": [3, 5, 1]}, rater="j1")]
    # 02 was not rated by people
    lines += [("en-00/g", "score", "m1", 30.0), ("en-02/g", "score", "m1", 90.0)]
    found = board(dataset(lines), with_judges=True)
    metric = row(found, "beside", rater="m1")
    assert (metric["score"], metric["scale"], metric["criterion"]) == (30.0, "own", "score")
    assert (metric["outputs"], metric["asked"], metric["coverage"]) == (1, 2, 0.5)
    judge = row(found, "beside", rater="j1")
    assert (judge["score"], judge["scale"], judge["kind"], judge["coverage"]) == (
        0.75,
        "share",
        "llm",
        1,
    )
    assert found.beside == ("m1", "j1")
    assert set(board(dataset(lines)).tables["beside"]["rater"]) == {"m1"}


def test_a_judge_has_an_overall_where_it_rated_all_criteria() -> None:
    lines = [
        ("en-00/g", criterion, rater, score)
        for rater in ("A1", "j1")
        for criterion, score in (("quality", 5), ("errors", 5))
    ]
    lines += [("en-00/g", "quality", "j2", 1)]
    found = board(dataset(lines), with_judges=True)
    assert row(found, "beside", rater="j1", criterion="overall")["score"] == 0.75
    assert {one["criterion"] for one in rows(found, "beside", rater="j2")} == {"quality"}


def test_generators_that_are_people_are_marked() -> None:
    found = board(dataset(ranked({"g": [5, 4], "writer": [5, 5]}), human=("writer",)))
    assert {one["generator"]: one["human"] for one in rows(found)} == {"g": False, "writer": True}
