"""What public functions take: datasets as folders or objects, run folders with further ratings, and lists of names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from metal.errors import UsageError

if TYPE_CHECKING:
    from metal.data.dataset import Dataset

Folder = str | Path


def no_progress(done: int, total: int) -> None:
    """Progress that nobody follows."""


def as_names(names: str | Iterable[str]) -> tuple[str, ...]:
    """The names as a tuple; a string holds one or several, apart by commas.

    >>> as_names("hi, ta"), as_names(["hi"])
    (('hi', 'ta'), ('hi',))
    """
    return tuple(name.strip() for name in names.split(",") if name.strip()) if isinstance(names, str) else tuple(names)


def as_folders(folders: Folder | Iterable[Folder]) -> tuple[Path, ...]:
    """One or several folders as paths."""
    return (Path(folders),) if isinstance(folders, str | Path) else tuple(map(Path, folders))


def noise_model(exclude_noisy: str | bool) -> str:
    """The model by which noisy people are left out: True means the default one; empty for none."""
    from metal.genie.noisy import DEFAULT_MODEL

    return (DEFAULT_MODEL if exclude_noisy else "") if isinstance(exclude_noisy, bool) else exclude_noisy


def load(
    dataset: Folder | Dataset,
    ratings: Folder | Iterable[Folder] = (),
    exclude_noisy: str | bool = "",
    *,
    board: bool = False,
) -> tuple[Dataset, tuple[str, ...]]:
    """The dataset with the ratings of run folders and without its noisy people, and a warning for each of these.

    board: with the submissions to it. Raises UsageError where noisy people of a dataset without a folder are to be left
    out, since the test questions are in the folder.
    """
    from metal.boards.store import open_board
    from metal.data.dataset import Dataset, load_dataset
    from metal.genie.excluding import without_noisy

    runs, model = as_folders(ratings), noise_model(exclude_noisy)
    if isinstance(dataset, Dataset):
        if model:
            raise UsageError("`exclude_noisy` needs the folder of a dataset, where its test questions are")
        return with_runs(dataset, runs), ()
    folder = Path(dataset)
    loaded = with_runs(open_board(folder).dataset if board else load_dataset(folder), runs)
    remaining, excluded = without_noisy(loaded, folder, runs, model)
    return remaining, tuple(excluded.lines if excluded else ())


def with_runs(dataset: Dataset, runs: Sequence[Path]) -> Dataset:
    """The dataset with the ratings of run folders added; of an analysis, the ratings of the runs it added."""
    from metal.data.dataset import read_toml, with_ratings

    for run in runs:
        about = read_toml(run / "run.toml") if (run / "run.toml").is_file() else {}
        added = [run]
        if about.get("command") in ("audit", "billboard", "leaderboard") and isinstance(about.get("datasets"), list):
            added = [Path(path) for path in about["datasets"][0].get("more", [])]
        for folder in added:
            dataset = with_ratings(dataset, folder)
    return dataset
