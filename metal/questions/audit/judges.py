"""Judges against people, against each other, and against themselves."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metal.data.languages import language_name
from metal.data.records import Criterion
from metal.data.text import figure, interval, known, name, p_value, percent, signed, within
from metal.questions.audit.run import AuditRun
from metal.questions.audit.undefined import undefined
from metal.runs.columns import Row
from metal.show import svg
from metal.show.charts.agreement import CriterionF1, dots, f1_against_kappa, radar
from metal.show.charts.dots import forest, significant
from metal.show.svg import Figures
from metal.show.view import Cell, Chart, Rows, TableView

MOST_ROWS = 150  # a longer table is for the CSV
MOST_PAIRS = 30  # of a criterion; the CSV has all
MOST_PAIR_CELLS = 240  # of a criterion, where languages are many
NOTE = (
    "Weighted F1 of the first minus the second, over the items that both answered. Bold and"
    " starred: significant at 5% after Holm's correction over the languages of the pair."
)


def f1_table(run: AuditRun) -> TableView:
    """A table of weighted F1 with its interval: rows are criterion and judge, columns are
    languages.
    """
    people = {(row["criterion"], row["language"]): row for row in run.records("people")}
    judges = {
        (row["criterion"], row["judge"], row["language"]): row for row in run.records("judges")
    }
    rows: Rows = []
    for criterion in run.audited:
        key = criterion.name
        of_people = {code: people.get((key, code)) for code in run.languages}
        for column, label in (
            ("pairwise_f1", "people, pairwise"),
            ("leave_one_out_f1", "people, against the others"),
        ):
            rows.append(_f1_row(criterion, label, of_people, column, "floor"))
        if run.judge_names:
            rows.append(
                _f1_row(
                    criterion, "most frequent class", floors(run, criterion), "majority_f1", "floor"
                )
            )
        for judge in run.judge_names:
            of_judge = {code: judges.get((key, judge, code)) for code in run.languages}
            if any(of_judge.values()):
                rows.append(_f1_row(criterion, name(judge), of_judge, "weighted_f1", ""))
    notes = undefined(run, "judges", judges.values(), ("weighted_f1", "majority_f1"))
    columns = ("", "judge", *map(language_name, run.languages))
    title = "Weighted F1 with 95% intervals"
    return TableView.of(run, "judges", title, columns, rows, name="table_3", heads=2, notes=notes)


def floors(run: AuditRun, criterion: Criterion) -> dict[str, Row | None]:
    """The row with the floor for each language; if judges rated different items, the floor of the
    judge with the most.
    """
    floors: dict[str, Row | None] = dict.fromkeys(run.languages)
    for row in run.records("judges", criterion=criterion.name):
        best = floors[row["language"]]
        if known(row["majority_f1"]) and (best is None or row["asked"] > best["asked"]):
            floors[row["language"]] = row
    return floors


def _f1_row(
    criterion: Criterion, who: str, by: Mapping[str, Any], column: str, mark: str
) -> Sequence[Cell | str]:
    values = []
    for row in by.values():
        ends = (row[f"{column}_low"], row[f"{column}_high"]) if row else (None, None)
        values.append(Cell(figure(row[column] if row else None), interval(*ends), mark))
    return [criterion.title, Cell(who, mark=mark), *values]


def self_agreement_table(run: AuditRun) -> TableView:
    """A table of how often each judge gives the same answer again; empty if no judge was asked
    twice.
    """
    rows = run.records("self_agreement")
    explained = (
        "Self-agreement: how often a judge gives the same answer when asked the same question"
        " again with the same settings."
    )
    return TableView.of_figures(
        run,
        "self_agreement",
        "Judges asked again",
        rows,
        cells={
            "all_equal": lambda row: percent(
                row["all_equal"] / row["items"] if row["items"] else None
            )
        },
        heads=3,
        notes=(explained, *undefined(run, "self_agreement", rows)),
        most=MOST_ROWS,
    )


def figures_table(run: AuditRun) -> TableView:
    """A table of all figures for every judge, language and criterion."""
    rows = run.records("judges")
    return TableView.of_figures(
        run,
        "judges",
        "Every judge, with the figures that F1 hides",
        rows,
        heads=3,
        notes=undefined(run, "judges", rows),
        most=MOST_ROWS,
    )


# Tables that a run may lack: title and note.
FURTHER = {
    "justifications": (
        "What justifications are worth",
        (
            "For each judge in each language, all criteria together; if there are more than 200 "
            "justifications, an evenly spaced part is read. Quotations: of 12 characters or more."
            " Words predict: how well a prediction from the words, learned on other sources, "
            "correlates with the score, or with differing from people."
        ),
    ),
    "scores": (
        "Scores on a line",
        (
            "Skill: 1 − squared error / squared error of a constant; 0 is a constant, 1"
            " perfect. Shifted, recalibrated: the skill once a shift or a straight line, fitted on"
            " other sources, has corrected the scores."
        ),
    ),
    "pairs": (
        "Pairs: does it matter which output is shown first?",
        (
            "Same answer when swapped: the share among pairs answered in both orders. The first"
            " place: its share of the answers that are not ties; its log-odds are 0 if the order"
            " does not matter."
        ),
    ),
    "strengths": (
        "Who wins the pairs",
        (
            "Points: the expected share of comparisons won against each of the others; a tie is"
            " half a point. Strength: log odds against the mean, by Davidson's model. First, last"
            " rank: the ranks that the data allow, at 95% for all at once."
        ),
    ),
    "own_outputs": (
        "Does a judge prefer what its own family wrote?",
        (
            "How much higher a judge scores outputs of its own family than other outputs that "
            "people find equally good."
        ),
    ),
    "by_class": (
        "What a judge gets wrong, class by class",
        (
            "People: the most frequent label of all people but one; judge and that person are"
            " both compared with it. Recall: of the outputs with this label, the share to which"
            " the judge gives it. Precision: of the outputs to which the judge gives this label, "
            "the share that have it."
        ),
    ),
    "confusion": (
        "What a judge says where people say something else",
        "Shares of the outputs with the people's label, as above.",
    ),
    "by_certainty": ("Where people are certain, and where they are not", ""),
    "picked": (
        "The judge that looks best, and how much the choice flatters it",
        (
            "The best judge is chosen again in every resample of sources. Among equally good"
            " judges this removes about two thirds of the flattery."
        ),
    ),
    "together": (
        "Many verdicts looked at together",
        (
            "A verdict is about its own cell and wrong in at most 5% of cases, so among many "
            "verdicts some are wrong. p is for *like a person*, corrected for the languages of "
            "the judge on the criterion (Benjamini and Hochberg) and for all cells (Benjamini "
            "and Yekutieli): of the verdicts with p up to 0.05, at most 5% are expected to be "
            "wrong. Keeps at least: a lower limit of the share kept of a person's exact "
            "answers; these limits hold for all cells at once, with an error of 5%."
        ),
    ),
    "remarks": (
        "What other runs say about the judges",
        (
            "Findings of other runs that you gave with the data. They change no verdict;"
            " the CSV has their signatures."
        ),
    ),
}


def further_tables(run: AuditRun) -> list[TableView]:
    """The tables of FURTHER that the run has."""
    shown = []
    for table, (title, note) in FURTHER.items():
        if table in run.tables:
            rows = run.records(table)
            reasons = undefined(run, table, rows) if "undefined" in run.tables[table] else ()
            notes = (*filter(None, [note]), *reasons)
            heads = 3 if "criterion" in run.tables[table] else 2
            shown.append(
                TableView.of_figures(
                    run, table, title, rows, heads=heads, notes=notes, most=MOST_ROWS
                )
            )
    return shown


def winners_table(run: AuditRun) -> Iterator[TableView]:
    """Who wins the pairs, if outputs were compared in pairs and some generator has a rank."""
    for table in further_tables(run):
        if table.name == "strengths" and run.tables["strengths"]["rank"].notna().any():
            yield table


def _chunks(judges: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """The judges in groups small enough for one chart, each group numbered like `1 of 2` if there
    are several.
    """
    pieces = math.ceil(len(judges) / svg.SERIES)
    size = math.ceil(len(judges) / pieces) if pieces else 0
    for piece in range(pieces):
        yield (
            judges[piece * size : (piece + 1) * size],
            f"{piece + 1} of {pieces}" if pieces > 1 else "",
        )


def agreement_charts(run: AuditRun, criterion: Criterion) -> tuple[list[Chart], list[Chart]]:
    """The charts of a criterion: dots, F1 against kappa, and the same figures as radars, as in the
    METAL paper; several of each if there are many judges.
    """
    key, label = run.slug(criterion), criterion.title
    people = {row["language"]: row for row in run.records("people", criterion=criterion.name)}
    records = run.records("judges", criterion=criterion.name)
    languages = [code for code in run.languages if code in people]
    column, ceiling_by = "leave_one_out_f1", "against the others"
    if all(math.isnan(people[code][column]) for code in languages):
        column, ceiling_by = "pairwise_f1", "pairwise"
    ceiling = {code: people[code][column] for code in languages}
    floor = {code: row["majority_f1"] for code, row in floors(run, criterion).items() if row}
    charts: list[Chart] = []
    radars: list[Chart] = []
    for judges, part in _chunks(tuple(dict.fromkeys(row["judge"] for row in records))):
        points: dict[str, dict[str, Figures]] = {judge: {} for judge in judges}
        against = [row for row in records if row["judge"] in points]
        for row in against:
            figures = (row["weighted_f1"], row["weighted_f1_low"], row["weighted_f1_high"])
            points[row["judge"]][row["language"]] = figures
        of_chart = CriterionF1(key, label, languages, points, ceiling, floor, ceiling_by, part)
        chance = f1_against_kappa(of_chart.file("f1_kappa"), of_chart.title, label, against, judges)
        charts += filter(None, (dots(of_chart), chance))
        radars += filter(None, (radar(of_chart),))
    return charts, radars


def is_prompt_pair(run: AuditRun, row: Row) -> bool:
    """Whether both judges are the same model with different prompts."""
    (model, prompt), (other, another) = (
        run.model_and_prompt(row[side]) for side in ("first", "second")
    )
    return model == other and prompt != another and bool(prompt or another)


def difference_tables(run: AuditRun) -> list[TableView]:
    """A table of differences between prompts and one of differences between judges; a table without
    rows is left out.
    """
    records = run.records("differences")
    prompts = [row for row in records if is_prompt_pair(run, row)]
    judges = [row for row in records if not is_prompt_pair(run, row)]
    by_prompt = _table(run, "differences_prompts", "Between prompts of one model", prompts)
    by_judge = _table(run, "differences_judges", "Between judges", judges)
    return [table for table in (by_prompt, by_judge) if table.rows]


def _table(run: AuditRun, key: str, title: str, records: Sequence[Row]) -> TableView:
    rows: Rows = []
    cut = []
    most = min(MOST_PAIRS, MOST_PAIR_CELLS // len(run.languages) + 1)
    for criterion in run.audited:
        pairs: dict[tuple[str, str], dict[str, Row]] = {}
        for row in records:
            if row["criterion"] == criterion.name:
                pairs.setdefault((row["first"], row["second"]), {})[row["language"]] = row
        shown = sorted(pairs.items(), key=lambda pair: _smallest_p(pair[1]))[:most]
        if len(pairs) > most:
            label = run.criterion(criterion.name)
            cut.append(
                f"{label}: the {most} pairs of {len(pairs)} with the smallest p; the CSV has all."
            )
        for (first, second), by in shown:
            cells = (_cell(by.get(language)) for language in run.languages)
            rows.append(
                [run.criterion(criterion.name), f"{within(first)} − {within(second)}", *cells]
            )
    columns = ("", "first − second", *map(language_name, run.languages))
    return TableView.of(
        run, "differences", title, columns, rows, name=key, heads=2, notes=(NOTE, *cut)
    )


def _smallest_p(by_language: dict[str, Row]) -> float:
    return min(
        (row["p_adjusted"] for row in by_language.values() if known(row["p_adjusted"])), default=2.0
    )


def _cell(row: Row | None) -> Cell:
    if row is None or not known(row["difference"]):
        return Cell(signed(None), (row or {}).get("undefined") or "")
    star, mark = (" *", "strong") if significant(row) else ("", "")
    below = (
        f"{interval(row['difference_low'], row['difference_high'], signed)} p"
        f" {p_value(row['p_adjusted'])}"
    )
    return Cell(signed(row["difference"]) + star, below.strip(), mark)


def prompt_charts(run: AuditRun) -> list[Chart]:
    """One chart per criterion of the differences between prompts."""
    records = [row for row in run.records("differences") if is_prompt_pair(run, row)]
    charts = []
    for criterion in run.audited:
        differences = [
            (_pair_name(run, row), row)
            for row in sorted(
                records, key=lambda row: (row["first"], row["second"], row["language"])
            )
            if row["criterion"] == criterion.name
        ]
        if differences:
            label = criterion.title
            key = f"prompts_{run.slug(criterion)}"
            charts.append(forest(key, label, differences, "second is better", "first is better"))
    return charts


def _pair_name(run: AuditRun, row: Row) -> str:
    model, first = run.model_and_prompt(row["first"])
    _, second = run.model_and_prompt(row["second"])
    return f"{model}: {first or '(none)'} − {second or '(none)'}"
