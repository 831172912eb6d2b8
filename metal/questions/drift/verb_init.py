"""`metal.gate_init`: declare a gate, and say what it can show."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from metal.api.options import Languages, Names, Option, StrPath, documented_by, names
from metal.data.files import read_toml, write_new
from metal.data.holdings import note_gate
from metal.data.replacing import check_new_file, kept_file
from metal.data.text import first_few, plural
from metal.errors import DataError, UsageError, check_known
from metal.questions.drift.compute import PARTS, comparisons, drift
from metal.questions.drift.foreseen import pass_line, watch_lines
from metal.questions.drift.settings import Margins
from metal.questions.drift.verb_gate import LEAST, Declared, check_whole
from metal.questions.drift.watching import baselines

if TYPE_CHECKING:
    from metal.auditing.settings import AuditSettings
    from metal.questions.drift.verb_diff import Side

Margin = Annotated[
    float,
    Option(
        "Change in agreement with people that does not matter: 0.1 or 10%.",
        least=0,
        most=1,
        open_ends=True,
    ),
]
MeanMargin = Annotated[
    float,
    Option(
        "Change in the mean that does not matter, as a share of the scale.",
        least=0,
        most=1,
        open_ends=True,
    ),
]
CoverageMargin = Annotated[
    float,
    Option(
        "Loss of answers that does not matter, as a share of the outputs.",
        least=0,
        most=1,
        open_ends=True,
    ),
]
Expected = Annotated[
    Names,
    Option(
        f"Parts of the judge that are meant to change: {', '.join(PARTS[:-1])}.",
        metavar="PART",
        rare=True,
    ),
]
Streams = Annotated[
    int,
    Option(
        (
            "Largest number of streams in a watch; more streams make it slower. [default: those "
            "of the baseline]"
        ),
        least=0,
        rare=True,
    ),
]
Loss = Annotated[
    float,
    Option(
        "Loss that a watch should find, e.g. 0.15; the result says how many anchors that"
        " needs. [default: 2 x margin]",
        least=0,
        most=1,
        rare=True,
    ),
]


@documented_by(Margins)
def gate_init(
    anchors: StrPath,
    baseline: StrPath,
    *,
    out: Annotated[StrPath, Option("File to write.", metavar="FILE")] = "gate.toml",
    margin: Margin = 0.05,
    mean_margin: MeanMargin = 0.05,
    coverage_margin: CoverageMargin = 0.05,
    criteria: Annotated[Names, Option("Criteria. [default: all that were judged]", "-c")] = (),
    languages: Languages = (),
    expected: Expected = (),
    least: Annotated[
        int, Option(("Smallest number of anchors per language."), least=1, rare=True)
    ] = LEAST,
    streams: Streams = 0,
    loss: Loss = 0,
    alpha: float = 0.05,
    power: float = 0.8,
    force: Annotated[
        bool, Option("Replace an existing gate; it is kept as NAME.replaced.", rare=True)
    ] = False,
) -> list[str]:
    """Write a gate: the file that `metal gate` reads, with its margins and the hashes of anchors
    and baseline.

    Set the margins here, before the judge is asked again, and the largest number of streams in a
    watch. A watch has one stream for agreement and one for the system's scores, for each judge,
    language and criterion of the baseline.

    Args:
        anchors: The dataset folder with people's ratings.
        baseline: The run of `metal.judge` on it, with `repeat=2`.

    Returns:
        Sentences on what the gate can show: what a watch promises, which losses it will find, how
        many anchors it needs to find other losses, how many anchors a PASS needs (because even an
        unchanged judge changes some answers), and which cases have too few anchors.

    Raises:
        UsageError, DataError: If the baseline is not about the anchors, or has too few ratings.

    Example:
        for sentence in metal.gate_init("datasets/anchors", "runs/anchors-judges", out="gate.toml"):
            print(sentence)
    """
    import tomli_w

    from metal.auditing.settings import AuditSettings

    path = Path(out)
    check_new_file(path, _is_gate, force=force)
    declared = Declared(
        Path(baseline),
        Path(anchors),
        criteria=names(criteria),
        languages=names(languages),
        expected=names(expected),
        least=least,
        margins=Margins(margin, mean_margin, coverage_margin, alpha, power),
    )
    check_known("part of a judge", declared.expected, PARTS)
    before = declared.before()
    settings = AuditSettings(criteria=declared.criteria, languages=declared.languages)
    repeated_by = _asked_again(before)
    too_few = list(_too_few(before, settings, declared, repeated_by))
    of_stream = baselines(before.dataset, settings, {judge: judge for judge in before.judges})
    if streams and streams < len(of_stream):
        raise UsageError(
            f"streams {streams}: the baseline has {len(of_stream)}; give as many, or more"
        )
    declared = replace(declared, streams=streams or len(of_stream))
    lines = [
        *watch_lines(of_stream, declared.margins, declared.streams, loss),
        pass_line(
            comparisons(before.dataset, before.dataset, settings, repeated_by), declared.margins
        ),
        *too_few,
    ]
    gate: dict[str, Any] = {
        name: os.path.relpath(getattr(declared, name), path.parent)
        for name in ("baseline", "anchors")
    }
    gate |= Declared.hashes(before) | {
        "repeats": declared.repeats,
        "least": declared.least,
        "streams": declared.streams,
    }
    chosen = {name: list(getattr(declared, name)) for name in ("criteria", "languages", "expected")}
    gate |= {name: values for name, values in chosen.items() if values}
    with kept_file(path):
        write_new(path, tomli_w.dumps(gate | {"margins": vars(declared.margins)}))
    for folder in (declared.anchors, declared.baseline):
        note_gate(folder, path)
    return lines


def _is_gate(path: Path) -> bool:
    try:
        return {"anchors", "baseline", "margins"} <= set(read_toml(path))
    except DataError:
        return False


def _asked_again(before: Side) -> dict[str, str]:
    """For each judge, the name of its last repeat: {repeat: judge}. Raises UsageError if a judge
    was asked only once.
    """
    last = {}
    for name, rater in before.dataset.raters.items():
        judge = rater.about.get("repeats")
        if judge in before.judges:
            last[judge] = name
    for judge in before.judges:
        if judge not in last:
            raise UsageError(
                f"{judge} was asked once for the baseline; make it with `metal.judge(repeat=2)`,"
                " which shows how often answers change by themselves"
            )
    return {name: judge for judge, name in last.items()}


def _too_few(
    before: Side, settings: AuditSettings, declared: Declared, again: Mapping[str, str]
) -> Iterator[str]:
    """Say for which cases the anchors are too few, given how much the judge differs from itself
    when asked again.
    """
    from metal.runs.run import spoken
    from metal.show.parts import in_sentence

    dataset = before.dataset
    table = drift(dataset, dataset, settings, declared.margins, again).tables["drift"]
    check_whole(table, before, again, declared)
    few = table[table["needed"] > table["outputs"]]
    for (outputs, sources, needed), cells in few.groupby(
        ["outputs", "sources", "needed"], sort=False
    ):
        places = [
            f"{in_sentence(dataset.criteria[criterion].title)} in {spoken(language)}"
            for criterion, language in cells[["criterion", "language"]].itertuples(
                index=False, name=None
            )
        ]
        case = places[0]
        if places[1:]:
            case = f"{len(places)} of {plural(len(table), 'case')} ({first_few(places, 3)})"
        yield (
            f"Too few anchors in {case}: {outputs} anchors of {sources} sources, and about"
            f" {needed:.0f} are needed to show that nothing changed within these margins."
        )
