"""What is kept about people: it is shown to them, they withdraw, and it is deleted, in their own
language and without script.
"""

from __future__ import annotations

import html

import pytest

from metal.building.forms.frame import load_frame, translation
from metal.data.dataset import load_dataset
from metal.data.files import bundled
from metal.serving.leaving import set_aside
from metal.serving.people import person_named
from metal.serving.studies import CLOSED, set_state, study_of
from tests.saying import tells
from tests.serving.test_web import House
from tests.serving.test_web import house as house
from tests.serving.web import Person, rate

SKIPPED = "upsetting"


def in_arabic(english: str) -> str:
    """A text of the form in Arabic, which differs from the English one."""
    arabic = translation(load_frame("ar", [bundled("prompts")]), english)
    assert arabic != english
    return arabic


def text_of(person: Person, path: str) -> str:
    """A page as it is read."""
    return html.unescape(person.get(path).text)


def test_all_that_is_kept_is_shown(house: House) -> None:
    house.study("ar", people=0)
    owner = house.owner()
    owner.get("/owner/study/demo")
    owner.post("/owner/study/demo/open-link")
    (link,) = owner.links()
    person = house.person()
    came = {"PROLIFIC_PID": "5f2a", "STUDY_ID": "s1", "SESSION_ID": "e9"}
    person.get(link, params=came)
    person.post(link, {"language": "ar"})
    rate(person, "demo", 2, "my own words")
    person.get("/study/demo/plain")
    person.post("/study/demo/skip", {"reason": SKIPPED})
    page = text_of(person, "/study/demo/mine")
    assert page.count("my own words") == 2
    kept = ("prolific:5f2a", "prolific", "s1", "e9", "العربية", "task_quality: 0")
    assert [each for each in kept if f">{each}" not in page] == []
    assert f"{in_arabic('Tasks left to others')}</dt><dd>1</dd>" in page
    assert in_arabic("In the study since") in page


def test_who_withdraws_is_told_what_stays_and_it_is_so(house: House) -> None:
    (link,) = house.study("ar", people=1)
    person = house.person(link)
    rate(person, "demo", 3)
    house.bring_in()
    assert house.ratings_of("ar-1") > 0
    page = text_of(person, "/study/demo/mine")
    stays = ("These stay: your name in the study, so that nobody else gets it and you are not asked"
             " again; the record of your consent; figures that were computed before; and earlier"
             " versions of a ranking with your scores and comments, because a published version is"
             " never changed.")  # fmt: skip
    assert in_arabic(stays) in page
    after = person.post("/study/demo/withdraw", {"sure": "1"})
    gone = in_arabic("You have withdrawn. Your answers are being deleted.")
    assert gone in after.text
    house.bring_in()
    assert house.ratings_of("ar-1") == 0
    for path in ("/study/demo", "/study/demo/plain"):
        assert gone in person.get(path).text  # not that what they answered is kept
    assert text_of(person, "/study/demo/mine").count("<li>") == 0
    owner = house.owner()
    owner.get("/owner/study/demo")
    owner.post("/owner/study/demo/people", {"number": "1", "language": "ar"})
    assert "ar-2" in owner.page.text  # type: ignore[union-attr]
    assert load_dataset(house.folder / "demo").raters == {}


@pytest.mark.parametrize("end", ["finished", "closed", "excluded"])
def test_who_rates_no_more_still_finds_their_answers_and_withdraws(house: House, end: str) -> None:
    (link,) = house.study("ar", people=1, most=2 if end == "finished" else 0)
    person = house.person(link)
    rate(person, "demo", 2)
    house.bring_in()
    ledger = house.ledger()
    study = study_of(ledger, "demo")
    if end == "closed":
        set_state(ledger, "demo", CLOSED)
    elif end == "excluded":
        rater = person_named(ledger, "demo", "ar-1")
        assert rater
        set_aside(ledger, study, rater)
    ledger.close()
    assert 'href="/study/demo/mine"' in person.get("/study/demo").text
    assert text_of(person, "/study/demo/mine").count("<li>") == 2
    person.post("/study/demo/withdraw", {"sure": "1"})
    house.bring_in()
    assert house.ratings_of("ar-1") == 0
    assert text_of(person, "/study/demo/mine").count("<li>") == 0


def test_an_english_page_says_what_withdrawal_does(house: House) -> None:
    (link,) = house.study("en", people=1)
    person = house.person(link)
    page = text_of(person, "/study/demo/mine")
    assert tells(page, "If you withdraw", "deleted", "study", "dataset")
    assert tells(page, "These stay", "name", "consent", "earlier versions")
