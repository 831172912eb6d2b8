"""Billboard's release: the scores that each metric gave each generator's outputs, one board per
task.

    results/BOARD/GENERATOR||METRIC.csv                   SYS,seg_id,set_id,metric,score
    submissions/BOARD/generators/BOARD_GENERATOR.jsonl    seg_id, set_id, hyp
    submissions/BOARD/source/BOARD_src.jsonl              seg_id, set_id, src

The release has negated the scores of metrics for which lower is better. set_id is a segment's place
in the test set, counting from 0; the sources of a board are in this order. The release's `ensemble`
is a rater in a group of its own.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from metal.data.dataset import Card, concat_facts
from metal.data.files import read_jsonl, read_text
from metal.data.formats import Draft, Format, human_generators, language_option
from metal.data.languages import is_language
from metal.data.missing import no_such
from metal.data.ratings import tidy_facts
from metal.data.records import METRIC_SCORE, Output, Rater, Source
from metal.data.text import first_few
from metal.errors import DataError, UsageError

BETWEEN = "||"  # generator and metric in a file's name
COLUMNS = ("SYS", "seg_id", "set_id", "metric", "score")
AGAIN = "Take the file from the release again"
CITATION = (
    "Kasai et al. (NAACL 2022), Bidimensional Leaderboards: Generate and Evaluate Language Hand in"
    " Hand"
)
NEGATED = ("TER", "CharacTER")
ENSEMBLE = "ensemble"
ENGLISH = ("cnndm", "mscoco")


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read a board's results folder, or all boards of a release, each in its language.

    Raises UsageError for a folder without results or a board whose language is unknown; DataError
    for a file that is not what its name says.
    """
    folders = _folders(path)
    languages = _languages(folders, options.get("language"))
    boards = [_board(folder, language) for folder, language in zip(folders, languages, strict=True)]
    sources = tuple(chain.from_iterable(board.sources for board in boards))
    again = pd.Index([source.source for source in sources]).duplicated()
    if again.any():
        segment = sources[int(again.argmax())].source
        raise DataError(
            path, f"two boards have a segment {segment!r}", "Import each board by itself"
        )
    outputs = tuple(chain.from_iterable(board.outputs for board in boards))
    raters = {rater.rater: rater for board in boards for rater in board.raters}
    title = "Billboard: " + ", ".join(board.card.name for board in boards)
    return Draft(
        Card("billboard" if len(boards) > 1 else folders[0].name, title, citation=CITATION),
        (METRIC_SCORE,),
        sources,
        outputs,
        tuple(raters.values()),
        concat_facts([board.facts for board in boards]),
        tuple(_notes(boards, raters)),
        human_generators(output.generator for output in outputs),
    )


def _notes(boards: Sequence[Draft], raters: Collection[str]) -> Iterator[str]:
    """Notes on each board, with its name if there are several, and on all of them."""
    for board in boards:
        start = f"{board.card.name}: " if len(boards) > 1 else ""
        yield from (f"{start}{note}" for note in board.notes)
    negated = [name for name in NEGATED if name in raters]
    if negated:
        yield f"{', '.join(negated)}: negated in the release, so that higher is better"


# ---------------------------------------------------------------- folders and languages


def _folders(path: Path) -> list[Path]:
    """The results folders of the boards: `path` itself, or those in it or in its results/, in order
    of their names.
    """
    if not path.is_dir():
        raise no_such(path, "folder", "; give a board's results folder or the whole release")
    top = path.resolve()
    candidates = [top, *sorted(top.glob("*/")), *sorted(top.glob("results/*/"))]
    folders = [folder for folder in candidates if any(folder.glob(f"*{BETWEEN}*.csv"))]
    if not folders:
        raise UsageError(
            f"{path}: no files named GENERATOR{BETWEEN}METRIC.csv there; give a board's results"
            " folder (results/BOARD) or the whole release"
        )
    return folders[:1] if folders[0] == top else folders


def _languages(folders: Sequence[Path], asked: str | None) -> list[str]:
    """The language of each board: that in its name, else the option."""
    option = language_option(asked) if asked else None
    named = [language_in(folder.name) for folder in folders]
    for folder, language in zip(folders, named, strict=True):
        if not language and not option:
            raise UsageError(
                f"board {folder.name}: its name says no language; give it with `language`, e.g. en,"
                " or zh-en for translations"
            )
    if option and all(language and language != option for language in named):
        raise UsageError(
            f"`language` {option}: board {folders[0].name} is {named[0]} according to its name; "
            "leave `language` out"
        )
    return [language or str(option) for language in named]


def language_in(board: str) -> str | None:
    """The language in a board's name: `wmt20-zh-en` is of the pair zh-en; None if the name has
    none.
    """
    if board in ENGLISH:
        return "en"
    pair = re.search(r"-([a-z]{2}-[a-z]{2})$", board)
    return pair[1] if pair and is_language(pair[1]) else None


# ---------------------------------------------------------------- one board


def _board(folder: Path, language: str) -> Draft:
    files = sorted(folder.glob(f"*{BETWEEN}*.csv"))
    read_files = list(map(read_scores, files))
    segments = _segments(read_files, files)
    segment_index = pd.Index(segments)
    generators = list(dict.fromkeys(scores.generator for scores in read_files))
    metrics = list(dict.fromkeys(scores.metric for scores in read_files))
    of_all = [
        generators.index(scores.generator) * len(segments)
        + segment_index.get_indexer(pd.Index(scores.segments))
        for scores in read_files
    ]
    used, rated = np.unique(np.concatenate(of_all), return_inverse=True)
    source_texts, texts, missing = texts_of(folder, generators)
    pairs = [
        (segments[at % len(segments)], generators[at // len(segments)]) for at in used.tolist()
    ]
    outputs = tuple(Output(f"{s}/{g}", s, g, language, texts.get((s, g), "")) for s, g in pairs)
    sizes = [len(scores.segments) for scores in read_files]
    rater = np.repeat([metrics.index(scores.metric) for scores in read_files], sizes)
    score = np.concatenate([scores.score for scores in read_files])
    columns = {
        "output": pd.Categorical.from_codes(rated, pd.Index([output.output for output in outputs])),
        "criterion": pd.Categorical.from_codes(
            np.zeros(len(score), np.int8), pd.Index([METRIC_SCORE.name])
        ),
        "rater": pd.Categorical.from_codes(rater, pd.Index(metrics)),
        "score": score,
        "reason": pd.Categorical.from_codes(
            np.isnan(score).astype(np.int8), pd.Index(["", "no score"])
        ),
    }
    return Draft(
        Card(folder.name),
        (METRIC_SCORE,),
        tuple(Source(name, language, source_texts.get(name, "")) for name in segments),
        outputs,
        tuple(map(_rater, metrics)),
        tidy_facts(pd.DataFrame(columns)),
        (*_notes_on_gaps(read_files, segments, generators, metrics), *missing),
    )


def _segments(read_files: Sequence[ReleasedScores], files: Sequence[Path]) -> list[str]:
    """The segments in order of set_id. Raises DataError if two files disagree."""
    numbers: dict[str, int] = {}
    owner: dict[int, str] = {}
    for scores, file in zip(read_files, files, strict=True):
        for row, (segment, number) in enumerate(
            zip(scores.segments.tolist(), scores.numbers.tolist(), strict=True), 2
        ):
            if (
                numbers.setdefault(segment, number) != number
                or owner.setdefault(number, segment) != segment
            ):
                problem = (
                    f"segment {segment!r} has set_id {number}, but before it had {numbers[segment]}"
                )
                if numbers[segment] == number:
                    problem = (
                        f"segments {owner[number]!r} and {segment!r} both have set_id {number}"
                    )
                raise DataError(
                    f"{file} row {row}", problem, "A segment has one set_id in all files of a board"
                )
    return sorted(numbers, key=numbers.__getitem__)


def _notes_on_gaps(
    read_files: Sequence[ReleasedScores],
    segments: Sequence[str],
    generators: Sequence[str],
    metrics: Sequence[str],
) -> Iterator[str]:
    pairs = {(scores.generator, scores.metric) for scores in read_files}
    lacking = [f"{m} of {g}" for g, m in product(generators, metrics) if (g, m) not in pairs]
    if lacking:
        yield f"{len(lacking)} scores files are missing: {first_few(lacking)}"
    short = [scores for scores in read_files if len(scores.segments) < len(segments)]
    if short:
        sizes = [
            f"{scores.metric} of {scores.generator} has {len(scores.segments)}" for scores in short
        ]
        yield f"{len(short)} scores files lack segments (of {len(segments)}): {first_few(sizes)}"
    empty = {f"{s.metric} of {s.generator}": int(np.isnan(s.score).sum()) for s in read_files}
    if any(empty.values()):
        names = [name for name, count in empty.items() if count]
        yield f"{sum(empty.values())} ratings without a score (nan): {first_few(names)}"


def _rater(metric: str) -> Rater:
    facts = {"direction": "lower", "negated": True} if metric in NEGATED else {}
    return Rater(metric, "metric", ENSEMBLE if metric == ENSEMBLE else "metric", facts)


# ---------------------------------------------------------------- a file of scores


@dataclass(frozen=True)
class ReleasedScores:
    """A file of scores. segments, numbers, score: (rows,) seg_id, set_id, and the score, NaN if
    it says nan.
    """

    generator: str
    metric: str
    segments: np.ndarray[Any, np.dtype[np.object_]]
    numbers: np.ndarray[Any, np.dtype[np.int64]]
    score: np.ndarray[Any, np.dtype[np.float64]]


def read_scores(file: Path) -> ReleasedScores:
    """Read one GENERATOR||METRIC.csv. Raises DataError, with the row, for the first fault in it."""
    generator, _, metric = file.stem.partition(BETWEEN)
    table = _table(file)
    for column, name in (("SYS", generator), ("metric", metric)):
        wrong = np.flatnonzero(table[column].to_numpy() != name)
        if len(wrong):
            other = table[column].iloc[wrong[0]]
            raise DataError(
                _row(file, wrong[0]),
                f"{column} is {other!r}, the file is named for {name!r}",
                AGAIN,
            )
    segments = table["seg_id"].to_numpy(dtype=object)
    again = np.flatnonzero(pd.Series(segments).duplicated())
    if len(again):
        raise DataError(
            _row(file, again[0]),
            f"segment {segments[again[0]]!r} a second time",
            "Keep one of them",
        )
    if "" in segments:
        raise DataError(_row(file, list(segments).index("")), "seg_id is empty", AGAIN)
    numbers = _numbers(table["set_id"], file, "It counts segments: 0, 1, 2, ...", places=True)
    score = _numbers(table["score"], file, "Write nan where there is no score")
    return ReleasedScores(generator, metric, segments, numbers.astype(np.int64), score)


def _row(file: Path, row: int) -> str:
    return f"{file} row {row + 2}"


def _table(file: Path) -> pd.DataFrame:
    """The file as texts."""
    from pyarrow import csv as arrow_csv

    text = read_text(file)
    header = next(csv.reader([text.partition("\n")[0].rstrip("\r")]), [])
    lacking = [name for name in COLUMNS if name not in header]
    if lacking:
        raise DataError(
            f"{file} row 1", f"no column {lacking[0]!r}", f"The columns are {','.join(COLUMNS)}"
        )
    texts = arrow_csv.ConvertOptions(
        column_types=dict.fromkeys(COLUMNS, pa.string()), include_columns=list(COLUMNS)
    )
    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(text.encode()),
            read_options=arrow_csv.ReadOptions(use_threads=False),
            convert_options=texts,
        )
    except pa.ArrowInvalid as error:
        # The library's message ends with the row as it is in the file, which may not be safe to
        # print.
        parts = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", str(error))
        location = f"{file} row {parts[1]}" if parts else file
        problem = (
            f"{parts[3]} fields where the header names {parts[2]}"
            if parts
            else "not readable as CSV"
        )
        raise DataError(location, problem, f"The columns are {','.join(COLUMNS)}") from None
    if not table.num_rows:
        raise DataError(file, "no scores in it", AGAIN)
    frame: pd.DataFrame = table.to_pandas()
    return frame


def _numbers(column: pd.Series, file: Path, remedy: str, *, places: bool = False) -> Any:
    """The column as numbers: scores, which may be nan but not infinite, or places (0, 1, 2,
    ...).
    """
    texts = column.to_numpy(dtype=object)
    try:
        values = texts.astype(np.float64)
    except ValueError:
        values = np.array(list(map(_number, texts)))
    if places:
        wrong = ~((values >= 0) & (values < 2**53) & (values == np.floor(values)))
    else:
        wrong = np.isinf(values)
        missing = np.flatnonzero(np.isnan(values))
        wrong[missing] = [texts[row].strip().lower() != "nan" for row in missing]
    rows = np.flatnonzero(wrong)
    if len(rows):
        what = "not a place" if places else "not a number"
        raise DataError(_row(file, rows[0]), f"{column.name} {texts[rows[0]]!r} is {what}", remedy)
    return values


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


# ---------------------------------------------------------------- texts


def texts_of(
    results: Path, generators: Sequence[str]
) -> tuple[dict[str, str], dict[tuple[str, str], str], tuple[str, ...]]:
    """The texts of the board in `results` (release/results/BOARD) that are in the release.

    {segment: text of the source}; {(segment, generator): text of the output}; and notes on what is
    missing or left over.
    """
    board = results.name
    folder = results.parent.parent / "submissions" / board
    if not folder.is_dir():
        return {}, {}, ("no submissions beside the results: sources and outputs have no text",)
    file = folder / "source" / f"{board}_src.jsonl"
    sources = _texts(file, "src") if file.is_file() else {}
    notes = [] if sources else [f"no {file.name}: sources have no text"]
    files = {
        file.stem.removeprefix(f"{board}_"): file
        for file in sorted((folder / "generators").glob("*.jsonl"))
    }
    without = [name for name in generators if name not in files]
    outputs: dict[tuple[str, str], str] = {}
    for name in generators:
        texts = _texts(files[name], "hyp") if name in files else {}
        outputs |= {(segment, name): text for segment, text in texts.items()}
    notes += [f"no outputs of {', '.join(without)}: they have no text"] if without else []
    unrated = [name for name in files if name not in generators]
    notes += [f"no scores of {', '.join(unrated)}: their outputs were left out"] if unrated else []
    return sources, outputs, tuple(notes)


def _texts(file: Path, key: str) -> dict[str, str]:
    texts: dict[str, str] = {}
    for row, record in read_jsonl(file):
        segment, text = record.get("seg_id"), record.get(key)
        if segment is None or not isinstance(text, str):
            raise DataError(f"{file} row {row + 1}", f"no 'seg_id' or no text {key!r}", AGAIN)
        if str(segment) in texts:
            raise DataError(
                f"{file} row {row + 1}", f"segment {segment!r} a second time", "Keep one of them"
            )
        texts[str(segment)] = text
    return texts


FORMAT = Format(
    "Billboard's released scores: a board's results folder, or the release",
    read,
    frozenset({"language"}),
    (("*||*.csv", ()), ("*/*||*.csv", ()), ("results/*/*||*.csv", ())),
)
