"""Everything that is known of one output of a run: its texts, its ratings, and what the judges were
asked and replied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import isnan
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metal.api.answers import criteria_in, criteria_of, rows_of
from metal.app.library import Library
from metal.app.opening import answers_of, dataset_in, kind_in, rated_run, replies_in
from metal.data.grouping import grouped
from metal.data.records import KINDS
from metal.data.text import figure
from metal.errors import MetalError
from metal.runs.parts import fitting

if TYPE_CHECKING:
    import pandas as pd

    from metal.api.answer_table import RunAnswers
    from metal.data.dataset import Dataset
    from metal.data.records import Criterion
    from metal.running.replying import AskedCall

NO_SCORE = "no score"  # before the reason
TEXTS = ("language", "generator", "title", "source_text", "output_text")
OTHERS_ASKED = (
    "The scores of the judges came with the data. METAL did not ask these judges, so it has no"
    " messages and no replies."
)


@dataclass(frozen=True)
class Rated:
    """One rating of the output.

    says: the score with its label, or why there is none. away: whether a judge's answer differs
    from the people's.
    """

    rater: str
    kind: str
    says: str
    comment: str
    away: bool


@dataclass(frozen=True)
class OutputPart:
    """What was asked of an output, and everybody's answers.

    people: the people's answer in words; empty without one.
    """

    criterion: str
    title: str
    question: str
    people: str
    ratings: Sequence[Rated]


@dataclass(frozen=True)
class Shown:
    """An output with all that is known of it.

    calls: the calls to judges about it. notes: what is missing, and why. references: what would
    have been right, as the dataset has it.
    """

    output: str
    language: str
    generator: str
    title: str
    source_text: str
    output_text: str
    parts: Sequence[OutputPart]
    calls: Sequence[AskedCall]
    notes: Sequence[str]
    references: Sequence[str] = ()

    def titles(self, criteria: Sequence[str]) -> list[str]:
        """The titles of criteria; of one that is not among the parts, its name."""
        titles = {part.criterion: part.title for part in self.parts}
        return [titles.get(criterion, criterion) for criterion in criteria]


def of_run(library: Library, folder: Path, output: str, rows: Sequence[int]) -> Shown:
    """An output of a dataset, an audit, or a run of judges or metrics.

    rows: its row numbers among the answers.
    """
    kind = kind_in(library, folder)
    if kind == "audit":
        return of_disagreements(library, folder, output, rows_of(folder, rows), criteria_of(folder))
    if kind == "dataset":
        return of_data(library, folder, output)
    return of_judges(library, folder, output)


def of_disagreements(
    library: Library,
    folder: Path,
    output: str,
    rows: Sequence[Mapping[str, Any]],
    criteria: Mapping[str, Criterion],
) -> Shown:
    """An output of an audit; rows: its disagreements, one for each criterion."""
    parts = [_part(row["criterion"], criteria, row["people"], list(row["ratings"])) for row in rows]
    calls, notes = _calls(library, folder, output)
    texts = {name: rows[0][name] or "" for name in TEXTS}
    references = _references(_audited(library, folder), output)
    return Shown(output, **texts, parts=parts, calls=calls, notes=notes, references=references)


def of_judges(library: Library, folder: Path, output: str) -> Shown:
    """An output of a run of judges or metrics, with people's ratings of what they were asked."""
    run, dataset = rated_run(library, folder)
    own = _about(run.ratings, output)
    asked = {row["criterion"] for row in own}
    with fitting(folder, "judge"):
        ratings = [row | {"kind": run.raters[row["rater"]].kind} for row in own]
    beside = _about(dataset.ratings, output) if dataset else []
    ratings += [row for row in beside if row["kind"] == "human" and row["criterion"] in asked]
    parts = _parts(answers_of(library, folder), output, ratings, criteria_in(run, dataset))
    calls: Sequence[AskedCall] = ()
    notes: Sequence[str] = ()
    if kind_in(library, folder) == "judge":
        opened = replies_in(library, folder)
        calls, notes = opened.calls(output), opened.notes
    return Shown(
        output,
        **_texts(dataset, output),
        parts=parts,
        calls=calls,
        notes=notes,
        references=_references(dataset, output),
    )


def of_data(library: Library, folder: Path, output: str) -> Shown:
    """An output of a dataset."""
    dataset = dataset_in(library, folder)
    ratings = _about(dataset.ratings, output)
    parts = _parts(answers_of(library, folder), output, ratings, dataset.criteria)
    references = _references(dataset, output)
    texts = _texts(dataset, output)
    return Shown(output, **texts, parts=parts, calls=(), notes=(), references=references)


def _about(ratings: pd.DataFrame, output: str) -> list[dict[str, Any]]:
    return plain_rows(ratings[ratings["output"] == output])


def _parts(
    answers: RunAnswers,
    output: str,
    ratings: Sequence[Mapping[str, Any]],
    criteria: Mapping[str, Criterion],
) -> list[OutputPart]:
    """The answers about an output by criterion, people first."""
    items = answers.items[answers.items["output"] == output]
    people = dict(zip(items["criterion"].astype(str), items["people"], strict=True))
    in_order = sorted(ratings, key=lambda rating: rating["kind"] != "human")
    by_criterion = grouped(in_order, itemgetter("criterion"))
    return [_part(name, criteria, people[name], by_criterion[name]) for name in people]


def plain_rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table as dictionaries."""
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]


def _texts(dataset: Dataset | None, output: str) -> dict[str, str]:
    """What the dataset says of an output; empty texts without one."""
    if dataset is None or output not in dataset.outputs:
        return dict.fromkeys(TEXTS, "")
    written = dataset.outputs[output]
    source = dataset.sources[written.source]
    values = (written.language, written.generator, source.title, source.text, written.text)
    return dict(zip(TEXTS, values, strict=True))


def _references(dataset: Dataset | None, output: str) -> Sequence[str]:
    if dataset is None or output not in dataset.outputs:
        return ()
    return dataset.sources[dataset.outputs[output].source].references


def _audited(library: Library, audit: Path) -> Dataset | None:
    """The dataset of an audit, if it is in the library, whole, and not too large for a page."""
    for key in library.datasets_of(audit):
        folder = library.path(key)
        if not library.is_large(folder):
            with suppress(MetalError):
                return dataset_in(library, folder)
    return None


def _part(
    name: str,
    criteria: Mapping[str, Criterion],
    people: float | None,
    ratings: Sequence[Mapping[str, Any]],
) -> OutputPart:
    criterion = criteria.get(name)
    answer = None if people is None or isnan(people) else people
    rated = [
        Rated(
            rating["rater"],
            KINDS[rating["kind"]],
            _says(criterion, rating),
            rating["comment"] or "",
            rating["kind"] != "human"
            and answer is not None
            and _score(rating) not in (None, answer),
        )
        for rating in ratings
    ]
    says = "" if answer is None else level_of(criterion, answer)
    if criterion is None:
        return OutputPart(name, name, "", says, rated)
    return OutputPart(name, criterion.title, criterion.question, says, rated)


def _score(rating: Mapping[str, Any]) -> float | None:
    score = rating["score"]
    return None if score is None or isnan(score) else float(score)


def _says(criterion: Criterion | None, rating: Mapping[str, Any]) -> str:
    score = _score(rating)
    if score is None:
        return f"{NO_SCORE}: {rating['reason'] or 'no reason given'}"
    return level_of(criterion, score)


def level_of(criterion: Criterion | None, score: float) -> str:
    """The score and the label of its level, such as `2 Good`."""
    number = f"{score:g}" if score.is_integer() else figure(score)
    for level in criterion.scale.levels if criterion else ():
        if level.value == score and level.label not in ("", number):
            return f"{number} {level.label}"
    return number


def _calls(library: Library, audit: Path, output: str) -> tuple[Sequence[AskedCall], Sequence[str]]:
    """The calls about an output of an audit, and what is missing."""
    from metal.api.replies import NothingAsked

    try:
        opened = replies_in(library, audit)
    except NothingAsked:
        return (), (OTHERS_ASKED,)
    except MetalError as error:
        return (), (f"Messages and raw replies are missing: {error}",)
    return opened.calls(output), opened.notes
