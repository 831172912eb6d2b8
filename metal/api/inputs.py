"""What public functions take for data: folders, files, DataFrames, datasets, runs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import pandas as pd

    from metal.data.dataset import Dataset
    from metal.data.records import Manifest
    from metal.runs.judges_run import RatingsRun

    Data: TypeAlias = str | Path | Dataset | pd.DataFrame
    Ratings: TypeAlias = str | Path | RatingsRun

NOWHERE = Path(os.devnull) / "none"  # in the place of a folder, for data that are in memory only


@dataclass(frozen=True)
class Inputs:
    """A dataset with the ratings of runs added.

    folder: the dataset's, NOWHERE for one in memory. runs: the folders whose ratings were added.
    """

    dataset: Dataset
    folder: Path
    runs: tuple[Path, ...] = ()

    def without_noisy(self, model: str) -> tuple[Dataset, tuple[str, ...]]:
        """The dataset without people who fail the test questions by the model, and a warning for each of them."""
        from metal.genie.excluding import without_noisy

        dataset, excluded = without_noisy(self.dataset, self.folder, self.runs, model)
        return dataset, tuple(excluded.lines if excluded else ())

    def manifest(
        self, command: str, dataset: Dataset, settings: Mapping[str, Any], raters: Sequence[str], signature: str
    ) -> Manifest:
        """run.toml of a run over these data. dataset: what is left of them."""
        from metal.runs.parts import manifest

        shown = self.folder if self.folder != NOWHERE else Path(self.dataset.card.name)
        return manifest(command, dataset, [shown, *self.runs], settings, raters, signature)


def load(data: Data, ratings: Sequence[Ratings] = ()) -> Inputs:
    """The data as a dataset with the ratings of the runs added.

    Raises what `metal.read` raises, and DataError when two raters of one name are not the same.
    """
    dataset = as_dataset(data)
    folder = dataset.folder or NOWHERE
    runs = tuple(folder_of(run) for run in ratings)
    return Inputs(with_runs(dataset, runs), folder, runs)


def load_board(data: Data, ratings: Sequence[Ratings] = ()) -> Inputs:
    """The same for a board: the data with what was submitted to them, where they are a dataset folder."""
    from dataclasses import replace

    from metal.boards.store import open_board

    inputs = load(data)
    runs = tuple(folder_of(run) for run in ratings)
    dataset = inputs.dataset if inputs.folder == NOWHERE else open_board(inputs.folder).dataset
    return replace(inputs, dataset=with_runs(dataset, runs), runs=runs)


def as_dataset(data: Data) -> Dataset:
    """The data as a dataset: itself, a dataset folder, or what `metal.read` makes of a file or DataFrame."""
    from metal.api.read import read
    from metal.data.dataset import Dataset

    return data if isinstance(data, Dataset) else read(data)


def folder_of(run: Ratings) -> Path:
    """The folder of a run whose ratings are to be added."""
    return Path(run) if isinstance(run, str | os.PathLike) else run.folder


def with_runs(dataset: Dataset, runs: Sequence[Path]) -> Dataset:
    """The dataset with the ratings of run folders added; of an audit's or a board's, those that it added."""
    from metal.data.dataset import with_ratings
    from metal.data.files import read_toml

    for run in runs:
        about = read_toml(run / "run.toml") if (run / "run.toml").is_file() else {}
        added = [run]
        if about.get("command") in ("audit", "billboard", "leaderboard") and isinstance(about.get("datasets"), list):
            added = [Path(path) for path in about["datasets"][0].get("more", [])]
        for folder in added:
            dataset = with_ratings(dataset, folder)
    return dataset
