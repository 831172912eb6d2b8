"""The qualification round, and who gets a completion code: people can neither pass it by leaving
tasks out, nor be paid for no work.
"""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select

import metal
from metal.errors import UsageError
from metal.serving import tables
from metal.serving.studies import Forms
from tests.saying import tells
from tests.serving.test_web import House
from tests.serving.test_web import house as house
from tests.serving.web import Person, answer_of, rate

CODE, OUT = "DONE-42", "SCREENED-7"
TRIAL: dict[str, Any] = {"test_questions": "50%+50%", "qualify": 3, "code": CODE}
NOTHING, PAUSED, SPENT = "nothing left to rate", "study is paused", "no budget for more answers"


def answer_rightly(house: House, data: dict[str, Any], task: str, *, right: bool) -> dict[str, Any]:
    """An answer to a test question that is right or wrong on each criterion that can tell."""
    ledger = house.ledger()
    kind = select(tables.tasks.c.kind).where(tables.tasks.c.task == task)
    side = str(ledger.reads(lambda connection: connection.scalar(kind)))
    form = Forms(ledger).form("demo", "en")
    answer = answer_of(data, task)
    for asked in data["criteria"]:
        for value in asked["values"]:
            if form.rightness(side, {asked["name"]: value}) == {asked["name"]: right}:
                answer["scores"][asked["name"]] = value
    ledger.close()
    return answer


def trial(house: House, person: Person, rights: list[bool | None]) -> str:
    """Answer the trial tasks rightly or wrongly, or leave them out (None); return the page."""
    data = person.data()
    assert data["served"]["trial"] == len(data["tasks"]) == len(rights)
    page = ""
    for task, right in zip([each["task"] for each in data["tasks"]], rights, strict=True):
        if right is None:
            page = leave_out(person, data, task)
        else:
            answer = answer_rightly(house, data, task, right=right)
            assert person.send([answer], data["served"]["csrf"], "demo").status_code == 200
    return page if rights[-1] is None else person.get("/study/demo").text


def leave_out(person: Person, data: dict[str, Any], task: str) -> str:
    """Leave a task to others; return the page that comes then."""
    fields = {"csrf": data["served"]["csrf"], "task": task, "reason": "other"}
    page = person.client.post("/study/demo/skip", data=fields)
    assert page.status_code == 200
    return page.text


def test_who_answers_rightly_passes_and_sees_what_was_right(house: House) -> None:
    (link,) = house.study("en", **TRIAL)
    person = house.person(link)
    page = trial(house, person, [True, True, True])
    assert tells(page, "You can rate now")
    assert "– right" in page
    assert "not right" not in page
    assert CODE not in page
    assert person.get("/study/demo").text.count('id="data"') == 1
    assert person.data()["served"]["trial"] == 0
    rate(person, "demo")
    assert tells(person.get("/study/demo").text, NOTHING)
    assert CODE in person.get("/study/demo").text


def test_who_answers_wrongly_fails_and_sees_what_was_not_right(house: House) -> None:
    (link,) = house.study("en", **TRIAL, screen_out=OUT)
    person = house.person(link)
    page = trial(house, person, [True, False, False])
    assert tells(page, "needs other raters")
    assert "not right" in page
    for text in (page, person.get("/study/demo").text, person.get("/study/demo/plain").text):
        assert OUT in text
        assert CODE not in text
        assert 'id="data"' not in text


@pytest.mark.parametrize("rights", [[None] * 3, [None, None, True], [True, True, None]])
def test_a_task_that_is_left_out_is_not_right(house: House, rights: list[bool | None]) -> None:
    (link,) = house.study("en", **TRIAL)
    person = house.person(link)
    page = trial(house, person, rights)
    assert tells(page, "needs other raters")
    assert page.count("not right") >= rights.count(None)
    assert CODE not in page
    assert CODE not in person.get("/study/demo").text


def test_a_trial_is_decided_only_when_it_is_whole(house: House) -> None:
    (link,) = house.study("en", **TRIAL)
    person = house.person(link)
    data = person.data()
    first, *rest = [each["task"] for each in data["tasks"]]
    answer = answer_rightly(house, data, first, right=True)
    person.send([answer], data["served"]["csrf"], "demo")
    ledger = house.ledger()
    others = tables.handed.c.task.in_(
        select(tables.tasks.c.id).where(tables.tasks.c.task.in_(rest))
    )
    change = tables.handed.update().where(others).values(state="lapsed")
    ledger.writes(lambda connection: connection.execute(change))
    ledger.close()
    owner = state(house, "paused")
    page = person.get("/study/demo").text
    assert tells(page, PAUSED)
    assert CODE not in page
    state(house, "open", owner)
    person.get("/study/demo")
    assert person.data()["served"]["trial"] == 3


def state(house: House, wanted: str, owner: Person | None = None) -> Person:
    owner = owner or house.owner()
    owner.get("/owner/study/demo")
    owner.post("/owner/study/demo/state", {"state": wanted})
    return owner


def test_people_who_are_screened_out_go_back_to_their_platform(house: House) -> None:
    address = "https://platform.example/back?cc=OUT"
    (link,) = house.study("en", **TRIAL, screen_out=address)
    assert f'href="{address}"' in trial(house, house.person(link), [False, False, False])


def test_a_qualification_with_too_few_test_questions_is_refused(house: House) -> None:
    with pytest.raises(UsageError) as error:
        house.study("hi,ar", test_questions="10%+10%", qualify=5)
    assert tells(str(error.value), "qualify", "in hi", "in ar", "test_questions")
    assert metal.study_ls(house.folder, database=house.database) == []


# ---------------------------------------------------------------- completion codes


def test_who_rated_nothing_gets_no_code(house: House) -> None:
    (link,) = house.study("en", code=CODE)
    person = house.person(link)
    while 'id="data"' in person.get("/study/demo").text:
        data = person.data()
        for task in data["tasks"]:
            leave_out(person, data, task["task"])
    assert person.page
    assert tells(person.page.text, NOTHING)
    assert CODE not in person.page.text


def test_who_leaves_most_outputs_to_others_gets_no_code_and_is_seen(house: House) -> None:
    (link,) = house.study("en", code=CODE)
    person = house.person(link)
    rate(person, "demo", 5)
    for _ in range(2):  # batches
        if 'id="data"' in person.get("/study/demo").text:
            data = person.data()
            for task in data["served"]["given"]:
                if not task["scores"]:
                    leave_out(person, data, task["task"])
    page = person.get("/study/demo").text
    assert tells(page, NOTHING)
    assert CODE not in page
    owner = house.owner()
    assert tells(owner.get("/owner/study/demo").text, "7 left to others")


def test_a_paused_study_says_so_and_gives_no_code(house: House) -> None:
    early, late = house.study("en", people=2, code=CODE)
    worker = house.person(early)
    rate(worker, "demo", 10)
    owner = state(house, "paused")
    for page in (house.person(late).page, worker.get("/study/demo")):
        assert page
        assert tells(page.text, PAUSED)
        assert CODE not in page.text
    assert tells(worker.get("/study/demo").text, "code appears here")
    state(house, "closed", owner)
    assert CODE in worker.get("/study/demo").text  # their work is done
    assert CODE not in house.person(late).page.text  # type: ignore[union-attr]


def test_a_spent_budget_says_so_and_gives_no_code(house: House) -> None:
    first, second = house.study("en", people=2, raters=2, code=CODE, pay=0.5, budget=5)
    worker = house.person(first)
    assert len(rate(worker, "demo")) == 10
    for page in (worker.page, house.person(second).page):
        assert page
        assert tells(page.text, SPENT)
        assert CODE not in page.text


def test_tasks_that_others_hold_are_no_finished_work(house: House) -> None:
    links = house.study("en", people=2, raters=1, code=CODE)
    worker, other = house.person(links[0]), house.person(links[1])
    rate(other, "demo", 1)  # holds what is left besides
    rate(worker, "demo")
    assert worker.page
    assert tells(worker.page.text, "Other people are rating")
    assert CODE not in worker.page.text
    rate(other, "demo")
    assert CODE in worker.get("/study/demo").text
    assert CODE in other.get("/study/demo").text
