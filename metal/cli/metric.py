"""`metal metric`: which automatic metrics there are, and whether one is what it says it is."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

import metal.api.metric as api
from metal.cli.verb import AS_JSON, verb

INDENT = 16
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


@verb(api.metric_list, AS_JSON)
def list_(as_json: bool) -> None:
    import textwrap

    from metal.show.terminal import console

    metrics = [vars(metric) for metric in api.metric_list()]
    if as_json:
        click.echo(json.dumps([{**metric, "needs": list(metric["needs"])} for metric in metrics], indent=1))
        return
    for metric in metrics:
        needs = f"Needs {' and '.join(metric['needs'])}." if metric["needs"] else ""
        lacking = f"To install: {metric['install']}." if metric["install"] else "Not installed."
        state = "" if metric["ready"] else lacking
        text = console.clean(" ".join(part for part in (f"{metric['summary']}.", needs, state) if part))
        line = f"{console.clean(metric['name']):<{INDENT}}{text}"
        for part in textwrap.wrap(line, console.console().width, subsequent_indent=" " * INDENT):
            click.echo(part)


@verb(
    api.metric_check,
    click.Argument(["metric"]),
    AS_JSON,
    more="The exit code is 1 where a trial does not hold.",
    examples="""
        metal metric check chrf
        metal metric check 'bleu(tokenize=13a)'
        metal metric check my/metric.py:score --dataset datasets/mine
    """,
)
def check(metric: str, as_json: bool, **options: Any) -> None:
    from metal.show.terminal import console

    checked = api.metric_check(metric, **options)
    if as_json:
        described = {"metric": console.clean(checked.metric.name), "signature": console.clean(checked.metric.signature)}
        trials = [vars(finding) for finding in checked.findings]
        click.echo(json.dumps(described | {"trials": trials}, indent=1, ensure_ascii=False))
    else:
        summary = checked.metric.summary
        console.say(f"{checked.metric.name}: {summary}" if summary else checked.metric.name, bold=True)
        console.say(checked.metric.signature, dim=True, wrap=False)
        for finding in checked.findings:
            verdict = {True: "ok", False: "not", None: "-"}[finding.holds]
            console.say(f"{verdict:<5}{finding.trial}: {finding.words}")
        failed = f"{checked.failed} of {len(checked.findings)} trials do not hold."
        console.say(failed if checked.failed else "Nothing speaks against it.")
    if checked.failed:
        sys.exit(ONE_DOES_NOT_HOLD)


for command in (list_, check):
    metric.add_command(command)
