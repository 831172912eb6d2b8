"""How a judge's answers change: between languages, when asked again, with other instructions, and
in other conditions.

A condition says how an output was made from another one (`of`), or in which language the judge's
instructions were.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from metal.auditing.scored_outputs import ScoredOutputs, says
from metal.data.dataset import Dataset
from metal.data.languages import language_name, sides
from metal.data.records import SWAPPED, Output, Rater
from metal.errors import UsageError
from metal.stats.interval import NO_BOUNDS, Bounds
from metal.stats.intervals import wilson
from metal.stats.leniency import Shifts, mean_shift
from metal.stats.patterns import Codes, Numbers
from metal.stats.significance import by_family, holm, sign_test

REPEAT = "repeat"  # begins the condition of an output that was judged again as it is
WRONG_LANGUAGE, OTHER_SCRIPT = "wrong language", "other script"
CHANGES = "changes"
OF_TEXT = "prompt in the text's language"
FALLS, STAYS = "falls", "stays"
# METAL's criteria that a text in another language or script has to fail; the question about harm is
# neither.
OF_LANGUAGE = ("linguistic_acceptability", "output_content_quality")
OF_CONTENT = ("task_quality", "hallucinations")
CONDITIONS = (
    *(
        "language",
        "criterion",
        "judge",
        "condition",
        "says",
        "pairs",
        "change",
        "change_low",
        "change_high",
    ),
    *("p_adjusted", "changed", "lower", "higher", "flip_p", "nearer", "nearer_low", "nearer_high"),
    *(
        "expected",
        "noticed",
        "noticed_low",
        "noticed_high",
        "collateral",
        "collateral_low",
        "collateral_high",
    ),
    "what",
)
Z = 1.959964


def pivot_of(dataset: Dataset, languages: Sequence[str], pivot: str = "") -> str:
    """The language that others are compared with or translated from: the one asked for, else
    English, else the one with the most outputs.

    Raises UsageError if it is not one of the languages.
    """
    if pivot and pivot not in languages:
        raise UsageError(f"pivot {pivot!r} is not one of the languages: {', '.join(languages)}")
    largest = Counter(
        output.language for output in dataset.outputs.values() if output.language in languages
    )
    return pivot or ("en" if "en" in languages else largest.most_common(1)[0][0])


def flips(
    scored: ScoredOutputs, answers: Numbers, repeated: Numbers, judged: Any, pivot: str
) -> dict[str, tuple[Shifts | None, Shifts | None, str]]:
    """Compare the judge's answers on the same contents with those in the pivot language.

    Returns for each language: the share of contents whose answer differs from the pivot's; this
    share minus the share that changes when the judge is asked again in the pivot; and the reason if
    it is undefined.

    repeated: (items, repeats) the judge's answers when it was asked again. Outputs whose condition
    is a repeat also count as repeats.
    """
    by_language: dict[str, tuple[Shifts | None, Shifts | None, str]] = {}
    at = scored.languages.index(pivot)
    in_pivot = {
        int(scored.unit[row]): int(row) for row in np.flatnonzero(judged & (scored.language == at))
    }
    floor = _floor(scored, answers, repeated, judged & (scored.language == at))
    for column, language in enumerate(scored.languages):
        rows = [
            int(row)
            for row in np.flatnonzero(judged & (scored.language == column))
            if int(scored.unit[row]) in in_pivot
        ]
        if column == at or not rows or not scored.criterion.scale.levels:
            by_language[language] = None, None, ""
            continue
        pivots = [in_pivot[int(scored.unit[row])] for row in rows]
        flipped = (answers[rows] != answers[pivots]).astype(np.float64)
        have = ~np.isnan(floor[pivots])
        more = (flipped - floor[pivots])[have]
        excess = mean_shift(more, scored.content[rows][have]) if have.any() else None
        why = (
            "" if have.any() else f"no output in {pivot} was judged again (`metal.judge(repeat=2)`)"
        )
        by_language[language] = mean_shift(flipped, scored.content[rows]), excess, why
    return by_language


def _floor(scored: ScoredOutputs, answers: Numbers, repeated: Numbers, use: Any) -> Numbers:
    """(items,) the share of repeats whose answer differs from the first; NaN without repeats."""
    changed, times = np.zeros(len(answers)), np.zeros(len(answers))
    for column in repeated.T:
        again = use & ~np.isnan(column)
        changed[again] += column[again] != answers[again]
        times[again] += 1
    is_repeat = np.array([str(condition).startswith(REPEAT) for condition in scored.condition])
    for row in np.flatnonzero(is_repeat & (scored.of >= 0) & ~np.isnan(answers)):
        if use[scored.of[row]]:
            changed[scored.of[row]] += answers[row] != answers[scored.of[row]]
            times[scored.of[row]] += 1
    return np.where(times > 0, changed / np.maximum(times, 1), np.nan)


def unpaired_outputs(
    scored: ScoredOutputs, judge: str, outputs: Mapping[str, Output]
) -> Iterator[str]:
    """The changed outputs that the judge scored without scoring their originals, so that nothing
    can be compared.
    """
    answers = scored.scores([judge])[:, 0]
    for row in np.flatnonzero(~np.isnan(answers)):
        output = outputs[scored.matrix.outputs[row]]
        if (
            output.of
            and output.condition != SWAPPED
            and (scored.of[row] < 0 or math.isnan(answers[scored.of[row]]))
        ):
            yield output.output


def condition_rows(
    scored: ScoredOutputs,
    judge: str,
    people: Sequence[str],
    raters: Mapping[str, Rater],
    falls: Sequence[str],
) -> Iterator[dict[str, Any]]:
    """A row for each language and condition: how scores change from the original's, or with other
    instructions.

    falls: criteria on which a wrong language or script must lower the score; if empty, METAL's
    criteria.
    """
    answers, panel = scored.scores([judge])[:, 0], scored.scores(people)
    groups: dict[tuple[int, str], list[tuple[int, float]]] = {}
    for condition, original, answer in _answers_beside(scored, judge, answers, raters):
        if not (math.isnan(answer) or math.isnan(answers[original])):
            groups.setdefault((int(scored.language[original]), condition), []).append(
                (original, answer)
            )
    rows: list[dict[str, Any]] = []
    shifts: list[Shifts] = []
    for (language, condition), members in sorted(groups.items()):
        original_of = np.array([original for original, _ in members])
        after = np.array([answer for _, answer in members])
        shift = mean_shift(after - answers[original_of], scored.content[original_of])
        shifts.append(shift)
        rows.append(
            {
                "language": scored.languages[language],
                "criterion": scored.criterion.name,
                "judge": judge,
                "condition": condition,
                **_changes(shift, after - answers[original_of]),
                **_nearer(scored, panel, answers, original_of, after),
                **_expected(scored, answers[original_of], after, condition, falls),
            }
        )
    adjusted = by_family(
        [float(shift.p[0]) for shift in shifts], [row["condition"] for row in rows], holm
    )
    for row, shift, p in zip(rows, shifts, adjusted, strict=True):
        yield row | {"p_adjusted": float(p), "says": says(shift, 0, float(p), scored.span, CHANGES)}


def _answers_beside(
    scored: ScoredOutputs, judge: str, answers: Numbers, raters: Mapping[str, Rater]
) -> Iterator[tuple[str, int, float]]:
    """(condition, row of the original, answer): the judge's answers to changed outputs, and to
    originals with instructions in another language.
    """
    for row in np.flatnonzero(scored.of >= 0):
        yield str(scored.condition[row]), int(scored.of[row]), answers[row]
    english = [sides(code)[1].split("-")[0] == "en" for code in scored.languages]
    for name, rater in raters.items():
        if rater.about.get("translation_of") != judge or name not in scored.matrix.raters:
            continue
        spoken, other = str(rater.about.get("prompt_language", "")), scored.scores([name])[:, 0]
        condition = OF_TEXT if spoken == "text" else f"prompt in {language_name(spoken)}"
        for row in np.flatnonzero(scored.condition == ""):
            if spoken == "text" and english[scored.language[row]]:
                continue  # there it is the same prompt
            yield condition, int(row), other[row]


def _changes(shift: Shifts, change: Numbers) -> dict[str, float]:
    """The mean change with its interval, the number of changed answers, and McNemar's exact p for
    rises against falls.
    """
    down, up = int((change < 0).sum()), int((change > 0).sum())
    return {
        "pairs": len(change),
        **shift.bounds(0).columns("change"),
        "changed": (down + up) / len(change),
        "lower": down / len(change),
        "higher": up / len(change),
        "flip_p": sign_test(down, up),
    }


def _nearer(
    scored: ScoredOutputs, panel: Numbers, answers: Numbers, original: Codes, after: Numbers
) -> dict[str, float]:
    """How much closer to people's scores the judge's answers are under the condition than without
    it, as a share of the scale. If the scale has two levels, this is the gain in agreement.
    """
    people = panel[original]
    rated = (~np.isnan(people)).any(axis=1)
    if not rated.any():
        return NO_BOUNDS.columns("nearer")
    people, before, after = people[rated], answers[original][rated, None], after[rated, None]
    gained = np.nanmean((np.abs(before - people) - np.abs(after - people)) / scored.span, axis=1)
    return mean_shift(gained, scored.content[original][rated]).bounds(0).columns("nearer")


def _expected(
    scored: ScoredOutputs, before: Numbers, after: Numbers, condition: str, falls: Sequence[str]
) -> dict[str, Any]:
    """For a wrong language or script: the expected effect on this criterion, and the share of
    outputs that show the effect.

    Outputs that already had the worst score cannot fall and are not counted.
    """
    name, shares = scored.criterion.name, dict.fromkeys(CONDITIONS[-7:-1], math.nan)
    must_fall = name in (falls or OF_LANGUAGE)
    if not condition.startswith((WRONG_LANGUAGE, OTHER_SCRIPT)) or not (
        falls or name in (*OF_LANGUAGE, *OF_CONTENT)
    ):
        return {"expected": "", **shares}
    can_fall = before > scored.values.min()
    outcome = (after < before)[can_fall] if must_fall else after != before
    key = "noticed" if must_fall else "collateral"
    if len(outcome):
        share = float(outcome.mean())
        shares |= Bounds(share, *wilson(share, len(outcome), Z)).columns(key)
    return {"expected": FALLS if must_fall else STAYS, **shares}
