"""Carrying out `metal judge`: what it will cost, the run itself with its progress, and how it ended."""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click

from metal.cli import judging_text, show
from metal.cli.judge_folder import Finished, Wired, begin, check_place, check_request, discard, finish, models_of
from metal.errors import MetalError, UsageError
from metal.judges.call import VERDICT
from metal.judges.collect import collect, lines_to_reuse
from metal.judges.cost import Estimate, check_priced, estimates
from metal.judges.journal import FILE as JOURNAL
from metal.judges.journal import Journal, lock_run, scan
from metal.judges.lines import Answered, look_through
from metal.judges.providers import open_client
from metal.judges.runner import Rules, Run
from metal.judges.secrets import Secrets

INTERRUPTED = 130
EVERY = 0.25  # seconds between two looks at the progress


@dataclass(frozen=True)
class Wish:
    """How a run is to be carried out, as the command line says."""

    dry_run: bool = False
    max_cost: float | None = None
    ask: bool | None = None
    limit: int | None = None
    reuse: tuple[Path, ...] = ()
    force: bool = False


def carry_out(wired: Wired, out: Path, wish: Wish) -> None:
    """`metal judge`, from the estimate to the closing table. Exits with 130 when interrupted, 2 when a judge stops."""
    if wish.max_cost is not None:
        check_priced(wired.plan.models)
    for other in wish.reuse:
        if not (other / JOURNAL).is_file():
            raise UsageError(f"--reuse {other}: no {JOURNAL} there; give a run folder of metal judge")
    if wish.dry_run:
        judging_text.show_estimates(_estimates(wired, _known(wired, out, wish), wish), wired, first_prompt=True)
        return
    _warn_of_texts(wired)
    asyncio.run(_check_clients(wired))
    made = not out.exists()
    check_place(out, force=wish.force)
    with lock_run(out):
        try:
            answered = _ask_first(wired, out, wish)
        except (MetalError, click.Abort):
            if made:
                discard(out)
            raise
        begin(out, wired, force=wish.force)
        began = time.monotonic()
        run = asyncio.run(_run(wired, out, answered, wish)) if wired.plan.models else None
        finished = finish(out, wired)
    judging_text.show_finished(finished, wired, out, time.monotonic() - began)
    _end(run, finished, wired, out, wish)


async def _check_clients(wired: Wired) -> None:
    """Keys, addresses and libraries are there, before anything is written."""
    for model in wired.plan.models:
        await open_client(model).close()


def _estimates(wired: Wired, answered: Answered, wish: Wish) -> list[Estimate]:
    known = answered.settled
    for run in wish.reuse:
        known = known | {bytes.fromhex(key) for key, kind, _, _ in scan(run / JOURNAL) if kind == VERDICT}
    return estimates(wired.plan, known, wish.limit)


def _known(wired: Wired, out: Path, wish: Wish) -> Answered:
    """What the run in the folder answers already; nothing when it is to be replaced."""
    if wish.force:
        return Answered()
    check_request(out, wired)
    return look_through(out / JOURNAL, wired.request.reask)


def _ask_first(wired: Wired, out: Path, wish: Wish) -> Answered:
    """Say what is to come, and in a terminal ask before anything is spent; what is answered already."""
    answered = _known(wired, out, wish)
    coming = _estimates(wired, answered, wish)
    answered.begins = {one.model.name: one.begins for one in coming}
    if not sum(one.calls for one in coming):
        return answered
    judging_text.show_estimates(coming, wired)
    ask = wish.ask if wish.ask is not None else sys.stdin.isatty()
    spends = [one for one in coming if one.calls and one.cost != 0]
    if ask and spends and not click.confirm("Go on?", default=False):
        raise UsageError("nothing was sent")
    return answered


def _warn_of_texts(wired: Wired) -> None:
    plan = wired.plan
    if plan.models and plan.without_text == len(plan.outputs):
        raise UsageError(f"{wired.folder} has ratings but no texts of its outputs; LLM judges need the texts")
    if plan.without_text:
        show.say(f"warning: {plan.without_text:,} outputs have no text and are not judged")
    if plan.models and plan.without_source:
        show.say(f"warning: {plan.without_source:,} outputs are judged without their source, whose text is missing")


# ---------------------------------------------------------------- the run


async def _run(wired: Wired, out: Path, answered: Answered, wish: Wish) -> Run:
    secrets = Secrets.of(wired.plan.models)
    journal = Journal(out / JOURNAL)
    gc.freeze()
    gc.enable()
    try:
        _reuse(wired, journal, answered, wish)
        rules = Rules(wired.request.reask, limit=wish.limit, max_cost=wish.max_cost)
        if wish.max_cost is not None:  # of the whole run, whatever sessions it took
            found = collect(wired.plan, out / JOURNAL)
            prices = {name: model.price for name, model, _ in models_of(wired)}
            answered.spent = sum(tally.cost(prices[name]) or 0.0 for name, tally in found.tallies.items())
        run = Run(wired.plan, journal, answered, rules, open_client, secrets)
        restore = _stop_on_interrupt(run)
        try:
            await _with_progress(run)
        finally:
            restore()
    finally:
        await journal.close()
    return run


def _reuse(wired: Wired, journal: Journal, answered: Answered, wish: Wish) -> None:
    """Take over other runs' verdicts, with the run they come from."""
    journals = [run / JOURNAL for run in wish.reuse if (run / JOURNAL).resolve() != journal.path.resolve()]
    taken = 0
    for key, line in lines_to_reuse(wired.plan, journals, answered.settled) if journals else ():
        journal.append(line.rstrip(b"\n")[:-1] + b',"reused":true}', lambda: None)
        answered.settled.add(key)
        taken += 1
    if wish.reuse:
        show.say(f"{taken:,} answers taken from {', '.join(map(str, wish.reuse))}")


def _stop_on_interrupt(run: Run) -> Callable[[], None]:
    """Ctrl-C begins no more calls; a second one drops those in flight. Returns what undoes this."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()

    def interrupted() -> None:
        if run.stopping.is_set() and task:
            if not task.cancelling():
                task.cancel()
            return
        run.stop()
        flying = sum(judge.asking.pace.in_flight for judge in run.judges)
        print(f"\nfinishing {flying} calls in flight; Ctrl-C again to drop them", file=sys.stderr)

    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, interrupted)
    except NotImplementedError:  # Windows: Ctrl-C ends the program at once; the journal has what arrived
        return lambda: None

    def restore() -> None:
        if run.stopping.is_set():  # what follows is short, and a further Ctrl-C would only break into it
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)

    return restore


async def _with_progress(run: Run) -> None:
    with judging_text.progress(run) as look:
        working = asyncio.create_task(run.go())
        try:
            while not working.done():
                look()
                await asyncio.wait([working], timeout=EVERY)
            look()
            await working
        except asyncio.CancelledError:
            working.cancel()
            await asyncio.wait([working])
            if not run.stopping.is_set():
                raise


# ---------------------------------------------------------------- the end


def _end(run: Run | None, finished: Finished, wired: Wired, out: Path, wish: Wish) -> None:
    """What to do next; exit codes for a run that is not whole."""
    stopped = [one for one in run.progress if one.stopped] if run else []
    missing = sum(tally.not_asked for tally in finished.tallies.values())
    failed = sum(tally.failed for tally in finished.tallies.values())
    again = f"metal judge --resume {out}" + (f" --max-cost {wish.max_cost:g}" if wish.max_cost is not None else "")
    if run and run.over_budget:
        show.say("Stopped before --max-cost was exceeded.")
    for one in stopped:
        print(f"metal: {one.model.name} stopped: {show.clean(one.stopped)}", file=sys.stderr)
    if missing or failed:
        parts = [f"{missing:,} calls not made"] * bool(missing) + [f"{failed:,} failed"] * bool(failed)
        show.say(f"{' and '.join(parts)}. Go on with: {again}", wrap=False)
    show.say(f"Next: metal audit {wired.folder} {out}", wrap=False)
    if run and run.stopping.is_set():
        raise SystemExit(INTERRUPTED)
    if stopped:
        raise SystemExit(2)
