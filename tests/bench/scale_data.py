"""A dataset folder of any number of ratings, made up: the size is real, the texts are short.

Ten languages, five criteria, twenty raters of whom two are metrics (one score an output) and a
baseline answers always the same; ten generators a source, so that outputs of one source hang
together. What is said follows a latent quality of generator, source and output. Columns are made
and written a language at a time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import tomli_w

LANGUAGES = ("am", "ar", "bn", "de", "en", "fr", "hi", "ja", "sw", "zh")
GENERATORS = 10
FAMILIES = ("gpt", "gemini", "claude", "llama")
ROWS = 250_000  # of a row group
COMMENTS = 0.02
SILENT = 0.01
REASONS = ("refused", "unparsable", "cut off")
REMARKS = (
    "Good.",
    "The second sentence is not in the text.",
    "Hard to read, but right.",
    "Repeats itself.",
)


@dataclass(frozen=True)
class Question:
    """A criterion: its levels from 0, how much luck there is in the answer."""

    name: str
    levels: int
    noise: float


QUESTIONS = (
    Question("fluency", 3, 0.5),
    Question("content", 3, 0.7),
    Question("coherence", 5, 0.8),
    Question("faithfulness", 5, 0.9),
    Question("harmless", 2, 0.6),
)


@dataclass(frozen=True)
class Voice:
    """A rater: how far it is from the latent quality, and what it adds to it."""

    name: str
    kind: str
    group: str
    noise: float
    severity: float = 0.0
    about: Mapping[str, Any] | None = None


def voices() -> tuple[Voice, ...]:
    """Three native speakers, two of a crowd, twelve LLM judges, a baseline, two metrics."""
    people = [Voice(f"A{n}", "human", "native", 0.5, 0.2 * (n - 2)) for n in (1, 2, 3)]
    people += [Voice(f"W{n}", "human", "crowd", 0.9, 0.3 * n) for n in (1, 2)]
    judges = []
    for n in range(12):
        family, prompt = FAMILIES[n % 4], ("simple", "detailed", "examples")[n // 4]
        about = {"model": f"{family}-large", "prompt": prompt, "family": family}
        judges.append(
            Voice(f"{family}-large/{prompt}", "llm", family, 0.6 + 0.1 * n, 0.1 * (n - 4), about)
        )
    constant = [Voice("majority", "baseline", "baseline", 0.0)]
    metrics = [Voice("chrf", "metric", "surface", 1.5), Voice("cometish", "metric", "learned", 0.8)]
    return (*people, *judges, *constant, *metrics)


VOICES = voices()
ANSWERING = tuple(voice for voice in VOICES if voice.kind != "metric")
METRICS = tuple(voice for voice in VOICES if voice.kind == "metric")
PER_OUTPUT = len(ANSWERING) * len(QUESTIONS) + len(METRICS)


def sources_for(ratings: int) -> int:
    """How many sources of a language make about so many ratings."""
    return max(1, round(ratings / (len(LANGUAGES) * GENERATORS * PER_OUTPUT)))


def write_dataset(folder: Path, ratings: int, seed: int = 0) -> int:
    """A dataset folder of about so many ratings; how many there are."""
    folder.mkdir(parents=True)
    sources = sources_for(ratings)
    count = sources * len(LANGUAGES) * GENERATORS * PER_OUTPUT
    (folder / "dataset.toml").write_text(tomli_w.dumps(card(f"scale-{count}")), encoding="utf-8")
    lines(folder / "raters.jsonl", (rater(voice) for voice in VOICES))
    lines(
        folder / "sources.jsonl",
        ({"source": s, "language": code, "text": f"Source {s}."} for code, s in named(sources)),
    )
    lines(
        folder / "outputs.jsonl",
        (output(code, s, g) for code, s in named(sources) for g in range(GENERATORS)),
    )
    with pq.ParquetWriter(folder / "ratings.parquet", SCHEMA, compression="zstd") as writer:
        for place, code in enumerate(LANGUAGES):
            writer.write_table(
                of_language(code, sources, np.random.default_rng([seed, place])),
                row_group_size=ROWS,
            )
    return count


def card(name: str) -> dict[str, Any]:
    """dataset.toml."""
    criteria: dict[str, Any] = {
        question.name: {
            "measure": "ordinal",
            "levels": [
                {"value": level, "label": f"level {level}"} for level in range(question.levels)
            ],
        }
        for question in QUESTIONS
    }
    generators = {generator(n): {"family": FAMILIES[n % 4]} for n in range(GENERATORS)}
    return {
        "name": name,
        "generators": generators,
        "criteria": criteria | {"score": {"measure": "interval"}},
    }


def generator(number: int) -> str:
    return "writers" if number == 0 else f"{FAMILIES[number % 4]}-{number}"


def named(sources: int) -> Iterator[tuple[str, str]]:
    return ((code, f"{code}-{n:06}") for code in LANGUAGES for n in range(sources))


def output(code: str, source: str, number: int) -> dict[str, str]:
    made = generator(number)
    return {
        "output": f"{source}/{made}",
        "source": source,
        "generator": made,
        "language": code,
        "text": f"What {made} makes of {source}.",
    }


def rater(voice: Voice) -> dict[str, Any]:
    return {"rater": voice.name, "kind": voice.kind, "group": voice.group} | dict(voice.about or {})


def lines(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)


# ---------------------------------------------------------------- ratings

NAMES = pa.dictionary(pa.int32(), pa.string())
SCHEMA = pa.schema(
    {
        "output": NAMES,
        "criterion": NAMES,
        "rater": NAMES,
        "score": pa.float64(),
        "reason": NAMES,
        "comment": pa.string(),
    }
)


def of_language(code: str, sources: int, rng: np.random.Generator) -> pa.Table:
    """The ratings of a language, output after output, as runs write them."""
    outputs = sources * GENERATORS
    quality = (
        np.tile(np.linspace(0.8, -0.8, GENERATORS), sources)
        + np.repeat(rng.normal(0, 0.5, sources), GENERATORS)
        + rng.normal(0, 0.7, outputs)
    ).astype(np.float32)
    scores = np.empty((outputs, PER_OUTPUT))
    for place, question in enumerate(QUESTIONS):
        seen = quality + rng.normal(0, question.noise, outputs).astype(np.float32)
        for at, voice in enumerate(ANSWERING):
            column = at * len(QUESTIONS) + place
            scores[:, column] = answers(voice, question, seen, rng)
    for at, voice in enumerate(METRICS):
        scores[:, len(ANSWERING) * len(QUESTIONS) + at] = quality + rng.normal(
            0, voice.noise, outputs
        )
    raters = [
        *np.repeat(np.arange(len(ANSWERING)), len(QUESTIONS)),
        *range(len(ANSWERING), len(VOICES)),
    ]
    criteria = [
        *np.tile(np.arange(len(QUESTIONS)), len(ANSWERING)),
        *[len(QUESTIONS)] * len(METRICS),
    ]
    score = scores.reshape(-1)
    silent = np.isnan(score)
    reason = np.where(silent, rng.integers(1, len(REASONS) + 1, len(score), dtype=np.int32), 0)
    said = rng.random(len(score), dtype=np.float32) < COMMENTS
    remark = pa.array(rng.integers(0, len(REMARKS), len(score), dtype=np.int8), mask=~said)
    each = [f"{code}-{n:06}/{generator(g)}" for n in range(sources) for g in range(GENERATORS)]
    columns = [
        coded(np.repeat(np.arange(outputs, dtype=np.int32), PER_OUTPUT), each),
        coded(
            np.tile(np.array(criteria, np.int32), outputs), [*(q.name for q in QUESTIONS), "score"]
        ),
        coded(np.tile(np.array(raters, np.int32), outputs), [voice.name for voice in VOICES]),
        pa.array(score, pa.float64(), mask=silent),
        coded(reason, ["", *REASONS]),
        pa.DictionaryArray.from_arrays(remark, pa.array(REMARKS)).cast(pa.string()).fill_null(""),
    ]
    return pa.table(columns, SCHEMA)


def answers(voice: Voice, question: Question, seen: Any, rng: np.random.Generator) -> Any:
    """(outputs,) what a rater answers to a question; NaN where a judge gives no answer."""
    if voice.kind == "baseline":
        return np.full(len(seen), question.levels - 1.0)
    heard = seen + rng.normal(voice.severity, voice.noise, len(seen)).astype(np.float32)
    given = np.clip(np.floor((heard + 2) / 4 * question.levels), 0, question.levels - 1).astype(
        np.float64
    )
    if voice.kind == "llm":
        given[rng.random(len(seen), dtype=np.float32) < SILENT] = np.nan
    return given


def coded(codes: Any, names: list[str]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(names))
