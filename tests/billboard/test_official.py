"""Tables of shared tasks: WMT's own figures, small ones by hand, layouts and what they refuse."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import metal
from metal.boards.official.layout import (
    STATISTICS,
    Layout,
    LayoutLanguage,
    LayoutTask,
    find_layout,
    layout_names,
)
from metal.boards.official.table import TableChoices, official_table
from metal.boards.official.tasks import tasks_of
from metal.data.analysed import Analysed
from metal.data.dataset import Dataset
from metal.data.generator_scores import generator_scores
from metal.data.progress import no_progress
from metal.data.records import METRIC_SCORE, Criterion, Rater, Scale
from metal.errors import DataError, UnknownName, UsageError
from metal.questions.official.answer import cards, headline
from metal.questions.official.page import answer
from metal.show.view import Cell
from tests.billboard.conftest import made
from tests.saying import tells

ACCURACY = LayoutTask("pairwise-accuracy", "generators", together=True)
R = LayoutTask("pearson", "outputs")
SYSTEM_R = LayoutTask("pearson", "generators")
TIES = LayoutTask("pairwise-accuracy-with-ties", "outputs", "source")
# 3 generators on 4 sources, source by source
PEOPLE = [1.0, 2.0, 4.0, 0.0, 3.0, 3.0, 2.0, 5.0, 1.0, 0.0, 1.0, 6.0]
GOOD = [2.0, 2.5, 5.0, 0.0, 3.0, 4.0, 2.0, 4.0, 2.0, 1.0, 1.0, 7.0]
BAD = [5.0, 1.0, 2.0, 4.0, 0.0, 1.0, 3.0, 3.0, 2.0, 2.0, 5.0, 1.0]
THREE = ("a", "b", "c")


def layout(*tasks: LayoutTask, **more: Any) -> Layout:
    return Layout("ours", "Our table", ("quality",), tasks, **more)


def table(dataset: Dataset, rules: Layout, **choices: Any) -> Analysed:
    choices = {"permutations": 200} | choices
    return official_table(dataset, TableChoices(rules, **choices), no_progress)


def dataset_of(people: list[float | None], metrics: Mapping[str, Any], **more: Any) -> Dataset:
    scores = {"quality": {"A1": people}, METRIC_SCORE.name: metrics}
    scale = Criterion("quality", Scale("interval", (), -1000, 1000))
    return made(scores, THREE, criteria=(scale,), **more)


def values(analysed: Analysed, task: int) -> dict[str, float]:
    rows = analysed.tables["tasks"]
    own = rows[rows["task"] == task]
    return dict(zip(own["rater"], own["value"], strict=True))


def means(scores: list[float]) -> list[float]:
    return [float(np.mean(scores[at::3])) for at in range(3)]


def test_each_task_by_hand() -> None:
    rules = layout(ACCURACY, SYSTEM_R, R, TIES)
    analysed = table(dataset_of(PEOPLE, {"good": GOOD, "bad": BAD}), rules)
    assert values(analysed, 2)["good"] == pytest.approx(
        stats.pearsonr(means(PEOPLE), means(GOOD)).statistic
    )
    assert values(analysed, 3)["bad"] == pytest.approx(stats.pearsonr(PEOPLE, BAD).statistic)
    # Means .75 2.75 3.5 by people; 1.25 2.625 4.5 good, 3.5 2.25 1.5 bad: all pairs turned.
    assert values(analysed, 1) == {"good": 1.0, "bad": 0.0}
    # Of 12 pairs `good` gets 9: people tie 3 and 3, `good` ties 2 and 2 as well as 1 and 1.
    # Ties up to 0.5 lose a pair, ties up to 1 win one back: none is better than no threshold.
    assert values(analysed, 4)["good"] == pytest.approx(9 / 12)
    ranking = analysed.tables["ranking"].set_index("rater")
    weights = [0.25] * 4
    assert [task.weight for task in tasks_of(rules, ["en"])] == weights
    shares = [
        (values(analysed, task)["good"] - low) / (1 - low)
        for task, low in zip((1, 2, 3, 4), (0.0, -1.0, -1.0, 0.0), strict=True)
    ]
    assert ranking.loc["good", "average"] == pytest.approx(float(np.dot(weights, shares)))
    assert ranking["rank"].tolist() == [1, 2]


def test_languages_together_weigh_as_much_as_apart() -> None:
    tasks = tasks_of(layout(SYSTEM_R, ACCURACY), ["en-de", "he-en", "zh-en"])
    assert tasks[0].languages == ("en-de", "he-en", "zh-en")
    assert [task.weight for task in tasks] == pytest.approx([1 / 2, 1 / 6, 1 / 6, 1 / 6])


def test_pairs_are_pooled_over_languages() -> None:
    # 3 + 3 generators; all pairs right in the first language, 1 of 3 in the second.
    people = [1.0, 2.0, 3.0, 1.0, 2.0, 3.0]
    metric = [1.0, 2.0, 3.0, 1.0, 5.0, 0.0]
    both = dataset_of(people, {"m": metric}, language=["de"] * 3 + ["en"] * 3)
    assert values(table(both, layout(ACCURACY)), 1) == {"m": pytest.approx(4 / 6)}


@pytest.mark.parametrize("by", ["all", "source", "generator", "document", "domain"])
@pytest.mark.parametrize(
    "statistic", [key for key in STATISTICS if key != "soft-pairwise-accuracy"]
)
def test_every_statistic_in_every_group(statistic: str, by: str) -> None:
    rng = np.random.default_rng(0)
    people = np.round(rng.normal(size=90) * 20, 0)
    good, bad = people + rng.normal(size=90), rng.normal(size=90)
    base = dataset_of([*people], {"good": [*good], "bad": [*bad], "flat": [1.0] * 90})
    sources = {
        name: replace(source, document=f"d{at // 5}", domain=f"m{at % 2}")
        for at, (name, source) in enumerate(base.sources.items())
    }
    analysed = table(replace(base, sources=sources), layout(LayoutTask(statistic, "outputs", by)))
    own = values(analysed, 1)
    assert own["good"] > own["bad"]
    p = analysed.tables["comparisons"].query("task == 1 and first == 'good' and second == 'bad'")
    assert float(p["p"].iloc[0]) <= 0.05
    if "accuracy" not in statistic and statistic != "kendall-like":
        flat = analysed.tables["tasks"].set_index("rater").loc["flat"]
        assert flat["undefined"] == "value: constant scores"


def test_soft_pairwise_accuracy_by_generators() -> None:
    rng = np.random.default_rng(1)
    people = (rng.normal(size=(60, 3)) + np.array([0.0, 0.2, 0.6])).ravel()
    good, bad = people + rng.normal(size=180) / 9, -people
    rules = layout(LayoutTask("soft-pairwise-accuracy", "generators"))
    analysed = table(dataset_of([*people], {"good": [*good], "bad": [*bad]}), rules)
    own = values(analysed, 1)
    assert own["good"] > 0.9 > 0.3 > own["bad"]
    again = table(dataset_of([*people], {"good": [*good], "bad": [*bad]}), rules, seed=7)
    assert values(again, 1)["good"] == pytest.approx(own["good"], abs=0.005)


def test_scores_of_whole_generators_count_as_given() -> None:
    base = dataset_of(PEOPLE, {"good": GOOD, "bad": BAD})
    given = [
        ("en", name, "", "", METRIC_SCORE.name, "bad", value)
        for name, value in zip(THREE, [1.0, 2.0, 3.0], strict=True)
    ]
    analysed = table(replace(base, generator_scores=generator_scores(given)), layout(SYSTEM_R))
    assert values(analysed, 1)["bad"] == pytest.approx(
        stats.pearsonr(means(PEOPLE), [1, 2, 3]).statistic
    )
    assert values(analysed, 1)["good"] == pytest.approx(
        stats.pearsonr(means(PEOPLE), means(GOOD)).statistic
    )
    assert tells(analysed.warnings, "en", "good", "means")


def test_who_is_compared() -> None:
    """The reference, people among generators and outliers are left out, as are other references."""
    facts = {
        "good": Rater("good", "metric", about={"references": {"en": ["c"]}}),
        "bad": Rater("bad", "metric", about={"references": {"en": ["b"]}}),
    }
    extra = {"generators": {"b": {"kind": "human"}}}
    base = dataset_of(PEOPLE, {"good": GOOD, "bad": BAD}, raters=facts, extra=extra)
    rules = layout(R, languages={"en": LayoutLanguage(reference="c")})
    analysed = table(base, rules)
    assert analysed.tables["tasks"]["items"].tolist() == [4]  # only generator a
    assert values(analysed, 1).keys() == {"good"}
    assert values(analysed, 1)["good"] == pytest.approx(
        stats.pearsonr(PEOPLE[::3], GOOD[::3]).statistic
    )
    assert tells(analysed.warnings, "no average: bad", "uses the reference b", "use c or none")
    with_people = replace(rules, languages={"en": LayoutLanguage(reference="c", people=True)})
    assert table(base, with_people).tables["tasks"]["items"].tolist() == [8]
    without = replace(
        rules, languages={"en": LayoutLanguage(reference="c", people=True, without=("a",))}
    )
    assert table(base, without).tables["tasks"]["items"].tolist() == [4]


def test_a_rater_with_gaps_has_no_value() -> None:
    gaps = [*GOOD[:5], None, None, *GOOD[7:]]
    unrated = [*PEOPLE[:6], None, *PEOPLE[7:]]
    analysed = table(dataset_of(unrated, {"good": gaps, "bad": BAD}), layout(R))
    row = analysed.tables["tasks"].set_index("rater").loc["good"]
    assert row["undefined"] == "value: no score for 1 of 11 outputs"  # the other was not rated
    assert tells(analysed.warnings, "no average: good", "1 of 11 outputs")
    ranking = analysed.tables["ranking"]
    assert ranking["rater"].tolist() == ["bad", "good"]
    assert ranking["rank"].isna().tolist() == [False, True]


def test_gaps_in_soft_pairwise_accuracy_are_counted_by_generator() -> None:
    rules = layout(LayoutTask("soft-pairwise-accuracy", "generators"))
    gaps = [*GOOD[:5], None, None, *GOOD[7:8], None, *GOOD[9:]]  # c, a, c
    only_a = [None if at % 3 else score for at, score in enumerate(GOOD)]
    analysed = table(dataset_of(PEOPLE, {"good": GOOD, "gaps": gaps, "a": only_a}), rules)
    reasons = analysed.tables["tasks"].set_index("rater")["undefined"]
    assert tells(reasons["gaps"], "some outputs of 2 of 3 generators")
    assert tells(reasons["a"], "any output of 2 of 3 generators")
    assert reasons["good"] == ""


def test_data_scored_on_another_criterion_name_it() -> None:
    rules = replace(layout(R), gold=("esa",))
    with pytest.raises(UsageError) as refused:
        table(dataset_of(PEOPLE, {"good": GOOD}), rules)
    assert tells(str(refused.value), "'esa'", "quality", "`gold='quality'`")


def test_what_some_rater_lacks_is_left_out_where_asked() -> None:
    gaps = [*GOOD[:5], None, *GOOD[6:]]
    data = dataset_of(PEOPLE, {"good": gaps, "bad": BAD})
    analysed = table(data, layout(R, common=True))
    kept = [at for at in range(12) if at != 5]
    for name, scores in (("good", GOOD), ("bad", BAD)):
        expected = stats.pearsonr(np.array(PEOPLE)[kept], np.array(scores)[kept]).statistic
        assert values(analysed, 1)[name] == pytest.approx(expected)
    assert tells(analysed.warnings, "en: 1 of 12 outputs", "every rater")


def test_several_criteria_have_every_task() -> None:
    scale = Scale("interval", (), -1000, 1000)
    criteria = [Criterion(name, scale) for name in ("fluency", "focus")]
    scores = {
        "fluency": {"A1": PEOPLE, "judge": GOOD},
        "focus": {"A1": BAD, "judge": GOOD},
        METRIC_SCORE.name: {"metric": GOOD[::-1]},
    }
    data = made(scores, THREE, criteria=criteria)
    rules = replace(layout(R), gold=("*",))
    analysed = table(data, rules)
    rows = analysed.tables["tasks"]
    assert rows["criterion"].tolist() == ["fluency"] * 2 + ["focus"] * 2
    for number, people in ((1, PEOPLE), (2, BAD)):
        for name, own in (("judge", GOOD), ("metric", GOOD[::-1])):
            expected = stats.pearsonr(people, own).statistic
            assert values(analysed, number)[name] == pytest.approx(expected)
    only = table(data, rules, gold="focus").tables["tasks"]
    assert only["criterion"].unique().tolist() == [""]
    assert only["value"].max() == pytest.approx(rows.query("task == 2")["value"].max())


def test_floats_are_compared_as_they_are_where_asked() -> None:
    # 0.1 + 0.2 is a float above 0.3: a tie of one source, unless floats are compared.
    people = [0.1 + 0.2, 0.3, 1.0, 0.0, 1.0, 2.0]
    metric = [1.0, 1.0, 3.0, 0.0, 1.0, 2.0]
    data = dataset_of(people, {"m": metric})
    rounded, exact = table(data, layout(TIES)), table(data, layout(TIES), exact=True)
    assert values(rounded, 1)["m"] == pytest.approx(1.0)
    assert values(exact, 1)["m"] == pytest.approx(5 / 6)
    assert values(table(data, layout(TIES, exact=True)), 1) == values(exact, 1)
    assert tells(rounded.warnings, "en: 1 pair", "count as tied", "`exact`", "0.17")
    assert tells(exact.warnings, "en: 1 pair", "not tied", "0.17")
    plain = table(dataset_of(PEOPLE, {"m": GOOD}), layout(TIES))
    assert not tells(plain.warnings, "rounding")


def test_raters_and_languages_of_the_layout() -> None:
    facts = {"good": Rater("good", "metric", about={"metric": "Good"})}
    metrics = {"good": GOOD, "bad": BAD, "mine": GOOD[::-1]}
    base = dataset_of(PEOPLE, metrics, raters=facts)
    rules = layout(
        R, raters=("Good", "Best"), languages={"en": LayoutLanguage(), "de": LayoutLanguage()}
    )
    analysed = table(base, rules)
    assert analysed.tables["ranking"]["rater"].tolist() == ["good"]
    assert tells(analysed.warnings, "2 raters", "bad, mine", "`raters`")
    assert tells(analysed.warnings, "ours also has Best")
    assert tells(analysed.warnings, "ours also has de")
    more = table(base, rules, raters=("mine",))
    assert {*more.tables["ranking"]["rater"]} == {"good", "mine"}
    others = table(base, layout(R, raters=("Best",), languages={"de": LayoutLanguage()}))
    assert len(others.tables["ranking"]) == 3
    assert tells(others.warnings, "none of ours's raters")
    assert tells(others.warnings, "other languages")
    with pytest.raises(UnknownName, match="rater 'nobody'"):
        table(base, rules, raters=("nobody",))
    with pytest.raises(UnknownName, match="criterion 'mqm'"):
        table(base, rules, gold="mqm")
    with pytest.raises(UsageError, match="no judge or metric"):
        table(made({"quality": {"A1": PEOPLE}}, THREE), rules)
    flat = dataset_of([1.0] * 12, {"good": GOOD})
    with pytest.raises(UsageError, match="constant scores"):
        table(flat, layout(R))


def test_the_same_seed_gives_the_same_table() -> None:
    data = dataset_of(PEOPLE, {"good": GOOD, "bad": BAD})
    rules = layout(ACCURACY, SYSTEM_R, R, TIES)
    for name, first in table(data, rules, seed=3).tables.items():
        pd.testing.assert_frame_equal(first, table(data, rules, seed=3).tables[name])


# ---------------------------------------------------------------- layouts


def test_metals_own_layouts() -> None:
    assert layout_names() == ["summarization", "wmt23", "wmt24", "wmt25"]
    for name in layout_names():
        own = find_layout(name)
        assert own.exact
        assert own.languages or name == "summarization"
    assert find_layout("wmt24").remark
    with pytest.raises(UnknownName, match="layout 'wmt32'"):
        find_layout("wmt32")


FAULTS = {
    "": ("no [[tasks]]",),
    "tasks = []": ("no [[tasks]]",),
    "[[tasks]]\nstatistic = 'pearson'\nlevel = 'outputs'": ("no gold",),
    "gold = 3\n[[tasks]]\nstatistic = 'pearson'\nlevel = 'outputs'": (
        "gold",
        "3 is not a list of names",
    ),
    "gold = 'q'\nmore = 1\n[[tasks]]\nstatistic = 'pearson'\nlevel = 'outputs'": ("'more'",),
    "gold = 'q'\n[[tasks]]\nstatistic = 'person'\nlevel = 'outputs'": ("task 1", "'person'"),
    "gold = 'q'\n[[tasks]]\nstatistic = 'pearson'": ("task 1", "no level"),
    "gold = 'q'\n[[tasks]]\nstatistic = 'pearson'\nlevel = 'systems'": ("'systems'", "outputs"),
    "gold = 'q'\n[[tasks]]\nstatistic = 'pearson'\nlevel = 'generators'\nby = 'source'": (
        "over outputs",
    ),
    "gold = 'q'\n[[tasks]]\nstatistic = 'kendall-like'\nlevel = 'generators'": ("over outputs",),
    "gold = 'q'\n[[tasks]]\nstatistic = 'soft-pairwise-accuracy'\nlevel = 'outputs'": (
        "compares generators",
    ),
    "gold = 'q'\n[[tasks]]\nstatistic = 'pearson'\nlevel = 'generators'\ntogether = true": (
        "together",
    ),
    "gold = 'q'\n[[tasks]]\nstatistic = 'pearson'\nlevel = 'outputs'\nweight = 0": ("weight 0",),
    "gold = 'q'\n[[tasks]]\nstatistic = 'pearson'\nlevel = 'outputs'\nweight = nan": (
        "weight nan",
    ),
    "gold = 'q'\nlanguages = 3\n[[tasks]]\nstatistic = 'pearson'\nlevel = 'outputs'": (
        "languages is not a table",
    ),
    "gold = 'q'\nraters = [1]\n[[tasks]]\nstatistic = 'pearson'\nlevel = 'outputs'": (
        "not a list of names",
    ),
    "tasks = [1]\ngold = 'q'": ("task 1", "not a table"),
    "gold = ": ("not TOML",),
}


@pytest.mark.parametrize("content", FAULTS)
def test_faults_of_layouts_are_named(content: str, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(content)
    with pytest.raises(DataError) as raised:
        find_layout(str(tmp_path / "mine.toml"))
    assert tells(str(raised.value), "mine.toml", *FAULTS[content])


@pytest.fixture
def shown_by(tmp_path: Path) -> Callable[[str], Any]:
    """A run of a small dataset by the layout with this text."""

    def run(content: str) -> Any:
        (tmp_path / "mine.toml").write_text(content)
        data = dataset_of(PEOPLE, {"good": GOOD, "bad": BAD})
        return metal.billboard_layout(data, layout=str(tmp_path / "mine.toml"), permutations=100)

    return run


def test_a_layout_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        "title = 'Mine'\ngold = 'quality'\n[languages.en]\nwithout = 'c'\n"
        "[[tasks]]\nstatistic = 'spearman'\nlevel = 'outputs'\nweight = 2\n"
    )
    data = dataset_of(PEOPLE, {"good": GOOD})
    run = metal.billboard_layout(data, layout=str(tmp_path / "mine.toml"), permutations=100)
    two = [at for at in range(12) if at % 3 < 2]
    expected = stats.spearmanr(np.array(PEOPLE)[two], np.array(GOOD)[two]).statistic
    assert run.tables["ranking"]["average"].tolist() == [pytest.approx((expected + 1) / 2)]
    assert "layout:mine@" in run.signature
    run.save(tmp_path / "run")
    again = metal.open_run(tmp_path / "run")
    pd.testing.assert_frame_equal(again.tables["tasks"], run.tables["tasks"])
    page = (tmp_path / "run" / "report.html").read_text()
    assert "Mine" in page
    assert "Spearman" in page


def test_a_table_of_correlations_shows_their_mean_in_the_sentence_and_in_the_row(
    shown_by: Callable[[str], Any],
) -> None:
    tasks = "".join(
        f"[[tasks]]\nstatistic = '{statistic}'\nlevel = 'outputs'\n"
        for statistic in ("spearman", "kendall")
    )
    run = shown_by(f"title = 'Mine'\ngold = 'quality'\n{tasks}")
    mean = float(run.tables["tasks"].query("rater == 'good'")["value"].mean())
    share = float(run.tables["ranking"].set_index("rater").loc["good", "average"])
    assert share == pytest.approx((mean + 1) / 2)  # the files keep WMT's average
    assert tells(headline(run), f"mean correlation of {mean:.3f}")
    assert answer(run).columns[2] == "mean correlation"
    assert Cell.of(answer(run).rows[0][2]).text == f"{mean:.3f}"


def test_an_average_of_accuracies_is_called_the_average(
    shown_by: Callable[[str], Any],
) -> None:
    tasks = "[[tasks]]\nstatistic = 'pairwise-accuracy'\nlevel = 'outputs'\n"
    run = shown_by(f"title = 'Mine'\ngold = 'quality'\n{tasks}")
    share = float(run.tables["ranking"].set_index("rater").loc["good", "average"])
    assert tells(headline(run), f"leads the table with {share:.3f}")
    assert answer(run).columns[2] == "average"
    assert Cell.of(answer(run).rows[0][2]).text == f"{share:.3f}"


def test_raters_with_the_same_values_lead_together(tmp_path: Path) -> None:
    """The first of them in the alphabet led, and was first in every task."""
    (tmp_path / "mine.toml").write_text(
        "title = 'Mine'\ngold = 'quality'\n[[tasks]]\nstatistic = 'spearman'\nlevel = 'outputs'\n"
    )
    data = dataset_of(PEOPLE, {"bad": BAD, "good": GOOD, "twin": GOOD})
    run = metal.billboard_layout(data, layout=str(tmp_path / "mine.toml"), permutations=100)
    assert tells(headline(run), "good and twin lead the table")
    assert "not shown to be worse" not in headline(run)
    assert tells([card.words for card in cards(run)], "good and twin in rho")


def test_accuracies_with_ties_that_group_otherwise_have_names_of_their_own(
    shown_by: Callable[[str], Any],
) -> None:
    every = ("all", "source", "generator", "document", "domain")
    tasks = "".join(
        f"[[tasks]]\nstatistic = 'pairwise-accuracy-with-ties'\nlevel = 'outputs'\nby = '{by}'\n"
        for by in every
    )
    run = shown_by(f"title = 'Mine'\ngold = 'quality'\n{tasks}")
    names = [run.heading(task) for task in run.task_list]
    assert names == ["acc with ties", *(f"by {by} acc with ties" for by in every[1:])]


def test_accuracy_with_ties_keeps_its_short_name_if_all_group_alike(
    shown_by: Callable[[str], Any],
) -> None:
    ties = "[[tasks]]\nstatistic = 'pairwise-accuracy-with-ties'\nlevel = 'outputs'\n"
    run = shown_by(f"title = 'Mine'\ngold = 'quality'\n{ties}by = 'source'\n")
    assert [run.heading(task) for task in run.task_list] == ["acc with ties"]


# ---------------------------------------------------------------- WMT's own figures


@pytest.fixture(scope="module")
def wmt23(reference: Path) -> metal.Dataset:
    return metal.read(reference / "wmt23-metrics")


@pytest.mark.slow
@pytest.mark.reference
def test_wmt23_is_as_mt_metrics_eval_gives_it(wmt23: Dataset, reference: Path) -> None:
    oracle = json.loads((reference / "oracle" / "wmt23_two_pairs.json").read_text())
    run = metal.billboard_layout(wmt23, layout="wmt23")
    weights = run.tables["tasks"].groupby("task")["weight"].first()
    assert weights.tolist() == oracle["weights"]
    for number, task in enumerate(oracle["tasks"], 1):
        own = run.tables["tasks"].query("task == @number").set_index("rater")
        assert {*own.index} == {*task["corr"]}
        for rater, value in task["corr"].items():
            assert own.loc[rater, "value"] == pytest.approx(value, abs=1e-9), (number, rater)
        # mt-metrics-eval lists them by value, then by name
        assert own.index.tolist() == [*task["corr"]]
    ranking = run.tables["ranking"].set_index("rater")
    for rater, average in oracle["average"].items():
        assert ranking.loc[rater, "average"] == pytest.approx(average, abs=1e-6)
    assert ranking.index.tolist() == [*oracle["average"]]
    assert ranking["rank"].is_monotonic_increasing
    first = ranking.index[ranking["rank"] == 1].tolist()
    assert first == ["XCOMET-Ensemble", "XCOMET-QE-Ensemble[noref]"]
    assert tells(run.warnings, "en-de: 13 pairs", "WMT compares them")
    assert tells(run.warnings, "he-en")
    compared = run.tables["comparisons"]
    assert len(compared.query("task == 0")) == 32 * 31 // 2
    # Williams' test and PERM-BOTH tell the same pairs apart on thousands of segments.
    segments = compared.query("task == 3")
    assert np.mean((segments["p"] <= 0.05) == (segments["p_williams"] <= 0.05)) > 0.9


@pytest.mark.reference
@pytest.mark.slow
def test_wmt24_on_wmt23(wmt23: Dataset) -> None:
    run = metal.billboard_layout(wmt23, layout="wmt24", languages="en-de", permutations=100)
    soft = run.tables["tasks"].query("statistic == 'soft-pairwise-accuracy'").set_index("rater")
    again = metal.billboard_layout(
        wmt23, layout="wmt24", languages="en-de", permutations=100, seed=5
    )
    other = again.tables["tasks"].query("statistic == 'soft-pairwise-accuracy'").set_index("rater")
    assert (soft["value"] - other["value"].reindex(soft.index)).abs().max() < 0.001
    assert tells(run.warnings, "wmt24", "outlier")


@pytest.mark.reference
def test_basse_as_published(reference: Path) -> None:
    """Means of floats tie or not as they were added up: all 60 figures of judges to nine digits."""
    published = json.loads((reference / "oracle" / "basse_es_correlations.json").read_text())
    run = metal.billboard_layout(reference / "basse", layout="summarization", permutations=100)
    rows = run.tables["tasks"].set_index(["rater", "criterion", "statistic"])
    statistics = {"spear": "spearman", "tau": "kendall"}
    compared = 0
    for key, figure in published.items():
        _, judge, criterion, statistic = key.split("|")
        if not judge.startswith("metric:"):
            value = rows.loc[(judge, criterion, statistics[statistic]), "value"]
            assert value == pytest.approx(figure["value"], abs=1e-9), key
            compared += 1
    assert compared == 60
    assert tells(run.warnings, "4 of 24 generators", "every rater")
