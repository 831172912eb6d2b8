"""Label Studio: an interface a language, tasks a person, and its JSON or JSON-MIN export read back.

Written and read against Label Studio 1.23. Its interface is XML in which `$name` stands for a field of the task:
everything of ours is told apart from that by an invisible joiner after `$`. A criterion's control is called
`score:CRITERION`, so that no criterion can be mistaken for a part of the form, nor for a number or a truth value,
which Label Studio refuses as names. Choices are saved as the value of the level, whatever its label looks like.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from metal.building.forms.label_studio_export import FIELD, Annotation, read_annotations
from metal.building.tasks import Answer, Sheet, Task
from metal.building.template import METAL
from metal.data.json_files import whole_text
from metal.data.languages import language_name, text_direction
from metal.data.records import Criterion
from metal.raters.judges.rubric import Rubric

HOTKEYS = ("1234567890", "qwertyiop", "asdfghjkl", "zxcvbnm")  # a row a criterion; `u` is Label Studio's own
STYLE = """
.metal { display: flex; flex-wrap: wrap; gap: 24px; align-items: flex-start; }
.metal-source { flex: 1 1 320px; min-width: 0; position: sticky; top: 0; max-height: 85vh; overflow-y: auto; }
.metal-rating { flex: 1 1 320px; min-width: 0; }
.metal-criterion { margin-top: 20px; padding-top: 8px; border-top: 1px solid rgba(128, 128, 128, 0.4); }
.metal .htx-richtext { line-height: 1.6; font-size: 16px; padding: 8px 0; }
.metal-rtl { direction: rtl; text-align: right; }
.metal-ltr { direction: ltr; text-align: left; }
"""
PROSE = "margin: 4px 0; white-space: pre-line; unicode-bidi: plaintext; font-weight: 400; font-size: 14px; "
PROSE += "line-height: 1.5; letter-spacing: normal"
STRONG = PROSE.replace("400", "600")
HEADING = "margin: 4px 0; white-space: pre-line; unicode-bidi: plaintext"

README = """Rating with Label Studio
========================

interface-LANGUAGE.xml  what people see, with the guidelines of each criterion; one for each language
PERSON.json             the tasks of one person, in their order

With a token METAL does all of this by itself: `metal annotate push label-studio`, then `pull`. By hand:

One project for each person (they cannot see each other's answers)
------------------------------------------------------------------
1. Create a project, named after the person (hi-1), and leave its sampling as it is: sequential.
2. Settings > Labeling Interface > Code: replace what stands there with interface-LANGUAGE.xml, and save.
3. Import PERSON.json into the project. Do this once: a second import makes every task twice.
4. Let the person open the project, press "Label All Tasks" and go on until none is left. Keys under the answers
   choose them; Ctrl+Enter submits. What cannot be answered is skipped.
5. Export > JSON (JSON-MIN does as well, but does not say what was skipped), then
       metal annotate import
   with the file. Ratings carry the person's name as in PERSON.json, whoever was logged in.

One project shared by several people
------------------------------------
Use this when all of them rate the same tasks: import only ONE of the PERSON.json files, and set how many people
rate a task, here 3; Label Studio gives a task to one person only otherwise. The free edition has no button for it.
With a personal access token (Account & Settings), and within five minutes of each other:
    curl -X POST http://localhost:8080/api/token/refresh/ -H "Content-Type: application/json" \\
         -d '{"refresh": "PERSONAL_ACCESS_TOKEN"}'
    curl -X PATCH http://localhost:8080/api/projects/PROJECT_NUMBER/ -H "Content-Type: application/json" \\
         -H "Authorization: Bearer WHAT_THE_FIRST_GAVE_AS_access" -d '{"maximum_annotations": 3}'
Each person needs a login of their own, for that is what tells them apart: their ratings carry the name
LANGUAGE:NUMBER of the login, LANGUAGE:EMAIL where the export has it. Ask them to use "Label All Tasks" only: in the
list of tasks they could see what the others said. Export once, for all of them, as above.

The guidelines are inside the interface, under "How to decide". To show a text of your own before people start, put
it in Settings > Annotation and choose "Show before labeling".
"""

# What XML cannot hold; of it, U+0000 breaks Label Studio's database as well.
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def write(sheets: Iterable[Sheet]) -> Iterator[tuple[str, bytes]]:
    """(file name, content): an interface for each language, the tasks of each person, README.txt."""
    by_language: dict[str, list[Sheet]] = defaultdict(list)
    for sheet in sheets:
        by_language[sheet.language].append(sheet)
    for language, theirs in by_language.items():
        yield f"interface-{language}.xml", interface(language, theirs)
        for sheet in theirs:
            yield f"{sheet.rater}.json", _json([_task(sheet, task) for task in sheet.tasks])
    yield "README.txt", README.encode()


def read(name: str, content: bytes, criteria: Mapping[str, Criterion], *, shared: bool = False) -> list[Answer]:
    """The answers in an export, as JSON or JSON-MIN; name: the file, for messages.

    The rater is the person the tasks were made for, if one login gave all answers to them; where several did, each is
    `LANGUAGE:` and their email or number. shared: they are, also while only one has answered. Skipped tasks are left
    out (see `skipped`), as are drafts, predictions and fields that are no criterion; a criterion without an answer is
    blank.
    Raises DataError, with file and task, for what Label Studio does not write.
    """
    given = [annotation for annotation in read_annotations(name, content) if not annotation.skipped]
    logins: dict[str, set[str]] = defaultdict(set)
    for annotation in given:
        logins[annotation.rater].add(annotation.login)
    return [_answer(annotation, criteria, shared or len(logins[annotation.rater]) > 1) for annotation in given]


def skipped(name: str, content: bytes) -> int:
    """How often somebody skipped a task. JSON-MIN does not hold it, so that it is 0 there."""
    return sum(annotation.skipped for annotation in read_annotations(name, content))


def _answer(annotation: Annotation, criteria: Mapping[str, Criterion], shared: bool) -> Answer:
    values = annotation.values
    return Answer(
        annotation.task,
        f"{annotation.language}:{annotation.login or 'unknown'}" if shared else annotation.rater,
        {criterion: values.get(FIELD + _plain(criterion), "") for criterion in criteria},
        values.get("comment", ""),
        annotation.where,
        annotation.seconds,
    )


def _task(sheet: Sheet, task: Task) -> dict[str, dict[str, str]]:
    """The fields of a task. None may be called `source`: the page would show the task's record, all of it, there."""
    told = {"task": task.task, "rater": sheet.rater, "language": sheet.language}
    shown = {"title": task.title, "source_text": task.source}
    shown |= {f"{name}_text": text for name, text in task.texts(sheet.template).items()}
    return {"data": told | {field: _plain(text) for field, text in shown.items()}}


def _json(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode()


def _plain(text: str) -> str:
    """The text without what neither XML nor Label Studio's database can hold."""
    return _ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", whole_text(text))


def _said(text: str) -> str:
    """Text of ours for an attribute: `$5` is no field of the task."""
    return _plain(text).replace("$", "$\N{WORD JOINER}")


# ---------------------------------------------------------------- the interface


def interface(language: str, sheets: Iterable[Sheet]) -> bytes:
    """The labelling configuration: the source on one side, the other texts and the questions on the other.

    A text runs as its language does, the source as most of its letters do: it may be in another language.
    Parts that no task fills (titles, sources) are left out.
    """
    sheets = list(sheets)
    tasks = [task for sheet in sheets for task in sheet.tasks]
    template = sheets[0].template if sheets else METAL
    direction = text_direction(language)
    output_direction = direction if direction != "auto" else _direction(task.text for task in tasks)
    root = Element("View")
    SubElement(root, "Style").text = STYLE
    page = SubElement(root, "View", className=f"metal metal-{output_direction}")
    if any(task.source for task in tasks):
        side = SubElement(page, "View", className="metal-source")
        _text(
            side,
            "source",
            template.heading("source"),
            _direction(task.source for task in tasks),
            any(task.title for task in tasks),
        )
    side = SubElement(page, "View", className="metal-rating")
    for name in template.texts:
        _text(side, name, f"{template.heading(name)}: {language_name(language)}", output_direction)
    to = template.texts[-1]  # Label Studio has every answer be about one of the texts
    if template.paragraphs:
        _line(SubElement(side, "View", className="metal-ltr"), "\n".join(template.paragraphs))
    rubrics = sheets[0].rubrics if sheets else {}
    for rubric, keys in zip(rubrics.values(), hotkeys(rubrics.values()), strict=True):
        _ask(SubElement(side, "View", className="metal-criterion metal-ltr"), rubric, keys, to)
    comment = SubElement(side, "View", className="metal-criterion metal-ltr")
    _line(comment, "Comment (if you like)", HEADING)
    SubElement(
        comment,
        "TextArea",
        {"name": "comment", "toName": to, "rows": "3", "maxSubmissions": "1", "editable": "true"},
        placeholder="In any language",
    )
    indent(root)
    return (tostring(root, encoding="unicode") + "\n").encode()


def _text(side: Element, field: str, heading: str, direction: str, titled: bool = False) -> None:
    """A field of the task, shown as text whatever stands in it."""
    view = SubElement(side, "View", className=f"metal-{direction}")
    _line(view, heading, HEADING)
    if titled:
        SubElement(view, "Header", value="$title", size="4", style=HEADING)
    SubElement(view, "Text", name=field, value=f"${field}_text", valueType="text", selectionEnabled="false")


def _ask(view: Element, rubric: Rubric, keys: str, to: str) -> None:
    """A criterion: its question, the answers, and everything the rubric says behind a line to open."""
    criterion = rubric.criterion
    label = criterion.label or criterion.name
    _line(view, label, HEADING)
    _line(view, criterion.question or rubric.simple)
    named = {"name": FIELD + _plain(criterion.name), "toName": to, "required": "true"}
    named["requiredMessage"] = f"No answer yet: {_said(label)}"
    scale = criterion.scale
    if scale.levels:
        # Not "single-radio": answers with one label would be one group of buttons across all criteria, and the arrow
        # keys would go from one criterion to the next and answer it.
        choices = SubElement(view, "Choices", named, choice="single", showInLine="true")
        for level, key in zip(scale.levels, keys or [""] * len(scale.levels), strict=True):
            choice = SubElement(choices, "Choice", value=_said(level.label), alias=_number(level.value))
            if key:
                choice.set("hotkey", key)
            if said := _defined(rubric, level.value):
                choice.set("hint", _said(f"{level.label}: {said}"))
    else:
        ranged = scale.low is not None and scale.high is not None
        _line(view, f"A number from {scale.low:g} to {scale.high:g}" if ranged else "A number")
        number = SubElement(view, "Number", named, step="any")
        if scale.low is not None and scale.high is not None:
            number.set("min", _number(scale.low))
            number.set("max", _number(scale.high))
    _guide(view, rubric, label)


def _guide(view: Element, rubric: Rubric, label: str) -> None:
    """The rubric's descriptions, and for each level its definition and the reasons to give it."""
    shown = rubric.criterion.question or rubric.simple  # stands above the answers
    texts = [text for text in (rubric.simple, rubric.detailed) if text and text != shown]
    levels = [level for level in rubric.criterion.scale.levels if level.value in rubric.levels]
    if not texts and not levels:
        return
    collapse = SubElement(view, "Collapse", bordered="true")
    panel = SubElement(collapse, "Panel", value=_said(f"How to decide: {label}"))
    for text in texts:
        _line(panel, text)
    for level in levels:
        defined = _defined(rubric, level.value)
        _line(panel, f"{level.label}: {defined}" if defined else level.label, STRONG)
        reasons = rubric.levels[level.value].reasons
        if reasons:
            _line(panel, "\n".join(f"• {reason}" for reason in reasons))


def _defined(rubric: Rubric, value: float) -> str:
    return rubric.levels[value].definition if value in rubric.levels else ""


def _line(view: Element, text: str, style: str = PROSE) -> None:
    if text:
        SubElement(view, "Header", value=_said(text), size="5", style=style)


def hotkeys(rubrics: Iterable[Rubric]) -> Iterator[str]:
    """For each rubric the keys of its levels, side by side on the keyboard; blank where no row has room left."""
    free = list(HOTKEYS)
    for number, rubric in enumerate(rubrics):
        wanted = len(rubric.criterion.scale.levels)
        rows = [(number + step) % len(free) for step in range(len(free))]
        row = next((row for row in rows if len(free[row]) >= wanted), None)
        keys = free[row][:wanted] if row is not None else ""
        if row is not None:
            free[row] = free[row][wanted:]
        yield keys


def _number(value: float) -> str:
    """The number as short as it reads back the same: `2`, `0.5`."""
    return str(int(value)) if value == int(value) else repr(float(value))


def _direction(texts: Iterable[str], enough: int = 40) -> str:
    """`rtl` where most letters of the first texts are, else `ltr`."""
    letters = [unicodedata.bidirectional(char) for text in islice(filter(None, texts), enough) for char in text[:500]]
    return "rtl" if sum(one in ("R", "AL") for one in letters) > letters.count("L") else "ltr"
