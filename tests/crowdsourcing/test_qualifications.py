"""Who may work, and the test they take first."""

from __future__ import annotations

from xml.etree.ElementTree import fromstring

import pytest

from metal.building.crowdsourcing.mturk_campaign import MTurkSettings
from metal.building.crowdsourcing.mturk_documents import make_test, read_test
from metal.building.crowdsourcing.posting import requirements
from metal.errors import DataError, UsageError


def settings(**asked) -> MTurkSettings:
    return MTurkSettings("sandbox", "", "0.25", 3, 60, 60, 60, ("en",), "", "", "", **asked)


def test_genies_requirements():
    genie = settings(completed_hits=5000, share_approved=99, countries=("us", "CA-ON"), adult=True)
    result = requirements(genie, {"3TEST": 80}, "3SHUT")
    everywhere = "DiscoverPreviewAndAccept"
    at_least = "GreaterThanOrEqualTo"
    places = [{"Country": "US"}, {"Country": "CA", "Subdivision": "ON"}]
    assert [tuple(each.values()) for each in result] == [
        ("00000000000000000040", at_least, [5000], everywhere),
        ("000000000000000000L0", at_least, [99], everywhere),
        ("3TEST", at_least, [80], "Accept"),
        ("00000000000000000071", "In", places, everywhere),
        ("00000000000000000060", "EqualTo", [1], everywhere),
        ("3SHUT", "DoesNotExist", everywhere),
    ]
    assert requirements(settings()) == []
    with pytest.raises(UsageError, match="'Kenya' is not a code"):
        requirements(settings(countries=("Kenya",)))


def named(root, tag: str) -> list:
    return [each for each in root.iter() if each.tag.endswith(f"}}{tag}")]


def test_a_test_asks_without_telling(tmp_path):
    path = tmp_path / "test.jsonl"
    path.write_text(
        '{"question": "Which is <b>?", "choices": ["right", "wrong & more"], "right": "right"}\n'
        '{"question": "؟", "choices": ["a", "b"], "right": ["a", "b"]}\n',
        encoding="utf-8",
    )
    test = read_test(path)
    form, key = fromstring(test.form), fromstring(test.key)
    assert [each.text for each in named(form, "QuestionIdentifier")] == ["q1", "q2"]
    assert [each.text for each in named(form, "SelectionIdentifier")] == ["c1", "c2", "c1", "c2"]
    assert [each.text for each in named(form, "Text")] == ["Which is <b>?", "right", "wrong & more", "؟", "a", "b"]
    right = [[each.text for each in named(question, "SelectionIdentifier")] for question in named(key, "Question")]
    assert right == [["c1"], ["c1", "c2"]]
    assert [each.text for each in named(key, "MaximumSummedScore")] == ["2"]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('\n{"question": "q", "choices": ["a", "b"], "right": "c"}\n', r"row 1: right is .'c'., which is none of"),
        ('{"question": "q", "choices": ["a"], "right": "a"}\n', "no question with choices"),
        ("", "no items"),
    ],
)
def test_bad_items(tmp_path, line, problem):
    path = tmp_path / "test.jsonl"
    path.write_text(line, encoding="utf-8")
    with pytest.raises(DataError, match=problem):
        make_test(path)


def test_xml_needs_its_key(tmp_path):
    (tmp_path / "test.xml").write_text("<QuestionForm/>")
    (tmp_path / "key.xml").write_text("<AnswerKey/>")
    with pytest.raises(UsageError, match="needs `answer_key="):
        read_test(tmp_path / "test.xml")
    assert read_test(tmp_path / "test.xml", tmp_path / "key.xml").key == "<AnswerKey/>"
    (tmp_path / "test.xml").write_text("x" * 65_536)
    with pytest.raises(DataError, match="a test takes 65,535"):
        read_test(tmp_path / "test.xml", tmp_path / "key.xml")
