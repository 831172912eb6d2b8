"""`metal.monitor_simulate`: how well each model finds noisy annotators whose truth is known (GENIE, Table 1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from metal.api.inputs import as_names, no_progress

if TYPE_CHECKING:
    import pandas as pd


def monitor_simulate(
    *,
    model: str | Iterable[str] = (),
    seeds: int = 40,
    rounds: int = 25,
    workers: int = 60,
    questions: float = 10.0,
    noisy_beta: float = 4.5,
    seed: int = 0,
    progress: Callable[[int, int], None] = no_progress,
) -> pd.DataFrame:
    """Simulate workers who answer test questions, some of them noisy, and see whom each model flags.

    Use it to choose a model for `metal.monitor(...)`, or to see what fewer questions would cost. Workers are drawn as
    appendix B.2 of GENIE says.

    model: names of models (metal.genie.noisy.MODELS); empty for the eight of GENIE's Table 1. seeds: simulations, of
    `rounds` rounds of annotation each, with `workers` workers a round. questions: test questions a worker answers on
    average; at least 1, geometric. noisy_beta: of the fixed models' noisy component, Beta(0.5, noisy_beta).
    progress: called with simulations done and in all.

    Returns a row per model and bucket (test questions a worker answered): precision, the share of noisy workers among
    those flagged; recall, the share of noisy workers who were flagged; their standard errors; workers flagged, noisy
    and in all; paper_precision and paper_recall, as printed in Table 1. Shares are NaN where nobody was flagged, or
    nobody was noisy. Raises UnknownName for a model that does not exist.
    """
    from metal.genie.noisy import MODELS
    from metal.genie.simulate import PRINTED, simulate

    table = simulate(
        as_names(model) or tuple(MODELS),
        seeds=seeds,
        rounds=rounds,
        workers=workers,
        mean_questions=questions,
        noisy_beta=noisy_beta,
        seed=seed,
        progress=progress,
    )
    printed = [PRINTED[name][bucket] for name, bucket in zip(table["model"], table["bucket"], strict=True)]
    return table.assign(
        paper_precision=[precision / 100 for precision, _ in printed],
        paper_recall=[recall / 100 for _, recall in printed],
    )
