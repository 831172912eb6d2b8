"""The page of a board: its parts, its history, and what `metal billboard` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from metal.boards.cells import ALL_LANGUAGES
from metal.boards.history import ANONYMOUS, JOINED, Entry
from metal.data.text import UNDEFINED, figure, name, plural
from metal.questions.board import generators, raters
from metal.questions.board.answer import cards, headline, lead, scope
from metal.questions.board.run import Billboard
from metal.questions.board.words import SOURCES, definitions, facts, undefined_table
from metal.show.pages import Page, within_cells
from metal.show.parts import closing, main_language_map
from metal.show.rankings import people_counted
from metal.show.view import Cell, Chart, Paragraph, Screen, TableView

MOST_FIRST = 15  # raters on the first screen
MOST_FURTHER_CELLS = 4_000  # of tables behind a choice, in each of two sections: about 300 KB
MOST_MAP_CELLS = 4_000
WORDS = {
    "data": "dataset",
    "generator": "generator joined",
    "metric": "metric joined",
    "ratings": "people's ratings",
    "withdrawn": "withdrawn",
}
MOST_ROWS = 200
EXPLAINED = (
    "r: Pearson with people over all outputs; rho Spearman, tau Kendall's tau-b; r between"
    " generators: of their means; SPA: soft pairwise accuracy. ranks: those that these data leave"
    " open at 95%, for all raters at once."
)


def charts(run: Billboard) -> list[Chart]:
    """Every chart of the page, in its order (also for files of their own)."""
    crowd = [chart for part in raters.crowd_sections(run) for chart in part.charts]
    ablation = [chart for chart in [generators.ablation_chart(run)] if chart]
    ranked = [*raters.ranking_charts(run), *generators.generator_charts(run)]
    return [*ranked, *ablation, *raters.overrating_charts(run), *crowd]


def tables(run: Billboard) -> list[TableView]:
    """Every table of the page, in its order, and those that it leaves out (also for LaTeX)."""
    shown = [
        raters.ranking_table(run, run.main, run.language),
        *(table for _, table in raters.further_rankings(run)),
        *raters.language_maps(run),
        raters.criterion_map(run),
        raters.generator_map(run),
        generators.generator_table(run, run.main, run.language),
        *(table for _, table in generators.further_generators(run)),
        generators.member_table(run),
        generators.ensembles_table(run),
        *raters.overrating_tables(run),
        *(table for part in raters.crowd_sections(run) for table in part.tables),
        history_table(run),
        undefined_table(run),
    ]
    return [table for table in shown if table and table.rows]


def content(run: Billboard) -> dict[str, Any]:
    """What the template shows."""
    ranked = len(run.records("raters", criterion=run.main, language=run.language))
    return {
        "tables": {table.name: table for table in tables(run)},
        "answer": raters.ranking_chart(run, "first", MOST_FIRST),
        "ranking_charts": raters.ranking_charts(run)[ranked <= MOST_FIRST :],
        "rankings": within_cells(raters.further_rankings(run), MOST_FURTHER_CELLS),
        "maps": within_cells(
            [(table.title, table) for table in raters.language_maps(run)], MOST_MAP_CELLS
        ),
        "generator_table": generators.generator_table(run, run.main, run.language),
        "generator_charts": generators.generator_charts(run),
        "generators": within_cells(generators.further_generators(run), MOST_FURTHER_CELLS),
        "fitted": generators.fitted(run),
        "ablation": generators.ablation_chart(run),
        "overrating": {chart.name: chart for chart in raters.overrating_charts(run)},
        "overrating_tables": raters.overrating_tables(run),
        "crowd": raters.crowd_sections(run),
    }


def history_table(run: Billboard) -> TableView:
    """One row per version."""
    gone = _withdrawn(run.history)
    newest = sorted(run.history, key=lambda entry: -entry.version)
    rows = []
    for entry in newest[:MOST_ROWS]:
        later = gone.get(entry.version)
        rows.append(
            (
                Cell(str(entry.version), "shown here" if entry.version == run.version else ""),
                name(entry.at.replace("T", " ").replace("+00:00", " UTC")),
                Cell(WORDS[entry.what], f"withdrawn in version {later}" if later else ""),
                name(entry.name or run.data["name"]),
                UNDEFINED if entry.what == "data" else name(entry.by or ANONYMOUS),
                _remarks(entry.about) or UNDEFINED,
            )
        )
    left = len(newest) - MOST_ROWS
    notes = (f"{left} older versions are in history.jsonl.",) if left > 0 else ()
    columns = ("version", "when", "what", "which", "by", "about")
    return TableView.of(
        None, "", "Versions of the board", columns, rows, name="history", notes=notes
    )


def _withdrawn(entries: tuple[Entry, ...]) -> dict[int, int]:
    """The version of each submission that was withdrawn, and the version that did."""
    standing: dict[tuple[str, str], int] = {}
    withdrawn: dict[int, int] = {}
    for entry in entries:
        if entry.what in JOINED:
            standing[entry.what, entry.name] = entry.version
        elif entry.what == "withdrawn":
            joined = standing.pop((str((entry.about or {}).get("was")), entry.name), None)
            if joined is not None:
                withdrawn[joined] = entry.version
    return withdrawn


def _remarks(about: Mapping[str, Any] | None) -> str:
    """What else is known, where it is a word or a number."""
    plain = [
        f"{name(key, 30)} {name(value)}"
        for key, value in (about or {}).items()
        if isinstance(value, str | int | float) and value != ""
    ]
    return ", ".join(plain) or UNDEFINED


def screen(run: Billboard, by: Sequence[str] = ()) -> Screen:
    """The main ranking, slices of it, generators, the ensemble, overrating. by: language,
    criterion, generator.
    """
    ranked = run.rows("raters")["rater"].nunique()
    reference = run.manifest["settings"].get("reference")
    people = people_counted(run) + (f" ({reference})" if reference else "")
    yield Paragraph(
        f"{run.name}, version {run.version}: {plural(ranked, 'rater')} against {people}",
        strong=True,
    )
    yield raters.ranking_table(run, run.main, run.language)
    yield Paragraph(_note(run), soft=True)
    slices = ("language", *by) if len(run.languages) > 1 else by
    for column in dict.fromkeys(slices):
        yield _figures_by(run, column)
    if (by_people := generators.generator_table(run, run.main, run.language)).rows:
        yield by_people
    if (ensemble := generators.fitted(run)) and (members := generators.member_table(run)):
        yield members
        yield Paragraph(f"{ensemble.signature}: {' '.join(ensemble.formula)}", soft=True)
        yield Paragraph(f"With people {ensemble.worth} Alpha {ensemble.alpha}", soft=True)
    yield from raters.overrating_tables(run)
    yield from closing(run)


def _note(run: Billboard) -> str:
    ceiling = raters.one_person(run, run.main, run.language)
    words = (
        [f"One of these people against the others: r {figure(ceiling)}."]
        if ceiling is not None
        else []
    )
    if run.language == ALL_LANGUAGES:
        words.append("Languages are taken together: their differences count too.")
    return " ".join([*words, EXPLAINED])


def _figures_by(run: Billboard, column: str) -> TableView | Paragraph:
    """The figures by language, criterion or generator; a sentence where there is only one of
    them.
    """
    if column == "language":
        view = main_language_map(raters.language_maps(run))
    else:
        view = {"criterion": raters.criterion_map, "generator": raters.generator_map}[column](run)
    return view or Paragraph(f"By {column}: there is only one.")


PAGE = Page(
    brand="board of raters and generators",
    headline=headline,
    scope=scope,
    cards=cards,
    facts=facts,
    definitions=definitions,
    sources=lambda run: SOURCES,
    content=content,
    charts=charts,
    tables=tables,
    screen=screen,
    lead=lead,
    template="board.html",
)
