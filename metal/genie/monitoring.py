"""How every rater did on the test questions, and who is noisy by these answers (GENIE, section 5).

Each language x criterion is a separate task with its own model of annotators. Positive and negative
questions are modelled separately too. A rater who is noisy on either is noisy.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from metal.data.languages import language_name
from metal.data.records import Criterion, Output, Rater
from metal.errors import UsageError
from metal.genie.gold_questions import SIDES, rightness, side_of, tells
from metal.genie.noisy import DEFAULT_MODEL, NOISY_BETA, Examination, examine

PEOPLE, EVERYBODY = "people", "all raters"
FEWEST = 3  # people, for most of them to say something of a question

FIGURES = ("asked", "right", "p_noisy", "accuracy", "accuracy_low", "accuracy_high")
WORKERS = (
    *("language", "criterion", "rater", "kind", "group"),
    *(f"{side}_{figure}" for side in SIDES for figure in (*FIGURES, "noisy")),
    *("unanswered", "noisy"),
)
MIXTURES = (
    "language",
    "criterion",
    "side",
    "fitted_on",
    "workers",
    "questions",
    "component",
    "share",
    "alpha",
    "beta",
)
RATERS = (
    *("rater", "kind", "group", "languages"),
    *(f"{side}_{figure}" for side in SIDES for figure in ("right", "asked")),
    *("unanswered", "weakest", *FIGURES[2:], "share_right", "share_low", "share_high", "noisy"),
)
QUESTIONS = ("language", "side", "question", "source", "gold_of", "criterion", "asked", "right")


@dataclass(frozen=True)
class DoubtedQuestions:
    """A task and side on which most people fail. The fault is then in the questions or in what the
    criterion declares to look at, so nobody is called noisy because of them. failed, people: how
    many failed, and how many were asked.
    """

    language: str
    criterion: str
    side: str
    failed: int
    people: int


@dataclass(frozen=True)
class Monitoring:
    """What test questions show about all raters.


    workers: one row per rater, language and criterion. raters: one row per rater. mixtures: the
    fitted models. questions: how each question was answered. noisy: noisy rater -> reasons in
    words.
    """

    workers: pd.DataFrame
    raters: pd.DataFrame
    mixtures: pd.DataFrame
    questions: pd.DataFrame
    noisy: Mapping[str, tuple[str, ...]]
    doubted: tuple[DoubtedQuestions, ...] = ()


def trials(
    answers: pd.DataFrame,
    questions: Mapping[str, Output],
    criteria: Mapping[str, Criterion],
    comparative: Container[str] = (),
) -> pd.DataFrame:
    """Mark each answer to a test question with its language, its side and whether it is `right` (1
    or 0).

    right is NaN for an answer without a score; answers that can be neither right nor wrong (see
    `tells`) are left out. comparative: criteria that compare an output with the gold. Raises
    UsageError for an answer to a question that nobody asked, or on an unknown criterion.
    """
    table = answers.loc[:, ["output", "criterion", "rater", "score"]].astype({"score": np.float64})
    table[["output", "criterion", "rater"]] = table[["output", "criterion", "rater"]].astype(str)
    _check_known(table, "output", questions, "test question")
    _check_known(table, "criterion", criteria, "criterion")
    table["language"] = table["output"].map(
        {name: question.language for name, question in questions.items()}
    )
    table["side"] = table["output"].map({name: side_of(name) for name in questions})
    parts = []
    for (name, side), rows in table.groupby(["criterion", "side"], sort=False):
        criterion, side = criteria[str(name)], str(side)
        if tells(criterion, side):
            scores = rows["score"].to_numpy(dtype=np.float64)
            parts.append(
                rows.assign(
                    right=rightness(criterion, side, scores, comparative=name in comparative)
                )
            )
    return (
        pd.concat(parts) if parts else table.iloc[:0].assign(right=np.array([], dtype=np.float64))
    )


def _check_known(table: pd.DataFrame, column: str, names: Container[str], what: str) -> None:
    for name in sorted(set(table[column])):
        if name not in names:
            raise UsageError(
                f"test_questions/ has answers of {what} {name!r}, which the dataset does not have"
            )


def monitor(
    answers: pd.DataFrame,
    questions: Mapping[str, Output],
    criteria: Mapping[str, Criterion],
    raters: Mapping[str, Rater],
    *,
    model: str = DEFAULT_MODEL,
    noisy_beta: float = NOISY_BETA,
    seed: int = 0,
    comparative: Container[str] = (),
) -> Monitoring:
    """Model the answers to the test questions.

    A task's model is learned from its people or, if no person answered, from everybody. LLM judges
    are examined with the model learned from people: the rule is the same for all. If most people
    (of three or more) fail, the questions are doubted and nobody is noisy because of them. Raters
    without a test question have no row. Raises UsageError like `trials`, and for answers of an
    unknown rater.
    """
    table = trials(answers, questions, criteria, comparative)
    _check_known(table, "rater", raters, "rater")
    workers: list[dict[str, Any]] = []
    mixtures: list[dict[str, Any]] = []
    doubted: list[DoubtedQuestions] = []
    order = {name: position for position, name in enumerate(criteria)}
    cells = sorted(
        {*zip(table["language"], table["criterion"], strict=True)},
        key=lambda c: (c[0], order[c[1]]),
    )
    for language, criterion in cells:
        in_cell = table[(table["language"] == language) & (table["criterion"] == criterion)]
        names = sorted(in_cell["rater"].unique())
        rows = {name: _blank(language, criterion, raters[name]) for name in names}
        for name, count in in_cell[in_cell["right"].isna()].groupby("rater").size().items():
            rows[str(name)]["unanswered"] = int(count)
        for side in SIDES:
            counts = _counts(in_cell[in_cell["side"] == side], names)
            right, asked = counts["right"].to_numpy(), counts["asked"].to_numpy()
            if not asked.any():
                continue
            people = np.array([raters[name].kind == "human" for name in names])
            of_people = asked[people].any()
            learned_from = people if of_people else np.ones(len(names), dtype=bool)
            learned = examine(
                right[learned_from], asked[learned_from], model, noisy_beta=noisy_beta, seed=seed
            )
            mixtures += _mixture_rows(
                learned, language, criterion, side, PEOPLE if of_people else EVERYBODY
            )
            examination = learned.after(right, asked)
            posterior = np.stack([examination.p_noisy, examination.accuracy, *examination.interval])
            noisy_here, examined = examination.noisy, people & (asked > 0)
            failed = int(noisy_here[examined].sum())
            if examined.sum() >= FEWEST and failed > examined.sum() / 2:
                doubted.append(
                    DoubtedQuestions(language, criterion, side, failed, int(examined.sum()))
                )
                noisy_here = np.zeros_like(noisy_here)
            for at in np.flatnonzero(asked):
                row = rows[names[at]]
                figures = (int(asked[at]), int(right[at]), *posterior[:, at])
                row |= {f"{side}_{key}": value for key, value in zip(FIGURES, figures, strict=True)}
                row |= {
                    f"{side}_noisy": bool(noisy_here[at]),
                    "noisy": bool(row["noisy"] or noisy_here[at]),
                }
        workers += rows.values()
    frame = pd.DataFrame(workers, columns=list(WORKERS))
    return Monitoring(
        frame,
        rater_table(frame, criteria),
        pd.DataFrame(mixtures, columns=list(MIXTURES)),
        question_table(table, questions),
        _noisy(workers, criteria),
        tuple(doubted),
    )


def _noisy(
    workers: Sequence[Mapping[str, Any]], criteria: Mapping[str, Criterion]
) -> dict[str, tuple[str, ...]]:
    """The noisy raters, each with the reasons in words."""
    noisy: dict[str, tuple[str, ...]] = {}
    for row in sorted(workers, key=lambda row: row["rater"]):
        if row["noisy"]:
            why = why_noisy(row, criteria[row["criterion"]].title)
            noisy[row["rater"]] = (*noisy.get(row["rater"], ()), *why)
    return noisy


def _blank(language: str, criterion: str, rater: Rater) -> dict[str, Any]:
    row: dict[str, Any] = {"language": language, "criterion": criterion, "rater": rater.rater}
    row |= {"kind": rater.kind, "group": rater.group, "unanswered": 0, "noisy": False}
    for side in SIDES:
        row |= {f"{side}_asked": 0, f"{side}_right": 0, f"{side}_noisy": False}
        row |= {f"{side}_{figure}": np.nan for figure in FIGURES[2:]}
    return row


def _counts(rows: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """The columns asked and right for each rater, in the order of the names."""
    answered = rows[rows["right"].notna()]
    counts = (
        answered.groupby("rater")["right"]
        .agg(["size", "sum"])
        .reindex(names)
        .fillna(0)
        .astype(np.int64)
    )
    return counts.rename(columns={"size": "asked", "sum": "right"})


def _mixture_rows(
    examination: Examination, language: str, criterion: str, side: str, fitted_on: str
) -> Iterator[dict[str, Any]]:
    mixture = examination.mixture
    for component, (share, alpha, beta) in enumerate(
        zip(mixture.probabilities, mixture.alpha, mixture.beta, strict=True)
    ):
        yield {
            "language": language,
            "criterion": criterion,
            "side": side,
            "fitted_on": fitted_on,
            "workers": int((examination.asked > 0).sum()),
            "questions": int(examination.asked.sum()),
            "component": component + 1,
            "share": float(share),
            "alpha": float(alpha),
            "beta": float(beta),
        }


def why_noisy(row: Mapping[str, Any], criterion: str) -> Iterator[str]:
    """`negative questions on Task quality (Hindi): 2 of 9 right, P 0.998`. criterion: the
    criterion's title.
    """
    for side in SIDES:
        p = row[f"{side}_p_noisy"]
        if row[f"{side}_noisy"]:
            counts = f"{row[f'{side}_right']} of {row[f'{side}_asked']} right"
            shown = f"{p:.3f}" if p < 0.9995 else "above 0.999"
            yield (
                f"{side} questions on {criterion} ({language_name(row['language'])}): {counts}, P"
                f" {shown}"
            )


def rater_table(workers: pd.DataFrame, criteria: Mapping[str, Criterion]) -> pd.DataFrame:
    """One row per rater, noisiest first: right answers, answers, and the task and side with the
    worst result.

    weakest: the task and side where p_noisy is highest. p_noisy, accuracy and share_right are of
    this task and side. accuracy is the posterior mean with its interval; it also depends on the
    answers of other raters. share_right depends on the rater's own answers alone and has Jeffreys'
    95% interval.
    """
    rows = []
    for rater, of_rater in workers.groupby("rater", sort=True):
        cells = of_rater.to_dict("records")
        places = [(row, side) for row, side in product(cells, SIDES) if row[f"{side}_asked"]]
        first = cells[0]
        summary: dict[str, Any] = {"rater": rater, "kind": first["kind"], "group": first["group"]}
        summary["languages"] = ", ".join(sorted({row["language"] for row in cells}))
        for side in SIDES:
            summary |= {key: int(of_rater[key].sum()) for key in (f"{side}_right", f"{side}_asked")}
        summary |= {
            "unanswered": int(of_rater["unanswered"].sum()),
            "noisy": bool(of_rater["noisy"].any()),
        }
        if places:
            row, side = max(
                places,
                key=lambda place: (place[0][f"{place[1]}_noisy"], place[0][f"{place[1]}_p_noisy"]),
            )
            criterion = criteria[row["criterion"]].title
            summary["weakest"] = (
                f"{side} questions on {criterion} ({language_name(row['language'])})"
            )
            summary |= {key: row[f"{side}_{key}"] for key in FIGURES[2:]}
            summary |= _own_share(row[f"{side}_right"], row[f"{side}_asked"])
        rows.append(summary)
    table = pd.DataFrame(rows, columns=list(RATERS))
    return table.sort_values(
        "p_noisy", ascending=False, kind="stable", na_position="last", ignore_index=True
    )


def _own_share(right: int, asked: int) -> dict[str, float]:
    """The share of right answers with Jeffreys' interval. Its low end is 0 if no answer is right,
    its high end is 1 if all are right (Brown et al. 2001).
    """
    from scipy.special import betaincinv

    low, high = betaincinv(right + 0.5, asked - right + 0.5, [0.025, 0.975]).tolist()
    if right == 0:
        low = 0.0
    if right == asked:
        high = 1.0
    return {"share_right": right / asked, "share_low": low, "share_high": high}


def question_table(table: pd.DataFrame, questions: Mapping[str, Output]) -> pd.DataFrame:
    """How often each question was answered, and how often right. If nobody gets a question right,
    its gold may be bad.
    """
    answered = table[table["right"].notna()]
    counted = answered.groupby(["output", "criterion"])["right"].agg(["size", "sum"]).reset_index()
    rows = []
    for name, criterion, asked, right in counted.itertuples(index=False):
        facts = {"language": questions[name].language, "side": side_of(name), "question": name}
        facts |= {
            "source": questions[name].source,
            "gold_of": questions[name].note,
            "criterion": criterion,
        }
        rows.append({**facts, "asked": asked, "right": int(right)})
    return pd.DataFrame(rows, columns=list(QUESTIONS))
