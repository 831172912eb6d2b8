"""PARIKSHA's battles: which of two answers is better, by native speakers and GPT-4.

karya_eval/round*/pairwise/LANGUAGE_pairwise_ratings.tsv
gpt_eval/outputs/round*/pairwise/battle_outcomes_LANGUAGE.json
pairings/round*/.../LANGUAGE_pairings*.json    the prompt, who wrote the two answers, and these; may be missing
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from metal.data.files import read_json
from metal.data.formats import Draft, Format
from metal.data.formats.pariksha import CARD, JUDGE
from metal.data.formats.table import draft_from
from metal.data.tables.files import read_frame
from metal.data.text import plural
from metal.errors import DataError, UsageError

WINNERS = {"0": "first", "1": "second", "2": "tie", "A": "first", "B": "second", "C": "tie"}
COLUMNS = {
    "pairing_id": "output",
    "annotator_id": "rater",
    "battle_outcome": "winner",
    "justification_native": "comment",
}
PAIRING = {
    "prompt_id": "source",
    "prompt": "source_text",
    "model1": "first",
    "model2": "second",
}
ANSWERS = ("response1", "response2")


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read the battles of all languages of the release. A battle that a rater judged twice counts
    once.

    If the release has the pairings of all battles, a pair is identified by its prompt and its two
    answers, in whichever order they were shown.
    """
    tables = sorted(path.glob("karya_eval/round*/pairwise/*_pairwise_ratings.tsv"))
    if not tables:
        raise UsageError(
            f"{path}: no karya_eval/round*/pairwise/*.tsv; give the folder of the PARIKSHA release"
        )
    parts = []
    for table in tables:
        language, round_ = (
            table.name.removesuffix("_pairwise_ratings.tsv"),
            table.parent.parent.name,
        )
        parts.append(read_frame(table).rename(columns=COLUMNS).assign(language=language))
        battles = (
            path / "gpt_eval" / "outputs" / round_ / "pairwise" / f"battle_outcomes_{language}.json"
        )
        if battles.is_file():
            judged = pd.DataFrame(read_json(battles, "a list of battles, as released"))
            judged = judged.rename(columns=COLUMNS | {"justification": "comment"})
            parts.append(judged.assign(rater=JUDGE.rater, language=language))
    frame = pd.concat([part.astype(object) for part in parts], ignore_index=True)
    frame["winner"] = frame["winner"].map(lambda winner: WINNERS.get(winner, winner))
    frame, notes = _with_answers(frame, path)
    again = frame.duplicated(
        [*frame.columns.intersection(["output", "source", "first", "second"]), "rater", "language"]
    )
    draft = draft_from(frame[~again], {"criterion": "preference", "name": "pariksha-pairs"}, path)
    if again.any():
        notes.append(
            f"{plural(int(again.sum()), 'battle')} that a rater judged a second time were left out"
        )
    raters = tuple(
        JUDGE if rater.rater == JUDGE.rater else replace(rater, kind="human", group="native")
        for rater in draft.raters
    )
    return replace(
        draft,
        card=replace(CARD, name="pariksha-pairs"),
        raters=raters,
        notes=(*draft.notes, *notes),
    )


def _with_answers(frame: pd.DataFrame, path: Path) -> tuple[pd.DataFrame, list[str]]:
    """Replace the ids in the battles by prompts and answers, if the release has all of them."""
    files = sorted(path.glob("pairings/round*/**/*_pairings*.json"))
    if not files:
        return frame, ["no pairings/, so the answers and who wrote them are not known"]
    pairings = pd.concat(
        [pd.DataFrame(read_json(file, "a list of pairings, as released")) for file in files]
    )
    if missing := sorted({"pairing_id", *PAIRING, *ANSWERS} - set(pairings.columns)):
        raise DataError(files[0], f"no {missing[0]!r}", "Take the file from the release again")
    pairings = pairings.rename(columns={"pairing_id": "output"} | PAIRING).drop_duplicates("output")
    lacking = frame.loc[~frame["output"].isin(pairings["output"]), "output"].nunique()
    if lacking:
        return frame, [
            f"pairings/ were not read, because they lack {plural(lacking, 'battle')} of"
            f" {frame['output'].nunique():,}"
        ]
    return (
        frame.merge(pairings[["output", *PAIRING.values(), *ANSWERS]], on="output").drop(
            columns="output"
        ),
        [],
    )


FORMAT = Format("PARIKSHA release folder: battles of two answers, by workers and GPT-4", read)
