"""`metal demo`, and kinds with verbs of their own below them: `metal design`, `metal monitor`."""

from __future__ import annotations

from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import metal
from metal.cli.analysis import analysis
from metal.cli.printing import print_json, say_drawn
from metal.cli.verb import AS_JSON, FORCE, Other, WithDefault, verb
from metal.cli.verb import out as out_option
from metal.runs.kinds import kind_of
from metal.show.terminal import console

if TYPE_CHECKING:
    import pandas as pd


# What `metal monitor --simulate` prints below its tables.
NOTES = (
    (
        "The question counts behind the paper's table (WMT21) were not published; here they are"
        " geometric, so that differences of a few points mean little."
    ),
    (
        "Whatever the counts, several printed cells do not follow from the paper's text."
        " Class-fixed-2 with its noisy component Beta(0.5, 4.5) gives a posterior of 0.98998 to"
        " someone with 0 right of 4, below 0.99: its recall at 1-4 is 0, not 24%, and its recall"
        " of 91% at 5-14 is out of reach for any noisy component: the best one gets about 44%."
        " Uninformative priors lose less precision at 1-4 than printed."
    ),
)


@verb(metal.demo, out_option("metal-demo"), FORCE)
def demo(out: Path | None, force: bool) -> None:
    from metal.questions.audit.brief import brief
    from metal.runs.parts import made_from
    from metal.show.pages import headline, page
    from metal.show.view import Paragraph

    out = out or Path("metal-demo")
    with console.progress("auditing", "cells") as advance:
        audits = metal.demo(progress=advance)
    for dataset, run in audits.items():
        folder = out / dataset
        again = (folder / "run.toml").is_file() and made_from(folder, Path(run.data["path"]))
        with console.progress("drawing") as advance:
            run.write(folder, page, force=force, again=again, progress=advance)
        console.show(Paragraph(headline(run), strong=True))
        console.show(replace(next(brief(run)), title=run.data["title"]))
        console.say(f"Report: {folder / 'report.html'}", wrap=False)
    console.say("Next, your own: metal audit RATINGS.csv")


@verb(
    metal.design_anchors,
    AS_JSON,
    examples="""
        metal design --for anchors datasets/news -l en,hi --half-width 0.05
        metal design --for anchors datasets/news runs/news-judges --contents 40
    """,
)
def anchors(data: Path, ratings: tuple[Path, ...], as_json: bool, **options: Any) -> None:
    with console.progress("planning"):
        drawn = metal.design_anchors(data, *ratings, **options)
    say_drawn(drawn, as_json)


verdicts = analysis(kind_of("design"))
design = WithDefault(
    default=verdicts,
    others=(
        Other(verdicts, "--for verdict"),
        Other(analysis(kind_of("design labels")), "--for scores"),
        Other(anchors, "--for anchors"),
    ),
)


@verb(
    metal.monitor_simulate,
    AS_JSON,
    short_help="How well each model finds noisy annotators: GENIE's Table 1.",
    examples="""
        metal monitor --simulate
        metal monitor --simulate --questions 100 --model class-learned-2,rate-learned-2
    """,
)
def simulate(as_json: bool, **options: Any) -> None:
    with console.progress("simulating", "simulations") as advance:
        table = metal.monitor_simulate(**options, progress=advance)
    if as_json:
        print_json({"notes": NOTES, "simulation": table})
        return
    _print(
        table,
        "{seeds} x {rounds} rounds of {workers} workers, {questions:g} questions each on"
        " average".format(**options),
    )


def _print(table: pd.DataFrame, what: str) -> None:
    from metal.genie.noisy import BUCKETS

    shares, doubts = [], []
    for model, rows in table.groupby("model", sort=False):
        shares.append([str(model)])
        doubts.append([str(model)])
        for row in rows.to_dict("records"):
            printed = f"{_percent(row['paper_precision'])}/{_percent(row['paper_recall']):>3}"
            shares[-1] += [f"{_percent(row['precision'])}/{_percent(row['recall']):>3}", printed]
            errors = f"{_percent(row['precision_se'], 1)}/{_percent(row['recall_se'], 1):>4}"
            doubts[-1] += [errors, f"{row['flagged']:,}"]
    between = [column for bucket in BUCKETS for column in (bucket, "paper")]
    console.table(
        "Precision / recall in %, by test questions answered", ["model", *between], shares
    )
    between = [column for bucket in BUCKETS for column in (bucket, "flagged")]
    console.table(
        "Standard errors of both in points, and workers flagged", ["model", *between], doubts
    )
    buckets = table.drop_duplicates("bucket").to_dict("records")
    noisy = ", ".join(
        f"{row['noisy']:,} of {row['workers']:,} at {row['bucket']}" for row in buckets
    )
    console.say(
        f"{what}. Noisy workers: {noisy}. - is undefined: nobody flagged, or nobody noisy, or a"
        " single round."
    )
    for note in NOTES:
        console.say(note, dim=True)


def _percent(share: float, digits: int = 0) -> str:
    return "-" if isnan(share) else f"{100 * share:.{digits}f}"


monitor = WithDefault(default=analysis(kind_of("monitor")), others=(Other(simulate, "--simulate"),))
