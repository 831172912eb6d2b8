"""Fetch assignments from Mechanical Turk, read their answers, and pay approvals and bonuses only
once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from metal.building.answers import read_score
from metal.building.crowdsourcing.mturk import MTurk, MTurkError
from metal.building.crowdsourcing.mturk_campaign import (
    ASSIGNMENTS,
    BONUSES,
    CAP,
    HITS,
    MTurkCampaign,
)
from metal.building.crowdsourcing.mturk_documents import read_answers
from metal.building.crowdsourcing.posting import exclude
from metal.building.forms import mturk
from metal.building.forms.sheet import printable
from metal.building.tasks import Answer
from metal.data.progress import Progress, no_progress
from metal.data.records import Criterion
from metal.errors import MetalError, UsageError

AT_ONCE = "taskAnswers"
_CHOICE = re.compile(r"[\w +-]{1,80}")
REHEARSAL = (
    "answers from the sandbox now count like all other ratings; rehearse on a copy of the dataset"
)
SHOWN = 10  # unreadable assignments that are named


def fetch(
    turk: MTurk, campaign: MTurkCampaign, progress: Progress = no_progress
) -> tuple[int, int]:
    """Store every assignment that was submitted since the last pull, and every status that has
    changed.

    HITs whose assignments were all approved or rejected are not asked for again. Returns how many
    assignments are new, and how many HITs no longer exist on Mechanical Turk.
    """
    stored = campaign.assignments()
    reviewed = Counter(
        assignment["hit"] for assignment in stored.values() if assignment["status"] != "Submitted"
    )
    hits = campaign.posted()
    fresh = gone = 0
    for done, (task, hit) in enumerate(hits.items()):
        progress(done, len(hits))
        if reviewed[hit] >= campaign.settings.assignments:
            continue
        try:
            for assignment in turk.assignments(hit):
                name, status = assignment["AssignmentId"], assignment["AssignmentStatus"]
                if name not in stored:
                    stored[name] = _record(assignment, task)
                    campaign.note(ASSIGNMENTS, assignment=name, **stored[name])
                    fresh += 1
                elif stored[name]["status"] != status:
                    campaign.note(ASSIGNMENTS, assignment=name, status=status)
        except MTurkError as error:
            if "DoesNotExist" not in error.code:
                raise
            gone += 1
    progress(len(hits), len(hits))
    return fresh, gone


def _record(assignment: Mapping[str, Any], task: str) -> dict[str, Any]:
    submitted = assignment["SubmitTime"]
    return {
        "task": task,
        "hit": assignment["HITId"],
        "worker": assignment["WorkerId"],
        "status": assignment["AssignmentStatus"],
        "submitted": submitted.astimezone(UTC).isoformat(timespec="seconds"),
        "seconds": max(0.0, (submitted - assignment["AcceptTime"]).total_seconds()),
        "answer": assignment["Answer"],
    }


# ---------------------------------------------------------------- answers


@dataclass(frozen=True)
class Received:
    """The answers of a campaign. complete: assignments without a blank criterion. unreadable:
    assignment -> why it cannot be read. rehearsed: whether the campaign is in the sandbox.
    """

    answers: list[Answer]
    complete: list[str]
    unreadable: dict[str, str]
    rejected: int
    rehearsed: bool

    def notes(self) -> list[str]:
        """Notes on answers that were left out, and on a rehearsal in the sandbox."""
        notes = [f"{self.rejected:,} rejected assignments left out"] if self.rejected else []
        notes += [f"left out: {why}" for why in list(self.unreadable.values())[:SHOWN]]
        if len(self.unreadable) > SHOWN:
            notes.append(f"left out: {len(self.unreadable) - SHOWN:,} more that cannot be read")
        if self.answers and self.rehearsed:
            notes.append(REHEARSAL)
        return notes


def received(campaign: MTurkCampaign, criteria: Mapping[str, Criterion]) -> Received:
    """The answers of all assignments except rejected ones, as the form `mturk` reads them.

    Workers can send anything. If an assignment cannot be read, or has a score off the scale, only
    this assignment is left out.
    """
    rows = {row["task"]: row for _, _, row in campaign.rows()}
    answers: list[Answer] = []
    complete: list[str] = []
    unreadable: dict[str, str] = {}
    rejected = 0
    for name, assignment in campaign.assignments().items():
        if assignment["status"] == "Rejected":
            rejected += 1
            continue
        location = f"campaign {campaign.name} assignment {name}"
        try:
            fields = read_answers(assignment["answer"], location)
            row = rows.get(assignment["task"], {"task": assignment["task"]})
            cells = _result(assignment, row, fields, campaign.settings.fields)
            parsed = mturk.answers_in(location, list(cells), [(location, cells)], criteria)
            blank = [_blank(answer, criteria, location) for answer in parsed]
        except MetalError as error:
            unreadable[name] = str(error)
            continue
        answers += parsed
        if parsed and not any(blank):
            complete.append(name)
    rehearsed = campaign.settings.environment != "production"
    return Received(answers, complete, unreadable, rejected, rehearsed)


def _blank(answer: Answer, criteria: Mapping[str, Criterion], location: str) -> bool:
    """Whether a criterion was left without a score. Raises DataError for a score off its scale."""
    scores = [
        read_score(text, criteria[name], location)
        for name, text in answer.scores.items()
        if name in criteria
    ]
    return not scores or None in scores


def _result(
    assignment: Mapping[str, Any],
    row: Mapping[str, str],
    answers: Mapping[str, str],
    fields: Sequence[str],
) -> dict[str, str]:
    """Make the row that MTurk's own table of results would have for an assignment, for the form's
    reader.

    Only fields of the layout are used, because workers can make up others.
    """
    taken = {f"Answer.{field}": answers.get(field, "") for field in fields}
    # `task_quality.2`: one field per choice. Nothing that could pass for another mark between
    # columns.
    for field, answer in answers.items():
        criterion, _, choice = field.rpartition(".")
        if field == AT_ONCE or (criterion in fields and _CHOICE.fullmatch(choice)):
            taken[f"Answer.{field}"] = answer
    cells = {
        "WorkerId": assignment["worker"],
        "WorkTimeInSeconds": f"{assignment['seconds']:g}",
        **taken,
        **{f"Input.{column}": cell for column, cell in row.items()},
    }
    return {column: printable(cell).strip() for column, cell in cells.items()}


# ---------------------------------------------------------------- afterwards


def enforce_cap(turk: MTurk, campaign: MTurkCampaign) -> int:
    """Exclude workers who have reached the limit of tasks; return how many are newly excluded.

    MTurk itself has no such limit, so between two pulls a worker can do more tasks.
    """
    if not campaign.settings.cap:
        return 0
    assignments = campaign.assignments().values()
    done = Counter(
        assignment["worker"] for assignment in assignments if assignment["status"] != "Rejected"
    )
    before = campaign.excluded()
    full = [
        worker
        for worker, count in done.items()
        if count >= campaign.settings.cap and worker not in before
    ]
    return exclude(turk, campaign, dict.fromkeys(full, CAP))


def approve(turk: MTurk, campaign: MTurkCampaign, complete: Iterable[str]) -> int:
    """Approve the assignments in `complete` that still wait for approval; return how many were
    approved.
    """
    assignments = campaign.assignments()
    waiting = [name for name in complete if assignments[name]["status"] == "Submitted"]
    return _review(campaign, "approving", dict.fromkeys(waiting, True), turk.approve, "Approved")


def reject(turk: MTurk, campaign: MTurkCampaign, reasons: Mapping[str, str]) -> int:
    """Reject assignments, and tell each worker the reason; return how many were rejected. Ratings
    that were imported before stay.

    Raises UsageError for an assignment of another campaign.
    """
    assignments = campaign.assignments()
    for name in reasons:
        if name not in assignments:
            raise UsageError(
                f"assignment {name!r} is not in campaign {campaign.name!r}; nothing was rejected"
            )
    waiting = {
        name: reason
        for name, reason in reasons.items()
        if assignments[name]["status"] != "Rejected"
    }
    return _review(
        campaign, "rejecting", waiting, lambda name: turk.reject(name, reasons[name]), "Rejected"
    )


def _review(
    campaign: MTurkCampaign,
    doing: str,
    waiting: Mapping[str, object],
    review: Callable[[str], None],
    status: str,
) -> int:
    """Review assignments. The intention is on disk before each call, the new status after it."""
    for name, intention in waiting.items():
        campaign.note(ASSIGNMENTS, assignment=name, **{doing: intention})
        review(name)
        campaign.note(ASSIGNMENTS, assignment=name, status=status)
    return len(waiting)


def planned_bonuses(
    campaign: MTurkCampaign, wanted: Mapping[str, Decimal], reason: str
) -> list[dict[str, str]]:
    """The bonuses (worker -> USD) that have not been paid yet, as recorded in the journal.

    Each has token, worker, assignment, usd and reason. Bonuses with the same worker, sum and reason
    are one bonus, which a campaign pays once. Another reason makes another bonus. Raises UsageError
    for a worker who has submitted nothing.
    """
    assignments, before = campaign.assignments(), campaign.bonuses()
    due = []
    for worker, usd in wanted.items():
        submitted = [
            name
            for name, assignment in assignments.items()
            if assignment["worker"] == worker and assignment["status"] != "Rejected"
        ]
        if not submitted:
            raise UsageError(
                f"worker {worker!r} has no assignment in campaign {campaign.name!r}, or only"
                " rejected ones"
            )
        token = campaign.token("bonus", worker, f"{usd:.2f}", reason)
        bonus = {
            "token": token,
            "worker": worker,
            "assignment": submitted[0],
            "usd": f"{usd:.2f}",
            "reason": reason,
        }
        noted = before.get(token, {})
        if not noted.get("paid"):
            due.append(bonus | noted)
    return due


def pay(turk: MTurk, campaign: MTurkCampaign, bonuses: Iterable[dict[str, str]]) -> int:
    """Pay bonuses, each only once; return how many were paid now. The intention is on the disk
    before the call.
    """
    before = campaign.bonuses()
    count = 0
    for bonus in bonuses:
        token, details = (
            bonus["token"],
            (bonus["worker"], bonus["assignment"], Decimal(bonus["usd"]), bonus["reason"]),
        )
        # from a pull that was killed: MTurk remembers a token for a day only
        unsure = token in before
        if not unsure or not turk.has_bonus(*details):
            campaign.note(BONUSES, **bonus)
            turk.bonus(token, *details)
            count += 1
        campaign.note(BONUSES, token=token, paid=True)
    return count


def expire(turk: MTurk, campaign: MTurkCampaign, when: datetime) -> int:
    """Set the end of all HITs to that time; return the number of HITs."""
    hits = campaign.posted()
    for task, hit in hits.items():
        try:
            turk.expire(hit, when)
        except MTurkError as error:
            if "DoesNotExist" not in error.code:  # a deleted HIT has ended anyway
                raise
        campaign.note(HITS, task=task, expires=when.astimezone(UTC).isoformat(timespec="seconds"))
    return len(hits)
