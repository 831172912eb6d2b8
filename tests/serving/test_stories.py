"""Whole stories: from a dataset to a verdict, and a careless person among others."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import metal
from metal.serving.keeping import keep
from metal.serving.leaving import let_go
from metal.serving.ledger import ServingLedger
from metal.serving.studies import Forms, progress, study_of
from tests import DEMO
from tests.serving.web import Person, folder_with_demo, rate

HONEST, CARELESS = "honest", "careless"


class Study:
    """A served folder with a study, and what its worker does."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.served = metal.serve(folder)
        self.ledger = ServingLedger(folder)
        self.people: list[Person] = []

    def person(self, path: str) -> Person:
        person = Person(self.served.address)
        self.people.append(person)
        person.get(path)
        return person

    def bring_in(self, study: str) -> None:
        while keep(
            self.ledger, Forms(self.ledger), self.folder, study_of(self.ledger, study)
        ).number:
            pass

    def close(self) -> None:
        for person in self.people:
            person.client.close()
        self.ledger.close()
        self.served.stop()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "served").mkdir()
    return tmp_path / "served"


@pytest.fixture
def begin(folder: Path) -> Iterator[Any]:
    begun = []

    def beginning() -> Study:
        begun.append(Study(folder))
        return begun[0]

    yield beginning
    for study in begun:
        study.close()


@pytest.mark.slow
def test_three_people_in_two_languages_end_in_verdicts(folder: Path, begin: Any) -> None:
    """Three commands: metal study new, metal serve, metal audit."""
    shutil.copytree(DEMO, folder / "demo")
    _, links = metal.study_new(folder / "demo", folder=folder, languages="hi,ar", people=3)
    study = begin()
    for _, link in links:
        rate(study.person(link), "demo")
    study.bring_in("demo")
    judged = folder / "judged"
    metal.judge(folder / "demo", "fake:blind", prompt="simple", languages="hi,ar", out=judged)
    audit = metal.audit(folder / "demo", judged, languages="hi,ar", resamples=100)
    new = {name for name, _ in links}
    assert new <= set(audit.raters)
    verdicts = audit.tables["verdicts"]
    assert {"hi", "ar"} <= set(verdicts["language"].astype(str))
    dataset = metal.read(folder / "demo")
    wanted = sum(each.language in ("hi", "ar") for each in dataset.outputs.values())
    by_them = dataset.ratings[dataset.ratings["rater"].astype(str).isin(new)]
    assert len(by_them) == 3 * wanted * len(dataset.criteria)
    assert by_them["score"].notna().all()


def honest(data: dict[str, Any], task: dict[str, Any]) -> int:
    """Which level an attentive person gives: the best if the text tells of its source's day."""
    number = re.compile(r"\d+")
    of_source, of_text = number.search(task["source"]), number.search(task["output"])
    assert of_source
    assert of_text
    return int(of_source[0] == of_text[0])


def answer_all(person: Person, study: str, how: str) -> int:
    """Answer all tasks; return how many there were."""
    answered = 0
    while 'id="data"' in person.get(f"/study/{study}").text:
        data = person.data()
        done = {each["task"] for each in data["served"]["given"] if any(each["scores"].values())}
        answers = []
        for task in data["tasks"]:
            if task["task"] in done:
                continue
            good = honest(data, task) if how == HONEST else 1
            scores = {}
            for asked in data["criteria"]:
                best = asked["name"] != "hallucinations"  # of which fewer are better
                scores[asked["name"]] = asked["values"][-1 if bool(good) is best else 0]
            answers.append({"task": task["task"], "scores": scores, "comment": "", "seconds": 2})
        assert person.send(answers, data["served"]["csrf"], study).status_code == 200
        answered += len(answers)
    return answered


def test_a_careless_person_is_found_and_leaves_while_the_study_runs(
    folder: Path, begin: Any
) -> None:
    folder_with_demo(folder)
    _, links = metal.study_new(
        folder / "demo", folder=folder, languages="hi", people=4, raters=3,
        test_questions="50%+50%",
    )  # fmt: skip
    study = begin()
    ways = [CARELESS, HONEST, HONEST, HONEST]
    for (_, link), how in zip(links, ways, strict=True):
        answer_all(study.person(link), "demo", how)
    study.bring_in("demo")
    figures = study_of(study.ledger, "demo").figures
    careless = links[0][0]
    assert set(figures["noisy"]) == {careless}

    owner = study.person(study.served.owner.removeprefix(study.served.address))
    page = owner.get("/owner/study/demo").text
    assert figures["noisy"][careless][0] in page
    owner.post("/owner/study/demo/exclude", {"person": careless})
    let_go(study.ledger, folder, study_of(study.ledger, "demo"))
    (before,) = progress(study.ledger, "demo")
    assert before["answered"] == before["wanted"] - 12  # what the careless person had

    owner.get("/owner/study/demo")
    owner.post("/owner/study/demo/open-link")
    newcomer = study.person(owner.links()[0].removeprefix(study.served.address))
    newcomer.post(str(newcomer.page.url.path), {"language": "hi"})
    assert answer_all(newcomer, "demo", HONEST) >= 12
    study.bring_in("demo")
    (after,) = progress(study.ledger, "demo")
    assert after["answered"] == after["wanted"]
    ratings = metal.read(folder / "demo").ratings
    assert careless not in set(ratings["rater"].astype(str))
    per_output = ratings[ratings["criterion"] == "task_quality"].groupby("output", observed=True)
    assert set(per_output.size()) == {3}
