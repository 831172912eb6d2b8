"""`metal import`: other people's ratings in."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metal.cli import options

if TYPE_CHECKING:
    from metal.data.dataset import Dataset


@click.command("import", short_help="Read ratings from other formats.")
@click.argument("format_name", metavar="FORMAT", required=False)
@click.argument("path", type=click.Path(path_type=Path), required=False)
@click.option("--list", "list_formats", is_flag=True, help="List the formats and exit.")
@click.option("--out", type=click.Path(path_type=Path), help="Dataset folder to write.")
@click.option("--into", type=click.Path(path_type=Path), help="Dataset folder to merge into, on source and generator.")
@click.option("--map-sources", type=click.Path(path_type=Path), help="JSON {incoming id: id in the dataset}.")
@click.option("--map-generators", type=click.Path(path_type=Path), help="JSON {incoming id: id in the dataset}.")
@options.force
@click.option("--name", help="Name of the dataset. [default: from the format or file]")
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="ROLE=COLUMN",
    help="Which column plays which role: output, source, generator, language, criterion, rater, kind, group, "
    "score, reason, comment, text, source_text.",
)
@options.names("--only", what="Raters of these kinds only: human, llm, metric, baseline.")
@options.names("--wide", what="Wide table: the columns of raters, * allowed.")
@click.option(
    "--language",
    help="Language of all rows, by code or name (basse: which; billboard: where the board's name says none).",
)
@click.option("--criterion", help="Criterion of all rows.")
@click.option("--kind", "kinds", multiple=True, metavar="RATER=KIND", help="human, llm, metric or baseline; * allowed.")
@click.option("--group", "groups", multiple=True, metavar="RATER=GROUP", help="Group of raters; * allowed.")
@click.option("--shift", type=float, help="Number added to every score, e.g. -1 for a scale that starts at 1.")
@click.option("--levels", metavar="0=Bad,1=Good", help="The scale's levels, in rising order.")
@click.option("--measure", type=click.Choice(["nominal", "ordinal", "interval"]), help="Kind of scale.")
@click.option("--direction", type=click.Choice(["higher", "lower"]), help="Which scores are better. [default: higher]")
@click.option("--subset", help="hf: configuration of the dataset.")
@click.option("--split", help="hf: split to read.")
@click.option("--revision", help="hf: revision of the dataset.")
def import_(
    format_name: str | None,
    path: Path | None,
    list_formats: bool,
    out: Path | None,
    into: Path | None,
    map_sources: Path | None,
    map_generators: Path | None,
    force: bool,
    **given: Any,
) -> None:
    """Read ratings in FORMAT from PATH into a dataset folder.

    With --into the ratings join an existing dataset: outputs meet on source and generator, what does not
    meet is counted and named. Where a release numbers its sources (mqm), number n is the n-th source of its
    language in the dataset.

    \b
    Examples:
      metal import --list
      metal import pariksha PARIKSHA_FOLDER --out datasets/pariksha
      metal import table ratings.csv --column rater=worker_id --language hi --out datasets/mine
      metal import table scores.xlsx --wide 'A1,A2,A3,gpt*' --kind 'gpt*=llm' --out datasets/mine
      metal import billboard billboard/results/cnndm --out datasets/cnndm
      metal import thumb thumb --into datasets/cnndm
      metal import alttest summeval --only llm --into datasets/cnndm --map-generators systems.json
    """
    from metal.data import formats
    from metal.data.dataset import load_dataset, save_dataset, update_dataset
    from metal.data.folders import check_new
    from metal.data.merge import merge, read_map
    from metal.errors import UsageError

    if list_formats:
        for name, entry in formats.known_formats().items():
            click.echo(f"{name:<15}{entry.summary}")
        return
    if not format_name or path is None:
        raise UsageError("give FORMAT and PATH, or --list to see the formats")
    if (out is None) == (into is None):
        raise UsageError("give --out for a new dataset or --into for an existing one")
    if into is None and (map_sources or map_generators):
        raise UsageError("--map-sources and --map-generators rename ids for --into")
    if out is not None:
        check_new(out, force=force)
    draft = formats.read(format_name, path, _options(given))
    dataset = draft.assemble(path)
    lines = list(draft.notes)
    if into is not None:
        dataset, report = merge(
            load_dataset(into),
            dataset,
            map_sources=read_map(map_sources) if map_sources else {},
            map_generators=read_map(map_generators) if map_generators else {},
            counted_from=draft.counted_from,
        )
        lines += report.lines()
    folder = out or into
    assert folder is not None
    if into is not None:
        update_dataset(dataset, folder)
    else:
        save_dataset(dataset, folder, force=force)
    _report(dataset, lines, folder)


def _options(given: dict[str, Any]) -> dict[str, Any]:
    """The options as readers take them."""
    told = {key: value for key, value in given.items() if value not in (None, ())}
    for key in ("columns", "kinds", "groups"):
        if key in told:
            told[key] = dict(pair(f"--{key.removesuffix('s')}", text) for text in told[key])
    if "levels" in told:
        told["levels"] = _levels(told["levels"])
    return told


def pair(flag: str, text: str) -> tuple[str, str]:
    """NAME=VALUE, as options take it."""
    from metal.errors import UsageError

    name, equals, value = text.partition("=")
    if not equals or not name or not value:
        raise UsageError(f"{flag} {text!r}: write NAME=VALUE")
    return name.strip(), value.strip()


def _levels(text: str) -> tuple[tuple[float, str], ...]:
    from metal.errors import UsageError

    levels = []
    for part in text.split(","):
        value, label = pair("--levels", part)
        try:
            levels.append((float(value), label))
        except ValueError:
            raise UsageError(f"--levels {part!r}: write NUMBER=LABEL, e.g. 0=Bad,1=Medium,2=Good") from None
    return tuple(levels)


def _report(dataset: Dataset, notes: list[str], folder: Path) -> None:
    """What was read: rows, languages, criteria, raters by kind, notes and warnings."""
    from metal.auditing.lint import lint
    from metal.cli import metal
    from metal.cli.flags import in_flags
    from metal.data.languages import language_name
    from metal.show.terminal import console as show

    kinds = Counter(rater.kind for rater in dataset.raters.values())
    show.say(f"{dataset.identity} in {folder}", bold=True)
    show.say(
        f"  {len(dataset.ratings):,} ratings of {len(dataset.outputs):,} outputs of {len(dataset.sources):,} sources"
    )
    show.say("  languages: " + ", ".join(f"{code} {language_name(code)}" for code in dataset.languages))
    show.say("  criteria: " + "; ".join(f"{c.name} ({c.scale.describe()})" for c in dataset.criteria.values()))
    show.say("  raters: " + ", ".join(f"{count} {kind}" for kind, count in kinds.items()))
    command = click.get_current_context().command
    for note in notes:
        show.say(f"  note: {in_flags(note, command, metal)}")
    show.warn((finding.message for finding in lint(dataset)), more=f"metal check {folder}")
    # Scores of metrics have no classes to audit: they are for a board.
    verb = "billboard" if kinds["human"] and kinds["metric"] and not kinds["llm"] else "audit"
    show.say(f"Next: metal {verb} {folder}", wrap=False)
