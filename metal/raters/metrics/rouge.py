"""ROUGE-1, -2, -3 and -L: F1 of shared rows of tokens (n-grams), and of the longest common subsequence.

F1 is 2 shared / (of the output + of the reference), so that it is defined where either text has such a row. Tokens are
those of metal.raters.metrics.words; nothing is stemmed. Over several references the best counts, as Lin does it.

Source: Lin (2004), ROUGE: A Package for Automatic Evaluation of Summaries. On English equal to the rouge-score package
without its stemmer; that package splits at what is not a-z or 0-9, and so gives 0 for equal texts of most scripts.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial

from metal.raters.metrics.contract import Answer, Item, Metric, MetricFactory
from metal.raters.metrics.names import Asked
from metal.raters.metrics.words import counted_grams, tokens

SIGNATURE = "f1|tok:words,characters where scripts have no spaces|case:folded|unicode:NFC|stem:no|refs:best|version:1"


def open_metric(asked: Asked) -> Metric:
    """`rouge-1`, `rouge-2`, `rouge-3` or `rouge-l`; there are no options."""
    name, _ = asked.fill()
    kind = name.removeprefix("rouge-")
    compare = subsequence_f1 if kind == "l" else partial(rows_f1, size=int(kind))
    what = "longest common subsequence" if kind == "l" else f"rows of {kind} tokens" if kind != "1" else "tokens"

    def score(items: Sequence[Item]) -> list[Answer]:
        return [compare(item.text, item.references[0]) for item in items]

    return Metric(name, f"F1 of shared {what}", score, f"{name}|{SIGNATURE}", low=0.0, high=1.0)


def rows_f1(output: str, reference: str, size: int) -> Answer:
    """F1 of shared rows of `size` tokens; a reason where neither text has one.

    >>> rows_f1("the cat sat", "the cat lay down", 2)
    0.4
    """
    made, wanted = counted_grams(output, size), counted_grams(reference, size)
    total = made.total() + wanted.total()
    if not total:
        return f"neither text has {size} tokens" if size > 1 else "neither text has a word"
    return 2 * (made & wanted).total() / total


def subsequence_f1(output: str, reference: str) -> Answer:
    """F1 of the longest common subsequence of tokens; a reason where neither text has a token.

    >>> subsequence_f1("the cat sat", "the black cat lay")  # the cat: 2 x 2 / (3 + 4)
    0.5714285714285714
    """
    made, wanted = tokens(output), tokens(reference)
    if not made and not wanted:
        return "neither text has a word"
    return 2 * subsequence_length(made, wanted) / (len(made) + len(wanted))


def subsequence_length(left: Sequence[Hashable], right: Sequence[Hashable]) -> int:
    """Length of the longest common subsequence.

    A row of the usual table, as differences of neighbours, is the bits of one number: 0 where the length grows. Each
    element of the shorter side makes the next row with a handful of operations on whole numbers.
    Source: Hyyrö (2004), Bit-Parallel LCS-length Computation Revisited.
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


ROUGE_1 = MetricFactory("F1 of shared tokens, 0 to 1, every script", open_metric)
ROUGE_2 = MetricFactory("F1 of shared pairs of tokens, 0 to 1, every script", open_metric)
ROUGE_3 = MetricFactory("F1 of shared threes of tokens, 0 to 1, every script", open_metric)
ROUGE_L = MetricFactory("F1 of the longest common subsequence, 0 to 1, every script", open_metric)
