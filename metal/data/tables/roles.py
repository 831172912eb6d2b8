"""Decide which column plays which role: as the user says, else by its name, unless its cells
contradict that.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from metal.data.ratings import no_probability
from metal.data.records import KINDS
from metal.data.tables.answer_columns import holds_answers, without_end
from metal.data.tables.cells import as_numbers, as_texts, fold
from metal.data.tables.mturk import asked
from metal.data.tables.names import GUESSES, KIND_WORDS, is_person, plain
from metal.data.tables.pairs import are_winners
from metal.data.tables.who_rated import are_scores
from metal.data.text import first_few
from metal.data.text import name as shortened
from metal.errors import DataError, UsageError

# Objects that hold ratings, whose members play no role by their names; members that do wherever
# they stand.
_OF_RATERS = re.compile(r"annotat|rating|score|judg|eval|vote|rater|worker|human|feedback", re.I)
_SURE_LEAVES = {
    *GUESSES["language"],
    *("completion", "response", "summary", "translation", "hypothesis", "answer"),
    *("prompt", "question", "passage", "article", "instruction", "model", "system", "generator"),
}


MOST_NAMED = 40  # columns in a message
# Beside one of these, `target` is the translation; elsewhere it may be the right answer.
_TRANSLATED = frozenset({"source", "src", "sourcetext", "lp", "langpair", "languagepair"})


def roles_of(
    frame: pd.DataFrame, wide: Sequence[str], options: Mapping[str, Any], file: Path
) -> dict[str, str]:
    """{role: column}, as the options name them, else by the names of the columns."""
    roles: dict[str, str] = dict(options.get("columns") or {})
    for role, column in roles.items():
        if role not in GUESSES:
            raise UsageError(f"`columns={ {role: column} }`: roles are {', '.join(GUESSES)}")
        if column not in frame:
            raise DataError(file, f"no column {column!r}", columns_of(frame))
    refuted: set[tuple[str, str]] = set()
    moved: dict[str, str] = {}
    while True:
        guessed = _guessed(frame, {**roles, **moved}, wide, refuted)
        kept = _without_misfits(frame, {**roles, **moved, **guessed}, options)
        gone = {(role, column) for role, column in guessed.items() if kept.get(role) != column}
        if not gone - refuted:
            break
        refuted |= gone  # another column may play the role
        moved |= {role: column for role, column in kept.items() if role not in {*roles, *guessed}}
    if wide and "{rater}" in "".join(options["wide"]):
        kept.pop("rater", None)
    return kept


def _guessed(
    frame: pd.DataFrame,
    roles: Mapping[str, str],
    wide: Sequence[str],
    refuted: Collection[tuple[str, str]],
) -> dict[str, str]:
    """{role: column} by the names of columns, for roles that the options do not name.

    refuted: guesses that the cells contradict.
    """
    by_name = _by_name(frame)
    also = {"source_text": ("src",)}  # which may name the source, too
    if not by_name.keys().isdisjoint(_TRANSLATED):
        also["text"] = ("target",)
    guessed: dict[str, str] = {}
    decided = {*roles, "score"} if wide else {*roles}
    for role, guesses in GUESSES.items():
        if role in decided:
            continue
        taken = {*roles.values(), *guessed.values(), *wide}
        called = [by_name[name] for name in (*guesses, *also.get(role, ())) if name in by_name]
        free = [name for name in called if name not in taken and (role, name) not in refuted]
        if role == "score":  # `answer` may be what was rated
            free = [name for name in free if holds_answers(frame[name])] or free
        if free:
            guessed[role] = free[0]
    return guessed


def _by_name(frame: pd.DataFrame) -> dict[str, str]:
    """The columns by their plain names; a column with a path (`metadata.language`, `output.text`)
    also by the end of its path.
    """
    columns: dict[str, str] = {}
    for column in frame.columns:
        *containers, leaf = column.split(".")
        if containers and not any(map(_OF_RATERS.search, containers)):
            for end in (
                f"{containers[-1]}{leaf}",
                *([leaf] if plain(leaf) in _SURE_LEAVES else []),
            ):
                columns.setdefault(plain(end), column)
    return columns | {plain(asked(column)): column for column in frame.columns}


def without_pairs(
    frame: pd.DataFrame, roles: dict[str, str], options: Mapping[str, Any], *, chosen: bool
) -> dict[str, str]:
    """The roles without those of pairs, unless there is a winner and no score, or the user named
    them.

    chosen: whether winners are in columns named after raters. If there are two texts, scores may
    say which is better; if the first text is called `chosen`, it is the better one.
    """
    named = options.get("columns") or {}
    texts = {"first_text", "second_text"} <= roles.keys()
    score_named = not {"winner", "score"}.isdisjoint(named)
    if texts and "score" in roles and not score_named and are_winners(frame[roles["score"]]):
        roles["winner"] = roles.pop("score")
    if texts and plain(roles["first_text"]) == "chosen":
        chosen = True
    pairs = chosen or ("winner" in roles and ("score" not in roles or "winner" in named))
    gone = {"score"} if pairs else {"winner", "first", "second", "shown"}
    if chosen:
        gone.add("winner")
    if not (pairs and texts):
        gone |= {"first_text", "second_text"}
    return _without(roles, *(gone - named.keys()))


def _without_misfits(
    frame: pd.DataFrame, roles: dict[str, str], options: Mapping[str, Any]
) -> dict[str, str]:
    """The roles without guesses that the cells refute; REFUTATIONS says which those are."""
    named = options.get("columns") or {}
    for refute in REFUTATIONS:
        roles = refute(frame, roles, roles.keys() - named.keys())
    return roles


def _without(roles: Mapping[str, str], *gone: str) -> dict[str, str]:
    return {role: column for role, column in roles.items() if role not in gone}


def _no_objects(
    frame: pd.DataFrame, roles: dict[str, str], guessed: Collection[str]
) -> dict[str, str]:
    """Take roles from columns of objects; their members may have roles."""
    objects = [
        role for role in roles if {*map(type, frame[roles[role]].dropna().head(1))} == {dict}
    ]
    return _without(roles, *({*objects} & {*guessed} - {"text", "source_text"}))


def _inputs_of_mturk(
    frame: pd.DataFrame, roles: dict[str, str], guessed: Collection[str]
) -> dict[str, str]:
    """Read inputs of MTurk with names of ids as texts, if other columns hold the ids."""
    for role, text_role, id_column in (
        ("source", "source_text", "Input.source_id"),
        ("output", "text", "Input.system"),
    ):
        column = f"Input.{role}"
        beside_ids = roles.get(role) == column and id_column in frame
        if role in guessed and beside_ids and text_role not in roles:
            roles = _without(roles, role) | {text_role: column}
            if role == "source":
                roles["source"] = id_column
    return roles


def _no_names_of_prompts(
    frame: pd.DataFrame, roles: dict[str, str], guessed: Collection[str]
) -> dict[str, str]:
    """Take the role of source texts from names of prompts (CoT, Vanilla), ids, and origins of
    inputs.
    """
    if "source_text" not in guessed:
        return roles
    column = roles["source_text"]
    inputs = as_texts(frame[column]).cat.categories
    if few_words(frame[column]) and not inputs.str.contains(r"\s").any():
        return _without(roles, "source_text")
    are_texts = len(inputs) > 1 and inputs.str.contains(r"\s|[^\x00-\x7f]").any()
    return _without(roles, "source_text") if plain(column) == "src" and not are_texts else roles


def _no_numbers_of_rows(
    frame: pd.DataFrame, roles: dict[str, str], guessed: Collection[str]
) -> dict[str, str]:
    """Take the role of outputs from a column with a new value in every row, if texts repeat."""
    text = roles.get("text") or roles.get("first_text")
    if "output" not in guessed or not text or "rater" not in roles:
        return roles
    repeats = frame[text].notna().all() and frame[text].duplicated().any()
    numbers_rows = repeats and frame[roles["output"]].nunique() == len(frame)
    return _without(roles, "output") if numbers_rows else roles


def _no_other_facts(
    frame: pd.DataFrame, roles: dict[str, str], guessed: Collection[str]
) -> dict[str, str]:
    """Take roles from columns whose cells cannot be kinds, confidences, references or raters.

    Kinds are words for kinds, confidences are probabilities, references are no labels, and raters
    are no scores.
    """
    if "kind" in guessed and not _are_kinds(frame, frame[roles["kind"]], roles.get("rater", "")):
        roles = _without(roles, "kind")
    if "confidence" in guessed and no_probability(as_numbers(frame[roles["confidence"]])).any():
        roles = _without(roles, "confidence")
    labels = "reference" in guessed and "rater" in roles
    if labels and holds_answers(frame[roles["reference"]]):
        roles = _without(roles, "reference")
    if "rater" in guessed and _is_no_rater(frame, roles):
        roles = _without(roles, "rater")
    return roles


def _translators_as_generators(
    frame: pd.DataFrame, roles: dict[str, str], guessed: Collection[str]
) -> dict[str, str]:
    """Read translators who each have their own texts as the generators."""
    unused = [
        name for name in frame.columns if name not in roles.values() and plain(name) == "translator"
    ]
    if not unused or "generator" in roles or not _wrote_the_texts(frame, unused[0], roles):
        return roles
    return roles | {"generator": unused[0]}


def _no_texts_as_names(
    frame: pd.DataFrame, roles: dict[str, str], guessed: Collection[str]
) -> dict[str, str]:
    """Take the roles of criterion, language and id from long texts, which are the rated texts or
    their sources.

    The same holds for a criterion with a new value in nearly every row.
    """
    text_roles = {"output": "text", "criterion": "source_text", "source": "source_text"}
    for role in ("criterion", "language", "output", "source", "generator"):
        if role not in guessed or is_numeric_dtype(frame[roles[role]]):
            continue
        column = roles[role]
        if not (_are_long(frame[column], role) or _are_inputs(frame, roles, role)):
            continue
        roles = _without(roles, role)
        if role in text_roles:
            roles.setdefault(text_roles[role], column)
    return roles


def _no_texts_as_scores(
    frame: pd.DataFrame, roles: dict[str, str], guessed: Collection[str]
) -> dict[str, str]:
    """Read texts in a column named like scores (`answer`) as the rated texts."""
    if "score" not in guessed:
        return roles
    column = roles["score"]
    if not _is_text(frame, column, _are_long(frame[column], "score")):
        return roles
    roles = _without(roles, "score")
    roles.setdefault("text", column)
    return roles


REFUTATIONS = (
    _no_objects,
    _inputs_of_mturk,
    _no_names_of_prompts,
    _no_numbers_of_rows,
    _no_other_facts,
    _translators_as_generators,
    _no_texts_as_names,
    _no_texts_as_scores,
)


def _are_long(column: pd.Series, role: str) -> bool:
    """Whether most of the distinct texts are long."""
    texts = as_texts(column).cat.categories.tolist()
    long = 0
    for text in texts:
        sentence = len(text) > 40 and (" " in text or not text.isascii())
        long += sentence or (role == "source" and len(text.split()) > 3)
    return 2 * long > len(texts)


def _are_inputs(frame: pd.DataFrame, roles: Mapping[str, str], role: str) -> bool:
    """Whether a column guessed to hold criteria holds inputs: it has too many values, or is an
    input's text.
    """
    if role != "criterion":
        return False
    column = roles[role]
    if frame[column].nunique() > max(10, len(frame) / 20):
        return True
    if plain(column) != "question":
        return False
    if not roles.keys().isdisjoint({"text", "first_text"}):
        return True
    output = roles.get("output")
    if output is None or frame[output].nunique() == len(frame) or frame[column].nunique() < 2:
        return False
    # outputs with several ratings each have one value
    return not frame[[output, column]].drop_duplicates()[output].duplicated().any()


def _is_text(frame: pd.DataFrame, column: str, long: bool) -> bool:
    """Whether a column named like scores (`answer`) in fact holds the rated texts.

    long: whether its texts are long.
    """
    if is_numeric_dtype(frame[column]):
        return False
    no_answers = plain(column) in GUESSES["text"] and not (
        holds_answers(frame[column]) or few_words(frame[column])
    )
    return long or no_answers


def _is_no_rater(frame: pd.DataFrame, roles: Mapping[str, str]) -> bool:
    """Whether a column guessed to hold raters holds scores (`score`, `judge`), or translators who
    each have their own texts.
    """
    column = roles["rater"]
    if plain(column) == "translator":
        return _wrote_the_texts(frame, column, roles)
    if are_scores(frame, column, roles):
        return True
    if "score" in roles or not holds_answers(frame[column]):
        return False
    others = [
        name
        for name in frame.columns
        if name not in roles.values() and is_person(without_end(name))
    ]
    return any(holds_answers(frame[name]) for name in others)


def _wrote_the_texts(frame: pd.DataFrame, translator: str, roles: Mapping[str, str]) -> bool:
    """Whether translators each have their own texts, so that they rated none of the others'."""
    text = roles.get("text")
    return text is None or not frame[[text, translator]].drop_duplicates()[text].duplicated().any()


def _are_kinds(frame: pd.DataFrame, kind: pd.Series, rater: str) -> bool:
    """Whether the column holds words for kinds of raters, the same in all rows of each rater."""
    several = (
        bool(rater) and frame[[rater]].assign(kind=kind).drop_duplicates()[rater].duplicated().any()
    )
    return not several and bool(
        set(map(fold, as_texts(kind).cat.categories)) & {*KINDS, *KIND_WORDS}
    )


def few_words(column: pd.Series) -> bool:
    """Whether the cells are a few short words that recur, as labels do."""
    texts = as_texts(column)
    if np.isfinite(as_numbers(pd.Series(texts.cat.categories))).all():
        return False
    labels = texts.cat.categories
    return (
        1 < len(labels) <= 11
        and 3 * len(labels) <= int(texts.notna().sum())
        and bool(labels.str.len().max() <= 40)
    )


def columns_of(frame: pd.DataFrame) -> str:
    """The existing columns in words, for messages."""
    unnamed = sum(
        re.match(r"(column|Unnamed:) \d+$", column) is not None for column in frame.columns
    )
    elsewhere = (
        " (the header may be in another row)" if len(frame.columns) < 2 or unnamed > 1 else ""
    )
    return f"Columns found: {first_few([*map(shortened, frame.columns)], MOST_NAMED)}{elsewhere}"
