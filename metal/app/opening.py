"""What pages of outputs read of a folder, kept until the folder changes."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from metal.api.answers import of_audit, of_dataset, of_raters
from metal.app.library import Library, NoSuchPage

if TYPE_CHECKING:
    from metal.api.answer_table import RunAnswers
    from metal.api.reading import ReadingOptions
    from metal.api.replies import OpenedReplies
    from metal.data.dataset import Dataset
    from metal.runs.judges_run import RatingsRun

OUTPUT = 5  # ratings that take as much memory as an output


def answers_of(library: Library, folder: Path) -> RunAnswers:
    """The answers in a dataset or run. Raises NoSuchPage for a run that has none."""
    return library.opened(
        folder, "answers", lambda: _read(library, folder), lambda answers: len(answers.ratings)
    )


def _read(library: Library, folder: Path) -> RunAnswers:
    from metal.runs.judges_run import COMMANDS

    kind = kind_in(library, folder)
    if kind == "audit":
        return of_audit(folder)
    if kind == "dataset":
        return of_dataset(dataset_in(library, folder))
    if kind in COMMANDS:
        return of_raters(*rated_run(library, folder))
    raise NoSuchPage(
        f"A run of `metal {kind}` has no list of answers; open a dataset, an audit or a run of"
        " judges"
    )


def kind_in(library: Library, folder: Path) -> str:
    """`dataset`, or the command of the run in a folder."""
    return library.folder(library.key(folder)).kind


def dataset_in(library: Library, folder: Path) -> Dataset:
    """The dataset in a folder."""
    from metal.data.dataset import load_dataset

    return library.opened(folder, "dataset", lambda: load_dataset(folder), rows_in)


def rows_in(dataset: Dataset) -> int:
    """How many ratings take as much memory as the dataset."""
    return len(dataset.ratings) + OUTPUT * len(dataset.outputs)


def replies_in(library: Library, folder: Path) -> OpenedReplies:
    """The replies in a run of judges, or in those of an audit. Raises UsageError if there are
    none.
    """
    from metal.api.replies import OpenedReplies, judges_runs

    return OpenedReplies.together(_judged(library, run) for run in judges_runs(folder))


def _judged(library: Library, run: Path) -> OpenedReplies:
    """The replies in a run of judges, opened once for it and for its audits."""
    from metal.api.replies import OpenedReplies

    return library.opened(
        library.listed(run) or run,
        "judged",
        lambda: OpenedReplies.of(run, partial(dataset_at, library)),
        lambda each: each.size,
    )


def dataset_at(library: Library, path: Path, reading: ReadingOptions | None = None) -> Dataset:
    """The dataset in a path; one in the app's folder is read only once.

    reading: how to read a table.
    """
    from metal.api.read import load

    listed = library.listed(path)
    if listed and kind_in(library, listed) == "dataset" and not (listed / "board").is_dir():
        return dataset_in(library, listed)
    return load(path, (), reading).dataset


def rated_run(library: Library, folder: Path) -> tuple[RatingsRun, Dataset | None]:
    """A run of judges or metrics, and the dataset that it rated; None if that is gone."""
    if kind_in(library, folder) == "judge":
        opened = replies_in(library, folder)
        return opened.runs[0].run, opened.dataset
    return library.opened(folder, "rated", lambda: _rated(library, folder))


def _rated(library: Library, folder: Path) -> tuple[RatingsRun, Dataset | None]:
    from metal.api.read import reading_of
    from metal.data.run_toml import named_by
    from metal.runs.judges_run import RatingsRun

    run = RatingsRun.open(folder)
    path = named_by(folder, run.manifest["datasets"][0]["path"])
    return run, dataset_at(library, path, reading_of(folder)) if path.exists() else None
