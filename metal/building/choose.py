"""Choose what people rate: the outputs, the template that shows them, and the criteria to ask."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from metal.building.forms.sheet import csv_table, listed, unguarded
from metal.building.store import read_compared
from metal.building.tasks import METAL, Assignment, TaskTemplate, load_template
from metal.data.dataset import Dataset
from metal.data.languages import check_languages
from metal.data.records import Criterion, Output
from metal.data.text import divided, plural
from metal.errors import DataError, UnknownName, UsageError, check_known
from metal.raters.judges.rubric import (
    SIMPLE,
    Rubric,
    check_described,
    described,
    rubrics_for,
    where_to_ask,
)


def generators_named(dataset: Dataset, names: Iterable[str]) -> tuple[str, ...]:
    """The generators of these names. A name that is unknown is split at its commas. Raises
    UnknownName.
    """
    generators = sorted({output.generator for output in dataset.outputs.values()})
    parts = [part for text in names for part in ([text] if text in generators else divided(text))]
    chosen = tuple(dict.fromkeys(part.strip() for part in parts if part.strip()))
    check_known("generator", chosen, generators)
    return chosen


def outputs_to_rate(
    dataset: Dataset,
    folder: Path,
    *,
    languages: Collection[str] = (),
    only: Collection[str] | None = None,
    named_in: Path | None = None,
    generators: Collection[str] = (),
    sources: frozenset[str] | None = None,
    say: Callable[[str], None],
) -> list[Output]:
    """The outputs to rate: those chosen for rating that have a text.

    languages, generators, sources: limit the outputs to these. only: the ids of the outputs, and
    named_in: what names them. say: called with each note on what is left out, and why. Raises
    UsageError if no output is left, UnknownName for an unknown language.
    """
    check_languages(languages, dataset.languages)
    if not dataset.outputs:
        raise UsageError(
            f"{folder} has no outputs to rate yet; `metal.generate(...)` makes some from its"
            " sources"
        )
    ids = set(dataset.outputs) if only is None else only
    selected = _selected(dataset.outputs.values(), ids, languages, generators, sources)
    chosen = [output for output in selected if output.chosen]
    usable = [output for output in chosen if output.text.strip()]
    if not usable:
        limits = [f"in {named_in}"] if named_in else []
        limits += [f"by {', '.join(generators)}"] if generators else []
        limits += ["in the sample"] if sources is not None else []
        raise UsageError(" ".join([f"{folder}: no chosen output with a text to rate", *limits]))
    for count, what in (
        (
            len(selected) - len(chosen) if named_in else 0,
            "not handed out, because they are not chosen",
        ),
        (len(chosen) - len(usable), "not handed out, because they have no text"),
        (
            sum(not dataset.sources[output.source].text.strip() for output in usable),
            "handed out without the source, whose text is missing",
        ),
    ):
        if count:
            say(f"warning: {plural(count, 'output')} {what}")
    return usable


def _selected(
    outputs: Iterable[Output],
    ids: Collection[str],
    languages: Collection[str],
    generators: Collection[str],
    sources: Collection[str] | None,
) -> list[Output]:
    """The outputs with these ids, limited to the given languages, generators and sources."""
    return [
        output
        for output in outputs
        if output.output in ids
        and (not languages or output.language in languages)
        and (not generators or output.generator in generators)
        and (sources is None or output.source in sources)
    ]


def listed_in(file: Path, dataset: Dataset) -> set[str]:
    """The outputs that a CSV names. Ids are text: `007` is not a number."""
    head, rows = csv_table(str(file), file.read_bytes())
    if "output" not in head:
        raise DataError(
            file, f"no column 'output' (columns found: {listed(head)})", "Name one output per row"
        )
    column, outputs = head.index("output"), set()
    for number, row in rows:
        cell = row[column] if column < len(row) else ""
        output = cell if cell in dataset.outputs else unguarded(cell)
        if output and output not in dataset.outputs:
            raise DataError(
                f"{file} row {number}",
                f"output {output!r} is not in this dataset",
                "Write ids from outputs.jsonl",
            )
        outputs.add(output)
    return outputs


def choose_template(
    dataset: Dataset,
    folder: Path,
    name: str | None,
    criteria: Sequence[str],
    prompt_folders: Sequence[Path],
    *,
    add_criteria: bool,
    say: Callable[[str], None],
) -> tuple[Dataset, TaskTemplate, dict[str, Rubric]]:
    """The dataset, the template of that name, and the rubrics of the criteria to ask.

    name: None means METAL's own template with all criteria of the dataset that do not compare
    pairs. criteria: the criteria to ask, all if empty. add_criteria: add the template's criteria
    that the dataset lacks to the returned dataset. Raises UnknownName for an unknown template or
    criterion. Raises UsageError if the dataset lacks a criterion of the template (unless
    `add_criteria`) or has it on another scale. Also raises it if the template shows pairs and a
    criterion is about single outputs, or the reverse.
    """
    template = load_template(name, prompt_folders) if name else METAL
    filed = _filed(template, dataset, criteria, prompt_folders)
    available = {**template.criteria, **dataset.asked, **filed}
    compared = read_compared(folder)
    asked = [criterion for criterion in available if criterion in criteria]
    asked = asked or _default_criteria(dataset, template, compared, say)
    _check_pairs(folder, template, asked, compared)
    missing = {
        criterion: available[criterion] for criterion in asked if criterion not in dataset.criteria
    }
    if not add_criteria:
        _check_missing(folder, template, missing, bool(filed))
    for criterion in asked:
        if criterion in template.rubrics and criterion not in missing:
            _check_same(dataset.criteria[criterion], template)
    dataset = replace(dataset, criteria={**dataset.criteria, **missing})
    own = (dataset.criteria[criterion] for criterion in asked if criterion not in template.rubrics)
    written = rubrics_for(own, prompt_folders, needed=())
    worded = {criterion: _with_question(rubric, say) for criterion, rubric in written.items()}
    check_described(worded, (SIMPLE,))
    rubrics = {**template.rubrics, **worded}
    return dataset, template, {criterion: rubrics[criterion] for criterion in asked}


def _filed(
    template: TaskTemplate, dataset: Dataset, criteria: Sequence[str], folders: Sequence[Path]
) -> dict[str, Criterion]:
    """The criteria to ask that neither the template nor the dataset has; criteria/NAME.toml must
    declare them.

    Raises UnknownName for a criterion that no file declares.
    """
    available = {**template.criteria, **dataset.asked}
    filed = {}
    for name in criteria:
        declared = None if name in available else described(name, folders)
        if declared:
            filed[name] = declared
    for name in criteria:
        if name not in available and name not in filed:
            raise UnknownName("criterion", name, available | filed)
    return filed


def _check_missing(
    folder: Path, template: TaskTemplate, missing: Collection[str], filed: bool
) -> None:
    """Raise UsageError if the dataset lacks criteria to ask. filed: whether criteria files declare
    them, rather than the template.
    """
    if not missing:
        return
    what = "criteria" if len(missing) > 1 else "the criterion"
    whose = "" if filed else f"of template {template.name}: "
    instead = "" if template.paired else ", or say with `criteria` what to ask instead"
    raise UsageError(
        f"{folder} lacks {what} {whose}{', '.join(missing)}. Pass `add_criteria=True` to add"
        f" what is missing to its dataset.toml{instead}"
    )


def _with_question(rubric: Rubric, say: Callable[[str], None]) -> Rubric:
    """Give a rubric with only a name and levels a plain question, and say so in a note."""
    criterion = rubric.criterion
    if rubric.simple or rubric.detailed or rubric.levels or criterion.question:
        return rubric
    question = f"How do you rate this text: {criterion.title}?"
    say(
        f'note: nothing says what {criterion.name} asks; people read "{question}". To ask something'
        f" else: {where_to_ask(criterion.name)}"
    )
    return replace(rubric, criterion=replace(criterion, question=question))


def _default_criteria(
    dataset: Dataset,
    template: TaskTemplate,
    compared: Mapping[str, str],
    say: Callable[[str], None],
) -> list[str]:
    """The template's criteria; if it has none, the dataset's criteria that do not compare pairs."""
    if template.criteria:
        return list(template.criteria)
    left_out = [criterion for criterion in dataset.asked if criterion in compared]
    if left_out:
        templates = ", ".join(dict.fromkeys(compared[criterion] for criterion in left_out))
        say(
            f"note: criteria that compare pairs are asked only with `template={templates!r}`:"
            f" {', '.join(left_out)}"
        )
    return [criterion for criterion in dataset.asked if criterion not in compared]


def _check_pairs(
    folder: Path, template: TaskTemplate, asked: Sequence[str], compared: Mapping[str, str]
) -> None:
    """Check that a criterion that compares is asked with a template that shows pairs, and that such
    a template asks only its own criteria.
    """
    if not asked:
        raise UsageError(
            f"{folder}: every criterion compares pairs; choose with `template` how to show them"
        )
    for criterion in asked:
        if template.paired and criterion not in template.criteria:
            raise UnknownName(f"template {template.name}: criterion", criterion, template.criteria)
    for criterion in asked:
        if criterion in compared and criterion not in template.compared:
            raise UsageError(
                f"criterion {criterion} compares pairs; hand it out with"
                f" `template={compared[criterion]!r}`"
            )


def _check_same(ours: Criterion, template: TaskTemplate) -> None:
    theirs = template.criteria[ours.name]
    if (_scale(ours), ours.direction) != (_scale(theirs), theirs.direction):
        raise UsageError(
            f"criterion {ours.name} has another scale in the dataset ({ours.scale.describe()}) than"
            f" in template {template.name} ({theirs.scale.describe()}). Rename one of them: you can"
            " copy the template to DIR/annotate/NAME.toml and pass"
            ' `prompt_folders="DIR"`'
        )


def _scale(criterion: Criterion) -> tuple[object, ...]:
    scale = criterion.scale
    return (
        scale.low,
        scale.high,
        tuple((level.value, level.label.casefold()) for level in scale.levels),
    )


def with_references(
    dataset: Dataset,
    folder: Path,
    outputs: Sequence[Output],
    template: TaskTemplate,
    say: Callable[[str], None],
) -> list[Output]:
    """Keep the outputs that the template can show. If it shows references, the source needs one.

    Raises UsageError if no output is left.
    """
    if template.reference == "hidden":
        return list(outputs)
    usable = [
        each
        for each in outputs
        if any(text.strip() for text in dataset.sources[each.source].references)
    ]
    if not usable:
        raise UsageError(
            f"template {template.name} shows references, and {folder} has none for these outputs."
            " Put them into `references` in its sources.jsonl, or choose a template that shows"
            " none"
        )
    if len(usable) < len(outputs):
        say(
            f"warning: {plural(len(outputs) - len(usable), 'output')} not handed out, because they"
            " have no reference"
        )
    return usable


def warn_of_repeated_sources(
    outputs: Iterable[Output], assignments: Iterable[Assignment], say: Callable[[str], None]
) -> None:
    """Warn if a person rates two pairs of one source, because the text that appears in both is the
    reference.

    outputs: those in the assignments, including test questions.
    """
    source_of = {output.output: output.source for output in outputs}
    repeats = 0
    for assignment in assignments:
        sources = {source_of[task.output] for task in assignment.tasks}
        repeats += assignment.template.paired and len(sources) < len(assignment.tasks)
    if repeats:
        say(
            f"warning: {plural(repeats, 'sheet')} with several outputs of one source; a person"
            " who recognizes a text from an earlier task knows which one is the reference. Hand out"
            " one generator at a time (`only`), or have more people"
        )
