"""`metal.audit`, `metal.leaderboard`, `metal.design`: judges against people, generators by people, ratings to come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal, Unpack

from metal.api.options import (
    ExcludeNoisy,
    Judges,
    Languages,
    Names,
    Option,
    Permutations,
    Progress,
    Resamples,
    Seed,
    documented,
    no_progress,
    settings_of,
)
from metal.api.read import load
from metal.api.reading import ReadingOptions

if TYPE_CHECKING:
    from metal.questions.design.result import Design
    from metal.questions.board.result import Leaderboard
    from metal.api.read import Data, Ratings
    from metal.api.results import Audit
    from metal.runs.run import Run

Aggregate = Literal["majority-or-mean", "majority-or-middle", "majority", "dawid-skene", "mace"]
Margin = Annotated[
    float, Option("How far below a person a judge may be and still be like one.", least=0, most=1, rare=True)
]
Keep = Annotated[float, Option("Share of what a person knows that such a judge keeps.", least=0, most=1, rare=True)]
PeopleFloor = Annotated[float, Option("People's alpha below which they disagree.", least=0, most=1, rare=True)]
Bad = Annotated[
    str, Option("The worst label of a scale without order: a judge must find it.", metavar="LABEL", rare=True)
]


@documented
def audit(
    data: Data,
    *ratings: Ratings | Run,
    judges: Judges = (),
    criteria: Annotated[Names, Option("Criteria; default all that have levels.", "-c")] = (),
    languages: Languages = (),
    reference: Annotated[
        str, Option("Compare with these people only: group=expert, or rater=A1,A2.", metavar="PEOPLE")
    ] = "",
    aggregate: Annotated[
        Aggregate,
        Option(
            "How the people's ratings of an item become one label: the majority, and without one the mean, the middle "
            "or none; or the most probable label of a model that weighs people by how they agree.",
            choices=("majority-or-mean", "majority-or-middle", "majority", "dawid-skene", "mace"),
            rare=True,
        ),
    ] = "majority-or-mean",
    min_raters: Annotated[
        int,
        Option(
            "People that an item needs to count. [default: the usual panel, at most 3]", metavar="N", least=0, rare=True
        ),
    ] = 0,
    epsilon: Annotated[
        float | None,
        Option(
            "How much worse than a person a judge may be in the alternative annotator test. "
            "[default: 0.2 where the people are of group expert, 0.1 crowd, else 0.15]",
            least=0,
            most=1,
            rare=True,
        ),
    ] = None,
    wilcoxon: Annotated[
        bool, Option("Test people with fewer than 30 items too, by Wilcoxon's test.", rare=True)
    ] = False,
    margin: Margin = 0.1,
    keep: Keep = 0.7,
    people_floor: PeopleFloor = 0.2,
    bad: Bad = "",
    standardise: Annotated[bool, Option("Take away each rater's mean and spread before a verdict.", rare=True)] = False,
    exclude_noisy: ExcludeNoisy = "",
    paper_compat: Annotated[
        bool, Option("Print kappa of one class as 0.0, as METAL's Table 6 does.", rare=True)
    ] = False,
    resamples: Resamples = 2000,
    seed: Seed = 0,
    progress: Progress | None = None,
    **reading: Unpack[ReadingOptions],
) -> Audit:
    """Compare the judges in `data` with its people, language by language.

    For each criterion there is the weighted F1 of every judge with its 95% interval and Cohen's kappa, between what
    people reach and what always answering the most frequent class reaches; then a verdict for each judge, language and
    criterion: may it take a person's place there? `ratings` are run folders (from `metal.judge`) whose ratings are
    added, and runs of other questions (`metal.bias_language`, `metal.correct`, ...), folders or results: what they say
    of a judge stands in the verdicts that it bears on, and changes none.

    data: a dataset folder, a table of ratings (file or DataFrame), or a dataset from `metal.read`. progress: called
    with the cells done and the cells in all.

    Returns the audit: verdicts, judges, people and all other tables as DataFrames, plots, the page. Nothing is written
    before `save`. Raises UsageError where no criterion has two people, and what `metal.read` raises.
    """
    from metal.api.report import told_apart
    from metal.api.results import Audit
    from metal.auditing.audit import audit as audited
    from metal.auditing.settings import AuditSettings
    from metal.data.pairs import originals
    from metal.genie.exclusion import warnings_of_tests, with_exclusions, without_noisy
    from metal.runs.judges_run import check_scored, doubts
    from metal.questions.audit.remarks import with_remarks

    settings = settings_of(AuditSettings, locals())
    added, beside = told_apart(ratings)
    inputs = load(data, added, reading)
    for run in inputs.runs:
        check_scored(run)
    dataset, excluded = without_noisy(inputs.dataset, inputs.folder, inputs.runs, exclude_noisy)
    warnings = [doubt for run in inputs.runs for doubt in doubts(run, dataset)]
    dataset, made = originals(dataset)
    result = audited(dataset, settings, progress=progress or no_progress)
    warnings += made
    warnings += warnings_of_tests(inputs.dataset, inputs.folder, inputs.runs)
    if excluded and excluded.outputs and not min_raters:
        warnings.append(
            f"{excluded.outputs:,} outputs lost a rating on a criterion; those left with fewer people than the usual "
            "panel count as incomplete. `min_raters=2` keeps those with two"
        )
    result = with_exclusions(result, excluded, warnings)
    manifest = inputs.manifest("audit", dataset, settings.to_dict(), result.judges, result.signature)
    return with_remarks(Audit.of(result, dataset, manifest, result.compared, result.disagreements), beside)


@documented
def leaderboard(
    data: Data,
    *ratings: Ratings,
    reference: Annotated[
        str, Option("Whose ratings count: group=crowd, or rater=A1,A2. [default: all people]", metavar="PEOPLE")
    ] = "",
    criteria: Annotated[
        Names, Option("Criteria that count, also for overall; default all whose scale has ends.", "-c")
    ] = (),
    languages: Annotated[Names, Option("Languages; default all, together and each.", "-l")] = (),
    aggregate: Annotated[
        Literal["mean", "majority"],
        Option("How several labels of one output become its score.", choices=("mean", "majority"), rare=True),
    ] = "mean",
    sample: Annotated[
        int | None,
        Option(
            "Score N sources per language, at random by `seed` and the same for every generator. [default: all]",
            metavar="N",
            least=1,
        ),
    ] = None,
    with_judges: Annotated[bool, Option("Put LLM judges beside people, as metrics are.")] = False,
    corrected: Annotated[
        str, Option("Also people's means corrected by this judge's ratings, as `metal.correct` gives them.")
    ] = "",
    permutations: Permutations = 1000,
    exclude_noisy: ExcludeNoisy = "",
    seed: Seed = 0,
    progress: Progress | None = None,
    **reading: Unpack[ReadingOptions],
) -> Leaderboard:
    """Rank the generators of `data` by what people gave their outputs.

    Scores are shares of the scale, 0 the worst and 1 the best: five Likert levels are 0, .25, .5, .75, 1. Labels of
    an output are averaged, then outputs; overall is the mean of the criteria. Beside a score stand its 95% interval by
    source, its standard error and what that is at most, and the ranks that the ratings leave open (`2 to 4`): by
    two-sided paired tests on shared sources, corrected over all pairs, 95% sure for all generators at once. Generators
    that different groups of people rated are not compared: `reference` takes one group. Automatic metrics stand beside,
    on the same outputs. With `corrected` so do people's means as a judge on all sources and people on some give them;
    they rank nobody.

    The sample is drawn by `seed`; growing it keeps the sources that were in it. `ratings` are run folders (from
    `metal.judge` and `metal.score`) whose ratings are added.

    data: a dataset folder, a table of ratings (file or DataFrame), or a dataset from `metal.read`. progress: called
    with the parts done and the parts in all.

    Returns the leaderboard: its tables as DataFrames, plots, the page. Nothing is written before `save`. Raises
    UsageError where no criterion that people rated has ends.
    """
    from metal.questions.board.result import Leaderboard
    from metal.auditing.settings import AuditSettings
    from metal.building.store import read_drawn
    from metal.questions.correct.compared import with_corrected
    from metal.data.pairs import originals
    from metal.genie.exclusion import warnings_of_tests, with_exclusions, without_noisy
    from metal.questions.leaderboard.cautions import about_one_person
    from metal.questions.leaderboard.compute import LeaderboardSettings
    from metal.questions.leaderboard.compute import leaderboard as ranked

    settings = settings_of(LeaderboardSettings, locals())
    inputs = load(data, ratings, reading)
    dataset, excluded = without_noisy(inputs.dataset, inputs.folder, inputs.runs, exclude_noisy)
    dataset, made = originals(dataset)
    result = ranked(dataset, settings, progress or no_progress)
    if corrected:
        by = AuditSettings((corrected,), settings.criteria, settings.languages, reference, seed=seed)
        drawn = {source: float(entry["probability"]) for source, entry in read_drawn(inputs.folder).items()}
        board = with_corrected(result.tables["leaderboard"], dataset, by, drawn)
        result = replace(result, tables={**result.tables, "leaderboard": board})
    result = replace(result, warnings=(*result.warnings, *about_one_person(result.people), *made))
    result = with_exclusions(result, excluded, warnings_of_tests(inputs.dataset, inputs.folder, inputs.runs))
    raters = (*result.people, *result.beside)
    manifest = inputs.manifest("leaderboard", dataset, settings.to_dict(), raters, result.signature)
    return Leaderboard.of(result, dataset, manifest, raters)


@documented
def design(
    data: Data,
    *ratings: Ratings,
    judges: Annotated[
        Names, Option("Judges to plan for; default the LLM judges in the data.", "-j", aliases=("--judge",))
    ] = (),
    criteria: Annotated[Names, Option("Criteria; default all that people rated.", "-c")] = (),
    languages: Languages = (),
    reference: Annotated[str, Option("Whose ratings: group=expert, or rater=A1,A2.", metavar="PEOPLE")] = "",
    by: Annotated[
        Literal["auto", "group", "rater", "day", "round"],
        Option(
            "What makes a population of raters; day and round are keys of raters.jsonl.",
            choices=("auto", "group", "rater", "day", "round"),
            rare=True,
        ),
    ] = "auto",
    raters: Annotated[
        Sequence[int],
        Option(
            "People per item, to plan for. [default: the usual number for verdicts, 1 up to it for scores; at most 5]",
            "-k",
            metavar="N[,N]",
        ),
    ] = (),
    width: Annotated[float, Option("Of the 95% interval of a generator's score that you want.")] = 0.05,
    power: Annotated[float, Option("Of a verdict.")] = 0.8,
    margin: Margin = 0.1,
    keep: Keep = 0.7,
    people_floor: PeopleFloor = 0.2,
    bad: Bad = "",
    thorough: Annotated[bool, Option("Simulate instead of a formula; takes minutes.")] = False,
    rounds: Annotated[int, Option("Of every simulation; verdicts are simulated in a fifth.", rare=True)] = 500,
    pay: Annotated[float | None, Option("For one task: one person rates one output.", metavar="USD")] = None,
    seconds: Annotated[float | None, Option("A task takes. [default: the median that forms have measured]")] = None,
    fee: Annotated[float, Option("The platform's share of the pay, on top of it.", rare=True)] = 0.2,
    test_share: Annotated[float, Option("Share of all tasks that are test questions.", rare=True)] = 0.1,
    min_hourly: Annotated[float, Option("Least pay of an hour; below, a warning.", metavar="USD", rare=True)] = 15.0,
    exclude_noisy: ExcludeNoisy = "",
    seed: Seed = 0,
    progress: Progress | None = None,
    **reading: Unpack[ReadingOptions],
) -> Design:
    """Plan the next ratings of `data` from those it has. `ratings` are run folders whose ratings are
    added.

    First, what a budget of labels is best spent on: one label each for many items (unilabelling) or several for few
    (multilabelling), the scale as rated or binary, mean or majority, and how far populations of raters differ.

    Then, for each language and criterion, how many items with how many people each are needed so that an audit finds
    with `power` that a judge is like a person, or at least informative: each judge in the data, and one that answers
    like a person. And how many so that the 95% interval of a generator's score is narrower than `width`. A formula
    gives the number from the standard errors of now, with an 80% interval, since the ratings there are are a sample;
    `thorough=True` simulates it, drawing the sources that were rated again and again. With `pay` and `seconds`, what
    that costs at the upper end.

    data: a dataset folder, a table of ratings (file or DataFrame), or a dataset from `metal.read`. progress: called
    with the simulations done and all of them.

    Returns the study: its tables as DataFrames, plots, the page. Nothing is written before `save`.
    """
    from metal.questions.design.result import Design
    from metal.genie.exclusion import with_exclusions, without_noisy
    from metal.questions.design.cells import DesignSettings, Prices
    from metal.questions.design.study import design as planned
    from metal.questions.design.run import measured_seconds

    asked = locals()
    inputs = load(data, ratings, reading)
    seconds = seconds if seconds is not None else measured_seconds(inputs.folder)
    prices = Prices(pay, seconds, fee, test_share, min_hourly)
    settings = settings_of(DesignSettings, asked, raters=tuple(raters), prices=prices)
    dataset, excluded = without_noisy(inputs.dataset, inputs.folder, inputs.runs, exclude_noisy)
    result = with_exclusions(planned(dataset, settings, progress=progress or no_progress), excluded)
    manifest = inputs.manifest("design", dataset, settings.to_dict(), result.raters, result.signature)
    return Design.of(result, dataset, manifest, result.raters)
