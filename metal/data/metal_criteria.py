"""The five criteria of METAL, as defined in prompts/criteria."""

from __future__ import annotations

from functools import lru_cache

from metal.data.dataset_lines import read_criterion
from metal.data.files import bundled, read_toml
from metal.data.records import Criterion

METAL_CRITERIA = (
    "linguistic_acceptability",
    "output_content_quality",
    "task_quality",
    "problematic_content",
    "hallucinations",
)


@lru_cache(maxsize=len(METAL_CRITERIA))
def metal_criterion(name: str) -> Criterion:
    """The criterion of this name from METAL_CRITERIA."""
    path = bundled("prompts") / "criteria" / f"{name}.toml"
    texts = ("simple", "detailed")  # instructions for judges, see metal.raters.judges.rubric
    return read_criterion(
        name, {key: value for key, value in read_toml(path).items() if key not in texts}, path
    )
