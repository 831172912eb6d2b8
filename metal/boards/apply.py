"""An ensemble of a board, applied to other outputs. Source: Bidimensional Leaderboards, section 2.2."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from metal.errors import DataError, UnknownName, UsageError

VERSIONED = re.compile(r"\+version\.[0-9]{1,9}$")


def read_ensemble(record: Any, where: object) -> Mapping[str, Any]:
    """A stored ensemble as it can be applied. Raises DataError where it is none."""
    try:
        numbers = [float(record["intercept"])]
        for member in record["members"]:
            numbers += [float(member[key]) for key in ("coefficient", "mean", "spread")]
            str(member["rater"]), str(member["signature"])
        if not record["members"] or not np.isfinite(numbers).all() or not VERSIONED.search(record["ensemble"]):
            raise ValueError
    except (TypeError, KeyError, ValueError, AttributeError, OverflowError):
        raise DataError(where, "not an ensemble of a board", "Take the file from a backup, or remove it") from None
    found: Mapping[str, Any] = record
    return found


def find_ensemble(signature: str, records: Iterable[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The ensemble of a signature, or of a part of it that only one has. Raises UnknownName, UsageError for several."""
    by_name: dict[str, list[Mapping[str, Any]]] = {}
    for record in records:
        by_name.setdefault(str(record["ensemble"]), []).append(record)
    part = re.compile(re.escape(signature) + ("(?![0-9])" if signature[-1:].isdigit() else ""))  # version.1 is not 10
    found = [signature] if signature in by_name else [name for name in by_name if part.search(name)]
    if len(found) == 1:
        first, *others = by_name[found[0]]
        if any(_scoring(other) != _scoring(first) for other in others):
            raise UsageError(f"several boards have an ensemble {found[0]!r}; say with --board which one is meant")
        return first
    if found:
        raise UsageError(f"ensemble {signature!r} may be any of {', '.join(found[:5])}; give one in full")
    raise UnknownName("ensemble", signature, list(by_name), "`metal billboard DATASET` makes them")


def _scoring(record: Mapping[str, Any]) -> tuple[object, object]:
    return record["intercept"], record["members"]


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
