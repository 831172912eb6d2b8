"""What a text is like beside its source: how long, how new, how much copied. None of it says how good the text is.

Tokens are those of metal.raters.metrics.words; a row is some tokens in a row.
Source of compression and copying: Grusky et al. (2018), Newsroom; of novelty: See et al. (2017), section 7.2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metal.data.records import Direction
from metal.errors import UsageError
from metal.raters.metrics.contract import Answer, Item, Metric, MetricFactory, Need
from metal.raters.metrics.names import Asked
from metal.raters.metrics.words import composed, grams, tokens

TOKENS = "tok:words,characters where scripts have no spaces|case:folded"


def length_ratio(output: str, others: Sequence[str]) -> Answer:
    """Characters of the output / characters of the one of `others` that comes closest; white space does not count."""
    made = _characters(output)
    closest = min((_characters(other) for other in others), key=lambda length: (abs(length - made), length))
    return made / closest


def compression(output: str, source: str) -> Answer:
    """Tokens of the source / tokens of the output: 4 where a summary is a quarter as long."""
    if not tokens(output):
        return "no word in the output"
    return len(tokens(source)) / len(tokens(output))


def novelty(output: str, source: str, size: int) -> Answer:
    """Share of the output's rows of `size` tokens that the source lacks.

    >>> novelty("a b c d", "x a b c", 2)  # of a b, b c, c d the last is new
    0.3333333333333333
    """
    rows, in_source = grams(tokens(output), size), set(grams(tokens(source), size))
    if not rows:
        return f"fewer than {size} tokens in the output" if size > 1 else "no word in the output"
    return sum(row not in in_source for row in rows) / len(rows)


def copy_rate(output: str, source: str, span: int) -> Answer:
    """Share of the output's tokens in a row of `span` or more that the source has too.

    >>> copy_rate("a b c d x", "z a b c y", 3)
    0.6
    """
    made, in_source = tokens(output), set(grams(tokens(source), span))
    if len(made) < span:
        return f"fewer than {span} tokens in the output"
    copied, covered = 0, 0  # tokens up to `covered` are counted
    for start, row in enumerate(grams(made, span)):
        if row in in_source:
            copied += start + span - max(start, covered)
            covered = start + span
    return copied / len(made)


def _characters(text: str) -> int:
    return len("".join(composed(text).split()))


def open_length_ratio(asked: Asked) -> Metric:
    """`length-ratio(to=reference|source)`."""
    name, options = asked.fill(to=("reference", "source"))
    to_source = options["to"] == "source"

    def ratio(item: Item) -> Answer:
        return length_ratio(item.text, (item.source,) if to_source else item.references)

    needs: Need = "source" if to_source else "references"
    summary = "characters of the output / of the " + str(options["to"])
    return _metric(name, summary, ratio, needs, unit="characters without white space")


def open_compression(asked: Asked) -> Metric:
    """`compression`, without options."""
    name, _ = asked.fill()
    return _metric(name, "tokens of the source / of the output", lambda item: compression(item.text, item.source))


def open_novelty(asked: Asked) -> Metric:
    """`novelty(n=2)`."""
    name, options = asked.fill(n=2)
    size = _at_least_one(asked, "n", options["n"])
    summary = f"share of rows of {size} tokens that the source lacks"
    return _metric(name, summary, lambda item: novelty(item.text, item.source, size), high=1.0)


def open_copy_rate(asked: Asked) -> Metric:
    """`copy-rate(span=5)`."""
    name, options = asked.fill(span=5)
    span = _at_least_one(asked, "span", options["span"])
    summary = f"share of the output in rows of {span} or more tokens that the source has too"
    return _metric(name, summary, lambda item: copy_rate(item.text, item.source, span), high=1.0, direction="lower")


def _metric(
    name: str,
    summary: str,
    measure: Callable[[Item], Answer],
    needs: Need = "source",
    high: float | None = None,
    direction: Direction = "higher",
    unit: str = TOKENS,
) -> Metric:
    return Metric(
        name,
        summary,
        lambda items: [measure(item) for item in items],
        f"{name}|{unit}|unicode:NFC|version:1",
        needs=(needs,),
        direction=direction,
        low=0.0,
        high=high,
        multi_reference=True,
        descriptive=True,
    )


def _at_least_one(asked: Asked, key: str, value: object) -> int:
    if not isinstance(value, int) or value < 1:
        raise UsageError(f"metric {asked.name}: {key}={value}: write a number of tokens, 1 or more")
    return value


LENGTH_RATIO = MetricFactory("characters of the output / of the reference, or to=source", open_length_ratio)
COMPRESSION = MetricFactory("tokens of the source / of the output", open_compression)
NOVELTY = MetricFactory("share of pairs of tokens (n=2) that the source lacks", open_novelty)
COPY_RATE = MetricFactory(
    "share of the output in spans of 5 tokens or more (span=5) that the source has too", open_copy_rate
)
