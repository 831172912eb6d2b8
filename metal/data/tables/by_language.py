"""Columns that each hold answers about outputs in one language: `score_en`, `human_hi`,
`Swahili`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from metal.data.languages import find_language, is_language, language_name
from metal.data.tables.answer_columns import AnswerColumn
from metal.data.tables.cells import fold
from metal.data.tables.names import ENDS

OVERALL = "overall"  # the criterion of columns that name a language and nothing else
_AT_THE_END = re.compile(r"(?P<rest>.*?)[\s_.:(\[-]*(?<![^\W_])(?P<language>[^\W_]+)[)\]]?")
_AT_THE_START = re.compile(r"(?P<language>[^\W_]+)[\s_.:-]+(?P<rest>.+)")


def by_language(places: Sequence[AnswerColumn]) -> list[AnswerColumn]:
    """The columns of answers with their languages, if every name contains a language and not all
    the same one; empty otherwise.
    """
    for part in ("criterion", "rater"):
        for form in (_AT_THE_END, _AT_THE_START):
            named = [_with_language(answer, part, form) for answer in places]
            parted = list(filter(None, named))
            languages = {answer.language for answer in parted}
            if len(parted) < len(places) or len(languages) < 2:
                continue
            # expert_de, expert_br: initials, unless other raters have them too
            several = len({answer.rater for answer in parted}) * len(languages) <= len(places)
            if part == "criterion" or (several and len(languages) < len(places)):
                return parted
    return []


def _with_language(answer: AnswerColumn, part: str, form: re.Pattern[str]) -> AnswerColumn | None:
    """The column of answers with the language with which its rater's or criterion's name ends or
    begins.
    """
    match = form.fullmatch(getattr(answer, part))
    code = _code(match["language"]) if match else None
    if match is None or code is None:
        return None
    rest = "" if fold(match["rest"]) in ENDS else match["rest"]
    if part == "rater":
        return replace(answer, rater=rest, language=code) if rest else None
    return replace(answer, criterion=rest or OVERALL, language=code)


def _code(name: str) -> str | None:
    """The code of a language by its name, or by its two-letter code in lower case."""
    if len(name) > 3:
        return find_language(name)
    is_code = len(name) == 2 and name.islower() and is_language(name)
    return name if is_code and language_name(name) != name else None
