"""The tables and warnings of `metal monitor`: test questions, behaviour beside colleagues, effects of exclusion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from metal import __version__
from metal.data.dataset import Dataset
from metal.data.text import signature_line
from metal.errors import UsageError
from metal.genie.behaviour import COLUMNS as BEHAVIOUR
from metal.genie.behaviour import behaviour
from metal.genie.design.cells import design_cells
from metal.genie.design.settings import DesignSettings
from metal.genie.design.study import rater_rows
from metal.genie.exclusion import EXCLUSIONS, without
from metal.genie.gold_questions import NEGATIVE, SIDES, leak_warning
from metal.genie.monitoring import DoubtedQuestions, Monitoring
from metal.genie.stands_out import not_compared, stands_out, unanimous
from metal.genie.store import GoldQuestions

AGREEMENT = (
    *("language", "criterion", "without_noisy", "people", "items", "fleiss_kappa", "alpha"),
    *("percent_agreement", "undefined"),
)
PANELS = ("language", "criterion", "scale", "raters", "items", "mean", "sd")
COUNTS = tuple(f"{side}_{what}" for side in SIDES for what in ("right", "asked"))
ROUNDS = ("round", "at", "rater", "ratings", *COUNTS)


def monitor_tables(
    dataset: Dataset,
    monitoring: Monitoring,
    *,
    agreement: Callable[[Dataset], Iterable[Mapping[str, Any]]],
    rounds: Iterable[Mapping[str, Any]] = (),
    resamples: int,
    seed: int,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, pd.DataFrame]:
    """The tables by name: answers to test questions, behaviour, agreement, panels, exclusions and rounds.

    dataset: with the people to look at. agreement: gives the rows of the people's agreement on a dataset; called
    with noisy people and without. rounds: lines of annotation/rounds.jsonl. progress: called with steps done and all.
    """
    progress(0, 3)
    people = [name for name, rater in dataset.raters.items() if rater.kind == "human"]
    noisy = [name for name in people if name in monitoring.noisy]
    beside = pd.DataFrame(columns=list(BEHAVIOUR))
    if people:
        beside = behaviour(dataset, distrusted=noisy, resamples=resamples, seed=seed)
    behaviour_rows: list[Any] = beside.to_dict("records")
    beside["stands_out"] = ["; ".join(stands_out(row)) for row in behaviour_rows]
    beside["not_compared"] = [not_compared(row) for row in behaviour_rows]
    progress(1, 3)
    agreement_rows = [{**row, "without_noisy": False} for row in (agreement(dataset) if people else ())]
    exclusions = pd.DataFrame({name: [] for name in EXCLUSIONS})
    if noisy and len(noisy) < len(people):
        remaining, excluded = without(dataset, monitoring.noisy)
        exclusions = excluded.table
        progress(2, 3)
        agreement_rows += [{**row, "without_noisy": True} for row in agreement(remaining)]
    progress(3, 3)
    return {
        "raters": monitoring.raters,
        "workers": monitoring.workers,
        "mixtures": monitoring.mixtures,
        "questions": monitoring.questions,
        "behaviour": beside,
        "agreement": pd.DataFrame(agreement_rows, columns=list(AGREEMENT)),
        "panels": _panels(dataset, seed),
        "exclusions": exclusions,
        "rounds": pd.DataFrame(_round_rows(rounds), columns=list(ROUNDS)),
    }


def _panels(dataset: Dataset, seed: int) -> pd.DataFrame:
    """Spread of the people's mean score with 1, 2, ... people an output; empty where nothing can be simulated."""
    try:
        cells, _ = design_cells(dataset, DesignSettings(seed=seed))
    except UsageError:  # people rated no criterion whose scale has ends
        cells = []
    rows = [
        row
        for cell in cells
        for row in rater_rows(cell)
        if row["fixed"] == "items" and row["scale"] == ("binary" if cell.binary else "as rated")
    ]
    return pd.DataFrame(rows, columns=list(PANELS))


def _round_rows(rounds: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for line in rounds:
        for rater, counts in line["raters"].items():
            row = {"round": line["round"], "at": line["at"], "rater": rater, "ratings": counts.get("ratings", 0)}
            for side in SIDES:
                row[f"{side}_right"], row[f"{side}_asked"] = counts.get(side, (0, 0))
            yield row


def monitor_warnings(
    dataset: Dataset, gold: GoldQuestions, monitoring: Monitoring, people: Sequence[str]
) -> tuple[str, ...]:
    """What a reader should know before trusting the figures."""
    warnings = []
    if leaks := leak_warning(dataset, gold.questions):
        warnings.append(leaks)
    examined = set(monitoring.raters["rater"])
    unexamined = [name for name in people if name not in examined]
    if gold.questions and unexamined:
        warnings.append(
            f"{len(unexamined):,} of {len(people):,} people answered no test question: {', '.join(unexamined[:8])}"
        )
    warnings += [_remedy_for(doubted) for doubted in monitoring.doubted]
    for row in monitoring.raters.to_dict("records"):
        asked = sum(row[f"{side}_asked"] for side in SIDES)
        right = sum(row[f"{side}_right"] for side in SIDES)
        if asked and not right:
            warnings.append(
                f"{row['rater']} got none of {asked:,} test answers right: is a scale read the wrong way round?"
            )
        if row["unanswered"]:
            warnings.append(f"{row['rater']} left {row['unanswered']:,} test answers open; they count neither way")
    for group in unanimous(dataset, [name for name in people if name not in monitoring.noisy]):
        if group.suspicious:
            warnings.append(
                f"{group.language}: on {group.same:,} of {group.outputs:,} outputs all {group.people} people "
                f"{f'of group {group.group} ' if group.group else ''}gave the same ratings on all {group.criteria} "
                f"criteria; {group.expected:.0%} would be expected. Are these ratings of different people?"
            )
    if len(people) == 1:
        warnings.append(f"{people[0]} is the only person: there is nobody to compare with")
    return tuple(warnings)


def _remedy_for(doubted: DoubtedQuestions) -> str:
    remedy = "look at the golds, and at the criterion's direction"
    if doubted.side == NEGATIVE:
        remedy = (
            "if a good text about another source deserves a good score there, write of_source = false under "
            f"[criteria.{doubted.criterion}] in dataset.toml"
        )
    return (
        f"{doubted.failed} of {doubted.people} people fail {doubted.side} questions on {doubted.criterion} "
        f"({doubted.language}), so that nobody is called noisy for them: {remedy}"
    )


def monitor_signature(data: str, tests: str, settings: Mapping[str, Any]) -> str:
    """Program, data, test answers, and every setting that changes a figure."""
    parts = {
        "metal": __version__,
        "data": data,
        "tests": tests,
        "model": settings["model"],
        "beta": f"{settings['noisy_beta']:g}",
        "ref": settings["reference"] or "all-people",
        "bs": settings["resamples"],
        "seed": settings["seed"],
    }
    return signature_line(parts)
