"""The page of a board: its parts, its history, and what `metal billboard` prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from metal.boards.history import ANONYMOUS, JOINED, Entry
from metal.data.text import UNDEFINED, name
from metal.questions.board import generators, raters
from metal.questions.board.answer import cards, headline, lead, scope
from metal.questions.board.run import Billboard
from metal.questions.board.words import SOURCES, definitions, facts, undefined_table
from metal.show.pages import Page
from metal.show.view import Cell, Chart, Remark, Section, TableView, folded

MOST_FIRST = 15  # raters on the first screen
OTHERS = "Other criteria and languages"
SHADES = {0: "−", 1: "0", 3: ".2", 5: ".4", 7: ".6", 9: ".8"}
WORDS = {
    "data": "dataset",
    "generator": "generator joined",
    "metric": "metric joined",
    "ratings": "people's ratings",
    "withdrawn": "withdrawn",
}
MOST_ROWS = 200


def answer(run: Billboard) -> Chart:
    """The raters that agree best with people."""
    return raters.ranking_chart(run, most=MOST_FIRST)


def sections(run: Billboard) -> list[Section]:
    """Raters, where they agree, generators, the ensemble, overrating, the crowd, the history."""
    return [
        _ranking(run),
        *_maps(run),
        _generators(run),
        _ensemble(run),
        _overrating(run),
        *_crowd(run),
        _history(run),
        *_undefined(run),
    ]


def _ranking(run: Billboard) -> Section:
    intro = (
        "Next to each generator are the ranks that these data allow. Where ranks overlap, no"
        " generator is shown to be better.",
    )
    ranked = len(run.records("raters", criterion=run.main, language=run.language))
    further = raters.further_rankings(run)
    title, note = (
        OTHERS,
        "Each line names the best rater and its r; open a line to see the whole ranking.",
    )
    return Section(
        "raters",
        "Raters: who agrees with people",
        intro,
        raters.further_charts(run, every=ranked > MOST_FIRST),
        (raters.ranking_table(run, run.main, run.language),),
        (Section("", title, (note,), parts=further),) if further else (),
    )


def _maps(run: Billboard) -> Iterator[Section]:
    """Maps of r with people by language, criterion and generator."""
    maps = raters.language_maps(run)
    slices = {"criterion": raters.criterion_map(run), "generator": raters.generator_map(run)}
    shown = [Section("", "", tables=(table,)) for table in maps[:1]]
    shown += [Section("", "", tables=(map_,), by=(by,)) for by, map_ in slices.items() if map_]
    further = [folded(table, by=("criterion", "language")) for table in maps[1:]]
    intro = (
        "r with people in every cell, in the order of the ranking above. A dash means undefined;"
        " the reason is below.",
    )
    if shown:
        parts = (*shown, *further)
        yield Section("maps", "Where raters agree with people", intro, parts=parts, scale=SHADES)


def _generators(run: Billboard) -> Section:
    intro = (
        "Generators are ranked by the mean scores of people, of the rater that agrees best with "
        "people, of the best rater that scored every generator, and of the ensemble.",
        "Each cell has the rank and, below it, the mean score with its 95% interval by source, "
        "on the scale of whoever the column names. Ranks: those that these data allow at 95%.",
    )
    further = generators.further_generators(run)
    note = "Each line names the generator that people put first."
    return Section(
        "generators",
        "Generators",
        intro,
        tuple(generators.generator_charts(run)),
        (generators.generator_table(run, run.main, run.language),),
        (Section("", OTHERS, (note,), parts=further),) if further else (),
    )


def _ensemble(run: Billboard) -> Section:
    ensemble, every = generators.fitted(run), generators.ensembles_table(run)
    all_of_them = (
        (folded(every, f"All {len(every.rows)} ensembles of this board"),)
        if every and (len(every.rows) > 1 or not ensemble)
        else ()
    )
    members, ablation = generators.member_table(run), generators.ablation_chart(run)
    if not (ensemble and members and ablation):
        case = run.where(run.main, run.language)
        intro = (f"No ensemble was fitted on {case}; the warnings say why.",)
        return Section("ensemble", "Ensemble", intro, parts=all_of_them)
    remarks = (
        Remark("Formula", " ".join(ensemble.formula)),
        Remark("Predicts", ensemble.target),
        Remark("Agreement with people", ensemble.worth),
        Remark("Alpha", ensemble.alpha),
        Remark("Signature", "", ensemble.signature),
        Remark("To apply it", "", ensemble.command),
    )
    intro = ("A few metrics, combined to agree with people:",)
    formula = Section("", "", charts=(ablation,), remarks=remarks, beside=True)
    parts = (formula, Section("", "", tables=(members,)), *all_of_them)
    return Section("ensemble", "Ensemble", intro, parts=parts)


def _overrating(run: Billboard) -> Section:
    charts = {chart.name: chart for chart in raters.overrating_charts(run)}
    tables = raters.overrating_tables(run)
    intro = (
        (
            "How much raters prefer machine writing, or writing of their own family, to"
            " writing that people find equally good: in standard deviations, with 90%"
            " intervals."
        )
        if tables
        else (
            "To test whether raters overrate machines or their own family, name generators"
            ' that are people (`kind = "human"` in dataset.toml, or `--human`) or families'
            " (`--family`)."
        )
    )
    parts = []
    for table in tables:
        drawn = (charts[table.name],) if table.name in charts else ()
        parts.append(Section("", "", charts=drawn, tables=(table,), beside=True))
    return Section("overrating", "Overrating", (intro,), parts=tuple(parts))


def _crowd(run: Billboard) -> Iterator[Section]:
    if parts := raters.crowd_sections(run):
        yield Section("crowd", "Crowd, experts, judges", parts=parts)


def _history(run: Billboard) -> Section:
    if not run.history:
        return Section("history", "History", ("This board has no history.",))
    return Section("history", "History", tables=(history_table(run),))


def _undefined(run: Billboard) -> Iterator[Section]:
    table = undefined_table(run)
    if table and table.rows:
        yield Section("undefined", "Figures without a value, and why", tables=(table,))


def history_table(run: Billboard) -> TableView:
    """One row per version."""
    gone = _withdrawn(run.history)
    newest = sorted(run.history, key=lambda entry: -entry.version)
    rows = []
    for entry in newest[:MOST_ROWS]:
        here = "shown here" if entry.version == run.version else ""
        later = gone.get(entry.version)
        withdrawn = f"withdrawn in version {later}" if later else ""
        by = UNDEFINED if entry.what == "data" else name(entry.by or ANONYMOUS)
        rows.append(
            (
                Cell(str(entry.version), here),
                name(entry.at.replace("T", " ").replace("+00:00", " UTC")),
                Cell(WORDS[entry.what], withdrawn),
                name(entry.name or run.data["name"]),
                by,
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
    """The version of each submission that was withdrawn, and the version that withdrew it."""
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


def _remarks(recorded: Mapping[str, Any] | None) -> str:
    """The other recorded facts, if they are words or numbers."""
    plain = [
        f"{name(key, 30)} {name(value)}"
        for key, value in (recorded or {}).items()
        if isinstance(value, str | int | float) and value != ""
    ]
    return ", ".join(plain) or UNDEFINED


PAGE = Page(
    brand="board of raters and generators",
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
