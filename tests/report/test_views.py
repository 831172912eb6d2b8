"""What the page says, against the tables it is drawn from and against sums done by hand."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd
import pytest

import metal
from metal.api.options import options_of
from metal.auditing import judging
from metal.auditing.scores import ONCE
from metal.auditing.standing import NOTHING, THIN
from metal.auditing.together import together_rows
from metal.auditing.verdict import (
    DISAGREE,
    INFORMATIVE,
    LIKE_A_PERSON,
    UNDECIDED,
    UNINFORMATIVE,
    UNSURE,
    Verdict,
)
from metal.data import text
from metal.data.dataset import Card, Dataset
from metal.data.formats import read as read_draft
from metal.data.languages import language_name
from metal.data.records import Criterion, Estimate, Level, Rater, Scale
from metal.errors import DataError
from metal.questions.audit.answer import cards, headline, lead
from metal.questions.audit.brief import brief
from metal.questions.audit.disagreements import pack
from metal.questions.audit.judges import (
    agreement_charts,
    difference_tables,
    f1_table,
    figures_table,
    prompt_charts,
)
from metal.questions.audit.page import criterion_table, left_out_table
from metal.questions.audit.people import agreement_table, ceilings_table, prediction_table
from metal.questions.audit.run import AuditRun, column_of
from metal.questions.audit.verdicts import by_judge, merit
from metal.questions.audit.words import definitions, facts, sources
from metal.runs.columns import Column
from metal.runs.parts import need_files
from metal.show.files import to_latex, write_charts
from metal.show.pages import charts, page, tables
from metal.show.terminal import console
from metal.show.view import Cell, TableView
from metal.stats.aggregate import ALL_RULES
from tests.conftest import HALLUCINATIONS, TASK_QUALITY, MakeDataset
from tests.report.checks import unpacked
from tests.report.conftest import WriteRun, written
from tests.saying import tells

ReportOn = Callable[..., AuditRun]


@pytest.fixture(scope="module")
def two_judges(make_dataset: MakeDataset) -> Dataset:
    """Sixty items in each of two languages: `good` says what people say, `constant` always Good."""
    people = [0, 1, 2, 2, 2, 2] * 10
    scores = {
        "A1": people,
        "A2": people,
        "A3": [2 if place % 6 == 1 else value for place, value in enumerate(people)],
        "good": [*people[:-2], None, None],
        "constant": [2] * 60,
    }
    return make_dataset({"en": scores, "hi": scores}, name="two-judges")


@pytest.fixture(scope="module")
def run(two_judges: Dataset, tmp_path_factory: pytest.TempPathFactory) -> AuditRun:
    """The audit of `two_judges`."""
    return AuditRun.read(written(two_judges, tmp_path_factory.mktemp("two") / "run"))


def test_a_run_that_is_replaced_while_it_is_read(
    two_judges: Dataset, write_run: WriteRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tables of one state with the manifest of another would be a page of two runs."""
    old, new = (
        write_run(two_judges),
        write_run(replace(two_judges, card=Card("new")), languages=("hi",)),
    )

    def replaced_meanwhile(*given: Any) -> None:
        if new.exists():
            old.rename(old.with_name("old"))
            new.rename(old)
        need_files(*given)

    monkeypatch.setattr("metal.runs.run.need_files", replaced_meanwhile)
    run = AuditRun.read(old)
    assert run.data["name"] == "new"
    assert set(run.tables["people"]["language"]) == {"hi"}


def test_the_first_rows_are_those_with_something_strong() -> None:
    rows = [(str(place), Cell("x", mark="strong" if place == 9 else "")) for place in range(12)]
    table = TableView.of(None, "t", "T", ("a", "b"), rows)
    first, others = table.divided(8)
    assert [row[0].text for row in first.rows] == ["9", *"0123456"]
    assert others is not None
    assert [row[0].text for row in others.rows] == ["7", "8", "10", "11"]
    assert table.divided(10) == (table, None)  # two rows are not worth a fold


def test_formats() -> None:
    assert (
        " ".join(map(text.figure, (0.126, -0.126, -0.001, 1, float("nan"), None)))
        == "0.13 −0.13 0.00 1.00 – –"
    )
    assert " ".join(map(text.signed, (0.05, -0.05, 0.0001, None))) == "+0.05 −0.05 0.00 –"
    assert (
        " ".join(map(text.p_value, (0.0004, 0.001, 0.0499, 1.0, float("nan"))))
        == "<0.001 0.001 0.050 1.000 –"
    )
    assert text.interval(0.1, 0.25) == "[0.10, 0.25]"
    assert text.interval(float("nan"), None) == ""
    assert (text.count(1234567), text.percent(0.956)) == ("1,234,567", "96%")
    assert text.name("a\n b" + "x" * 60 + "y" * 60) == "a b" + "x" * 50 + "…" + "y" * 26
    assert text.within("gpt") == "gpt"
    assert text.within("\u062d\u0643\u0645") == "\u2068\u062d\u0643\u0645\u2069"
    assert (
        text.printable_sentence("\u2068\u062d\u2069 a\u2069b\u2068c\u202e")
        == "\u2068\u062d\u2069 a\ufffdb\ufffdc\ufffd"
    )
    assert (text.slug("a/b ../c"), text.slug("\u062d"), text.slug("task_quality")) == (
        "a-b-c",
        "x",
        "task_quality",
    )
    # joiners stay
    assert text.printable("a\u202eb\x00c\r\nd\u200de") == "a\ufffdb\ufffdc\nd\u200de"


def test_cells_are_the_tables_rounded(demo_run: Path) -> None:
    run = AuditRun.read(demo_run)
    shown = figures_table(run)
    place = shown.columns.index("kappa")
    figures = {tuple(cell.text for cell in row[:3]): row for row in shown.rows}
    assert len(figures) == len(run.records("judges"))
    for record in run.records("judges"):
        row = figures[
            run.criterion(record["criterion"]), language_name(record["language"]), record["judge"]
        ]
        assert row[place].text == text.figure(record["kappa"])
        assert row[place].below.startswith(text.interval(record["kappa_low"], record["kappa_high"]))
    by_row = {(row[0].text, row[1].text): row for row in f1_table(run).rows}
    for record in run.records("judges"):
        by_language = by_row[run.criterion(record["criterion"]), record["judge"]]
        cell = by_language[2 + run.languages.index(record["language"])]
        assert cell.text == text.figure(record["weighted_f1"])
    of_people = {(row[0].text, row[1].text): row for row in ceilings_table(run).rows}
    assert len(of_people) == len(run.records("people"))
    for record in run.records("people"):
        row = of_people[run.criterion(record["criterion"]), language_name(record["language"])]
        assert row[5].text == text.figure(record["leave_one_out_f1"])
    table_6 = {language_name(record["language"]): record for record in run.records("table_6")}
    for row in agreement_table(run).rows:
        assert row[1].text == table_6[row[0].text]["TQ"]


def test_a_people_only_audit_first_shows_kappa_of_all_outputs(
    make_dataset: MakeDataset, report_on: ReportOn
) -> None:
    """52 outputs with two ratings are the usual panel, and 44 with three are not left out."""
    truth = [0, 1, 2, 2] * 24
    other = [0, 2, 2, 2] * 24
    people = {"A1": truth, "A2": other, "A3": [*truth[:44], *[None] * 52]}
    run = report_on(make_dataset({"en": people}))
    (row,) = run.records("people")
    ((_, cell),) = next(iter(brief(run))).rows
    assert cell.text == text.figure(row["fleiss_kappa"])
    assert cell.below.endswith("96 outputs")
    assert cell.below.startswith(text.interval(row["fleiss_kappa_low"], row["fleiss_kappa_high"]))
    ((_, pair),) = agreement_table(run).rows
    assert pair.text == f"{text.figure(row['table_6_kappa'])} / {text.figure(row['pairwise_f1'])}"
    assert pair.below == "52 / 96 items"


def test_a_run_of_version_0_1_is_shown_without_later_columns(
    make_dataset: MakeDataset, write_run: WriteRun
) -> None:
    people = [0, 1, 2] * 20
    folder = write_run(make_dataset({"en": {"A1": people, "A2": people, "j": people}}))
    path = folder / "tables" / "judges.parquet"
    table = pd.read_parquet(path)
    later = [name for name in table if name.startswith(("leniency_items", "macro_f1_difference"))]
    table.drop(columns=later).to_parquet(path)
    run = AuditRun.read(folder)
    assert "on items with two people" not in figures_table(run).columns
    assert page(run)


def test_a_figure_is_one_statistic(
    make_dataset: MakeDataset,
    write_run: WriteRun,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A figure of the table of judges: CSV, page, LaTeX and terminal follow."""
    top = judging.Statistic(
        lambda judged: Estimate(0.125, 0.0625, 0.25, n=judged.drawn.n), "top share", form="percent"
    )
    monkeypatch.setattr(judging, "STATISTICS", {**judging.STATISTICS, "top": top})
    column = column_of("top", top)
    described = {**AuditRun.described, "judges": (*AuditRun.described["judges"], column)}
    monkeypatch.setattr(AuditRun, "described", described)

    people = [0, 1, 2] * 20
    folder = write_run(make_dataset({"en": {"A1": people, "A2": people, "j": people}}))
    assert "top,top_low,top_high" in (folder / "tables" / "judges.csv").read_text().splitlines()[0]
    page_text = (folder / "report.html").read_text(encoding="utf-8")
    assert '<th scope="col" class="n">top share</th>' in page_text
    assert '12%<span class="below">[6%, 25%]</span>' in page_text
    table = figures_table(AuditRun.read(folder))
    latex = to_latex(table)
    assert " & top share" in latex
    assert "12" in latex
    console.show(table)
    printed = capsys.readouterr().out
    assert all(words in printed for words in ("top", "share", "12%", "[6%, 25%]"))
    assert max(map(len, printed.splitlines())) <= 80
    # A run without the column says so when it is read.
    monkeypatch.setattr(
        AuditRun, "described", described | {"judges": (*described["judges"], Column("more"))}
    )
    with pytest.raises(
        DataError, match=r"judges\.parquet: no column 'more'\. Run `metal audit` again"
    ):
        AuditRun.read(folder)


def test_undefined_is_a_dash_with_its_reason(
    make_dataset: MakeDataset, report_on: ReportOn
) -> None:
    ones = [1] * 40
    run = report_on(make_dataset({"en": {"A1": ones, "A2": ones, "j": ones}}))
    assert agreement_table(run).rows[0][1].text == "– / 1.00"
    assert agreement_table(run).notes == ("– Fleiss' kappa: one class (task_quality in English)",)
    assert "– kappa: one class on both sides (task_quality in English)" in figures_table(run).notes


def test_every_table_names_its_source_and_signature(demo_run: Path) -> None:
    run = AuditRun.read(demo_run)
    shown = tables(run)
    assert len({table.name for table in shown}) == len(shown) >= 7
    for table in shown:
        assert table.source in run.tables
        assert table.signature.startswith(f"metal:{metal.__version__}|data:demo@")
        assert f"|stat:{table.source}|" in table.signature
        assert {len(row) for row in table.rows} == {len(table.columns)}


def test_the_matrix_holds_every_verdict(run: AuditRun) -> None:
    constant, good = by_judge(run)
    assert [cell and cell.word for cell in constant.cells[0]] == ["none", "none"]
    assert {cell and cell.word for cell in good.cells[0]} <= {"good", "some"}
    first = constant.cells[0][0]
    assert first is not None
    assert first.reason.startswith(
        "constant, task_quality, English: uninformative. It gave one answer only."
    )
    assert (first.figure, first.bar) == (
        "exact 0%, order 0% · 60 items",
        ("M0.0 6H12.0", "M6.0 0v12"),
    )  # a constant stands at the left end; of 10 items of a class no recall is known exactly


@pytest.mark.parametrize(
    ("lacks", "words"),
    [
        ({"items_needed": 120.4}, "60 items · about 120 needed"),
        ({"reason": f"fewer than two classes with 5 items: {NOTHING}"}, f"60 items · {NOTHING}"),
        ({"items": 0}, "0 items · none rated by both"),
        ({"items": 12}, "12 items · too few"),
        ({"sources": 7}, "60 items · too few sources"),
        ({"reason": f"{THIN}: 40 of '2 Good'"}, "60 items · too few of each answer"),
        ({"reason": f"{UNSURE}: alpha 0.1"}, "60 items · people may disagree"),
        ({}, "60 items · too uncertain"),
    ],
)
def test_an_undecided_cell_says_what_is_missing(
    lacks: dict[str, Any], words: str, run: AuditRun
) -> None:
    enough = {
        "items": 60,
        "sources": 60,
        "items_needed": float("nan"),
        "above_constant": 0.1,
        "reason": "open",
    }
    table = run.tables["verdicts"].iloc[:1].assign(**{"verdict": UNDECIDED, **enough, **lacks})
    first = by_judge(replace(run, tables={**run.tables, "verdicts": table}))[0].cells[0][0]
    assert first is not None
    assert first.figure == words


@pytest.mark.parametrize(
    ("share", "interval", "mark"),
    [
        ((0.2, 0.5, 1.0), "M20.0 6H76.0", "M41.0 0v12"),
        ((0.5, 0.9, float("nan")), "M41.0 6H100.0", "M69.0 0v12"),  # no upper end
        ((1.5, 1.9, 2.4), "M100.0 6H100.0", "M96 1l4 5l-4 5"),
    ],
)
def test_a_share_beyond_the_line_is_an_arrow(
    share: tuple[float, ...], interval: str, mark: str, run: AuditRun
) -> None:
    ends = dict(zip(("share_kept_low", "share_kept", "share_kept_high"), share, strict=True))
    table = run.tables["verdicts"].iloc[:1].assign(**ends)
    first = by_judge(replace(run, tables={**run.tables, "verdicts": table}))[0].cells[0][0]
    assert first is not None
    assert first.bar == (interval, mark)


def test_options_stand_on_a_page_as_they_are_typed(run: AuditRun) -> None:
    content = page(
        replace(
            run,
            warnings=(
                '`reference="group=x"` takes one; `standardise=True`, or `metal.design("d")`',
            ),
        )
    )
    assert "--reference group=x takes one; --standardise, or <code>metal design d</code>" in content


def test_judges_stand_by_what_they_keep_then_by_what_they_know() -> None:
    figures = (float("nan"), 0.1), (0.2, 0.1), (float("nan"), 0.3), (0.5, 0.2)
    rows = [{"share_kept": share, "above_constant": above} for share, above in figures]
    assert [rows.index(row) for row in sorted(rows, key=merit)] == [3, 1, 2, 0]


def test_the_first_screen_answers(run: AuditRun) -> None:
    assert headline(run) == (
        f"good {AGREES} in English and Hindi (task_quality); the other judge does not. Do not use"
        " constant at all."
    )
    assert (
        lead(run)
        == "Of 4 cases (one for each judge and language), in 2 a judge is like a person; in 2 a"
        " judge does hardly better than always giving the same answer. Of all that is called like"
        " a person, at most 5% is expected to be a false finding (not how often the judge errs)."
    )
    assert [card.title for card in cards(run)] == ["What to do next"]
    lines = facts(run)
    assert lines["Worst"].startswith("constant on task_quality in ")
    assert (
        lines["Judges"]
        == "Like a person or informative most often good (100% of 2), least often constant (0%"
        " of 2)."
    )
    assert not lines["Languages"]  # they are alike
    assert "that people are right" in lines["Do not conclude"]
    assert "two languages differ" in lines["Do not conclude"]


def test_it_warns_of_high_f1_at_chance(make_dataset: MakeDataset, report_on: ReportOn) -> None:
    people = [2, 2, 2, 2, 2, 2, 2, 2, 2, 0] * 6
    run = report_on(make_dataset({"en": {"A1": people, "A2": people, "constant": [2] * 60}}))
    # F1 of always Good where nine of ten are Good: 0.9 x (2 x 0.9 / 1.9) = 0.85
    beware = next(iter(cards(run)))
    assert beware.title == "Beware of F1 alone"
    assert beware.words.endswith(
        "; always giving the most frequent answer reaches 0.85 [0.71, 0.93] as well."
    )


def test_the_answer_without_judges_and_with_too_few(
    make_dataset: MakeDataset, report_on: ReportOn
) -> None:
    alone = report_on(make_dataset({"en": {"A1": [0, 1], "A2": [0, 1]}}, name="alone"))
    lines = [name for name, line in facts(alone).items() if line]
    assert lines == ["People", "Do not conclude"]
    assert "no judge took part" in page(alone)
    few = report_on(make_dataset({"en": {"A1": [0, 1], "A2": [0, 1], "j": [0, 1]}}, name="few"))
    assert headline(few).startswith("Whether j can be trusted is still undecided")
    of = {"A1": [0, 1], "A2": [0, 1], "j": [0, 1]}
    assert (
        lead(report_on(make_dataset({"en": of, "hi": of}, name="two")))
        == "In both cases (one for each language) nothing can be said yet."
    )


def with_verdicts(run: AuditRun, verdicts: dict[str, list[str]], p: float) -> AuditRun:
    """The run with these verdicts, by judge and then language; p: of those that are like a
    person.
    """
    table = (
        run.tables["verdicts"]
        .sort_values(["judge", "language"])
        .assign(below_person=0.0, p_like=1.0, unshown="")
    )
    table["verdict"] = [verdict for judge in sorted(verdicts) for verdict in verdicts[judge]]
    table.loc[table["verdict"] == LIKE_A_PERSON, "p_like"] = p
    made = [
        Verdict(
            row["language"],
            row["criterion"],
            row["judge"],
            row["verdict"],
            "",
            p_like=row["p_like"],
        )
        for row in table.to_dict("records")
    ]
    together = pd.DataFrame(list(together_rows(made, [math.nan] * len(made)))).assign(signature="")
    return replace(run, tables={**run.tables, "verdicts": table, "together": together})


AGREES = "agrees with people as well as they agree with each other"
FOUR = ("en", "hi", "sw", "ta")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verdicts", "says"),
    [
        (
            {"j": [LIKE_A_PERSON] * 4},
            (
                f"j {AGREES} in all 4 languages (task_quality). At most 5% of these findings are"
                " expected to be false (not how often the judge errs)."
            ),
        ),
        (
            {"j": [LIKE_A_PERSON, LIKE_A_PERSON, INFORMATIVE, UNINFORMATIVE]},
            (
                f"j {AGREES} in English and Hindi (task_quality). In Swahili (task_quality) it can"
                " still help to rank outputs. Do not use it for task_quality in Tamil."
            ),
        ),
        (
            {"j": [LIKE_A_PERSON, INFORMATIVE, UNDECIDED, UNDECIDED]},
            f"j {AGREES} in English (task_quality). In Hindi (task_quality) it can still help to"
            " rank outputs. Nothing can be said yet of task_quality in Swahili and Tamil.",
        ),
        (
            {"j": [LIKE_A_PERSON] * 3 + [UNDECIDED], "k": [UNDECIDED] * 3 + [UNINFORMATIVE]},
            f"j {AGREES} in English, Hindi and Swahili (task_quality); for k this"
            " is not shown. Do not use k for task_quality in Tamil. In 4 of 8 comparisons nothing"
            " can be said yet.",
        ),
        (
            {"j": [DISAGREE] * 4},
            "Nobody can be judged here: people disagree among themselves in 4 cases.",
        ),
        (
            {"j": [LIKE_A_PERSON] * 3 + [UNINFORMATIVE], "k": [LIKE_A_PERSON] + [UNDECIDED] * 3},
            (
                f"j {AGREES} in English, Hindi and Swahili (task_quality), k in English"
                " (task_quality). Do not use j for task_quality in Tamil. Nothing can be said"
                " yet of k for"
                " task_quality in Hindi, Swahili and Tamil."
            ),
        ),
        (
            {
                "j": [LIKE_A_PERSON] * 2 + [UNDECIDED] * 2,
                "k": [LIKE_A_PERSON] * 2 + [UNDECIDED] * 2,
            },
            "j and k each agree with people as well as they agree with each other in English and"
            " Hindi (task_quality). In 4 of 8 comparisons nothing can be said yet.",
        ),
        (
            {"j": [UNINFORMATIVE] * 4, "k": [UNDECIDED] * 4},
            "None of the 2 judges is shown to be better than always giving the same answer. Do not"
            " use j at all. Nothing can be said yet of k.",
        ),
        (
            {"j": [UNINFORMATIVE] * 4},
            "j is hardly better than always giving the same answer. Do not use it.",
        ),
    ],
)
def test_headlines(
    verdicts: dict[str, list[str]], says: str, make_dataset: MakeDataset, report_on: ReportOn
) -> None:
    scores = {"A1": [0, 1], "A2": [0, 1]} | {judge: [0, 1] for judge in verdicts}
    run = with_verdicts(report_on(make_dataset(dict.fromkeys(FOUR, scores))), verdicts, p=0.001)
    assert headline(run) == says


def test_each_of_several_judges_is_counted(make_dataset: MakeDataset, report_on: ReportOn) -> None:
    knows = {"a": 4, "b": 4, "c": 3, "d": 1, "e": 0}
    verdicts = {
        judge: [INFORMATIVE] * number + [UNINFORMATIVE] * (4 - number)
        for judge, number in knows.items()
    }
    scores = {"A1": [0, 1], "A2": [0, 1]} | {judge: [0, 1] for judge in verdicts}
    run = with_verdicts(report_on(make_dataset(dict.fromkeys(FOUR, scores))), verdicts, p=1.0)
    assert tells(headline(run), "a and b", "in all 4 cases, c in 3 and d in 1")
    assert tells(headline(run), "e at all, nor c in 1 of 4 cases, nor d in 3")


@pytest.mark.parametrize(
    ("verdicts", "says", "listed"),
    [
        # A cell of 4 at p = .04: 4 x .04 = .16 of Benjamini and Hochberg.
        (
            {"j": [LIKE_A_PERSON] + [UNDECIDED] * 3},
            (
                f"j {AGREES} in English (task_quality), looked at alone; among 4 cases some may"
                " look so by luck. Nothing can be said yet of task_quality in Hindi, Swahili"
                " and Tamil."
            ),
            "Like a person only looked at alone: in English (task_quality); have more outputs",
        ),
        # All 4 of 4 at p = .04: 4 / 4 x .04 = .04.
        (
            {"j": [LIKE_A_PERSON] * 4},
            (
                f"j {AGREES} in all 4 languages (task_quality). At most 5% of these findings are"
                " expected to be false (not how often the judge errs)."
            ),
            (
                "Like a person with all cases looked at together: in English, Hindi, Swahili and"
                " Tamil (task_quality)."
            ),
        ),
        # Over two judges by Benjamini and Yekutieli: 8 / 2 x 2.72 x .04.
        (
            {"j": [LIKE_A_PERSON] + [UNDECIDED] * 3, "k": [LIKE_A_PERSON] + [UNDECIDED] * 3},
            (
                f"A judge {AGREES} in 2 of 8 comparisons, if each is looked at alone;"
                " among 8 comparisons some may look so by luck. In 6 of 8 comparisons nothing can"
                " be said yet."
            ),
            (
                "Like a person only if each case is looked at alone: j in English (task_quality); k"
                " in English (task_quality); have more outputs rated there before you rely on it."
            ),
        ),
    ],
)
def test_what_holds_only_by_its_own_verdict_is_said(
    verdicts: dict[str, list[str]],
    says: str,
    listed: str,
    make_dataset: MakeDataset,
    report_on: ReportOn,
) -> None:
    scores = {"A1": [0, 1], "A2": [0, 1]} | {judge: [0, 1] for judge in verdicts}
    run = with_verdicts(report_on(make_dataset(dict.fromkeys(FOUR, scores))), verdicts, p=0.04)
    assert headline(run) == says
    assert listed in lead(run)


def test_the_surest_case_lucky_choices_and_recalibration_are_said(
    make_dataset: MakeDataset, report_on: ReportOn
) -> None:
    scores = {"A1": [0, 1], "A2": [0, 1], "j": [0, 1], "k": [0, 1]}
    run = report_on(make_dataset(dict.fromkeys(("en", "hi"), scores)))
    run = with_verdicts(run, {"j": [INFORMATIVE] * 2, "k": [INFORMATIVE] * 2}, p=1.0)
    table = run.tables["verdicts"].assign(above_constant=0.1, share_kept=0.5)
    table["reason"] = ["", "", "", f"{ONCE} (-15; then 0.00 against a person)"]
    together = run.tables["together"].assign(kept_at_least=[-0.2, 0.42, 0.05, math.nan])
    picked = pd.DataFrame({"optimism": [0.02, 0.66]})
    run = replace(
        run, tables={**run.tables, "verdicts": table, "together": together, "picked": picked}
    )
    assert headline(run) == (
        "Whether any of the 2 judges agrees with people as well as they agree with each other is"
        " still open in 3 of 4 comparisons. Each of the judges can still help to rank outputs in"
        " both cases. In Hindi (task_quality) k agrees so well only once its scores are"
        " recalibrated."
    )
    assert (
        lead(run) == "Of 4 cases (one for each judge and language), in 1 a judge is like a person"
        " once recalibrated; in 3 a judge is informative (better than always giving the same"
        " answer). Surest case: task_quality in Hindi, where j keeps at least 42% of what a person"
        " knows (not how often it is right), even after correction for having picked it from 4"
        " cases. The best of several judges looks a little better than it is: take up to 66"
        " percentage points off the share that it keeps of what a person knows."
    )


def with_prompts(dataset: Dataset) -> Dataset:
    """The judges as one model asked with two prompts."""
    raters = dict(dataset.raters)
    for judge, prompt in (("good", "detailed"), ("constant", "simple")):
        raters[judge] = Rater(judge, "llm", "gpt", {"model": "gpt", "prompt": prompt})
    return replace(dataset, raters=raters)


def test_prompts_of_one_model_are_compared_apart(
    two_judges: Dataset, run: AuditRun, report_on: ReportOn
) -> None:
    (judges,) = difference_tables(run)
    assert judges.name == "differences_judges"
    run = report_on(
        with_prompts(replace(two_judges, card=replace(two_judges.card, name="prompts")))
    )
    (prompts,) = difference_tables(run)
    assert prompts.name == "differences_prompts"
    assert prompts.rows[0][1].text == "constant − good"
    record = run.records("differences")[0]
    assert record["p_adjusted"] < 0.05
    assert prompts.rows[0][2].text == f"{text.signed(record['difference'])} *"
    (chart,) = prompt_charts(run)
    assert "0 significantly above 0 (first is better), 2 significantly below" in chart.alt
    lines = facts(run)
    assert (
        lines["Prompts"]
        == "Of 2 differences between prompts of one model 2 are significant: detailed ahead in 2."
    )


def test_over_and_under_prediction_by_hand(run: AuditRun) -> None:
    # People in each language: 10 Bad, 10 Medium, 40 Good (on the tenth each, A3 says Good and is
    # outvoted).
    # `constant` says Good 60 times: Good 120 to 80 of 120 in all, +33 points; the others -17.
    rows = {(row[1].text, row[2].text): row for row in prediction_table(run).rows}
    assert [cell.text for cell in rows["all items", "constant"][4:]] == [
        "0 Bad: −17",
        "1 Medium: −17",
        "2 Good: +33",
    ]
    assert [cell.below for cell in rows["all items", "constant"][4:]] == [
        "0 to 20",
        "0 to 20",
        "120 to 80",
    ]
    # `good` left its last two unanswered in each language, both Good to people: 116 items, nothing
    # over or under.
    assert [cell.text for cell in rows["all items", "good"][3:]] == [
        "116",
        "0 Bad: 0",
        "1 Medium: 0",
        "2 Good: 0",
    ]
    assert [cell.text for cell in rows["some agree", "constant"][4:]] == [
        "0 Bad: 0",
        "1 Medium: −100",
        "2 Good: +100",
    ]


def test_what_was_left_out(run: AuditRun) -> None:
    row = left_out_table(run).rows[0]
    assert [cell.text for cell in row[2:]] == ["60", "0", "0", "good: 2 unanswered"]


def test_incomplete_and_tied_items_are_apart(
    make_dataset: MakeDataset, report_on: ReportOn
) -> None:
    people: dict[str, list[int | None]] = {
        "A1": [0, 1, 2] * 5,
        "A2": [0, 1, 2] * 4 + [1, None, None],
    }
    run = report_on(make_dataset({"hi": people}))
    rows = [[cell.text for cell in row] for row in criterion_table(run, run.audited[0]).rows[:2]]
    assert rows == [["items", "12"], ["incomplete / tied", "2 / 1"]]


@pytest.mark.slow
def test_many_judges_take_several_charts(make_dataset: MakeDataset, report_on: ReportOn) -> None:
    items = [0, 1, 2] * 5
    scores: dict[str, list[int | None]] = {"A1": items, "A2": items} | {
        f"j{n:02d}": items for n in range(17)
    }
    run = report_on(make_dataset(dict.fromkeys(("en", "hi", "sw"), scores)))
    charts, radars = agreement_charts(run, run.audited[0])
    drawn = [*charts, *radars]
    assert [chart.title for chart in radars] == [f"task_quality ({n} of 3)" for n in (1, 2, 3)]
    assert len({chart.name for chart in drawn}) == 9
    shown = [
        row[0].text
        for chart in drawn
        if chart.name.startswith("dots")
        for row in chart.numbers.rows
    ]
    assert Counter(name for name in shown if name.startswith("j")) == {
        f"j{n:02d}": 1 for n in range(17)
    }
    (judges,) = difference_tables(run)
    assert len(judges.rows) == 30
    assert "30 pairs of 136" in judges.notes[1]


def test_a_chart_shows_itself_in_a_notebook(make_dataset: MakeDataset, report_on: ReportOn) -> None:
    """With its title and what it shows in words; names from files are text, without characters that
    turn the page.
    """
    attack = "</title></desc></svg><script>window.pwned = 1</script>\u202e&lt;"
    scores = dict.fromkeys(("A1", "A2", attack), [0, 1, 2] * 20)
    drawn = charts(report_on(make_dataset(dict.fromkeys(("en", "hi", "sw"), scores))))
    drawn += [
        replace(drawn[0], title=attack, alt=attack),
        replace(drawn[0], svg="", notes=(attack,)),
    ]
    for chart in drawn:
        html = chart._repr_html_()
        figure = ElementTree.fromstring(html)
        assert figure.findtext("figcaption") == text.printable_sentence(chart.title)
        description = figure.findtext("{*}svg/{*}desc")
        assert description == (text.printable_sentence(chart.alt) if chart.svg else None)
        assert [note.text for note in figure.findall("p")] == [
            text.printable_sentence(note) for note in chart.notes
        ]
        assert not list(figure.iter("{*}script"))
        assert "\u202e" not in html
    assert sum("pwned" in chart._repr_html_() for chart in drawn) > 2  # the drawings name the judge


def test_a_sample_is_even_seeded_and_says_so(
    make_dataset: MakeDataset, report_on: ReportOn
) -> None:
    scores = {"A1": [0] * 300, "A2": [1] * 300, "A3": [2] * 300}
    few = {rater: values[:20] for rater, values in scores.items()}
    run = report_on(make_dataset({"en": scores, "hi": few}))
    everything = pack(run, {}, 1_000_000)
    assert not everything.left_out
    assert run.disagreement_table.num_rows == 320
    room = 3_000
    sample = pack(run, {}, room)
    assert sample == pack(run, {}, room)
    assert len(sample.blob) <= room
    items = unpacked(sample.blob)["items"]
    assert 0 < len(items) == 320 - sample.left_out < 320
    taken = Counter(item["l"] for item in items)
    assert taken["hi"] == min(20, taken["en"]) or taken["hi"] in (taken["en"], taken["en"] - 1)
    assert [item["l"] for item in items] == sorted(item["l"] for item in items)
    assert pack(run, {}, 50).left_out == 320
    other = replace(
        run, manifest={**run.manifest, "settings": {**run.manifest["settings"], "seed": 1}}
    )
    assert unpacked(pack(other, {}, room).blob)["items"] != items


def test_a_page_too_small_says_so(
    make_dataset: MakeDataset, report_on: ReportOn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metal.show.pages.PAGE_BYTES", 0)
    monkeypatch.setattr("metal.questions.audit.page.LEAST_ROOM", 4_000)
    run = report_on(make_dataset({"en": {"A1": [0] * 300, "A2": [1] * 300}}, HALLUCINATIONS))
    assert " of 300</b> outputs on which" in page(run)
    assert "a random sample, seeded, taken evenly" in page(run)


@pytest.mark.slow
@pytest.mark.reference
def test_pariksha_in_full(reference: Path, tmp_path: Path) -> None:
    draft = read_draft("pariksha", reference / "pariksha", {})
    folder = written(draft.assemble(tmp_path / "ratings"), tmp_path / "run")
    run = AuditRun.read(folder)
    content = (folder / "report.html").read_text(encoding="utf-8")
    assert len(content.encode()) < 1_500_000
    assert len(unpacked(content)["items"]) == run.disagreement_table.num_rows == 1981
    by_cell = {(row[0].text, row[1].text): row for row in figures_table(run).rows}
    assert by_cell["Task quality", "Hindi"][5].text == "0.62"
    assert (
        headline(run)
        == "gpt-4-32k/detailed agrees with people less than they agree with each other in 7 of 15"
        " cases; in 7 this is still open. It can still help to rank outputs in 11 of 15 cases, but"
        " not to find the bad ones in 5 of these; in 4 more this is open. Do not use it for"
        " hallucinations in Malayalam. People disagree on hallucinations in Tamil: no judge can be"
        " tested there."
    )
    assert lead(run).startswith(
        "Of 15 cases (one for each criterion and language), in 11 it is informative"
    )


def test_judges_may_bear_any_name(make_dataset: MakeDataset, report_on: ReportOn) -> None:
    """Also that of the people, names alike to their eightieth letter, and names written from right
    to left.
    """
    people, other = [0, 1, 2] * 20, [2, 2, 2] * 20
    long = "x" * 100
    judges = {
        "people": other,
        f"{long}1{long}": people,
        f"{long}2{long}": people,
        "\u062d\u0643\u0645": other,
    }
    run = report_on(make_dataset({"en": {"A1": people, "A2": people} | judges}))
    ours = run.rows("class_distribution", side="people", case="all items")
    assert dict(zip(ours["level"], ours["count"], strict=True)) == {
        "0 Bad": 20,
        "1 Medium": 20,
        "2 Good": 20,
    }
    rows = {row[2].text: row for row in prediction_table(run).rows if row[1].text == "all items"}
    assert [cell.below for cell in rows["people"][4:]] == ["0 to 20", "0 to 20", "60 to 20"]
    raters = [
        name for name, kind, _ in unpacked(pack(run, {}, 10**6).blob)["raters"] if kind != "person"
    ]
    assert len(set(raters)) == 4
    reasons = [cell.reason for of in by_judge(run) for cell in of.cells[0] if cell]
    assert any(reason.startswith("\u2068\u062d\u0643\u0645\u2069, ") for reason in reasons)


def test_judges_alike_in_model_and_prompt_are_told_apart(
    two_judges: Dataset, report_on: ReportOn
) -> None:
    raters = dict(two_judges.raters)
    for judge in ("good", "constant"):
        raters[judge] = Rater(judge, "llm", "gpt", {"model": "gpt", "prompt": None})
    run = report_on(replace(two_judges, raters=raters))
    assert {row[1].text for row in f1_table(run).rows} >= {"good", "constant"}
    assert [table.name for table in difference_tables(run)] == ["differences_judges"]


def test_the_floor_is_of_the_judge_with_the_most_items(
    make_dataset: MakeDataset, report_on: ReportOn
) -> None:
    people = [0, 1, 2, 2] * 15
    silent = [None] * 60
    run = report_on(make_dataset({"en": {"A1": people, "A2": people, "a": silent, "b": people}}))
    (floor,) = (row for row in f1_table(run).rows if row[1].text == "most frequent class")
    # Always Good where half is Good: 0.5 x (2 x 0.5 / 1.5) = 0.33
    assert floor[2].text == "0.33"
    assert [
        row[1].text
        for row in agreement_charts(run, run.audited[0])[0][0].numbers.rows
        if "class" in row[0].text
    ] == ["0.33"]
    assert prediction_table(run).notes[1].startswith("–: the judge answered no item")


def test_criteria_of_any_name_become_files(
    make_dataset: MakeDataset, report_on: ReportOn, tmp_path: Path
) -> None:
    people = [0, 1, 2] * 15
    for name in ("a/b", "../../evil", "y" * 300):
        criterion = Criterion(name, TASK_QUALITY.scale)
        run = report_on(
            make_dataset(
                {"en": {"A1": people, "A2": people, "j": people}}, criterion, name=text.slug(name)
            )
        )
        folder = tmp_path / "figures" / text.slug(name)
        assert write_charts(charts(run), folder, lambda done, total: None) * 3 == len(
            list(folder.iterdir())
        )


def test_large_csv_files_make_room_for_disagreements(
    make_dataset: MakeDataset, report_on: ReportOn
) -> None:
    run = report_on(make_dataset({"en": {"A1": [0] * 300, "A2": [1] * 300}}))
    noise = random.Random(0)
    large = "".join(noise.choice("abcdefghijklmnop") for _ in range(50_000))
    packed = pack(run, {"large": large, "small": "a,b\n1,2\n"}, 12_000)
    assert packed.csv == {"small"}
    assert packed.left_out < run.disagreement_table.num_rows
    assert unpacked(packed.blob)["csv"] == {"small": "a,b\n1,2\n"}


def test_where_many_classes_cannot_be_drawn_their_numbers_stand(
    make_dataset: MakeDataset, report_on: ReportOn, tmp_path: Path
) -> None:
    many = Criterion("topic", Scale("nominal", tuple(Level(n, f"topic {n}") for n in range(12))))
    people = [*range(12)] * 5
    run = report_on(make_dataset({"en": {"A1": people, "A2": people, "j": people}}, many))
    assert "12 classes cannot be told apart by shade, so only the numbers are shown." in page(run)
    write_charts(charts(run), tmp_path, lambda done, total: None)
    assert {file.stem for file in tmp_path.glob("*.svg")} == {"dots_topic", "f1_kappa_topic"}


@pytest.mark.parametrize(
    ("rule", "words", "source"),
    [
        ("majority-or-mean", "the mean of the answers", "METAL paper, 3.2.6"),
        ("dawid-skene", "which labels that person confuses; fitted once", "Dawid and Skene 1979"),
        ("mace", "how often they know the answer", "Hovy et al. 2013"),
    ],
)
def test_the_rule_is_defined(
    make_dataset: MakeDataset, report_on: ReportOn, rule: str, words: str, source: str
) -> None:
    people: dict[str, list[int | None]] = {
        "A1": [0, 1, 2, 0],
        "A2": [0, 1, 2, 1],
        "A3": [0, 1, 1, 0],
    }
    run = report_on(make_dataset({"hi": {**people, "judge": [0, 1, 2, 0]}}), aggregate=rule)
    assert words in definitions(run)["People's aggregate"]
    assert sources(run)["People's aggregate"] == source


def test_every_rule_can_be_asked_for() -> None:
    for verb in (metal.audit, metal.describe):
        assert options_of(verb)["aggregate"][1].choices == ALL_RULES


def test_columns_of_words_stand_flush_left() -> None:
    rows = [
        ["a", "+0.10", "Undecided, 0%", "–", "$1.20"],
        ["b", "–", "2", "", "<$0.01"],
        ["c", "−1", "Even", "–", "3 %"],
    ]
    table = TableView.of(None, "t", "T", ["name", "change", "says", "nothing", "cost"], rows)
    assert table.flush_left == (True, False, True, False, False)
    assert r"\begin{tabular}{@{}lrlrr@{}}" in to_latex(table)
