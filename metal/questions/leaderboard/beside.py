"""Additions to a ranking by people: metrics and LLM judges on the same outputs, and what still has
to be rated.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from metal.data.dataset import Dataset
from metal.genie.output_scores import DIGITS, OVERALL, OWN, Outputs, OutputScores
from metal.stats.patterns import Codes, Numbers


def raters_beside(dataset: Dataset, *, with_judges: bool) -> list[str]:
    """The raters to show next to people: metrics and, if wanted, judges. A rater that repeats
    another one is left out.
    """
    kinds = ("metric", "llm") if with_judges else ("metric",)
    raters = dataset.raters
    chosen = [
        rater
        for rater in raters.values()
        if rater.kind in kinds and rater.about.get("repeats") not in raters
    ]
    return [rater.rater for rater in sorted(chosen, key=lambda rater: kinds.index(rater.kind))]


def beside_rows(
    dataset: Dataset,
    outputs: Outputs,
    items: Codes,
    cells: Sequence[OutputScores],
    language: str,
    by_rater: Mapping[str, Mapping[str, Numbers]],
) -> Iterator[dict[str, Any]]:
    """The scores of metrics and judges for each generator, on the outputs that people rated.

    Scores on a criterion of the ranking are shares of its scale, or in its own units if it has no
    ends. A metric's scores that stand for all criteria are left as they are; they are averaged over
    the outputs of the last ranking (overall).
    """
    if not cells:
        return
    ranked = {cell.criterion: cell for cell in cells}
    for rater, by_criterion in by_rater.items():
        scores = _ranked_scores(dataset, ranked, by_criterion)
        columns = [
            (name, ranked[name].scale, ranked[name], score) for name, score in scores.items()
        ]
        if dataset.raters[rater].kind == "metric":
            columns += [
                (name, OWN, cells[-1], raw)
                for name, raw in by_criterion.items()
                if name not in ranked
            ]
        for name, scale, cell, values in columns:
            asked = items & ~np.isnan(cell.score)
            head = {
                "language": language,
                "criterion": name,
                "rater": rater,
                "kind": dataset.raters[rater].kind,
            }
            for row in _by_generator(outputs, asked, values):
                yield head | {"scale": scale} | row


def _ranked_scores(
    dataset: Dataset, ranked: Mapping[str, OutputScores], by_criterion: Mapping[str, Numbers]
) -> dict[str, Numbers]:
    """A rater's scores on the ranked criteria, and for overall the mean of its shares.

    A score is a share of the scale or, if the scale has no ends, stays as given.
    """
    scores = {}
    for name, cell in ranked.items():
        if name in by_criterion:
            raw = by_criterion[name]
            scores[name] = raw if cell.scale == OWN else dataset.criteria[name].share(raw)
    parts = [name for name, cell in ranked.items() if name != OVERALL and cell.scale != OWN]
    if OVERALL in ranked and OVERALL not in scores and all(name in scores for name in parts):
        scores[OVERALL] = np.mean([scores[name] for name in parts], axis=0)
    return scores


def _by_generator(outputs: Outputs, asked: Codes, values: Numbers) -> Iterator[dict[str, Any]]:
    """A row per generator with the mean of the values on the outputs `asked` (a mask); no row
    without values.
    """
    answered = asked & ~np.isnan(values)
    if not answered.any():
        return
    size = len(outputs.generators)
    sums = np.bincount(outputs.generator[answered], values[answered], minlength=size)
    counts, wanted = (
        np.bincount(outputs.generator[mask], minlength=size) for mask in (answered, asked)
    )
    for code in np.flatnonzero(wanted):
        yield {
            "generator": outputs.generators[code],
            "score": (
                round(float(sums[code] / counts[code]), DIGITS) if counts[code] else float("nan")
            ),
            "outputs": int(counts[code]),
            "asked": int(wanted[code]),
            "coverage": float(counts[code] / wanted[code]),
        }


def coverage_rows(
    dataset: Dataset, outputs: Outputs, items: Codes, scores: Sequence[OutputScores], language: str
) -> Iterator[dict[str, Any]]:
    """A row per generator: how many outputs were rated on any criterion, and how many can still be
    handed out.
    """
    rated = np.any([~np.isnan(part.score) for part in scores], axis=0)
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
    dataset: str, generators: Sequence[str], *, sample: int | None = None, seed: int = 0
) -> str:
    """The shell command that hands out what still has to be rated of some generators."""
    parts = ["metal", "annotate", "export", dataset, "--to", "html"]
    parts += [part for generator in generators for part in ("--generators", generator)]
    parts += ["--sample", str(sample)] if sample else []
    parts += ["--seed", str(seed)] if sample and seed else []
    return shlex.join(parts)
