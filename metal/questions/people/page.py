"""The page of `metal monitor`: people as raters; and what it prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from metal.data.languages import language_name
from metal.data.text import count, known, listed, with_minus, within
from metal.genie.behaviour import ALL_CRITERIA
from metal.questions.people.answer import answer_table, cards, headline, lead, scope
from metal.questions.people.run import Monitor
from metal.questions.people.sections import raters_table
from metal.questions.people.sections import sections as sections
from metal.questions.people.words import SOURCES, definitions, facts
from metal.show.pages import Page
from metal.show.parts import closing, criterion_in_words, to_hand_out
from metal.show.view import Paragraph, Screen, TableView

MOST = 20  # people of a table

MOST_ON_SCREEN = 3  # of those who stand out


def tables(run: Monitor) -> list[TableView]:
    """Every table of the page below the first screen, in its order."""
    return [table for section in sections(run) for table in (*section.tables, *section.further)]


def answer(run: Monitor) -> TableView | None:
    """Who stands out, where anybody does."""
    table = answer_table(run)
    return table if table.rows else None


def brief(run: Monitor) -> Iterator[TableView]:
    """Who stands out, and how."""
    yield answer_table(run).first(MOST_ON_SCREEN, rest="-v names all")


def screen(run: Monitor, by: Sequence[str] = ()) -> Screen:
    """Test questions, people beside each other, warnings, and what excluding noisy people would
    drop.
    """
    if run.examined:
        yield from _tests(run)
    else:
        yield Paragraph(
            "Nobody was asked a test question, so that nobody can be called noisy. To hide some"
            " among the tasks:"
        )
        yield Paragraph(f"  {to_hand_out(run, ' --test-questions')}", copied=True)
    yield from _beside(run)
    *warnings, signature = closing(run)
    yield from warnings
    if len(run.tables["exclusions"]):
        dropped = count(run.tables["exclusions"]["ratings"].sum())
        yield Paragraph(
            f"Without noisy people {dropped} ratings would be dropped; nothing is removed from the"
            " dataset."
        )
    yield signature


def _tests(run: Monitor) -> Screen:
    explained = (
        "Right there: on the task and side that speaks most against them, with the 95% interval of"
        " their own answers; P(noisy): of the model."
    )
    view = raters_table(run, ("languages", "weakest"), MOST)
    title = f"Test questions ({run.manifest['settings']['model']})"
    yield replace(view, title=title, notes=(*view.notes, explained))
    yield from (
        Paragraph(f"{within(rater)} is noisy: {'; '.join(why)}")
        for rater, why in sorted(run.why_noisy.items())
    )


def _beside(run: Monitor) -> Screen:
    records = run.records("behaviour")
    if not records:
        return
    rows = [row for row in records if row["criterion"] == ALL_CRITERIA]
    rows.sort(key=lambda row: (not known(row["agreement_difference"]), row["agreement_difference"]))
    title = f"People beside those who rated the same outputs, {ALL_CRITERIA}"
    yield TableView.of_figures(
        run, "behaviour", title, rows, without=("criterion",), heads=2, most=MOST
    )
    reasons: dict[tuple[str, str], dict[str, str]] = {}
    for row in records:
        if known(row["stands_out"]) and row["stands_out"]:
            reasons.setdefault((row["rater"], row["language"]), {})[row["criterion"]] = row[
                "stands_out"
            ]
    for (rater, language), why in reasons.items():
        yield Paragraph(
            f"{within(rater)} ({language_name(language)}) stands out on {_named_first(run, why)}"
        )
    if not reasons:
        yield Paragraph("Nobody stands out.")
    apart: dict[str, Any] = {row["rater"]: row["not_compared"] for row in rows}
    unlike = [(rater, why) for rater, why in apart.items() if known(why) and why]
    yield from (
        Paragraph(f"{within(rater)} cannot be compared: {why}") for rater, why in unlike[:MOST]
    )


def _named_first(run: Monitor, why: dict[str, str]) -> str:
    """The criterion that says most, with its reason, and the names of the others."""
    first = ALL_CRITERIA if ALL_CRITERIA in why else next(iter(why))
    others = [criterion_in_words(run, criterion) for criterion in why if criterion != first]
    also = f"; also on {listed(others)} (tables/behaviour.csv)" if others else ""
    return f"{criterion_in_words(run, first)}: {with_minus(why[first])}{also}"


PAGE = Page(
    brand="people as raters",
    headline=headline,
    scope=scope,
    cards=cards,
    facts=facts,
    definitions=definitions,
    sources=lambda run: SOURCES,
    answer=answer,
    sections=sections,
    tables=tables,
    screen=screen,
    brief=brief,
    lead=lead,
)
