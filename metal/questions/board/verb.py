"""`metal.billboard`: raters and generators ranked; `metal.submit_*`: a generator or metric joins a
board, or leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Unpack

from metal.api.options import (
    Names,
    Option,
    Pairs,
    Progress,
    StrPath,
    documented,
    documented_by,
    names,
    no_progress,
    settings_of,
)
from metal.api.read import NOWHERE, as_dataset, folder_of, load, with_runs
from metal.api.reading import ReadingOptions
from metal.boards.settings import AlphaRule, BoardSettings
from metal.errors import MetalError, UsageError

if TYPE_CHECKING:
    from metal.api.read import Data, Ratings
    from metal.boards.board import Board
    from metal.boards.store import OpenBoard
    from metal.boards.submitting import Joined
    from metal.questions.board.run import Billboard


@documented_by(BoardSettings)
def billboard(
    data: Data,
    *ratings: Ratings,
    reference: Annotated[
        str,
        Option(
            "People to compare with: group=expert, or rater=A1,A2. All others are ranked."
            " [default: all people]",
            metavar="PEOPLE",
        ),
    ] = "",
    criteria: Names = (),
    languages: Names = (),
    raters: Names = (),
    common: bool = False,
    expected: bool = False,
    exact: bool = False,
    members: Names = ("metric",),
    nonzero: int = 3,
    alpha: float | None = None,
    alpha_rule: AlphaRule = "smallest",
    human: Annotated[Names, Option("Generators that are people (for overrating).")] = (),
    families: Annotated[
        Pairs | None,
        Option(
            "Whose model a generator is, e.g. gpt.",
            metavar="GENERATOR=FAMILY",
            aliases=("--family",),
            rare=True,
        ),
    ] = None,
    exclude_noisy: str = "",
    at: Annotated[
        int | None,
        Option("Show the board at this version.", metavar="VERSION", least=1, rare=True),
    ] = None,
    resamples: int = 2000,
    permutations: int = 1000,
    seed: int = 0,
    progress: Progress | None = None,
    **reading: Unpack[ReadingOptions],
) -> Billboard:
    """Rank the raters of `data` by agreement with its people, and its generators by the raters that
    agree best.

    One ranking holds LLM judges, automatic metrics, and people outside the reference. It goes by
    Pearson's r with the mean of the reference people, over all outputs that both scored, with a 95%
    interval by source. Beside it are Spearman, Kendall, correlation between generators, soft
    pairwise accuracy, pairwise accuracy with ties, and the ranks that the data allow (`2 to 4`), at
    95% for all together. A sparse ensemble of metrics is fitted, and tested on generators it has
    not seen. If people are among the generators, the board shows who overrates machines.

    `ratings` are run folders (from `metal.judge` and `metal.score`, or an audit's) whose ratings
    are added. A judge of pairs (`metal.judge(pairs="all")`) also appears as NAME-pairs: an output's
    score is the share of its comparisons that it won.

    A dataset folder keeps its history in board/. It gets a new version whenever its data change or
    something is submitted (`metal.submit`); `at` shows an earlier version.

    Args:
        data: A dataset folder, a table of ratings (file or DataFrame), or a dataset from
            `metal.read`; one that has no folder has no history either.
        progress: Called with the cells done and the cells in all.

    Returns:
        The board: rankings and all other tables as DataFrames, plots, the page. Its folder is not
        written before `save`.

    Raises:
        UsageError: For options that do not fit, or if no generators can be ranked.
        DataError: For the first fault in the data.

    Example:
        board = metal.billboard("datasets/cnndm", "runs/cnndm-scores")
        board.save("runs/cnndm-board")
    """
    from metal.boards.board import billboard as ranked
    from metal.boards.store import stored_ensembles
    from metal.data.pairs import made_pairs, originals, with_comparisons
    from metal.genie.exclusion import warnings_of_tests, with_exclusions, without_noisy
    from metal.questions.board.run import Billboard

    settings = settings_of(
        BoardSettings,
        locals(),
        members=names(members) or ("metric",),
        rule=alpha_rule,
        human_generators=names(human),
        families=dict(families or {}),
    )
    inputs = load(as_dataset(data, reading))
    board = _board(inputs.folder, at)
    runs = tuple(map(folder_of, ratings))
    compared = {run: pairs for run in runs if (pairs := made_pairs(run))}
    joined = with_runs(
        board.dataset if board else inputs.dataset, [run for run in runs if run not in compared]
    )
    inputs = replace(inputs, dataset=joined, runs=runs)
    settings = replace(settings, version=board.version if board else 1)
    dataset, excluded = without_noisy(inputs.dataset, inputs.folder, inputs.runs, exclude_noisy)
    dataset, left_out = originals(dataset)
    for run, pairs in compared.items():
        dataset = with_comparisons(dataset, run, pairs)
    stored = stored_ensembles(inputs.folder) if board else []
    result = ranked(dataset, settings, stored=stored, progress=progress or no_progress)
    warnings = [*left_out, *warnings_of_tests(inputs.dataset, inputs.folder, inputs.runs)]
    result = with_exclusions(result, excluded, warnings)
    ensembles = tuple(result.ensembles.values())
    kept = _keep(board, ensembles, settings, at) if board else False
    manifest = inputs.manifest(
        "billboard", dataset, settings.to_dict(), result.raters, result.signature
    )
    history = tuple(board.entries[: board.version]) if board else ()
    return Billboard.of(
        result, dataset, manifest, (*result.people, *result.raters), history, ensembles, kept
    )


def _board(folder: Path, at: int | None) -> OpenBoard | None:
    """The board of a dataset folder; None for data without one."""
    from metal.boards.store import open_board

    if folder != NOWHERE:
        return open_board(folder, at)
    if at is not None:
        raise UsageError(
            f"`at={at}`: data without a folder have no earlier versions; give the dataset folder"
        )
    return None


def _keep(
    board: OpenBoard,
    ensembles: Sequence[dict[str, Any]],
    settings: BoardSettings,
    at: int | None,
) -> bool:
    """Keep a board's ensembles, and the settings of the newest; return whether its folder can be
    written.
    """
    from metal.boards.store import keep_settings, record, store_ensembles

    kept = record(board) and store_ensembles(board.folder, list(ensembles))
    if kept and at is None:
        keep_settings(board.folder, settings)
    return kept


By = Annotated[str, Option("Who submits it. [default: anonymous]")]
Check = Annotated[bool, Option("Only check it; nothing is scored or written.", rare=True)]
To = Annotated[
    str,
    Option(
        "Server of the board (`metal.serve`); METAL_TOKEN holds your team's token, and BOARD is the"
        " board's name there.",
        metavar="URL",
    ),
]


@dataclass(frozen=True)
class Submitted:
    """A board after a submission.

    board: the dataset's name. version: the board's version. what: generator, metric or withdrawn.
    name: the submission's name. lines: the outcome, such as how many outputs each metric scored.
    protections: how a submitted program was isolated. ranked: the new board on its main criterion,
    None if it could not be ranked, with the reason in not_ranked. reference: the people used for
    ranking, as in the last `metal.billboard(reference=...)`; "" for all. earlier_ensembles:
    signatures of the ensembles the board had before.
    """

    board: str
    version: int
    what: str
    name: str
    lines: tuple[str, ...]
    protections: tuple[str, ...]
    ranked: Board | None = field(repr=False)
    not_ranked: str
    reference: str
    earlier_ensembles: frozenset[str] = field(repr=False)


@documented
def submit_generator(
    board: StrPath,
    outputs: StrPath,
    *,
    name: Annotated[str, Option("The generator's name on the board.")],
    by: By = "",
    human: Annotated[bool, Option("The outputs were written by people.")] = False,
    family: Annotated[
        str, Option("Whose model it is (gpt, gemini, ...), for self-preference.")
    ] = "",
    allow_missing: Annotated[bool, Option("Accept outputs for only some of the sources.")] = False,
    scores: Annotated[
        StrPath | None, Option("Their scores by metrics that cannot run here.", metavar="FILE")
    ] = None,
    to: To = "",
    check: Check = False,
    progress: Progress | None = None,
) -> Submitted:
    """Add a generator to `board`. `outputs` has one text for each source.

    `outputs` is JSONL, CSV, TSV, Parquet or XLSX with the columns source and text (or Billboard's
    seg_id and hyp). Each source of the languages in `outputs` must occur once. METAL scores the
    outputs with every metric of the board that can run here: its own, and submitted programs. For
    other metrics, such as COMET in its own environment, hand in `scores`: a table with the column
    source and one per metric, as on the board (higher is better). METAL lists the metrics still
    missing.

    Args:
        board: The board's dataset folder.
        outputs: The file of its outputs.
        progress: Called with the steps done and the steps in all, first for scoring, then for
            ranking.

    Returns:
        The board after the submission, which is a new version of it.

    Raises:
        UsageError: For a name that is taken.
        DataError: It names every fault of the file; nothing is written.

    Example:
        metal.submit_generator("datasets/cnndm", "outputs.jsonl", name="our-model", by="our lab")
    """
    from metal.boards import submitting

    if to:
        options = {"by": by, "check": check}
        asked = {"allow_missing": allow_missing, "human": human, "family": family}
        return _sent(to, str(board), "generator", outputs, name, asked, options, scores)
    if check:
        lines = submitting.check_generator(
            Path(board),
            Path(outputs),
            name=name,
            allow_missing=allow_missing,
            scores=Path(scores) if scores else None,
        )
        return _only_checked(Path(board), "generator", name, lines)
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
        Option(
            "Which scores are better. [default: as the program says]", choices=("higher", "lower")
        ),
    ] = None,
    function: Annotated[str, Option("Function to call in the program.")] = "score",
    signature: Annotated[
        str, Option("For a table of scores: what produced them (model, version).", metavar="TEXT")
    ] = "",
    reads: Annotated[Sequence[StrPath], Option("A file or folder the program may read.")] = (),
    seconds: Annotated[float, Option("Time limit.", least=0, open_ends=True)] = 600.0,
    memory: Annotated[int, Option("Memory limit in MB.", least=64)] = 4096,
    isolated: Annotated[
        bool, Option("Refuse a program where this system cannot isolate it.", rare=True)
    ] = False,
    to: To = "",
    check: Check = False,
    progress: Progress | None = None,
) -> Submitted:
    """Add a metric to the board: a program (metric.py) or a table of scores (CSV, TSV, JSONL,
    Parquet, XLSX).

    A program is a Python file with a function score(output, ...). It runs in its own process, with
    limits on time, memory and what it writes. As far as this system allows, it has no network and
    no files except its own, those of `reads` and Python's. It is kept with the board, and scores
    generators that join later.

    A table has the columns output and score, or source, generator and score.

    Args:
        board: The board's dataset folder.
        metric: Its scores, a file, or the name of a metric that METAL runs.
        progress: Called with the steps done and the steps in all, first for scoring, then for
            ranking.

    Returns:
        The board after the submission, which is a new version of it.

    Raises:
        UsageError: For a name that is taken and for a metric that gives no output a score.
        DataError: For a table that cannot be used; nothing is written.

    Example:
        metal.submit_metric("datasets/cnndm", "our-metric.csv", name="our-metric", by="our lab")
    """
    from metal.boards import submitting

    if to:
        options = {"by": by, "reads": tuple(reads), "check": check, "isolated": isolated}
        asked = {"direction": direction or "", "function": function, "signature": signature}
        kind = "metric-program" if Path(metric).suffix == ".py" else "metric-scores"
        return _sent(to, str(board), kind, metric, name, asked, options)
    if isolated and Path(metric).suffix == ".py":
        _need_isolation()
    if check:
        lines = submitting.check_metric(
            Path(board), Path(metric), name=name, direction=direction, signature=signature
        )
        return _only_checked(Path(board), "metric", name, lines)
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
def submit_withdraw(
    board: StrPath, name: str, *, by: By = "", progress: Progress | None = None
) -> Submitted:
    """Withdraw the submission `name` from `board`. It stays in the history, and in every version it
    was part of.

    Args:
        board: The board's dataset folder.
        name: The name of the submission.
        progress: Called with the cells done and the cells in all.

    Returns:
        The board after the withdrawal.

    Raises:
        UnknownName: If the board has no submission of this name.

    Example:
        metal.submit_withdraw("datasets/cnndm", "our-metric")
    """
    from metal.boards import submitting

    return _submitted(submitting.withdraw(Path(board), name, by), progress or no_progress)


def _only_checked(board: Path, what: str, name: str, lines: Sequence[str]) -> Submitted:
    """The result of a check: the board as it is."""
    from metal.boards.store import open_board

    seen = open_board(board)
    card, version = seen.base.card.name, seen.version
    why = "it was only checked, and can join"
    return Submitted(card, version, what, name, tuple(lines), (), None, why, "", frozenset())


def _need_isolation() -> None:
    """Raise UsageError if a program could do harm on this system."""
    from metal.raters.isolation import lacking, protections

    open_ways = lacking(protections())
    if open_ways:
        raise UsageError(
            "programs cannot be isolated on this system, so none is run here "
            f"({'; '.join(open_ways)}); submit a table of scores instead"
        )


def _sent(
    server: str,
    board: str,
    kind: str,
    file: StrPath,
    name: str,
    asked: dict[str, Any],
    options: dict[str, Any],
    scores: StrPath | None = None,
) -> Submitted:
    """Send a submission to a server. asked: what goes with it. options: what a server does not
    take. scores: a second file.
    """
    from metal.questions.board.verb_sent import send

    unused = [option for option, value in options.items() if value]
    if unused:
        raise UsageError(
            f"`{unused[0]}` does not go with `to`: the server knows your team, and runs with its"
            " own limits"
        )
    beside = Path(scores) if scores else None
    sent = send(server, board, kind, Path(file), name, asked, scores=beside)
    what = "generator" if kind == "generator" else "metric"
    why = f"on the board with version {sent.version}; its rank is on {sent.page}"
    if not sent.version:
        why = f"sent to {sent.page}"
    lines = tuple(sent.lines)
    return Submitted(board, sent.version, what, name, lines, (), None, why, "", frozenset())


def _submitted(joined: Joined, progress: Progress) -> Submitted:
    """The result, with the board ranked again on its main criterion."""
    from metal.boards.board import billboard
    from metal.boards.cells import board_cells, main_criterion, ranked_cells
    from metal.boards.store import kept_settings, store_ensembles, stored_ensembles
    from metal.genie.exclusion import without_noisy

    board = joined.board
    stored = stored_ensembles(board.folder)
    ranked, not_ranked, settings = None, "", BoardSettings()
    try:
        settings = kept_settings(board.folder, board.version)
        dataset, _ = without_noisy(board.dataset, board.folder, (), settings.exclude_noisy)
        main = main_criterion(
            [cell.criterion for cell in ranked_cells(board_cells(dataset, settings))]
        )
        ranked = billboard(
            dataset, replace(settings, criteria=(main,)), stored=stored, progress=progress
        )
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
        settings.reference,
        frozenset(str(record["ensemble"]) for record in stored),
    )
