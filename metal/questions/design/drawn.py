"""What `metal sample` and `metal design --for anchors` draw from a dataset for people to rate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from metal.api.options import Names, names
from metal.errors import check_known

if TYPE_CHECKING:
    import pandas as pd

    from metal.api.read import Ratings
    from metal.data.dataset import Dataset


@dataclass(frozen=True, repr=False)
class DrawnSources:
    """Sources drawn from a dataset, one by one or as the sources of drawn contents.

    table: a row for each group (of a language, or of scores) from which sources were drawn. unit:
    what was counted: sources or contents. folder: the dataset's folder. needed: a row for each
    language and criterion with the number of contents that it needs; None for sources, whose number
    the caller gives.
    """

    dataset: Dataset
    folder: Path
    unit: str
    table: pd.DataFrame
    warnings: tuple[str, ...] = ()
    needed: pd.DataFrame | None = None

    @property
    def file(self) -> Path:
        """The file that records the draw."""
        from metal.building.store import DRAWN, FOLDER

        return self.folder / FOLDER / DRAWN

    def plain(self) -> object:
        """The tables as plain values for JSON."""
        drawn = {"needed": self.needed, "drawn": self.table}
        return self.table if self.needed is None else drawn

    def __repr__(self) -> str:
        return f"<{int(self.table['drawn'].sum()):,} {self.unit} drawn: {self.file}>"


@contextmanager
def to_draw_from(
    folder: Path, ratings: Sequence[Ratings], judge: str, languages: Names
) -> Iterator[tuple[Dataset, tuple[str, ...]]]:
    """The dataset with the runs' ratings, and the languages to draw in, while nobody else writes to
    the dataset.

    Raises UnknownName for an unknown judge or language.
    """
    from metal.api.read import folder_of, with_runs
    from metal.data.dataset import dataset_to_change
    from metal.data.languages import check_languages

    with dataset_to_change(folder) as before:
        dataset = with_runs(before, [folder_of(run) for run in ratings])
        judges = sorted(name for name, rater in dataset.raters.items() if rater.kind != "human")
        check_known("judge", filter(None, [judge]), judges)
        check_languages(names(languages), dataset.languages)
        yield dataset, tuple(names(languages) or dataset.languages)
