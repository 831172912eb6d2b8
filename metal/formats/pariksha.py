"""PARIKSHA's release folder: native speakers' and GPT-4's ratings of answers in Indian languages.

    karya_eval/roundN/individual/LANGUAGE_ratings_output_indi*.tsv
        one row a worker and answer: model, prompt_id, worker_id, a rating a criterion, reasons ("none": none)
    gpt_eval/outputs/roundN/individual/CRITERION/individual_LANGUAGE.json
        [{prompt_id, prompt, MODEL: {score, justification}, ...}]
    outputs/roundN/formatted/output_LANGUAGE.json
        [{prompt_id, prompt, MODEL: {response}, ...}]
    prompts/prompts_roundN.json
        {LANGUAGE: [{prompt_id, LANGUAGE: the prompt}]}
    karya_eval/roundN/pairwise, gpt_eval/outputs/roundN/pairwise
        battles of two answers; counted, not read

The source is the user's prompt, the generator the model that answered. Only the TSV files must be there.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from metal.dataset import Card
from metal.errors import DataError, UsageError
from metal.formats.criteria import metal_criterion, score_or_reason
from metal.formats.draft import Draft
from metal.languages import find_language
from metal.ratings import tidy_facts
from metal.records import Judge, Output, Rater, Source

CARD = Card(
    name="pariksha",
    title="PARIKSHA: native speakers and GPT-4 on answers in Indian languages",
    licence="MIT",
    citation="Watts et al. (EMNLP 2024), PARIKSHA: A Large-Scale Investigation of Human-LLM Evaluator Agreement on "
    "Multilingual and Multi-Cultural Data",
)
JUDGE = Judge("gpt-4-32k", "detailed")
TABLES = "karya_eval/round*/individual/*_ratings_output_indi*.tsv"
# criterion: the column of the workers' rating, the column of their reasons
COLUMNS = {
    "linguistic_acceptability": ("ling_rating", "ling_rating_reasoning"),
    "task_quality": ("task_rating", "task_rating_reasoning"),
    "hallucinations": ("hallucination_rating", "hallucination_reasoning"),
}
CRITERIA = {name: metal_criterion(name) for name in COLUMNS}
ITEM = ["language", "prompt", "model"]
NEEDED = ["model", "prompt_id", "worker_id", *(rating for rating, _ in COLUMNS.values())]
NO_COMMENT = ("none", "nan")
AGAIN = "Take the file from the release again"


@dataclass
class _Found:
    """What has been read so far. Keys: (language, prompt id) and (language, prompt id, model)."""

    prompts: dict[tuple[str, str], str] = field(default_factory=dict)
    answers: dict[tuple[str, str, str], str] = field(default_factory=dict)
    ratings: list[pd.DataFrame] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read the folder. Parts that are missing are noted; a folder without workers' ratings is an error."""
    tables = sorted(path.glob(TABLES))
    if not tables:
        raise UsageError(f"{path}: no {TABLES}; give the folder of the PARIKSHA release")
    found = _Found()
    for table in tables:
        _read_language(path, table, found)
    _fill_prompts(path, found)
    _count_battles(path, found)
    ratings = pd.concat(found.ratings, ignore_index=True)
    ratings["output"] = ratings["language"] + "/" + ratings["prompt"] + "/" + ratings["model"]
    again = ratings.duplicated(["output", "criterion", "rater"])
    if again.any():
        found.notes.append(f"{int(again.sum())} ratings of something the rater had rated before were left out")
    sources, outputs = _sources_and_outputs(ratings, found)
    people = ratings.loc[ratings["rater"] != JUDGE.name, "rater"].unique()
    judges = [JUDGE.rater("gpt-4")] if len(people) < ratings["rater"].nunique() else []
    return Draft(
        CARD,
        tuple(CRITERIA.values()),
        sources,
        outputs,
        (*(Rater(str(worker), "human", "native") for worker in people), *judges),
        tidy_facts(ratings[~again]),
        tuple(found.notes),
    )


def _sources_and_outputs(ratings: pd.DataFrame, found: _Found) -> tuple[tuple[Source, ...], tuple[Output, ...]]:
    """What was rated. A prompt id that stands in several languages carries its language."""
    items = list(ratings[ITEM].drop_duplicates().itertuples(index=False, name=None))
    languages: dict[str, set[str]] = defaultdict(set)
    for language, prompt, _ in items:
        languages[prompt].add(language)
    ids = {
        (language, prompt): prompt if len(languages[prompt]) == 1 else f"{language}/{prompt}"
        for language, prompt, _ in items
    }
    sources = (Source(id_, key[0], found.prompts.get(key, "")) for key, id_ in ids.items())
    outputs = (Output("/".join(item), ids[item[:2]], item[2], item[0], found.answers.get(item, "")) for item in items)
    return tuple(sources), tuple(outputs)


# ---------------------------------------------------------------- one language


def _read_language(path: Path, table: Path, found: _Found) -> None:
    name = table.name.split("_ratings_output")[0]
    round_ = table.parent.parent.name
    language = find_language(name)
    if language is None:
        raise DataError(table, f"language {name!r} is not known", "Name it LANGUAGE_ratings_output_indi.tsv")
    people = _workers(table, language, found)
    judged = _judged(path / "gpt_eval" / "outputs" / round_ / "individual", name, language, found)
    found.ratings += [people, judged]
    unrated = _read_answers(path / "outputs" / round_ / "formatted" / f"output_{name}.json", language, found)
    rated = {frozenset(part[ITEM].itertuples(index=False, name=None)) for part in (people, judged)}
    met = frozenset().union(*rated)
    alone = len(met) - people[ITEM].drop_duplicates().shape[0]
    if alone:
        found.notes.append(f"{language}: {alone} answers were rated by {JUDGE.name} only")
    left = [item for item in unrated if item not in met]
    if left:
        found.notes.append(f"{language}: {len(left)} answers that nobody rated were left out")
    for item in left:
        del found.answers[item]


def _workers(table: Path, language: str, found: _Found) -> pd.DataFrame:
    """The workers' ratings, one row a rating."""
    rows = _read_tsv(table)
    parts = []
    for criterion, (rating, reasons) in COLUMNS.items():
        comment = rows[reasons] if reasons in rows else pd.Series("", index=rows.index)
        part = pd.DataFrame(
            {
                "language": language,
                "prompt": rows["prompt_id"],
                "model": rows["model"],
                "criterion": criterion,
                "rater": rows["worker_id"],
                "score": _scores(rows[rating], criterion, table),
                "comment": comment.mask(comment.str.lower().isin(NO_COMMENT), ""),
            }
        )
        parts.append(part.assign(reason=part["score"].isna().map({True: "no answer", False: ""})))
    people = pd.concat(parts, ignore_index=True)
    raters = rows.groupby(["prompt_id", "model"])["worker_id"].nunique().value_counts().sort_index()
    each = ", ".join(f"{answers} with {count}" for count, answers in raters.items())
    found.notes.append(f"{language}: {rows['worker_id'].nunique()} workers; answers by number of workers: {each}")
    if not people["comment"].any():
        found.notes.append(f"{language}: the workers give no reasons")
    return people


def _read_tsv(table: Path) -> pd.DataFrame:
    try:
        rows = pd.read_csv(table, sep="\t", dtype=str, keep_default_na=False, encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(table, "not UTF-8", "Save it as UTF-8") from None
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise DataError(table, f"not tab-separated ({str(error).strip()})", AGAIN) from None
    for name in NEEDED:
        if name not in rows:
            raise DataError(table, f"no column {name!r} (columns found: {', '.join(rows.columns)})", AGAIN)
    for name in NEEDED[:3]:
        if (rows[name] == "").any():
            raise DataError(_row(table, rows[name] == ""), f"no {name}", "Every rating needs one")
    return rows


def _scores(column: pd.Series, criterion: str, table: Path) -> pd.Series:
    """The level values; False and True are 0 and 1, an empty cell is no answer."""
    written = column.replace({"False": "0", "True": "1"})
    scores = pd.to_numeric(written, errors="coerce")
    scale = CRITERIA[criterion].scale
    wrong = ~scores.isin(scale.values) & ~column.str.lower().isin(("", *NO_COMMENT))
    if wrong.any():
        raise DataError(
            _row(table, wrong),
            f"{column.name} {column[wrong].iloc[0]!r} is not on the scale of {criterion} ({scale.describe()})",
            AGAIN,
        )
    return scores.astype(float)


def _row(table: Path, wrong: pd.Series) -> str:
    """The first row that is wrong, as a text editor counts."""
    return f"{table} row {int(wrong.to_numpy().argmax()) + 2}"


# ---------------------------------------------------------------- the JSON files


def _read_json(path: Path) -> list[dict[str, Any]]:
    """The entries, one a prompt."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError:
        raise DataError(path, "not UTF-8", AGAIN) from None
    except json.JSONDecodeError as error:
        raise DataError(f"{path} line {error.lineno}", f"not JSON ({error.msg})", AGAIN) from None
    if not isinstance(entries, list):
        raise DataError(path, "not a list of prompts", AGAIN)
    for row, entry in enumerate(entries, 1):
        if not isinstance(entry, dict) or not isinstance(entry.get("prompt_id"), str) or not entry["prompt_id"]:
            raise DataError(f"{path} entry {row}", "no prompt_id", AGAIN)
        _refuse_half_characters(entry, f"{path} entry {row}")
    return entries


def _refuse_half_characters(entry: object, where: str) -> None:
    """JSON can name half a surrogate pair, which is no character and cannot be written as UTF-8."""
    try:
        json.dumps(entry, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise DataError(where, "half a surrogate pair in a text (\\ud800 to \\udfff alone)", AGAIN) from None


def _models(path: Path, language: str, found: _Found) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(prompt id, model, what stands there of the model); the prompts are noted on the way."""
    for entry in _read_json(path):
        prompt = entry["prompt_id"]
        if isinstance(entry.get("prompt"), str):
            found.prompts.setdefault((language, prompt), entry["prompt"])
        for model, value in entry.items():
            if isinstance(value, dict):
                yield prompt, model, value


def _read_answers(path: Path, language: str, found: _Found) -> list[tuple[str, str, str]]:
    """Note the answers' texts, and name the answers."""
    if not path.is_file():
        found.notes.append(f"{language}: {path.name} is missing; answers have no text")
        return []
    read_ = {
        (language, prompt, model): str(answer.get("response") or "")
        for prompt, model, answer in _models(path, language, found)
    }
    found.answers |= read_
    return list(read_)


def _judged(folder: Path, name: str, language: str, found: _Found) -> pd.DataFrame:
    """GPT-4's ratings, one row a rating. A score that is no level is a rating without score."""
    rows = []
    for criterion in COLUMNS:
        path = folder / criterion / f"individual_{name}.json"
        if not path.is_file():
            found.notes.append(f"{language}: no ratings of {criterion} by {JUDGE.name}")
            continue
        for prompt, model, verdict in _models(path, language, found):
            score, reason = score_or_reason(CRITERIA[criterion], verdict.get("score"))
            comment = str(verdict.get("justification") or "")
            rows.append((language, prompt, model, criterion, JUDGE.name, score, comment, reason))
    judged = pd.DataFrame(rows, columns=[*ITEM, "criterion", "rater", "score", "comment", "reason"])
    silent = int(judged["score"].isna().sum())
    if silent:
        found.notes.append(f"{language}: {silent} ratings by {JUDGE.name} without a score on the scale")
    return judged


# ---------------------------------------------------------------- the rest of the folder


def _fill_prompts(path: Path, found: _Found) -> None:
    """Prompts that stand only in prompts/."""
    for file in sorted(path.glob("prompts/prompts_round*.json")):
        ...


def _count_battles(path: Path, found: _Found) -> None: ...
