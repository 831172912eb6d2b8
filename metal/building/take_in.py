"""Answers become ratings of a dataset: the one way in, for files that came back and for what a platform gave."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metal.data.records import Criterion, Output, Rater
from metal.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

    from metal.building.answers import Returned
    from metal.building.tasks import Answer
    from metal.data.dataset import Dataset


def import_answers(
    dataset: Path,
    loaded: Dataset,
    answers: Sequence[Answer],
    notes: Iterable[str] = (),
    *,
    replace: bool = False,
    group: str = "native",
    dry_run: bool = False,
) -> Returned:
    """Check the answers, write the dataset with their ratings, and show what came in.

    dataset: its folder; the caller has held `folders.one_writer` of it since before it read `loaded` from there.
    notes: what to say about the answers, e.g. how many were left out. group: of raters who are new.
    Nothing is written when anything is wrong, or with dry_run. Raises UsageError where no tasks were handed out,
    else as `metal.building.answers.take_in`.
    """
    from metal.building.answers import ambiguous, take_in
    from metal.building.pairs import turned
    from metal.building.store import (
        AMBIGUOUS,
        FOLDER,
        history_files,
        read_compared,
        read_given,
        read_pairs,
        read_tasks,
    )
    from metal.data.csv_cells import csv_text
    from metal.data.dataset import assemble, concat_facts, update_dataset
    from metal.errors import UsageError
    from metal.genie.gold_questions import apart
    from metal.genie.store import answers_files, read_answers, read_questions
    from metal.show.terminal import console as show
    from metal.show.terminal.annotation_text import show_agreement, show_ambiguous, show_returned, show_tests

    inside = Path.cwd().is_relative_to(dataset.resolve())
    tasks = read_tasks(dataset)
    if not tasks:
        raise UsageError(f"{dataset}: no tasks were handed out from it; begin with `metal annotate export`")
    questions = read_questions(dataset)
    languages = {name: output.language for name, output in {**loaded.outputs, **questions}.items()}
    tasks = {task: output for task, output in tasks.items() if output in languages}
    given = read_given(dataset)
    said = turned(answers, read_pairs(dataset, loaded.criteria))
    tested_before = read_answers(dataset)
    said, again = _first_counts(said, tasks, tested_before, loaded.criteria, replace=replace)
    before = concat_facts([loaded.ratings, tested_before])
    returned = take_in(said, tasks, given, loaded.criteria, before, languages=languages, replace=replace)
    facts, tested = apart(returned.facts, questions)
    whole = assemble(
        loaded.card,
        loaded.criteria.values(),
        loaded.sources.values(),
        loaded.outputs.values(),
        _raters(dataset, loaded, returned, group),
        facts,
        extra=loaded.extra,
    )
    compared = read_compared(dataset)
    unclear = ambiguous(whole.ratings[whole.ratings["kind"] == "human"], whole.criteria)
    if not dry_run:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        extra_files = history_files(dataset, answers, now, _standing(whole, questions, tested, compared))
        extra_files |= {f"{FOLDER}/{AMBIGUOUS}": csv_text(unclear).encode()} | answers_files(tested)
        update_dataset(whole, dataset, extra_files)
    show_returned(returned)
    for note in (*notes, *again):
        show.say(f"note: {note}")
    if len(tested):
        show_tests(whole, questions, tested, compared)
    show_agreement(whole)
    show_ambiguous(unclear, whole, None if dry_run else dataset / FOLDER / AMBIGUOUS)
    show.say("Nothing was written." if dry_run else f"Next: metal audit {dataset}", wrap=False)
    if inside and not dry_run:
        show.say("You are in the dataset's folder, which was written anew: `cd .` takes you there.")
    return returned


def _first_counts(
    answers: Sequence[Answer],
    tasks: Mapping[str, str],
    before: pd.DataFrame,
    criteria: Mapping[str, Criterion],
    *,
    replace: bool,
) -> tuple[list[Answer], list[str]]:
    """The answers without other ones to test questions that somebody had answered before, and a note on these.

    A platform may give a worker the same question in two campaigns; what they say the second time is no evidence, and
    nothing to stop an import for. before: test answers so far.
    """
    from metal.building.answers import read_score

    rows = zip(*(before[name].tolist() for name in ("output", "rater", "criterion", "score")), strict=True)
    known = {(str(output), str(rater), str(name)): score for output, rater, name, score in rows if score == score}
    kept, other = [], 0
    for answer in answers:
        question = tasks.get(answer.task, "")
        there = {name: known.get((question, answer.rater, name)) for name in answer.scores}
        said = {name: answer.scores[name] for name, score in there.items() if score is not None and name in criteria}
        changed = any(
            read_score(text, criteria[name], answer.where) not in (None, there[name]) for name, text in said.items()
        )
        if changed and not replace:
            other += 1
        else:
            kept.append(answer)
    return kept, [f"{other:,} test questions were answered otherwise before: the first answers count"] if other else []


def _standing(
    dataset: Dataset, questions: Mapping[str, Output], tested: pd.DataFrame, compared: Container[str]
) -> dict[str, dict[str, Any]]:
    """What is known of each person now: ratings, and for each side of the test questions [right, answered]."""
    from metal.genie.monitoring import trials

    table = dataset.ratings
    counts = table[table["kind"] == "human"].groupby("rater", observed=True).size()
    found: dict[str, dict[str, Any]] = {str(name): {"ratings": int(count)} for name, count in counts.items()}
    answered = trials(tested, questions, dataset.criteria, compared).dropna(subset=["right"])
    for (rater, side), rows in answered.groupby(["rater", "side"]):
        found.setdefault(str(rater), {"ratings": 0})[str(side)] = [int(rows["right"].sum()), len(rows)]
    return found


def _raters(dataset: Path, loaded: Dataset, returned: Returned, group: str) -> Iterable[Rater]:
    """The dataset's raters and those who answered. Raises DataError for a name that is no person's."""
    raters = dict(loaded.raters)
    for name, spoken in returned.raters.items():
        known = raters.setdefault(name, Rater(name, "human", group, {"language": ", ".join(sorted(spoken))}))
        if known.kind != "human":
            raise DataError(
                dataset / "raters.jsonl", f"rater {name!r} is of kind {known.kind}", "People need other names"
            )
    return raters.values()
