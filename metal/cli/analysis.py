"""The usual command of a kind of run: it saves the result of the public function, and shows or
prints it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from metal.cli.parameters import Flag
from metal.cli.printing import print_json, show_parts
from metal.cli.reading import ASK, read_and_say
from metal.cli.verb import AS_JSON, AS_MARKDOWN, FORCE, VERBOSE, Verb, verb
from metal.cli.verb import out as out_option
from metal.data.missing import no_such
from metal.data.replacing import check_new, remedy
from metal.data.text import without_ending, without_isolates
from metal.errors import UsageError
from metal.runs.kinds import FILES, Kind, kind_of, load
from metal.show.terminal import console

OPEN = Flag(
    ["--open", "open_it"], rare=True, is_flag=True, help="Show the page in `metal view` at the end."
)


def run_folder(out: Path | None, data: Path, ending: str = "") -> Path:
    """The given run folder, or runs/DATASET with the suffix of the verb."""
    name = without_ending(data.name) if data.is_file() else data.resolve().name
    return out or Path("runs") / f"{name}{ending}"


def save_of_run(
    command: str, run: Path, out: Path | None, force: bool, make: Callable[..., Any]
) -> tuple[Any, Path]:
    """Save the result of `make` about a run to `out` or runs/RUN-COMMAND; return it with the path
    of that folder.

    make: a function that takes `progress`. Raises UsageError if the folder contains something else.
    """
    from metal.runs.parts import command_of, made_from
    from metal.show.pages import page

    out = out or Path("runs") / f"{run.resolve().name}{kind_of(command).ending}"
    again = command_of(out) == command
    check_new(out, command, force=force, again=again)
    with console.progress(kind_of(command).doing, kind_of(command).unit) as advance:
        result = make(progress=advance)
    if again and not (force or made_from(out, Path(result.data["path"]))):
        raise UsageError(f"{out} is a {command} of other data; {remedy(out, command)}")
    with console.progress("drawing") as advance:
        result.write(out, page, force=force, again=again, progress=advance)
    return result, out


def show_run(
    run: Any,
    out: Path,
    verbose: bool,
    as_json: bool,
    as_markdown: bool,
    by: tuple[str, ...] = (),
    facts: Mapping[str, Any] | None = None,
    files: str = FILES,
) -> None:
    """Print a run that was saved to `out`, as JSON, as Markdown, or for people.

    facts: what JSON contains in addition to the tables. files: the contents of the folder.
    """
    from metal.show.markdown import markdown
    from metal.show.pages import headline, screen

    if as_json:
        described = {
            "headline": without_isolates(headline(run)),
            "signature": run.signature,
            "run": str(out),
        }
        print_json(
            described
            | {**(facts or {}), "warnings": [*map(console.worded, run.warnings)]}
            | run.tables
        )
        return
    if as_markdown:
        click.echo(markdown(screen(run, by, verbose=verbose)), nl=False)
        return
    show_parts(screen(run, by, verbose=verbose))
    console.say(f"Report: {out / 'report.html'}", wrap=False)
    if verbose:
        console.say(f"Written to {out}: {files}", wrap=False)


def check_one_way(as_json: bool, as_markdown: bool) -> None:
    """Raise UsageError if two output formats are requested."""
    if as_json and as_markdown:
        raise UsageError("--json or --markdown, not both")


def analysis(
    kind: Kind, *own: click.Option, then: Callable[..., None] = lambda run, as_markdown: None
) -> Verb:
    """Make the command of a kind: it saves and shows what the public function returns, or prints it
    as JSON or Markdown.

    own: options that only this command has; `then` is called with their values after the run was
    shown.
    """
    function = load(kind.function)
    slices = []
    if kind.slices:
        explained = f"Show {kind.sliced} as well (all are in the tables)."
        choice = click.Choice(kind.slices)
        slices = [click.Option(["--by"], multiple=True, type=choice, help=explained)]

    @verb(
        function,
        out_option(f"runs/DATASET{kind.ending}"),
        *slices,
        *own,
        ASK,
        VERBOSE,
        AS_JSON,
        AS_MARKDOWN,
        FORCE,
        OPEN,
        more=kind.more,
        examples=kind.examples,
    )
    def command(
        data: Path,
        ratings: tuple[Path, ...],
        out: Path | None,
        verbose: bool,
        as_json: bool,
        as_markdown: bool,
        force: bool,
        open_it: bool,
        by: tuple[str, ...] | str = (),
        **options: Any,
    ) -> None:
        from metal.runs.parts import command_of, made_from
        from metal.show.pages import page

        check_one_way(as_json, as_markdown)
        if not data.exists():  # before the run that a mistyped name would be kept in is checked
            raise no_such(data)
        if isinstance(by, str):  # of a design study: an option of the function, no slices to show
            options["by"], by = by, ()
        asked = {str(option.name): options.pop(str(option.name)) for option in own}
        out = run_folder(out, data, kind.ending)
        again = command_of(out) == kind.command
        if out.resolve() != data.resolve():  # else the dataset was forgotten, which reading says
            check_new(out, kind.command, force=force, again=again)
        input_data, options = read_and_say(data, options, verbose)
        if out.resolve() == data.resolve():
            check_new(out, kind.command, force=force, again=again)
        if again and not (force or made_from(out, input_data)):
            raise UsageError(f"{out} is a run of other data; {remedy(out, kind.command)}")
        with console.progress(kind.doing, kind.unit) as advance:
            run = function(input_data, *ratings, progress=advance, **options)
        with console.progress("drawing") as advance:
            run.write(out, page, force=force, again=again, progress=advance)
        _say_if_unrecorded(run, data, out, input_data)
        show_run(run, out, verbose, as_json, as_markdown, by, run.more_facts(), kind.files)
        then(run, as_markdown, **asked)
        if open_it:
            from metal.cli.view import open_run_in_app

            open_run_in_app(out)

    return command


def _say_if_unrecorded(run: Any, data: Path, out: Path, input_data: Any) -> None:
    """Say so if a board could not be recorded, because its dataset cannot be written or has
    changed.
    """
    if getattr(run, "recorded", True):
        return
    why = "has no history"
    if isinstance(input_data, Path):
        why = "cannot be written, or changed meanwhile"
    console.say(f"{data} {why}: saved only in {out}, not in the board's history")
