"""A fixed random part of the test set: the sources that people rate, the same for every generator."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

from metal.data.records import Source
from metal.errors import UsageError


def sources_chosen(sources: Iterable[Source], number: int, seed: int = 0) -> frozenset[str]:
    """The ids of `number` sources of each language, at random; all of a language that has no more.

    Each source has a place by chance that depends on (seed, language, source) alone, and the first `number` of a
    language are chosen. So the choice does not depend on the order of lines or on other languages, generators have no
    part in it, and a larger number keeps what a smaller one chose. A source that is added can take the place of the
    last one. Raises UsageError for a number below 1. Source: GENIE, section 6 (a subsample that is random, but fixed).
    >>> sorted(sources_chosen([Source(f"s{place}", "en") for place in range(9)], 2))
    ['s2', 's8']
    """
    if number < 1:
        raise UsageError(f"a sample of {number} sources: use 1 or more")
    by_language: dict[str, list[str]] = {}
    for source in sources:
        by_language.setdefault(source.language, []).append(source.source)
    return frozenset(
        name
        for language, names in by_language.items()
        for name in sorted(names, key=lambda name: (_place(seed, language, name), name))[:number]
    )


def _place(seed: int, language: str, source: str) -> bytes:
    """Where a source stands by chance; lengths keep ("a", "bc") and ("ab", "c") apart."""
    parts = (str(seed), language, source)
    text = "".join(f"{len(part)}:{part}" for part in parts)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
