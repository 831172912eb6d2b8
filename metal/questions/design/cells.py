"""The input of a design study: its settings, prices, and cells.

A cell holds the answers of people and judges on one criterion in one language as arrays.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from metal.auditing.cells import AuditCell, cells
from metal.data.dataset import Dataset
from metal.data.languages import check_languages
from metal.data.own_ranges import give_ends
from metal.data.pairs import one_item_per_pair, originals
from metal.data.people import people_named
from metal.data.records import MANY_LABELS, METRIC_SCORE, Criterion
from metal.errors import UsageError, check_known
from metal.questions.design.labels.sampling import usual_panel
from metal.questions.design.settings import DesignSettings
from metal.stats.patterns import Codes, Numbers

MOST_RATERS = 5  # an item, where nothing else is asked for
_ENDLESS = f"has a scale without ends, or more than {MANY_LABELS} categories"


@dataclass(frozen=True)
class DesignCell:
    """A language and criterion that people rated. Arrays have one row per output that a person
    rated.

    scores: (items, people) as people gave them, NaN without a score. generators, sources: (items,)
    names. populations: name -> the columns of its people. audit: the same cell as an audit has it.
    """

    language: str
    criterion: Criterion
    people: tuple[str, ...]
    scores: Numbers
    generators: Codes
    sources: Codes
    populations: Mapping[str, tuple[int, ...]]
    judges: tuple[str, ...]
    audit: AuditCell
    settings: DesignSettings

    @property
    def place(self) -> dict[str, str]:
        """The language and criterion, which are the first columns of a table."""
        return {"language": self.language, "criterion": self.criterion.name}

    @property
    def scored(self) -> bool:
        """Whether scores can be expressed as shares of the scale, so that their mean has a
        meaning.
        """
        return self.criterion.scale.ends is not None

    @cached_property
    def shares(self) -> Numbers:
        """(items, people) shares of the scale (Criterion.share); NaN if there is no score."""
        return self.criterion.share(self.scores)

    @property
    def binary(self) -> bool:
        """Whether the scale has only two levels, which are 0 and 1 as shares."""
        return len(self.criterion.scale.levels) == 2

    @cached_property
    def panel(self) -> int:
        """The usual number of people per item."""
        return usual_panel(~np.isnan(self.scores))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of people per item to plan for; may include requested numbers that the data
        do not have.
        """
        asked = tuple(sorted(set(self.settings.raters)))
        return asked or tuple(range(1, min(self.panel, MOST_RATERS) + 1))

    @property
    def judged_sizes(self) -> tuple[int, ...]:
        """The numbers of people per item to plan verdicts for: those asked for, else only the usual
        one, because verdicts take longer to plan.
        """
        return tuple(sorted(set(self.settings.raters))) or self.sizes[-1:]

    @property
    def source_count(self) -> int:
        """The number of sources that have a rated output."""
        return len(np.unique(self.sources))

    def random(self, *names: object) -> np.random.Generator:
        """A random generator seeded by the purpose of a figure, so that no figure depends on which
        others are computed.
        """
        seeded_by = "\n".join(map(str, (self.language, self.criterion.name, *names)))
        return np.random.default_rng(
            [self.settings.seed, zlib.crc32(seeded_by.encode("utf-8", "surrogatepass"))]
        )


def design_cells(dataset: Dataset, settings: DesignSettings) -> tuple[list[DesignCell], list[str]]:
    """The cells that people rated, and warnings.

    Cells are in the order of their criteria, then in string order of languages.

    Raises UnknownName for a judge, criterion or language that does not occur, UsageError if
    nothing is rated or a requested criterion has no ends.
    """
    dataset, left_out = originals(one_item_per_pair(dataset))
    judges = _judges(dataset, settings)
    check_known(
        "criterion",
        settings.criteria,
        [name for name in dataset.criteria if name != METRIC_SCORE.name],
    )
    check_languages(settings.languages, dataset.languages)
    people = people_named(dataset, settings.reference)
    table = dataset.ratings
    by_people = table[table["rater"].isin(people)]
    grouped = dict(
        list(
            table[table["rater"].isin([*people, *judges])].groupby(
                ["criterion", "language"], observed=True
            )
        )
    )
    audited = cells(
        dataset,
        replace(settings.of_verdicts(), judges=judges, criteria=settings.criteria),
        continuous=True,
    )
    audits = {(cell.criterion.name, cell.language): cell for cell in audited}
    rated = set(by_people.loc[by_people["score"].notna(), "criterion"])
    planned, endless = [], []
    for name, criterion in dataset.criteria.items():
        if name not in rated or name not in (settings.criteria or rated):
            continue
        if criterion.scale.ends is None and not 0 < len(criterion.scale.levels) <= MANY_LABELS:
            endless.append(name)
            continue
        for language in settings.languages or dataset.languages:
            rows = grouped.get((name, language))
            if rows is not None and rows.loc[rows["rater"].isin(people), "score"].notna().any():
                audit = audits[name, language]
                planned.append(
                    _cell(dataset, criterion, language, rows, people, judges, audit, settings)
                )
    _check_rated(dataset, planned, endless, settings)
    return planned, [*left_out, *(f"{name} {_ENDLESS}: it is left out" for name in endless)]


def _check_rated(
    dataset: Dataset, rated: list[DesignCell], endless: list[str], settings: DesignSettings
) -> None:
    """Raise UsageError if there are no cells, or if a requested criterion has no ends."""
    if endless and settings.criteria:
        raise UsageError(
            f"criterion {endless[0]} {_ENDLESS}; leave it out, or {give_ends(endless[0])}"
        )
    if not rated:
        why = "; choose other criteria, languages or people"
        if endless:
            why = f": criterion {endless[0]} {_ENDLESS}; {give_ends(endless[0])}"
        raise UsageError(
            f"dataset {dataset.card.name}: these people rated nothing that was asked for{why}"
        )


def _cell(
    dataset: Dataset,
    criterion: Criterion,
    language: str,
    rows: pd.DataFrame,
    people: tuple[str, ...],
    judges: tuple[str, ...],
    audit: AuditCell,
    settings: DesignSettings,
) -> DesignCell:
    answers = rows[rows["rater"].isin(people) & rows["score"].notna()].astype(
        {"output": str, "rater": str}
    )
    wide = (
        answers.pivot(index="output", columns="rater", values="score")
        .sort_index()
        .sort_index(axis=1)
    )
    outputs = [dataset.outputs[name] for name in wide.index]
    here = tuple(map(str, wide.columns))
    answering = rows[rows["score"].notna()]["rater"].astype(str).unique()
    return DesignCell(
        language,
        criterion,
        here,
        wide.to_numpy(dtype=np.float64),
        np.array([output.generator for output in outputs], dtype=object),
        np.unique(
            np.array([output.source for output in outputs], dtype=object), return_inverse=True
        )[1],
        _populations(dataset, here, settings.by),
        tuple(name for name in judges if name in answering or settings.judges),
        audit,
        settings,
    )


def _populations(dataset: Dataset, people: tuple[str, ...], by: str) -> dict[str, tuple[int, ...]]:
    """Group people into populations by day, round or group, if people differ in these; else each
    person is a population.
    """

    def told(what: str) -> list[str]:
        raters = [dataset.raters[name] for name in people]
        if what == "rater":
            return list(people)
        places = [
            rater.group if what == "group" else str(rater.about.get(what, "")) for rater in raters
        ]
        return places if all(places) else []

    for what in ("day", "round", "group", "rater") if by == "auto" else (by,):
        names = told(what)
        if names and (by != "auto" or len(set(names)) > 1):
            places: dict[str, list[int]] = {}
            for row, name in enumerate(names):
                places.setdefault(name, []).append(row)
            return {name: tuple(places[name]) for name in sorted(places)}
    if by not in ("auto", "rater"):
        raise UsageError(
            f'`by="{by}"`: not every person has a {by} in raters.jsonl; use `by="rater"`, or write'
            " it there"
        )
    return {people[0]: (0,)}


def _judges(dataset: Dataset, settings: DesignSettings) -> tuple[str, ...]:
    """The judges to plan for: those named, else the LLM judges, without raters that hold repeated
    answers.
    """
    others = {name: rater for name, rater in dataset.raters.items() if rater.kind != "human"}
    check_known("judge", settings.judges, sorted(others))
    if settings.judges:
        return tuple(dict.fromkeys(settings.judges))
    llms = [
        rater
        for rater in others.values()
        if rater.kind == "llm" and rater.about.get("repeats") not in others
    ]
    return tuple(sorted(rater.rater for rater in llms))
