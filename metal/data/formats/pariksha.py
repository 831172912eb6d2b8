"""PARIKSHA's release folder: native speakers' and GPT-4's ratings of answers in Indian languages.

    karya_eval/round*/individual/LANGUAGE_ratings_output_indi*.tsv    one row per worker and answer
    gpt_eval/outputs/round*/individual/CRITERION/individual_LANGUAGE.json
    outputs/round*/formatted/output_LANGUAGE.json                     prompts and answers
    karya_eval/round*/pairwise, gpt_eval/.../pairwise                 battles; not read

The source is the user's prompt, the generator the model that answered.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from metal.data.dataset import Card
from metal.data.files import read_json
from metal.data.formats import Draft, Format, Reading, judge_rater
from metal.data.languages import find_language
from metal.data.metal_criteria import metal_criterion
from metal.data.records import Output, Rater, Source
from metal.errors import DataError, UsageError

CARD = Card(
    name="pariksha",
    title="PARIKSHA: native speakers and GPT-4 on answers in Indian languages",
    licence="MIT",
    citation=(
        "Watts et al. (2024), PARIKSHA: A Large-Scale Investigation of Human-LLM Evaluator"
        " Agreement on Multilingual and Multi-Cultural Data"
    ),
)
JUDGE = judge_rater("gpt-4-32k", "detailed", "gpt-4")
# criterion: the column of the workers' rating, the column of their reasons
COLUMNS = {
    "linguistic_acceptability": ("ling_rating", "ling_rating_reasoning"),
    "task_quality": ("task_rating", "task_rating_reasoning"),
    "hallucinations": ("hallucination_rating", "hallucination_reasoning"),
}
NO_COMMENT = ("none", "nan", "")
ABOUT_PROMPT = ("prompt_id", "prompt", "prompt_type", "language")


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read the folder. Missing parts (GPT-4's ratings, answers) are noted; if there are no ratings
    at all, that is an error.
    """
    tables = sorted(path.glob("karya_eval/round*/individual/*_ratings_output_indi*.tsv"))
    if not tables:
        raise UsageError(
            f"{path}: no karya_eval/round*/individual/*.tsv; give the folder of the PARIKSHA"
            " release"
        )
    reading = Reading()
    for table in tables:
        _read_language(path, table, reading)
    pairs = len(list(path.glob("karya_eval/round*/pairwise/*.tsv")))
    if pairs:
        reading.notes.append(
            f"{pairs} files of pairwise battles left out; the format `pariksha-pairs` reads them"
        )
    if JUDGE.rater in reading.raters:  # after the people
        reading.raters[JUDGE.rater] = reading.raters.pop(JUDGE.rater)
    return reading.draft(CARD, map(metal_criterion, COLUMNS))


def _read_language(path: Path, table: Path, reading: Reading) -> None:
    name = table.name.split("_ratings_output")[0]
    round_ = table.parent.parent.name
    language = find_language(name)
    if language is None:
        raise DataError(
            table,
            f"language {name!r} is not known",
            "Rename the file to LANGUAGE_ratings_output_indi.tsv",
        )
    rated = set(_add_workers(table, language, reading))
    answers = _answers(path / "outputs" / round_ / "formatted" / f"output_{name}.json", reading)
    judged = set(
        _add_judge(path / "gpt_eval" / "outputs" / round_ / "individual", name, language, reading)
    )
    if judged - rated:
        reading.notes.append(
            f"{language}: {len(judged - rated)} answers were rated by {JUDGE.rater} only"
        )
    unrated = sum(
        f"{language}/{prompt}/{model}" not in reading.outputs for prompt, model in answers
    )
    if unrated:
        reading.notes.append(f"{language}: {unrated} answers that nobody rated were left out")
    for output in [o for o in reading.outputs.values() if o.language == language]:
        prompt = output.source.partition("/")[2]
        reading.outputs[output.output] = replace(
            output, text=answers.get((prompt, output.generator), "")
        )


def _add_output(language: str, prompt: str, model: str, reading: Reading, text: str = "") -> str:
    """Add an output and its source, with the text of the prompt; return the output's id."""
    source, output = f"{language}/{prompt}", f"{language}/{prompt}/{model}"
    if source not in reading.sources or (text and not reading.sources[source].text):
        reading.sources[source] = Source(source, language, text)
    reading.outputs.setdefault(output, Output(output, source, model, language))
    return output


def _add_workers(table: Path, language: str, reading: Reading) -> list[str]:
    """Add the workers' ratings; return the ids of the outputs that they rated."""
    try:
        rows = pd.read_csv(table, sep="\t", dtype=str, keep_default_na=False, encoding="utf-8")
    except UnicodeDecodeError:
        raise DataError(table, "not UTF-8", "Save it as UTF-8") from None
    needed = ["model", "prompt_id", "worker_id", *(rating for rating, _ in COLUMNS.values())]
    missing = [name for name in needed if name not in rows]
    if missing:
        raise DataError(
            table, f"no column {missing[0]!r} (columns found: {', '.join(rows.columns)})"
        )
    again = rows.duplicated(["model", "prompt_id", "worker_id"])
    if again.any():
        reading.notes.append(
            f"{language}: {int(again.sum())} rows rate an answer a second time; the first counts"
        )
        rows = rows[~again]
    pairs = zip(rows["prompt_id"], rows["model"], strict=True)
    outputs = [_add_output(language, prompt, model, reading) for prompt, model in pairs]
    panels = Counter(Counter(outputs).values())
    sizes = ", ".join(f"{count} answers with {size}" for size, count in sorted(panels.items()))
    reading.notes.append(f"{language}: {rows['worker_id'].nunique()} workers; {sizes} ratings")
    for worker in rows["worker_id"].unique():
        reading.raters.setdefault(worker, Rater(worker, "human", "native"))
    for criterion, (rating, reasons) in COLUMNS.items():
        scores = _scores(rows[rating], table)
        missing = ["no answer" if math.isnan(score) else "" for score in scores]
        texts = rows.get(reasons, [""] * len(rows))
        comments = ["" if comment.lower() in NO_COMMENT else comment for comment in texts]
        reading.rows += zip(
            outputs,
            [criterion] * len(rows),
            rows["worker_id"],
            scores,
            missing,
            comments,
            strict=True,
        )
    return outputs


def _scores(column: pd.Series, table: Path) -> list[float]:
    """0, 1, 2, and True or False as 1 or 0; empty means no answer."""
    written = column.replace({"True": "1", "False": "0", "": "nan"})
    scores = pd.to_numeric(written, errors="coerce")
    wrong = scores.isna() & (written != "nan")
    if wrong.any():
        row = int(wrong.to_numpy().argmax())
        raise DataError(
            f"{table} row {row + 2}",
            f"{column.name} {column.iloc[row]!r}",
            "It should be 0, 1, 2, True or False",
        )
    return scores.astype(float).tolist()


def _read_json(path: Path) -> list[dict[str, Any]]:
    entries: Any = read_json(path, "a list of prompts, as released")
    if not isinstance(entries, list) or not all(
        isinstance(entry, dict) and "prompt_id" in entry for entry in entries
    ):
        raise DataError(
            path, "not a list of prompts with prompt_id", "Take the file from the release again"
        )
    return entries


def _answers(path: Path, reading: Reading) -> dict[tuple[str, str], str]:
    """{(prompt id, model): the answer's text}."""
    if not path.is_file():
        reading.notes.append(f"{path.name} is missing: answers of that language have no text")
        return {}
    answers = {}
    for entry in _read_json(path):
        for model, answer in entry.items():
            if isinstance(answer, dict):
                answers[entry["prompt_id"], model] = str(answer.get("response") or "")
    return answers


def _add_judge(folder: Path, name: str, language: str, reading: Reading) -> Iterator[str]:
    """Add GPT-4's ratings; yield the id of each output as it is added."""
    for criterion in COLUMNS:
        path = folder / criterion / f"individual_{name}.json"
        if not path.is_file():
            reading.notes.append(f"{language}: no ratings of {criterion} by {JUDGE.rater}")
            continue
        for entry in _read_json(path):
            for model, verdict in entry.items():
                if model in ABOUT_PROMPT or not isinstance(verdict, dict):
                    continue
                output = _add_output(
                    language, entry["prompt_id"], model, reading, str(entry.get("prompt") or "")
                )
                reading.raters.setdefault(JUDGE.rater, JUDGE)
                reading.rows.append((output, criterion, JUDGE.rater, *_verdict(verdict)))
                yield output


def _verdict(verdict: dict[str, Any]) -> tuple[float, str, str]:
    """Score, reason and comment."""
    score, comment = verdict.get("score"), str(verdict.get("justification") or "")
    try:
        return float(str(score)), "", comment
    except ValueError:
        return math.nan, f"unparsable: {str(score)[:40]}", comment


FORMAT = Format(
    "PARIKSHA release folder: ratings by workers and GPT-4",
    read,
    marks=(("karya_eval/round*/individual/*.tsv", ()),),
)
