"""People's scores in an EvalSet folder, each person once in a cell.

Two kinds of file may come from the same people: the scores of NAME, which are means over the people
who rated a segment, and ratings, the errors that each of them marked. What becomes of them:

- A rating is a score of one expert, LP/RATER (`zh-en/rater3`): minus the errors' weights.
- The scores of NAME are those of one rater that stands for several people (`panel` in
  raters.jsonl), where no single expert rated the output.
- If a segment's score is the mean of the experts' ratings, the experts rate the criterion NAME, and
  the panel only what none of them rated. Else they rate a criterion of their own, NAME-by-rater.
- Ratings without the name of a rater, all in one file, are the panel's: its comments.

The errors are the comment of a rating, as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from metal.data.files import read_text
from metal.data.formats.evalset.scores import Numbers, ScoreFile
from metal.data.formats.mqm import MQM
from metal.data.formats.mqm import RATER as MQM_PANEL
from metal.data.records import Criterion, Rater, Scale
from metal.data.text import plural
from metal.errors import DataError

Places = np.ndarray[Any, np.dtype[np.int64]]
HUNDRED = {"da", "sqm", "da-sqm", "esa", "wmt", "wmt-raw", "wmt-appraise", "appraise"}
CLOSE = 1e-9  # two sums of the same weights, added up in another order


@dataclass(frozen=True)
class RatedOutputs:
    """The ratings of one rater on one criterion. outputs: (ratings,) places of outputs; scores:
    (ratings,) NaN without a score; comments: (ratings,) or empty.
    """

    criterion: str
    rater: Rater
    outputs: Places
    scores: Numbers
    comments: Sequence[str] = ()


@dataclass
class MarkedErrors:
    """The ratings of one expert: {place of an output: (score or NaN, errors as JSON)}. named:
    whether the file names the rater in each line.
    """

    rater: str
    file: str
    named: bool
    marked: dict[int, tuple[float, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class PeoplesScores:
    """What people said under one NAME, as ratings; and notes. files: each rating file with a rater
    whose ratings it holds; with an empty name, if they are the panel's.
    """

    criteria: tuple[Criterion, ...]
    panel: Rater
    ratings: tuple[RatedOutputs, ...]
    files: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]


# ---------------------------------------------------------------- the errors that people marked


def read_errors(
    file: Path, label: str, systems: Sequence[str], segments: int
) -> list[MarkedErrors]:
    """The ratings in a file, by rater. label: the rater if a line names none.

    Raises DataError for a line that is not SYSTEM JSON [RATER], and for a system with more or fewer
    lines than there are segments.
    """
    places = {name: number * segments for number, name in enumerate(systems)}
    seen = dict.fromkeys(systems, 0)
    by_rater: dict[str, MarkedErrors] = {}
    for number, line in enumerate(read_text(file).removesuffix("\n").split("\n"), 1):
        system, _, rest = line.removesuffix("\r").partition("\t")
        if system not in places:
            problem = f"system {system!r} has no outputs in the folder"
            raise DataError(f"{file} line {number}", problem, "Each line is SYSTEM JSON [RATER]")
        output = places[system] + seen[system]
        seen[system] += 1
        if rest == "None":
            continue
        errors, _, rater = rest.partition("\t")
        score = _score(errors, f"{file} line {number}")
        name = rater or label
        expert = by_rater.setdefault(name, MarkedErrors(name, file.name, bool(rater)))
        expert.marked[output] = (score, errors)
    _check_lines(file, seen, segments)
    return list(by_rater.values())


def _check_lines(file: Path, seen: dict[str, int], segments: int) -> None:
    for system, lines in seen.items():
        if lines not in (0, segments):
            problem = f"{system!r} has {plural(lines, 'line')}, not {segments:,}"
            raise DataError(file, problem, "Write one line for each system and segment, or None")


def _score(text: str, location: str) -> float:
    """Minus the weights of the errors; NaN if one has no weight."""
    try:
        weights = [error["score"] for error in json.loads(text)["errors"]]
        total = 0.0
        for weight in weights:
            total += np.nan if weight is None else float(weight)
    except (ValueError, KeyError, TypeError, RecursionError):
        problem = f"{text[:40]!r} is not a rating"
        remedy = 'Write {"errors": [{"start": 0, "end": 5, "severity": "major", "score": 5, ...}]}'
        raise DataError(location, problem, remedy) from None
    if np.isinf(total):
        raise DataError(location, "a weight that is not finite", "Give each error its weight")
    return -total


# ---------------------------------------------------------------- people's ratings


def peoples_scores(
    name: str, pair: str, gold: ScoreFile | None, experts: Sequence[MarkedErrors]
) -> PeoplesScores:
    """The ratings of one NAME. pair: the folder's name of the language pair. gold: the scores of
    segments; experts: who marked errors.
    """
    criterion = _criterion(name, gold)
    panel = MQM_PANEL if name == "mqm" else Rater(name.upper(), "human", name, {"panel": True})
    scores = gold.scores.ravel() if gold else np.zeros(0)
    if len(experts) == 1 and not experts[0].named:
        return _of_panel(criterion, panel, pair, scores, experts[0])
    people = [replace(each, rater=f"{pair}/{each.rater}") for each in experts]
    return _of_experts(criterion, panel, pair, scores, people)


def _criterion(name: str, gold: ScoreFile | None) -> Criterion:
    """The criterion of people's scores; scores known to be of 0 to 100 have these ends."""
    if name == "mqm":
        return replace(MQM, scale=Scale("interval"))
    scores = gold.scores[~np.isnan(gold.scores)] if gold else np.zeros(0)
    in_hundred = bool(((scores >= 0) & (scores <= 100)).all())
    ends = (0.0, 100.0) if name in HUNDRED and in_hundred else (None, None)
    return Criterion(name, Scale("interval", (), *ends))


def _of_panel(
    criterion: Criterion, panel: Rater, pair: str, scores: Numbers, errors: MarkedErrors
) -> PeoplesScores:
    """The ratings of a panel, with the errors that it marked."""
    if not len(scores):
        outputs = np.array(sorted(errors.marked), dtype=np.int64)
        scores = np.full(int(outputs.max(initial=-1)) + 1, np.nan)
        scores[outputs] = [errors.marked[output][0] for output in outputs.tolist()]
    rated = np.flatnonzero(~np.isnan(scores))
    comments = [errors.marked.get(output, (0.0, ""))[1] for output in rated.tolist()]
    ratings = RatedOutputs(criterion.name, panel, rated, scores[rated], comments)
    lost = len(errors.marked) - sum(map(bool, comments))
    notes = [
        f"{pair} {criterion.name}: the errors of {errors.file} are the comments of {panel.rater}"
    ]
    if lost:
        notes.append(
            f"{errors.file}: {plural(lost, 'rating')} left out, of outputs without a score"
        )
    return PeoplesScores((criterion,), panel, (ratings,), ((errors.file, ""),), tuple(notes))


def _of_experts(
    criterion: Criterion, panel: Rater, pair: str, scores: Numbers, experts: Sequence[MarkedErrors]
) -> PeoplesScores:
    """The ratings of single experts, and of the panel where none of them rated."""
    own = criterion
    if experts and not _are_means(scores, experts):
        own = Criterion(f"{criterion.name}-by-rater", Scale("interval"))
    same = own is criterion
    covered = _ratings_of(experts, len(scores))[1] > 0 if same else np.zeros(len(scores), bool)
    left = np.flatnonzero(~np.isnan(scores) & ~covered[: len(scores)])
    ratings = [_expert_ratings(own, expert, scores if same else np.zeros(0)) for expert in experts]
    if len(left):
        ratings.append(RatedOutputs(criterion.name, panel, left, scores[left]))
    criteria = [criterion]
    return PeoplesScores(
        (*criteria, *([] if same else [own])),
        panel,
        tuple(ratings),
        tuple((expert.file, expert.rater) for expert in experts),
        tuple(_notes(criterion, own, panel, pair, len(left), experts)),
    )


def _ratings_of(experts: Sequence[MarkedErrors], outputs: int) -> tuple[Numbers, Places]:
    """(outputs,) sums of the experts' scores, and how many there are."""
    last = max((max(expert.marked, default=-1) for expert in experts), default=-1)
    size = max(outputs, last + 1)
    sums, counts = np.zeros(size), np.zeros(size, np.int64)
    for expert in experts:
        for output, (score, _) in expert.marked.items():
            sums[output] += score
            counts[output] += 1
    return sums, counts


def _are_means(scores: Numbers, experts: Sequence[MarkedErrors]) -> bool:
    """Whether each released score is the mean of the experts' who rated the output."""
    sums, counts = _ratings_of(experts, len(scores))
    both = np.flatnonzero((counts[: len(scores)] > 0) & ~np.isnan(scores))
    means = sums[both] / counts[both]
    return bool((np.abs(means - scores[both]) <= CLOSE * (1 + np.abs(scores[both]))).all())


def _expert_ratings(criterion: Criterion, expert: MarkedErrors, scores: Numbers) -> RatedOutputs:
    """An expert's ratings. scores: the released ones, if they are the experts' means."""
    outputs = np.array(list(expert.marked), dtype=np.int64)
    sums = np.array([score for score, _ in expert.marked.values()])
    if len(scores):
        # the last digit of a sum depends on the order of its weights; the released one counts
        inside = outputs < len(scores)
        released = np.where(inside, scores[np.where(inside, outputs, 0)], np.nan)
        sums = np.where(np.abs(released - sums) <= CLOSE * (1 + np.abs(sums)), released, sums)
    rater = Rater(expert.rater, "human", MQM_PANEL.group)
    comments = [errors for _, errors in expert.marked.values()]
    return RatedOutputs(criterion.name, rater, outputs, sums, comments)


def _notes(
    criterion: Criterion,
    own: Criterion,
    panel: Rater,
    pair: str,
    left: int,
    experts: Sequence[MarkedErrors],
) -> Iterator[str]:
    start = f"{pair} {criterion.name}"
    if not experts:
        yield f"{start}: a score per output; {panel.rater} stands for the people behind it"
    elif own is criterion:
        stands = f". {panel.rater} stands for the experts on the {plural(left, 'output')} that have"
        yield (
            f"{start}: {len(experts)} experts; the released scores are the means of their ratings"
            " and do not count again"
            f"{f'{stands} a released score, but no rating by an expert' if left else ''}"
        )
    else:
        yield (
            f"{start}: the released scores are not the means of the ratings of {len(experts)} "
            f"experts, so these ratings are on a criterion of their own, {own.name}"
        )
