"""Find data problems that harm boards. Problems of any dataset are in metal.auditing.check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations, product

import numpy as np

from metal.boards.cells import ALL_LANGUAGES, BoardCell
from metal.boards.ensemble import GROUP
from metal.data.dataset import Dataset
from metal.data.languages import language_name
from metal.data.records import Output
from metal.raters.metrics.contract import plain_text
from metal.stats.correlation import pearson_from_sums
from metal.stats.patterns import Codes, Numbers, mean_of_defined, ratio

LEAST_SOURCES = 30  # per generator, for a shift to be more than chance
# by how much correlations must rise in the mean when people's scores are moved by one source
GAIN = 0.1
FAR = 10  # moves by 2 to this many sources show what chance gives
MOST_NAMED = 3
CLEAR = 4  # standard deviations of these


def lint(dataset: Dataset, cells: Sequence[BoardCell]) -> Iterator[str]:
    """Sentences about the data problems of a board."""
    yield from dict.fromkeys(problem for cell in cells for problem in _copied_raters(cell))
    yield from dict.fromkeys(problem for cell in cells for problem in _copied_generators(cell))
    yield from dict.fromkeys(
        problem for cell in cells for problem in _shifted(cell, where(dataset, cell))
    )
    yield from _out_of_range(dataset)


def where(dataset: Dataset, cell: BoardCell) -> str:
    """What messages call a cell, such as `Task quality in Hindi`."""
    title = dataset.called(cell.criterion)
    return title if cell.language == ALL_LANGUAGES else f"{title} in {language_name(cell.language)}"


def _copied_raters(cell: BoardCell) -> Iterator[str]:
    """Find two metrics with the same score on every rated output; they are probably one file under
    two names.
    """
    rated = cell.scores[:, cell.rated]
    metrics = [index for index, rater in enumerate(cell.raters) if rater.kind == "metric"]
    for first, second in combinations(metrics, 2):
        if _copied(rated[first], rated[second]):
            names = cell.raters[first].name, cell.raters[second].name
            count = int((~np.isnan(rated[first]) & ~np.isnan(rated[second])).sum())
            yield (
                f"{names[0]} and {names[1]} give the same score on all {count:,} outputs that"
                " people rated"
            )


def _copied_generators(cell: BoardCell) -> Iterator[str]:
    """Find a metric that scores two generators alike on every source; they are probably one file
    under two names.
    """
    for rater, scores in zip(cell.raters, cell.scores, strict=True):
        if rater.kind != "metric":
            continue
        table = cell.by_generator(scores)
        for first, second in combinations(range(len(table)), 2):
            if _copied(table[first], table[second]):
                names = cell.generators[first], cell.generators[second]
                yield f"{rater.name} gives {names[0]} and {names[1]} the same score on every source"


def _copied(first: Numbers, second: Numbers) -> bool:
    """Whether two rows of scores are equal, and this cannot be chance because there are at least
    LEAST_SOURCES scores, and they vary.
    """
    both = ~np.isnan(first) & ~np.isnan(second)
    return bool(
        both.sum() >= LEAST_SOURCES
        and (first[both] == second[both]).all()
        and len(np.unique(first[both])) > LEAST_SOURCES // 3
    )


def _shifted(cell: BoardCell, cell_name: str) -> Iterator[str]:
    """Find scores of people that belong to the next or the previous source, because one file counts
    from 0 and another from 1.

    Such a shift is reported if two things hold after people's scores are moved by one source. Every
    rater agrees better, and the raters' mean agreement is larger than after moves by more sources.
    """
    names = [
        rater.name
        for rater in cell.raters
        if rater.kind in ("metric", "llm") and rater.group != GROUP
    ]
    people = cell.by_generator(cell.human)
    if not names or people.shape[1] < LEAST_SOURCES + FAR:
        return
    tables = np.stack([cell.by_generator(cell.of(name)) for name in names])
    straight = _moved(people, tables, 0)
    far: list[Numbers] = []
    further = list(product(range(2, FAR + 1), (1, -1)))
    for by, direction in ((1, "back"), (-1, "forward")):
        moved = _moved(people, tables, by)
        # then their mean cannot rise by as much, whatever chance gives
        if not (moved - straight > GAIN).any():
            continue
        far = far or [_moved(people, tables, step * way) for step, way in further]
        defined = ~np.isnan(np.stack([straight, moved, *far])).any(axis=0)
        if not defined.any():
            continue
        gain = (moved - straight)[defined]
        chance = np.stack(far)[:, defined].mean(axis=1)
        clear = moved[defined].mean() > chance.mean() + CLEAR * chance.std()
        if gain.min() > 0 and gain.mean() > GAIN and clear:
            best = int(np.argmax(np.where(defined, moved, -np.inf)))
            yield (
                f"{cell_name}: people's scores seem to be off by one source: if they are moved"
                f" {direction} by one, every rater agrees better (within generators,"
                f" {names[best]} has {straight[best]:.2f} and would have {moved[best]:.2f})."
                " Do ids count from 0 here and from 1 there?"
            )


def _moved(people: Numbers, tables: Numbers, by: int) -> Numbers:
    """`_within_generators` with people's scores moved back by some sources (forward if
    negative).
    """
    back, forward = max(by, 0), max(-by, 0)
    end = people.shape[1]
    return _within_generators(people[:, back : end - forward], tables[:, :, forward : end - back])


def _within_generators(people: Numbers, tables: Numbers) -> Numbers:
    """(raters,) mean over generators of Pearson's r over their sources; NaN if none has enough.

    people: (generators, sources), tables: (raters, generators, sources).
    """
    both = ~np.isnan(people) & ~np.isnan(tables)
    count = both.sum(axis=-1)
    x, y = (_centred(np.where(both, values, 0.0), both) for values in (people, tables))
    sums = [count, *(part.sum(axis=-1) for part in (x, y, x * x, y * y, x * y))]
    correlations = np.where(
        count < LEAST_SOURCES, np.nan, pearson_from_sums(np.stack(sums, axis=-1))
    )
    return mean_of_defined(list(correlations.T))


def _centred(values: Numbers, present: Codes) -> Numbers:
    """The values minus their mean along the last axis; 0 where a value is missing."""
    mean = ratio(values.sum(axis=-1, keepdims=True), present.sum(axis=-1, keepdims=True))
    return np.where(present, values - mean, 0.0)


def _out_of_range(dataset: Dataset) -> Iterator[str]:
    """Metrics with scores outside their declared range."""
    for rater in dataset.raters.values():
        ends = rater.about.get("range")
        if rater.kind != "metric" or not isinstance(ends, list) or len(ends) != 2:
            continue
        score = dataset.ratings.loc[dataset.ratings["rater"] == rater.rater, "score"].to_numpy()
        low, high = (float(end) if isinstance(end, int | float) else None for end in ends)
        outside = np.zeros(len(score), dtype=bool)
        if low is not None:
            outside |= score < low
        if high is not None:
            outside |= score > high
        if count := int(outside.sum()):
            limits = " to ".join("any" if end is None else f"{end:g}" for end in (low, high))
            yield f"{rater.rater}: {count:,} scores are outside its range, {limits}"


def identical_texts(outputs: Sequence[Output], dataset: Dataset) -> list[str]:
    """A note on each generator whose texts are identical to another generator's, and on each
    generator that has one text for several sources.
    """
    theirs: dict[tuple[str, str], list[str]] = {}
    for output in dataset.outputs.values():
        if output.text.strip():
            theirs.setdefault((output.source, plain_text(output.text)), []).append(output.generator)
    equal = Counter(
        generator
        for output in outputs
        for generator in set(theirs.get((output.source, plain_text(output.text)), []))
    )
    lines = [
        f"{count:,} of {len(outputs):,} texts are word for word those of {generator}"
        for generator, count in equal.most_common(MOST_NAMED)
    ]
    ((_, most),) = Counter(plain_text(output.text) for output in outputs).most_common(1)
    return [
        *lines,
        *([f"{most:,} of {len(outputs):,} texts are the same text"] if most > 1 else []),
    ]
