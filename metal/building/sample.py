"""Choose passages of about the same length: those in the fullest bin of a histogram of token counts
(METAL 3.1.1).

A split is read twice: first to count tokens, then to take the drawn passages. Counts and digests
are kept on disk in between, so that memory does not grow with the split.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from metal.data.formats.passages import Passage
from metal.data.records import Source
from metal.data.tokens import count_tokens
from metal.errors import DataError

if TYPE_CHECKING:
    import tiktoken

Array = np.ndarray[Any, Any]

STEP = 1 << 17  # numbers processed together
LEFT_OUT = -1  # replaces a passage's token count


@dataclass(frozen=True)
class Histogram:
    """Token counts of a split in bins of equal width over their range; the last bin includes its
    upper edge.

    counts: (bins,) passages; edges: (bins + 1,) tokens. Duplicates and near-empty passages are not
    in it. by_length: the number of passages with 0, 1, 2, ... tokens.
    """

    counts: tuple[int, ...]
    edges: tuple[float, ...]
    duplicates: int
    near_empty: int
    by_length: Array = field(compare=False, repr=False)

    @property
    def passages(self) -> int:
        """All passages of the split, including those that were left out."""
        return sum(self.counts) + self.duplicates + self.near_empty

    @property
    def fullest(self) -> int:
        """The number of the bin with the most passages; the lowest of several such bins."""
        return int(np.argmax(self.counts))

    @property
    def bounds(self) -> tuple[float, float]:
        """The edges of the fullest bin."""
        return self.edges[self.fullest], self.edges[self.fullest + 1]

    def bins_that_hold(self, passages: int) -> set[int]:
        """The numbers of bins (at most as many as now) with which the fullest bin holds at least so
        many passages.
        """
        if sum(self.counts) < passages:
            return set()
        numbers = range(1, len(self.counts) + 1)
        return {bins for bins in numbers if max(_counted(self.by_length, bins)) >= passages}

    def record(self) -> dict[str, Any]:
        """The histogram as dataset.toml stores it."""
        return {
            "counts": list(self.counts),
            "edges": list(self.edges),
            "chosen_bin": self.fullest,
            "passages": self.passages,
            "duplicates": self.duplicates,
            "near_empty": self.near_empty,
        }


@dataclass(frozen=True)
class SampleSettings:
    """How passages are drawn. min_tokens: passages with fewer tokens are left out."""

    per_language: int = 100
    bins: int = 20
    min_tokens: int = 10
    seed: int = 0
    allow_fewer: bool = False


def draw(
    language: str,
    passages: Callable[[], Iterable[Passage]],
    encoding: tiktoken.Encoding,
    settings: SampleSettings,
    advance: Callable[[int], None] = lambda count: None,
) -> tuple[Histogram, list[Source]]:
    """Draw a random sample of the fullest bin, without replacement. It is in the order of the split
    and seeded by (seed, language).

    passages: starts reading the split each time it is called. advance(count): called with how many
    more passages were counted. Nothing is drawn from a bin with too few passages, unless fewer are
    allowed. Raises DataError for a split without passages.
    """
    tokens, digests, near_empty = _tokens_and_digests(
        passages(), encoding, settings.min_tokens, advance
    )
    duplicates = _leave_out_repeated(tokens, digests)
    left = len(tokens) - near_empty - duplicates
    if not left:
        raise DataError(
            f"{language}: {len(tokens):,} passages in this split",
            (
                f"none of them has {settings.min_tokens} tokens or more"
                if len(tokens)
                else "it is empty"
            ),
            "Give another `split`, or another `source`",
        )
    histogram = _histogram(tokens, settings.bins, duplicates, near_empty)
    if max(histogram.counts) < settings.per_language and not settings.allow_fewer:
        return histogram, []
    rows = _rows_drawn(tokens, histogram, language, settings)
    return histogram, list(_sources(language, passages(), rows, tokens, digests))


def _tokens_and_digests(
    passages: Iterable[Passage],
    encoding: tiktoken.Encoding,
    least: int,
    advance: Callable[[int], None],
) -> tuple[Array, Array, int]:
    """The token count and digest of every passage, and how many passages have fewer than `least`
    tokens; the token count of these is set to LEFT_OUT.

    Both arrays are writable. Each is in a file that exists as long as the array. advance: called
    with how many more passages were counted.
    """
    with tempfile.TemporaryFile() as token_file, tempfile.TemporaryFile() as digest_file:

        def texts() -> Iterator[str]:
            for passage in passages:
                digest_file.write(_digest(passage.text).to_bytes(8, "little"))
                yield passage.text

        near_empty = 0
        counts = count_tokens(texts(), encoding)
        while some := list(islice(counts, 4096)):
            part = np.array(some, dtype="int32")
            short = part < least
            near_empty += int(short.sum())
            part[short] = LEFT_OUT
            token_file.write(part.tobytes())
            advance(len(some))
        return _on_disk(token_file, "int32"), _on_disk(digest_file, "uint64"), near_empty


def _on_disk(file: Any, kind: str) -> Array:
    file.flush()
    return np.memmap(file, kind, "r+") if file.tell() else np.empty(0, kind)


def _digest(text: str) -> int:
    """A 64-bit digest that is the same for texts that differ in white space only."""
    plain = " ".join(text.split()).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(plain, digest_size=8).digest(), "little")


def _steps(length: int) -> Iterator[slice]:
    return (slice(start, min(start + STEP, length)) for start in range(0, length, STEP))


def _leave_out_repeated(tokens: Array, digests: Array) -> int:
    """Mark every passage whose text occurred before; return how many were marked. Processes a share
    of the digests at a time.
    """
    count = 0
    shares = len(digests) // STEP + 1
    for share in range(shares if len(digests) else 0):
        rows, values = [], []
        for part in _steps(len(digests)):
            selected = np.flatnonzero(
                (digests[part] % shares == share) & (tokens[part] != LEFT_OUT)
            )
            rows.append(part.start + selected)
            values.append(digests[part][selected])
        positions = np.concatenate(rows)
        _, first = np.unique(np.concatenate(values), return_index=True)
        repeated = np.delete(positions, first)
        tokens[repeated] = LEFT_OUT
        count += len(repeated)
    return count


def _histogram(tokens: Array, bins: int, duplicates: int, near_empty: int) -> Histogram:
    longest = max(int(part.max()) for part in _counts(tokens))
    by_length: Array = np.sum(
        [np.bincount(part, minlength=longest + 1) for part in _counts(tokens)], axis=0
    )
    edges = np.histogram_bin_edges(np.flatnonzero(by_length), bins)
    counts = tuple(map(int, _counted(by_length, bins)))
    return Histogram(counts, tuple(map(float, edges)), duplicates, near_empty, by_length)


def _counted(by_length: Array, bins: int) -> Array:
    """How many passages each bin holds."""
    lengths = np.flatnonzero(by_length)
    return np.histogram(lengths, bins, weights=by_length[lengths])[0]


def _counts(tokens: Array) -> Iterator[Array]:
    """The token counts of passages that are not left out, in batches."""
    for part in _steps(len(tokens)):
        kept = tokens[part][tokens[part] != LEFT_OUT]
        if len(kept):
            yield kept


def _rows_drawn(
    tokens: Array, histogram: Histogram, language: str, settings: SampleSettings
) -> list[int]:
    """Draw rows of the split; return them in ascending order."""
    size = histogram.counts[histogram.fullest]
    rng = np.random.default_rng([settings.seed, *language.encode()])
    drawn = np.sort(rng.choice(size, min(size, settings.per_language), replace=False))
    rows: list[int] = []
    before = 0
    for part in _steps(len(tokens)):
        members = part.start + np.flatnonzero(_in_fullest(tokens[part], histogram))
        in_part = drawn[(drawn >= before) & (drawn < before + len(members))] - before
        rows += members[in_part].tolist()
        before += len(members)
    return rows


def _in_fullest(tokens: Array, histogram: Histogram) -> Array:
    """Whether each token count is in the fullest bin, by the rule of numpy.histogram."""
    low, high = histogram.bounds
    last = histogram.fullest == len(histogram.counts) - 1
    inside: Array = (
        (tokens >= low) & ((tokens <= high) if last else (tokens < high)) & (tokens != LEFT_OUT)
    )
    return inside


def _sources(
    language: str, passages: Iterable[Passage], rows: list[int], tokens: Array, digests: Array
) -> Iterator[Source]:
    """The passages of these rows as sources."""
    wanted = iter(rows)
    row = next(wanted)
    seen: set[str] = set()
    for number, passage in enumerate(passages):
        if number != row:
            continue
        if digests[row] != _digest(passage.text):
            raise DataError(
                passage.where, "the passage changed while it was read", "Run the command again"
            )
        name = f"{language}/{passage.id or f'row-{number + 1}'}"
        while name in seen:
            name += f"#{number + 1}"
        seen.add(name)
        references = (passage.summary,) if passage.summary.strip() else ()
        yield Source(name, language, passage.text, passage.title, references, int(tokens[row]))
        row = next(wanted, -1)
        if row < 0:
            return
    raise DataError(
        f"{language} row {row + 1}",
        "a passage that was counted is missing",
        "Run the command again",
    )
