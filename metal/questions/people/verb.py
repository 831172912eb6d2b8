"""`metal.monitor`: find raters who stand out; `metal.monitor_simulate`: show how well models find
noisy raters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Unpack

from metal.api.options import (
    Names,
    Option,
    Progress,
    Resamples,
    Seed,
    documented,
    names,
    no_progress,
)
from metal.api.read import load
from metal.api.reading import ReadingOptions

if TYPE_CHECKING:
    import pandas as pd

    from metal.api.read import Data, Ratings
    from metal.questions.people.run import Monitor


@documented
def monitor(
    data: Data,
    *ratings: Ratings,
    model: Annotated[
        str,
        Option(
            "Model that finds noisy people: {rate,class}-{fixed,learned}-2,"
            " rate-{fixed,learned}-1, rate-jeffreys, rate-uniform. The paper's is"
            " class-learned-2.",
            metavar="MODEL",
        ),
    ] = "rate-learned-2",
    noisy_beta: Annotated[
        float,
        Option(
            "Beta of the noisy component of the two fixed-2 models; with 9.5, four questions can "
            "be enough to flag a person.",
            least=0,
            open_ends=True,
            rare=True,
        ),
    ] = 4.5,
    reference: Annotated[
        str,
        Option("People to include: group=crowd, or rater=A1,A2. [default: all]", metavar="PEOPLE"),
    ] = "",
    resamples: Resamples = 2000,
    seed: Seed = 0,
    progress: Progress | None = None,
    **reading: Unpack[ReadingOptions],
) -> Monitor:
    """Find raters of `data` who stand out from the others, with the reason.

    If test questions were hidden (`metal.annotate_export(..., test_questions="5%+5%")`), a
    Beta-mixture model finds noisy people, who with a probability above 0.99 answer fewer than nine
    in ten questions right. Positive and negative questions, languages and criteria are
    modelled separately. `ratings` are runs of `metal.judge(..., test_questions="5%+5%")`: judges
    are tested by the same rule as people.

    Without test questions, people are compared with those who rated the same outputs: how often
    they agree, how severe they are, whether they always give the same answer, and how competent
    they are by the models of Dawid and Skene and of MACE.

    Nothing is removed. To exclude noisy people, use `exclude_noisy` of audit, billboard,
    leaderboard and design.

    Args:
        data: A dataset folder, a table of ratings (file or DataFrame), or a dataset from
            `metal.read`.
        progress: Called with the number of parts done and of all parts.

    Returns:
        What is known about the raters: tables as DataFrames, plots, the page. Nothing is written
        before `save`.

    Raises:
        DataError, UsageError, UnknownName: As `metal.read`.

    Example:
        metal.monitor("datasets/news", model="rate-learned-2").raters
    """
    from metal.auditing.check import lint
    from metal.auditing.people import quick_rows
    from metal.building.store import read_compared, read_rounds
    from metal.data.pairs import one_item_per_pair
    from metal.data.people import people_in, people_named
    from metal.genie.exclusion import only_people
    from metal.genie.monitoring import monitor as examined
    from metal.genie.noisy import find_model
    from metal.genie.store import read_tests
    from metal.questions.design.study import panel_rows
    from metal.questions.people.monitor_tables import (
        monitor_signature,
        monitor_tables,
        monitor_warnings,
    )
    from metal.questions.people.run import Monitor

    find_model(model)
    inputs = load(data, ratings, reading)
    dataset = inputs.dataset
    tests = read_tests(dataset, inputs.folder, inputs.runs)
    judges_only = len(tests.answers) and not people_in(dataset.raters)
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
        only_people(one_item_per_pair(dataset), people),
        monitoring,
        agreement=quick_rows,
        panels=panel_rows,
        rounds=read_rounds(inputs.folder),
        resamples=resamples,
        seed=seed,
        progress=progress or no_progress,
    )
    settings = {
        "model": model,
        "noisy_beta": noisy_beta,
        "reference": reference,
        "resamples": resamples,
        "seed": seed,
    }
    signed = monitor_signature(dataset.identity, tests.digest, settings)
    manifest = inputs.manifest("monitor", dataset, settings, people, signed).to_dict()
    places = [finding.message for finding in lint(dataset) if finding.code == "places-in-lists"]
    noted = (*places, *monitor_warnings(dataset, tests, monitoring, people))
    return Monitor(dataset.card.name, manifest, dataset.criteria, dataset.raters, tables, noted)


@documented
def monitor_simulate(
    *,
    model: Annotated[Names, Option("Models. [default: all eight of Table 1]", "-m")] = (),
    seeds: Annotated[int, Option("Number of simulations.", least=1)] = 40,
    rounds: Annotated[int, Option("Rounds of annotation per simulation.", least=1)] = 25,
    workers: Annotated[int, Option("Workers in a round.", least=1)] = 60,
    questions: Annotated[
        float,
        Option(
            "Test questions a worker answers on average (geometric, at least 1).",
            least=1,
            most=100_000,
        ),
    ] = 10.0,
    noisy_beta: Annotated[
        float,
        Option(
            "beta of the fixed models' noisy component, Beta(0.5, beta): 4.5 as printed in the "
            "paper; with 9.5, 4 questions can be enough to flag a worker.",
            least=0,
            open_ends=True,
        ),
    ] = 4.5,
    seed: Seed = 0,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Simulate workers who answer test questions, some of them noisy, and show which workers each
    model flags.

    Precision is the share of noisy workers among those flagged; recall is the share of noisy
    workers who were flagged. Both are listed by the number of test questions that a worker
    answered, next to the values printed in the paper. Workers are drawn as in appendix B.2 of the
    paper (GENIE). Use the result to choose a model, or to see what fewer questions would cost.

    Args:
        progress: Called with the number of simulations done and of all simulations.

    Returns:
        One row per model and bucket (test questions a worker answered): precision, recall, their
        standard errors, workers flagged, noisy and in all; paper_precision and paper_recall, as
        printed in Table 1. Shares are NaN if nobody was flagged, or nobody was noisy.

    Raises:
        UnknownName: For a model that does not exist.

    Example:
        metal.monitor_simulate(model="rate-learned-2", seeds=10)
    """
    from metal.genie.noisy import MODELS, PRINTED, simulate

    table = simulate(
        names(model) or tuple(MODELS),
        seeds=seeds,
        rounds=rounds,
        workers=workers,
        mean_questions=questions,
        noisy_beta=noisy_beta,
        seed=seed,
        progress=progress or no_progress,
    )
    printed = [
        PRINTED[name][bucket] for name, bucket in zip(table["model"], table["bucket"], strict=True)
    ]
    return table.assign(
        paper_precision=[precision / 100 for precision, _ in printed],
        paper_recall=[recall / 100 for _, recall in printed],
    )
