"""`metal audit`: how far judges can be trusted, per language and criterion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from metal.cli import options


@click.command(short_help="Compare judges with people, per language.")
@options.dataset
@options.more_ratings
@click.option("--out", type=click.Path(path_type=Path), help="Run folder to write. [default: runs/DATASET]")
@options.names("--judges", "-j", what="Judges to audit; default all in the data.")
@options.names("--criteria", "-c", what="Criteria; default all that have levels.")
@options.names("--languages", "-l", what="Languages; default all.")
@click.option("--reference", default="", metavar="GROUP", help="Compare with this group of people only, e.g. expert.")
@click.option(
    "--aggregate",
    default="majority-or-mean",
    show_default=True,
    type=click.Choice(["majority-or-mean", "majority-or-middle", "majority", "dawid-skene", "mace"]),
    help="How the people's ratings of an item become one label: the majority, and without one the mean, the middle or "
    "none; or the most probable label of a model that weighs people by how they agree.",
)
@click.option(
    "--min-raters",
    default=0,
    type=click.IntRange(min=0),
    metavar="N",
    help="People an item needs to count. [default: the usual panel, at most 3]",
)
@click.option(
    "--epsilon",
    type=click.FloatRange(0, 1, max_open=True),
    help="How much worse than a person a judge may be in the alternative annotator test. "
    "[default: 0.2 where the people are of group expert, 0.1 crowd, else 0.15]",
)
@click.option("--wilcoxon", is_flag=True, help="Test people with fewer than 30 items too, by Wilcoxon's test.")
@options.exclude_noisy
@click.option("--paper-compat", is_flag=True, help="Print kappa of one class as 0.0, as METAL's Table 6 does.")
@options.bootstrap
@options.seed
@options.as_json
@options.force
def audit(
    dataset: Path,
    ratings: tuple[Path, ...],
    out: Path | None,
    judges: tuple[str, ...],
    criteria: tuple[str, ...],
    languages: tuple[str, ...],
    reference: str,
    aggregate: str,
    min_raters: int,
    epsilon: float | None,
    wilcoxon: bool,
    exclude_noisy: str,
    paper_compat: bool,
    resamples: int,
    seed: int,
    as_json: bool,
    force: bool,
) -> None:
    """Compare the judges in DATASET with its people, language by language.

    Prints, for each criterion, weighted F1 of every judge with its 95% interval and Cohen's kappa, between
    what people reach and what always answering the most frequent class reaches; then a verdict for each
    judge, language and criterion. RATINGS are run folders (from `metal judge`) whose ratings are added.

    Everything is also written to the run folder: report.html, a page to look at and to pass on; tables/ as CSV,
    JSON and Parquet (people, judges, verdicts, differences, class_distribution by language and overall, and METAL's
    table_3 and table_6); disagreements.parquet, every output on which judges and people differ, with the texts
    and comments; run.toml, all that is needed to repeat it.

    \b
    Examples:
      metal audit datasets/pariksha
      metal audit datasets/pariksha -c task_quality -l hi,ta --json | jq .verdicts
      metal audit datasets/demo runs/baselines --out runs/demo
    """
    from metal.auditing.audit import audit as run
    from metal.auditing.settings import AuditSettings
    from metal.data.folders import check_new
    from metal.genie.excluding import warnings_of_tests, with_exclusions, without_noisy
    from metal.running.judging import doubts
    from metal.runs.audit_run import write_audit
    from metal.runs.manifest import manifest
    from metal.runs.parts import records
    from metal.show.terminal import audit_text
    from metal.show.terminal import console as show

    out = out or Path("runs") / dataset.resolve().name
    check_new(out, force=force)
    settings = AuditSettings(
        judges=judges,
        criteria=criteria,
        languages=languages,
        reference=reference,
        aggregate=aggregate,
        min_raters=min_raters,
        epsilon=epsilon,
        small="wilcoxon" if wilcoxon else "leave out",
        resamples=resamples,
        seed=seed,
        paper_compat=paper_compat,
        exclude_noisy=exclude_noisy,
    )
    whole_dataset = options.load(dataset, ratings)
    loaded, excluded = without_noisy(whole_dataset, dataset, ratings, exclude_noisy)
    with show.progress("auditing") as advance:
        found = run(loaded, settings, progress=advance)
    first = [doubt for path in ratings for doubt in doubts(path, loaded)]
    first += warnings_of_tests(whole_dataset, dataset, ratings)
    if excluded and excluded.outputs and not min_raters:
        first.append(
            f"{excluded.outputs:,} outputs lost a rating on a criterion; those left with fewer people than the usual "
            "panel count as incomplete. --min-raters 2 keeps those with two"
        )
    found = with_exclusions(found, excluded, first)
    about = manifest("audit", loaded, [dataset, *ratings], settings.to_dict(), found.judges, found.signature)
    write_audit(out, found, loaded, about, force=force)
    if as_json:
        import json

        whole: dict[str, Any] = {"signature": found.signature, "run": str(out), "warnings": list(found.warnings)}
        whole |= {name: records(table) for name, table in found.tables.items()}
        click.echo(json.dumps(whole, indent=1, ensure_ascii=False))
        return
    audit_text.show_audit(found, loaded)
    show.say(f"Report: {out / 'report.html'}", wrap=False)
    show.say(
        f"Written to {out}: report.html, tables/ (CSV, JSON, Parquet), disagreements.parquet, run.toml", wrap=False
    )
