"""Run the metrics of a board on outputs that are new to the board."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from metal.boards.history import generator_outputs, read_rows, standing
from metal.boards.store import OpenBoard, kept_program, open_board
from metal.data.dataset import Dataset
from metal.data.progress import Progress
from metal.data.records import Direction, Output, Rater
from metal.errors import MetalError, UsageError
from metal.raters.isolation import Limits, isolated_metric
from metal.raters.metrics import Metric, find_metric, is_built_in
from metal.raters.metrics.contract import read_name
from metal.raters.metrics.dataset_scores import Scores, about_references, score_outputs

ALL_AT_ONCE = 10**9  # texts a program gets at a time: its limits are for the whole run


def scores_of_board_metrics(
    seen: OpenBoard,
    board: Dataset,
    outputs: Sequence[Output],
    computed: dict[tuple[str, str], Scores],
    submitted: Mapping[str, Scores],
    progress: Progress,
) -> tuple[list[Scores], list[str]]:
    """Score new outputs with all metrics of the board that can be run here; also return a line
    about each metric.

    computed: scores by name and signature; scores of an earlier attempt are used again. submitted:
    scores that were submitted with the generator.
    """
    metrics = [metric for metric in board.raters.values() if metric.kind == "metric"]
    scores: list[Scores] = []
    lines: list[str] = []
    not_scored: dict[str, list[str]] = {}
    ran: list[Metric] = []
    for index, wanted in enumerate(metrics):
        name = wanted.rater
        key = name, str(wanted.about.get("signature", ""))
        if name in submitted:
            scores.append(submitted[name])
            lines.append(f"{name}: as given, {summary(submitted[name])}")
            continue

        def advance(done: int, total: int, index: int = index) -> None:
            progress(index * total + done, len(metrics) * total)

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
        lines.append(f"{name}: {summary(computed[key])}")
    lines += [f"not scored by {', '.join(names)}: {reason}" for reason, names in not_scored.items()]
    lines += about_references(ran, board, outputs)
    return scores, lines


def summary(scores: Scores) -> str:
    """A line on scores: `14 scored, mean 0.3; 2 without score, REASON`."""
    facts = scores.facts
    reasons = Counter(facts.loc[facts["score"].isna(), "reason"].astype(str))
    missing = "".join(
        f"; {count:,} without score, {reason}" for reason, count in reasons.most_common(3)
    )
    numbers = facts["score"].dropna()
    mean = f", mean {numbers.mean():.4g}" if len(numbers) else ""
    return f"{len(numbers):,} scored{mean}{missing}"


def _runnable(seen: OpenBoard, wanted: Rater) -> Metric:
    """The metric that gave a rater's scores. Raises UsageError if it cannot be run here, or would
    give other scores.
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


def _submitted_metric(program: Path, details: Mapping[str, Any], wanted: Rater) -> Metric:
    """The metric of a program that joined the board, with the direction declared then.

    details: what the program's entry recorded about it.
    """
    if details.get("reads"):
        raise UsageError(
            f"its program reads files that the board does not keep ({details['reads']})"
        )
    try:
        limits = Limits(
            seconds=float(details.get("seconds", 600)), memory_mb=int(details.get("memory", 4096))
        )
    except (TypeError, ValueError, OverflowError):
        raise UsageError("the limits it joined with are not numbers") from None
    function = str(details.get("function", "score"))
    metric = isolated_metric(program, function, limits=limits)
    signature = program_signature(metric, wanted.rater, function)
    if signature != wanted.about.get("signature"):
        raise UsageError("its program on the board is not the one that joined")
    direction: Direction = "lower" if wanted.about.get("direction") == "lower" else "higher"
    return replace(metric, signature=signature, direction=direction)


def program_signature(metric: Metric, name: str, function: str) -> str:
    """A program's signature, in which the name on the board replaces the path on the submitter's
    machine.
    """
    return f"{name}|{function}|{metric.signature.removeprefix(f'{metric.name}|')}"


def member_scores(
    folder: Path, frame: pd.DataFrame, file: Path, names: Sequence[str]
) -> pd.DataFrame:
    """Score texts for a board's sources with some of the board's metrics: one row per text, one
    column per metric.

    frame: columns source and text. Raises UsageError for a metric that cannot be run here.
    """
    seen = open_board(folder)
    outputs = generator_outputs(
        read_rows(frame.to_dict("list"), file), file.stem, seen.dataset, file, allow_missing=True
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
