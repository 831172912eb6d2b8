"""`metal monitor simulate`: how well each model finds noisy annotators whose truth is known (GENIE, Table 1)."""

from __future__ import annotations

import json
from math import isnan
from typing import TYPE_CHECKING, Any

import click

from metal.cli import options

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


@click.command("simulate", short_help="How well each model finds noisy annotators: GENIE's Table 1.")
@options.names("--model", "-m", what="Models; default all eight of Table 1.")
@click.option("--seeds", default=40, show_default=True, type=click.IntRange(min=1), help="Simulations of ROUNDS each.")
@click.option("--rounds", default=25, show_default=True, type=click.IntRange(min=1), help="Rounds of annotation each.")
@click.option("--workers", default=60, show_default=True, type=click.IntRange(min=1), help="Workers in a round.")
@click.option(
    "--questions",
    default=10.0,
    show_default=True,
    type=click.FloatRange(min=1, max=100_000),
    help="Test questions a worker answers on average; at least 1, geometric.",
)
@click.option(
    "--noisy-beta",
    default=4.5,
    show_default=True,
    type=click.FloatRange(min=0, min_open=True),
    help="beta of the fixed models' noisy component, Beta(0.5, beta): 4.5 as printed; 9.5 can flag at 4 questions.",
)
@options.seed
@options.as_json
def simulate(as_json: bool, **given: Any) -> None:
    """Simulate workers who answer test questions, some of them noisy, and see whom each model flags.

    Precision is the share of noisy workers among those flagged, recall the share of the noisy that were flagged, both
    in %, by how many test questions a worker answered; the paper's printed values stand beside. Workers are drawn as
    appendix B.2 of the paper says. Use it to choose a model, or to see what fewer questions would cost.

    \b
    Examples:
      metal monitor simulate
      metal monitor simulate --questions 100 --model class-learned-2,rate-learned-2
    """
    from metal.api.monitor_simulate import monitor_simulate
    from metal.runs.parts import records
    from metal.show.terminal import console as show

    with show.progress("simulating") as advance:
        table = monitor_simulate(**given, progress=advance)
    if as_json:
        click.echo(json.dumps({"notes": list(NOTES), "simulation": records(table)}, indent=1, ensure_ascii=False))
        return
    _print(
        table, "{seeds} x {rounds} rounds of {workers} workers, {questions:g} questions each on average".format(**given)
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
