"""How the tasks of a dataset are shown to people: the template, and the criteria they are asked about."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from metal.building.store import read_compared
from metal.building.tasks import Assignment
from metal.building.template import METAL, TaskTemplate, load_template
from metal.data.dataset import Dataset
from metal.data.records import Criterion, Output
from metal.data.text import plural
from metal.errors import UnknownName, UsageError
from metal.raters.judges.rubric import Rubric, rubrics_for


@dataclass(frozen=True)
class Presentation:
    """A template and the rubrics of the criteria that are asked.

    dataset: as it was, or with the criteria that were `added` from the template.
    """

    dataset: Dataset
    template: TaskTemplate
    rubrics: Mapping[str, Rubric]
    added: tuple[str, ...] = ()


def choose_template(
    dataset: Dataset,
    folder: Path,
    name: str | None,
    criteria: Sequence[str],
    prompt_folders: Sequence[Path],
    *,
    add_criteria: bool,
    say: Callable[[str], None],
) -> Presentation:
    """The template of that name, and the rubrics of the criteria it asks in this dataset.

    name: None for METAL's own look, with all of the dataset's criteria that do not compare pairs. criteria: the ones
    to ask, all if empty. add_criteria: add criteria of the template that the dataset lacks.
    Raises UnknownName for an unknown template or criterion, UsageError for a criterion of the template that the
    dataset lacks (unless `add_criteria`) or has on another scale, and for a criterion of single outputs if the
    template shows pairs, or the reverse.
    """
    template = load_template(name, prompt_folders) if name else METAL
    available = {**template.criteria, **dataset.criteria}
    for criterion in criteria:
        if criterion not in available:
            raise UnknownName("criterion", criterion, available)
    compared = read_compared(folder)
    asked = [criterion for criterion in available if criterion in criteria]
    asked = asked or _default_criteria(dataset, template, compared, say)
    _check_pairs(folder, template, asked, compared)
    missing = {criterion: template.criteria[criterion] for criterion in asked if criterion not in dataset.criteria}
    if missing and not add_criteria:
        raise UsageError(
            f"{folder} lacks {'criteria' if len(missing) > 1 else 'the criterion'} of template {template.name}: "
            f"{', '.join(missing)}. Pass `add_criteria=True` to add what is missing to its dataset.toml"
            + ("" if template.paired else ", or say with `criteria` what to ask instead")
        )
    for criterion in asked:
        if criterion in template.rubrics and criterion not in missing:
            _check_same(dataset.criteria[criterion], template)
    dataset = replace(dataset, criteria={**dataset.criteria, **missing})
    own = (dataset.criteria[criterion] for criterion in asked if criterion not in template.rubrics)
    rubrics = {**template.rubrics, **rubrics_for(own, prompt_folders)}
    return Presentation(dataset, template, {criterion: rubrics[criterion] for criterion in asked}, tuple(missing))


def _default_criteria(
    dataset: Dataset, template: TaskTemplate, compared: Mapping[str, str], say: Callable[[str], None]
) -> list[str]:
    """The template's criteria; if it has none, those of the dataset that do not compare pairs."""
    if template.criteria:
        return list(template.criteria)
    left_out = [criterion for criterion in dataset.criteria if criterion in compared]
    if left_out:
        templates = ", ".join(dict.fromkeys(compared[criterion] for criterion in left_out))
        say(f"note: not asked, for pairs only (`template={templates!r}`): {', '.join(left_out)}")
    return [criterion for criterion in dataset.criteria if criterion not in compared]


def _check_pairs(folder: Path, template: TaskTemplate, asked: Sequence[str], compared: Mapping[str, str]) -> None:
    """Criteria that compare need a template that shows pairs, and such a template asks only its own criteria."""
    if not asked:
        raise UsageError(f"{folder}: every criterion compares pairs; say with `template` how to show them")
    for criterion in asked:
        if template.paired and criterion not in template.criteria:
            raise UnknownName(f"template {template.name}: criterion", criterion, template.criteria)
    for criterion in asked:
        if criterion in compared and criterion not in template.compared:
            raise UsageError(
                f"criterion {criterion} compares pairs; hand it out with `template={compared[criterion]!r}`"
            )


def _check_same(ours: Criterion, template: TaskTemplate) -> None:
    theirs = template.criteria[ours.name]
    if (_scale(ours), ours.direction) != (_scale(theirs), theirs.direction):
        raise UsageError(
            f"criterion {ours.name} of the dataset ({ours.scale.describe()}) is not the one of template "
            f"{template.name} ({theirs.scale.describe()}). Rename one of them: the template can be copied to "
            'DIR/annotate/NAME.toml and given with `prompt_folders="DIR"`'
        )


def _scale(criterion: Criterion) -> tuple[object, ...]:
    scale = criterion.scale
    return scale.low, scale.high, tuple((level.value, level.label.casefold()) for level in scale.levels)


def with_references(
    dataset: Dataset, folder: Path, outputs: Sequence[Output], template: TaskTemplate, say: Callable[[str], None]
) -> list[Output]:
    """The outputs that the template can show: if it shows references, those whose source has one.

    Raises UsageError if there are none.
    """
    if template.reference == "hidden":
        return list(outputs)
    usable = [each for each in outputs if any(text.strip() for text in dataset.sources[each.source].references)]
    if not usable:
        raise UsageError(
            f"template {template.name} shows references, and {folder} has none for these outputs. Put them into "
            "`references` in its sources.jsonl, or choose a template that shows none"
        )
    if len(usable) < len(outputs):
        say(f"warning: {plural(len(outputs) - len(usable), 'output')} not handed out: without a reference")
    return usable


def warn_of_repeated_sources(
    outputs: Iterable[Output], assignments: Iterable[Assignment], say: Callable[[str], None]
) -> None:
    """Warn if somebody rates two pairs of one source: the text that appears twice is the reference.

    outputs: those in the assignments, test questions included.
    """
    source_of = {output.output: output.source for output in outputs}
    repeats = 0
    for assignment in assignments:
        sources = {source_of[task.output] for task in assignment.tasks}
        repeats += assignment.template.paired and len(sources) < len(assignment.tasks)
    if repeats:
        say(
            f"warning: {plural(repeats, 'sheet')} with several outputs of one source; whoever remembers a text that "
            "returns knows the reference. Hand out one generator at a time (`only`), or have more people"
        )
