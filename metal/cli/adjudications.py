"""`metal adjudicate plan` and `report`: have somebody who knows decide disputed outputs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import metal
from metal.cli.analysis import check_one_way, save_of_run, show_run
from metal.cli.printing import print_json, show_parts
from metal.cli.reading import read_and_say
from metal.cli.verb import AS_JSON, AS_MARKDOWN, FORCE, VERBOSE, CommandGroup, verb
from metal.cli.verb import out as out_option
from metal.questions.adjudicate.sorts import AMBIGUOUS, BETWEEN, DISPUTED
from metal.runs.kinds import kind_of
from metal.show.terminal import console

if TYPE_CHECKING:
    from metal.data.progress import Progress
    from metal.questions.adjudicate.verb import AdjudicationPlan

TITLES = {
    DISPUTED: "Outputs on which judge and people differ",
    AMBIGUOUS: "Outputs on which all people differ",
    BETWEEN: "Outputs that the two raters score most differently",
}
UNUSED = {DISPUTED: (), AMBIGUOUS: ("power",), BETWEEN: ("power", "with_bad")}

adjudicate = CommandGroup(
    "adjudicate", short_help="Have forty disputed outputs decided by somebody who knows."
)


@verb(
    metal.adjudicate_plan,
    AS_JSON,
    examples="""
        metal adjudicate plan datasets/mine runs/mine-judges
        metal adjudicate plan ratings.csv --items 20 --adjudicators anna,ben
        metal adjudicate plan datasets/mine -c task_quality -l hi --to xlsx
        metal adjudicate plan datasets/mine --between experts,crowd
    """,
)
def plan(data: Path, ratings: tuple[Path, ...], as_json: bool, **options: Any) -> None:
    input_data, options = read_and_say(data, options)
    with console.progress("drawing"):
        planned = metal.adjudicate_plan(input_data, *ratings, **options)
    if as_json:
        print_json(planned.to_dict())
        return
    show_parts(_planned(planned))
    for note in planned.notes:
        console.say(f"warning: {note}")
    console.say(f"In {planned.folder}", wrap=False)
    console.say("Send the forms to the adjudicators; when their files are back:", wrap=False)
    console.say(f"  metal adjudicate report {quote(str(planned.folder))} FILES", wrap=False)


def _planned(plan: AdjudicationPlan) -> Iterator[Any]:
    """Show what was drawn, in a sentence and a table."""
    from metal.data.text import count, percent, plural
    from metal.runs.columns import HEAD, Column
    from metal.show.view import Paragraph, TableView

    waiting = sum(case.drawn for case in plan.cases) - plan.before
    tells = [case.power for case in plan.cases if not math.isnan(case.power)]
    says = f"{plural(waiting, 'output')} to decide in {plural(len(plan.cases), 'case')}."
    says += f" At a minute each, that is {waiting / 60:.1f} hours of an adjudicator's time."
    if plan.before:
        says += f" {plural(plan.before, 'other')} were decided before, and count."
    if tells:
        least, most = percent(min(tells)), percent(max(tells))
        chance = least if least == most else f"{least} to {most}"
        says += (
            " If a judge is right as often as a person, the chance that these answers show it"
            f" is {chance}."
        )
    yield Paragraph(says, strong=True)
    columns = (
        *HEAD,
        Column("drawn", "drawn", count, below=lambda row: f"of {count(row['disputed'])}"),
        Column("with_bad", "with the bad end", count),
        Column("outputs", "outputs", count),
        Column("power", "shows it", percent),
    )
    described = tuple(each for each in columns if each.name not in UNUSED[plan.draw])
    rows = [vars(case) for case in plan.cases]
    yield TableView.of_figures(
        None,
        "adjudicate",
        TITLES[plan.draw],
        rows,
        described=described,
        heads=2,
    )


@verb(
    metal.adjudicate_report,
    out_option("runs/PLAN-report"),
    VERBOSE,
    AS_JSON,
    AS_MARKDOWN,
    FORCE,
    examples=kind_of("adjudicate report").examples,
)
def report(
    plan: Path,
    answers: tuple[Path, ...],
    out: Path | None,
    verbose: bool,
    as_json: bool,
    as_markdown: bool,
    force: bool,
    **options: Any,
) -> None:
    check_one_way(as_json, as_markdown)
    folder = out or Path("runs") / f"{plan.resolve().name}{kind_of('adjudicate report').ending}"

    def compare(progress: Progress) -> Any:
        compared = metal.adjudicate_report(plan, *answers, progress=progress, **options)
        return compared.to_be_saved_in(folder)

    compared, folder = save_of_run("adjudicate report", plan, out, force, compare)
    show_run(compared, folder, verbose, as_json, as_markdown)


for command in (plan, report):
    adjudicate.add_command(command)
