"""Read rater and criterion from names of columns, such as `annotator_1__fluency` or
`scores.gpt-4o.helpfulness.value`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from itertools import product

from metal.data.tables.answer_columns import AnswerColumn, without_end
from metal.data.tables.cells import fold
from metal.data.tables.names import COMMENTS, CRITERION, ENDS, METRIC, is_machine, is_person
from metal.data.tables.nested import Paths

_CONTAINER = re.compile(
    r"annotation|rating|score|judg|label|eval|vote|rater|worker|result|metadata|feedback", re.I
)


_SPACES = re.compile(r"[\s_–-]+")
_WORD = re.compile(r"[^\W\d_]{2}")
_ANY_GAP = ""  # whatever stands between words: not all names are spelled in one way
_GAPS = ("(", "[", " - ", ": ", "__", "_", ".", ":", "/", " ", "-", _ANY_GAP)


def places_of(columns: Sequence[str], paths: Paths) -> list[AnswerColumn]:
    """Find who gave each column's answers, and on which criterion: from the column's path if it was
    in an object, or else from its name.
    """
    in_objects = [column for column in columns if column in paths]
    places = _by_path(in_objects, paths) if in_objects else []
    if len(in_objects) == len(columns):
        return places
    return [*places, *_each_a_rater(columns, in_objects)] if places else _grid(columns)


def _each_a_rater(columns: Sequence[str], others: Collection[str]) -> list[AnswerColumn]:
    return [AnswerColumn(column, rater=column) for column in columns if column not in others]


def _by_path(columns: Sequence[str], paths: Paths) -> list[AnswerColumn]:
    """Read columns that were in objects by their paths: `scores.gpt-4o.helpfulness.value` is
    gpt-4o's answer on helpfulness.
    """
    steps = {column: without_last_end(paths[column]) for column in columns}
    depths = list(map(_depth_of_rater, steps.values()))
    usual = next((depth for depth in depths if depth is not None), None)
    places = []
    for (column, path), at in zip(steps.items(), depths, strict=True):
        if at is None:
            at = usual if usual is not None and usual < len(path) else len(path) - 1
        others = path[at + 1 :] or path[:at]
        criteria = [name for name in others if not _CONTAINER.search(name)]
        comment = _comment_beside(paths[column], paths)
        if len(criteria) > 1:  # `human.anna.tone`: one of the steps may be the rater
            places.append(AnswerColumn(column))
        else:
            places.append(AnswerColumn(column, without_end(path[at]), "".join(criteria), comment))
    return places if len({(answer.rater, answer.criterion) for answer in places}) != 1 else []


def name_of_path(path: tuple[str, ...]) -> str:
    """A column's name from its path, without objects that only group ratings: `ratings.anna` gives
    anna.
    """
    if len(path) == 1:
        return path[0]
    steps = [name for name in without_last_end(path) if not _CONTAINER.search(name)]
    return ".".join(steps) or ".".join(path)


def without_last_end(path: tuple[str, ...]) -> tuple[str, ...]:
    """The path without its last step, if that only says that it is a score."""
    return path[:-1] if len(path) > 1 and fold(path[-1]) in ENDS else path


def _depth_of_rater(path: tuple[str, ...]) -> int | None:
    """The step of a path that names the rater; None if no step is named like a rater."""
    return next((at for at, name in enumerate(path) if is_person(name) or is_machine(name)), None)


def _comment_beside(path: tuple[str, ...], paths: Paths) -> str:
    """The column with the comment in the same object, such as `scores.gpt-4o.explanation`."""
    beside = {
        other[-1].lower(): column for column, other in paths.items() if other[:-1] == path[:-1]
    }
    return next((beside[word] for word in COMMENTS if word in beside), "")


def _grid(columns: Sequence[str]) -> list[AnswerColumn]:
    """Read columns as raters or, if their names have two parts, as each rater's answer on each
    criterion.

    columns: all columns, or those named like raters.
    """
    called_like_raters = [
        name for name in columns if is_person(without_end(name)) or is_machine(name)
    ]
    places = _pairs_of_parts(columns)
    if places:
        return places
    on_criteria = list(filter(CRITERION.search, called_like_raters))
    no_metrics = [name for name in called_like_raters if not METRIC.search(name)]
    for some, fewest in ((called_like_raters, 1), (no_metrics, 2), (on_criteria, 2)):
        places = _pairs_of_parts(some)
        if len({answer.criterion for answer in places if answer.criterion}) >= fewest:
            return [*places, *_each_a_rater(columns, some)]
    if any(map(CRITERION.search, columns)) and not called_like_raters:
        return [AnswerColumn(column, criterion=without_end(column)) for column in columns]
    return _each_a_rater(columns, ())


def _pairs_of_parts(columns: Sequence[str]) -> list[AnswerColumn]:
    """The rater and criterion of each column, if all names consist of the two; else empty.

    If some raters were not asked on every criterion, names are split so that the fewest
    combinations are missing; of equal splits, the one with shorter criteria is taken.
    """
    incomplete: list[tuple[int, int, list[AnswerColumn]]] = []
    for gap, divide in product(_GAPS, (str.partition, str.rpartition)):
        pairs = _halves(columns, gap, divide)
        if len(pairs) != len(columns):
            continue
        places, raters, criteria = _sides_told_apart(columns, pairs)
        missing = len(raters) * len(criteria) - len(columns)
        named = any(map(CRITERION.search, criteria))
        if missing > 0:
            if named and all(map(_WORD.search, criteria)) and _raters_among(raters) == 1:
                incomplete.append((missing, sum(map(len, criteria)), places))
        elif len(raters) > 1 and (len(criteria) > 1 or named or fold(*criteria) in ENDS):
            return places
    return min(incomplete, key=lambda each: each[:2])[2] if incomplete else []


def _sides_told_apart(
    columns: Sequence[str], pairs: Sequence[tuple[str, str]]
) -> tuple[list[AnswerColumn], set[str], set[str]]:
    """The rater and criterion of each column, all raters, and all criteria.

    Of the two parts of names, the one that looks more like raters is taken for them.
    """
    sides = {pair[0] for pair in pairs}, {pair[1] for pair in pairs}
    rater, criterion = sorted((0, 1), key=lambda side: -_raters_among(sides[side]))
    places = []
    for column, pair in zip(columns, pairs, strict=True):
        asked_on = "" if fold(pair[criterion]) in ENDS else pair[criterion]
        places.append(AnswerColumn(column, pair[rater], asked_on))
    return places, sides[rater], sides[criterion]


def _halves(
    columns: Sequence[str], gap: str, divide: Callable[[str, str], tuple[str, str, str]]
) -> list[tuple[str, str]]:
    """The two parts of each name that contains the gap, a separator."""
    if gap == _ANY_GAP:
        return _halves_of_any_gap(columns, 0 if divide is str.partition else -1)
    halves = []
    for column in columns:
        left, middle, right = divide(column, gap)
        if middle and gap in "([":
            halves.append((left.strip(), right.strip(" )]")))
        elif middle and left[-1:] != gap != right[:1]:  # no part of a longer gap
            halves.append((left, right))
    return halves


def _halves_of_any_gap(columns: Sequence[str], gap_index: int) -> list[tuple[str, str]]:
    """The parts of each name before and after its first or last gap, each part in the spelling of
    the first name that has it.
    """
    halves = []
    spelled: dict[str, str] = {}
    for column in columns:
        if gaps := [gap.span() for gap in _SPACES.finditer(column)]:
            begin, end = gaps[gap_index]
            parts = column[:begin], column[end:]
            keys = [fold(part).replace(" ", "") for part in parts]
            left, right = [
                spelled.setdefault(key, part) for key, part in zip(keys, parts, strict=True)
            ]
            halves.append((left, right))
    return halves


def _raters_among(names: Collection[str]) -> float:
    """How much names look like raters (1 each) rather than criteria (-1 each), on average."""
    votes = [(is_person(name) or is_machine(name)) - bool(CRITERION.search(name)) for name in names]
    return sum(votes) / max(len(votes), 1)


def in_two(names: Collection[str]) -> dict[str, tuple[str, str]]:
    """The rater and criterion of each name in a column of raters, if names hold both
    (`Anna, fluency`), with every rater on every criterion. Empty otherwise.
    """
    for gap in (", ", " / ", "/", " | ", "|", ": ", " - ", "; "):
        pairs = {name: tuple(map(str.strip, name.split(gap))) for name in names}
        if not all(len(pair) == 2 and all(pair) for pair in pairs.values()):
            continue
        raters, criteria = ({pair[index] for pair in pairs.values()} for index in (0, 1))
        in_a_grid = (
            len(pairs) == len(raters) * len(criteria) and min(len(raters), len(criteria)) > 1
        )
        if in_a_grid and any(map(CRITERION.search, criteria)):
            return {name: (pair[0], pair[1]) for name, pair in pairs.items()}
    return {}
