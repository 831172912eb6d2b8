"""Read and write test_questions/ in a dataset folder or in a judges' run.

outputs.jsonl    the questions, as outputs: what a rater saw
ratings.parquet  the answers, as ratings
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from metal.data import ratings_files
from metal.data.dataset import Dataset, concat_facts
from metal.data.dataset_lines import numbered_records, read_output, text_record
from metal.data.files import write_jsonl
from metal.data.languages import language_name
from metal.data.ratings import facts_from, join
from metal.data.records import Output, Rating
from metal.errors import DataError, UsageError
from metal.genie.gold_questions import Shares, check_ids, draw

FOLDER = "test_questions"
QUESTIONS, ANSWERS = "outputs.jsonl", "ratings.parquet"


@dataclass(frozen=True)
class GoldQuestions:
    """Test questions by id, and the answers with the columns of ratings (output, criterion, rater,
    score, reason, comment).
    """

    questions: Mapping[str, Output]
    answers: pd.DataFrame

    @property
    def digest(self) -> str:
        """Four hexadecimal digits that change if any answer changes; empty without answers."""
        if not len(self.answers):
            return ""
        rows = self.answers.loc[:, ["output", "criterion", "rater", "score"]].astype(
            {"score": np.float64}
        )
        hashes = np.sort(pd.util.hash_pandas_object(rows, index=False).to_numpy())
        return hashlib.sha256(hashes.tobytes()).hexdigest()[:4]


def read_questions(folder: Path) -> dict[str, Output]:
    """The test questions of a dataset or a run by id; empty if the folder has none."""
    path = folder / FOLDER / QUESTIONS
    if not path.is_file():
        return {}
    questions = (read_output(record, location) for location, record in numbered_records(path))
    return {question.output: question for question in questions}


def read_answers(folder: Path) -> pd.DataFrame:
    """The answers of a dataset or a run; an empty table if it has none."""
    path = folder / FOLDER / ANSWERS
    return ratings_files.read_facts(path) if path.is_file() else facts_from([])


def read_tests(dataset: Dataset, folder: Path, runs: Iterable[Path] = ()) -> GoldQuestions:
    """Read the test questions and answers of the dataset in `folder` and of its judges' runs.

    dataset: must include the runs' raters. Raises DataError if two folders show different texts
    under one id. Also raises it for an answer that is about a question that nobody asked, off the
    scale, or given twice.
    """
    questions: dict[str, Output] = {}
    answers = []
    for run in (folder, *runs):
        asked_here = read_questions(run)
        for name, question in asked_here.items():
            if questions.setdefault(name, question).text != question.text:
                raise DataError(
                    run / FOLDER / QUESTIONS,
                    f"{name} shows another text than in {folder / FOLDER}",
                    "The references have changed since; judge again with"
                    " `metal.judge(test_questions=True)`",
                )
        answers_here = read_answers(run)
        if len(answers_here):
            path = run / FOLDER / ANSWERS
            join(
                answers_here,
                criteria=dataset.criteria,
                outputs=asked_here,
                raters=dataset.raters,
                ratings_file=path,
            )
        answers.append(answers_here)
    return GoldQuestions(questions, concat_facts(answers))


def write_questions(folder: Path, questions: Iterable[Output]) -> None:
    """Store the questions, in addition to those asked before."""
    all_questions = read_questions(folder) | {question.output: question for question in questions}
    (folder / FOLDER).mkdir(exist_ok=True)
    write_jsonl(folder / FOLDER / QUESTIONS, map(text_record, all_questions.values()))


def answers_files(answers: pd.DataFrame, *, empty: bool = False) -> dict[str, bytes]:
    """The answers as a file of a dataset folder (metal.data.dataset.update_dataset). empty: also
    without answers, to replace a file that has some.
    """
    if not (empty or len(answers)):
        return {}
    return {f"{FOLDER}/{ANSWERS}": ratings_files.facts_parquet(answers)}


def write_tests(folder: Path, questions: Sequence[Output], answers: Iterable[Rating]) -> None:
    """Write the questions and answers of a run; write nothing if there are no questions."""
    if questions:
        write_questions(folder, questions)
        ratings_files.write_ratings(answers, folder / FOLDER / ANSWERS)


def draw_questions(
    dataset: Dataset,
    outputs: Sequence[Output],
    wanted: str,
    seed: int,
    earlier: Mapping[str, Output],
    say: Callable[[str], None],
    used: Collection[str] = (),
) -> tuple[Output, ...]:
    """Draw test questions to hide among the outputs; tell `say` if there are fewer than wanted.

    earlier, used: as `draw`.

    Raises UsageError if the dataset's sources have no references, if no criterion can tell a right
    answer from a wrong one, or if an output has the id of a question.
    """
    shares = Shares.read(wanted)
    if not any(criterion.scale.ends for criterion in dataset.criteria.values()):
        raise UsageError(
            f"`test_questions`: no criterion of {dataset.card.name} has a best and a worst score"
        )
    drawn = draw(dataset.sources, outputs, shares, seed=seed, earlier=earlier, used=used)
    if not drawn.questions and used:
        raise UsageError("`test_questions`: earlier rounds used every test question; leave it out")
    if not drawn.questions:
        raise UsageError(
            f"`test_questions`: the sources of {dataset.card.name} have no references to make them"
            " from (`references` in sources.jsonl)"
        )
    check_ids(dataset, drawn.questions)
    why = "because the sources have too few different references" + (
        " that were not asked about" if used else ""
    )
    for (language, side), missing in drawn.short.items():
        say(
            f"warning: {language_name(language)}: {missing:,} fewer {side} test questions than"
            f" wanted, {why}"
        )
    return drawn.questions
