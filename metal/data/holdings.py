"""Which command made a folder, and what no command may replace in it: replies that were paid for,
people's answers, history.

A folder is recognized by one file. Contents worth keeping are recognized by the files in which
METAL keeps them; any other file belongs to the user.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

from metal.data.files import read_jsonl, read_toml, write_new
from metal.errors import DataError

Files: TypeAlias = Mapping[str, bytes]  # {path in a folder: content}
NO_FILES: Files = MappingProxyType({})
IMPORT = "import"  # the verb of a dataset that says of no other
MADE_BY = "made_by"  # in dataset.toml, where the verb cannot be told otherwise
JOINED = "joined"  # in dataset.toml: how many ratings were added since that verb wrote it
# tables of dataset.toml, and the verb that writes them
MARKED_BY = {"sample": "sample", "probes": "probe plan"}
WITHOUT_PEOPLE = ("sample",)  # verbs whose datasets have no ratings: people's were added since
GATES = "gates.jsonl"  # in the anchors and in the baseline of a gate
SHEETS = "annotate"  # the verb whose folders people fill in
ADJUDICATION = "adjudicate plan"  # another one
FILLED_IN = (SHEETS, ADJUDICATION)
BOARD = "billboard"
HISTORY = "history.jsonl"  # of a board, in its runs and in its dataset's folder `board`
EXPORT = "export"
LABEL = "label"  # of the level that a score is
CRITERION_RECORD = "criterion_record"  # JSON of the criterion, in the first of its rows
CRITERIA = "criteria"  # {name: record of the criterion}, in the metadata of all
UNSCORED = "unscored"  # ratings without a score, in the metadata of their output
REPEAT_OF = ("repeats", "sample")  # of a rating by a judge that was asked again: whom, which time
OF_UNSCORED = ("rater", "kind", "group", "criterion", "reason", "comment", *REPEAT_OF)
REPEAT = "repeat"  # a column: how often the rater had been asked, counted from 1
# columns of every table that it writes
EXPORTED = {"output", "criterion", "rater", "score", LABEL}
VERDICTS = ("verdict", "verdict_reason")  # further columns of it, if an audit's verdicts were asked
OF_PAIRS = ("first", "second", "of", "condition")  # columns of outputs that are pairs or made
PAIR_TEXTS = ("first_text", "second_text")
REFERENCE = "reference"
# further columns that data may need to be read back
ADDED = (REPEAT, REFERENCE, *OF_PAIRS, *PAIR_TEXTS)
EVALSET_MARK = "metal_export.toml"  # in folders for mt-metrics-eval
SIDECAR = "raters"  # of records of Every Eval Ever: a dataset folder beside `data`
RECORDS = "every_eval_ever"  # in the sidecar's dataset.toml: what the records hold
BUNDLE = "view bundle"  # the verb of the app's pages as files
BUNDLE_MARK = "metal_bundle.toml"  # in their folder
EXPORT_MARK = "exported_by"  # a key of the first record in other files that it writes
_MARKED = f'"{EXPORT_MARK}": "metal '.encode()
_MARKED_LINE = re.compile(rf'"{EXPORT_MARK}": "metal [^"]*"\}}+$')  # of JSON Lines
CROWD = "billboard crowd"
REFERENCES = "billboard references"
MARKS = {
    "run.toml": "",  # it names its command
    "dataset.toml": IMPORT,
    "crowd_raters.csv": CROWD,
    "references.csv": REFERENCES,
    "dataset_info.json": EXPORT,
    EVALSET_MARK: EXPORT,
    BUNDLE_MARK: BUNDLE,
    f"{SIDECAR}/dataset.toml": EXPORT,
}
TITLES = {
    IMPORT: "a dataset",
    EXPORT: "a table of `metal export`",
    BUNDLE: "pages of `metal view bundle`",
}

LOCK = ".lock"  # in a run of judges or of generation, held while a process works on it
WORKER = ".worker"  # beside the lock: which process holds it
LEFT = {LOCK, WORKER, ".DS_Store"}  # by locks and systems
_IN_DATASETS = {
    "dataset.toml",
    "sources.jsonl",
    "outputs.jsonl",
    "raters.jsonl",
    "passage_lengths.svg",
}
_IN_DATASETS |= {
    "ratings.parquet",
    "ratings.csv",
    "ratings.jsonl",
    "generator_scores.parquet",
    "annotation",
    "test_questions",
    "board",
    GATES,
}
_IN_RUNS = {
    "run.toml",
    "raters.jsonl",
    "warnings.txt",
    "tables",
    "charts",
    "report.html",
    "ratings.parquet",
}
_IN_RUNS |= {
    GATES,
    "disagreements.parquet",
    "history.jsonl",
    "ensembles.json",
    "passport.json",
    "test_questions",
}
_IN_RUNS |= {"journal.jsonl", "batches.jsonl", "batches", "requests", "shards"}
_PAID = {
    "journal.jsonl": "a journal of replies",
    "batches.jsonl": "batches of calls",
    "batches": "batches of calls",
    "requests": "questions to a cluster",
    "shards": "replies from a cluster",
}
_OF_PEOPLE = {
    "annotation/answers.jsonl": "answers of people",
    "annotation/campaigns": "campaigns",
    "annotation/given.jsonl": "tasks handed out to people",
    "test_questions/ratings.parquet": "people's answers to test questions",
    "board/history.jsonl": "a board's history",
}


def is_empty(folder: Path) -> bool:
    """Whether a folder contains nothing but files left by systems and locks."""
    return all(entry.name in LEFT for entry in folder.iterdir())


def maker_of(folder: Path) -> str:
    """The verb that wrote a folder, such as `audit`; empty if that is unknown."""
    marks = [name for name in MARKS if (folder / name).is_file()]
    if len(marks) != 1:
        return ""
    try:
        return _maker(folder, marks[0])
    except (DataError, OSError, ValueError):
        return ""


def _maker(folder: Path, mark: str) -> str:
    if mark == "run.toml":
        return str(read_toml(folder / mark).get("command", ""))
    if mark == "dataset.toml":
        return maker_of_dataset(read_toml(folder / mark))
    if mark == f"{SIDECAR}/dataset.toml":
        return EXPORT if RECORDS in read_toml(folder / mark) else ""
    if mark == "dataset_info.json":
        features = json.loads((folder / mark).read_text(encoding="utf-8"))["features"]
        return EXPORT if _are_exported(list(features)) else ""
    return MARKS[mark]


def maker_of_dataset(described: Mapping[str, Any]) -> str:
    """The verb that wrote a dataset. described: the contents of its dataset.toml."""
    if isinstance(described.get(MADE_BY), str):
        return str(described[MADE_BY])
    return next((verb for table, verb in MARKED_BY.items() if table in described), IMPORT)


def made_by(maker: str, extra: Mapping[str, Any]) -> dict[str, Any]:
    """Further tables of a dataset's dataset.toml, which say that this verb wrote it."""
    tables = {name: value for name, value in extra.items() if name not in (MADE_BY, JOINED)}
    return tables if maker_of_dataset(tables) == maker else tables | {MADE_BY: maker}


def title(folder: Path) -> str:
    """What a folder is, for a message: `a run of metal audit`, `a dataset`."""
    maker = maker_of(folder)
    if maker in TITLES:
        return TITLES[maker]
    if (folder / "dataset.toml").is_file():
        return f"a dataset of `metal {maker}`" if maker else "a dataset that cannot be read"
    return f"a run of `metal {maker}`" if maker else "not what METAL would write there"


def treasures(folder: Path, successor: Path | None = None) -> str:
    """The contents of a folder that must not be replaced, with their files, in words; empty if
    there are none.

    successor: the folder that would replace it; it may have the same history of a board.
    """
    return ", ".join(f"{contents} ({file})" for file, contents in _treasures(folder, successor))


def _treasures(folder: Path, successor: Path | None) -> Iterator[tuple[str, str]]:
    for file, contents in _PAID.items():
        if _holds_something(folder / file):
            yield file, contents
            break
    if _holds_something(folder / "answers.jsonl"):
        yield "answers.jsonl", "answers of people"
    if _holds_something(folder / GATES):
        yield GATES, "what a gate compares with"
    if (folder / "dataset.toml").is_file():
        yield from _in_dataset(folder)
    maker = maker_of(folder)
    if maker in FILLED_IN:
        yield from _sheets(folder)
    if maker == BOARD and _has_the_only_history(folder, successor):
        yield HISTORY, "the only history of a board"


def _in_dataset(folder: Path) -> Iterator[tuple[str, str]]:
    for file, contents in _OF_PEOPLE.items():
        if _holds_something(folder / file):
            yield file, contents
    try:
        described = read_toml(folder / "dataset.toml")
        if described.get(JOINED):
            yield "ratings.parquet", f"{described[JOINED]} ratings that joined it later"
        generators = described.get("generators") or {}
        if not all(facts == {"kind": "human"} for facts in generators.values()):  # from elsewhere
            yield "outputs.jsonl", "texts that `metal generate` wrote"
        kinds = {line.get("kind") for _, line in read_jsonl(folder / "raters.jsonl")}
    except (DataError, OSError, AttributeError):
        return
    if maker_of(folder) in WITHOUT_PEOPLE and "human" in kinds:
        yield "raters.jsonl", "ratings by people"


def _sheets(folder: Path) -> Iterator[tuple[str, str]]:
    """The first sheet that was, or may have been, filled in since it was written."""
    settings = read_toml(folder / "run.toml").get("settings")
    written = settings.get("files") if isinstance(settings, dict) else None
    for path in sorted(folder.iterdir()):
        if path.name == "run.toml" or path.name in LEFT or not path.is_file():
            continue
        if not isinstance(written, dict):
            if path.suffix != ".html":  # a page keeps answers elsewhere
                yield path.name, "sheets that may hold answers"
                return
        elif path.name in written and digest(path.read_bytes()) != written[path.name]:
            yield path.name, "a sheet that was filled in"
            return


def _has_the_only_history(run: Path, successor: Path | None) -> bool:
    """Whether a run of a board has a version that neither its successor nor its dataset has in its
    history: if the dataset cannot be written, or was changed in the meantime, its history is only
    in the runs.
    """
    try:
        data: Mapping[str, Any] = next(iter(read_toml(run / "run.toml")["datasets"]), {})
        elsewhere = [
            Path(str(data.get("path", ""))) / "board" / HISTORY,
            *([successor / HISTORY] if successor else []),
        ]
        recorded: set[tuple[str, str]] = set().union(
            *(_versions(path) for path in elsewhere if path.is_file())
        )
        return not _versions(run / HISTORY) <= recorded
    except (DataError, OSError, KeyError, AttributeError, TypeError):
        return _holds_something(run / HISTORY) and successor != run


def _versions(history: Path) -> set[tuple[str, str]]:
    """Number and digest of each version."""
    return {
        (str(entry.get("version")), str(entry.get("digest"))) for _, entry in read_jsonl(history)
    }


def note_gate(folder: Path, gate: Path) -> None:
    """Record in a folder that a gate compares with it; a folder that cannot be written to needs no
    note, because it cannot be replaced either.
    """
    line = json.dumps({"gate": os.path.relpath(gate, folder)}, ensure_ascii=False) + "\n"
    with suppress(OSError):
        before = (folder / GATES).read_text(encoding="utf-8") if (folder / GATES).is_file() else ""
        if line not in before:
            write_new(folder / GATES, before + line)


def digest(content: bytes) -> str:
    """A digest that shows whether a file was changed."""
    return hashlib.sha256(content).hexdigest()[:16]


def is_export(path: Path) -> bool:
    """Whether a file is one that `metal export` wrote: a table that has all of its columns, in its
    order, and no others; or JSON whose lines are as it writes them, with its mark in the first.
    """
    with path.open("rb") as file:
        line = file.readline(1_000_000)
        if line in (b"[\n", b"{\n"):
            return _MARKED in file.readline(1_000_000)
    if line.startswith(b"PAR1"):
        import pyarrow.parquet as pq

        try:
            return _are_exported(pq.read_schema(path).names)
        except (OSError, ValueError):
            return False
    text = line.decode("utf-8", "replace").rstrip("\r\n")
    if _MARKED_LINE.search(text):
        return True
    try:
        first = json.loads(text)
    except ValueError:
        return _are_exported(text.split(","))
    return isinstance(first, dict) and _are_exported(list(first))


def _are_exported(columns: list[str]) -> bool:
    from metal.data.ratings import COLUMNS, OPTIONAL

    after_score = COLUMNS.index("score") + 1
    always = [*COLUMNS[:after_score], LABEL, *COLUMNS[after_score:]]
    more = columns[len(always) :]
    texts = ["source_text", "text"] if "text" in more else []
    verdicts = VERDICTS if VERDICTS[0] in more else ()
    added = [name for name in (*ADDED, CRITERION_RECORD) if name in more]  # since version 0.2
    in_order = [*(name for name in OPTIONAL if name in more), *verdicts, *texts, *added]
    return columns == [*always, *in_order]


def first_row(text: str) -> list[str]:
    """The cells of the first line of CSV."""
    return next(csv.reader([text.partition("\n")[0].rstrip("\r")]), [])


def _holds_something(path: Path) -> bool:
    if path.is_dir():
        return any(path.iterdir())
    return path.is_file() and path.stat().st_size > 0


def others(folder: Path) -> list[str]:
    """The names of entries in a folder that METAL did not write; empty for folders whose files may
    have any name.
    """
    if (folder / "dataset.toml").is_file():
        metals_own = _IN_DATASETS
    elif (folder / "run.toml").is_file() and maker_of(folder) not in FILLED_IN:
        metals_own = _IN_RUNS
    else:
        return []
    return sorted(entry.name for entry in folder.iterdir() if entry.name not in metals_own | LEFT)
