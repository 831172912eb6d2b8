"""A run of `metal select`: run.toml, raters.jsonl, warnings.txt, tables/, report.html."""

from __future__ import annotations

from dataclasses import dataclass

from metal.data.text import capital, count, dollars, figure, percent, recorded, score
from metal.questions.select.compute import CALIBRATION, CURVE, SELECTION
from metal.runs.columns import HEAD, JUDGE, Column, Share, Tables, with_the_rest
from metal.show.result import Result

DESCRIBED: Tables = {
    "selection": with_the_rest(
        (
            *HEAD,
            JUDGE,
            Column("says", "may answer", capital),
            Column("coverage", "answers", percent, below=lambda row: f"of {count(row['items'])}"),
            Column("agreement_kept", "agrees", percent),
            Column("at_least", "at least", percent),
            Column("agreement", "without threshold", percent),
            Column("threshold", "threshold", score),
            Column("to_people", "to people", percent),
            Column("by", "who answers", recorded),
            Column("cost", "per 1,000", dollars),
            Column("cost_people", "people alone", dollars),
            Column("confidence", "confidence from", recorded),
            Column("decided", "independent", count),
        ),
        SELECTION,
    ),
    "calibration": with_the_rest(
        (
            *HEAD,
            JUDGE,
            Share("agreement", "agreement"),
            Column("sure", "confidence", percent),
            Column("ece", "ECE", figure, interval=True),
            Column("by_chance", "ECE by chance", figure),
            Column("ece_width", "ECE, equal width", figure),
            Column("brier", "Brier", figure, direction="lower"),
            Column("auroc", "AUROC", figure, direction="higher"),
            Column("ece_mapped", "ECE, mapped", figure),
            Column("brier_mapped", "Brier, mapped", figure),
            Column("confidence", "confidence from", recorded),
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
            Column("sure", "confidence", percent),
            Column("right", "agrees", percent),
            Column("mapped", "mapped", percent),
        ),
        CURVE,
    ),
}


@dataclass(frozen=True, repr=False)
class Selection(Result):
    """When each judge may answer alone, in each language."""

    shown = "selection"
    command = "select"
    described = DESCRIBED
