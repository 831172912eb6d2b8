"""Tell the sources of outputs apart by the texts of the inputs, if no column names them, because
answers to one question are alike.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from metal.data.tables.cells import BLANKS, as_texts, digest
from metal.data.tables.surveys import ON_ITS_SIDE
from metal.data.text import plural
from metal.errors import NoColumn

LONGEST = 40  # characters of a text that may name its source


def by_text(tidy: pd.DataFrame, unread: Sequence[str], notes: list[str], file: Path) -> None:
    """Name sources and outputs by their texts if the table has no ids. Raises NoColumn if it has no
    texts.

    unread: the columns that may hold the texts of inputs.
    """
    texts = [role for role in ("source_text", "text") if role in tidy]
    if not texts:
        remedy = 'Name one with `columns={"output": COLUMN}`'
        if not tidy.reset_index()[["index", "rater"]].drop_duplicates()["rater"].duplicated().any():
            remedy += f"; {ON_ITS_SIDE}"
        raise NoColumn(file, "output", unread, "no column for the output or its source", remedy)
    for role in texts:
        _write_alike(tidy, role, notes)
    for role, of in (
        ("source", [role for role in texts if role == "source_text"]),
        ("output", texts),
    ):
        if not of:
            continue  # the text of the output alone: said where sources are missing
        columns = [as_texts(tidy[text]).astype(object).fillna("") for text in of]
        key = columns[0] if len(columns) == 1 else columns[0] + "\0" + columns[1]
        if role == "output":
            key = key + "\0" + tidy["generator"].astype(str)
        tidy[role] = key.map({text: digest(text) for text in key.unique()})
    sources = "sources and " * ("source_text" in texts)
    notes.append(f"no column of ids: {sources}outputs are told apart by {' and '.join(texts)}")


def _write_alike(tidy: pd.DataFrame, role: str, notes: list[str]) -> None:
    """Give texts that differ only in blanks or Unicode form the spelling of the first of them."""
    spelled = as_texts(tidy[role])
    keys = {text: _same(text) for text in spelled.cat.categories}
    first = {key: text for text, key in reversed(keys.items())}
    if len(first) < len(keys):
        tidy[role] = as_texts(spelled.map({text: first[key] for text, key in keys.items()}))
        differ = plural(len(keys) - len(first), "text")
        notes.append(
            f"{role}: {differ} from another text only in blanks or Unicode form; each is read as"
            " that text"
        )


def _same(text: str) -> str:
    """A key that is equal for texts that differ only in blanks or Unicode form."""
    return " ".join(unicodedata.normalize("NFC", text).strip(BLANKS).split())


def by_inputs(tidy: pd.DataFrame, column: str, ids: str, notes: list[str]) -> bool:
    """Give outputs with the same input the same source; return whether this was done. Each output
    has an id in `output`.

    A source is named by the digest of its text, or by the text itself if it has no blank (`q7`). An
    output without an input is a source of its own. Nothing is done if all outputs have the same
    input, which is then an instruction; if each output has its own input; or (with a note) if an
    output has two inputs. column, ids: the columns of inputs and of ids of outputs, for notes.
    """
    texts = as_texts(tidy["source_text"])
    first = pd.DataFrame(
        {"output": tidy["output"], "language": tidy["language"], "text": texts}
    ).astype(object)
    first = first.fillna("").drop_duplicates()
    first["text"] = first["text"].map({text: _same(text) for text in first["text"].unique()})
    first = first.drop_duplicates()
    if first["output"].duplicated().any():
        output = first["output"][first["output"].duplicated()].iloc[0]
        notes.append(
            f"output {output!r} has two texts in {column!r}, so this column is not taken for the "
            "sources"
        )
        return False
    filled = first[first["text"] != ""]
    inputs = filled[["language", "text"]].drop_duplicates()
    distinct = len(inputs)
    if filled["text"].nunique() < 2 or distinct == len(filled):
        return False
    names = first["text"].map({text: _name_of(text) for text in first["text"].unique()})
    if inputs["text"].duplicated().any():  # a question that is asked in several languages
        names = first["language"] + "/" + names
    names = names.where(first["text"] != "", first["output"])
    tidy["source"] = as_texts(
        tidy["output"].astype(object).map(dict(zip(first["output"], names, strict=True)))
    )
    outputs = plural(len(first), "output")
    notes.append(
        f"{distinct} different texts in {column!r} for {outputs}: read as the sources, because"
        " answers to one question are alike. If they are instructions and the inputs differ:"
        f" `columns={ {'source': ids} }`"
    )
    return True


def _name_of(text: str) -> str:
    one_word = len(text) <= LONGEST and not any(letter.isspace() for letter in text)
    return text if one_word else digest(text)
