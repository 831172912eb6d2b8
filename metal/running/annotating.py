"""Annotation: tasks that were handed out, posted and fetched, and how people's answers become
ratings of a dataset.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metal.data.people import people_in
from metal.errors import DataError, MetalError

if TYPE_CHECKING:
    import pandas as pd

    from metal.building.answers import CheckedAnswers
    from metal.building.tasks import Answer, Assignment
    from metal.data.dataset import Dataset
    from metal.data.records import Criterion, Output, Rater
    from metal.genie.monitoring import Monitoring


@dataclass(frozen=True)
class HandedOut:
    """What an export wrote.

    added: criteria that were added to the dataset. notes: warnings, for example about what was left
    out.
    """

    dataset: Path
    out: Path
    form: str
    assignments: tuple[Assignment, ...]
    questions: tuple[Output, ...]
    added: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class ImportReport:
    """What an import brought into a dataset.

    data: the dataset with the new ratings. answers: counts by person (see CheckedAnswers). notes:
    what was left out, and why. tests: how everybody did on the test questions so far; None if
    nobody answered any. agreement: a row for each language and criterion (items; percent_agreement,
    fleiss_kappa and alpha with NAME_low and NAME_high; None or NaN if undefined). ambiguous: the
    outputs that everybody rated differently (see metal.building.answers.ambiguous), which are also
    in the file `ambiguous_file`. written: whether the dataset was written; False after a dry run.
    """

    dataset: Path
    data: Dataset
    answers: CheckedAnswers
    notes: tuple[str, ...]
    tests: Monitoring | None
    agreement: pd.DataFrame
    ambiguous: pd.DataFrame
    ambiguous_file: Path
    written: bool


@dataclass(frozen=True)
class Posted:
    """What a push did.

    count: how many units (`unit`: tasks or projects) it posted now. before: how many an earlier
    push had posted.

    where: the server, in words. state: the campaign's folder. workers: the page on which people
    find the tasks. campaigns: how many campaigns the dataset has on this platform.
    """

    campaign: str
    count: int
    before: int
    unit: str
    where: str
    state: Path
    workers: str = ""
    campaigns: int = 1


@dataclass(frozen=True)
class Pulled:
    """What a pull did.

    report: the report of the import; None if nothing had been submitted. standing: the present
    figures of the campaign.
    """

    campaign: str
    report: ImportReport | None
    standing: Mapping[str, Any]


def import_answers(
    dataset: Path,
    loaded: Dataset,
    answers: Sequence[Answer],
    notes: Iterable[str] = (),
    *,
    replace: bool = False,
    group: str = "native",
    dry_run: bool = False,
) -> ImportReport:
    """Check answers, and write the dataset with the ratings that they give; files and platforms
    both use this function.

    dataset: the folder from which `dataset_to_change` loaded `loaded`. notes: notes on the answers,
    for example how many were left out. group: the group of new raters. Nothing is written if
    anything is wrong, or in a dry run. Raises UsageError if no tasks were handed out; other errors:
    see `check_answers`.
    """
    from metal.boards.store import keep_ratings, with_submissions
    from metal.building.answers import ambiguous, check_answers, turned
    from metal.building.store import (
        AMBIGUOUS,
        FOLDER,
        history_files,
        read_compared,
        read_given,
        read_pairs,
        tasks_handed_out,
    )
    from metal.data.dataset import concat_facts, update_dataset, with_parts
    from metal.data.escaping import csv_text
    from metal.genie.gold_questions import apart
    from metal.genie.monitoring import monitor
    from metal.genie.store import answers_files, read_answers, read_questions

    tasks = tasks_handed_out(dataset)
    questions = read_questions(dataset)
    board = with_submissions(loaded, dataset)
    languages = {name: output.language for name, output in {**board.outputs, **questions}.items()}
    tasks = {task: output for task, output in tasks.items() if output in languages}
    tested_before = read_answers(dataset)
    in_order = turned(answers, read_pairs(dataset, loaded.criteria))
    kept, changed = _first_counts(in_order, tasks, tested_before, loaded.criteria, replace=replace)
    checked = check_answers(
        kept,
        tasks,
        read_given(dataset),
        loaded.criteria,
        concat_facts([board.ratings, tested_before]),
        languages=languages,
        replace=replace,
    )
    facts, tested = apart(checked.facts, questions)
    after = with_parts(board, raters=_raters(dataset, board, checked, group), facts=facts)
    compared = read_compared(dataset)
    unclear = ambiguous(after.ratings[after.ratings["kind"] == "human"], after.criteria)
    if not dry_run:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        files = history_files(dataset, answers, now, _standing(after, questions, tested, compared))
        files |= {f"{FOLDER}/{AMBIGUOUS}": csv_text(unclear).encode()} | answers_files(tested)
        if board is loaded:
            update_dataset(after, dataset, files)
        else:
            keep_ratings(loaded, after, dataset, files)
    return ImportReport(
        dataset,
        after,
        checked,
        (*notes, *changed),
        monitor(tested, questions, after.criteria, after.raters, comparative=compared)
        if len(tested)
        else None,
        _agreement(after),
        unclear,
        dataset / FOLDER / AMBIGUOUS,
        written=not dry_run,
    )


def refused_answers(
    dataset: Path, loaded: Dataset, answers: Sequence[Answer]
) -> dict[int, MetalError]:
    """Find the answers that `import_answers` does not take, each by itself: position -> why."""
    from metal.boards.store import with_submissions
    from metal.building.answers import check_answer
    from metal.building.store import read_given, read_pairs, tasks_handed_out
    from metal.genie.store import read_questions

    board = with_submissions(loaded, dataset)
    present = board.outputs.keys() | read_questions(dataset).keys()
    handed_out = tasks_handed_out(dataset).items()
    tasks = {task: output for task, output in handed_out if output in present}
    assigned, pairs = read_given(dataset), read_pairs(dataset, loaded.criteria)
    refused: dict[int, MetalError] = {}
    for position, answer in enumerate(answers):
        try:
            _check_kind(dataset, answer.rater, board.raters)
            check_answer(answer, tasks, assigned, loaded.criteria, pairs)
        except MetalError as error:
            refused[position] = error
    return refused


def _check_kind(dataset: Path, name: str, raters: Mapping[str, Rater]) -> None:
    """Raise DataError if somebody who answered has the name of a judge, metric or baseline."""
    rater = raters.get(name)
    if rater and rater.kind != "human":
        problem = f"rater {name!r} is of kind {rater.kind}"
        raise DataError(dataset / "raters.jsonl", problem, "Give people other names")


def _first_counts(
    answers: Sequence[Answer],
    tasks: Mapping[str, str],
    before: pd.DataFrame,
    criteria: Mapping[str, Criterion],
    *,
    replace: bool,
) -> tuple[list[Answer], list[str]]:
    """The answers without later, different answers to the same test question, and a note on these.

    A platform may give a worker the same question in two campaigns. The second answer does not
    count, but is no reason to stop an import. before: the test answers so far.
    """
    from metal.building.answers import read_score

    rows = zip(
        *(before[name].tolist() for name in ("output", "rater", "criterion", "score")), strict=True
    )
    scores_before = {
        (str(output), str(rater), str(name)): score
        for output, rater, name, score in rows
        if not math.isnan(score)
    }
    kept, changed = [], 0
    for answer in answers:
        question = tasks.get(answer.task, "")
        first = {name: scores_before.get((question, answer.rater, name)) for name in answer.scores}
        differs = any(
            read_score(answer.scores[name], criteria[name], answer.where) not in (None, score)
            for name, score in first.items()
            if score is not None and name in criteria
        )
        if differs and not replace:
            changed += 1
        else:
            kept.append(answer)
    note = f"{changed:,} test questions were answered differently before; the first answers count"
    return kept, [note] if changed else []


def _standing(
    dataset: Dataset,
    questions: Mapping[str, Output],
    tested: pd.DataFrame,
    compared: Container[str],
) -> dict[str, dict[str, Any]]:
    """For each person, the number of ratings and, for positive and negative test questions
    separately, how many answers were right, and how many there are.
    """
    from metal.genie.monitoring import trials

    table = dataset.ratings
    counts = table[table["kind"] == "human"].groupby("rater", observed=True).size()
    standing: dict[str, dict[str, Any]] = {
        str(name): {"ratings": int(count)} for name, count in counts.items()
    }
    answered = trials(tested, questions, dataset.criteria, compared).dropna(subset=["right"])
    for (rater, side), rows in answered.groupby(["rater", "side"]):
        standing.setdefault(str(rater), {"ratings": 0})[str(side)] = [
            int(rows["right"].sum()),
            len(rows),
        ]
    return standing


def _raters(dataset: Path, loaded: Dataset, checked: CheckedAnswers, group: str) -> Iterable[Rater]:
    """The dataset's raters and those who answered. Raises DataError as `_check_kind`."""
    from metal.data.records import Rater

    raters = dict(loaded.raters)
    for name, languages in checked.raters.items():
        facts = {"language": ", ".join(sorted(languages))}
        raters.setdefault(name, Rater(name, "human", group, facts))
        _check_kind(dataset, name, raters)
    return raters.values()


def agreement_where_shared(dataset: Dataset) -> list[dict[str, Any]]:
    """How far people agree, as in ImportReport, on outputs that two or more of them rated."""
    from metal.auditing.people import quick_rows
    from metal.auditing.settings import AuditSettings

    rated = people_in(dataset.raters)
    return list(quick_rows(dataset, AuditSettings(min_raters=2))) if rated else []


def _agreement(dataset: Dataset) -> pd.DataFrame:
    """How far people agree so far: the table `agreement` of ImportReport."""
    import pandas as pd

    from metal.auditing.people import QUICK, quick_rows

    ends = [f"{figure}_{end}" for figure in QUICK for end in ("low", "high")]
    columns = ["language", "criterion", "items", *QUICK, *ends]
    return pd.DataFrame(quick_rows(dataset) if people_in(dataset.raters) else (), columns=columns)


def take_out_rater(
    folder: Path,
    rater: str,
    tasks: Collection[str] | None = None,
    criteria: Collection[str] = (),
) -> None:
    """Remove a rater, their ratings and their recorded answers from a dataset.

    tasks, criteria: remove only what they answered to these tasks on these criteria. The rater then
    stays if other ratings or test answers of theirs do.
    """
    from metal.boards.store import keep_ratings, with_submissions
    from metal.building.store import read_tasks, without_rater
    from metal.data.dataset import dataset_to_change, update_dataset, with_parts
    from metal.genie.store import answers_files, read_answers

    with dataset_to_change(folder) as loaded:
        board = with_submissions(loaded, folder)
        if rater not in board.raters:
            return
        outputs = None
        if tasks is not None:
            outputs = {output for task, output in read_tasks(folder).items() if task in tasks}
        facts = _facts_without(board.ratings, rater, outputs, criteria)
        tested_before = read_answers(folder)
        tested = _facts_without(tested_before, rater, outputs, criteria)
        left = {*facts["rater"].cat.categories, *tested["rater"].cat.categories}
        raters = [each for each in board.raters.values() if each.rater != rater or rater in left]
        files = answers_files(tested, empty=len(tested_before) > 0)
        files |= without_rater(folder, rater, tasks if rater in left else None)
        after = with_parts(board, raters=raters, facts=facts)
        if board is loaded:
            update_dataset(after, folder, files, without=rater)
        else:
            keep_ratings(loaded, after, folder, files, without=rater)


def _facts_without(
    facts: pd.DataFrame, rater: str, outputs: Collection[str] | None, criteria: Collection[str]
) -> pd.DataFrame:
    """Ratings without those of a rater, or without those of some outputs and criteria."""
    names = facts["rater"].astype(str)
    gone = names == rater
    if outputs is not None:
        gone &= facts["output"].astype(str).isin(outputs)
        gone &= facts["criterion"].astype(str).isin(criteria)
    return facts[~gone].assign(rater=names[~gone].astype("category"))
