"""From the ledger into the dataset: the folder stays the truth that `metal audit` reads."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, select, update

from metal.errors import MetalError
from metal.serving import tables
from metal.serving.agreeing import agreement_of, plain_value
from metal.serving.answer_files import write_answers
from metal.serving.ledger import ServingLedger
from metal.serving.marks import MARK, RECOVERED, fingerprint, leave_mark, read_marks
from metal.serving.people import ACTIVE, RaterInStudy
from metal.serving.studies import CLOSED, Forms, Study

if TYPE_CHECKING:
    from metal.building.answers import Assigned
    from metal.data.dataset import Dataset
    from metal.running.annotating import ImportReport

AT_ONCE = 20_000  # answers that are written together
SHOWN_REFUSALS = 20
Refusal = tuple[int, int]  # an answer that the dataset does not take: its key and version
TIED = "handed"
# among the figures of a study, beside MARK and RECOVERED: why answers wait
TROUBLE = "trouble"
STRANGER = (
    "the dataset has ratings of somebody else under this name; exclude this person, and let them"
    " come in again as a new one"
)


@dataclass(frozen=True)
class KeptAnswers:
    """What came of bringing answers in. number: how many the dataset took. refused: those that it
    did not.
    """

    number: int = 0
    refused: frozenset[Refusal] = frozenset()


def new_answers(
    ledger: ServingLedger, study: Study, most: int = AT_ONCE
) -> list[Mapping[Any, Any]]:
    """The answers that the dataset lacks or has in an older version, the oldest first; at most
    `most`.

    Answers that lack a question wait until the study is closed. Those of people who were excluded
    or withdrew are left out.
    """
    answer, handed, person, task = tables.answers, tables.handed, tables.people, tables.tasks
    wanted = (
        select(
            *(answer, person.c.name.label("rater"), person.c.made, task.c.task, task.c.language),
        )
        .select_from(answer.join(handed).join(person).join(task))
        .where(answer.c.study == study.id, answer.c.kept < answer.c.version)
        .where(person.c.state == ACTIVE)
        .order_by(answer.c.at)
        .limit(most)
    )
    if study.state != CLOSED:
        wanted = wanted.where(answer.c.whole)
    return list(ledger.reads(lambda connection: connection.execute(wanted).mappings().all()))


def keep(
    ledger: ServingLedger, forms: Forms, root: Path, study: Study, earlier: Collection[Refusal] = ()
) -> KeptAnswers:
    """Bring new answers into the dataset, and note what they show.

    An answer that the dataset does not take is left in the ledger with the reason, and comes in
    with later ones once it can. earlier: such answers of earlier calls; if there are no others,
    nothing is tried. If this is interrupted, the same answers are brought in again, which changes
    nothing.
    """
    from metal.building.store import note_served
    from metal.data.dataset import dataset_to_change

    first = new_answers(ledger, study, len(earlier) + 1)
    if all(_refusal(row) in earlier for row in first):
        return KeptAnswers()
    folder = study.folder(root)
    if study.settings.of_forms:
        return KeptAnswers(_keep_as_files(ledger, forms, folder, study))
    with dataset_to_change(folder) as loaded:  # nobody else brings them in at the same time
        rows = new_answers(ledger, study, AT_ONCE + len(earlier))
        if not rows:
            return KeptAnswers()
        rows, strangers = _told_apart(folder, rows)
        note_served(folder, _served(forms, study, rows))
        report, refused = _brought_in(folder, loaded, study, rows)
        taken = [row for number, row in enumerate(rows) if number not in refused]
        why = {number: str(reason) for number, reason in refused.items()}
        why |= dict.fromkeys(range(len(rows), len(rows) + len(strangers)), STRANGER)
        rows += strangers
        figures = study.figures
        if report is not None:
            agreement = agreement_of(ledger, study, report.data, folder)
            figures = figures_of(report, agreement)
        figures = {**figures, "refused": _shown_refusals(rows, why)}
        joined = {row["rater"]: fingerprint(row["rater"], row["made"]) for row in taken}
        mark = leave_mark(folder, study, joined=joined) if taken else ""
        _note_kept(ledger, study, taken, figures, mark)
    return KeptAnswers(len(taken), frozenset(_refusal(rows[number]) for number in why))


def _told_apart(
    folder: Path, rows: Sequence[Mapping[Any, Any]]
) -> tuple[list[Mapping[Any, Any]], list[Mapping[Any, Any]]]:
    """The answers of people whose name nobody else has in the dataset, and those of others."""
    people = read_marks(folder).people
    own: list[Mapping[Any, Any]] = []
    strangers: list[Mapping[Any, Any]] = []
    for row in rows:
        holder = people.get(row["rater"])
        same = holder is None or holder == fingerprint(row["rater"], row["made"])
        (own if same else strangers).append(row)
    return own, strangers


def _refusal(row: Mapping[Any, Any]) -> Refusal:
    return int(row[TIED]), int(row["version"])


def _brought_in(
    folder: Path, loaded: Dataset, study: Study, rows: Sequence[Mapping[Any, Any]]
) -> tuple[ImportReport | None, Mapping[int, MetalError]]:
    """The report of an import, None without answers that can be taken, and why others cannot be:
    position in `rows` -> reason. Raises MetalError if this is not for an answer's sake.
    """
    from metal.building.tasks import Answer
    from metal.running.annotating import import_answers, refused_answers

    answers = [
        Answer(row["task"], row["rater"], row["scores"], row["comment"], f"study {study.id}",
               round(row["seconds"]))
        for row in rows
    ]  # fmt: skip
    group = study.settings.group
    try:
        return import_answers(folder, loaded, answers, replace=True, group=group), {}
    except MetalError:
        refused = refused_answers(folder, loaded, answers)
        if not refused:
            raise
    rest = [answer for number, answer in enumerate(answers) if number not in refused]
    report = import_answers(folder, loaded, rest, replace=True, group=group) if rest else None
    return report, refused


def _shown_refusals(rows: Sequence[Mapping[Any, Any]], why: Mapping[int, str]) -> dict[str, Any]:
    """What the owner sees of answers that were refused: how many there are, and the first ones."""
    first = [
        {"rater": rows[number]["rater"], "task": rows[number]["task"], "why": reason}
        for number, reason in sorted(why.items())[:SHOWN_REFUSALS]
    ]
    return {"number": len(why), "first": first} if why else {}


def _keep_as_files(ledger: ServingLedger, forms: Forms, folder: Path, study: Study) -> int:
    """Write the answers of a study of forms as the files that people would have sent back."""
    from metal.data.files import one_writer

    with one_writer(folder):
        rows = new_answers(ledger, study)
        for rater, part in sorted({(row["rater"], row["language"]) for row in rows}):
            write_answers(ledger, forms, folder, study, rater, part)
        if rows:
            _note_kept(ledger, study, rows, {}, leave_mark(folder, study))
    return len(rows)


def _served(forms: Forms, study: Study, rows: Sequence[Mapping[Any, Any]]) -> list[Assigned]:
    """Who was given the tasks of these answers, as the dataset notes it."""
    from metal.building.answers import Assigned

    asked: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {}
    for row in rows:
        names = tuple(each["name"] for each in forms.form(study.id, row["language"]).questions)
        asked.setdefault((row["rater"], row["language"]), {})[row["task"]] = names
    return [Assigned(rater, language, tasks) for (rater, language), tasks in asked.items()]


def _note_kept(
    ledger: ServingLedger,
    study: Study,
    rows: Sequence[Mapping[Any, Any]],
    figures: Mapping[str, Any],
    mark: str = "",
) -> None:
    answer, every = tables.answers, tables.studies

    def write(connection: Connection) -> None:
        for row in rows:
            same = (answer.c.handed == row[TIED]) & (answer.c.kept < row["version"])
            connection.execute(update(answer).where(same).values(kept=row["version"]))
        wanted = select(every.c.figures).where(every.c.id == study.id).with_for_update()
        before = connection.scalar(wanted) or {}
        stays = {name: before[name] for name in (MARK, RECOVERED) if name in before}
        stays |= {MARK: mark} if mark else {}
        change = update(every).where(every.c.id == study.id)
        connection.execute(change.values(figures={**figures, **stays}))

    ledger.writes(write)


def note_trouble(ledger: ServingLedger, name: str, why: str) -> None:
    """Note for the owner why the answers of a study cannot come into its dataset; empty if they
    can.
    """
    every = tables.studies
    wanted = select(every.c.figures).where(every.c.id == name)
    if ledger.reads(lambda connection: connection.scalar(wanted) or {}).get(TROUBLE, "") == why:
        return

    def write(connection: Connection) -> None:
        figures = connection.scalar(wanted.with_for_update()) or {}
        change = update(every).where(every.c.id == name)
        connection.execute(change.values(figures={**figures, TROUBLE: why}))

    ledger.writes(write)


def figures_of(report: ImportReport, agreement: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """What the owner sees of an import: agreement (see `agreement_of`), and who fails test
    questions, with the reasons.
    """
    noisy = {} if report.tests is None else report.tests.noisy
    return {
        "agreement": [
            {name: plain_value(value) for name, value in row.items()} for row in agreement
        ],
        "ambiguous": len(report.ambiguous),
        "noisy": {rater: list(reasons) for rater, reasons in noisy.items()},
    }


def answers_of(ledger: ServingLedger, rater: RaterInStudy) -> list[Mapping[Any, Any]]:
    """Every answer of a person, the oldest first."""
    answer, handed = tables.answers, tables.handed
    wanted = (
        select(answer)
        .select_from(answer.join(handed))
        .where(handed.c.person == rater.id)
        .order_by(answer.c.at)
    )
    return list(ledger.reads(lambda connection: connection.execute(wanted).mappings().all()))
