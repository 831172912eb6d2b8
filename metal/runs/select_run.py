"""A run of `metal select`: run.toml, raters.jsonl, warnings.txt, tables/, report.html."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from metal.data.text import count, dollars, figure, percent
from metal.runs.audit_run import HEAD, JUDGE
from metal.runs.columns import Column, Tables, with_the_rest
from metal.runs.run import Run
from metal.selecting.selecting import CALIBRATION, CURVE, SELECTION

Interval = partial(Column, format=figure, interval=True)

DESCRIBED: Tables = {
    "selection": with_the_rest(
        (
            *HEAD,
            JUDGE,
            Column("says", "may answer"),
            Column("coverage", "answers", percent, below=lambda row: f"of {count(row['items'])}"),
            Column("agreement_kept", "agrees", percent),
            Column("at_least", "at least", percent),
            Column("agreement", "without threshold", percent),
            Column("threshold", "threshold", lambda value: figure(value, ".4g")),
            Column("to_people", "to people", percent),
            Column("by", "who answers"),
            Column("cost", "per 1,000", dollars),
            Column("cost_people", "people alone", dollars),
            Column("confidence", "confidence from"),
            Column("decided", "independent", count),
        ),
        SELECTION,
    ),
    "calibration": with_the_rest(
        (
            *HEAD,
            JUDGE,
            Interval("agreement", "agreement"),
            Column("sure", "confidence", figure),
            Interval("ece", "ECE"),
            Column("by_chance", "ECE by chance", figure),
            Column("ece_width", "ECE, equal width", figure),
            Column("brier", "Brier", figure, direction="lower"),
            Column("auroc", "AUROC", figure, direction="higher"),
            Column("ece_mapped", "ECE, mapped", figure),
            Column("brier_mapped", "Brier, mapped", figure),
            Column("confidence", "confidence from"),
            Column("items", "outputs", count, below=lambda row: f"{count(row['sources'])} sources"),
        ),
        CALIBRATION,
    ),
    "curve": with_the_rest(
        (
            *HEAD,
            JUDGE,
            Column("bin", "bin", count),
            Column("items", "outputs", count),
            Column("sure", "confidence", figure),
            Column("right", "agrees", figure),
            Column("mapped", "mapped", figure),
        ),
        CURVE,
    ),
}


@dataclass(frozen=True, repr=False)
class SelectRun(Run):
    """When judges may answer alone: tables `selection`, `calibration`, `curve`."""

    command = "select"
    described = DESCRIBED
