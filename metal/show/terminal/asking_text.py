"""What is printed while models are asked: estimates, progress, and remarks on calls and judges."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from metal.data.text import UNDEFINED, dollars, duration, listed, thousands
from metal.raters.judges.call import BUSY, DROPPED, REFUSED, SERVER, TOO_LONG, VERDICT, RunPlan
from metal.raters.judges.collect import CallStatistics
from metal.raters.judges.limits import CostEstimate
from metal.raters.judges.plan import JudgingPlan
from metal.raters.judges.reader import OFF_SCALE, UNPARSABLE
from metal.show.replies import quoted
from metal.show.terminal import console as show
from metal.show.terminal.stages import per_second

if TYPE_CHECKING:
    from metal.raters.judges.engine import Engine, Progress
    from metal.running.judging import JudgeJob

NAME = 20  # letters of a judge's name in the progress
AWAITED = 40  # letters of what is waited for: a provider's words
QUIET_EVERY = 30.0  # seconds between two lines of progress where there is no terminal


def show_estimates(
    coming: Sequence[CostEstimate], what: str, *, first_prompt: bool = False
) -> None:
    """Show the estimated calls, tokens, cost and time, one row per model.

    first_prompt: whether to show the first prompt that would be sent.
    """
    if not any(estimate.calls for estimate in coming):
        show.say(
            f"No calls to make: {what}{', all answered or under way' if coming else ''}. Nothing"
            " was sent."
        )
        return
    rows = []
    for estimate in coming:
        time = duration(estimate.seconds)
        if estimate.calls and estimate.batch:
            time = "within 24 h"
        elif estimate.calls and not estimate.seconds:
            time = UNDEFINED
        rows.append(
            [
                estimate.model.name,
                f"{estimate.calls:,}",
                f"{estimate.answered:,}",
                thousands(estimate.tokens_in),
                thousands(estimate.tokens_out),
                dollars(estimate.cost),
                time,
            ]
        )
    show.table(
        f"Calls to make: {what}",
        ["model", "calls", "known", "tokens in", "tokens out", "cost", "time"],
        rows,
        note=_estimate_note(coming),
    )
    first = next((estimate.first for estimate in coming if estimate.first), None)
    if first_prompt and first:
        show.console().print()
        show_message(first.message.system, first.message.user)  # exactly what is sent
        show.say("Nothing was sent.")


def _estimate_note(coming: Sequence[CostEstimate]) -> str:
    dates = sorted(
        {
            estimate.model.price.as_of
            for estimate in coming
            if estimate.model.price and estimate.model.price.as_of
        }
    )
    notes = ["Tokens, cost and time are estimates; tokens may be off by a third."]
    if thinking := [
        estimate.model.name for estimate in coming if estimate.model.thoughts and estimate.calls
    ]:
        notes.append(
            f"How much {listed(thinking)} will think (part of tokens out) is a guess; the first"
            " replies correct it."
        )
    if any(estimate.batch for estimate in coming):
        notes.append(
            "Batch prices; each judge's first question is asked directly, to check that it answers."
        )
    if dates:
        notes.append(f"List prices of {', '.join(dates)}; put your own into judges.toml.")
    if any(estimate.cost is None for estimate in coming):
        notes.append(f"{UNDEFINED}: price not known; give it in judges.toml.")
    return " ".join(notes)


def show_message(system: str, user: str) -> None:
    """Print the two messages of a prompt; an empty message is skipped."""
    for title, text in (("system", system), ("user", user)):
        if text:
            show_block(title, text)


def show_block(title: str, text: str, read_from: Sequence[tuple[int, int]] = ()) -> None:
    """Print a text that was sent or that came back, under its title.

    read_from: the passages that decided a verdict. They are highlighted, or repeated below the text
    where the output has no styles.
    """
    show.say(f"[{title}]", bold=True, wrap=False)
    show.verbatim(text, read_from)
    if read_from and not show.console().color_system:
        show.verbatim(f"read from: {quoted(text, read_from)}")
    show.say("")


# ---------------------------------------------------------------- progress


@contextmanager
def progress(run: Engine) -> Iterator[Callable[[], None]]:
    """Show progress on standard error: one bar per model in a terminal, elsewhere a line now and
    then.
    """
    if not sys.stderr.isatty():
        yield _quiet(run)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    name, more = (
        TextColumn(f"{{task.{part}}}", markup=False) for part in ("description", "fields[more]")
    )
    columns = (name, BarColumn(bar_width=10), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, more, console=Console(stderr=True), transient=True) as bars:
        tasks = [
            bars.add_task(
                _short(show.clean(state.model.name)),
                total=state.total,
                completed=state.done + state.arriving,
                more="",
            )
            for state in run.progress
        ]
        began = time.monotonic()

        def look() -> None:
            for task, state in zip(tasks, run.progress, strict=True):
                bars.update(
                    task,
                    completed=state.done + state.arriving,
                    more=_progress_words(state, time.monotonic() - began),
                )

        yield look


def _quiet(run: Engine) -> Callable[[], None]:
    began = last = time.monotonic()
    last_shown: dict[str, tuple[int, str]] = {}

    def look() -> None:
        nonlocal last
        if time.monotonic() - last < QUIET_EVERY:
            return
        last = time.monotonic()
        for state in run.progress:
            now = state.done + state.arriving, state.awaited
            if last_shown.get(state.model.name) != now:  # a batch may be waited for all day
                last_shown[state.model.name] = now
                print(_progress_line(state, last - began), file=sys.stderr)

    return look


def _progress_line(state: Progress, seconds: float) -> str:
    answered = sum(state.kinds.values())
    left = "unknown time"
    if answered:
        left = duration((state.total - state.done) * seconds / answered)
    here = f"{state.done + state.arriving:,} of {state.total:,}"
    speed = _progress_words(state, seconds)
    return f"{show.clean(state.model.name)}: {here}, {left} left, {speed}"


# Kinds of trouble in the progress, where every letter counts; the closing lines have them in full.
BRIEF = {BUSY: "429", SERVER: "5xx", DROPPED: "lost", OFF_SCALE: "off-scale", TOO_LONG: "long"}


def _short(name: str) -> str:
    return name if len(name) <= NAME else "..." + name[3 - NAME :]


def _progress_words(state: Progress, seconds: float) -> str:
    """The progress of a model in a few words: `12 calls/s $0.40 429:12 refused:3`."""
    answered = sum(state.kinds.values())
    counted = answered and seconds > 0 and not state.under_way  # batches come all at once
    parts = [per_second(answered / seconds, " calls") if counted else ""]
    if state.model.price:
        parts.append(dollars(state.cost))
    troubles: Counter[str] = Counter()
    for kind, count in (*state.kinds.items(), *state.retries.items()):
        if kind != VERDICT:
            troubles[BRIEF.get(kind, kind.split()[0])] += count
    parts += [f"{kind}:{count}" for kind, count in troubles.most_common(3)]
    return " ".join(filter(None, [*parts, show.clean(state.awaited)[:AWAITED]]))


# ---------------------------------------------------------------- the end


def show_calls(tallies: Mapping[str, CallStatistics], plan: RunPlan) -> None:
    """Show tokens, cost and latency, one row per model and prompt."""
    prices = {model.name: (model.price, model.batch_price) for model in plan.models}
    rows = []
    for (model, prompt), name in plan.names.items():
        tally = tallies[name]
        latencies = (
            UNDEFINED if seconds is None else f"{seconds:.2f} s"
            for seconds in map(tally.latency, (50, 95))
        )
        tokens = (thousands(tally.tokens_in), thousands(tally.tokens_out))
        rows.append([model, prompt, *tokens, dollars(tally.cost(*prices[model])), *latencies])
    show.table("Calls", ["model", "prompt", "tokens in", "out", "cost", "p50", "p95"], rows)


def oddities(name: str, tally: CallStatistics, missing: str = "no score") -> Iterator[str]:
    """Remarks on unusual answers of a model and prompt.

    missing: the word for replies without an answer.
    """
    reasons = {kind: count for kind, count in tally.kinds.items() if kind != "verdict"}
    if reasons:
        listed = ", ".join(
            f"{count:,} {kind}"
            for kind, count in sorted(reasons.items(), key=lambda pair: -pair[1])
        )
        yield f"{name}: {missing}: {listed}"
    for parameter, answer in tally.rejected.items():
        yield f"{name}: asked without {parameter}, which the model rejects ({answer})"
    if len(tally.versions) > 1:
        listed = ", ".join(
            f"{version} ({count:,})" for version, count in tally.versions.most_common()
        )
        yield f"warning: {name}: several model versions answered: {listed}"
    if tally.wavering:
        yield (
            f"{name}: {tally.wavering:,} replies name another score besides the one that counts,"
            " or a range"
        )
    for why, count in tally.unsure.items():
        yield f"{name}: {count:,} answers without a probability: {why}"
    if tally.asked_again:
        yield f"{name}: {tally.asked_again:,} replies came only when asked again"
    if tally.reused:
        yield f"{name}: {tally.reused:,} answers reused from other runs"
    if tally.uncounted:
        yield (
            f"{name}: {tally.uncounted:,} replies without token counts; tokens and cost are too low"
        )


def show_judges(tallies: Mapping[str, CallStatistics], plan: JudgingPlan) -> None:
    """Show the closing tables, one row per judge, and remarks on unusual answers."""
    rows = []
    for name in plan.names.values():
        tally = tallies[name]
        kinds = [
            tally.answered,
            tally.kinds[UNPARSABLE] + tally.kinds[OFF_SCALE],
            tally.kinds[REFUSED],
        ]
        rest = sum(tally.kinds.values()) - sum(kinds)
        rows.append(
            [name, *(f"{count:,}" for count in (*kinds, rest, tally.retried + tally.asked_again))]
        )
    if rows:
        show.table(
            "Answers", ["judge", "answered", "unparsable", "refused", "other", "retried"], rows
        )
        show_calls(tallies, plan)
    for name in plan.names.values():
        for line in oddities(name, tallies[name]):
            show.say(line)


def show_ratings(job: JudgeJob, out: Path, seconds: float) -> None:
    """Show how many ratings there are, whether any has a score, and what baselines did not
    answer.
    """
    for (name, reason), count in job.unanswered.items():
        show.say(f"{name}: {count:,} replies without an answer ({reason})")
    if job.scored:
        missing = (
            f", {job.ratings - job.scored:,} of them without a score"
            if job.scored < job.ratings
            else ""
        )
        show.say(f"{job.ratings:,} ratings in {out}{missing} ({duration(seconds)})", wrap=False)
