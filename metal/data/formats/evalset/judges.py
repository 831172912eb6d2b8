"""LLM judges among the metrics of an EvalSet folder, as the options `kinds` and `criterion` name
them. Their scores become answers on a criterion that people rated, so that they can be audited.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from metal.data.formats import Draft
from metal.data.formats.harnesses.people import criterion_named
from metal.data.records import KINDS, METRIC_SCORE, Rater
from metal.data.tables.names import MODEL
from metal.data.tables.raters import kind_of, matches
from metal.data.text import first_few, within
from metal.errors import UsageError, check_known

ANSWERING = ("llm", "human")  # kinds that answer on people's scale


def with_kinds(draft: Draft, options: Mapping[str, Any]) -> Draft:
    """The draft with the kinds of raters that the option `kinds` names.

    A metric that becomes a judge answers the criterion of people that the option `criterion` names,
    else the one that its name contains, else the first.

    Raises UnknownName for what is not a kind, or not a criterion that people rated; UsageError for
    a pattern that fits no rater, a criterion without a judge, and scores off its scale.
    """
    kinds = options.get("kinds") or {}
    _check_patterns(draft.raters, kinds)
    renamed: dict[str, Rater] = {}
    for rater in draft.raters:
        kind: Any = kind_of(rater.rater, rater.kind, options)
        renamed[rater.rater] = replace(rater, kind=kind)
    judges = [
        rater.rater
        for rater in draft.raters
        if rater.kind == "metric" and renamed[rater.rater].kind in ANSWERING
    ]
    if options.get("criterion") and not judges:
        raise UsageError(
            "`criterion` of a test set of WMT is the one that LLM judges among its metrics answer;"
            " name these with `kinds`"
        )
    notes = (*draft.notes, *_about_likely_judges(draft.raters, kinds))
    draft = replace(draft, raters=tuple(renamed.values()), notes=notes)
    criterion_of = _criterion_of(draft, judges, options.get("criterion") or "")
    return _moved(draft, criterion_of) if criterion_of else draft


def _about_likely_judges(raters: Sequence[Rater], kinds: Mapping[str, str]) -> Iterator[str]:
    """A note on metrics whose names are those of LLMs, and whose kind the user left open."""
    likely = []
    for rater in raters:
        left_open = not any(matches(rater.rater, pattern) for pattern in kinds)
        if rater.kind == "metric" and left_open and MODEL.search(rater.rater):
            likely.append(rater.rater)
    if likely:
        yield (
            f"read as metrics, which get no verdict, but by their names perhaps LLM judges:"
            f" {first_few(likely)}; `kinds={{{likely[0]!r}: 'llm'}}` makes a judge of one"
        )


def _check_patterns(raters: Sequence[Rater], kinds: Mapping[str, str]) -> None:
    """Raise UnknownName for what is not a kind, UsageError for a pattern that fits no rater."""
    check_known("`kinds`: kind", list(kinds.values()), KINDS)
    names = [rater.rater for rater in raters]
    for pattern in kinds:
        if not any(matches(name, pattern) for name in names):
            raise UsageError(
                f"`kinds`: no rater is called {pattern!r}; there are {first_few(names, 30)}"
            )


def _criterion_of(draft: Draft, judges: Sequence[str], chosen: str) -> dict[str, str]:
    """The criterion that each judge answers; empty if people rated none."""
    rated = _rated_by_people(draft)
    if chosen:
        check_known("criterion that people rated", [chosen], rated)
    if not rated:
        return {}
    return {name: chosen or criterion_named(name, rated) or rated[0] for name in judges}


def _rated_by_people(draft: Draft) -> list[str]:
    people = [rater.rater for rater in draft.raters if rater.kind == "human"]
    own = draft.facts[draft.facts["rater"].isin(people)]
    rated = {*own["criterion"].astype(str).unique()} - {METRIC_SCORE.name}
    return [criterion.name for criterion in draft.criteria if criterion.name in rated]


def _moved(draft: Draft, criterion_of: Mapping[str, str]) -> Draft:
    """The draft with the judges' scores on their criteria."""
    _check_scales(draft, criterion_of)
    notes = [
        f"{within(judge)}: its scores are read as its answers on {name}; `criterion` names another"
        for judge, name in criterion_of.items()
    ]
    scores = draft.generator_scores
    return replace(
        draft,
        facts=_with_criteria(draft.facts, criterion_of),
        generator_scores=None if scores is None else _with_criteria(scores, criterion_of),
        notes=(*draft.notes, *notes),
    )


def _with_criteria(table: pd.DataFrame, criterion_of: Mapping[str, str]) -> pd.DataFrame:
    """The table with the criteria of these raters' scores changed."""
    criterion = table["criterion"].astype("category")
    names = dict.fromkeys([*criterion.cat.categories, *criterion_of.values()])
    codes = pd.Categorical(criterion, categories=[*names]).codes.copy()
    for rater, name in criterion_of.items():
        own = (table["rater"] == rater) & (criterion == METRIC_SCORE.name)
        codes[own.to_numpy()] = [*names].index(name)
    changed = pd.Categorical.from_codes(codes, pd.Index([*names], dtype="str"))
    return table.assign(criterion=changed.remove_unused_categories())


def _check_scales(draft: Draft, criterion_of: Mapping[str, str]) -> None:
    """Raise UsageError for a judge with scores outside the ends of its criterion's scale."""
    scale_of = {criterion.name: criterion.scale for criterion in draft.criteria}
    for judge, name in criterion_of.items():
        scores = draft.facts.loc[(draft.facts["rater"] == judge).to_numpy(), "score"].dropna()
        low, high = scale_of[name].ends or (-np.inf, np.inf)
        if len(scores) and not scores.between(low, high).all():
            raise UsageError(
                f"{within(judge)} has scores from {scores.min():g} to {scores.max():g}, and {name}"
                f" runs from {low:g} to {high:g}: it does not answer {name}. Name the criterion"
                " that it answers with `criterion`, or leave it a metric"
            )
