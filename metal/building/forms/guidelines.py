"""Guidelines for raters: how to rate, and what each criterion asks. They are made from the rubrics
that judges also get.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metal.building.forms.sheet import printable
from metal.building.tasks import METAL, TaskTemplate
from metal.data.escaping import environment
from metal.raters.judges.rubric import LevelText, Rubric

TITLE = "Guidelines for raters"

ADVICE = (
    (
        "Rate only texts in a language that you have spoken since childhood, and rate them as you"
        " would read them at home."
    ),
    (
        "Answer each question by itself. A text can be excellent in one respect and poor in"
        " another; let no answer colour the next."
    ),
    (
        "Judge each task by the descriptions of the levels below, not by comparing it with the "
        "task before."
    ),
    (
        "Work alone. Do not talk about the texts with others who rate them, and do not ask a"
        " computer for its opinion: your own view is what is wanted."
    ),
    (
        "No particular number of good or bad ratings is expected. If every text deserves the same"
        " answer, give the same answer every time."
    ),
    (
        "When you are unsure, choose the level that fits best and say in a comment what made "
        "you hesitate. Comments may be in any language."
    ),
    (
        "Some texts may be offensive or distressing. You may pause or stop at any time; leave out"
        " what you do not want to read, and say so in a comment."
    ),
)

READ_FIRST = (
    "Read the source first, then the output, which is the text to be rated, and only then the"
    " questions about it."
)


def advice_for(template: TaskTemplate) -> tuple[str, ...]:
    """What people read before the criteria: the first paragraph of ADVICE, the template's
    instructions, and the rest of ADVICE.
    """
    return (ADVICE[0], *(template.paragraphs or [READ_FIRST]), *ADVICE[1:])


def lines(rubrics: Mapping[str, Rubric], template: TaskTemplate = METAL) -> list[tuple[str, str]]:
    """The guidelines line by line, each with its kind: title, criterion, level, item or text."""
    listing = [("title", TITLE), *(("item", advice) for advice in advice_for(template))]
    for rubric in rubrics.values():
        criterion = rubric.criterion
        listing.append(("criterion", criterion.asked_as))
        listing += [("text", text) for text in _descriptions(rubric)]
        for level in criterion.scale.levels:
            text = rubric.levels.get(level.value, LevelText())
            listing.append(
                ("level", f"{level.shown}: {text.definition}" if text.definition else level.shown)
            )
            listing += [("item", reason) for reason in text.reasons]
        if not criterion.scale.levels:
            listing.append(("level", f"A number: {criterion.scale.describe()}"))
    return [(kind, printable(text)) for kind, text in listing]


def _descriptions(rubric: Rubric) -> list[str]:
    """The question, the simple and the detailed description, paragraph by paragraph, without
    repetitions.
    """
    texts = (rubric.criterion.question, rubric.simple, rubric.detailed)
    paragraphs: dict[str, None] = {}
    for text in texts:
        paragraphs |= dict.fromkeys(part.strip() for part in text.split("\n\n"))
    return list(filter(None, paragraphs))


def as_html(rubrics: Mapping[str, Rubric], template: TaskTemplate = METAL) -> str:
    """The guidelines as a separate HTML page that loads nothing."""
    templates = environment(
        "metal.building.forms", lambda value: printable(value) if isinstance(value, str) else value
    )
    return templates.get_template("guidelines.html").render(content(rubrics, template))


def content(rubrics: Mapping[str, Rubric], template: TaskTemplate = METAL) -> dict[str, Any]:
    """The values that the template criteria.html needs."""
    described = [(name, rubric, _descriptions(rubric)) for name, rubric in rubrics.items()]
    return {
        "title": TITLE,
        "advice": advice_for(template),
        "described": described,
        "no_text": LevelText(),
    }
