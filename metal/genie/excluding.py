"""What test questions mean for other analyses: noisy people left out, and warnings about judges and leaks.

Test questions are read with metal.genie.store.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

if TYPE_CHECKING:
    from metal.data.dataset import Dataset
    from metal.genie.exclusion import Exclusion
    from metal.genie.monitoring import Monitoring
    from metal.genie.store import GoldQuestions


class _Result(Protocol):
    """An analysis with tables by name, and warnings. A frozen dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def tables(self) -> Mapping[str, Any]: ...

    @property
    def warnings(self) -> tuple[str, ...]: ...


Result = TypeVar("Result", bound=_Result)


def with_exclusions(result: Result, excluded: Exclusion | None, warnings: Iterable[str] = ()) -> Result:
    """The result with a warning and a table about the people left out, and further warnings before its own."""
    lines = excluded.lines if excluded else []
    tables = {**result.tables, "exclusions": excluded.table} if excluded else result.tables
    return replace(result, warnings=(*lines, *warnings, *result.warnings), tables=tables)


def without_noisy(dataset: Dataset, folder: Path, runs: Iterable[Path], model: str) -> tuple[Dataset, Exclusion | None]:
    """The dataset without its noisy people, and who they are; the dataset itself where `model` is empty.

    model: of metal.genie.noisy. folder, runs: where the test questions are. Raises UsageError where no person answered
    a test question.
    """
    if not model:
        return dataset, None
    from metal.errors import UsageError
    from metal.genie.exclusion import without
    from metal.genie.noisy import model_and_beta
    from metal.genie.store import read_tests

    name, beta = model_and_beta(model)
    gold = read_tests(dataset, folder, runs)
    examined = set(gold.answers["rater"].astype(str))
    if not any(rater.kind == "human" and name in examined for name, rater in dataset.raters.items()):
        raise UsageError(
            f"`exclude_noisy`: nobody answered a test question of {folder} (judges are not left out); hide some with "
            f"`metal.annotate_export({str(folder)!r}, test_questions=True)`"
        )
    return without(dataset, _monitor(dataset, folder, gold, name, beta).noisy, model)


def _monitor(dataset: Dataset, folder: Path, gold: GoldQuestions, model: str, noisy_beta: float) -> Monitoring:
    from metal.building.store import read_compared
    from metal.genie.monitoring import monitor

    return monitor(
        gold.answers,
        gold.questions,
        dataset.criteria,
        dataset.raters,
        model=model,
        noisy_beta=noisy_beta,
        comparative=read_compared(folder),
    )


def warnings_of_tests(dataset: Dataset, folder: Path, runs: Iterable[Path]) -> list[str]:
    """Warnings about outputs that are really test questions, and about judges that fail theirs."""
    from metal.genie.gold_questions import leak_warning
    from metal.genie.store import read_tests

    gold = read_tests(dataset, folder, runs)
    leaks = leak_warning(dataset, gold.questions)
    warnings = [leaks] if leaks else []
    if len(gold.answers):
        from metal.genie.noisy import DEFAULT_MODEL, NOISY_BETA

        noisy = _monitor(dataset, folder, gold, DEFAULT_MODEL, NOISY_BETA).noisy
        warnings += [
            f"{name} fails its test questions ({'; '.join(why)}); `metal.monitor({str(folder)!r})` shows all"
            for name, why in noisy.items()
            if dataset.raters[name].kind != "human"
        ]
    return warnings
