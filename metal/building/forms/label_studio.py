"""Forms for Label Studio: write an interface per language and tasks per person, and read exports in
JSON or JSON-MIN.

Written and read against Label Studio 1.23. Its interface is XML in which `$name` stands for a field
of the task; in our own texts, an invisible joiner follows every `$`, so that none starts a field. A
criterion's control is called `score:CRITERION`. So no criterion can be mistaken for a part of the
form, and no name is a number or a truth value, which Label Studio refuses. Choices are saved as the
value of the level, not as its label.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from metal.building.forms.html_form import json_list
from metal.building.forms.label_studio_export import FIELD, Annotation, read_annotations
from metal.building.forms.sheet import by_language
from metal.building.tasks import TAKEN_IN, Answer, Assignment, Task
from metal.data.files import whole_text
from metal.data.languages import language_name, text_direction
from metal.data.records import Criterion
from metal.raters.judges.rubric import LevelText, Rubric

# a row for each criterion; `u` is Label Studio's own
HOTKEYS = ("1234567890", "qwertyiop", "asdfghjkl", "zxcvbnm")
STYLE = """
.metal { display: flex; flex-wrap: wrap; gap: 24px; align-items: flex-start; }
.metal-source { flex: 1 1 320px; min-width: 0; position: sticky; top: 0; max-height: 85vh; overflow-y: auto; }
.metal-rating { flex: 1 1 320px; min-width: 0; }
.metal-criterion { margin-top: 20px; padding-top: 8px; border-top: 1px solid rgba(128, 128, 128, 0.4); }
.metal .htx-richtext { line-height: 1.6; font-size: 16px; padding: 8px 0; }
.metal-rtl { direction: rtl; text-align: right; }
.metal-ltr { direction: ltr; text-align: left; }
"""  # noqa: E501
PROSE = (
    "margin: 4px 0; white-space: pre-line; unicode-bidi: plaintext; font-weight: 400; font-size:"
    " 14px; "
)
PROSE += "line-height: 1.5; letter-spacing: normal"
STRONG = PROSE.replace("400", "600")
HEADING = "margin: 4px 0; white-space: pre-line; unicode-bidi: plaintext"

BY_ITSELF = (
    "With a token METAL does all of this by itself: `metal annotate push label-studio`, then"
    " `pull`. By hand:\n\n"
)
README = """Rating with Label Studio
========================

interface-LANGUAGE.xml  what people see, with the guidelines of each criterion; one for each language
PERSON.json             the tasks of one person, in their order

BY_ITSELF
One project for each person (they cannot see each other's answers)
------------------------------------------------------------------
1. Create a project, named after the person (hi-1), and leave its sampling as it is: sequential.
2. Settings > Labeling Interface > Code: replace the code there with interface-LANGUAGE.xml, and save.
3. Import PERSON.json into the project. Do this once: a second import makes every task twice.
4. Let the person open the project, press "Label All Tasks" and go on until none is left. The keys under the answers
   choose them; Ctrl+Enter submits. They skip tasks that they cannot answer.
5. Export > JSON (JSON-MIN works as well, but does not say which tasks were skipped), then
       TAKEN_IN FILE
   Ratings carry the person's name as in PERSON.json, whoever was logged in.

One project shared by several people
------------------------------------
Use this when all of them rate the same tasks: import only ONE of the PERSON.json files, and set how many people
rate a task, here 3; otherwise Label Studio gives each task to only one person. The free edition has no button for it.
With a personal access token (Account & Settings), and within five minutes of each other:
    curl -X POST http://localhost:8080/api/token/refresh/ -H "Content-Type: application/json" \\
         -d '{"refresh": "PERSONAL_ACCESS_TOKEN"}'
    curl -X PATCH http://localhost:8080/api/projects/PROJECT_NUMBER/ -H "Content-Type: application/json" \\
         -H "Authorization: Bearer WHAT_THE_FIRST_GAVE_AS_access" -d '{"maximum_annotations": 3}'
Each person needs their own login, because only the login tells them apart: the rater of their ratings is called
LANGUAGE:NUMBER of the login, or LANGUAGE:EMAIL if the export has it. Ask them to use "Label All Tasks" only, because
the list of tasks would show them the answers of the others. Export once, for all of them, as above.

The guidelines are inside the interface, under "How to decide". To show a text of your own before people start, put
it in Settings > Annotation and choose "Show before labeling".
"""  # noqa: E501

# What XML cannot hold. U+0000 also breaks Label Studio's database.
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def write(assignments: Iterable[Assignment]) -> Iterator[tuple[str, bytes]]:
    """(file name, content): an interface for each language, the tasks of each person,
    README.txt.
    """
    taken_in = TAKEN_IN
    for language, group in by_language(assignments).items():
        taken_in = group[0].template.taken_in
        yield f"interface-{language}.xml", interface(language, group)
        for assignment in group:
            tasks = [_task(assignment, task) for task in assignment.tasks]
            yield (
                f"{assignment.rater}.json",
                (json.dumps(tasks, ensure_ascii=False, indent=1) + "\n").encode(),
            )
    by_itself = BY_ITSELF if taken_in == TAKEN_IN else ""
    readme = README.replace("BY_ITSELF\n", by_itself).replace("TAKEN_IN", taken_in)
    yield "README.txt", readme.encode()


def recognises(name: str, content: bytes) -> bool:
    """Whether the content is a JSON list."""
    return name.lower().endswith(".json") and json_list(content)


def read(
    name: str, content: bytes, criteria: Mapping[str, Criterion], *, shared: bool = False
) -> list[Answer]:
    """Read the answers in an export, which is JSON or JSON-MIN. name: the file's name, for
    messages.

    If one login gave all answers to a person's tasks, the rater is this person. If several logins
    answered them, each rater is `LANGUAGE:` with the login's email or number. shared: name raters
    by login even if only one login has answered so far. Skipped tasks are left out (see `skipped`),
    as are drafts, predictions and fields that are not criteria; a criterion without an answer is
    blank. Raises DataError, with file and task, for anything that Label Studio does not write.
    """
    submitted = [
        annotation for annotation in read_annotations(name, content) if not annotation.skipped
    ]
    logins: dict[str, set[str]] = defaultdict(set)
    for annotation in submitted:
        logins[annotation.rater].add(annotation.login)
    return [
        _answer(annotation, criteria, shared or len(logins[annotation.rater]) > 1)
        for annotation in submitted
    ]


def skipped(name: str, content: bytes) -> int:
    """How often a task was skipped. It is 0 for JSON-MIN, which does not record skipped tasks."""
    return sum(annotation.skipped for annotation in read_annotations(name, content))


def notes(name: str, content: bytes, criteria: Mapping[str, Criterion]) -> list[str]:
    """A note on skipped tasks, which `read` leaves out."""
    count = skipped(name, content)
    return [f"{name}: {count:,} tasks were skipped"] if count else []


def _answer(annotation: Annotation, criteria: Mapping[str, Criterion], shared: bool) -> Answer:
    values = annotation.values
    return Answer(
        annotation.task,
        f"{annotation.language}:{annotation.login or 'unknown'}" if shared else annotation.rater,
        {criterion: values.get(control_of(criterion), "") for criterion in criteria},
        values.get("comment", ""),
        annotation.where,
        annotation.seconds,
    )


def _task(assignment: Assignment, task: Task) -> dict[str, dict[str, str]]:
    """The fields of a task. None may be called `source`, because the page would show the task's
    entire record for such a field.
    """
    identity = {"task": task.task, "rater": assignment.rater, "language": assignment.language}
    shown = {"title": task.title, "source_text": task.source}
    shown |= {f"{name}_text": text for name, text in task.texts(assignment.template).items()}
    return {"data": identity | {field: harmless(text) for field, text in shown.items()}}


def control_of(criterion: str) -> str:
    """The name of the control with which people answer a criterion."""
    return FIELD + harmless(criterion)


def harmless(text: str) -> str:
    """The text without the characters that XML or Label Studio's database cannot hold."""
    return _ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", whole_text(text))


def _literal(text: str) -> str:
    """Our own text for an attribute, escaped so that `$5` does not mean a field of the task."""
    return harmless(text).replace("$", "$\N{WORD JOINER}")


# ---------------------------------------------------------------- the interface


def interface(language: str, assignments: Sequence[Assignment]) -> bytes:
    """The labelling configuration. The source is on one side; the other texts and the questions are
    on the other side.

    A text has the direction of its language. The source, which may be in another language, has the
    direction of most of its letters. Parts that no task fills (titles, sources) are left out.
    """
    tasks = [task for assignment in assignments for task in assignment.tasks]
    template, rubrics = assignments[0].template, assignments[0].rubrics
    direction = text_direction(language)
    output_direction = direction if direction != "auto" else _direction(task.text for task in tasks)
    root = Element("View")
    SubElement(root, "Style").text = STYLE
    page = SubElement(root, "View", className=f"metal metal-{output_direction}")
    if any(task.source for task in tasks):
        side = SubElement(page, "View", className="metal-source")
        source_direction, titled = (
            _direction(task.source for task in tasks),
            any(task.title for task in tasks),
        )
        _text(side, "source", template.heading("source"), source_direction, titled)
    side = SubElement(page, "View", className="metal-rating")
    for name in template.texts:
        _text(side, name, f"{template.heading(name)}: {language_name(language)}", output_direction)
    to = template.texts[-1]  # in Label Studio every answer is about one of the texts
    if template.paragraphs:
        _line(SubElement(side, "View", className="metal-ltr"), "\n".join(template.paragraphs))
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
    """A field of the task, shown as text whatever it contains."""
    view = SubElement(side, "View", className=f"metal-{direction}")
    _line(view, heading, HEADING)
    if titled:
        SubElement(view, "Header", value="$title", size="4", style=HEADING)
    SubElement(
        view, "Text", name=field, value=f"${field}_text", valueType="text", selectionEnabled="false"
    )


def _ask(view: Element, rubric: Rubric, keys: str, to: str) -> None:
    """Add a criterion: its question, its answers, and the entire rubric, which is folded until
    somebody opens it.
    """
    criterion = rubric.criterion
    label = criterion.asked_as
    _line(view, label, HEADING)
    _line(view, criterion.question or rubric.simple)
    named = {"name": control_of(criterion.name), "toName": to}
    if not rubric.optional:
        named |= {"required": "true", "requiredMessage": f"No answer yet: {_literal(label)}"}
    scale = criterion.scale
    if scale.levels:
        # Not "single-radio": answers with the same label would form one group of buttons across all
        # criteria, and the
        # arrow keys would move from one criterion to the next and answer it.
        choices = SubElement(view, "Choices", named, choice="single", showInLine="true")
        for level, key in zip(scale.levels, keys or [""] * len(scale.levels), strict=True):
            choice = SubElement(
                choices, "Choice", value=_literal(level.label), alias=level_text(level.value)
            )
            if key:
                choice.set("hotkey", key)
            if definition := rubric.levels.get(level.value, LevelText()).definition:
                choice.set("hint", _literal(f"{level.label}: {definition}"))
    else:
        ends = scale.ends or ()
        _line(view, "A number from {:g} to {:g}".format(*ends) if ends else "A number")
        limits = dict(zip(("min", "max"), map(level_text, ends), strict=False))
        SubElement(view, "Number", named | limits, step="any")
    _guide(view, rubric, label)


def _guide(view: Element, rubric: Rubric, label: str) -> None:
    """Add the rubric's descriptions and, for each level, its definition and the reasons for
    choosing it.
    """
    shown = rubric.criterion.question or rubric.simple  # above the answers already
    texts = [text for text in (rubric.simple, rubric.detailed) if text and text != shown]
    levels = [level for level in rubric.criterion.scale.levels if level.value in rubric.levels]
    if not texts and not levels:
        return
    collapse = SubElement(view, "Collapse", bordered="true")
    panel = SubElement(collapse, "Panel", value=_literal(f"How to decide: {label}"))
    for text in texts:
        _line(panel, text)
    for level in levels:
        described = rubric.levels[level.value]
        _line(
            panel,
            f"{level.label}: {described.definition}" if described.definition else level.label,
            STRONG,
        )
        _line(panel, "\n".join(f"• {reason}" for reason in described.reasons))


def _line(view: Element, text: str, style: str = PROSE) -> None:
    if text:
        SubElement(view, "Header", value=_literal(text), size="5", style=style)


def hotkeys(rubrics: Iterable[Rubric]) -> Iterator[str]:
    """For each rubric, the keys of its levels, which are neighbours on the keyboard. Blank if no
    row of the keyboard has enough free keys.
    """
    free = list(HOTKEYS)
    for number, rubric in enumerate(rubrics):
        wanted = len(rubric.criterion.scale.levels)
        rows = [(number + step) % len(free) for step in range(len(free))]
        row = next((row for row in rows if len(free[row]) >= wanted), None)
        if row is None:
            yield ""
            continue
        yield free[row][:wanted]
        free[row] = free[row][wanted:]


def level_text(value: float) -> str:
    """The shortest text that reads back as the same number: `2`, `0.5`."""
    return str(int(value)) if value == int(value) else repr(float(value))


def _direction(texts: Iterable[str], enough: int = 40) -> str:
    """`rtl` if most letters of the first texts are written from right to left, else `ltr`."""
    letters = [
        unicodedata.bidirectional(char)
        for text in islice(filter(None, texts), enough)
        for char in text[:500]
    ]
    return "rtl" if sum(letter in ("R", "AL") for letter in letters) > letters.count("L") else "ltr"
