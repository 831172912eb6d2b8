"""The Label Studio form: what is written is harmless and complete, what its server exports is read
as it was meant.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest

from metal.building.forms.label_studio import hotkeys, interface, read, skipped, write
from metal.building.tasks import Task
from metal.data.records import Criterion, Level, Scale
from metal.errors import DataError
from metal.raters.judges.rubric import Rubric
from tests.build.label_studio_assignments import ASSIGNMENTS, CRITERIA, HOSTILE

ODD = 'Ton & "Stil" | <x>'
SHOWN = {"$title", "$source_text", "$output_text"}


def files() -> dict[str, bytes]:
    return dict(write(ASSIGNMENTS))


def tree(language: str) -> ElementTree.Element:
    return ElementTree.fromstring(files()[f"interface-{language}.xml"])


def shown(root: ElementTree.Element) -> str:
    """The texts of the interface, as people see them."""
    return "\n".join(header.get("value", "") for header in root.iter("Header"))


def test_files_for_languages_and_people() -> None:
    assert list(files()) == [
        "interface-ar.xml",
        "ar-1.json",
        "interface-en.xml",
        "en-1.json",
        "README.txt",
    ]
    assert "metal annotate import" in files()["README.txt"].decode()


def test_tasks_come_in_their_order_and_tell_nothing_else() -> None:
    tasks = json.loads(files()["en-1.json"])
    assert [task["data"]["task"] for task in tasks] == ["te1", "te2", "te3"]
    assert tasks[1] == {
        "data": {
            "task": "te2",
            "rater": "en-1",
            "language": "en",
            "title": HOSTILE,
            "source_text": HOSTILE,
            "output_text": HOSTILE,
        }
    }
    # `source` is taken in the real page
    assert not {"source", "id", "annotations"} & set(tasks[0]["data"])


def test_what_no_database_holds_is_replaced() -> None:
    assignment = replace(
        ASSIGNMENTS[1], tasks=(Task("t", "o", "en", "a\x00b", "\ud800", "\ufffe\tc\nd"),)
    )
    data = json.loads(dict(write([assignment]))["en-1.json"])[0]["data"]
    assert (data["title"], data["source_text"], data["output_text"]) == (
        "a\ufffdb",
        "\ufffd",
        "\ufffd\tc\nd",
    )


def test_choices_are_saved_as_values_and_must_be_given() -> None:
    first, second = tree("en").iter("Choices")
    assert first.get("name") == "score:task_quality"
    assert first.get("required") == first.get("showInLine") == "true"
    assert first.get("choice") == "single"
    assert [(each.get("value"), each.get("alias"), each.get("hotkey")) for each in first] == [
        ("Bad", "0", "1"),
        ("Medium", "1", "2"),
        ("true", "2", "3"),
    ]
    assert second.get("name") == f"score:{ODD}"
    assert [(each.get("value"), each.get("alias")) for each in second] == [
        ("<b>No</b>", "-1"),
        ('Yes & "how"', "1"),
    ]
    assert {control.get("toName") for control in tree("en").iter() if control.get("toName")} == {
        "output"
    }


def test_a_scale_without_levels_is_a_number() -> None:
    [number] = tree("en").iter("Number")
    assert (number.get("min"), number.get("max"), number.get("step")) == ("0.5", "5", "any")
    free = Criterion("free", Scale("interval"))
    root = ElementTree.fromstring(
        interface("en", [replace(ASSIGNMENTS[1], rubrics={"free": Rubric(free)})])
    )
    assert next(root.iter("Number")).get("min") is None


def test_only_three_fields_of_a_task_are_shown() -> None:
    """Every other dollar has a joiner behind it, so that no word of ours is taken for a field."""
    values = [value for element in tree("en").iter() for value in element.attrib.values()]
    assert {value for value in values if value.startswith("$")} == SHOWN
    assert all("$\u2060" in value for value in values if "$" in value and value not in SHOWN)
    assert "It costs $\u2060source or $\u20605." in shown(tree("en"))
    assert not list(tree("en").iter("HyperText"))


def test_texts_of_tasks_are_text() -> None:
    texts = list(tree("ar").iter("Text"))
    assert [(text.get("name"), text.get("valueType")) for text in texts] == [
        ("source", "text"),
        ("output", "text"),
    ]


def test_guidelines_are_in_the_interface() -> None:
    text = shown(tree("en"))
    for words in (
        "Looks at the task.\nOnly at the task.",
        "<script>alert(1)</script>",
        "Bad: It was not done.",
    ):
        assert words in text
    assert "• nothing was done\n• something else was done" in text
    assert next(tree("en").iter("Choice")).get("hint") == "Bad: It was not done."
    # what stands above the answers already is not said again
    assert len(list(tree("en").iter("Panel"))) == 1


def classes(root: ElementTree.Element, name: str) -> str:
    return next(
        view.get("className", "")
        for view in root.iter("View")
        for text in view
        if text.get("name") == name
    )


def test_directions() -> None:
    assert classes(tree("ar"), "output") == classes(tree("ar"), "source") == "metal-rtl"
    assert classes(tree("en"), "output") == "metal-ltr"
    english = replace(ASSIGNMENTS[0].tasks[0], source="In English, with one word: القمح")
    root = ElementTree.fromstring(interface("ar", [replace(ASSIGNMENTS[0], tasks=(english,))]))
    assert (classes(root, "output"), classes(root, "source")) == ("metal-rtl", "metal-ltr")


def test_parts_that_no_task_fills_are_left_out() -> None:
    bare = Task("t", "o", "en", "", "", "text")
    root = ElementTree.fromstring(interface("en", [replace(ASSIGNMENTS[1], tasks=(bare,))]))
    assert [text.get("name") for text in root.iter("Text")] == ["output"]
    assert "$title" not in shown(root)


def with_levels(count: int) -> Rubric:
    return Rubric(
        Criterion("c", Scale("ordinal", tuple(Level(value, f"l{value}") for value in range(count))))
    )


def test_hotkeys_are_side_by_side_and_never_twice() -> None:
    assert list(hotkeys([with_levels(3)] * 5)) == ["123", "qwe", "asd", "zxc", "456"]
    many = list(hotkeys([with_levels(5)] * 9))
    assert many[0] == "12345"
    assert "" in many
    assert len(set("".join(many))) == len("".join(many))
    assert list(hotkeys([with_levels(11), with_levels(2)])) == ["", "qw"]


def result(name: str, kind: str, value: dict[str, Any]) -> dict[str, Any]:
    return {"id": "k3", "type": kind, "value": value, "to_name": "output", "from_name": name}


def annotation(results: list[dict[str, Any]], who: object = 1, **more: Any) -> dict[str, Any]:
    """An annotation as Label Studio 1.23 exports it, and of what METAL does not read an example."""
    return {
        "id": 1,
        "completed_by": who,
        "result": results,
        "was_cancelled": False,
        "lead_time": 12.5,
        "prediction": {},
    } | more


def exported(
    *annotations: dict[str, Any], number: int = 7, task: str = "te1", rater: str = "en-1"
) -> dict[str, Any]:
    return {
        "id": number,
        "annotations": list(annotations),
        "drafts": [{"result": [result("score:task_quality", "choices", {"choices": ["0"]})]}],
        "predictions": [{"result": [result("score:task_quality", "choices", {"choices": ["1"]})]}],
        "data": {
            "task": task,
            "rater": rater,
            "language": "en",
            "title": "",
            "source_text": "s",
            "output_text": "o",
        },
    }


GOOD = [result("score:task_quality", "choices", {"choices": ["2"]})]
FULL = [
    *GOOD,
    result(f"score:{ODD}", "choices", {"choices": ["-1"]}),
    result("score:fluency", "number", {"number": 1.5}),
    result("comment", "textarea", {"text": ["جيد"]}),
    result("theirs", "brushlabels", {"rle": [1, 2]}),
]


def as_bytes(*entries: object) -> bytes:
    return json.dumps(entries).encode()


def test_answers_of_one_person() -> None:
    [answer] = read("x.json", as_bytes(exported(annotation(FULL))), CRITERIA)
    assert answer.scores == {"task_quality": "2", ODD: "-1", "fluency": "1.5"}
    assert (answer.task, answer.rater, answer.comment, answer.seconds) == (
        "te1",
        "en-1",
        "جيد",
        12.5,
    )
    assert answer.where == "x.json task 7"


def test_what_was_not_answered_is_blank() -> None:
    [answer] = read("x.json", as_bytes(exported(annotation(GOOD, lead_time=None))), CRITERIA)
    assert answer.scores == {"task_quality": "2", ODD: "", "fluency": ""}
    assert (answer.comment, answer.seconds) == ("", None)
    assert read("x.json", as_bytes(exported()), CRITERIA) == []


def test_skipped_tasks_are_counted_and_left_out() -> None:
    content = as_bytes(
        exported(annotation([], 2, was_cancelled=True)), exported(annotation(GOOD), number=8)
    )
    assert [(answer.where, answer.rater) for answer in read("x.json", content, CRITERIA)] == [
        ("x.json task 8", "en-1")
    ]
    assert skipped("x.json", content) == 1


@pytest.mark.parametrize(
    ("who", "raters"),
    [
        ((1, 1), ["en-1", "en-1"]),
        ((1, 2), ["en:1", "en:2"]),
        (({"id": 1, "email": "a@b.org"}, {"id": 2}), ["en:a@b.org", "en:2"]),
        ((None, None), ["en-1", "en-1"]),
        ((None, 1), ["en:unknown", "en:1"]),
    ],
)
def test_several_people_on_the_same_tasks_are_told_apart(
    who: tuple[object, object], raters: list[str]
) -> None:
    content = as_bytes(exported(*(annotation(GOOD, each) for each in who)))
    assert [answer.rater for answer in read("x.json", content, CRITERIA)] == raters


def test_people_of_different_sheets_in_one_file_keep_their_names() -> None:
    content = as_bytes(exported(annotation(GOOD, 1)), exported(annotation(GOOD, 2), rater="en-2"))
    assert [answer.rater for answer in read("x.json", content, CRITERIA)] == ["en-1", "en-2"]


def test_json_min() -> None:
    row = {
        "id": 1,
        "task": "te1",
        "rater": "en-1",
        "language": "en",
        "output_text": "o",
        "score:task_quality": "2",
        f"score:{ODD}": "-1",
        "score:fluency": [{"number": 1.5}],
        "comment": "جيد",
        "annotator": 1,
        "lead_time": 12.5,
    }
    assert read("x.json", as_bytes(row), CRITERIA) == [
        replace(
            read("x.json", as_bytes(exported(annotation(FULL))), CRITERIA)[0], where="x.json task 1"
        )
    ]
    assert skipped("x.json", as_bytes(row)) == 0


def test_halves_of_surrogate_pairs_do_not_come_in() -> None:
    half = result("comment", "textarea", {"text": ["\ud800"]})
    [answer] = read("x.json", as_bytes(exported(annotation([half]))), CRITERIA)
    assert answer.comment == "\ufffd"


@pytest.mark.parametrize("seconds", [True, "12", -1, 1e999, [1]])
def test_times_that_are_none_are_not_told(seconds: object) -> None:
    assert (
        read("x.json", as_bytes(exported(annotation(GOOD, lead_time=seconds))), CRITERIA)[0].seconds
        is None
    )


TWO = [result("score:task_quality", "choices", {"choices": ["1", "2"]})]
TRUE = [result("score:task_quality", "choices", {"choices": True})]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"id,annotations\n", "x.json line 1: not JSON"),
        (b"\xff", "x.json line 1: not UTF-8"),
        (b"[" * 100_000, "x.json line 1: not JSON"),
        (b"[" + b"9" * 5000 + b"]", "x.json line 1: not JSON"),
        (b'{"id": 1}', "x.json: not a list of tasks"),
        (as_bytes(3), "x.json task 1 of the file: not an object"),
        (as_bytes({"id": 7, "annotations": []}), "x.json task 7: no data"),
        (as_bytes({"id": 7, "annotations": 3, "data": {}}), "x.json task 7: its annotations"),
        (as_bytes({"text": "another project"}), "x.json task 1 of the file: no task in its data"),
        (as_bytes(exported(annotation(GOOD), task=" ")), "x.json task 7: no task in its data"),
        (
            as_bytes(exported(annotation(GOOD)) | {"data": {"task": "t", "rater": 3}}),
            "x.json task 7: no rater",
        ),
        (
            as_bytes(exported(annotation(GOOD)) | {"annotations": [3]}),
            "x.json task 7: an annotation",
        ),
        (as_bytes(exported(annotation(GOOD, result={"a": 1}))), "x.json task 7: the result"),
        (as_bytes(exported(annotation(GOOD, result=[3]))), "x.json task 7: a result is not"),
        (
            as_bytes(exported(annotation(GOOD + GOOD))),
            "x.json task 7: 'score:task_quality' was answered twice",
        ),
        (as_bytes(exported(annotation(TWO))), "x.json task 7: 'score:task_quality' has 2 answers"),
        (as_bytes(exported(annotation(TRUE))), "x.json task 7: 'score:task_quality' is neither"),
        (as_bytes(exported(annotation(GOOD, [1]))), "x.json task 7: annotated by"),
    ],
)
def test_other_shapes_are_refused_with_their_place(content: bytes, message: str) -> None:
    with pytest.raises(DataError) as raised:
        read("x.json", content, CRITERIA)
    assert str(raised.value).startswith(message)
    assert "\n" not in str(raised.value)
