"""Which column plays which role, and the shape of a table: a rating, a rater or a criterion per row
or column.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from metal.data.tables import asides, surveys
from metal.data.tables.answer_columns import AnswerColumn, holds_answers, with_comments, without_end
from metal.data.tables.cells import as_texts, fold, joined_categories
from metal.data.tables.harnesses import Harness, harness_of
from metal.data.tables.ids import (
    with_documents,
    with_ids_in_parts,
    with_joined,
    with_source_texts,
    with_unique_id,
)
from metal.data.tables.language import pair_in_two, with_language
from metal.data.tables.names import CHOICE, GUESSES, MODEL, RATER, is_machine, is_person, plain
from metal.data.tables.nested import NO_LISTS, FromLists, Paths, flattened, nested_columns, unnested
from metal.data.tables.pairs import are_winners
from metal.data.tables.parts import name_of_path
from metal.data.tables.roles import columns_of, few_words, roles_of, without_pairs
from metal.data.tables.who_rated import (
    ROW,
    check_no_judge_beside,
    check_raters,
    judges_columns,
    note_on_scores,
    people_beside,
    with_judging_model,
    with_people,
    with_rows_as_outputs,
)
from metal.data.tables.wide import WideTable, answer_columns, as_wide, beside_a_judge
from metal.data.text import first_few
from metal.errors import DataError

ANSWERED_IN = "answered_in"  # of a wide table: the column in the file that a rating stood in
_TEMPLATE = re.compile(r"\{(rater|criterion|output)\}")


@dataclass(frozen=True)
class TableColumns:
    """What a table was read from: role -> column; the columns that hold answers, as `wide` names
    them; and the rest.

    sources_by: the column whose texts tell sources apart, where no column names them. doubtful: of
    the rest, those that hold answers under names that do not say whose. by_place: raters who are
    known by their place in a list.
    """

    roles: Mapping[str, str]
    wide: tuple[str, ...]
    unread: tuple[str, ...]
    doubtful: tuple[str, ...] = ()
    sources_by: str = ""
    by_place: frozenset[str] = frozenset()

    def __deepcopy__(self, memo: object) -> TableColumns:
        """Itself, as nothing in it changes: pandas copies what stands in `attrs` with every step."""
        return self


def tidy_frame(
    frame: pd.DataFrame,
    options: Mapping[str, Any],
    notes: list[str],
    where: Path,
    lists: FromLists = NO_LISTS,
) -> pd.DataFrame:
    """One rating per row, columns named by role; the index is the row in the file.

    options: `columns` {role: column}; `wide`, the columns that hold answers, as patterns with * or
    as a template such as `{rater}_{criterion}`; `kinds`. Without them roles and answers are guessed
    from names and cells, and said in notes. Members of objects in cells are columns called by their
    path, `metadata.language`. lists: what came out of lists in cells. Raises DataError or
    UsageError, with the names of the columns, when a needed column is missing.
    """
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise DataError(where, f"two columns are called {twice!r}", "Rename one of them")
    named: Mapping[str, str] = options.get("columns") or {}
    patterns = (
        [options["wide"]]
        if isinstance(options.get("wide"), str)
        else list(options.get("wide") or ())
    )
    harness = harness_of(list(frame.columns))
    if harness and not named and not patterns:
        raise _not_guessed(frame, harness, where)
    frame, paths = flattened(asides.without_summary_rows(frame, notes), notes)
    if not patterns:
        frame = asides.without_copies(frame, {*named.values()}, notes)
    frame = with_joined(frame, named)
    pair = pair_in_two(frame)
    if pair and not {*pair.split("+")} & {*named.values()}:
        frame = with_joined(frame, {"language": pair})
    places = _places_named(frame, patterns, paths)
    absent = {*named.values()} - {*frame.columns}
    nested = nested_columns(frame, ()) if patterns or absent else []
    if nested and (absent or not {place.column for place in places} - {*nested}):
        frame, lists = unnested(frame, nested, notes, where)
        return tidy_frame(frame, options, notes, where, lists)
    if patterns and not places:
        raise DataError(where, f"no column matches `wide={patterns}`", columns_of(frame))
    roles = roles_of(frame, [place.column for place in places], options, where)
    if "rater" not in named and judges_columns(frame[[place.column for place in places]], ()):
        roles.pop("rater", None)  # the columns are raters', and what else names people goes unread
    chosen = _choices(frame, roles, places, bool(patterns), notes)
    roles = without_pairs(frame, roles, options, chosen=bool(chosen))
    places = chosen or places
    if pair in frame and "language" not in roles and not options.get("language"):
        roles["language"] = pair
    if not options.get("language") and "language" not in named:
        roles = with_language(frame, roles)
    if not patterns:
        roles = with_ids_in_parts(frame, roles, named)
    for step in (with_documents, with_unique_id, with_source_texts):
        roles = step(frame, roles, named)
    if not patterns and (of_survey := surveys.respondents_of(frame, roles, named)) is not None:
        places = surveys.outputs_asked_about(frame, of_survey)
        roles = of_survey if places else roles
    on_its_side = any(place.output for place in places)
    if on_its_side:
        roles = {role: column for role, column in roles.items() if role in named or role == "rater"}
        frame, roles = surveys.with_respondents(frame, roles, notes)
    frame = with_joined(frame, roles)
    people: list[str] = []
    if not (patterns or on_its_side or chosen):
        roles = with_judging_model(frame, roles, named, notes)
    if "rater" in roles and not (patterns or on_its_side):
        roles, people = people_beside(frame, roles, named, where)
        check_no_judge_beside(frame, roles, named, where)
        check_raters(frame, roles, named, where)
    long = "rater" in roles and bool(
        {"score", "winner"} & roles.keys() or _replies_alone(frame, roles, options)
    )
    long |= "first_text" in roles
    doubtful: list[str] = []
    if not (patterns or long or chosen or on_its_side):
        score = roles.get("score")
        roles = _without_answers(frame, roles, named)
        by_place = lists.by_place
        if score is not None and "score" not in roles:
            by_place |= {without_end(score), score}
        table = WideTable(frame, roles, paths, where, by_place, lists.of_raters)
        nested = nested_columns(frame, list(roles.values()))
        places = []
        if not (nested and paths):
            places, doubtful = answer_columns(
                table, options.get("kinds") or {}, notes, options.get("described", {}.get)
            )
        if not places:
            frame, lists = unnested(frame, nested, notes, where)
            return tidy_frame(frame, options, notes, where, lists)
        if "score" in roles and "score" not in named and plain(roles["score"]) in GUESSES["text"]:
            roles.setdefault("text", roles.pop("score"))  # `answer`
        roles = {
            role: column
            for role, column in roles.items()
            if column not in {place.column for place in places}
        }
        if not any(place.rater or place.criterion for place in places):
            roles.pop("score", None)
        elif "rater" not in roles:
            roles.pop("score", None)  # a label beside the columns of raters
    if len(places) > 1 or roles.keys() & {"winner", "first_text"}:
        # they do not say which of the answers, or which order, they are about
        for role in ("reply", "confidence"):
            roles.pop(role, None)
    # so the columns are not people: what they hold is criteria
    if patterns and "rater" in roles and not on_its_side:
        places = [
            AnswerColumn(p.column, criterion=p.rater or p.criterion, comment=p.comment)
            for p in places
        ]
    machines = {is_machine(place.rater) for place in places if place.rater}
    if people or (len(machines) > 1 and not patterns and "winner" not in roles):
        frame, roles = with_rows_as_outputs(frame, roles, notes)
    role_of = {column: role for role, column in roles.items()}
    roles = {
        role: column for role, column in roles.items() if column not in (surveys.RESPONDENT, ROW)
    }
    notes.append(_shape(roles, places))
    if not patterns:
        note_on_scores([place.column for place in places], notes)
    taken = {*role_of, *people}
    for place in places:
        taken |= {place.column, place.comment}
    unread = [column for column in frame.columns if column not in taken]
    if unread:
        notes.append(f"columns not read: {first_few(unread, 12)}")
    unordered = [
        column for column in unread if not long and not patterns and few_words(frame[column])
    ]
    if unordered:
        listed = first_few(unordered)
        notes.append(
            f"their words may be answers in an order METAL does not know: {listed} (`wide` and"
            " `levels` read them)"
        )
    tidy = (
        _stacked(frame, role_of, places) if places else frame[list(role_of)].rename(columns=role_of)
    )
    tidy = (
        tidy.rename(columns={"score": "winner"})
        if chosen
        else with_people(tidy, frame, roles, people, notes)
    )
    of_all = [("score", place.column) for place in places if not (place.rater or place.criterion)]
    wide = () if of_all else tuple(dict.fromkeys(map(as_wide, places)))
    tidy.attrs["columns"] = TableColumns(
        dict([*roles.items(), *of_all]),
        wide,
        tuple(unread),
        doubtful=tuple(doubtful),
        by_place=lists.by_place,
    )
    return tidy


def _not_guessed(frame: pd.DataFrame, harness: Harness, where: Path) -> DataError:
    """The refusal to guess in another harness's results, with the options that read them where
    there are any.
    """
    problem = f"looks like {harness.name}; METAL does not guess in it"
    aside = ("_answer", "_explanation", "_metadata", "_comment")
    answers = [
        name
        for name in frame.columns
        if fnmatchcase(name, harness.answers) and not name.endswith(aside)
    ]
    if not answers:
        return DataError(where, problem, harness.remedy)
    listed = ", ".join(f'"{name}"' for name in answers)
    output = harness.output if harness.output in frame else "COLUMN"
    remedy = "Say what holds answers and what tells outputs apart: "
    remedy += f"`wide=[{listed}]` and `columns={ {'output': output} }`"
    judges = [name for name in answers if not is_person(name.split(".")[-1])]
    if judges:
        remedy += f", and who is a judge: `kinds={dict.fromkeys(judges, 'llm')}`"
    return DataError(where, problem, f"{remedy}. {columns_of(frame)}")


def _without_answers(
    frame: pd.DataFrame, roles: dict[str, str], named: Mapping[str, str]
) -> dict[str, str]:
    """The roles without columns that are answers of people beside those of judges: a gold label,
    and scores.
    """
    if (
        "reference" in roles
        and "reference" not in named
        and holds_answers(frame[roles["reference"]])
    ):
        roles = {role: column for role, column in roles.items() if role != "reference"}
    if "score" in roles and "score" not in named and "rater" not in roles:
        of_a_person = is_person(roles["score"]) and any(map(is_machine, frame.columns))
        if of_a_person or beside_a_judge(frame, roles):
            roles = {role: column for role, column in roles.items() if role != "score"}
    return roles


def _replies_alone(
    frame: pd.DataFrame, roles: Mapping[str, str], options: Mapping[str, Any]
) -> bool:
    """Whether a column of replies, told or guessed, stands in the place of scores."""
    if "reply" not in roles or "reply" in (options.get("columns") or {}):
        return "reply" in roles
    return not any(holds_answers(frame[column]) for column in frame if column not in roles.values())


def _shape(roles: Mapping[str, str], places: Sequence[AnswerColumn]) -> str:
    """The line that says how the table was read."""
    renamed = ", ".join(
        f"{role} from {column!r}" for role, column in roles.items() if role != column
    )
    by_name = any(role == column for role, column in roles.items())
    columns = (
        f"columns read by their names{renamed and ', '}{renamed}"
        if by_name
        else f"columns read: {renamed}"
    )
    if any(place.output for place in places):
        templates = [*dict.fromkeys(map(surveys.template_of, places))]
        listed = f"`wide={templates}`" if len(templates) == 1 else "`wide`"
        return (
            "one row per respondent, one column per output"
            f" ({listed}){renamed and '; '}{renamed and columns}"
        )
    if not places:
        return f"one rating per row; {columns}"
    raters, criteria = (
        any(place.rater for place in places),
        any(place.criterion for place in places),
    )
    if not raters and not criteria:
        return f"one rating per row; {columns}, score from {places[0].column!r}"
    each = "rater and criterion" if raters and criteria else "rater" if raters else "criterion"
    listed = first_few([place.column for place in places], 8)
    return f"one column per {each} (`wide`): {listed}; {columns}"


# ---------------------------------------------------------------- columns that hold answers


def _places_named(frame: pd.DataFrame, patterns: Iterable[str], paths: Paths) -> list[AnswerColumn]:
    """The columns that match, each as a rater's, or as its template says."""
    places: dict[str, AnswerColumn] = {}
    for pattern in patterns:
        if pattern == surveys.EACH_ROW:
            places |= {place.column: place for place in surveys.every_column(frame)}
            continue
        template = _template(pattern) if _TEMPLATE.search(pattern) else None
        for column in frame.columns:
            if template is None:
                if column == pattern or fnmatchcase(column, pattern):
                    places[column] = AnswerColumn(
                        column, rater=name_of_path(paths[column]) if column in paths else column
                    )
                continue
            parts = _parts_of_path(pattern, paths.get(column, ())) or template.fullmatch(column)
            if parts:
                named = parts if isinstance(parts, dict) else parts.groupdict("")
                parts_of = {part: named.get(part, "") for part in ("rater", "criterion", "output")}
                places[column] = AnswerColumn(column, **parts_of)
    return with_comments(places.values(), frame.columns)


def _parts_of_path(pattern: str, path: Sequence[str]) -> dict[str, str] | None:
    """What `scores.{rater}.{criterion}.value` says of a path, step by step; None where it has other
    steps.
    """
    steps = pattern.split(".")
    if len(steps) != len(path):
        return None
    parts: dict[str, str] = {}
    for step, name in zip(steps, path, strict=True):
        match = _template(step).fullmatch(name)
        if match is None:
            return None
        parts |= match.groupdict("")
    return parts


def _choices(
    frame: pd.DataFrame,
    roles: Mapping[str, str],
    places: list[AnswerColumn],
    named: bool,
    notes: list[str],
) -> list[AnswerColumn]:
    """Of pairs without a column for the rater, the columns that each hold a rater's choices; none
    of other tables.

    named: whether `places` are all that is asked for. Else columns are looked for that are called
    so (`gpt4_winner`) or like a rater; beside a column of winners, which is people's, only those of
    judges.
    """
    systems = [roles[role] for role in ("first", "second") if role in roles]
    texts = [roles[role] for role in ("first_text", "second_text") if role in roles]
    if (
        "rater" in roles
        or 2 not in (len(systems), len(texts))
        or (texts and plain(texts[0]) == "chosen")
    ):
        return []
    names = {fold(name) for column in systems for name in as_texts(frame[column]).cat.categories}
    if named:
        return (
            places
            if len(places) > 1 and all(are_winners(frame[place.column], names) for place in places)
            else []
        )
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
    return (
        guessed
        if len(guessed) > 1 and any(are_winners(frame[place.column], names) for place in guessed)
        else []
    )


def _template(pattern: str) -> re.Pattern[str]:
    parts = _TEMPLATE.split(pattern)
    return re.compile(
        "".join(f"(?P<{part}>.+?)" if at % 2 else re.escape(part) for at, part in enumerate(parts))
    )


def _stacked(
    frame: pd.DataFrame, named: Mapping[str, str], places: Sequence[AnswerColumn]
) -> pd.DataFrame:
    """The answers of all places below each other, with the columns that play a role. Empty cells
    were not asked.
    """
    rows = np.tile(np.arange(len(frame)), len(places))
    tidy = frame[list(named)].rename(columns=dict(named)).iloc[rows]
    tidy["score"] = _end_to_end([frame[place.column] for place in places])
    columns = pd.Index([place.column for place in places], dtype="str")
    tidy[ANSWERED_IN] = pd.Categorical.from_codes(
        np.repeat(np.arange(len(places)), len(frame)), columns
    )
    if surveys.are_texts([place.output for place in places]):
        tidy["text"] = np.repeat(
            np.array([place.output for place in places], dtype=object), len(frame)
        )
    for role in ("rater", "criterion", *(() if "text" in tidy else ("output",))):
        names = [getattr(place, role) for place in places]
        if any(names):
            codes, distinct = pd.factorize(np.array(names, dtype=object))
            tidy[role] = pd.Categorical.from_codes(
                np.repeat(codes, len(frame)), pd.Index(distinct, dtype="str")
            )
    if any(place.comment for place in places):
        empty = pd.Series(None, index=frame.index, dtype="str")
        tidy["comment"] = _end_to_end(
            [frame[place.comment] if place.comment else empty for place in places]
        )
    return tidy[tidy.filter(["score", "reply"]).notna().any(axis=1)]


def _end_to_end(columns: Sequence[pd.Series]) -> Any:
    if all(is_numeric_dtype(column) and column.dtype != bool for column in columns):
        return np.concatenate(
            [column.to_numpy(dtype=np.float64, na_value=np.nan) for column in columns]
        )
    return joined_categories([as_texts(column) for column in columns])
