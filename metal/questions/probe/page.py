"""The page of a report on probes, and what `metal probe report` prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from metal.auditing.scored_outputs import UNKNOWN
from metal.data.languages import language_name
from metal.data.text import (
    UNDEFINED,
    capital,
    figure,
    known,
    listed,
    name,
    plural,
    signed,
    slug,
    within,
)
from metal.questions.bias.conditions import FALLS, STAYS
from metal.questions.probe.answer import cards, headline, scope
from metal.questions.probe.compute import AGAINST, ALL_CERTAIN, BLIND, CAPPED, NOT_BLIND, SHOWN
from metal.questions.probe.run import ProbeReport
from metal.questions.probe.words import SOURCES, definitions, facts
from metal.runs.columns import Row, title_of
from metal.show.charts.dots import Dot, Numbers, dots_chart
from metal.show.pages import Page
from metal.show.parts import across_languages, criterion_in_words, languages_shown, parts, places
from metal.show.view import Cell, Chart, Section, TableView
from metal.stats.probes import LEAST

LOOKS = {BLIND: (5, BLIND), NOT_BLIND: (0, NOT_BLIND), SHOWN: (7, SHOWN), UNKNOWN: (7, UNKNOWN)}
MOST_CHARTS = 12
MOST_ROWS = 400
MOST_ON_SCREEN = 6
KINDS = ("certain", "graded", "invariant", "bait")
EXPLAINED = (
    "Figures without a sign: how often a text scores above its changed copy (0.5 by chance)."
    " Figures with a sign: how far the change moves the score. Both on {}. If a change is not "
    "listed as missed, this does not show that the judge sees it."
)
DASHES = {  # why the table of all figures has one
    "expected": "the expected effect on this criterion is unknown",
    "p_adjusted": "the row cannot say anything against the judge",
    "selectivity": "only if the score must fall on this criterion and must not change on another",
    "people_a": f"only for graded changes of which people rated {LEAST} pairs",
}


def seen_charts(run: ProbeReport) -> list[Chart]:
    """Charts of how well changes are noticed, one for each judge, criterion and language; those
    that show blindness first.
    """
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in run.records("probes"):
        if row["expected"] == FALLS and known(row["a"]):
            groups.setdefault((row["judge"], row["criterion"], row["language"]), []).append(row)
    ordered = sorted(
        groups.items(), key=lambda group: -sum(row["says"] == BLIND for row in group[1])
    )
    drawn = []
    for (judge, criterion, language), rows in ordered[:MOST_CHARTS]:
        dots = [Dot.of(row, "a", row["what"], row["says"]) for row in rows]
        title = f"{language_name(language)}, {run.criteria[criterion].title}, {name(judge)}"
        blind = listed([row["what"] for row in rows if row["says"] == BLIND])
        alt = (
            f"How often {within(judge)} scores clean outputs higher, {len(rows)} changes; blind:"
            f" {blind or 'none'}."
        )
        key = f"a_{slug(language)}_{slug(criterion)}_{slug(judge)}"
        chance = (0.5, "chance")
        finding = f"{within(judge)} is blind to {blind}." if blind else "No blindness is shown."
        numbers = Numbers("A", label="changed", source="probes")
        chart = dots_chart(key, title, alt, dots, LOOKS, numbers, mark=chance, finding=finding)
        drawn.append(chart)
    return drawn


def answer(run: ProbeReport, *, below: bool = True, most: int | None = None) -> TableView:
    """A table of conclusions: judges and changes in rows, languages in columns.

    Each cell has the conclusion on the criterion on which the judge did worst.

    below: whether a second line in each cell has the figure for the conclusion, and the criterion.
    most: the largest number of rows on a terminal.
    """
    # what a certain or graded change must leave alone is in the table of all figures
    aside = {(kind, STAYS) for kind in ("certain", "graded")} | {(kind, "") for kind in KINDS}
    records = [row for row in run.records("probes") if (row["kind"], row["expected"]) not in aside]
    languages = languages_shown(records, AGAINST)
    together = ALL_CERTAIN["what"]
    against = {
        (row["judge"], row["what"], row["language"]) for row in records if row["says"] in AGAINST
    }
    often = Counter((judge, what) for judge, what, _ in against)  # in how many languages
    records.sort(
        key=lambda row: (row["judge"], row["what"] != together, -often[row["judge"], row["what"]])
    )
    criteria = list(dict.fromkeys(row["criterion"] for row in records))
    several = len(criteria) > 1
    worst = "the criterion on which the judge did worst"
    note = EXPLAINED.format(worst if several else criterion_in_words(run, criteria[0]))
    keys, cell = (
        {"judge": "judge", "what": "changed"},
        partial(_cell, run, below=below, several=several),
    )
    options: dict[str, Any] = {"name": "blind", "turns": False}
    view = across_languages(
        run, "probes", "What judges do not see", records, keys, cell, languages, **options
    )
    if most:
        view = view.strong_first(most).first(most, rest="-v shows all")
    dashes = any(each.text == UNDEFINED for row in view.rows for each in row)
    return replace(
        view,
        notes=(
            f"{note} {UNDEFINED}: no such change was rated in this language." if dashes else note,
        ),
    )


def brief(run: ProbeReport) -> Iterator[TableView]:
    """What the terminal shows: the table of `answer`, with each row on one line."""
    yield answer(run, below=False, most=MOST_ON_SCREEN)


def _cell(run: ProbeReport, rows: Sequence[Row], *, below: bool, several: bool) -> Cell:
    """A cell with the conclusion on the criterion on which the judge did worst."""
    usable = [row for row in rows if known(row["a"])]
    if not usable:
        return Cell(UNDEFINED)
    falls = usable[0]["expected"] == FALLS
    worst = min(
        usable,
        key=lambda row: (row["says"] not in AGAINST, row["a"] if falls else -_moved(run, row)),
    )
    text, mark = figure(worst["a"]) if falls else signed(worst["change"]), ""
    more = []
    if worst["says"] in AGAINST:
        more.append(text)
        text, mark = worst["says"], "strong"
    if several:
        more.append(run.criterion(worst["criterion"]))
    return Cell(text, ", ".join(more) if below else "", mark)


def _moved(run: ProbeReport, row: Row) -> float:
    """How far a score moved in the wrong direction, as a share of its scale, because criteria have
    different scales.
    """
    return float(row["change"] if row["expected"] == CAPPED else abs(row["change"])) / run.span(
        row["criterion"]
    )


def sections(run: ProbeReport) -> list[Section]:
    """The sections: how well changes are noticed, every figure, and doses."""
    rows = sorted(run.records("probes"), key=lambda row: row["says"] not in AGAINST)
    shown = [
        *_by_judge(
            run,
            "probes",
            "All figures",
            rows,
            {"condition": lambda row: Cell(name(row["what"]), row["kind"])},
        )
    ]
    titles = {row["probe"]: row["what"].rpartition(" (")[0] for row in rows if known(row["dose"])}
    named = {"probe": lambda row: name(titles[row["probe"]])}
    shown += _by_judge(
        run, "trends", "Whether scores fall with the dose", run.records("trends"), named
    )
    return [
        Section("seen", "How well changes are seen", charts=tuple(seen_charts(run))),
        Section("figures", "All figures", tables=tuple(shown)),
    ]


def _by_judge(
    run: ProbeReport,
    table: str,
    title: str,
    rows: Sequence[Row],
    cells: Mapping[str, Callable[[Row], Cell | str]],
) -> Iterator[TableView]:
    """The rows of a table in one view per judge, with the reasons for undecided or undefined
    figures.
    """
    judges = list(dict.fromkeys(row["judge"] for row in rows))
    for index, judge in enumerate(judges):
        own = [row for row in rows if row["judge"] == judge]
        open_cases: dict[str, list[str]] = {}
        for row in own:
            for of, reason in parts(row["undefined"]):
                what = row["says"] if of == "says" else title_of(run.columns(table), of)
                open_cases.setdefault(f"{capital(what)}: {reason}", []).append(
                    language_name(row["language"])
                )
        notes = [
            f"{what} ({plural(len(languages), 'case')}: {places(list(dict.fromkeys(languages)))})"
            for what, languages in open_cases.items()
        ]
        for column in run.columns(table):
            if column.name in DASHES and any(column.text(row) == UNDEFINED for row in own):
                notes.append(f"{UNDEFINED} {column.title}: {DASHES[column.name]}")
        yield TableView.of_figures(
            run,
            table,
            f"{title}: {name(judge)}",
            own,
            cells=cells,
            without=("judge",),
            name=f"{table}_{index + 1}" if index else table,
            heads=3,
            most=MOST_ROWS,
            notes=notes,
        )


PAGE = Page(
    brand="what judges are blind to",
    headline=headline,
    scope=scope,
    cards=cards,
    facts=facts,
    definitions=definitions,
    sources=lambda run: SOURCES,
    answer=answer,
    sections=sections,
    brief=brief,
)
