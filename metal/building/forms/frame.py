"""The words of a form in the rater's language, from forms/LANGUAGE.toml in folders of prompts.

    reviewed = "unreviewed"   # or who, a speaker of the language, has reviewed it
    [texts]
    "Start" = "शुरू करें"       # the English text as it stands in the form; {number} and the like stay as they are

A text that a file lacks is taken from the next folder that has it; METAL's own folder comes last. A
text that no folder has stays English.
"""  # noqa: E501

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from metal.building.tasks import HEADINGS, Assignment, Frame
from metal.data.escaping import environment, source
from metal.data.files import bundled, read_toml
from metal.data.languages import SEVERAL, language_name, language_order, sides
from metal.data.text import listed
from metal.errors import DataError, check_known
from metal.raters.judges.rubric import UNREVIEWED, translated

FILES = (
    *("form.html", "form_parts.html", "served_task.html", "served_page.html"),
    *("answers.js", "download.js", "served.js", "form.js"),
)
# Why somebody may leave a task to others: what is kept, and what they choose.
REASONS = {
    "language": "I do not read this language well enough",
    "broken": "The text is broken or missing",
    "upsetting": "I do not want to rate this text",
    "other": "Another reason",
}
LACKING = "Please answer every question."  # to somebody whose browser has no script
NO_CHOICE = "Choose at least one language."
JOINED_BEFORE = (
    "Somebody with this ID has joined already. If it was you, go on in the browser that you used"
    " first, or write the name and the code that you were given."
)
NO_LANGUAGE = ("und", SEVERAL)  # of outputs whose raters' language is not known
_TEXT = re.compile(r'\bt\((?:\w+ === 1 \? )?"([^"]+)"(?: : "([^"]+)")?')
_PLACE = re.compile(r"\{\w+\}")


@cache
def english() -> frozenset[str]:
    """Every text of the form that can be translated."""
    templates = environment("metal.building.forms", str)
    files = "".join(source(templates, file) for file in FILES)
    texts = set(chain.from_iterable(_TEXT.findall(files))) - {""}
    texts |= {heading for headings in HEADINGS.values() for heading in headings.values()}
    return frozenset(texts | {*REASONS.values(), LACKING, NO_CHOICE, JOINED_BEFORE})


def translation(frame: Frame, text: str, **values: object) -> str:
    """The text in the frame's language, with the values in place of their names."""
    wording = frame.texts.get(text, text)
    for name, value in values.items():
        wording = wording.replace(f"{{{name}}}", str(value))
    return wording


def in_their_language(assignment: Assignment, folders: Sequence[Path]) -> Assignment:
    """Put the form's words and the rubrics into the language of the outputs, as far as `folders`
    have translations. METAL's own rubrics are translated only if the form's words are, too.
    """
    language = sides(assignment.language)[1]
    frame = load_frame(language, folders)
    rubrics = {
        name: translated(rubric, folders if frame.texts else folders[:-1], language)
        for name, rubric in assignment.rubrics.items()
    }
    if any(rubric.reviewed == UNREVIEWED for rubric in rubrics.values()):
        frame = replace(frame, reviewed=UNREVIEWED)
    return replace(assignment, rubrics=rubrics, frame=frame)


def read_in_english(assignment: Assignment) -> str:
    """The language of the outputs if the form stays in English because it has no translation; empty
    otherwise.
    """
    language = sides(assignment.language)[1]
    understood = assignment.frame.language != "en" or language.split("-")[0] in (*NO_LANGUAGE, "en")
    return "" if understood else language


def note_on_english(assignments: Iterable[Assignment], dataset: Path) -> list[str]:
    """A note for the person who hands out forms. It names the languages without a translation of
    the form, and says how to add one.
    """
    lacking = sorted(
        {language for each in assignments if (language := read_in_english(each))},
        key=language_order,
    )
    if not lacking:
        return []
    example = bundled("prompts") / "forms" / "sw.toml"
    own = dataset / "prompts" / "forms"
    return [
        "the form has not been translated into"
        f" {listed(list(map(language_name, lacking)))}: raters will read it in English. To"
        f" translate it: copy {example} to {own / f'{lacking[0]}.toml'}, and write your words there"
    ]


def load_frame(language: str, folders: Sequence[Path]) -> Frame:
    """Load the form's words in a language. Raises DataError or UnknownName for a bad file."""
    files = [
        path for folder in folders if (path := folder / "forms" / f"{language}.toml").is_file()
    ]
    read = list(map(_read, files))
    if not read:
        return Frame()
    unreviewed = any(frame["reviewed"] == "unreviewed" for frame in read)
    texts: dict[str, str] = {}
    for frame in read:
        texts = {**frame["texts"], **texts}
    return Frame(language, "unreviewed" if unreviewed else str(read[0]["reviewed"]), texts)


def _read(path: Path) -> Mapping[str, Any]:
    content = read_toml(path)
    check_known(f"{path}: key", content, ("reviewed", "texts"))
    reviewed, texts = content.get("reviewed"), content.get("texts")
    if not isinstance(reviewed, str) or not reviewed.strip():
        raise DataError(
            path,
            "no reviewer is named",
            'Write reviewed = "unreviewed", or who reviewed it',
        )
    if not isinstance(texts, dict) or not all(
        isinstance(text, str) and text.strip() for text in texts.values()
    ):
        raise DataError(path, "texts is not a table of texts", '"Start" = "..." under [texts]')
    check_known(f"{path}: text", texts, english())
    for text, wording in texts.items():
        if sorted(_PLACE.findall(text)) != sorted(_PLACE.findall(wording)):
            raise DataError(
                path,
                f"{text!r}: its placeholders {{...}} are not those of the English text",
                "Keep each once",
            )
    return content
