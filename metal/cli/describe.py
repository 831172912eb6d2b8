"""`metal describe`: what is in a dataset."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metal.cli import options

if TYPE_CHECKING:
    import pandas as pd

    from metal.cli.exclusion import said_without_noisy
    from metal.data.dataset import Dataset


@click.command(short_help="Show lengths, qualities and classes.")
@options.dataset
@click.option("--out", type=click.Path(path_type=Path), help="Run folder. [default: runs/DATASET-description]")
@click.option("--encoding", default="", help="tiktoken's encoding. [default: that of the sample, else cl100k_base]")
@click.option(
    "--aggregate",
    type=click.Choice(["majority-or-mean", "majority-or-middle", "majority", "dawid-skene", "mace"]),
    default="majority-or-mean",
    show_default=True,
    help="How the people's ratings of an output become one label, as in `metal audit`.",
)
@options.exclude_noisy
@options.as_json
@options.force
def describe(
    dataset: Path, out: Path | None, encoding: str, aggregate: str, exclude_noisy: str, as_json: bool, force: bool
) -> None:
    """Describe DATASET: tokens of passages and outputs by language, outputs of each quality (METAL's Table 1), and
    the classes people gave to good and bad outputs, as counts and as rates (Table 2, Figure 2).

    The tables are also written to the run folder, as CSV, JSON and Parquet, with the charts as SVG. An audit's
    report has them as a section.

    \b
    Example:
      metal describe datasets/mine
    """
    import json

    from metal.building.describe import classes, lengths, reversals, table_1, table_2
    from metal.cli.check import show_table
    from metal.data.dataset import load_dataset
    from metal.data.folders import check_new
    from metal.data.tokens import ENCODING, count_text, load_encoding
    from metal.runs.parts import records
    from metal.show.terminal import console as show

    out = out or Path("runs") / f"{dataset.resolve().name}-description"
    check_new(out, force=force)
    loaded = said_without_noisy(load_dataset(dataset), dataset, (), exclude_noisy)
    noted = str(loaded.extra.get("sample", {}).get("encoding", ENCODING))
    name = encoding or noted
    counter = load_encoding(name) if _uncounted(loaded) or name != noted else None
    if name != noted:
        loaded = _without_tokens(loaded)
    found = {
        "lengths": lengths(loaded, (lambda text: count_text(text, counter)) if counter else None),
        "classes_by_quality": classes(loaded, aggregate),
    }
    found |= {"table_1": table_1(found["lengths"]), "table_2": table_2(found["classes_by_quality"], loaded)}
    settings = {"encoding": name, "aggregate": aggregate, "exclude_noisy": exclude_noisy}
    _write(loaded, dataset, found, settings, out, force)
    if as_json:
        whole: dict[str, Any] = {"dataset": loaded.card.name, "identity": loaded.identity} | settings
        click.echo(
            json.dumps(whole | {key: records(table) for key, table in found.items()}, indent=1, ensure_ascii=False)
        )
        return
    show_table(f"{loaded.identity}: tokens ({name}, mean ± sd) and outputs by language", found["table_1"], keep=1)
    by = found["classes_by_quality"]
    if len(by):
        listed = " / ".join(f"N({quality})" for quality in dict.fromkeys(by["quality"]) if quality != "all")
        _show_classes(found["table_2"], listed or "N(all)")
        for line in reversals(by, loaded):
            show.say(line)
        _say_tied(by)
    show.say(f"Written to {out}: tables/ (CSV, JSON, Parquet), charts/, run.toml", wrap=False)


def _show_classes(table: pd.DataFrame, listed: str) -> None:
    from metal.show.terminal import console as show

    for figure, title in (("count", f"Classes, {listed}"), ("share", "The same as rates of each")):
        mine = table[table["figure"] == figure].drop(columns="figure")
        show.table(title, list(mine.columns), [list(map(str, row)) for row in mine.itertuples(index=False)])


def _say_tied(classes: pd.DataFrame) -> None:
    from metal.building.describe import ALL, NO_CLASS
    from metal.show.terminal import console as show

    tied = classes[(classes["level"] == NO_CLASS) & (classes["language"] == ALL) & (classes["quality"] == ALL)]
    if len(tied):
        counts = ", ".join(
            f"{row.criterion} {row.count_}" for row in tied.rename(columns={"count": "count_"}).itertuples()
        )
        show.say(f"Outputs on whose class people do not settle: {counts}")


def _uncounted(dataset: Dataset) -> bool:
    sources = any(one.tokens is None and one.text for one in dataset.sources.values())
    return sources or any(one.tokens is None and one.text for one in dataset.outputs.values())


def _without_tokens(dataset: Dataset) -> Dataset:
    """The dataset with all counts forgotten: they are of another encoding."""
    from dataclasses import replace

    return replace(
        dataset,
        sources={name: replace(one, tokens=None) for name, one in dataset.sources.items()},
        outputs={name: replace(one, tokens=None) for name, one in dataset.outputs.items()},
    )


def _write(
    dataset: Dataset, folder: Path, found: dict[str, pd.DataFrame], settings: dict[str, str], out: Path, force: bool
) -> None:
    import tomli_w

    from metal.data.folders import new_folder
    from metal.runs.manifest import manifest
    from metal.runs.parts import write_tables
    from metal.show.dataset import quality_charts
    from metal.show.svg import standalone

    about = manifest("describe", dataset, [folder], settings)
    with new_folder(out, force=force) as partial:
        (partial / "run.toml").write_text(tomli_w.dumps(about.to_dict()), encoding="utf-8")
        write_tables(partial / "tables", found)
        (partial / "charts").mkdir()
        for chart in quality_charts(found["classes_by_quality"], dataset.criteria):
            (partial / "charts" / f"{chart.name}.svg").write_text(standalone(chart.svg, chart.alt), encoding="utf-8")
