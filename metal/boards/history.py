"""A board's history: its entries, the checks of submissions (pure functions), and the board at each
version.

A board is a dataset and a list of entries that only grows. Submissions never change: the board at a
version is the dataset as it was then, with every submission that had joined and not been withdrawn.
Source: Bidimensional Leaderboards, section 2.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from math import isnan
from pathlib import Path
from typing import Any, Literal, get_args
from unicodedata import normalize

import pandas as pd

from metal.boards.ensemble import NAME
from metal.data.dataset import Dataset, concat_facts, with_parts
from metal.data.files import whole_text
from metal.data.ratings import facts_in, tidy_facts
from metal.data.records import METRIC_SCORE, Direction, Output, Rater
from metal.errors import DataError, UnknownName, UsageError, nearest
from metal.raters.metrics.dataset_scores import first_row

What = Literal["data", "generator", "metric", "ratings", "withdrawn"]
JOINED = ("generator", "metric", "ratings")
ANONYMOUS = "anonymous"
DIGEST = re.compile("[0-9a-f]{8,64}")  # the name of a folder as well
SHOWN = 3
NAME_LENGTH = 80
OF_THE_BOARD = ("people", NAME)  # rows of its tables that are not submissions
# Names of the two columns; the first that occurs is taken.
SOURCE, TEXT = ("source", "seg_id", "id"), ("text", "hyp", "hypothesis", "summary")
# what makes scores of one name those of one metric
OF_A_METRIC = ("signature", "direction", "negated")


@dataclass(frozen=True)
class Entry:
    """A line of history.jsonl.

    version: 1, 2, ... what: `data` (the dataset itself is new or changed), `generator` or `metric`
    (one joined), `ratings` (all that people have given submitted generators so far), or
    `withdrawn`. digest: hash in hexadecimal of the dataset's files at this version. name: the name
    of the generator or metric. at: time in UTC. by: the submitter. about: further values (outputs,
    direction, signature, ...).
    """

    version: int
    at: str
    what: What
    digest: str
    name: str = ""
    by: str = ""
    about: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The values of the line, without empty ones."""
        return {key: value for key, value in asdict(self).items() if value not in ("", None, {})}

    @classmethod
    def of(cls, record: Mapping[str, Any], location: str) -> Entry:
        """Read an entry from a line. Raises DataError if the line is not an entry."""
        try:
            entry = cls(**record)
            # NaN is not equal to itself, and so no history to itself
            json.dumps(entry.about, allow_nan=False)
        except (TypeError, ValueError):
            raise DataError(
                location, "not a line of a board's history", "Take the file from a backup"
            ) from None
        fine = {
            "version": type(entry.version) is int,
            "digest": isinstance(entry.digest, str) and DIGEST.fullmatch(entry.digest),
            "about": entry.about is None or isinstance(entry.about, Mapping),
            "what": entry.what in get_args(What),
            "at": isinstance(entry.at, str) and _is_time(entry.at),
            "name": isinstance(entry.name, str) and entry.name.isprintable(),
            "by": isinstance(entry.by, str) and entry.by.isprintable(),
        }
        if isinstance(entry.about, Mapping):
            fine["about"] = entry.about.get("direction", "higher") in get_args(Direction)
        for name, is_fine in fine.items():
            if not is_fine:
                raise DataError(
                    location, f"{name} {getattr(entry, name)!r}", "Take the file from a backup"
                )
        return entry


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


@dataclass(frozen=True)
class Submission:
    """What joined with an entry: outputs of a generator with their scores, or a metric with its
    scores.
    """

    entry: Entry
    outputs: tuple[Output, ...]
    raters: tuple[Rater, ...]
    facts: pd.DataFrame


def entry_at(entries: Sequence[Entry], version: int) -> Entry:
    """The entry of a version. Raises UsageError if the board never had this version."""
    if not 1 <= version <= len(entries):
        raise UsageError(f"version {version}: the board has versions 1 to {len(entries)}")
    return entries[version - 1]


def standing(entries: Sequence[Entry], version: int) -> list[Entry]:
    """The submissions that were on the board at a version."""
    submissions: dict[tuple[str, str], Entry] = {}
    for entry in entries[:version]:
        if entry.what in JOINED:
            submissions[entry.what, entry.name] = entry
        elif entry.what == "withdrawn":
            submissions.pop((str((entry.about or {}).get("was")), entry.name), None)
    return list(submissions.values())


def find_standing(entries: Sequence[Entry], name: str) -> Entry:
    """The submission of this name that is on the board now. Raises UnknownName if there is
    none.
    """
    current = standing(entries, len(entries))
    matching = [entry for entry in current if entry.name == name]
    if not matching:
        raise UnknownName(
            "submission",
            name,
            [entry.name for entry in current],
            "What came with the dataset cannot be withdrawn",
        )
    return matching[-1]


def board_at(base: Dataset, submissions: Sequence[Submission]) -> Dataset:
    """The board as a dataset: the base with everything that joined.

    A score is left out if its rater or its generator is not on the board. It is also left out if it
    belongs to a withdrawn submission whose name was used again. Raises DataError if a submission
    does not fit the base: its output or rater exists already, or the dataset no longer has its
    source.
    """
    if not submissions:
        return base
    outputs, raters, outputs_since, raters_since = _joined(base, submissions)
    parts = [base.ratings.loc[:, facts_in(base.ratings)]]
    for submission in submissions:
        version, facts = submission.entry.version, submission.facts
        rated = {name for name in outputs if outputs_since.get(name, version) <= version}
        by = {
            rater.rater
            for rater in submission.raters
            if raters_since.get(rater.rater, version) <= version and _is_still(rater, raters)
        }
        parts.append(
            facts.loc[facts["output"].isin(rated) & facts["rater"].isin(by), facts_in(facts)]
        )
    facts = parts[0]
    if any(map(len, parts)):
        facts = tidy_facts(concat_facts(list(filter(len, parts))))
    facts = facts[~facts.duplicated(["output", "criterion", "rater"])].reset_index(drop=True)
    for name in ("output", "criterion", "rater"):  # names that do not occur are not categories
        facts[name] = facts[name].cat.remove_unused_categories()
    return with_parts(
        base,
        criteria=({METRIC_SCORE.name: METRIC_SCORE} | dict(base.criteria)).values(),
        outputs=outputs.values(),
        raters=raters.values(),
        facts=facts,
        extra=_with_generators(base.extra, submissions),
    )


def _joined(
    base: Dataset, submissions: Sequence[Submission]
) -> tuple[dict[str, Output], dict[str, Rater], dict[str, int], dict[str, int]]:
    """Outputs and raters of the board, and the versions with which outputs and raters joined."""
    outputs, raters = {**base.outputs}, {**base.raters}
    remedy = "Withdraw the submission"
    # none for the dataset's
    outputs_since: dict[str, int] = {}
    raters_since: dict[str, int] = {}
    for submission in submissions:
        entry = submission.entry
        location = f"version {entry.version}, {entry.what} {entry.name}"
        for output in submission.outputs:
            if output.output in outputs:
                raise DataError(
                    location, f"output {output.output!r} is already in the dataset", remedy
                )
            if output.source not in base.sources:
                gone = f"source {output.source!r} is no longer in the dataset"
                raise DataError(location, gone, remedy)
            outputs[output.output] = output
            outputs_since[output.output] = entry.version
        for rater in submission.raters if entry.what == "metric" else ():
            if rater.rater in base.raters:
                raise DataError(
                    location, f"rater {rater.rater!r} is already in the dataset", remedy
                )
            raters[rater.rater] = rater
            raters_since[rater.rater] = entry.version
    return outputs, raters, outputs_since, raters_since


def _is_still(rater: Rater, raters: Mapping[str, Rater]) -> bool:
    """Whether the board still has this metric, not another metric of the same name."""
    if rater.rater not in raters:
        return False
    current = raters[rater.rater].about
    return all(rater.about.get(key) == current.get(key) for key in OF_A_METRIC)


def _with_generators(extra: Mapping[str, Any], submissions: Sequence[Submission]) -> dict[str, Any]:
    """Add what submitters declared about their generators to the further keys of dataset.toml."""
    declared = extra.get("generators", {})
    generators = dict(declared) if isinstance(declared, Mapping) else {}
    for submission in submissions:
        entry = submission.entry
        facts = (entry.about or {}).get("generator")
        if entry.what == "generator" and isinstance(facts, Mapping) and facts:
            generators[entry.name] = dict(facts)
    return dict(extra) | ({"generators": generators} if generators else {})


def check_name(name: str, taken: Iterable[str], what: str) -> str:
    """Check the name of a new generator or metric, and return it normalised.

    Raises UsageError for a name that is taken, reserved for the board, empty, too long or not
    printable.
    """
    plain = normalize("NFC", name.strip())
    if not plain or len(plain) > NAME_LENGTH or not plain.isprintable():
        raise UsageError(
            f"`name` {name!r}: a name is 1 to {NAME_LENGTH} printable characters on one line"
        )
    if plain.lower() in OF_THE_BOARD or plain.lower().startswith("ensemble of "):
        raise UsageError(
            f"`name` {plain!r} is a name that the board itself uses; give another `name`"
        )
    if plain in set(taken):
        raise UsageError(
            f"{what} {plain!r} is on the board; give another `name`, or withdraw it if it is a"
            " submission"
        )
    return plain


def read_rows(columns: Mapping[Any, Sequence[object]], file: Path) -> list[tuple[str, str]]:
    """Read (source, text) from each row of a table; an empty cell is an empty text. columns: name
    -> cells.

    Raises DataError if a column is missing, a source is empty, or a cell is not text.
    """
    rows = []
    cells = zip(*_source_and_text(columns, file), strict=True)
    for row, (source, text) in enumerate(cells, first_row(file)):
        plain = "" if text is None or (isinstance(text, float) and isnan(text)) else text
        if isinstance(source, float) and source.is_integer():
            source = int(source)  # an id that an empty cell elsewhere had made a float
        if (
            isinstance(source, bool)
            or not isinstance(source, str | int)
            or not isinstance(plain, str)
        ):
            raise DataError(
                f"{file} row {row}", f"source {source!r}, text {text!r}", "Both are texts"
            )
        rows.append((str(source), whole_text(plain)))
    return rows


def _source_and_text(
    columns: Mapping[Any, Sequence[object]], file: Path
) -> tuple[Sequence[object], Sequence[object]]:
    """The cells of the sources and those of the texts."""
    names = {str(name).strip().lower(): name for name in columns}
    sources, texts = (
        next((names[choice] for choice in choices if choice in names), None)
        for choices in (SOURCE, TEXT)
    )
    if None in (sources, texts):
        listed = ", ".join(map(str, columns)) or "none"
        raise DataError(
            file,
            f"no columns source and text (columns found: {listed})",
            "Give each row a source and a text",
        )
    return columns[sources], columns[texts]


def generator_outputs(
    rows: Sequence[tuple[str, str]],
    name: str,
    dataset: Dataset,
    file: Path,
    *,
    allow_missing: bool = False,
) -> tuple[Output, ...]:
    """The outputs of a new generator: one for each of the board's sources in the languages of the
    rows.

    Raises a DataError that names every fault at once: sources the board does not have, duplicate
    sources, sources without a row (unless allowed), and empty texts.
    """
    board = {output.source: output.language for output in dataset.outputs.values()}
    board |= {
        name: source.language for name, source in dataset.sources.items() if name not in board
    }
    if problems := _problems(rows, board, allow_missing):
        raise DataError(file, "; ".join(problems), "Nothing was imported; correct the file")
    return tuple(
        Output(f"{source}/{name}", source, name, board[source], text) for source, text in rows
    )


def _problems(
    rows: Sequence[tuple[str, str]], board: Mapping[str, str], allow_missing: bool
) -> list[str]:
    """Every fault of the rows. board: the language of each of its sources."""
    if not rows:
        return ["no outputs in it"]
    counts = Counter(source for source, _ in rows)
    extra = [source for source in counts if source not in board]
    again = [source for source, count in counts.items() if count > 1]
    empty = [source for source, text in rows if not text.strip()]
    problems = []
    if extra:
        near = nearest(extra[0], list(board), SHOWN).rstrip("?")
        problems.append(f"{_counted(extra, 'extra source')} the board does not have, {near}")
    if again:
        problems.append(_counted(again, "duplicate source"))
    if not allow_missing and (missing := _missing(counts, board)):
        wanted = len(missing) + len(counts) - len(extra)
        problems.append(f"{_counted(missing, 'missing source')} of {wanted:,}")
    if empty:
        problems.append(_counted(empty, "empty text"))
    return problems


def _missing(rows: Collection[str], board: Mapping[str, str]) -> list[str]:
    """The board's sources without a row, in the languages of the rows."""
    languages = {board[source] for source in rows if source in board}
    return [
        source for source, language in board.items() if language in languages and source not in rows
    ]


def _counted(names: Sequence[str], what: str) -> str:
    listed = ", ".join(map(repr, names[:SHOWN])) + (", ..." if len(names) > SHOWN else "")
    return f"{len(names):,} {what}{'s' if len(names) > 1 else ''} ({listed})"
