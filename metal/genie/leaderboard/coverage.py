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
    rated = np.any([~np.isnan(one.share) for one in scores], axis=0)
    known = [dataset.outputs[name] for name in outputs.names]
    chosen = np.array([one.chosen for one in known], dtype=bool)
    text = np.array([bool(one.text.strip()) for one in known], dtype=bool)
    for code, generator in enumerate(outputs.generators):
        mine = items & (outputs.generator == code) & (chosen | rated)
        if not mine.any():
            continue
        open_ = mine & ~rated
        yield {
            "language": language,
            "generator": generator,
            "sources": len(np.unique(outputs.source[mine])),
            "sources_rated": len(np.unique(outputs.source[mine & rated])),
            "outputs": int(mine.sum()),
            "outputs_rated": int((mine & rated).sum()),
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
