"""`metal init`: show the commands that follow from what somebody has, then run them."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable

import click

from metal.cli.at_hand import look
from metal.cli.import_asked import Words
from metal.cli.init_plans import HAVE, ask, likeliest
from metal.cli.verb import Verb
from metal.errors import Declined, MetalError
from metal.show.terminal import console


@click.command(cls=Verb)
@click.option("--yes", is_flag=True, help="Run the commands without asking.")
def init(yes: bool) -> None:
    """Set up a project step by step. METAL asks what you have (people's ratings, a judge to audit,
    texts to rate), then shows and runs the commands that follow. Press Enter to accept the answer
    in brackets.
    """
    for name, (means, _) in HAVE.items():
        console.say(f"{name:9}{means}")
    here = look()
    begun = ask("What do you begin with?", type=click.Choice(list(HAVE)), default=likeliest(here))
    plan = HAVE[begun][1](here)
    for command in plan.now:
        console.say(shlex.join(["metal", *command]), wrap=False)
    if not (yes or ask("Run them", type=bool, default="yes")):
        return
    root = click.get_current_context().find_root().command
    for number, command in enumerate(plan.now, 1):
        sys.argv = ["metal", *command]  # errors are in words of what is typed
        try:
            root.main(command, prog_name="metal", standalone_mode=False)
        except Declined:
            console.say("Nothing was sent.")
            _say_left([*plan.now[number - 1 :], *plan.later], "To do")
            return
        except (MetalError, click.ClickException, SystemExit):
            console.say(f"Stopped at: {shlex.join(['metal', *command])}", wrap=False)
            _say_left([*plan.now[number:], *plan.later], "To do after it")
            raise
    if plan.later:
        console.say(f"Nothing was asked yet: {plan.why}")
        _say_left(plan.later, "Then")


def _say_left(commands: Iterable[Words], begins: str) -> None:
    for command in commands:
        console.say(f"{begins}: {shlex.join(['metal', *command])}", wrap=False)
