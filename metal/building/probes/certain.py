"""Changes that every reader of the language notices: another text, no text, half of the text, other
figures.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain

import regex

from metal.building.probes import scripts
from metal.building.probes.baits import own_sentence, sentence
from metal.building.probes.contract import (
    CERTAIN,
    CONTENT,
    FACTS,
    LANGUAGE,
    OVERALL,
    TASK,
    Material,
    NotApplicable,
    Probe,
)
from metal.data.records import EMPTY

# Digits, but for the numbers of a list's items.
_DIGIT = regex.compile(r"(?:(?<!\S)\p{Nd}{1,2}[.)](?=\s))(*SKIP)(*FAIL)|\p{Nd}")
_INSIDE = regex.compile(r"[\p{L}\p{M}][\p{L}\p{M}\p{N}'’-]*")
_CASED = regex.compile(r"\p{Lu}")


def _swapped(material: Material, dose: float) -> str:
    usable = [text for text in material.others if text != material.text]
    if not usable:
        raise NotApplicable("no output of another source in the language")
    return usable[int(material.rng.integers(len(usable)))]


def _wrong_language(material: Material, dose: float) -> str:
    if not material.foreign:
        raise NotApplicable("no output in another language")
    return material.foreign[0]


def _cut_in_half(material: Material, dose: float) -> str:
    pieces, places = scripts.words(material.text, material.language)
    if len(places) < 4:
        raise NotApplicable("fewer than 4 words")
    return "".join(pieces[: places[len(places) // 2]]).rstrip()


def _repeated(material: Material, dose: float) -> str:
    return " ".join([material.text.strip()] * 3)


def _digits_changed(material: Material, dose: float) -> str:
    if not _DIGIT.search(material.text):
        raise NotApplicable("no digits")

    def other(digit: regex.Match[str]) -> str:
        step = int(material.rng.integers(1, 10))
        changed = scripts.other_digit(digit[0], step)
        first = not material.text[: digit.start()][-1:].isdecimal()
        return (
            scripts.other_digit(digit[0], step % 9 + 1)
            if first and unicodedata.decimal(changed) == 0
            else changed
        )

    # no figure begins with 0, which would look wrong rather than be it
    return str(_DIGIT.sub(other, material.text))


def _name_swapped(material: Material, dose: float) -> str:
    """Replace a name, wherever it occurs, by a name from another item. A name is a capitalised word
    that stands inside a sentence, and that the item's source has but no other item has. In scripts
    without capitals, such words are mostly foreign.
    """
    if scripts.script_of(material.language) not in scripts.CASED:
        raise NotApplicable("no capitals to tell names by")
    every = material.others
    if "names" not in every.shared:
        every.shared["names"] = _index_of_names(every.texts)
    text_words, named, everywhere = every.shared["names"]
    here = Counter(chain.from_iterable(text_words[index] for index in every.left_out))
    own = [
        name for name in _names(material.text, material.source) if everywhere[name] == here[name]
    ]
    others = [
        name
        for index, name in named
        if everywhere[name] - here[name] < 2 and index not in every.left_out
    ]
    others = [name for name in others if name not in material.text]
    if not own or not others:
        raise NotApplicable("no name")
    name, other = (names[int(material.rng.integers(len(names)))] for names in (own, others))
    alone = rf"(?<![\p{{L}}\p{{M}}]){regex.escape(name)}(?![\p{{L}}\p{{M}}])"
    return str(regex.sub(alone, lambda _: other, material.text))


def _index_of_names(
    texts: Sequence[str],
) -> tuple[list[set[str]], list[tuple[int, str]], Counter[str]]:
    """For some texts: the words inside sentences of each text, each name with the number of its
    text, and how many texts contain each word.
    """
    text_words = [set(_INSIDE.findall(text)) for text in texts]
    named = [(index, name) for index, text in enumerate(texts) for name in _names(text, text)]
    return text_words, named, Counter(chain.from_iterable(text_words))


def _names(text: str, source: str) -> list[str]:
    """The capitalised words that stand inside a sentence of the text and that the source also has,
    each once.
    """
    inside = [
        word for sentence in scripts.sentences(text) for word in _INSIDE.findall(sentence)[1:]
    ]
    return [
        word
        for word in dict.fromkeys(inside)
        if _CASED.match(word) and (not source or word in source)
    ]


def _other_script(material: Material, dose: float) -> str:
    changed = scripts.in_other_script(material.text, material.language)
    if changed is None or changed == material.text:
        raise NotApplicable("its letters have no sounds in other letters")
    return changed


def _replaced(name: str, what: str, text: Callable[[str], str]) -> Probe:
    """A probe that replaces the whole output. text: gives the replacement for a language."""
    return Probe(
        name,
        CERTAIN,
        what,
        lambda material, dose: text(material.language),
        falls=(CONTENT, TASK, OVERALL),
    )


SWAPPED = Probe(
    "swapped-output",
    CERTAIN,
    "swapped outputs",
    _swapped,
    falls=(TASK, FACTS, OVERALL),
    stays=(LANGUAGE,),
    of_source=True,
)
EMPTIED = _replaced(EMPTY, "empty outputs", lambda _: "")
NOT_AVAILABLE = _replaced("not-available", "“N/A” as output", lambda _: "N/A")
# Replies that say nothing and that some judges score high: "master keys" (Zhao et al. 2025).
COLON = _replaced("only-a-colon", "a colon as output", lambda _: ":")
KEY = _replaced("key-in-English", "“Thought process:” as output", lambda _: sentence("key", "en"))
OWN_KEY = _replaced(
    "key-in-its-language",
    "“Thought process:” in its language as output",
    lambda language: own_sentence("key", language),
)
WRONG_LANGUAGE = Probe(
    "wrong-language",
    CERTAIN,
    "outputs in a wrong language",
    _wrong_language,
    falls=(LANGUAGE, TASK, OVERALL),
)
CUT = Probe(
    "cut-in-half", CERTAIN, "outputs cut in half", _cut_in_half, falls=(CONTENT, TASK, OVERALL)
)
REPEATED = Probe(
    "repeated-three-times",
    CERTAIN,
    "outputs repeated three times",
    _repeated,
    falls=(CONTENT, OVERALL),
    stays=(FACTS,),
)
DIGITS = Probe(
    "digits-changed",
    CERTAIN,
    "changed digits",
    _digits_changed,
    falls=(FACTS, OVERALL),
    stays=(LANGUAGE,),
    of_source=True,
)
NAME = Probe(
    "name-swapped",
    CERTAIN,
    "swapped names",
    _name_swapped,
    falls=(FACTS,),
    stays=(LANGUAGE,),
    of_source=True,
)
OTHER_SCRIPT = Probe(
    "other-script", CERTAIN, "outputs in another script", _other_script, falls=(LANGUAGE, OVERALL)
)
