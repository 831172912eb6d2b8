"""What is in a dataset: lengths and qualities by language, and the classes people gave to each quality.

METAL's Table 1, Table 2 and Figure 2, with rates beside the counts: there are more bad summaries than good ones in
METAL, so that more of them have a class although it is rarer among them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from metal.data.dataset import Dataset
from metal.data.ratings import code_matrix
from metal.data.records import Criterion
from metal.stats.aggregate import NOBODY, TIE
from metal.stats.consensus import consensus

ALL = "all"  # languages, qualities
NO_CLASS = "(no class)"
UNDEFINED = "-"
_NAMED = re.compile(r"(?:^|[-/_ ])(good|bad|reference)$", re.IGNORECASE)

_PASSAGES = ("passages", "passage_mean", "passage_sd", "passages_counted")
_OUTPUTS = ("outputs", "output_mean", "output_sd", "outputs_counted")
LENGTHS = ("language", *_PASSAGES, *_OUTPUTS)
CLASSES = ("language", "criterion", "quality", "level", "count", "items", "share")


def quality_of(dataset: Dataset) -> dict[str, str]:
    """Generator -> quality: as `metal generate` noted it, else the last word of its name where that is one."""
    noted: Mapping[str, Any] = dataset.extra.get("generators", {})
    found = {}
    for generator in dict.fromkeys(output.generator for output in dataset.outputs.values()):
        named = _NAMED.search(generator)
        quality = str(noted.get(generator, {}).get("quality", "")) or (named[1].lower() if named else "")
        if quality:
            found[generator] = quality
    return found


def lengths(
    dataset: Dataset, count: Callable[[str], int] | None = None, *, languages: Sequence[str] = ()
) -> pd.DataFrame:
    """A row a language: passages and chosen outputs, tokens of both (mean, sd with n - 1), outputs of each quality.

    count: counts a text whose tokens are not known; without it such texts are left out, and counted in
    `passages_counted` and `outputs_counted`. languages: those to describe; all unless given.
    Source: METAL 3.3, Table 1.
    """
    qualities = quality_of(dataset)
    listed = sorted(set(qualities.values()), key=_quality_order)
    rows = []
    there = {source.language for source in dataset.sources.values()} | set(dataset.languages)
    for language in sorted(there & set(languages) if languages else there):
        outputs = [one for one in dataset.outputs.values() if one.language == language and one.chosen]
        names = {one.source for one in outputs} or {
            name for name, source in dataset.sources.items() if source.language == language
        }
        passages = [dataset.sources[name] for name in sorted(names)]
        row = dict(zip(LENGTHS, (language, *_spread(passages, count), *_spread(outputs, count)), strict=True))
        given = [qualities.get(one.generator, "") for one in outputs]
        rows.append(row | {quality: given.count(quality) for quality in listed})
    return pd.DataFrame(rows, columns=[*LENGTHS, *listed])


def _spread(texts: Iterable[Any], count: Callable[[str], int] | None) -> tuple[int, float, float, int]:
    """How many, mean and standard deviation of their tokens, and how many of them were counted."""
    whole = list(texts)
    tokens = [
        one.tokens if one.tokens is not None else count(one.text) if count and one.text else None for one in whole
    ]
    known = np.array([number for number in tokens if number is not None], dtype=np.float64)
    mean = float(known.mean()) if len(known) else float("nan")
    return len(whole), mean, float(known.std(ddof=1)) if len(known) > 1 else float("nan"), len(known)


def _quality_order(quality: str) -> tuple[int, str]:
    order = ("good", "bad", "reference")
    return (order.index(quality) if quality in order else len(order), quality)


def classes(
    dataset: Dataset,
    rule: str = "majority-or-mean",
    *,
    criteria: Sequence[str] = (),
    languages: Sequence[str] = (),
) -> pd.DataFrame:
    """How often people's aggregate is each class, by language, criterion and quality; ALL sums over each.

    An output counts with one rating or more; one without a class (METAL's mean of three distinct labels, where that
    is none) is counted under NO_CLASS. share: of the items with that quality. criteria, languages: those to describe;
    all unless given. Source: METAL 3.3, Table 2, Figure 2.
    """
    qualities = quality_of(dataset)
    columns = ["language", "source", "generator", "output", "criterion", "rater", "score"]
    people = dataset.ratings.loc[dataset.ratings["kind"] == "human", columns]
    if languages:
        people = people[people["language"].isin(languages)]
    rows: list[dict[str, Any]] = []
    for name, criterion in dataset.criteria.items():
        if criterion.scale.levels and (not criteria or name in criteria):
            settled = list(_settled(people[people["criterion"] == name], criterion, qualities, rule))
            if any(map(len, settled)):
                rows += _counted(pd.concat(settled, ignore_index=True), criterion)
    return pd.DataFrame(rows, columns=list(CLASSES))


def _settled(
    rows: pd.DataFrame, criterion: Criterion, qualities: Mapping[str, str], rule: str
) -> Iterator[pd.DataFrame]:
    """A table a language: language, quality and class of each rated output."""
    names = np.array([*(level.shown for level in criterion.scale.levels), NO_CLASS], dtype=object)
    for language, mine in rows.groupby("language", observed=True):
        matrix = code_matrix(mine, criterion)
        ordered = criterion.scale.measure != "nominal"
        codes = consensus(matrix.codes, np.array(criterion.scale.values), rule, ordered=ordered)
        rated = codes != NOBODY
        generator = mine["generator"].cat
        by_generator = np.array([qualities.get(name, "") for name in generator.categories], dtype=object)
        of_output = generator.codes.to_numpy()[matrix.places.max(axis=1)]
        yield pd.DataFrame(
            {
                "language": str(language),
                "quality": by_generator[of_output[rated]],
                "level": names[np.where(codes == TIE, len(names) - 1, codes)[rated]],
            }
        )


def _counted(settled: pd.DataFrame, criterion: Criterion) -> Iterator[dict[str, Any]]:
    names = [level.shown for level in criterion.scale.levels]
    languages = [ALL, *sorted(settled["language"].unique())]
    listed = [ALL, *sorted({quality for quality in settled["quality"] if quality}, key=_quality_order)]
    for language in languages:
        for quality in listed:
            mine = settled[
                ((settled["language"] == language) | (language == ALL))
                & ((settled["quality"] == quality) | (quality == ALL))
            ]
            counts = mine["level"].value_counts()
            for level in [*names, NO_CLASS]:
                number = int(counts.get(level, 0))
                if len(mine) and (number or level != NO_CLASS):
                    figures = (language, criterion.name, quality, level, number, len(mine), number / len(mine))
                    yield dict(zip(CLASSES, figures, strict=True))


# ---------------------------------------------------------------- METAL's layouts


def table_1(found: pd.DataFrame) -> pd.DataFrame:
    """Language, tokens of passage and output as `mean ± sd`, outputs of each quality (METAL Table 1)."""
    shown = pd.DataFrame({"language": found["language"]})
    for column, what in (("Passage", "passage"), ("Summary", "output")):
        shown[column] = [_mean(mean, sd) for mean, sd in zip(found[f"{what}_mean"], found[f"{what}_sd"], strict=True)]
    for quality in found.columns[len(LENGTHS) :]:
        shown[str(quality).capitalize()] = found[quality]
    return shown


def _mean(mean: float, sd: float) -> str:
    if mean != mean:
        return UNDEFINED
    return f"{mean:.2f}" + (f" ± {sd:.2f}" if sd == sd else "")


def table_2(found: pd.DataFrame, dataset: Dataset) -> pd.DataFrame:
    """Classes in rows, criteria in columns, `N(good) / N(bad)` in cells, then the same as rates (METAL Table 2).

    Classes stand by their place on the scale, so that criteria with other labels share rows; `-` where a criterion has
    none there. Outputs without a class have a last row where there are any, so that rates add up.
    """
    whole = found[found["language"] == ALL]
    listed = [quality for quality in dict.fromkeys(whole["quality"]) if quality != ALL] or [ALL]
    names = [name for name in dataset.criteria if (whole["criterion"] == name).any()]
    most = max((len(dataset.criteria[name].scale.levels) for name in names), default=0)
    tied = bool((whole["level"] == NO_CLASS).any())
    rows = []
    for what in ("count", "share"):
        for place in range(most + tied):
            row = {"figure": what, "class": _place(place, [dataset.criteria[name] for name in names])}
            for name in names:
                levels = dataset.criteria[name].scale.levels
                level = NO_CLASS if place == most else levels[place].shown if place < len(levels) else ""
                cells = [_figure(whole, name, quality, level, what) for quality in listed] if level else [UNDEFINED]
                row[dataset.criteria[name].short] = " / ".join(cells)
            rows.append(row)
    return pd.DataFrame(rows, columns=["figure", "class", *(dataset.criteria[name].short for name in names)])


def _place(place: int, criteria: Sequence[Criterion]) -> str:
    """What the class at this place is called: its value where the criteria agree on it, else its place."""
    values = {one.scale.levels[place].value for one in criteria if place < len(one.scale.levels)}
    if not values:
        return NO_CLASS
    return f"{values.pop():g}" if len(values) == 1 else str(place)


def _figure(whole: pd.DataFrame, criterion: str, quality: str, level: str, what: str) -> str:
    mine = whole[(whole["criterion"] == criterion) & (whole["quality"] == quality)]
    if mine.empty:
        return UNDEFINED
    found = mine[mine["level"] == level]
    if found.empty:  # only what nobody gave is left out: (no class)
        return "0" if what == "count" else "0%"
    return f"{int(found['count'].iloc[0]):,}" if what == "count" else f"{found['share'].iloc[0]:.0%}"


def reversals(found: pd.DataFrame, dataset: Dataset) -> list[str]:
    """Where counts and rates of good and bad outputs say the opposite, in words."""
    whole = found[found["language"] == ALL]
    sentences = []
    for (criterion, level), mine in whole.groupby(["criterion", "level"], sort=False):
        by = mine.set_index("quality")
        if level == NO_CLASS or not {"good", "bad"} <= set(by.index):
            continue
        good, bad = by.loc["good"], by.loc["bad"]
        if (good["count"] - bad["count"]) * (good["share"] - bad["share"]) < 0:
            more = "bad" if bad["count"] > good["count"] else "good"
            sentences.append(
                f"{dataset.criteria[str(criterion)].short} {level}: more {more} outputs by count "
                f"({good['count']:,} good, {bad['count']:,} bad), fewer by rate "
                f"({good['share']:.1%} of the good, {bad['share']:.1%} of the bad)"
            )
    return sentences
