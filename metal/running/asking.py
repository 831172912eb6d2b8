"""Carry out a job: the estimate, the run with its progress, and its results.

This module prints nothing and asks nobody: a run reports and asks through `Callbacks`.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Any, TypeVar

from metal.data.progress import Progress, no_progress
from metal.data.replacing import check_new
from metal.data.run_toml import read_run_toml
from metal.data.text import plural
from metal.errors import Declined, UsageError
from metal.raters.judges.call import BLOCKED, FAILING, TOO_LONG, VERDICT, JudgeStopped
from metal.raters.judges.cluster.shards import journals, merge_leftovers
from metal.raters.judges.collect import CallStatistics, index_journal, verdicts_to_reuse
from metal.raters.judges.engine import (
    BATCH,
    LOCAL,
    Engine,
    EngineOptions,
    Rules,
    Session,
    load_engine,
)
from metal.raters.judges.fake import FAKE
from metal.raters.judges.functions import PROVIDER as FUNCTION
from metal.raters.judges.journal import FILE as JOURNAL
from metal.raters.judges.journal import Answered, Journal, lock_run, read_answered, scan
from metal.raters.judges.limits import CostEstimate, check_priced, estimates
from metal.raters.judges.secrets import Secrets
from metal.running.job import MAX_COST, Job, check_place, clear, discard, under_way

EVERY = 0.25  # seconds between two looks at the progress
Value = TypeVar("Value")


@contextmanager
def unwatched(engine: Engine) -> Iterator[Callable[[], None]]:
    """A watcher that shows nothing."""
    yield lambda: None


@dataclass(frozen=True)
class Callbacks:
    """How a run reports and asks. By default it stays silent and continues.

    say: called with each note or warning. estimated: called before anything is sent, with the
    expected calls, tokens and cost, and with what they are about. confirm: says whether to continue
    if something has to be paid. watch: a context manager that is entered with the engine while it
    works; the function that it returns is called again and again to show the progress. progress:
    called before and after the calls are made. interrupted: called with what a first Ctrl-C led to.
    signals: whether Ctrl-C, SIGTERM and SIGHUP stop the run in good order; only in the main thread.
    """

    say: Callable[[str], None] = lambda line: None
    estimated: Callable[[Sequence[CostEstimate], str], None] = lambda estimates, what: None
    confirm: Callable[[Sequence[CostEstimate]], bool] = lambda estimates: True
    watch: Callable[[Engine], AbstractContextManager[Callable[[], None]]] = unwatched
    progress: Progress = no_progress
    interrupted: Callable[[str], None] = lambda line: None
    signals: bool = False


@dataclass(frozen=True)
class Terms:
    """The terms on which a job is carried out.

    reuse: run folders whose answers are taken over without paying for them again.
    """

    dry_run: bool = False
    max_cost: float | None = None
    limit: int | None = None
    reuse: tuple[Path, ...] = ()
    force: bool = False
    how: EngineOptions = field(default_factory=EngineOptions)


@dataclass(frozen=True)
class Outcome:
    """The result of a job.

    estimates: the calls and cost expected before it began. statistics: statistics of the answers,
    by judge or generator; empty for a dry run. stopped: models that could not continue, with the
    reason. waiting: calls that are with the provider. missing: calls that were not made. failed:
    calls without a reply. unused: answers to calls that the run no longer has.
    """

    what: str
    estimates: Sequence[CostEstimate]
    statistics: Mapping[str, CallStatistics] = field(default_factory=dict)
    stopped: Mapping[str, str] = field(default_factory=dict)
    waiting: int = 0
    missing: int = 0
    failed: int = 0
    unused: int = 0
    over_budget: bool = False
    interrupted: bool = False
    dry_run: bool = False
    seconds: float = 0.0

    @property
    def answered(self) -> bool:
        """Whether any reply contains a usable answer, in this session or an earlier one."""
        return any(each.answered for each in self.statistics.values())

    @property
    def kept_in_vain(self) -> bool:
        """Whether there are replies that may have been paid for, but no usable answer
        among them.
        """
        return not self.answered and any(
            each.heard or each.kept_bodies for each in self.statistics.values()
        )

    @property
    def complete(self) -> bool:
        """Whether every call has been made and answered."""
        return not (self.dry_run or self.missing or self.waiting or self.stopped)


def run_to_end(work: Coroutine[Any, Any, Value]) -> Value:
    """Run a coroutine to its end, also if this thread is inside an event loop (as in notebooks)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def with_kept_limit(out: Path, terms: Terms, say: Callable[[str], None]) -> Terms:
    """The terms with the limit of cost that a run was begun with, unless another is stated; an
    infinite limit is none.
    """
    limit = terms.max_cost
    if limit is None and not terms.force:
        limit = read_run_toml(out)["settings"].get(MAX_COST)
        if limit is not None:
            say(
                f"The run may cost ${limit:g} in all, which is the limit it was begun with; "
                "`max_cost` changes that, and inf removes the limit."
            )
    return replace(terms, max_cost=None if limit == inf else limit)


async def carry_out(job: Job, out: Path, terms: Terms, callbacks: Callbacks) -> Outcome:
    """Carry out a job, from the estimate to the result. Nothing is sent before `callbacks.confirm`
    agrees.

    Raises UsageError if the folder, the terms or the answer of `confirm` forbid it. Raises
    JudgeStopped if no call of a new run was answered; nothing is left behind then.
    """
    _check_terms(job, out, terms)
    if terms.dry_run:
        return _estimated_only(job, out, terms, callbacks)
    engine = load_engine(terms.how.engine)
    models = [model for model in job.plan.models if model.provider not in (FUNCTION, FAKE)]
    if terms.how.engine != LOCAL and len(models) < len(job.plan.models):
        raise UsageError(
            "functions and synthetic judges are called in this process; leave out `engine` and"
            " `batch`"
        )
    await engine.check(models, terms.how)
    new = not out.exists()
    check_place(out, job.command, force=terms.force)
    with lock_run(out, stoppable=callbacks.signals):
        try:
            if not terms.force:
                await merge_leftovers(out)
            answered, coming = _prepare(job, out, terms, callbacks)
        except BaseException:
            if new:
                discard(out)
            raise
        job.expect(coming, terms.limit, terms.max_cost)
        job.begin(out, force=terms.force)
        began = time.monotonic()
        ended = (
            await _run(engine, job, out, answered, terms, callbacks) if job.plan.models else None
        )
        if (new or terms.force) and ended and (why := _in_vain(job, out, ended)):
            clear(out)
            discard(out)
            raise JudgeStopped(f"{why.removesuffix('.')}. No call was answered; {out} was not kept")
        statistics = job.finish(out, callbacks.progress)
    return _outcome(job, coming, ended, statistics, time.monotonic() - began)


def _check_terms(job: Job, out: Path, terms: Terms) -> None:
    """Raise UsageError for terms that the job or the folders do not allow."""
    if terms.max_cost is not None:
        check_priced(job.plan.models)
    if terms.force:
        check_new(out, job.command, force=True)
    for run in terms.reuse:
        if not (run / JOURNAL).is_file():
            raise UsageError(
                f'`reuse="{run}"`: no {JOURNAL} there; give a run folder of `metal.{job.command}`'
            )


def _estimated_only(job: Job, out: Path, terms: Terms, callbacks: Callbacks) -> Outcome:
    """The result of a dry run: the calls that remain to be made, and their cost."""
    waiting = set() if terms.force else under_way(out, terms.how)
    if waiting:
        callbacks.say(f"{len(waiting):,} calls are in open batches.")
    answered = _answered_before(job, out, terms)
    coming = _estimates(job, answered, waiting, terms, callbacks.progress)
    return Outcome(job.what(), coming, dry_run=True)


def _estimates(
    job: Job, answered: Answered, waiting: set[bytes], terms: Terms, progress: Progress
) -> list[CostEstimate]:
    keys = answered.settled | waiting
    for run in terms.reuse:
        for path in journals(run):
            keys = keys | {bytes.fromhex(key) for key, kind, _, _ in scan(path) if kind == VERDICT}
    return estimates(
        job.plan, keys, terms.limit, batch=terms.how.engine == BATCH, progress=progress
    )


def _answered_before(job: Job, out: Path, terms: Terms) -> Answered:
    """The answers that the run in the folder already has; none if it is to be replaced."""
    if terms.force:
        return Answered()
    job.check(out)
    return read_answered(job.request.reask, *journals(out))


def _prepare(
    job: Job, out: Path, terms: Terms, callbacks: Callbacks
) -> tuple[Answered, list[CostEstimate]]:
    """Read the existing answers, estimate the remaining calls, and have somebody agree to pay for
    them.
    """
    waiting = under_way(out, terms.how)
    answered = _answered_before(job, out, terms)
    if terms.how.cancelling:
        callbacks.say(
            f"{len(waiting):,} calls are in open batches; they are cancelled, and the answers so "
            f"far are fetched."
        )
        return answered, []
    if waiting:
        callbacks.say(
            f"{len(waiting):,} calls are in open batches; their answers are fetched as they come."
        )
    coming = _estimates(job, answered, waiting, terms, callbacks.progress)
    if not waiting:
        answered.begins = {estimate.model.name: estimate.begins for estimate in coming}
    if sum(estimate.calls for estimate in coming):
        callbacks.estimated(coming, job.what())
        paid = [estimate for estimate in coming if estimate.calls and estimate.cost != 0]
        if paid and not callbacks.confirm(paid):
            raise Declined("nothing was sent")
    return answered, coming


# ---------------------------------------------------------------- the run


async def _run(
    kind: type[Engine], job: Job, out: Path, answered: Answered, terms: Terms, callbacks: Callbacks
) -> Engine:
    secrets = Secrets.of(job.plan.models)
    journal = Journal(out / JOURNAL)
    if not gc.isenabled():  # the command line keeps it off while it loads what stays
        gc.freeze()
        gc.enable()
    try:
        _reuse(job, journal, answered, terms, callbacks)
        rules = Rules(job.request.reask, limit=terms.limit, max_cost=terms.max_cost)
        if terms.max_cost is not None:  # of the whole run, whatever sessions it took
            prices = {model.name: (model.price, model.batch_price) for model in job.plan.models}
            statistics = index_journal(job.plan, out / JOURNAL).statistics
            costs = (
                statistics[name].cost(*prices[model]) for (model, _), name in job.plan.names.items()
            )
            answered.spent = sum(cost or 0.0 for cost in costs)
        engine = kind(
            Session(job.plan, journal, answered, rules, secrets, out, terms.how, job.open_client)
        )
        restore = _stop_on_interrupt(engine, callbacks) if callbacks.signals else lambda: None
        try:
            await _watched(engine, callbacks)
        finally:
            restore()
    finally:
        await journal.close()
    return engine


def _reuse(
    job: Job, journal: Journal, answered: Answered, terms: Terms, callbacks: Callbacks
) -> None:
    """Take over answers of other runs, and record from which run each comes."""
    others = [run for run in terms.reuse if run.resolve() != journal.path.parent.resolve()]
    paths = [path for run in others for path in journals(run)]
    taken = 0
    for key, line in verdicts_to_reuse(job.plan, paths, answered.settled) if paths else ():
        journal.append(line.rstrip(b"\n")[:-1] + b',"reused":true}')
        answered.settled.add(key)
        taken += 1
    if terms.reuse:
        callbacks.say(f"{taken:,} answers taken from {', '.join(map(str, terms.reuse))}")


def _stop_on_interrupt(engine: Engine, callbacks: Callbacks) -> Callable[[], None]:
    """Make Ctrl-C and SIGTERM stop further calls, and a second one drop the calls in flight.
    Returns a function that undoes this.

    A terminal that closes may send SIGHUP twice, and can no longer be written to, so the calls in
    flight are finished in silence. With nohup, SIGHUP has no effect.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    screens = list(filter(os.isatty, (1, 2)))

    def interrupted() -> None:
        if engine.stopping.is_set() and task:
            if not task.cancelling():
                task.cancel()
            return
        callbacks.interrupted(engine.stop())

    def hung_up() -> None:
        for number in screens:
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)
        if not engine.stopping.is_set():
            interrupted()

    handlers = {signal.SIGINT: interrupted, signal.SIGTERM: interrupted}
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        handlers[signal.SIGHUP] = hung_up
    try:
        for number, handler in handlers.items():
            loop.add_signal_handler(number, handler)
    # Windows: Ctrl-C ends the program at once; the journal has what arrived
    except NotImplementedError:
        return lambda: None

    def restore() -> None:
        # what follows is short, and a further Ctrl-C would only break into it
        if engine.stopping.is_set():
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            loop.add_signal_handler(signal.SIGINT, lambda: None)  # another thread may get it
        else:
            loop.remove_signal_handler(signal.SIGINT)
        loop.remove_signal_handler(signal.SIGTERM)  # and SIGHUP stays harmless to the end
        # the loop closes the file first, and what arrives before it knows would complain
        signal.set_wakeup_fd(-1)

    return restore


async def _watched(engine: Engine, callbacks: Callbacks) -> None:
    with callbacks.watch(engine) as look:
        working = asyncio.create_task(engine.go())
        try:
            while not working.done():
                look()
                await asyncio.wait([working], timeout=EVERY)
            look()
            await working
        except asyncio.CancelledError:
            working.cancel()
            await asyncio.wait([working])
            if not engine.stopping.is_set():
                raise


def _in_vain(job: Job, out: Path, engine: Engine) -> str:
    """Why every question failed for every model; empty if something was answered, may have been
    paid for, or may still come.
    """
    if job.answers_itself or engine.stopping.is_set() or engine.over_budget:
        return ""
    if any(state.under_way or not FAILING.issuperset(state.kinds) for state in engine.progress):
        return ""
    statistics = index_journal(job.plan, out / JOURNAL).statistics
    if any(each.heard or each.kept_bodies for each in statistics.values()):
        return ""
    return "; ".join(f"{model}: {why}" for model, why in _stopped(job, engine, statistics).items())


def _stopped(job: Job, engine: Engine, statistics: Mapping[str, CallStatistics]) -> dict[str, str]:
    """Models that could not continue, or whose calls all failed, with the reason."""
    reasons = {}
    for state in engine.progress:
        model = state.model.name
        of_model = [
            statistics[name] for (asked, _), name in job.plan.names.items() if asked == model
        ]
        failures = sum((each.failures for each in of_model), Counter[str]())
        if state.stopped:
            reasons[model] = state.stopped
        elif state.kinds and failures and not any(each.heard for each in of_model):
            [(reason, _)] = failures.most_common(1)
            reasons[model] = (
                f"{plural(sum(state.kinds.values()), 'call')} failed and none was answered:"
                f" {reason}"
            )
    return reasons


def _without_answer(job: Job, statistics: Mapping[str, CallStatistics]) -> dict[str, str]:
    """Models that gave no usable answer, with what they gave instead.

    A question that is too long, or that the provider's filter blocks, gets no reply at all.
    """
    reasons = {}
    for model in job.plan.models:
        of_model = [
            statistics[name] for (asked, _), name in job.plan.names.items() if asked == model.name
        ]
        replies = sum(each.replies + each.reused for each in of_model)
        kinds = sum((each.kinds for each in of_model), Counter[str]())
        held_back = kinds[BLOCKED] + kinds[TOO_LONG]
        if kinds[VERDICT] or not (replies or held_back):
            continue
        counted = ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())
        came = f"{plural(replies, 'reply', 'replies')} came, but none has a {job.wanted}"
        if not replies:
            came = f"{plural(held_back, 'question')} got no reply"
        reasons[model.name] = f"{came}: {counted}"
    return reasons


def _outcome(
    job: Job,
    coming: Sequence[CostEstimate],
    engine: Engine | None,
    statistics: Mapping[str, CallStatistics],
    seconds: float,
) -> Outcome:
    progress = engine.progress if engine else []
    waiting = sum(model.under_way for model in progress)
    stopped = _stopped(job, engine, statistics) if engine else {}
    if engine and not waiting:
        stopped = _without_answer(job, statistics) | stopped
    return Outcome(
        job.what(),
        coming,
        statistics,
        stopped=stopped,
        waiting=waiting,
        missing=sum(each.not_asked for each in statistics.values()) - waiting,
        failed=sum(each.failed for each in statistics.values()),
        unused=sum(model.unused for model in progress),
        over_budget=bool(engine and engine.over_budget),
        interrupted=bool(engine and engine.stopping.is_set()),
        seconds=seconds,
    )
