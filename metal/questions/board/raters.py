"""Raters by agreement with people, who overrates machines, and who may replace people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from metal.boards.settings import CrowdSettings
from metal.data.text import (
    UNDEFINED,
    count,
    figure,
    interval,
    known,
    name,
    p_value,
    plural,
    printable,
    signed,
    with_minus,
    within,
)
from metal.questions.board.run import KINDS, OPTIONAL, Billboard
from metal.runs.columns import Row
from metal.runs.run import spoken
from metal.show.charts.dots import MOST_DOTS, Dot, Numbers, dots_chart
from metal.show.charts.scatter import disagreement, panels
from metal.show.parts import Heat, places, reasons
from metal.show.view import Cell, Chart, Rows, Section, TableView, folded

# series of each kind in every chart
MARKERS = {"human": 2, "llm": 1, "metric": 0, "ensemble": 3, "baseline": 7}
LOOKS = {kind: (MARKERS[kind], title) for kind, title in KINDS.items()}
MOST_NAMED = 3
MOST_RATERS = 60  # of a map
EDGES = (-0.1, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)  # of r, between one shade and the next
AREA = CrowdSettings().area
MOST_PANELS = 12  # the raters that agree best
MOST_ANSWERS = 60
ONE_PERSON = "one person against the others"
EXPLAINED = (
    "r: Pearson with people over all outputs; rho Spearman, tau Kendall's tau-b; r between"
    " generators: Pearson of their means; SPA: soft pairwise accuracy. ranks: those that these"
    " data allow at 95%, for all raters at once."
)


def ranking_table(run: Billboard, criterion: str, language: str, key: str = "raters") -> TableView:
    """Every rater of a criterion in a language, best first."""
    rows = run.records("raters", criterion=criterion, language=language)
    priced = any(known(row["cost_per_thousand"]) for row in rows)
    notes = [*reasons(run, "raters", rows)]
    if key == "raters":
        notes.insert(0, EXPLAINED)
    return TableView.of_figures(
        run,
        "raters",
        f"Raters by agreement with people: {run.where(criterion, language)}",
        rows,
        cells={"kind": lambda row: _kind(run, row)},
        without=() if priced else ("cost_per_thousand",),
        name=key,
        heads=3,
        notes=notes,
        look="ranking",
    )


def _kind(run: Billboard, row: Row) -> str:
    """The kind of a rater; for people who count as one rater, their number."""
    several = known(row["people"]) and row["people"] > 1
    return plural(int(row["people"]), "person", "people") if several else run.kind(row["rater"])


def ranking_chart(run: Billboard, key: str = "raters_pearson", most: int = MOST_DOTS) -> Chart:
    """The chart of r over outputs on the main criterion, for all raters or the first ones."""
    ceiling = one_person(run, run.main, run.language)
    return _ranking_chart(run, key, "pearson", "r over single outputs", ceiling, most)


def further_charts(run: Billboard, every: bool) -> tuple[Chart, ...]:
    """Charts of r over outputs for all raters (`every`, if the first screen has only some), and of
    r between generators, in the same order.
    """
    over = (ranking_chart(run, "raters_pearson_all"),) if every else ()
    between = _ranking_chart(
        run, "raters_system_pearson", "system_pearson", "r between generators' means"
    )
    return (*over, *((between,) if between.svg else ()))


def _ranking_chart(
    run: Billboard,
    key: str,
    column: str,
    what: str,
    ceiling: float | None = None,
    most: int = MOST_DOTS,
) -> Chart:
    ranked = run.records("raters", criterion=run.main, language=run.language)
    rows = [Dot.of(row, column, row["rater"], run.kinds[row["rater"]]) for row in ranked]
    figures = [
        f"{within(dot.label)} {figure(dot.value)} {interval(dot.low, dot.high)}".strip()
        for dot in rows[:most]
        if known(dot.value)
    ]
    highest = figure(
        max((dot.value for dot in rows if dot.value is not None and known(dot.value)), default=None)
    )
    best = [within(dot.label) for dot in rows if figure(dot.value) == highest]
    shown = plural(len(rows[:most]), "rater")
    alt = f"Dots with 95% intervals of {shown}, one per row, best first by r over outputs: {what}. "
    last = f"; last {figures[-1]}" if len(figures) > MOST_NAMED else ""
    alt += f"{'; '.join(figures[:MOST_NAMED])}{last}. "
    finding, mark = "", None
    if figures[1:]:
        are = "is" if len(best) == 1 else "are"
        finding = f"{places(best, MOST_NAMED)} {are} highest with {highest}."
    if ceiling is not None:
        mark = ceiling, "one person against the others"
        alt += f"A dashed line at {figure(ceiling)} is one person against the others."
    return dots_chart(
        key,
        f"{what}: {run.where(run.main, run.language)}",
        alt,
        rows,
        LOOKS,
        Numbers(
            "r",
            between={"kind": lambda dot: run.kind(dot.label), "ranks": lambda dot: dot.ranks},
            source="raters",
        ),
        finding=finding,
        most=most,
        mark=mark,
        beside="ranks",
    )


def one_person(run: Billboard, criterion: str, language: str) -> float | None:
    """r of one person with the others; None if undefined."""
    for row in run.records("people", criterion=criterion, language=language):
        return float(row["one_against_others"]) if known(row["one_against_others"]) else None
    return None


def further_rankings(run: Billboard) -> tuple[Section, ...]:
    """Every other criterion and language, folded at first: who leads there, and the table."""
    rankings = []
    for number, cell in enumerate(run.cells[1:], 2):
        table = ranking_table(run, *cell, f"raters_{number}")
        first = run.records("raters", criterion=cell[0], language=cell[1])[0]
        best = (
            f"{within(first['rater'])} {figure(first['pearson'])}"
            if known(first["pearson"])
            else "no r is defined"
        )
        rankings.append(folded(table, f"{run.where(*cell)}: {best}", run.slices(*cell)))
    return tuple(rankings)


@dataclass(frozen=True)
class _Question:
    """A question about overrating: the name of its table, who may be overrated, and the words for a
    finding.
    """

    table: str
    whom: str
    over: str
    under: str

    def title(self, run: Billboard) -> str:
        """`Machines, people's judgement being equal: coherence, Hindi`."""
        return f"{self.whom}, where people judge alike: {run.where(run.main, run.language)}"


MACHINES = _Question("overrating", "Machines", "overrates", "underrates")
FAMILY = _Question(
    "self_preference",
    "Generators of the judge's own family",
    "prefers its own",
    "disfavours its own",
)


def overrating_tables(run: Billboard) -> list[TableView]:
    """The tables that have rows on the main criterion."""
    return [table for question in (MACHINES, FAMILY) if (table := _table(run, question)).rows]


def overrating_charts(run: Billboard) -> list[Chart]:
    """The charts of defined figures."""
    return [chart for question in (MACHINES, FAMILY) if (chart := _overrating_chart(run, question))]


def _rows(run: Billboard, question: _Question) -> list[dict[str, Any]]:
    """The rows, with the most overrating first and those without a figure last."""
    rows = run.records(question.table, criterion=run.main, language=run.language)
    return sorted(
        rows,
        key=lambda row: (not known(row["value"]), -row["value"] if known(row["value"]) else 0.0),
    )


def _table(run: Billboard, question: _Question) -> TableView:
    rows = _rows(run, question)
    family = question is FAMILY
    body: Rows = [
        [
            name(row["rater"]),
            run.kind(row["rater"]),
            *([name(row["family"])] if family else []),
            Cell(signed(row["value"]), interval(row["low"], row["high"], signed)),
            _direction_shown(row, question),
            count(row["outputs"]),
        ]
        for row in rows
    ]
    columns = (
        "rater",
        "kind",
        *(("family",) if family else ()),
        "by standard deviations",
        "",
        "outputs",
    )
    notes = reasons(run, question.table, rows)
    return TableView.of(
        run,
        question.table,
        question.title(run),
        columns,
        body,
        heads=3 if family else 2,
        notes=notes,
    )


def _direction_shown(row: dict[str, Any], question: _Question) -> str:
    if not known(row["value"]):
        return ""
    if row["low"] > 0:
        return question.over
    return question.under if row["high"] < 0 else "not shown"


def _overrating_chart(run: Billboard, question: _Question) -> Chart | None:
    drawn = [row for row in _rows(run, question) if known(row["value"])]
    if not drawn:
        return None
    over = sum(row["low"] > 0 for row in drawn)
    under = sum(row["high"] < 0 for row in drawn)
    first, last = (
        f"{within(row['rater'])} {signed(row['value'])}" for row in (drawn[0], drawn[-1])
    )
    return dots_chart(
        question.table,
        question.title(run),
        f"Dots with 90% intervals for {plural(len(drawn), 'rater')}, in standard deviations: {over}"
        f" above 0 ({question.over}), {under} below. First {first}, last {last}.",
        [
            Dot(row["rater"], row["value"], row["low"], row["high"], run.kinds[row["rater"]])
            for row in drawn
        ],
        LOOKS,
        Numbers(
            "by",
            between={"kind": lambda row: run.kind(row.label)},
            caption=f"{question.title(run)}, as drawn",
            source=question.table,
        ),
        finding=(
            f"Of {plural(len(drawn), 'rater')} {over} above 0, {under} below, by 90% intervals."
        ),
        form=signed,
        sides=("underrated", "overrated"),
    )


def crowd_sections(run: Billboard) -> tuple[Section, ...]:
    """Judge or crowd, on the criterion shown first and on all; empty if the board has neither."""
    if not all(
        table in run.tables and len(run.tables[table])
        for table in ("crowd_raters", "crowd_answers")
    ):
        return ()
    (answer,) = run.records("crowd_answers", criterion=run.main, language=run.language)
    charts = tuple(filter(None, [_crowd_chart(run)]))
    main = Section(
        "",
        "Judge or crowd?",
        (with_minus(printable(answer["sentence"])),),
        charts,
        (_raters_table(run),),
    )
    answers = _answers_table(run)
    further = Section("", "On every criterion and language", tables=(answers,))
    return (main, further) if len(answers.rows) > 1 else (main,)


def _raters_table(run: Billboard) -> TableView:
    rows = run.records("crowd_raters", criterion=run.main, language=run.language)
    title = f"Compared with the reference people: {run.where(run.main, run.language)}"
    named = ({**row, "rater": ONE_PERSON} if row["kind"] == "ceiling" else row for row in rows)
    return against_people(title, rows, run, reasons(run, "crowd_raters", named))


def against_people(
    title: str, rows: Sequence[Row], run: Billboard | None = None, notes: Iterable[str] = ()
) -> TableView:
    """Raters of the table `crowd_raters`, those that agree best with the reference people first,
    and one reference person last.
    """
    explained = (
        "Bias: mean of its scores minus the people's, in points of their scale; high and low: the"
        " outer thirds of the scale."
    )
    return TableView.of_figures(
        run,
        "crowd_raters",
        title,
        sorted(
            rows,
            key=lambda row: (
                row["kind"] == "ceiling",
                not known(row["pearson"]),
                -(row["pearson"] or 0),
            ),
        ),
        described=OPTIONAL["crowd_raters"],
        cells={"rater": lambda row: ONE_PERSON if row["kind"] == "ceiling" else name(row["rater"])},
        notes=(explained, *notes),
    )


def _answers_table(run: Billboard) -> TableView:
    rows = [
        (
            run.criterion(row["criterion"]),
            spoken(row["language"]),
            row["answer"],
            *(
                Cell(name(row[side] or UNDEFINED), figure(row[f"{side}_pearson"]))
                for side in ("judge", "crowd")
            ),
            p_value(row["p_adjusted"], row["at_most"]),
        )
        for row in run.records("crowd_answers")
    ]
    columns = ("criterion", "language", "answer", "best judge, r", "best crowd, r", "p, corrected")
    title, answers = "Judge or crowd, everywhere", run.records("crowd_answers")
    lacking = [
        f"– best {side}: none rated there"
        for side in ("judge", "crowd")
        if not all(row[side] for row in answers)
    ]
    return TableView.of(
        run, "crowd_answers", title, columns, rows, heads=2, most=MOST_ANSWERS, notes=lacking
    )


def _crowd_chart(run: Billboard) -> Chart | None:
    here = {"criterion": run.main, "language": run.language}
    raters = run.rows("crowd_raters", **here)
    raters = raters[raters["kind"] != "ceiling"]
    best = raters.sort_values("pearson", ascending=False, kind="stable").head(MOST_PANELS)
    (people,) = run.records("people", **here)
    ends = (people["scale_low"], people["scale_high"]) if known(people["scale_low"]) else None
    label = f"Outputs as people and raters scored them: {run.where(run.main, run.language)}"
    return disagreement(
        "crowd",
        label,
        panels(best, run.rows("crowd_dots", **here)),
        people="people",
        ends=ends,
        area=AREA,
    )


def language_maps(run: Billboard) -> list[TableView]:
    """A map of languages for each criterion that was rated in several, the main one first."""
    # one language, and all of them together, are the same
    return _heat(run).by_language("raters", least=3)


def criterion_map(run: Billboard) -> TableView | None:
    """A map of criteria in the language of the main ranking; None if there is only one
    criterion.
    """
    return _heat(run).by_criterion("raters")


def generator_map(run: Billboard) -> TableView | None:
    """A map of r within each generator's outputs, on the main criterion; None if there is only one
    generator.
    """
    rows = run.records("within_generators", criterion=run.main, language=run.language)
    title = f"r within each generator: {run.where(run.main, run.language)}"
    return _heat(run).view("within_generators", "within", title, rows, "generator", name)


def _heat(run: Billboard) -> Heat:
    """The settings of a map of r with people, in the order of the main ranking."""
    return Heat(
        run,
        who="rater",
        figure="pearson",
        words="r",
        form=lambda row: figure(row["pearson"]),
        shade=lambda row: sum(row["pearson"] >= edge for edge in EDGES),
        head=lambda rater: Cell(name(rater), run.kind(rater)),
        order=list(run.rows("raters", criterion=run.main, language=run.language)["rater"]),
        blank="the rater scored nothing there that people also rated.",
        most=MOST_RATERS,
    )
