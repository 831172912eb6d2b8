"""Whose behaviour stands out and why, in plain English; and people of a group who rated all alike, more than can be.

A reason needs two things: a difference that is beyond chance, corrected for the number of people looked at (Holm), and
one large enough to matter. It is a reason to look at somebody's ratings, not a proof that they are bad: people with an
eye of their own also differ.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np

from metal.data.dataset import Dataset

# Fewer say little: with 20 ratings on 10 sources a share has a standard error of about 0.1 already.
MIN_SHARED = 20
MIN_SOURCES = 10
# The chance of naming anybody at all, in a crowd where nobody differs.
ALPHA = 0.05
# One rating in ten on which colleagues would have agreed: what a third of a panel of three loses a majority by.
DISAGREES_BY = 0.10
# Nine answers of ten alike leave an output little influence; easy tasks are like that, so the colleagues' share of the
# same label, on the same outputs, has to be clearly lower.
NEARLY_ALWAYS = 0.90
OFTENER_BY = 0.20
# A tenth of the scale: 0.4 points of five, 0.2 of three levels. Moves a mean of three by a thirtieth of the scale.
SEVERER_BY = 0.10
# Half of all comments made on another output too; short remarks ("good") repeat honestly, so colleagues have to do it
# far less.
MIN_COMMENTS = 20
REPEATS = 0.50
REPEATS_OFTENER_BY = 0.25

_COMMENT_SHOWN = 60

# Of people who rated all alike.
LEAST_OUTPUTS = 50  # with all criteria rated by all of the group
TIMES = 4.0  # as often as the criteria would come out alike together by chance; where outputs differ in difficulty, 2
LEAST_SHARE = 0.2
LEAST_PEOPLE = 3


def stands_out(row: Mapping[str, Any]) -> list[str]:
    """The reasons, each with its figures; empty where nothing stands out. row: of `behaviour`, as a mapping.

    Of labels nothing can be said where `not_compared` has a reason. Comments need no colleagues on the same outputs and
    are looked at all the same.
    """
    about_labels = [] if not_compared(row) else [*_disagreement(row), *_one_label(row), *_severity(row)]
    return [*about_labels, *_comments(row)]


def not_compared(row: Mapping[str, Any]) -> str:
    """Why somebody's labels cannot be set beside others'; empty where they can."""
    if not row["ratings"]:
        return f"answered none of {row['unanswered']} questions"
    if not row["shared"]:
        return f"shares none of {row['ratings']} ratings with a colleague: there is nothing to compare with"
    if row["shared"] < MIN_SHARED or row["sources"] < MIN_SOURCES:
        return (
            f"too few shared ratings to say: {row['shared']} on {row['sources']} sources "
            f"({MIN_SHARED} on {MIN_SOURCES} needed)"
        )
    return ""


def _disagreement(row: Mapping[str, Any]) -> list[str]:
    if row["shared"] > row["ties"] and row["majority_agreement"] == 0:
        return [f"never gives the label of the majority of the others (0 of {row['shared'] - row['ties']} ratings)"]
    difference = row["agreement_difference"]
    if not (difference <= -DISAGREES_BY and row["agreement_difference_holm"] < ALPHA):
        return []
    return [
        f"disagrees with colleagues more than they do among themselves: agrees with {_percent(row['agreement'])} of "
        f"them, they with {_percent(row['colleagues_agreement'])} of each other on the same {row['compared']} ratings "
        f"({_figures(row, 'agreement_difference')})"
    ]


def _one_label(row: Mapping[str, Any]) -> list[str]:
    beyond = row["label_difference_holm"] < ALPHA and row["label_difference"] >= OFTENER_BY
    if not (row["label_share"] >= NEARLY_ALWAYS and beyond):
        return []
    return [
        f"nearly always says “{row['label']}”: in {_percent(row['label_share'])} of ratings, colleagues in "
        f"{_percent(row['colleagues_label_share'])} of the same ({_figures(row, 'label_difference')})"
    ]


def _severity(row: Mapping[str, Any]) -> list[str]:
    severity = row["severity"]
    if not (abs(severity) >= SEVERER_BY and row["severity_holm"] < ALPHA):
        return []
    how, where = ("severer", "below") if severity > 0 else ("milder", "above")
    return [
        f"much {how} than colleagues: scores stand {_percent(abs(severity))} of the scale {where} theirs "
        f"({_figures(row, 'severity')})"
    ]


def _comments(row: Mapping[str, Any]) -> list[str]:
    if row["comments"] < MIN_COMMENTS or not row["repeated"] >= REPEATS:
        return []
    others = row["colleagues_repeated"]
    if others > row["repeated"] - REPEATS_OFTENER_BY:
        return []
    text = " ".join(str(row["repeated_comment"]).split())
    text = text if len(text) <= _COMMENT_SHOWN else text[: _COMMENT_SHOWN - 1] + "…"
    beside = f", colleagues {_percent(others)} of theirs" if not isnan(others) else ""
    return [
        f"repeats comments again and again: {_percent(row['repeated'])} of {row['comments']} were made on another "
        f"output too{beside}; “{text}” on {row['repeated_outputs']} outputs"
    ]


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%"


def _figures(row: Mapping[str, Any], name: str) -> str:
    """`-0.21 [-0.25, -0.17], p < 0.001 corrected for people`."""
    p = row[f"{name}_holm"]
    shown = "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
    return f"{row[name]:+.2f} [{row[f'{name}_low']:+.2f}, {row[f'{name}_high']:+.2f}], {shown}, corrected for people"


@dataclass(frozen=True)
class Unanimous:
    """A group in a language. outputs: with `criteria` criteria rated by `people` each; same: those on which everybody
    gave the same on each criterion. expected: their share if criteria came out alike independently of each other.
    """

    group: str
    language: str
    people: int
    criteria: int
    outputs: int
    same: int
    expected: float

    @property
    def share(self) -> float:
        """Of the outputs."""
        return self.same / self.outputs

    @property
    def suspicious(self) -> bool:
        """Whether it is too often for people who rated by themselves."""
        enough = self.outputs >= LEAST_OUTPUTS and self.people >= LEAST_PEOPLE and self.criteria >= 2
        return enough and self.share >= LEAST_SHARE and self.share >= TIMES * self.expected


def unanimous(dataset: Dataset, people: Collection[str]) -> Iterator[Unanimous]:
    """An entry a group and language that has outputs rated by three people or more on two criteria or more."""
    table = dataset.ratings
    table = table[table["rater"].isin(list(people)) & table["score"].notna()]
    for (language, group), rows in table.groupby(["language", "group"], observed=True, sort=True):
        cells = rows.groupby(["output", "criterion"], observed=True)["score"].agg(["size", "nunique"])
        raters = int(cells["size"].max())
        complete = cells[cells["size"] == raters]["nunique"].unstack("criterion")
        complete = complete[complete.notna().all(axis=1)]
        if raters < LEAST_PEOPLE or complete.shape[1] < 2 or complete.empty:
            continue
        alike = complete.to_numpy() == 1
        expected = float(np.prod(alike.mean(axis=0)))
        yield Unanimous(
            str(group), str(language), raters, alike.shape[1], len(alike), int(alike.all(axis=1).sum()), expected
        )
