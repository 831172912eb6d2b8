"""The tables of `metal check` (who rated what), and data problems that do not stop a run.

Each of these problems occurs in real released data.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from metal.auditing.as_read import SHOWN, Finding, as_read
from metal.data.dataset import Dataset
from metal.data.languages import language_name
from metal.data.pairs import one_item_per_pair
from metal.data.progress import counted_as
from metal.data.ratings import names_in
from metal.data.text import name, note, plural

MIN_RATINGS = 10  # fewer ratings of one label, or in common, may be chance
FEW_ITEMS = 30  # people with fewer items are left out of the alternative annotator test
FAR = 3  # a score is far from the others when its gap is more than so many times their range
OPPOSITE = -0.3  # correlation with other criteria below which a direction is doubtful
MOST_OF_REASON = 60  # characters: a reason may be a whole reply


def profile(dataset: Dataset) -> dict[str, pd.DataFrame]:
    """Three tables by name.

    ratings: for each language and criterion, ratings by kind of rater, and outputs that 1, 2, 3 or
    more people rated. raters: for each rater, kind, group, numbers of questions and answers,
    coverage, languages and criteria. labels: for each rater and criterion, how often it gave each
    level.
    """
    tables = {"ratings": _ratings, "raters": _raters, "labels": _labels}
    return {name: table(dataset) for name, table in counted_as(tables.items(), "tables")}


def _ratings(dataset: Dataset) -> pd.DataFrame:
    table = dataset.ratings
    kinds = (
        table.groupby(["language", "criterion", "kind"], observed=True)
        .size()
        .unstack("kind", fill_value=0)
    )
    human = table[(table["kind"] == "human") & table["score"].notna()]
    people = (
        human.groupby(["language", "criterion", "output"], observed=True)
        .size()
        .rename("people")
        .reset_index()
    )
    people["people"] = people["people"].clip(upper=3).map({1: "by 1", 2: "by 2", 3: "by 3+"})
    sizes = (
        people.groupby(["language", "criterion", "people"], observed=True)
        .size()
        .unstack("people", fill_value=0)
    )
    outputs = (
        table.groupby(["language", "criterion"], observed=True)["output"]
        .nunique()
        .rename("outputs")
    )
    joined = pd.concat([outputs, kinds, sizes], axis=1).fillna(0).astype(np.int64)
    joined.columns = list(map(str, joined.columns))
    return joined.sort_index().reset_index()


def _raters(dataset: Dataset) -> pd.DataFrame:
    rows = []
    grouped = dict(list(dataset.ratings.groupby("rater", observed=True)))
    for who, rater in sorted(dataset.raters.items()):
        ratings = grouped.get(who, dataset.ratings.iloc[:0])
        asked, answered = len(ratings), int(ratings["score"].notna().sum())
        rows.append(
            {
                "rater": who,
                "kind": rater.kind,
                "group": rater.group,
                "asked": asked,
                "answered": answered,
                "coverage": answered / asked if asked else float("nan"),
                "languages": ratings["language"].nunique(),
                "criteria": ratings["criterion"].nunique(),
            }
        )
    return pd.DataFrame(rows)


def _labels(dataset: Dataset) -> pd.DataFrame:
    rows = []
    answered = dataset.ratings[dataset.ratings["score"].notna()]
    for (criterion, rater), ratings in answered.groupby(
        ["criterion", "rater"], observed=True, sort=True
    ):
        counts = ratings["score"].value_counts()
        for level in dataset.criteria[str(criterion)].scale.levels:
            count = int(counts.get(level.value, 0))
            rows.append(
                (criterion, rater, f"{level.value:g} {level.label}", count, count / len(ratings))
            )
    return pd.DataFrame(rows, columns=["criterion", "rater", "level", "count", "share"])


def lint(dataset: Dataset) -> list[Finding]:
    """All findings, the most serious kinds first."""
    dataset = one_item_per_pair(dataset)
    table, counts = dataset.ratings.drop(columns="comment"), score_counts(dataset)
    # When a judge is asked once more, equal answers are what is hoped for.
    repeats = [name for name, rater in dataset.raters.items() if "repeats" in rater.about]
    titles = {name: criterion.title for name, criterion in dataset.criteria.items()}
    # where titles do not tell criteria apart, their names do
    if len(set(titles.values())) < len(titles):
        titles = {}
    named, counted = (
        part.assign(criterion=part["criterion"].cat.rename_categories(titles))
        for part in (table, counts)
    )
    checks = (
        _never_meet(named),
        _identical_raters(named[~named["rater"].isin(repeats)]),
        _identical_generators(named),
        _one_label(counted),
        _only_machines(dataset, counts),
        _other_scale(counted),
        _far_levels(counted),
        _alike_names(dataset),
        as_read(dataset),
        _opposite_criteria(dataset, table),
        _few_items(counts),
        _unanswered(table),
        _unrated(dataset),
        _model_versions(dataset),
        _not_sent(dataset),
    )
    return [
        Finding(finding.code, note(finding.message))
        for check in counted_as(checks, "checks")
        for finding in check
    ]


def _never_meet(table: pd.DataFrame) -> Iterator[Finding]:
    """Findings about judges and people who rate the same language and criterion, but share no
    output.
    """
    if table.empty:
        return
    names = ("language", "criterion", "rater", "output")
    languages, criteria, raters, outputs = (table[name].cat.categories for name in names)
    language, criterion, rater, output = (
        table[name].array.codes.astype(np.int64) for name in names
    )
    human = (table["kind"] == "human").to_numpy()
    asked = criterion * len(outputs) + output
    by_people = np.zeros(len(criteria) * len(outputs), dtype=bool)
    by_people[asked[human]] = True
    language_of = np.zeros(len(outputs), dtype=np.int64)
    language_of[output] = language
    what, which = np.divmod(np.flatnonzero(by_people), len(outputs))
    cells = len(languages) * len(criteria)
    people = np.bincount(language_of[which] * len(criteria) + what, minlength=cells).reshape(
        len(languages), -1
    )
    shape = len(languages), len(criteria), len(raters)
    cell = ((language * len(criteria) + criterion) * len(raters) + rater)[~human]
    rated = np.bincount(cell, minlength=int(np.prod(shape))).reshape(shape)
    met = np.bincount(cell, by_people[asked[~human]], minlength=int(np.prod(shape))).reshape(shape)
    alone = (rated > 0) & (met == 0) & (people > 0)[:, :, None]
    for code, what, who in np.argwhere(alone):
        yield Finding(
            "never-meet",
            f"{language_name(languages[code])} {criteria[what]}: {raters[who]} and people never"
            f" rate the same output ({rated[code, what, who]} and {people[code, what]} outputs);"
            " are the files of two languages swapped?",
        )


def _identical_raters(table: pd.DataFrame) -> Iterator[Finding]:
    """Findings about two raters with the same score on every output of a criterion and language."""
    for (language, criterion), cell in _groups(table, ["language", "criterion"]):
        for first, second, count in _identical(cell, "rater", "output"):
            alike = f"{first} and {second} give the same score on all {count} outputs both rated"
            yield Finding("identical-raters", f"{language_name(language)} {criterion}: {alike}")


def _identical_generators(table: pd.DataFrame) -> Iterator[Finding]:
    """Findings about a metric that gives two generators the same score on every source; one file
    may be a copy of the other.
    """
    continuous = table[table["kind"] == "metric"]
    for (rater, criterion), cell in _groups(continuous, ["rater", "criterion"]):
        for first, second, count in _identical(cell, "generator", "source"):
            yield Finding(
                "identical-generators",
                f"{criterion}: {rater} gives {first} and {second} the same score on all {count}"
                " sources",
            )


def _identical(cell: pd.DataFrame, name: str, item: str) -> Iterator[tuple[str, str, int]]:
    """Pairs of names whose scores are equal on all items that they share, if this cannot be chance.

    The two must share at least FEW_ITEMS items, of which at least MIN_RATINGS do not have the most
    frequent score.
    """
    answered = cell[cell["score"].notna()]
    names, column = names_in(answered[name])
    items, row = names_in(answered[item])
    scores = np.full((len(names), len(items)), np.nan)
    scores[column, row] = answered["score"].to_numpy()
    enough = (~np.isnan(scores)).sum(axis=1) >= FEW_ITEMS  # others share fewer with anybody
    names, scores = [name for name, kept in zip(names, enough, strict=True) if kept], scores[enough]
    for first, row_of_first in enumerate(scores):
        rest = scores[first + 1 :]
        common = ~np.isnan(row_of_first) & ~np.isnan(rest)
        equal = (~common | (rest == row_of_first)).all(axis=1) & (common.sum(axis=1) >= FEW_ITEMS)
        for second in np.flatnonzero(equal):
            shared = row_of_first[common[second]]
            _, counts = np.unique(shared, return_counts=True)
            if len(shared) - counts.max() >= MIN_RATINGS:
                yield names[first], names[first + 1 + second], len(shared)


def score_counts(dataset: Dataset) -> pd.DataFrame:
    """A table of how often each rater gives each score: language, criterion, rater, score, count,
    kind.

    Ratings without a score have no row.
    """
    by = ["language", "criterion", "rater", "score"]
    counts: pd.DataFrame = (
        dataset.ratings.groupby(by, observed=True).size().rename("count").reset_index()
    )
    kinds = {name: rater.kind for name, rater in dataset.raters.items()}
    return counts.assign(kind=counts["rater"].astype(object).map(kinds))


def _one_label(counts: pd.DataFrame) -> Iterator[Finding]:
    """Findings about raters who give the same answer to everything."""
    ends = {"min": ("score", "min"), "max": ("score", "max"), "size": ("count", "sum")}
    by_rater: Any = counts.groupby(["rater", "criterion", "language"], observed=True).agg(**ends)
    by_cell: Any = counts.groupby(["criterion", "language"], observed=True).agg(**ends)
    constant = by_rater[(by_rater["min"] == by_rater["max"]) & (by_rater["size"] >= MIN_RATINGS)]
    for (rater, criterion, language), row in constant.iterrows():
        others = by_cell.loc[(criterion, language)]
        alone = "" if others["min"] < others["max"] else ", as does everybody"
        answer = f"{rater} gives {row['min']:g} to all {int(row['size'])} outputs{alone}"
        yield Finding("one-label", f"{language_name(language)} {criterion}: {answer}")


def _only_machines(dataset: Dataset, counts: pd.DataFrame) -> Iterator[Finding]:
    """Findings about labels that judges use, but no person does."""
    for (criterion,), rows in _groups(counts, ["criterion"]):
        levels = dataset.criteria[criterion].scale.levels
        human = rows["kind"] == "human"
        if not levels or not human.any() or human.all():
            continue
        machine = rows[
            ~human & (rows["kind"] != "metric") & ~rows["score"].isin(rows.loc[human, "score"])
        ]
        labels = {level.value: level.label for level in levels}
        for (value,), extra in _groups(machine, ["score"]):
            times = plural(int(extra["count"].sum()), "time")
            message = (
                f"{dataset.called(criterion)}: judges say {labels[value]!r} {times}, no person ever"
                " does"
            )
            yield Finding("label-of-machines-only", message)


def _other_scale(counts: pd.DataFrame) -> Iterator[Finding]:
    """Findings about criteria on which most scores of one kind of rater are more than twice as high
    as any score of the other kind.
    """
    for (criterion,), rows in _groups(counts[counts["kind"].isin(["human", "llm"])], ["criterion"]):
        kinds = sorted(_groups(rows, ["kind"]), key=lambda kind: float(kind[1]["score"].max()))
        if (
            len(kinds) < 2
            or rows["score"].min() < 0
            or min(of["count"].sum() for _, of in kinds) < FEW_ITEMS
        ):
            continue
        (_, low), (_, high) = kinds
        beyond = high["count"][high["score"] > low["score"].max()].sum() > high["count"].sum() / 2
        if beyond and high["score"].max() > 1.9 * low["score"].max() > 0:
            whose = {"human": "people's scores go", "llm": "judges' scores go"}
            scores = [
                f"{whose[kind]} from {of['score'].min():g} to {of['score'].max():g}"
                for (kind,), of in kinds[::-1]
            ]
            yield Finding("other-scale", f"{criterion}: {', '.join(scores)}; are these two scales?")


@dataclass(frozen=True)
class FarScores:
    """Scores of a criterion that are far from its other scores.

    counts: score -> how often it occurs. rest: the lowest and the highest of the other scores.
    """

    criterion: str
    counts: Mapping[float, int]
    rest: tuple[float, float]

    @property
    def line(self) -> str:
        listed = ", ".join(
            f"{score:g} ({plural(count, 'time')})" for score, count in self.counts.items()
        )
        return f"{self.criterion}: {listed} among scores from {self.rest[0]:g} to {self.rest[1]:g}"


def far_scores(counts: pd.DataFrame) -> Iterator[FarScores]:
    """Scores far from all others, or a single negative score.

    They may be typing errors, or codes for no answer (-1, -999).
    """
    for (criterion,), rows in _groups(counts[counts["kind"] != "metric"], ["criterion"]):
        times: Any = rows.groupby("score")["count"].sum()
        values = times.index.to_numpy()
        kept = np.ones(len(values), dtype=bool)
        while kept.sum() > 2:
            first, second, *_, last_but_one, last = np.flatnonzero(kept)[[0, 1, -2, -1]]
            negative = values[first] < 0 <= values[second] and values[first] % 1 == 0
            if (
                negative
                or values[second] - values[first] > FAR * (values[last] - values[second]) > 0
            ):
                kept[first] = False
            elif (
                values[last] - values[last_but_one]
                > FAR * (values[last_but_one] - values[first])
                > 0
            ):
                kept[last] = False
            else:
                break
        if not kept.all():
            far = {float(value): int(count) for value, count in times[~kept].items()}
            yield FarScores(criterion, far, (values[kept][0], values[kept][-1]))


def _far_levels(counts: pd.DataFrame) -> Iterator[Finding]:
    for far in far_scores(counts):
        remedy = "a typing error, or a code for no answer (`metal.read(..., missing=...)`)?"
        yield Finding("far-levels", f"{far.line}; {remedy}")


def _alike_names(dataset: Dataset) -> Iterator[Finding]:
    """Findings about names that differ only in case, blanks or Unicode form, and may mean
    the same.
    """
    generators = {output.generator for output in dataset.outputs.values()}
    kinds = {
        "rater": dataset.raters,
        "generator": generators,
        "source": dataset.sources,
        "output": dataset.outputs,
    }
    for what, names in {**kinds, "criterion": dataset.criteria}.items():
        by_plain: dict[str, list[str]] = {}
        for spelling in names:
            plain = " ".join(unicodedata.normalize("NFKC", spelling).casefold().split())
            by_plain.setdefault(plain, []).append(spelling)
        alike = [" and ".join(map(repr, same[:3])) for same in by_plain.values() if len(same) > 1]
        if alike:
            more = f" and {len(alike) - SHOWN} more" if len(alike) > SHOWN else ""
            listed = "; ".join(map(name, alike[:SHOWN]))
            yield Finding(
                "alike-names", f"{what}: some names differ only in case or blanks, {listed}{more}"
            )


def _opposite_criteria(dataset: Dataset, table: pd.DataFrame) -> Iterator[Finding]:
    """Findings about criteria that people rate well where they rate all others badly, so that the
    direction may be wrong.
    """
    human = table[(table["kind"] == "human") & table["score"].notna()]
    if human["criterion"].nunique() < 3:
        return
    means = (
        human.groupby(["output", "criterion"], observed=True)["score"].mean().unstack("criterion")
    )
    shares = pd.DataFrame({c: dataset.criteria[str(c)].share(means[c].to_numpy()) for c in means})
    related = shares.corr(min_periods=FEW_ITEMS).to_numpy(copy=True)
    np.fill_diagonal(related, np.nan)
    for criterion, row in zip(shares, related, strict=True):
        if (row < OPPOSITE).sum() > 1 and not (row > 0).any():
            suspect = dataset.criteria[str(criterion)]
            yield Finding(
                "opposite-criterion",
                f"{suspect.title}: good where all other criteria are bad (correlation"
                f" {np.nanmean(row):.2f}); is {suspect.direction} better? If so, set"
                " `metal.read(..., directions=...)`",
            )


def _few_items(counts: pd.DataFrame) -> Iterator[Finding]:
    """Findings about people who rated too few outputs for meaningful figures."""
    human = counts[counts["kind"] == "human"]
    items: Any = human.groupby(["language", "criterion", "rater"], observed=True)["count"].sum()
    most = items.groupby(level=["language", "rater"], observed=True).max()
    most_of_language = items.groupby(level="language", observed=True).max()
    for (language, rater), size in most[most < FEW_ITEMS].items():
        if most_of_language[language] >= FEW_ITEMS:
            only = f"rated only {int(size)} outputs of a criterion"
            yield Finding("few-items", f"{language_name(language)}: {rater} {only}")


def _unanswered(table: pd.DataFrame) -> Iterator[Finding]:
    """Findings about raters with missing answers, with the reasons."""
    missing = table[table["score"].isna()]
    if missing.empty:
        return
    asked = table.groupby("rater", observed=True).size()
    for (rater,), rows in _groups(missing, ["rater"]):
        reasons = rows["reason"].astype(object).value_counts()
        listed = ", ".join(
            f"{name(reason, MOST_OF_REASON)} {count}"
            for reason, count in reasons.head(SHOWN).items()
        )
        yield Finding(
            "unanswered",
            f"{rater}: {len(rows):,} of {asked[rater]:,} ratings have no score ({listed})",
        )


def _unrated(dataset: Dataset) -> Iterator[Finding]:
    """Findings about languages whose outputs nobody rated."""
    rated = set(dataset.ratings["language"].unique())
    for language in dataset.languages:
        if language not in rated:
            yield Finding("unrated-language", f"{language_name(language)}: outputs, but no ratings")


def _model_versions(dataset: Dataset) -> Iterator[Finding]:
    """Findings about judges whose provider changed the model during the run."""
    for rater in dataset.raters.values():
        versions = rater.about.get("versions")
        if isinstance(versions, dict) and len(versions) > 1:
            listed = ", ".join(
                f"{version} {count}" for version, count in list(versions.items())[:SHOWN]
            )
            yield Finding(
                "model-versions",
                f"{rater.rater}: {len(versions)} model versions answered ({listed})",
            )


def _not_sent(dataset: Dataset) -> Iterator[Finding]:
    """Findings about judges that were asked without a parameter, because their model rejects it."""
    for rater in dataset.raters.values():
        rejected = rater.about.get("rejected")
        if isinstance(rejected, dict) and rejected:
            names = ["temperature 0"] if "temperature" in rejected else []
            names += sorted(name for name in rejected if name != "temperature")
            yield Finding(
                "not-sent",
                f"{rater.rater}: asked without {', '.join(names)}, which its model rejects",
            )


def _groups(table: pd.DataFrame, by: list[str]) -> Iterator[tuple[Any, pd.DataFrame]]:
    """The groups that occur, sorted by name; keys are tuples."""
    grouped: Any = table.groupby(by, observed=True, sort=True)
    yield from grouped
