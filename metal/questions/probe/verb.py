"""`metal.probe_plan`, `probe_run`, `probe_report`: find what a judge is blind to, even if nobody
speaks the language.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from metal.api.options import (
    BaseUrl,
    Concurrency,
    DryRun,
    Force,
    Languages,
    Limit,
    MaxCost,
    Names,
    Option,
    Pairs,
    Progress,
    PromptFolders,
    Seed,
    StrPath,
    documented,
    documented_by,
    names,
    no_progress,
    settings_of,
)
from metal.api.read import load
from metal.api.reading import ReadingOptions
from metal.auditing.settings import AuditSettings
from metal.errors import UsageError

if TYPE_CHECKING:
    from metal.api.asked import Judging
    from metal.api.read import Data, Ratings
    from metal.questions.probe.run import ProbePlan, ProbeReport
    from metal.running.asking import Callbacks

PLAN = "probe plan"  # the verb that writes a dataset
Probes = Annotated[
    Names,
    Option(
        (
            "Changes to make, by name or kind: certain, graded, invariant, bait. [default: all"
            " but graded]"
        ),
        metavar="NAME",
    ),
]
Criteria = Annotated[Names, Option("Criteria; default all.", "-c")]
PerLanguage = Annotated[int, Option("Outputs to change per language.", "-n", metavar="N", least=1)]
Aspects = Annotated[
    Pairs | None,
    Option(
        "What a criterion of your own looks at: language, content, task, facts, safety, overall.",
        metavar="CRITERION=ASPECT",
        flag="--aspect",
    ),
]


@documented
def probe_plan(
    data: Data,
    *,
    probes: Probes = (),
    criteria: Criteria = (),
    languages: Languages = (),
    per_language: PerLanguage = 60,
    aspects: Aspects = None,
    out: Annotated[
        StrPath | None, Option("Dataset folder to write. [default: datasets/DATASET-probes]")
    ] = None,
    seed: Seed = 0,
    force: Force = False,
    progress: Progress | None = None,
    **reading: Unpack[ReadingOptions],
) -> ProbePlan:
    """Change outputs in ways with a known effect, so that judges (or people) rate them along with
    the originals.

    There are four kinds of change. Certain changes are noticed by any reader of the language:
    another item's output, an empty output, a wrong language or script, half of the output, other
    figures. Graded changes damage a share of the words or letters. Invariant changes alter nothing
    that matters (encoding, quotation marks, bold type). Baits must not raise a score: an order to
    the judge, in English and in the item's language, and padding. In scripts without blanks between
    words, changes apply to what a reader sees as a character.

    The dataset holds originals and changed outputs, and records the expected effect of each change.
    `metal.probe_run` plans and judges in one step.

    Args:
        data: A dataset folder, a table of ratings with texts, or a dataset from `metal.read`.
        progress: Called with the number of outputs done and of all outputs.

    Returns:
        The dataset, which is written to `out`, and how many outputs were changed.

    Raises:
        UsageError: If there is nothing to change.
        UnknownName: For a probe, criterion, language or aspect that does not exist.

    Example:
        metal.probe_plan("datasets/news", probes=["negation"], per_language=50)
    """
    from metal.building.probe_plan import plan_probes
    from metal.building.probes import load_probes
    from metal.data.dataset import save_dataset
    from metal.questions.probe.run import ProbePlan

    inputs = load(data, (), reading)
    planned = plan_probes(
        inputs.dataset,
        load_probes(names(probes)),
        languages=names(languages),
        criteria=names(criteria),
        aspects=aspects,
        per_language=per_language,
        seed=seed,
        progress=progress or no_progress,
    )
    folder = Path(out) if out else Path("datasets") / f"{inputs.name}-probes"
    dataset = replace(planned.dataset, folder=folder)
    save_dataset(dataset, folder, force=force, maker=PLAN)
    return ProbePlan(dataset, folder, planned.made, planned.warnings)


@documented
def probe_run(
    data: Data,
    judge: Annotated[
        Names, Option("Judge to probe: openai:gpt-4o, or a name in judges.toml.", "-j")
    ],
    *,
    probes: Probes = (),
    prompt: Annotated[Names, Option("Prompt: simple, detailed, or your own.", "-p")] = "detailed",
    criteria: Criteria = (),
    languages: Languages = (),
    per_language: PerLanguage = 60,
    aspects: Aspects = None,
    folder: Annotated[
        StrPath | None,
        Option("Dataset folder of the probes. [default: datasets/DATASET-probes]", metavar="DIR"),
    ] = None,
    out: Annotated[
        StrPath | None, Option("Run folder. [default: runs/DATASET-probes-judges]")
    ] = None,
    dry_run: DryRun = False,
    max_cost: MaxCost = None,
    limit: Limit = None,
    prompt_folders: PromptFolders = (),
    base_url: BaseUrl = "",
    concurrency: Concurrency = None,
    seed: Seed = 0,
    callbacks: Callbacks | None = None,
    **reading: Unpack[ReadingOptions],
) -> Judging:
    """Make a dataset of probes (see `metal.probe_plan`), and have judges rate it (see
    `metal.judge`).

    To continue an interrupted run, repeat the call or use `metal.judge(resume=RUN)`; nothing is
    paid for twice. If you repeat the call with more judges, only the new judges are asked.
    `metal.probe_report(FOLDER, RUN)` shows which changes a judge misses.

    Args:
        data: As in `metal.probe_plan`.
        callbacks: As in `metal.judge`.

    Returns:
        The run of the judges.

    Raises:
        UnknownName, DataError, JudgeStopped: As in the two functions.
        UsageError: If `folder` holds another dataset.

    Example:
        run = metal.probe_run("datasets/news", "openai:gpt-4o", per_language=50)
        metal.probe_report(run.folder.parent, run)
    """
    import tempfile

    from metal.api.judging import judge as ask
    from metal.data.dataset import load_dataset, save_dataset

    inputs = load(data, (), reading)
    home = Path(folder) if folder else Path("datasets") / f"{inputs.name}-probes"
    asked: dict[str, Any] = {
        "probes": probes,
        "criteria": criteria,
        "languages": languages,
        "aspects": aspects,
    }
    asked |= {"per_language": per_language, "seed": seed}
    with tempfile.TemporaryDirectory() as temporary:
        advance = callbacks.progress if callbacks else None
        plan = probe_plan(
            inputs.dataset, **asked, out=Path(temporary) / home.name, progress=advance
        )
    if home.exists():
        if load_dataset(home).outputs != plan.dataset.outputs:
            raise UsageError(
                f"{home} holds other probes than these; pass another `folder`, or move it away"
            )
    elif not dry_run:
        save_dataset(plan.dataset, home, maker=PLAN)
    if callbacks:
        for warning in plan.warnings:
            callbacks.say(f"warning: {warning}")
    run = Path(out) if out else Path("runs") / f"{home.resolve().name}-judges"
    terms: dict[str, Any] = {
        "dry_run": dry_run,
        "max_cost": max_cost,
        "limit": limit,
        "concurrency": concurrency,
    }
    terms |= {"prompt_folders": prompt_folders, "base_url": base_url, "callbacks": callbacks}
    return ask(
        home if home.exists() else plan.dataset,
        judge,
        prompt=prompt,
        out=run,
        **terms,
    )


@documented_by(AuditSettings)
def probe_report(
    data: Data,
    *ratings: Ratings,
    judges: Names = (),
    criteria: Criteria = (),
    languages: Names = (),
    reference: Annotated[
        str,
        Option(
            "People who show which changes can be noticed: group=expert, or rater=A1,A2.",
            metavar="PEOPLE",
        ),
    ] = "",
    seed: int = 0,
    progress: Progress | None = None,
    **reading: Unpack[ReadingOptions],
) -> ProbeReport:
    """Show which changes a judge misses, in each language. Nobody has to speak the language.

    For each change you get how often the clean output has the better score (A, ties as half; 0.5 is
    chance), the change of the score, and how much more the judge sees it on this criterion than on
    criteria that the change does not concern. A judge is blind if it is shown to notice fewer than
    half of the changes, lured if a bait raises its scores, and moved if something that does not
    matter changes them. The chance that any of these words is wrong about a judge is at most 5%. A
    probe never shows that a judge is good.

    Graded changes count only if people rated the changed outputs and are shown to notice the
    changes.

    Args:
        data: A dataset folder of `metal.probe_plan`, or such a dataset; `ratings` are runs of
            judges on it.
        progress: Called with the number of parts done and of all parts.

    Returns:
        The tables `probes` and `trends` (whether scores fall with the dose), plots and the page.
        Nothing is written before `save`.

    Raises:
        UsageError: For a dataset without probes, or without judges.

    Example:
        metal.probe_report("datasets/news-probes", "runs/news-probes-judges").probes
    """
    from metal.questions.probe.compute import probe_tables
    from metal.questions.probe.run import ProbeReport

    settings = settings_of(AuditSettings, locals())
    inputs = load(data, ratings, reading)
    dataset = inputs.dataset
    report = probe_tables(dataset, settings, progress=progress or no_progress)
    asked = {"reference": reference, "seed": seed}
    return inputs.result(ProbeReport, dataset, asked, report, report.tables["probes"]["judge"])
