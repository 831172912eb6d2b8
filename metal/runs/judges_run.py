"""A run of judges or metrics: its ratings, which can be added to a dataset, and warnings about the
run for an audit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pandas as pd

from metal.data.dataset import Dataset, read_run
from metal.data.missing import no_such
from metal.data.ratings_files import find_ratings
from metal.data.records import SWAPPED, SYNTHETIC, Output, Rater
from metal.data.run_toml import RUN_TOML, read_run_toml
from metal.data.seen import texts_rated
from metal.data.text import first_few
from metal.errors import DataError, UsageError

COMMANDS = ("judge", "score", "jury")


@dataclass(frozen=True)
class RatingsRun:
    """The folder of a run of `metal.judge`, `metal.score` or `metal.jury`: run.toml, raters.jsonl,
    ratings.parquet.
    """

    folder: Path

    @classmethod
    def open(cls, folder: Path) -> RatingsRun:
        """Open the run in a folder. Raises UsageError if the folder is no such run."""
        if not folder.exists():
            raise no_such(folder, "run folder", " (make one with `metal.judge` or `metal.score`)")
        run = cls(folder)
        if run.manifest["command"] not in COMMANDS:
            raise UsageError(
                f"{folder}: not a run of judges or metrics (make one with `metal.judge` or"
                " `metal.score`)"
            )
        return run

    @cached_property
    def manifest(self) -> Mapping[str, Any]:
        """The content of run.toml: all settings needed to repeat the run."""
        return read_run_toml(self.folder)

    @cached_property
    def raters(self) -> Mapping[str, Rater]:
        """The judges or metrics by name, with what was sent to them and how they identified
        themselves.
        """
        return {rater.rater: rater for rater in self._parts[0]}

    @cached_property
    def ratings(self) -> pd.DataFrame:
        """One row per rating: output, criterion, rater, score, reason if there is no score, and
        comment.
        """
        return self._parts[1]

    @cached_property
    def _parts(self) -> tuple[list[Rater], pd.DataFrame, Path]:
        return read_run(self.folder)

    def __repr__(self) -> str:
        written = (self.folder / "raters.jsonl").is_file()
        ratings = (
            f"{len(self.ratings):,} ratings by {', '.join(self.raters)}"
            if written
            else "no ratings yet"
        )
        return f"<{type(self).__name__.lower()} in {self.folder}: {ratings}>"

    def _repr_html_(self) -> str:
        counts = self.ratings.groupby(["rater", "criterion"], observed=True)["score"].agg(
            ["size", "count", "mean"]
        )
        table = counts.rename(columns={"size": "asked", "count": "answered"}).reset_index()
        html: str = table.to_html(index=False, na_rep="–", float_format="{:.2f}".format)
        return html


def check_scored(folder: Path) -> None:
    """Raise UsageError if a run of judges has ratings but no score; the message names the causes
    and where to look.

    Raises DataError if the run has lost ratings since it was written.
    """
    run = RatingsRun(folder)
    state = run.manifest["settings"].get("state")  # of judges, not of metrics
    written = state.get("ratings") if isinstance(state, dict) else None
    if isinstance(written, int) and len(run.ratings) < written:
        problem = f"{len(run.ratings):,} ratings, but run.toml says {written:,}"
        raise DataError(
            folder / "ratings.parquet",
            problem,
            f"`metal.judge(resume={str(folder)!r})` writes it again",
        )
    if (
        run.manifest["command"] not in COMMANDS
        or not len(run.ratings)
        or run.ratings["score"].notna().any()
    ):
        return
    causes = run.ratings["reason"].astype(str).value_counts()
    listed = first_few([f"{reason} {count:,}" for reason, count in causes.items() if reason])
    raise UsageError(
        f"{folder}: nothing to audit, because none of its {len(run.ratings):,} ratings has a"
        f" score{f' ({listed})' if listed else ''}; `metal.replies({str(folder)!r})` shows what"
        " was answered"
    )


def texts_digest(dataset: Dataset) -> str:
    """A hash of the texts of outputs and sources that judges have seen; a pair counts once for both
    orders.
    """
    digest = blake2b(digest_size=8)
    once: dict[str, Output] = {}
    for output in dataset.outputs.values():
        once.setdefault(output.of if output.condition == SWAPPED else output.output, output)
    for name, output in once.items():
        digest.update(f"{name}\0{output.text}\0{dataset.sources[output.source].text}\0".encode())
    return digest.hexdigest()


def doubts(run: Path, dataset: Dataset) -> Iterator[str]:
    """Warnings about a run of LLM judges for an audit: that it is incomplete, or that texts have
    changed since.
    """
    settings = read_run_toml(run)["settings"]
    models = settings.get("models", {})
    if not isinstance(models, dict) or not all(
        isinstance(model, dict) for model in models.values()
    ):
        raise DataError(
            run / RUN_TOML,
            f"settings.models is {models!r}",
            "Restore the file, or make the run again",
        )
    synthetic = [name for name, model in models.items() if model.get("family") == SYNTHETIC]
    if synthetic:
        yield f"{first_few(synthetic)}: synthetic judges, whose answers METAL makes up ({run})"
    state = settings.get("state", {})
    if "identities" in settings and not state.get("complete"):
        missing = (
            f"{state['not_asked']:,} calls were not made"
            if "not_asked" in state
            else "it was not finished"
        )
        yield f'{run} is not complete: {missing}; to continue: `metal.judge(resume="{run}")`'
    compared = texts_rated(find_ratings(run))  # output by output, when they joined the dataset
    if not compared and settings.get("texts", "") not in ("", texts_digest(dataset)):
        yield f"{run}: texts of the dataset have changed since its judges saw them"
