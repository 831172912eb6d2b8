"""`metal.audit`: judges compared with people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from metal.api.options import Names, Progress, documented_by, no_progress, settings_of
from metal.api.read import load
from metal.api.reading import ReadingOptions
from metal.auditing.settings import Aggregate, AuditSettings

if TYPE_CHECKING:
    from metal.api.read import Data, Ratings
    from metal.questions.audit.result import Audit
    from metal.runs.run import Run


@documented_by(AuditSettings)
def audit(
    data: Data,
    *ratings: Ratings | Run,
    judges: Names = (),
    criteria: Names = (),
    languages: Names = (),
    reference: str = "",
    aggregate: Aggregate = "majority-or-mean",
    min_raters: int = 0,
    epsilon: float | None = None,
    wilcoxon: bool = False,
    margin: float = 0.1,
    keep: float = 0.7,
    people_floor: float = 0.2,
    bad: str = "",
    standardise: bool = False,
    exclude_noisy: str = "",
    paper_compat: bool = False,
    resamples: int = 2000,
    seed: int = 0,
    progress: Progress | None = None,
    **reading: Unpack[ReadingOptions],
) -> Audit:
    """Compare the judges in `data` with its people, language by language.

    For each criterion you get the weighted F1 of every judge with its 95% interval and Cohen's
    kappa. Beside them stand the figures of people, and of always giving the most frequent answer.
    Then each judge gets a verdict for each language and criterion: may it take a person's place
    there? `ratings` are run folders (from `metal.judge`) whose ratings are added, or runs of other
    questions (`metal.bias_language`, `metal.correct`, ...), as folders or results. Their findings
    about a judge are shown beside its verdicts and change none of them.

    Args:
        data: A dataset folder, a table of ratings (file or DataFrame), or a dataset from
            `metal.read`.
        progress: Called with the number of cells done and of all cells.

    Returns:
        The audit: verdicts, judges, people and all other tables as DataFrames, plots, the page.
        Nothing is written before `save`.

    Raises:
        UsageError: If no criterion has two people.
        DataError, UnknownName: As `metal.read`.

    Example:
        audit = metal.audit("ratings.csv", criteria=["fluency"])
        audit.verdicts
        audit.save("runs/fluency")
    """
    from metal.api.report import told_apart
    from metal.auditing.audit import audit as audited
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
    dataset, left_out = originals(dataset)
    result = audited(dataset, settings, progress=progress or no_progress)
    warnings += left_out
    warnings += warnings_of_tests(inputs.dataset, inputs.folder, inputs.runs)
    if excluded and excluded.outputs and not min_raters:
        warnings.append(
            f"{excluded.outputs:,} outputs lost a rating on a criterion; an output is incomplete"
            " if fewer people than usual are left. `min_raters=2` keeps outputs with two people"
        )
    result = with_exclusions(result, excluded, warnings)
    manifest = inputs.manifest(
        "audit", dataset, settings.to_dict(), result.judges, result.signature
    )
    return with_remarks(
        Audit.of(result, dataset, manifest, result.compared, result.disagreements), beside
    )
