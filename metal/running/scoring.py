"""Where scores of metrics go: a run folder of their own, or the dataset itself. Written after each metric."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import pandas as pd
import tomli_w

from metal.data.dataset import Dataset, assemble, concat_facts, load_dataset, read_toml, update_dataset
from metal.data.dataset_lines import rater_record, read_raters
from metal.data.folders import check_new, check_outside, new_folder, one_writer, recover
from metal.data.json_files import whole_text, write_jsonl
from metal.data.ratings import FACTS, tidy_facts
from metal.data.ratings_files import find_ratings, read_facts, write_facts
from metal.data.records import METRIC_SCORE, Rater
from metal.errors import UsageError
from metal.raters.metrics.dataset_scores import Scores, changed, in_place_of, together, with_digest, with_metric_score
from metal.runs.manifest import manifest

COMMAND = "score"


class Place(Protocol):
    """A place that keeps scores."""

    folder: Path

    def earlier(self, name: str) -> Scores | None:
        """What the rater of this name has said before, as far as it is to be kept."""
        ...

    def add(self, scores: Scores) -> Scores:
        """Write what a metric says, in the place of what it said before; what stands there now."""
        ...


class RunFolder:
    """run.toml, raters.jsonl, ratings.parquet of metrics over a dataset. The caller holds the folder's lock."""

    def __init__(self, folder: Path, dataset: Dataset, dataset_folder: Path, *, force: bool) -> None:
        """Raises UsageError when something else is there, or scores of another dataset; force: it is replaced."""
        self.folder, self.dataset, self.dataset_folder = folder, dataset, dataset_folder
        self.scores: dict[str, Scores] = {}
        recover(folder)
        if (folder / "dataset.toml").is_file():
            raise UsageError(f"{folder} is a dataset; to add scores to a dataset, name it first and say --into")
        if force or not (folder / "run.toml").is_file():
            check_new(folder, force=force, marks=("run.toml",))
        else:
            self.scores = self._read()

    def _read(self) -> dict[str, Scores]:
        about = read_toml(self.folder / "run.toml")
        if about.get("command") != COMMAND:
            raise UsageError(f"{self.folder}: not a run of metrics; give another --out, or --force to replace it")
        first = str(about.get("settings", {}).get("dataset", ""))
        if first != _text(self.dataset_folder) and Path(first).resolve() != self.dataset_folder.resolve():
            raise UsageError(f"{self.folder} has scores of {first}; give another --out, or --force to replace it")
        facts = read_facts(find_ratings(self.folder))
        return {rater.rater: Scores(rater, _of(facts, rater.rater)) for rater in read_raters(self.folder)}

    def earlier(self, name: str) -> Scores | None:
        return self.scores.get(name)

    def add(self, scores: Scores) -> Scores:
        self.scores[scores.rater.rater] = scores
        raters = [one.rater for one in self.scores.values()]
        settings = {"dataset": _text(self.dataset_folder), "metrics": [rater.rater for rater in raters]}
        about = manifest(COMMAND, self.dataset, [Path(_text(self.dataset_folder))], settings, settings["metrics"])
        with new_folder(self.folder, force=True, marks=("run.toml",)) as partial:
            (partial / "run.toml").write_text(tomli_w.dumps(about.to_dict()), encoding="utf-8")
            write_jsonl(partial / "raters.jsonl", map(rater_record, raters))
            facts = tidy_facts(concat_facts([one.facts for one in self.scores.values()]))
            write_facts(facts, partial / "ratings.parquet")
        return scores


class DatasetFolder:
    """The dataset itself. It is held only while a metric's scores join, not while they are computed."""

    def __init__(self, folder: Path, dataset: Dataset, *, force: bool) -> None:
        check_outside(folder)
        self.folder, self.dataset, self.force = folder, dataset, force

    def earlier(self, name: str) -> Scores | None:
        rater = self.dataset.raters.get(name)
        return Scores(rater, _of(self.dataset.ratings, name)) if rater else None

    def add(self, scores: Scores) -> Scores:
        with one_writer(self.folder):
            now = with_metric_score(load_dataset(self.folder))
            name = scores.rater.rater
            _check_texts(scores, now, self.folder)
            theirs = now.raters.get(name)
            if theirs:
                scores = self._beside(Scores(theirs, _of(now.ratings, name)), scores, now)
            others = now.ratings.loc[~_rows(now.ratings, name), list(FACTS)]
            self.dataset = assemble(
                now.card,
                now.criteria.values(),
                now.sources.values(),
                now.outputs.values(),
                _raters(now.raters, scores.rater),
                tidy_facts(concat_facts([others, scores.facts])),
                where=find_ratings(self.folder),
                extra=now.extra,
            )
            update_dataset(self.dataset, self.folder)
        return scores

    def _beside(self, earlier: Scores, scores: Scores, now: Dataset) -> Scores:
        """The scores with the dataset's own of that metric, which may be newer than what was read at first."""
        if not changed(scores.rater, earlier, now):
            return together(earlier, scores, now)
        if not self.force:
            raise UsageError(
                f"{self.folder}: another command added {scores.rater.rater} meanwhile; its scores were kept. "
                "Run this again with --force to replace them"
            )
        return in_place_of(earlier, scores, now)


def _raters(known: Mapping[str, Rater], new: Rater) -> list[Rater]:
    return list((dict(known) | {new.rater: new}).values())


def _check_texts(scores: Scores, dataset: Dataset, folder: Path) -> None:
    """Raises UsageError when the texts are no longer those that were scored."""
    there = all(name in dataset.outputs for name in scores.outputs)
    if not there or with_digest(scores.rater, dataset, scores.outputs) != scores.rater:
        raise UsageError(f"{folder}: another command changed its texts meanwhile; nothing was written. Run this again")


def _rows(facts: pd.DataFrame, name: str) -> pd.Series:
    return (facts["rater"] == name) & (facts["criterion"] == METRIC_SCORE.name)


def _of(facts: pd.DataFrame, name: str) -> pd.DataFrame:
    mine = facts.loc[_rows(facts, name), list(FACTS)].reset_index(drop=True)
    return mine.assign(
        **{column: mine[column].cat.remove_unused_categories() for column in ("output", "criterion", "rater")}
    )


def _text(path: Path) -> str:
    return whole_text(str(path))
