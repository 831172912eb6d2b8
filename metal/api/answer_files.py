"""Outputs with the scores of all raters as lines of CSV or JSON, one part after another."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import pandas as pd

from metal.api.answer_table import RunAnswers
from metal.api.output_texts import TEXTS
from metal.data.escaping import csv_text
from metal.data.files import whole_text

BLOCK = 1_000  # outputs in a part
HEAD = ("language", "criterion", "output", "generator")
FIGURES = ("people", "difference")


def csv_lines(answers: RunAnswers, chosen: pd.DataFrame) -> Iterator[str]:
    """The outputs as CSV with a column for each rater; an apostrophe is added wherever a
    spreadsheet could read a formula. chosen: rows of `answers.chosen`.
    """
    of_chosen = answers.ratings[answers.ratings["item"].isin(chosen["item"])]
    rated = set(map(str, of_chosen["rater"].unique()))
    raters = [rater for rater in (*answers.people, *answers.judges) if rater in rated]
    own = [*HEAD, *TEXTS, *FIGURES]
    named = {rater: f"score by {rater}" if rater in own else rater for rater in raters}
    for number, block in enumerate(_blocks(answers, chosen)):
        rows = []
        for row in block:
            scores = row.pop("scores")
            rows.append(row | {named[rater]: scores.get(rater) for rater in raters})
        table = pd.DataFrame(rows, columns=[*own, *named.values()])
        yield csv_text(table, header=not number)


def json_lines(answers: RunAnswers, chosen: pd.DataFrame) -> Iterator[str]:
    """The outputs as lines of JSON; a score that was not given is null."""
    for block in _blocks(answers, chosen):
        yield "".join(f"{whole_text(json.dumps(row, ensure_ascii=False))}\n" for row in block)


def _blocks(answers: RunAnswers, chosen: pd.DataFrame) -> Iterator[list[dict[str, Any]]]:
    """The outputs as plain values: texts, people's answer, the largest difference, all scores."""
    for start in range(0, max(len(chosen), 1), BLOCK):
        rows = chosen.iloc[start : start + BLOCK]
        texts, scores = answers.texts_of(rows), answers.scores(rows["item"])
        block = []
        for row, text, of in zip(rows.to_dict("records"), texts, scores, strict=True):
            head = {name: str(row[name]) for name in HEAD}
            figures = dict(zip(FIGURES, map(_known, (row["people"], row["size"])), strict=True))
            scores_of = {rater: _known(score) for rater, score in of.items()}
            block.append(head | text | figures | {"scores": scores_of})
        yield block


def _known(number: float) -> float | None:
    return None if math.isnan(number) else float(number)
