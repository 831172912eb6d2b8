"""Judges' replies in a table: read the scores that they give, and compare these with the scores in
their rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from metal.data.ratings import row_number
from metal.data.records import Criterion, Scale
from metal.data.tables.cells import as_texts
from metal.data.tables.justifications import NO_ANSWER
from metal.data.tables.scales import whole_scale
from metal.data.text import first_few
from metal.errors import UsageError

# A reply, its scale and criterion -> score, reason for none, comment, whether the reply contradicts
# itself.
ReplyReader: TypeAlias = Callable[[str, Scale, str], tuple[float | None, str, str, bool]]


def read_replies(
    tidy: pd.DataFrame,
    criteria: list[Criterion],
    options: Mapping[str, Any],
    notes: list[str],
    file: Path,
) -> None:
    """Give `tidy` the scores, reasons and comments that it lacks from its column `reply`.

    Each distinct reply is read once for a criterion. If a scale in `criteria` was derived from the
    levels that occur, it is extended to all whole numbers between them, with a note, because a
    judge may use a level that nobody else did.

    options: `reader`, a ReplyReader. A column that was not named in `columns` is dropped, with a
    note, if most rows have a score and the column may be the rated text: most of its cells do not
    give the score in their row, or its scale is unknown. Raises UsageError for an unknown scale,
    because the replies themselves must not decide it.
    """
    column = as_texts(tidy.pop("reply"))
    rows = np.flatnonzero(column.array.codes >= 0)
    score = tidy["score"].to_numpy(copy=True)
    beside = score[rows]
    lacking = np.isnan(beside)
    doubtful = "reply" not in (options.get("columns") or {}) and 2 * np.count_nonzero(
        lacking
    ) < len(rows)
    of_criterion = tidy["criterion"].array.codes[rows].astype(np.int64)
    problem = _problem([criteria[code] for code in np.unique(of_criterion)], options)
    if problem:
        if not doubtful:
            raise UsageError(problem)
        notes.append(f"replies not read: {problem}")
        return
    names = [criterion.name for criterion in criteria]
    scales = [whole_scale(criterion, names, options) for criterion in criteria]
    verdicts = _verdicts(
        column.iloc[rows],
        of_criterion,
        lambda reply, at: options["reader"](reply, scales[at] or criteria[at].scale, names[at]),
    )
    read = verdicts["score"].to_numpy(dtype=np.float64)
    differ = np.flatnonzero(~lacking & (beside != read))
    if doubtful and 2 * len(differ) > len(rows):
        notes.append(
            'replies not read: most do not say the score in their row (`columns={"reply":'
            " COLUMN}` if they do)"
        )
        return
    tidy["reply"] = column
    for at in np.unique(of_criterion).tolist():
        if scale := scales[at]:
            criteria[at] = replace(criteria[at], scale=scale)
            ends = f"{scale.values[0]:g} to {scale.values[-1]:g}"
            notes.append(
                f"{names[at]}: replies read on the scale of the scores in the table, {ends}; see"
                " `levels`"
            )
    notes.append(_counted(verdicts))
    if len(differ):
        at = differ[0]
        other = verdicts["reason"].iloc[at] or f"{read[at]:g}"
        first = f"row {row_number(file, int(tidy.index[rows[at]]))}: {beside[at]:g}, reply {other}"
        scores = f"{len(differ):,} of {np.count_nonzero(~lacking):,} scores"
        notes.append(f"{scores} differ from what the reply says (first: {first})")
    score[rows] = np.where(lacking, read, beside)
    tidy["score"] = score
    reason = tidy["reason"].to_numpy(dtype=object, copy=True)
    unexplained = lacking & (~np.isnan(read) | (reason[rows] == NO_ANSWER))
    reason[rows] = np.where(unexplained, verdicts["reason"], reason[rows])
    tidy["reason"] = reason
    comment = (
        as_texts(tidy.reindex(columns=["comment"])["comment"])
        .astype(object)
        .fillna("")
        .to_numpy(copy=True)
    )
    replies = np.where(lacking, verdicts["comment"], column.iloc[rows])
    comment[rows] = np.where(comment[rows] == "", replies, comment[rows])
    tidy["comment"] = comment


def _verdicts(
    replies: pd.Series,
    of_criterion: np.ndarray[Any, np.dtype[np.int64]],
    read: Callable[[str, int], tuple[float | None, str, str, bool]],
) -> Any:
    """What each reply says: the score or the reason why there is none, the comment, and whether the
    reply wavers between scores.

    read: a function that reads a reply on the criterion with this number; it is called once for
    each distinct reply.
    """
    texts = replies.cat.categories.tolist()
    key, rows = np.unique(of_criterion * len(texts) + replies.array.codes, return_inverse=True)
    answers = [read(texts[pair % len(texts)], pair // len(texts)) for pair in key.tolist()]
    columns = ["score", "reason", "comment", "wavering"]
    return pd.DataFrame(answers, columns=columns).iloc[rows]


def _problem(criteria: Sequence[Criterion], options: Mapping[str, Any]) -> str:
    """Why replies on these criteria cannot be read: a scale has open ends, or was shifted."""
    for criterion in criteria:
        if not criterion.scale.levels and criterion.scale.low is None:
            ends = {criterion.name: "0-100"}
            return (
                f"the scale of {criterion.name} is not known; name it, e.g. `ranges={ends}` or"
                " `levels`"
            )
    return (
        ("`shifts` moves scores, not the answers in replies; leave it out")
        if options.get("shifts")
        else ""
    )


def _counted(verdicts: pd.DataFrame) -> str:
    """How many replies have a score, and why others have none."""
    reasons = verdicts["reason"][verdicts["score"].isna()].value_counts()
    line = (
        f"replies: {len(verdicts):,}; {len(verdicts) - reasons.sum():,} read, {reasons.sum():,}"
        " without a score"
    )
    if len(reasons):
        line += f" ({first_few([f'{reason} {count:,}' for reason, count in reasons.items()])})"
    wavering = int(verdicts["wavering"].sum())
    return line + (f"; {wavering:,} also name another score, or a range" if wavering else "")
