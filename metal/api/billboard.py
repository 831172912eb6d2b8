"""`metal.billboard`: raters ranked by how they agree with people, generators by the raters that agree best."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from metal.api.options import (
    ExcludeNoisy,
    Names,
    Option,
    Pairs,
    Permutations,
    Progress,
    Resamples,
    Seed,
    documented,
    names,
)
from metal.errors import UsageError

if TYPE_CHECKING:
    from metal.api.billboard_result import Billboard
    from metal.api.inputs import Data, Ratings


@documented
def billboard(
    data: Data,
    *ratings: Ratings,
    reference: Annotated[
        str,
        Option(
            "Whom to agree with: group=expert, or rater=A1,A2. Everybody else is a rater. [default: all people]",
            metavar="PEOPLE",
        ),
    ] = "",
    criteria: Annotated[Names, Option("Criteria, or overall; default all, and overall.", "-c")] = (),
    languages: Annotated[Names, Option("Languages; default all, together and each.", "-l")] = (),
    raters: Annotated[Names, Option("Raters on the board; default all in the data.", "-r")] = (),
    common: Annotated[bool, Option("Compare on the outputs that every rater scored.")] = False,
    members: Annotated[Names, Option("Kinds of rater the ensemble is made of. [default: metric]")] = ("metric",),
    nonzero: Annotated[int, Option("Members of the ensemble.", metavar="K", least=1, most=50)] = 3,
    alpha: Annotated[
        float | None, Option("The lasso's alpha. [default: from the interval that gives K members]")
    ] = None,
    alpha_rule: Annotated[
        Literal["smallest", "middle"], Option("Which alpha of the interval.", choices=("smallest", "middle"))
    ] = "smallest",
    human: Annotated[Names, Option("Generators that are people, for overrating.")] = (),
    families: Annotated[
        Pairs | None,
        Option("Whose model a generator is, e.g. gpt.", metavar="GENERATOR=FAMILY", aliases=("--family",)),
    ] = None,
    exclude_noisy: ExcludeNoisy = "",
    at: Annotated[int | None, Option("The board as it was at this version.", metavar="VERSION", least=1)] = None,
    resamples: Resamples = 2000,
    permutations: Permutations = 1000,
    seed: Seed = 0,
    progress: Progress | None = None,
) -> Billboard:
    """Rank the raters of `data` by how they agree with its people, and its generators by the raters that agree best.

    LLM judges, automatic metrics, and people outside the reference stand in one ranking: Pearson's r with the mean of
    the reference people over all outputs that both scored, with a 95% interval by source; beside it Spearman, Kendall,
    correlation between generators, soft pairwise accuracy, pairwise accuracy with ties, and clusters of raters that
    permutation tests cannot tell apart. A sparse ensemble of metrics is fitted and shown as it does on generators that
    it has not seen. Where people are among the generators, the board says who overrates machines.

    `ratings` are run folders (from `metal.judge` and `metal.score`, or an audit's) whose ratings are added.

    A dataset folder keeps its history in board/: it gets a new version whenever its data change or something is
    submitted (`metal.submit`), and `at` shows what it was like.

    data: a dataset folder, a table of ratings (file or DataFrame), or a dataset from `metal.read`; one that has no
    folder has no history either. progress: called with the cells done and the cells in all.

    Returns the board: rankings and all other tables as DataFrames, plots, the page. Its folder is not written before
    `save`. Raises UsageError and DataError.
    """
    from metal.api.billboard_result import Billboard
    from metal.api.inputs import NOWHERE, Inputs, folder_of, load, with_runs
    from metal.boards.board import billboard as ranked
    from metal.boards.settings import BoardSettings
    from metal.boards.store import keep_settings, open_board, store_ensembles, stored_ensembles
    from metal.genie.excluding import warnings_of_tests, with_exclusions, without_noisy

    inputs = load(data)
    board = None if inputs.folder == NOWHERE else open_board(inputs.folder, at)
    if board is None and at is not None:
        raise UsageError(f"`at={at}`: data without a folder have no earlier versions; give the dataset folder")
    runs = tuple(map(folder_of, ratings))
    inputs = Inputs(with_runs(board.dataset if board else inputs.dataset, runs), inputs.folder, runs)
    settings = BoardSettings(
        reference=reference,
        criteria=names(criteria),
        languages=names(languages),
        raters=names(raters),
        common=common,
        members=names(members) or ("metric",),
        nonzero=nonzero,
        alpha=alpha,
        rule=alpha_rule,
        human_generators=names(human),
        families=dict(families or {}),
        resamples=resamples,
        permutations=permutations,
        seed=seed,
        version=board.version if board else 1,
        exclude_noisy=exclude_noisy,
    )
    dataset, excluded = without_noisy(inputs.dataset, inputs.folder, inputs.runs, exclude_noisy)
    stored = stored_ensembles(inputs.folder) if board else []
    result = ranked(dataset, settings, stored=stored, progress=progress)
    result = with_exclusions(result, excluded, warnings_of_tests(inputs.dataset, inputs.folder, inputs.runs))
    kept = bool(board and board.recorded and store_ensembles(inputs.folder, list(result.ensembles.values())))
    if at is None and kept:
        keep_settings(inputs.folder, settings)
    manifest = inputs.manifest("billboard", dataset, settings.to_dict(), result.raters, result.signature)
    history = tuple(board.entries[: board.version]) if board else ()
    ensembles = tuple(result.ensembles.values())
    return Billboard.of(result, dataset, manifest, result.raters, history, ensembles, kept)
