"""A run of `metal design --for scores`: run.toml, raters.jsonl, warnings.txt, tables/, page."""

from __future__ import annotations

from dataclasses import dataclass

from metal.data.text import count, dollars, figure, known, share
from metal.questions.design.labels.compute import LABELS
from metal.runs.columns import HEAD, JUDGE, Column, Row, Tables, with_the_rest
from metal.show.result import Result


def _pays(row: Row) -> str:
    return "judge does not pay off" if known(row["labels"]) and not row["pays"] else ""


DESCRIBED: Tables = {
    "labels": with_the_rest(
        (
            *HEAD,
            JUDGE,
            Column("labels", "labels", count, below=_pays),
            Column("labels_alone", "without judge", count),
            Column("sources", "of sources", count),
            Column("half_width", "half-width", share),
            Column(
                "rho", "correlation", figure, below=lambda row: f"at least {figure(row['rho_low'])}"
            ),
            Column("saved_at_most", "worth at most", figure),
            Column("pilot", "pilot", count),
            Column("usd", "cost", dollars),
        ),
        LABELS,
    )
}


@dataclass(frozen=True, repr=False)
class LabelPlan(Result):
    """How many labels corrected scores need if a judge helps."""

    shown = "labels"
    command = "design labels"
    described = DESCRIBED
