"""`metal monitor`; `metal monitor simulate`: how well each model finds noisy annotators whose truth is known."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, Any

import metal
from metal.cli.analyses import analysis
from metal.cli.printing import print_json
from metal.cli.verb import AS_JSON, WithDefault, verb
from metal.show.terminal import console

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
    metal.monitor_simulate,
    AS_JSON,
    short_help="How well each model finds noisy annotators: GENIE's Table 1.",
    examples="""
        metal monitor simulate
        metal monitor simulate --questions 100 --model class-learned-2,rate-learned-2
    """,
)
def simulate(as_json: bool, **options: Any) -> None:
    with console.progress("simulating") as advance:
        table = metal.monitor_simulate(**options, progress=advance)
    if as_json:
        print_json({"notes": NOTES, "simulation": table})
        return
    _print(
        table,
        "{seeds} x {rounds} rounds of {workers} workers, {questions:g} questions each on average".format(**options),
    )


def _print(table: pd.DataFrame, what: str) -> None:
    from metal.genie.noisy import BUCKETS

    shares, doubts = [], []
    for name, rows in table.groupby("model", sort=False):
        shares.append([str(name)])
        doubts.append([str(name)])
        for row in rows.to_dict("records"):
            printed = f"{_percent(row['paper_precision'])}/{_percent(row['paper_recall']):>3}"
            shares[-1] += [f"{_percent(row['precision'])}/{_percent(row['recall']):>3}", printed]
            errors = f"{_percent(row['precision_se'], 1)}/{_percent(row['recall_se'], 1):>4}"
            doubts[-1] += [errors, f"{row['flagged']:,}"]
    between = [column for bucket in BUCKETS for column in (bucket, "paper")]
    console.table("Precision / recall in %, by test questions answered", ["model", *between], shares)
    between = [column for bucket in BUCKETS for column in (bucket, "flagged")]
    console.table("Standard errors of both in points, and workers flagged", ["model", *between], doubts)
    buckets = table.drop_duplicates("bucket").to_dict("records")
    noisy = ", ".join(f"{row['noisy']:,} of {row['workers']:,} at {row['bucket']}" for row in buckets)
    console.say(f"{what}. Noisy workers: {noisy}. - is undefined: nobody flagged, or nobody noisy, or a single round.")
    for note in NOTES:
        console.say(note, dim=True)


def _percent(share: float, digits: int = 0) -> str:
    return "-" if isnan(share) else f"{100 * share:.{digits}f}"


monitor = WithDefault(
    default=analysis(
        metal.monitor,
        "-people",
        "comparing people",
        examples="""
            metal monitor datasets/mine
            metal monitor datasets/mine runs/mine-judges --model class-learned-2
            metal monitor datasets/cnndm --reference group=crowd --json | jq .behaviour
            metal monitor simulate
        """,
    )
)
monitor.add_command(simulate)
