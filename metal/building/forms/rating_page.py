"""The page on which a person rates: a file of their own, or a page of a server."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from metal.building.forms.frame import NO_LANGUAGE, read_in_english, translation
from metal.building.forms.sheet import sides
from metal.building.tasks import Assignment, Frame
from metal.data.escaping import environment, policy, source
from metal.data.languages import language_name, name_in, text_direction
from metal.data.text import HARMFUL, printable
from metal.raters.judges.rubric import Rubric

BRIEF = 12  # characters of a label, up to which levels without definitions are side by side
MOST_KEYS = 10  # levels that the digit keys can tell apart
# what such a page may do besides
OF_A_SERVER = ("connect-src 'self'", "form-action 'self'")
_UNSAFE_IN_SCRIPT = re.compile(f"[<>&\u2028\u2029{HARMFUL}]")


def rating_page(
    assignment: Assignment,
    questions: Sequence[Mapping[str, Any]],
    file: str,
    served: Mapping[str, Any] | None = None,
) -> str:
    """The HTML of the form for one person, with its style and script in it.

    questions: as `question_of` makes them. file: the name of the answers file. served: what a
    server's page has besides, which goes to its script as well; None for a form that works without
    a network.
    """
    templates = form_templates()
    sending = "download.js" if served is None else "served.js"
    style = source(templates, "form.css")
    script = "".join(source(templates, each) for each in ("answers.js", sending, "form.js"))
    data = _data(assignment, questions, file) | ({} if served is None else {"served": served})
    return templates.get_template("form.html").render(
        form_words(assignment),
        style=Markup(style),  # noqa: S704
        script=Markup(script),  # noqa: S704
        policy=policy(style, script, *(() if served is None else OF_A_SERVER)),
        questions=questions,
        file=file,
        served=served,
        data=_in_script(data),
    )


def task_page(
    assignment: Assignment,
    questions: Sequence[Mapping[str, Any]],
    served: Mapping[str, Any],
    **content: Any,
) -> str:
    """The HTML of one task on a server, for a browser without script: the one task of the
    assignment.

    content: number and count (which task it is), given (scores so far), comment, previous (the
    address of the task before), problem.
    """
    (task,) = assignment.tasks
    sides_of = _sides(task.language)
    texts = {"source": task.source, **task.texts(assignment.template)}
    shown = [
        (side, text, sides_of["source" if side == "source" else "output"])
        for side, text in texts.items()
    ]
    return _page(
        "served_task.html",
        form_words(assignment),
        questions=questions,
        served=served,
        shown=shown,
        title=task.title,
        task=task.task,
        **content,
    )


def words_page(frame: Frame, part: str, **content: Any) -> str:
    """The HTML of another page for raters on a server: consent, thanks, their answers, ..."""
    common = {"problem": "", "served": {}}
    common_words = {
        "frame": frame,
        "direction": text_direction(frame.language),
        "t": partial(translation, frame),
    }
    return _page("served_page.html", common_words, part=part, **{**common, **content})


def _page(template: str, wording: Mapping[str, Any], **content: Any) -> str:
    templates = form_templates()
    style = Markup(source(templates, "form.css"))  # noqa: S704
    return templates.get_template(template).render(wording, style=style, **content)


@cache
def form_templates() -> Environment:
    """The templates of the form; whatever they write is made harmless."""
    return environment("metal.building.forms", _harmless)


def form_words(assignment: Assignment) -> dict[str, Any]:
    """What every template of the form needs besides its questions: the person's tasks, and the
    words in their language.
    """
    frame = assignment.frame
    unknown = assignment.language in NO_LANGUAGE
    return {
        "assignment": assignment,
        "template": assignment.template,
        "frame": frame,
        "direction": text_direction(frame.language),
        "t": partial(translation, frame),
        "in_english": language_name(read_in_english(assignment)),
        "language": "" if unknown else name_in(assignment.language, frame.language),
    }


def question_of(rubric: Rubric) -> dict[str, Any]:
    """A criterion in the form that the page needs: its levels with keys and texts, or the ends of
    its range.
    """
    criterion = rubric.criterion
    scale = criterion.scale
    values = list(map(number_text, scale.values))
    keys = _keys(values)
    levels = []
    for value, key, level in zip(values, keys, scale.levels, strict=True):
        text = rubric.levels.get(level.value)
        definition, reasons = (text.definition, text.reasons) if text else ("", ())
        levels.append(
            {
                "value": value,
                "key": key,
                "label": level.label,
                "definition": definition,
                "reasons": list(reasons),
            }
        )
    low, high = (None if end is None else number_text(end) for end in (scale.low, scale.high))
    return {
        "name": criterion.name,
        "label": criterion.label or criterion.name.replace("_", " ").capitalize(),
        "question": criterion.question,
        "simple": rubric.simple if rubric.simple != criterion.question else "",
        "detailed": rubric.detailed,
        "levels": levels,
        "brief": not any(level["definition"] or len(level["label"]) > BRIEF for level in levels),
        "reasons": any(level["reasons"] for level in levels),
        "low": low,
        "high": high,
        "optional": rubric.optional,
    }


def number_text(value: float) -> str:
    """The shortest text that reads as this number: `2`, `0.5`."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


def _keys(values: list[str]) -> list[str]:
    """The digit key that chooses each level: its value if all values are digits, else its position.
    There are no keys if there are many levels.
    """
    if all(re.fullmatch("[0-9]", value) for value in values):
        return values
    if len(values) > MOST_KEYS - 1:
        return [""] * len(values)
    return list(map(str, range(1, len(values) + 1)))


def _data(
    assignment: Assignment, questions: Sequence[Mapping[str, Any]], file: str
) -> dict[str, Any]:
    """The data for the page's script. Names stay unchanged, because the answers file contains them;
    texts are made harmless.
    """
    names = "\0".join(task.task for task in assignment.tasks)
    asked = [
        {
            "name": question["name"],
            "values": [level["value"] for level in question["levels"]],
            "keys": [level["key"] for level in question["levels"]],
            "low": question["low"],
            "high": question["high"],
            "optional": question["optional"],
        }
        for question in questions
    ]
    return {
        "dataset": assignment.dataset,
        "rater": assignment.rater,
        "digest": hashlib.blake2b(names.encode("utf-8", "replace"), digest_size=8).hexdigest(),
        "file": file,
        "words": dict(assignment.frame.texts),
        "locale": "en-GB" if assignment.frame.language == "en" else assignment.frame.language,
        "criteria": asked,
        "texts": list(assignment.template.texts),
        "languages": {task.language: _sides(task.language) for task in assignment.tasks},
        "tasks": [
            {
                "task": task.task,
                "language": task.language,
                "title": printable(task.title),
                "source": printable(task.source),
            }
            | {name: printable(text) for name, text in task.texts(assignment.template).items()}
            for task in assignment.tasks
        ],
    }


def _sides(language: str) -> dict[str, dict[str, str]]:
    """The attributes `lang` and `dir` of source and output. For a pair such as `zh-en`, the two
    differ.
    """
    named = zip(("source", "output"), sides(language), strict=True)
    return {side: {"lang": code, "dir": direction} for side, (code, direction) in named}


def _harmless(value: Any) -> Any:
    """Make any value that the template writes harmless; our own markup stays unchanged."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _in_script(value: Any) -> Markup:
    """JSON for a script element. No character in it can end the element or change the direction of
    text.
    """
    text = json.dumps(value, ensure_ascii=False)
    return Markup(_UNSAFE_IN_SCRIPT.sub(lambda char: f"\\u{ord(char[0]):04x}", text))  # noqa: S704
