"""What the verbs that ask models print, and whom they ask: `metal judge`, `metal generate`."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from metal.api.asked import Generating, Judging
    from metal.raters.judges.cost import CostEstimate
    from metal.running.asking import Callbacks

INTERRUPTED = 130
ASK = click.Option(["--ask/--yes"], default=None, help="Ask before spending. [default: ask in a terminal]")


def callbacks(ask: bool | None = None) -> Callbacks:
    """Notes, estimates and progress on the screen; in a terminal, somebody is asked before anything is paid."""
    from metal.running.asking import Callbacks
    from metal.show.terminal import asking_text, console

    asking = sys.stdin.isatty() if ask is None else ask
    return Callbacks(
        say=console.say,
        estimated=asking_text.show_estimates,
        confirm=_confirm if asking else lambda estimates: True,
        watch=asking_text.progress,
        interrupted=lambda line: print(f"\n{line}", file=sys.stderr),
        signals=True,
    )


def _confirm(estimates: Sequence[CostEstimate]) -> bool:
    """Ask. The event loop's own Ctrl-C would wait for the answer; here it ends the question."""
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return click.confirm("Go on?", default=False)
    finally:
        signal.signal(signal.SIGINT, usual)


def finish(run: Judging | Generating, following: str) -> None:
    """What to do next. Exits with 130 when interrupted, 2 when a model stopped.

    following: the command to type next; empty while this one is not done.
    """
    from metal.show.terminal import console

    outcome, terms, command = run.outcome, run.terms, run.job.command
    again = f"metal {command} --resume {run.folder}"
    if terms.max_cost is not None:
        again += f" --max-cost {terms.max_cost:g}"
    if terms.how.engine == "ray":
        again += " --engine ray" + (f" --address {terms.how.address}" if terms.how.address else "")
    if outcome.over_budget and outcome.missing:  # batches may have come to less than was set aside for them
        console.say("Stopped before --max-cost was exceeded; it is of the whole run: to go on, raise it.")
    for model, why in outcome.stopped.items():
        print(f"metal: {model} stopped: {console.clean(why)}", file=sys.stderr)
    if outcome.unused:
        texts = "are to calls that the run no longer has (their texts have changed)"
        console.say(f"warning: {outcome.unused:,} answers {texts}")
    if outcome.waiting:
        console.say(f"{outcome.waiting:,} calls are with the provider. Fetch their answers with: {again}", wrap=False)
        console.say(f"Or cancel them with: metal {command} cancel {run.folder}", wrap=False)
    if outcome.missing or outcome.failed:
        parts = [f"{outcome.missing:,} calls not made"] * bool(outcome.missing)
        parts += [f"{outcome.failed:,} failed"] * bool(outcome.failed)
        console.say(f"{' and '.join(parts)}. Go on with: {again}", wrap=False)
    if following:
        console.say(f"Next: {following}", wrap=False)
    if outcome.interrupted:
        raise SystemExit(INTERRUPTED)
    if outcome.stopped:
        raise SystemExit(2)
