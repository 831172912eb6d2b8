"""`metal.adjudicate_plan`: draw disputed outputs for somebody who knows to decide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from metal.api.options import (
    Force,
    Names,
    Option,
    PromptFolders,
    StrPath,
    documented_by,
    names,
    settings_of,
)
from metal.api.read import load
from metal.api.reading import ReadingOptions
from metal.auditing.settings import AuditSettings
from metal.data.text import known, listed, plural
from metal.errors import UsageError
from metal.questions.adjudicate.sorts import AMBIGUOUS, BETWEEN, DISPUTED

if TYPE_CHECKING:
    from metal.api.read import Data, Inputs, Ratings
    from metal.data.dataset import Dataset
    from metal.data.records import Manifest
    from metal.questions.adjudicate.forms import Drawn, Questionnaire
    from metal.questions.adjudicate.plan import Decision
    from metal.questions.adjudicate.samples import Drawing, PlannedCase, Sample


NOTHING = {
    DISPUTED: "judges and people differ nowhere: there is nothing to decide",
    AMBIGUOUS: "nowhere do all people differ: there is nothing to decide",
    BETWEEN: "the two raters rank all outputs alike: there is nothing to decide",
}
NO_CASE = {
    DISPUTED: (
        "no judge was asked about outputs that people rated on levels (scores on a line are never"
        " right or wrong); add a run of `metal.judge`"
    ),
    AMBIGUOUS: "no output has answers on levels by two people",
    BETWEEN: "the two raters scored no output in common",
}


# what says who is compared where, which a plan for more takes from the earlier one; the defaults
CHOICE: dict[str, Any] = {
    "judges": (),
    "criteria": (),
    "languages": (),
    "reference": "",
    "margin": 0.1,
    "bad": "",
    "seed": 0,
    "ambiguous": False,
    "between": (),
}


@dataclass(frozen=True)
class AdjudicationPlan:
    """A folder of forms for adjudicators.

    Attributes:
        draw: Which outputs are drawn: DISPUTED, AMBIGUOUS or BETWEEN.
        files: The names of the forms.
        before: How many of the drawn outputs were decided in an earlier plan, and are not asked
            about again.
    """

    folder: Path
    draw: str
    cases: tuple[PlannedCase, ...]
    files: tuple[str, ...]
    notes: tuple[str, ...]
    before: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as the command line prints them with `--json`; an unknown chance
        is None.
        """
        cases = [
            vars(case) | {"power": case.power if known(case.power) else None} for case in self.cases
        ]
        return vars(self) | {"folder": str(self.folder), "cases": cases}


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
            "Names of the adjudicators; each gets all outputs. [default: expert]",
            metavar="NAME[,NAME]",
        ),
    ] = (),
    to: Annotated[str, Option("Kind of form, as of `metal.annotate_export`.", metavar="FORM")] = (
        "html"
    ),
    out: Annotated[
        StrPath | None,
        Option("Folder to write. [default: runs/DATASET-adjudicate, -2, ...]"),
    ] = None,
    more_of: Annotated[
        StrPath | None,
        Option(
            "An earlier plan: keep its cases and answers, and ask only about further outputs.",
            metavar="PLAN",
        ),
    ] = None,
    ambiguous: Annotated[
        bool, Option("Instead, draw outputs to which all people gave different answers.")
    ] = False,
    between: Annotated[
        Names,
        Option(
            "Instead, draw outputs that two raters, or groups of people, score most differently.",
            metavar="RATER,RATER",
        ),
    ] = (),
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

    Where people make mistakes, a judge that is right and a judge that is wrong can agree with them
    equally often. Outputs on which all agree cannot change the comparison, so only some of the
    others have to be decided:
    half of them are outputs to which somebody gave the label at the bad end, the rest are drawn
    evenly, each with a known probability. Several judges share one draw.

    A form shows the output and the answers given so far, in random order, with how many raters gave
    each but without names. The adjudicator gives an answer and says whether another would do as
    well, or says that the output cannot be decided. Give the files that come back to
    `metal.adjudicate_report`.

    With `ambiguous`, the outputs are those on which no two people agree, and the report says who
    was right on them. With `between`, they are those that two raters score most differently: the
    first scores half of them higher, the second the other half. The forms then show no answers and
    ask whether each output is good or bad, and the report says which rater agrees with these
    answers more often.

    If these answers are not enough for a verdict, plan for more with `more_of`: the new draw
    includes the earlier one, and forms have only outputs that are not decided yet.

    Args:
        data: A dataset folder, a table of ratings, or a dataset from `metal.read`; `ratings` are
            runs of `metal.judge`.

    Returns:
        What was drawn, and the chance that this many answers give a verdict.

    Raises:
        UsageError: If nothing differs, an adjudicator is one of those compared, or everything
            drawn is decided.
        UnknownName: For an unknown form, rater, criterion or language.

    Example:
        metal.adjudicate_plan("datasets/news", "runs/news-judges", adjudicators=["anna"])
    """
    import secrets

    from metal.building.forms import check_form
    from metal.questions.adjudicate.plan import read_key
    from metal.questions.adjudicate.samples import Drawing

    check_form(to)
    chosen = {name: value for name, value in locals().items() if name in CHOICE}
    earlier = Path(more_of) if more_of else None
    chosen = _choice_of(earlier, chosen)
    draw = draw_of(chosen)
    settings = settings_of(AuditSettings, of_audit(chosen))
    inputs = load(data, ratings, reading)
    dataset, notes = to_adjudicate(inputs)
    who = names(adjudicators) or ("expert",)
    _check_who(who, dataset, chosen)
    drawing = Drawing(items, read_key(earlier) if earlier else secrets.token_hex(16))
    drawn_of = list(_samples(dataset, settings, drawing, draw, names(chosen["between"])))
    drawn = [each for _, asked in drawn_of for each in asked.drawn]
    if not drawn:
        raise UsageError((NOTHING if drawn_of else NO_CASE)[draw])
    before = _decided_before(earlier, drawn, dataset, draw)
    asked = _still_asked([asked for _, asked in drawn_of], before)
    files = _forms(inputs, dataset, asked, to, who, prompt_folders, settings.seed)
    if not files:
        raise UsageError(f"all {len(drawn):,} outputs drawn are decided; ask for more `items`")
    folder = Path(out) if out else _unused(Path("runs") / f"{inputs.name}-adjudicate", force)
    options = {"items": items, "adjudicators": list(who), "form": to, "draw": draw}
    options |= chosen
    manifest = _manifest(inputs, dataset, options, files)
    _write(folder, manifest, files, drawing.key, drawn, before, force=force)
    planned = tuple(planned for planned, _ in drawn_of)
    notes += _notes(dataset, settings, drawn, draw)
    notes += _lost(earlier, before)
    done = {each.task for each in before}
    return AdjudicationPlan(folder, draw, planned, tuple(files), tuple(notes), len(done))


def _lost(earlier: Path | None, before: Sequence[Decision]) -> Iterator[str]:
    """A note on earlier answers to outputs that are not drawn now."""
    from metal.questions.adjudicate.plan import read_decisions

    lost = len(read_decisions(earlier)) - len(before) if earlier else 0
    if lost:
        yield (
            f"{plural(lost, 'earlier answer')} left out: the output is not drawn now, its text"
            " changed, or the answer is no longer a level"
        )


def _samples(
    dataset: Dataset, settings: AuditSettings, drawing: Drawing, draw: str, pair: Sequence[str]
) -> Iterator[Sample]:
    from metal.questions.adjudicate.between import between
    from metal.questions.adjudicate.samples import ambiguous, disputed

    if draw == BETWEEN:
        return between(dataset, settings, drawing, pair)
    return (ambiguous if draw == AMBIGUOUS else disputed)(dataset, settings, drawing)


def draw_of(chosen: Mapping[str, Any]) -> str:
    """Which outputs are drawn. Raises UsageError for two kinds of draw at once, or if there are not
    two raters.
    """
    pair = names(chosen["between"])
    if pair and chosen["ambiguous"]:
        raise UsageError("`ambiguous` and `between` draw different outputs; give one of them")
    if pair and len(pair) != 2:
        raise UsageError(f"`between` compares two different raters, not {len(pair)}")
    if pair:
        return BETWEEN
    return AMBIGUOUS if chosen["ambiguous"] else DISPUTED


def of_audit(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a plan that are also settings of an audit."""
    return {name: value for name, value in chosen.items() if name not in ("ambiguous", "between")}


def _notes(
    dataset: Dataset, settings: AuditSettings, drawn: Sequence[Drawn], draw: str
) -> Iterator[str]:
    """Notes to read before the forms are sent."""
    from metal.questions.adjudicate.draw import without_levels

    lines = without_levels(dataset, settings)
    if lines and draw != BETWEEN:
        yield f"scores on a line are never right or wrong; left out: {', '.join(lines)}"
    by_end = Counter(each.higher for each in drawn if each.higher)
    if len({*by_end.values()}) > 1:
        ends = listed([f"{who} scores {number:,} higher" for who, number in by_end.items()])
        yield f"the draw is not half and half: {ends}"
    if not any(dataset.outputs[each.output].text for each in drawn):
        yield "the data have no texts: forms show the ids of outputs in their place"


def compared_raters(dataset: Dataset, chosen: Mapping[str, Any]) -> set[str]:
    """The raters who cannot be adjudicators, because they are compared."""
    from metal.data.people import judges_in, people_named
    from metal.questions.adjudicate.between import members

    if pair := names(chosen["between"]):
        return {rater for name in pair for rater in members(dataset, name)}
    return {*people_named(dataset, chosen["reference"]), *judges_in(dataset.raters)}


def _check_who(who: Sequence[str], dataset: Dataset, chosen: Mapping[str, Any]) -> None:
    """Raise UsageError if an adjudicator is one of those compared."""
    compared = {rater.strip().casefold() for rater in compared_raters(dataset, chosen)}
    if both := sorted(name for name in who if name.strip().casefold() in compared):
        raise UsageError(
            f"{both[0]} is one of those that are compared; name somebody else in `adjudicators`, or"
            " leave the person out with `reference`"
        )


def _still_asked(asked: Sequence[Questionnaire], before: Sequence[Decision]) -> list[Questionnaire]:
    """The cases with the outputs that are not decided yet."""
    done = {each.task for each in before}
    left = [
        replace(case, drawn=tuple(each for each in case.drawn if each.task not in done))
        for case in asked
    ]
    return [case for case in left if case.drawn]


def _forms(
    inputs: Inputs,
    dataset: Dataset,
    asked: Sequence[Questionnaire],
    to: str,
    who: Sequence[str],
    prompt_folders: Sequence[StrPath],
    seed: int,
) -> dict[str, bytes]:
    """The files to send, by name."""
    from metal.questions.adjudicate.forms import written
    from metal.running.prompting import prompt_folders as folders_of_prompts

    folders = folders_of_prompts(map(str, prompt_folders), inputs.folder)
    files, taken = dict[str, bytes](), set[str]()
    for case in asked:
        files |= written(to, dataset, case, who, folders, seed, taken)
    return files


def _manifest(
    inputs: Inputs, dataset: Dataset, options: dict[str, Any], files: dict[str, bytes]
) -> Manifest:
    """The content of run.toml."""
    from metal.data.holdings import ADJUDICATION, digest
    from metal.data.text import signature_line
    from metal.version import __version__

    signed = {"metal": __version__, "data": dataset.identity, "draw": options["draw"]}
    line = signature_line(signed | {name: options[name] for name in ("items", "seed")})
    of_files = {"files": {name: digest(content) for name, content in files.items()}}
    return inputs.manifest(ADJUDICATION, dataset, options | of_files, (), line)


def _unused(folder: Path, force: bool) -> Path:
    """The folder with `force`, else the first of FOLDER, FOLDER-2, FOLDER-3, ... that does not
    exist: an earlier plan may be waiting for answers.
    """
    number, candidate = 1, folder
    while candidate.exists() and not force:
        number += 1
        candidate = folder.with_name(f"{folder.name}-{number}")
    return candidate


def _write(
    folder: Path,
    manifest: Manifest,
    files: dict[str, bytes],
    key: str,
    drawn: Sequence[Drawn],
    before: Sequence[Decision],
    *,
    force: bool,
) -> None:
    """Write the plan's folder in one step."""
    import tomli_w

    from metal.data.holdings import ADJUDICATION
    from metal.data.replacing import new_folder
    from metal.questions.adjudicate.plan import write_decisions, write_plan

    with new_folder(folder, ADJUDICATION, force=force) as partial:
        for name, content in files.items():
            (partial / name).write_bytes(content)
        (partial / "run.toml").write_text(tomli_w.dumps(manifest.to_dict()), encoding="utf-8")
        write_plan(partial, key, drawn)
        if before:
            write_decisions(partial, before)


def _choice_of(earlier: Path | None, chosen: dict[str, Any]) -> dict[str, Any]:
    """The choice for this plan, or else the choice of an earlier plan. Raises UsageError for
    another folder, or if both make a choice.
    """
    if earlier is None:
        return chosen
    from metal.data.holdings import ADJUDICATION
    from metal.runs.parts import read_manifest

    before = choice_in(read_manifest(earlier, ADJUDICATION)["settings"])
    for name, value in chosen.items():
        if value != CHOICE[name] and _plain(value) != _plain(before[name]):
            raise UsageError(f"`more_of` takes `{name}` from the earlier plan; leave `{name}` out")
    return before


def _plain(value: Any) -> Any:
    """Names as a tuple, whether they are given as one text or as several."""
    return names(value) if isinstance(value, str | list | tuple) else value


def choice_in(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What the settings of a plan say about the keys of CHOICE."""
    return {name: settings.get(name, default) for name, default in CHOICE.items()}


def _decided_before(
    earlier: Path | None, drawn: Sequence[Drawn], dataset: Dataset, draw: str
) -> list[Decision]:
    """The answers of an earlier plan to what is drawn now, as values of the levels that have the
    same labels now.
    """
    from metal.data.dataset_lines import read_criterion
    from metal.data.holdings import ADJUDICATION
    from metal.questions.adjudicate.plan import read_decisions
    from metal.runs.parts import read_manifest

    if earlier is None:
        return []
    described = read_manifest(earlier, ADJUDICATION)["criteria"]
    values = {}
    for name in {each.criterion for each in drawn} & described.keys():
        levels = read_criterion(name, described[name], earlier / "run.toml").scale.levels
        now = {level.label: level.value for level in dataset.criteria[name].scale.levels}
        values[name] = {each.value: now[each.label] for each in levels if each.label in now}
    criterion_of = {each.task: each.criterion for each in drawn}
    counting = [each for each in read_decisions(earlier) if each.task in criterion_of]
    if draw == BETWEEN:  # good or bad, whatever the levels
        return counting
    moved = (each.on_other_levels(values.get(criterion_of[each.task], {})) for each in counting)
    return [each for each in moved if each is not None]


def to_adjudicate(inputs: Inputs) -> tuple[Dataset, list[str]]:
    """The dataset without reversed pairs, and without outputs made from others."""
    from metal.data.pairs import one_item_per_pair, originals

    dataset, left_out = originals(one_item_per_pair(inputs.dataset))
    return dataset, [*left_out]
