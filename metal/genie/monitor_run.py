"""A run of `metal monitor`: run.toml, raters.jsonl, warnings.txt, tables/, report.html."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from metal import __version__
from metal.building.store import read_rounds
from metal.data.dataset import Dataset
from metal.data.records import Manifest
from metal.data.signature import join
from metal.errors import UsageError
from metal.genie.colleagues.behaviour import COLUMNS, behaviour
from metal.genie.colleagues.stands_out import not_compared, stands_out
from metal.genie.colleagues.unanimous import unanimous
from metal.genie.design.cells import design_cells
from metal.genie.design.settings import DesignSettings
from metal.genie.design.study import rater_rows
from metal.genie.exclusion import without
from metal.genie.monitoring import Doubted, Monitoring
from metal.genie.store import Tests
from metal.genie.test_questions import NEGATIVE, SIDES, leak_line
from metal.show.monitor.page import page
from metal.show.monitor.run import AGREEMENT, PANELS, ROUNDS, MonitorRun

COMMAND = "monitor"


def tables(
    dataset: Dataset,
    folder: Path,
    found: Monitoring,
    *,
    resamples: int,
    seed: int,
    said: Callable[[int, int], None],
) -> dict[str, pd.DataFrame]:
    """The run's tables: what test questions say, how people rate beside each other, what exclusion would change."""
    said(0, 3)
    people = [name for name, rater in dataset.raters.items() if rater.kind == "human"]
    noisy = [name for name in people if name in found.noisy]
    beside = pd.DataFrame(columns=list(COLUMNS))
    if people:
        beside = behaviour(dataset, distrusted=noisy, resamples=resamples, seed=seed)
    beside["stands_out"] = ["; ".join(stands_out(row)) for row in _rows(beside)]
    beside["not_compared"] = [not_compared(row) for row in _rows(beside)]
    said(1, 3)
    agreement = [row | {"without_noisy": False} for row in (_agreement(dataset) if people else ())]
    dropped = pd.DataFrame({name: [] for name in ("rater", "language", "criterion", "ratings", "why")})
    if noisy and len(noisy) < len(people):
        left, excluded = without(dataset, found.noisy, found.model)
        dropped = excluded.table
        said(2, 3)
        agreement += [row | {"without_noisy": True} for row in _agreement(left)]
    said(3, 3)
    return {
        "raters": found.raters,
        "workers": found.workers,
        "mixtures": found.mixtures,
        "questions": found.questions,
        "behaviour": beside,
        "agreement": pd.DataFrame(agreement, columns=[*AGREEMENT]),
        "panels": _panels(dataset, seed),
        "exclusions": dropped,
        "rounds": pd.DataFrame(_rounds(folder), columns=list(ROUNDS)),
    }


def _rows(table: pd.DataFrame) -> Iterator[dict[str, Any]]:
    for row in table.to_dict("records"):
        yield {str(key): value for key, value in row.items()}


def _agreement(dataset: Dataset) -> Iterator[dict[str, Any]]:
    """Agreement of the people in each language on each criterion with levels, without intervals."""
    from metal.auditing.cells import cells
    from metal.auditing.people import QUICK, people_row
    from metal.auditing.settings import AuditSettings
    from metal.stats.bootstrap import SourceBootstrap

    for cell in cells(dataset, AuditSettings()):
        if cell.people:
            yield people_row(cell, SourceBootstrap(1, 0), QUICK)


def _panels(dataset: Dataset, seed: int) -> pd.DataFrame:
    """Spread of the people's mean score with 1, 2, ... people an output; empty where nothing can be simulated."""
    try:
        cells, _ = design_cells(dataset, DesignSettings(seed=seed))
    except UsageError:  # no criterion with ends that people rated
        cells = []
    scales = ((cell, "binary" if cell.binary else "as rated") for cell in cells)
    rows = [
        row for cell, scale in scales for row in rater_rows(cell) if row["fixed"] == "items" and row["scale"] == scale
    ]
    return pd.DataFrame(rows, columns=[*PANELS])


def _rounds(folder: Path) -> Iterator[dict[str, Any]]:
    for line in read_rounds(folder):
        for rater, known in line["raters"].items():
            row = {"round": line["round"], "at": line["at"], "rater": rater, "ratings": known.get("ratings", 0)}
            for side in SIDES:
                row[f"{side}_right"], row[f"{side}_asked"] = known.get(side, (0, 0))
            yield row


def warnings(dataset: Dataset, tests: Tests, found: Monitoring, people: Sequence[str]) -> tuple[str, ...]:
    """What to know before the figures are believed."""
    lines = []
    if line := leak_line(dataset, tests.questions):
        lines.append(line)
    examined = set(found.raters["rater"])
    unexamined = [name for name in people if name not in examined]
    if tests.questions and unexamined:
        lines.append(
            f"{len(unexamined):,} of {len(people):,} people answered no test question: {', '.join(unexamined[:8])}"
        )
    lines += [_fault(one) for one in found.doubted]
    for row in found.raters.to_dict("records"):
        asked = sum(row[f"{side}_asked"] for side in SIDES)
        right = sum(row[f"{side}_right"] for side in SIDES)
        if asked and not right:
            lines.append(
                f"{row['rater']} got none of {asked:,} test answers right: is a scale read the wrong way round?"
            )
        if row["unanswered"]:
            lines.append(f"{row['rater']} left {row['unanswered']:,} test answers open; they count neither way")
    for one in unanimous(dataset, [name for name in people if name not in found.noisy]):
        if one.suspicious:
            lines.append(
                f"{one.language}: on {one.same:,} of {one.outputs:,} outputs all {one.people} people "
                f"{f'of group {one.group} ' if one.group else ''}gave the same ratings on all {one.criteria} criteria; "
                f"{one.expected:.0%} would be expected. Are these ratings of different people?"
            )
    if len(people) == 1:
        lines.append(f"{people[0]} is the only person: there is nobody to compare with")
    return tuple(lines)


def _fault(one: Doubted) -> str:
    """What to do where most people fail."""
    remedy = "look at the golds, and at the criterion's direction"
    if one.side == NEGATIVE:
        remedy = (
            "if a good text about another source deserves a good score there, write of_source = false under "
            f"[criteria.{one.criterion}] in dataset.toml"
        )
    return (
        f"{one.failed} of {one.people} people fail {one.side} questions on {one.criterion} ({one.language}), so that "
        f"nobody is called noisy for them: {remedy}"
    )


def signature(data: str, tests: str, settings: Mapping[str, Any]) -> str:
    """Program, data, test answers, and every setting that moves a figure."""
    parts = {
        "metal": __version__,
        "data": data,
        "tests": tests,
        "model": settings["model"],
        "beta": f"{settings['noisy_beta']:g}",
    }
    parts |= {"ref": settings["reference"] or "all-people", "bs": settings["resamples"], "seed": settings["seed"]}
    return join(parts)


def write_monitor(
    folder: Path,
    found: Mapping[str, pd.DataFrame],
    dataset: Dataset,
    about: Manifest,
    noted: Sequence[str],
    *,
    force: bool,
) -> None:
    """The run folder, whole or not at all. The tables' bytes depend on their figures only."""
    run = MonitorRun(dataset.card.name, about.to_dict(), dataset.criteria, dataset.raters, found, tuple(noted))
    run.write(folder, page, force=force)


def read_monitor_run(folder: Path, name: str = "") -> MonitorRun:
    """The run folder. Raises UsageError when it is none, DataError when a part of it cannot be used."""
    return MonitorRun.read(folder, name)
