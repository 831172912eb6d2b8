"""Asking models, for whatever command: what it will cost, the run itself with its progress, and how it ended."""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import click

from metal.errors import MetalError, UsageError
from metal.raters.judges.call import VERDICT, RunPlan
from metal.raters.judges.cluster.shards import journals, merge_leftovers
from metal.raters.judges.cost import Estimate, check_priced, estimates
from metal.raters.judges.engine import Engine, Rules, Session, load_engine
from metal.raters.judges.journal import FILE as JOURNAL
from metal.raters.judges.journal import Journal, lock_run, scan
from metal.raters.judges.journal_records import Answered, read_answered
from metal.raters.judges.run_statistics import CallStatistics, index_journal, verdicts_to_reuse
from metal.raters.judges.secrets import Secrets
from metal.running.asking_folder import check_place, discard
from metal.running.engines import BATCH, RAY, How, under_way
from metal.show.terminal import asking_text
from metal.show.terminal import console as show

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
    how: How = field(default_factory=How)


class Job(Protocol):
    """What a command wants to have asked, and what it makes of the answers."""

    @property
    def command(self) -> str:
        """As it is typed after `metal`."""
        ...

    @property
    def plan(self) -> RunPlan: ...

    @property
    def reask(self) -> int:
        """How often to ask again after a reply that does not hold what was asked for."""
        ...

    def what(self) -> str:
        """What is to be asked, in a few words."""
        ...

    def check(self, out: Path) -> None:
        """Raises UsageError when the run that is in the folder is no older part of this one."""
        ...

    def begin(self, out: Path, *, force: bool) -> None:
        """Write what the run is to run.toml, with force in the place of another run."""
        ...

    def finish(self, out: Path) -> Mapping[str, CallStatistics]:
        """Make of the journal what the command is for, and write it."""
        ...

    def show(self, tallies: Mapping[str, CallStatistics], out: Path, seconds: float) -> None:
        """Say what came of it."""
        ...

    def following(self, out: Path) -> str:
        """The command to type next; empty when this one is not done."""
        ...


def carry_out(job: Job, out: Path, wish: Wish) -> None:
    """A job, from the estimate to what came of it. Exits with 130 when interrupted, 2 when a model stops."""
    if wish.max_cost is not None:
        check_priced(job.plan.models)
    for other in wish.reuse:
        if not (other / JOURNAL).is_file():
            raise UsageError(f"--reuse {other}: no {JOURNAL} there; give a run folder of metal {job.command}")
    if wish.dry_run:
        waiting = set() if wish.force else under_way(out, wish.how)
        if waiting:
            show.say(f"{len(waiting):,} calls are in open batches.")
        coming = _estimates(job, _known(job, out, wish), waiting, wish)
        asking_text.show_estimates(coming, job.what(), first_prompt=True)
        return
    asyncio.run(load_engine(wish.how.engine).check(job.plan.models, wish.how))
    made = not out.exists()
    check_place(out, job.command, force=wish.force)
    with lock_run(out):
        try:
            if not wish.force:
                merge_leftovers(out)
            answered = _ask_first(job, out, wish)
        except (MetalError, click.Abort):
            if made:
                discard(out)
            raise
        job.begin(out, force=wish.force)
        began = time.monotonic()
        run = asyncio.run(_run(job, out, answered, wish)) if job.plan.models else None
        tallies = job.finish(out)
    job.show(tallies, out, time.monotonic() - began)
    _end(run, tallies, job, out, wish)


def _estimates(job: Job, answered: Answered, waiting: set[bytes], wish: Wish) -> list[Estimate]:
    known = answered.settled | waiting
    for run in wish.reuse:
        for path in journals(run):
            known = known | {bytes.fromhex(key) for key, kind, _, _ in scan(path) if kind == VERDICT}
    return estimates(job.plan, known, wish.limit, batch=wish.how.engine == BATCH)


def _known(job: Job, out: Path, wish: Wish) -> Answered:
    """What the run in the folder answers already; nothing when it is to be replaced."""
    if wish.force:
        return Answered()
    job.check(out)
    return read_answered(job.reask, *journals(out))


def _ask_first(job: Job, out: Path, wish: Wish) -> Answered:
    """Say what is to come, and in a terminal ask before anything is spent; what is answered already."""
    waiting = under_way(out, wish.how)
    if waiting and wish.force:
        raise UsageError(f"{out}: {len(waiting):,} calls are in open batches; `metal judge cancel {out}` comes first")
    answered = _known(job, out, wish)
    if wish.how.cancelling:
        show.say(f"{len(waiting):,} calls are in open batches; cancelling them, and fetching what has been answered.")
        return answered
    if waiting:
        show.say(f"{len(waiting):,} calls are in open batches; their answers are fetched as they come.")
    coming = _estimates(job, answered, waiting, wish)
    if not waiting:
        answered.begins = {one.model.name: one.begins for one in coming}
    if not sum(one.calls for one in coming):
        return answered
    asking_text.show_estimates(coming, job.what())
    ask = wish.ask if wish.ask is not None else sys.stdin.isatty()
    spends = [one for one in coming if one.calls and one.cost != 0]
    if ask and spends and not click.confirm("Go on?", default=False):
        raise UsageError("nothing was sent")
    return answered


# ---------------------------------------------------------------- the run


async def _run(job: Job, out: Path, answered: Answered, wish: Wish) -> Engine:
    secrets = Secrets.of(job.plan.models)
    journal = Journal(out / JOURNAL)
    gc.freeze()
    gc.enable()
    try:
        _reuse(job, journal, answered, wish)
        rules = Rules(job.reask, limit=wish.limit, max_cost=wish.max_cost)
        if wish.max_cost is not None:  # of the whole run, whatever sessions it took
            prices = {model.name: (model.price, model.batch_price) for model in job.plan.models}
            tallies = index_journal(job.plan, out / JOURNAL).statistics
            spent = (tallies[name].cost(*prices[model]) for (model, _), name in job.plan.names.items())
            answered.spent = sum(dollars or 0.0 for dollars in spent)
        run = load_engine(wish.how.engine)(Session(job.plan, journal, answered, rules, secrets, out, wish.how))
        restore = _stop_on_interrupt(run)
        try:
            await _with_progress(run)
        finally:
            restore()
    finally:
        await journal.close()
    return run


def _reuse(job: Job, journal: Journal, answered: Answered, wish: Wish) -> None:
    """Take over other runs' verdicts, with the run they come from."""
    others = [run for run in wish.reuse if run.resolve() != journal.path.parent.resolve()]
    paths = [path for run in others for path in journals(run)]
    taken = 0
    for key, line in verdicts_to_reuse(job.plan, paths, answered.settled) if paths else ():
        journal.append(line.rstrip(b"\n")[:-1] + b',"reused":true}')
        answered.settled.add(key)
        taken += 1
    if wish.reuse:
        show.say(f"{taken:,} answers taken from {', '.join(map(str, wish.reuse))}")


def _stop_on_interrupt(run: Engine) -> Callable[[], None]:
    """Ctrl-C begins no more calls; a second one drops those in flight. Returns what undoes this."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()

    def interrupted() -> None:
        if run.stopping.is_set() and task:
            if not task.cancelling():
                task.cancel()
            return
        print(f"\n{run.stop()}", file=sys.stderr)

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


async def _with_progress(run: Engine) -> None:
    with asking_text.progress(run) as look:
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


def _end(run: Engine | None, tallies: Mapping[str, CallStatistics], job: Job, out: Path, wish: Wish) -> None:
    """What to do next; exit codes for a run that is not whole."""
    stopped = [one for one in run.progress if one.stopped] if run else []
    waiting = sum(one.under_way for one in run.progress) if run else 0
    missing = sum(tally.not_asked for tally in tallies.values()) - waiting
    failed = sum(tally.failed for tally in tallies.values())
    again = f"metal {job.command} --resume {out}" + (
        f" --max-cost {wish.max_cost:g}" if wish.max_cost is not None else ""
    )
    if wish.how.engine == RAY:
        again += " --engine ray" + (f" --address {wish.how.address}" if wish.how.address else "")
    if run and run.over_budget and missing:  # batches may have come to less than was set aside for them
        show.say("Stopped before --max-cost was exceeded; it is of the whole run: to go on, raise it.")
    for one in stopped:
        print(f"metal: {one.model.name} stopped: {show.clean(one.stopped)}", file=sys.stderr)
    unused = sum(one.unused for one in run.progress) if run else 0
    if unused:
        show.say(f"warning: {unused:,} answers are to calls that the run no longer has (their texts have changed)")
    if waiting:
        show.say(f"{waiting:,} calls are with the provider. Fetch their answers with: {again}", wrap=False)
        show.say(f"Or cancel them with: metal {job.command} cancel {out}", wrap=False)
    if missing or failed:
        parts = [f"{missing:,} calls not made"] * bool(missing) + [f"{failed:,} failed"] * bool(failed)
        show.say(f"{' and '.join(parts)}. Go on with: {again}", wrap=False)
    following = job.following(out)
    if following:
        show.say(f"Next: {following}", wrap=False)
    if run and run.stopping.is_set():
        raise SystemExit(INTERRUPTED)
    if stopped:
        raise SystemExit(2)
