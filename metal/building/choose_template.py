"""How the tasks of a dataset are put to people: a template, and the criteria they are asked. For export and push."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from metal.errors import UnknownName, UsageError

if TYPE_CHECKING:
    from metal.building.tasks import Sheet
    from metal.building.template import Template
    from metal.data.dataset import Dataset
    from metal.data.records import Criterion, Output
    from metal.raters.judges.rubric import Rubric


@dataclass(frozen=True)
class Put:
    """A template and the rubrics of what is asked. dataset: as it was, or with the criteria that were `added`."""

    dataset: Dataset
    template: Template
    rubrics: Mapping[str, Rubric]
    added: tuple[str, ...] = ()

    def keep_added(self, folder: Path) -> None:
        """Write the dataset's folder anew with the criteria that were added, if any were."""
        from metal.data.dataset import update_dataset
        from metal.show.terminal import console as show

        if self.added:
            inside = Path.cwd().is_relative_to(folder.resolve())
            update_dataset(self.dataset, folder)
            show.say(f"Added to {folder / 'dataset.toml'}: {', '.join(self.added)}", wrap=False)
            if inside:
                show.say("You are in the dataset's folder, which was written anew: `cd .` takes you there.")


def put_to_people(
    loaded: Dataset, folder: Path, name: str | None, criteria: Sequence[str], prompts: Iterable[Path], *, add: bool
) -> Put:
    """What --template, --criteria and --add-criteria ask for.

    name: of the template; None is METAL's look, with all of the dataset's criteria that do not compare pairs.
    Raises UnknownName for a template or criterion nobody knows, UsageError for a criterion of the template's that the
    dataset lacks (unless `add`) or has on another scale, and for one that is not of pairs where pairs are shown.
    """
    from metal.building.template import METAL, load_template
    from metal.raters.judges.rubric import rubrics_for
    from metal.running.judging import prompt_folders

    folders = prompt_folders(map(str, prompts), folder)
    template = load_template(name, folders) if name else METAL
    known = {**template.criteria, **loaded.criteria}
    for one in criteria:
        if one not in known:
            raise UnknownName("criterion", one, known)
    asked = [one for one in known if one in criteria] or _asked(loaded, folder, template)
    _check_pairs(folder, template, asked)
    missing = {one: template.criteria[one] for one in asked if one not in loaded.criteria}
    if missing and not add:
        raise UsageError(
            f"{folder} lacks {'criteria' if len(missing) > 1 else 'the criterion'} of template {template.name}: "
            f"{', '.join(missing)}. Pass --add-criteria to add what is missing to its dataset.toml"
            + ("" if template.paired else ", or say with -c what to ask instead")
        )
    for one in asked:
        if one in template.rubrics and one not in missing:
            _check_same(loaded.criteria[one], template)
    dataset = replace(loaded, criteria={**loaded.criteria, **missing})
    own = rubrics_for((dataset.criteria[one] for one in asked if one not in template.rubrics), folders)
    rubrics = {one: template.rubrics[one] if one in template.rubrics else own[one] for one in asked}
    return Put(dataset, template, rubrics, tuple(missing))


def _asked(loaded: Dataset, folder: Path, template: Template) -> list[str]:
    """The template's criteria; without any of its own the dataset's, but for those that compare pairs."""
    from metal.building.store import read_compared
    from metal.show.terminal import console as show

    if template.criteria:
        return list(template.criteria)
    compared = read_compared(folder)
    left_out = [one for one in loaded.criteria if one in compared]
    if left_out:
        names = ", ".join(dict.fromkeys(compared[one] for one in left_out))
        show.say(f"note: not asked, for pairs only (--template {names}): {', '.join(left_out)}")
    return [one for one in loaded.criteria if one not in compared]


def _check_pairs(folder: Path, template: Template, asked: Sequence[str]) -> None:
    """Questions about pairs are asked of pairs, others are not."""
    from metal.building.store import read_compared

    if not asked:
        raise UsageError(f"{folder}: every criterion compares pairs; say with --template how to show them")
    if template.paired:
        for one in asked:
            if one not in template.criteria:
                raise UnknownName(f"template {template.name}: criterion", one, template.criteria)
    compared = read_compared(folder)
    for one in asked:
        if one in compared and one not in template.compared:
            raise UsageError(f"criterion {one} compares pairs; hand it out with --template {compared[one]}")


def _check_same(ours: Criterion, template: Template) -> None:
    theirs = template.criteria[ours.name]
    if (_scale(ours), ours.direction) != (_scale(theirs), theirs.direction):
        raise UsageError(
            f"criterion {ours.name} of the dataset ({ours.scale.describe()}) is not the one of template "
            f"{template.name} ({theirs.scale.describe()}). Rename one of them: the template can be copied to "
            "DIR/annotate/NAME.toml and given with --prompts DIR"
        )


def _scale(criterion: Criterion) -> tuple[object, ...]:
    scale = criterion.scale
    return scale.low, scale.high, tuple((level.value, level.label.casefold()) for level in scale.levels)


def with_references(dataset: Dataset, folder: Path, outputs: Sequence[Output], template: Template) -> list[Output]:
    """The outputs that the template can show: where it shows references, those whose source has one; others are
    counted in a warning. Raises UsageError when there are none."""
    from metal.show.terminal import console as show
    from metal.show.terminal.annotation_text import counted

    if template.reference == "hidden":
        return list(outputs)
    kept = [one for one in outputs if any(text.strip() for text in dataset.sources[one.source].references)]
    if not kept:
        raise UsageError(
            f"template {template.name} shows references, and {folder} has none for these outputs. Put them into "
            "`references` in its sources.jsonl, or choose a template that shows none"
        )
    if len(kept) < len(outputs):
        show.say(f"warning: {counted(len(outputs) - len(kept), 'output')} not handed out: without a reference")
    return kept


def warn_of_returning(outputs: Iterable[Output], sheets: Sequence[Sheet]) -> None:
    """Of pairs, say when somebody sees a source twice: the text that returns is the reference.

    outputs: those of the sheets, test questions included.
    """
    from metal.show.terminal import console as show
    from metal.show.terminal.annotation_text import counted

    source_of = {output.output: output.source for output in outputs}

    def returning(sheet: Sheet) -> bool:
        sources = [source_of[task.output] for task in sheet.tasks]
        return len(set(sources)) < len(sources)

    people = sum(sheet.template.paired and returning(sheet) for sheet in sheets)
    if people:
        show.say(
            f"warning: {counted(people, 'sheet')} with several outputs of one source; whoever remembers a text that "
            "returns knows the reference. Hand out one generator at a time (--only), or have more people"
        )
