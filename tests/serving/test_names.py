"""Names of people in studies and in forms: nobody is called like somebody else, and nobody has two
names.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import metal
from metal.building.store import read_given, read_reserved
from metal.errors import DataError, UsageError
from metal.serving import tables
from metal.serving.boards import BoardRules, open_served_board
from metal.serving.ledger import ServingLedger
from metal.serving.people import NUMBERS, new_person, people_of
from metal.serving.studies import Forms, change_settings, progress, study_of
from tests.saying import tells
from tests.serving.test_web import House, plan_in
from tests.serving.test_web import house as house
from tests.serving.web import rate


def exported(dataset: Path, out: Path, **options: object) -> set[str]:
    """The names of an export's people."""
    handed = metal.annotate_export(
        dataset, to="csv", out=out, languages="hi", raters=2, **options  # type: ignore[arg-type]
    )  # fmt: skip
    return {each.rater for each in handed.assignments}


def test_an_export_after_a_study_names_other_people(house: House, tmp_path: Path) -> None:
    links = house.study(people=2)
    dataset = house.folder / "demo"
    notes: list[str] = []
    people = exported(dataset, tmp_path / "forms", say=notes.append)
    assert people == {f"hi-{NUMBERS + 1}", f"hi-{NUMBERS + 2}"}  # nobody of the study answered yet
    assert tells(notes, "hi-1", f"hi-{NUMBERS + 1}")
    rate(house.person(links[0]), "demo", 3)
    house.bring_in()
    assert exported(dataset, tmp_path / "again") == people  # they get more, and are who they were
    house.owner().get("/owner/study/demo")
    ledger = house.ledger()
    newcomer, _ = new_person(ledger, study_of(ledger, "demo"), ["hi"])
    assert newcomer.name == "hi-3"
    ledger.close()


def test_a_study_after_an_export_names_other_people(house: House, tmp_path: Path) -> None:
    dataset = house.folder / "demo"
    first = exported(dataset, tmp_path / "forms")
    assert first == {"hi-1", "hi-2"}
    house.study(people=2)
    ledger = house.ledger()
    assert [each.name for each in people_of(ledger, "demo")] == ["hi-3", "hi-4"]
    ledger.close()
    assert exported(dataset, tmp_path / "again") == first
    more = exported(dataset, tmp_path / "more", people=4)
    assert more == {"hi-1", "hi-2", f"hi-{NUMBERS + 3}", f"hi-{NUMBERS + 4}"}


def test_studies_of_a_dataset_share_their_names(house: House) -> None:
    house.study(people=2)
    house.study(people=1, name="second")
    ledger = house.ledger()
    assert [each.name for each in people_of(ledger, "second")] == ["hi-3"]
    ledger.close()
    assert read_reserved(house.folder / "demo") == [range(1, NUMBERS + 1)]


def test_another_server_of_the_dataset_names_other_people(house: House) -> None:
    house.study(people=1)
    (house.folder.parent / "other").mkdir()
    other = house.folder.parent / "other"
    (other / "demo").symlink_to(house.folder / "demo")
    _, links = metal.study_new(
        house.folder / "demo", folder=house.folder, people=1, languages="hi", name="elsewhere",
        database=f"sqlite:///{other / 'ledger.db'}",
    )  # fmt: skip
    assert [name for name, _ in links] == [f"hi-{NUMBERS + 1}"]


def test_who_comes_after_all_reserved_names_has_a_name_of_another_kind(house: House) -> None:
    house.study(people=1)
    ledger = house.ledger()
    change_settings(ledger, "demo", past=NUMBERS - 1)
    names = [new_person(ledger, study_of(ledger, "demo"), ["hi"])[0].name for _ in range(3)]
    ledger.close()
    assert names == [f"hi-{NUMBERS}", f"hi-s{NUMBERS + 1}", f"hi-s{NUMBERS + 2}"]


def test_a_restored_ledger_gives_nobody_the_name_of_somebody_it_forgot(tmp_path: Path) -> None:
    (tmp_path / "served").mkdir()
    house = House(tmp_path / "served", "")
    house.study(people=1)
    copy = metal.serve_backup(tmp_path / "copy.db", folder=house.folder)
    ledger = house.ledger()
    study = study_of(ledger, "demo")
    later, _ = new_person(ledger, study, ["hi"])
    ledger.close()
    assert later.name == "hi-2"
    owner = house.owner()
    owner.get("/owner/study/demo")
    owner.post("/owner/study/demo/link", {"person": "hi-2"})
    rate(house.person(owner.links()[0].removeprefix(str(owner.client.base_url))), "demo", 2)
    house.bring_in()
    assert "hi-2" in read_given(house.folder / "demo")
    house.close()
    metal.serve_restore(copy, folder=house.folder)
    restored = ServingLedger(house.folder)
    newcomer, _ = new_person(restored, study_of(restored, "demo"), ["hi"])
    restored.close()
    assert newcomer.name == "hi-3"


def test_a_ledger_that_lost_people_gives_their_names_to_nobody(house: House) -> None:
    links = house.study(people=2)
    rate(house.person(links[1]), "demo", 2)
    house.bring_in()
    ledger = house.ledger()
    for table in (
        "answers",
        "handed",
        "sessions",
        "links",
    ):  # an older copy, by the database's means
        ledger.writes(lambda c, name=table: c.execute(tables.metadata.tables[name].delete()))
    ledger.writes(lambda c: c.execute(tables.people.delete().where(tables.people.c.name == "hi-2")))
    study = study_of(ledger, "demo")
    assert new_person(ledger, study, ["hi"])[0].name == "hi-3"
    (house.folder / "demo" / "raters.jsonl").write_text("{")
    with pytest.raises(UsageError, match="nobody can join"):
        new_person(ledger, study, ["hi"])
    ledger.close()


@pytest.mark.parametrize("line", ['{"first": 1}', '{"first": "1", "last": 2}', "[]", "{"])
def test_a_damaged_note_of_names_is_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "annotation").mkdir()
    (tmp_path / "annotation" / "reserved.jsonl").write_text(line + "\n")
    with pytest.raises(DataError, match=r"reserved\.jsonl"):
        read_reserved(tmp_path)


def test_a_study_called_owner_leaves_the_owner_in(house: House) -> None:
    metal.study_new(
        house.folder / "demo", name="owner", folder=house.folder, database=house.database
    )
    owner = house.owner()
    owner.get("/owner/study/owner")
    owner.post("/owner/study/owner/people", {"language": "hi", "number": "1"})
    (link,) = owner.links()
    assert "data" in owner.get(link).text  # the owner looks at what people see
    assert owner.get("/owner").status_code == 200


@pytest.mark.parametrize(
    ("folder", "name"), [("News_2024", "news-2024"), ("हिन्दी", "x"), ("-A-", "a")]
)
def test_a_folder_of_any_name_becomes_a_study(house: House, folder: str, name: str) -> None:
    (house.folder / "demo").rename(house.folder / folder)
    study, _ = metal.study_new(house.folder / folder, folder=house.folder, database=house.database)
    assert study.id == name


def test_datasets_whose_names_differ_in_case_both_become_boards(ledger: ServingLedger) -> None:
    opened = [
        open_served_board(ledger, dataset, BoardRules()).id
        for dataset in ("news", "News", "हिन्दी", "العربية")
    ]
    assert opened == ["news", "news-2", "x", "x-2"]
    with pytest.raises(UsageError) as raised:
        open_served_board(ledger, "News", BoardRules())
    assert tells(str(raised.value), "news-2", "open already")


def test_criteria_in_another_script_are_parts_of_their_own(house: House) -> None:
    plan_in(house, house.folder.parent)
    for file in (house.folder / "plan").glob("*.study.json"):
        content = json.loads(file.read_text(encoding="utf-8"))
        for number, criterion in enumerate(("सटीकता", "प्रवाह")):
            content["form"]["questions"][0]["name"] = criterion
            tasks = [{**each, "task": f"{each['task']}{number}"} for each in content["tasks"]]
            copy = file.with_name(f"{number}-{file.name}")
            copy.write_text(json.dumps({**content, "tasks": tasks}), encoding="utf-8")
        file.unlink()
    study, _ = metal.study_new(house.folder / "plan", folder=house.folder, database=house.database)
    ledger = house.ledger()
    asked = [Forms(ledger).form(study.id, part).questions[0]["name"] for part in study.languages]
    rows = {row["language"]: row["outputs"] for row in progress(ledger, study.id)}
    ledger.close()
    assert sorted(asked) == ["प्रवाह", "सटीकता"]
    assert len(set(rows.values())) == 1  # each has its own tasks
