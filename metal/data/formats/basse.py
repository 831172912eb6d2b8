"""BASSE: summaries in one language (Spanish here), rated by annotators and by LLM judges with feedback.

data/LANG/BASSE.LANG.jsonl                 documents with model_summaries {model: {summ, anns}}
pred/judges/LANG/JUDGE/CRITERION.csv       model, feedback, score; no document id: within each model the
                                           rows follow the documents of the jsonl
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from metal.data.dataset import Card
from metal.data.formats import Format
from metal.data.formats.criteria import OF_THE_TEXT
from metal.data.formats.draft import Draft
from metal.data.json_files import read_jsonl
from metal.data.ratings import tidy_facts
from metal.data.records import Criterion, Level, Output, Rater, Scale, Source
from metal.errors import DataError, UsageError

LEVELS = tuple(Level(value, str(value)) for value in range(1, 6))
VALUES = {level.value for level in LEVELS}
CITATION = "Barnes et al. (2025), BASSE: summarization meta-evaluation for Basque and Spanish"


@dataclass
class _Found:
    """What has been read so far. rows: output, criterion, rater, score, reason, comment."""

    sources: list[Source] = field(default_factory=list)
    outputs: dict[str, Output] = field(default_factory=dict)
    raters: dict[str, Rater] = field(default_factory=dict)
    rows: list[tuple[str, str, str, float, str, str]] = field(default_factory=list)
    criteria: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read one language of the release: the folder with data/ and pred/ (option language chooses among several)."""
    language, file = _documents(path, options)
    found = _Found()
    for row, record in read_jsonl(file):
        _document(record, f"{file} row {row + 1}", language, found)
    for folder in sorted((path / "pred" / "judges" / language).glob("*/")):
        _judge(folder, found)
    _count_missing(found)
    found.notes.append("people are named by their place in a summary's list of ratings, which need not be one person")
    others = [other.name for other in file.parent.glob("*.jsonl") if other != file]
    if others:
        found.notes.append(f"trial rounds were not read: {', '.join(sorted(others))}")
    facts = pd.DataFrame(found.rows, columns=["output", "criterion", "rater", "score", "reason", "comment"])
    return Draft(
        Card(f"basse-{language}", f"BASSE, {language}", licence="CC BY-NC-SA 4.0", citation=CITATION),
        tuple(Criterion(name, Scale("ordinal", LEVELS), of_source=name not in OF_THE_TEXT) for name in found.criteria),
        tuple(found.sources),
        tuple(found.outputs.values()),
        tuple(found.raters.values()),
        tidy_facts(facts),
        tuple(found.notes),
    )


def _documents(path: Path, options: Mapping[str, Any]) -> tuple[str, Path]:
    found = {file.parent.name: file for file in sorted(path.glob("data/*/BASSE.??.jsonl"))}
    if not found:
        raise UsageError(f"{path}: no data/LANG/BASSE.LANG.jsonl; give the folder of the BASSE release")
    chosen = options.get("language") or (next(iter(found)) if len(found) == 1 else "")
    if chosen not in found:
        raise UsageError(f"{path}: choose one language with `language` ({', '.join(found)})")
    return chosen, found[chosen]


def _document(record: dict[str, Any], where: str, language: str, found: _Found) -> None:
    if not {"idx", "original_document", "model_summaries"} <= record.keys():
        raise DataError(where, f"keys {', '.join(record)}", "A document has idx, original_document, model_summaries")
    source = str(record["idx"])
    references = tuple(map(str, record.get("reference_summaries") or ()))
    found.sources.append(Source(source, language, str(record["original_document"]), "", references))
    for model, summary in record["model_summaries"].items():
        output = f"{source}/{model}"
        found.outputs[output] = Output(output, source, model, language, str(summary.get("summ") or ""))
        for criterion, scores in (summary.get("anns") or {}).items():
            if criterion not in found.criteria:
                found.criteria.append(criterion)
            for place, score in enumerate(scores, 1):
                rater = f"A{place}"
                found.raters.setdefault(rater, Rater(rater, "human", "expert"))
                found.rows.append((output, criterion, rater, *_score(score, "not rated"), ""))


def _judge(folder: Path, found: _Found) -> None:
    """The ratings of one judge; each model's rows are matched with the documents by their order."""
    judge = folder.name
    found.raters[judge] = Rater(judge, "llm", judge, {"model": judge})
    for file in sorted(folder.glob("*.csv")):
        if file.stem not in found.criteria:
            raise DataError(file, f"criterion {file.stem!r} is not in the documents", f"Known: {found.criteria}")
        table = pd.read_csv(file, keep_default_na=False, dtype=str, encoding="utf-8")
        if list(table.columns) != ["model", "feedback", "score"]:
            raise DataError(file, f"columns {', '.join(table.columns)}", "They should be model, feedback, score")
        for model, rows in table.groupby("model", sort=False):
            if len(rows) != len(found.sources):
                raise DataError(
                    file,
                    f"{len(rows)} rows of {model!r} for {len(found.sources)} documents",
                    "Rows carry no document id and are matched by order: every document needs one",
                )
            for source, feedback, score in zip(found.sources, rows["feedback"], rows["score"], strict=True):
                output = f"{source.source}/{model}"
                if output not in found.outputs:
                    raise DataError(file, f"model {model!r} has no summary of {source.source}", "Check the release")
                found.rows.append((output, file.stem, judge, *_score(score, "unparsable"), feedback))


def _score(score: Any, missing: str) -> tuple[float, str]:
    """The score, or NaN and why there is none."""
    try:
        value = float(score)
    except (TypeError, ValueError):
        return float("nan"), missing
    if value != value:
        return float("nan"), missing
    return (value, "") if value in VALUES else (float("nan"), f"off scale: {value:g}")


def _count_missing(found: _Found) -> None:
    missing = Counter((rater, reason) for _, _, rater, _, reason, _ in found.rows if reason)
    found.notes += [
        f"{rater}: {count} ratings without a score ({reason})" for (rater, reason), count in missing.items()
    ]


FORMAT = Format("BASSE folder: summaries, annotators and LLM judges", read, frozenset({"language"}))
