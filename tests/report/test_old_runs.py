"""Audits by version 0.1: their tables lack columns, and call the best verdict by another name."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pandas as pd
import pytest

from metal.auditing.verdict import AS_GOOD, LIKE_A_PERSON, today
from metal.questions.audit.answer import cards, headline, lead
from metal.questions.audit.brief import brief
from metal.questions.audit.matrix import legend, verdicts_matrix
from metal.questions.audit.run import AuditRun
from metal.questions.audit.verdicts import by_judge
from metal.questions.passport.page import answer as allowed
from metal.questions.passport.run import Passport
from metal.runs.passport import ALONE, NEITHER
from metal.show.pages import page
from tests.conftest import MakeDataset
from tests.report.conftest import WriteRun
from tests.saying import tells

LATER = (
    *(f"{share}_kept{end}" for share in ("order", "kappa") for end in ("", "_low", "_high")),
    *("classes", "unshown", "p_like", "p_informative", "confirmed", "confirmed_bad", "panel"),
)


@pytest.fixture
def folder(make_dataset: MakeDataset, write_run: WriteRun) -> Path:
    """The run of an audit in the columns and words of version 0.1."""
    people = [0, 1, 2, 2, 2, 2] * 10
    raters = {"A1": people, "A2": people, "A3": people, "good": people, "constant": [2] * 60}
    run = write_run(make_dataset({"en": raters, "hi": raters}))
    path = run / "tables" / "verdicts.parquet"
    table = pd.read_parquet(path)
    assert set(table.loc[table["judge"] == "good", "verdict"]) == {LIKE_A_PERSON}
    table["verdict"] = table["verdict"].replace(LIKE_A_PERSON, AS_GOOD)
    table.drop(columns=list(LATER)).to_parquet(path, index=False)
    (run / "tables" / "together.parquet").unlink()
    return run


def test_an_old_audit_opens_and_keeps_its_word(folder: Path) -> None:
    run = AuditRun.read(folder)
    assert today(run.best_verdict) == LIKE_A_PERSON
    assert tells(
        headline(run),
        "good is as good",
        "before version 0.2",
        "in English and Hindi (task_quality)",
        "Do not use constant",
    )
    assert tells(
        lead(run), "Of 4 cases", "in 2 a judge is as good as a person", "in 2", "hardly better"
    )
    constant, good = by_judge(run)
    assert good.counts == [("good", "As good as a person", 2)]
    assert constant.counts == [("none", "Uninformative", 2)]
    first = good.cells[0][0]
    assert first
    assert (first.words, first.figure) == ("As good as a person", "keeps 100% · 60 items")
    assert "as good as a person" in [meaning for _, _, meaning in legend(run)]
    assert "2 as good as a person" in verdicts_matrix(run).alt
    assert any(
        "As good as a person" in cell.text
        for table in brief(run)
        for row in table.rows
        for cell in row
    )
    assert list(cards(run))
    content = page(run)
    assert "As good as a person" in content
    assert "Like a person" not in content


def test_a_passport_of_an_old_audit_allows_what_it_allowed(folder: Path) -> None:
    passport = Passport.issued(AuditRun.read(folder), date(2026, 1, 1), 30)
    cells = passport.content["judges"]["good"]["cells"]
    assert [(cell["verdict"], cell["use"]) for cell in cells] == [(AS_GOOD, ALONE)] * 2
    assert {cell["use"] for cell in passport.content["judges"]["constant"]["cells"]} == {NEITHER}
    assert allowed(passport).notes[0].startswith("Alone: the verdict is as good as a person.")
    assert "As good as a person" in page(passport)


def test_every_page_with_a_verdict_says_once_that_agreement_is_not_truth(
    make_dataset: MakeDataset, write_run: WriteRun
) -> None:
    people = [0, 1, 2, 2, 2, 2] * 10
    run = AuditRun.read(
        write_run(make_dataset({"en": {"A1": people, "A2": people, "good": people}}))
    )
    words = "people, not truth"
    assert page(run).count(words) == 1
    assert page(Passport.issued(run, date(2026, 1, 1), 30)).count(words) == 1
