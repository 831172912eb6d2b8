"""PARIKSHA's release folder: native speakers' and GPT-4's ratings of answers in Indian languages.

    karya_eval/round*/individual/LANGUAGE_ratings_output_indi*.tsv    one row a worker and answer
    gpt_eval/outputs/round*/individual/CRITERION/individual_LANGUAGE.json
    outputs/round*/formatted/output_LANGUAGE.json                     prompts and answers
    karya_eval/round*/pairwise, gpt_eval/.../pairwise                 battles; not read

The source is the user's prompt, the generator the model that answered.
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
from metal.data.formats.criteria import metal_criterion
from metal.data.formats.draft import Draft
from metal.data.json_files import read_json
from metal.data.languages import find_language
from metal.data.ratings import tidy_facts
from metal.data.records import Judge, Output, Rater, Source
from metal.errors import DataError, UsageError

CARD = Card(
    name="pariksha",
    title="PARIKSHA: native speakers and GPT-4 on answers in Indian languages",
    licence="MIT",
    citation="Watts et al. (2024), PARIKSHA: A Large-Scale Investigation of Human-LLM Evaluator Agreement on "
    "Multilingual and Multi-Cultural Data",
)
JUDGE = Judge("gpt-4-32k", "detailed")
# criterion: the column of the workers' rating, the column of their reasons
COLUMNS = {
    "linguistic_acceptability": ("ling_rating", "ling_rating_reasoning"),
    "task_quality": ("task_rating", "task_rating_reasoning"),
    "hallucinations": ("hallucination_rating", "hallucination_reasoning"),
}
NO_COMMENT = ("none", "nan", "")
ABOUT_PROMPT = ("prompt_id", "prompt", "prompt_type", "language")


@dataclass
class _Found:
    """What has been read so far."""

    sources: dict[str, Source] = field(default_factory=dict)
    outputs: dict[str, Output] = field(default_factory=dict)
    people: dict[str, Rater] = field(default_factory=dict)
    facts: list[pd.DataFrame] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read the folder. Missing parts (GPT-4's ratings, answers) are noted; no ratings at all is an error."""
    tables = sorted(path.glob("karya_eval/round*/individual/*_ratings_output_indi*.tsv"))
    if not tables:
        raise UsageError(f"{path}: no karya_eval/round*/individual/*.tsv; give the folder of the PARIKSHA release")
    found = _Found()
    for table in tables:
        _read_language(path, table, found)
    pairs = len(list(path.glob("karya_eval/round*/pairwise/*.tsv")))
    if pairs:
        found.notes.append(f"{pairs} files of pairwise battles are not ratings of single outputs and were not read")
    raters = [*found.people.values()]
    if any((facts["rater"] == JUDGE.name).any() for facts in found.facts):
        raters.append(JUDGE.rater("gpt-4"))
    return Draft(
        CARD,
        tuple(metal_criterion(name) for name in COLUMNS),
        tuple(found.sources.values()),
        tuple(found.outputs.values()),
        tuple(raters),
        tidy_facts(pd.concat(found.facts, ignore_index=True)),
        tuple(found.notes),
    )


def _read_language(path: Path, table: Path, found: _Found) -> None:
    name = table.name.split("_ratings_output")[0]
    round_ = table.parent.parent.name
    language = find_language(name)
    if language is None:
        raise DataError(table, f"language {name!r} is not known", "Rename the file to LANGUAGE_ratings_output_indi.tsv")
    people = _workers(table, language, found)
    answers = _answers(path / "outputs" / round_ / "formatted" / f"output_{name}.json", found)
    judged = _judged(path / "gpt_eval" / "outputs" / round_ / "individual", name, language, found)
    rated = set(people["output"])
    beyond = sum(output not in rated for output in judged["output"].unique())
    if beyond:
        found.notes.append(f"{language}: {beyond} answers were rated by {JUDGE.name} only")
    unrated = sum(_name(language, prompt, model) not in found.outputs for prompt, model in answers)
    if unrated:
        found.notes.append(f"{language}: {unrated} answers that nobody rated were left out")
    for output in [o for o in found.outputs.values() if o.language == language]:
        prompt = output.source.partition("/")[2]
        text = answers.get((prompt, output.generator), "")
        found.outputs[output.output] = Output(output.output, output.source, output.generator, language, text)
    found.facts += [people, judged]


def _name(language: str, prompt: str, model: str) -> str:
    return f"{language}/{prompt}/{model}"


def _meet(language: str, prompt: str, model: str, found: _Found, text: str = "") -> str:
    """The id of an output, noting it and its source."""
    source, output = f"{language}/{prompt}", _name(language, prompt, model)
    if source not in found.sources or (text and not found.sources[source].text):
        found.sources[source] = Source(source, language, text)
    if output not in found.outputs:
        found.outputs[output] = Output(output, source, model, language)
    return output


def _workers(table: Path, language: str, found: _Found) -> pd.DataFrame:
    """The workers' ratings as facts."""
    try:
        rows = pd.read_csv(table, sep="\t", dtype=str, keep_default_na=False, encoding="utf-8")
    except UnicodeDecodeError:
        raise DataError(table, "not UTF-8", "Save it as UTF-8") from None
    needed = ["model", "prompt_id", "worker_id", *(rating for rating, _ in COLUMNS.values())]
    missing = [name for name in needed if name not in rows]
    if missing:
        raise DataError(table, f"no column {missing[0]!r} (columns found: {', '.join(rows.columns)})")
    again = rows.duplicated(["model", "prompt_id", "worker_id"])
    if again.any():
        found.notes.append(f"{language}: {int(again.sum())} rows rate an answer a second time; the first counts")
        rows = rows[~again]
    pairs = zip(rows["prompt_id"], rows["model"], strict=True)
    outputs = [_meet(language, prompt, model, found) for prompt, model in pairs]
    panels = Counter(Counter(outputs).values())
    sizes = ", ".join(f"{count} answers with {size}" for size, count in sorted(panels.items()))
    found.notes.append(f"{language}: {rows['worker_id'].nunique()} workers; {sizes} ratings")
    for worker in rows["worker_id"].unique():
        found.people.setdefault(worker, Rater(worker, "human", "native"))
    parts = []
    for criterion, (rating, reasons) in COLUMNS.items():
        comment = rows[reasons] if reasons in rows else pd.Series("", index=rows.index)
        parts.append(
            pd.DataFrame(
                {
                    "output": outputs,
                    "criterion": criterion,
                    "rater": rows["worker_id"].to_numpy(),
                    "score": _scores(rows[rating], table),
                    "reason": "",
                    "comment": comment.where(~comment.str.lower().isin(NO_COMMENT), "").to_numpy(),
                }
            )
        )
    facts = pd.concat(parts, ignore_index=True)
    facts.loc[facts["score"].isna(), "reason"] = "no answer"
    return facts


def _scores(column: pd.Series, table: Path) -> Any:
    """0, 1, 2, and True or False as 1 or 0; empty is no answer."""
    numbers = {"True": "1", "False": "0", "": "nan"}
    written = column.map(lambda text: numbers.get(text, text))
    scores = pd.to_numeric(written, errors="coerce")
    wrong = scores.isna() & (written != "nan")
    if wrong.any():
        row = int(wrong.to_numpy().argmax())
        raise DataError(
            f"{table} row {row + 2}", f"{column.name} {column.iloc[row]!r}", "It should be 0, 1, 2, True or False"
        )
    return scores.to_numpy(dtype=float)


def _read_json(path: Path) -> list[dict[str, Any]]:
    entries = read_json(path, "a list of prompts, as released")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) and "prompt_id" in entry for entry in entries):
        raise DataError(path, "not a list of prompts with prompt_id", "Take the file from the release again")
    return entries


def _answers(path: Path, found: _Found) -> dict[tuple[str, str], str]:
    """(prompt id, model) -> the answer's text."""
    if not path.is_file():
        found.notes.append(f"{path.name} is missing: answers of that language have no text")
        return {}
    return {
        (entry["prompt_id"], model): str(answer.get("response") or "")
        for entry in _read_json(path)
        for model, answer in entry.items()
        if isinstance(answer, dict)
    }


def _judged(folder: Path, name: str, language: str, found: _Found) -> pd.DataFrame:
    """GPT-4's ratings as facts."""
    rows = []
    for criterion in COLUMNS:
        path = folder / criterion / f"individual_{name}.json"
        if not path.is_file():
            found.notes.append(f"{language}: no ratings of {criterion} by {JUDGE.name}")
            continue
        for entry in _read_json(path):
            for model, verdict in entry.items():
                if model in ABOUT_PROMPT or not isinstance(verdict, dict):
                    continue
                output = _meet(language, entry["prompt_id"], model, found, str(entry.get("prompt") or ""))
                rows.append((output, criterion, *_verdict(verdict)))
    facts = pd.DataFrame(rows, columns=["output", "criterion", "score", "reason", "comment"])
    return facts.assign(rater=JUDGE.name).astype({"score": float})


def _verdict(verdict: dict[str, Any]) -> tuple[float, str, str]:
    score, comment = verdict.get("score"), str(verdict.get("justification") or "")
    try:
        return float(str(score)), "", comment
    except ValueError:
        return float("nan"), f"unparsable: {str(score)[:40]}", comment


FORMAT = Format("PARIKSHA release folder: ratings by workers and GPT-4", read)
