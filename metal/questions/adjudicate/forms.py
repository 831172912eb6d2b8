"""The forms of adjudication, which show an output and the answers given so far without names, and
ask for an answer.

They are the forms of `metal annotate` with another template. A criterion gets one more level,
CANNOT, and a second question: whether another answer would do as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from metal.building import forms
from metal.building.also import ALL, also_question
from metal.building.forms.html_form import file_stem
from metal.building.tasks import Assignment, Task, TaskTemplate
from metal.data.dataset import Dataset
from metal.data.records import METRIC_SCORE, Criterion, Level, Scale
from metal.data.text import count
from metal.questions.adjudicate.draw import Case, generator_of
from metal.raters.judges.rubric import Rubric, rubrics_for

TAKEN_IN = "metal adjudicate report PLAN"
CANNOT = "Cannot be decided"
TEMPLATE = TaskTemplate(
    "adjudicate",
    reference="shown",
    instructions=(
        "People and machines answered differently here. Please decide what is right, by the"
        " guidelines and as carefully as you can: you are asked about only a few outputs, so each"
        " of them counts for much.\n\n"
        "Above each output you see which answers were given and how often, in random order. The"
        " most frequent one may be wrong, and so may all of them. You do not need to give one of"
        " these answers.\n\n"
        "If two answers would do equally well, choose one of them and say so in the second"
        " question. If nobody could decide it from what is shown, say that."
    ),
    headings={"reference": "Answers so far", "output": "Output"},
    opinions=False,
    taken_in=TAKEN_IN,
)

BLIND = TaskTemplate(
    "adjudicate-blind",
    instructions=(
        "Please decide for each output whether it is good or bad, by the guidelines and as"
        " carefully as you can: you are asked about only a few outputs, so each of them counts for"
        " much.\n\n"
        "If nobody could decide it from what is shown, say that."
    ),
    headings={"output": "Output"},
    opinions=False,
    taken_in=TAKEN_IN,
)
GOOD_OR_BAD = Scale("ordinal", (Level(0.0, "Bad"), Level(1.0, "Good")))


@dataclass(frozen=True)
class Drawn:
    """An output that is to be decided.

    Attributes:
        chance: The probability with which it was drawn.
        higher: In a draw between two raters, the rater that scores the output higher.
    """

    task: str
    output: str
    criterion: str
    language: str
    chance: float
    higher: str = ""


@dataclass(frozen=True)
class Questionnaire:
    """What the forms of a case ask about.

    Attributes:
        criterion: As the data have it.
        candidates: Task -> the answers so far; None for a form that shows none, and asks whether
            the output is good or bad.
    """

    language: str
    criterion: Criterion
    drawn: tuple[Drawn, ...]
    candidates: Mapping[str, Sequence[str]] | None = None

    @property
    def questions(self) -> dict[str, Criterion]:
        """The questions, by the names of their columns."""
        if self.candidates is not None:
            return asked_in_forms(self.criterion)
        name = self.criterion.name
        return {name: asked_in_forms(good_or_bad(self.criterion))[name]}


def good_or_bad(criterion: Criterion) -> Criterion:
    """The question about a criterion in a form without answers: whether the output is good
    or bad.
    """
    if criterion == METRIC_SCORE:
        criterion = replace(criterion, label="Quality", question="Is the output good or bad?")
    return replace(criterion, scale=GOOD_OR_BAD, direction="higher")


def asked_in_forms(criterion: Criterion) -> dict[str, Criterion]:
    """The two questions about a criterion, by the names of their columns."""
    scale = criterion.scale
    cannot = max(scale.values) + 1
    levels = (*scale.levels, Level(cannot, CANNOT))
    own = replace(criterion, scale=Scale("nominal", levels, None, None))
    also = also_question(criterion, ALL)
    return {criterion.name: own, also.name: also}


def written(
    form: str,
    dataset: Dataset,
    asked: Questionnaire,
    adjudicators: Sequence[str],
    folders: Sequence[Path],
    seed: int,
    taken: set[str],
) -> Iterator[tuple[str, bytes]]:
    """The files of one case, with a form for each adjudicator.

    taken: the beginnings of file names that are in use already.
    """
    criterion, language = asked.criterion, asked.language
    tasks = [_task(dataset, asked, each, seed) for each in asked.drawn]
    rubrics = _rubrics(asked, folders)
    begins = file_stem(f"{language}-{criterion.name}", taken)
    for adjudicator in adjudicators:
        rng = generator_of(seed, adjudicator, criterion.name, language)
        order = rng.permutation(len(tasks))
        assignment = Assignment(
            dataset.card.name,
            adjudicator,
            language,
            tuple(tasks[index] for index in order),
            rubrics,
            BLIND if asked.candidates is None else TEMPLATE,
        )
        for name, content in forms.write(form, [assignment]):
            yield f"{begins}-{name}", content


def _rubrics(asked: Questionnaire, folders: Sequence[Path]) -> dict[str, Rubric]:
    """The rubrics with which the form explains its questions."""
    criterion = asked.criterion
    rubric = rubrics_for([criterion], folders, needed=())[criterion.name]
    own, *also = asked.questions.values()
    rubric = replace(rubric, criterion=own, flipped=False)
    if asked.candidates is None:  # the criterion's own levels are not asked for
        rubric = replace(rubric, detailed="", levels={})
    rubrics = {own.name: rubric}
    return rubrics | {each.name: Rubric(each, optional=True) for each in also}


def _task(dataset: Dataset, asked: Questionnaire, drawn: Drawn, seed: int) -> Task:
    """A task with the answers so far; if the data have no texts, it shows the output's id."""
    output = dataset.outputs[drawn.output]
    source = dataset.sources[output.source]
    candidates = (asked.candidates or {}).get(drawn.task, ())
    order = generator_of(seed, drawn.task).permutation(len(candidates))
    shuffled = tuple(candidates[index] for index in order)
    text = output.text or output.output
    return Task(
        drawn.task, output.output, output.language, source.title, source.text, text, shuffled
    )


def candidates_of(case: Case, item: int) -> list[str]:
    """How often each answer was given to an item."""
    levels = case.cell.criterion.scale.levels
    answers = sorted(case.answers_to(item).items())
    return [f"{levels[code].label} (given {_times(number)})" for code, number in answers]


def _times(number: int) -> str:
    return "once" if number == 1 else f"{count(number)} times"


def criteria_of(criteria: Mapping[str, Criterion]) -> dict[str, Criterion]:
    """The questions of all forms, by column."""
    return {
        name: question
        for criterion in criteria.values()
        for name, question in asked_in_forms(criterion).items()
    }
