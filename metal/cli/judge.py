"""`metal judge`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import metal.api.judge as api
from metal.cli.asking import ASK, callbacks, finish
from metal.cli.verb import PATH, Verb, verb
from metal.errors import NothingToDo


class _Judge(Verb):
    """`metal judge DATASET`, and `metal judge cancel RUN`."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if args[:1] == ["cancel"]:
            return cancel.make_context(f"{info_name} cancel", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@verb(
    api.judge,
    click.Argument(["data"], metavar="[DATASET]", type=PATH, required=False),
    ASK,
    cls=_Judge,
    without=("name",),
    examples=r"""
        metal judge datasets/demo -j openai:gpt-4o-mini -p simple --dry-run
        metal judge datasets/demo -j openai:gpt-4o,vertex:gemini-2.5-pro
        metal judge datasets/demo -j openai-compatible:qwen3 \
          --base-url http://127.0.0.1:8000/v1
        metal judge --resume runs/demo-judges
        metal judge datasets/demo -j openai:gpt-4o --batch
        metal judge datasets/demo -j majority,lexical --out runs/baselines
    """,
)
def judge(ask: bool | None, **options: Any) -> None:
    import gc

    gc.disable()  # loading makes objects that stay; enabled again when the run begins
    from metal.show.terminal import asking_text
    from metal.show.terminal import asking_text as judging_text

    run = api.judge(**options, callbacks=callbacks(ask))
    outcome, job = run.outcome, run.job
    if outcome.dry_run:
        asking_text.show_estimates(outcome.estimates, outcome.what, first_prompt=True)
        return
    judging_text.show_judges(outcome.statistics, job.plan)
    judging_text.show_ratings(job.ratings, job.unanswered, run.folder, outcome.seconds)
    finish(run, f"metal {'monitor' if job.questions else 'audit'} {job.folder} {run.folder}")


@verb(api.judge_cancel, click.Argument(["run"], type=PATH), short_help="Cancel the open batches of a run.")
def cancel(run: Path) -> None:
    from metal.show.terminal import asking_text as judging_text
    from metal.show.terminal import console

    try:
        ended = api.judge_cancel(run, callbacks=callbacks())
    except NothingToDo as nothing:
        console.say(str(nothing))
        return
    judging_text.show_judges(ended.outcome.statistics, ended.job.plan)
    judging_text.show_ratings(ended.job.ratings, ended.job.unanswered, run, ended.outcome.seconds)
    finish(ended, f"metal {'monitor' if ended.job.questions else 'audit'} {ended.job.folder} {run}")
