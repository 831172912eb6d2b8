"""Comparisons of pairs of outputs: which one is better, in whatever words, and in which order the
two were shown.

A pair is an output whose `first` and `second` are compared; which one is `first` does not depend on
the order in which they were shown. A pair that was shown in reverse order is another output, made
from the pair (`of`), with the condition SWAPPED.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from operator import gt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from metal.data.ratings import row_of
from metal.data.records import COMPARED, SWAPPED, pair_text
from metal.data.tables.cells import MISSING, as_texts, conversation, digest, fold
from metal.data.tables.levels import levels_from
from metal.data.text import plural
from metal.errors import DataError

LEVELS = tuple((level.value, level.label) for level in COMPARED.levels)
CRITERION = "preference"
TEXTS = ("first_text", "second_text")
_ONE = r"(?:(?:model|system|response|output|assistant|option|answer|text|summary|candidate)\s*)?"
_WORDS = (
    re.compile(_ONE + r"(a|1|first|left)( is better| wins| better)?"),
    re.compile(_ONE + r"(b|2|second|right)( is better| wins| better)?"),
    re.compile(r"(tie|tied|draw|equal|equally|both|neither|same|no preference)\b.*"),
)
_AS_IS = frozenset(
    {"ab", "a b", "a,b", "12", "1 2", "original", "first second", "false", "no", "as is"}
)
_UNKNOWN = "unknown"
_TURNED = frozenset(
    {
        "ba",
        "b a",
        "b,a",
        "21",
        "2 1",
        "swapped",
        "reversed",
        "flipped",
        "second first",
        "true",
        "yes",
    }
)


def with_preferences(
    tidy: pd.DataFrame, options: Mapping[str, Any], notes: list[str], file: Path
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The rows with `score` in words (first, second, tie), and the options that belong to them.

    tidy: one judgement per row, with `winner` and, if known, `first` and `second` (who wrote the
    outputs), `first_text` and `second_text`, and `shown`. Without `winner`, the first text is the
    winner. Adds `generator` ("A | B", in the order of their names), `swapped` and, if there are
    texts, `text`; if nothing says who wrote them, `first` and `second` are named by their texts.
    Raises DataError for a winner or an order that is not understood.
    """
    order_known = _is_order_known(tidy)
    texts = [
        as_texts(tidy[role]).astype(object).fillna("").map(conversation)
        for role in TEXTS
        if role in tidy
    ]
    written_by = {"first", "second"} <= set(tidy.columns)
    tidy = tidy if "winner" in tidy else tidy.assign(winner="first")
    if texts and not written_by:
        tidy = tidy.assign(first=texts[0].map(digest), second=texts[1].map(digest))
    winner = _winners(tidy, options, notes, file)
    turned = _turned(tidy, file)
    if {"first", "second"} <= set(tidy.columns):
        tidy, backwards = _in_order(tidy, texts, written_by=written_by)
        other = {"first": "second", "second": "first"}
        winner = np.where(backwards, [other.get(word, word) for word in winner], winner)
        turned = (turned != backwards) & order_known
        if order_known:
            named = "system" if written_by else "text"
            notes.append(
                f"pairs: the {named} named first was shown first, unless `shown` says otherwise"
            )
        if not written_by:
            notes.append(
                "pairs: the file does not say who wrote the two outputs; they are told apart by"
                " their texts"
            )
    notes.append(_counted(turned, order_known=order_known))
    if "generator" not in tidy and not options.get("generator"):
        tidy["generator"] = "pair"
    tidy = tidy.drop(columns=["winner"]).assign(score=winner, swapped=turned)
    chosen = dict(options) | {"levels": {"*": LEVELS}, "measures": {"*": "nominal"}}
    return tidy, chosen | {
        "criterion": options.get("criterion") or ("" if "criterion" in tidy else CRITERION)
    }


def _counted(turned: np.ndarray[Any, np.dtype[np.bool_]], *, order_known: bool) -> str:
    """A note on how many comparisons there are, and how many were shown in reverse order."""
    order = "; the file does not say which output was shown first"
    if order_known:
        order = f", {int(turned.sum()):,} of them shown in reverse order"
    return (
        f"pairs: {plural(len(turned), 'comparison')}{order}; `winner` names an output of the pair,"
        " not a place on the screen"
    )


def _winners(
    tidy: pd.DataFrame, options: Mapping[str, Any], notes: list[str], file: Path
) -> np.ndarray[Any, np.dtype[np.object_]]:
    """The output of its pair that each row prefers, in words. Raises DataError for a winner that is
    not understood.
    """
    coded: dict[str, str | None] = {}
    for levels in (options.get("levels") or {}).values():
        for level in levels_from(levels):
            coded[f"{level.value:g}"] = _meaning(level.label, coded={})
    systems = ("first", "second") if {"first", "second"} <= set(tidy.columns) else ()
    parts = [as_texts(tidy[role]) for role in ("winner", *systems)]
    keys = pd.MultiIndex.from_arrays([part.astype(object).fillna("") for part in parts])
    codes, distinct = pd.factorize(keys)
    meanings = [_meaning(*key, coded=coded) for key in distinct]
    if None in meanings:
        unknown = meanings.index(None)
        at = int(np.flatnonzero(codes == unknown)[0])
        problem = f"winner {distinct[unknown][0]!r} is neither of the pair nor a tie"
        remedy = "Say what each stands for: `levels='NUMBER=first,NUMBER=second,NUMBER=tie'`"
        raise DataError(row_of(file, int(tidy.index[at])), problem, remedy)
    numbers = {str(key[0]) for key in distinct if str(key[0]).strip().isdigit()}
    if numbers - coded.keys():
        notes.append(
            f"winner: {' and '.join(sorted(numbers - coded.keys()))} read as the first and the"
            " second of a pair (`levels`)"
        )
    return np.array(meanings, dtype=object)[codes]


def _in_order(
    tidy: pd.DataFrame, texts: Sequence[pd.Series], *, written_by: bool
) -> tuple[pd.DataFrame, np.ndarray[Any, np.dtype[np.bool_]]]:
    """The rows with the two outputs of each pair in the order of their names, and which rows were
    reversed.
    """
    names = [[str(cell).strip() for cell in as_texts(tidy[role])] for role in ("first", "second")]
    backwards = np.array(list(map(gt, *names)))
    pairs = list(map(sorted, zip(*names, strict=True)))
    both = [f"{a} | {b}" for a, b in pairs]
    tidy = tidy.assign(first=[a for a, _ in pairs], second=[b for _, b in pairs])
    if written_by:
        tidy["generator"] = both
    elif "source" in tidy and "output" not in tidy:
        tidy["output"] = (
            as_texts(tidy["source"]).astype(str) + "/" + pd.Series(both, index=tidy.index)
        )
    if texts:
        ordered = [(b, a) if back else (a, b) for a, b, back in zip(*texts, backwards, strict=True)]
        tidy = tidy.assign(first_text=[a for a, _ in ordered], second_text=[b for _, b in ordered])
        tidy["text"] = list(map(pair_text, ordered))
    return tidy, backwards


def are_winners(column: pd.Series, names: Collection[str] = ()) -> bool:
    """Whether every cell says which output of a pair is better.

    names: the names of the two writers, folded.
    """
    distinct = as_texts(column).cat.categories
    return len(distinct) > 0 and all(
        fold(word) in names or _meaning(word, coded={}) is not None for word in distinct
    )


def _meaning(
    winner: str, first: str = "", second: str = "", *, coded: Mapping[str, str | None]
) -> str | None:
    """A winner as `first`, `second` or `tie`; a missing answer stays as it is; None for anything
    else.
    """
    folded = fold(winner)
    if not folded or folded in MISSING:
        return winner or "NA"
    if winner.strip() in coded:
        return coded[winner.strip()]
    if first and folded in (fold(first), fold(second)):
        return "first" if folded == fold(first) else "second"
    for (_, label), pattern in zip(LEVELS, _WORDS, strict=True):
        if pattern.fullmatch(folded):
            return label
    return None


def _turned(tidy: pd.DataFrame, file: Path) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Whether each pair was shown in reverse order. Raises DataError for a word that is not
    understood.
    """
    if "shown" not in tidy:
        return np.zeros(len(tidy), dtype=bool)
    orders = as_texts(tidy["shown"]).astype(object).fillna("ab").map(fold).to_numpy()
    unknown = ~np.isin(orders, [*_AS_IS, *_TURNED, _UNKNOWN])
    if unknown.any():
        at = int(unknown.argmax())
        location = row_of(file, int(tidy.index[at]))
        raise DataError(
            location,
            f"order {orders[at]!r} is not understood",
            "Write AB if the output named first was shown first, BA if the other one was",
        )
    return np.isin(orders, list(_TURNED))


def _is_order_known(tidy: pd.DataFrame) -> bool:
    """Whether the file may say which of a pair was shown first: it names winners, and not every row
    says that the order is unknown.
    """
    if "winner" not in tidy or "shown" not in tidy:
        return "winner" in tidy
    return not (as_texts(tidy["shown"]) == _UNKNOWN).all()


def with_swapped_outputs(tidy: pd.DataFrame) -> pd.DataFrame:
    """The rows, with each swapped pair as an output of its own that is made from the pair
    (`of`).
    """
    swapped = tidy["swapped"].to_numpy()
    output = tidy["output"].astype(object)
    return tidy.assign(
        output=(output.where(~swapped, output + f"/{SWAPPED}")).astype("category"),
        of=output.where(swapped, ""),
        condition=np.where(swapped, SWAPPED, ""),
    )
