"""`metal design`: what labels are best spent on, and how many items and people each language needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from metal.cli import options


def _whole(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> tuple[int, ...]:
    """Numbers, several at once with commas."""
    found = [part.strip() for value in values for part in value.split(",") if part.strip()]
    try:
        return tuple(int(part) for part in found)
    except ValueError:
        raise click.BadParameter(f"{','.join(found)} are not whole numbers; write 1,3,5") from None


@click.command(short_help="Plan ratings: how many items and people, at what cost.")
@options.dataset
@options.more_ratings
@click.option("--out", type=click.Path(path_type=Path), help="Run folder to write. [default: runs/DATASET-design]")
@options.names("--judge", "-j", "judges", what="Judges to plan for; default the LLM judges in the data.")
@options.names("--criteria", "-c", what="Criteria; default all that people rated.")
@options.names("--languages", "-l", what="Languages; default all.")
@click.option("--reference", default="", metavar="PEOPLE", help="Whose ratings: group=expert, or rater=A1,A2.")
@click.option(
    "--by",
    default="auto",
    show_default=True,
    type=click.Choice(["auto", "group", "rater", "day", "round"]),
    help="What makes a population of raters; day and round are keys of raters.jsonl.",
)
@click.option(
    "--raters",
    "-k",
    multiple=True,
    metavar="N[,N]",
    callback=_whole,
    help="People an item, to plan for. [default: 1 up to the usual number, at most 5]",
)
@click.option("--width", default=0.05, show_default=True, type=float, help="Of the 95% interval that you want.")
@click.option("--power", default=0.8, show_default=True, type=float, help="Of the alternative annotator test.")
@click.option(
    "--aggregate",
    default="majority-or-mean",
    show_default=True,
    type=click.Choice(["majority-or-mean", "majority-or-middle", "majority"]),
    help="How people's ratings of an item become one label, for F1.",
)
@click.option("--epsilon", type=float, help="Of that test. [default: 0.2 for experts, 0.1 crowd, else 0.15]")
@click.option("--rounds", default=500, show_default=True, type=int, help="Of every simulation.")
@click.option("--pay", type=float, metavar="USD", help="For one task: one person rates one output.")
@click.option("--seconds", type=float, help="A task takes. [default: the median that forms have measured]")
@click.option("--fee", default=0.2, show_default=True, help="The platform's share of the pay, on top of it.")
@click.option("--test-share", default=0.1, show_default=True, help="Share of all tasks that are test questions.")
@click.option(
    "--min-hourly", default=15.0, show_default=True, metavar="USD", help="Least pay of an hour; below, a warning."
)
@options.exclude_noisy
@options.seed
@options.as_json
@options.force
def design(
    dataset: Path,
    ratings: tuple[Path, ...],
    out: Path | None,
    pay: float | None,
    seconds: float | None,
    fee: float,
    test_share: float,
    min_hourly: float,
    as_json: bool,
    force: bool,
    **given: Any,
) -> None:
    """Plan the next ratings of DATASET from those it has. RATINGS are run folders whose ratings are added.

    First, what a budget of labels is best spent on: one label each for many items (unilabelling) or several for few
    (multilabelling), the scale as rated or binary, mean or majority, and how far populations of raters differ.

    Then, for each language and criterion, how many items with how many people each are needed so that the 95%
    interval of a judge's F1, and of a generator's score, is narrower than --width, and so that a judge passes the
    alternative annotator test with --power. Sources that were rated are drawn again and again, as if there were more
    like them. With --pay and --seconds, what that costs.

    The run folder gets report.html with charts, tables/ as CSV, JSON and Parquet, and run.toml.

    \b
    Examples:
      metal design datasets/pariksha -l hi -c task_quality
      metal design datasets/news runs/news-judges --width 0.1 --pay 0.5 --seconds 60
      metal design datasets/cnndm --reference group=crowd -k 1,3,5 --json | jq .needs
    """
    import json

    from metal.data.folders import check_new
    from metal.genie.design.cost import Prices
    from metal.genie.design.settings import DesignSettings
    from metal.genie.design.study import design as run
    from metal.genie.excluding import with_exclusions, without_noisy
    from metal.runs.design_run import measured_seconds, write_design
    from metal.runs.manifest import manifest
    from metal.runs.parts import records
    from metal.show.terminal import console as show
    from metal.show.terminal import design_text

    out = out or Path("runs") / f"{dataset.resolve().name}-design"
    check_new(out, force=force)
    seconds = seconds if seconds is not None else measured_seconds(dataset)
    prices = Prices(pay, seconds, fee, test_share, min_hourly)
    settings = DesignSettings(prices=prices, **given)
    whole_dataset = options.load(dataset, ratings)
    loaded, excluded = without_noisy(whole_dataset, dataset, ratings, settings.exclude_noisy)
    with show.progress("simulating") as advance:
        found = run(loaded, settings, progress=advance)
    found = with_exclusions(found, excluded)
    about = manifest("design", loaded, [dataset, *ratings], settings.to_dict(), found.raters, found.signature)
    write_design(out, found, loaded, about, force=force)
    if as_json:
        whole: dict[str, Any] = {"signature": found.signature, "run": str(out), "warnings": list(found.warnings)}
        whole |= {name: records(table) for name, table in found.tables.items()}
        click.echo(json.dumps(whole, indent=1, ensure_ascii=False))
        return
    design_text.show_design(found)
    show.say(f"Report: {out / 'report.html'}", wrap=False)
    show.say(f"Written to {out}: report.html, tables/ (CSV, JSON, Parquet), run.toml", wrap=False)
