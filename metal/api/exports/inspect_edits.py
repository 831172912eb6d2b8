"""Score edits for a log of inspect_ai: JSON lines, each with the arguments of its `edit_score`.

    sample_id, score_name    the source, and `CRITERION by RATER`: a new score, so none is replaced
    edit                     a ScoreEdit: value, answer, explanation, reason, metadata, provenance

A score that is missing is what inspect_ai calls unscored: NaN with a reason.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from metal.api.exports import MARK, Exported, RatedOutput, Target, filled_in, json_text, named_score
from metal.data.holdings import REPEAT_OF
from metal.data.progress import Progress
from metal.data.text import plural


def write(exported: Exported, path: Path, progress: Progress) -> Iterable[str]:
    """Write a line for each rating."""
    outputs: Counter[tuple[str, str]] = Counter()
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for rated in exported.outputs(progress):
            outputs[rated.output.source, rated.output.generator] += 1
            for rating in rated.ratings:
                file.write(json_text(_edit(rated, rating)) + "\n")
    generators = {generator for _, generator in outputs}
    further = sum(outputs.values()) - len(outputs)
    if further:
        yield (
            f"{plural(further, 'output')} of a sample that already has another output here: add"
            " `epoch` to their lines, or their scores replace those of the first output"
        )
    if len(generators) > 1:
        yield (
            f"{plural(len(generators), 'generator')} in one file, but a log of inspect_ai has"
            " one; apply to each log the lines with its generator in edit.metadata.generator"
        )


def _edit(rated: RatedOutput, rating: Mapping[str, Any]) -> dict[str, Any]:
    metadata = rated.about | {"rater": rating["rater"], "kind": rating["kind"]}
    for name in (*REPEAT_OF, "verdict", "verdict_reason"):
        metadata |= filled_in({name: rating.get(name)})
    value = {"value": rating["score"], "answer": rating["label"]}
    if rating["score"] is None:
        value = {"value": math.nan, "reason": rating["reason"]}
    edit = {
        **value,
        "explanation": rating["comment"] or None,
        "provenance": {"author": rating["rater"], "reason": "exported by METAL"},
        "metadata": metadata | MARK,  # at the end of the line
    }
    return {"sample_id": rated.output.source, "score_name": named_score(rating), "edit": edit}


TARGET = Target(
    "score edits for a log of inspect_ai, a line each", write, lacks=("pairs", "references")
)
