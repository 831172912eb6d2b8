"""`metal select`: on published probabilities, where confidence comes from, what is refused, the
page.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import metal
from metal.auditing.cells import cells
from metal.auditing.settings import AuditSettings
from metal.errors import UnknownName, UsageError
from metal.questions.select.answer import cards
from metal.questions.select.compute import Everywhere, SelectSettings, confidence_of
from metal.questions.select.page import answer
from metal.stats.bootstrap import SourceBootstrap
from tests.report.checks import Visiting, check_saved
from tests.saying import tells

WORDS = {"levels": {"*": "1=first,2=second"}, "measures": "nominal"}


def published(reference: Path) -> metal.Dataset:
    """500 pairs, people's choice, and probabilities of three judges."""
    table = pd.read_csv(reference / "cascaded-judges" / "probs.csv")
    table["source"] = "s" + table["item"].astype(str)
    table["score"] = 1 + (table["p_second"] > table["p_first"])
    table["confidence"] = table[["p_first", "p_second"]].max(axis=1)
    people = table.drop_duplicates("item").assign(judge="A1", confidence=None)
    people["score"] = people["human"]
    both = pd.concat([table, people]).rename(columns={"judge": "rater"}).assign(language="en")
    return metal.read(
        both[["source", "language", "rater", "score", "confidence"]], kinds={"A1": "human"}, **WORDS
    )


def asked_again() -> pd.DataFrame:
    """A judge that was asked three times about 60 sources in two languages; right where it says the
    same each time.
    """
    rows = []
    for language in ("en", "hi"):
        for source in range(60):
            where = {"source": f"{language}{source}", "language": language}
            sure = source % 3 > 0
            rows += [{**where, "rater": name, "score": 1} for name in ("A1", "A2", "gpt<b>")]
            rows[-1]["score"] = 1 if sure else 2
            rows += [{**where, "rater": f"gpt<b>#{again}", "score": 1} for again in (2, 3)]
    return pd.DataFrame(rows)


def test_published_agreement_and_calibration(reference: Path) -> None:
    """cascaded-judges: agreement .750 .756 .784, and ECE .097 .066 .134 in ten bins of equal
    width.
    """
    made = metal.select(published(reference), alpha=0.15, resamples=200)
    table = made.tables["calibration"].set_index("judge")
    judges = ["mistral-7b-instruct", "gpt-3.5-turbo", "gpt-4-turbo"]
    assert table.loc[judges, "agreement"].round(3).tolist() == [0.750, 0.756, 0.784]
    assert table.loc[judges, "ece_width"].round(3).tolist() == [0.097, 0.066, 0.134]
    assert table.loc[judges, "ece"].round(3).tolist() == [0.097, 0.051, 0.130]
    assert (table["ece_mapped"] < 0.07).all()
    selected = made.tables["selection"].set_index("judge")
    assert selected.loc["mistral-7b-instruct", "says"] == "people only"
    for judge in judges[1:]:
        row = selected.loc[judge]
        assert row["says"] == "in part"
        assert row["agreement_kept"] > row["at_least"] >= 0.85 > row["agreement"]


@pytest.mark.slow
def test_shares_over_repeats(tmp_path: Path, visit: Visiting) -> None:
    data = metal.read(asked_again(), levels={"*": "1=first,2=second"}, kinds={"gpt*": "llm"})
    again = {name: rater for name, rater in data.raters.items() if "#" in name}
    for name, rater in again.items():
        rater.about.update(repeats=name.partition("#")[0])
    costs = {"gpt<b>": "0.01", "people": "1"}
    made = metal.select(data, alpha=0.1, costs=costs, resamples=200)
    for row in made.tables["selection"].to_dict("records"):
        assert (row["confidence"], row["says"], row["kept"], row["items"]) == (
            "repeats",
            "in part",
            40,
            60,
        )
        assert row["agreement_kept"] == 1
        # delta is halved between two languages
        assert row["at_least"] == pytest.approx(0.05 ** (1 / 40))
        assert row["cost"] == pytest.approx(1000 * (0.01 + 1 / 3))
    assert set(made.tables["calibration"]["auroc"]) == {1.0}
    too_strict = metal.select(data, alpha=0.01, resamples=200)
    page = too_strict.save(tmp_path / "strict").joinpath("report.html").read_text(encoding="utf-8")
    assert tells(page, "The data cannot tell", "alone (2 cases).")
    commands = [
        card.command
        for card in (*cards(too_strict), *cards(made))
        if card.title == "What to do next"
    ]
    assert commands == ["metal audit DATASET", "metal audit DATASET"]
    saving = [*cards(metal.select(data, alpha=0.1, resamples=200))][-1]
    assert saving.command == "metal select DATASET --alpha 0.1 --costs 'gpt<b>'=0.001,people=0.2"
    strict = too_strict.tables["selection"]
    assert strict["undefined"].str.contains("60 sources .* 299 are needed").all()
    check_saved(visit, made, tmp_path / "run", "overview", "calibration", "methods")
    phone = visit(tmp_path / "run/report.html", viewport={"width": 390, "height": 844}).page
    cells = phone.locator("#overview td").all()
    named = [cell.evaluate("cell => getComputedStyle(cell, '::before').content") for cell in cells]
    # above each value, whose columns are gone
    assert named == [f'"{language}"' for language in ("English", "Hindi")]


def confidence(
    data: metal.Dataset, way: str, language: str = "en", orders: Any = (), judge: str = "J"
) -> list[float]:
    """How sure a judge is of each output, in their order."""
    settings = AuditSettings(criteria=("overall",), languages=(language,), resamples=100)
    chosen = SelectSettings(0.1, 0.1, (way,), (), {}, orders, SourceBootstrap(100))
    [cell] = cells(data, settings)
    sure = confidence_of(data, cell, judge, chosen, Everywhere.of(data, cell.criterion))
    assert sure.way == ("" if np.isnan(sure.confidence).all() else way)
    return sure.confidence.tolist()


def several(**answers: dict[str, list[int]]) -> metal.Dataset:
    """Answers by language and rater to the same contents, which have ids of their own in each
    language.
    """
    rows = [
        {
            "source": f"{language}/{place}",
            "content": str(place),
            "language": language,
            "rater": rater,
            "score": score,
        }
        for language, raters in answers.items()
        for rater, scores in raters.items()
        for place, score in enumerate(scores)
    ]
    kinds = {"A*": "human", "J*": "llm", "K*": "llm"}
    levels, columns = {"*": "0=bad,1=medium,2=good"}, {"content": "content"}
    return metal.read(pd.DataFrame(rows), levels=levels, kinds=kinds, columns=columns)


def test_confidence_from_prompts_languages_and_juries() -> None:
    """The share of those asked that gave the judge's answer, itself among them."""
    data = several(
        en={"A1": [0, 0, 0], "J": [0, 1, 2], "J2": [0, 1, 1], "K": [0, 0, 1]},
        hi={"A1": [0, 0, 0], "J": [0, 2, 2]},
        sw={"A1": [0, 0, 0], "J": [0, 0, 0]},
    )
    for name in ("J", "J2"):
        data.raters[name].about["model"] = "openai:j"
    assert confidence(data, "prompts") == [1, 1, 0.5]
    assert confidence(data, "languages") == pytest.approx([1, 1 / 3, 2 / 3])
    assert confidence(data, "jury") == pytest.approx([1, 2 / 3, 1 / 3])
    data.raters["K"].about["members"] = ["J2"]
    assert confidence(data, "jury") == [1, 1, 0.5]  # a jury is no other judge; it has its members
    assert confidence(data, "jury", judge="K") == [1, 0.5, 1]
    assert np.isnan(confidence(data, "repeats")).all()
    assert np.isnan(confidence(data, "prompts", judge="K")).all()
    assert np.isnan(confidence(data, "jury", "hi")).all()


def test_confidence_from_both_orders() -> None:
    """A pair that was shown in both orders: sure of the same answer, half sure where the two differ
    and it is a tie.
    """
    rows = [
        ("A1", "p0", 1),
        ("A1", "p1", 2),
        ("A1", "p2", 1),
        ("J", "p0", 1),
        ("J", "p1", 3),
        ("J", "p2", 1),
    ]
    table = pd.DataFrame(rows, columns=["rater", "source", "score"]).assign(language="en")
    levels = {"*": "1=first,2=second,3=tie"}
    data = metal.read(table, levels=levels, measures="nominal", kinds={"A*": "human", "J": "llm"})
    [first, second, _] = data.outputs
    assert confidence(data, "orders", orders={first, second})[:2] == [1, 0.5]
    assert np.isnan(confidence(data, "orders", orders={first, second})[2])


def test_a_cascade_asks_the_cheap_first_and_adds_up_what_it_costs() -> None:
    """The cheap judge is sure of half of 80, and right there; the dear one of half of the rest;
    people answer 20.

    Per 1,000: 1,000 x 0.01 + 500 x 0.1 + 250 x 1 = 310 dollars, where people alone are 1,000.
    """
    rows = []
    for place in range(80):
        about = {"source": f"s{place}", "language": "en"}
        rows.append({**about, "rater": "A1", "score": 1})
        rows.append(
            {
                **about,
                "rater": "J",
                "score": 1 + (place >= 40),
                "confidence": 0.99 if place < 40 else 0.2,
            }
        )
        rows.append(
            {
                **about,
                "rater": "K",
                "score": 1 if place < 60 else 2,
                "confidence": 0.95 if place < 60 else 0.1,
            }
        )
    kinds = {"A1": "human", "J": "llm", "K": "llm"}
    data = metal.read(
        pd.DataFrame(rows), levels={"*": "1=first,2=second"}, measures="nominal", kinds=kinds
    )
    costs = {"J": "0.01", "K": "0.1", "people": "1"}
    result = metal.select(data, cascade="J,K", costs=costs, confidence="rating", resamples=100)
    table = result.tables["selection"]
    assert "$310 per 1,000" in str(answer(result))
    for cascade, why in {
        "J": "two or more judges",
        "J,J": "each once",
        "J,K": "no criterion has answers",
    }.items():
        with pytest.raises(UsageError, match=why):
            metal.select(data, judges="J", cascade=cascade)
    row = table.set_index("judge").loc["J > K"]
    assert (row["kept"], row["by"], row["says"]) == (60, "J 50%, K 25%", "in part")
    assert (row["to_people"], row["agreement_kept"]) == (0.25, 1)
    assert row["cost"] == pytest.approx(310)
    assert row["cost_people"] == pytest.approx(1000)


def test_what_is_refused() -> None:
    data = metal.read(asked_again(), levels={"*": "1=first,2=second"}, kinds={"gpt*": "llm"})
    with pytest.raises(UsageError, match=r"`alpha` 1\.5: use a share"):
        metal.select(data, alpha=1.5)
    with pytest.raises(UsageError, match="dollars of a rating"):
        metal.select(data, costs={"people": "cheap"})
    with pytest.raises(UnknownName, match="source of confidence 'mood'"):
        metal.select(data, confidence="mood")
    with pytest.raises(UnknownName, match="judge 'gpt-5'"):
        metal.select(data, cascade="gpt-5,gpt<b>")
    only = metal.select(data, confidence="rating", resamples=200)
    undefined = only.tables["selection"]["undefined"]
    assert set(undefined.str.contains("gave no confidence")) == {True}


def test_a_selection_of_one_language_is_signed_as_such() -> None:
    demo = Path(__file__).parents[2] / "datasets" / "demo"
    every = metal.select(demo, alpha=0.2, resamples=100).manifest
    some = metal.select(demo, alpha=0.2, resamples=100, languages="en", criteria="task_quality")
    assert some.manifest["signature"] != every["signature"]
    assert "languages:en" in some.manifest["signature"]
    assert some.manifest["settings"]["criteria"] == ["task_quality"]
