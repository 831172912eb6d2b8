"""The criteria of a table: what its answers mean as scores, on which scale, and which end of it is better."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from metal.data.formats import METAL_CRITERIA, metal_criterion
from metal.data.progress import followed, no_progress
from metal.data.ratings import row_of
from metal.data.records import DIRECTIONS, MEASURES, Criterion, Direction, Level, Scale, is_free_text
from metal.data.tables.cells import (
    MISSING,
    AnswerTexts,
    as_texts,
    fold,
    in_upper_half,
    numbered_words,
    order_of,
    read_answers,
    zero_may_be_no_answer,
)
from metal.data.tables.names import ABSENCE, OPPOSITE, WORSE
from metal.data.text import first_few, plural
from metal.errors import DataError, UnknownName, UnknownOrder, UsageError

MOST_LEVELS = 11  # whole numbers with more distinct values than this are a continuous score
NO_ANSWER = "no answer"
RARE = 0.01  # of the answers; so rare a level may be a typing error
GUESSED = ("by its name", "assumed; see `directions`")  # why a direction is lower, or higher
PER_CRITERION = ("directions", "levels", "measures", "missing", "ranges", "shifts")
_ANCHOR = re.compile(r"(\d+)\s*[-–=:(]?\s*(best|excellent|very good|good|worst|terrible|very bad|very poor|bad|poor)\b")


def read_scores(tidy: pd.DataFrame, options: Mapping[str, Any], notes: list[str], where: Path) -> list[Criterion]:
    """The criteria in order of name; `tidy` gets its scores as numbers and the reasons of missing answers.

    options: of each criterion, by name or pattern, those of PER_CRITERION (`missing`: texts that stand for no answer,
    those of all fitting patterns and MISSING); where those do not say `described`, a function that gives a criterion by
    its name, and with replies `scales`, {criterion: Scale}.
    Raises DataError for words among numbers, words of no known order and free text, UsageError and UnknownName for
    options that do not fit.
    """
    names = sorted(codes := {name: code for code, name in enumerate(tidy["criterion"].cat.categories)})
    options = options if "reply" in tidy else {**options, "scales": {}}
    chosen = {name: _chosen(name, names, options) for name in names}
    numeric = is_numeric_dtype(tidy["score"]) and tidy["score"].dtype != bool
    column = tidy["score"] if numeric else as_texts(tidy["score"])
    of_criterion = tidy["criterion"].array.codes
    scores = np.full(len(tidy), np.nan)
    criteria, counts = list[Criterion](), []
    for name in followed(names, options.get("progress", no_progress)):
        rows = np.flatnonzero(of_criterion == codes[name])
        missing = MISSING | {str(text).strip().lower() for text in chosen[name].get("missing", ())}
        scale, scores[rows] = _scale_of(column.iloc[rows], name, chosen[name], missing, notes, where)
        criteria.append(_criterion(name, scale, chosen[name], options))
        counts.append(f"{name}: {_counted(scores[rows], scale)}")
    naming = {"levels", "ranges", "shifts"}
    zeros = {c.name: "0" for c in criteria if zero_may_be_no_answer(c.scale) and not naming & chosen[c.name].keys()}
    if zeros:
        remedy = f"`missing={zeros if len(zeros) < len(criteria) else [0]}`"
        notes.append(f"{', '.join(zeros)}: 0 is read as the lowest answer; if it means not rated: {remedy}")
    notes += [*_about_directions(criteria, chosen), *counts]
    tidy["score"] = scores
    answered = ~np.isnan(scores)
    if "reason" in tidy:
        reason = tidy["reason"].astype(object)
        tidy["reason"] = reason.where(answered | (reason.notna() & (reason != "")), NO_ANSWER)
    else:
        tidy["reason"] = pd.Categorical.from_codes((~answered).astype(np.int8), pd.Index(["", NO_ANSWER]))
    return criteria


def _counted(scores: np.ndarray[Any, Any], scale: Scale) -> str:
    """How often each level was given, and which are rare; of continuous scores, how many from where to where."""
    given = scores[~np.isnan(scores)]
    if not scale.levels or not len(given):
        return f"{len(given):,} scores" + (f" from {given.min():g} to {given.max():g}" if len(given) else "")
    counts = {level.shown: int((given == level.value).sum()) for level in scale.levels}
    rare = [shown for shown, count in counts.items() if 0 < count < RARE * len(given)]
    listed = ", ".join(f"{shown} ({count:,})" for shown, count in counts.items())
    return listed + (f"; rare: {first_few(rare)}" if rare else "")


# ---------------------------------------------------------------- options of a criterion


def _chosen(name: str, names: Sequence[str], options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of one criterion. Raises UnknownName for a pattern that fits none of them."""
    chosen = {}
    for option in PER_CRITERION:
        patterns: Mapping[str, Any] = options.get(option) or {}
        for pattern in patterns:
            if not any(fnmatchcase(criterion, pattern) for criterion in names):
                raise UnknownName(f"`{option}`: criterion", pattern, names)
        by_stars = sorted(patterns.items(), key=lambda item: (item[0].count("*"), -len(item[0])))
        fitting = [value for pattern, value in by_stars if fnmatchcase(name, pattern)]  # first what says most
        if fitting:
            chosen[option] = [text for texts in fitting for text in texts] if option == "missing" else fitting[0]
    if isinstance(chosen.get("levels"), str) and "<" in chosen["levels"]:
        chosen.setdefault("directions", "higher")  # from the worst to the best
    for option, allowed in (("directions", DIRECTIONS), ("measures", MEASURES)):
        if chosen.get(option, allowed[0]) not in allowed:
            raise UsageError(f"`{option}` {chosen[option]!r}: one of {', '.join(allowed)}")
    own = options.get("described", {}.get)(name)
    scale = own.scale if own else (options.get("scales") or {}).get(name)
    if scale and not chosen.keys() & {"levels", "ranges"}:
        ends = {} if scale.low is None else {"ranges": (scale.low, scale.high)}
        levels = {"levels": [(level.value, level.label) for level in scale.levels], "measures": scale.measure}
        chosen |= levels if scale.levels else ends
    return ({"directions": own.direction} if own else {}) | chosen


def levels_from(value: Any) -> tuple[Level, ...]:
    """Levels from `0=Bad,1=Good`, `Bad<Good` (0, 1), `1<2<3` (as they are), {0: "Bad"} or pairs. Raises UsageError.

    >>> levels_from("Bad<Good") == levels_from("0=Bad,1=Good") == levels_from({0: "Bad", 1: "Good"})
    True
    """
    if not isinstance(value, str):
        pairs = value.items() if isinstance(value, Mapping) else value
        return tuple(Level(float(number), str(label)) for number, label in pairs)
    if "<" in value:
        labels = [label.strip() for label in value.split("<")]
        numbers = [float(label) for label in labels] if all(map(_is_number, labels)) else range(len(labels))
        return tuple(Level(float(number), label) for number, label in zip(numbers, labels, strict=True))
    levels = []
    for part in filter(None, value.split(",")):
        number, _, label = part.partition("=")
        try:
            levels.append(Level(float(number), label.strip() or number.strip()))
        except ValueError:
            remedy = 'write "Bad<Good" or NUMBER=LABEL, e.g. "0=Bad,1=Medium,2=Good"'
            raise UsageError(f"`levels={part!r}`: {remedy}") from None
    return tuple(levels)


_TWO_ENDS = re.compile(r"\s*([+-]?[\d.]+?)\s*(?:-|\.\.|:|to)\s*([+-]?[\d.]+)\s*")


def ends_of(value: Any) -> tuple[float, float]:
    """Two ends, from `0-100`, `0..100` or a pair. Raises UsageError."""
    match = _TWO_ENDS.fullmatch(value) if isinstance(value, str) else None
    try:
        low, high = (float(match[1]), float(match[2])) if match else map(float, value)
    except (TypeError, ValueError):
        raise UsageError(f"{value!r} is no range: write its two ends, e.g. 0-100") from None
    return low, high


# ---------------------------------------------------------------- scales


def _scale_of(
    column: pd.Series, name: str, chosen: Mapping[str, Any], missing: Iterable[str], notes: list[str], where: Path
) -> tuple[Scale, np.ndarray[Any, Any]]:
    """The scale of one criterion and its scores, NaN for no answer."""

    def say(line: str) -> None:
        notes.append(f"{name}: {line}")

    shift = float(chosen.get("shifts", 0))
    if is_numeric_dtype(column):
        scores = column.to_numpy(dtype=np.float64, na_value=np.nan, copy=True)
        codes = np.isin(scores, [float(text) for text in missing if _is_number(text)])
        if codes.any():
            listed = first_few([f"{code:g}" for code in np.unique(scores[codes])], 5)
            say(f"{plural(int(codes.sum()), 'missing answer')} ({listed})")
        scores[codes] = np.nan
        return _scale(name, np.unique(scores[~np.isnan(scores)]) + shift, chosen), scores + shift
    by_text, categories = column.array.codes, column.cat.categories.tolist()
    counts = np.bincount(by_text + 1, minlength=len(categories) + 1)[1:]
    used = np.flatnonzero(counts)
    texts = {categories[at]: int(counts[at]) for at in used.tolist()}
    levels = levels_from(chosen["levels"]) if chosen.get("levels") else ()
    ends = ends_of(chosen["ranges"]) if chosen.get("ranges") else [level.value for level in levels]
    highest = max(map(abs, ends), default=None)
    answers = read_answers(texts, frozenset(missing), say, [level.label for level in levels], highest)
    gone = {text: n for text, n, absent in zip(texts, answers.counts, answers.missing, strict=True) if absent}
    if gone:
        listed = first_few([f"{text!r} {count}" for text, count in gone.items()], 5)
        say(f"{plural(sum(gone.values()), 'missing answer')} ({listed})")

    def place_of(word: str, among: Sequence[str] = answers.words) -> str:
        return row_of(where, int(column.index[int((by_text == used[among.index(word)]).argmax())]))

    if answers.ambiguous:
        comma = next(text for text in texts if "," in text)
        problem = f"{comma!r} of {name} may have a decimal comma or stand for a thousand"
        raise DataError(place_of(comma, [*texts]), problem, f"Say the ends of the scale: `ranges={ {name: '1-5'} }`")
    if answers.in_words:
        scale, by_answer = _worded(name, answers, chosen, place_of, say)
    else:
        by_answer = np.array(answers.numbers) + shift
        if answers.percent:
            chosen = {"ranges": (0, 100), **chosen}
        scale = _scale(name, np.unique(by_answer[~np.isnan(by_answer)]), chosen)
    by_code = np.full(len(counts) + 1, np.nan)  # the last stands for an empty cell, whose code is -1
    by_code[used] = by_answer
    return scale, by_code[by_text]


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def _worded(
    name: str,
    answers: AnswerTexts,
    chosen: Mapping[str, Any],
    place_of: Callable[[str], str],
    say: Callable[[str], None],
) -> tuple[Scale, np.ndarray[Any, Any]]:
    """Scale and scores of answers in words: levels named in options, METAL's, numbers with words, or a known order."""
    words = answers.in_words
    numbers = [number for number in answers.numbers if not np.isnan(number)]
    answered = sum(words.values()) + sum(n for n, x in zip(answers.counts, answers.numbers, strict=True) if x == x)
    if is_free_text(len(words), answered):
        remedy = 'Name the column that holds scores, or replies: `columns={"reply": COLUMN}`'
        problem = f"{len(words):,} different texts as scores of {name}, such as {_shown(next(iter(words)))}: free text"
        raise DataError(place_of(next(iter(words))), problem, remedy)
    measure = chosen.get("measures", "ordinal")
    if chosen.get("levels"):
        levels = levels_from(chosen["levels"])
        by_word = {fold(level.label): level.value for level in levels} | {f"{x.value:g}": x.value for x in levels}
        for word in words:
            if fold(word) not in by_word:
                shown = ", ".join(level.shown for level in levels)
                problem = f"label {_shown(word)} of {name} is not in `levels`"
                raise DataError(place_of(word), problem, f"Add it to {shown}")
        return Scale(measure, levels), np.array(
            [
                by_word[fold(word)] if word else by_word.get(f"{number:g}", np.nan)
                for word, number in zip(answers.words, answers.numbers, strict=True)
            ]
        )
    coded = _coded(name, words, numbers)
    if coded is None and numbers:
        word = next(iter(words))
        remedy = (
            f'Labels: name all with `levels`; replies: `columns={{"reply": COLUMN}}`; no answer: `missing={[word]}`'
        )
        raise DataError(place_of(word), f"score {_shown(word)} among numbers ({name})", remedy)
    if coded is None and measure != "nominal":
        listed = first_few([_shown(word) for word in words], 5)
        problem = f"answers in words whose order METAL does not know ({listed})"
        remedy = (
            f"Say it: `levels={ {name: 'WORST<...<BEST'} }`, or `measures={ {name: 'nominal'} }` where they have none"
        )
        raise UnknownOrder(f"{place_of(next(iter(words)))}, {name}", name, words, problem, remedy)
    if coded is None:
        labels = sorted(words)
        coded = {label: (float(code), label) for code, label in enumerate(labels)}
    levels = _two_or_more(coded)
    if set(levels) <= set(metal_levels(name)) and "measures" not in chosen:
        levels, measure = metal_levels(name), metal_criterion(metal_name(name)).scale.measure
    if measure != "nominal":
        say(f"in words, taken as {' < '.join(level.label for level in levels)}")
    by_word = {word: value for word, (value, _) in coded.items()}
    scores = [by_word.get(word, number) for word, number in zip(answers.words, answers.numbers, strict=True)]
    return Scale(measure, levels), np.array(scores)


def _shown(word: str) -> str:
    return repr(word if len(word) <= 40 else f"{word[:39]}…")


def _coded(name: str, words: Mapping[str, int], numbers: Sequence[float]) -> dict[str, tuple[float, str]] | None:
    """Word -> (score, label) by METAL's levels, the numbers in the words, or a known order; None where none fits."""
    ours = metal_levels(name)
    by_label = {fold(level.label): level for level in ours}
    if all(fold(word) in by_label for word in words) and {level.value for level in ours} >= set(numbers):
        return {word: (by_label[fold(word)].value, by_label[fold(word)].label) for word in words}
    numbered = numbered_words(words)
    if numbered is not None:
        values = [value for value, _ in numbered.values()]
        if not numbers or min(values) <= min(numbers) <= max(numbers) <= max(values):
            return numbered | {f"{x:g}": (x, f"{x:g}") for x in numbers if x not in values}
    order = order_of(words) if not numbers else None
    if order is None:
        return None
    kind, places = order
    if len(places) == 1:
        return {word: (float(in_upper_half(word)), word) for word in places}
    labels = [level.label for level in ours] if kind == "truth" and len(ours) == len(places) else list(places)
    return {word: (float(place), labels[place]) for word, place in places.items()}


def _two_or_more(coded: Mapping[str, tuple[float, str]]) -> tuple[Level, ...]:
    """The levels in order; a scale has at least two answers, also where all raters always gave the same one."""
    levels = tuple(Level(value, label) for value, label in sorted(set(coded.values())))
    if len(levels) > 1:
        return levels
    other = Level(1 - levels[0].value if levels[0].value in (0, 1) else levels[0].value + 1, "(other)")
    return tuple(sorted((*levels, other), key=lambda level: level.value))


def _scale(name: str, values: np.ndarray[Any, Any], chosen: Mapping[str, Any]) -> Scale:
    """The scale of scores in numbers: as named in options, METAL's where they fit, else the levels that occur."""
    measure = chosen.get("measures", "")
    if chosen.get("ranges"):
        return Scale("interval", (), *ends_of(chosen["ranges"]))
    if chosen.get("levels"):
        return Scale(measure or "ordinal", levels_from(chosen["levels"]))
    ours = metal_levels(name)
    if not measure and ours and set(values.tolist()) <= {level.value for level in ours}:
        return metal_criterion(metal_name(name)).scale
    whole_numbers = 2 <= len(values) <= MOST_LEVELS and all(map(float.is_integer, values.tolist()))
    if not whole_numbers or measure == "interval":
        return Scale("interval")
    return Scale(measure or "ordinal", tuple(Level(float(value), f"{value:g}") for value in values))


def whole_scale(criterion: Criterion, names: Sequence[str], options: Mapping[str, Any]) -> Scale | None:
    """The scale with every whole number between its levels; None where it does not come from the levels that occur.

    names: of all criteria of the table.
    """
    levels, chosen = criterion.scale.levels, _chosen(criterion.name, names, options)
    if chosen.keys() & {"levels", "ranges"} or not levels or any(level.label != f"{level.value:g}" for level in levels):
        return None
    numbers = np.arange(levels[0].value, levels[-1].value + 1)
    return _scale(criterion.name, numbers, chosen) if len(numbers) <= MOST_LEVELS else criterion.scale


# ---------------------------------------------------------------- METAL's criteria, and directions


def metal_name(name: str) -> str:
    """METAL's criterion of that name or label, in any case, also in the singular; "" for others."""
    folded = fold(name).rstrip("s")
    return next((ours for ours in METAL_CRITERIA if fold(ours).rstrip("s") == folded), "")


def metal_levels(name: str) -> tuple[Level, ...]:
    """The levels of METAL's criterion of that name; none for others."""
    return metal_criterion(metal_name(name)).scale.levels if metal_name(name) else ()


def _criterion(name: str, scale: Scale, chosen: Mapping[str, Any], options: Mapping[str, Any]) -> Criterion:
    anchors = [level.shown for level in scale.levels if _ANCHOR.match(fold(level.shown))]
    guessed = "higher" if _of_quality(scale) else guessed_direction(", ".join([name, *anchors]))
    criterion = Criterion(name, scale, guessed)
    if own := options.get("described", {}.get)(name):
        criterion = replace(own, scale=scale)
    elif metal_name(name):
        ours = metal_criterion(metal_name(name))
        asked = (ours.direction, ours.scale.values) == (guessed, scale.values)  # the question: it names the answers
        criterion = replace(ours, name=name, scale=scale, direction=guessed, question=ours.question if asked else "")
    return replace(criterion, direction=chosen.get("directions", criterion.direction))


def _of_quality(scale: Scale) -> bool:
    """Whether the labels are bad < good: the last is better whatever is asked, also of hallucinations."""
    return (order_of([level.label for level in scale.levels]) or ("",))[0] == "quality"


def guessed_direction(name: str) -> Direction:
    """METAL's direction of the criterion, or `lower` for a name of something one would rather not find."""
    if metal_name(name):
        return metal_criterion(metal_name(name)).direction
    folded = fold(name)
    good = ("best", "excellent", "good")
    ends = {word.split()[-1] in good: float(number) for number, word in _ANCHOR.findall(folded)}
    if len(ends) == 2:  # `1=best, 6=worst`
        return "lower" if ends[True] < ends[False] else "higher"
    return "lower" if OPPOSITE.search(folded) or (WORSE.search(folded) and not ABSENCE.search(folded)) else "higher"


def why_direction(criterion: Criterion, *, given: bool) -> str:
    """Where the direction of a table's criterion comes from; one of GUESSED where a guess is all there is."""
    if given:
        return "as told"
    if _of_quality(criterion.scale) or criterion.direction != guessed_direction(criterion.name):
        return "by its labels"
    return "METAL's criterion" if metal_name(criterion.name) else GUESSED[criterion.direction == "higher"]


def _about_directions(criteria: Sequence[Criterion], chosen: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Which scores are taken for better, and why."""
    reasons: dict[tuple[str, str], list[str]] = {}
    compared = [each for each in criteria if each.scale.measure != "nominal" or len(each.scale.levels) < 3]  # by order
    for criterion in compared:
        why = why_direction(criterion, given="directions" in chosen[criterion.name])
        reasons.setdefault((criterion.direction, why), []).append(criterion.name)
    if len(reasons) == 1 and len(compared) == len(criteria) > 2:
        reasons = {key: ["all criteria"] for key in reasons}
    return [f"{', '.join(names)}: {direction} is better ({why})" for (direction, why), names in reasons.items()]
