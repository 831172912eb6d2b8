"""Changes that do not matter to any reader: encoding of letters, quotation marks, blanks, bold
type.
"""

from __future__ import annotations

import unicodedata

import regex

from metal.building.probes import scripts
from metal.building.probes.contract import ASPECTS, INVARIANT, Material, NotApplicable, Probe

_QUOTED = regex.compile(r"[\"“”„«»]")
_OPENING = regex.compile(r"(?<![^\s(\[{—–-])\"(?=\S)")  # after a blank or a bracket, before a word


def _normalised(material: Material, dose: float) -> str:
    """Decompose composed letters or, if there are none, compose letters with their marks."""
    for form in ("NFD", "NFC"):
        if (changed := unicodedata.normalize(form, material.text)) != material.text:
            return changed
    raise NotApplicable("no letters with two encodings")


def _quotes(material: Material, dose: float) -> str:
    """Make quotation marks straight or, if they are straight already, curly."""
    if not _QUOTED.search(material.text):
        raise NotApplicable("no quotation marks")
    if '"' not in material.text:
        return str(_QUOTED.sub('"', material.text))
    changed = str(_OPENING.sub("“", material.text)).replace('"', "”")
    marks = "".join(regex.findall("[“”„]", changed))
    if marks != "“”" * (len(marks) // 2) or regex.search(r"“\s|\s”", changed):
        raise NotApplicable("quotation marks that do not pair")
    return changed


def _blanks(material: Material, dose: float) -> str:
    """Double all blanks, and add an empty line at the end."""
    return material.text.replace(" ", "  ").rstrip() + "\n\n"


def _markdown(material: Material, dose: float) -> str:
    """Put the first sentence in bold type; all blanks stay."""
    first = scripts.sentences(material.text)[0]
    if "*" in first:
        raise NotApplicable("asterisks already")
    return material.text.replace(first.strip(), f"**{first.strip()}**", 1)


NORMALISED, QUOTES, BLANKS, MARKDOWN = (
    Probe(name, INVARIANT, what, change, stays=ASPECTS)
    for name, what, change in (
        ("other-encoding", "another encoding of letters", _normalised),
        ("other-quotes", "other quotation marks", _quotes),
        ("more-blanks", "more blanks", _blanks),
        ("bold-type", "bold type", _markdown),
    )
)
