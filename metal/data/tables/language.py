"""Find the language of a table without a column of that name: by a column of language pairs or
names, or by the file's name.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from itertools import islice

import langcodes
import pandas as pd

from metal.data.languages import UNNAMED as UNKNOWN
from metal.data.languages import find_language, is_language, pair_in_capitals, sides
from metal.data.tables.answer_columns import holds_answers
from metal.data.tables.cells import as_texts
from metal.data.tables.names import ENGLISH, NO_LANGUAGE, plain, words_of

MOST = 400  # values of a column of languages
LOOKED_AT = 300  # texts whose script is looked at
# ISO 15924 -> how Unicode names the letters of the script; others are called as they are in
# `langcodes`.
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
    """The roles with a language column that is found by its values, if no column has that name.

    All its values are language pairs (`en-de`), names of languages, or codes; of several such
    columns, the first is taken. Two columns with the languages of input and output form a pair.
    """
    if "language" in roles:
        by_name = {plain(str(name)): str(name) for name in frame.columns}
        names_of_input = ("srclang", "sourcelang", "sourcelanguage")
        of_input = next(filter(None, map(by_name.get, names_of_input)), "")
        if of_input and plain(roles["language"]) in ("tgtlang", "targetlang", "targetlanguage"):
            return {**roles, "language": f"{of_input}+{roles['language']}"}
        return dict(roles)
    free = [
        (str(name), column) for name, column in frame.items() if name not in set(roles.values())
    ]
    names = [name for name, column in free if _all(column, _is_pair_or_name)]
    names += [name for name, column in free if _are_codes(name, column)]
    return {**roles, "language": names[0]} if names else dict(roles)


def _all(column: pd.Series, says_it: Callable[[str], bool]) -> bool:
    """Whether every cell is a text for which the test `says_it` is true."""
    first = column.array[0] if len(column) else None
    if not (isinstance(first, str) and says_it(first)):
        return False
    values = as_texts(column).cat.categories
    return len(values) <= MOST and bool(column.notna().all()) and all(map(says_it, values))


def _is_pair_or_name(text: str) -> bool:
    """Whether a text is a language pair, or the name of a language.

    >>> [_is_pair_or_name(text) for text in ("en-de", "Swahili", "no", "pre-test")]
    [True, True, False, False]
    """
    if pair_in_capitals(text):
        return True
    if is_language(text):
        left, right = sides(text)
        return left != right and len(left) == len(right) == 2
    return _is_name(text)


def _is_code(text: str) -> bool:
    """Whether a text is a language code of two letters, or a longer one with a script or region.

    >>> [_is_code(text) for text in ("sw", "zh-Hant", "pt_BR", "deu_Latn", "EN", "and", "cat")]
    [True, True, True, True, False, False, False]
    """
    return re.fullmatch(
        "[a-z]{2}|[a-z]{2,3}[-_][A-Z][A-Za-z]{1,3}", text
    ) is not None and is_language(text)


def _are_codes(name: str, column: pd.Series) -> bool:
    """Whether the cells are language codes, rather than countries (by the column's name), answers
    or words (`no`).
    """
    if not _all(column, _is_code):
        return False
    values = {*as_texts(column).cat.categories}
    of_countries = not {"country", "region", "market", "state", "nation"}.isdisjoint(words_of(name))
    return not (of_countries or values <= {*NO_LANGUAGE} or holds_answers(column))


def pair_in_two(frame: pd.DataFrame) -> str:
    """`src+tgt` if these columns hold the languages of input and output, as codes or names, in
    every row; else "".
    """
    by_name = {plain(str(name)): str(name) for name in frame.columns}
    for of_input, of_output in (("src", "tgt"), ("source", "target"), ("from", "to")):
        if not {of_input, of_output} <= by_name.keys():
            continue
        first, second = by_name[of_input], by_name[of_output]
        if _all(frame[first], _is_one_language) and _all(frame[second], _is_one_language):
            same = as_texts(frame[first]).astype(object) == as_texts(frame[second]).astype(object)
            return "" if same.any() else f"{first}+{second}"
    return ""


def _is_one_language(text: str) -> bool:
    """Whether a text is the code or name of one language.

    >>> [_is_one_language(text) for text in ("de", "DEU", "German", "deu_Latn", "Haus", "en-de")]
    [True, True, True, True, False, False]
    """
    if re.fullmatch("[a-z]{2,3}|[A-Z]{2,3}|[a-z]{2,3}[-_][A-Za-z]{2,4}", text):
        return is_language(text) and sides(text)[0] == text
    return _is_name(text) and sides(find_language(text) or "")[0] == find_language(text)


def _is_name(text: str) -> bool:
    return len(text) > 4 and find_language(text) is not None


def language_of(stem: str, columns: Iterable[str], texts: pd.Series | None) -> tuple[str, str]:
    """The code of the language after which a file is named, or UNKNOWN; with the reason.

    stem: the file's name without its ending. columns: the columns of the table. texts: the rated
    texts or the inputs, if there are any. A name counts unless the texts are in another script, or
    a column has the same name (`da.csv` with a column `DA`). A two-letter code counts only if the
    texts are in the language's script.
    """
    word = re.split(r"[^A-Za-z]+", stem)[-1]  # polish_quality.csv is not in Polish
    script = _script(texts) if texts is not None else ""
    code = find_language(word) if re.fullmatch("[a-z]{2}|[A-Za-z]{5,}", word) else None
    named_otherwise = word in NO_LANGUAGE or word.lower() in map(plain, columns)
    if code is not None and not named_otherwise:
        if script in _letters_of(code) and not (
            script == "LATIN" and code != "en" and _in_english(texts)
        ):
            return code, "by the file's name and the texts' script"
        if not script and len(word) > 4:
            return code, "by the file's name"
    in_script = (
        f"; the texts are in {script.capitalize()} script" if script and script != "LATIN" else ""
    )
    return UNKNOWN, f"unknown: no column for it{in_script}"


def _in_english(texts: pd.Series | None) -> bool:
    """Whether at least every tenth word is one that is so frequent only in English."""
    words: list[str] = []
    for text in islice([] if texts is None else texts.dropna().unique(), LOOKED_AT):
        words += re.findall(r"[a-z']+", str(text).lower())
    return bool(words) and 10 * sum(word in ENGLISH for word in words) >= len(words)


@lru_cache(maxsize=256)
def _letters_of(code: str) -> frozenset[str]:
    script = langcodes.Language.get(sides(code)[1]).maximize().script or ""
    return _SCRIPTS.get(script, frozenset())


def _script(texts: pd.Series) -> str:
    """Unicode's name of the script of most letters in the texts; "" without letters."""
    counts: Counter[str] = Counter()
    for text in islice(texts.dropna().unique(), LOOKED_AT):
        for letter in str(text)[:LOOKED_AT]:
            if letter.isalpha():
                counts[unicodedata.name(letter, "?").split()[0]] += 1
    return counts.most_common(1)[0][0] if counts else ""
