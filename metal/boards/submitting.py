"""How a submission is made: read, scored outside of the board's lock, and written when nobody else was faster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from metal.boards.history import ANONYMOUS, Entry, Submission, board_at, find_standing, standing
from metal.boards.store import OpenBoard, add_entry, open_board, submission_folder
from metal.boards.submission import check_name, generator_outputs, read_rows
from metal.data.dataset import Dataset, concat_facts
from metal.data.formats.table import read_frame
from metal.data.ratings import FACTS, tidy_facts
from metal.data.records import Direction, Output, Rater
from metal.errors import MetalError, UsageError
from metal.raters.isolation import Limits, isolated_metric, protections
from metal.raters.metrics import Metric, find_metric, is_built_in
from metal.raters.metrics.dataset_scores import (
    Scores,
    changed,
    metric_rater,
    not_in,
    outputs_to_score,
    rater,
    score_outputs,
    together,
    with_metric_score,
)
from metal.raters.metrics.names import read_name
from metal.raters.metrics.outside_scores import Table, given_scores, outside_scores
from metal.show.terminal import console as show

TRIES = 20  # how often a submission is prepared anew because others joined meanwhile
PROGRAM = "metric.py"
TOGETHER = 10**9  # texts a program is handed at a time: its limits are of the whole run
NO_FACTS = pd.DataFrame(columns=list(FACTS))

After = tuple[OpenBoard, list[str]]


@dataclass(frozen=True)
class Prepared:
    """What is to join a board. make: is given the entry's place and gives the entry, or what joins with it."""

    make: Callable[[Entry], Entry | Submission]
    lines: list[str]
    files: Mapping[str, bytes]


def joined(folder: Path, prepare: Callable[[OpenBoard], Prepared]) -> After:
    """Prepare a submission for the board as it is, and write it; again where others joined in between."""
    for _ in range(TRIES):
        seen = open_board(folder)
        if not seen.recorded:
            raise UsageError(f"{folder} cannot be written; a submission needs that")
        prepared = prepare(seen)
        try:
            after = add_entry(folder, seen, prepared.make, prepared.files)
        except OSError as error:
            raise UsageError(f"{folder} cannot be written ({error.strerror}); a submission needs that") from None
        if after:
            return after, prepared.lines
    raise UsageError(f"{folder}: others keep joining; nothing was written. Run this again")


# ---------------------------------------------------------------- a generator


def submit_generator(
    folder: Path, path: Path, name: str, by: str, human: bool, family: str, allow_missing: bool, scores: Path | None
) -> After:
    """A generator's outputs join, scored by every metric of the board that can be run here.

    scores: a table of what other metrics of the board give them.
    """
    frame = read_frame(path, as_text=True)
    rows = read_rows({str(column): frame[column].tolist() for column in frame.columns}, path)
    known: dict[tuple[str, str], Scores] = {}
    table = read_frame(scores, as_text=True) if scores else None

    def prepare(seen: OpenBoard) -> Prepared:
        now = seen.dataset
        plain = check_name(name, {output.generator for output in now.outputs.values()}, "generator")
        outputs = generator_outputs(rows, plain, now, path, allow_missing=allow_missing)
        if clash := [one.output for one in outputs if one.output in now.outputs]:
            raise UsageError(f"output {clash[0]!r} is on the board already; give another --name")
        said: dict[str, Any] = ({"kind": "human"} if human else {}) | ({"family": family} if family else {})
        about: dict[str, Any] = {"outputs": len(outputs)} | ({"generator": said} if said else {})
        alone = Submission(Entry(0, "", "generator", "", plain, by or ANONYMOUS, about), outputs, (), NO_FACTS)
        board = board_at(now, [alone])
        given = given_scores(table, board, outputs, scores) if table is not None and scores else []
        about |= {"scores_given": [one.rater.rater for one in given]} if given else {}
        computed, lines = _scored(seen, board, outputs, known, {one.rater.rater: one for one in given})
        facts = [one.facts for one in computed]
        kept = replace(
            alone,
            entry=replace(alone.entry, about=about),
            raters=tuple(one.rater for one in computed),
            facts=tidy_facts(concat_facts(facts)) if facts else tidy_facts(NO_FACTS),
        )
        return Prepared(_maker(kept), [f"{len(outputs):,} outputs", *lines], {})

    return joined(folder, prepare)


def _maker(kept: Submission) -> Callable[[Entry], Submission]:
    """The submission with its place in the history."""

    def make(place: Entry) -> Submission:
        mine = kept.entry
        return replace(kept, entry=replace(mine, version=place.version, at=place.at, digest=place.digest))

    return make


def _scored(
    seen: OpenBoard,
    board: Dataset,
    outputs: Sequence[Output],
    known: dict[tuple[str, str], Scores],
    given: Mapping[str, Scores],
) -> tuple[list[Scores], list[str]]:
    """The scores of all metrics that can be run, and in words what each came to.

    known: scores by name and signature, which a second try takes from the first. given: those that were handed in.
    """
    there = [one for one in board.raters.values() if one.kind == "metric"]
    found: list[Scores] = []
    lines: list[str] = []
    silent: dict[str, list[str]] = {}
    for place, one in enumerate(there, 1):
        key = one.rater, str(one.about.get("signature", ""))
        if one.rater in given:
            found.append(given[one.rater])
            lines.append(f"{one.rater}: as given, {_came_to(given[one.rater])}")
            continue
        try:
            if key not in known:
                metric = _runnable(seen, one)
                with show.progress(f"scoring, metric {place} of {len(there)}") as advance:
                    known[key] = score_outputs(
                        metric, board, outputs, name=one.rater, at_once=TOGETHER, progress=advance
                    )
        except MetalError as error:
            silent.setdefault(str(error), []).append(one.rater)
            continue
        found.append(known[key])
        lines.append(f"{one.rater}: {_came_to(known[key])}")
    lines += [f"not scored by {', '.join(names)}: {reason}" for reason, names in silent.items()]
    return found, lines


def _came_to(scores: Scores) -> str:
    facts = scores.facts
    silent = Counter(facts.loc[facts["score"].isna(), "reason"].astype(str))
    said = "".join(f"; {count:,} without score, {reason}" for reason, count in silent.most_common(3))
    given = facts["score"].dropna()
    mean = f", mean {given.mean():.4g}" if len(given) else ""
    return f"{len(given):,} scored{mean}{said}"


def _runnable(seen: OpenBoard, wanted: Rater) -> Metric:
    """The metric behind a rater. Raises UsageError where it cannot be run here, or would give other scores."""
    program = _program(seen, wanted.rater)
    if program:
        path, about = program
        if about.get("reads"):
            raise UsageError(f"its program reads what is not on the board ({about['reads']})")
        function = str(about.get("function", "score"))
        metric = isolated_metric(path, function, limits=_limits(about))
        if _signed(metric, wanted.rater, function) != wanted.about.get("signature"):
            raise UsageError("its program on the board is not the one that joined")
        return _directed(replace(metric, signature=_signed(metric, wanted.rater, function)), wanted)
    if not wanted.about.get("signature"):
        raise UsageError("it is not known how it was computed")
    if not is_built_in(read_name(wanted.rater).name):
        raise UsageError("its program is not on the board")
    metric = find_metric(wanted.rater)
    if metric.signature != wanted.about["signature"]:
        raise UsageError(f"it would be computed otherwise here ({metric.signature})")
    return metric


def _signed(metric: Metric, name: str, function: str) -> str:
    """The signature of a program: its name on the board in place of its path, which is the submitter's."""
    return f"{name}|{function}|{metric.signature.removeprefix(f'{metric.name}|')}"


def _directed(metric: Metric, wanted: Rater) -> Metric:
    """The metric in the direction it joined with."""
    direction: Direction = "lower" if wanted.about.get("direction") == "lower" else "higher"
    return metric if metric.direction == direction else replace(metric, direction=direction)


def _program(seen: OpenBoard, name: str) -> tuple[Path, Mapping[str, Any]] | None:
    """The program of a submitted metric and what is known of it."""
    for entry in standing(seen.entries, seen.version):
        path = submission_folder(seen.folder, entry.version) / PROGRAM
        if (entry.what, entry.name) == ("metric", name) and path.is_file():
            return path, entry.about or {}
    return None


def _limits(about: Mapping[str, Any]) -> Limits:
    try:
        return Limits(seconds=float(about.get("seconds", 600)), memory_mb=int(about.get("memory", 4096)))
    except (TypeError, ValueError, OverflowError):
        raise UsageError("the limits it joined with are no numbers") from None


def member_scores(folder: Path, frame: pd.DataFrame, where: Path, names: Sequence[str]) -> pd.DataFrame:
    """Scores by some of the board's metrics of texts for its sources: a row an output, a column a metric.

    frame: columns source and text. Raises UsageError for a metric that cannot be run here.
    """
    seen = open_board(folder)
    rows = read_rows({str(column): frame[column].tolist() for column in frame.columns}, where)
    outputs = generator_outputs(rows, where.stem, seen.dataset, where, allow_missing=True)
    board = replace(seen.dataset, outputs={output.output: output for output in outputs})
    table = {"output": [output.output for output in outputs]}
    for name in names:
        try:
            metric = _runnable(seen, board.raters[name]) if name in board.raters else None
        except MetalError as error:
            raise UsageError(f"{name} cannot be run here ({error}); give its scores in a table") from None
        if metric is None:
            raise UsageError(f"{name} is not on the board {folder}; give its scores in a table")
        table[name] = score_outputs(metric, board, outputs, name=name).facts["score"].tolist()
    return pd.DataFrame(table)


# ---------------------------------------------------------------- a metric


def submit_metric(
    folder: Path,
    path: Path,
    *,
    name: str,
    by: str,
    direction: Direction | None,
    function: str,
    signature: str,
    reads: tuple[Path, ...],
    seconds: float,
    memory: int,
) -> After:
    """A metric joins: its program is run on every output of the board, or its scores are read."""
    if not path.is_file():
        raise UsageError(f"{path}: no such file; give a program (metric.py) or a table of scores")
    limits = Limits(seconds=seconds, memory_mb=memory)
    is_program = path.suffix == ".py"
    if is_program and signature:
        raise UsageError("--signature goes with a table of scores; a program's is made from its file")
    if not is_program and (reads or function != "score"):
        raise UsageError("--reads and --function go with a program")
    metric = isolated_metric(path, function, readable=reads, limits=limits) if is_program else None
    content = path.read_bytes()
    tried: list[Scores] = []
    if metric:
        show.say("Run apart: " + "; ".join(protections(limits)))

    def prepare(seen: OpenBoard) -> Prepared:
        now = with_metric_score(seen.dataset)
        plain = check_name(name, now.raters, "rater")
        about: dict[str, Any] = {"file": path.name}
        if metric:
            signed = _signed(metric, plain, function)
            mine = replace(metric, direction=direction or metric.direction, signature=signed)
            scores, lines = _by_program(mine, now, plain, tried)
            tried[:] = [scores]
            about |= {"function": function, "seconds": seconds, "memory": memory}
            about |= {"reads": ", ".join(one.name for one in reads)} if reads else {}
        else:
            scores, lines = _by_table(path, content, now, plain, direction or "higher", signature)
        if not scores.facts["score"].notna().any():
            raise UsageError(f"{path.name} gives no output a score ({_came_to(scores)}); it does not join")
        about |= {"signature": scores.rater.about["signature"], "direction": scores.rater.about["direction"]}
        entry = Entry(0, "", "metric", "", plain, by or ANONYMOUS, about)
        kept = Submission(entry, (), (scores.rater,), scores.facts)
        return Prepared(_maker(kept), [_came_to(scores), *lines], {PROGRAM: content} if metric else {})

    return joined(folder, prepare)


def _by_program(metric: Metric, dataset: Dataset, name: str, tried: Sequence[Scores]) -> tuple[Scores, list[str]]:
    """The program's scores; tried: those of an earlier try, of which only what is missing is computed."""
    outputs = outputs_to_score(dataset, [metric])
    wanted = metric_rater(metric, name)
    earlier = next((one for one in tried if not changed(wanted, one, dataset)), None)
    with show.progress("scoring") as advance:
        wanting = not_in(earlier, outputs)
        scores = score_outputs(metric, dataset, wanting, name=name, at_once=TOGETHER, progress=advance)
    scores = together(earlier, scores, dataset) if earlier else scores
    left = len(dataset.outputs) - len(outputs)
    return scores, [f"{left:,} outputs have no text, or are not to be rated"] if left else []


def _by_table(
    path: Path, content: bytes, dataset: Dataset, name: str, direction: Any, signature: str
) -> tuple[Scores, list[str]]:
    from hashlib import blake2b

    table = Table(path, read_frame(path, as_text=True), 1 if path.suffix.lower() in (".jsonl", ".parquet") else 2)
    digest = blake2b(content, digest_size=8).hexdigest()
    said = f"{signature or name}|from:{path.name}|blake2b:{digest}"
    one = rater(name, said, direction, negated=direction == "lower")
    scores, lacking = outside_scores(table, dataset, one, list(dataset.outputs.values()))
    return scores, [f"{len(lacking):,} outputs of the board have no score in {path.name}"] if lacking else []


# ---------------------------------------------------------------- withdrawn


def withdraw(folder: Path, name: str, by: str) -> After:
    """A submission leaves the board; it stays in the history."""

    def prepare(seen: OpenBoard) -> Prepared:
        gone = find_standing(seen.entries, name)
        about = {"was": gone.what, "version": gone.version}

        def make(place: Entry) -> Entry:
            return replace(place, what="withdrawn", name=gone.name, by=by or ANONYMOUS, about=about)

        return Prepared(make, [f"it was {gone.what} {gone.name} of version {gone.version}, by {gone.by}"], {})

    return joined(folder, prepare)
