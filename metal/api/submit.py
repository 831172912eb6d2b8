"""`metal.submit_generator`, `submit_metric`, `submit_withdraw`: a generator or metric joins a board, or leaves it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from metal.api.options import Option, Progress, StrPath, documented, no_progress

if TYPE_CHECKING:
    from metal.boards.board import Board
    from metal.boards.submitting import Joined


By = Annotated[str, Option("Who submits it. [default: anonymous]")]


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


@documented
def submit_generator(
    board: StrPath,
    outputs: StrPath,
    *,
    name: Annotated[str, Option("The generator's name on the board.")],
    by: By = "",
    human: Annotated[bool, Option("People wrote these.")] = False,
    family: Annotated[str, Option("Whose model it is (gpt, gemini, ...), for self-preference.")] = "",
    allow_missing: Annotated[bool, Option("Take outputs for some of the sources only.")] = False,
    scores: Annotated[
        StrPath | None, Option("Their scores by metrics that cannot be run here.", metavar="FILE")
    ] = None,
    progress: Progress | None = None,
) -> Submitted:
    """Add the generator whose outputs are in `outputs`: a text for each source of `board`.

    `outputs` is JSONL, CSV, TSV, Parquet or XLSX with the columns source and text (Billboard's seg_id and hyp do as
    well). All sources of the languages in it have to be there once. Every metric of the board that can be run here
    scores them: METAL's own, and programs that were submitted. Scores by others, such as COMET in its own environment,
    are handed in with `scores`: a table with the column source and one for each metric, as on the board (higher is
    better). The rest are named.

    Returns the board after the submission, which is a new version of it. progress: called with steps done and in all,
    first of scoring, then of ranking. Raises UsageError for a name that is taken, DataError that names every fault of
    the file; nothing is written then.
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
        progress=progress or no_progress,
    )
    return _submitted(joined, progress or no_progress)


@documented
def submit_metric(
    board: StrPath,
    metric: StrPath,
    *,
    name: Annotated[str, Option("The metric's name on the board.")],
    by: By = "",
    direction: Annotated[
        Literal["higher", "lower"] | None,
        Option("Which scores are better. [default: as the program says]", choices=("higher", "lower")),
    ] = None,
    function: Annotated[str, Option("The program's function.")] = "score",
    signature: Annotated[str, Option("What scores of a table depend on: model, version.", metavar="TEXT")] = "",
    reads: Annotated[Sequence[StrPath], Option("A file or folder the program may read.")] = (),
    seconds: Annotated[float, Option("Its time.", least=0, open_ends=True)] = 600.0,
    memory: Annotated[int, Option("Its memory in MB.", least=64)] = 4096,
    progress: Progress | None = None,
) -> Submitted:
    """Add a metric: `metric` is a program (metric.py), or a table of scores (CSV, TSV, JSONL, Parquet, XLSX).

    A program is a Python file with a function score(output, ...). It runs in a process
    of its own, with a limit on time and memory, and, as far as this system allows, without a network and without any
    file but its own, those of `reads` and Python's. It is kept with the board, and scores generators that join later.

    A table has the columns output and score, or source, generator and score.

    Returns the board after the submission, which is a new version of it. progress: called with steps done and in all,
    first of scoring, then of ranking. Raises UsageError for a name that is taken and for a metric that gives no output
    a score, DataError for a table that cannot be used; nothing is written then.
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
        reads=tuple(map(Path, reads)),
        seconds=seconds,
        memory=memory,
        progress=progress or no_progress,
    )
    return _submitted(joined, progress or no_progress)


@documented
def submit_withdraw(board: StrPath, name: str, *, by: By = "", progress: Progress | None = None) -> Submitted:
    """Take the submission `name` off `board`. It stays in the history, and in every version it was part of.

    Returns the board after it. Raises UnknownName where the board has no submission of this name.
    """
    from metal.boards import submitting

    return _submitted(submitting.withdraw(Path(board), name, by), progress or no_progress)


def _submitted(joined: Joined, progress: Progress) -> Submitted:
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
