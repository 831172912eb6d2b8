"""docs/reference/, made from the code. `python -m tests.api.test_reference` writes it anew."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import click
from click.testing import CliRunner

import metal
from metal import cli, errors
from metal.cli.verb import WithDefault
from metal.data import dataset, records, run_summary
from metal.data.run_summary import RunSummary
from metal.runs import judges_run
from metal.runs.columns import Column
from metal.runs.kinds import Kind, kinds, load, meaning
from metal.runs.run import Run
from tests.api.python_reference import python_pages
from tests.api.schema_pages import open_format, schema_files

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"


def runs() -> list[tuple[Kind, type[Run]]]:
    """Every kind of run with its class."""
    return [(kind, load(kind.run)) for kind in kinds().values()]


def pages() -> dict[str, str]:
    """The text of each page and of each schema, by its path."""
    made = {
        **python_pages(),
        "verbs": _verbs(),
        "tables": _tables(),
        "files": _files(),
        "errors": _errors(),
        "open-format": open_format(),
    }
    texts = {f"{name}.md": "\n\n".join(parts) + "\n" for name, parts in made.items()}
    return texts | schema_files()


def verbs(
    command: click.Command = cli.metal, words: tuple[str, ...] = ()
) -> dict[tuple[str, ...], click.Command]:
    """Every command by its words, groups among them."""
    found = {words: command}
    if isinstance(command, click.Group):
        for name in command.list_commands(context := click.Context(command)):
            child = command.get_command(context, name)
            assert child
            found |= verbs(child, (*words, name))
    if isinstance(command, WithDefault):
        for other in command.others:
            if other.typed and other.command is not command.default:
                found |= verbs(other.command, (*words, *other.typed.split()))
    return found


def _verbs() -> Iterator[str]:
    yield "# Verbs and options"
    for words, command in verbs().items():
        every = (
            "--help-all" if any("--help-all" in each.opts for each in command.params) else "--help"
        )
        said = CliRunner().invoke(
            cli.metal, [*words, every], prog_name="metal", env={"COLUMNS": "80"}, terminal_width=80
        )
        assert not said.exit_code, said.output
        yield f"## {' '.join(('metal', *words))}"
        yield f"```text\n{said.output.strip()}\n```"


def _tables() -> Iterator[str]:
    yield "# Tables"
    yield (
        "Each table of a run stands in `tables/` as CSV, JSON and Parquet. *On the page*: its"
        " heading there; *better*: which end is better. An empty figure is undefined, for the"
        " reason in `undefined`; `_low` and `_high` are the ends of its 95% interval, in"
        " `verdicts` one-sided 5% limits. `items` counts what a figure is computed from, `dropped`"
        " what was left out,"
        " and why."
    )
    for kind, run in runs():
        yield f"## metal {run.command}"
        for table, columns in {**run.described, **run.optional}.items():
            yield f"### {run.command}: {table}"
            rows = (
                "\n".join(_column(kind, each) for each in columns)
                or "| as in METAL's paper | | | |"
            )
            yield f"| column | what it is | on the page | better |\n|---|---|---|---|\n{rows}"


def _column(kind: Kind, column: Column) -> str:
    ends = f", `{column.name}_low`, `{column.name}_high`" if column.interval else ""
    text = meaning(kind, column.name)
    return f"| `{column.name}`{ends} | {text} | {column.title} | {column.direction} |"


def _files() -> Iterator[str]:
    yield "# Files"
    yield "## A dataset folder"
    summary, table = (inspect.getdoc(dataset) or "").split("\n\n", 1)
    yield summary
    yield f"```text\n{table}\n```"
    for kind in (
        records.Source,
        records.Output,
        records.Rater,
        records.Rating,
        records.Criterion,
        records.Scale,
    ):
        yield f"### {kind.__name__}"
        yield inspect.getdoc(kind) or ""
        yield "\n".join(f"- `{field.name}`: `{field.type}`" for field in fields(kind))
    yield "### dataset.toml"
    yield "The file of `datasets/demo`:"
    yield (
        f"```toml\n{(ROOT / 'datasets/demo/dataset.toml').read_text(encoding='utf-8').strip()}\n```"
    )
    yield "## Run folders"
    modules = [*{inspect.getmodule(run): None for _, run in runs()}, judges_run]
    yield "\n".join(
        f"- {' '.join((inspect.getdoc(module) or '').split(chr(10) * 2)[0].split())}"
        for module in modules
    )
    yield "### run.toml"
    yield (
        "Everything needed to repeat the run: its command and settings, METAL's version and its"
        " libraries, the dataset and its criteria, the raters and the signature. Its last table,"
        " `[summary]`, is what `metal ls` says of the run:"
    )
    yield (inspect.getdoc(RunSummary) or "").split("\n\n", 1)[1]
    yield "\n".join(f"- `{field.name}`: `{field.type}`" for field in fields(RunSummary))
    yield (inspect.getdoc(run_summary) or "").split("\n\n", 1)[1]
    yield "## Formats of others"
    rows = "\n".join(f"| `{name}` | {what} |" for name, what in metal.formats().items())
    yield f"| format | what it is |\n|---|---|\n{rows}"


def _errors() -> Iterator[str]:
    yield "# Errors and exit codes"
    yield (inspect.getdoc(errors) or "").split("\n\n", 1)[1]
    yield inspect.getdoc(cli.main) or ""
    for name, value in vars(errors).items():
        if inspect.isclass(value) and issubclass(value, errors.MetalError):
            yield f"## {name}"
            yield f"A `{value.__base__.__name__}`. {inspect.getdoc(value)}"
