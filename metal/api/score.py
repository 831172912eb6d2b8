"""`metal.score`, `metal.metric_list`, `metric_check`: score with automatic metrics, list them, and
test them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Unpack

from metal.api.options import Names, Option, StrPath, documented
from metal.api.read import NOWHERE, as_dataset, load
from metal.api.reading import ReadingOptions
from metal.errors import MetalError, UsageError
from metal.raters.metrics import Item, extra_of, find_metric, is_built_in, known_metrics, scored

if TYPE_CHECKING:
    from metal.api.read import Data
    from metal.raters.metrics import Item, Metric
    from metal.raters.metrics.conformance import Trial
    from metal.running.scoring import Scoring


@documented
def score(
    data: Data,
    metric: Annotated[
        Names,
        Option(
            "Metrics, e.g. chrf,rouge-l or bleu(tokenize=zh), or your own: metric.py:score.",
            "-m",
            commas=True,
        ),
    ] = (),
    *,
    from_file: Annotated[
        StrPath | None,
        Option("Read scores computed elsewhere.", metavar="FILE", aliases=("--from",)),
    ] = None,
    name: Annotated[
        str, Option("Name of the rater; required with `from_file`. [default: the metric's]")
    ] = "",
    direction: Annotated[
        Literal["higher", "lower"] | None,
        Option(
            "With `from_file`: which scores are better. [default: higher]",
            choices=("higher", "lower"),
        ),
    ] = None,
    signature: Annotated[
        str, Option("With `from_file`: what produced the scores (model, version).", metavar="TEXT")
    ] = "",
    out: Annotated[StrPath | None, Option("Run folder. [default: runs/DATASET-scores]")] = None,
    into: Annotated[bool, Option("Write the scores into `data` itself.")] = False,
    force: Annotated[
        bool, Option("Replace the run folder or, with `into`, the earlier scores of these metrics.")
    ] = False,
    progress: Callable[[str, int, int], None] | None = None,
    **reading: Unpack[ReadingOptions],
) -> Scoring:
    """Score every output of `data` that has a text with automatic metrics; each metric is a rater.

    Metrics compare texts with the references, or the text, of their source. `metal.metric_list`
    lists the metrics and their needs. Scores are under the criterion `score`, higher is better:
    scores of metrics such as TER are negated. If a metric cannot score an output, the rating has a
    reason instead of a score.

    On a board, submitted generators are scored too, except with `into`, because their outputs are
    not part of the dataset.

    The run folder is written after each metric. The same call with more metrics, or with more
    outputs in the dataset, computes only what is missing.

    `from_file` reads CSV, TSV, JSONL, Parquet or XLSX with the columns output and score, or source,
    generator and score. To score elsewhere, for example in COMET's own environment, take ids and
    texts from DATASET/outputs.jsonl (output, source, text) and DATASET/sources.jsonl (source, text,
    references), one JSON object per line.

    Args:
        data: A dataset folder, or a dataset from `metal.read`.
        progress: Called with the metric, and the number of outputs done and of all outputs.

    Returns:
        The run: its folder, ratings, and the outcome for each metric.

    Raises:
        UnknownName: For a metric, language or criterion that does not exist.
        UsageError: For options that do not fit each other or the data.
        MissingExtra: For a metric whose package is not installed.

    Example:
        run = metal.score("datasets/news", ["chrf", "rouge-l"])
        metal.billboard("datasets/news", run)
    """
    from metal.raters.metrics.dataset_scores import with_metric_score
    from metal.running import scoring

    if bool(metric) == bool(from_file):
        raise UsageError(
            'give `metric`, e.g. `metric="chrf,rouge-l"`, or `from_file` with scores computed'
            " elsewhere"
        )
    _check_from_file(from_file, name, bool(direction or signature))
    if into and out:
        raise UsageError("give `out` for a run folder or `into` for the dataset itself")
    if into:  # a dataset is written without what was submitted to it
        data, reading = as_dataset(data, reading), {}
    inputs = load(data, (), reading)
    if into and inputs.folder == NOWHERE:
        raise UsageError("`into` writes into a dataset folder; these data have none")
    run = Path(out) if out else Path("runs") / f"{inputs.name}-scores"
    dataset = with_metric_score(inputs.dataset)
    target: scoring.Place = (
        scoring.DatasetFolder(inputs.path, dataset, force=force)
        if into
        else scoring.RunFolder(run, dataset, inputs.path, force=force)
    )
    if from_file:
        path = Path(from_file)
        scores = scoring.score_from_file(
            path, name, direction or "higher", signature, dataset, target, force=force
        )
    else:
        metrics = scoring.find_metrics(metric)
        scores = scoring.score(metrics, name, dataset, target, force=force, progress=progress)
    return _without_submitted(scores, inputs.folder) if into else scores


def _without_submitted(scores: Scoring, folder: Path) -> Scoring:
    """The scores of the dataset's own outputs, with a note that outputs submitted to its board are
    missing.
    """
    from metal.boards.history import standing
    from metal.boards.store import read_history, read_submission
    from metal.data.text import first_few, plural

    history = read_history(folder)
    joined = [entry for entry in standing(history, len(history)) if entry.what == "generator"]
    if not joined:
        return scores
    outputs = sum(len(read_submission(folder, entry).outputs) for entry in joined)
    remark = (
        f"{plural(outputs, 'output')} of submitted generators"
        f" ({first_few([entry.name for entry in joined])}) are the board's, not the dataset's, and"
        " were not scored; leave `into` out to score them too, and give the run to `metal"
        " billboard`"
    )
    return replace(scores, lacking="; ".join(filter(None, [scores.lacking, remark])))


def _check_from_file(from_file: StrPath | None, name: str, more: bool) -> None:
    """Raise UsageError if scores from a file have no name, or if options describe a metric that
    describes itself.
    """
    if from_file and not name.strip():
        raise UsageError(
            f'`from_file="{from_file}"` needs `name`: what computed the scores, e.g. `name="comet"`'
        )
    if more and not from_file:
        raise UsageError("`direction` and `signature` go with `from_file`; a metric says its own")


MOST_TEXTS = 200  # outputs of a dataset that a metric is tried on
FEW = 10  # scores that may be equal by chance


@dataclass(frozen=True)
class KnownMetric:
    """A metric that can be named.

    needs: what it needs: references, source. ready: whether it is installed. install: the command
    that installs it.
    """

    name: str
    summary: str
    needs: tuple[str, ...] = ()
    ready: bool = True
    install: str = ""


@dataclass(frozen=True)
class CheckedMetric:
    """What the trials of a metric found: each holds (True), does not hold (False), or decides
    nothing (None).
    """

    metric: Metric
    findings: tuple[Trial, ...]

    @property
    def failed(self) -> int:
        """How many trials do not hold."""
        return sum(finding.holds is False for finding in self.findings)


@documented
def metric_list() -> list[KnownMetric]:
    """List metrics: what they compute, what they need, and what to install.

    Returns:
        METAL's metrics, then those of other packages, which are not loaded for this.

    Example:
        [metric.name for metric in metal.metric_list()]
    """
    return [_known(name, summary) for name, summary in known_metrics().items()]


def _known(name: str, summary: str) -> KnownMetric:
    if not is_built_in(name):
        return KnownMetric(name, summary)
    try:
        return KnownMetric(name, summary, tuple(find_metric(name).needs))
    except MetalError:  # a library is missing
        extra = extra_of(name)
        return KnownMetric(
            name, summary, (), False, f"pip install 'metal-eval[{extra}]'" if extra else ""
        )


@documented
def metric_check(
    metric: str,
    *,
    dataset: Annotated[
        StrPath | None, Option("Also try it on this dataset's texts.", metavar="DATASET")
    ] = None,
) -> CheckedMetric:
    """Test the metric `metric` on sentences in 45 languages.

    The tests: identical texts get the best score, a second reference never lowers a score, scores
    stay in range, empty and odd texts do no harm, equal texts get equal scores, Unicode forms make
    no difference. A failed test does not prove a bad metric, but readers of its scores should know
    about it.

    Args:
        metric: A name, as in `metal.metric_list()`.

    Returns:
        The result of each trial.

    Raises:
        UnknownName, MissingExtra: For a metric that is unknown or not installed.

    Example:
        metal.metric_check("chrf")
    """
    import time

    from metal.raters.metrics.conformance import Trial, conformance

    loaded = find_metric(metric)
    texts = _texts(loaded, dataset) if dataset else []
    try:
        findings = list(conformance(loaded, clock=time.perf_counter))
        findings += [_finding_on_texts(loaded, texts)] if texts else []
    except MetalError:
        raise
    except Exception as error:  # whatever the metric does
        findings = [Trial("scores", False, f"it stops: {type(error).__name__}: {error}"[:300])]
    return CheckedMetric(loaded, tuple(findings))


def _texts(metric: Metric, data: Data) -> list[Item]:
    """Texts spread over the whole dataset. Raises UsageError if it has none for this metric."""
    from metal.raters.metrics.dataset_scores import outputs_to_score

    dataset = as_dataset(data)
    outputs = outputs_to_score(dataset, [metric])
    step = -(-len(outputs) // MOST_TEXTS)
    return [Item.of(output, dataset.sources[output.source]) for output in outputs[::step]]


def _finding_on_texts(metric: Metric, items: Sequence[Item]) -> Trial:
    from collections import Counter

    from metal.raters.metrics.conformance import NEAR, Trial
    from metal.raters.metrics.own import RAISED

    answers = scored(metric, items)
    scores, missing = [], Counter[str]()
    for answer in answers:
        if answer.score is None:
            missing[answer.reason] += 1
        else:
            scores.append(answer.score)
    low = float("-inf") if metric.low is None else metric.low
    high = float("inf") if metric.high is None else metric.high
    summary = f"{len(scores)} of {len(items)} outputs have a score"
    if scores:
        summary += f", from {min(scores):.4g} to {max(scores):.4g}"
    summary += "".join(f"; {count} without: {reason}" for reason, count in missing.most_common(3))
    within = all(low - NEAR <= score <= high + NEAR for score in scores)
    constant = len(set(scores)) == 1 and len(scores) >= FEW
    raised = any(reason.startswith(RAISED) for reason in missing)
    if not within:
        summary += f"; outside {low:g} to {high:g}"
    if constant:
        summary += "; all the same"
    passed = bool(scores) and within and not constant and not raised
    return Trial("the dataset's texts", passed, summary)
