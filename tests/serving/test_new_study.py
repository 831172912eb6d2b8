"""The owner's form for a new study: the choices of `metal study new`, and the same study."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

import metal
from metal.errors import DataError, UsageError
from metal.serving import tables
from metal.serving.people import people_of
from metal.serving.studies import study_of
from tests import DEMO
from tests.saying import tells
from tests.serving.test_web import House, plan_in
from tests.serving.test_web import house as house
from tests.serving.web import rate

CHOICES: dict[str, Any] = {
    "languages": ["hi", "ar"],
    "criteria": ["task_quality"],
    "generators": ["a"],
    "raters": "2",
    "one_more": "on",
    "people": "2",
    "test_questions": "50%+50%",
    "qualify": "1",
    "most": "9",
    "pay": "0.12",
    "budget": "30",
    "group": "crowd",
    "code": "DONE-1",
    "screen_out": "OUT-1",
    "consent": "Agreed?",
}


def test_the_form_makes_the_study_that_the_command_makes(house: House, tmp_path: Any) -> None:
    (tmp_path / "consent.txt").write_text("Agreed?\n")
    owner = house.owner()
    page = owner.get("/owner/new?dataset=demo").text
    offered = [f'name="{name}"' in page for name in CHOICES]
    assert all(offered), [*zip(CHOICES, offered, strict=True)]
    assert tells(page, "Hindi", "(12)", "task_quality")
    made = owner.post("/owner/studies", {"dataset": "demo", "name": "in-browser", **CHOICES})
    assert made.status_code == 200, made.text
    assert len(owner.links()) == 4
    metal.study_new(
        house.folder / "demo", folder=house.folder, database=house.database, name="by-command",
        languages="hi,ar", criteria="task_quality", generators="a", raters=2, one_more=True,
        people=2, test_questions="50%+50%", qualify=1, most=9, pay=0.12, budget=30, group="crowd",
        code="DONE-1", screen_out="OUT-1", consent=tmp_path / "consent.txt",
    )  # fmt: skip
    ledger = house.ledger()
    one, other = (study_of(ledger, name) for name in ("in-browser", "by-command"))
    assert asdict(replace(one, id="", made=0)) == asdict(replace(other, id="", made=0))
    task, form = tables.tasks, tables.forms
    rows = [
        (
            ledger.reads(
                lambda c, name=name: c.execute(
                    select(task.c.task, task.c.language, task.c.kind, task.c.place, task.c.wanted)
                    .where(task.c.study == name)
                    .order_by(task.c.place)
                ).all()
            ),
            ledger.reads(
                lambda c, name=name: c.scalars(
                    select(form.c.content).where(form.c.study == name).order_by(form.c.language)
                ).all()
            ),
        )
        for name in ("in-browser", "by-command")
    ]
    assert rows[0] == rows[1]
    people = [[each.languages for each in people_of(ledger, name.id)] for name in (one, other)]
    assert people[0] == people[1] == [("ar",), ("ar",), ("hi",), ("hi",)]
    ledger.close()


def test_a_template_can_be_chosen(house: House) -> None:
    metal.read(DEMO).save(house.folder / "summaries")
    owner = house.owner()
    page = owner.get("/owner/new?dataset=summaries").text
    assert "<option>summarization</option>" in page
    refused = owner.post("/owner/studies", {"dataset": "summaries", "template": "nothing"})
    assert refused.status_code == 400
    assert tells(refused.text, "template", "nothing")


def test_notes_on_a_new_study_are_shown(house: House) -> None:
    metal.read(DEMO).save(house.folder / "summaries")
    plain = house.folder / "summaries" / "outputs.jsonl"
    plain.write_text(plain.read_text().replace('"language": "hi"', '"language": "fi"'))
    sources = house.folder / "summaries" / "sources.jsonl"
    sources.write_text(sources.read_text().replace('"language": "hi"', '"language": "fi"'))
    owner = house.owner()
    owner.get("/owner/new?dataset=summaries")
    made = owner.post("/owner/studies", {"dataset": "summaries", "languages": "fi"})
    assert made.status_code == 200, made.text
    assert tells(made.text, "Finnish", "English")


def test_a_plan_of_adjudication_becomes_a_study(house: House, tmp_path: Any) -> None:
    plan_in(house, tmp_path)
    owner = house.owner()
    assert "<option>plan</option>" in owner.get("/owner").text
    page = owner.get("/owner/new?dataset=plan").text
    assert 'name="languages"' not in page
    owner.post("/owner/studies", {"dataset": "plan"})
    links = owner.links()
    assert len(links) == 2
    person = house.person(links[0].removeprefix(str(owner.client.base_url)))
    assert rate(person, "plan", 1)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("pay", "much"),
        ("pay", "-1"),
        ("budget", "nan"),
        ("budget", "1e400"),
        ("people", "101"),
        ("raters", "x"),
        ("languages", "fi"),
        ("criteria", "beauty"),
        ("generators", "nobody"),
        ("test_questions", "many"),
        ("name", "No Name"),
        ("consent", "x" * 20_001),
        ("dataset", "../demo"),
    ],
)
def test_a_choice_that_there_is_not_makes_no_study(house: House, field: str, value: str) -> None:
    owner = house.owner()
    owner.get("/owner/new?dataset=demo")
    refused = owner.post("/owner/studies", {"dataset": "demo", **CHOICES, field: value})
    assert refused.status_code == 400
    assert metal.study_ls(house.folder, database=house.database) == []
    assert owner.get("/owner/new?dataset=nothing").status_code == 400
    assert house.person("/owner/new?dataset=demo").page.status_code == 404  # type: ignore[union-attr]


def test_a_budget_without_a_price_is_refused(house: House) -> None:
    with pytest.raises(UsageError) as raised:
        house.study(budget=5)
    assert tells(str(raised.value), "`budget` is 5", "`pay`")
    owner = house.owner()
    owner.get("/owner/new?dataset=demo")
    refused = owner.post("/owner/studies", {"dataset": "demo", "budget": "5"})
    assert refused.status_code == 400
    assert tells(refused.text, "budget", "pay")


def test_a_consent_that_is_no_text_is_refused(house: House, tmp_path: Path) -> None:
    (tmp_path / "consent.txt").write_bytes(b"Agreed\xff?")
    with pytest.raises(DataError, match="not UTF-8"):
        house.study(consent=tmp_path / "consent.txt")
