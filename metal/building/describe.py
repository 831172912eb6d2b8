"""Describe a dataset: lengths and qualities by language, and people's classes for outputs of each
quality.

Makes METAL's Table 1, Table 2 and Figure 2, and adds rates to the counts. METAL has more bad
summaries than good ones, so a class can have a higher count among bad summaries but a lower rate.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from metal.building.flags import REFUSES
from metal.data.dataset import Dataset
from metal.data.ratings import code_matrix
from metal.data.records import Criterion, Output
from metal.stats.aggregate import NOBODY, TIE, consensus

ALL = "all"  # languages, qualities
NO_CLASS = "(no class)"
UNDEFINED = "-"
_NAMED = re.compile(r"(?:^|[-/_ ])(good|bad|reference)$", re.IGNORECASE)

_PASSAGES = ("passages", "passage_mean", "passage_sd", "passages_counted")
_OUTPUTS = ("outputs", "output_mean", "output_sd", "outputs_counted")
LENGTHS = ("language", *_PASSAGES, *_OUTPUTS)
NUMBERS = ("criterion", "outputs", "mean", "sd", "lowest", "highest")
CLASSES = ("language", "criterion", "quality", "level", "count", "items", "share")


def quality_of(dataset: Dataset) -> dict[str, str]:
    """Generator -> quality, as `metal.generate` recorded it; otherwise the last word of the
    generator's name, if that is a quality.
    """
    noted: Mapping[str, Any] = dataset.extra.get("generators", {})
    qualities = {}
    for generator in dict.fromkeys(output.generator for output in dataset.outputs.values()):
        named = _NAMED.search(generator)
        quality = str(noted.get(generator, {}).get("quality", "")) or (
            named[1].lower() if named else ""
        )
        if quality:
            qualities[generator] = quality
    return qualities


def lengths(
    dataset: Dataset, count: Callable[[str], int] | None = None, *, languages: Sequence[str] = ()
) -> pd.DataFrame:
    """A row for each language: the number of passages and of chosen outputs, their tokens (mean;
    standard deviation with n - 1), and the outputs by quality.

    count: counts the tokens of a text if its number of tokens is not stored. Without `count`, such
    texts do not enter the means; `passages_counted` and `outputs_counted` say how many texts do.
    languages: the languages to describe, by default all. Source: METAL 3.3, Table 1.
    """
    qualities = quality_of(dataset)
    listed = sorted(set(qualities.values()), key=_quality_order)
    rows = []
    present = {source.language for source in dataset.sources.values()} | set(dataset.languages)
    for language in sorted(present & set(languages) if languages else present):
        outputs = [
            output
            for output in dataset.outputs.values()
            if output.language == language and output.chosen
        ]
        names = {output.source for output in outputs} or {
            name for name, source in dataset.sources.items() if source.language == language
        }
        passages = [dataset.sources[name] for name in sorted(names)]
        row = dict(
            zip(
                LENGTHS,
                (language, *_spread(passages, count), *_spread(outputs, count)),
                strict=True,
            )
        )
        counts = Counter(qualities.get(output.generator, "") for output in outputs)
        rows.append(row | {quality: counts[quality] for quality in listed})
    return pd.DataFrame(rows, columns=[*LENGTHS, *listed])


def _spread(
    texts: Sequence[Any], count: Callable[[str], int] | None
) -> tuple[int, float, float, int]:
    """The number of texts, the mean and the standard deviation of their tokens, and how many texts
    have a number of tokens.
    """
    counted: list[int] = []
    for text in texts:
        if text.tokens is not None:
            counted.append(text.tokens)
        elif count and text.text:
            counted.append(count(text.text))
    mean = float(np.mean(counted)) if counted else float("nan")
    return (
        len(texts),
        mean,
        float(np.std(counted, ddof=1)) if len(counted) > 1 else float("nan"),
        len(counted),
    )


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
    """How often each class is people's aggregate, by language, criterion and quality. Rows with ALL
    sum over languages or qualities.

    An output counts if it has at least one rating. If its ratings give no class (as METAL's mean of
    three distinct labels may), it counts under NO_CLASS. share: the class's share of the items with
    that quality. criteria, languages: what to describe, by default all. Source: METAL 3.3, Table 2,
    Figure 2.
    """
    qualities = quality_of(dataset)
    columns = ["language", "source", "generator", "output", "criterion", "rater", "score"]
    people = dataset.ratings.loc[dataset.ratings["kind"] == "human", columns]
    if languages:
        people = people[people["language"].isin(languages)]
    rows: list[dict[str, Any]] = []
    for name, criterion in dataset.criteria.items():
        if criterion.scale.levels and (not criteria or name in criteria):
            labelled = list(
                _classes_of_outputs(people[people["criterion"] == name], criterion, qualities, rule)
            )
            if any(map(len, labelled)):
                rows += _class_counts(pd.concat(labelled, ignore_index=True), criterion)
    return pd.DataFrame(rows, columns=list(CLASSES))


def _classes_of_outputs(
    rows: pd.DataFrame, criterion: Criterion, qualities: Mapping[str, str], rule: str
) -> Iterator[pd.DataFrame]:
    """A table for each language: language, quality and class of each rated output."""
    names = np.array([*(level.shown for level in criterion.scale.levels), NO_CLASS], dtype=object)
    for language, group in rows.groupby("language", observed=True):
        matrix = code_matrix(group, criterion)
        ordered = criterion.scale.measure != "nominal"
        codes = consensus(matrix.codes, np.array(criterion.scale.values), rule, ordered=ordered)
        rated = codes != NOBODY
        generator = group["generator"].cat
        by_generator = np.array(
            [qualities.get(name, "") for name in generator.categories], dtype=object
        )
        of_output = generator.codes.to_numpy()[matrix.places.max(axis=1)]
        yield pd.DataFrame(
            {
                "language": str(language),
                "quality": by_generator[of_output[rated]],
                "level": names[np.where(codes == TIE, len(names) - 1, codes)[rated]],
            }
        )


def _class_counts(labelled: pd.DataFrame, criterion: Criterion) -> Iterator[dict[str, Any]]:
    names = [level.shown for level in criterion.scale.levels]
    languages = [ALL, *sorted(labelled["language"].unique())]
    listed = [ALL, *sorted(filter(None, labelled["quality"].unique()), key=_quality_order)]
    tally = (
        labelled.value_counts(["language", "quality", "level"]).reset_index().to_numpy().tolist()
    )
    for language in languages:
        for quality in listed:
            counts: Counter[str] = Counter()
            for its_language, its_quality, level, number in tally:
                if language in (its_language, ALL) and quality in (its_quality, ALL):
                    counts[level] += number
            rated = counts.total()
            for level in [*names, NO_CLASS]:
                number = counts[level]
                if rated and (number or level != NO_CLASS):
                    figures = (
                        language,
                        criterion.name,
                        quality,
                        level,
                        number,
                        rated,
                        number / rated,
                    )
                    yield dict(zip(CLASSES, figures, strict=True))


def numbers(dataset: Dataset) -> pd.DataFrame:
    """For each criterion without classes, the number of outputs that people scored, and statistics
    of the outputs' mean scores: mean, standard deviation (with n - 1; NaN for one output) and
    range.
    """
    people = dataset.ratings[
        (dataset.ratings["kind"] == "human") & dataset.ratings["score"].notna()
    ]
    means = people.groupby(["criterion", "output"], observed=True)["score"].mean()
    rows = []
    for name, criterion in dataset.criteria.items():
        if not criterion.scale.levels and name in means.index.get_level_values(0):
            of = means.loc[name]
            rows.append((name, len(of), of.mean(), of.std(), of.min(), of.max()))
    return pd.DataFrame(rows, columns=list(NUMBERS))


# ---------------------------------------------------------------- METAL's layouts


def table_1(lengths: pd.DataFrame) -> pd.DataFrame:
    """METAL's Table 1: language, tokens of passages and of outputs as `mean ± sd`, and outputs of
    each quality.
    """
    shown = pd.DataFrame({"language": lengths["language"]})
    for column, what in (("Passage", "passage"), ("Summary", "output")):
        means = zip(lengths[f"{what}_mean"], lengths[f"{what}_sd"], strict=True)
        shown[column] = [_mean(mean, sd) for mean, sd in means]
    for quality in lengths.columns[len(LENGTHS) :]:
        shown[str(quality).capitalize()] = lengths[quality]
    return shown


def _mean(mean: float, sd: float) -> str:
    if math.isnan(mean):
        return UNDEFINED
    return f"{mean:.2f}" + ("" if math.isnan(sd) else f" ± {sd:.2f}")


def table_2(classes: pd.DataFrame, dataset: Dataset) -> pd.DataFrame:
    """METAL's Table 2: classes in rows, criteria in columns, `N(good) / N(bad)` in cells; the same
    follows as rates.

    A row is a rank on the scale, so that criteria with different labels share rows; `-` marks a
    criterion without a class of that rank. Outputs without a class get a last row, so that rates
    add up to 1.
    """
    overall = classes[classes["language"] == ALL]
    qualities = overall["quality"]
    listed = list(dict.fromkeys(qualities[qualities != ALL])) or [ALL]
    criteria = [c for name, c in dataset.criteria.items() if (overall["criterion"] == name).any()]
    most = max((len(criterion.scale.levels) for criterion in criteria), default=0)
    tied = bool((overall["level"] == NO_CLASS).any())
    figures: dict[tuple[str, str], dict[str, Any]] = {}
    for row in overall.to_dict("records"):
        figures.setdefault((row["criterion"], row["quality"]), {})[row["level"]] = row
    rows = []
    for what in ("count", "share"):
        for rank in range(most + tied):
            row = {"figure": what, "class": _place(rank, criteria)}
            for criterion in criteria:
                shown = [level.shown for level in criterion.scale.levels]
                level = [*shown, *[""] * (most - len(shown)), NO_CLASS][rank]
                cells = [UNDEFINED]
                if level:
                    of_each = [(criterion.name, quality) for quality in listed]
                    cells = [_figure(figures, key, level, what) for key in of_each]
                row[criterion.short] = " / ".join(cells)
            rows.append(row)
    return pd.DataFrame(rows, columns=["figure", "class", *(c.short for c in criteria)])


def _place(rank: int, criteria: Sequence[Criterion]) -> str:
    """The name of a row: the value of the class of this rank if all criteria agree on the value, or
    else the rank.
    """
    scales = [criterion.scale for criterion in criteria]
    values = {scale.levels[rank].value for scale in scales if rank < len(scale.levels)}
    if not values:
        return NO_CLASS
    return f"{values.pop():g}" if len(values) == 1 else str(rank)


def _figure(
    figures: Mapping[tuple[str, str], Mapping[str, Any]],
    key: tuple[str, str],
    level: str,
    what: str,
) -> str:
    """A cell of Table 2. figures: rows by level, by (criterion, quality)."""
    if key not in figures:
        return UNDEFINED
    # only NO_CLASS has no row if nobody is in it
    figure = figures[key][level][what] if level in figures[key] else 0
    return f"{figure:,}" if what == "count" else f"{figure:.0%}"


def reversals(classes: pd.DataFrame, dataset: Dataset) -> list[str]:
    """A sentence on each class for which counts and rates of good and bad outputs point in opposite
    directions.
    """
    overall = classes[classes["language"] == ALL]
    sentences = []
    for (criterion, level), group in overall.groupby(["criterion", "level"], sort=False):
        by = group.set_index("quality")
        if level == NO_CLASS or not {"good", "bad"} <= set(by.index):
            continue
        good, bad = by.loc["good"], by.loc["bad"]
        if (good["count"] - bad["count"]) * (good["share"] - bad["share"]) < 0:
            more = "bad" if bad["count"] > good["count"] else "good"
            sentences.append(
                f"{dataset.criteria[str(criterion)].short} {level}: more {more} outputs have it "
                f"by count ({good['count']:,} good, {bad['count']:,} bad), but fewer by rate "
                f"({good['share']:.1%} of the good, {bad['share']:.1%} of the bad)"
            )
    return sentences


GENERATED = (
    "language",
    "passages",
    "texts",
    "qualities",
    "declined",
    "flagged",
    "reasons",
    "chosen",
    "without",
)
GENERATED_BY = (
    "language",
    "generator",
    "quality",
    "texts",
    "missing",
    "declined",
    "flagged",
    "reasons",
    "chosen",
)


def generated(
    dataset: Dataset, outputs: Sequence[Output], languages: Sequence[str]
) -> dict[str, pd.DataFrame]:
    """Describe what generators wrote in each of these languages. Table `languages` has a row per
    language, table `texts` a row per generator.

    passages: passages with a text. without: passages that have no chosen output. missing: passages
    for which the generator has no text; NaN for people, who were not asked to write one for each
    passage. reasons: the reasons of flags, with counts.
    """
    noted: Mapping[str, Any] = dataset.extra.get("generators", {})
    qualities = {name: facts.get("quality", "") for name, facts in noted.items()} | quality_of(
        dataset
    )
    generators = dict.fromkeys([*noted, *(output.generator for output in outputs)])
    overall, by_generator = [], []
    for language in languages:
        passages = {
            key
            for key, source in dataset.sources.items()
            if source.language == language and source.text
        }
        texts = [output for output in outputs if output.language == language]
        by_quality = Counter(qualities.get(output.generator, "other") for output in texts)
        covered = {output.source for output in texts if output.chosen}
        row = {"language": language, "passages": len(passages), "qualities": _counted(by_quality)}
        overall.append(row | _of_texts(texts) | {"without": len(passages - covered)})
        for generator in generators:
            row = {"language": language, "quality": qualities.get(generator, "")}
            by_generator.append(row | _of_generator(generator, texts, passages))
    return {
        "languages": pd.DataFrame(overall, columns=list(GENERATED)),
        "texts": pd.DataFrame(by_generator, columns=list(GENERATED_BY)),
    }


def _of_generator(generator: str, outputs: Sequence[Output], passages: set[str]) -> dict[str, Any]:
    """Figures of a generator's texts, and the number of passages for which it has none."""
    texts = [output for output in outputs if output.generator == generator]
    missing: float = len(passages - {output.source for output in texts})
    if generator == "reference":  # people were not asked
        missing = math.nan
    return {"generator": generator, "missing": missing} | _of_texts(texts)


def _of_texts(texts: Sequence[Output]) -> dict[str, Any]:
    flags = Counter(flag for output in texts for flag in output.flags)
    return {
        "texts": len(texts),
        "declined": flags[REFUSES],
        "flagged": sum(bool(output.flags) for output in texts),
        "reasons": _counted(flags),
        "chosen": sum(output.chosen for output in texts),
    }


def _counted(names: Counter[str]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in names.most_common())
