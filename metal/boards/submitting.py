"""Add a submission to a board. It is prepared without the board's lock, and written if the board
has not changed meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
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
)
from metal.boards.lint import identical_texts
from metal.boards.metrics import (
    ALL_AT_ONCE,
    program_signature,
    scores_of_board_metrics,
    summary,
)
from metal.boards.store import (
    PROGRAM,
    OpenBoard,
    add_entry,
    is_writable,
    open_board,
    read_file,
)
from metal.data.dataset import Dataset, concat_facts
from metal.data.missing import no_such
from metal.data.progress import Progress, no_progress
from metal.data.ratings import FACTS, tidy_facts
from metal.data.records import Direction, Output
from metal.data.tables.files import read_frame
from metal.errors import UsageError
from metal.raters.isolation import Limits, isolated_metric, protections
from metal.raters.metrics import Metric, find_metric
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


@dataclass(frozen=True)
class Joined:
    """The board after a submission. lines: sentences about the outcome. protections: how the
    submitted program was isolated.
    """

    board: OpenBoard
    lines: tuple[str, ...]
    protections: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prepared:
    """A submission that is ready to be written, for one version of the board only."""

    new: Entry | Submission
    lines: Sequence[str]
    files: Mapping[str, bytes] = field(default_factory=dict)


def join_board(
    folder: Path,
    prepare: Callable[[OpenBoard], Prepared],
    ready: tuple[OpenBoard, Prepared] | None = None,
) -> Joined:
    """Prepare a submission for the current board and write it. If another joined in the meantime,
    prepare it again.

    ready: a submission already prepared, if there is one.
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
    """Add a generator's outputs to a board, and score them with every metric of the board that can
    be run here.

    scores: a table with scores by the board's other metrics. progress: called with the number of
    steps done and of all steps.
    """
    generator = _NewGenerator(
        path=path,
        rows=read_rows(read_frame(path).to_dict("list"), path),
        name=name,
        by=by,
        declared=_declared(human, family),
        allow_missing=allow_missing,
        scores=scores,
        table=read_frame(scores) if scores else None,
        progress=progress,
    )
    first = open_board(folder)
    prepared = generator.prepare(first)
    comparable = getattr(prepared.new, "raters", ())
    lines = [] if comparable else _computed_metrics(folder, first, progress)
    joined = join_board(folder, generator.prepare, None if lines else (first, prepared))
    return replace(joined, lines=(*lines, *joined.lines))


def check_generator(
    folder: Path, path: Path, *, name: str, allow_missing: bool, scores: Path | None
) -> tuple[str, ...]:
    """What `submit_generator` checks before it scores anything; return lines about the outputs."""
    rows = read_rows(read_frame(path).to_dict("list"), path)
    generator = _NewGenerator(path, rows, name, "", {}, allow_missing, None, None, no_progress)
    board = open_board(folder).dataset
    _, outputs = generator.checked(board)
    by_metric = given_scores(read_frame(scores), board, outputs, scores) if scores else []
    lines = [f"{each.rater.rater}: as given, {summary(each)}" for each in by_metric]
    return (f"{len(outputs):,} outputs", *identical_texts(outputs, board), *lines)


@dataclass(frozen=True)
class _NewGenerator:
    """A submitted generator. scores: the file with scores by the board's other metrics; table: its
    contents. computed: scores by a metric's name and signature, kept in case of another attempt.
    """

    path: Path
    rows: Sequence[tuple[str, str]]
    name: str
    by: str
    declared: Mapping[str, Any]
    allow_missing: bool
    scores: Path | None
    table: pd.DataFrame | None
    progress: Progress
    computed: dict[tuple[str, str], Scores] = field(default_factory=dict)

    def prepare(self, seen: OpenBoard) -> Prepared:
        """Prepare the generator's entry, outputs and scores for a version of the board."""
        dataset = seen.dataset
        plain, outputs = self.checked(dataset)
        details: dict[str, Any] = {"outputs": len(outputs), **self.declared}
        entry = Entry(0, "", "generator", "", plain, self.by or ANONYMOUS, details)
        unscored = Submission(entry, outputs, (), pd.DataFrame(columns=list(FACTS)))
        board = board_at(dataset, [unscored])
        handed_in: dict[str, Scores] = {}
        if self.table is not None and self.scores:
            scores_of_file = given_scores(self.table, board, outputs, self.scores)
            handed_in = {metric.rater.rater: metric for metric in scores_of_file}
            details |= {"scores_given": list(handed_in)}
        all_scores, lines = scores_of_board_metrics(
            seen, board, outputs, self.computed, handed_in, self.progress
        )
        facts = [metric.facts for metric in all_scores]
        submission = replace(
            unscored,
            entry=replace(entry, about=details),
            raters=tuple(metric.rater for metric in all_scores),
            facts=tidy_facts(concat_facts(facts) if facts else unscored.facts),
        )
        return Prepared(
            submission, [f"{len(outputs):,} outputs", *identical_texts(outputs, dataset), *lines]
        )

    def checked(self, dataset: Dataset) -> tuple[str, tuple[Output, ...]]:
        """The generator's name as it is written on the board, and its outputs."""
        generators = {output.generator for output in dataset.outputs.values()}
        plain = check_name(self.name, generators, "generator")
        outputs = generator_outputs(
            self.rows, plain, dataset, self.path, allow_missing=self.allow_missing
        )
        for output in outputs:
            if output.output in dataset.outputs:
                raise UsageError(
                    f"output {output.output!r} is on the board already; give another `name`"
                )
        return plain, outputs


def _declared(human: bool, family: str) -> dict[str, Any]:
    """The values of an entry that say whether a generator is human, and its family."""
    declared = {"kind": "human"} if human else {}
    if family:
        declared["family"] = family
    return {"generator": declared} if declared else {}


def _computed_metrics(folder: Path, seen: OpenBoard, progress: Progress) -> list[str]:
    """Add METAL's own metrics to a board if none of the board's metrics can be run here, so that
    all generators can be ranked.

    Returns a line about each metric, or the reason why none was added.
    """
    lines: list[str] = []
    for name in COMPUTED:
        if name in seen.dataset.raters:
            continue
        try:
            joined = join_board(folder, partial(_computed_metric, name=name, progress=progress))
        except UsageError as error:
            return [*lines, f"METAL can compute no metric of its own here: {error}"]
        lines.append(
            f"{name} joins, computed by METAL for all generators ({'; '.join(joined.lines)}): none"
            " of the board's metrics can be run here"
        )
    return lines


def _computed_metric(board: OpenBoard, *, name: str, progress: Progress) -> Prepared:
    """Prepare one of METAL's own metrics, with scores of all outputs of the board."""
    dataset = with_metric_score(board.dataset)
    metric = find_metric(name)
    outputs = outputs_to_score(dataset, [metric])
    scores = score_outputs(metric, dataset, outputs, progress=progress)
    details = {key: scores.rater.about[key] for key in ("signature", "direction")}
    plain = check_name(name, dataset.raters, "rater")
    entry = Entry(0, "", "metric", "", plain, "METAL", details)
    return Prepared(Submission(entry, (), (scores.rater,), scores.facts), [summary(scores)])


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
    """Add a metric to a board: run its program on every output, or read its scores from a table."""
    content = read_file(path)
    if content is None:
        raise no_such(path, "file", "; give a program (metric.py) or a table of scores")
    limits = Limits(seconds=seconds, memory_mb=memory)
    is_program = path.suffix == ".py"
    _check_options(is_program, signature=signature, reads=reads, function=function)
    new = _NewMetric(path, content, name, by, direction, progress, signature=signature)
    if is_program:
        new.program = isolated_metric(path, function, readable=reads, limits=limits)
        new.how = {"function": function, "seconds": seconds, "memory": memory}
        new.how |= {"reads": ", ".join(file.name for file in reads)} if reads else {}
    joined = join_board(folder, new.prepare)
    return replace(joined, protections=tuple(protections(limits))) if is_program else joined


def check_metric(
    folder: Path, path: Path, *, name: str, direction: Direction | None, signature: str
) -> tuple[str, ...]:
    """What `submit_metric` checks before it runs a program; of a table, all scores are checked.
    Return lines about it.
    """
    content = read_file(path)
    if content is None:
        raise no_such(path, "file", "; give a program (metric.py) or a table of scores")
    new = _NewMetric(path, content, name, "", direction, no_progress, signature=signature)
    seen = open_board(folder)
    if path.suffix != ".py":
        return tuple(new.prepare(seen).lines)
    check_name(name, seen.dataset.raters, "rater")
    return (f"a program of {len(content):,} bytes",)


@dataclass
class _NewMetric:
    """A submitted metric: a program, or a table of scores computed elsewhere.

    content: the file's contents. signature: given by the user for a table. how: the options with
    which the program runs. earlier: the scores of an earlier attempt.
    """

    path: Path
    content: bytes
    name: str
    by: str
    direction: Direction | None
    progress: Progress
    signature: str = ""
    program: Metric | None = None
    how: dict[str, Any] = field(default_factory=dict)
    earlier: Scores | None = None

    def prepare(self, seen: OpenBoard) -> Prepared:
        """Prepare the metric's entry and scores for a version of the board."""
        dataset = with_metric_score(seen.dataset)
        plain = check_name(self.name, dataset.raters, "rater")
        scores, lines = self._scores(dataset, plain)
        if not scores.facts["score"].notna().any():
            raise UsageError(
                f"{self.path.name} scores no output ({summary(scores)}); it is not added"
            )
        details = {"file": self.path.name, **self.how}
        details |= {key: scores.rater.about[key] for key in ("signature", "direction")}
        entry = Entry(0, "", "metric", "", plain, self.by or ANONYMOUS, details)
        submission = Submission(entry, (), (scores.rater,), scores.facts)
        files = {PROGRAM: self.content} if self.program else {}
        return Prepared(submission, [summary(scores), *lines], files)

    def _scores(self, dataset: Dataset, name: str) -> tuple[Scores, list[str]]:
        if self.program:
            signature = program_signature(self.program, name, self.how["function"])
            direction = self.direction or self.program.direction
            metric = replace(self.program, direction=direction, signature=signature)
            self.earlier, lines = _program_scores(
                metric, dataset, name, self.earlier, self.progress
            )
            return self.earlier, lines
        outputs = list(dataset.outputs.values())
        scores, lacking = file_scores(
            self.path, name, self.direction or "higher", self.signature, dataset, outputs
        )
        if not lacking:
            return scores, []
        return scores, [f"{len(lacking):,} outputs of the board have no score in {self.path.name}"]


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
    """Score the board's outputs with the program. earlier: scores of an earlier attempt; only
    missing scores are computed.
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
    """Withdraw a submission from the board. The history keeps it."""

    def prepare(seen: OpenBoard) -> Prepared:
        gone = find_standing(seen.entries, name)
        details = {"was": gone.what, "version": gone.version}
        entry = Entry(0, "", "withdrawn", "", gone.name, by or ANONYMOUS, details)
        return Prepared(
            entry, [f"it was {gone.what} {gone.name} of version {gone.version}, by {gone.by}"]
        )

    return join_board(folder, prepare)
