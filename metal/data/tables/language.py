"""The language of a table without a column called so: a column of language pairs or names, or the file's name."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import islice

import langcodes
import pandas as pd

from metal.data.languages import find_language, is_language, pair_in_capitals, sides
from metal.data.tables.cells import as_texts
from metal.data.tables.names import ENGLISH, NO_LANGUAGE, plain

UNKNOWN = "und"  # BCP 47: undetermined
MOST = 400  # values of a column of languages
LOOKED_AT = 300  # texts whose script is looked at
# ISO 15924 -> how Unicode names the letters of the script; others are called as they are in `langcodes`.
_SCRIPTS: Mapping[str, frozenset[str]] = {
    "Latn": frozenset({"LATIN"}),
    "Cyrl": frozenset({"CYRILLIC"}),
    "Arab": frozenset({"ARABIC"}),
    "Deva": frozenset({"DEVANAGARI"}),
    "Beng": frozenset({"BENGALI"}),
    "Hans": frozenset({"CJK"}),
    "Hant": frozenset({"CJK"}),
    "Jpan": frozenset({"CJK", "HIRAGANA", "KATAKANA"}),
    "Kore": frozenset({"HANGUL", "CJK"}),
    "Ethi": frozenset({"ETHIOPIC"}),
    "Mlym": frozenset({"MALAYALAM"}),
    "Knda": frozenset({"KANNADA"}),
    "Taml": frozenset({"TAMIL"}),
    "Telu": frozenset({"TELUGU"}),
    "Gujr": frozenset({"GUJARATI"}),
    "Guru": frozenset({"GURMUKHI"}),
    "Orya": frozenset({"ORIYA"}),
    "Sinh": frozenset({"SINHALA"}),
    "Thai": frozenset({"THAI"}),
    "Khmr": frozenset({"KHMER"}),
    "Laoo": frozenset({"LAO"}),
    "Mymr": frozenset({"MYANMAR"}),
    "Tibt": frozenset({"TIBETAN"}),
    "Hebr": frozenset({"HEBREW"}),
    "Grek": frozenset({"GREEK"}),
    "Armn": frozenset({"ARMENIAN"}),
    "Geor": frozenset({"GEORGIAN"}),
}


def with_language(frame: pd.DataFrame, roles: Mapping[str, str]) -> dict[str, str]:
    """The roles with a column as the language whose values are all language pairs (`en-de`) or names of languages,
    where no column is called so; of several, the first. The languages of input and output in two columns are a pair.
    """
    if "language" in roles:
        by_name = {plain(str(name)): str(name) for name in frame.columns}
        of_input = next((by_name[name] for name in ("srclang", "sourcelang", "sourcelanguage") if name in by_name), "")
        if of_input and plain(roles["language"]) in ("tgtlang", "targetlang", "targetlanguage"):
            return {**roles, "language": f"{of_input}+{roles['language']}"}
        return dict(roles)
    taken = set(roles.values())
    for name, column in frame.items():
        first = column.array[0] if len(column) else None
        if name in taken or not (isinstance(first, str) and _is_pair_or_name(first)):
            continue
        values = as_texts(column).cat.categories
        if len(values) <= MOST and column.notna().all() and all(map(_is_pair_or_name, values)):
            return {**roles, "language": str(name)}
    return dict(roles)


def _is_pair_or_name(text: str) -> bool:
    """Whether it is a language pair, or the name of a language; a code could be many other things.

    >>> [_is_pair_or_name(text) for text in ("en-de", "Swahili", "no", "pre-test")]
    [True, True, False, False]
    """
    if pair_in_capitals(text):
        return True
    if is_language(text):
        left, right = sides(text)
        return left != right and len(left) == len(right) == 2
    return len(text) > 4 and find_language(text) is not None


def pair_in_two(frame: pd.DataFrame) -> str:
    """`src+tgt` where these columns hold codes of languages, those of input and output, in every row; else ""."""
    by_name = {plain(str(name)): str(name) for name in frame.columns}
    for of_input, of_output in (("src", "tgt"), ("source", "target")):
        if not {of_input, of_output} <= by_name.keys():
            continue
        first, second = by_name[of_input], by_name[of_output]
        if _are_codes(frame[first]) and _are_codes(frame[second]):
            same = as_texts(frame[first]).astype(object) == as_texts(frame[second]).astype(object)
            return "" if same.any() else f"{first}+{second}"
    return ""


def _are_codes(column: pd.Series) -> bool:
    if not column.notna().all() or not isinstance(next(iter(column), None), str):
        return False
    values = as_texts(column).cat.categories
    codes = len(values) <= MOST and all(re.fullmatch("[a-z]{2,3}(-[A-Za-z]{2,4})?", text) for text in values)
    return codes and all(map(is_language, values))


def language_of(stem: str, columns: Iterable[str], texts: pd.Series | None) -> tuple[str, str]:
    """The code of the language that a file is named after, or UNKNOWN; and why.

    stem: the file's name without its end. columns: of the table. texts: the rated ones, or the inputs, if any.
    A name counts where the texts are in the language's script, a code of two letters only then; not where it is a
    column's name too (`da.csv` with a column `DA`).
    """
    word = re.split(r"[^A-Za-z]+", stem)[-1]  # polish_quality.csv is not in Polish
    script = _script(texts) if texts is not None else ""
    code = find_language(word) if len(word) > 4 or (len(word) == 2 and word.islower()) else None
    named_otherwise = word in NO_LANGUAGE or word.lower() in map(plain, columns)
    if code is not None and not named_otherwise:
        if script and script in _letters_of(code) and not (script == "LATIN" and code != "en" and _in_english(texts)):
            return code, "by the file's name and the texts' script"
        if not script and len(word) > 4:
            return code, "by the file's name"
    in_script = f"; the texts are in {script.capitalize()} script" if script and script != "LATIN" else ""
    return UNKNOWN, f"unknown: no column for it{in_script}"


def _in_english(texts: pd.Series | None) -> bool:
    """Whether every tenth word or more is one that only English has in such numbers."""
    words: list[str] = []
    for text in islice([] if texts is None else texts.dropna().unique(), LOOKED_AT):
        words += re.findall(r"[a-z']+", str(text).lower())
    return bool(words) and 10 * sum(word in ENGLISH for word in words) >= len(words)


@lru_cache(maxsize=256)
def _letters_of(code: str) -> frozenset[str]:
    script = langcodes.Language.get(sides(code)[1]).maximize().script or ""
    return _SCRIPTS.get(script, frozenset())


def _script(texts: pd.Series) -> str:
    """What Unicode calls most letters of the texts; "" where there are none."""
    counts: Counter[str] = Counter()
    for text in islice(texts.dropna().unique(), LOOKED_AT):
        for letter in str(text)[:LOOKED_AT]:
            if letter.isalpha():
                counts[unicodedata.name(letter, "?").split()[0]] += 1
    return counts.most_common(1)[0][0] if counts else ""
