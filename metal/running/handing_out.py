"""What people are asked to rate: the outputs, as tasks, with the test questions to be hidden among
them. Forms, platforms and studies on a server all use it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metal.errors import UsageError

if TYPE_CHECKING:
    from metal.building.tasks import Assignment, Task, TaskTemplate
    from metal.data.dataset import Dataset
    from metal.data.records import Output
    from metal.raters.judges.rubric import Rubric

Say = Callable[[str], None]


@dataclass(frozen=True)
class AskingPeople:
    """What to ask people, as options of `metal.annotate_export` say it.

    only: the ids of the outputs to rate, None for all; named_in: the file or audit that names them.
    """

    languages: Sequence[str] = ()
    criteria: Sequence[str] = ()
    generators: Sequence[str] = ()
    template: str | None = None
    add_criteria: bool = False
    sample: int | None = None
    drawn: bool = False
    also: bool = False
    test_questions: str = ""
    seed: int = 0
    only: Collection[str] | None = None
    named_in: Path | None = None


@dataclass(frozen=True)
class TasksForPeople:
    """Tasks to hand out.

    data: the dataset with the criteria that are asked. outputs: what is rated; tasks: a task for
    each. questions: the test questions; hidden: their tasks, by side. generators:
    those that were chosen. added: criteria that the dataset lacked. key: see
    metal.building.tasks.task_id.
    """

    data: Dataset
    template: TaskTemplate
    rubrics: Mapping[str, Rubric]
    outputs: Sequence[Output]
    tasks: Sequence[Task]
    questions: tuple[Output, ...]
    hidden: Mapping[str, Sequence[Task]]
    generators: tuple[str, ...]
    added: tuple[str, ...]
    key: str

    def add_criteria(self, before: Dataset, folder: Path) -> None:
        """Write the added criteria into the dataset's folder, which holds `before`."""
        from metal.data.dataset import update_dataset, with_parts

        if self.added:
            more = [self.data.criteria[name] for name in self.added]
            update_dataset(with_parts(before, criteria=[*before.criteria.values(), *more]), folder)

    def note(self, folder: Path, assignments: Sequence[Assignment]) -> None:
        """Record in the dataset's folder what the tasks stand for, and the test questions."""
        from metal.building.store import note_tasks
        from metal.genie.store import write_questions

        if self.questions:
            write_questions(folder, self.questions)
        note_tasks(folder, assignments, self.key)


def ask_tests_again(folder: Path, tasks: Iterable[Mapping[str, Any]]) -> None:
    """Record the test questions among tasks in a dataset's folder that does not know them.

    tasks: as people saw them, as records of metal.building.tasks.Task.
    """
    from metal.data.dataset import load_dataset
    from metal.genie.gold_questions import question_again, side_of
    from metal.genie.store import read_questions, write_questions

    present = read_questions(folder)
    tests = [each for each in tasks if side_of(each["output"]) and each["output"] not in present]
    if not tests:
        return
    sources = load_dataset(folder).sources
    questions = [
        question_again(each["output"], each["language"], each["text"], sources) for each in tests
    ]
    write_questions(folder, [each for each in questions if each])


def tasks_for_people(
    dataset: Dataset, folder: Path, asking: AskingPeople, prompt_folders: Sequence[Path], say: Say
) -> TasksForPeople:
    """The tasks that `asking` describes.

    dataset: the one in `folder`; generators that were submitted to its board are rated, too. say:
    called with each note.
    Raises UnknownName, UsageError or DataError, as `metal.annotate_export` does.
    """
    from metal.boards.store import with_submissions
    from metal.building.also import with_second
    from metal.building.choose import (
        choose_template,
        generators_named,
        outputs_to_rate,
        with_references,
    )
    from metal.building.store import task_key
    from metal.building.tasks import make_tasks

    loaded, shown, rubrics = choose_template(
        with_submissions(dataset, folder),
        folder,
        asking.template,
        asking.criteria,
        prompt_folders,
        add_criteria=asking.add_criteria,
        say=say,
    )
    rubrics = with_second(rubrics, shown, wanted=asking.also)
    chosen = generators_named(loaded, asking.generators)
    to_rate = outputs_to_rate(
        loaded,
        folder,
        languages=asking.languages,
        only=asking.only,
        named_in=asking.named_in,
        generators=chosen,
        sources=_sources(loaded, folder, asking),
        say=say,
    )
    outputs = with_references(loaded, folder, to_rate, shown, say)
    questions = _draw(folder, loaded, outputs, asking, say)
    key = task_key(folder)
    return TasksForPeople(
        loaded,
        shown,
        rubrics,
        outputs,
        make_tasks(key, outputs, loaded.sources, shown),
        questions,
        {
            side: make_tasks(key, group, loaded.sources, shown)
            for side, group in _by_side(questions).items()
        },
        chosen,
        tuple(name for name in loaded.asked if name not in dataset.criteria),
        key,
    )


def _draw(
    folder: Path, dataset: Dataset, outputs: Sequence[Output], asking: AskingPeople, say: Say
) -> tuple[Output, ...]:
    """The test questions of a round, different from those that people were asked in
    earlier rounds.
    """
    from metal.genie.store import draw_questions, read_answers, read_questions

    if not asking.test_questions:
        return ()
    used = set(read_answers(folder)["output"].astype(str))
    earlier = read_questions(folder)
    shares, seed = asking.test_questions, asking.seed
    return draw_questions(dataset, outputs, shares, seed, earlier, say, used)


def _by_side(questions: Iterable[Output]) -> dict[str, list[Output]]:
    """The test questions of each side: those with the source's own reference, and those with
    another source's.
    """
    from metal.genie.gold_questions import SIDES, side_of

    groups: dict[str, list[Output]] = {side: [] for side in SIDES}
    for question in questions:
        groups[side_of(question.output)].append(question)
    return groups


def _sources(dataset: Dataset, folder: Path, asking: AskingPeople) -> frozenset[str] | None:
    """The sources of `sample`, or those that were drawn for labels; None if neither is
    asked for.
    """
    from metal.building.store import read_drawn
    from metal.genie.output_scores import sources_chosen

    chosen: Collection[str]
    if asking.sample is not None:
        chosen = sources_chosen(dataset.sources.values(), asking.sample, asking.seed)
    elif asking.drawn:
        chosen = read_drawn(folder)
    else:
        return None
    if not chosen:
        raise UsageError(f"{folder} has no drawn sources; draw some with `metal.sample_labels`")
    return frozenset(chosen)


@dataclass(frozen=True)
class Askable:
    """What the owner of a dataset can choose to ask people.

    outputs: language -> how many outputs there are. criteria: name -> label. templates: how tasks
    may look.
    """

    outputs: Mapping[str, int]
    criteria: Mapping[str, str]
    generators: tuple[str, ...]
    templates: tuple[str, ...]


def askable_in(folder: Path) -> Askable:
    """What people can be asked about the dataset in a folder, and what teams submitted to it."""
    from metal.boards.store import with_submissions
    from metal.building.tasks import named_files
    from metal.data.dataset import load_dataset
    from metal.running.prompting import prompt_folders

    dataset = with_submissions(load_dataset(folder), folder)
    outputs = dataset.outputs.values()
    return Askable(
        Counter(output.language for output in outputs),
        {name: criterion.label or name for name, criterion in dataset.asked.items()},
        tuple(sorted({output.generator for output in outputs})),
        tuple(sorted(named_files(prompt_folders((), folder), "annotate"))),
    )
