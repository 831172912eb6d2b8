"""Verbs that end in a run folder with a page: `metal audit`, `leaderboard`, `design`, `monitor`, `report`."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import metal
from metal.cli.printing import print_json, show_parts, warn_at_once
from metal.cli.reading import ASK, read_and_say
from metal.cli.verb import AS_JSON, AS_MARKDOWN, FORCE, VERBOSE, Verb, WithDefault, verb
from metal.cli.verb import out as out_option
from metal.data.replacing import check_new, remedy
from metal.data.text import without_isolates
from metal.errors import UsageError
from metal.show.terminal import console
from metal.show.terminal.console import PERCENT

if TYPE_CHECKING:
    import pandas as pd


FILES = "report.html, tables/ (CSV, JSON, Parquet), run.toml"
# What `metal monitor simulate` prints below its tables.
NOTES = (
    "The question counts behind the paper's table (WMT21) were not published; here they are geometric, so that "
    "differences of a few points mean little.",
    "Several printed cells do not follow from the paper's text whatever the counts. Class-fixed-2 with its noisy "
    "component Beta(0.5, 4.5) gives a posterior of 0.98998 to someone with 0 right of 4, below 0.99: its recall at "
    "1-4 is 0, not 24%, and its recall of 91% at 5-14 is out of reach for any noisy component: the best one gets "
    "about 44%. Uninformative priors lose less precision at 1-4 than printed.",
)


def run_folder(out: Path | None, data: Path, ending: str = "") -> Path:
    """The run folder that was asked for, or runs/DATASET with the verb's ending."""
    name = data.name.split(".")[0] if data.is_file() else data.resolve().name
    return out or Path("runs") / f"{name}{ending}"


def by_option(*slices: str, shown: str) -> click.Option:
    """The option for slices that are shown as well."""
    about = f"Show {shown} as well (all are in the tables)."
    return click.Option(["--by"], multiple=True, type=click.Choice(slices), help=about)


def show_run(
    run: Any,
    out: Path,
    verbose: bool,
    as_json: bool,
    as_markdown: bool,
    by: tuple[str, ...] = (),
    about: Mapping[str, Any] | None = None,
    files: str = FILES,
) -> None:
    """Print a run that was saved to `out`, as JSON, as Markdown, or for people. about, files: as in `analysis`."""
    from metal.show.markdown import markdown
    from metal.show.pages import headline, screen

    if as_json:
        described = {"headline": without_isolates(headline(run)), "signature": run.signature, "run": str(out)}
        print_json(described | {**(about or {}), "warnings": [*map(console.wording, run.warnings)]} | run.tables)
        return
    if as_markdown:
        click.echo(markdown(screen(run, by, verbose=verbose)), nl=False)
        return
    show_parts(screen(run, by, verbose=verbose))
    console.say(f"Report: {out / 'report.html'}", wrap=False)
    if verbose:
        console.say(f"Written to {out}: {files}", wrap=False)


def check_one_way(as_json: bool, as_markdown: bool) -> None:
    """Raise UsageError where two ways of printing are asked for."""
    if as_json and as_markdown:
        raise UsageError("--json or --markdown, not both")


def analysis(
    function: Callable[..., Any],
    ending: str,
    doing: str,
    *parameters: click.Parameter,
    unit: str = "cells",
    files: str = FILES,
    about: Callable[[Any], Mapping[str, Any]] = lambda run: {},
    more: str = "",
    examples: str = "",
) -> Verb:
    """The command of an analysis: what the public function returns is saved and shown, or printed as JSON or Markdown.

    ending: of the default run folder's name. doing: what the progress bar says. unit: of what it counts. files:
    what the run folder holds. about: what JSON says of a run beside its tables. more, examples: as in `verb`.
    """

    @verb(
        function,
        out_option(f"runs/DATASET{ending}"),
        *parameters,
        ASK,
        VERBOSE,
        AS_JSON,
        AS_MARKDOWN,
        FORCE,
        more=more,
        examples=examples,
    )
    def command(
        data: Path,
        ratings: tuple[Path, ...],
        out: Path | None,
        verbose: bool,
        as_json: bool,
        as_markdown: bool,
        force: bool,
        by: tuple[str, ...] | str = (),
        **options: Any,
    ) -> None:
        from metal.runs.parts import command_of, made_from
        from metal.show.pages import page

        check_one_way(as_json, as_markdown)
        if isinstance(by, str):  # of a design study: an option of the function, no slices to show
            options["by"], by = by, ()
        out = run_folder(out, data, ending)
        maker = function.__name__.replace("_", " ")
        again = command_of(out) == maker
        if out.resolve() != data.resolve():  # else the dataset was forgotten, which reading says
            check_new(out, maker, force=force, again=again)
        given, options = read_and_say(data, options, verbose)
        if out.resolve() == data.resolve():
            check_new(out, maker, force=force, again=again)
        if again and not (force or made_from(out, given)):
            raise UsageError(f"{out} is a run of other data; {remedy(out, maker)}")
        with console.progress(doing, unit) as advance:
            run = function(given, *ratings, progress=advance, **options)
        with console.progress("drawing") as advance:
            run.write(out, page, force=force, again=again, progress=advance)
        if not getattr(run, "recorded", True):  # as a board is where its dataset can be written
            why = "cannot be written, or changed meanwhile" if isinstance(given, Path) else "has no history"
            console.say(f"{data} {why}: this version and its ensembles are in {out} only")
        show_run(run, out, verbose, as_json, as_markdown, by, about(run), files)

    return command


@verb(metal.demo, out_option("metal-demo"), FORCE)
def demo(out: Path | None, force: bool) -> None:
    from metal.runs.parts import made_from
    from metal.questions.audit.brief import brief
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


audit = analysis(
    metal.audit,
    "",
    "auditing",
    files="report.html, tables/ (CSV, JSON, Parquet), disagreements.parquet, run.toml",
    more="""
        Everything is also written to the run folder: report.html, a page to look at and to pass on; tables/ as CSV,
        JSON and Parquet (people, judges, verdicts, differences, class_distribution by language and overall, and METAL's
        table_3 and table_6); disagreements.parquet, every output on which judges and people differ, with the texts
        and comments; run.toml, all that is needed to repeat it.
    """,
    examples="""
        metal audit datasets/pariksha
        metal audit datasets/pariksha -c task_quality -l hi,ta --json | jq .verdicts
        metal audit datasets/demo runs/baselines --out runs/demo
    """,
)

leaderboard = analysis(
    metal.leaderboard,
    "-leaderboard",
    "ranking",
    by_option("language", "criterion", shown="a ranking for each of these"),
    unit="rankings",
    about=lambda run: {"main": run.main},
    more="""
        \b
        A generator that joins needs ratings of its own outputs only:
          1. add its outputs to DATASET
          2. metal annotate export DATASET --to html --generators NAME --sample 300
          3. metal annotate import DATASET ANSWERS...
          4. metal leaderboard DATASET --sample 300

        Everything is also written to the run folder: report.html, tables/ as CSV, JSON and Parquet, run.toml.
    """,
    examples="""
        metal leaderboard datasets/cnndm --reference group=crowd
        metal leaderboard datasets/pariksha --by language
        metal leaderboard datasets/news runs/news-scores --sample 300 --with-judges
    """,
)

design = WithDefault(
    default=analysis(
        metal.design,
        "-design",
        "planning",
        unit=PERCENT,
        more="""
            The run folder gets report.html with charts, tables/ as CSV, JSON and Parquet, and run.toml.
        """,
        examples="""
            metal design datasets/pariksha -l hi -c task_quality
            metal design datasets/news runs/news-judges --width 0.1 --pay 0.5
            metal design datasets/cnndm --reference group=crowd -k 1,3,5 --json | jq .needs
            metal design labels datasets/mlqe
        """,
    )
)
design.add_command(
    analysis(
        metal.design_labels,
        "-labels",
        "planning",
        examples="""
            metal design labels datasets/mlqe --half-width 0.03
            metal design labels datasets/mlqe --budget 500 --pay 0.2 --judge-price 0.002
        """,
    )
)


@verb(
    metal.design_anchors,
    AS_JSON,
    examples="""
        metal design anchors datasets/news -l en,hi --half-width 0.05
        metal design anchors datasets/news runs/news-judges --judge openai:gpt-4o/simple --contents 40
    """,
)
def anchors(data: Path, ratings: tuple[Path, ...], as_json: bool, **options: Any) -> None:
    from metal.questions.design.planned import contents

    with console.progress("planning"):
        made = metal.design_anchors(data, *ratings, **options)
    warn_at_once(made.warnings)
    if as_json:
        print_json({"needed": made.needed, "drawn": made.table})
        return
    show_parts(contents(made.dataset, made.needed, made.table))
    console.say(f"Kept in {made.file}", wrap=False)
    console.say(f"Next: metal annotate export {shlex.quote(str(data))} --to html --drawn", wrap=False)


design.add_command(anchors)


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
    with console.progress("simulating", "simulations") as advance:
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
    for model, rows in table.groupby("model", sort=False):
        shares.append([str(model)])
        doubts.append([str(model)])
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
        unit=PERCENT,
        examples="""
            metal monitor datasets/mine
            metal monitor datasets/mine runs/mine-judges --model class-learned-2
            metal monitor datasets/cnndm --reference group=crowd --json | jq .behaviour
            metal monitor simulate
        """,
    )
)
monitor.add_command(simulate)

correct = analysis(
    metal.correct,
    "-corrected",
    "correcting",
    examples="""
        metal correct datasets/mlqe --labels 40
        metal correct datasets/news runs/news-judges -c task_quality --json | jq .corrected
    """,
)

select = analysis(
    metal.select,
    "-select",
    "selecting",
    examples="""
        metal select datasets/news runs/news-judges --alpha 0.1
        metal select datasets/news runs/news-judges --cascade openai:gpt-4o-mini/simple,openai:gpt-4o/simple
    """,
)

jury = analysis(
    metal.jury,
    "-jury",
    "putting together",
    files=f"{FILES}, ratings.parquet",
    examples="""
        metal jury datasets/news runs/news-judges
        metal jury datasets/news runs/news-judges -j gpt-4o/detailed,llama/detailed --by weights
    """,
)
