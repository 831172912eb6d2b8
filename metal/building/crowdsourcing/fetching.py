"""What workers submitted comes back: assignments on the disk, then answers; approvals and bonuses, each once."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from metal.building import forms
from metal.building.answers import read_score
from metal.building.crowdsourcing.campaign import CAP, Campaign
from metal.building.crowdsourcing.mturk import Refused, Turk
from metal.building.crowdsourcing.posting import exclusion, shut_out
from metal.building.crowdsourcing.question import read_answers
from metal.building.tasks import Answer
from metal.data.records import Criterion
from metal.errors import MetalError, UsageError

WORKER = "mturk:"  # before a worker's id in the name of a rater
AT_ONCE = "taskAnswers"
_CHOICE = re.compile(r"[\w +-]{1,80}")


@dataclass(frozen=True)
class Fetched:
    """fresh: assignments that are new. gone: HITs that Mechanical Turk does not have any more."""

    fresh: int
    gone: int


def fetch(turk: Turk, campaign: Campaign, advance: Callable[[int, int], None] = lambda done, total: None) -> Fetched:
    """Put every assignment that was submitted since on the disk, and every new status.

    HITs all of whose assignments were approved or rejected are not asked for again.
    """
    known = campaign.assignments()
    over = Counter(one["hit"] for one in known.values() if one["status"] != "Submitted")
    hits = [(task, one.hit) for task, one in campaign.hits().items() if one.hit]
    fresh = gone = 0
    for done, (task, hit) in enumerate(hits):
        advance(done, len(hits))
        if over[hit] >= campaign.asked.assignments:
            continue
        try:
            for one in turk.assignments(hit):
                fresh += _keep(campaign, one, task, known)
        except Refused as refused:
            if "DoesNotExist" not in refused.code:
                raise
            gone += 1
    advance(len(hits), len(hits))
    return Fetched(fresh, gone)


def _keep(campaign: Campaign, one: Mapping[str, Any], task: str, known: dict[str, dict[str, Any]]) -> bool:
    """Put an assignment, or its new status, on the disk; whether it is new."""
    name, before = one["AssignmentId"], known.get(one["AssignmentId"])
    if before is None:
        known[name] = _record(one, task)
        campaign.note_assignment(name, **known[name])
    elif before["status"] != one["AssignmentStatus"]:
        campaign.note_assignment(name, status=one["AssignmentStatus"])
    return before is None


def _record(one: Mapping[str, Any], task: str) -> dict[str, Any]:
    submitted = one["SubmitTime"]
    return {
        "task": task,
        "hit": one["HITId"],
        "worker": one["WorkerId"],
        "status": one["AssignmentStatus"],
        "submitted": submitted.astimezone(UTC).isoformat(timespec="seconds"),
        "seconds": max(0.0, (submitted - one["AcceptTime"]).total_seconds()),
        "answer": one["Answer"],
    }


# ---------------------------------------------------------------- answers


@dataclass(frozen=True)
class Received:
    """Answers of a campaign. complete: assignments that nothing is missing in. unreadable: why, by assignment."""

    answers: list[Answer]
    complete: list[str]
    unreadable: dict[str, str]
    rejected: int


def received(campaign: Campaign, criteria: Mapping[str, Criterion]) -> Received:
    """The answers of all assignments that were not rejected, as the form's own reader takes them.

    Workers can send anything: an assignment that cannot be read, or has a score off the scale, is left out by itself.
    """
    rows = {row["task"]: row for _, _, row in campaign.rows()}
    found = Received([], [], {}, 0)
    rejected = 0
    for name, one in campaign.assignments().items():
        if one["status"] == "Rejected":
            rejected += 1
            continue
        where = f"campaign {campaign.name} assignment {name}"
        try:
            said = read_answers(one["answer"], where)
            content = _results(name, one, rows.get(one["task"], {"task": one["task"]}), said, campaign.asked.fields)
            answers, _ = forms.read(f"{where}.csv", content, criteria)
            blank = [_blank(answer, criteria, where) for answer in answers]
        except MetalError as error:
            found.unreadable[name] = str(error)
            continue
        found.answers.extend(replace(answer, where=where) for answer in answers)
        if answers and not any(blank):
            found.complete.append(name)
    return replace(found, rejected=rejected)


def _blank(answer: Answer, criteria: Mapping[str, Criterion], where: str) -> bool:
    """Whether a criterion was left without a score. Raises DataError for a score off its scale."""
    scores = [read_score(text, criteria[name], where) for name, text in answer.scores.items() if name in criteria]
    return not scores or None in scores


def _results(
    name: str, one: Mapping[str, Any], row: Mapping[str, str], said: Mapping[str, str], fields: Iterable[str]
) -> bytes:
    """The row that MTurk's own table of results has for an assignment, which is what the form's reader reads.

    Only fields that the layout has are taken over: workers can make up others.
    """
    asked = list(fields)
    taken = {f"Answer.{key}": said.get(key, "") for key in asked}
    # `task_quality.2`: a field a choice. Nothing that could pass for another mark between columns.
    chosen = [key for key in said if key.rpartition(".")[0] in asked and _CHOICE.fullmatch(key.rpartition(".")[2])]
    taken |= {f"Answer.{key}": said[key] for key in chosen}
    if AT_ONCE in said:
        taken[f"Answer.{AT_ONCE}"] = said[AT_ONCE]
    cells = {"HITId": one["hit"], "AssignmentId": name, "WorkerId": one["worker"], "AssignmentStatus": one["status"]}
    cells |= {"WorkTimeInSeconds": f"{one['seconds']:g}"} | taken
    cells |= {f"Input.{column}": cell for column, cell in row.items()}
    file = io.StringIO(newline="")
    writer = csv.writer(file, quoting=csv.QUOTE_ALL)
    writer.writerows([list(cells), list(cells.values())])
    return file.getvalue().encode()


# ---------------------------------------------------------------- afterwards


def enforce_cap(turk: Turk, campaign: Campaign) -> int:
    """Shut out workers who have done as much as one may; how many are new.

    MTurk has no such limit: between two pulls a worker can do more.
    """
    if not campaign.asked.cap:
        return 0
    done = Counter(one["worker"] for one in campaign.assignments().values() if one["status"] != "Rejected")
    full = {worker: CAP for worker, count in done.items() if count >= campaign.asked.cap}
    fresh = {worker: why for worker, why in full.items() if worker not in campaign.shut_out()}
    return shut_out(turk, campaign, exclusion(turk, campaign), fresh) if fresh else 0


def approve(turk: Turk, campaign: Campaign, complete: Iterable[str]) -> int:
    """Approve those that wait for it; how many. What was approved before is not approved again."""
    known = campaign.assignments()
    waiting = [name for name in complete if known[name]["status"] == "Submitted"]
    for name in waiting:
        campaign.note_assignment(name, approving=True)
        turk.approve(name)
        campaign.note_assignment(name, status="Approved")
    return len(waiting)


def reject(turk: Turk, campaign: Campaign, reasons: Mapping[str, str]) -> int:
    """Reject assignments, each with the reason that its worker is told; how many. Ratings taken in before stay.

    Raises UsageError for one that is not the campaign's.
    """
    known = campaign.assignments()
    for name in reasons:
        if name not in known:
            raise UsageError(f"assignment {name!r} is none of campaign {campaign.name!r}; nothing was rejected")
    waiting = {name: reason for name, reason in reasons.items() if known[name]["status"] != "Rejected"}
    for name, reason in waiting.items():
        campaign.note_assignment(name, rejecting=reason)
        turk.reject(name, reason)
        campaign.note_assignment(name, status="Rejected")
    return len(waiting)


@dataclass(frozen=True)
class Bonus:
    """A bonus for a worker of the campaign, and the assignment it is paid for."""

    token: str
    worker: str
    assignment: str
    usd: Decimal
    reason: str


def planned_bonuses(campaign: Campaign, wanted: Mapping[str, Decimal], reason: str) -> list[Bonus]:
    """The bonuses (worker -> USD) that were not paid yet.

    The same worker, sum and reason is the same bonus, paid once in a campaign; another reason makes another bonus.
    Raises UsageError for a worker who has submitted nothing.
    """
    known, before = campaign.assignments(), campaign.bonuses()
    found = []
    for worker, usd in wanted.items():
        mine = [name for name, one in known.items() if one["worker"] == worker and one["status"] != "Rejected"]
        if not mine:
            raise UsageError(f"worker {worker!r} has no assignment in campaign {campaign.name!r} that was not rejected")
        token = campaign.token("bonus", worker, f"{usd:.2f}", reason)
        paid_for = str(before.get(token, {}).get("assignment", mine[0]))
        if not before.get(token, {}).get("paid"):
            found.append(Bonus(token, worker, paid_for, usd, reason))
    return found


def pay(turk: Turk, campaign: Campaign, bonuses: Iterable[Bonus]) -> int:
    """Pay bonuses, each once; how many were paid now. The intention is on the disk before the call."""
    before = campaign.bonuses()
    count = 0
    for one in bonuses:
        unsure = one.token in before  # of a pull that was killed: MTurk knows a token for a day only
        if not unsure or not turk.has_bonus(one.worker, one.assignment, one.usd, one.reason):
            known = {"worker": one.worker, "assignment": one.assignment, "usd": f"{one.usd:.2f}", "reason": one.reason}
            campaign.note_bonus(one.token, **known)
            turk.bonus(one.token, one.worker, one.assignment, one.usd, one.reason)
            count += 1
        campaign.note_bonus(one.token, paid=True)
    return count


def expire(turk: Turk, campaign: Campaign, when: datetime) -> int:
    """All HITs end then; how many there are."""
    hits = [(task, one.hit) for task, one in campaign.hits().items() if one.hit]
    for task, hit in hits:
        try:
            turk.expire(hit, when)
        except Refused as refused:
            if "DoesNotExist" not in refused.code:  # it has ended as much as it can
                raise
        campaign.note_hit(task, expires=when.astimezone(UTC).isoformat(timespec="seconds"))
    return len(hits)
