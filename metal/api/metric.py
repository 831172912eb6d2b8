"""`metal.metric_list`, `metal.metric_check`: which automatic metrics there are, and whether one is what it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from metal.api.options import Option, StrPath, documented

if TYPE_CHECKING:
    from metal.api.inputs import Data
    from metal.raters.metrics import Item, Metric
    from metal.raters.metrics.conformance import Trial

MOST_TEXTS = 200  # outputs of a dataset that a metric is tried on
FEW = 10  # scores that may be equal by chance


@dataclass(frozen=True)
class KnownMetric:
    """A metric by name. needs: references, source. ready: whether it is installed; install: what would install it."""

    name: str
    summary: str
    needs: tuple[str, ...] = ()
    ready: bool = True
    install: str = ""


@dataclass(frozen=True)
class CheckedMetric:
    """What trials of a metric found: each holds, does not, or says nothing (None)."""

    metric: Metric
    findings: tuple[Trial, ...]

    @property
    def failed(self) -> int:
        """How many trials do not hold."""
        return sum(finding.holds is False for finding in self.findings)


def metric_list() -> list[KnownMetric]:
    """Metrics: what they are, what they need, and what is to be installed.

    Returns METAL's, then those of other packages, which are not loaded for it.
    """
    from metal.raters.metrics import known_metrics

    return [_known(name, summary) for name, summary in known_metrics().items()]


def _known(name: str, summary: str) -> KnownMetric:
    from metal.errors import MetalError
    from metal.raters.metrics import extra_of, find_metric, is_built_in

    if not is_built_in(name):
        return KnownMetric(name, summary)
    try:
        return KnownMetric(name, summary, tuple(find_metric(name).needs))
    except MetalError:  # a library is missing
        extra = extra_of(name)
        return KnownMetric(name, summary, (), False, f"pip install 'metal-eval[{extra}]'" if extra else "")


@documented
def metric_check(
    metric: str,
    *,
    dataset: Annotated[StrPath | None, Option("Also try it on texts of this dataset.", metavar="DATASET")] = None,
) -> CheckedMetric:
    """Try the metric METRIC on sentences in 45 languages: is it what it says it is?

    Identical texts are best, a second reference takes nothing away, scores stay in range, empty and odd texts do no
    harm, the same texts get the same scores, Unicode forms make no difference. What does not hold is no proof of a
    bad metric, but something a reader of its scores should know.

    Returns what each trial found. Raises UnknownName and MissingExtra for a metric that cannot be had.
    """
    import time

    from metal.errors import MetalError
    from metal.raters.metrics import find_metric
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
    """Texts of a dataset, from all over it. Raises UsageError when there are none for this metric."""
    from metal.api.inputs import as_dataset
    from metal.raters.metrics import Item
    from metal.raters.metrics.dataset_scores import outputs_to_score

    dataset = as_dataset(data)
    outputs = outputs_to_score(dataset, [metric])
    step = -(-len(outputs) // MOST_TEXTS)
    return [Item.of(output, dataset.sources[output.source]) for output in outputs[::step]]


def _finding_on_texts(metric: Metric, items: Sequence[Item]) -> Trial:
    from collections import Counter

    from metal.raters.metrics import scored
    from metal.raters.metrics.conformance import NEAR, Trial
    from metal.raters.metrics.own import RAISED

    answers = scored(metric, items)
    scores = [answer.score for answer in answers if answer.score is not None]
    missing = Counter(answer.reason for answer in answers if answer.score is None)
    low = float("-inf") if metric.low is None else metric.low
    high = float("inf") if metric.high is None else metric.high
    words = f"{len(scores)} of {len(items)} outputs have a score"
    if scores:
        words += f", from {min(scores):.4g} to {max(scores):.4g}"
    words += "".join(f"; {count} without: {reason}" for reason, count in missing.most_common(3))
    within = all(low - NEAR <= score <= high + NEAR for score in scores)
    constant = len(set(scores)) == 1 and len(scores) >= FEW
    raised = any(reason.startswith(RAISED) for reason in missing)
    odd = ("" if within else f"; outside {low:g} to {high:g}") + ("; all the same" if constant else "")
    return Trial("the dataset's texts", bool(scores) and within and not constant and not raised, words + odd)
