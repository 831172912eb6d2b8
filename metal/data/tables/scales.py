"""The criteria of a table: what its answers mean as scores, on which scale, and which end is
better.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import chain, compress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from metal.data.metal_criteria import metal_criterion
from metal.data.progress import followed, no_progress
from metal.data.ratings import row_of
from metal.data.records import DIRECTIONS, MEASURES, Criterion, Level, Scale
from metal.data.scale_texts import ends_of, is_number
from metal.data.tables.answers import AnswerTexts, read_answers, zero_may_be_no_answer
from metal.data.tables.cells import MISSING, as_texts
from metal.data.tables.decimals import MARKS, about_doubtful
from metal.data.tables.directions import (
    Scores,
    direction_of,
    doubtful_directions,
    notes_on_directions,
)
from metal.data.tables.justifications import read_reasons
from metal.data.tables.levels import (
    in_list,
    levels_from,
    metal_levels,
    metal_name,
    numbers_in,
)
from metal.data.tables.worded import scale_of_words
from metal.data.text import first_few, plural
from metal.errors import DataError, UnknownName, UsageError

MOST_LEVELS = 11  # whole numbers with more distinct values than this are a continuous score
RARE = 0.01  # of the answers; so rare a level may be a typing error
PER_CRITERION = ("directions", "levels", "measures", "missing", "ranges", "shifts")


def read_scores(
    tidy: pd.DataFrame, options: Mapping[str, Any], notes: list[str], file: Path
) -> list[Criterion]:
    """The criteria, sorted by name; `tidy` gets scores as numbers, and the reasons of missing
    answers.

    options: PER_CRITERION has the options for each criterion, by name or pattern; `missing` has
    texts that mean no answer, from all fitting patterns and MISSING. If these say nothing,
    `described` (a function that gives a criterion by its name) and, with replies, `scales`
    ({criterion: Scale}) decide. `decimal` is the decimal mark for all criteria. Raises DataError
    for words among numbers, words of no known order and free text, UsageError and UnknownName for
    options that do not fit.
    """
    if options.get("decimal", ",") not in MARKS:
        raise UsageError(
            f"`decimal={options['decimal']!r}`: the decimal mark is a comma or a point"
        )
    names = sorted(
        codes := {name: code for code, name in enumerate(tidy["criterion"].cat.categories)}
    )
    options = options if "reply" in tidy else {**options, "scales": {}}
    chosen = {name: options_of(name, names, options) for name in names}
    numeric = is_numeric_dtype(tidy["score"]) and tidy["score"].dtype != bool
    column = tidy["score"] if numeric else as_texts(tidy["score"])
    of_criterion = tidy["criterion"].array.codes
    scores = np.full(len(tidy), np.nan)
    criteria, counts = list[Criterion](), []
    for name in followed(names, options.get("progress", no_progress)):
        rows = np.flatnonzero(of_criterion == codes[name])
        missing = MISSING | {str(text).strip().lower() for text in chosen[name].get("missing", ())}
        chosen[name]["decimal"] = options.get("decimal", "")
        scale, scores[rows] = _scale_of(column.iloc[rows], name, chosen[name], missing, notes, file)
        criteria.append(_criterion(name, scale, scores[rows], chosen[name], options))
        counts.append(f"{name}: {_counted(scores[rows], scale)}")
    notes += _about_zeros(criteria, chosen)
    scores_of = {name: scores[of_criterion == code] for name, code in codes.items()}
    declared = [name for name in names if "directions" in chosen[name]]
    notes += [*notes_on_directions(criteria, scores_of, declared), *counts]
    tidy["score"] = scores
    tidy.attrs["doubtful_directions"] = doubtful_directions(criteria, scores_of, declared)
    read_reasons(tidy, notes)
    return criteria


def _about_zeros(
    criteria: Sequence[Criterion], chosen: Mapping[str, Mapping[str, Any]]
) -> list[str]:
    """Notes on criteria whose lowest answer, 0, may mean no answer."""
    naming = {"levels", "ranges", "shifts"}
    zeros = {
        c.name: "0"
        for c in criteria
        if zero_may_be_no_answer(c.scale) and not naming & chosen[c.name].keys()
    }
    if not zeros:
        return []
    remedy = f"`missing={zeros if len(zeros) < len(criteria) else [0]}`"
    names = ", ".join(zeros)
    return [f"{names}: 0 is read as the lowest answer; if it means that nobody rated: {remedy}"]


def _counted(scores: np.ndarray[Any, Any], scale: Scale) -> str:
    """Words on how often each level was given, and which levels are rare; for continuous scores,
    their number and range.
    """
    answered = scores[~np.isnan(scores)]
    if not scale.levels or not len(answered):
        return f"{len(answered):,} scores" + (
            f" from {answered.min():g} to {answered.max():g}" if len(answered) else ""
        )
    counts = {level.shown: int((answered == level.value).sum()) for level in scale.levels}
    rare = [shown for shown, count in counts.items() if 0 < count < RARE * len(answered)]
    listed = ", ".join(f"{shown} ({count:,})" for shown, count in counts.items())
    return listed + (f"; rare: {first_few(rare)}" if rare else "")


# ---------------------------------------------------------------- options of a criterion


def options_of(name: str, names: Sequence[str], options: Mapping[str, Any]) -> dict[str, Any]:
    """The options for one criterion. Raises UnknownName for a pattern that fits no criterion."""
    chosen = _by_pattern(name, names, options)
    if isinstance(chosen.get("levels"), str) and "<" in chosen["levels"]:
        chosen.setdefault("directions", "higher")  # from the worst to the best
    for option, allowed in (("directions", DIRECTIONS), ("measures", MEASURES)):
        if chosen.get(option, allowed[0]) not in allowed:
            raise UsageError(f"`{option}` {chosen[option]!r}: use one of {', '.join(allowed)}")
    own = options.get("described", {}.get)(name)
    scale = own.scale if own else (options.get("scales") or {}).get(name)
    if scale and not chosen.keys() & {"levels", "ranges"}:
        ends: dict[str, Any] = {"measures": scale.measure}
        if scale.low is not None:
            ends["ranges"] = scale.low, scale.high
        levels = {
            "levels": [(level.value, level.label) for level in scale.levels],
            "measures": scale.measure,
        }
        chosen |= (levels if scale.levels else ends) | {"of_dataset": True}
    return ({"directions": own.direction} if own else {}) | chosen


def _by_pattern(name: str, names: Sequence[str], options: Mapping[str, Any]) -> dict[str, Any]:
    """The value of each of PER_CRITERION from the most specific pattern that fits the name; for
    `missing`, the values from all patterns that fit.
    """
    chosen = {}
    for option in PER_CRITERION:
        patterns: Mapping[str, Any] = options.get(option) or {}
        for pattern in patterns:
            if not any(fnmatchcase(criterion, pattern) for criterion in names):
                raise UnknownName(f"`{option}`: criterion", pattern, names)
        by_stars = sorted(patterns, key=lambda pattern: (pattern.count("*"), -len(pattern)))
        fitting = [patterns[pattern] for pattern in by_stars if fnmatchcase(name, pattern)]
        if fitting:
            chosen[option] = [*chain(*fitting)] if option == "missing" else fitting[0]
    return chosen


# ---------------------------------------------------------------- scales


def _shift_of(value: Any) -> float:
    """The number to add to scores. Raises UsageError."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise UsageError(f"`shifts={value!r}`: write a number, e.g. -1") from None


def _scale_of(
    column: pd.Series,
    name: str,
    chosen: Mapping[str, Any],
    missing: Iterable[str],
    notes: list[str],
    file: Path,
) -> tuple[Scale, np.ndarray[Any, Any]]:
    """The scale of one criterion, and its scores with NaN for no answer."""

    def say(line: str) -> None:
        notes.append(f"{name}: {line}")

    shift = _shift_of(chosen.get("shifts", 0))
    if is_numeric_dtype(column):
        scores = column.to_numpy(dtype=np.float64, na_value=np.nan, copy=True)
        codes = np.isin(scores, [float(text) for text in missing if is_number(text)])
        if codes.any():
            listed = first_few([f"{code:g}" for code in np.unique(scores[codes])], 5)
            say(f"{plural(int(codes.sum()), 'missing answer')} ({listed})")
        scores[codes] = np.nan
        scores = _by_labels(scores, name, chosen)
        return _scale(name, np.unique(scores[~np.isnan(scores)]) + shift, chosen), scores + shift
    by_text, categories = column.array.codes, column.cat.categories.tolist()
    counts = np.bincount(by_text + 1, minlength=len(categories) + 1)[1:]
    used = np.flatnonzero(counts)
    texts = {categories[at]: int(counts[at]) for at in used.tolist()}
    answers = _answers_in(texts, name, chosen, frozenset(missing), say)

    def place_of(word: str) -> str:
        spelled = answers.words if word in answers.words else [*texts]
        first = int((by_text == used[spelled.index(word)]).argmax())
        return row_of(file, int(column.index[first]))

    if answers.doubtful:
        problem, remedy = about_doubtful(answers.doubtful, chosen.get("decimal", ""), name)
        raise DataError(place_of(answers.doubtful[0]), problem, remedy)
    if answers.in_words:
        scale, by_answer = scale_of_words(name, answers, chosen, place_of, say)
    else:
        by_answer = _by_labels(np.array(answers.numbers), name, chosen) + shift
        if answers.percent:
            chosen = {"ranges": (0, 100), **chosen}
        scale = _scale(name, np.unique(by_answer[~np.isnan(by_answer)]), chosen)
    # the last stands for an empty cell, whose code is -1
    by_code = np.full(len(counts) + 1, np.nan)
    by_code[used] = by_answer
    return scale, by_code[by_text]


def _answers_in(
    texts: Mapping[str, int],
    name: str,
    chosen: Mapping[str, Any],
    missing: frozenset[str],
    say: Callable[[str], None],
) -> AnswerTexts:
    """The meaning of the texts of a criterion, and which of them are missing answers."""
    levels = levels_from(chosen["levels"]) if chosen.get("levels") else ()
    ends = ends_of(chosen["ranges"]) if chosen.get("ranges") else [level.value for level in levels]
    highest = max(map(abs, ends), default=None)
    _check_missing(name, texts, chosen.get("missing", ()))
    labels = [level.label for level in levels]
    answers = read_answers(texts, missing, say, labels, highest, chosen.get("decimal", ""))
    gone = {text: texts[text] for text in compress(texts, answers.missing)}
    if gone:
        listed = first_few([f"{text!r} {count}" for text, count in gone.items()], 5)
        say(f"{plural(sum(gone.values()), 'missing answer')} ({listed})")
    return answers


def _check_missing(name: str, texts: Iterable[str], missing: Collection[str]) -> None:
    """Raise UsageError if a text with a comma was named without quotes, because it was split."""
    for text in texts:
        parts = [part.strip() for part in text.split(",")]
        if len(parts) > 1 and text not in missing and set(parts) <= set(missing):
            problem = f"`missing` splits at commas: {text!r} is read as {' and '.join(parts)}"
            raise UsageError(
                f"{name}: {problem}; in quotes it is a single text: `missing={[in_list(text)]}`"
            )


def _by_labels(
    scores: np.ndarray[Any, Any], name: str, chosen: Mapping[str, Any]
) -> np.ndarray[Any, Any]:
    """Read numbers on levels such as 0=S1,1=S2 by their labels: 2 is S2, not the level of value 2.

    Raises UsageError if they can be read both ways.
    """
    levels = () if chosen.get("of_dataset") else levels_from(chosen.get("levels", ()))
    numbered = numbers_in(level.label for level in levels)
    by_label = {numbered[level.label]: level for level in levels if numbered}
    values = {level.value for level in levels}
    used = set(np.unique(scores[~np.isnan(scores)]).tolist())
    if not used or not used <= by_label.keys() or values == by_label.keys():
        return scores
    if used <= values:
        numbered_levels = ",".join(
            f"{number:g}={level.label}" for number, level in by_label.items()
        )
        problem = f"{min(used):g} may be {by_label[min(used)].label} or the level of that value"
        raise UsageError(f"{name}: {problem}; choose, e.g. `levels={ {name: numbered_levels} }`")
    return np.array(
        [by_label[score].value if score in by_label else np.nan for score in scores.tolist()]
    )


def _scale(name: str, values: np.ndarray[Any, Any], chosen: Mapping[str, Any]) -> Scale:
    """The scale of scores in numbers: as the options state, METAL's scale if the scores fit it,
    else the levels that occur.
    """
    measure = chosen.get("measures", "")
    if chosen.get("ranges"):
        return Scale("interval", (), *ends_of(chosen["ranges"]))
    if chosen.get("levels"):
        return Scale(measure or "ordinal", levels_from(chosen["levels"]))
    ours = metal_levels(name)
    if not measure and ours and set(values.tolist()) <= {level.value for level in ours}:
        return metal_criterion(metal_name(name)).scale
    if not are_levels(values) or measure == "interval":
        return Scale("interval")
    return Scale(measure or "ordinal", tuple(Level(float(value), f"{value:g}") for value in values))


def are_levels(values: np.ndarray[Any, Any]) -> bool:
    """Whether the distinct answers are whole numbers, and few enough to be levels."""
    return 2 <= len(values) <= MOST_LEVELS and all(map(float.is_integer, values.tolist()))


def whole_scale(
    criterion: Criterion, names: Sequence[str], options: Mapping[str, Any]
) -> Scale | None:
    """The scale with every whole number between its levels; None if it does not come from the
    levels that occur.

    names: the names of all criteria of the table.
    """
    levels, chosen = criterion.scale.levels, options_of(criterion.name, names, options)
    if (
        chosen.keys() & {"levels", "ranges"}
        or not levels
        or any(level.label != f"{level.value:g}" for level in levels)
    ):
        return None
    numbers = np.arange(levels[0].value, levels[-1].value + 1)
    return (
        _scale(criterion.name, numbers, chosen) if len(numbers) <= MOST_LEVELS else criterion.scale
    )


# ---------------------------------------------------------------- METAL's criteria


def _criterion(
    name: str, scale: Scale, scores: Scores, chosen: Mapping[str, Any], options: Mapping[str, Any]
) -> Criterion:
    guessed = direction_of(name, scale, scores)
    criterion = Criterion(name, scale, guessed)
    if own := options.get("described", {}.get)(name):
        criterion = own if own.scale == scale else replace(own, scale=scale)
    elif metal_name(name):
        ours = metal_criterion(metal_name(name))
        # the question: it names the answers
        asked = (ours.direction, ours.scale.values) == (guessed, scale.values)
        criterion = replace(
            ours, name=name, scale=scale, direction=guessed, question=ours.question if asked else ""
        )
    return replace(criterion, direction=chosen.get("directions", criterion.direction))
