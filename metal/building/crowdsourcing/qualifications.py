"""Who may work on a HIT of Mechanical Turk: requirements, and tests that workers take first.

GENIE (section 6, Quality Control) asks for 5,000 completed HITs, 99% of assignments approved, a country where the
language is spoken, and a test of each task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from metal.building.forms.rows import printable
from metal.errors import DataError, UsageError

# System qualification types, the same in the sandbox.
COMPLETED_HITS, SHARE_APPROVED = "00000000000000000040", "000000000000000000L0"
LOCALE, ADULT = "00000000000000000071", "00000000000000000060"
_SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas"
QUESTION_FORM = f"{_SCHEMAS}/2017-11-06/QuestionForm.xsd"
ANSWER_KEY = f"{_SCHEMAS}/2005-10-01/AnswerKey.xsd"
TEST_LIMIT = 65_535  # bytes


@dataclass(frozen=True)
class QualificationItem:
    """A question of a test: its text, its choices, and which of these are right (positions)."""

    question: str
    choices: tuple[str, ...]
    right: frozenset[int]


@dataclass(frozen=True)
class QualificationTest:
    """A test as MTurk takes it. A worker's score is in percent if `key` maps it so, as `make_test` does."""

    form: str
    key: str


def requirements(
    *,
    completed_hits: int = 0,
    share_approved: int = 0,
    countries: Sequence[str] = (),
    adult: bool = False,
    minimum: Mapping[str, int] | None = None,
    excluded_by: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """QualificationRequirements of a HIT.

    share_approved: in percent. countries: ISO codes (`US`), with a subdivision if wanted (`US-CA`). adult: only
    workers who agreed to see offensive content. minimum: qualification type -> the lowest score that qualifies.
    excluded_by: qualification types that exclude a worker. Raises UsageError for a bad country code.
    """
    required: list[dict[str, Any]] = []
    scores = {COMPLETED_HITS: completed_hits, SHARE_APPROVED: share_approved}
    lowest = {kind: score for kind, score in scores.items() if score} | dict(minimum or {})
    for kind, score in lowest.items():
        required.append({"QualificationTypeId": kind, "Comparator": "GreaterThanOrEqualTo", "IntegerValues": [score]})
    if countries:
        places = [_place(code) for code in countries]
        required.append({"QualificationTypeId": LOCALE, "Comparator": "In", "LocaleValues": places})
    if adult:
        required.append({"QualificationTypeId": ADULT, "Comparator": "EqualTo", "IntegerValues": [1]})
    required += [{"QualificationTypeId": kind, "Comparator": "DoesNotExist"} for kind in excluded_by]
    # Workers who can still take a test must see the HIT; those who fail another requirement do not even find it.
    for requirement in required:
        tested = requirement["QualificationTypeId"] in (minimum or {})
        requirement["ActionsGuarded"] = "Accept" if tested else "DiscoverPreviewAndAccept"
    return required


def _place(code: str) -> dict[str, str]:
    country, _, part = code.upper().partition("-")
    if len(country) != 2 or not country.isalpha():
        raise UsageError(f"country {code!r} is not a code such as US, IN or US-CA")
    return {"Country": country} | ({"Subdivision": part} if part else {})


def read_test(path: Path, key: Path | None = None) -> QualificationTest:
    """The test in a file: QuestionForm XML beside its AnswerKey XML, or items in JSON Lines (see `read_items`)."""
    if path.suffix.lower() != ".xml":
        if key:
            raise UsageError(f"{path} holds its own right answers; an answer key belongs to a test in XML")
        return make_test(read_items(path))
    if not key:
        raise UsageError(f'{path} needs `answer_key="FILE.xml"`, or nobody\'s score is known')
    return _checked(QualificationTest(path.read_text(encoding="utf-8"), key.read_text(encoding="utf-8")), path)


def read_items(path: Path) -> list[QualificationItem]:
    """Items from lines such as `{"question": "...", "choices": ["...", "..."], "right": "..."}`.

    `right` is a choice, or a list of choices any of which is right. Raises DataError, naming the row.
    """
    from metal.data.files import read_jsonl

    items = []
    for row, entry in read_jsonl(path):
        where = f"{path} row {row + 1}"
        choices, right = entry.get("choices"), entry.get("right")
        right = right if isinstance(right, list) else [right]
        if not isinstance(entry.get("question"), str) or not isinstance(choices, list) or len(choices) < 2:
            raise DataError(where, "no question with choices", 'A line is {"question": "", "choices": [], "right": ""}')
        absent = [choice for choice in right if choice not in choices]
        if absent or not right:
            raise DataError(where, f"right is {absent[:1] or right}, which is none of the choices", "Copy a choice")
        places = frozenset(place for place, choice in enumerate(choices) if choice in right)
        items.append(QualificationItem(entry["question"], tuple(map(str, choices)), places))
    if not items:
        raise DataError(path, "no items", "One JSON object a line")
    return items


def make_test(items: Sequence[QualificationItem]) -> QualificationTest:
    """The test that asks these items, each worth the same, scored in percent.

    Identifiers are numbers: nothing in the page reveals which choice is right, and only MTurk gets the key.
    """
    form, key = Element("QuestionForm", xmlns=QUESTION_FORM), Element("AnswerKey", xmlns=ANSWER_KEY)
    for number, item in enumerate(items, 1):
        asked = SubElement(form, "Question")
        _text(asked, "QuestionIdentifier", f"q{number}")
        _text(asked, "IsRequired", "true")
        _text(SubElement(asked, "QuestionContent"), "Text", item.question)
        specification = SubElement(SubElement(asked, "AnswerSpecification"), "SelectionAnswer")
        _text(specification, "StyleSuggestion", "radiobutton")
        selections = SubElement(specification, "Selections")
        answer = SubElement(key, "Question")
        _text(answer, "QuestionIdentifier", f"q{number}")
        for place, choice in enumerate(item.choices, 1):
            selection = SubElement(selections, "Selection")
            _text(selection, "SelectionIdentifier", f"c{place}")
            _text(selection, "Text", choice)
            if place - 1 in item.right:
                option = SubElement(answer, "AnswerOption")
                _text(option, "SelectionIdentifier", f"c{place}")
                _text(option, "AnswerScore", "1")
    mapping = SubElement(SubElement(key, "QualificationValueMapping"), "PercentageMapping")
    _text(mapping, "MaximumSummedScore", str(len(items)))
    return _checked(
        QualificationTest(tostring(form, encoding="unicode"), tostring(key, encoding="unicode")), "the test"
    )


def _text(parent: Element, tag: str, text: str) -> None:
    SubElement(parent, tag).text = printable(text)


def _checked(test: QualificationTest, where: object) -> QualificationTest:
    for document in (test.form, test.key):
        if (size := len(document.encode())) > TEST_LIMIT:
            raise DataError(where, f"{size:,} bytes; a test takes {TEST_LIMIT:,}", "Ask fewer questions")
    return test
