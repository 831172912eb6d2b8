"""BASSE: summaries in one language (Spanish here), rated by annotators and by LLM judges with feedback.

data/LANG/BASSE.LANG.jsonl                 documents with model_summaries {model: {summ, anns}}
pred/judges/LANG/JUDGE/CRITERION.csv       model, feedback, score; no document id: within each model the
                                           rows follow the documents of the jsonl
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from metal.data.dataset import Card
from metal.data.files import read_jsonl
from metal.data.formats import FIVE_LEVELS, Draft, Format, Reading, read_score, summary_criterion
from metal.data.records import Output, Rater, Source
from metal.data.tables.raters import PLACE_IN_A_LIST
from metal.errors import DataError, UsageError

CITATION = "Barnes et al. (2025), BASSE: summarization meta-evaluation for Basque and Spanish"


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read one language of the release: the folder with data/ and pred/ (option language chooses
    among several).
    """
    language, file = _documents(path, options)
    reading = Reading()
    criteria: dict[str, None] = {}  # in the order in which they occur
    for row, record in read_jsonl(file):
        _add_document(record, f"{file} row {row + 1}", language, reading, criteria)
    for folder in sorted((path / "pred" / "judges" / language).glob("*/")):
        _add_judge(folder, reading, criteria)
    reading.note_missing()
    others = [other.name for other in file.parent.glob("*.jsonl") if other != file]
    if others:
        reading.notes.append(f"trial rounds were not read: {', '.join(sorted(others))}")
    card = Card(
        f"basse-{language}", f"BASSE, {language}", licence="CC BY-NC-SA 4.0", citation=CITATION
    )
    return reading.draft(card, map(summary_criterion, criteria))


def _documents(path: Path, options: Mapping[str, Any]) -> tuple[str, Path]:
    """The language to read and its file."""
    files = {file.parent.name: file for file in sorted(path.glob("data/*/BASSE.??.jsonl"))}
    if not files:
        raise UsageError(
            f"{path}: no data/LANG/BASSE.LANG.jsonl; give the folder of the BASSE release"
        )
    chosen = options.get("language") or (next(iter(files)) if len(files) == 1 else "")
    if chosen not in files:
        raise UsageError(f"{path}: choose one language with `language` ({', '.join(files)})")
    return chosen, files[chosen]


def _add_document(
    record: dict[str, Any],
    location: str,
    language: str,
    reading: Reading,
    criteria: dict[str, None],
) -> None:
    if not {"idx", "original_document", "model_summaries"} <= record.keys():
        raise DataError(
            location,
            f"keys {', '.join(record)}",
            "A document has idx, original_document, model_summaries",
        )
    source = str(record["idx"])
    references = tuple(map(str, record.get("reference_summaries") or ()))
    reading.sources[source] = Source(
        source, language, str(record["original_document"]), "", references
    )
    for model, summary in record["model_summaries"].items():
        output = f"{source}/{model}"
        reading.outputs[output] = Output(
            output, source, model, language, str(summary.get("summ") or "")
        )
        for criterion, scores in (summary.get("anns") or {}).items():
            criteria.setdefault(criterion)
            for number, score in enumerate(scores, 1):
                rater = f"A{number}"
                reading.raters.setdefault(rater, Rater(rater, "human", "expert", PLACE_IN_A_LIST))
                score_and_reason = read_score(score, FIVE_LEVELS.values, "not rated", "not rated")
                reading.rows.append((output, criterion, rater, *score_and_reason, ""))


def _add_judge(folder: Path, reading: Reading, criteria: dict[str, None]) -> None:
    """Add the ratings of one judge; each model's rows are matched with the documents by their
    order.
    """
    judge = folder.name
    reading.raters[judge] = Rater(judge, "llm", judge, {"model": judge})
    for file in sorted(folder.glob("*.csv")):
        if file.stem not in criteria:
            raise DataError(
                file, f"criterion {file.stem!r} is not in the documents", f"Known: {list(criteria)}"
            )
        table = pd.read_csv(file, keep_default_na=False, dtype=str, encoding="utf-8")
        if list(table.columns) != ["model", "feedback", "score"]:
            raise DataError(
                file, f"columns {', '.join(table.columns)}", "They should be model, feedback, score"
            )
        for model, rows in table.groupby("model", sort=False):
            if len(rows) != len(reading.sources):
                remedy = (
                    "Rows carry no document id and are matched by order: every document needs one"
                )
                raise DataError(
                    file,
                    f"{len(rows)} rows of {model!r} for {len(reading.sources)} documents",
                    remedy,
                )
            for source, feedback, score in zip(
                reading.sources, rows["feedback"], rows["score"], strict=True
            ):
                output = f"{source}/{model}"
                if output not in reading.outputs:
                    raise DataError(
                        file, f"model {model!r} has no summary of {source}", "Check the release"
                    )
                score_and_reason = read_score(score, FIVE_LEVELS.values, "unparsable", "unparsable")
                reading.rows.append((output, file.stem, judge, *score_and_reason, feedback))


FORMAT = Format(
    "BASSE folder: summaries, annotators and LLM judges",
    read,
    frozenset({"language"}),
    (("data/*/BASSE.??.jsonl", ()),),
)
