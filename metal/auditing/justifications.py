"""What judges' justifications are worth: their language, the level they name, what they quote, and
what their words predict.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any
from zlib import crc32

import numpy as np
import regex
from numpy.typing import ArrayLike

from metal.auditing.cells import AuditCell
from metal.building.flags import by_script, words_of
from metal.data.dataset import Dataset
from metal.data.languages import sides
from metal.data.records import Scale
from metal.errors import Undefined
from metal.stats.calibration import source_folds
from metal.stats.correlation import pearson_influence
from metal.stats.interval import NO_BOUNDS, NO_INTERVAL, Bounds
from metal.stats.intervals import correlation_interval, interval_of_mean
from metal.stats.jury import ridge
from metal.stats.patterns import Codes, Numbers

# reasons that are read, of a judge in a language; of outputs that people rated where there are as
# many
MOST = 120
LEAST = 30  # reasons to learn from, and to measure on
COLUMNS = 64  # that words are hashed into
BEGINS = 300  # characters that tell the language
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+")
_NUMBER = regex.compile(r"\d+(?:[.,]\d+)?")
# The commonest words of English that no other language in Latin script has as many of.
ENGLISH = frozenset(
    _WORD.findall("the of and to is it that for as with was on are by this be not but from has or")
)
SHARE_OF_ENGLISH = 0.15  # of the words, from which on a text is English
OPENING = 3  # words
QUOTED = 12  # characters, from which on a quotation is of a text
PREDICTED = ("predicts_score", "predicts_error")
# shares that may be of nothing, and what is then missing
NOTHING = {"contradicts": "no reason names a level", "quotes_found": "no quotation"}


@dataclass(frozen=True)
class Reason:
    """A justification.

    row: the row of its rating. score: the rating's score. lean: that score minus the judge's mean
    on the criterion, as a share of the range. wrong: whether people's answer differs from the
    judge's; NaN if they gave none. output: the output that it is about.
    """

    row: int
    score: float
    lean: float
    wrong: float
    source: int
    scale: Scale
    output: str


def justification_rows(dataset: Dataset, audited: Sequence[AuditCell]) -> Iterator[dict[str, Any]]:
    """A row for each judge and language with justifications, over all criteria together."""
    by_judge: dict[tuple[str, str], list[Reason]] = {}
    answered, written = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    has_text = (dataset.ratings["comment"].str.strip() != "").to_numpy(dtype=bool)
    for cell in audited:
        for judge in cell.judges:
            if cell.criterion.name in dataset.raters[judge].about.get("flipped", ()):
                continue  # it was told other numbers than these
            key = cell.language, judge
            answered[key] += int((cell.by_judge(judge) >= 0).sum())
            reasons, count = _reasons(dataset, has_text, cell, judge)
            by_judge.setdefault(key, []).extend(reasons)
            written[key] += count
    read = {
        key: _some(by_judge[key], [not math.isnan(reason.wrong) for reason in by_judge[key]])
        for key in sorted(by_judge)
    }
    rows = [reason.row for reasons in read.values() for reason in reasons]
    # at once: a part costs as much as all
    texts = iter(dataset.ratings["comment"].iloc[rows].str.strip().tolist())
    for key, reasons in read.items():
        if reasons:
            shares = _row(dataset, *key, reasons, list(islice(texts, len(reasons))))
            yield shares | {"answered": answered[key], "reasons": written[key]}


def _some(every: Sequence[Any], rated: Sequence[bool]) -> list[Any]:
    """At most MOST of the reasons, evenly spread; only those on rated outputs if these are
    enough.
    """
    of_rated = [each for each, counts in zip(every, rated, strict=True) if counts]
    kept = of_rated if len(of_rated) >= MOST else every
    return list(kept[:: max(-(-len(kept) // MOST), 1)])


def _reasons(
    dataset: Dataset, has_text: Codes, cell: AuditCell, judge: str
) -> tuple[list[Reason], int]:
    """Some of the judge's justifications in a cell, and how many there are in all.

    has_text: which ratings have a justification.
    """
    scores = cell.scores([judge])[:, 0]
    items = np.flatnonzero(~np.isnan(scores))
    rows = cell.rows[cell.matrix.places[items, cell.matrix.raters.index(judge)]]
    items, rows = items[has_text[rows]], rows[has_text[rows]]
    row_of = dict(zip(items.tolist(), rows.tolist(), strict=True))
    truth, ends = cell.values_of(cell.unaided(judge).truth), cell.criterion.scale.ends
    span = ends[1] - ends[0] if ends else 1.0
    leans = (scores - (scores[items].mean() if len(items) else 0.0)) / span
    wrong = np.where(np.isnan(truth), np.nan, truth != scores)
    reasons = [
        Reason(
            row_of[item],
            float(scores[item]),
            float(leans[item]),
            float(wrong[item]),
            int(cell.matrix.sources[item]),
            cell.criterion.scale,
            cell.matrix.outputs[item],
        )
        for item in _some(items.tolist(), (~np.isnan(wrong[items])).tolist())
    ]
    return reasons, len(items)


def _row(
    dataset: Dataset, language: str, judge: str, reasons: Sequence[Reason], texts: Sequence[str]
) -> dict[str, Any]:
    """The row on a judge's justifications in a language, without their counts."""
    sources = np.unique([reason.source for reason in reasons], return_inverse=True)[1]
    spoken = np.array([language_of(text, language) for text in texts])
    pairs = list(zip(texts, reasons, strict=True))
    levels = np.array([level_named(text, reason.scale) for text, reason in pairs], dtype=np.float64)
    names_level = ~np.isnan(levels)
    differs = levels != [reason.score for reason in reasons]
    hits, spans = zip(
        *(quotes(text, dataset, reason.output) for text, reason in pairs), strict=True
    )
    openings = Counter(" ".join(_words(text)[:OPENING]) for text in texts)
    opening, times = openings.most_common(1)[0]
    native = ("own", "en") if sides(language)[1].split("-")[0] == "en" else ("own",)
    row: dict[str, Any] = {"language": language, "judge": judge, "read": len(reasons)}
    every = np.ones(len(reasons))
    # what counts, and of how many
    shares: Mapping[str, tuple[ArrayLike, ArrayLike]] = {
        "in_output_language": (np.isin(spoken, native), every),
        "in_english": (spoken == "en", every),
        "names_level": (names_level, every),
        "contradicts": (names_level & differs, names_level),
        "quotes_found": (hits, spans),
    }
    for name, (above, below) in shares.items():
        row |= _share(above, below, sources).columns(name)
    undefined = [f"{name}: {why}" for name, why in NOTHING.items() if math.isnan(row[name])]
    row |= {"named": int(names_level.sum()), "quotes": sum(spans)}
    row |= {"opening": opening, "opening_share": times / len(reasons)}
    features = hashed(texts)
    targets = ([reason.lean for reason in reasons], [reason.wrong for reason in reasons])
    for name, target in zip(PREDICTED, targets, strict=True):
        figures, why = _predicted(features, np.array(target), sources)
        row |= figures.columns(name)
        undefined += [f"{name}: {why}"] if why else []
    return row | {"undefined": "; ".join(undefined)}


def _share(above: ArrayLike, below: ArrayLike, sources: Codes) -> Bounds:
    """A share with its interval over sources; NaN if there is nothing to count."""
    totals, counts = (np.bincount(sources, each).astype(np.float64) for each in (above, below))
    if not counts.sum():
        return NO_BOUNDS
    return Bounds(
        float(totals.sum() / counts.sum()),
        *interval_of_mean(totals[counts > 0], counts[counts > 0]),
    )


def _predicted(features: Numbers, target: Numbers, sources: Codes) -> tuple[Bounds, str]:
    """Pearson's r between the prediction from the words and the actual value, with its interval, or
    the reason if there is none.

    The prediction is learned on half of the sources and measured on the other half. With several
    folds, what is learned from the rest would tend to oppose what is held out: in a fifth of data
    sets without any correlation, intervals would exclude 0.
    """
    defined, half = ~np.isnan(target), source_folds(sources, 2)
    learn, rest = defined & (half == 0), defined & (half == 1)
    if min(learn.sum(), rest.sum()) < LEAST:
        return NO_BOUNDS, f"fewer than {LEAST} reasons in a half of the sources"
    try:
        slopes = ridge(features[learn], target[learn, None])[0][:, 0]
        correlation = pearson_influence(features[rest] @ slopes, target[rest])
    except Undefined as error:
        return NO_BOUNDS, str(error)
    ends = correlation_interval(correlation.value, correlation.influence, sources[rest])
    return Bounds(correlation.value, *(ends or NO_INTERVAL)), ""


def language_of(text: str, language: str) -> str:
    """`en` for English; `own` for a text in the script of the output's language; else `other`.

    Languages of the same script are only told apart from English.
    """
    text = text[:BEGINS]
    words = [word for word in _words(text) if word[0].isalpha()]
    if words and sum(word in ENGLISH for word in words) >= SHARE_OF_ENGLISH * len(words):
        return "en"
    native, foreign = (len(_WORD.findall(part)) for part in by_script(text, sides(language)[1]))
    return "own" if native >= foreign else "other"


def level_named(text: str, scale: Scale) -> float | None:
    """The level that a text states as its verdict, found as in a reply; None if it states none."""
    if scale.compares:
        return None  # first and second are places, which the other order exchanges
    # patterns of many languages: only where judges gave reasons
    from metal.raters.judges import forms
    from metal.raters.judges.candidates import evidence_in

    words = {word for level in scale.levels for word in _words(level.label)} | set(
        forms.NUMBER_WORDS
    )
    numbers = {float(number.replace(",", ".")) for number in _NUMBER.findall(text)}
    if words.isdisjoint(_words(text)) and not any(map(scale.allows, numbers)):
        return None  # most texts; the reader takes a while
    evidence = [
        each
        for each in evidence_in(text, scale, None, forms.OF_TOP)
        if each.rank >= forms.OF_TOP and not each.borrowed
    ]
    valid = [each for each in evidence if each.score is not None and scale.allows(each.score)]
    return max(valid, key=lambda each: (each.rank, each.place)).score if valid else None


def quotes(text: str, dataset: Dataset, name: str) -> tuple[int, int]:
    """How many quotations of at least QUOTED characters occur in the output or its source, and how
    many there are in all.

    Both numbers are 0 if neither output nor source has a text. Only words are compared, not the
    characters between them.
    """
    from metal.raters.judges import not_verdicts

    output = dataset.outputs[name]
    texts = (*output.shown, dataset.sources[output.source].text)
    spans = [
        match[0] for match in not_verdicts.QUOTATION.finditer(text) if len(match[0]) >= QUOTED + 2
    ]
    if not spans or not any(texts):
        return 0, 0
    plain = " ".join(_words(" ".join(texts)))
    return sum(" ".join(_words(span)) in plain for span in spans), len(spans)


def _words(text: str) -> list[str]:
    words: list[str] = _WORD.findall(text.casefold())
    return words


def hashed(texts: Sequence[str]) -> Numbers:
    """(texts, COLUMNS) whether a text has a word whose hash is the column; words with digits are
    ignored.
    """
    table = np.zeros((len(texts), COLUMNS))
    for row, text in enumerate(texts):
        for word in set(words_of(text)):
            table[row, crc32(word.encode("utf-8", "surrogatepass")) % COLUMNS] = 1.0
    return table
