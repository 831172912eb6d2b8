"""`metal.adjudicate_plan`, `adjudicate_report`: who is right where judge and people differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from metal.api.options import (
    Force,
    Names,
    Option,
    Progress,
    PromptFolders,
    StrPath,
    documented,
    documented_by,
    names,
    settings_of,
)
from metal.api.read import load, reading_of
from metal.api.reading import ReadingOptions
from metal.auditing.settings import AuditSettings
from metal.errors import UsageError

if TYPE_CHECKING:
    from metal.api.read import Data, Inputs, Ratings
    from metal.data.dataset import Dataset
    from metal.questions.adjudicate.draw import Case
    from metal.questions.adjudicate.forms import Drawn
    from metal.questions.adjudicate.run import Adjudicated


NOWHERE_DIFFERENT = "judges and people differ nowhere: there is nothing to decide"
NO_JUDGE = (
    "no judge was asked about outputs that people rated on levels (scores on a line are never right"
    " or wrong); add a run of `metal.judge`"
)


@dataclass(frozen=True)
class PlannedCase:
    """What is drawn of a case. power: how often so many answers show that an equally accurate judge
    is so, for the judge for which that is least often.
    """

    language: str
    criterion: str
    outputs: int
    disputed: int
    drawn: int
    with_bad: int
    power: float


@dataclass(frozen=True)
class AdjudicationPlan:
    """A folder of forms for those who decide. files: their names."""

    folder: Path
    cases: tuple[PlannedCase, ...]
    files: tuple[str, ...]
    notes: tuple[str, ...]


@documented_by(AuditSettings)
def adjudicate_plan(
    data: Data,
    *ratings: Ratings,
    items: Annotated[
        int, Option("Outputs to decide per criterion and language.", "-n", metavar="N", least=4)
    ] = 40,
    adjudicators: Annotated[
        Names,
        Option(
            "Names of those who decide; each gets all outputs. [default: expert]",
            metavar="NAME[,NAME]",
        ),
    ] = (),
    to: Annotated[str, Option("Kind of form, as of `metal.annotate_export`.", metavar="FORM")] = (
        "html"
    ),
    out: Annotated[
        StrPath | None, Option("Folder to write. [default: runs/DATASET-adjudicate]")
    ] = None,
    judges: Names = (),
    criteria: Names = (),
    languages: Names = (),
    reference: str = "",
    margin: float = 0.1,
    bad: str = "",
    prompt_folders: PromptFolders = (),
    seed: int = 0,
    force: Force = False,
    **reading: Unpack[ReadingOptions],
) -> AdjudicationPlan:
    """Draw the outputs on which judge and people differ, for somebody who knows to decide.

    Agreement cannot tell a judge that is right where people slip from one that is wrong. Outputs on
    which all agree cannot change the comparison, so only the others need a look, and few of them:
    half where somebody gave the label at the bad end, the rest evenly, each with a known
    probability. Several judges share one draw.

    A form shows the output, the answers given so far in random order with how many gave each, and
    nobody's name. The adjudicator gives an answer, says whether another would do as well, or that
    it cannot be decided. Give the files that come back to `metal.adjudicate_report`.

    Args:
        data: A dataset folder, a table of ratings, or a dataset from `metal.read`; `ratings` are
            runs of `metal.judge`.

    Returns:
        What was drawn, and how often that many answers tell.

    Raises:
        UsageError: If judge and people differ nowhere, or an adjudicator is one of these people.
        UnknownName: For an unknown form, judge, criterion or language.

    Example:
        metal.adjudicate_plan("datasets/news", "runs/news-judges", adjudicators=["anna"])
    """
    import secrets

    import tomli_w

    from metal.building import forms as known_forms
    from metal.data.holdings import ADJUDICATION, digest
    from metal.data.people import people_named
    from metal.data.replacing import new_folder
    from metal.data.text import signature_line
    from metal.questions.adjudicate.draw import cases, without_levels
    from metal.questions.adjudicate.forms import drawn_of, written
    from metal.questions.adjudicate.plan import write_plan
    from metal.running.prompting import prompt_folders as folders_of_prompts
    from metal.version import __version__

    known_forms.check_form(to)
    settings = settings_of(AuditSettings, locals())
    inputs = load(data, ratings, reading)
    dataset, notes = _to_adjudicate(inputs)
    who = names(adjudicators) or ("expert",)
    if both := sorted({*who} & {*people_named(dataset, reference)}):
        raise UsageError(
            f"{both[0]} is one of the people that judges are compared with; name somebody else in"
            " `adjudicators`, or leave the person out with `reference`"
        )
    folders = folders_of_prompts(map(str, prompt_folders), inputs.folder)
    folder = Path(out) if out else Path("runs") / f"{inputs.name}-adjudicate"
    key = secrets.token_hex(16)
    files: dict[str, bytes] = {}
    planned: list[PlannedCase] = []
    entries: list[Drawn] = []
    for case in cases(dataset, settings):
        of_case = drawn_of(case, items, seed, key)
        drawn = [each for _, each in of_case]
        planned.append(_planned(case, [item for item, _ in of_case], items, margin))
        entries += drawn
        if drawn:
            files |= written(to, dataset, case, of_case, who, folders, seed)
    if not entries:
        raise UsageError(NOWHERE_DIFFERENT if planned else NO_JUDGE)
    if lines := without_levels(dataset, settings):
        notes.append(f"scores on a line are never right or wrong; left out: {', '.join(lines)}")
    if not any(dataset.outputs[each.output].text for each in entries):
        notes.append("the data have no texts: forms show the ids of outputs in their place")
    asked = {
        "items": items,
        "adjudicators": list(who),
        "form": to,
        "judges": list(settings.judges),
        "criteria": list(settings.criteria),
        "languages": list(settings.languages),
        "reference": reference,
        "margin": margin,
        "bad": bad,
        "seed": seed,
        "files": {name: digest(content) for name, content in files.items()},
    }
    signed = {"metal": __version__, "data": dataset.identity, "items": items, "seed": seed}
    manifest = inputs.manifest(ADJUDICATION, dataset, asked, (), signature_line(signed))
    with new_folder(folder, ADJUDICATION, force=force) as partial:
        for name, content in files.items():
            (partial / name).write_bytes(content)
        (partial / "run.toml").write_text(tomli_w.dumps(manifest.to_dict()), encoding="utf-8")
        write_plan(partial, entries)
    return AdjudicationPlan(folder, tuple(planned), tuple(files), tuple(notes))


def _planned(case: Case, chosen: Sequence[int], items: int, margin: float) -> PlannedCase:
    """What is drawn of a case. chosen: the places of the items."""
    from metal.questions.adjudicate.compute import WITH_BAD
    from metal.questions.adjudicate.verdicts import power

    cell, strata = case.cell, case.strata
    return PlannedCase(
        cell.language,
        cell.criterion.name,
        int(case.rated.sum()),
        int((strata > 0).sum()),
        len(chosen),
        int((strata[[*chosen]] == WITH_BAD).sum()),
        min(power(case.beside(judge), items, margin) for judge in cell.judges),
    )


def _to_adjudicate(inputs: Inputs) -> tuple[Dataset, list[str]]:
    """The dataset without pairs' other half and without outputs made from others."""
    from metal.data.pairs import one_item_per_pair, originals

    dataset, left_out = originals(one_item_per_pair(inputs.dataset))
    return dataset, [*left_out]


@documented
def adjudicate_report(
    plan: StrPath,
    *answers: StrPath,
    replaces: Annotated[
        bool, Option("Let an answer replace an earlier one of the same person.", flag="--replace")
    ] = False,
    data: Annotated[
        StrPath | None,
        Option("Where the plan's data lie now. [default: where run.toml says]", metavar="PATH"),
    ] = None,
    platform: Annotated[
        str, Option("Platform whose people answered in a CSV.", metavar="NAME", rare=True)
    ] = "",
    progress: Progress | None = None,
) -> Adjudicated:
    """Compare judges with people by the answers of those who know: who is more often right?

    The answers are kept in the plan's folder, in a table of their own; they never join the people's
    ratings. Give the files that came back, as often as you like; without any, the answers so far
    count.

    The difference in accuracy is estimated over all outputs of a case, as each decided output
    stands for those that were not drawn. A judge is *as accurate as a person* if it is surely less
    than `margin` (0.1) below; *better than these people* or *less accurate* if that is shown. Its
    recall and precision of the bad end stand beside it.

    Args:
        plan: A folder of `metal.adjudicate_plan`.
        answers: Files that came back.
        progress: Called with the files read and the files in all.

    Returns:
        The tables `adjudicated` and `adjudicators`, and the page. Give the saved run to
        `metal.audit` to see its verdicts beside those on agreement.

    Raises:
        UsageError: For another folder, or if the data changed since the plan was made.
        DataError: For outputs that were not drawn, an adjudicator who is one of the people, answers
            off the scale, or two different answers of one person.

    Example:
        metal.adjudicate_report("runs/news-adjudicate", "anna.answers.json").adjudicated
    """
    import pandas as pd

    from metal.building import forms as known_forms
    from metal.data.analysed import Analysed
    from metal.data.holdings import ADJUDICATION
    from metal.data.people import people_named
    from metal.questions.adjudicate.draw import cases
    from metal.questions.adjudicate.forms import criteria_of
    from metal.questions.adjudicate.plan import (
        decided,
        read_decisions,
        read_plan,
        write_decisions,
    )
    from metal.questions.adjudicate.run import Adjudicated
    from metal.questions.adjudicate.tables import (
        ADJUDICATED,
        AGREEMENT,
        agreement_rows,
        judge_rows,
    )
    from metal.runs.parts import read_manifest

    folder = Path(plan)
    manifest = read_manifest(folder, ADJUDICATION)
    settings = manifest["settings"]
    inputs, dataset, left_out = _data_of(folder, manifest, data)
    drawn, before = read_plan(folder), read_decisions(folder)
    levels = {name: each for name, each in dataset.criteria.items() if each.scale.levels}
    contents = ((Path(file).name, Path(file).read_bytes()) for file in _files(answers))
    given, notes = known_forms.read_all(contents, criteria_of(levels), platform)
    panel = people_named(dataset, settings["reference"])
    decisions = decided(given, drawn, levels, panel, before, replaces=replaces)
    if decisions != before:
        write_decisions(folder, decisions)
    by_task: dict[str, list[Any]] = {}
    for decision in decisions:
        by_task.setdefault(decision.task, []).append(decision)
    asked = {name: settings[name] for name in ("reference", "margin", "bad", "seed")}
    chosen = {name: tuple(settings[name]) for name in ("judges", "criteria", "languages")}
    of_audit = AuditSettings(**(asked | chosen))
    rows = [
        row
        for case in cases(dataset, of_audit)
        for row in judge_rows(case, _of(case, drawn), by_task, settings["margin"])
    ]
    tables = {
        "adjudicated": pd.DataFrame(rows, columns=[*ADJUDICATED]),
        "adjudicators": pd.DataFrame(agreement_rows(drawn, by_task), columns=[*AGREEMENT]),
    }
    made = Analysed(tables, (*left_out, *notes))
    signed = {"plan": folder.name, "decided": len(decisions), **asked}
    result = inputs.result(
        Adjudicated,
        dataset,
        {"plan": str(folder), **asked},
        made,
        tables["adjudicated"]["judge"],
        signed,
    )
    for table in tables.values():
        table["signature"] = result.manifest["signature"]
    return replace(result, tables=tables)


def _of(case: Case, drawn: dict[str, Drawn]) -> list[Drawn]:
    """What was drawn of a case."""
    where = case.cell.criterion.name, case.cell.language
    return [each for each in drawn.values() if (each.criterion, each.language) == where]


def _files(paths: Sequence[StrPath]) -> list[Path]:
    """The files, which all exist."""
    from metal.data.missing import no_such

    for path in paths:
        if not Path(path).is_file():
            raise no_such(path, "file")
    return [Path(path) for path in paths]


def _data_of(
    folder: Path, manifest: dict[str, Any], data: StrPath | None
) -> tuple[Inputs, Dataset, tuple[str, ...]]:
    """The data of the plan. Raises UsageError where they changed since."""
    planned = manifest["datasets"][0]
    path = data if data is not None else planned["path"]
    if data is None and not Path(path).exists():
        raise UsageError(f"{folder}: its data {path} are not here; say where with `data`")
    inputs = load(path, [Path(more) for more in planned.get("more", ())], reading_of(folder))
    dataset, left_out = _to_adjudicate(inputs)
    if dataset.digest != planned["digest"]:
        raise UsageError(
            f"{path} changed since {folder} was planned ({planned['digest']}, now"
            f" {dataset.digest}); plan again, the answers to the same outputs can be given again"
        )
    return inputs, dataset, tuple(left_out)
