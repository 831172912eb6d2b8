"""`metal demo`, and kinds that have further verbs below them: `metal design`, `metal monitor`."""

from __future__ import annotations

from dataclasses import replace
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
        from metal.questions.people.simulated import NOTES

        print_json({"notes": NOTES, "simulation": table})
        return
    _print(
        table,
        "{seeds} x {rounds} rounds of {workers} workers, {questions:g} questions each on"
        " average".format(**options),
    )


def _print(table: pd.DataFrame, what: str) -> None:
    from metal.questions.people.simulated import NOTES, noisy_workers, simulated_tables

    for each in simulated_tables(table):
        console.table(each.title, each.columns, each.rows)
    console.say(
        f"{what}. Noisy workers: {noisy_workers(table)}. - means undefined: nobody was flagged, "
        f"nobody is noisy, or there was a single round."
    )
    for note in NOTES:
        console.say(note, dim=True)


monitor = WithDefault(default=analysis(kind_of("monitor")), others=(Other(simulate, "--simulate"),))
