"""`metal metric`: which automatic metrics there are, and whether one is what it says it is."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metal.cli import options

if TYPE_CHECKING:
    from metal.raters.metrics import Metric
    from metal.raters.metrics.conformance import Finding

INDENT = 16
MOST_TEXTS = 200  # outputs of a dataset that a metric is tried on
FEW = 10  # scores that may be equal by chance
ONE_DOES_NOT_HOLD = 1


@click.group(short_help="List automatic metrics, or try one.")
def metric() -> None:
    """Which automatic metrics there are, and whether one is what it says it is.

    A metric of your own is a function in a Python file. It scores one text; its other parameters say what it needs:
    reference (called for each, the best counts) or references, source, language. It returns a number, or None or a
    sentence where there is no score. Name only files you trust: they are run.

    \b
      # my/metric.py
      from unicodedata import normalize
      def score(output, reference):
          \"""Share of the reference's words that the output has.\"""
          words = set(normalize("NFC", reference).split())
          return len(words & set(normalize("NFC", output).split())) / len(words)
      score.range = (0, 1)
      score.direction = "higher"    # or "lower"
      score.version = "1"

    \b
    Examples:
      metal metric check my/metric.py:score
      metal score datasets/mine --metric my/metric.py:score --name mine

    An installed package offers metrics as entry points of the group metal.metrics.
    """


@metric.command("list")
@options.as_json
def list_(as_json: bool) -> None:
    """Metrics: what they are, what they need, and what is to be installed."""
    import json
    import textwrap

    from metal.raters.metrics import known_metrics
    from metal.show.terminal import console as show

    found = [_described(name, summary) for name, summary in known_metrics().items()]
    if as_json:
        click.echo(json.dumps(found, indent=1, ensure_ascii=False))
        return
    for one in found:
        needs = f"Needs {' and '.join(one['needs'])}." if one["needs"] else ""
        state = "" if one["ready"] else f"To install: {one['install']}." if one["install"] else "Not installed."
        text = show.clean(" ".join(part for part in (f"{one['summary']}.", needs, state) if part))
        name = show.clean(one["name"])
        for line in textwrap.wrap(f"{name:<{INDENT}}{text}", show.console().width, subsequent_indent=" " * INDENT):
            click.echo(line)


def _described(name: str, summary: str) -> dict[str, Any]:
    """What is known of a metric. Those of other packages are not loaded for it."""
    from metal.errors import MetalError
    from metal.raters.metrics import extra_of, find_metric, is_built_in

    described: dict[str, Any] = {"name": name, "summary": summary, "needs": [], "ready": True, "install": ""}
    if not is_built_in(name):
        return described
    try:
        described["needs"] = list(find_metric(name).needs)
    except MetalError:  # a library is missing
        extra = extra_of(name)
        described |= {"ready": False, "install": f"pip install 'metal-eval[{extra}]'" if extra else ""}
    return described


@metric.command("check")
@click.argument("name")
@click.option(
    "--dataset", type=click.Path(path_type=Path), metavar="DATASET", help="Also try it on texts of this dataset."
)
@options.as_json
def check(name: str, dataset: Path | None, as_json: bool) -> None:
    """Try the metric NAME on sentences in 45 languages: is it what it says it is?

    Identical texts are best, a second reference takes nothing away, scores stay in range, empty and odd texts do no
    harm, the same texts get the same scores, Unicode forms make no difference. What does not hold is no proof of a
    bad metric, but something a reader of its scores should know. The exit code is 1 where a trial does not hold.

    \b
    Examples:
      metal metric check chrf
      metal metric check 'bleu(tokenize=13a)'
      metal metric check my/metric.py:score --dataset datasets/mine
    """
    import json

    from metal.raters.metrics import find_metric
    from metal.show.terminal import console as show

    found = find_metric(name)
    findings = _findings(found, dataset)
    failed = sum(finding.holds is False for finding in findings)
    if as_json:
        described = {"metric": show.clean(found.name), "signature": show.clean(found.signature)}
        click.echo(json.dumps(described | {"trials": [vars(one) for one in findings]}, indent=1, ensure_ascii=False))
    else:
        show.say(f"{found.name}: {found.summary}" if found.summary else found.name, bold=True)
        show.say(found.signature, dim=True, wrap=False)
        for finding in findings:
            verdict = {True: "ok", False: "not", None: "-"}[finding.holds]
            show.say(f"{verdict:<5}{finding.trial}: {finding.words}")
        show.say(f"{failed} of {len(findings)} trials do not hold." if failed else "Nothing speaks against it.")
    if failed:
        sys.exit(ONE_DOES_NOT_HOLD)


def _findings(metric: Metric, dataset: Path | None) -> Sequence[Finding]:
    import time

    from metal.errors import MetalError
    from metal.raters.metrics.conformance import Finding, conformance

    own = _texts(metric, dataset) if dataset else []
    try:
        found = conformance(metric, clock=time.perf_counter)
        return [*found, _on_own_texts(metric, own)] if own else found
    except MetalError:
        raise
    except Exception as error:  # whatever the metric does
        return [Finding("scores", False, f"it stops: {type(error).__name__}: {error}"[:300])]


def _texts(metric: Metric, folder: Path) -> list[Any]:
    """Texts of a dataset, from all over it. Raises UsageError when there are none for this metric."""
    from metal.data.dataset import load_dataset
    from metal.raters.metrics import Item
    from metal.raters.metrics.dataset_scores import outputs_to_score

    dataset = load_dataset(folder)
    outputs = outputs_to_score(dataset, [metric])
    step = -(-len(outputs) // MOST_TEXTS)
    return [Item.of(output, dataset.sources[output.source]) for output in outputs[::step]]


def _on_own_texts(metric: Metric, items: Sequence[Any]) -> Finding:
    from collections import Counter

    from metal.raters.metrics import scored
    from metal.raters.metrics.conformance import NEAR, Finding
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
    within = all(low - NEAR <= one <= high + NEAR for one in scores)
    constant = len(set(scores)) == 1 and len(scores) >= FEW
    raised = any(reason.startswith(RAISED) for reason in missing)
    odd = ("" if within else f"; outside {low:g} to {high:g}") + ("; all the same" if constant else "")
    return Finding("the dataset's texts", bool(scores) and within and not constant and not raised, words + odd)
