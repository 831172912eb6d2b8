"""Shares of classes among a judge's outputs, corrected for the mistakes that the judge makes on a
separate test set.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from metal.auditing.cells import AuditCell
from metal.data.text import plural
from metal.errors import Undefined
from metal.stats.corrected import rogan_gladen
from metal.stats.patterns import Codes

LEAST_OF_CLASS = 10  # test items that are of a class, and that are not
CLASSES = (
    *("language", "criterion", "judge", "generator", "level", "outputs", "tested", "judge_only"),
    *(f"{name}{end}" for name in ("corrected", "informed") for end in ("", "_low", "_high")),
    *("sensitivity", "specificity", "undefined"),
)


def class_rows(cell: AuditCell, judge: str, generators: Sequence[str]) -> Iterator[dict[str, Any]]:
    """A row for each class and generator: the share of the class among outputs that only the judge
    rated.

    The test set consists of the outputs that people and the judge rated, from all generators. The
    method assumes that the judge makes the same mistakes on a class elsewhere, even if the class is
    more or less frequent there.
    generators: (items,) who wrote each output.
    """
    cell = cell.unaided(judge)
    answers, truth, sources = cell.by_judge(judge), cell.truth, cell.matrix.sources
    tested, of = (answers >= 0) & (truth >= 0), np.array(generators, dtype=object)
    others = (answers >= 0) & (cell.ratings_per_item == 0)
    for generator in sorted(set(of[others])):
        rows = others & (of == generator)
        for code, level in enumerate(cell.criterion.scale.levels):
            row: dict[str, Any] = dict.fromkeys(CLASSES, math.nan) | {
                "language": cell.language,
                "criterion": cell.criterion.name,
                "judge": judge,
                "generator": generator,
                "level": level.shown,
                "outputs": int(rows.sum()),
                "tested": int((tested & (truth == code)).sum()),
                "judge_only": float((answers[rows] == code).mean()),
                "undefined": "",
            }
            right = np.where(truth == code, answers == code, answers != code)
            sides = [tested & (truth == code), tested & (truth != code)]
            if (least := min(int(side.sum()) for side in sides)) < LEAST_OF_CLASS:
                which = "of the class" if sides[0].sum() == least else "of other classes"
                reason = f"{plural(least, 'test item')} {which}, {LEAST_OF_CLASS} needed"
                yield row | {"undefined": f"corrected: {reason}"}
                continue
            sensitivity, specificity = (_share(right[side], sources[side]) for side in sides)
            row |= {"sensitivity": sensitivity[0], "specificity": specificity[0]}
            try:
                share, informed = rogan_gladen(
                    _share(answers[rows] == code, sources[rows]), sensitivity, specificity
                )
            except Undefined as error:
                yield row | {"undefined": f"corrected: {error}"}
                continue
            yield row | share.columns("corrected") | informed.columns("informed")


def _share(hits: Codes, sources: Codes) -> tuple[float, float]:
    """The share of hits, and the number of independent items that it is worth, because outputs of a
    source may be alike.
    """
    share, size = float(hits.mean()), len(hits)
    sums = np.bincount(np.unique(sources, return_inverse=True)[1], hits - share)
    variance = len(sums) / max(len(sums) - 1, 1) * float((sums**2).sum()) / size**2
    return share, min(size, share * (1 - share) / variance) if variance > 0 else float(len(sums))
