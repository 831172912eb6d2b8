"""Verbs that ask models, `metal judge` and `metal generate`: what they print, and how they ask
before spending.
"""

from __future__ import annotations

import gc
import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import metal
from metal.api.read import reading_of
from metal.cli.printing import show_parts
from metal.cli.verb import VERBOSE, Verb, verb
from metal.data.text import duration
from metal.errors import NothingToDo
from metal.show.commands import typed_options
from metal.show.terminal import console

if TYPE_CHECKING:
    from metal.api.asked import Judging
    from metal.questions.generate.run import Generating
    from metal.raters.judges.engine import Engine
    from metal.raters.judges.limits import CostEstimate
    from metal.running.asking import Callbacks

ASK = click.Option(
    ["--ask/--yes"], default=None, help="Ask before spending. [default: ask in a terminal]"
)


@contextmanager
def callbacks(ask: bool | None = None) -> Iterator[Callbacks]:
    """Show notes, estimates and progress; in a terminal, ask before anything is paid."""
    from metal.running.asking import Callbacks
    from metal.show.terminal import asking_text

    asking = sys.stdin.isatty() if ask is None else ask
    with ExitStack() as bar:  # beside nothing else that is printed
        advances = [bar.enter_context(console.progress("planning", "questions"))]

        def without_bar(function: Callable[..., Any]) -> Callable[..., Any]:
            def printing(*arguments: Any) -> Any:
                bar.close()
                return function(*arguments)

            return printing

        @contextmanager
        def watch(engine: Engine) -> Iterator[Callable[[], None]]:
            bar.close()
            with asking_text.progress(engine) as look:
                yield look
            advances.append(bar.enter_context(console.progress("reading answers")))

        yield Callbacks(
            say=without_bar(console.say),
            estimated=without_bar(asking_text.show_estimates),
            confirm=without_bar(_confirm) if asking else lambda estimates: True,
            watch=watch,
            progress=lambda done, total: advances[-1](done, total),
            interrupted=without_bar(lambda line: print(f"\n{line}", file=sys.stderr)),
            signals=True,
        )


def _confirm(estimates: Sequence[CostEstimate]) -> bool:
    """Ask for consent. Ctrl-C ends the question; the event loop's own handling of Ctrl-C would wait
    for the answer.
    """
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return click.confirm("Continue?", default=False)
    finally:
        signal.signal(signal.SIGINT, usual)


def finish(run: Judging | Generating, following: str) -> None:
    """Print what to do next. Exits with 130 if interrupted, 2 if a model stopped.

    following: the command to type next; empty while this run is unfinished.
    """
    outcome = run.outcome
    again = _to_go_on(run)
    if outcome.over_budget and outcome.missing:
        console.say(
            "Stopped before --max-cost was exceeded. The limit holds for the whole run; the command"
            " below raises it."
        )
    for model, why in outcome.stopped.items():
        names = [name for (asked, _), name in run.job.plan.names.items() if asked == model]
        open_calls = sum(outcome.statistics[name].not_asked for name in names)
        counted = f" ({open_calls:,} calls not made)" if open_calls else ""
        print(f"metal: {model} stopped{counted}: {console.clean(why)}", file=sys.stderr)
    if outcome.unused:
        texts = "belong to calls that the run no longer has, because texts have changed"
        console.say(f"warning: {outcome.unused:,} answers {texts}")
    _say_what_is_left(run, again)
    if following and (outcome.answered or run.job.answers_itself or not run.job.plan.models):
        console.say(f"Next: {following}", wrap=False)
    if outcome.interrupted:
        raise SystemExit(130)
    if outcome.stopped:
        raise SystemExit(2)


def _to_go_on(run: Judging | Generating) -> str:
    """The command that continues a run. If a cost limit stopped the run, the command raises it to
    1.1 times what the rest may cost.
    """
    outcome, terms = run.outcome, run.terms
    again = f"metal {run.job.command} --resume {run.folder}"
    limit = terms.max_cost
    if limit is not None:
        # batches may have come to less than was set aside for them
        if outcome.over_budget and outcome.missing:
            rest = sum(estimate.cost or 0.0 for estimate in outcome.estimates)
            calls = sum(estimate.calls for estimate in outcome.estimates)
            share = outcome.missing / max(calls, outcome.missing)
            limit = float(f"{1.1 * (limit + rest * share):.2g}")
        again += f" --max-cost {limit:g}"
    if terms.how.engine == "ray":
        again += " --engine ray"
        if terms.how.address:
            again += f" --address {terms.how.address}"
    return again


def _say_what_is_left(run: Judging | Generating, again: str) -> None:
    """Print which calls are waiting, were not made or failed, how to continue, and which replies
    without a score were kept.
    """
    outcome, command = run.outcome, run.job.command
    if outcome.waiting:
        console.say(
            f"{outcome.waiting:,} calls are with the provider. Fetch their answers with: {again}",
            wrap=False,
        )
        console.say(f"Or cancel them with: metal {command} cancel {run.folder}", wrap=False)
    left = []
    if outcome.missing:
        left.append(f"{outcome.missing:,} calls not made")
    if outcome.failed:
        left.append(f"{outcome.failed:,} failed")
    if left:
        when = (
            "Once that is fixed, continue"
            if outcome.kept_in_vain and outcome.stopped
            else "Continue"
        )
        console.say(f"{' and '.join(left)}. {when} with: {again}", wrap=False)
    if outcome.kept_in_vain:
        see = f"; see them with: metal replies {run.folder}" if command == "judge" else ""
        console.say(
            f"The replies that came may have cost money; they are kept in {run.folder}{see}",
            wrap=False,
        )


class _Judge(Verb):
    """`metal judge DATASET`, and `metal judge cancel RUN`."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        if args[:1] == ["cancel"]:
            return cancel.make_context(f"{info_name} cancel", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@verb(
    metal.judge,
    ASK,
    cls=_Judge,
    without=("name",),
    examples=r"""
        metal judge datasets/demo -j openai:gpt-4o-mini -p simple --dry-run
        metal judge datasets/demo -j openai:gpt-4o,vertex:gemini-2.5-pro
        metal judge datasets/demo -j openai-compatible:qwen3 \
          --base-url http://127.0.0.1:8000/v1
        metal judge --resume runs/demo-judges
        metal judge --resume runs/demo-judges -j openai:gpt-4.1
        metal judge datasets/demo -j openai:gpt-4o --batch
        metal judge datasets/demo -j majority,lexical --out runs/baselines
    """,
)
def judge(ask: bool | None, **options: Any) -> None:
    gc.disable()  # loading makes objects that stay; enabled again when the run begins
    from metal.show.terminal import asking_text

    with callbacks(ask) as asking:
        run = metal.judge(**options, callbacks=asking)
    if run.outcome.dry_run:
        asking_text.show_estimates(run.outcome.estimates, run.outcome.what, first_prompt=True)
        return
    _finish_judging(run)


@verb(metal.judge_cancel, short_help="Cancel the open batches of a run.")
def cancel(run: Path) -> None:
    try:
        with callbacks() as asking:
            cancelled = metal.judge_cancel(run, callbacks=asking)
    except NothingToDo as nothing:
        console.say(str(nothing))
        return
    _finish_judging(cancelled)


def _finish_judging(run: Judging) -> None:
    """Print how each judge did, how many ratings there are, and what to do next."""
    from metal.show.terminal import asking_text

    job = run.job
    if (
        job.plan.models
        and run.outcome.complete
        and not any(estimate.calls for estimate in run.outcome.estimates)
    ):
        add = f"metal judge --resume {run.folder} --judge NAME"
        console.say(f"The run is complete; nothing was asked. To add a judge: {add}", wrap=False)
    asking_text.show_judges(run.outcome.statistics, job.plan)
    asking_text.show_ratings(job, run.folder, run.outcome.seconds)
    following = ["metal", "monitor" if job.questions else "audit", str(job.folder), str(run.folder)]
    finish(run, shlex.join([*following, *typed_options(reading_of(run.folder))]))


@verb(
    metal.generate,
    ASK,
    VERBOSE,
    examples=r"""
        metal generate datasets/mine -m openai:gpt-4o --dry-run
        metal generate datasets/mine -m openai:gpt-4o,gemini:gemini-2.5-pro \
          -q good,bad,reference --max-cost 20
        metal generate --resume runs/mine-generate
    """,
)
def generate(ask: bool | None, verbose: bool, **options: Any) -> None:
    from metal.show.pages import screen
    from metal.show.terminal import asking_text

    with callbacks(ask) as asking:
        run = metal.generate(**options, callbacks=asking)
    outcome, job = run.outcome, run.job
    if outcome.dry_run:
        asking_text.show_estimates(outcome.estimates, outcome.what, first_prompt=True)
        return
    if run.texts:
        show_parts(screen(run.texts, verbose=verbose))
    if job.plan.models:
        asking_text.show_calls(outcome.statistics, job.plan)
    for name, statistics in outcome.statistics.items():
        for line in asking_text.oddities(name, statistics, "no text"):
            console.say(line)
    for note in job.notes:
        console.say(f"note: {note}")
    replies = f"; the replies are in {run.folder}" if job.plan.models else ""
    console.say(f"In {job.folder}{replies} ({duration(outcome.seconds)})", wrap=False)
    console.say(f"Report: {run.folder / 'report.html'}", wrap=False)
    finish(run, "")
