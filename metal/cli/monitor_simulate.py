"""`metal monitor simulate`: how well each model finds noisy annotators whose truth is known (GENIE, Table 1)."""

from __future__ import annotations

import json
from math import isnan
from typing import TYPE_CHECKING, Any

import click

import metal.api.monitor_simulate as api
from metal.cli.verb import AS_JSON, verb

if TYPE_CHECKING:
    import pandas as pd

NOTES = (
    "The question counts behind the paper's table (WMT21) were not published; here they are geometric, so that "
    "differences of a few points mean little.",
    "Several printed cells do not follow from the paper's text whatever the counts. Class-fixed-2 with its noisy "
    "component Beta(0.5, 4.5) gives a posterior of 0.98998 to someone with 0 right of 4, below 0.99: its recall at "
    "1-4 is 0, not 24%, and its recall of 91% at 5-14 is out of reach for any noisy component: the best one gets "
    "about 44%. Uninformative priors lose less precision at 1-4 than printed.",
)


@verb(
    api.monitor_simulate,
    AS_JSON,
    short_help="How well each model finds noisy annotators: GENIE's Table 1.",
    examples="""
        metal monitor simulate
        metal monitor simulate --questions 100 --model class-learned-2,rate-learned-2
    """,
)
def simulate(as_json: bool, **options: Any) -> None:
    from metal.runs.parts import records
    from metal.show.terminal import console as show

    with show.progress("simulating") as advance:
        table = api.monitor_simulate(**options, progress=advance)
    if as_json:
        click.echo(json.dumps({"notes": list(NOTES), "simulation": records(table)}, indent=1, ensure_ascii=False))
        return
    _print(
        table,
        "{seeds} x {rounds} rounds of {workers} workers, {questions:g} questions each on average".format(**options),
    )


def _print(table: pd.DataFrame, what: str) -> None:
    from metal.genie.simulate import BUCKETS
    from metal.show.terminal import console as show

    shares, doubts = [], []
    for name, rows in table.groupby("model", sort=False):
        shares.append([str(name)])
        doubts.append([str(name)])
        for row in rows.to_dict("records"):
            printed = f"{_percent(row['paper_precision'])}/{_percent(row['paper_recall']):>3}"
            shares[-1] += [f"{_percent(row['precision'])}/{_percent(row['recall']):>3}", printed]
            errors = f"{_points(row['precision_se'])}/{_points(row['recall_se']):>4}"
            doubts[-1] += [errors, f"{row['flagged']:,}"]
    between = [column for bucket in BUCKETS for column in (bucket, "paper")]
    show.table("Precision / recall in %, by test questions answered", ["model", *between], shares)
    between = [column for bucket in BUCKETS for column in (bucket, "flagged")]
    show.table("Standard errors of both in points, and workers flagged", ["model", *between], doubts)
    buckets = table.drop_duplicates("bucket").to_dict("records")
    noisy = ", ".join(f"{row['noisy']:,} of {row['workers']:,} at {row['bucket']}" for row in buckets)
    show.say(f"{what}. Noisy workers: {noisy}. - is undefined: nobody flagged, or nobody noisy, or a single round.")
    for note in NOTES:
        show.say(note, dim=True)


def _percent(share: float) -> str:
    return "-" if isnan(share) else f"{100 * share:.0f}"


def _points(error: float) -> str:
    return "-" if isnan(error) else f"{100 * error:.1f}"
