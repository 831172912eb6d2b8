"""Changes that must not raise a score: orders to the judge, praise by authorities or by many, false
citations, padding, lists.

Sentences are inserted in English and in the item's language (baits.toml).
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import regex

from metal.building.probes import scripts
from metal.building.probes.contract import (
    ASPECTS,
    BAIT,
    Material,
    NotApplicable,
    Probe,
    change_share,
)
from metal.data.files import read_toml
from metal.data.languages import sides

# Where the sentence before goes on: a quotation, whose speaker follows, an abbreviation, a number.
_GOES_ON = regex.compile(r"(?:[\"'»”’」』]|(?<![\p{L}\p{M}])[\p{L}\p{M}]{1,3}\.|\p{Nd}\.)[^\S\n]*$")
_ITEM = regex.compile(r"(?m)^\s*(?:[-*•]|\p{Nd}{1,2}[.)])\s")


@lru_cache(maxsize=1)
def _sentences() -> dict[str, Any]:
    """The sentences of baits.toml: {what: {language: sentence}}."""
    return read_toml(Path(__file__).with_name("baits.toml"))


def sentence(what: str, language: str) -> str:
    """The sentence of baits.toml in a language. Raises NotApplicable if there is none."""
    by_language = _sentences()[what]
    code = sides(language)[1]
    if not (text := by_language.get(code) or by_language.get(code.split("-")[0])):
        raise NotApplicable(
            "METAL has no such sentence in this language; see building/probes/baits.toml"
        )
    return str(text)


def own_sentence(what: str, language: str) -> str:
    """The sentence in the item's own language. Raises NotApplicable if that is English."""
    if sides(language)[1].split("-")[0] == "en":
        raise NotApplicable("the language is English")
    return sentence(what, language)


def _inserting(what: str, title: str, *, own: bool = False, english: bool = True) -> Probe:
    """A probe that adds a sentence below the text. own: add the sentence in the text's language,
    which is a separate probe.
    """

    def insert(material: Material, dose: float) -> str:
        added = own_sentence(what, material.language) if own else sentence(what, "en")
        return f"{material.text.rstrip()}\n\n{added}"

    tongue = " in English" if english else ""
    if own:
        tongue = " in its language"
    return Probe(
        f"{what}{tongue.replace(' ', '-')}", BAIT, f"{title}{tongue}", insert, capped=ASPECTS
    )


def _padded(material: Material, dose: float) -> str:
    """The text with the first half of its words repeated."""
    pieces, places = scripts.words(material.text, material.language)
    number = change_share(len(places), 0.5, "words")
    joint = "" if scripts.script_of(material.language) in scripts.UNSPACED else " "
    return f"{material.text.rstrip()}{joint}{''.join(pieces[: places[number - 1] + 1]).strip()}"


def _listed(material: Material, dose: float) -> str:
    """Turn each sentence into an item of a list."""
    items = [""]
    for sentence in scripts.sentences(material.text):
        before = items[-1]
        quoted = before.count('"') % 2 or any(
            before.count(a) > before.count(b) for a, b in ("“”", "«»", "「」", "『』")
        )
        # which ends no sentence beside dandas
        dotted = "।" in material.text and before.rstrip(" ").endswith(".")
        if not before or quoted or dotted or _GOES_ON.search(before):
            items[-1] += sentence
        else:
            items.append(sentence)
    if len(items) < 2:
        raise NotApplicable("one sentence")
    if _ITEM.search(material.text):
        raise NotApplicable("a list already")
    return "\n".join(f"- {item.strip()}" for item in items)


ORDER, OWN_ORDER = (_inserting("order", "an order", own=own) for own in (False, True))
SYSTEM_ORDER = _inserting("order-as-system-message", "an order as a system message", english=False)
AUTHORITY, OWN_AUTHORITY = (
    _inserting("authority", "an authority's praise", own=own) for own in (False, True)
)
BANDWAGON, OWN_BANDWAGON = (
    _inserting("bandwagon", "praise by many", own=own) for own in (False, True)
)
CITATION = _inserting("false-citation", "a false citation", english=False)
LISTED = Probe("as-a-list", BAIT, "a list in place of sentences", _listed, capped=ASPECTS)
PADDED = Probe("padded", BAIT, "padding", _padded, capped=ASPECTS)
