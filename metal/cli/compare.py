"""`metal compare`: generators side by side (METAL Table 4)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from metal.cli import options


@click.command(short_help="Put generators side by side.")
@options.dataset
@options.more_ratings
@options.names("--generators", "-g", what="Generators to compare; default all.")
@options.names("--raters", "-r", what="Raters; `people` is the mean over people. Default people and all judges.")
@options.names("--criteria", "-c", what="Criteria; default all.")
@options.names("--languages", "-l", what="Languages; default all.")
@options.exclude_noisy
@options.bootstrap
@options.seed
@options.as_json
def compare(dataset: Path, ratings: tuple[Path, ...], as_json: bool, **given: Any) -> None:
    """Mean score of each generator by rater and criterion, as METAL's Table 4.

    Only sources count for which every compared generator has an output that the rater scored: the means of
    different sources must not be compared. Fewer --generators usually share more sources. RATINGS are run
    folders whose ratings are added.

    \b
    Example:
      metal compare datasets/pariksha --generators GPT4o,gpt-4 --languages hi
    """
    import json

    from metal.api.compare import compare as run
    from metal.cli.exclusion import print_warnings
    from metal.runs.parts import records
    from metal.show.terminal import console as show

    comparison = run(dataset, ratings, **given)
    table = comparison.table
    print_warnings(comparison.warnings)
    if as_json:
        click.echo(json.dumps(records(table), indent=1, ensure_ascii=False))
        return
    for (language, criterion), cell in table.groupby(["language", "criterion"], sort=False):
        shared = cell.groupby("rater", sort=False)["sources"].first()
        columns = ["generator", *(f"{rater} ({n})" for rater, n in shared.items())]
        rows = [
            [str(generator), *map(_mean, by.to_dict("records"))]
            for generator, by in cell.groupby("generator", sort=False)
        ]
        show.table(f"{language} {criterion}: mean score [95% interval] (shared sources)", columns, rows)
    undefined = int(table["mean"].isna().sum())
    if undefined:
        show.say(f"- : no source is shared by all compared generators ({undefined} figures); name fewer --generators")


def _mean(row: dict[Any, Any]) -> str:
    from math import isnan

    from metal.auditing.layouts import UNDEFINED, number

    if isnan(row["mean"]):
        return UNDEFINED
    return f"{number(row['mean'])} [{number(row['mean_low'])}, {number(row['mean_high'])}]"
