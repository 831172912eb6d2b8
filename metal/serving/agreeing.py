"""How far the people of a study agree, and how much they rated: from their own answers only,
whoever rated the dataset besides.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, select, update

from metal.serving import tables
from metal.serving.handing import ANSWERED
from metal.serving.ledger import ServingLedger
from metal.serving.people import ACTIVE
from metal.serving.studies import Study

if TYPE_CHECKING:
    from metal.data.dataset import Dataset

SHOWN = ("percent_agreement", "fleiss_kappa", "fleiss_kappa_low", "fleiss_kappa_high")
NAMES = {"percent_agreement": "agreement", "fleiss_kappa": "Fleiss’ kappa"}
NOBODY = "nobody has rated it yet"


def agreement_of(
    ledger: ServingLedger, study: Study, data: Dataset, folder: Path
) -> list[dict[str, Any]]:
    """A row for each language and criterion of a study.

    ratings: how many the study's people gave. items: the outputs that two or more of them rated.
    percent_agreement, fleiss_kappa (with its interval): NaN if undefined; note: why, and how
    uncertain they are. data: the dataset of `folder`.
    """
    from metal.running.annotating import agreement_where_shared

    own = _of_study(ledger, study, data, folder)
    scored = own.ratings[own.ratings["score"].notna()]
    cells = zip(scored["language"].astype(str), scored["criterion"].astype(str), strict=True)
    ratings = Counter(cells)
    figures = {
        (str(row["language"]), str(row["criterion"])): row for row in agreement_where_shared(own)
    }
    return [
        {**row, "ratings": ratings[row["language"], row["criterion"]]}
        for row in _rows(study, figures)
    ]


def _rows(
    study: Study, figures: Mapping[tuple[str, str], Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    for language, criterion in product(study.languages, study.settings.criteria):
        row = figures.get((language, criterion))
        blank = no_agreement(language, criterion)
        if row is None:
            yield blank
        else:
            numbers = {name: row.get(name) for name in SHOWN}
            notes = [part.partition(": ") for part in row["undefined"].split("; ")]
            reasons = [f"{NAMES[name]}: {reason}" for name, _, reason in notes if name in NAMES]
            yield {**blank, **numbers, "items": row["items"], "note": "; ".join(reasons)}


def no_agreement(language: str, criterion: str) -> dict[str, Any]:
    """The row of a criterion that nobody rated in a language."""
    numbers = dict.fromkeys(SHOWN)
    row = {"language": language, "criterion": criterion, "ratings": 0, "items": 0}
    return {**row, **numbers, "note": NOBODY}


def _of_study(ledger: ServingLedger, study: Study, data: Dataset, folder: Path) -> Dataset:
    """The dataset with only what the study's people answered in it."""
    from metal.building.store import read_tasks

    person, handed, task = tables.people, tables.handed, tables.tasks
    wanted = (
        select(person.c.name, task.c.task)
        .select_from(handed.join(person).join(task))
        .where(handed.c.study == study.id, handed.c.state == ANSWERED, person.c.state == ACTIVE)
    )
    rows = ledger.reads(lambda connection: connection.execute(wanted).all())
    outputs = read_tasks(folder)
    answered = {(str(name), outputs.get(task_name, "")) for name, task_name in rows}
    names = {name for name, _ in answered}
    table = data.ratings[data.ratings["rater"].isin(names)]
    pairs = zip(table["rater"].astype(str), table["output"].astype(str), strict=True)
    own = table.loc[[pair in answered for pair in pairs]].reset_index(drop=True)
    raters = {name: rater for name, rater in data.raters.items() if name in names}
    return replace(data, raters=raters, ratings=own)


def note_agreement(ledger: ServingLedger, root: Path, study: Study) -> None:
    """Compute the agreement anew, after somebody left the study."""
    from metal.data.dataset import load_dataset

    folder = study.folder(root)
    rows = agreement_of(ledger, study, load_dataset(folder), folder)
    plain = [{name: plain_value(value) for name, value in row.items()} for row in rows]
    every = tables.studies

    def write(connection: Connection) -> None:
        wanted = select(every.c.figures).where(every.c.id == study.id).with_for_update()
        figures = connection.scalar(wanted) or {}
        change = update(every).where(every.c.id == study.id)
        connection.execute(change.values(figures={**figures, "agreement": plain}))

    ledger.writes(write)


def plain_value(value: Any) -> Any:
    """A value as JSON takes it; an undefined number is None."""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str) else value
