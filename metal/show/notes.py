"""Notes under tables: why a figure is undefined, what was left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from metal.data.text import UNDEFINED, listed, name
from metal.runs.audit_run import AuditRun

NAMED = 6  # places named in a note; the rest are counted

# What the figures of metal.auditing are called on the page.
FIGURES = {
    "fleiss_kappa": "Fleiss' kappa",
    "pairwise_f1": "pairwise F1",
    "leave_one_out_f1": "F1 against the others",
    "against_all_f1": "F1 against all",
    "percent_agreement": "agreement",
    "gwet_ac1": "Gwet's AC1",
    "alpha": "Krippendorff's alpha",
    "weighted_f1": "weighted F1",
    "strict_f1": "strict F1",
    "macro_f1": "macro F1",
    "kappa": "kappa",
    "kappa_quadratic": "quadratic kappa",
    "majority_f1": "F1 of the most frequent class",
    "lead_over_majority": "lead",
    "difference_to_people": "difference to people",
    "alt_test": "alternative annotator test",
    "difference": "difference",
    "self_agreement": "self-agreement",
}


def undefined(rows: Iterable[Mapping[str, Any]], run: AuditRun, figures: Iterable[str]) -> tuple[str, ...]:
    """One line for each figure and reason among `figures`, naming where.

    rows: with language, criterion, perhaps judge, and `undefined` as the audit writes it (`kappa: one class; ...`).
    """
    wanted = set(figures)
    found: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for part in str(row["undefined"] or "").split("; "):
            figure, _, reason = part.partition(": ")
            if figure in wanted and reason:
                where = f"{row['language']} {run.criteria[row['criterion']].short}"
                judge = f" {name(row['judge'])}" if "judge" in row and len(run.judge_names) > 1 else ""
                found.setdefault((figure, reason), []).append(where + judge)
    return tuple(
        f"{UNDEFINED} {FIGURES.get(figure, figure)}: {reason} ({places(where)})"
        for (figure, reason), where in found.items()
    )


def places(where: list[str]) -> str:
    """The first few by name, the rest as a number."""
    more = [f"{len(where) - NAMED} more"] if len(where) > NAMED else []
    return listed([*where[:NAMED], *more])
