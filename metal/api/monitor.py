"""`metal.monitor`: how far each rater can be relied on, by test questions and by how others rate the same outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from metal.api.options import Option, Progress, Resamples, Seed, documented, no_progress

if TYPE_CHECKING:
    from metal.api.inputs import Data, Ratings
    from metal.api.monitor_result import Monitor


@documented
def monitor(
    data: Data,
    *ratings: Ratings,
    model: Annotated[
        str,
        Option(
            "How noisy people are found: {rate,class}-{fixed,learned}-2, rate-{fixed,learned}-1, rate-jeffreys, "
            "rate-uniform. class-learned-2 is the paper's.",
            metavar="MODEL",
        ),
    ] = "rate-learned-2",
    noisy_beta: Annotated[
        float,
        Option(
            "Beta of the noisy component of the two fixed-2 models; 9.5 can flag people with four questions.",
            least=0,
            open_ends=True,
        ),
    ] = 4.5,
    reference: Annotated[
        str, Option("Whom to look at: group=crowd, or rater=A1,A2. [default: all]", metavar="PEOPLE")
    ] = "",
    resamples: Resamples = 2000,
    seed: Seed = 0,
    progress: Progress | None = None,
) -> Monitor:
    """Say how far each rater of `data` can be relied on, and name those who stand out, with the reason.

    Where test questions were hidden (`metal.annotate_export(..., test_questions="5%+5%")`), a Beta-mixture model tells
    from the answers who is noisy: right in fewer than nine of ten, with a probability above 0.99. Positive and negative
    questions are modelled apart, and so is each language and criterion. `ratings` are runs of
    `metal.judge(..., test_questions="5%+5%")`: judges are examined by the same rule as people.

    Without test questions people can still be set beside those who rated the same outputs: how often they agree, how
    severe they are, whether they always say the same, and what Dawid-Skene and MACE make of their competence.

    Nothing is removed. `exclude_noisy` of audit, billboard, leaderboard and design leaves noisy people out.

    data: a dataset folder, a table of ratings (file or DataFrame), or a dataset from `metal.read`. progress: called
    with the parts done and the parts in all.

    Returns what is known of the raters: tables as DataFrames, plots, the page. Nothing is written before `save`.
    """
    from metal.api.inputs import load
    from metal.api.monitor_result import Monitor
    from metal.building.store import read_compared, read_rounds
    from metal.data.dataset import people_named
    from metal.genie.exclusion import only_people
    from metal.genie.monitor_tables import monitor_signature, monitor_tables, monitor_warnings
    from metal.genie.monitoring import monitor as examined
    from metal.genie.noisy import find_model
    from metal.genie.store import read_tests
    from metal.runs.monitor_run import agreement_rows

    find_model(model)
    inputs = load(data, ratings)
    dataset = inputs.dataset
    tests = read_tests(dataset, inputs.folder, inputs.runs)
    judges_only = len(tests.answers) and not any(rater.kind == "human" for rater in dataset.raters.values())
    people = () if judges_only and not reference else people_named(dataset, reference)
    monitoring = examined(
        tests.answers,
        tests.questions,
        dataset.criteria,
        dataset.raters,
        model=model,
        noisy_beta=noisy_beta,
        seed=seed,
        comparative=read_compared(inputs.folder),
    )
    tables = monitor_tables(
        only_people(dataset, people),
        monitoring,
        agreement=agreement_rows,
        rounds=read_rounds(inputs.folder),
        resamples=resamples,
        seed=seed,
        progress=progress or no_progress,
    )
    settings = {"model": model, "noisy_beta": noisy_beta, "reference": reference, "resamples": resamples, "seed": seed}
    signed = monitor_signature(dataset.identity, tests.digest, settings)
    manifest = inputs.manifest("monitor", dataset, settings, people, signed).to_dict()
    noted = monitor_warnings(dataset, tests, monitoring, people)
    return Monitor(dataset.card.name, manifest, dataset.criteria, dataset.raters, tables, noted)
