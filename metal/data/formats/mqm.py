"""MQM scores of WMT 2020 and 2021: experts mark errors in translations, and a segment's score is
minus the weights of its errors.

    system mqm_avg_score seg_id

separated by spaces or tabs, despite the ending .tsv. A score is the mean over the experts who read
the segment, from 0 without errors to -25; None if nobody read it. Where a score is below -25, as in
releases that count more than five errors, the scale has no ends. seg_id is the segment's place in
the test set, counting from 1.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

from metal.data.dataset import Card
from metal.data.files import read_text
from metal.data.formats import Draft, Format, Reading, human_generators, language_option, only_file
from metal.data.languages import find_language
from metal.data.own_ranges import with_ranges
from metal.data.records import Criterion, Output, Rater, Scale, Source
from metal.errors import DataError, UsageError

COLUMNS = ("system", "mqm_avg_score", "seg_id")
# Languages that are often translated.
CODES = """
    af am ar az be bg bn bs ca cs cy da de el en es et eu fa fi fr ga gl gu ha he hi hr hu hy id is
    it iu ja ka kk km kn ko ky lt lv mk ml mn mr ms my ne nl no pa pl ps pt ro ru si sk sl so sq
    sr sv sw ta te th tl tr uk ur uz vi xh yo zh zu
"""
TRANSLATED = frozenset(CODES.split())
# Without a hyphen, English or both of these: else `team`, `date` and `note` would be languages.
WITHOUT_ENGLISH = frozenset("bn cs de es fr hi ja ru uk xh zh zu".split())  # noqa: SIM905
ENGLISH_WORDS = ("amen", "been", "hide", "then")
MQM_LOW = -25.0
MQM = Criterion(
    "mqm",
    Scale("interval", (), MQM_LOW, 0),
    label="MQM",
    question="How grave are the translation's errors?",
)
RATER = Rater("MQM", "human", "expert", {"panel": True})  # the mean of several


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read the released file, or the folder that holds it. Sources are named by their place,
    counting from 1.
    """
    file = only_file(path, "mqm*.tsv")
    language = language_in(file.name, options, file)
    rows = _rows(file)
    reading = Reading(raters={RATER.rater: RATER})
    reading.sources = {
        f"{number}": Source(f"{number}", language)
        for number in sorted({number for number, _ in rows})
    }
    for (number, system), score in rows.items():
        output = f"{number}/{system}"
        reading.outputs[output] = Output(output, f"{number}", system, language)
        reading.rows.append(
            (output, MQM.name, RATER.rater, score, "no score" if math.isnan(score) else "", "")
        )
    missing = sum(map(math.isnan, rows.values()))
    criterion = MQM
    if any(score < MQM_LOW for score in rows.values()):
        criterion = replace(MQM, scale=Scale("interval"))
    reading.notes = [
        *about_language(language, options),
        "a score is the mean over the experts who read the segment; together they are one"
        " rater, MQM",
    ]
    reading.notes += [f"{missing} ratings without a score (nan)"] if missing else []
    citation = "Freitag et al. (TACL 2021), Experts, Errors, and Context"
    card = Card(
        f"mqm-{language}",
        "MQM scores of translations by experts",
        licence="Apache-2.0",
        citation=citation,
    )
    return replace(
        reading.draft(
            card,
            with_ranges([criterion], options),
            human_generators(system for _, system in rows),
        ),
        counted_from=1,
    )


def language_in(name: str, options: Mapping[str, Any], file: object) -> str:
    """The language pair in the option `language`, else in a file's name: the last part of the name
    that is two languages of TRANSLATED (`mqm_ted_zhen.tsv`, `mqm-en-de.tsv`, `mqm_ende2.tsv`).
    Raises UsageError if there is none.
    """
    if options.get("language"):
        return language_option(options["language"])
    parts = [part.rstrip("0123456789") for part in re.split(r"[._ ]", name.lower())]
    asked = next(filter(None, map(_pair, reversed(parts))), None)
    asked = asked or next(filter(None, map(_pair_within, reversed(parts))), None)
    if asked is None:
        problem = "its name says no language pair (mqm_ted_zhen.tsv is of zh-en)"
        raise UsageError(f"{file}: {problem}; give it with `language`, e.g. zh-en")
    return asked


def about_language(language: str, options: Mapping[str, Any]) -> list[str]:
    """A note on the language if it is that in the name of the file."""
    if options.get("language"):
        return []
    return [f"the file's name says {language}; `language` changes it"]


def _pair(part: str) -> str | None:
    """The language pair that a part of a file's name means: `zhen`, `zh-en`."""
    halves = re.fullmatch("([a-z]{2})(-?)([a-z]{2})", part)
    if not halves or part in ENGLISH_WORDS:
        return None
    pair = {halves[1], halves[3]}
    usual = halves[2] or "en" in pair or pair <= WITHOUT_ENGLISH
    if not usual or len(pair) < 2 or not pair <= TRANSLATED:
        return None
    return find_language(f"{halves[1]}-{halves[3]}")


def _pair_within(part: str) -> str | None:
    """The last language pair among words with hyphens between them: `mqm-ende`, `mqm-en-de-2`.

    Two languages with a hyphen between them are a pair if no third one stands beside them, and if
    they are a usual pair: `what-is-it` names none.
    """
    pair = None
    names = [name.rstrip("0123456789") for name in part.split("-")]
    for are_languages, run in groupby(names, TRANSLATED.__contains__):
        beside = list(run)
        if are_languages and len(beside) == 2:
            pair = _pair("".join(beside)) or pair
        elif not are_languages:
            pair = next(filter(None, map(_pair, reversed(beside))), None) or pair
    return pair


def _rows(file: Path) -> dict[tuple[int, str], float]:
    """{(place, system): score} in the order of the file; NaN if the file says nan."""
    lines = read_text(file).splitlines()
    header = _fields(lines[0]) if lines else []
    lacking = [name for name in COLUMNS if name not in header]
    if lacking:
        raise DataError(
            f"{file} row 1",
            f"no column {lacking[0]!r}",
            f"The columns are {' '.join(COLUMNS)}, with spaces or tabs",
        )
    at = list(map(header.index, COLUMNS))
    scores: dict[tuple[int, str], float] = {}
    for number, line in enumerate(lines[1:], 2):
        if not line.strip():
            continue
        location, fields = f"{file} row {number}", _fields(line)
        if len(fields) != len(header):
            raise DataError(
                location,
                f"{len(fields)} fields where the header names {len(header)}",
                "One segment per row",
            )
        system, score, segment = (fields[column] for column in at)
        key = (_place(segment, location), system)
        if key in scores:
            raise DataError(
                location, f"segment {key[0]} of {system!r} a second time", "Keep one of them"
            )
        scores[key] = _score(score, location)
    if not scores:
        raise DataError(file, "no scores in it", f"The columns are {' '.join(COLUMNS)}")
    return scores


def _fields(line: str) -> list[str]:
    """The fields of a row; the files of 2021 have a tab and a space between them."""
    return [field for part in line.split("\t") for field in part.split()]


def _place(text: str, location: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise DataError(
            location, f"seg_id {text!r}", "It is the segment's place in the test set: 1, 2, 3, ..."
        )
    return int(text)


def _score(text: str, location: str) -> float:
    if text == "None":
        return math.nan
    try:
        score = float(text)
    except ValueError:
        raise DataError(
            location, f"score {text!r} is not a number", "Write nan where there is none"
        ) from None
    if math.isinf(score) or score > 0:
        raise DataError(
            location, f"score {text}", "MQM is 0 for a segment without errors, else below 0"
        )
    return score


FORMAT = Format(
    "MQM scores of WMT 2020 and 2021 by experts, one mean per segment",
    read,
    frozenset({"language", "ranges"}),
    (("mqm*.tsv", COLUMNS),),
)
