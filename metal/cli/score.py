"""`metal score`: score with automatic metrics; `metal metric`: list metrics, and test whether one
does what it claims.
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import Any

import click

import metal
from metal.cli.printing import print_json, show_parts
from metal.cli.verb import AS_JSON, Other, WithDefault, verb
from metal.show.terminal import console

SHOWN = 3  # reasons listed for a metric
INDENT = 16
ONE_DOES_NOT_HOLD = 1


@verb(
    metal.score,
    AS_JSON,
    examples=r"""
        metal score datasets/mine --metric chrf,rouge-l,bleu
        metal score datasets/mine --metric 'bleu(tokenize=intl)' --into
        metal score datasets/mine --metric my/metric.py:score --name mine
        metal score datasets/mine --from-file comet.csv --name comet \
          --signature 'Unbabel/wmt22-comet-da|unbabel-comet:2.2.7'
    """,
)
def score(data: Path, as_json: bool, **options: Any) -> None:
    from metal.questions.design.planned import scores
    from metal.running.scoring import Interrupted

    try:
        with console.named_progress("scoring", "outputs") as advance:
            run = metal.score(data, **options, progress=advance)
    except Interrupted as stopped:
        click.echo(console.clean(stopped), err=True)
        raise
    records = [metric.record() for metric in run.metrics]
    if as_json:
        printed: dict[str, Any] = {
            "dataset": run.dataset.card.name,
            "folder": console.clean(run.folder),
        }
        printed |= {"warnings": [run.lacking] if run.lacking else [], "metrics": records}
        print_json(printed)
        return
    show_parts(scores(run.dataset, records))
    for record in records:
        if record["negated"]:
            console.say(f"{record['metric']}: lower is better; its scores are kept negated")
        for reason, count in list(record["without"].items())[:SHOWN]:
            console.say(f"{record['metric']}: {count:,} without score: {reason}")
    if run.lacking:
        console.say(f"warning: {run.lacking}")
    if all(metric.seconds is None for metric in run.metrics):
        console.say("Nothing to compute: all scores exist already.")
    console.say(f"In {run.folder}", wrap=False)


OWN_METRIC = """
Without METRIC: list the metrics. The exit code is 1 if a test fails.

Your own metric is a function in a Python file. It scores one text. Its other parameters declare
what it needs: reference (called once per reference; the best score counts) or references,
source, language. It returns a number or, if there is no score, None or a sentence that says
why. METAL runs the file, so name only files you trust. Installed packages can add metrics through
the entry-point group metal.metrics.

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
"""


@verb(metal.metric_list, AS_JSON)
def list_(as_json: bool) -> None:
    metrics = list(map(vars, metal.metric_list()))
    if as_json:
        print_json(metrics)
        return
    for metric in metrics:
        needs = f"Needs {' and '.join(metric['needs'])}." if metric["needs"] else ""
        lacking = f"To install: {metric['install']}." if metric["install"] else "Not installed."
        state = "" if metric["ready"] else lacking
        text = console.clean(" ".join(filter(None, (f"{metric['summary']}.", needs, state))))
        line = f"{console.clean(metric['name']):<{INDENT}}{text}"
        for part in textwrap.wrap(line, console.console().width, subsequent_indent=" " * INDENT):
            click.echo(part)


@verb(
    metal.metric_check,
    AS_JSON,
    more=OWN_METRIC,
    examples="""
        metal metric
        metal metric chrf
        metal metric 'bleu(tokenize=13a)'
        metal metric my/metric.py:score --dataset datasets/mine
    """,
)
def check(metric: str, as_json: bool, **options: Any) -> None:
    checked = metal.metric_check(metric, **options)
    if as_json:
        described = {
            "metric": console.clean(checked.metric.name),
            "signature": console.clean(checked.metric.signature),
        }
        trials = list(map(vars, checked.findings))
        print_json(described | {"trials": trials})
    else:
        summary = checked.metric.summary
        console.say(
            f"{checked.metric.name}: {summary}" if summary else checked.metric.name, bold=True
        )
        console.say(checked.metric.signature, dim=True, wrap=False)
        for finding in checked.findings:
            verdict = {True: "ok", False: "not", None: "-"}[finding.holds]
            console.say(f"{verdict:<5}{finding.trial}: {finding.words}")
        failed = f"{checked.failed} of {len(checked.findings)} trials do not hold."
        console.say(failed if checked.failed else "It passed every trial.")
    if checked.failed:
        sys.exit(ONE_DOES_NOT_HOLD)


metric = WithDefault(
    default=check,
    others=(Other(list_, meant=lambda args: {*args} <= {"--json"}),),
    short_help="List automatic metrics, or try one.",
    name="metric",
)
metric.add_command(check)
