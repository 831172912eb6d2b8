"""`metal score`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

import metal.api.score as api
from metal.cli.verb import AS_JSON, DATASET, verb

SHOWN = 3  # reasons listed for a metric


@verb(
    api.score,
    DATASET,
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
    from metal.running.scoring import Interrupted
    from metal.show.terminal import console

    try:
        with console.named_progress("scoring") as advance:
            run = api.score(data, **options, progress=advance)
    except Interrupted as stopped:
        click.echo(console.clean(stopped), err=True)
        raise
    records = [metric.record() for metric in run.metrics]
    if as_json:
        printed: dict[str, Any] = {"dataset": run.dataset.card.name, "folder": console.clean(run.folder)}
        printed |= {"warnings": [run.lacking] if run.lacking else [], "metrics": records}
        click.echo(json.dumps(printed, indent=1, ensure_ascii=False))
        return
    rows = [
        [
            record["metric"],
            f"{record['scored']:,}",
            f"{sum(record['without'].values()):,}",
            "-" if record["mean"] is None else f"{record['mean']:.4g}",
            "-" if record["seconds"] is None else f"{record['seconds']:.1f}",
        ]
        for record in records
    ]
    console.table(f"Scores of {run.dataset.card.name}", ["metric", "scored", "without", "mean", "seconds"], rows)
    for record in records:
        if record["negated"]:
            console.say(f"{record['metric']}: lower is better; its scores are kept negated")
        for reason, count in list(record["without"].items())[:SHOWN]:
            console.say(f"{record['metric']}: {count:,} without score: {reason}")
    if run.lacking:
        console.say(f"warning: {run.lacking}")
    if all(metric.seconds is None for metric in run.metrics):
        console.say("Nothing to compute: all of it was there.")
    console.say(f"In {run.folder}", wrap=False)
