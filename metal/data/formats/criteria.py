"""METAL's five criteria (section 3.2), as prompts/criteria/ declares them."""

from __future__ import annotations

from metal.data.bundled import bundled
from metal.data.dataset import read_criterion, read_toml
from metal.data.records import Criterion

# SummEval's criteria that look at the summary alone, in whatever release they come.
OF_THE_TEXT = ("coherence", "fluency")

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
    texts = ("simple", "detailed")  # what judges are told, see metal.raters.judges.rubric
    return read_criterion(name, {key: value for key, value in read_toml(path).items() if key not in texts}, path)
