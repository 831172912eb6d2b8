"""METAL's published data: one JSON object, a summary under each key, with human and LLM scores.

Each value holds XLSum_ID, Index, Type (Good or Bad), Language, Generated_Summary, Human_Scores
{criterion: {A1, A2, A3}}, Human_Comments {A1, A2, A3}, and LLM_Scores_Simple and
LLM_Scores_Detailed {criterion: {"comments": {model: text}, "scores": {model: number}}}.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from metal.data.dataset import Card
from metal.data.files import read_json
from metal.data.formats import Draft, Format, Reading, judge_rater, only_file, read_score
from metal.data.languages import find_language
from metal.data.metal_criteria import METAL_CRITERIA, metal_criterion
from metal.data.records import Output, Rater, Source
from metal.errors import DataError

PROMPTS = {"LLM_Scores_Simple": "simple", "LLM_Scores_Detailed": "detailed"}
REQUIRED = ("XLSum_ID", "Type", "Language", "Generated_Summary", "Human_Scores")
CARD = Card(
    name="metal",
    title="METAL: native speakers and LLM judges on summaries in ten languages",
    citation="Hada et al. (Findings of NAACL 2024), METAL: Towards Multilingual Meta-Evaluation",
)
GIVE_RELEASE = "Give METAL's released JSON file"


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read the JSON file, or the folder that holds it. The passages are not in it: they are
    XL-Sum's.
    """
    file = only_file(path, "*.json")
    reading = Reading()
    for key, entry in _entries(file).items():
        output = _output(key, entry, file)
        reading.sources.setdefault(output.source, Source(output.source, output.language))
        reading.outputs[key] = output
        _add_human_ratings(key, entry, reading)
        _add_judge_ratings(key, entry, reading, f"{file} {key[:12]}")
    reading.note_missing()
    reading.notes.append('passages are not part of the release; `texts="xlsum"` joins them')
    rated = {criterion for _, criterion, *_ in reading.rows}
    return reading.draft(CARD, [metal_criterion(name) for name in METAL_CRITERIA if name in rated])


def _entries(file: Path) -> dict[str, dict[str, Any]]:
    entries: Any = read_json(file, "METAL's released object of summaries")
    if not isinstance(entries, dict) or not entries:
        raise DataError(file, "not a JSON object of summaries", GIVE_RELEASE)
    for key, entry in entries.items():
        missing = [name for name in REQUIRED if not isinstance(entry, dict) or name not in entry]
        if missing:
            raise DataError(f"{file} {key[:12]}", f"no {missing[0]!r}", GIVE_RELEASE)
    return entries


def _output(key: str, entry: dict[str, Any], file: Path) -> Output:
    language = find_language(str(entry["Language"]))
    if language is None:
        raise DataError(
            f"{file} {key[:12]}",
            f"language {entry['Language']!r} is not known",
            "Use a name or a code",
        )
    generator = f"gpt-4-{str(entry['Type']).lower()}"
    source = f"{language}/{entry['XLSum_ID']}"
    return Output(key, source, generator, language, str(entry["Generated_Summary"] or ""))


def _add_human_ratings(key: str, entry: dict[str, Any], reading: Reading) -> None:
    comments = entry.get("Human_Comments") or {}
    language = reading.outputs[key].language
    for criterion, by_rater in entry["Human_Scores"].items():
        for column, score in by_rater.items():
            rater = f"{language}-{column}"  # A1 of one language is not A1 of another
            reading.raters.setdefault(rater, Rater(rater, "human", "native"))
            comment = str(comments.get(column) or "")
            reading.rows.append((key, criterion, rater, *_score(score, criterion), comment))


def _add_judge_ratings(key: str, entry: dict[str, Any], reading: Reading, location: str) -> None:
    for field, prompt in PROMPTS.items():
        for criterion, judged in (entry.get(field) or {}).items():
            if not isinstance(judged, dict) or not isinstance(judged.get("scores"), dict):
                raise DataError(location, f"{field} {criterion} has no scores", GIVE_RELEASE)
            for model, score in judged["scores"].items():
                judge = judge_rater(model, prompt, model)
                reading.raters.setdefault(judge.rater, judge)
                comment = str((judged.get("comments") or {}).get(model) or "")
                reading.rows.append(
                    (key, criterion, judge.rater, *_score(score, criterion), comment)
                )


def _score(score: Any, criterion: str) -> tuple[float, str]:
    """The score, or NaN and the reason; a number in quotes counts as a number."""
    if score is None or score == "":
        return math.nan, "no answer"
    levels = range(2 if criterion in ("hallucinations", "problematic_content") else 3)
    return read_score(score, levels, "no answer", f"unparsable: {str(score)[:40]}")


FORMAT = Format(
    "METAL's published JSON with human and LLM scores",
    read,
    marks=(("*.json", ("XLSum_ID", "Human_Scores")),),
)
