"""`metal check`: who rated what in a dataset, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metal.cli import options

if TYPE_CHECKING:
    import pandas as pd

    from metal.data.dataset import Dataset


@click.command(short_help="Show who rated what, and what is wrong.")
@options.dataset
@options.more_ratings
@click.option("--labels", is_flag=True, help="Also show how often each rater gave each label.")
@options.as_json
def check(dataset: Path, ratings: tuple[Path, ...], labels: bool, as_json: bool) -> None:
    """Check DATASET and show who rated what.

    Faults that make the data unusable (unknown ids, duplicates, off-scale scores, ...) are errors. Problems
    that make figures doubtful are warnings: raters who use one label only, identical score vectors under two
    names, judges and people who never rate the same output, missing answers. RATINGS are run folders.

    \b
    Example:
      metal check datasets/pariksha --labels
    """
    import json

    from metal.auditing.lint import lint
    from metal.auditing.profile import profile
    from metal.genie.excluding import warnings_of_tests
    from metal.runs.parts import records
    from metal.show.terminal import console as show

    loaded = options.load(dataset, ratings)
    if loaded.ratings.empty:
        _unrated(loaded, dataset, as_json)
        return
    tables = profile(loaded)
    findings = lint(loaded)
    told = [*warnings_of_tests(loaded, dataset, ratings), *(finding.message for finding in findings)]
    if as_json:
        whole = {"dataset": loaded.card.name, "identity": loaded.identity}
        described: dict[str, Any] = {name: records(table) for name, table in tables.items()}
        warnings = [vars(finding) for finding in findings]
        described["test_questions"] = warnings_of_tests(loaded, dataset, ratings)
        click.echo(json.dumps(whole | described | {"warnings": warnings}, indent=1, ensure_ascii=False))
        return
    show.say(
        f"{loaded.identity}: {len(loaded.ratings):,} ratings of {len(loaded.outputs):,} outputs "
        f"of {len(loaded.sources):,} sources",
        bold=True,
    )
    show_table("Ratings by kind of rater; outputs by number of people", _short(tables["ratings"], loaded), keep=2)
    show_table("Raters", _named(tables["raters"]), keep=1)
    if labels:
        show_labels(loaded, tables["labels"])
    show.warn(told)
    if not told:
        show.say("No warnings.")


def _unrated(dataset: Dataset, folder: Path, as_json: bool) -> None:
    """A dataset that nobody has rated yet."""
    import json

    from metal.show.terminal import console as show

    if as_json:
        counts = {"sources": len(dataset.sources), "outputs": len(dataset.outputs), "ratings": 0}
        click.echo(json.dumps({"dataset": dataset.card.name, "identity": dataset.identity} | counts, indent=1))
        return
    counted = f"{len(dataset.sources):,} sources and {len(dataset.outputs):,} outputs, no ratings yet"
    show.say(f"{dataset.identity}: {counted}", bold=True)
    following = "annotate export" if dataset.outputs else "generate"
    show.say(f"Next: metal {following} {folder} --help", wrap=False)


def _short(ratings: pd.DataFrame, dataset: Dataset) -> pd.DataFrame:
    """Criteria by their abbreviations, narrow headings."""
    names = {name: criterion.short for name, criterion in dataset.criteria.items()}
    return ratings.assign(criterion=ratings["criterion"].map(names)).rename(columns={"language": "", "criterion": ""})


def _named(raters: pd.DataFrame) -> pd.DataFrame:
    """Coverage as a percentage, `-` where nothing was asked."""
    shown = raters.copy()
    shown["coverage"] = [f"{share:.1%}" if share == share else "-" for share in raters["coverage"]]
    return shown.rename(columns={"languages": "lang.", "criteria": "crit."})


def show_table(title: str, table: pd.DataFrame, *, keep: int) -> None:
    """A table as it is, numbers with thousands separators."""
    from metal.show.terminal import console as show

    rows = [
        [f"{value:,}" if isinstance(value, int) else str(value) for value in row]
        for row in table.astype(object).itertuples(index=False)
    ]
    show.table(title, [str(name) for name in table.columns], rows, keep=keep)


def show_labels(dataset: Dataset, labels: pd.DataFrame) -> None:
    """How often each rater gave each label, a table a criterion."""
    from metal.show.terminal import console as show

    for criterion, mine in labels.groupby("criterion", sort=False):
        levels = list(mine["level"].unique())
        rows = [
            [
                str(rater),
                *(f"{row.count_:,} ({row.share:.0%})" for row in rows.rename(columns={"count": "count_"}).itertuples()),
            ]
            for rater, rows in mine.groupby("rater", sort=True)
        ]
        show.table(f"Labels: {criterion}", ["rater", *levels], rows)
