"""The page of an audit: its parts, what its figures mean, and what `metal audit` prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from metal.data.languages import language_name
from metal.data.people import people_in
from metal.data.records import Criterion
from metal.data.text import UNDEFINED, count, coverage, listed, name, plural, signature_line, within
from metal.questions.audit import disagreements, judges, people, verdicts
from metal.questions.audit.answer import cards, headline, lead, opening, scope
from metal.questions.audit.brief import brief as brief
from metal.questions.audit.confirmed import beside_words
from metal.questions.audit.run import AuditRun
from metal.questions.audit.words import definitions, facts, sources
from metal.runs.columns import Row
from metal.show.pages import Page, Payload, Room
from metal.show.parts import across_languages, closing, exclusions_table, headings
from metal.show.view import Cell, Paragraph, Rows, Screen, Section, TableView
from metal.version import __version__

LEAST_ROOM = 100_000  # for disagreements and CSV, even where tables and charts alone fill a page
MANY = 400  # more verdicts than this leave little room for charts
JUSTIFICATIONS = "justifications"
FOLDED_CELLS = 4_500  # of all folded tables with MANY verdicts, whose details come first
MOST_LEVELS = 7  # more levels than this are counted, not listed
# characters of all matrices of verdicts, whose cells have as many lines as fit
MATRIX_ROOM = 720_000
MATRIX_CELLS = 5_500  # cells of matrices; of further judges the page counts the verdicts only
CELL, LINE = 212, 190  # characters of a cell, and of the line in it
MOST_REASONS = 600  # more reasons than this are not listed on the page
WITH_REASONS = 60  # more verdicts than this are shown as a matrix only
OF_PEOPLE = ("fleiss_kappa", "fleiss_items", "pairwise_f1", "leave_one_out_f1", "against_all_f1")


def sections(run: AuditRun) -> list[Section]:
    """The page's sections: the dataset, its people, the judges, and what was left out.

    Verdicts and disagreements have templates of their own.
    """
    return [
        *_dataset(run),
        _people(run),
        *_judges(run),
        *_justifications(run),
        *_classes(run),
        Section("left-out", "Left out", tables=(left_out_table(run),)),
    ]


def _dataset(run: AuditRun) -> Iterator[Section]:
    """The length of texts, and how people rate the outputs of each quality."""
    intro = (
        "What was rated: the length of passages and outputs, and people's ratings of the"
        " outputs of each quality.",
    )
    note = ("The people's aggregate answers over all languages, as shares with their counts.",)
    charts = tuple(people.dataset_charts(run))
    parts = (Section("", "Classes by quality of the output", note, charts),) if charts else ()
    if tables := tuple(people.dataset_tables(run)):
        yield Section("dataset", "The dataset", intro, tables=tables, parts=parts)


def _people(run: AuditRun) -> Section:
    intro = (
        "People's agreement limits how well a judge can be measured. Where their kappa is"
        " near 0, no judge can be validated.",
        "To find people who stand out, by test questions and compared with others: `metal"
        " monitor`.",
    )
    shown = (people.agreement_table(run), people.ceilings_table(run))
    parts = []
    if noisy := exclusions_table(run):
        note = (
            "These people fail the test questions. No figure on this page uses their ratings, "
            "which are still in the dataset.",
        )
        parts.append(Section("", "Left out", note, tables=(noisy,)))
    if charts := tuple(people.class_charts(run)):
        note = ("The people's aggregate answers, as shares with their counts.",)
        parts.append(Section("", "The classes people give", note, charts))
    if not run.judge_names and (winners := tuple(judges.winners_table(run))):
        parts.append(Section("", "Generators by people", tables=winners))
    tables = shown if run.audited else shown[1:]
    return Section("people", "Agreement among people", intro, tables=tables, parts=tuple(parts))


def _judges(run: AuditRun) -> Iterator[Section]:
    """The section on every judge compared with the people, with other judges and with other
    prompts.
    """
    if not run.judge_names:
        return
    intro: tuple[str, ...] = ()
    tables: tuple[TableView, ...] = ()
    parts: list[Section] = []
    if run.audited:
        intro = (
            "Read a judge's F1 between the floor (always the most frequent class) and the"
            " ceiling (a person against the others). A judge with high F1 and kappa near 0"
            " knows the most frequent answer, but not which outputs differ.",
        )
        tables = (judges.f1_table(run),)
        parts += _by_criterion(run)
    further = [table for table in judges.further_tables(run) if table.name != JUSTIFICATIONS]
    figures = [judges.figures_table(run)] if run.audited else []
    parts.append(Section("", "All figures", tables=(*figures, *further)))
    parts.append(_differences(run))
    themselves = judges.self_agreement_table(run)
    if themselves.rows:
        parts.append(Section("", "Judges against themselves", tables=(themselves,)))
    yield Section("judges", "Judges against people", intro, tables=tables, parts=tuple(parts))


def _by_criterion(run: AuditRun) -> Iterator[Section]:
    """The charts of each criterion. Radars are folded, because they repeat the figures of other
    charts.
    """
    for criterion in run.audited:
        charts, radars = judges.agreement_charts(run, criterion)
        as_radars = Section(
            "", "The same figures as radar plots", charts=tuple(radars), folded=True
        )
        parts = (as_radars,) if radars else ()
        if charts:
            yield Section("", criterion.title, charts=tuple(charts), parts=parts)


def _differences(run: AuditRun) -> Section:
    title = "Differences between judges, paired on the same items"
    tables = tuple(judges.difference_tables(run))
    charts = tuple(judges.prompt_charts(run))
    intro = () if tables else ("There is only one judge, so there is nothing to compare.",)
    return Section("", title, intro, charts, tables)


def _justifications(run: AuditRun) -> Iterator[Section]:
    if table := next((t for t in judges.further_tables(run) if t.name == JUSTIFICATIONS), None):
        yield Section("justifications", "Justifications", tables=(table,))


def _classes(run: AuditRun) -> Iterator[Section]:
    """The section on the answers of people and judges, for each degree of agreement among
    people.
    """
    intro = (
        "The classes that people and judges give when all people agree, when some do, and when"
        " none do, summed over languages.",
    )
    charts = tuple(people.case_charts(run))
    tables = (people.prediction_table(run),) if run.judge_names else ()
    if run.audited:
        title = "Classes given, by how far people agree"
        yield Section("classes", title, intro, charts, tables)


def room(run: AuditRun) -> Room:
    """The room for charts and folded tables; it is smaller if there are many verdicts, whose
    details come first.
    """
    return Room(40_000, FOLDED_CELLS) if len(run.tables["verdicts"]) > MANY else Room()


def content(run: AuditRun) -> dict[str, Any]:
    """The verdicts in the form that the template expects."""
    cells = len(run.tables["verdicts"])
    ranked = sorted(verdicts.by_judge(run), key=verdicts.standing)
    with_matrix = max(MATRIX_CELLS * len(ranked) // max(cells, 1), 1)
    shown = chain.from_iterable(of.verdicts for of in ranked[:with_matrix])
    lines = (cell.place for cell in shown if cell.bar)
    return {
        "judges": ranked,
        "matrices": with_matrix,
        "judged": verdicts.judged_criteria(run),
        "names": dict(zip(run.languages, map(name, headings(run.languages)), strict=True)),
        "label": lambda criterion: criterion.title,
        "agreement": verdicts.AGREEMENT,
        "less_marked": any(cell.agrees_less for of in ranked for cell in of.verdicts),
        "bad_marked": any(
            cell.misses_bad or cell.bad_open for of in ranked for cell in of.verdicts
        ),
        "verdicts": cells,
        "bars": set(islice(lines, max(MATRIX_ROOM - CELL * cells, 0) // LINE)),
        "bars_left": any(True for _ in lines),
        "reasons": cells <= MOST_REASONS,
    }


def pack(run: AuditRun, csv: Mapping[str, str], room: int) -> Payload:
    """Disagreements and CSV files as data for the page; part of the room is always reserved for
    them.
    """
    return disagreements.pack(run, csv, max(room, LEAST_ROOM))


def left_out_table(run: AuditRun) -> TableView:
    """A table of what does not count, by language and criterion: items of people, and questions
    that judges left unanswered.
    """
    by_cell: dict[tuple[str, str], list[str]] = {}
    for row in run.records("judges"):
        unanswered = int(row["asked"]) - int(row["answered"])
        not_asked = [
            part for part in str(row["dropped"]).split(", ") if part.startswith("not asked")
        ]
        missing = [f"{count(unanswered)} unanswered"] if unanswered else []
        missing += [f"{part.split()[-1]} not asked" for part in not_asked]
        if missing:
            key = (row["criterion"], row["language"])
            by_cell.setdefault(key, []).append(f"{within(row['judge'])}: {', '.join(missing)}")
    rows = []
    for row in run.records("people"):
        incomplete, tied = _left_out(row)
        rows.append(
            (
                run.criterion(row["criterion"]),
                name(language_name(row["language"])),
                count(row["items_with_class"]),
                Cell(count(incomplete), f"fewer than {row['min_raters']} people"),
                count(tied),
                "; ".join(by_cell.get((row["criterion"], row["language"]), [])) or "nothing",
            )
        )
    columns = (
        "",
        "language",
        "items that count",
        "incomplete",
        "ties without a class",
        "left out by judges",
    )
    return TableView.of(run, "people", "What was left out", columns, rows, name="left_out", heads=2)


def screen(run: AuditRun, by: Sequence[str] = ()) -> Screen:
    """What the terminal shows: a table per criterion, the verdicts with their reasons, and each
    judge's agreement with itself.
    """
    persons = len(people_in(run.raters))
    languages = listed(list(map(language_name, run.languages)))
    compared = f"{plural(persons, 'person', 'people')}, {plural(len(run.judge_names), 'judge')}"
    yield Paragraph(f"{run.name}: {compared}; {languages}", strong=True)
    for criterion in run.audited:
        yield criterion_table(run, criterion)
        identity = {
            "metal": __version__,
            "data": run.data["identity"],
            "stat": "wf1",
            "crit": criterion.short,
        }
        yield Paragraph(signature_line(identity), soft=True, copied=True)
    if run.judge_names:
        yield verdict_table(run)
        yield from _verdict_reasons(run)
    else:
        yield Paragraph(
            "No judges in the data: only the people were compared. Add a run folder of `metal"
            " judge`."
        )
    if len(run.tables["self_agreement"]):
        yield judges.self_agreement_table(run)
    yield from closing(run)


def criterion_table(run: AuditRun, criterion: Criterion) -> TableView:
    """A table for one criterion with languages in columns: the people, the most frequent class, and
    every judge.
    """
    of_people = {row["language"]: row for row in run.records("people", criterion=criterion.name)}
    of_judges = run.records("judges", criterion=criterion.name)
    rows: Rows = [
        ["items", *(count(row["items_with_class"]) for row in of_people.values())],
        [
            "incomplete / tied",
            *(" / ".join(map(count, _left_out(row))) for row in of_people.values()),
        ],
    ]
    for column in run.columns("people"):
        if column.name in OF_PEOPLE:
            rows.append([f"people: {column.title}", *map(column.text, of_people.values())])
    if of_judges:
        columns = {column.name: column for column in run.columns("judges")}
        majority = columns["majority_f1"]
        lowest = judges.floors(run, criterion)
        floors = (majority.text(row) if (row := lowest[code]) else UNDEFINED for code in of_people)
        rows.append([majority.title, *floors])
        by_judge: dict[str, dict[str, Row]] = {}
        for row in of_judges:
            by_judge.setdefault(row["judge"], {})[row["language"]] = row
        for judge, by_language in by_judge.items():
            rows.append([name(judge), *(_judged(run, by_language.get(code)) for code in of_people)])
    notes = (
        ("Judges: weighted F1, its 95% interval, kappa, and coverage if it is below 100%.",)
        if of_judges
        else ()
    )
    title = f"{criterion.title} ({_scale(criterion)})"
    heads = ("", *map(language_name, of_people))
    return TableView.of(
        run, "judges", title, heads, rows, name=f"on_{run.slug(criterion)}", notes=notes
    )


def _scale(criterion: Criterion) -> str:
    """The levels and which end is better, if one is."""
    levels = criterion.scale.levels
    text = criterion.scale.describe() if len(levels) <= MOST_LEVELS else f"{len(levels)} labels"
    if criterion.scale.measure == "nominal" and criterion.direction == "higher":
        return text
    return f"{text}; {criterion.direction} is better"


def _left_out(row: Row) -> tuple[int, int]:
    """Items that people rated but that do not count: those with too few ratings, and those without
    an aggregate class.
    """
    counts = dict(part.split() for part in str(row["dropped"]).split(", ") if part)
    return int(counts.get("incomplete", 0)), int(counts.get("tied", 0))


def _judged(run: AuditRun, row: Row | None) -> Cell | str:
    if row is None:
        return ""
    columns = {column.name: column for column in run.columns("judges")}
    f1, kappa = columns["weighted_f1"], columns["kappa"]
    below = [
        f1.ends(row),
        f"{kappa.title} {kappa.text(row)}",
        coverage(row["coverage"]) if row["coverage"] < 1 else "",
    ]
    return Cell(f1.text(row), "\n".join(filter(None, below)))


def verdict_table(run: AuditRun) -> TableView:
    """A table of verdicts: judges and criteria in rows, languages in columns."""
    rows = sorted(run.records("verdicts"), key=lambda row: run.judge_names.index(row["judge"]))
    keys = {"judge": "judge", "criterion": ""}
    of, notes = (lambda rows: Cell(rows[0]["verdict"])), (verdicts.AGREEMENT,)
    return across_languages(run, "verdicts", "Verdicts", rows, keys, of, notes=notes)


def _verdict_reasons(run: AuditRun) -> Iterator[Paragraph]:
    records = run.records("verdicts")
    if len(records) > WITH_REASONS:
        yield Paragraph(f"The reasons for all {len(records)} verdicts are in tables/verdicts.csv.")
        return
    of_cases: set[tuple[str, str]] = (
        set()
    )  # a case and a sentence on its people, once for all judges
    for row in records:
        cell = run.where(row["criterion"], row["language"])
        beside = [text for text in beside_words(run, row) if (cell, text) not in of_cases]
        of_cases |= {(cell, text) for text in beside}
        verdict = f"{within(row['judge'])}, {cell}: {row['verdict']}."
        sentences = map(verdicts.sentence, (row["reason"], *beside))
        yield Paragraph(" ".join([verdict, *sentences]))


PAGE = Page(
    brand="audit of judges per language",
    headline=headline,
    opening=opening,
    scope=scope,
    cards=cards,
    facts=facts,
    definitions=definitions,
    sources=sources,
    sections=sections,
    content=content,
    room=room,
    screen=screen,
    brief=brief,
    pack=pack,
    lead=lead,
    template="report.html",
    styles=("report.css",),
    scripts=("common.js", "disagreements.js", "answer.js"),
)
