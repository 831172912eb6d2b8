"""What must not raise a score: an order to the judge, in English or in the item's language; padding."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from metal.building.probes import scripts
from metal.building.probes.contract import ASPECTS, BAIT, Material, NotApplicable, Probe, change_share
from metal.data.files import read_toml
from metal.data.languages import sides


@lru_cache(maxsize=1)
def _sentences() -> dict[str, Any]:
    """{what: {language: sentence}} of baits.toml."""
    return read_toml(Path(__file__).with_name("baits.toml"))


def _inserted(material: Material, what: str, language: str) -> str:
    by_language = _sentences()[what]
    code = sides(language)[1]
    sentence = by_language.get(code) or by_language.get(code.split("-")[0])
    if not sentence:
        raise NotApplicable("METAL has no such sentence in the language; see building/probes/baits.toml")
    return f"{material.text.rstrip()}\n\n{sentence}"


def _order(material: Material, dose: float) -> str:
    return _inserted(material, "order", "en")


def _own_order(material: Material, dose: float) -> str:
    if sides(material.language)[1].split("-")[0] == "en":
        raise NotApplicable("the language is English")
    return _inserted(material, "order", material.language)


def _padded(material: Material, dose: float) -> str:
    """Half of the words once more, from the beginning."""
    pieces, places = scripts.words(material.text, material.language)
    number = change_share(len(places), 0.5, "words")
    joint = "" if scripts.script_of(material.language) in scripts.UNSPACED else " "
    return f"{material.text.rstrip()}{joint}{''.join(pieces[: places[number - 1] + 1]).strip()}"


ORDER = Probe("order-in-English", BAIT, "an order in English", _order, capped=ASPECTS)
OWN_ORDER = Probe("order-in-its-language", BAIT, "an order in its language", _own_order, capped=ASPECTS)
PADDED = Probe("padded", BAIT, "padding", _padded, capped=ASPECTS)
