"""Mechanical Turk's two documents: the question a HIT asks, and the answers of a worker.

A layout is the page that `metal annotate export --to mturk` writes: `${column}` stands for a cell of the tasks' CSV,
which is HTML already, escaped there.
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
# A page without a form of its own posts its fields as MTurk's documentation of HTMLQuestion asks. Where to is a
# parameter of the page's address, which is believed only when it is a host of MTurk's.
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
    """The HTMLQuestion document of one HIT: the layout with this row of the CSV in it.

    Raises DataError, naming `where`, for a variable without a column, and for a document beyond the 65,535 bytes that
    MTurk takes.
    """

    def cell(found: re.Match[str]) -> str:
        if found[1] not in row:
            columns = ", ".join(row)
            raise DataError(
                where, f"the layout has ${{{found[1]}}}, and there is no such column", f"Columns: {columns}"
            )
        return row[found[1]]

    page = printable(_VARIABLE.sub(cell, layout))
    if not _FORM.search(layout):
        page = _POSTING.format(page=page)
    whole = f'<!DOCTYPE html>\n<html><head><meta charset="utf-8"></head><body>\n{page}\n</body></html>'
    content = whole.replace("]]>", "]]]]><![CDATA[>")  # a CDATA section ends at its first ]]>
    question = (
        f'<HTMLQuestion xmlns="{_SCHEMA}"><HTMLContent><![CDATA[{content}]]></HTMLContent>'
        "<FrameHeight>0</FrameHeight></HTMLQuestion>"
    )
    size = len(question.encode())
    if size > HIT_LIMIT:
        raise DataError(
            where,
            f"the page and its texts are {size:,} bytes; a HIT takes {HIT_LIMIT:,}",
            "Take the row out and have that output rated in another form (metal annotate export --only)",
        )
    return question


def fields_of(layout: str) -> list[str]:
    """The names of the fields that a layout asks for, in their order."""
    return list(dict.fromkeys(double or single for double, single in _FIELD.findall(layout)))


def read_answers(document: str, where: str) -> dict[str, str]:
    """What a worker said, by field, from a QuestionFormAnswers document.

    A field that comes twice holds both, with a comma. Workers choose what is in it: a DOCTYPE, with which entities
    could be declared that grow without end, is refused. Raises DataError for that and for what is not XML.
    """
    if "<!DOCTYPE" in document or "<!ENTITY" in document:
        raise DataError(
            where, "the answer declares XML entities", "MTurk writes none: look at it before you approve it"
        )
    try:
        root = fromstring(document)  # noqa: S314 - without a DOCTYPE there are no entities to expand
    except (ParseError, ValueError) as error:
        raise DataError(where, f"the answer is not XML ({error})", "Pull again") from None
    said: dict[str, str] = {}
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
        said[name] = ", ".join(filter(None, [said.get(name, ""), *values]))
    return said


def _local(tag: object) -> str:
    return str(tag).rpartition("}")[2]
