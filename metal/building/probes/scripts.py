"""Cut texts in any script into parts that can be changed: words, sentences, digits, marks. Also
write texts in another script.

In languages written without blanks, the unit is the grapheme cluster (what a reader sees as one
character) or a run of Latin letters and digits.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from itertools import pairwise

import langcodes
import regex

from metal.data.languages import sides

UNSPACED = frozenset({"Hani", "Hans", "Hant", "Jpan", "Thai", "Laoo", "Khmr", "Mymr", "Tibt"})
CASED = frozenset({"Latn", "Cyrl", "Grek", "Armn"})
LONG = 20  # clusters without a blank that are no word
_CLUSTER = regex.compile(r"\X")
_LATIN = regex.compile(r"[\p{Latin}\p{Nd}]")
# names and figures are no single letters
_UNSPACED_WORD = regex.compile(r"(?:\p{Latin}\p{M}*|\p{Nd})+|\X")
_WORD = regex.compile(r"\s+|\S+")
# The number of a list's item ends no sentence.
_SENTENCE = regex.compile(
    r"(?s).+?(?:(?<!(?:^|\n)\s*\p{Nd}{1,2})[.!?…؟۔]+[\"'»”’)\]]*(?=\s|$)|[।॥。"
    r"！？｡።፧။៕]+[\"'»”’」』)\]]*|\n+|$)\s*"
)
_LETTER = regex.compile(r"[\p{L}\p{N}]")
# Marks that a text can be read without: tones and accents, Hebrew points, Arabic short vowels.
# Vowel signs are no such.
_MARK = regex.compile(
    r"[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u064b-\u0652\u0670]"
)


@lru_cache(maxsize=256)
def script_of(language: str) -> str:
    """The script (ISO 15924) of a language, such as `Deva` or `Latn`; for a translation pair, the
    script of the second language.
    """
    return langcodes.Language.get(sides(language)[1]).maximize().script or "Latn"


def clusters(text: str) -> list[str]:
    """The grapheme clusters of a text."""
    return list(map(str, _CLUSTER.findall(text)))


def words(text: str, language: str) -> tuple[list[str], list[int]]:
    """Split a text into pieces; also return the positions of the pieces that are words. The other
    pieces are between words.

    In languages without blanks, and in texts without any, each cluster with a letter or digit is a
    word, and so is a run of Latin letters and digits. Bullets and dashes are not words.

    >>> words("a - b!", "en"), words("你好。", "zh"), words("11月", "zh")
    ((['a', ' ', '-', ' ', 'b!'], [0, 4]), (['你', '好', '。'], [0, 1]), (['11', '月'], [0, 1]))
    """
    pieces = _WORD.findall(text)
    if script_of(language) in UNSPACED or max(map(len, pieces), default=0) > LONG * 5:
        pieces = _UNSPACED_WORD.findall(text)
    return pieces, [index for index, piece in enumerate(pieces) if _LETTER.search(piece)]


def joined(pieces: list[str]) -> str:
    """Join pieces into one text, with a blank if two names or figures would run together."""
    return "".join(
        f" {piece}" if _LATIN.match(piece) and _LATIN.match(before[-1:]) else piece
        for before, piece in pairwise(["", *filter(None, pieces)])
    )


def sentences(text: str) -> list[str]:
    """Split a text into sentences, each with the blanks after it. A text without sentence ends is
    one sentence.

    >>> sentences("यह एक है। यह दो है।"), sentences("No. 1 is 3.5!")
    (['यह एक है। ', 'यह दो है।'], ['No. ', '1 is 3.5!'])
    """
    return [sentence for sentence in _SENTENCE.findall(text) if sentence.strip()]


def script_of_letter(cluster: str) -> str:
    """The script of a letter: the first word of its Unicode name; "" for anything that is not a
    letter. cluster: the letter with its marks.

    >>> script_of_letter("कि"), script_of_letter("中"), script_of_letter("1")
    ('DEVANAGARI', 'CJK', '')
    """
    return (
        unicodedata.name(cluster[0], "?").split()[0]
        if unicodedata.category(cluster[0])[0] == "L"
        else ""
    )


def without_marks(cluster: str) -> str:
    """The cluster without tones, accents, points and short vowels, composed again. Everything else
    stays unchanged.

    >>> without_marks("ọ́"), without_marks("कि"), without_marks("بِ")
    ('o', 'कि', 'ب')
    """
    apart = unicodedata.normalize("NFD", cluster)
    bare = _MARK.sub("", apart)
    return unicodedata.normalize("NFC", bare) if bare != apart else cluster


def other_digit(digit: str, step: int) -> str:
    """The digit of the same script that is `step` (1 to 9) further; 9 is followed by 0.

    >>> other_digit("9", 1), other_digit("٣", 2), other_digit("५", 1)
    ('0', '٥', '६')
    """
    value = unicodedata.decimal(digit)
    return chr(ord(digit) - value + (value + step) % 10)


_CYRILLIC = dict(
    zip("abcdefghijklmnopqrstuvwxyz", "абцдефгхийклмнопқрстувшьыз", strict=True)
)  # for the eye only: no spelling of any language
_NAMED = regex.compile(
    r"(?:LETTER|SYLLABLE|CHARACTER)(?: [A-Z]+ALPHA)? (?:(?:FINAL|SMALL|CAPITAL|SHORT|LONG|OLD)"
    r" )*([A-Z]+)(?: .*)?$"
)
NO_VOWEL = "\0"  # before what takes the place of a vowel
_VOWEL_SIGN = regex.compile(r"VOWEL SIGN (?:(?:SHORT|LONG|CANDRA|VOCALIC) )*([A-Z]+)")


def in_other_script(text: str, language: str) -> str | None:
    """Write a text letter by letter in Latin script, or in Cyrillic if it is in Latin script. None
    if the Unicode names of its letters give no sounds (Chinese).

    The result is rough, because readers only need to see that the script is wrong. In scripts of
    India and Ethiopia, a letter contains a vowel; a vowel sign or virama replaces it.

    >>> in_other_script("नमस्ते-8", "hi"), in_other_script("سـلام", "ar")
    ('namaste-8', 'slam')
    >>> in_other_script("ìwé", "yo")
    'ѝше́'
    """
    if script_of(language) == "Latn":
        apart = unicodedata.normalize("NFD", text)
        changed = "".join(
            _CYRILLIC.get(
                char, _CYRILLIC.get(char.lower(), char).upper() if char.isupper() else char
            )
            for char in apart
        )
        return unicodedata.normalize("NFC", changed)
    sounds: list[str] = []
    for char in text:
        sound = _sound(char)
        if sound is None:
            return None
        if sound.startswith(NO_VOWEL):  # takes the place of the vowel before
            if sounds and sounds[-1].endswith("a"):
                sounds[-1] = sounds[-1][:-1]
            sound = sound[1:]
        sounds.append(sound)
    return "".join(sounds)


@lru_cache(maxsize=4096)
def _sound(char: str) -> str | None:
    """The sound of a letter according to its Unicode name; None if the name gives none. Other
    characters are returned unchanged.
    """
    category = unicodedata.category(char)
    name = unicodedata.name(char, "")
    if category[0] not in "LM" or name.startswith("LATIN"):
        return char
    if name == "ARABIC TATWEEL":  # it only makes a word longer to the eye
        return ""
    if "VIRAMA" in name or name.endswith("SIGN HALANTA"):
        return NO_VOWEL
    if sign := _VOWEL_SIGN.search(name):
        return f"{NO_VOWEL}{sign[1].lower()}"
    if category[0] == "M":
        return "n" if "ANUSVARA" in name or "BINDU" in name else ""
    if not (letter := _NAMED.search(name)):
        return None
    sound = str(letter[1]).lower()
    if name.split()[0] not in (
        "ARABIC",
        "HEBREW",
        "GREEK",
        "CYRILLIC",
        "THAI",
        "LAO",
        "SYRIAC",
        "COPTIC",
    ):
        return sound
    # the name of the letter begins with its sound: BEH, GAMMA, SHA
    if match := regex.match(r"[^aeiou]+", sound):
        return str(match[0])
    return sound[1] if len(sound) == 2 and sound[0] == "e" else sound[0]
