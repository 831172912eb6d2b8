"""Mechanical Turk's two documents: the question of a HIT, and the answers of a worker.

A layout is the page that the form `mturk` writes: `${column}` stands for a cell of the tasks' CSV, which is escaped
HTML already.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from xml.etree.ElementTree import ParseError, fromstring

from metal.building.forms.mturk import HIT_LIMIT
from metal.building.forms.rows import printable
from metal.errors import DataError

_SCHEMA = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2011-11-11/HTMLQuestion.xsd"
_VARIABLE = re.compile(r"\$\{([^{}]*)\}")
_FORM = re.compile(r"<(crowd-)?form\b", re.IGNORECASE)
_FIELD = re.compile(
    r"""<(?:input|select|textarea|crowd-[a-z-]+)\b[^>]*?\sname\s*=\s*(?:"([^"]+)"|'([^']+)')""", re.IGNORECASE
)
# A page without a form of its own posts its fields as MTurk's documentation of HTMLQuestion asks. The target is a
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
</script>"""


def html_question(layout: str, row: Mapping[str, str], where: str) -> str:
    """The HTMLQuestion document of one HIT: the layout, filled in from this row of the CSV.

    Raises DataError, naming `where`, for a variable without a column, and for a document longer than the 65,535 bytes
    that MTurk takes.
    """

    def cell(variable: re.Match[str]) -> str:
        if variable[1] not in row:
            problem = f"the layout has ${{{variable[1]}}}, and there is no such column"
            raise DataError(where, problem, f"Columns: {', '.join(row)}")
        return row[variable[1]]

    page = printable(_VARIABLE.sub(cell, layout))
    if not _FORM.search(layout):
        page = _POSTING.format(page=page)
    document = f'<!DOCTYPE html>\n<html><head><meta charset="utf-8"></head><body>\n{page}\n</body></html>'
    content = document.replace("]]>", "]]]]><![CDATA[>")  # a CDATA section ends at its first ]]>
    question = (
        f'<HTMLQuestion xmlns="{_SCHEMA}"><HTMLContent><![CDATA[{content}]]></HTMLContent>'
        "<FrameHeight>0</FrameHeight></HTMLQuestion>"
    )
    size = len(question.encode())
    if size > HIT_LIMIT:
        raise DataError(
            where,
            f"the page and its texts are {size:,} bytes; a HIT takes {HIT_LIMIT:,}",
            "Take the row out and have that output rated in another form (`metal.annotate_export(..., only=FILE)`)",
        )
    return question


def fields_of(layout: str) -> list[str]:
    """The names of a layout's fields, in order."""
    return list(dict.fromkeys(double or single for double, single in _FIELD.findall(layout)))


def read_answers(document: str, where: str) -> dict[str, str]:
    """A worker's answers, by field, from a QuestionFormAnswers document.

    A field that occurs twice gets both values, with a comma. The content is up to the worker, so a DOCTYPE is refused:
    it could declare entities that expand without end. Raises DataError for that and for anything that is not XML.
    """
    if "<!DOCTYPE" in document or "<!ENTITY" in document:
        raise DataError(
            where, "the answer declares XML entities", "MTurk writes none: look at it before you approve it"
        )
    try:
        root = fromstring(document)  # noqa: S314 - without a DOCTYPE there are no entities to expand
    except (ParseError, ValueError) as error:
        raise DataError(where, f"the answer is not XML ({error})", "Pull again") from None
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
