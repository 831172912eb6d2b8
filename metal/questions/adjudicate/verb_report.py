"""`metal.adjudicate_report`: compare judges with people by the decisions of adjudicators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from metal.api.options import Option, Progress, StrPath, documented, names, settings_of
from metal.api.run_data import inputs_of_run
from metal.auditing.settings import AuditSettings
from metal.errors import UsageError
from metal.questions.adjudicate.sorts import AMBIGUOUS, BETWEEN
from metal.questions.adjudicate.verb import (
    choice_in,
    compared_raters,
    draw_of,
    of_audit,
    to_adjudicate,
)

if TYPE_CHECKING:
    from metal.api.read import Inputs
    from metal.data.dataset import Dataset
    from metal.data.records import Criterion
    from metal.questions.adjudicate.draw import Case
    from metal.questions.adjudicate.forms import Drawn
    from metal.questions.adjudicate.plan import Decision
    from metal.questions.adjudicate.run import Adjudicated


REPORTED = ("reference", "margin", "bad", "seed")  # settings, in the report's run.toml


@documented
def adjudicate_report(
    plan: StrPath,
    *answers: StrPath,
    replace: Annotated[
        bool, Option("Let an answer replace an earlier one of the same person.")
    ] = False,
    data: Annotated[
        StrPath | None,
        Option("Where the plan's data are now. [default: as in run.toml]", metavar="PATH"),
    ] = None,
    platform: Annotated[
        str,
        Option(
            "Platform on which people answered, if the answers are a CSV.",
            metavar="NAME",
            rare=True,
        ),
    ] = "",
    progress: Progress | None = None,
) -> Adjudicated:
    """Compare judges with people by the answers of those who know: who is more often right?

    The answers are kept in the plan's folder, in a table of their own; they never join the people's
    ratings. Give the files that came back, as often as you like; without files, the report uses the
    answers so far.

    For a plan of `ambiguous` outputs, the report says how often each person and judge was right on
    these. For a plan `between` two raters, it says which of the two agrees more often with the
    answers.

    For any other plan, the difference in accuracy is estimated over all outputs of a case, because
    each decided output also stands for outputs that were not drawn. A judge is *as accurate as a
    person* if it is surely less than `margin` (0.1) below a person; *better than these people* or
    *less accurate* if that is shown. The table also has the judge's recall and precision at the bad
    end.

    Args:
        plan: A folder of `metal.adjudicate_plan`.
        answers: Files that came back.
        progress: Called with the number of files read and of all files.

    Returns:
        The tables `adjudicated` (or `right`, `sides`) and `adjudicators`, and the page. Give the
        saved run to `metal.audit` to see its verdicts beside those on agreement.

    Raises:
        UsageError: For another folder, or if the data changed since the plan was made.
        DataError: For outputs that were not drawn, an adjudicator who is one of the people, answers
            off the scale, or two different answers of one person.

    Example:
        metal.adjudicate_report("runs/news-adjudicate", "anna.answers.json").tables["adjudicated"]
    """
    import pandas as pd

    from metal.building.forms import read_all
    from metal.data.analysed import Analysed
    from metal.data.files import one_writer
    from metal.data.grouping import grouped
    from metal.data.holdings import ADJUDICATION
    from metal.questions.adjudicate.forms import criteria_of
    from metal.questions.adjudicate.plan import (
        decided,
        read_decisions,
        read_plan,
        write_decisions,
    )
    from metal.questions.adjudicate.run import Adjudicated
    from metal.questions.adjudicate.tables import COLUMNS, TABLE_OF, agreement_rows
    from metal.runs.parts import read_manifest

    folder = Path(plan)
    manifest = read_manifest(folder, ADJUDICATION)
    chosen = choice_in(manifest["settings"])
    draw = draw_of(chosen)
    inputs, dataset, left_out = _data_of(folder, manifest, data)
    drawn, panel = read_plan(folder), compared_raters(dataset, chosen)
    asked = _criteria_asked(dataset, draw)
    contents = ((Path(file).name, Path(file).read_bytes()) for file in _files(answers))
    returned, notes = read_all(contents, criteria_of(asked), platform)
    with one_writer(folder):
        before = read_decisions(folder)
        decisions = decided(returned, drawn, asked, panel, before, replace=replace)
        if decisions != before:
            write_decisions(folder, decisions)
    by_task = grouped(decisions, lambda decision: decision.task)
    rows = {TABLE_OF[draw]: _rows(dataset, chosen, draw, drawn, by_task)}
    rows |= {"adjudicators": agreement_rows(drawn, by_task)}
    tables = {
        name: pd.DataFrame(rows.get(name, ()), columns=[*columns])
        for name, columns in COLUMNS.items()
    }
    of_cases = Counter((each.language, each.criterion) for each in drawn.values())
    most = max(of_cases.values(), default=0)
    every = most < manifest["settings"]["items"]  # all that could be drawn
    settings = {
        "draw": draw,
        "most_drawn": most,
        "all_drawn": every,
        "between": ",".join(names(chosen["between"])),
    }
    settings |= {name: chosen[name] for name in REPORTED}
    compared = {*tables["adjudicated"]["judge"], *tables["right"]["rater"]}
    return inputs.result(
        Adjudicated,
        dataset,
        {"plan": str(folder), "waiting": len(drawn) - len(by_task), **settings},
        Analysed(tables, (*left_out, *notes)),
        sorted(compared | {*names(chosen["between"])}),
        {"plan": folder.name, "decided": len(decisions), **settings},
    )


def _criteria_asked(dataset: Dataset, draw: str) -> dict[str, Criterion]:
    """The criteria with the levels for which the forms asked."""
    from metal.questions.adjudicate.forms import good_or_bad

    if draw == BETWEEN:
        return {name: good_or_bad(each) for name, each in dataset.criteria.items()}
    return {name: each for name, each in dataset.criteria.items() if each.scale.levels}


def _rows(
    dataset: Dataset,
    chosen: Mapping[str, Any],
    draw: str,
    drawn: Mapping[str, Drawn],
    by_task: Mapping[str, Sequence[Decision]],
) -> Iterator[dict[str, Any]]:
    """The rows of the table for this kind of draw."""
    from metal.questions.adjudicate.between import sides_rows
    from metal.questions.adjudicate.draw import cases, with_judges
    from metal.questions.adjudicate.tables import judge_rows, rater_rows

    settings = settings_of(AuditSettings, of_audit(chosen))
    if draw == BETWEEN:
        yield from sides_rows(dataset, names(chosen["between"]), drawn, by_task)
    elif draw == AMBIGUOUS:
        for case in cases(dataset, settings):
            yield from rater_rows(case, _of(case, drawn), by_task)
    else:
        for case in with_judges(dataset, settings):
            yield from judge_rows(case, _of(case, drawn), by_task, settings.margin)


def _of(case: Case, drawn: Mapping[str, Drawn]) -> list[Drawn]:
    """The outputs drawn for a case."""
    names_case = case.cell.criterion.name, case.cell.language
    return [each for each in drawn.values() if (each.criterion, each.language) == names_case]


def _files(paths: Sequence[StrPath]) -> list[Path]:
    """The files that came back. Raises UsageError if one does not exist."""
    from metal.data.missing import no_such

    for path in paths:
        if not Path(path).is_file():
            raise no_such(path, "file")
    return [Path(path) for path in paths]


def _data_of(
    folder: Path, manifest: dict[str, Any], data: StrPath | None
) -> tuple[Inputs, Dataset, tuple[str, ...]]:
    """The data of the plan. Raises UsageError if they have changed since."""
    planned = manifest["datasets"][0]
    inputs = inputs_of_run(folder, planned, data)
    dataset, left_out = to_adjudicate(inputs)
    if dataset.digest != planned["digest"]:
        raise UsageError(
            f"{inputs.path} changed since {folder} was planned ({planned['digest']}, now"
            f" {dataset.digest}); plan again with `more_of`, which keeps answers to what is drawn"
            " again"
        )
    return inputs, dataset, tuple(left_out)
