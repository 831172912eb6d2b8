"""Which language wins if the same content was compared in two languages."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from metal.auditing.scored_outputs import LEANS, UNKNOWN, says
from metal.auditing.settings import AuditSettings
from metal.auditing.strengths import comparisons
from metal.data.dataset import Dataset
from metal.errors import Undefined
from metal.stats.davidson import davidson
from metal.stats.interval import NO_BOUNDS
from metal.stats.leniency import LEAST, Shifts
from metal.stats.significance import holm, t_quantile

BY_PAIRS = "pairs of languages"


def language_pair_rows(
    dataset: Dataset, settings: AuditSettings, judge: str, raters: Sequence[str]
) -> Iterator[Any]:
    """A row of the table `language_bias` for each language whose outputs were compared with those
    of other languages.

    mean: the share of points expected in comparisons with each other language; a tie is half a
    point. lean: `mean` minus 1/2. Both come from Davidson's model, with sandwich variance over
    contents; if the order of showing varied, the model holds it equal. raters: the raters whose
    answers count as the judge's.
    """
    table = comparisons(dataset, settings)
    for criterion, rows in table[table["rater"].isin(list(raters))].groupby(
        "criterion", observed=True, sort=False
    ):
        names = sorted({*rows["first"], *rows["second"]})
        first, second = (
            rows[side].map(names.index).to_numpy(dtype=np.int64) for side in ("first", "second")
        )
        contents = pd.factorize(
            rows["source"].map(lambda name: dataset.sources[str(name)].content or str(name))
        )[0]
        shifts, why = None, f"fewer than {LEAST} contents"
        if contents.max() + 1 >= LEAST:
            try:
                outcome, shown = rows["score"].to_numpy(dtype=np.int64), rows["shown"].to_numpy()
                fit = davidson(first, second, outcome, shown, contents, len(names))
            except Undefined as reason:
                why = str(reason)
            else:
                variance = (fit.points_half / t_quantile(0.975, fit.df)) ** 2
                shifts = Shifts(fit.points - 0.5, variance, np.full(len(names), float(fit.df)))
        adjusted = holm(shifts.p) if shifts else np.full(len(names), math.nan)
        for index, language in enumerate(names):
            own = (first == index) | (second == index)
            lean = NO_BOUNDS
            verdict, undefined = UNKNOWN, f"lean: {why}"
            if shifts:
                lean = shifts.bounds(index)
                verdict, undefined = says(shifts, index, adjusted[index], 1.0, LEANS), ""
            yield {
                "language": language,
                "criterion": criterion,
                "judge": judge,
                "says": verdict,
                "by": BY_PAIRS,
                **lean.columns("lean"),
                "p_adjusted": adjusted[index],
                "mean": lean.value + 0.5,
                "outputs": int(own.sum()),
                "contents": len(np.unique(contents[own])),
                "undefined": undefined,
            }
