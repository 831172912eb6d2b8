"""`metal monitor`: how far each rater can be relied on, by test questions and by how others rate the same outputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from metal.cli import options
from metal.cli.monitor_simulate import simulate
from metal.cli.with_default import WithDefault


@click.command("monitor")
@options.dataset
@options.more_ratings
@click.option("--out", type=click.Path(path_type=Path), help="Run folder to write. [default: runs/DATASET-people]")
@click.option(
    "--model",
    default="rate-learned-2",
    show_default=True,
    metavar="MODEL",
    help="How noisy people are found: {rate,class}-{fixed,learned}-2, rate-{fixed,learned}-1, rate-jeffreys, "
    "rate-uniform. class-learned-2 is the paper's.",
)
@click.option(
    "--noisy-beta",
    default=4.5,
    show_default=True,
    type=click.FloatRange(min=0, min_open=True),
    help="Beta of the noisy component of the two fixed-2 models; 9.5 can flag people with four questions.",
)
@click.option(
    "--reference", default="", metavar="PEOPLE", help="Whom to look at: group=crowd, or rater=A1,A2. [default: all]"
)
@options.bootstrap
@options.seed
@options.as_json
@options.force
def watch(
    dataset: Path,
    ratings: tuple[Path, ...],
    out: Path | None,
    model: str,
    noisy_beta: float,
    reference: str,
    resamples: int,
    seed: int,
    as_json: bool,
    force: bool,
) -> None:
    """Say how far each rater of DATASET can be relied on, and name those who stand out, with the reason.

    Where test questions were hidden (`metal annotate export --test-questions`), a Beta-mixture model tells from the
    answers who is noisy: right in fewer than nine of ten, with a probability above 0.99. Positive and negative
    questions are modelled apart, and so is each language and criterion. RATINGS are runs of
    `metal judge --test-questions`: judges are examined by the same rule as people.

    Without test questions people can still be set beside those who rated the same outputs: how often they agree, how
    severe they are, whether they always say the same, and what Dawid-Skene and MACE make of their competence.

    Nothing is removed. `--exclude-noisy` of audit, billboard, leaderboard and design leaves noisy people out.

    \b
    Examples:
      metal monitor datasets/mine
      metal monitor datasets/mine runs/mine-judges --model class-learned-2
      metal monitor datasets/cnndm --reference group=crowd --json | jq .behaviour
      metal monitor simulate
    """
    from metal.building.store import read_compared, read_rounds
    from metal.data.folders import check_new
    from metal.data.people import people_named
    from metal.genie.exclusion import only_people
    from metal.genie.monitor_tables import monitor_signature, monitor_tables, monitor_warnings
    from metal.genie.monitoring import monitor as examined
    from metal.genie.noisy import find_model
    from metal.genie.store import read_tests
    from metal.runs.manifest import manifest
    from metal.runs.monitor_run import agreement_rows, write_monitor
    from metal.runs.parts import records
    from metal.show.terminal import console as show
    from metal.show.terminal import monitor_text

    find_model(model)
    out = out or Path("runs") / f"{dataset.resolve().name}-people"
    check_new(out, force=force)
    loaded = options.load(dataset, ratings)
    tests = read_tests(loaded, dataset, ratings)
    judges_only = len(tests.answers) and not any(rater.kind == "human" for rater in loaded.raters.values())
    people = () if judges_only and not reference else people_named(loaded, reference)
    found = examined(
        tests.answers,
        tests.questions,
        loaded.criteria,
        loaded.raters,
        model=model,
        noisy_beta=noisy_beta,
        seed=seed,
        comparative=read_compared(dataset),
    )
    with show.progress("comparing people") as advance:
        looked_at = only_people(loaded, people)
        all_tables = monitor_tables(
            looked_at,
            found,
            agreement=agreement_rows,
            rounds=read_rounds(dataset),
            resamples=resamples,
            seed=seed,
            progress=advance,
        )
    settings = {"model": model, "noisy_beta": noisy_beta, "reference": reference, "resamples": resamples, "seed": seed}
    signed = monitor_signature(loaded.identity, tests.digest, settings)
    about = manifest("monitor", loaded, [dataset, *ratings], settings, people, signed)
    noted = monitor_warnings(loaded, tests, found, people)
    write_monitor(out, all_tables, loaded, about, noted, force=force)
    if as_json:
        whole: dict[str, Any] = {"signature": about.signature, "run": str(out), "warnings": list(noted)}
        click.echo(json.dumps(whole | {name: records(table) for name, table in all_tables.items()}, indent=1))
        return
    monitor_text.show_monitor(all_tables, found, noted, dataset)
    show.say(f"Signature: {about.signature}", wrap=False)
    show.say(f"Report: {out / 'report.html'}", wrap=False)
    show.say(f"Written to {out}: report.html, tables/ (CSV, JSON, Parquet), run.toml", wrap=False)


monitor = WithDefault(default=watch, short_help="Say which raters can be relied on.")
monitor.add_command(simulate)
