"""Stored ensembles: their records, their signatures, and how they score other outputs.

Source: Bidimensional Leaderboards, section 2.2.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite, isnan
from pathlib import Path
from string import ascii_uppercase
from typing import Any, cast

import numpy as np
import pandas as pd

from metal.boards.cells import OVERALL
from metal.boards.ensemble import BoardEnsemble
from metal.boards.settings import BoardSettings, signature
from metal.data.dataset import Dataset
from metal.data.grouping import grouped
from metal.data.records import METRIC_SCORE
from metal.errors import DataError, UnknownName, UsageError
from metal.raters.metrics.dataset_scores import NO_NUMBER, first_row

# earlier ones have no data
VERSIONED = re.compile(r"\+version\.([0-9]{1,9})(\+data\.[0-9a-f]{8})?$")


def ensemble_record(
    dataset: Dataset, settings: BoardSettings, ensemble: BoardEnsemble
) -> dict[str, Any]:
    """Plain values with which an ensemble can score other outputs, and which say where it comes
    from.
    """
    # a group of people is not among them
    facts_of = {name: rater.about for name, rater in dataset.raters.items()}
    return {
        "long": signature(
            dataset.identity, settings, crit=ensemble.criterion, lang=ensemble.language or "all"
        ),
        "board": dataset.card.name,
        "version": settings.version,
        "criterion": ensemble.criterion,
        "language": ensemble.language,
        "data": ensemble.digest,
        "intercept": ensemble.ensemble.intercept,
        "alpha": ensemble.alpha,
        "alpha_intervals": list(map(list, ensemble.intervals)),
        "pearson_unseen": None if isnan(ensemble.left_out) else ensemble.left_out,
        "members": [
            {
                "rater": metric,
                **weights,
                "signature": str(facts_of.get(metric, {}).get("signature", "")),
                "negated": bool(facts_of.get(metric, {}).get("negated", False)),
            }
            for metric, weights in ensemble.members.items()
        ],
    }


def ensemble_base(dataset: Dataset, ensemble: BoardEnsemble) -> str:
    """The first part of a signature, such as `ensemble.BOARD+refs.AB`. It names the criterion
    (except `overall`) and the language if the dataset has several.

    refs: one letter per reference, counted for the source with the most references. This part does
    not depend on what the board ranks.
    """
    most = max((len(source.references) for source in dataset.sources.values()), default=0)
    letters = ascii_uppercase[:most] if most <= len(ascii_uppercase) else str(most)
    parts = [f"ensemble.{dataset.card.name}", f"refs.{letters or 'none'}"]
    several = len(set(dataset.criteria) - {METRIC_SCORE.name}) > 1
    parts += (
        [f"criterion.{ensemble.criterion}"] if several and ensemble.criterion != OVERALL else []
    )
    parts += [] if len(dataset.languages) < 2 else [f"language.{ensemble.language or 'all'}"]
    return "+".join(part.replace("+", "%2B") for part in parts)


def ensemble_signature(
    base: str, record: Mapping[str, Any], stored: Sequence[Mapping[str, Any]]
) -> str:
    """The signature of the stored ensemble that gives the same scores; otherwise a signature with
    the next version, such as `BASE+version.1+data.0f3a9c21`.

    data: a digest of what the ensemble was fitted to.
    """
    version = 0
    for earlier in stored:
        name = str(earlier["ensemble"])
        numbered = VERSIONED.search(name)
        if not numbered or name[: numbered.start()] != base:
            continue
        if _scoring(earlier) == _scoring(record):
            return name
        version = max(version, int(numbered[1]))
    return f"{base}+version.{version + 1}+data.{record['data']}"


def _scoring(record: Mapping[str, Any]) -> tuple[Any, ...]:
    """The values that determine an ensemble's scores. Ensembles with equal values give every output
    the same score.
    """
    members = sorted(record["members"], key=lambda member: str(member["rater"]))
    numbers = [
        tuple(f"{member[key]:.9g}" for key in ("coefficient", "mean", "spread"))
        for member in members
    ]
    return (
        f"{record['intercept']:.9g}",
        [(member["rater"], member["signature"]) for member in members],
        numbers,
    )


def read_ensemble(record: Any, location: object) -> Mapping[str, Any]:
    """Check that a stored ensemble can be applied, and return it. Raises DataError if it cannot.
    location: where the record is, for the message.
    """
    try:
        complete = _is_complete(record)
    except (TypeError, KeyError, ValueError, AttributeError, OverflowError):
        complete = False
    if not complete:
        raise DataError(
            location, "not an ensemble of a board", "Take the file from a backup, or remove it"
        )
    return cast(Mapping[str, Any], record)


def _is_complete(record: Any) -> bool:
    """Whether a record has a signature, members with names, and finite numbers. Raises an exception
    if a part is missing or has another type.
    """
    members = [(member["rater"], member["signature"]) for member in record["members"]]
    numbers = [float(record["intercept"])]
    for member in record["members"]:
        numbers += [float(member[key]) for key in ("coefficient", "mean", "spread")]
    named = VERSIONED.search(record["ensemble"]) is not None
    return bool(members) and named and all(map(isfinite, numbers))


def find_ensemble(signature: str, records: Iterable[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The ensemble with this signature, or the only one whose signature contains it.

    Raises UnknownName if there is none, UsageError if there are several.
    """
    by_name = grouped(records, lambda record: str(record["ensemble"]))
    # version.1 is not 10
    part = re.compile(re.escape(signature) + ("(?![0-9])" if signature[-1:].isdigit() else ""))
    names = [signature] if signature in by_name else list(filter(part.search, by_name))
    if not names:
        raise UnknownName("ensemble", signature, list(by_name), "`metal.billboard(...)` makes them")
    if len(names) > 1:
        raise UsageError(
            f"ensemble {signature!r} matches several: {', '.join(names[:5])}; give one in full"
        )
    first, *others = by_name[names[0]]
    if any(
        (other["intercept"], other["members"]) != (first["intercept"], first["members"])
        for other in others
    ):
        raise UsageError(f"several boards have an ensemble {names[0]!r}; choose one with `board`")
    return first


def members(record: Mapping[str, Any]) -> list[str]:
    """The raters whose scores the ensemble needs."""
    return [str(member["rater"]) for member in record["members"]]


def apply_ensemble(record: Mapping[str, Any], scores: pd.DataFrame) -> pd.DataFrame:
    """Score outputs with a stored ensemble; return the columns output, score and reason.

    scores: a column `output` and one for each member, as on the board (higher is better). An output
    that lacks a member's score gets no score (NaN), and the reason names the member. Raises
    DataError for a member without a column.
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
        np.array([float(member[key]) for member in record["members"]])
        for key in ("coefficient", "mean", "spread")
    )
    score = float(record["intercept"]) + ((table - means) / spreads) @ weights
    missing = [", ".join(np.array(names)[row]) for row in np.isnan(table)]
    reasons = [f"no score of {which}" if which else "" for which in missing]
    return pd.DataFrame({"output": scores["output"].astype(str), "score": score, "reason": reasons})


def member_columns(frame: pd.DataFrame, names: Sequence[str], path: Path) -> pd.DataFrame:
    """Take the column `output` and the members' scores from a table of texts, and turn the scores
    into numbers. path: the table's file, for messages.

    Raises DataError for an empty output and a score that is neither a finite number nor empty.
    """
    first = first_row(path)
    if (empty := frame["output"].isna() | (frame["output"].astype(str).str.strip() == "")).any():
        raise DataError(
            f"{path} row {int(empty.to_numpy().argmax()) + first}",
            "output is empty",
            "Each row names one",
        )
    columns = {"output": frame["output"]}
    for name in names:
        if name not in frame:
            continue
        numbers: pd.Series = pd.to_numeric(frame[name], errors="coerce").astype(float)
        text = frame[name].astype(object)
        filled = text.notna() & ~text.astype(str).str.strip().str.lower().isin(NO_NUMBER)
        wrong = filled & ~(numbers.abs() < float("inf"))
        if wrong.any():
            at = int(wrong.to_numpy().argmax())
            raise DataError(
                f"{path} row {at + first}",
                f"{name} is {text.iloc[at]!r}",
                "Scores are numbers, or empty",
            )
        columns[name] = numbers
    return pd.DataFrame(columns)
