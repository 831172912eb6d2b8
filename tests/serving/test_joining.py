"""The open link: who comes by it is known by their browser or their code, never by an ID alone."""

from __future__ import annotations

import re

from metal.data.dataset import load_dataset
from tests.saying import tells
from tests.serving.test_web import House
from tests.serving.test_web import house as house
from tests.serving.web import Person, answer_of, rate

CAME = {"PROLIFIC_PID": "5f2a", "STUDY_ID": "s1"}


def open_link(house: House, owner: Person, study: str = "demo") -> str:
    owner.get(f"/owner/study/{study}")
    owner.post(f"/owner/study/{study}/open-link")
    (link,) = owner.links()
    return link


def note(text: str) -> dict[str, str]:
    """The name and the code that a newcomer is to keep."""
    return {key: re.findall(rf'id="{key}">([^<]+)<', text)[0] for key in ("name", "code")}


def test_an_id_in_an_address_lets_nobody_in_a_second_time(house: House) -> None:
    house.study("en", people=0)
    link = open_link(house, house.owner())
    person = house.person()
    person.get(link, params=CAME)
    kept = note(person.post(link, {"language": "en"}).text)
    assert kept["name"] == "prolific:5f2a"
    person.get("/study/demo")
    data = person.data()
    person.send(
        [answer_of(data, data["tasks"][0]["task"], comment="my own words")],
        data["served"]["csrf"], "demo",
    )  # fmt: skip
    stranger = house.person()
    stranger.get(link, params=CAME)
    page = stranger.post(link, {"language": "en"})
    assert page.status_code == 401
    assert tells(page.text, "this ID", "joined already")
    for path in ("", "/mine", "/plain"):
        page = stranger.get(f"/study/demo{path}")
        assert page.status_code == 401
        assert "my own words" not in page.text
    assert stranger.post("/study/demo/withdraw", {"sure": "1"}).status_code == 401
    assert stranger.post("/study/demo/recover", kept).status_code == 200  # it was them
    assert "my own words" in stranger.get("/study/demo/mine").text


def test_one_browser_is_one_person_however_often_it_joins(house: House) -> None:
    house.study("en,ar", people=0, raters=3)
    owner = house.owner()
    link = open_link(house, owner)
    person = house.person()
    person.get(link)
    person.post(link, {"language": "ar"})
    first = rate(person, "demo", 5)
    second = house.person()  # with the same cookies, and a form that was open already
    second.get(link)
    second.client.cookies = person.client.cookies
    assert second.post(link, {"language": "ar"}).url.path == "/study/demo"
    assert person.get(link).url.path == "/study/demo"
    rest = rate(person, "demo")
    assert not {each["task"] for each in first} & {each["task"] for each in rest}
    page = owner.get("/owner/study/demo").text
    assert "ar-1" in page
    assert "ar-2" not in page


def test_another_id_in_the_same_browser_is_another_person(house: House) -> None:
    house.study("en", people=0)
    link = open_link(house, house.owner())
    person = house.person()
    for name in ("5f2a", "77b0"):
        person.get(link, params={"PROLIFIC_PID": name})
        assert note(person.post(link, {"language": "en"}).text)["name"] == f"prolific:{name}"
    assert person.get(link, params={"PROLIFIC_PID": "77b0"}).url.path == "/study/demo"


def test_pages_before_joining_are_in_the_browsers_language(house: House) -> None:
    house.study("hi,ar", people=0)
    link = open_link(house, house.owner())
    accepted = {
        "ar-EG,en;q=0.8": "ar",
        "fr,en;q=0.9,hi;q=0.5": "hi",
        "hi;q=0.2, ar;q=0.9": "ar",
        "hi;q=0, fr": "en",
        "*": "en",
        ";q=x,,\u00ff": "en",
        "": "en",
    }
    for header, language in accepted.items():
        person = house.person()
        headers = {b"Accept-Language": header.encode("latin-1")}
        pages = [person.get(link, headers=headers), person.get("/study/demo", headers=headers)]
        pages.append(person.client.post(link, headers=headers))
        for page in pages:
            assert f'<html lang="{language}"' in page.text, (header, page.url)


def test_a_new_link_ends_the_recovery_code(house: House) -> None:
    house.study("en", people=0)
    owner = house.owner()
    link = open_link(house, owner)
    person = house.person()
    person.get(link)
    kept = note(person.post(link, {"language": "en"}).text)
    owner.get("/owner/study/demo")
    owner.post("/owner/study/demo/link", {"person": kept["name"]})
    (new,) = owner.links()
    assert person.get("/study/demo").status_code == 401
    assert house.person().post("/study/demo/recover", kept).status_code == 400
    assert house.person(new).page.status_code == 200  # type: ignore[union-attr]


# ---------------------------------------------------------------- what it costs


def test_the_owner_sees_what_is_spent_and_raises_the_budget(house: House) -> None:
    first, second = house.study("en", people=2, raters=2, pay=0.5, budget=2)
    owner = house.owner()
    assert tells(owner.get("/owner/study/demo").text, "0.00 for answers", "2.00 is left")
    person = house.person(first)
    data = person.data()
    person.send([answer_of(data, data["tasks"][0]["task"])], data["served"]["csrf"], "demo")
    page = owner.get("/owner/study/demo").text
    assert tells(page, "0.50 for answers", "1.50 held", "0.00 is left", "until you raise it")
    assert len(rate(person, "demo")) == 3
    other = house.person(second)
    assert tells(other.page.text, "no budget for more")  # type: ignore[union-attr]
    owner.get("/owner/study/demo")
    for refused in ("1", "-3", "many", "nan"):
        assert owner.client.post(
            "/owner/study/demo/budget", data={**owner.hidden(), "budget": refused}
        ).status_code == 400  # fmt: skip
    owner.post("/owner/study/demo/budget", {"budget": "4"})
    page = owner.get("/owner/study/demo").text
    assert tells(page, "2.00 for answers", "2.00 is left")
    assert len(rate(other, "demo")) == 4


def test_an_id_of_one_study_rates_under_another_name_in_the_next(house: House) -> None:
    """A stranger who knows somebody's ID must not replace their ratings by another study."""
    for name in ("first", "second"):
        house.study("en", people=0, name=name)
    house.joined("first", "5f_a")
    house.bring_in()
    before = load_dataset(house.folder / "demo").ratings
    stranger = house.joined("second", "5f_a")
    house.bring_in()
    after = load_dataset(house.folder / "demo").ratings
    theirs = after["rater"].astype(str) == "prolific:5f_a"
    assert after[theirs].astype(str).to_dict("records") == before.astype(str).to_dict("records")
    assert set(after["rater"].astype(str)) == {"prolific:5f_a", "prolific:5f_a#2"}
    assert len(after) == 2 * len(before)
    assert "prolific:5f_a#2" in stranger.get("/study/second/mine").text
    link = open_link(house, house.owner(), "second")
    again = house.person()  # another browser, the same ID
    again.get(link, params={"PROLIFIC_PID": "5f_a"})
    page = again.post(link, {"language": "en"})
    assert (page.status_code, tells(page.text, "with this ID has joined already")) == (401, True)
    again.get(link, params={"PROLIFIC_PID": "5fxa"})  # another ID, whatever stands for `_`
    assert "prolific:5fxa" in again.post(link, {"language": "en"}).text
