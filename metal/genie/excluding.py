"""What test questions say to other commands: `--exclude-noisy`, and warnings about judges and leaks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

if TYPE_CHECKING:
    from metal.data.dataset import Dataset
    from metal.genie.exclusion import Exclusion
    from metal.genie.monitoring import Monitoring
    from metal.genie.store import Tests


class _Result(Protocol):
    """What a command found: tables by name, and warnings. A frozen dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def tables(self) -> Mapping[str, Any]: ...

    @property
    def warnings(self) -> tuple[str, ...]: ...


Found = TypeVar("Found", bound=_Result)


def telling(found: Found, excluded: Exclusion | None, first: Iterable[str] = ()) -> Found:
    """What was found, with a warning and a table of who was left out, and with further warnings before its own."""
    lines = excluded.lines if excluded else []
    tables = {**found.tables, "exclusions": excluded.table} if excluded else found.tables
    return replace(found, warnings=(*lines, *first, *found.warnings), tables=tables)


def said_without_noisy(dataset: Dataset, folder: Path, runs: Iterable[Path], model: str) -> Dataset:
    """The same for commands that keep no warnings: who was left out is said at once, beside what is printed."""
    import click

    from metal.show.terminal import console as show

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
    from metal.errors import UsageError
    from metal.genie.exclusion import without
    from metal.genie.noisy import model_and_beta
    from metal.genie.store import read_tests

    name, beta = model_and_beta(model)
    tests = read_tests(dataset, folder, runs)
    examined = set(tests.answers["rater"].astype(str))
    if not any(rater.kind == "human" and name in examined for name, rater in dataset.raters.items()):
        raise UsageError(
            f"--exclude-noisy: nobody answered a test question of {folder} (judges are not left out); hide some with "
            f"`metal annotate export {folder} --test-questions`"
        )
    return without(dataset, _monitored(dataset, folder, tests, name, beta).noisy, model)


def _monitored(dataset: Dataset, folder: Path, tests: Tests, model: str, noisy_beta: float) -> Monitoring:
    from metal.building.store import read_compared
    from metal.genie.monitoring import monitor

    return monitor(
        tests.answers,
        tests.questions,
        dataset.criteria,
        dataset.raters,
        model=model,
        noisy_beta=noisy_beta,
        comparative=read_compared(folder),
    )


def warnings_of_tests(dataset: Dataset, folder: Path, runs: Iterable[Path]) -> list[str]:
    """Outputs that are test questions in truth, and judges that fail theirs; none without test questions."""
    from metal.genie.noisy import DEFAULT_MODEL, NOISY_BETA
    from metal.genie.store import read_tests
    from metal.genie.test_questions import leak_line

    tests = read_tests(dataset, folder, runs)
    lines = [line] if (line := leak_line(dataset, tests.questions)) else []
    if len(tests.answers):
        noisy = _monitored(dataset, folder, tests, DEFAULT_MODEL, NOISY_BETA).noisy
        lines += [
            f"{name} fails its test questions ({'; '.join(why)}); `metal monitor {folder}` shows all"
            for name, why in noisy.items()
            if dataset.raters[name].kind != "human"
        ]
    return lines
