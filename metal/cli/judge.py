"""`metal judge`: judges rate every output of a dataset."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from metal.cli import options


@click.command(short_help="Let judges rate every output.")
@options.dataset
@options.names("--judge", "-j", what="Judge to run: majority, random, lexical. May be given several times.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Run folder to write, e.g. runs/baselines.")
@options.seed
@options.force
def judge(dataset: Path, judge: tuple[str, ...], out: Path, seed: int, force: bool) -> None:
    """Let judges rate every output of DATASET on every criterion.

    So far the judges are baselines, the floor that an LLM judge has to beat. They need no network:

    \b
      majority  the people's most frequent class in the other languages (with one
                language: in other folds); never fitted on the items it rates
      random    a seeded draw with those class frequencies
      lexical   transparent rules on overlap, length, repetition and script

    The ratings are written to a run folder, which `metal audit DATASET RUN` adds to the dataset's own.

    \b
    Example:
      metal judge datasets/demo --judge majority,lexical --out runs/baselines
      metal audit datasets/demo runs/baselines
    """
    from metal.cli import show
    from metal.cli.run_folder import manifest, write_judgements
    from metal.judges.baselines import BASELINES, run_baselines

    loaded = options.load(dataset)
    chosen = judge or tuple(BASELINES)
    raters, facts = run_baselines(loaded, chosen, seed=seed)
    about = manifest("judge", loaded, [dataset], {"judges": list(chosen), "seed": seed}, chosen)
    write_judgements(out, raters, facts, about, force=force)
    answered = int(facts["score"].notna().sum())
    show.say(f"{len(facts):,} ratings by {', '.join(chosen)} ({answered:,} answered) in {out}")
    missing = facts[facts["score"].isna()]
    for (rater, reason), count in Counter(zip(missing["rater"], missing["reason"], strict=True)).items():
        show.say(f"  {rater}: {count:,} without an answer ({reason})")
    show.say(f"Next: metal audit {dataset} {out}", wrap=False)
