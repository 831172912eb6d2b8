"""Goldens of DeepEval, as `EvaluationDataset.add_goldens_from_json_file` reads them: the ratings
and an audit's verdicts are in `additional_metadata`.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from metal.api.exports import MARK, Exported, RatedOutput, Target, filled_in, write_list
from metal.data.progress import Progress

# Columns of the table that say the same of every rating of an output.
_OF_THE_OUTPUT = {"language", "source", "generator", "output", "source_text", "text"}


def write(exported: Exported, path: Path, progress: Progress) -> Iterable[str]:
    """Write a golden for each rated output."""
    write_list(path, (MARK | _golden(rated) for rated in exported.outputs(progress)))
    return ()


def _golden(rated: RatedOutput) -> dict[str, Any]:
    ratings = []
    for rating in rated.ratings:
        own = {name: value for name, value in rating.items() if name not in _OF_THE_OUTPUT}
        ratings.append(filled_in(own))
    return {
        "input": rated.source.text,
        "actual_output": rated.output.text,
        "expected_output": next(iter(rated.source.references), None),
        "name": rated.output.output,
        "additional_metadata": rated.about | {"ratings": ratings},
    }


TARGET = Target(
    "goldens of DeepEval with ratings in additional_metadata",
    write,
    lacks=("pairs", "further references"),
)
