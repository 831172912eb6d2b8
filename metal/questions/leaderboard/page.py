"""The page of a leaderboard by people: its tables and chart, and what `metal leaderboard`
prints.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from metal.data.text import UNDEFINED, count, coverage, known, name, within
from metal.questions.leaderboard.answer import cards, headline, lead, scope
from metal.questions.leaderboard.coverage import commands, unrated
from metal.questions.leaderboard.run import Leaderboard, form_of, has_own_mean, in_own_units
from metal.questions.leaderboard.words import SOURCES, definitions, facts
from metal.runs.columns import Row
from metal.show.charts.dots import MOST_DOTS, generator_dots
from metal.show.pages import Page
from metal.show.parts import Heat, places, reasons
from metal.show.view import Cell, Chart, Remark, Section, TableView, folded

MOST_FIRST = 15  # generators on the first screen
MOST_GENERATORS = 100
MOST_RATERS = 40
MOST_ROWS = 200
SHADES = {1: "0", 3: ".3", 5: ".5", 7: ".7", 9: "1"}
EXPLAINED = (
    "Score from 0 (worst) to 1 (best), with its 95% interval by source; below each standard"
    " error is its upper bound for this score and number of outputs."
)
EXPLAINED_OWN = (
    "Score: the mean of people's scores as given ({} is better), because the scale has no ends;"
    " with its 95% interval by source."
)
EXPLAINED_MEAN = " Mean: of people's scores as given ({} is better)."
EXPLAINED_RANKS = (
    "Ranks: those that these ratings allow, with 95% confidence for all generators at once."
)

OF_CORRECTED = (
    "people's mean over all sources that {} rated for every generator, computed from people's "
    "labels and that judge's ratings (`metal.correct`); only for single criteria in single "
    "languages."
)


def ranking_table(
    run: Leaderboard, criterion: str, language: str, key: str = "ranking"
) -> TableView:
    """A table of every generator, best first, for a criterion in a language."""
    rows = run.ranking(criterion, language)
    without, notes = [], []
    if not any(row["unanswered"] for row in rows):
        without.append("unanswered")
    if not run.corrected_by:
        without.append("corrected")
    if not any(map(has_own_mean, rows)):
        without.append("mean")
    if (criterion, language) == (run.main, run.language):  # said once, for all rankings below it
        score_note = EXPLAINED
        if in_own_units(rows[0]):
            score_note = EXPLAINED_OWN.format(run.criteria[criterion].direction)
        elif "mean" not in without:
            score_note += EXPLAINED_MEAN.format(run.criteria[criterion].direction)
        notes.append(f"{score_note} {EXPLAINED_RANKS}")
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
        look="ranking",
    )


def ranking_chart(run: Leaderboard, key: str = "ranking", most: int = MOST_DOTS) -> Chart:
    """A chart of the main ranking, or of its first rows: one row per generator, with its score as a
    dot and the interval.
    """
    rows = run.ranking(run.main, run.language)
    score_words = "the mean score" if in_own_units(rows[0]) else "the score from 0 to 1"
    chart = generator_dots(
        run, key, rows, score_words, "score", "leaderboard", form_of(rows[0]), most
    )
    return replace(chart, finding="")


def _further_rankings(run: Leaderboard) -> tuple[Section, ...]:
    """The rankings on all other criteria and languages, folded at first; empty if there
    are none.
    """
    tables = [
        (cell, ranking_table(run, *cell, f"ranking_{number}"))
        for number, cell in enumerate(run.cells[1:], 1)
    ]
    rankings = tuple(folded(table, by=run.slices(*cell)) for cell, table in tables)
    title = "Other criteria and languages"
    return (Section("", title, parts=rankings),) if rankings else ()


def criterion_map(run: Leaderboard) -> TableView | None:
    """A heat map of scores by criterion, in the language of the main ranking; None if there is only
    one criterion. Criteria in units of their own are left out.
    """
    own = {row["criterion"] for row in run.records("leaderboard") if in_own_units(row)}
    return _heat(run).by_criterion("leaderboard", own)


def language_maps(run: Leaderboard) -> list[TableView]:
    """A heat map of scores by language, for each criterion that was rated in several; the main
    criterion first.
    """
    return _heat(run).by_language("leaderboard", run.languages)


def _heat(run: Leaderboard) -> Heat:
    """The settings of a heat map of scores, with one shade per tenth of the scale. If the scale has
    no ends, it is one per tenth of the range of scores.
    """
    return Heat(
        run,
        who="generator",
        figure="score",
        words="Scores",
        form=lambda row: form_of(row)(row["score"]),
        shade=lambda row: max(1, min(9, int(10 * _height(run, row)))),
        head=name,
        order=run.order,
        blank="people rated none of its outputs there.",
        most=MOST_GENERATORS,
    )


def _height(run: Leaderboard, row: Row) -> float:
    """How high a score is, from 0 to 1."""
    if not in_own_units(row):
        return float(row["score"])
    scores = [each["score"] for each in run.records("leaderboard", criterion=row["criterion"])]
    lowest, highest = min(scores), max(scores)
    if lowest == highest:
        return 1.0
    height = (row["score"] - lowest) / (highest - lowest)
    return float(1 - height if run.criteria[row["criterion"]].direction == "lower" else height)


def beside_table(run: Leaderboard) -> TableView | None:
    """The main ranking with the scores of each metric and judge; None without metrics and
    judges.
    """
    in_language = run.records("beside", language=run.language)
    rows = _with_main(run, in_language)
    columns = list(dict.fromkeys((row["rater"], row["criterion"]) for row in rows))
    if not columns:
        return None
    values = {(row["generator"], row["rater"], row["criterion"]): row for row in rows}
    shown = columns[:MOST_RATERS]
    lines = (
        (
            name(row["generator"]),
            form_of(row)(row["score"]),
            *(_mean(values.get((row["generator"], *column))) for column in shown),
        )
        for row in run.ranking(run.main, run.language)
    )
    raters = [rater for rater, _ in columns]
    heads = [
        name(rater if raters.count(rater) == 1 else f"{rater}, {criterion}")
        for rater, criterion in shown
    ]
    elsewhere = dict.fromkeys(row["rater"] for row in in_language if row["rater"] not in raters)
    notes = _beside_notes(rows, list(elsewhere))
    if len(columns) > MOST_RATERS:
        notes.append(f"The first {MOST_RATERS} of {len(columns)}; the CSV has all.")
    title = f"Metrics and judges compared with people: {run.where(run.main, run.language)}"
    return TableView.of(run, "beside", title, ("generator", "people", *heads), lines, notes=notes)


def _with_main(run: Leaderboard, rows: Sequence[Row]) -> list[Row]:
    """The scores on the main criterion, and those of metrics that stand for all criteria."""
    chosen = []
    for row in rows:
        if row["criterion"] == run.main or (
            in_own_units(row) and row["criterion"] not in run.counted
        ):
            chosen.append(row)
    return chosen


def _beside_notes(rows: Sequence[Row], elsewhere: Sequence[str]) -> list[str]:
    """Notes on the outputs that the means cover.

    elsewhere: raters without a mean in the main ranking.
    """
    notes = [
        "Means over the outputs that people rated. Each metric has its own scale (higher is"
        " better). Judges are on the people's scale, which runs from 0 to 1 if it has ends."
    ]
    if any(row["coverage"] < 1 for row in rows):
        notes.append(
            "A percentage means that the rater scored only this share of these outputs, so its "
            "mean does not cover the same outputs."
        )
    if elsewhere:
        named = places(list(map(within, elsewhere)))
        notes.append(f"Only in the CSV, because they were not asked for all criteria: {named}.")
    return notes


def _mean(row: Row | None) -> Cell | str:
    if row is None:
        return UNDEFINED
    partly = row["coverage"] != 1 and known(row["score"])
    return Cell(form_of(row)(row["score"]), coverage(row["coverage"]) if partly else "")


def coverage_table(run: Leaderboard) -> TableView:
    """A table with one row per generator and language: what was rated, and what can still be handed
    out.
    """
    sample = f"For the sample of {run.sample} sources per language. " if run.sample else ""
    return TableView.of_figures(
        run,
        "coverage",
        "Rated so far",
        run.records("coverage"),
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
                f"{sample}Outputs to rate are chosen outputs with a text; outputs without a text "
                f"cannot be handed out."
            ),
        ),
        most=MOST_ROWS,
    )


def answer(run: Leaderboard) -> Chart:
    """The table of generators as people rank them."""
    return ranking_chart(run, "ranking", MOST_FIRST)


def sections(run: Leaderboard) -> list[Section]:
    """The sections: the main ranking and the others, maps of criteria and languages, metrics, and
    what still has to be rated.
    """
    ranked = len(run.ranking(run.main, run.language))
    every = (ranking_chart(run, "ranking_all"),) if ranked > MOST_FIRST else ()
    ranking = Section(
        "ranking",
        "Ranking: what people give",
        charts=every,
        tables=(ranking_table(run, run.main, run.language),),
        parts=_further_rankings(run),
    )
    return [ranking, *_maps(run), _beside(run), _next(run)]


def _maps(run: Leaderboard) -> Iterator[Section]:
    if table := criterion_map(run):
        intro = ("The score on each criterion, in the order of the ranking above.",)
        yield Section("criteria", "Criteria", intro, tables=(table,), scale=SHADES)
    if maps := language_maps(run):
        intro = (
            (
                "Each language has its own texts and people: compare generators only within a "
                "column."
            ),
        )
        main, *others = maps
        further = tuple(folded(table, by=("criterion", "language")) for table in others)
        yield Section("languages", "Languages", intro, tables=(main,), parts=further)


def _beside(run: Leaderboard) -> Section:
    table = beside_table(run)
    nothing = (
        "No automatic metric scored these outputs. Run `metal score`, and add its run folder"
        " to `metal leaderboard`."
    )
    title = "Metrics beside people"
    return (
        Section("beside", title, tables=(table,)) if table else Section("beside", title, (nothing,))
    )


def _next(run: Leaderboard) -> Section:
    """A note on what a new generator needs, with the commands that hand out unrated outputs."""
    intro = (
        "A new generator needs ratings of its own outputs only: add its outputs to the"
        " dataset, have people rate them, import the ratings, and make this page again. Other"
        " scores stay the same.",
    )
    to_rate = tuple(Remark(generator, "", command) for generator, command in commands(run))
    more = len(unrated(run)) - len(to_rate)
    left = (
        f"{count(more)} more generators are not rated yet; `--generators` can be given several"
        " times."
        if more > 0
        else ""
    )
    rated = folded(coverage_table(run), "Rated so far, by generator and language")
    return Section("next", "What to do next", intro, remarks=to_rate, parts=(rated,), left=left)


PAGE = Page(
    brand="leaderboard by people",
    headline=headline,
    scope=scope,
    cards=cards,
    facts=facts,
    definitions=definitions,
    sources=lambda run: SOURCES,
    answer=answer,
    sections=sections,
    lead=lead,
)
