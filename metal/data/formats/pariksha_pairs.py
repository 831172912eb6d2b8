"""PARIKSHA's battles: which of two answers is better, by native speakers and GPT-4. Who wrote them is not released."""

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
from metal.errors import UsageError

WINNERS = {"0": "first", "1": "second", "2": "tie", "A": "first", "B": "second", "C": "tie"}
COLUMNS = {
    "pairing_id": "output",
    "annotator_id": "rater",
    "battle_outcome": "winner",
    "justification_native": "comment",
}


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read the battles of all languages of the release. What a rater judged twice counts once."""
    tables = sorted(path.glob("karya_eval/round*/pairwise/*_pairwise_ratings.tsv"))
    if not tables:
        raise UsageError(f"{path}: no karya_eval/round*/pairwise/*.tsv; give the folder of the PARIKSHA release")
    parts = []
    for table in tables:
        language, round_ = table.name.removesuffix("_pairwise_ratings.tsv"), table.parent.parent.name
        parts.append(read_frame(table).rename(columns=COLUMNS).assign(language=language))
        battles = path / "gpt_eval" / "outputs" / round_ / "pairwise" / f"battle_outcomes_{language}.json"
        if battles.is_file():
            judged = pd.DataFrame(read_json(battles, "a list of battles, as released"))
            judged = judged.rename(columns=COLUMNS | {"justification": "comment"})
            parts.append(judged.assign(rater=JUDGE.rater, language=language))
    frame = pd.concat([part.astype(object) for part in parts], ignore_index=True)
    frame["winner"] = frame["winner"].map(lambda winner: WINNERS.get(winner, winner))
    again = frame.duplicated(["output", "rater", "language"])
    draft = draft_from(frame[~again], {"criterion": "preference", "name": "pariksha-pairs"}, path)
    notes = (*draft.notes, f"{int(again.sum())} battles that a rater judged a second time were left out")
    raters = tuple(
        JUDGE if rater.rater == JUDGE.rater else replace(rater, kind="human", group="native") for rater in draft.raters
    )
    return replace(draft, card=replace(CARD, name="pariksha-pairs"), raters=raters, notes=notes)


FORMAT = Format("PARIKSHA release folder: battles of two answers, by workers and GPT-4", read)
