"""Tokens of texts in every script, and metrics that count them: ROUGE, and how a text differs from
its source.

A token is a word: letters, marks and digits in a row, without case. In scripts written without
spaces, a token is a character with its marks. Texts that look the same count as equal: they are
brought to Unicode's composed form, without joiners and soft hyphens, which only affect how letters
are drawn. A row means neighbouring tokens (an n-gram).

ROUGE-1, -2 and -3 are the F1 of shared rows, ROUGE-L that of the longest common subsequence. F1 is
2 shared / (rows of the output + rows of the reference), so it is defined if either text has a row.
Nothing is stemmed. With several references the best counts, as in Lin (2004). On English, scores
equal those of the rouge-score package without its stemmer. That package splits at every character
except a-z and 0-9, and so gives 0 for equal texts in most scripts.

Length ratio, compression, novelty and copying describe a text: how long it is, how new, how much of
it is copied. None of them says how good it is.

Sources: Lin (2004), ROUGE: A Package for Automatic Evaluation of Summaries; for compression and
copying, Grusky et al. (2018), Newsroom; for novelty, See et al. (2017), section 7.2.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache, partial

import langcodes
import regex

from metal.data.languages import sides
from metal.data.records import Direction
from metal.raters.metrics.contract import (
    Answer,
    Asked,
    Item,
    Metric,
    MetricFactory,
    Need,
    at_least_one,
)

_NO_SPACES = (
    r"[[\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\u30FC\uFF70\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
    r"\p{Tai_Tham}\p{New_Tai_Lue}\p{Tai_Viet}\p{Javanese}\p{Balinese}]&&[\p{L}\p{N}]]"
)
_CHARACTER = _NO_SPACES + r"[\p{M}]*"
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+")
_ASCII_WORD = re.compile("[a-z0-9]+")  # several times faster
_TOKEN = regex.compile(rf"{_CHARACTER}|[[\p{{L}}\p{{M}}\p{{N}}]--{_NO_SPACES}]+", regex.V1)
_SPREAD = regex.compile(_CHARACTER, regex.V1)
_SHAPING = regex.compile("[\u00ad\u200c\u200d\u2060\ufeff]")
# ISO 15924 codes of scripts written without spaces; of languages, as CLDR has them.
HAN = frozenset({"Hans", "Hant", "Hani"})
JAPANESE = frozenset({"Jpan", "Hira", "Kana", "Hrkt"})
OTHER_UNSPACED = frozenset(
    {"Thai", "Laoo", "Khmr", "Mymr", "Lana", "Talu", "Tavt", "Java", "Bali", "Tibt"}
)

ROUGE = (
    "f1|tok:words,characters where scripts have no"
    " spaces|case:folded|unicode:NFC|stem:no|refs:best|version:1"
)
COUNTED = "tok:words,characters where scripts have no spaces|case:folded"


def composed(text: str) -> str:
    """The text in Unicode's composed form (NFC), in which texts that look the same are equal."""
    return unicodedata.normalize("NFC", text)


@lru_cache(maxsize=512)  # outputs of one source come together
def tokens(text: str) -> tuple[str, ...]:
    """The tokens of a text, in order.

    >>> tokens("Don't panic: 我们走。")
    ('don', 't', 'panic', '我', '们', '走')
    """
    if text.isascii():
        return tuple(_ASCII_WORD.findall(text.lower()))
    folded = composed(_SHAPING.sub("", unicodedata.normalize("NFD", text).casefold()))
    return tuple((_TOKEN if _SPREAD.search(folded) else _WORD).findall(folded))


def grams(tokens: tuple[str, ...], size: int) -> list[tuple[str, ...]]:
    """All rows of `size` neighbouring tokens; empty if there are fewer tokens."""
    return list(zip(*(tokens[at:] for at in range(size)), strict=False))


def counted_grams(text: str, size: int) -> Counter[tuple[str, ...]]:
    """How often each row of `size` tokens occurs in a text."""
    return Counter(grams(tokens(text), size))


def spread(text: str) -> str:
    """Put a space around each character of a script without spaces; the rest of the text stays."""
    return " ".join(_SPREAD.sub(r" \g<0> ", text).split())


@lru_cache(maxsize=1024)
def script_of(language: str) -> str:
    """The script of a language or, for a pair, of the output's language (`Deva`); empty if
    unknown.
    """
    code = sides(language)[1]
    if not language or not langcodes.tag_is_valid(code):
        return ""
    return langcodes.Language.get(code).maximize().script or ""


# ---------------------------------------------------------------- ROUGE


def open_rouge(asked: Asked) -> Metric:
    """`rouge-1`, `rouge-2`, `rouge-3` or `rouge-l`; there are no options."""
    name, _ = asked.fill()
    kind = name.removeprefix("rouge-")
    compare = subsequence_f1 if kind == "l" else partial(rows_f1, size=int(kind))
    shared = {"l": "longest common subsequence", "1": "tokens"}
    what = shared.get(kind, f"rows of {kind} tokens")

    def score(items: Sequence[Item]) -> list[Answer]:
        return [compare(item.text, item.references[0]) for item in items]

    return Metric(name, f"F1 of shared {what}", score, f"{name}|{ROUGE}", low=0.0, high=1.0)


def rows_f1(output: str, reference: str, size: int) -> Answer:
    """F1 of shared rows of `size` tokens; a reason if neither text has such a row.

    >>> rows_f1("the cat sat", "the cat lay down", 2)
    0.4
    """
    in_output, wanted = counted_grams(output, size), counted_grams(reference, size)
    total = in_output.total() + wanted.total()
    if not total:
        return f"neither text has {size} tokens" if size > 1 else "neither text has a word"
    return 2 * (in_output & wanted).total() / total


def subsequence_f1(output: str, reference: str) -> Answer:
    """F1 of the longest common subsequence of tokens; a reason if neither text has a token.

    >>> subsequence_f1("the cat sat", "the black cat lay")  # the cat: 2 x 2 / (3 + 4)
    0.5714285714285714
    """
    in_output, wanted = tokens(output), tokens(reference)
    if not in_output and not wanted:
        return "neither text has a word"
    return 2 * subsequence_length(in_output, wanted) / (len(in_output) + len(wanted))


def subsequence_length(left: Sequence[Hashable], right: Sequence[Hashable]) -> int:
    """Length of the longest common subsequence.

    The bits of one number hold a row of the usual table, as differences of neighbours: a bit is 0
    where the length grows. For each element of the shorter side, a few operations on whole numbers
    make the next row. Source: Hyyrö (2004), Bit-Parallel LCS-length Computation Revisited.
    >>> subsequence_length("abcde", "xaxcxe")
    3
    """
    long, short = (left, right) if len(left) >= len(right) else (right, left)
    places: dict[Hashable, int] = {}
    wanted = set(short)
    for at, element in enumerate(long):
        if element in wanted:
            places[element] = places.get(element, 0) | 1 << at
    row = all_ones = (1 << len(long)) - 1
    for element in short:
        if matches := row & places.get(element, 0):
            row = ((row + matches) | (row - matches)) & all_ones
    return len(long) - row.bit_count()


# ---------------------------------------------------------------- what a text is like beside its
# source


def length_ratio(output: str, others: Sequence[str]) -> Answer:
    """Characters of the output divided by characters of the text in `others` that is closest in
    length; white space does not count.
    """
    own_length = _characters(output)
    closest = min(map(_characters, others), key=lambda length: (abs(length - own_length), length))
    return own_length / closest


def compression(output: str, source: str) -> Answer:
    """Tokens of the source / tokens of the output: 4 if a summary is a quarter as long."""
    if not tokens(output):
        return "no word in the output"
    return len(tokens(source)) / len(tokens(output))


def novelty(output: str, source: str, size: int) -> Answer:
    """The share of the output's rows of `size` tokens that the source lacks.

    >>> novelty("a b c d", "x a b c", 2)  # of a b, b c, c d the last is new
    0.3333333333333333
    """
    rows, in_source = grams(tokens(output), size), set(grams(tokens(source), size))
    if not rows:
        return f"fewer than {size} tokens in the output" if size > 1 else "no word in the output"
    return sum(row not in in_source for row in rows) / len(rows)


def copy_rate(output: str, source: str, span: int) -> Answer:
    """The share of the output's tokens that are in a row of `span` or more tokens copied from the
    source.

    >>> copy_rate("a b c d x", "z a b c y", 3)
    0.6
    """
    in_output, in_source = tokens(output), set(grams(tokens(source), span))
    if len(in_output) < span:
        return f"fewer than {span} tokens in the output"
    copied, covered = 0, 0  # tokens up to `covered` are counted
    for start, row in enumerate(grams(in_output, span)):
        if row in in_source:
            copied += start + span - max(start, covered)
            covered = start + span
    return copied / len(in_output)


def _characters(text: str) -> int:
    return len("".join(composed(text).split()))


def open_length_ratio(asked: Asked) -> Metric:
    """Open `length-ratio(to=reference|source)`."""
    name, options = asked.fill(to=("reference", "source"))
    to_source = options["to"] == "source"

    def ratio(item: Item) -> Answer:
        return length_ratio(item.text, (item.source,) if to_source else item.references)

    needs: Need = "source" if to_source else "references"
    summary = "characters of the output / of the " + str(options["to"])
    return _metric(name, summary, ratio, needs, unit="characters without white space")


def open_compression(asked: Asked) -> Metric:
    """Open `compression`, which has no options."""
    name, _ = asked.fill()
    return _metric(
        name,
        "tokens of the source / of the output",
        lambda item: compression(item.text, item.source),
    )


def open_novelty(asked: Asked) -> Metric:
    """Open `novelty(n=2)`."""
    name, options = asked.fill(n=2)
    size = at_least_one(asked.name, "n", options["n"], "a number of tokens, 1 or more")
    summary = f"share of rows of {size} tokens that the source lacks"
    return _metric(name, summary, lambda item: novelty(item.text, item.source, size), high=1.0)


def open_copy_rate(asked: Asked) -> Metric:
    """Open `copy-rate(span=5)`."""
    name, options = asked.fill(span=5)
    span = at_least_one(asked.name, "span", options["span"], "a number of tokens, 1 or more")
    summary = f"share of the output in rows of {span} or more tokens that the source has too"
    return _metric(
        name,
        summary,
        lambda item: copy_rate(item.text, item.source, span),
        high=1.0,
        direction="lower",
    )


def _metric(
    name: str,
    summary: str,
    measure: Callable[[Item], Answer],
    needs: Need = "source",
    high: float | None = None,
    direction: Direction = "higher",
    unit: str = COUNTED,
) -> Metric:
    return Metric(
        name,
        summary,
        lambda items: list(map(measure, items)),
        f"{name}|{unit}|unicode:NFC|version:1",
        needs=(needs,),
        direction=direction,
        low=0.0,
        high=high,
        multi_reference=True,
        descriptive=True,
    )


ROUGE_1 = MetricFactory("F1 of shared tokens, 0 to 1, every script", open_rouge)
ROUGE_2 = MetricFactory("F1 of shared pairs of tokens, 0 to 1, every script", open_rouge)
ROUGE_3 = MetricFactory("F1 of shared triples of tokens, 0 to 1, every script", open_rouge)
ROUGE_L = MetricFactory("F1 of the longest common subsequence, 0 to 1, every script", open_rouge)
LENGTH_RATIO = MetricFactory(
    "characters of the output / of the reference, or to=source", open_length_ratio
)
COMPRESSION = MetricFactory("tokens of the source / of the output", open_compression)
NOVELTY = MetricFactory("share of pairs of tokens (n=2) that the source lacks", open_novelty)
COPY_RATE = MetricFactory(
    "share of the output in spans of 5 tokens or more (span=5) that the source has too",
    open_copy_rate,
)
