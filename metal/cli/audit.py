"""`metal audit`: the usual command, with `--require` for builds."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from metal.cli.analysis import analysis
from metal.cli.parameters import Flag
from metal.runs.kinds import kind_of
from metal.show.terminal import console

if TYPE_CHECKING:
    from metal.questions.audit.required import Requirement
    from metal.questions.audit.result import Audit


def _read(
    context: click.Context, option: click.Parameter, texts: tuple[str, ...]
) -> tuple[Requirement, ...]:
    """Read the requirements together with the command line, before anything is audited."""
    from metal.errors import UsageError
    from metal.questions.audit.required import Requirement

    try:
        return tuple(map(Requirement.read, texts))
    except UsageError as error:
        raise UsageError(f"--require: {error}") from None


def _check(run: Audit, as_markdown: bool, require: tuple[Requirement, ...]) -> None:
    """End with exit code 1 and a line for each verdict that is worse than required."""
    from metal.questions.audit.required import unmet
    from metal.show.markdown import markdown
    from metal.show.view import Paragraph

    lines = unmet(run, require)
    for line in lines:
        console.aside(line)
    if lines and as_markdown:
        listed = (Paragraph(f"Required, and not met: {line}") for line in lines)
        click.echo(f"\n{markdown(listed)}", nl=False)
    if lines:
        sys.exit(1)


REQUIRE = Flag(
    ["--require"],
    multiple=True,
    metavar="JUDGE:LANGUAGE:CRITERION>=VERDICT",
    help="Exit with 1 if a verdict is worse; * for any.",
    callback=_read,
)

audit = analysis(kind_of("audit"), REQUIRE, then=_check)
