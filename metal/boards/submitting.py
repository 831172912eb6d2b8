"""How a submission joins a board: prepared outside the board's lock, and written if nobody else was
faster.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from metal.boards.history import (
    ANONYMOUS,
    Entry,
    Submission,
    board_at,
    check_name,
    find_standing,
    generator_outputs,
    read_rows,
    standing,
)
from metal.boards.lint import identical_texts
from metal.boards.store import (
    PROGRAM,
    OpenBoard,
    add_entry,
    is_writable,
    kept_program,
    open_board,
    read_file,
)
from metal.data.dataset import Dataset, concat_facts
from metal.data.missing import no_such
from metal.data.progress import Progress
from metal.data.ratings import FACTS, tidy_facts
from metal.data.records import Direction, Output, Rater
from metal.data.tables.files import read_frame
from metal.errors import MetalError, UsageError
from metal.raters.isolation import Limits, isolated_metric, protections
from metal.raters.metrics import Metric, find_metric, is_built_in
from metal.raters.metrics.contract import read_name
from metal.raters.metrics.dataset_scores import (
    Scores,
    about_references,
    changed,
    file_scores,
    given_scores,
    metric_rater,
    not_in,
    outputs_to_score,
    score_outputs,
    together,
    with_metric_score,
)

TRIES = 20  # how often a submission is prepared again because others joined meanwhile
COMPUTED = ("chrf", "rouge-l")  # metrics that join a board where no metric can be run
ALL_AT_ONCE = 10**9  # texts a program gets at a time: its limits are for the whole run


@dataclass(frozen=True)
class Joined:
    """The board after a submission. lines: the outcome, in words. protections: how its program was
    isolated.
    """

    board: OpenBoard
    lines: tuple[str, ...]
    protections: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prepared:
    """A submission ready to write, valid for one version of the board."""

    new: Entry | Submission
    lines: Sequence[str]
    files: Mapping[str, bytes] = field(default_factory=dict)


def join_board(
    folder: Path,
    prepare: Callable[[OpenBoard], Prepared],
    ready: tuple[OpenBoard, Prepared] | None = None,
) -> Joined:
    """Prepare a submission for the current board and write it; prepare it again if others joined in
    the meantime.

    ready: what was prepared, for the board as it was then.
    """
    for _ in range(TRIES):
        seen = ready[0] if ready else open_board(folder)
        if not is_writable(folder):  # said before a metric takes an hour
            raise UsageError(f"{folder} cannot be written, but a submission has to be stored there")
        prepared = ready[1] if ready else prepare(seen)
        ready = None
        try:
            board = add_entry(folder, seen, prepared.new, prepared.files)
        except OSError as error:
            raise UsageError(
                f"{folder} cannot be written ({error.strerror}); a submission needs that"
            ) from None
        if board:
            return Joined(board, tuple(prepared.lines))
    raise UsageError(
        f"{folder}: other submissions keep arriving; nothing was written. Run this again"
    )


# ---------------------------------------------------------------- a generator


def submit_generator(
    folder: Path,
    path: Path,
    *,
    name: str,
    by: str,
    human: bool,
    family: str,
    allow_missing: bool,
    scores: Path | None,
    progress: Progress,
) -> Joined:
    """A generator's outputs join, scored by every metric of the board that can be run here.

    scores: a table with the scores of the board's other metrics. progress: called with the steps
    done and the steps in all.
    """
    rows = read_rows(read_frame(path).to_dict("list"), path)
    computed: dict[tuple[str, str], Scores] = {}
    table = read_frame(scores) if scores else None

    def prepare(seen: OpenBoard) -> Prepared:
        dataset = seen.dataset
        plain = check_name(
            name, {output.generator for output in dataset.outputs.values()}, "generator"
        )
        outputs = generator_outputs(rows, plain, dataset, path, allow_missing=allow_missing)
        if clash := [output.output for output in outputs if output.output in dataset.outputs]:
            raise UsageError(f"output {clash[0]!r} is on the board already; give another `name`")
        about: dict[str, Any] = {"outputs": len(outputs), **_declared(human, family)}
        entry = Entry(0, "", "generator", "", plain, by or ANONYMOUS, about)
        unscored = Submission(entry, outputs, (), pd.DataFrame(columns=list(FACTS)))
        board = board_at(dataset, [unscored])
        given: dict[str, Scores] = {}
        if table is not None and scores:
            handed_in = given_scores(table, board, outputs, scores)
            given = {metric.rater.rater: metric for metric in handed_in}
            about |= {"scores_given": list(given)}
        all_scores, lines = _scores_of_board_metrics(
            seen, board, outputs, computed, given, progress
        )
        facts = [metric.facts for metric in all_scores]
        submission = replace(
            unscored,
            entry=replace(entry, about=about),
            raters=tuple(metric.rater for metric in all_scores),
            facts=tidy_facts(concat_facts(facts) if facts else unscored.facts),
        )
        return Prepared(
            submission, [f"{len(outputs):,} outputs", *identical_texts(outputs, dataset), *lines]
        )

    first = open_board(folder)
    prepared = prepare(first)
    comparable = getattr(prepared.new, "raters", ())
    lines = [] if comparable else _computed_metrics(folder, first, progress)
    joined = join_board(folder, prepare, None if lines else (first, prepared))
    return replace(joined, lines=(*lines, *joined.lines))


def _declared(human: bool, family: str) -> dict[str, Any]:
    """What a generator was declared to be, in the form of its entry."""
    declared = {"kind": "human"} if human else {}
    if family:
        declared["family"] = family
    return {"generator": declared} if declared else {}


def _computed_metrics(folder: Path, seen: OpenBoard, progress: Progress) -> list[str]:
    """Add METAL's own metrics to a board if none of its metrics can be run here, so that all its
    generators can be ranked.

    Returns a line about each, or the reason why there is none.
    """
    lines: list[str] = []
    for name in COMPUTED:

        def prepare(board: OpenBoard, name: str = name) -> Prepared:
            dataset = with_metric_score(board.dataset)
            metric = find_metric(name)
            outputs = outputs_to_score(dataset, [metric])
            scores = score_outputs(metric, dataset, outputs, progress=progress)
            about = {key: scores.rater.about[key] for key in ("signature", "direction")}
            entry = Entry(
                0, "", "metric", "", check_name(name, dataset.raters, "rater"), "METAL", about
            )
            return Prepared(
                Submission(entry, (), (scores.rater,), scores.facts), [_summary(scores)]
            )

        if name in seen.dataset.raters:
            continue
        try:
            joined = join_board(folder, prepare)
        except UsageError as error:
            return [*lines, f"METAL can compute no metric of its own here: {error}"]
        lines.append(
            f"{name} joins, computed by METAL for all generators ({'; '.join(joined.lines)}): none"
            " of the board's metrics can be run here"
        )
    return lines


def _scores_of_board_metrics(
    seen: OpenBoard,
    board: Dataset,
    outputs: Sequence[Output],
    computed: dict[tuple[str, str], Scores],
    given: Mapping[str, Scores],
    progress: Progress,
) -> tuple[list[Scores], list[str]]:
    """The scores of all metrics that can be run here, and a line about each.

    computed: scores by name and signature, which a second attempt takes over from the first. given:
    scores that were submitted.
    """
    metrics = [metric for metric in board.raters.values() if metric.kind == "metric"]
    scores: list[Scores] = []
    lines: list[str] = []
    not_scored: dict[str, list[str]] = {}
    ran: list[Metric] = []
    for place, wanted in enumerate(metrics):
        name = wanted.rater
        key = name, str(wanted.about.get("signature", ""))
        if name in given:
            scores.append(given[name])
            lines.append(f"{name}: as given, {_summary(given[name])}")
            continue

        def advance(done: int, total: int, place: int = place) -> None:
            progress(place * total + done, len(metrics) * total)

        try:
            metric = _runnable(seen, wanted)
            if key not in computed:
                computed[key] = score_outputs(
                    metric, board, outputs, name=name, at_once=ALL_AT_ONCE, progress=advance
                )
        except MetalError as error:
            not_scored.setdefault(str(error), []).append(name)
            continue
        ran.append(metric)
        scores.append(computed[key])
        lines.append(f"{name}: {_summary(computed[key])}")
    lines += [f"not scored by {', '.join(names)}: {reason}" for reason, names in not_scored.items()]
    lines += about_references(ran, board, outputs)
    return scores, lines


def _summary(scores: Scores) -> str:
    """`14 scored, mean 0.3; 2 without score, REASON`."""
    facts = scores.facts
    reasons = Counter(facts.loc[facts["score"].isna(), "reason"].astype(str))
    missing = "".join(
        f"; {count:,} without score, {reason}" for reason, count in reasons.most_common(3)
    )
    numbers = facts["score"].dropna()
    mean = f", mean {numbers.mean():.4g}" if len(numbers) else ""
    return f"{len(numbers):,} scored{mean}{missing}"


# ---------------------------------------------------------------- running the board's metrics


def _runnable(seen: OpenBoard, wanted: Rater) -> Metric:
    """The metric behind a rater. Raises UsageError if it cannot be run here, or would give other
    scores.
    """
    for entry in standing(seen.entries, seen.version):
        if (entry.what, entry.name) == ("metric", wanted.rater):
            program = kept_program(seen.folder, entry.version)
            if program:
                return _submitted_metric(program, entry.about or {}, wanted)
    if not wanted.about.get("signature"):
        raise UsageError("how it was computed is not recorded")
    if not is_built_in(read_name(wanted.rater).name):
        raise UsageError("its program is not on the board")
    metric = find_metric(wanted.rater)
    if metric.signature != wanted.about["signature"]:
        raise UsageError(f"it would be computed differently here ({metric.signature})")
    return metric


def _submitted_metric(program: Path, about: Mapping[str, Any], wanted: Rater) -> Metric:
    """The metric of a program that joined the board, with the direction it joined with. about: that
    of its entry.
    """
    if about.get("reads"):
        raise UsageError(f"its program reads what is not on the board ({about['reads']})")
    try:
        limits = Limits(
            seconds=float(about.get("seconds", 600)), memory_mb=int(about.get("memory", 4096))
        )
    except (TypeError, ValueError, OverflowError):
        raise UsageError("the limits it joined with are not numbers") from None
    function = str(about.get("function", "score"))
    metric = isolated_metric(program, function, limits=limits)
    signature = _program_signature(metric, wanted.rater, function)
    if signature != wanted.about.get("signature"):
        raise UsageError("its program on the board is not the one that joined")
    direction: Direction = "lower" if wanted.about.get("direction") == "lower" else "higher"
    return replace(metric, signature=signature, direction=direction)


def _program_signature(metric: Metric, name: str, function: str) -> str:
    """A program's signature with its name on the board in place of its path, which is the
    submitter's.
    """
    return f"{name}|{function}|{metric.signature.removeprefix(f'{metric.name}|')}"


def member_scores(
    folder: Path, frame: pd.DataFrame, where: Path, names: Sequence[str]
) -> pd.DataFrame:
    """Scores of texts for a board's sources by some of its metrics: one row per output, one column
    per metric.

    frame: columns source and text. Raises UsageError for a metric that cannot be run here.
    """
    seen = open_board(folder)
    outputs = generator_outputs(
        read_rows(frame.to_dict("list"), where), where.stem, seen.dataset, where, allow_missing=True
    )
    board = replace(seen.dataset, outputs={output.output: output for output in outputs})
    table = {"output": [output.output for output in outputs]}
    for name in names:
        if name not in board.raters:
            raise UsageError(f"{name} is not on the board {folder}; give its scores in a table")
        try:
            metric = _runnable(seen, board.raters[name])
        except MetalError as error:
            raise UsageError(
                f"{name} cannot be run here ({error}); give its scores in a table"
            ) from None
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
    progress: Progress,
) -> Joined:
    """A metric joins: its program is run on every output of the board, or its scores are read from
    a table.
    """
    content = read_file(path)
    if content is None:
        raise no_such(path, "file", "; give a program (metric.py) or a table of scores")
    limits = Limits(seconds=seconds, memory_mb=memory)
    is_program = path.suffix == ".py"
    _check_options(is_program, signature=signature, reads=reads, function=function)
    metric = isolated_metric(path, function, readable=reads, limits=limits) if is_program else None
    earlier: Scores | None = None

    def prepare(seen: OpenBoard) -> Prepared:
        nonlocal earlier
        dataset = with_metric_score(seen.dataset)
        plain = check_name(name, dataset.raters, "rater")
        about: dict[str, Any] = {"file": path.name}
        if metric:
            signed = _program_signature(metric, plain, function)
            directed = replace(metric, direction=direction or metric.direction, signature=signed)
            scores, lines = _program_scores(directed, dataset, plain, earlier, progress)
            earlier = scores
            about |= {"function": function, "seconds": seconds, "memory": memory}
            about |= {"reads": ", ".join(path.name for path in reads)} if reads else {}
        else:
            outputs = list(dataset.outputs.values())
            scores, lacking = file_scores(
                path, plain, direction or "higher", signature, dataset, outputs
            )
            lines = (
                [f"{len(lacking):,} outputs of the board have no score in {path.name}"]
                if lacking
                else []
            )
        if not scores.facts["score"].notna().any():
            raise UsageError(f"{path.name} scores no output ({_summary(scores)}); it is not added")
        about |= {
            "signature": scores.rater.about["signature"],
            "direction": scores.rater.about["direction"],
        }
        entry = Entry(0, "", "metric", "", plain, by or ANONYMOUS, about)
        submission = Submission(entry, (), (scores.rater,), scores.facts)
        return Prepared(
            submission, [_summary(scores), *lines], {PROGRAM: content} if metric else {}
        )

    joined = join_board(folder, prepare)
    return replace(joined, protections=tuple(protections(limits))) if is_program else joined


def _check_options(
    is_program: bool, *, signature: str, reads: tuple[Path, ...], function: str
) -> None:
    """Raise UsageError for an option that does not apply to the file."""
    if is_program and signature:
        raise UsageError("`signature` applies only to a table of scores; a program has its own")
    if not is_program and (reads or function != "score"):
        raise UsageError("`reads` and `function` go with a program")


def _program_scores(
    metric: Metric, dataset: Dataset, name: str, earlier: Scores | None, progress: Progress
) -> tuple[Scores, list[str]]:
    """The program's scores. earlier: scores of an earlier attempt; only missing ones are
    computed.
    """
    outputs = outputs_to_score(dataset, [metric])
    if earlier and changed(metric_rater(metric, name), earlier, dataset):
        earlier = None
    missing = not_in(earlier, outputs)
    scores = score_outputs(
        metric, dataset, missing, name=name, at_once=ALL_AT_ONCE, progress=progress
    )
    scores = together(earlier, scores, dataset) if earlier else scores
    left_out = len(dataset.outputs) - len(outputs)
    lines = [f"{left_out:,} outputs have no text, or are not to be rated"] if left_out else []
    return scores, lines + about_references([metric], dataset, outputs)


# ---------------------------------------------------------------- withdrawn


def withdraw(folder: Path, name: str, by: str) -> Joined:
    """A submission leaves the board; it stays in the history."""

    def prepare(seen: OpenBoard) -> Prepared:
        gone = find_standing(seen.entries, name)
        about = {"was": gone.what, "version": gone.version}
        entry = Entry(0, "", "withdrawn", "", gone.name, by or ANONYMOUS, about)
        return Prepared(
            entry, [f"it was {gone.what} {gone.name} of version {gone.version}, by {gone.by}"]
        )

    return join_board(folder, prepare)
