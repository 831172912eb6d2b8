"""`metal.monitor_simulate`: how well each model finds noisy annotators whose truth is known (GENIE, Table 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from metal.api.options import Names, Option, Progress, Seed, documented, names, no_progress

if TYPE_CHECKING:
    import pandas as pd


@documented
def monitor_simulate(
    *,
    model: Annotated[Names, Option("Models; default all eight of Table 1.", "-m")] = (),
    seeds: Annotated[int, Option("Simulations of ROUNDS each.", least=1)] = 40,
    rounds: Annotated[int, Option("Rounds of annotation each.", least=1)] = 25,
    workers: Annotated[int, Option("Workers in a round.", least=1)] = 60,
    questions: Annotated[
        float,
        Option("Test questions a worker answers on average; at least 1, geometric.", least=1, most=100_000),
    ] = 10.0,
    noisy_beta: Annotated[
        float,
        Option(
            "beta of the fixed models' noisy component, Beta(0.5, beta): 4.5 as printed; 9.5 can flag at 4 questions.",
            least=0,
            open_ends=True,
        ),
    ] = 4.5,
    seed: Seed = 0,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Simulate workers who answer test questions, some of them noisy, and see whom each model flags.

    Precision is the share of noisy workers among those flagged, recall the share of the noisy that were flagged,
    by how many test questions a worker answered; the paper's printed values stand beside. Workers are drawn as
    appendix B.2 of the paper (GENIE) says. Use it to choose a model, or to see what fewer questions would cost.

    Returns a row a model and bucket (test questions a worker answered): precision, recall, their standard errors,
    workers flagged, noisy and in all; paper_precision and paper_recall, as printed in Table 1. Shares are NaN where
    nobody was flagged, or nobody was noisy. progress: called with simulations done and in all. Raises UnknownName for
    a model that does not exist.
    """
    from metal.genie.noisy import MODELS
    from metal.genie.simulate import PRINTED, simulate

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
    printed = [PRINTED[name][bucket] for name, bucket in zip(table["model"], table["bucket"], strict=True)]
    return table.assign(
        paper_precision=[precision / 100 for precision, _ in printed],
        paper_recall=[recall / 100 for _, recall in printed],
    )
