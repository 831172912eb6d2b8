"""Which column plays which role, and the shape of a table: a rating, a rater or a criterion per row or column."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from glob import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype, union_categoricals

from metal.data.tables import asides
from metal.data.tables.answers import numbered_words, read_answers
from metal.data.tables.cells import MISSING, as_numbers, as_texts, fold
from metal.data.tables.mturk import asked
from metal.data.tables.names import CHOICE, COMMENTS, CRITERION, ENDS, GUESSES, METRIC, MODEL, NO_ANSWERS, RATER, plain
from metal.data.tables.nested import nested_columns, unnested
from metal.data.tables.pairs import are_winners
from metal.data.tables.roles import columns_of, few_words, roles_of, with_ids_in_parts, with_joined, without_pairs
from metal.data.tables.word_orders import order_of
from metal.data.text import first_few
from metal.errors import DataError, NoColumn

STRAY = 9  # answers as they should be for each that is not, below which a column holds no answers
_TEMPLATE = re.compile(r"\{(rater|criterion)\}")


@dataclass(frozen=True)
class AnswerColumn:
    """Where an answer stands in a wide table: its column, whose it is and on what ("" where a column says it)."""

    column: str
    rater: str = ""
    criterion: str = ""
    comment: str = ""


@dataclass(frozen=True)
class TableColumns:
    """What a table was read from: role -> column; the columns that hold answers, as `wide` names them; and the rest."""

    roles: Mapping[str, str]
    wide: tuple[str, ...]
    unread: tuple[str, ...]


def tidy_frame(frame: pd.DataFrame, options: Mapping[str, Any], notes: list[str], where: Path) -> pd.DataFrame:
    """One rating per row, columns named by role; the index is the row in the file.

    options: `columns` {role: column}; `wide`, the columns that hold answers, as patterns with * or as a template
    such as `{rater}_{criterion}`. Without them both are guessed from names and cells, and said in notes.
    Raises DataError or UsageError, with the names of the columns, when a needed column is missing.
    """
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise DataError(where, f"two columns are called {twice!r}", "Rename one of them")
    frame = with_joined(asides.without_summary_rows(frame, notes), options.get("columns") or {})
    patterns = [options["wide"]] if isinstance(options.get("wide"), str) else list(options.get("wide") or ())
    places = _places_named(frame, patterns)
    absent = {*(options.get("columns") or {}).values()} - {*frame.columns}
    nested = nested_columns(frame, ()) if patterns or absent else []
    if nested and (absent or not {place.column for place in places} - {*nested}):
        return tidy_frame(unnested(frame, nested, notes, where), options, notes, where)
    if patterns and not places:
        raise DataError(where, f"no column matches `wide={patterns}`", columns_of(frame))
    roles = roles_of(frame, [place.column for place in places], options, where)
    chosen = _choices(frame, roles, places, bool(patterns), notes)
    roles = without_pairs(frame, roles, options, chosen=bool(chosen))
    places = chosen or places
    if not patterns:
        roles = with_ids_in_parts(frame, roles, options.get("columns") or {})
        frame = with_joined(frame, roles)
    long = "rater" in roles and bool({"score", "winner"} & roles.keys() or _replies_alone(frame, roles, options))
    long |= "first_text" in roles
    if not (patterns or long or chosen):
        named = options.get("columns") or {}
        if "reference" in roles and "reference" not in named and _holds_answers(frame[roles["reference"]]):
            del roles["reference"]  # a gold label, which may stand for people
        if "score" in roles and "score" not in named and "rater" not in roles and _beside_a_judge(frame, roles):
            del roles["score"]  # people's, beside a judge's: human_score, judge_score
        places = _places_guessed(frame, roles, notes, where, options.get("described", {}.get))
        if not places:
            nested = nested_columns(frame, list(roles.values()))
            return tidy_frame(unnested(frame, nested, notes, where), options, notes, where)
        if "score" in roles and "score" not in named and plain(roles["score"]) in GUESSES["text"]:
            roles.setdefault("text", roles.pop("score"))  # `answer`
        roles = {role: column for role, column in roles.items() if column not in {place.column for place in places}}
    if len(places) > 1 or roles.keys() & {"winner", "first_text"}:
        for role in ("reply", "confidence"):  # they do not say which of the answers, or which order, they are about
            roles.pop(role, None)
    if patterns and "rater" in roles:  # so the columns are not people: what they hold is criteria
        places = [AnswerColumn(p.column, criterion=p.rater or p.criterion, comment=p.comment) for p in places]
    notes.append(_shape(roles, places))
    named = {column: role for role, column in roles.items()}
    unread = [c for c in frame.columns if c not in {*named, *(x for p in places for x in (p.column, p.comment))}]
    if unread:
        notes.append(f"columns not read: {first_few(unread, 12)}")
    unordered = [column for column in unread if not long and not patterns and few_words(frame[column])]
    if unordered:
        listed = first_few(unordered)
        notes.append(
            f"their words may be answers in an order METAL does not know: {listed} (`wide` and `levels` read them)"
        )
    tidy = _stacked(frame, named, places) if places else frame[list(named)].rename(columns=named)
    tidy = tidy.rename(columns={"score": "winner"}) if chosen else tidy
    score = [("score", place.column) for place in places if not (place.rater or place.criterion)]
    wide = () if score else tuple(dict.fromkeys(map(_as_wide, places)))
    tidy.attrs["columns"] = TableColumns(dict([*roles.items(), *score]), wide, tuple(unread))
    return tidy


def _as_wide(place: AnswerColumn) -> str:
    """The pattern of `wide` that reads the column so."""
    if place.column in (place.rater, place.criterion):
        return escape(place.column)
    pattern = place.column
    for name, part in ((place.rater, "{rater}"), (place.criterion, "{criterion}")):
        pattern = pattern.replace(name, part, 1) if name else pattern
    return pattern


def _replies_alone(frame: pd.DataFrame, roles: Mapping[str, str], options: Mapping[str, Any]) -> bool:
    """Whether a column of replies, told or guessed, stands in the place of scores."""
    if "reply" not in roles or "reply" in (options.get("columns") or {}):
        return "reply" in roles
    return not any(_holds_answers(frame[column]) for column in frame if column not in roles.values())


def _shape(roles: Mapping[str, str], places: Sequence[AnswerColumn]) -> str:
    """The line that says how the table was read."""
    renamed = ", ".join(f"{role} from {column!r}" for role, column in roles.items() if role != column)
    by_name = any(role == column for role, column in roles.items())
    columns = f"columns read by their names{renamed and ', '}{renamed}" if by_name else f"columns read: {renamed}"
    if not places:
        return f"one rating per row; {columns}"
    raters, criteria = any(place.rater for place in places), any(place.criterion for place in places)
    if not raters and not criteria:
        return f"one rating per row; {columns}, score from {places[0].column!r}"
    each = "rater and criterion" if raters and criteria else "rater" if raters else "criterion"
    listed = first_few([place.column for place in places], 8)
    return f"one column per {each} (`wide`): {listed}; {columns}"


# ---------------------------------------------------------------- columns that hold answers


def _places_named(frame: pd.DataFrame, patterns: Iterable[str]) -> list[AnswerColumn]:
    """The columns that match, each as a rater's, or as its template says."""
    places: dict[str, AnswerColumn] = {}
    for pattern in patterns:
        template = _template(pattern) if _TEMPLATE.search(pattern) else None
        for column in frame.columns:
            match = template.fullmatch(column) if template else None
            if match:
                parts = match.groupdict("")
                places[column] = AnswerColumn(column, parts.get("rater", ""), parts.get("criterion", ""))
            elif not template and fnmatchcase(column, pattern):
                places[column] = AnswerColumn(column, rater=column)
    return [_with_comment(place, frame) for place in places.values()]


def _choices(
    frame: pd.DataFrame, roles: Mapping[str, str], places: list[AnswerColumn], named: bool, notes: list[str]
) -> list[AnswerColumn]:
    """Of pairs without a column for the rater, the columns that each hold a rater's choices; none of other tables.

    named: whether `places` are all that is asked for. Else columns are looked for that are called so (`gpt4_winner`)
    or like a rater; beside a column of winners, which is people's, only those of judges.
    """
    systems = [roles[role] for role in ("first", "second") if role in roles]
    texts = [roles[role] for role in ("first_text", "second_text") if role in roles]
    if "rater" in roles or 2 not in (len(systems), len(texts)) or (texts and plain(texts[0]) == "chosen"):
        return []
    names = {fold(name) for column in systems for name in as_texts(frame[column]).cat.categories}
    if named:
        return places if len(places) > 1 and all(are_winners(frame[place.column], names) for place in places) else []
    winners = [roles[role] for role in ("winner", "score") if role in roles]
    of_all = next((column for column in winners if are_winners(frame[column], names)), "")
    raters = {of_all: of_all} if of_all else {}
    for column in frame.columns:
        rater = CHOICE.sub("", column)
        judge = MODEL.search(rater) is not None
        called = rater != column or RATER.fullmatch(column) or (judge and "_" not in column)
        if column not in roles.values() and called and (judge or not of_all):
            raters[column] = rater or column
    # A stray cell under a name that ends in `winner` is an error, which names its row.
    raters = {c: rater for c, rater in raters.items() if c != rater or are_winners(frame[c], names)}
    kept = asides.raters_by_name(list(raters.values()), notes) if len(raters) > 1 else []
    guessed = [AnswerColumn(column, rater) for column, rater in raters.items() if rater in kept]
    return guessed if len(guessed) > 1 and any(are_winners(frame[place.column], names) for place in guessed) else []


def _template(pattern: str) -> re.Pattern[str]:
    parts = _TEMPLATE.split(pattern)
    return re.compile("".join(f"(?P<{part}>.+?)" if at % 2 else re.escape(part) for at, part in enumerate(parts)))


def _with_comment(place: AnswerColumn, frame: pd.DataFrame) -> AnswerColumn:
    """The place with the column of its comments: `fluency_comment`, or for `ling_rating` also `ling_reasoning`."""
    stems = {place.column.lower(), _without_end(place.column).lower()}
    wanted = {f"{stem}{gap}{word}" for stem in stems for gap in ("_", " ", "-", ".") for word in COMMENTS}
    wanted |= {f"{stem}_{end}_{word}" for stem in stems for end in ENDS for word in COMMENTS}
    comment = next((column for column in frame.columns if column.lower() in wanted), "")
    return AnswerColumn(place.column, place.rater, place.criterion, comment)


def _without_end(column: str) -> str:
    """`ling_rating` -> `ling`; a name that is nothing else stays."""
    return re.sub(rf"(.)[\s_\-.]({'|'.join(ENDS)})$", r"\1", asked(column), flags=re.IGNORECASE)


def _places_guessed(
    frame: pd.DataFrame, roles: Mapping[str, str], notes: list[str], where: Path, described: Callable[[str], object]
) -> list[AnswerColumn]:
    """The columns that hold answers, where no column does for all; none where they may stand in lists or objects.
    Raises DataError where there are none at all.

    described: a criterion by its name; its scale is the order of its words.
    """
    free = [column for column in frame.columns if column not in set(roles.values())]
    columns = [c for c in free if _holds_answers(frame[c]) or ("rater" in roles and described(_without_end(c)))]
    columns = columns or [c for c in free if "rater" in roles and CRITERION.search(c) and few_words(frame[c])]
    if "rater" in roles:
        columns = asides.criteria_among(columns, notes)
    if "rater" in roles and columns and ("criterion" not in roles or len(columns) == 1):
        _check_one_output(frame, columns, where)
        names = ["" if "criterion" in roles else _without_end(column) for column in columns]
        places = [AnswerColumn(column, criterion=name) for column, name in zip(columns, names, strict=True)]
        return [_with_comment(place, frame) for place in places]
    raters = "score" not in roles or all(RATER.fullmatch(column) or MODEL.search(column) for column in columns)
    if "rater" not in roles and len(columns) > 1 and raters:
        places = _grid(asides.raters_by_name(columns, notes))
        kept = asides.without_summaries([(place.rater, place.column) for place in places], frame, notes)
        return [_with_comment(place, frame) for place in places if place.rater in kept]
    if nested_columns(frame, list(roles.values())):
        return []
    missing = next(role for role in ("rater", "score") if role not in roles)
    remedy = f'{columns_of(frame)}. Name it: `columns={{"{missing}": COLUMN}}`; a wide table: `wide=RATERS`'
    if missing == "score":
        remedy += '; judges\' replies: `columns={"reply": COLUMN}`'
    elif sheets := [note for note in notes if note.startswith("only the sheet")]:
        remedy += f"; {sheets[0]}: with a sheet a rater, put them into one, with a column for the rater"
    raise NoColumn(where, missing, free, f"no column for the {missing}", remedy)


def _check_one_output(frame: pd.DataFrame, columns: Sequence[str], where: Path) -> None:
    """Raises DataError where answers are about several outputs of a row: gpt_output, gpt_score, llama_output, ..."""
    texts = [
        column
        for stem in map(_without_end, columns)
        for column in frame.columns
        if column not in columns and fold(column) in {f"{fold(stem)} {word}" for word in (*GUESSES["text"], "output")}
    ]
    if len(texts) > 1:
        remedy = "Write a row for each, with columns generator, text and score"
        raise DataError(where, f"several outputs in a row: {first_few(texts)}", remedy)


def _holds_answers(column: pd.Series) -> bool:
    """Whether the cells look like answers: numbers that are no ids, or words of a known order."""
    name = re.sub("(?<=[a-z])(?=[A-Z])", "_", str(column.name)).lower()  # WorkTimeInSeconds
    if NO_ANSWERS.search(name) or not column.notna().any() or isinstance(column.dropna().iloc[0], list | dict):
        return False
    if is_numeric_dtype(column):
        return column.nunique() <= 101 or bool(column.dropna().mod(1).ne(0).any())
    counts = as_texts(column).value_counts()
    counts = counts[counts > 0]
    if len(counts) > 5000 or counts.index.str.len().max() > 40:
        return False
    answers = read_answers({str(text): int(n) for text, n in counts.items()}, MISSING, lambda line: None)
    words = answers.in_words
    numbers = sum(not np.isnan(number) for number in answers.numbers)
    in_numbers = sum(n for n, x in zip(answers.counts, answers.numbers, strict=True) if not np.isnan(x))
    # A stray cell does not make a column something else: its row is named where scores are read.
    if words and (not numbers or in_numbers < STRAY * sum(words.values())):
        usual = [word for word, count in words.items() if STRAY * count > sum(words.values())]
        called = CRITERION.search(name) or RATER.fullmatch(name) or MODEL.search(name)
        numbered = called and numbered_words(words)
        return bool(numbered) or (not numbers and order_of(usual) is not None)
    whole_ids = numbers > 101 and all(n == int(n) for n in answers.numbers if not np.isnan(n))
    return numbers > 0 and not whole_ids


def _beside_a_judge(frame: pd.DataFrame, roles: Mapping[str, str]) -> bool:
    """Whether the only column of answers beside the scores is called like a judge, and both hold numbers, or words."""
    answers = [c for c in frame.columns if c not in roles.values() and _holds_answers(frame[c])]
    judge = _without_end(answers[0]) if len(answers) == 1 else ""
    if not MODEL.search(judge) or re.search(r"(?<!auto)[_ ]", judge):  # gpt2_perplexity is no judge
        return False
    cells = [pd.Series(as_texts(frame[c]).cat.categories) for c in (roles["score"], *answers)]
    first, second = (bool(np.isfinite(as_numbers(each)).all()) for each in cells)
    return first == second


def _grid(columns: Sequence[str]) -> list[AnswerColumn]:
    """Columns as raters, or as each rater's answer on each criterion where the names are all pairs of two parts."""
    halves: list[Callable[[str, str], tuple[str, str, str]]] = [str.partition, str.rpartition]
    incomplete: set[tuple[AnswerColumn, ...]] = set()
    for gap in ("(", "[", "__", "_", ".", ":", "/", " ", "-"):
        for divide in halves:
            halved = [(left, right) for left, middle, right in (divide(column, gap) for column in columns) if middle]
            pairs = [(left.strip(), right.strip(" )]")) for left, right in halved] if gap in "([" else halved
            left, right = {pair[0] for pair in pairs}, {pair[1] for pair in pairs}
            if len(pairs) != len(columns) or max(len(left), len(right)) == 1:
                continue
            raters_left = _raters_among(left) - _raters_among(right) >= 0
            raters, criteria = (0, 1) if raters_left else (1, 0)
            places = [
                AnswerColumn(column, pair[raters], "" if fold(pair[criteria]) in ENDS else pair[criteria])
                for column, pair in zip(columns, pairs, strict=True)
            ]
            sides = left, right
            if len(left) * len(right) > len(columns):
                if _raters_among(sides[raters]) == 1 and any(map(CRITERION.search, sides[criteria])):
                    incomplete.add(tuple(places))
            elif len(sides[raters]) > 1 and (len(sides[criteria]) > 1 or _one_sided(left, right)):
                return places
    if len(incomplete) == 1:  # some raters were not asked everything
        return list(incomplete.pop())
    raters_like = any(p.search(column) for column in columns for p in (MODEL, METRIC)) or any(
        map(RATER.fullmatch, columns)
    )
    if any(map(CRITERION.search, columns)) and not raters_like:
        return [AnswerColumn(column, criterion=_without_end(column)) for column in columns]
    return [AnswerColumn(column, rater=column) for column in columns]


def _one_sided(left: Iterable[str], right: Iterable[str]) -> bool:
    """Whether the one part that all names share is a criterion or a word such as `score`."""
    shared = next(iter(left)) if len(list(left)) == 1 else next(iter(right))
    return bool(CRITERION.search(shared)) or fold(shared) in ENDS


def _raters_among(names: Iterable[str]) -> float:
    """How much names look like raters (1 each) rather than criteria (-1 each), on average."""
    votes = [bool(RATER.fullmatch(n) or MODEL.search(n)) - bool(CRITERION.search(n)) for n in names]
    return sum(votes) / max(len(votes), 1)


def _stacked(frame: pd.DataFrame, named: Mapping[str, str], places: Sequence[AnswerColumn]) -> pd.DataFrame:
    """The answers of all places below each other, with the columns that play a role. Empty cells were not asked."""
    rows = np.tile(np.arange(len(frame)), len(places))
    tidy = frame[list(named)].rename(columns=dict(named)).iloc[rows]
    tidy["score"] = _end_to_end([frame[place.column] for place in places])
    for role in ("rater", "criterion"):
        names = [getattr(place, role) for place in places]
        if any(names):
            codes, distinct = pd.factorize(np.array(names, dtype=object))
            tidy[role] = pd.Categorical.from_codes(np.repeat(codes, len(frame)), pd.Index(distinct, dtype="str"))
    if any(place.comment for place in places):
        empty = pd.Series(None, index=frame.index, dtype="str")
        tidy["comment"] = _end_to_end([frame[place.comment] if place.comment else empty for place in places])
    return tidy[tidy.filter(["score", "reply"]).notna().any(axis=1)]


def _end_to_end(columns: Sequence[pd.Series]) -> Any:
    if all(is_numeric_dtype(column) and column.dtype != bool for column in columns):
        return np.concatenate([column.to_numpy(dtype=np.float64, na_value=np.nan) for column in columns])
    return union_categoricals([as_texts(column) for column in columns])
