"""`metal.submit_generator`, `submit_metric`, `submit_withdraw`: a generator or metric joins a board, or leaves it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from metal.api.inputs import Folder, as_folders, no_progress

if TYPE_CHECKING:
    from metal.boards.board import Board
    from metal.boards.submitting import Joined
    from metal.data.records import Direction


@dataclass(frozen=True)
class Submitted:
    """A board after a submission.

    board: the dataset's name. version: of the board. what: generator, metric or withdrawn. name: of what joined or
    left. lines: what came of it, such as how many outputs each metric scored. protections: how a submitted program was
    kept apart. ranked: the new board of its main criterion, None where it could not be ranked, for the reason in
    not_ranked. by_settings: whether the board was ranked by kept settings of `metal.billboard(...)`, else by the
    defaults. earlier_ensembles: signatures of the ensembles the board had before.
    """

    board: str
    version: int
    what: str
    name: str
    lines: tuple[str, ...]
    protections: tuple[str, ...]
    ranked: Board | None = field(repr=False)
    not_ranked: str
    by_settings: bool
    earlier_ensembles: frozenset[str] = field(repr=False)


def submit_generator(
    board: Folder,
    outputs: Folder,
    *,
    name: str,
    by: str = "",
    human: bool = False,
    family: str = "",
    allow_missing: bool = False,
    scores: Folder | None = None,
    progress: Callable[[int, int], None] = no_progress,
) -> Submitted:
    """Add the generator whose outputs are in a file: a text for each source of the board.

    board: a dataset folder that `metal.billboard(...)` ranks. outputs: JSONL, CSV, TSV, Parquet or XLSX with the
    columns source and text (Billboard's seg_id and hyp are also accepted); every source of the languages in it occurs
    once. Every metric of the board that can be run here scores the outputs: METAL's own, and programs that were
    submitted. name: the generator's, on the board. by: who submits it; empty for anonymous. human: people wrote these.
    family: whose model it is (gpt, gemini, ...), for self-preference. allow_missing: accept outputs for some of the
    sources only. scores: a table with the scores of metrics that cannot be run here, such as COMET in its own
    environment: the column source and one for each metric, as on the board (higher is better). progress: called with
    steps done and in all, first of scoring, then of ranking.

    The submission is a new version of the board. Raises UsageError for a name that is taken, DataError that names every
    fault of the file; nothing is written then.
    """
    from metal.boards import submitting

    joined = submitting.submit_generator(
        Path(board),
        Path(outputs),
        name=name,
        by=by,
        human=human,
        family=family,
        allow_missing=allow_missing,
        scores=Path(scores) if scores else None,
        progress=progress,
    )
    return _submitted(joined, progress)


def submit_metric(
    board: Folder,
    metric: Folder,
    *,
    name: str,
    by: str = "",
    direction: Direction | None = None,
    function: str = "score",
    signature: str = "",
    reads: Folder | Iterable[Folder] = (),
    seconds: float = 600.0,
    memory: int = 4096,
    progress: Callable[[int, int], None] = no_progress,
) -> Submitted:
    """Add a metric: a program (metric.py), or a table of scores (CSV, TSV, JSONL, Parquet, XLSX).

    A program is a Python file with a function score(output, ...). It runs in a process of its own, with a limit on time
    and memory, and, as far as this system allows, without a network and without any file but its own, those of `reads`
    and Python's. It is kept with the board and scores generators that join later. A table has the columns output and
    score, or source, generator and score.

    board: a dataset folder that `metal.billboard(...)` ranks. name: the metric's, on the board. by: who submits it;
    empty for anonymous. direction: which scores are better, "higher" or "lower"; None for what the program says.
    function: the program's. signature: what the scores of a table depend on, such as model and version. reads: files
    and folders the program may read. seconds: its time. memory: its memory in MB. progress: called with steps done and
    in all, first of scoring, then of ranking.

    The submission is a new version of the board. Raises UsageError for a name that is taken and for a metric that gives
    no output a score, DataError for a table that cannot be used; nothing is written then.
    """
    from metal.boards import submitting

    joined = submitting.submit_metric(
        Path(board),
        Path(metric),
        name=name,
        by=by,
        direction=direction,
        function=function,
        signature=signature,
        reads=as_folders(reads),
        seconds=seconds,
        memory=memory,
        progress=progress,
    )
    return _submitted(joined, progress)


def submit_withdraw(
    board: Folder, name: str, *, by: str = "", progress: Callable[[int, int], None] = no_progress
) -> Submitted:
    """Take the submission `name` off a board. It stays in the history, and in every version it was part of.

    by: who withdraws it; empty for anonymous. Raises UnknownName where the board has no submission of this name.
    """
    from metal.boards import submitting

    return _submitted(submitting.withdraw(Path(board), name, by), progress)


def _submitted(joined: Joined, progress: Callable[[int, int], None]) -> Submitted:
    """The result, with the board ranked anew on its main criterion."""
    from metal.boards.board import billboard
    from metal.boards.cells import board_cells, main_criterion
    from metal.boards.store import has_settings, kept_settings, store_ensembles, stored_ensembles
    from metal.errors import MetalError
    from metal.genie.excluding import without_noisy

    board = joined.board
    stored = stored_ensembles(board.folder)
    ranked, not_ranked = None, ""
    try:
        settings = kept_settings(board.folder, board.version)
        dataset, _ = without_noisy(board.dataset, board.folder, (), settings.exclude_noisy)
        main = main_criterion([cell.criterion for cell in board_cells(dataset, settings)])
        ranked = billboard(dataset, replace(settings, criteria=(main,)), stored=stored, progress=progress)
        store_ensembles(board.folder, list(ranked.ensembles.values()))
    except MetalError as error:  # the submission stands; only its rank is unknown
        not_ranked = str(error)
    entry = board.entries[-1]
    return Submitted(
        board.base.card.name,
        entry.version,
        entry.what,
        entry.name,
        joined.lines,
        joined.protections,
        ranked,
        not_ranked,
        has_settings(board.folder),
        frozenset(str(record["ensemble"]) for record in stored),
    )
