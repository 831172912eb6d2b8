"""Annotations of AlpacaEval and AlpacaFarm: pairs of outputs with a preference, from 1 for the
first output to 2 for the second.

A weighted annotator gives 1 plus the probability of the second output: it answers with the likelier
one, with that confidence. 1.5, and 0 in older files, are draws; no preference (NaN, -1) is a missing
answer, but a draw where both outputs are the same. Outputs are shown in random order, which the file
does not record. People have a number (`annotator_index`).
"""  # noqa: E501

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from metal.data.formats import Draft, Format
from metal.data.formats.harnesses import OPTIONS, HarnessRows
from metal.data.formats.harnesses.people import is_a_person
from metal.data.formats.harnesses.records import EVALUATOR, records_in, records_of
from metal.data.formats.harnesses.values import is_number, language_in, prefixed
from metal.data.formats.harnesses.win_rates import DRAWS, WinRates
from metal.data.ratings import FRAME
from metal.data.tables.harnesses import marks_of
from metal.data.tables.names import is_machine

FURTHER = ("dataset", "datasplit")


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read a file of annotations."""
    annotations = records_in(path, "annotations of AlpacaEval", "annotations")
    return _gathered(annotations).draft(options, path, annotations.notes)


def read_frame(frame: pd.DataFrame, options: Mapping[str, Any]) -> Draft:
    """Read a DataFrame of annotations."""
    return _gathered(records_of(frame)).draft({"name": "ratings", **options}, FRAME)


def _gathered(annotations: Iterable[Mapping[str, Any]]) -> HarnessRows:
    gathered, win_rates = HarnessRows("AlpacaEval"), WinRates()
    for each in annotations:
        texts = each.get("output_1"), each.get("output_2")
        if None in texts:
            gathered.leave_out("annotations without both outputs")
            continue
        winner, confidence = preference(each.get("preference"), same=texts[0] == texts[1])
        asked = [str(each[name]) for name in ("instruction", "input") if each.get(name)]
        subset = {name: each[name] for name in FURTHER if name in each}
        rater = _rater(each)
        annotator = "people" if rater["kind"] == "human" else rater["rater"]
        models = each.get("generator_1"), each.get("generator_2")
        win_rates.add(annotator, *models, each.get("preference"))
        gathered.add(
            prefixed("alpaca", subset),
            source_text="\n\n".join(asked),
            first=models[0],
            second=models[1],
            first_text=texts[0],
            second_text=texts[1],
            language=language_in(each),
            **rater,
            criterion=None,
            winner=winner,
            confidence=confidence,
            reason=None if winner else "no preference",
            shown="unknown",
        )
    gathered.notes += filter(None, [win_rates.note()])
    return gathered


def preference(value: Any, *, same: bool) -> tuple[str | None, float | None]:
    """The winner of a pair and the confidence; None for what is not known.

    >>> preference(1.25, same=False), preference(2, same=False), preference(0, same=False)
    (('first', 0.75), ('second', None), ('tie', None))
    """
    number = float(value) if is_number(value) else math.nan
    if number in DRAWS or (same and not 1 <= number <= 2):
        return "tie", None
    if not 1 <= number <= 2:
        return None, None
    soft = number not in (1, 2)
    winner, confidence = ("first", 2 - number) if number < 1.5 else ("second", number - 1)
    return winner, confidence if soft else None


def _rater(annotation: Mapping[str, Any]) -> dict[str, Any]:
    """The roles of the rater. The index numbers people, and the repeats of a model."""
    name, index = annotation.get("annotator"), annotation.get("annotator_index")
    if isinstance(name, str) and is_machine(name):
        return {"rater": name, "kind": "llm", "repeat": index}
    if index is not None:
        return {"rater": f"annotator_{index}", "kind": "human"}
    if name is None:
        return {"rater": EVALUATOR, "kind": "llm"}
    if is_number(name):
        return {"rater": f"annotator_{name}", "kind": "human"}
    return {"rater": str(name), "kind": "human" if is_a_person(str(name), {}) else "llm"}


FORMAT = Format(
    "annotations of AlpacaEval: pairs with (soft) preferences (JSON, CSV)",
    read,
    OPTIONS,
    keys=marks_of("alpaca-eval"),
    read_frame=read_frame,
)
