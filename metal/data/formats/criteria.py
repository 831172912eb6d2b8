"""Criteria that several formats share: METAL's five (section 3.2), read from prompts/criteria/, and SummEval's."""

from __future__ import annotations

from metal.data.bundled import bundled
from metal.data.dataset import read_criterion, read_toml
from metal.data.records import Criterion, Level, Scale

# SummEval's criteria that look at the summary alone, in any release.
OF_THE_TEXT = ("coherence", "fluency")

FIVE_LEVELS = Scale("ordinal", tuple(Level(value, str(value)) for value in range(1, 6)))

METAL_CRITERIA = (
    "linguistic_acceptability",
    "output_content_quality",
    "task_quality",
    "problematic_content",
    "hallucinations",
)


def metal_criterion(name: str) -> Criterion:
    """One of METAL_CRITERIA."""
    path = bundled("prompts") / "criteria" / f"{name}.toml"
    texts = ("simple", "detailed")  # instructions for judges, see metal.raters.judges.rubric
    return read_criterion(name, {key: value for key, value in read_toml(path).items() if key not in texts}, path)


def summary_criterion(name: str) -> Criterion:
    """A criterion of summaries on levels 1 to 5, as SummEval and its successors have them."""
    return Criterion(name, FIVE_LEVELS, of_source=name not in OF_THE_TEXT)
