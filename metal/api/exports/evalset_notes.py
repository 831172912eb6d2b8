"""What an EvalSet folder has no place for, with counts: who gave a score, repeats, comments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from metal.api.exports import Exported
from metal.data.files import parse_json
from metal.data.text import plural

if TYPE_CHECKING:
    import pandas as pd


def are_errors(comment: str) -> bool:
    """Whether a comment holds marked errors as JSON on one line."""
    if "\n" in comment or "\t" in comment:
        return False
    try:
        return isinstance(parse_json(comment).get("errors"), list)
    except (ValueError, AttributeError):
        return False


def notes_on_left_out(exported: Exported) -> Iterator[str]:
    """What the folder does not say of these data."""
    comments = exported.table["comment"].astype(str)
    written = comments.isin([text for text in comments.unique() if text and are_errors(text)])
    written &= exported.table["kind"] == "human"
    yield from _note_on_single_people(exported, written)
    yield from _note_on_judges(exported)
    yield from _note_on_repeats(exported)
    count = int(((comments != "") & ~written).sum())
    if count:
        yield (
            f"{plural(count, 'comment')} left out: an EvalSet folder has no comments but the errors"
            " that people marked"
        )


def _note_on_single_people(exported: Exported, written: pd.Series) -> Iterator[str]:
    """How many scores become part of a mean. written: the ratings that the folder has as they
    are.
    """
    table = exported.table
    panels = [name for name, rater in exported.dataset.raters.items() if rater.about.get("panel")]
    scored = (table["kind"] == "human") & table["score"].notna()
    averaged = table["rater"][scored & ~written & ~table["rater"].isin(panels)]
    if len(averaged):
        people = plural(averaged.nunique(), "person", "people")
        yield (
            f"{plural(len(averaged), 'score')} by {people} written as one mean for each output:"
            " who gave them is left out"
        )


def _note_on_judges(exported: Exported) -> Iterator[str]:
    table = exported.table
    judges = table["rater"][table["kind"] == "llm"].unique()
    if len(judges):
        yield (
            f"scores of {plural(len(judges), 'LLM judge')} are written like those of metrics,"
            " because an EvalSet folder has no judges: name them again when you read it"
        )


def _note_on_repeats(exported: Exported) -> Iterator[str]:
    raters = exported.dataset.raters
    repeating = [name for name, rater in raters.items() if "repeats" in rater.about]
    count = int(exported.table["rater"].isin(repeating).sum())
    if count:
        yield (
            f"{plural(count, 'rating')} by judges asked again are written as those of scorers of"
            " their own: an EvalSet folder has no repeats"
        )
