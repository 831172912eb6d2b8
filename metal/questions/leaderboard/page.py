"""The page of a leaderboard by people: its tables and chart, and what `metal leaderboard`
prints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from metal.data.text import UNDEFINED, count, coverage, known, name, plural, score, share, within
from metal.questions.leaderboard.answer import cards, headline, lead, scope
from metal.questions.leaderboard.coverage import MOST_COMMANDS, commands, coverage_rows, unrated
from metal.questions.leaderboard.run import Leaderboard
from metal.questions.leaderboard.words import SOURCES, definitions, facts
from metal.runs.columns import Row
from metal.show.charts.dots import MOST_DOTS, generator_dots
from metal.show.pages import Page, within_cells
from metal.show.parts import Heat, closing, main_language_map, places, reasons
from metal.show.rankings import people_counted
from metal.show.view import Cell, Chart, Paragraph, Screen, TableView

MOST_FIRST = 15  # generators on the first screen
MOST_GENERATORS = 100
MOST_RATERS = 40
MOST_ROWS = 200
MOST_CELLS = 5_000  # of tables behind a choice, in each of two sections
MOST_ON_SCREEN = 3  # commands
EXPLAINED = (
    "Score from 0, the worst, to 1, the best, with its 95% interval by source; below a standard"
    " error stands what it is at most for this score and number of outputs. Ranks: those that these"
    " ratings leave open at 95%, for all generators at once."
)

OF_CORRECTED = (
    "people's mean of all sources that {} rated for every generator, by their labels and its"
    " ratings (`metal.correct`); of single criteria in single languages."
)


def ranking_table(
    run: Leaderboard, criterion: str, language: str, key: str = "ranking"
) -> TableView:
    """Every generator of a criterion in a language, best first."""
    rows = run.ranking(criterion, language)
    without, notes = [], []
    if not any(row["unanswered"] for row in rows):
        without.append("unanswered")
    if not run.corrected_by:
        without.append("corrected")
    if (criterion, language) == (run.main, run.language):  # said once, for all rankings below it
        notes.append(EXPLAINED)
        if run.corrected_by:
            notes.append(f"People by judge: {OF_CORRECTED.format(within(run.corrected_by))}")
    return TableView.of_figures(
        run,
        "leaderboard",
        f"Generators by people: {run.where(criterion, language)}",
        rows,
        without=without,
        name=key,
        heads=2,
        notes=(*notes, *reasons(run, "leaderboard", rows, "generator")),
    )


def ranking_chart(run: Leaderboard, key: str = "ranking", most: int = MOST_DOTS) -> Chart:
    """The main ranking, or its first rows: one row per generator, its score as a dot with its
    interval. Who is first stands in the headline.
    """
    rows = run.ranking(run.main, run.language)
    chart = generator_dots(
        run, key, rows, "the score from 0 to 1", "score", "leaderboard", share, most
    )
    return replace(chart, finding="")


def further_rankings(run: Leaderboard) -> list[TableView]:
    """Every other criterion and language."""
    return [
        ranking_table(run, *cell, f"ranking_{place}") for place, cell in enumerate(run.cells[1:], 1)
    ]


def criterion_map(run: Leaderboard) -> TableView | None:
    """Criteria, in the language of the main ranking; None where there is only one."""
    return _heat(run).by_criterion("leaderboard")


def language_maps(run: Leaderboard) -> list[TableView]:
    """Languages, on each criterion that was rated in several, the main one first."""
    return _heat(run).by_language("leaderboard", run.languages)


def _heat(run: Leaderboard) -> Heat:
    """Scores, one shade per tenth."""
    return Heat(
        run,
        who="generator",
        figure="score",
        words="Scores",
        form=share,
        shade=lambda score: max(1, min(9, int(score * 10))),
        head=name,
        order=run.order,
        blank="people rated nothing of it there.",
        most=MOST_GENERATORS,
    )


def beside_table(run: Leaderboard) -> TableView | None:
    """The main ranking with what each metric and judge gives; None where there is none."""
    in_language = run.records("beside", language=run.language)
    rows = [row for row in in_language if row["criterion"] == run.main or row["scale"] == "own"]
    columns = list(dict.fromkeys((row["rater"], row["criterion"]) for row in rows))
    if not columns:
        return None
    values = {(row["generator"], row["rater"], row["criterion"]): row for row in rows}
    shown = columns[:MOST_RATERS]
    lines = (
        (
            name(row["generator"]),
            share(row["score"]),
            *(_mean(values.get((row["generator"], *column))) for column in shown),
        )
        for row in run.ranking(run.main, run.language)
    )
    raters = [rater for rater, _ in columns]
    heads = [
        name(rater if raters.count(rater) == 1 else f"{rater}, {criterion}")
        for rater, criterion in shown
    ]
    notes = [
        "Means over the outputs that people rated. Metrics have scales of their own; of each,"
        " higher is better. Judges are on the people's scale, from 0 to 1."
    ]
    if any(row["coverage"] < 1 for row in rows):
        notes.append(
            "A percentage: of these outputs it scored so many only, so its mean is of others."
        )
    if elsewhere := [
        rater for rater in dict.fromkeys(row["rater"] for row in in_language) if rater not in raters
    ]:
        named = places([within(rater) for rater in elsewhere])
        notes.append(f"Not asked for all criteria, and so only in the CSV: {named}.")
    if len(columns) > MOST_RATERS:
        notes.append(f"The first {MOST_RATERS} of {len(columns)}; the CSV has all.")
    title = f"Metrics and judges beside people: {run.where(run.main, run.language)}"
    return TableView.of(run, "beside", title, ("generator", "people", *heads), lines, notes=notes)


def _mean(row: Row | None) -> Cell | str:
    if row is None:
        return UNDEFINED
    form = share if row["scale"] == "share" else score
    partly = row["coverage"] != 1 and known(row["score"])
    return Cell(form(row["score"]), coverage(row["coverage"]) if partly else "")


def coverage_table(
    run: Leaderboard, rows: Sequence[dict[str, Any]] | None = None, title: str = "Rated so far"
) -> TableView:
    """One row per generator and language: sources and outputs rated, and what can still be handed
    out.

    rows: these of the table, all if None.
    """
    sample = f"Of the sample of {run.sample} sources per language. " if run.sample else ""
    return TableView.of_figures(
        run,
        "coverage",
        title,
        run.records("coverage") if rows is None else rows,
        cells={
            "sources_rated": lambda row: (
                f"{count(row['sources_rated'])} of {count(row['sources'])}"
            ),
            "outputs_rated": lambda row: (
                f"{count(row['outputs_rated'])} of {count(row['outputs'])}"
            ),
        },
        heads=2,
        notes=(
            (
                f"{sample}Outputs to rate are chosen ones with a text; those without a text cannot"
                " be handed out."
            ),
        ),
        most=MOST_ROWS,
    )


def charts(run: Leaderboard) -> list[Chart]:
    """Every chart of the page (also for files of their own)."""
    return [ranking_chart(run)]


def tables(run: Leaderboard) -> list[TableView]:
    """Every table of the page, in its order, and those that it leaves out (also for LaTeX)."""
    shown = [
        ranking_table(run, run.main, run.language),
        criterion_map(run),
        *further_rankings(run),
        *language_maps(run),
        beside_table(run),
        coverage_table(run),
    ]
    return [table for table in shown if table and table.rows]


def content(run: Leaderboard) -> dict[str, Any]:
    """What the template shows."""
    maps = [(table.title, table) for table in language_maps(run)]
    return {
        "tables": {table.name: table for table in tables(run)},
        "answer": ranking_chart(run, "first", MOST_FIRST),
        "chart": (
            ranking_chart(run) if len(run.ranking(run.main, run.language)) > MOST_FIRST else None
        ),
        "rankings": within_cells(
            [(table.title, table) for table in further_rankings(run)], MOST_CELLS
        ),
        "maps": within_cells(maps[1:], MOST_CELLS),
        "language_map": maps[0][1] if maps else None,
        "coverage": coverage_table(run),
        "commands": commands(run),
        "commands_left": max(len(unrated(run)) - MOST_COMMANDS, 0),
    }


def screen(run: Leaderboard, by: Sequence[str] = ()) -> Screen:
    """The main ranking, criteria and languages beside each other, metrics, what is to be rated.

    by: `language` or `criterion`, to show the ranking of each as well.
    """
    yield Paragraph(_headline(run), strong=True)
    yield ranking_table(run, run.main, run.language)
    for criterion, language in run.cells[1:]:
        if ("language" in by and criterion == run.main) or (
            "criterion" in by and language == run.language
        ):
            yield ranking_table(run, criterion, language)
    yield from filter(
        None, (criterion_map(run), main_language_map(language_maps(run)), beside_table(run))
    )
    yield from _to_rate(run)
    yield from closing(run)


def _headline(run: Leaderboard) -> str:
    groups = sorted(
        {run.raters[rater].group for rater in run.people_names if rater in run.raters} - {""}
    )
    named = f" ({', '.join(groups)})" if groups else ""
    sample = f", a sample of {run.sample} sources per language" if run.sample else ""
    generators = plural(run.tables["leaderboard"]["generator"].nunique(), "generator")
    return f"{run.name}: {generators} by {people_counted(run)}{named}{sample}"


def _to_rate(run: Leaderboard) -> Screen:
    """Generators that nobody has rated yet, and those that were rated in part."""
    rows = [row for row in coverage_rows(run) if row["outputs_rated"] < row["outputs"]]
    if rows:
        yield coverage_table(run, rows, "Still to be rated")
    for _, command in commands(run)[:MOST_ON_SCREEN]:
        yield Paragraph(command, copied=True)
    more = len(unrated(run)) - MOST_ON_SCREEN
    if more > 0:
        yield Paragraph(
            f"... and so on for {more:,} more; `--generators` can be given several times"
        )


PAGE = Page(
    brand="leaderboard by people",
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
    template="leaderboard.html",
)
