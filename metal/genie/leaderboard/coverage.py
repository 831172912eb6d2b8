"""What of each generator people have rated, and how to hand out the rest."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from metal.data.dataset import Dataset
from metal.genie.leaderboard.output_scores import Outputs, OutputScores
from metal.stats.patterns import Codes


def coverage_rows(
    dataset: Dataset, outputs: Outputs, items: Codes, scores: Sequence[OutputScores], language: str
) -> Iterator[dict[str, Any]]:
    """How much of each generator was rated on any criterion, and what can still be handed out."""
    rated = np.any([~np.isnan(part.share) for part in scores], axis=0)
    listed = [dataset.outputs[name] for name in outputs.names]
    chosen = np.array([part.chosen for part in listed], dtype=bool)
    text = np.array([bool(part.text.strip()) for part in listed], dtype=bool)
    for code, generator in enumerate(outputs.generators):
        counted = items & (outputs.generator == code) & (chosen | rated)
        if not counted.any():
            continue
        open_ = counted & ~rated
        yield {
            "language": language,
            "generator": generator,
            "sources": len(np.unique(outputs.source[counted])),
            "sources_rated": len(np.unique(outputs.source[counted & rated])),
            "outputs": int(counted.sum()),
            "outputs_rated": int((counted & rated).sum()),
            "outputs_to_rate": int((open_ & text).sum()),
            "without_text": int((open_ & ~text).sum()),
        }


def rating_command(
    dataset: str, generators: Sequence[str], *, language: str = "", sample: int | None = None, seed: int = 0
) -> str:
    """The command that hands out what is still to be rated of some generators, as a shell reads it."""
    parts = ["metal", "annotate", "export", dataset, "--to", "html"]
    parts += ["-l", language] if language else []
    parts += [part for generator in generators for part in ("--generators", generator)]
    parts += ["--sample", str(sample)] if sample else []
    parts += ["--seed", str(seed)] if sample and seed else []
    return shlex.join(parts)
