"""`metal generate`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import click

import metal.api.generate as api
from metal.cli.asking import ASK, callbacks, finish
from metal.cli.verb import PATH, verb

if TYPE_CHECKING:
    from metal.api.asked import Generating


@verb(
    api.generate,
    click.Argument(["data"], metavar="[DATASET]", type=PATH, required=False),
    ASK,
    examples=r"""
        metal generate datasets/mine -m openai:gpt-4o --dry-run
        metal generate datasets/mine -m openai:gpt-4o,gemini:gemini-2.5-pro \
          -q good,bad,reference --max-cost 20
        metal generate --resume runs/mine-generate
    """,
)
def generate(ask: bool | None, **options: Any) -> None:
    from metal.data.text import duration
    from metal.show.terminal import asking_text, console

    run = api.generate(**options, callbacks=callbacks(ask))
    outcome, job = run.outcome, run.job
    if outcome.dry_run:
        asking_text.show_estimates(outcome.estimates, outcome.what, first_prompt=True)
        return
    _show_outputs(run)
    if job.plan.models:
        asking_text.show_calls(outcome.statistics, job.plan)
    for name, statistics in outcome.statistics.items():
        for line in asking_text.oddities(name, statistics, "no text"):
            console.say(line)
    _show_flags(run)
    for note in job.notes:
        console.say(f"note: {note}")
    replies = f"; the replies are in {run.folder}" if job.plan.models else ""
    console.say(f"In {job.folder}{replies} ({duration(outcome.seconds)})", wrap=False)
    not_asked = sum(statistics.not_asked for statistics in outcome.statistics.values())
    finish(run, "" if not_asked else f"metal annotate export {job.folder} --to html")


def _show_outputs(run: Generating) -> None:
    """A row a generator: texts, flagged and chosen ones."""
    from metal.show.terminal import console

    rows = []
    for name in dict.fromkeys(output.generator for output in run.job.outputs):
        texts = [output for output in run.job.outputs if output.generator == name]
        flagged, chosen = sum(bool(output.flags) for output in texts), sum(output.chosen for output in texts)
        statistics = run.outcome.statistics.get(name)  # None: of another run
        missing = f"{sum(statistics.kinds.values()) - statistics.answered:,}" if statistics else "-"
        model, _, quality = name.rpartition("/")
        rows.append([model or "people", quality, f"{len(texts):,}", missing, f"{flagged:,}", f"{chosen:,}"])
    if rows:
        console.table("Outputs", ["written by", "quality", "texts", "no text", "flagged", "chosen"], rows)


def _show_flags(run: Generating) -> None:
    """Why outputs are flagged, and where that leaves a source without one."""
    from metal.show.terminal import console

    reasons = Counter((output.generator, flag) for output in run.job.outputs for flag in output.flags)
    for (name, flag), count in sorted(reasons.items()):
        console.say(f"{name}: {count:,} flagged: {flag}")
    if reasons and not run.job.request.keep_flagged:
        console.say("Flagged outputs are kept but not chosen; --keep-flagged lets them be.")
    usable = {output.source for output in run.job.outputs if output.chosen}
    left = sorted({source.source for source in run.job.plan.sources} - usable)
    if left:
        listed = ", ".join(left[:3]) + (", ..." if len(left) > 3 else "")
        console.say(f"warning: {len(left):,} passages have no usable output to choose: {listed}")
