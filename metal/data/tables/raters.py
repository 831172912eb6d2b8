"""Find who rates in a table: kinds and groups of raters, judges asked again, and metrics on scales
of their own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pandas as pd

from metal.data.progress import Progress, followed, no_progress
from metal.data.records import KINDS, METRIC_SCORE, Rater
from metal.data.tables.cells import as_numbers, as_texts, fold
from metal.data.tables.names import KIND_WORDS, METRIC, MODEL
from metal.data.text import first_few, plural
from metal.errors import UsageError

# About people who are known by their place in an output's list of ratings only (see
# metal.auditing.check).
PLACE_IN_A_LIST = {"named_by": "place in a list"}


def metrics_apart(
    tidy: pd.DataFrame, options: Mapping[str, Any], notes: list[str]
) -> tuple[pd.DataFrame, bool]:
    """Move metrics' scores that are off the scale of people and judges to METAL's criterion for
    metrics.

    Returns the rows, and whether there are such scores. There are none on criteria whose records
    the data have (`recorded`).

    These scores are left out if that criterion exists already, or if an output has several of them.
    """
    kinds = (
        tidy.reindex(columns=["rater", "kind"]).drop_duplicates("rater").astype(object).fillna("")
    )
    names = [
        name
        for name, kind in kinds.itertuples(index=False)
        if kind_of(name, str(kind), options) == "metric"
    ]
    if not names:
        return tidy, False
    by_metric, score = tidy["rater"].isin(names).to_numpy(), as_numbers(tidy["score"])
    off = np.zeros(len(tidy), dtype=bool)
    for criterion in {*tidy["criterion"].cat.categories} - options.get("recorded", set()):
        rows = (tidy["criterion"] == criterion).to_numpy()
        numbers, others = score[rows & by_metric], score[rows & ~by_metric]
        numbers = numbers[np.isfinite(numbers)]
        between = numbers.between(others.min(), others.max()) & (
            numbers.mod(1).eq(0) | bool(others.mod(1).gt(0).any())
        )
        if others.notna().any() and not between.all():
            off |= rows & by_metric
    if not off.any():
        return tidy, False
    rated = tidy[off & tidy["score"].notna().to_numpy()]
    lost = rated.duplicated(["output", "rater"]).any() or METRIC_SCORE.name in set(
        tidy["criterion"]
    )
    outcome = (
        "left out" if lost else f"kept as METAL's criterion for metrics, {METRIC_SCORE.name!r}"
    )
    notes.append(
        f"metrics with scores outside the scale of the others, {outcome}:"
        f" {first_few(sorted(set(rated['rater'])))}"
    )
    if lost:
        return tidy[~off], False
    moved = tidy["criterion"].astype(object).mask(off, METRIC_SCORE.name)
    return tidy.assign(criterion=moved.astype("category")), True


def is_human(tidy: pd.DataFrame, options: Mapping[str, Any], rater: str) -> bool:
    """Whether a rater is a person, as stated by the user or the column of kinds, or as guessed from
    its name.
    """
    kind = ""
    if "kind" in tidy:
        kind = str(tidy["kind"][tidy["rater"] == rater].iloc[0])
    return kind_of(rater, kind, options) == "human"


def raters_of(
    tidy: pd.DataFrame,
    options: Mapping[str, Any],
    again: Mapping[str, tuple[str, int]],
    by_place: Collection[str],
    notes: list[str],
) -> tuple[Rater, ...]:
    """The raters by name.

    again: for raters that are a judge asked again, the judge and the number of the repetition.
    by_place: raters who are known only by their position in a list.
    """
    raters, by_name = [], []
    replying = set(tidy["rater"][tidy["reply"].notna()]) if "reply" in tidy else set()
    for name, given_kind, given_group in sorted(
        first_rows(tidy, no_progress, "rater", "kind", "group")
    ):
        kind: Any = kind_of(name, given_kind, options, guess=False)
        if kind not in (*KINDS, ""):
            raise UsageError(f"rater {name!r} has kind {kind!r}; kinds are {', '.join(KINDS)}")
        if not kind:
            kind = "llm" if name in replying else kind_of(name, "", {})
            if name not in again:
                by_name.append((name, kind))
        details: dict[str, Any] = (
            {"repeats": again[name][0], "sample": again[name][1]} if name in again else {}
        )
        details |= PLACE_IN_A_LIST if name in by_place else {}
        raters.append(
            Rater(name, kind, _matching(name, options.get("groups") or {}) or given_group, details)
        )
    notes += _about_guesses(by_name)
    return tuple(raters)


def _about_guesses(by_name: Sequence[tuple[str, str]]) -> list[str]:
    """Notes on the kinds of raters that were guessed from their names."""
    taken: list[str] = []
    for kind, called in (("human", "people"), ("llm", "LLM judges"), ("metric", "metrics")):
        names = [name for name, guess in by_name if guess == kind]
        if names:
            how_many = f"{len(names):,}" if taken else f"{plural(len(names), 'rater')} taken"
            taken.append(f"{how_many} for {called}: {first_few(names, 3)}")
    return [f"{'; '.join(taken)} (see `kinds`)"] if taken else []


def kind_of(name: str, stated: str, options: Mapping[str, Any], *, guess: bool = True) -> str:
    """The kind of a rater as stated by the options or the table, else guessed from its name; "" if
    no guess is wanted.
    """
    kind = _matching(name, options.get("kinds") or {}) or fold(stated)
    if kind or not guess:
        return KIND_WORDS.get(kind, kind)
    if MODEL.search(name):
        return "llm"
    return "metric" if METRIC.search(name) else "human"


def matches(name: str, pattern: str) -> bool:
    """Whether a pattern fits a rater, or is its very name (`Kiwi[noref]`)."""
    return name == pattern or fnmatchcase(name, pattern)


def _matching(name: str, by_pattern: Mapping[str, str]) -> str:
    return next((value for pattern, value in by_pattern.items() if matches(name, pattern)), "")


def first_rows(
    tidy: pd.DataFrame, progress: Progress, name: str, *others: str
) -> Iterator[tuple[str, ...]]:
    """The cells of the first row of each output, source or rater as texts; missing cells are
    empty.
    """
    first = tidy[~tidy[name].duplicated()]
    empty = [""] * len(first)
    cells = {
        role: as_texts(first[role]).astype(object).fillna("").tolist()
        for role in (name, *others)
        if role in first
    }
    rows = zip(*(cells.get(role, empty) for role in (name, *others)), strict=True)
    return followed(rows, progress, len(first))
