"""A judge that misses bad outputs: the headline says so, and each table of verdicts marks it."""

from __future__ import annotations

from pathlib import Path

import pytest

import metal
from metal.data.dataset import Dataset
from metal.questions.audit.answer import cards
from metal.questions.audit.brief import (
    BLIND,
    BOTH,
    DAGGER,
    DOUBLE,
    LESS,
    LESS_OR_OPEN,
    LUCK,
    NO_BAD,
    UNSHOWN,
    brief,
)
from metal.questions.audit.result import Audit
from metal.questions.audit.verdicts import MISSES_BAD, by_judge
from metal.show.pages import headline, page
from tests.conftest import MakeDataset
from tests.saying import tells

TRUTH = [0, 0, 1, 1, 2, 2] * 20
NEVER_BAD = [1 if score == 0 else score for score in TRUTH]


def people(number: int) -> list[int]:
    """A person who rates every tenth item one level off, each person other items."""
    return [
        score + (1 if score < 2 else -1) if place % 10 == number else score
        for place, score in enumerate(TRUTH)
    ]


@pytest.fixture
def ratings(make_dataset: MakeDataset) -> Dataset:
    """Two languages; `blind` never says Bad, `seeing` does as people do, in English only."""
    three = {f"A{number}": people(number) for number in (1, 2, 3)}
    here = three | {"blind": NEVER_BAD, "seeing": people(5)}
    return make_dataset({"en": here, "hi": three | {"blind": NEVER_BAD}})


def marked(run: Audit) -> list[tuple[str, str]]:
    """The judges and languages of the cells that are marked."""
    return [
        (of.judge, cell.row["language"])
        for of in by_judge(run)
        for cell in of.verdicts
        if MISSES_BAD in cell.figure
    ]


def test_the_cells_are_named_and_marked(ratings: Dataset) -> None:
    run = metal.audit(ratings, judges=["blind"])
    assert tells(headline(run), "rank outputs there, but not to find the bad ones")
    assert marked(run) == [("blind", "en"), ("blind", "hi")]
    (matrix,) = brief(run)
    cells = [cell for row in matrix.rows for cell in row[1:]]
    assert [DAGGER in cell.text for cell in cells] == [True, True]
    assert BLIND in matrix.notes
    assert NO_BAD not in matrix.notes


def test_of_several_judges_only_the_blind_one_is_marked(ratings: Dataset) -> None:
    run = metal.audit(ratings)
    assert tells(headline(run), "blind can still help", "but not to find the bad ones")
    assert marked(run) == [("blind", "en"), ("blind", "hi")]


def test_the_page_says_what_the_marks_mean(ratings: Dataset) -> None:
    assert "finds less than half as many bad outputs" in page(metal.audit(ratings))
    assert "Agrees less: with people" in page(metal.audit(ratings))
    alone = page(metal.audit(ratings, judges=["seeing"]))
    assert "Misses bad" not in alone
    assert "Agrees less" not in alone


@pytest.mark.reference
def test_many_cells_are_counted_and_found_by_their_mark(reference: Path) -> None:
    run = metal.audit(reference / "alttest" / "lesion")
    assert tells(
        headline(run),
        "In 5 of 20 comparisons a judge does not help to find the bad ones",
        "in 4 more this is open",
    )
    assert len(marked(run)) == 5
    tally, matrix = brief(run)
    assert tally.notes == (LESS_OR_OPEN, BOTH)
    assert {LESS_OR_OPEN, BLIND, UNSHOWN}.isdisjoint(matrix.notes)  # said once
    assert tally.rows[0][1].text == "5 informative (2 <, 1 ‡)"
    assert [LESS in row[1].text for row in matrix.rows] == [True, False, True, False, False]
    assert any(DAGGER in row[1].text for row in tally.rows)


@pytest.mark.reference
def test_a_judge_that_agrees_less_is_named_among_those_of_which_it_is_open(
    reference: Path,
) -> None:
    run = metal.audit(reference / "alttest" / "cebab_stars")
    assert tells(headline(run), "gemini_flash agrees less", "for mistral-v03 this is not shown")


@pytest.mark.reference
def test_what_holds_only_alone_is_marked(reference: Path) -> None:
    tally, matrix = brief(metal.audit(reference / "alttest" / "cebab_aspects"))
    assert tally.rows[0][1].text == "4 like a person (1 *)"
    assert tells(tally.notes[0], "looked at alone", "24 comparisons")
    assert NO_BAD in matrix.notes
    assert [LUCK in row[1].text for row in matrix.rows] == [True, False, False, False]


@pytest.mark.reference
def test_scores_that_more_ratings_would_not_help_are_corrected(reference: Path) -> None:
    run = metal.audit(reference / "strangers" / "da.csv")
    *_, following = cards(run)
    assert tells(following.words, "More ratings would not", "40 sources")
    assert following.command.startswith("metal correct ")
    assert following.command.endswith("--labels 40")


def test_with_one_person_an_item_nobody_knows_who_finds_the_bad_ones(
    make_dataset: MakeDataset,
) -> None:
    run = metal.audit(make_dataset({"en": {"A1": TRUTH, "seeing": people(5)}}))
    assert tells(headline(run), "help to rank outputs", "whether it finds the bad ones is open")
    assert marked(run) == []
    (matrix,) = brief(run)
    assert DOUBLE in matrix.rows[0][1].text
    assert UNSHOWN in matrix.notes
