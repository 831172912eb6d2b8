"""Studies over HTTP: from a link to ratings in the dataset, and back out of it."""

from __future__ import annotations

import csv
import json
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import closing
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, select, text, update

import metal
from metal.building.store import read_given
from metal.data.dataset import load_dataset
from metal.genie.store import read_answers
from metal.serving import tables
from metal.serving import worker as workers
from metal.serving.ledger import ServingLedger
from metal.serving.server import Served, begin
from metal.serving.studies import all_studies, study_of
from metal.serving.worker import KeepingWorker
from tests import DEMO
from tests.saying import tells
from tests.serving.web import Person, answer_of, eventually, folder_with_demo, rate

CONSENT = "We keep your answers <b>as they are</b>.\nYou can withdraw."


class House:
    """A folder that is served, without a worker: `bring_in` does its work when the test says so."""

    def __init__(self, folder: Path, database: str) -> None:
        self.folder, self.database = folder_with_demo(folder), database
        self.served: Served | None = None
        self.visitors: list[Person] = []

    def study(self, languages: str = "hi", people: int = 1, **options: object) -> list[str]:
        """Make a study `demo`; return the paths of its people's links."""
        _, links = metal.study_new(
            self.folder / "demo",
            folder=self.folder,
            database=self.database,
            languages=languages,
            people=people,
            **options,  # type: ignore[arg-type]
        )
        return [path for _, path in links]

    def begin(self) -> Served:
        """Start the server."""
        self.served = begin(
            self.folder,
            host="127.0.0.1",
            port=0,
            database=self.database,
            root_path="",
            https=False,
            worker=False,
        )
        return self.served

    def person(self, path: str = "") -> Person:
        """Somebody who opens a path first."""
        person = Person((self.served or self.begin()).address)
        self.visitors.append(person)
        if path:
            person.get(path)
        return person

    def owner(self) -> Person:
        """The owner, who has come in."""
        served = self.served or self.begin()
        owner = self.person()
        owner.get(served.owner.removeprefix(served.address))
        return owner

    def ledger(self) -> ServingLedger:
        """The ledger, as another process sees it; the caller closes it."""
        return ServingLedger(self.folder, self.database)

    def bring_in(self) -> None:
        """Do what a worker does."""
        with closing(self.ledger()) as ledger:
            KeepingWorker(ledger, self.folder).look()

    def ratings_of(self, rater: str) -> int:
        """How many ratings of somebody the dataset has."""
        ratings = load_dataset(self.folder / "demo").ratings
        return int((ratings["rater"].astype(str) == rater).sum())

    def joined(self, study: str, key: str) -> Person:
        """Somebody from Prolific who has rated all of a study."""
        owner = self.owner()
        owner.get(f"/owner/study/{study}")
        owner.post(f"/owner/study/{study}/open-link")
        (link,) = owner.links()
        person = self.person()
        person.get(link, params={"PROLIFIC_PID": key})
        ledger = self.ledger()
        language = study_of(ledger, study).languages[0]
        ledger.close()
        person.post(link, {"language": language})
        assert rate(person, study)
        return person

    def new_link(self, rater: str) -> str:
        """A new link of somebody, from the owner."""
        owner = self.owner()
        owner.get("/owner/study/demo")
        owner.post("/owner/study/demo/link", {"person": rater})
        (link,) = owner.links()
        return link

    def exclude(self, study: str, rater: str) -> None:
        """Let the owner exclude somebody."""
        owner = self.owner()
        owner.get(f"/owner/study/{study}")
        owner.post(f"/owner/study/{study}/exclude", {"person": rater})

    def close(self) -> None:
        """End the server."""
        for person in self.visitors:
            person.client.close()
        if self.served:
            self.served.stop()


def plan_in(house: House, folder: Path) -> None:
    """A plan of adjudication in the served folder: anna and ben decide about English outputs.

    folder: for a judge's run.
    """
    news, judged = house.folder / "news", folder / "judged"
    metal.read(DEMO).save(news)
    metal.judge(news, "fake:blind", prompt="simple", languages="en", out=judged)
    metal.adjudicate_plan(
        news, judged, adjudicators="anna,ben", languages="en", criteria="task_quality", to="study",
        out=house.folder / "plan",
    )  # fmt: skip


@pytest.fixture
def house(tmp_path: Path, database: str) -> Iterator[House]:
    """A folder with the demo, and a server for it."""
    (tmp_path / "served").mkdir()
    house = House(tmp_path / "served", database)
    yield house
    house.close()


def test_from_a_link_to_ratings_in_the_dataset(house: House) -> None:
    (link,) = house.study()
    person = house.person(link)
    assert person.page
    assert person.page.url.path == "/study/demo"  # the secret is no longer shown
    answers = rate(person, "demo", 7, "because")
    assert house.ratings_of("hi-1") == 0
    house.bring_in()
    data = load_dataset(house.folder / "demo")
    rows = data.ratings[data.ratings["rater"].astype(str) == "hi-1"]
    assert len(rows) == sum(len(answer["scores"]) for answer in answers)
    assert set(rows["comment"]) == {"because"}
    assert data.raters["hi-1"].kind == "human"
    house.bring_in()  # nothing new
    assert load_dataset(house.folder / "demo").digest == data.digest


def test_the_same_answers_by_file_and_by_server_give_the_same_dataset(
    house: House, tmp_path: Path
) -> None:
    links = house.study(raters=1)
    filed = tmp_path / "filed" / "demo"
    shutil.copytree(house.folder / "demo", filed)  # with the key that names the tasks
    (filed / "annotation" / "reserved.jsonl").unlink()  # nobody rates that one on a server
    metal.annotate_export(filed, to="html", out=tmp_path / "forms", raters=1, languages="hi")
    person = house.person(links[0])
    answers = rate(person, "demo", 12, "as it is")
    house.bring_in()
    file = tmp_path / "hi-1.answers.json"
    content = {"metal": "answers", "version": 1, "dataset": "demo", "rater": "hi-1"}
    file.write_text(json.dumps({**content, "answers": answers}))
    metal.annotate_import(filed, [file])
    by_file, by_server = load_dataset(filed), load_dataset(house.folder / "demo")
    assert (by_file.digest, by_file.identity) == (by_server.digest, by_server.identity)
    assert by_file.raters == by_server.raters


def test_without_script_the_same_can_be_done(house: House) -> None:
    (link,) = house.study()
    person = house.person(link)
    for number in range(3):
        page = person.get("/study/demo/plain")
        assert page.status_code == 200
        assert "<script" not in page.text
        names = sorted(set(re.findall(r'name="(c\d+)"', page.text)))
        lacking = person.post("/study/demo/plain", {"comment": "kept <i>"})
        assert lacking.status_code == 400
        assert "kept &lt;i&gt;" in lacking.text
        done = person.post("/study/demo/plain", {**dict.fromkeys(names, "1"), "comment": ""})
        assert done.status_code == 200
        assert re.search(rf"<h1[^>]*>[^<]*{number + 2}[^<]*10", done.text)
    house.bring_in()
    assert house.ratings_of("hi-1") >= 3
    person.get("/study/demo/plain")
    left = person.post("/study/demo/skip", {"reason": "broken"})
    assert left.status_code == 200


def test_a_late_answer_without_script_is_not_lost(house: House) -> None:
    links = house.study(people=2, raters=1)
    slow, quick = house.person(links[0]), house.person(links[1])
    page = slow.get("/study/demo/plain")
    ledger = house.ledger()
    over = update(tables.handed).values(until=0.0)
    ledger.writes(lambda connection: connection.execute(over))
    quick.get("/study/demo")
    names = sorted(set(re.findall(r'name="(c\d+)"', page.text)))
    slow.post("/study/demo/plain", dict.fromkeys(names, "1"))
    answers = select(tables.answers.c.whole)
    assert ledger.reads(lambda connection: connection.scalars(answers).all()) == [True]
    ledger.close()


# ---------------------------------------------------------------- who comes


def test_consent_comes_first_and_its_version_is_kept_with_answers(
    house: House, tmp_path: Path
) -> None:
    (tmp_path / "consent.txt").write_text(CONSENT)
    (link,) = house.study(consent=tmp_path / "consent.txt")
    person = house.person(link)
    assert person.page
    assert "&lt;b&gt;as they are&lt;/b&gt;" in person.page.text
    version = person.hidden()["version"]
    csrf = person.hidden()["csrf"]
    refused = person.send([{"task": "t", "scores": {}}], csrf, "demo")
    assert refused.status_code == 400
    person.post("/study/demo/consent", {"version": "another"})
    assert person.get("/study/demo/plain").text.count("version") > 0  # still asked
    person.post("/study/demo/consent")
    rate(person, "demo", 1)
    ledger = house.ledger()
    kept = ledger.reads(lambda c: c.execute(select(tables.answers.c.consent)).scalars().all())
    assert kept == [version]
    ledger.close()
    (row,) = consents(house.owner())
    assert row["agreed"].startswith("20")
    expected = {"person": "hi-1", "version": version, "answers": "1", "text": CONSENT}
    assert row == {**row, **expected}
    assert person.get("/owner/study/demo/consents.csv").status_code == 404


def consents(owner: Person) -> list[dict[str, str]]:
    """The rows of the owner's list of consents."""
    text = owner.get("/owner/study/demo/consents.csv").text
    return list(csv.DictReader(StringIO(text, newline="")))


def test_a_changed_consent_is_asked_again(house: House, tmp_path: Path) -> None:
    (tmp_path / "consent.txt").write_text(CONSENT)
    (link,) = house.study(consent=tmp_path / "consent.txt")
    person, owner = house.person(link), house.owner()
    first = person.hidden()["version"]
    person.post("/study/demo/consent")
    rate(person, "demo", 2)
    owner.get("/owner/study/demo")
    owner.post("/owner/study/demo/consent", {"consent": CONSENT.replace("\n", "\r\n")})
    assert 'id="data"' in person.get("/study/demo").text  # a browser's line ends change nothing
    owner.get("/owner/study/demo")
    owner.post("/owner/study/demo/consent", {"consent": "=Another\ntext."})
    assert "=Another" in person.get("/study/demo").text
    person.post("/study/demo/consent", {"version": first})
    assert "=Another" in person.get("/study/demo").text  # what was agreed to is not this text
    person.post("/study/demo/consent")
    rate(person, "demo", 1)
    rows = {row["version"]: row for row in consents(owner)}
    assert (rows[first]["answers"], rows[first]["text"]) == ("2", CONSENT)
    (second,) = rows.keys() - {first}
    assert (rows[second]["answers"], rows[second]["text"]) == ("1", "'=Another\ntext.")
    assert rows[second]["agreed"].startswith("20")
    owner.get("/owner/study/demo")
    assert owner.post("/owner/study/demo/consent", {"consent": "x" * 20_001}).status_code == 400
    owner.get("/owner/study/demo")
    owner.post("/owner/study/demo/consent", {"consent": ""})
    assert len(consents(owner)) == 2


def test_people_join_by_the_open_link_and_come_back_with_their_code(house: House) -> None:
    house.study("hi,ar", people=0)
    owner = house.owner()
    owner.get("/owner/study/demo")
    (link,) = (owner.post("/owner/study/demo/open-link"), owner.links())[1]
    first = house.person()
    first.get(link)
    assert "language" in first.post(link).text.lower()  # none was chosen
    page = first.post(link, {"language": ["hi", "ar"]})
    name = re.findall(r'id="name">([^<]+)<', page.text)[0]
    code = re.findall(r'id="code">([^<]+)<', page.text)[0]
    assert name == "hi-1"
    rate(first, "demo", 2)
    other_device = house.person()
    assert other_device.get("/study/demo").status_code == 401
    for typed in (code, code.upper(), code.replace("-", ""), f" {code.replace('-', ' ')} "):
        assert "id=\"data\"" in other_device.post(
            "/study/demo/recover", {"name": name, "code": typed}
        ).text  # fmt: skip
    assert len([a for a in other_device.data()["served"]["given"] if a["scores"]]) == 2
    wrong = house.person().post("/study/demo/recover", {"name": name, "code": "aaaa-bbbb-cccc"})
    assert wrong.status_code == 400
    owner.get("/owner/study/demo")
    owner.post("/owner/study/demo/open-link")  # the link before stops working
    assert house.person().get(link).status_code == 404


def test_people_of_a_platform_are_known_by_it(house: House) -> None:
    house.study("hi", people=0, code="DONE-42")
    owner = house.owner()
    owner.get("/owner/study/demo")
    (link,) = (owner.post("/owner/study/demo/open-link"), owner.links())[1]
    came = {"PROLIFIC_PID": "5f2a", "STUDY_ID": "s1", "SESSION_ID": "x" * 500}
    person = house.person()
    person.get(link, params=came)
    assert 'id="code"' in person.post(link, {"language": "hi"}).text
    assert person.get(link, params=came).url.path == "/study/demo"
    rate(person, "demo", 2)
    house.bring_in()
    assert house.ratings_of("prolific:5f2a") > 0
    for bad in ("a,b", "../../x", "<script>", "\u202e", "x" * 101, "a b"):
        person = house.person()
        person.get(link, params={"PROLIFIC_PID": bad})
        assert person.post(link, {"language": "hi", "PROLIFIC_PID": bad}).status_code == 400


def test_the_completion_code_comes_at_the_end(house: House) -> None:
    (link,) = house.study(code="DONE-42", most=3)
    person = house.person(link)
    rate(person, "demo")
    assert person.page
    assert "DONE-42" in person.page.text


def test_a_link_opened_again_leaves_other_tabs_valid(house: House) -> None:
    (link,) = house.study()
    person = house.person(link)
    data = person.data()
    person.get(link)  # the same browser opens the message again
    task = data["tasks"][0]["task"]
    reply = person.send([answer_of(data, task)], data["served"]["csrf"], "demo")
    assert reply.status_code == 200


def test_another_person_in_the_same_browser_is_not_taken_for_the_first(house: House) -> None:
    links = house.study(people=2)
    person = house.person(links[0])
    data = person.data()
    person.get(links[1])
    task = data["tasks"][0]["task"]
    reply = person.send([answer_of(data, task)], data["served"]["csrf"], "demo")
    assert reply.status_code == 400
    assert person.data()["rater"] == "hi-2"


def test_what_one_device_answers_the_other_shows(house: House) -> None:
    (link,) = house.study()
    phone, desk = house.person(link), house.person(link)
    data = phone.data()
    first, second = (task["task"] for task in data["tasks"][:2])
    csrf = {"phone": data["served"]["csrf"], "desk": desk.data()["served"]["csrf"]}
    phone.send([answer_of(data, first, 0)], csrf["phone"], "demo")
    desk.send([answer_of(data, first, 2), answer_of(data, second, 1)], csrf["desk"], "demo")
    phone.get("/study/demo")
    shown = {each["task"]: set(each["scores"].values()) for each in phone.data()["served"]["given"]}
    assert (shown[first], shown[second]) == ({"2", "0"}, {"1"})
    house.bring_in()
    data_set = load_dataset(house.folder / "demo")
    rows = data_set.ratings[data_set.ratings["rater"].astype(str) == "hi-1"]
    assert sorted(rows["score"]) == [0, 1, 1, 2]


# ---------------------------------------------------------------- who leaves


def test_who_withdraws_leaves_nothing_behind(house: House) -> None:
    links = house.study(people=2)
    leaving, staying = house.person(links[0]), house.person(links[1])
    rate(leaving, "demo", 4, "SECRET-WORDS")
    rate(staying, "demo", 4)
    house.bring_in()
    before = load_dataset(house.folder / "demo")
    assert house.ratings_of("hi-1") > 0
    page = leaving.get("/study/demo/mine")
    assert page.text.count("SECRET-WORDS") == 4
    leaving.post("/study/demo/withdraw")  # without the tick nothing happens
    house.bring_in()
    assert load_dataset(house.folder / "demo").digest == before.digest
    leaving.get("/study/demo/mine")
    assert leaving.post("/study/demo/withdraw", {"sure": "1"}).status_code == 200
    house.bring_in()
    assert (house.ratings_of("hi-1"), house.ratings_of("hi-2") > 0) == (0, True)
    holding = [
        path
        for path in (house.folder / "demo").rglob("*")
        if path.is_file()
        and (b"SECRET-WORDS" in path.read_bytes() or b'"hi-1"' in path.read_bytes())
    ]
    assert holding == []
    ledger = house.ledger()
    comments = ledger.reads(lambda c: c.execute(select(tables.answers.c.comment)).scalars().all())
    assert comments == [""] * 4
    ledger.close()
    assert leaving.get("/study/demo").status_code == 200
    assert 'id="data"' not in leaving.get("/study/demo").text
    assert load_dataset(house.folder / "demo").digest != before.digest


def test_the_owner_excludes_and_lets_back_in(house: House) -> None:
    links = house.study(people=2, raters=1)
    careless = house.person(links[0])
    rate(careless, "demo", 5)
    house.bring_in()
    owner = house.owner()
    owner.get("/owner/study/demo")
    owner.post("/owner/study/demo/exclude", {"person": "hi-1"})
    assert 'id="data"' not in careless.get("/study/demo").text
    house.bring_in()
    assert house.ratings_of("hi-1") == 0
    owner.get("/owner/study/demo")
    owner.post("/owner/study/demo/readmit", {"person": "hi-1"})
    house.bring_in()
    assert house.ratings_of("hi-1") > 0


def test_who_is_excluded_from_a_study_stays_in_the_others_of_the_dataset(house: House) -> None:
    for name in ("first", "second", "third"):
        house.study("ar" if name == "third" else "hi", people=0, name=name, raters=2)
    for name in ("first", "second", "third"):
        house.joined(name, "p1")
    other = house.joined("first", "p2")
    house.bring_in()
    names = ["prolific:p1", "prolific:p1#2", "prolific:p1#3"]  # in each study another
    assert list(map(house.ratings_of, names)) == [2 * 12] * 3
    house.exclude("first", names[0])
    house.bring_in()
    house.bring_in()
    assert list(map(house.ratings_of, names)) == [0, 2 * 12, 2 * 12]
    assert house.ratings_of("prolific:p2") == 2 * 12
    house.exclude("second", names[1])
    house.bring_in()
    assert list(map(house.ratings_of, names)) == [0, 0, 2 * 12]
    assert len(read_given(house.folder / "demo")[names[2]].asked) == 12
    house.exclude("third", names[2])
    house.bring_in()
    assert list(map(house.ratings_of, names)) == [0] * 3
    assert set(load_dataset(house.folder / "demo").raters) == {"prolific:p2"}
    other.get("/study/first/mine")
    other.post("/study/first/withdraw", {"sure": "1"})
    house.bring_in()
    assert load_dataset(house.folder / "demo").raters == {}
    for name in ("first", "third"):  # nobody is left in them
        assert "not in the dataset" not in house.owner().get(f"/owner/study/{name}").text


def test_who_withdraws_from_a_study_takes_its_test_answers_along(house: House) -> None:
    (link,) = house.study(test_questions="20%+20%")
    person = house.person(link)
    rate(person, "demo")
    house.bring_in()
    assert len(read_answers(house.folder / "demo")) > 0
    person.get("/study/demo/mine")
    person.post("/study/demo/withdraw", {"sure": "1"})
    house.bring_in()
    assert len(read_answers(house.folder / "demo")) == 0
    assert metal.read(house.folder / "demo").raters == {}


def test_a_closed_study_takes_no_answers(house: House) -> None:
    (link,) = house.study()
    person = house.person(link)
    data = person.data()
    owner = house.owner()
    owner.get("/owner/study/demo")
    owner.post("/owner/study/demo/state", {"state": "closed"})
    reply = person.send([answer_of(data, data["tasks"][0]["task"])], data["served"]["csrf"], "demo")
    assert reply.status_code == 401


# ---------------------------------------------------------------- the owner


@pytest.mark.parametrize("path", ["/", "/owner", "/owner/study/demo"])
def test_the_owners_pages_need_the_owner(house: House, path: str) -> None:
    (link,) = house.study()
    for visitor in (house.person(), house.person(link)):
        page = visitor.get(path)
        assert page.status_code == 404
        assert tells(page.text, "owner", "link")
        assert "hi-1" not in page.text
    assert house.owner().get(path).status_code == 200


def test_the_owner_makes_a_study_and_links_in_the_browser(house: House) -> None:
    owner = house.owner()
    owner.get("/owner/new?dataset=demo")
    made = owner.post("/owner/studies", {"dataset": "demo", "raters": "2", "consent": "Agreed?"})
    assert made.url.path == "/owner/study/demo", made.text
    people = owner.post("/owner/study/demo/people", {"number": "2", "language": "ar"})
    assert people.text.count("data:image/svg+xml") == 2
    links = owner.links()
    assert len(links) == 2
    person = house.person(links[0].removeprefix(house.served.address))  # type: ignore[union-attr]
    assert person.page
    assert 'dir="rtl"' in person.page.text
    owner.get("/owner/study/demo")
    again = owner.post("/owner/study/demo/link", {"person": "ar-1"})
    assert again.status_code == 200
    assert person.get("/study/demo").status_code == 401  # the lost link no longer counts
    for fields in ({"dataset": "../demo"}, {"dataset": "demo", "raters": "0"}, {"dataset": ""}):
        owner.get("/owner/new?dataset=demo")
        assert owner.post("/owner/studies", fields).status_code == 400


def test_a_new_token_of_the_owner_ends_those_before(house: House) -> None:
    owner = house.owner()
    path = metal.serve_token(house.folder, database=house.database)
    assert owner.get("/owner").status_code == 404
    assert house.person().get(path).status_code == 200


@pytest.mark.slow
def test_a_study_is_seen_as_it_goes(house: House) -> None:
    links = house.study(people=2, raters=2, test_questions="10%+10%")
    for link in links:
        rate(house.person(link), "demo", 20)
    house.bring_in()
    owner = house.owner()
    page = owner.get("/owner/study/demo").text
    assert tells(page, "Hindi", "How far people agree")
    (row,) = metal.study_ls(house.folder, database=house.database)
    assert 0 < row["answered"] <= 40


# ---------------------------------------------------------------- the worker


@pytest.mark.slow
def test_the_worker_brings_answers_in_and_is_started_again(tmp_path: Path) -> None:
    folder = folder_with_demo(tmp_path)
    _, links = metal.study_new(folder / "demo", folder=folder, languages="hi", people=1)
    served = metal.serve(folder, port=None)
    person = Person(served.address)
    person.get(links[0][1])
    rate(person, "demo", 3)
    house = House.__new__(House)
    house.folder = folder
    eventually(lambda: house.ratings_of("hi-1") > 0)
    first = served._workers[0].process
    first.kill()
    before = house.ratings_of("hi-1")
    rate(person, "demo", 3)
    eventually(lambda: house.ratings_of("hi-1") > before)
    assert served._workers[0].process.pid != first.pid
    person.client.close()
    served.stop()


def test_health_says_whether_the_database_answers(house: House) -> None:
    assert house.person().get("/healthz").text == "ok\n"


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_full_disk_is_said_and_the_answers_come_later(house: House) -> None:
    (link,) = house.study()
    person = house.person(link)
    data = person.data()
    assert house.served
    engine = house.served._desk.ledger.engine
    with engine.connect() as connection:
        pages = connection.execute(text("PRAGMA page_count")).scalar()

    def fill(connection: Any, *_: object) -> None:
        connection.execute(f"PRAGMA max_page_count={pages}")

    def empty(connection: Any, *_: object) -> None:
        connection.execute("PRAGMA max_page_count=1000000")

    event.listen(engine, "checkout", fill)
    answers = [answer_of(data, each["task"], comment="x" * 9000) for each in data["tasks"]]
    reply = person.send(answers, data["served"]["csrf"], "demo")
    assert reply.status_code == 507
    assert tells(reply.text, "disk", "full", "stays on the device")
    event.remove(engine, "checkout", fill)
    event.listen(engine, "checkout", empty)
    assert person.send(answers, data["served"]["csrf"], "demo").status_code == 200
    event.remove(engine, "checkout", empty)


def test_links_end(house: House) -> None:
    (link,) = house.study()
    ledger = house.ledger()
    late = update(tables.links).values(until=time.time() - 1)
    person = house.person(link)
    assert person.get("/study/demo").status_code == 200
    ledger.writes(lambda connection: connection.execute(late))
    assert person.get("/study/demo").status_code == 401
    assert house.person().get(link).status_code == 404
    assert [study.id for study in all_studies(ledger)] == ["demo"]
    ledger.close()


def test_who_withdrew_is_not_brought_back_by_the_owner(house: House) -> None:
    links = house.study(people=2, raters=1)
    leaving = house.person(links[0])
    rate(leaving, "demo", 2)
    owner = house.owner()
    leaving.get("/study/demo/mine")
    leaving.post("/study/demo/withdraw", {"sure": "1"})
    for what in ("exclude", "readmit"):
        owner.get("/owner/study/demo")
        owner.post(f"/owner/study/demo/{what}", {"person": "hi-1"})
    house.bring_in()
    assert 'id="data"' not in leaving.get("/study/demo").text
    assert house.ratings_of("hi-1") == 0


def handed_of(ledger: ServingLedger, task: str) -> int:
    """The key of the one person's row for a task."""
    wanted = select(tables.handed.c.id).join(tables.tasks).where(tables.tasks.c.task == task)
    return ledger.reads(lambda connection: connection.execute(wanted).scalar_one())


def dataset_state(folder: Path) -> dict[Path, int]:
    """When each file of the dataset was written."""
    files = (path for path in (folder / "demo").rglob("*") if path.is_file())
    return {path: path.stat().st_mtime_ns for path in files}


def test_an_answer_that_the_dataset_does_not_take_stops_no_other(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "REST", 0.0)
    (link,) = house.study()
    person = house.person(link)
    answers = rate(person, "demo", 5)
    ledger = house.ledger()
    worker = KeepingWorker(ledger, house.folder)
    spoiled, more = answers[2], {"scores": {"task_quality": "9", "hallucinations": "0"}}
    key = handed_of(ledger, spoiled["task"])
    spoil = update(tables.answers).where(tables.answers.c.handed == key)
    ledger.writes(lambda c: c.execute(spoil.values(**more)))
    worker.look()
    assert house.ratings_of("hi-1") == 2 * 4
    page = house.owner().get("/owner/study/demo").text
    assert tells(page, "1 answer", "not in the dataset", spoiled["task"], "scale of task_quality")
    assert study_of(ledger, "demo").figures["agreement"]  # those that came in are counted

    # The dataset is left alone until another answer comes; then all are tried again.
    changed = dataset_state(house.folder)
    worker.look()
    assert dataset_state(house.folder) == changed
    ledger.writes(lambda c: c.execute(spoil.values(scores=spoiled["scores"])))
    rate(person, "demo", 1)
    worker.look()
    assert house.ratings_of("hi-1") == 2 * 6
    assert "not in the dataset" not in house.owner().get("/owner/study/demo").text
    ledger.close()


def _garbage(dataset: Path) -> None:
    (dataset / "ratings.parquet").write_bytes(b"garbage" * 9)


def _no_folder(dataset: Path) -> None:
    shutil.rmtree(dataset / "annotation")
    (dataset / "annotation").write_text("x")


BREAKS = {
    "gone": lambda dataset: shutil.move(dataset, dataset.with_name("away")),
    "ratings": _garbage,
    "texts": lambda dataset: (dataset / "outputs.jsonl").write_bytes(b'\xff\xfe{"a'),
    "card": lambda dataset: (dataset / "dataset.toml").write_text("]["),
    "annotation": _no_folder,
}


@pytest.mark.parametrize("how", BREAKS)
def test_a_broken_dataset_stops_no_other_study_and_the_owner_sees_why(
    house: House, how: str
) -> None:
    shutil.copytree(house.folder / "demo", house.folder / "bad")
    links = house.study()
    _, bad = metal.study_new(
        house.folder / "bad", folder=house.folder, database=house.database, languages="hi", people=1
    )
    rate(house.person(links[0]), "demo", 2)
    rate(house.person(bad[0][1]), "bad", 3)
    BREAKS[how](house.folder / "bad")
    house.bring_in()
    assert house.ratings_of("hi-1") == 2 * 2
    owner = house.owner()
    page = owner.get("/owner/study/bad").text
    assert tells(page, "3 answers", "not in the dataset", "because", "bad")
    assert "Traceback" not in page
    assert "not in the dataset" not in owner.get("/owner/study/demo").text


def test_answers_come_in_and_the_trouble_ends_when_the_dataset_is_back(house: House) -> None:
    (link,) = house.study()
    rate(house.person(link), "demo", 3)
    dataset, away = house.folder / "demo", house.folder / "away"
    shutil.move(dataset, away)
    house.bring_in()
    shutil.move(away, dataset)
    house.bring_in()
    assert house.ratings_of("hi-1") == 2 * 3
    assert "not in the dataset" not in house.owner().get("/owner/study/demo").text


def test_the_owner_and_monitors_hear_of_a_worker_that_does_not_look(house: House) -> None:
    (link,) = house.study()
    rate(house.person(link), "demo", 2)
    owner = house.owner()
    assert house.served
    app = house.served._desk
    object.__setattr__(app, "attended", True)
    assert owner.get("/healthz/worker").status_code == 200
    object.__setattr__(app, "began", time.time() - 90)
    healthy, watched = owner.get("/healthz"), owner.get("/healthz/worker")
    assert (healthy.status_code, watched.status_code) == (200, 503)
    assert tells(healthy.text, "no worker", "seconds")
    assert tells(owner.get("/owner/study/demo").text, "No worker", "2 answers", "not in the data")
    house.bring_in()
    assert owner.get("/healthz/worker").text == "ok\n"
    assert "No worker" not in owner.get("/owner/study/demo").text


def test_answers_that_were_not_taken_come_in_after_the_dataset_was_mended(house: House) -> None:
    (link,) = house.study()
    answers = rate(house.person(link), "demo", 3)
    kept = house.folder / "demo" / "dataset.toml"
    before = kept.read_text()
    kept.write_text(before.replace("hallucinations", "invented"))
    house.bring_in()
    assert house.ratings_of("hi-1") == 0
    page = house.owner().get("/owner/study/demo").text
    assert tells(page, f"{len(answers)} answers", "not in the dataset", "hallucinations")
    kept.write_text(before)
    house.bring_in()  # a worker that has just begun tries all
    assert house.ratings_of("hi-1") == 2 * 3


def test_a_request_for_more_people_counts_once_however_often_it_is_sent(house: House) -> None:
    house.study()
    owner = house.owner()
    owner.get("/owner/study/demo")
    fields = {**owner.hidden(), "raters": "2", "language": "hi"}
    for _ in range(3):  # a double click, or a page that is loaded again
        owner.client.post("/owner/study/demo/more", data=fields)
    ledger = house.ledger()
    wanted = select(tables.tasks.c.wanted).where(tables.tasks.c.language == "hi").distinct()
    before = study_of(ledger, "demo").settings.raters
    assert ledger.reads(lambda c: c.scalars(wanted).all()) == [before + 2]
    owner.get("/owner/study/demo")
    owner.post("/owner/study/demo/more", {"raters": "1", "language": "hi"})
    assert ledger.reads(lambda c: c.scalars(wanted).all()) == [before + 3]
    ledger.close()


def test_the_owner_is_told_what_cannot_be_changed(house: House) -> None:
    house.study()
    owner = house.owner()
    owner.get("/owner/study/demo")
    refused = owner.post("/owner/study/demo/withdraw", {"person": "hi-1"})
    assert refused.status_code == 400
    assert tells(refused.text, "withdraw", "changed")


def test_the_owner_sees_which_language_has_too_few_people(house: House) -> None:
    house.study("hi,ar", people=2, raters=2)
    owner = house.owner()
    assert "cannot be finished" not in owner.get("/owner/study/demo").text
    house.exclude("demo", "hi-1")
    page = owner.get("/owner/study/demo").text
    assert tells(page, "Hindi cannot be finished", "needs 2", "1 can rate")
    assert "Arabic cannot be finished" not in page
    owner.post("/owner/study/demo/people", {"language": "hi", "number": "1"})
    assert "cannot be finished" not in owner.get("/owner/study/demo").text
