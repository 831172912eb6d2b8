"""`metal.audit`: judges against people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Unpack

from metal.api.options import (
    Aggregate,
    Bad,
    ExcludeNoisy,
    Judges,
    Keep,
    Languages,
    Margin,
    Names,
    Option,
    PeopleFloor,
    Progress,
    Resamples,
    Seed,
    documented,
    no_progress,
    settings_of,
)
from metal.api.read import load
from metal.api.reading import ReadingOptions

if TYPE_CHECKING:
    from metal.api.read import Data, Ratings
    from metal.questions.audit.result import Audit
    from metal.runs.run import Run


@documented
def audit(
    data: Data,
    *ratings: Ratings | Run,
    judges: Judges = (),
    criteria: Annotated[Names, Option("Criteria; default all that have levels.", "-c")] = (),
    languages: Languages = (),
    reference: Annotated[
        str,
        Option("Compare with these people only: group=expert, or rater=A1,A2.", metavar="PEOPLE"),
    ] = "",
    aggregate: Annotated[
        Aggregate,
        Option(
            "How the people's ratings of an item become one label: the majority, and without one"
            " the mean, the middle "
            "or none; or the most probable label of a model that weighs people by how they agree.",
            choices=("majority-or-mean", "majority-or-middle", "majority", "dawid-skene", "mace"),
            rare=True,
        ),
    ] = "majority-or-mean",
    min_raters: Annotated[
        int,
        Option(
            "People that an item needs to count. [default: the usual panel, at most 3]",
            metavar="N",
            least=0,
            rare=True,
        ),
    ] = 0,
    epsilon: Annotated[
        float | None,
        Option(
            "How much worse than a person a judge may be in the alternative annotator test. "
            "[default: 0.2 where the people are of group expert, 0.1 crowd, else 0.15]",
            least=0,
            most=1,
            rare=True,
        ),
    ] = None,
    wilcoxon: Annotated[
        bool, Option("Test people with fewer than 30 items too, by Wilcoxon's test.", rare=True)
    ] = False,
    margin: Margin = 0.1,
    keep: Keep = 0.7,
    people_floor: PeopleFloor = 0.2,
    bad: Bad = "",
    standardise: Annotated[
        bool, Option("Take away each rater's mean and spread before a verdict.", rare=True)
    ] = False,
    exclude_noisy: ExcludeNoisy = "",
    paper_compat: Annotated[
        bool, Option("Print kappa of one class as 0.0, as METAL's Table 6 does.", rare=True)
    ] = False,
    resamples: Resamples = 2000,
    seed: Seed = 0,
    progress: Progress | None = None,
    **reading: Unpack[ReadingOptions],
) -> Audit:
    """Compare the judges in `data` with its people, language by language.

    For each criterion there is the weighted F1 of every judge with its 95% interval and Cohen's
    kappa, between what people reach and what always answering the most frequent class reaches; then
    a verdict for each judge, language and criterion: may it take a person's place there? `ratings`
    are run folders (from `metal.judge`) whose ratings are added, and runs of other questions
    (`metal.bias_language`, `metal.correct`, ...), folders or results: what they say of a judge
    stands in the verdicts that it bears on, and changes none.

    data: a dataset folder, a table of ratings (file or DataFrame), or a dataset from `metal.read`.
    progress: called with the cells done and the cells in all.

    Returns the audit: verdicts, judges, people and all other tables as DataFrames, plots, the page.
    Nothing is written before `save`. Raises UsageError where no criterion has two people, and what
    `metal.read` raises.
    """
    from metal.api.report import told_apart
    from metal.auditing.audit import audit as audited
    from metal.auditing.settings import AuditSettings
    from metal.data.pairs import originals
    from metal.genie.exclusion import warnings_of_tests, with_exclusions, without_noisy
    from metal.questions.audit.remarks import with_remarks
    from metal.questions.audit.result import Audit
    from metal.runs.judges_run import check_scored, doubts

    settings = settings_of(AuditSettings, locals())
    added, beside = told_apart(ratings)
    inputs = load(data, added, reading)
    for run in inputs.runs:
        check_scored(run)
    dataset, excluded = without_noisy(inputs.dataset, inputs.folder, inputs.runs, exclude_noisy)
    warnings = [doubt for run in inputs.runs for doubt in doubts(run, dataset)]
    dataset, made = originals(dataset)
    result = audited(dataset, settings, progress=progress or no_progress)
    warnings += made
    warnings += warnings_of_tests(inputs.dataset, inputs.folder, inputs.runs)
    if excluded and excluded.outputs and not min_raters:
        warnings.append(
            f"{excluded.outputs:,} outputs lost a rating on a criterion; those left with fewer"
            " people than the usual panel count as incomplete. `min_raters=2` keeps those with two"
        )
    result = with_exclusions(result, excluded, warnings)
    manifest = inputs.manifest(
        "audit", dataset, settings.to_dict(), result.judges, result.signature
    )
    return with_remarks(
        Audit.of(result, dataset, manifest, result.compared, result.disagreements), beside
    )
