"""Mechanical Turk's XML: the question of a HIT, the answers of a worker, and the tests that workers
take first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, ParseError, SubElement, fromstring, tostring

from metal.building.forms.mturk import HIT_LIMIT
from metal.building.forms.sheet import printable
from metal.errors import DataError, UsageError

_SCHEMA = (
    "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2011-11-11/HTMLQuestion.xsd"
)
_VARIABLE = re.compile(r"\$\{([^{}]*)\}")
_FORM = re.compile(r"<(crowd-)?form\b", re.IGNORECASE)
_FIELD = re.compile(
    r"""<(?:input|select|textarea|crowd-[a-z-]+)\b[^>]*?\sname\s*=\s*(?:"([^"]+)"|'([^']+)')""",
    re.IGNORECASE,
)
# A page without a form of its own posts its fields as MTurk's documentation of HTMLQuestion asks.
# The target is a
# parameter of the page's address, which is trusted only if it names one of MTurk's hosts.
_POSTING = """<form name="mturk_form" id="mturk_form" method="post" action="https://www.mturk.com/mturk/externalSubmit">
<input type="hidden" name="assignmentId" id="assignmentId" value="">
{page}
<p><button type="submit" id="submitButton">Submit</button></p>
</form>
<script>
(function () {{
  var given = new URLSearchParams(location.search), form = document.getElementById("mturk_form");
  var assignment = given.get("assignmentId") || "ASSIGNMENT_ID_NOT_AVAILABLE", to = given.get("turkSubmitTo");
  document.getElementById("assignmentId").value = assignment;
  document.getElementById("submitButton").disabled = assignment === "ASSIGNMENT_ID_NOT_AVAILABLE";
  if (to && /^https:\\/\\/[a-z.]+\\.mturk\\.com(\\/|$)/.test(to)) {{
    form.action = new URL("/mturk/externalSubmit", to).href;
  }}
}})();
</script>"""  # noqa: E501


def html_question(layout: str, row: Mapping[str, str], location: str) -> str:
    """The HTMLQuestion document of one HIT: the layout with the values of one row of the CSV.

    Raises DataError if a variable has no column, or if the document is longer than the 65,535 bytes
    that MTurk accepts. location: named in the message.
    """

    def cell(variable: re.Match[str]) -> str:
        if variable[1] not in row:
            problem = f"the layout has ${{{variable[1]}}}, and there is no such column"
            raise DataError(location, problem, f"Columns: {', '.join(row)}")
        return row[variable[1]]

    page = printable(_VARIABLE.sub(cell, layout))
    if not _FORM.search(layout):
        page = _POSTING.format(page=page)
    document = (
        f'<!DOCTYPE html>\n<html><head><meta charset="utf-8"></head><body>\n{page}\n</body></html>'
    )
    content = document.replace("]]>", "]]]]><![CDATA[>")  # a CDATA section ends at its first ]]>
    question = (
        f'<HTMLQuestion xmlns="{_SCHEMA}"><HTMLContent><![CDATA[{content}]]></HTMLContent>'
        "<FrameHeight>0</FrameHeight></HTMLQuestion>"
    )
    size = len(question.encode())
    if size > HIT_LIMIT:
        raise DataError(
            location,
            f"the page and its texts are {size:,} bytes; a HIT takes {HIT_LIMIT:,}",
            "Take the row out and have that output rated in another form"
            " (`metal.annotate_export(..., only=FILE)`)",
        )
    return question


def fields_of(layout: str) -> list[str]:
    """The names of a layout's fields, in order."""
    return list(dict.fromkeys(double or single for double, single in _FIELD.findall(layout)))


def read_answers(document: str, location: str) -> dict[str, str]:
    """Read a worker's answers by field from a QuestionFormAnswers document.

    If a field occurs twice, its values are joined with a comma. Workers control the content, so a
    DOCTYPE is refused, because it could declare entities that expand without end. Raises DataError
    for a DOCTYPE and for anything that is not XML.
    """
    if "<!DOCTYPE" in document or "<!ENTITY" in document:
        raise DataError(
            location,
            "the answer declares XML entities",
            "MTurk writes none: look at this answer before you approve it",
        )
    try:
        root = fromstring(document)  # noqa: S314 - without a DOCTYPE there are no entities to expand
    except (ParseError, ValueError) as error:
        raise DataError(location, f"the answer is not XML ({error})", "Pull again") from None
    answers: dict[str, str] = {}
    for answer in root.iter():
        if _local(answer.tag) != "Answer":
            continue
        parts = {_local(part.tag): part for part in answer}
        name = (parts["QuestionIdentifier"].text or "") if "QuestionIdentifier" in parts else ""
        values = [
            part.text or ""
            for part in answer
            if _local(part.tag) in ("FreeText", "SelectionIdentifier", "OtherSelectionText")
        ]
        answers[name] = ", ".join(filter(None, [answers.get(name, ""), *values]))
    return answers


def _local(tag: object) -> str:
    return str(tag).rpartition("}")[2]


_SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas"
QUESTION_FORM = f"{_SCHEMAS}/2017-11-06/QuestionForm.xsd"
ANSWER_KEY = f"{_SCHEMAS}/2005-10-01/AnswerKey.xsd"
TEST_LIMIT = 65_535  # bytes


@dataclass(frozen=True)
class QualificationTest:
    """A test in the form that MTurk accepts. Scores are in percent if `key` says so, as in tests of
    `make_test`.
    """

    form: str
    key: str


def read_test(path: Path, key: Path | None = None) -> QualificationTest:
    """Read a test from QuestionForm XML with its AnswerKey XML, or from items in JSON Lines (see
    `make_test`).
    """
    if path.suffix.lower() != ".xml":
        if key:
            raise UsageError(
                f"{path} holds its own right answers; an answer key belongs to a test in XML"
            )
        return make_test(path)
    if not key:
        raise UsageError(f'{path} needs `answer_key="FILE.xml"`, or no score can be computed')
    return _checked(
        QualificationTest(path.read_text(encoding="utf-8"), key.read_text(encoding="utf-8")), path
    )


def make_test(path: Path) -> QualificationTest:
    """Make a test from the items in a file. All items count the same, and scores are in percent.

    An item is a line such as `{"question": "...", "choices": ["...", "..."], "right": "..."}`;
    `right` is a choice, or a list of choices any of which is right. Identifiers are numbers, so
    nothing in the page reveals which choice is right; only MTurk gets the key. Raises DataError,
    which names the row, for a bad item.
    """
    from metal.data.files import read_jsonl

    number = 0
    form, key = Element("QuestionForm", xmlns=QUESTION_FORM), Element("AnswerKey", xmlns=ANSWER_KEY)
    for number, (row, entry) in enumerate(read_jsonl(path), 1):
        choices, right = _checked_item(entry, f"{path} row {row + 1}")
        asked = SubElement(form, "Question")
        _text(asked, "QuestionIdentifier", f"q{number}")
        _text(asked, "IsRequired", "true")
        _text(SubElement(asked, "QuestionContent"), "Text", entry["question"])
        specification = SubElement(SubElement(asked, "AnswerSpecification"), "SelectionAnswer")
        _text(specification, "StyleSuggestion", "radiobutton")
        selections = SubElement(specification, "Selections")
        answer = SubElement(key, "Question")
        _text(answer, "QuestionIdentifier", f"q{number}")
        for choice_number, choice in enumerate(choices, 1):
            selection = SubElement(selections, "Selection")
            _text(selection, "SelectionIdentifier", f"c{choice_number}")
            _text(selection, "Text", str(choice))
            if choice in right:
                option = SubElement(answer, "AnswerOption")
                _text(option, "SelectionIdentifier", f"c{choice_number}")
                _text(option, "AnswerScore", "1")
    if not number:
        raise DataError(path, "no items", "One JSON object a line")
    mapping = SubElement(SubElement(key, "QualificationValueMapping"), "PercentageMapping")
    _text(mapping, "MaximumSummedScore", str(number))
    return _checked(
        QualificationTest(tostring(form, encoding="unicode"), tostring(key, encoding="unicode")),
        "the test",
    )


def _checked_item(entry: Mapping[str, Any], location: str) -> tuple[list[Any], list[Any]]:
    """An item's choices, and which of them are right."""
    choices, right = entry.get("choices"), entry.get("right")
    right = right if isinstance(right, list) else [right]
    if (
        not isinstance(entry.get("question"), str)
        or not isinstance(choices, list)
        or len(choices) < 2
    ):
        raise DataError(
            location,
            "no question with choices",
            'A line is {"question": "", "choices": [], "right": ""}',
        )
    absent = [choice for choice in right if choice not in choices]
    if absent or not right:
        raise DataError(
            location,
            f"`right` is {absent[:1] or right}, which is not among the choices",
            "Copy a choice",
        )
    return choices, right


def _text(parent: Element, tag: str, text: str) -> None:
    SubElement(parent, tag).text = printable(text)


def _checked(test: QualificationTest, location: object) -> QualificationTest:
    for document in (test.form, test.key):
        if (size := len(document.encode())) > TEST_LIMIT:
            raise DataError(
                location, f"{size:,} bytes; a test takes {TEST_LIMIT:,}", "Ask fewer questions"
            )
    return test
