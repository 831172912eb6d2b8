"""The tables and warnings of `metal monitor`, and the reasons why somebody stands out, in plain
English.

The tables cover test questions, behaviour compared with colleagues, and effects of exclusion.

A reason to stand out needs two things: a difference that is beyond chance, corrected for the number
of people looked at (Holm), and one large enough to matter. A reason calls for a look at somebody's
ratings; it does not prove that they are bad, because people with a better eye also differ.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np
import pandas as pd

from metal.data.dataset import Dataset
from metal.data.languages import language_name
from metal.data.people import people_in
from metal.data.progress import Progress, divided, no_progress
from metal.data.text import MINUS, count, estimate, p_words, percent, percent_change, signature_line
from metal.genie.behaviour import COLUMNS as BEHAVIOUR
from metal.genie.behaviour import behaviour
from metal.genie.exclusion import EXCLUSIONS, without
from metal.genie.gold_questions import NEGATIVE, SIDES, leak_warning
from metal.genie.monitoring import DoubtedQuestions, Monitoring
from metal.genie.store import GoldQuestions
from metal.version import __version__

FIGURES = ("fleiss_kappa", "alpha", "percent_agreement")
ENDS = tuple(f"{figure}_{end}" for figure in FIGURES for end in ("low", "high"))
AGREEMENT = (
    *("language", "criterion", "without_noisy", "people", "items"),
    *FIGURES,
    *ENDS,
    "undefined",
)
PANELS = ("language", "criterion", "scale", "raters", "items", "mean", "sd")
COUNTS = tuple(f"{side}_{what}" for side in SIDES for what in ("right", "asked"))
ROUNDS = ("round", "at", "rater", "ratings", *COUNTS)

# Fewer say little: with 20 ratings on 10 sources a share has a standard error of about 0.1 already.
MIN_SHARED = 20
MIN_SOURCES = 10
# The chance of naming anybody at all, in a crowd where nobody differs.
ALPHA = 0.05
# One rating in ten on which colleagues would have agreed: what a third of a panel of three loses a
# majority by.
DISAGREES_BY = 0.10
# Nine answers of ten alike leave an output little influence; easy tasks are like that, so the
# colleagues' share of the
# same label, on the same outputs, has to be clearly lower.
NEARLY_ALWAYS = 0.90
OFTENER_BY = 0.20
# A tenth of the scale: 0.4 points of five, 0.2 of three levels. Moves a mean of three by a
# thirtieth of the scale.
SEVERER_BY = 0.10
# Half of all comments made on another output too; short remarks ("good") repeat honestly, so
# colleagues have to do it
# far less.
MIN_COMMENTS = 20
REPEATS = 0.50
REPEATS_OFTENER_BY = 0.25

# how reasons of disagreement begin
DISAGREES, NEVER = "disagrees with colleagues", "never gives the label"
_COMMENT_SHOWN = 60

# Of people who rated all alike.
LEAST_OUTPUTS = 50  # with all criteria rated by all of the group
# as often as the criteria would come out alike together by chance; where outputs differ in
# difficulty, 2
TIMES = 4.0
LEAST_SHARE = 0.2
LEAST_PEOPLE = 3


def stands_out(row: Mapping[str, Any]) -> list[str]:
    """The reasons why a person stands out, each with its figures; empty if nothing stands out.

    row: a row of `behaviour`, as a mapping.

    Labels are not examined if `not_compared` gives a reason. Comments are always examined, because
    they need no colleagues on the same outputs.
    """
    about_labels = (
        []
        if not_compared(row)
        else [*_disagreement(row), *_one_label(row), *_severer_or_milder(row)]
    )
    return [*about_labels, *_comments(row)]


def not_compared(row: Mapping[str, Any]) -> str:
    """Why somebody's labels cannot be compared with those of colleagues; empty if they can."""
    if not row["ratings"]:
        return f"answered none of {count(row['unanswered'])} test questions"
    if not row["shared"]:
        return (
            f"no colleague rated any of the same outputs ({count(row['ratings'])} ratings): there"
            " is nothing to compare with"
        )
    if row["shared"] < MIN_SHARED or row["sources"] < MIN_SOURCES:
        return (
            f"too few shared ratings: {row['shared']} on {row['sources']} sources ({MIN_SHARED} on"
            f" {MIN_SOURCES} needed)"
        )
    return ""


def _disagreement(row: Mapping[str, Any]) -> list[str]:
    if row["shared"] > row["ties"] and row["majority_agreement"] == 0:
        return [
            f"{NEVER} that the others give most often (0 of {count(row['shared'] - row['ties'])}"
            " ratings)"
        ]
    difference = row["agreement_difference"]
    if not (difference <= -DISAGREES_BY and row["agreement_difference_p_adjusted"] < ALPHA):
        return []
    return [
        f"{DISAGREES} more than they do with each other: agrees with them in "
        f"{percent(row['agreement'])} of cases, while they agree with each other in "
        f"{percent(row['colleagues_agreement'])}, on the same {count(row['compared'])} ratings "
        f"({_figures(row, 'agreement_difference')})"
    ]


def _one_label(row: Mapping[str, Any]) -> list[str]:
    beyond = row["label_difference_p_adjusted"] < ALPHA and row["label_difference"] >= OFTENER_BY
    if not (row["label_share"] >= NEARLY_ALWAYS and beyond):
        return []
    return [
        f"nearly always says “{row['label']}”: in {percent(row['label_share'])} of ratings,"
        f" colleagues in {percent(row['colleagues_label_share'])} of the same"
        f" ({_figures(row, 'label_difference')})"
    ]


def _severer_or_milder(row: Mapping[str, Any]) -> list[str]:
    severity = row["severity"]
    if not (abs(severity) >= SEVERER_BY and row["severity_p_adjusted"] < ALPHA):
        return []
    how, side, sign = ("severer", "below", 1) if severity > 0 else ("milder", "above", -1)
    low, high = sorted(sign * row[f"severity_{end}"] for end in ("low", "high"))
    # as the words have it
    along = {**row, "severity": abs(severity), "severity_low": low, "severity_high": high}
    return [
        f"much {how} than colleagues: scores stand {percent(abs(severity))} of the scale {side}"
        f" theirs ({_figures(along, 'severity', percent)})"
    ]


def _comments(row: Mapping[str, Any]) -> list[str]:
    if row["comments"] < MIN_COMMENTS or not row["repeated"] >= REPEATS:
        return []
    others = row["colleagues_repeated"]
    if others > row["repeated"] - REPEATS_OFTENER_BY:
        return []
    text = " ".join(str(row["repeated_comment"]).split())
    text = text if len(text) <= _COMMENT_SHOWN else text[: _COMMENT_SHOWN - 1] + "…"
    beside = f", colleagues repeat {percent(others)} of theirs" if not isnan(others) else ""
    return [
        f"repeats comments again and again: {percent(row['repeated'])} of {count(row['comments'])}"
        f" were made on another output too{beside}; “{text}” on {count(row['repeated_outputs'])}"
        " outputs"
    ]


def _figures(row: Mapping[str, Any], name: str, form: Callable[[Any], str] = percent_change) -> str:
    """A figure with its interval and p: `-21% [-25%, -17%], p < 0.001, corrected for people`."""
    shown = estimate(row, name, form).replace(MINUS, "-")
    return f"{shown}, {p_words(row[f'{name}_p_adjusted'])}, corrected for people"


@dataclass(frozen=True)
class Unanimous:
    """How often all people of a group gave the same ratings in a language.

    outputs: the number of outputs on which `people` people each rated `criteria` criteria. same:
    how many of them got the same score from everybody on each criterion. expected: the share of
    such outputs if agreement on one criterion were independent of the other criteria.
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
        """The share of outputs on which everybody gave the same scores."""
        return self.same / self.outputs

    @property
    def suspicious(self) -> bool:
        """Whether this share is too large for people who rated independently."""
        enough = (
            self.outputs >= LEAST_OUTPUTS and self.people >= LEAST_PEOPLE and self.criteria >= 2
        )
        return enough and self.share >= LEAST_SHARE and self.share >= TIMES * self.expected


def unanimous(dataset: Dataset, people: Collection[str]) -> Iterator[Unanimous]:
    """An entry for each group and language that has outputs rated by three or more people on two or
    more criteria.
    """
    table = dataset.ratings
    table = table[table["rater"].isin(list(people)) & table["score"].notna()]
    for (language, group), rows in table.groupby(["language", "group"], observed=True, sort=True):
        cells = rows.groupby(["output", "criterion"], observed=True)["score"].agg(
            ["size", "nunique"]
        )
        raters = int(cells["size"].max())
        complete = cells[cells["size"] == raters]["nunique"].unstack("criterion")
        complete = complete[complete.notna().all(axis=1)]
        if raters < LEAST_PEOPLE or complete.shape[1] < 2 or complete.empty:
            continue
        alike = complete.to_numpy() == 1
        expected = float(np.prod(alike.mean(axis=0)))
        yield Unanimous(
            str(group),
            str(language),
            raters,
            alike.shape[1],
            len(alike),
            int(alike.all(axis=1).sum()),
            expected,
        )


def monitor_tables(
    dataset: Dataset,
    monitoring: Monitoring,
    *,
    agreement: Callable[[Dataset], Iterable[Mapping[str, Any]]],
    panels: Callable[[Dataset, int], Iterable[Mapping[str, Any]]],
    rounds: Iterable[Mapping[str, Any]] = (),
    resamples: int,
    seed: int,
    progress: Progress = no_progress,
) -> dict[str, pd.DataFrame]:
    """The tables by name: answers to test questions, behaviour, agreement, panels, exclusions and
    rounds.

    dataset: contains the people to examine. agreement: a function that returns the rows of people's
    agreement on a dataset; it is called with and without noisy people. panels: a function that
    returns, from a dataset and a seed, the rows of scores by people per output. rounds: lines of
    annotation/rounds.jsonl. progress: called with the number of steps done and of all steps.
    """
    behaving, agreeing, settling = divided(progress, 12, 1, 2)
    people = people_in(dataset.raters)
    noisy = [name for name in people if name in monitoring.noisy]
    beside = pd.DataFrame(columns=list(BEHAVIOUR))
    if people:
        beside = behaviour(
            dataset, distrusted=noisy, resamples=resamples, seed=seed, progress=behaving
        )
    behaviour_rows: list[Any] = beside.to_dict("records")
    beside["stands_out"] = ["; ".join(stands_out(row)) for row in behaviour_rows]
    beside["not_compared"] = list(map(not_compared, behaviour_rows))
    agreement_rows = [
        {**row, "without_noisy": False} for row in (agreement(dataset) if people else ())
    ]
    exclusions = pd.DataFrame({name: [] for name in EXCLUSIONS})
    if noisy and len(noisy) < len(people):
        remaining, excluded = without(dataset, monitoring.noisy)
        exclusions = excluded.table
        agreeing(1, 1)
        agreement_rows += [{**row, "without_noisy": True} for row in agreement(remaining)]
    settling(0, 1)
    panel_rows = list(panels(dataset, seed))
    settling(1, 1)
    return {
        "raters": monitoring.raters,
        "workers": monitoring.workers,
        "mixtures": monitoring.mixtures,
        "questions": monitoring.questions,
        "behaviour": beside,
        "agreement": pd.DataFrame(agreement_rows, columns=list(AGREEMENT)),
        "panels": pd.DataFrame(panel_rows, columns=list(PANELS)),
        "exclusions": exclusions,
        "rounds": pd.DataFrame(_round_rows(rounds), columns=list(ROUNDS)),
    }


def _round_rows(rounds: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for line in rounds:
        for rater, counts in line["raters"].items():
            row = {
                "round": line["round"],
                "at": line["at"],
                "rater": rater,
                "ratings": counts.get("ratings", 0),
            }
            for side in SIDES:
                row[f"{side}_right"], row[f"{side}_asked"] = counts.get(side, (0, 0))
            yield row


def monitor_warnings(
    dataset: Dataset, gold: GoldQuestions, monitoring: Monitoring, people: Sequence[str]
) -> tuple[str, ...]:
    """Warnings that a reader should know before trusting the figures."""
    warnings = []
    if leaks := leak_warning(dataset, gold.questions):
        warnings.append(leaks)
    examined = set(monitoring.raters["rater"])
    unexamined = [name for name in people if name not in examined]
    if gold.questions and unexamined:
        warnings.append(
            f"{len(unexamined):,} of {len(people):,} people answered no test question:"
            f" {', '.join(unexamined[:8])}"
        )
    warnings += [
        _remedy_for(doubted, dataset.called(doubted.criterion)) for doubted in monitoring.doubted
    ]
    warnings += _about_answers(monitoring.raters)
    for group in unanimous(dataset, [name for name in people if name not in monitoring.noisy]):
        if group.suspicious:
            of_group = f"of group {group.group} " if group.group else ""
            warnings.append(
                f"{language_name(group.language)}: on {group.same:,} of {group.outputs:,} outputs"
                f" all {group.people} people {of_group}gave the same ratings on all"
                f" {group.criteria} criteria; {group.expected:.0%} would be expected. Are these"
                " ratings of different people?"
            )
    if len(people) == 1:
        warnings.append(f"{people[0]} is the only person: there is nobody to compare with")
    return tuple(warnings)


def _about_answers(raters: pd.DataFrame) -> Iterator[str]:
    """Warnings about raters who got no test question right, or left some unanswered."""
    for row in raters.to_dict("records"):
        asked = sum(row[f"{side}_asked"] for side in SIDES)
        right = sum(row[f"{side}_right"] for side in SIDES)
        if asked and not right:
            yield (
                f"{row['rater']} got none of {asked:,} test answers right: is a scale read the"
                " wrong way round?"
            )
        if row["unanswered"]:
            yield (
                f"{row['rater']} left {row['unanswered']:,} test questions unanswered; they count"
                " neither for nor against"
            )


def _remedy_for(doubted: DoubtedQuestions, criterion: str) -> str:
    remedy = "check the expected answers, and the criterion's direction"
    if doubted.side == NEGATIVE:
        remedy = (
            "if a good text about another source deserves a good score there, write of_source ="
            f" false under [criteria.{doubted.criterion}] in dataset.toml"
        )
    return (
        f"{doubted.failed} of {doubted.people} people fail {doubted.side} questions on {criterion}"
        f" ({language_name(doubted.language)}), so nobody is called noisy because of them:"
        f" {remedy}"
    )


def monitor_signature(data: str, tests: str, settings: Mapping[str, Any]) -> str:
    """A line with the program, the data, test answers, and every setting that affects a figure."""
    parts = {
        "metal": __version__,
        "data": data,
        "tests": tests,
        "model": settings["model"],
        "beta": f"{settings['noisy_beta']:g}",
        "ref": settings["reference"] or "all-people",
        "bs": settings["resamples"],
        "seed": settings["seed"],
    }
    return signature_line(parts)
