"""`metal.criterion_new`: add a criterion in one line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Literal

from metal.api.options import Option, StrPath, documented
from metal.errors import UsageError, check_known

if TYPE_CHECKING:
    from pathlib import Path

    from metal.data.records import Criterion

PROMPTS = "prompts"  # the folder in the working folder to which criteria are written


@documented
def criterion_new(
    name: str | Criterion,
    data: StrPath | None = None,
    *,
    template: Annotated[
        str,
        Option(
            "Copy it from an annotation template: metal, question-answering, ... or your own.",
            metavar="NAME",
        ),
    ] = "",
    scale: Annotated[
        str,
        Option(
            "1-10, 0-100, Bad<Medium<Good, 0=No,1=Yes, or labels without an order: a,b,c.",
            metavar="SCALE",
        ),
    ] = "",
    question: Annotated[str, Option("The question for people and judges.", metavar="TEXT")] = "",
    label: Annotated[
        str, Option("Its name for people. [default: NAME in words]", metavar="TEXT")
    ] = "",
    direction: Annotated[
        Literal["higher", "lower"], Option("Which scores are better.", choices=("higher", "lower"))
    ] = "higher",
) -> Criterion:
    """Add the criterion `name` to a dataset; without a dataset, write it to a file.

    Give `scale` and `question`, which are all that prompts and forms need, or a `template` that has
    the criterion with its descriptions. `metal prompt DATA --criterion NAME` shows what judges are
    told. For the prompt `detailed`, put longer descriptions of your own into
    prompts/criteria/NAME.toml.

    Without DATA, the criterion is written to prompts/criteria/NAME.toml in the working folder. If
    you pass the folder `prompts` to `prompt_folders`, `metal.judge` and `metal.annotate_export`
    know the criteria in it, even those that the dataset lacks, and `metal.read` takes scales,
    directions and questions from it.

    Args:
        name: The name used in commands and tables: letters, digits, `_` and `-`; or a complete
            Criterion.
        data: The dataset folder to which the criterion is added.
        scale: Two whole numbers at most ten apart mean levels; other numbers are the ends of a line
            of scores.

    Returns:
        The criterion.

    Raises:
        UsageError: For a name that is taken or a scale that cannot be read.
        UnknownName: For a template or criterion that does not exist.

    Example:
        metal.criterion_new("tone", "datasets/news", question="Is the tone fair?", scale="1-5")
    """
    from pathlib import Path

    from metal.data.dataset import dataset_to_change, update_dataset, with_parts
    from metal.data.files import check_outside
    from metal.data.records import Criterion

    if isinstance(name, Criterion):
        criterion = name
    elif template:
        if scale or question or label or direction != "higher":
            raise UsageError(
                f"criterion {name}: `template` defines it completely; give `template`, or `scale` "
                f"and `question`"
            )
        if data is None:
            raise UsageError(
                f"criterion {name}: `template` adds it, with its descriptions, to a dataset;"
                " name the dataset"
            )
        criterion = _of_template(name, template, Path(data))
    else:
        title = label or name.replace("_", " ").capitalize()
        criterion = in_a_line(name, scale, question.strip(), title, direction)
    check_name(criterion.name)
    if data is None:
        write_criterion(criterion, Path(PROMPTS))
        return criterion
    check_outside(Path(data))
    with dataset_to_change(Path(data)) as dataset:
        if criterion.name in dataset.criteria:
            shown = dataset.criteria[criterion.name].scale.describe()
            raise UsageError(
                f"{data} has a criterion {criterion.name} ({shown}) already; give this one another"
                " name"
            )
        update_dataset(with_parts(dataset, criteria=[*dataset.criteria.values(), criterion]), data)
    return criterion


def criterion_file(name: str) -> Path:
    """The file to which `criterion_new` writes a criterion without a dataset."""
    from pathlib import Path

    return Path(PROMPTS, "criteria", f"{name}.toml")


def check_name(name: str) -> None:
    """Raise UsageError unless a criterion can have this name."""
    from metal.raters.judges.rubric import bears_file

    if not bears_file(name):
        example = re.sub(r"\W+", "_", name.strip()).strip("_").lower() or "helpfulness"
        raise UsageError(
            f"criterion {name!r}: a name has letters, digits, `_` and `-` only, e.g. {example!r}"
        )


def write_criterion(criterion: Criterion, prompts: Path) -> Path:
    """Write a criterion to its file in a prompt folder; return the file. Raises UsageError if there
    is another one.
    """
    import tomli_w

    from metal.data.dataset_lines import criterion_record
    from metal.data.files import write_new

    file = prompts / "criteria" / f"{criterion.name}.toml"
    if file.exists():
        raise UsageError(f"{file} exists; change it there, or give the criterion another name")
    file.parent.mkdir(parents=True, exist_ok=True)
    write_new(file, tomli_w.dumps(criterion_record(criterion)))
    return file


def in_a_line(
    name: str, scale: str, question: str, label: str, direction: Literal["higher", "lower"]
) -> Criterion:
    """The criterion that these options describe. Raises UsageError if scale or question is
    missing.
    """
    from metal.data.records import Criterion, Scale

    if scale and question:
        return Criterion(name, Scale.of(scale), direction, label=label, question=question)
    lacking = "`question` is empty; ask something" if scale else "`scale` is not given"
    raise UsageError(f"criterion {name}: {lacking}, or name the `template` that has the criterion")


def _of_template(name: str, template: str, data: Path) -> Criterion:
    from metal.building.tasks import load_template
    from metal.running.prompting import prompt_folders

    criteria = load_template(template, prompt_folders((), data)).criteria
    check_known(f"criterion of {template}", [name], criteria)
    return criteria[name]
