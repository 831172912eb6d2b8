"""Changes of a share of the text. People hardly notice small changes, so a change counts only if
people noticed it.
"""

from __future__ import annotations

import numpy as np

from metal.building.probes import scripts
from metal.building.probes.contract import (
    CONTENT,
    FACTS,
    GRADED,
    LANGUAGE,
    OVERALL,
    TASK,
    TOLERANCE,
    Material,
    NotApplicable,
    Probe,
    change_share,
)
from metal.data.grouping import grouped

DOSES = (0.1, 0.2, 0.4)
ATTEMPTS = 20  # at an order in which equal words do not stand in each other's places


def _words_deleted(material: Material, dose: float) -> str:
    pieces, places = scripts.words(material.text, material.language)
    number = change_share(len(places), dose, "words")
    for index in material.rng.choice(places, number, replace=False):
        pieces[index] = ""
        if index + 1 < len(pieces) and pieces[index + 1] == " ":
            pieces[index + 1] = ""
    return scripts.joined(pieces).strip()


def _words_shuffled(material: Material, dose: float) -> str:
    pieces, places = scripts.words(material.text, material.language)
    return scripts.joined(_shuffled(pieces, places, dose, "words", material.rng))


def _sentences_shuffled(material: Material, dose: float) -> str:
    sentences = scripts.sentences(material.text)
    if len(sentences) < 3:
        raise NotApplicable("fewer than 3 sentences")
    bodies = [sentence.rstrip() for sentence in sentences]
    moved = _shuffled(bodies, range(len(bodies)), dose, "sentences", material.rng)
    gaps = (sentence[len(body) :] for sentence, body in zip(sentences, bodies, strict=True))
    return "".join(f"{body}{gap}" for body, gap in zip(moved, gaps, strict=True))


def _shuffled(
    pieces: list[str], places: list[int] | range, dose: float, what: str, rng: np.random.Generator
) -> list[str]:
    """Shuffle a share of the pieces at `places`: each moved piece takes the position of the next
    one in a circle.
    """
    number = change_share(len(places), dose, what, least=2)
    for _ in range(ATTEMPTS):
        moved = list(map(int, rng.permutation(rng.choice(places, number, replace=False))))
        changed = list(pieces)
        for index, taken in zip(moved, [*moved[1:], moved[0]], strict=True):
            changed[index] = pieces[taken]
        differing = sum(changed[index] != pieces[index] for index in places)
        if abs(differing / len(places) - dose) <= TOLERANCE:
            return changed
    raise NotApplicable(f"too many equal {what}")


def _characters_noised(material: Material, dose: float) -> str:
    """Replace letters by other letters of the text in the same script. Whole grapheme clusters are
    replaced, so that the text stays well formed in every script.
    """
    pieces = scripts.clusters(material.text)
    by_script = grouped(pieces, scripts.script_of_letter)
    by_script = {
        script: letters for script, letters in by_script.items() if script and len({*letters}) > 1
    }
    places = [index for index, piece in enumerate(pieces) if scripts.script_of_letter(piece)]
    number = change_share(len(places), dose, "letters")
    places = [index for index in places if scripts.script_of_letter(pieces[index]) in by_script]
    if len(places) < number:
        raise NotApplicable("too many equal letters")
    for index in material.rng.choice(places, number, replace=False):
        others = [
            letter
            for letter in by_script[scripts.script_of_letter(pieces[index])]
            if letter != pieces[index]
        ]
        pieces[index] = others[int(material.rng.integers(len(others)))]
    return "".join(pieces)


def _diacritics_stripped(material: Material, dose: float) -> str:
    pieces = scripts.clusters(material.text)
    places = [index for index, piece in enumerate(pieces) if scripts.without_marks(piece) != piece]
    if not places:
        raise NotApplicable("no diacritics")
    for index in material.rng.choice(
        places, change_share(len(places), dose, "diacritics"), replace=False
    ):
        pieces[index] = scripts.without_marks(pieces[index])
    return "".join(pieces)


WORDS_DELETED = Probe(
    "words-deleted",
    GRADED,
    "deleted words",
    _words_deleted,
    falls=(LANGUAGE, CONTENT, OVERALL),
    doses=DOSES,
)
WORDS_SHUFFLED = Probe(
    "words-shuffled",
    GRADED,
    "shuffled words",
    _words_shuffled,
    falls=(LANGUAGE, CONTENT, OVERALL),
    doses=DOSES,
)
# A tenth of the sentences of a summary is none.
SENTENCES_SHUFFLED = Probe(
    "sentences-shuffled",
    GRADED,
    "shuffled sentences",
    _sentences_shuffled,
    falls=(CONTENT,),
    stays=(FACTS,),
    doses=(0.4, 1.0),
)
CHARACTERS_NOISED = Probe(
    "characters-noised",
    GRADED,
    "wrong letters",
    _characters_noised,
    falls=(LANGUAGE, OVERALL),
    doses=DOSES,
)
DIACRITICS_STRIPPED = Probe(
    "diacritics-stripped",
    GRADED,
    "missing diacritics",
    _diacritics_stripped,
    falls=(LANGUAGE,),
    stays=(TASK, FACTS),
    doses=(*DOSES, 1.0),
)
