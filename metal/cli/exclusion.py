"""`--exclude-noisy`: a command's dataset without the people who fail its test questions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

if TYPE_CHECKING:
    from metal.dataset import Dataset
    from metal.genie.exclusion import Exclusion


class _Result(Protocol):
    """What a command found: tables by name, and warnings. A frozen dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def tables(self) -> Mapping[str, Any]: ...

    @property
    def warnings(self) -> tuple[str, ...]: ...


Found = TypeVar("Found", bound=_Result)


def telling(found: Found, excluded: Exclusion | None) -> Found:
    """What was found, with a warning and a table of who was left out."""
    if not excluded:
        return found
    tables = {**found.tables, "exclusions": excluded.table}
    return replace(found, warnings=(*excluded.lines, *found.warnings), tables=tables)


def said_without_noisy(dataset: Dataset, folder: Path, runs: Iterable[Path], model: str) -> Dataset:
    """The same for commands that keep no warnings: who was left out is said at once, beside what is printed."""
    import click

    from metal.cli import show

    left, excluded = without_noisy(dataset, folder, runs, model)
    for line in excluded.lines if excluded else ():
        click.echo(show.clean(f"warning: {line}"), err=True)
    return left


def without_noisy(dataset: Dataset, folder: Path, runs: Iterable[Path], model: str) -> tuple[Dataset, Exclusion | None]:
    """The dataset without its noisy people, and who they are; the dataset itself where nothing was asked for.

    model: of metal.genie.noisy, "" for none. folder, runs: where the test questions are. Raises UsageError where
    no person answered one.
    """
    if not model:
        return dataset, None
    from metal.cli.annotation_folder import read_compared
    from metal.cli.test_folder import read_tests
    from metal.errors import UsageError
    from metal.genie.exclusion import without
    from metal.genie.monitoring import monitor
    from metal.genie.noisy import find_model

    find_model(model)
    tests = read_tests(dataset, folder, runs)
    examined = set(tests.answers["rater"].astype(str))
    if not any(rater.kind == "human" and name in examined for name, rater in dataset.raters.items()):
        raise UsageError(
            f"--exclude-noisy: nobody answered a test question of {folder} (judges are not left out); hide some with "
            f"`metal annotate export {folder} --test-questions`"
        )
    found = monitor(
        tests.answers,
        tests.questions,
        dataset.criteria,
        dataset.raters,
        model=model,
        comparative=read_compared(folder),
    )
    return without(dataset, found.noisy, model)
