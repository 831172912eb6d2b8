"""Billboard's release: the scores that each metric gave each generator's outputs, a board a task.

    results/BOARD/GENERATOR||METRIC.csv                   SYS,seg_id,set_id,metric,score
    submissions/BOARD/generators/BOARD_GENERATOR.jsonl    seg_id, set_id, hyp
    submissions/BOARD/source/BOARD_src.jsonl              seg_id, set_id, src

The release has negated the scores of metrics of which lower is better. set_id is a segment's place in the test set,
counting from 0; the sources of a board stand in its order. The release's `ensemble` is a rater of a group of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from metal.data.dataset import Card
from metal.data.formats import Draft, Format, human_generators, language_option
from metal.data.formats.billboard import BETWEEN, ReleasedScores, read_scores, texts_of
from metal.data.languages import is_language
from metal.data.ratings import tidy_facts
from metal.data.records import METRIC_SCORE, Output, Rater, Source
from metal.errors import DataError, UsageError

CITATION = "Kasai et al. (NAACL 2022), Bidimensional Leaderboards: Generate and Evaluate Language Hand in Hand"
NEGATED = ("TER", "CharacTER")
ENSEMBLE = "ensemble"
ENGLISH = ("cnndm", "mscoco")
SHOWN = 5


@dataclass(frozen=True)
class ReleasedBoard:
    """One board as read.

    sources, outputs: in order of set_id. rated, metric: (ratings,) places in outputs and metrics. score: (ratings,),
    NaN where the file says nan.
    """

    sources: tuple[Source, ...]
    outputs: tuple[Output, ...]
    metrics: tuple[str, ...]
    rated: np.ndarray[Any, np.dtype[np.int64]]
    metric: np.ndarray[Any, np.dtype[np.int64]]
    score: np.ndarray[Any, np.dtype[np.float64]]
    notes: tuple[str, ...]


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read a board's results folder, or all boards of a release, each in its language.

    Raises UsageError for a folder without results or a board whose language nobody knows; DataError for a file that
    is not what its name says.
    """
    folders = _folders(path)
    languages = _languages(folders, options.get("language"))
    boards = [_board(folder, language) for folder, language in zip(folders, languages, strict=True)]
    sources = tuple(source for board in boards for source in board.sources)
    _check_distinct(sources, path)
    outputs = tuple(output for board in boards for output in board.outputs)
    names = list(dict.fromkeys(name for board in boards for name in board.metrics))
    several = len(boards) > 1
    notes = [
        f"{folder.name}: {note}" if several else note
        for folder, board in zip(folders, boards, strict=True)
        for note in board.notes
    ]
    negated = [name for name in NEGATED if name in names]
    notes += [f"{', '.join(negated)}: negated in the release, so that higher is better"] if negated else []
    return Draft(
        Card(
            name="billboard" if several else folders[0].name,
            title="Billboard: " + ", ".join(folder.name for folder in folders),
            citation=CITATION,
        ),
        (METRIC_SCORE,),
        sources,
        outputs,
        tuple(_rater(name) for name in names),
        _facts(boards, names),
        tuple(notes),
        human_generators(output.generator for output in outputs),
    )


# ---------------------------------------------------------------- folders and languages


def _folders(path: Path) -> list[Path]:
    """The results folders of the boards: `path` itself, or those in it or in its results/, in order of their names."""
    if not path.is_dir():
        raise UsageError(f"{path}: no such folder; give a board's results folder or the whole release")
    top = path.resolve()
    candidates = [top, *sorted(top.glob("*/")), *sorted(top.glob("results/*/"))]
    folders = [folder for folder in candidates if any(folder.glob(f"*{BETWEEN}*.csv"))]
    if not folders:
        raise UsageError(
            f"{path}: no files named GENERATOR{BETWEEN}METRIC.csv there; give a board's results folder "
            "(results/BOARD) or the whole release"
        )
    return folders[:1] if folders[0] == top else folders


def _languages(folders: Sequence[Path], given: str | None) -> list[str]:
    """The language of each board: that in its name, else the option."""
    option = language_option(given) if given else None
    named = [language_in(folder.name) for folder in folders]
    for folder, language in zip(folders, named, strict=True):
        if not language and not option:
            raise UsageError(
                f"board {folder.name}: its name says no language; give it with `language`, e.g. en, or zh-en "
                "for translations"
            )
    if option and all(language and language != option for language in named):
        raise UsageError(f"`language` {option}: board {folders[0].name} is {named[0]} by its name; leave it out")
    return [language or str(option) for language in named]


def language_in(board: str) -> str | None:
    """The language in a board's name: `wmt20-zh-en` is of the pair zh-en; None where the name has none."""
    if board in ENGLISH:
        return "en"
    pair = re.search(r"-([a-z]{2}-[a-z]{2})$", board)
    return pair[1] if pair and is_language(pair[1]) else None


def _check_distinct(sources: Sequence[Source], path: Path) -> None:
    again = pd.Index([source.source for source in sources]).duplicated()
    if again.any():
        segment = sources[int(again.argmax())].source
        raise DataError(path, f"two boards have a segment {segment!r}", "Import each board by itself")


# ---------------------------------------------------------------- one board


def _board(folder: Path, language: str) -> ReleasedBoard:
    files = sorted(folder.glob(f"*{BETWEEN}*.csv"))
    read_files = [read_scores(file) for file in files]
    segments = _segments(read_files, files)
    place = pd.Index(segments)
    generators = list(dict.fromkeys(scores.generator for scores in read_files))
    metrics = list(dict.fromkeys(scores.metric for scores in read_files))
    rated = np.concatenate(
        [
            generators.index(scores.generator) * len(segments) + place.get_indexer(pd.Index(scores.segments))
            for scores in read_files
        ]
    )
    sizes = [len(scores.segments) for scores in read_files]
    used, rated = np.unique(rated, return_inverse=True)
    texts = texts_of(folder, generators)
    pairs = [(segments[at % len(segments)], generators[at // len(segments)]) for at in used.tolist()]
    return ReleasedBoard(
        tuple(Source(name, language, texts.sources.get(name, "")) for name in segments),
        tuple(Output(f"{s}/{g}", s, g, language, texts.outputs.get((s, g), "")) for s, g in pairs),
        tuple(metrics),
        rated,
        np.repeat([metrics.index(scores.metric) for scores in read_files], sizes),
        np.concatenate([scores.score for scores in read_files]),
        (*_notes(read_files, segments, generators, metrics), *texts.notes),
    )


def _segments(read_files: Sequence[ReleasedScores], files: Sequence[Path]) -> list[str]:
    """The segments in order of set_id. Raises DataError where two files disagree."""
    numbers: dict[str, int] = {}
    owner: dict[int, str] = {}
    for scores, file in zip(read_files, files, strict=True):
        for row, (segment, number) in enumerate(zip(scores.segments.tolist(), scores.numbers.tolist(), strict=True), 2):
            if numbers.setdefault(segment, number) != number or owner.setdefault(number, segment) != segment:
                raise DataError(
                    f"{file} row {row}",
                    f"segment {segment!r} has set_id {number}, but before it had {numbers[segment]}"
                    if numbers[segment] != number
                    else f"segments {owner[number]!r} and {segment!r} both have set_id {number}",
                    "A segment has one set_id in all files of a board",
                )
    return sorted(numbers, key=numbers.__getitem__)


def _notes(
    read_files: Sequence[ReleasedScores], segments: Sequence[str], generators: Sequence[str], metrics: Sequence[str]
) -> Iterator[str]:
    pairs = {(scores.generator, scores.metric) for scores in read_files}
    lacking = [f"{m} of {g}" for g in generators for m in metrics if (g, m) not in pairs]
    if lacking:
        yield f"{len(lacking)} scores files are missing: {_some(lacking)}"
    short = [scores for scores in read_files if len(scores.segments) < len(segments)]
    if short:
        sizes = [f"{scores.metric} of {scores.generator} has {len(scores.segments)}" for scores in short]
        yield f"{len(short)} scores files lack segments (of {len(segments)}): {_some(sizes)}"
    empty = {f"{s.metric} of {s.generator}": int(np.isnan(s.score).sum()) for s in read_files}
    if any(empty.values()):
        names = [name for name, count in empty.items() if count]
        yield f"{sum(empty.values())} ratings without a score (nan): {_some(names)}"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")


# ---------------------------------------------------------------- raters and ratings


def _rater(metric: str) -> Rater:
    about = {"direction": "lower", "negated": True} if metric in NEGATED else {}
    return Rater(metric, "metric", ENSEMBLE if metric == ENSEMBLE else "metric", about)


def _facts(boards: Sequence[ReleasedBoard], names: Sequence[str]) -> pd.DataFrame:
    outputs = [output.output for board in boards for output in board.outputs]
    starts = np.cumsum([0, *(len(board.outputs) for board in boards)])
    score = np.concatenate([board.score for board in boards])
    rated = np.concatenate([start + board.rated for start, board in zip(starts, boards, strict=False)])
    rater = np.concatenate([np.array([names.index(name) for name in b.metrics])[b.metric] for b in boards])
    columns = {
        "output": pd.Categorical.from_codes(rated, pd.Index(outputs)),
        "criterion": pd.Categorical.from_codes(np.zeros(len(score), np.int8), pd.Index([METRIC_SCORE.name])),
        "rater": pd.Categorical.from_codes(rater, pd.Index(names)),
        "score": score,
        "reason": pd.Categorical.from_codes(np.isnan(score).astype(np.int8), pd.Index(["", "no score"])),
    }
    return tidy_facts(pd.DataFrame(columns))


FORMAT = Format("Billboard's released scores: a board's results folder, or the release", read, frozenset({"language"}))
