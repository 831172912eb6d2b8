"""What `metal describe`, `check` and `compare` print: the answer first, counted by hand; the rest
with -v.
"""

from __future__ import annotations

import re
from dataclasses import replace
from math import nan
from pathlib import Path

import pandas as pd

import metal
from metal.auditing.as_read import as_read
from metal.auditing.check import lint
from metal.building.describe import numbers
from metal.data.dataset import load_dataset
from metal.questions.dataset.checked import FINDINGS, checked
from metal.questions.dataset.compared import compared
from metal.questions.dataset.contents import contents, description
from metal.questions.design import planned
from metal.show.view import Paragraph, Screen, TableView
from tests.saying import tells

DATASETS = Path(__file__).parents[2] / "datasets"
HOSTILE = "<b>\x1b[31m\u202egpt"


def words(screen: Screen) -> list[str]:
    return [part.text for part in screen if isinstance(part, Paragraph)]


def lines(table: TableView) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def test_a_dataset_without_texts_says_so_and_has_no_columns_of_dashes() -> None:
    described = metal.describe(DATASETS / "mlqe")
    screen = list(description(described.dataset, described.tables, "cl100k_base"))
    lengths, classes, means = (part for part in screen if isinstance(part, TableView))
    assert [part.text for part in screen[:2] if isinstance(part, Paragraph)] == [
        (
            f"{described.dataset.identity}: 8,416 ratings of 1,052 outputs of 1,052 sources in 6"
            " languages on 2 criteria by 18 people and 1 LLM judge."
        ),
        (
            "Missing: the texts of all 1,052 sources, the texts of all 1,052 outputs and a score in"
            " 62 ratings."
        ),
    ]
    assert lengths.columns == ("language", "sources", "outputs")
    assert [row[0] for row in lines(lengths)][:2] == ["English to Chinese", "English to German"]
    assert tells(lengths.notes, "no texts", "tokens")
    assert classes.rows[0][0].text == "Translation quality"
    (row,) = described.dataset.ratings.query(
        "criterion == 'direct_assessment' and kind == 'human'"
    ).pipe(lambda people: [people.groupby("output", observed=True)["score"].mean()])
    assert lines(means) == [
        [
            "Direct assessment",
            "1,052",
            f"{row.mean():.4g}",
            f"{row.std():.4g}",
            f"{row.min():.4g}",
            f"{row.max():.4g}",
        ]
    ]


def test_numbers_are_of_means_over_people() -> None:
    demo = load_dataset(DATASETS / "demo")
    assert numbers(demo)["criterion"].tolist() == ["overall_quality"]
    assert numbers(replace(demo, ratings=demo.ratings[demo.ratings["kind"] != "human"])).empty


def test_remarks_of_one_kind_are_counted_together() -> None:
    check = metal.check(DATASETS / "demo")
    short = words(checked(check.dataset, check.tables, check.remarks, verbose=False, labels=False))
    assert short[0] == contents(check.dataset)
    assert short[1] == "No errors, 21 warnings of 2 kinds."
    assert short[3].startswith(
        "warning: two raters with the same scores: Spanish Hallucinations: es-1 and es-3"
    )
    assert short[4].startswith(
        "warning: one answer to everything (20, -v shows all): Arabic Hallucinations"
    )
    every = words(checked(check.dataset, check.tables, check.remarks, verbose=True, labels=False))
    assert every[3:] == [f"warning: {line}" for line in check.warnings]
    sound = words(checked(check.dataset, check.tables, (), verbose=False, labels=False))
    assert sound[1:] == ["No errors, no warnings."]


def test_every_kind_of_problem_has_words() -> None:
    files = [Path(function.__code__.co_filename) for function in (lint, as_read)]
    codes = {
        code
        for file in files
        for code in re.findall(r'\bFinding\(\s*"([^"]+)"', file.read_text(encoding="utf-8"))
    }
    assert codes == set(FINDINGS) - {"test-questions"}


def table(*rows: tuple[str, str, str, float, float, float]) -> pd.DataFrame:
    """(criterion, rater, generator, mean, low, high) in Hindi."""
    columns = ["criterion", "rater", "generator", "mean", "mean_low", "mean_high"]
    return pd.DataFrame(rows, columns=columns).assign(
        language="hi", sources=4, paired=True, undefined=""
    )


NAN = float("nan")
CRITERIA = {
    name: replace(
        load_dataset(DATASETS / "demo").criteria["task_quality"],
        name=name,
        label=name,
        direction=direction,
    )
    for name, direction in (("good", "higher"), ("errors", "lower"), ("even", "higher"))
}


def test_best_means_are_counted_by_the_direction_of_their_criterion() -> None:
    """People: a on good (apart), b on errors (fewer; not apart), equal on even. The judge: a, a,
    b.
    """
    means = table(
        ("good", "people", "a", 2.0, 1.8, 2.2),
        ("good", "people", "b", 1.0, 0.8, 1.2),
        ("good", "j", "a", 2.0, 1.8, 2.2),
        ("good", "j", "b", 1.9, 1.8, 2.2),
        ("errors", "people", "a", 2.0, 0.9, 2.2),
        ("errors", "people", "b", 1.0, 0.8, 1.2),
        ("errors", "j", "a", 1.0, 0.8, 1.2),
        ("errors", "j", "b", 2.0, 1.8, 2.2),
        ("even", "people", "a", 1.0, 0.8, 1.2),
        ("even", "people", "b", 1.0, 0.8, 1.2),
        ("even", "j", "a", 1.0, 0.8, 1.2),
        ("even", "j", "b", 1.1, 0.8, 1.2),
    )
    headline, counts = compared(means, CRITERIA, verbose=False)
    assert isinstance(headline, Paragraph)
    assert tells(
        headline.text,
        "best for a and b",
        "1 of 3 cases",
        "in 1 of these its interval does not overlap",
    )
    assert isinstance(counts, TableView)
    assert counts.columns == ("", "a", "b", "several", "as people")
    assert lines(counts) == [["people", "1", "1", "1", ""], ["j", "2", "1", "0", "1 of 3"]]
    assert (
        len(
            [
                part
                for part in compared(means, CRITERIA, verbose=True)
                if isinstance(part, TableView)
            ]
        )
        == 4
    )


def test_one_case_is_its_own_table_and_no_mean_no_answer() -> None:
    one = table(("good", HOSTILE, "a", 2.0, 1.8, 2.2), ("good", HOSTILE, "b", 1.0, 0.8, 1.2))
    headline, means = compared(one, CRITERIA, verbose=False)
    assert isinstance(headline, Paragraph)
    assert tells(headline.text, "on good in Hindi", "best for a")
    assert "\x1b" not in headline.text
    assert "\u202e" not in headline.text
    assert isinstance(means, TableView)
    assert means.rows[0][1].below == "[1.800, 2.200]"
    none = table(
        ("good", "people", "a", NAN, NAN, NAN), ("good", "people", "b", NAN, NAN, NAN)
    ).assign(undefined="why")
    told = words(compared(none, CRITERIA, verbose=False))
    assert tells(told[0], "No two generators", "mean")
    assert told[1].startswith("– why (2 figures)")


def test_means_of_different_sources_say_what_that_means() -> None:
    one = table(
        ("good", "people", "a", 2.0, 1.8, 2.2), ("good", "people", "b", 1.0, 0.8, 1.2)
    ).assign(paired=False)
    one["sources"] = [10, 12]
    headline, means, unpaired = compared(one, CRITERIA, verbose=False)
    assert tells(words(iter([headline])), "on good in Hindi", "best for a", "interval apart")
    assert isinstance(means, TableView)
    assert means.columns == ("generator", "people (own)")
    assert [row[1].below for row in means.rows] == [
        "[1.800, 2.200]\n10 sources",
        "[0.800, 1.200]\n12 sources",
    ]
    assert tells(words(iter([unpaired])), "Unpaired:", "all 2 generators", "easier sources")
    shared = table(
        ("errors", "people", "a", 2.0, 1.8, 2.2), ("errors", "people", "b", 1.0, 0.8, 1.2)
    )
    told = words(compared(pd.concat([one, shared]), CRITERIA, verbose=False))
    assert told[-1].startswith("Unpaired in 1 of 2 comparisons: ")


def test_plans_and_scores_begin_with_how_many(tmp_path: Path) -> None:
    demo = load_dataset(DATASETS / "demo")
    made = metal.probe_plan(
        DATASETS / "demo", probes="name-swapped", per_language=5, out=tmp_path / "probes"
    )
    answer, table = planned.changes(made.dataset, made.made, made.calls)
    assert tells(
        words(iter([answer])), "30 outputs", "4 criteria: 120 calls"
    )  # Arabic and Hindi have no capitals
    assert isinstance(table, TableView)
    assert lines(table) == [["Swapped names", "certain", "0", "5", "0", "5"]]
    lacking = pd.DataFrame(
        [
            ("the same contents", "hi", "there", 60, nan, nan),
            ("asked again", "en", "missing", 60, 1920.0, 0.41),
            ("prompt in the text's language", "hi", "cannot", 60, nan, nan),
        ],
        columns=["condition", "language", "state", "outputs", "calls", "dollars"],
    )
    answer, table = planned.conditions(lacking)
    assert tells(words(iter([answer]))[0], "2 of the 3 conditions", "missing")
    assert isinstance(table, TableView)
    assert lines(table) == [
        ["The same contents", "Hindi", "There", "60", "–", "–"],
        ["Asked again", "English", "Missing", "60", "1,920", "$0.41"],
        ["Prompt in the text's language", "Hindi", "Cannot be made", "60", "–", "–"],
    ]
    assert tells(words(planned.conditions(lacking[:1])), "every condition")
    of_metric = {
        "metric": "m",
        "scored": 1238,
        "without": {"no reference": 2},
        "mean": None,
        "seconds": None,
    }
    answer, table = planned.scores(demo, [of_metric])
    assert words(iter([answer])) == [
        "1,238 scores of the outputs of demo by 1 metric; 2 scores could not be computed."
    ]
    assert isinstance(table, TableView)
    assert lines(table) == [["m", "1,238", "2", "–", "–"]]
