"""Commands that import, export and show datasets: `metal sample`, `import`, `check`, `describe`,
`compare`, `export`.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import metal
from metal.api.sample import PICTURE
from metal.cli.analysis import run_folder
from metal.cli.printing import print_json, say_drawn, show_parts, warn_at_once
from metal.cli.reading import read_and_say
from metal.cli.verb import AS_JSON, FORCE, PATH, VERBOSE, Other, WithDefault, verb
from metal.cli.verb import out as out_option
from metal.data.holdings import IMPORT
from metal.data.languages import language_name, language_order
from metal.data.plugins import plugins
from metal.data.replacing import check_new
from metal.errors import UsageError
from metal.show.commands import next_command
from metal.show.terminal import console

if TYPE_CHECKING:
    from metal.data.dataset import Dataset


@verb(
    metal.sample,
    name="sample",
    more="""
        \b
        SOURCE is one of
          xlsum      XL-Sum from the hub (45 languages; needs the extra hf)
          FOLDER     arabic_test.jsonl, ar.parquet, swahili/test.parquet, ... in
                     XL-Sum's columns (id, title, summary, text), or ar/*.txt
          FILE       one of these, in the language given
          hf:NAME    any Hugging Face dataset, with --columns text=article ...
    """,
    examples=r"""
        metal sample --source xlsum -l en,sw,chinese_simplified --out datasets/mine
        metal sample --source hf:abisee/cnn_dailymail --subset 3.0.0 -l en \
          --columns text=article --columns summary=highlights --out datasets/cnn
    """,
)
def passages(out: Path, **options: Any) -> None:
    from metal.questions.design import planned

    read = Counter[str]()
    with console.named_progress("sampling", "passages") as advance:

        def follow(language: str, more: int) -> None:
            read[language] += more
            advance(language, read[language], 0)

        sampled = metal.sample(out=out, **options, progress=follow)
    show_parts(planned.passages(sampled.dataset, sampled.table))
    console.say(f"In {out}; the picture is {out / PICTURE}", wrap=False)
    console.warn(sampled.warnings)
    console.say(f"Next: metal generate {out} --model openai:gpt-4o", wrap=False)


@verb(
    metal.sample_labels,
    AS_JSON,
    short_help="Draw sources for people to rate.",
    examples="""
        metal sample datasets/mine --labels 100
        metal sample datasets/mine runs/mine-judges --labels 100 --judge openai:gpt-4o/simple
    """,
)
def labels(data: Path, ratings: tuple[Path, ...], as_json: bool, **options: Any) -> None:
    with console.progress("drawing"):
        drawn = metal.sample_labels(data, *ratings, **options)
    say_drawn(drawn, as_json)


sample = WithDefault(default=passages, others=(Other(labels, "--labels N", kept=True),))


@verb(
    metal.read,
    click.Argument(["words"], metavar="[FORMAT] PATH", nargs=-1, type=PATH),
    click.Option(["--list", "list_formats"], is_flag=True, help="List the formats and exit."),
    click.Option(
        ["--out"], type=PATH, help="Dataset folder to write. [default: datasets/NAME-OF-THE-FILE]"
    ),
    FORCE,
    click.Option(
        ["-i", "--ask"],
        is_flag=True,
        help="Ask about guesses, and print the resulting command.",
    ),
    name="import",
    apart=False,
    examples="""
        metal import ratings.csv --out datasets/mine
        metal import ratings.csv -i
        metal import --list
        metal import ratings.csv --columns rater=who --language hi --out datasets/mine
        metal import a.xlsx --wide '{rater}_{criterion}' --missing -1 --out datasets/a
        metal import PARIKSHA_FOLDER --out datasets/pariksha
        metal import billboard billboard/results/cnndm --out datasets/cnndm
        metal import runs/stopped --into datasets/mine
        metal import thumb thumb --into datasets/cnndm
        metal import alttest summeval --only llm --into datasets/cnndm --map-generators systems.json
        metal import METAL_RELEASE.json --texts xlsum --out datasets/metal
        metal import --texts passages.csv --into datasets/mine
    """,
)
def import_(
    words: tuple[Path, ...],
    list_formats: bool,
    out: Path | None,
    into: Path | None,
    force: bool,
    ask: bool,
    **options: Any,
) -> None:
    if list_formats:
        for name, summary in metal.formats().items():
            click.echo(f"{name:<17}{summary}")
        return
    if options["texts"] and into and not words:  # the dataset's own sources
        with console.progress("reading"):
            dataset = metal.read(into, **options)
        dataset.save(into, update=True)
        _report(dataset, into)
        return
    format, path = _format_and_path(words)
    folder = _folder_for(out, into, path, options["name"], force=force, ask=ask)
    made_explicit: list[str] = []
    if ask:
        from metal.cli.import_asked import ask_about

        proposed = None if out or into else folder
        made_explicit, chosen = ask_about(
            path, format, options, import_options, show_reading, proposed
        )
        options, folder = import_options(made_explicit), chosen or folder
    with console.progress("reading") as advance:
        dataset = metal.read(path, format, into=into, **options, progress=advance)
    with console.progress("writing"):
        dataset.save(folder, force=force, update=into is not None)
    _report(dataset, folder, shown=ask and not into)
    if ask:
        target = ["--into", str(folder.absolute())] if into else ["--out", str(folder)]
        command = shlex.join(["metal", "import", *made_explicit, *target])
        console.say(f"The same without questions: {command}", wrap=False)


def _format_and_path(arguments: Sequence[Path]) -> tuple[str, Path]:
    """The format, if the arguments name one, and the path."""
    if not 1 <= len(arguments) <= 2:
        raise UsageError("give PATH, or FORMAT and PATH; --list shows the formats")
    *format_name, path = arguments
    if not format_name and not path.exists() and str(path) in metal.formats():
        raise UsageError(f"give FORMAT and PATH: {path} is a format")
    return "".join(map(str, format_name)), path


def _folder_for(
    out: Path | None, into: Path | None, path: Path, name: str, *, force: bool, ask: bool
) -> Path:
    """The folder to write; by default datasets/NAME, if it is new or the user agrees."""
    if out and into:
        raise UsageError("give --out for a new dataset or --into for an existing one")
    if out:
        check_new(out, IMPORT, force=force)
    if out or into:
        return out or into or path
    if force:
        raise UsageError("`force=True` replaces the folder given with `out`; pass that as well")
    folder = Path("datasets") / run_folder(None, Path(name or path)).name
    if folder.exists() and not ask:
        raise UsageError(
            f'{folder} exists; name another folder with `out`, or join it: `into="{folder}"`'
        )
    return folder


def import_options(arguments: Sequence[str]) -> dict[str, Any]:
    """Turn the words after `metal import` into options of `metal.read`."""
    parameters = import_.make_context("import", list(arguments)).params
    return {name: value for name, value in parameters.items() if name not in _IMPORT_ONLY}


_IMPORT_ONLY = ("words", "list_formats", "out", "into", "force", "ask")


def _report(dataset: Dataset, folder: Path, *, shown: bool = False) -> None:
    """Print how the data were read (unless already shown), where the dataset is, and what to do
    next.
    """
    from metal.running.prompting import unexplained

    kinds = {rater.kind for rater in dataset.raters.values()}
    console.say(f"{dataset.identity} in {folder}", bold=True)
    if not shown:
        show_reading(dataset, more=f"metal check {folder}")
    bare = [] if "llm" in kinds else unexplained(dataset.criteria.values(), folder)
    console.say(f"Next: {next_command(folder, kinds, bare)}", wrap=False)


def show_reading(dataset: Dataset, more: str = "") -> None:
    """Print how the data were read: rows, languages, criteria, raters by kind, notes and
    warnings.
    """
    from metal.auditing.check import lint
    from metal.questions.dataset.contents import raters, sizes

    console.say(f"  {sizes(dataset)}")
    console.say(
        "  languages:"
        f" {', '.join(map(language_name, sorted(dataset.languages, key=language_order)))}"
    )
    console.say(
        "  criteria: "
        + "; ".join(f"{c.name} ({c.scale.describe()})" for c in dataset.criteria.values())
    )
    console.say(f"  raters: {', '.join(raters(dataset))}")
    for note in dataset.report:
        console.say(f"  note: {note}")
    with console.progress("checking"):
        messages = [finding.message for finding in lint(dataset)]
    console.warn(messages, more=more)


@verb(
    metal.check,
    click.Option(
        ["--labels"], is_flag=True, help="Also show how often each rater gave each label."
    ),
    VERBOSE,
    AS_JSON,
    examples="metal check datasets/pariksha --labels",
)
def check(
    data: Path,
    ratings: tuple[Path, ...],
    labels: bool,
    verbose: bool,
    as_json: bool,
    **options: Any,
) -> None:
    from metal.questions.dataset.checked import checked

    input_data, _ = read_and_say(data, options)
    with console.progress("checking"):
        result = metal.check(input_data, *ratings)
    dataset = result.dataset
    if as_json:
        print_json(result.to_dict())
        return
    if dataset.ratings.empty:
        counted = (
            f"{len(dataset.sources):,} sources and {len(dataset.outputs):,} outputs, no ratings yet"
        )
        console.say(f"{dataset.identity}: {counted}", bold=True)
        console.say(
            f"Next: metal {'annotate export' if dataset.outputs else 'generate'} {data} --help",
            wrap=False,
        )
        return
    show_parts(checked(dataset, result.tables, result.remarks, verbose=verbose, labels=labels))


@verb(
    metal.describe,
    out_option("runs/DATASET-description"),
    AS_JSON,
    FORCE,
    more="""
        The tables are also written to the run folder, as CSV, JSON and Parquet, with the charts as SVG. An audit's
        report has them as a section.
    """,  # noqa: E501
    examples="metal describe datasets/mine",
)
def describe(data: Path, out: Path | None, as_json: bool, force: bool, **options: Any) -> None:
    from metal.questions.dataset.contents import description

    out = run_folder(out, data, "-description")
    check_new(out, "describe", force=force)
    input_data, options = read_and_say(data, options)
    with console.progress("counting"):
        result = metal.describe(input_data, **options)
        result.save(out, force=force)
    warn_at_once(result.warnings)
    if as_json:
        print_json(result.to_dict())
        return
    show_parts(description(result.dataset, result.tables, result.settings["encoding"]))
    for line in result.reversals:
        console.say(line)
    console.say(f"Written to {out}: tables/ (CSV, JSON, Parquet), charts/, run.toml", wrap=False)


@verb(
    metal.compare,
    VERBOSE,
    AS_JSON,
    examples="metal compare datasets/pariksha --generators GPT4o,gpt-4 --languages hi",
)
def compare(
    data: Path, ratings: tuple[Path, ...], verbose: bool, as_json: bool, **options: Any
) -> None:
    from metal.questions.dataset.compared import compared

    input_data, options = read_and_say(data, options)
    with console.progress("comparing", "raters") as advance:
        comparison = metal.compare(input_data, *ratings, **options, progress=advance)
    table = comparison.table
    warn_at_once(comparison.warnings)
    if as_json:
        print_json(table)
        return
    show_parts(compared(table, comparison.criteria, verbose=verbose))


@verb(
    metal.export,
    examples="""
    metal export datasets/pariksha --to parquet --out pariksha.parquet
    metal export answers.csv --to promptfoo --verdicts runs/answers-audit \\
      --out results.json
    """,
)
def export(data: Path, ratings: tuple[Path, ...], **options: Any) -> None:
    input_data, options = read_and_say(data, options)
    with console.progress("writing") as advance:
        table = metal.export(input_data, *ratings, **options, progress=advance)
    warn_at_once(table.attrs["warnings"])
    console.say(f"{len(table):,} ratings in {options['out']}")


for target in export.params:
    if target.name == "to":
        target.type = click.Choice(list(plugins("metal.exports")))
