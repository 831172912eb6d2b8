"""Texts in a column `reason` that justify a score: comments, and no reasons why there is none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from metal.data.tables.cells import as_texts
from metal.data.text import plural

NO_ANSWER = "no answer"
SHARE = 0.1  # of the scores; if so many have a text, the column justifies


def read_reasons(tidy: pd.DataFrame, notes: list[str]) -> None:
    """Let `reason` say of each missing score why there is none, and of no other.

    A text beside a score becomes a comment, below the comment that is there already. If many scores
    have such a text, or one text stands beside a score and beside a missing one, the column
    justifies: then texts beside missing scores are comments, too, and their reason is NO_ANSWER,
    which is also the reason of those without a text. Note: how many texts became comments.
    """
    answered = tidy["score"].notna().to_numpy()
    if "reason" not in tidy:
        tidy["reason"] = pd.Categorical.from_codes(
            (~answered).astype(np.int8), pd.Index(["", NO_ANSWER])
        )
        return
    reason = as_texts(tidy["reason"]).astype(object).fillna("")
    with_text = (reason != "").to_numpy()
    beside_both = reason[with_text & ~answered].isin(reason[with_text & answered]).any()
    justifies = bool(beside_both or (with_text & answered).sum() >= SHARE * answered.sum() > 0)
    moved = with_text & (answered | justifies)
    if moved.any():
        tidy["comment"] = _with_justifications(tidy, reason.where(moved, ""))
        beside = "of the ratings" if justifies else "beside a score"
        notes.append(
            f"{plural(int(moved.sum()), 'text')} in 'reason' {beside}: read as comments, not as"
            " reasons why a score is missing"
        )
    kept = reason.where(~moved, "")
    tidy["reason"] = kept.where(answered | (kept != ""), NO_ANSWER)


def _with_justifications(tidy: pd.DataFrame, justification: pd.Series) -> pd.Series:
    if "comment" not in tidy:
        return justification
    comment: Any = as_texts(tidy["comment"]).astype(object).fillna("")
    both = (comment != "") & (justification != "") & (comment != justification)
    together = comment.where(comment != "", justification)
    joined: pd.Series = together.mask(both, comment + "\n" + justification)
    return joined
