"""`metal.audit`: how far judges can be trusted, per language and criterion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from metal.api.options import (
    ExcludeNoisy,
    Judges,
    Languages,
    Names,
    Option,
    Progress,
    Resamples,
    Seed,
    documented,
    names,
)

if TYPE_CHECKING:
    from metal.api.audit_result import Audit
    from metal.api.inputs import Data, Ratings

Aggregate = Literal["majority-or-mean", "majority-or-middle", "majority", "dawid-skene", "mace"]


@documented
def audit(
    data: Data,
    *ratings: Ratings,
    judges: Judges = (),
    criteria: Annotated[Names, Option("Criteria; default all that have levels.", "-c")] = (),
    languages: Languages = (),
    reference: Annotated[
        str, Option("Compare with these people only: group=expert, or rater=A1,A2.", metavar="PEOPLE")
    ] = "",
    aggregate: Annotated[
        Aggregate,
        Option(
            "How the people's ratings of an item become one label: the majority, and without one the mean, the middle "
            "or none; or the most probable label of a model that weighs people by how they agree.",
            choices=("majority-or-mean", "majority-or-middle", "majority", "dawid-skene", "mace"),
        ),
    ] = "majority-or-mean",
    min_raters: Annotated[
        int,
        Option("People an item needs to count. [default: the usual panel, at most 3]", metavar="N", least=0),
    ] = 0,
    epsilon: Annotated[
        float | None,
        Option(
            "How much worse than a person a judge may be in the alternative annotator test. "
            "[default: 0.2 where the people are of group expert, 0.1 crowd, else 0.15]",
            least=0,
            most=1,
        ),
    ] = None,
    wilcoxon: Annotated[bool, Option("Test people with fewer than 30 items too, by Wilcoxon's test.")] = False,
    exclude_noisy: ExcludeNoisy = "",
    paper_compat: Annotated[bool, Option("Print kappa of one class as 0.0, as METAL's Table 6 does.")] = False,
    resamples: Resamples = 2000,
    seed: Seed = 0,
    progress: Progress | None = None,
) -> Audit:
    """Compare the judges in `data` with its people, language by language.

    For each criterion there is the weighted F1 of every judge with its 95% interval and Cohen's kappa, between what
    people reach and what always answering the most frequent class reaches; then a verdict for each judge, language and
    criterion. `ratings` are run folders (from `metal.judge`) whose ratings are added.

    data: a dataset folder, a table of ratings (file or DataFrame), or a dataset from `metal.read`. progress: called
    with the cells done and the cells in all.

    Returns the audit: verdicts, judges, people and all other tables as DataFrames, plots, the page. Nothing is written
    before `save`. Raises UsageError where no criterion has two people, and what `metal.read` raises.
    """
    from metal.api.audit_result import Audit
    from metal.api.inputs import load
    from metal.auditing.audit import audit as audited
    from metal.auditing.settings import AuditSettings
    from metal.genie.excluding import warnings_of_tests, with_exclusions, without_noisy
    from metal.runs.judges_run import doubts

    settings = AuditSettings(
        judges=names(judges),
        criteria=names(criteria),
        languages=names(languages),
        reference=reference,
        aggregate=aggregate,
        min_raters=min_raters,
        epsilon=epsilon,
        wilcoxon=wilcoxon,
        resamples=resamples,
        seed=seed,
        paper_compat=paper_compat,
        exclude_noisy=exclude_noisy,
    )
    inputs = load(data, ratings)
    dataset, excluded = without_noisy(inputs.dataset, inputs.folder, inputs.runs, exclude_noisy)
    result = audited(dataset, settings, progress=progress)
    warnings = [doubt for run in inputs.runs for doubt in doubts(run, dataset)]
    warnings += warnings_of_tests(inputs.dataset, inputs.folder, inputs.runs)
    if excluded and excluded.outputs and not min_raters:
        warnings.append(
            f"{excluded.outputs:,} outputs lost a rating on a criterion; those left with fewer people than the usual "
            "panel count as incomplete. `min_raters=2` keeps those with two"
        )
    result = with_exclusions(result, excluded, warnings)
    manifest = inputs.manifest("audit", dataset, settings.to_dict(), result.judges, result.signature)
    return Audit.of(result, dataset, manifest, result.compared, result.disagreements)
