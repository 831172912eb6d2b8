"""An ensemble of a board, applied to other outputs. Source: Bidimensional Leaderboards, section 2.2."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from metal.errors import DataError, UnknownName, UsageError


def find_ensemble(signature: str, records: Iterable[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The ensemble of a signature, or of a part of it that only one has. Raises UnknownName, UsageError for several."""
    by_name = {str(record["ensemble"]): record for record in records}
    if signature in by_name:
        return by_name[signature]
    found = [name for name in by_name if signature in name]
    if len(found) == 1:
        return by_name[found[0]]
    if found:
        raise UsageError(f"ensemble {signature!r} may be any of {', '.join(found[:5])}; give one in full")
    raise UnknownName("ensemble", signature, list(by_name), "`metal billboard DATASET` makes them")


def members(record: Mapping[str, Any]) -> list[str]:
    """The raters whose scores the ensemble needs."""
    return [str(member["rater"]) for member in record["members"]]


def apply_ensemble(record: Mapping[str, Any], scores: pd.DataFrame) -> pd.DataFrame:
    """output, score and reason of each output.

    scores: a column `output` and one for each member, as on the board (higher is better). Where a member's score is
    missing there is no score, and the reason names the member. Raises DataError for a member without a column.
    """
    names = members(record)
    for name in names:
        if name not in scores:
            raise DataError(
                f"ensemble {record['ensemble']}",
                f"no scores of {name} (columns found: {', '.join(map(str, scores.columns))})",
                f"It needs {', '.join(names)}, as on the board: higher is better",
            )
    table = scores[names].to_numpy(dtype=np.float64)
    weights, means, spreads = (
        np.array([float(member[key]) for member in record["members"]]) for key in ("coefficient", "mean", "spread")
    )
    found = float(record["intercept"]) + ((table - means) / spreads) @ weights
    lacking = [", ".join(np.array(names)[row]) for row in np.isnan(table)]
    reasons = [f"no score of {which}" if which else "" for which in lacking]
    return pd.DataFrame({"output": scores["output"].astype(str), "score": found, "reason": reasons})
