"""What the owner sees of agreement: that of the study's people, on a dataset that others rated."""

from __future__ import annotations

from typing import Any

from metal.data.dataset import dataset_to_change, load_dataset, update_dataset, with_parts
from metal.data.ratings import facts_from
from metal.data.records import Rater, Rating
from metal.serving.agreeing import NOBODY
from metal.serving.studies import study_of
from tests.saying import tells
from tests.serving.test_web import House
from tests.serving.test_web import house as house
from tests.serving.web import answer_of

LEVELS = (0, 0, 1, 1, 2, 2, 0, 1, 2, 0, 1, 2)  # of the study's people on the 12 outputs in order


def rated_before(house: House) -> None:
    """Let two people rate everything in the dataset before the study, never alike."""
    folder = house.folder / "demo"
    with dataset_to_change(folder) as data:
        facts = [
            Rating(output, "task_quality", rater, score)
            for number, output in enumerate(data.outputs)
            for rater, score in (("old-1", number % 2), ("old-2", 2))
        ]
        raters = [Rater(name, "human") for name in ("old-1", "old-2")]
        update_dataset(with_parts(data, raters=raters, facts=facts_from(facts)), folder, {})


def rate_all(house: House, link: str, shift: dict[int, int]) -> None:
    """Rate all outputs, by their order, with LEVELS. shift: for some of them, another level."""
    person = house.person(link)
    while 'id="data"' in person.get("/study/demo").text:
        data = person.data()
        lacking = [each for each in data["served"]["given"] if not any(each["scores"].values())]
        batch = []
        for each in lacking:
            number = sorted(outputs_of(house)).index(each["task"])
            batch.append(answer_of(data, each["task"], LEVELS[number] + shift.get(number, 0)))
        assert person.send(batch, data["served"]["csrf"], "demo").status_code == 200


def outputs_of(house: House) -> dict[str, str]:
    """Task -> output, of those in Hindi."""
    from metal.building.store import read_tasks

    tasks = read_tasks(house.folder / "demo")
    return {task: output for task, output in tasks.items() if "s-hi" in output}


def rows_of(house: House) -> dict[str, dict[str, Any]]:
    ledger = house.ledger()
    rows = study_of(ledger, "demo").figures["agreement"]
    ledger.close()
    return {row["criterion"]: row for row in rows if row["language"] == "hi"}


def test_agreement_is_that_of_the_studys_people(house: House) -> None:
    rated_before(house)
    links = house.study("hi,ar", people=2, raters=2)[2:]
    rate_all(house, links[0], {})
    rate_all(house, links[1], {0: 1, 2: 1, 4: 1})
    house.bring_in()
    assert len(load_dataset(house.folder / "demo").raters) == 4
    row = rows_of(house)["task_quality"]
    # Of 12 outputs, the two agree on 9. One gives each level 4 times; the other raises one 0 to 1,
    # one 1 to 2 and one 2 to 0, so that they do, too: 8 of 24 ratings are of each level.
    # Fleiss: (9/12 - 1/3) / (1 - 1/3) = 0.625
    assert row["percent_agreement"] == 0.75
    assert round(row["fleiss_kappa"], 6) == 0.625
    assert row["fleiss_kappa_low"] < 0.625 < row["fleiss_kappa_high"]
    assert (row["ratings"], row["items"]) == (24, 12)


def test_what_is_not_rated_and_what_is_undefined_is_said_with_its_reason(house: House) -> None:
    rated_before(house)
    links = house.study("hi,ar", people=2, raters=2)[2:]
    owner = house.owner()
    page = owner.get("/owner/study/demo").text
    assert page.count(NOBODY) == 4  # two languages by two criteria
    rate_all(house, links[0], {})
    house.bring_in()
    row = rows_of(house)["task_quality"]
    assert (row["ratings"], row["items"], row["fleiss_kappa"]) == (12, 0, None)
    assert tells(row["note"], "kappa", "no item")
    page = owner.get("/owner/study/demo").text
    assert page.count(NOBODY) == 2
    assert row["note"].partition(": ")[2] in page


def test_who_is_excluded_no_longer_counts(house: House) -> None:
    links = house.study("hi", people=2, raters=2)
    rate_all(house, links[0], {})
    rate_all(house, links[1], {0: 1})
    house.bring_in()
    assert rows_of(house)["task_quality"]["items"] == 12
    owner = house.owner()
    owner.get("/owner/study/demo")
    owner.post("/owner/study/demo/exclude", {"person": "hi-2"})
    house.bring_in()
    row = rows_of(house)["task_quality"]
    assert (row["ratings"], row["items"]) == (12, 0)
