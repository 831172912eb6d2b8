"""`metal check`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

import metal.api.check as api
from metal.cli.verb import AS_JSON, DATASET, RATINGS, verb

if TYPE_CHECKING:
    import pandas as pd

    from metal.data.dataset import Dataset

LABELS = click.Option(["--labels"], is_flag=True, help="Also show how often each rater gave each label.")


@verb(
    api.check,
    DATASET,
    RATINGS,
    LABELS,
    AS_JSON,
    examples="metal check datasets/pariksha --labels",
)
def check(data: Path, ratings: tuple[Path, ...], labels: bool, as_json: bool) -> None:
    from metal.show.terminal import console

    result = api.check(data, *ratings)
    dataset = result.dataset
    if as_json:
        click.echo(json.dumps(result.to_dict(), indent=1, ensure_ascii=False))
        return
    if dataset.ratings.empty:
        counted = f"{len(dataset.sources):,} sources and {len(dataset.outputs):,} outputs, no ratings yet"
        console.say(f"{dataset.identity}: {counted}", bold=True)
        console.say(f"Next: metal {'annotate export' if dataset.outputs else 'generate'} {data} --help", wrap=False)
        return
    console.say(
        f"{dataset.identity}: {len(dataset.ratings):,} ratings of {len(dataset.outputs):,} outputs "
        f"of {len(dataset.sources):,} sources",
        bold=True,
    )
    names = {name: criterion.short for name, criterion in dataset.criteria.items()}
    rated = result.tables["ratings"]
    rated = rated.assign(criterion=rated["criterion"].map(names)).rename(columns={"language": "", "criterion": ""})
    show_table("Ratings by kind of rater; outputs by number of people", rated, keep=2)
    raters = result.tables["raters"]
    shares = [f"{share:.1%}" if share >= 0 else "-" for share in raters["coverage"]]  # NaN: nothing was asked
    raters = raters.assign(coverage=shares).rename(columns={"languages": "lang.", "criteria": "crit."})
    show_table("Raters", raters, keep=1)
    if labels:
        show_labels(dataset, result.tables["labels"])
    console.warn(result.warnings)
    if not result.warnings:
        console.say("No warnings.")


def warn_at_once(warnings: Iterable[str]) -> None:
    """Who was left out, beside what is printed."""
    from metal.show.terminal import console

    for line in warnings:
        click.echo(console.clean(f"warning: {line}"), err=True)


def show_table(title: str, table: pd.DataFrame, *, keep: int) -> None:
    """A table as it is, numbers with thousands separators."""
    from metal.show.terminal import console

    rows = [
        [f"{value:,}" if isinstance(value, int) else str(value) for value in row]
        for row in table.astype(object).itertuples(index=False)
    ]
    console.table(title, [str(name) for name in table.columns], rows, keep=keep)


def show_labels(dataset: Dataset, labels: pd.DataFrame) -> None:
    """How often each rater gave each label, a table a criterion."""
    from metal.show.terminal import console

    for criterion, of_criterion in labels.groupby("criterion", sort=False):
        rows = [
            [str(rater), *(f"{row['count']:,} ({row['share']:.0%})" for row in given.to_dict("records"))]
            for rater, given in of_criterion.groupby("rater", sort=True)
        ]
        console.table(f"Labels: {criterion}", ["rater", *of_criterion["level"].unique()], rows)
