"""`metal import`: `metal.read(...)`, saved."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import metal.api.read as api
from metal.cli.verb import PATH, verb
from metal.errors import UsageError

if TYPE_CHECKING:
    from metal.data.dataset import Dataset


@verb(
    api.read,
    click.Argument(["format_name"], metavar="FORMAT", required=False),
    click.Argument(["path"], type=PATH, required=False),
    click.Option(["--list", "list_formats"], is_flag=True, help="List the formats and exit."),
    click.Option(["--out"], type=PATH, help="Dataset folder to write."),
    click.Option(["--force"], is_flag=True, help="Replace the folder given with --out."),
    name="import",
    examples="""
        metal import --list
        metal import pariksha PARIKSHA_FOLDER --out datasets/pariksha
        metal import table ratings.csv --columns rater=worker_id --language hi --out datasets/mine
        metal import table scores.xlsx --wide 'A1,A2,A3,gpt*' --kinds 'gpt*=llm' --out datasets/mine
        metal import billboard billboard/results/cnndm --out datasets/cnndm
        metal import thumb thumb --into datasets/cnndm
        metal import alttest summeval --only llm --into datasets/cnndm --map-generators systems.json
    """,
)
def import_(
    format_name: str | None,
    path: Path | None,
    list_formats: bool,
    out: Path | None,
    into: Path | None,
    force: bool,
    **options: Any,
) -> None:
    from metal.data.files import check_new

    if list_formats:
        for name, summary in api.formats().items():
            click.echo(f"{name:<15}{summary}")
        return
    if not format_name or path is None:
        raise UsageError("give FORMAT and PATH, or --list to see the formats")
    if (out is None) == (into is None):
        raise UsageError("give --out for a new dataset or --into for an existing one")
    if out is not None:
        check_new(out, force=force)
    dataset = api.read(path, format_name, into=into, **options)
    folder = out or into
    assert folder is not None
    dataset.save(folder, force=force, update=into is not None)
    _report(dataset, folder)


def _report(dataset: Dataset, folder: Path) -> None:
    """What was read: rows, languages, criteria, raters by kind, notes and warnings."""
    from metal.auditing.check import lint
    from metal.data.languages import language_name
    from metal.show.terminal import console

    kinds = Counter(rater.kind for rater in dataset.raters.values())
    console.say(f"{dataset.identity} in {folder}", bold=True)
    sizes = f"{len(dataset.ratings):,} ratings of {len(dataset.outputs):,} outputs of {len(dataset.sources):,} sources"
    console.say(f"  {sizes}")
    console.say("  languages: " + ", ".join(f"{code} {language_name(code)}" for code in dataset.languages))
    console.say("  criteria: " + "; ".join(f"{c.name} ({c.scale.describe()})" for c in dataset.criteria.values()))
    console.say("  raters: " + ", ".join(f"{count} {kind}" for kind, count in kinds.items()))
    for note in dataset.report:
        console.say(f"  note: {note}")
    console.warn((finding.message for finding in lint(dataset)), more=f"metal check {folder}")
    # Scores of metrics have no classes to audit: they are for a board.
    following = "billboard" if kinds["human"] and kinds["metric"] and not kinds["llm"] else "audit"
    console.say(f"Next: metal {following} {folder}", wrap=False)
