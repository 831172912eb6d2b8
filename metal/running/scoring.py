"""Where metrics' scores are written: to a run folder of their own, or into the dataset; after each
metric.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import tomli_w

from metal.data.dataset import (
    Dataset,
    concat_facts,
    dataset_to_change,
    read_run,
    update_dataset,
    with_parts,
)
from metal.data.dataset_lines import rater_record
from metal.data.files import check_outside, one_writer, recover, whole_text, write_jsonl
from metal.data.ratings import FACTS, facts_in, tidy_facts
from metal.data.ratings_files import find_ratings, write_facts
from metal.data.records import METRIC_SCORE, Direction, Rater
from metal.data.replacing import (
    check_kept_files,
    check_new,
    kept_name,
    new_folder,
    refusal,
    remedy,
    rewritten,
    tell_of_kept,
)
from metal.data.run_summary import RunSummary, write_summary
from metal.data.run_toml import read_run_toml
from metal.errors import UsageError
from metal.raters.metrics import Metric, find_metric, split_names
from metal.raters.metrics import dataset_scores as metric_scores
from metal.raters.metrics.dataset_scores import Scores
from metal.runs.judges_run import RatingsRun
from metal.runs.parts import manifest

COMMAND = "score"
_ADDED = (
    "another command added {} in the meantime; its scores were kept. Run this again with"
    " `force=True` to replace them"
)


class RunFolder:
    """A run folder of metrics over a dataset: run.toml, raters.jsonl, ratings.parquet.

    It is locked only while a metric's scores are added.
    """

    def __init__(
        self, folder: Path, dataset: Dataset, dataset_folder: Path, *, force: bool
    ) -> None:
        """Use the folder. Raises UsageError if it has something else, or scores of another dataset.

        force: replace what the folder has.
        """
        self.folder, self.dataset, self.dataset_folder, self.anew = (
            folder,
            dataset,
            dataset_folder,
            force,
        )
        self.scores: dict[str, Scores] = {}
        recover(folder)
        if (folder / "dataset.toml").is_file():
            raise UsageError(
                f"{folder} is a dataset; to add scores to a dataset, name it first and pass"
                " `into=True`"
            )
        if force or not (folder / "run.toml").is_file():
            check_new(folder, COMMAND, force=force)
        else:
            self.scores = self._read()

    def _read(self) -> dict[str, Scores]:
        content = read_run_toml(self.folder)
        if content["command"] != COMMAND:
            raise UsageError(f"{self.folder}: not a run of metrics; give another `out`")
        first = str(content["settings"].get("dataset", ""))
        if (
            first != _text(self.dataset_folder)
            and Path(first).resolve() != self.dataset_folder.resolve()
        ):
            raise UsageError(
                f"{self.folder} has scores from {first}; {remedy(self.folder, COMMAND)}"
            )
        raters, facts, _ = read_run(self.folder)
        return {rater.rater: Scores(rater, _of(facts, rater.rater)) for rater in raters}

    def earlier(self, name: str) -> Scores | None:
        """The earlier scores of the rater of this name, as far as they are to be kept."""
        return self.scores.get(name)

    def add(self, scores: Scores) -> Scores:
        """Write a metric's scores in place of its earlier ones; keep what other commands have added
        in the meantime.
        """
        with one_writer(self.folder):
            name = scores.rater.rater
            before = self.scores.get(name)
            if not self.anew and (self.folder / "run.toml").is_file():
                self.scores = self._read()
            now = self.scores.get(name)
            if now and now.rater not in (scores.rater, before and before.rater):
                raise UsageError(f"{self.folder}: {_ADDED.format(name)}")
            self.scores[name] = scores
            raters = [each.rater for each in self.scores.values()]
            settings = {
                "dataset": _text(self.dataset_folder),
                "metrics": [rater.rater for rater in raters],
            }
            content = manifest(
                COMMAND,
                self.dataset,
                [Path(_text(self.dataset_folder))],
                settings,
                settings["metrics"],
            )
            anew, self.anew = self.anew, False
            opened = (
                new_folder(self.folder, COMMAND, force=True) if anew else rewritten(self.folder)
            )
            with opened as partial:
                (partial / "run.toml").write_text(
                    tomli_w.dumps(content.to_dict()), encoding="utf-8"
                )
                write_jsonl(partial / "raters.jsonl", map(rater_record, raters))
                facts = tidy_facts(concat_facts([each.facts for each in self.scores.values()]))
                write_facts(facts, partial / "ratings.parquet")
                summary = RunSummary.of(
                    content.to_dict(),
                    raters,
                    languages=self.dataset.languages,
                    ratings=len(facts),
                )
                write_summary(partial, summary)
        return scores


class DatasetFolder:
    """The dataset itself. It is locked only while a metric's scores are added, not while they are
    computed.
    """

    def __init__(self, folder: Path, dataset: Dataset, *, force: bool) -> None:
        check_outside(folder)
        self.folder, self.dataset, self.force = folder, dataset, force
        if force:
            check_kept_files(self._changing())

    def _changing(self) -> list[Path]:
        """The files that contain a metric's scores."""
        return [find_ratings(self.folder), self.folder / "raters.jsonl"]

    def earlier(self, name: str) -> Scores | None:
        """The earlier scores of the rater of this name."""
        rater = self.dataset.raters.get(name)
        return Scores(rater, _of(self.dataset.ratings, name)) if rater else None

    def add(self, scores: Scores) -> Scores:
        """Add a metric's scores to those that the dataset has by now; return all of them."""
        with dataset_to_change(self.folder) as now:
            now = metric_scores.with_metric_score(now)
            name = scores.rater.rater
            complete = all(output in now.outputs for output in scores.outputs)
            if (
                not complete
                or metric_scores.with_digest(scores.rater, now, scores.outputs) != scores.rater
            ):
                raise UsageError(
                    f"{self.folder}: another command changed its texts in the meantime; nothing"
                    " was written. Run this again"
                )
            theirs, before = now.raters.get(name), _of(now.ratings, name)
            if theirs:
                scores = self._beside(Scores(theirs, before), scores, now)
            others = now.ratings.loc[~_rows(now.ratings, name), facts_in(now.ratings)]
            facts = tidy_facts(concat_facts([others, scores.facts]))
            raters = {**now.raters, name: scores.rater}.values()
            self.dataset = with_parts(
                now, raters=raters, facts=facts, ratings_file=find_ratings(self.folder)
            )
            replaced = self._changing() if _loses(before, scores.facts) else []
            copies = {kept_name(path).name: path.read_bytes() for path in replaced}
            update_dataset(self.dataset, self.folder, copies)
            if replaced:
                tell_of_kept(*replaced)
        return scores

    def _beside(self, earlier: Scores, scores: Scores, now: Dataset) -> Scores:
        """The scores joined with those that the dataset has of that metric by now, because other
        commands may have added some after the first reading.
        """
        if not metric_scores.changed(scores.rater, earlier, now):
            return metric_scores.together(earlier, scores, now)
        if not self.force:
            raise UsageError(f"{self.folder}: {_ADDED.format(scores.rater.rater)}")
        return metric_scores.in_place_of(earlier, scores, now)


Place = RunFolder | DatasetFolder


def _rows(facts: pd.DataFrame, name: str) -> pd.Series:
    return (facts["rater"] == name) & (facts["criterion"] == METRIC_SCORE.name)


def _of(facts: pd.DataFrame, name: str) -> pd.DataFrame:
    rows = facts.loc[_rows(facts, name), list(FACTS)].reset_index(drop=True)
    return rows.assign(
        **{
            column: rows[column].cat.remove_unused_categories()
            for column in ("output", "criterion", "rater")
        }
    )


def _loses(before: pd.DataFrame, after: pd.DataFrame) -> bool:
    """Whether any output's score is different or missing afterwards."""
    earlier, later = (
        dict(zip(table["output"].astype(str), table["score"], strict=True))
        for table in (before, after)
    )
    scored = {output: score for output, score in earlier.items() if score == score}
    return any(later.get(output) != score for output, score in scored.items())


def _text(path: Path) -> str:
    return whole_text(str(path))


# ---------------------------------------------------------------- scoring


@dataclass(frozen=True)
class MetricScores:
    """The result of one metric.

    seconds: the time it took; None if nothing had to be computed.
    """

    scores: Scores
    seconds: float | None

    def record(self) -> dict[str, Any]:
        """The result in plain values: how many outputs have a score, why others have none, the
        mean, the seconds.
        """
        rater, facts = self.scores.rater, self.scores.facts
        scores = facts["score"].dropna()
        reasons = Counter(facts.loc[facts["score"].isna(), "reason"].astype(str))
        return {
            "metric": rater.rater,
            "signature": rater.about.get("signature", ""),
            "direction": rater.about.get("direction", "higher"),
            "negated": bool(rater.about.get("negated")),
            "scored": len(scores),
            "without": dict(reasons.most_common()),
            "mean": float(scores.mean()) if len(scores) else None,
            "seconds": self.seconds,
        }


@dataclass(frozen=True, repr=False)
class Scoring(RatingsRun):
    """A run of metrics: its folder, ratings and raters.

    lacking: says which outputs were not scored, or were scored without all of their references.
    """

    dataset: Dataset
    metrics: tuple[MetricScores, ...]
    lacking: str = ""

    @property
    def table(self) -> pd.DataFrame:
        """One row per metric: how many outputs have a score, the mean, the seconds."""
        return pd.DataFrame([metric.record() for metric in self.metrics])


class Interrupted(KeyboardInterrupt):
    """Ctrl-C was pressed between metrics; the text says what has been written."""


def find_metrics(names: str | Sequence[str]) -> list[Metric]:
    """The metrics named in a text, separated by commas; a path may itself contain commas."""
    texts = [names] if isinstance(names, str) else names
    asked = [name for text in texts for name in ([text] if _is_path(text) else split_names(text))]
    if not asked:
        raise UsageError("`metric` names nothing; `metal.metric_list` lists the metrics")
    return list({metric.name: metric for metric in map(find_metric, asked)}.values())


def _is_path(text: str) -> bool:
    """Whether the whole text is a `path/to/metric.py:function`."""
    path, _, function = text.rpartition(":")
    return function.isidentifier() and path.endswith(".py") and Path(path).is_file()


def score(
    metrics: Sequence[Metric],
    name: str,
    dataset: Dataset,
    place: Place,
    *,
    force: bool,
    progress: Callable[[str, int, int], None] | None,
) -> Scoring:
    """Compute the missing scores, and write them after each metric.

    name: the name of the rater, if there is only one metric.
    """
    if name and len(metrics) > 1:
        raise UsageError(f'`name="{name}"` is for one metric; {len(metrics)} were given')
    outputs = metric_scores.outputs_to_score(dataset, metrics)
    raters = [metric_scores.metric_rater(metric, name) for metric in metrics]
    before = [_kept(rater, dataset, place, force) for rater in raters]
    results: list[MetricScores] = []
    try:
        for number, (metric, earlier) in enumerate(zip(metrics, before, strict=True), 1):
            missing = metric_scores.not_in(earlier, outputs)
            if earlier and not missing:
                results.append(MetricScores(earlier, None))
                continue
            began = time.perf_counter()
            title = f"metric {number} of {len(metrics)}"
            advance = partial(progress, title) if progress else None
            scores = metric_scores.score_outputs(
                metric, dataset, missing, name=name, progress=advance
            )
            seconds = time.perf_counter() - began
            if earlier:
                scores = metric_scores.together(earlier, scores, dataset)
            results.append(MetricScores(place.add(scores), seconds))
    except KeyboardInterrupt:
        done = f"{len(results)} of {len(metrics)} metrics are in {place.folder}"
        raise Interrupted(f"{done}; the same command continues with the rest") from None
    chosen = [output for output in dataset.outputs.values() if output.chosen]
    empty = sum(not output.text.strip() for output in chosen)
    lacking = (
        [f"{empty:,} of {len(chosen):,} outputs have no text and are not scored"] if empty else []
    )
    lacking += metric_scores.about_references(metrics, dataset, outputs)
    return Scoring(place.folder, dataset, tuple(results), "; ".join(lacking))


def score_from_file(
    path: Path,
    name: str,
    direction: Direction,
    signature: str,
    dataset: Dataset,
    place: Place,
    *,
    force: bool,
) -> Scoring:
    """Take scores that were computed elsewhere from a file."""
    began = time.perf_counter()
    outputs = [output for output in dataset.outputs.values() if output.chosen]
    scores, lacking = metric_scores.file_scores(
        path, name, direction, signature, dataset, outputs, "computed elsewhere"
    )
    earlier = _kept(scores.rater, dataset, place, force)
    result = (
        MetricScores(earlier, None)
        if earlier
        else MetricScores(place.add(scores), time.perf_counter() - began)
    )
    missing = f"{len(lacking):,} of {len(outputs):,} outputs are not in {path}: " if lacking else ""
    missing += metric_scores.first_names(lacking)
    return Scoring(place.folder, dataset, (result,), missing)


def _kept(rater: Rater, dataset: Dataset, place: Place, force: bool) -> Scores | None:
    """The earlier scores of this rater, which are kept. Raises UsageError if it is a different
    rater, or if texts have changed.
    """
    into = isinstance(place, DatasetFolder)
    if not into and rater.rater in dataset.raters:
        raise UsageError(
            f"dataset {dataset.card.name} has a rater {rater.rater!r} already; score with"
            " `into=True`, or give another `name`"
        )
    earlier = place.earlier(rater.rater)
    if earlier is None:
        return None
    if earlier.rater.kind != rater.kind:
        raise UsageError(
            f"{place.folder}: rater {rater.rater!r} is of kind {earlier.rater.kind}; give another"
            " `name`"
        )
    if force:
        return None
    if why := metric_scores.changed(rater, earlier, dataset):
        more = "`force=True` replaces its scores, " if into else ""
        if not into and not refusal(place.folder, COMMAND):
            more = f"`force=True` replaces {place.folder}, "
        raise UsageError(f"{place.folder}: {rater.rater} {why}; {more}`name` keeps both")
    return earlier
