"""Verbs of probes: `metal probe plan`, `run` and `report`."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import metal
from metal.cli.analysis import analysis, run_folder
from metal.cli.judging import ASK, callbacks, finish
from metal.cli.printing import show_parts
from metal.cli.reading import read_and_say
from metal.cli.verb import DATASET, CommandGroup, verb
from metal.runs.kinds import kind_of
from metal.show.terminal import console

probe = CommandGroup("probe", short_help="Test judges with planted errors, without people.")


@verb(
    metal.probe_plan,
    DATASET,
    examples="""
        metal probe plan datasets/mine
        metal probe plan datasets/mine -n 30 --probes swapped-output,graded
        metal probe plan datasets/mine --aspect tone=language
    """,
)
def plan(data: Path, **options: Any) -> None:
    from metal.questions.design.planned import changes

    input_data, options = read_and_say(data, options)
    with console.progress("planning", "outputs") as advance:
        planned = metal.probe_plan(input_data, **options, progress=advance)
    show_parts(changes(planned.dataset, planned.made, planned.calls))
    for warning in planned.warnings:
        console.say(f"warning: {warning}")
    console.say(f"In {planned.folder}", wrap=False)
    run = run_folder(None, planned.folder, "-judges")
    console.say("Next, with a judge for JUDGE:", wrap=False)
    console.say(
        f"  metal judge {planned.folder} -j JUDGE && metal probe report {planned.folder} {run}",
        wrap=False,
    )


@verb(
    metal.probe_run,
    DATASET,
    ASK,
    examples="""
        metal probe run datasets/mine -j openai:gpt-4o-mini --dry-run
        metal probe run datasets/mine -j openai:gpt-4o-mini -n 30 -c task_quality
        metal probe run datasets/mine -j 'fake:blind?language=yo'
    """,
)
def run(data: Path, ask: bool | None, **options: Any) -> None:
    gc.disable()  # as `metal judge` does: enabled again when the run begins
    from metal.show.terminal import asking_text

    input_data, options = read_and_say(data, options)
    with callbacks(ask) as asked:
        judged = metal.probe_run(input_data, **options, callbacks=asked)
    if judged.outcome.dry_run:
        asking_text.show_estimates(judged.outcome.estimates, judged.outcome.what, first_prompt=True)
        return
    asking_text.show_judges(judged.outcome.statistics, judged.job.plan)
    asking_text.show_ratings(judged.job, judged.folder, judged.outcome.seconds)
    finish(judged, f"metal probe report {judged.job.folder} {judged.folder}")


report = analysis(kind_of("probe report"))
for command in (plan, run, report):
    probe.add_command(command)
