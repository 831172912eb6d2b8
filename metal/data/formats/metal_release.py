"""METAL's published data: one JSON object, a summary under each key, with human and LLM scores.

Each value holds XLSum_ID, Index, Type (Good or Bad), Language, Generated_Summary, Human_Scores
{criterion: {A1, A2, A3}}, Human_Comments {A1, A2, A3}, and LLM_Scores_Simple and LLM_Scores_Detailed
{criterion: {"comments": {model: text}, "scores": {model: number}}}.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from metal.data.dataset import Card
from metal.data.formats import Format
from metal.data.formats.criteria import METAL_CRITERIA, metal_criterion
from metal.data.formats.draft import Draft, only_file
from metal.data.json_files import read_json
from metal.data.languages import find_language
from metal.data.ratings import tidy_facts
from metal.data.records import Judge, Output, Rater, Source
from metal.errors import DataError

PROMPTS = {"LLM_Scores_Simple": "simple", "LLM_Scores_Detailed": "detailed"}
REQUIRED = ("XLSum_ID", "Type", "Language", "Generated_Summary", "Human_Scores")
CARD = Card(
    name="metal",
    title="METAL: native speakers and LLM judges on summaries in ten languages",
    citation="Hada et al. (Findings of NAACL 2024), METAL: Towards Multilingual Meta-Evaluation",
)

Row = tuple[str, str, str, float, str, str]


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read the JSON file, or the folder that holds it. The passages are not in it: they are XL-Sum's."""
    file = only_file(path, "*.json")
    entries = _entries(file)
    sources: dict[str, Source] = {}
    outputs: dict[str, Output] = {}
    raters: dict[str, Rater] = {}
    rows: list[Row] = []
    for key, entry in entries.items():
        output = _output(key, entry, file)
        sources.setdefault(output.source, Source(output.source, output.language))
        outputs[key] = output
        rows += _human_rows(key, entry, raters)
        rows += _judge_rows(key, entry, raters, f"{file} {key[:12]}")
    facts = pd.DataFrame(rows, columns=["output", "criterion", "rater", "score", "reason", "comment"])
    missing = Counter((rater, reason) for _, _, rater, _, reason, _ in rows if reason)
    notes = [f"{rater}: {count} ratings without a score ({reason})" for (rater, reason), count in missing.items()]
    return Draft(
        CARD,
        tuple(metal_criterion(name) for name in METAL_CRITERIA if (facts["criterion"] == name).any()),
        tuple(sources.values()),
        tuple(outputs.values()),
        tuple(raters.values()),
        tidy_facts(facts),
        (*notes, "passages are not part of the release; join them from XL-Sum by source id"),
    )


def _entries(file: Path) -> dict[str, dict[str, Any]]:
    entries = read_json(file, "METAL's released object of summaries")
    if not isinstance(entries, dict) or not entries:
        raise DataError(file, "not a JSON object of summaries", "Give METAL's released JSON file")
    for key, entry in entries.items():
        missing = [name for name in REQUIRED if not isinstance(entry, dict) or name not in entry]
        if missing:
            raise DataError(f"{file} {key[:12]}", f"no {missing[0]!r}", "Give METAL's released JSON file")
    found: dict[str, dict[str, Any]] = entries
    return found


def _output(key: str, entry: dict[str, Any], file: Path) -> Output:
    language = find_language(str(entry["Language"]))
    if language is None:
        raise DataError(f"{file} {key[:12]}", f"language {entry['Language']!r} is not known", "Use a name or a code")
    generator = f"gpt-4-{str(entry['Type']).lower()}"
    source = f"{language}/{entry['XLSum_ID']}"
    return Output(key, source, generator, language, str(entry["Generated_Summary"] or ""))


def _human_rows(key: str, entry: dict[str, Any], raters: dict[str, Rater]) -> Iterator[Row]:
    comments = entry.get("Human_Comments") or {}
    for criterion, by_rater in entry["Human_Scores"].items():
        for rater, score in by_rater.items():
            raters.setdefault(rater, Rater(rater, "human", "native"))
            yield (key, criterion, rater, *_score(score, criterion), str(comments.get(rater) or ""))


def _judge_rows(key: str, entry: dict[str, Any], raters: dict[str, Rater], where: str) -> Iterator[Row]:
    for field, prompt in PROMPTS.items():
        for criterion, judged in (entry.get(field) or {}).items():
            if not isinstance(judged, dict) or not isinstance(judged.get("scores"), dict):
                raise DataError(where, f"{field} {criterion} has no scores", "Give METAL's released JSON file")
            for model, score in judged["scores"].items():
                judge = Judge(model, prompt)
                raters.setdefault(judge.name, judge.rater(model))
                comment = str((judged.get("comments") or {}).get(model) or "")
                yield (key, criterion, judge.name, *_score(score, criterion), comment)


def _score(score: Any, criterion: str) -> tuple[float, str]:
    """The score, or NaN and why there is none; a number in quotes counts as a number."""
    if score is None or score == "":
        return float("nan"), "no answer"
    try:
        value = float(score)
    except (TypeError, ValueError):
        return float("nan"), f"unparsable: {str(score)[:40]}"
    top = 1 if criterion in ("hallucinations", "problematic_content") else 2
    if value != value:
        return float("nan"), "no answer"
    return (value, "") if value in range(top + 1) else (float("nan"), f"off scale: {value:g}")


FORMAT = Format("METAL's published JSON with human and LLM scores", read)
