"""What acknowledged answers do after a ledger or a dataset was restored from a copy."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest
from sqlalchemy import update

import metal
from metal.building.store import read_reserved
from metal.data.dataset import load_dataset
from metal.genie.store import read_answers, read_questions
from metal.serving import keeping, tables
from metal.serving.marks import FILE, read_marks
from metal.serving.people import people_of
from tests.saying import tells
from tests.serving.test_web import House, plan_in
from tests.serving.test_web import house as house
from tests.serving.web import Person, rate


@pytest.fixture
def rated(house: House) -> House:
    """A study in which two people rated all outputs; copies of its folder are beside it."""
    shutil.copytree(house.folder / "demo", house.folder.parent / "before-study")
    links = house.study(people=3, raters=2)
    for link in links[:2]:
        rate(house.person(link), "demo")
    house.bring_in()
    assert ratings(house) == (24, 24)
    return house


def ratings(house: House) -> tuple[int, int]:
    return house.ratings_of("hi-1"), house.ratings_of("hi-2")


def put_back(house: House, copy: str) -> None:
    shutil.rmtree(house.folder / "demo")
    shutil.copytree(house.folder.parent / copy, house.folder / "demo")


def page_of(house: House) -> str:
    return house.owner().get("/owner/study/demo").text


def restart(house: House, ledger: Path) -> None:
    """Restore a ledger while the server stands still."""
    house.close()
    house.served, house.visitors = None, []
    metal.serve_restore(ledger, folder=house.folder)


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_restored_ledger_brings_in_again_what_the_dataset_lost_since(rated: House) -> None:
    copy = metal.serve_backup(rated.folder.parent / "ledger.db", folder=rated.folder)
    rated.exclude("demo", "hi-1")
    rated.bring_in()
    assert ratings(rated) == (0, 24)
    restart(rated, copy)  # in this ledger nobody was excluded
    rated.bring_in()
    assert ratings(rated) == (24, 24)
    assert tells(page_of(rated), "did not match", "24 answers", "again")
    digest = load_dataset(rated.folder / "demo").digest
    rated.bring_in()
    assert load_dataset(rated.folder / "demo").digest == digest


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_who_withdrew_stays_away_after_an_older_ledger_was_restored(rated: House) -> None:
    copy = metal.serve_backup(rated.folder.parent / "ledger.db", folder=rated.folder)
    leaving = rated.person()
    leaving.get(rated.new_link("hi-1"))
    leaving.get("/study/demo/mine")
    leaving.post("/study/demo/withdraw", {"sure": "1"})
    rated.bring_in()
    assert b"hi-1" not in (rated.folder / "demo" / FILE).read_bytes()
    restart(rated, copy)
    rated.bring_in()
    assert ratings(rated) == (0, 24)
    ledger = rated.ledger()
    assert [each.state for each in people_of(ledger, "demo")][:2] == ["withdrawn", "active"]
    ledger.close()


def test_an_older_copy_of_the_dataset_gets_its_answers_again(rated: House) -> None:
    shutil.copytree(rated.folder / "demo", rated.folder.parent / "two-people")
    rated.exclude("demo", "hi-1")
    rated.bring_in()
    put_back(rated, "two-people")
    assert ratings(rated) == (24, 24)
    rated.bring_in()
    assert ratings(rated) == (0, 24)  # who was excluded since leaves again
    assert tells(page_of(rated), "did not match", "12 answers")


def test_a_copy_from_before_the_study_gets_tasks_names_and_answers(rated: House) -> None:
    lost = load_dataset(rated.folder / "demo")
    put_back(rated, "before-study")
    rated.bring_in()
    data = load_dataset(rated.folder / "demo")
    assert data.ratings.equals(lost.ratings)
    assert data.raters == lost.raters
    assert read_reserved(rated.folder / "demo") == [range(1, 1001)]


def test_who_withdrew_is_taken_out_of_an_older_copy_of_the_dataset(rated: House) -> None:
    shutil.copytree(rated.folder / "demo", rated.folder.parent / "two-people")
    leaving = rated.person()
    leaving.get(rated.new_link("hi-1"))
    leaving.get("/study/demo/mine")
    leaving.post("/study/demo/withdraw", {"sure": "1"})
    rated.bring_in()
    put_back(rated, "two-people")
    rated.bring_in()
    assert ratings(rated) == (0, 24)


def test_a_dataset_that_is_gone_is_missed_also_without_new_answers(rated: House) -> None:
    shutil.rmtree(rated.folder / "demo")
    rated.bring_in()
    assert tells(page_of(rated), "demo", "not in the dataset", "because")


def test_ratings_of_somebody_else_of_the_same_name_are_not_replaced(rated: House) -> None:
    # a ledger in which another person has the name, as after a copy was restored
    ledger = rated.ledger()
    person = tables.people
    ledger.writes(lambda c: c.execute(update(person).where(person.c.name == "hi-1").values(made=1)))
    every = update(tables.answers).values(comment="SECOND", version=tables.answers.c.version + 1)
    ledger.writes(lambda c: c.execute(every))
    ledger.close()
    rated.bring_in()
    facts = load_dataset(rated.folder / "demo").ratings
    assert set(facts[facts["rater"].astype(str) == "hi-1"]["comment"]) == {""}
    assert set(facts[facts["rater"].astype(str) == "hi-2"]["comment"]) == {"SECOND"}
    assert tells(page_of(rated), "12 answers", "not in the dataset", "somebody else", "hi-1")


@pytest.mark.parametrize("content", ["[", "[]", "{}", '{"studies": {"a": 1}}'])
def test_marks_that_are_none_are_said(rated: House, content: str) -> None:
    (rated.folder / "demo" / FILE).write_text(content)
    rated.bring_in()
    assert tells(page_of(rated), "because", "served.json")


def test_marks_hold_no_more_than_they_need(rated: House) -> None:
    marks = read_marks(rated.folder / "demo")
    assert set(marks.people) == {"hi-1", "hi-2"}
    assert json.loads((rated.folder / "demo" / FILE).read_text())["withdrawn"] == {}


# ---------------------------------------------------------------- plans of adjudication


class Deciding:
    """A plan that anna has decided wholly and ben in part. before: a copy of it as it was made."""

    def __init__(self, house: House, beside: Path) -> None:
        plan_in(house, beside)
        self.house, self.plan, self.before = house, house.folder / "plan", beside / "before"
        shutil.copytree(self.plan, self.before)
        _, links = metal.study_new(self.plan, folder=house.folder, database=house.database)
        self.links = dict(links)
        self.decide("anna")
        self.decide("ben", 2)
        assert self.decided == {"anna": self.tasks, "ben": 2}

    def person(self, name: str) -> Person:
        return self.house.person(self.links[name])

    def decide(self, name: str, most: int = 10**6) -> None:
        rate(self.person(name), "plan", most)
        self.house.bring_in()

    def leave(self, name: str) -> None:
        person = self.person(name)
        person.get("/study/plan/mine")
        person.post("/study/plan/withdraw", {"sure": "1"})
        self.house.bring_in()

    def put_back(self, copy: Path) -> None:
        shutil.rmtree(self.plan)
        shutil.copytree(copy, self.plan)

    @property
    def tasks(self) -> int:
        """How many tasks each of them has."""
        (file, _) = self.plan.glob("*.study.json")
        return len(json.loads(file.read_bytes())["tasks"])

    @property
    def decided(self) -> dict[str, int]:
        """How many answers the folder has, by person."""
        files = [json.loads(each.read_bytes()) for each in self.plan.glob("*.answers.json")]
        return {each["rater"]: len(each["answers"]) for each in files}

    @property
    def reported(self) -> dict[str, int]:
        """How many answers the report has read, by person."""
        lines = (self.plan / "answers.jsonl").read_text().splitlines()
        return dict(Counter(json.loads(line)["adjudicator"] for line in lines))


@pytest.fixture
def deciding(house: House, tmp_path_factory: pytest.TempPathFactory) -> Deciding:
    return Deciding(house, tmp_path_factory.mktemp("beside"))


def test_an_older_copy_of_a_plan_gets_its_answers_again(deciding: Deciding) -> None:
    before = {each.name: each.read_bytes() for each in deciding.plan.glob("*.answers.json")}
    deciding.put_back(deciding.before)
    assert deciding.decided == {}
    deciding.house.bring_in()
    after = {each.name: each.read_bytes() for each in deciding.plan.glob("*.answers.json")}
    assert after == before
    page = deciding.house.owner().get("/owner/study/plan").text
    assert tells(page, "did not match", f"{deciding.tasks + 2} answers")
    files = [*map(str, deciding.plan.glob("*.answers.json"))]
    report = metal.adjudicate_report(deciding.plan, *files)
    (row,) = report.tables["adjudicators"].itertuples()
    assert (row.first, row.second, row.both) == ("anna", "ben", 2)


def who_left(deciding: Deciding, how: str) -> None:
    """Let anna leave the study."""
    if how == "withdraws":
        deciding.leave("anna")
    else:
        deciding.house.exclude("plan", "anna")
        deciding.house.bring_in()


@pytest.mark.parametrize("how", ["withdraws", "is excluded"])
def test_who_left_is_taken_out_of_an_older_copy_of_a_plan(deciding: Deciding, how: str) -> None:
    metal.adjudicate_report(deciding.plan, *deciding.plan.glob("*.answers.json"))
    with_both = deciding.before.with_name("with-both")
    shutil.copytree(deciding.plan, with_both)
    who_left(deciding, how)
    assert deciding.decided == deciding.reported == {"ben": 2}
    deciding.put_back(with_both)
    assert deciding.reported == {"anna": deciding.tasks, "ben": 2}
    deciding.house.bring_in()
    assert deciding.decided == deciding.reported == {"ben": 2}
    if how == "is excluded":
        owner = deciding.house.owner()
        owner.get("/owner/study/plan")
        owner.post("/owner/study/plan/readmit", {"person": "anna"})
        deciding.house.bring_in()
        assert deciding.decided == {"anna": deciding.tasks, "ben": 2}


def restored_ledger(deciding: Deciding, since: Callable[[], None]) -> None:
    """Restore the ledger from a copy, after something has happened since."""
    house = deciding.house
    copy = metal.serve_backup(deciding.before.with_name("ledger.db"), folder=house.folder)
    since()
    restart(house, copy)
    house.bring_in()


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_an_older_ledger_takes_no_answers_out_of_a_plan(deciding: Deciding) -> None:
    restored_ledger(deciding, lambda: deciding.decide("ben", 3))
    assert deciding.decided == {"anna": deciding.tasks, "ben": 5}
    deciding.decide("ben")
    assert deciding.decided == {"anna": deciding.tasks, "ben": deciding.tasks}


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_who_withdrew_from_a_plan_stays_away(deciding: Deciding) -> None:
    restored_ledger(deciding, lambda: deciding.leave("anna"))
    assert deciding.decided == {"ben": 2}
    assert tells(deciding.person("anna").page.text, "withdrawn")  # type: ignore[union-attr]


def test_a_file_of_answers_that_is_broken_is_said(deciding: Deciding) -> None:
    (file,) = deciding.plan.glob("*-ben-*.answers.json")
    file.write_text("[")
    deciding.decide("ben", 1)
    page = deciding.house.owner().get("/owner/study/plan").text
    assert tells(page, "1 answer is", "not in the dataset", file.name)
    assert file.read_text() == "["
    file.unlink()
    deciding.house.bring_in()
    assert deciding.decided["ben"] == 3


def test_who_is_excluded_after_an_interrupted_import_leaves_too(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    (link,) = house.study()
    rate(house.person(link), "demo")
    with monkeypatch.context() as patched:
        patched.setattr(keeping, "leave_mark", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):  # the ratings are there, and nobody noted it
            house.bring_in()
    assert house.ratings_of("hi-1") == 24
    house.exclude("demo", "hi-1")
    house.bring_in()
    assert house.ratings_of("hi-1") == 0
    owner = house.owner()
    owner.get("/owner/study/demo")
    owner.post("/owner/study/demo/readmit", {"person": "hi-1"})
    house.bring_in()
    assert house.ratings_of("hi-1") == 24


def test_a_copy_from_before_the_study_gets_its_test_questions_again(house: House) -> None:
    dataset, before = house.folder / "demo", house.folder.parent / "before-study"
    shutil.copytree(dataset, before)
    (link,) = house.study(raters=2, test_questions="20%+20%")
    rate(house.person(link), "demo")
    house.bring_in()
    questions, answers = read_questions(dataset), read_answers(dataset)
    assert len(questions) == 4
    assert len(answers)
    put_back(house, "before-study")
    house.bring_in()
    assert read_questions(dataset) == questions
    assert read_answers(dataset).equals(answers)
