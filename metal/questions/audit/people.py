"""Tables and charts of the rated dataset, of how far people agree, and of the classes that people
and judges give.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import pandas as pd

from metal.auditing.paper_tables import PEOPLE
from metal.building.describe import ALL
from metal.data.languages import language_name
from metal.data.records import Criterion
from metal.data.text import UNDEFINED, count, figure, interval, name, plural
from metal.questions.audit.run import AuditRun
from metal.questions.audit.undefined import undefined
from metal.questions.dataset.contents import (
    classes_view,
    counted,
    lengths_view,
    qualities,
    quality_charts,
)
from metal.runs.columns import Row
from metal.show.charts.bars import Bar, class_bars
from metal.show.view import Cell, Chart, Rows, TableView

ALL_ITEMS = "all items"
MOST_ROWS = 150  # a longer table is for the CSV

Levels = dict[str, Row]  # level -> its row of class_distribution_overall


def dataset_tables(run: AuditRun) -> list[TableView]:
    """The tables on the dataset; none if it has neither lengths nor qualities, because they would
    repeat other tables.
    """
    lengths, classes = run.tables["lengths"], run.tables["classes_by_quality"]
    if lengths.empty or not (counted(lengths) or qualities(lengths)):
        return []
    by_quality = [classes_view(classes, run.criteria, run)] if _has_qualities(classes) else []
    return [lengths_view(lengths, run), *by_quality]


def dataset_charts(run: AuditRun) -> list[Chart]:
    """The charts on the dataset; none if no quality is known."""
    classes = run.tables["classes_by_quality"]
    return quality_charts(classes, run.criteria) if _has_qualities(classes) else []


def _has_qualities(classes: pd.DataFrame) -> bool:
    return not classes.empty and bool((classes["quality"] != ALL).any())


def kappa_table(run: AuditRun) -> TableView:
    """A table of Fleiss' kappa on all items with two or more ratings: languages in rows, criteria
    in columns. If no criterion has levels, it has Krippendorff's alpha instead.
    """
    explained = (
        "Agreement beyond chance (0: chance, 1: perfect) on the outputs with two ratings or more."
    )
    title = "How far people agree: Fleiss' kappa"
    if run.audited:
        return _by_language(run, "people", title, _kappa, ("fleiss_kappa",), explained)
    title = "How far people agree: Krippendorff's alpha"
    return _by_language(run, "people", title, _alpha, ("alpha",), explained)


def agreement_table(run: AuditRun) -> TableView:
    """METAL's Table 6, with Fleiss' kappa and pairwise F1: languages in rows, criteria in
    columns.
    """
    title = "Fleiss' kappa / pairwise F1, full panels only"
    return _by_language(run, "table_6", title, _pair, ("table_6_kappa", "pairwise_f1"))


def _by_language(
    run: AuditRun,
    table: str,
    title: str,
    cell: Callable[[Row], Cell],
    figures: Sequence[str],
    *notes: str,
) -> TableView:
    """A table of the people with a cell for each language (rows) and criterion (columns). The
    criteria are those that have levels, or all if none has.
    """
    cells = {(row["language"], row["criterion"]): row for row in run.records("people")}
    with_levels = [criterion.name for criterion in run.audited]
    criteria = with_levels or list(run.tables["people"]["criterion"].unique())
    rows: Rows = []
    for language in run.languages:
        of_language: list[Cell | str] = [name(language_name(language))]
        for criterion in criteria:
            row = cells.get((language, criterion))
            of_language.append(cell(row) if row else UNDEFINED)
        rows.append(of_language)
    columns = ("", *map(run.criterion, criteria))
    notes += tuple(undefined(run, "people", cells.values(), figures))
    return TableView.of(run, table, title, columns, rows, notes=notes)


def _kappa(row: Row) -> Cell:
    ends = interval(row["fleiss_kappa_low"], row["fleiss_kappa_high"])
    items = plural(int(row["fleiss_items"]), "output")
    return Cell(figure(row["fleiss_kappa"]), "\n".join(filter(None, [ends, items])))


def _alpha(row: Row) -> Cell:
    return Cell(figure(row["alpha"]), interval(row["alpha_low"], row["alpha_high"]))


def _pair(row: Row) -> Cell:
    kappa, f1 = row["table_6_items"], row["items"]  # each figure's own
    items = plural(int(kappa), "item") if kappa == f1 else f"{count(kappa)} / {count(f1)} items"
    return Cell(f"{figure(row['table_6_kappa'])} / {figure(row['pairwise_f1'])}", items)


def ceilings_table(run: AuditRun) -> TableView:
    """Every language and criterion with its coefficients and the three human ceilings."""
    rows = run.records("people")
    agreeing = ("all_agree", "some_agree", "none_agree")
    return TableView.of_figures(
        run,
        "people",
        "What people reach",
        rows,
        cells={"all_agree": lambda row: " / ".join(count(row[items]) for items in agreeing)},
        heads=2,
        notes=undefined(run, "people", rows),
    )


def class_charts(run: AuditRun) -> list[Chart]:
    """One chart per criterion: the people's aggregate classes in each language and over all
    languages.
    """
    charts = []
    for criterion in run.audited:
        counts: dict[str, dict[str, int]] = {}
        for row in run.records(
            "class_distribution", criterion=criterion.name, case=ALL_ITEMS, side=PEOPLE
        ):
            counts.setdefault(row["language"], {})[row["level"]] = int(row["count"])
        in_all = Counter[str]()
        for by in counts.values():
            in_all.update(by)
        bars = [Bar("", "all languages", in_all)] if len(counts) > 1 else []
        by_name = sorted(
            (language_name(code), by) for code, by in counts.items() if any(by.values())
        )
        bars += [Bar("", language, by) for language, by in by_name]
        charts.append(class_bars(f"classes_{run.slug(criterion)}", criterion, bars))
    return charts


def _by_case(run: AuditRun, criterion: Criterion) -> dict[str, dict[tuple[str, str], Levels]]:
    """The answers by agreement case, then by side and rater, people first, over all languages;
    cases without items are left out.
    """
    cases: dict[str, dict[tuple[str, str], Levels]] = {}
    for row in run.records("class_distribution_overall", criterion=criterion.name):
        by = cases.setdefault(row["case"], {})
        by.setdefault((row["side"], row["rater"]), {})[row["level"]] = row
    return {case: by for case, by in cases.items() if _total(by[PEOPLE, PEOPLE])}


def _total(levels: Levels) -> int:
    return sum(int(row["count"]) for row in levels.values())


def case_charts(run: AuditRun) -> list[Chart]:
    """One chart per criterion: the classes of people and judges in each agreement case."""
    charts = []
    for criterion in run.audited:
        by_case = _by_case(run, criterion)
        by_case.pop(ALL_ITEMS, None)
        bars = []
        for case, by in by_case.items():
            label = f"{case} ({_total(by[PEOPLE, PEOPLE]):,} items)"
            for (_, rater), levels in by.items():
                if _total(levels):
                    counts = {level: int(row["count"]) for level, row in levels.items()}
                    bars.append(Bar(label, rater, counts))
        charts.append(class_bars(f"cases_{run.slug(criterion)}", criterion, bars))
    return charts


def prediction_table(run: AuditRun) -> TableView:
    """A table of how much more or less often than the people a judge gives each class, by agreement
    case, over all languages.
    """
    rows: Rows = []
    missing = 0
    widest = max((len(criterion.scale.levels) for criterion in run.audited), default=0)
    for criterion in run.audited:
        levels = [level.shown for level in criterion.scale.levels]
        for case, by in _by_case(run, criterion).items():
            for (side, judge), shares in by.items():
                if side == PEOPLE:
                    continue
                compared = sum(int(shares[level]["compared"]) for level in levels)
                missing += not compared
                cells = [_over(level, shares[level], compared) for level in levels]
                blank = [""] * (widest - len(levels))
                rows.append(
                    [
                        run.criterion(criterion.name),
                        case,
                        name(judge),
                        count(compared),
                        *cells,
                        *blank,
                    ]
                )
    columns = (
        "",
        "case",
        "judge",
        "items",
        *(f"class {number}" for number in range(1, widest + 1)),
    )
    explained = (
        "The class's share of the judge's answers minus its share of the people's aggregate"
        " answers, over the items that have both, in all languages together. Below it are the two"
        " counts, the judge's and the people's."
    )
    nothing = (
        f"{UNDEFINED}: the judge answered no item to which people gave a class ({missing} rows)."
    )
    return TableView.of(
        run,
        "class_distribution_overall",
        "Over- and under-prediction of each class, in percentage points",
        columns,
        rows,
        name="over_prediction",
        heads=3,
        notes=(explained, *([nothing] if missing else [])),
        most=MOST_ROWS,
    )


def _over(level: str, row: Row, compared: int) -> Cell | str:
    if not compared:
        return f"{level}: {UNDEFINED}"
    points = round(100 * (row["compared"] - row["compared_people"]) / compared)
    return Cell(
        f"{level}: {figure(points, '+d')}",
        f"{count(row['compared'])} to {count(row['compared_people'])}",
    )
