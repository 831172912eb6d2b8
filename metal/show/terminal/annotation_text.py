"""What `metal annotate` shows: tasks handed out, answers imported, and campaigns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metal.data.grouping import grouped
from metal.data.text import UNDEFINED, estimate, plural
from metal.show.commands import next_command
from metal.show.terminal import console as show

if TYPE_CHECKING:
    from metal.building.tasks import Assignment
    from metal.data.records import Criterion
    from metal.genie.monitoring import Monitoring
    from metal.running.annotating import HandedOut, ImportReport, Posted

SHOWN = 10
ON_PLATFORMS = ("label-studio", "mturk")  # forms that `metal annotate push` posts


def is_inside(dataset: Path) -> bool:
    """Whether the working directory is inside the dataset's folder; call this before the folder is
    rewritten.
    """
    return Path.cwd().is_relative_to(dataset.resolve())


def _say_moved() -> None:
    show.say("You are in the dataset's folder, which was rewritten: `cd .` takes you there.")


def show_handed_out(handed_out: HandedOut, *, inside: bool) -> None:
    """Show how many tasks each language and person gets, which criteria the test questions suit,
    and how to continue.
    """
    from metal.building.store import FOLDER
    from metal.genie.gold_questions import NEGATIVE, POSITIVE

    dataset, out, assignments = handed_out.dataset, handed_out.out, handed_out.assignments
    if handed_out.added:
        show.say(f"Added to {dataset / 'dataset.toml'}: {', '.join(handed_out.added)}", wrap=False)
        if inside:
            _say_moved()
    asked = [rubric.criterion for rubric in assignments[0].rubrics.values()]
    title = f"Tasks for people: {', '.join(criterion.short for criterion in asked)}"
    show.table(title, ["", "tasks", "people", "each rates"], _loads(assignments))
    if handed_out.questions:
        show.say(
            f"{plural(len(handed_out.questions), 'test question')} among them: positive ones work"
            f" on {_telling(asked, POSITIVE)}, negative ones on {_telling(asked, NEGATIVE)}"
            " (of_source in dataset.toml)"
        )
    guide = "give each person their file"
    if (out / "README.txt").is_file():
        guide = "README.txt there says how to continue"
    show.say(f"In {out}: {guide}", wrap=False)
    show.say(f"{dataset / FOLDER} records who was given what", wrap=False)
    on_platform = handed_out.form in ON_PLATFORMS
    if on_platform:
        show.say(f"Next: metal annotate push {handed_out.form} {dataset} {out}", wrap=False)
    show.say(
        f"{'Or' if on_platform else 'Next'}: metal annotate import {dataset} ANSWERS...", wrap=False
    )


def _loads(assignments: Sequence[Assignment]) -> list[list[str]]:
    """A table with one row per language: its tasks, its people, and how many tasks each person
    rates.
    """
    by_language = grouped(assignments, lambda assignment: assignment.language)
    rows = []
    for language, group in by_language.items():
        loads = sorted({len(assignment.tasks) for assignment in group})
        count = len({task.task for assignment in group for task in assignment.tasks})
        people = f"{group[0].rater} to {group[-1].rater}" if group[1:] else group[0].rater
        rows.append([language, f"{count:,}", people, " or ".join(map(str, loads))])
    return rows


def _telling(asked: Sequence[Criterion], side: str) -> str:
    """The criteria on which test questions of this side show who does not read the texts."""
    from metal.genie.gold_questions import tells

    return ", ".join(each.short for each in asked if tells(each, side)) or "nothing"


def show_import(report: ImportReport, *, inside: bool) -> None:
    """Show who answered, how far people agree, and which outputs everybody rated differently."""
    _show_answers(report)
    for note in report.notes:
        show.say(f"note: {note}")
    if report.tests:
        _show_tests(report.tests)
    _show_agreement(report)
    _show_ambiguous(report)
    kinds = {rater.kind for rater in report.data.raters.values()}
    following = f"Next: {next_command(report.dataset, kinds)}"
    show.say(following if report.written else "Nothing was written.", wrap=False)
    if inside and report.written:
        _say_moved()


def _show_answers(report: ImportReport) -> None:
    """Show how many tasks each person answered, and what was done with the answers."""
    from metal.building.store import ANSWERS, FOLDER

    answers = report.answers
    rows = []
    for name in sorted({*answers.answered, *answers.unanswered}):
        counts = (answers.answered[name], answers.partly[name], answers.unanswered.get(name, 0))
        rows.append([name, *(f"{count:,}" for count in counts)])
    show.table("Tasks answered", ["person", "in these files", "in part", "still open"], rows)
    remarks = (
        f"; {answers.remarks:,} with a comment, kept in {FOLDER}/{ANSWERS}"
        if answers.remarks
        else ""
    )
    for count, what, then in (
        (answers.same, "rating", "there already"),
        (answers.replaced, "rating", "replaced"),
        (answers.blank, "task", f"without any score, skipped{remarks}"),
    ):
        if count:
            show.say(f"{plural(count, what)} {then}")


def _show_tests(tests: Monitoring) -> None:
    """Show how everybody has done on the test questions so far, and who is noisy by them."""
    from metal.genie.gold_questions import SIDES

    columns = [f"{side}_{figure}" for side in SIDES for figure in ("right", "asked")]
    sums = tests.workers.groupby("rater")[columns].sum().to_dict("index")
    rows = [
        [str(name), *(f"{row[f'{side}_right']:,} of {row[f'{side}_asked']:,}" for side in SIDES)]
        for name, row in sums.items()
    ]
    show.table("Answers to test questions right", ["person", *SIDES], rows)
    for name, why in tests.noisy.items():
        show.say(f"{name} is noisy: {'; '.join(why)}")
    if tests.noisy:
        show.say("Their ratings are kept; --exclude-noisy leaves them out of an audit or a board.")


def _show_agreement(report: ImportReport) -> None:
    """Show how far people agree so far, with one row per language and criterion."""
    rows = []
    for record in report.agreement.to_dict("records"):
        row = {str(key): value for key, value in record.items()}
        cells = (estimate(row, key) for key in ("percent_agreement", "fleiss_kappa", "alpha"))
        name = f"{row['language']} {report.data.criteria[row['criterion']].short}"
        rows.append([name, f"{row['items']:,}", *cells])
    if rows:
        show.table(
            "Agreement of the people so far",
            ["", "outputs", "agreement", "Fleiss' kappa", "alpha"],
            rows,
            note=f"On outputs that enough people rated; {UNDEFINED}: not defined yet.",
        )


def _show_ambiguous(report: ImportReport) -> None:
    """Show the outputs that everybody rated differently, and what to do about them."""
    if report.ambiguous.empty:
        return
    times = plural(len(report.ambiguous), "time")
    show.say(f"Rated differently by everybody; look at them again ({times}):")
    for row in report.ambiguous.head(SHOWN).itertuples():
        show.say(f"  {row.output} {report.data.criteria[str(row.criterion)].short}: {row.labels}")
    if report.written:
        show.say(f"All are in {report.ambiguous_file}; others can rate them:", wrap=False)
        show.say(
            f"  metal annotate export DATASET --to html --only {report.ambiguous_file}", wrap=False
        )


# ---------------------------------------------------------------- platforms


def show_posted(posted: Posted, platform: str, dataset: Path) -> None:
    """Show what a push posted, and what to do next."""
    before = f", {posted.before:,} were there" if posted.before else ""
    what = f"{plural(posted.count, posted.unit)} {posted.where}"
    show.say(f"Posted {what}{before}. State: {posted.state}", wrap=False)
    if posted.workers:
        show.say(f"Workers find them on {posted.workers}", wrap=False)
    more = f" --name {posted.campaign}" if posted.campaigns > 1 else ""
    show.say(f"Next: metal annotate pull {platform} {dataset}{more}", wrap=False)


def show_campaigns(campaigns: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Show a table for each platform, with a row for each campaign."""
    for platform, group in campaigns.items():
        if group and platform == "mturk":
            _show_mturk(group)
        elif group and platform == "label-studio":
            rows = [
                [
                    row["campaign"],
                    row["url"],
                    f"{row['posted']} of {row['projects']}",
                    str(row["tasks"]),
                ]
                for row in group
            ]
            show.table(
                "Campaigns on Label Studio", ["", "", "projects posted", "tasks"], rows, keep=2
            )
        elif group:
            columns = list(group[0])
            rows = [[str(row.get(column, "")) for column in columns] for row in group]
            show.table(f"Campaigns on {platform}", columns, rows)


def _show_mturk(campaigns: Sequence[Mapping[str, Any]]) -> None:
    counts = ("submitted", "approved", "rejected", "open")
    rows = [
        [
            f"{row['campaign']} ({row['environment']})",
            f"{row['posted']:,} of {row['tasks']:,}",
            *(f"{row[name]:,}" for name in counts),
            f"${row['spent']:,.2f}",
            row["expires"][:16].replace("T", " ") or UNDEFINED,
        ]
        for row in campaigns
    ]
    waiting = sum(row["waiting"] for row in campaigns)
    note = f"Approving all that was submitted costs ${waiting:,.2f} more." if waiting else ""
    columns = ["", "posted", *counts, "spent", "expires"]
    show.table("Campaigns, as of the last pull (times in UTC)", columns, rows, note=note)
