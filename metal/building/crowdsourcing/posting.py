"""Tasks of a campaign become HITs, each once, however often the process is killed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from metal.building.crowdsourcing.campaign import CAP, NOISY, Campaign
from metal.building.crowdsourcing.mturk import Turk, fee
from metal.building.crowdsourcing.qualifications import Test, requirements
from metal.building.crowdsourcing.question import html_question
from metal.data.languages import language_name
from metal.errors import DataError

TEST_SECONDS = 3600


@dataclass(frozen=True)
class Cost:
    """USD for HITs that are still to be posted."""

    hits: int
    assignments: int
    reward: Decimal

    @property
    def rewards(self) -> Decimal:
        return self.hits * self.assignments * self.reward

    @property
    def fees(self) -> Decimal:
        return self.hits * self.assignments * fee(self.reward, self.assignments)

    @property
    def total(self) -> Decimal:
        return self.rewards + self.fees


@dataclass(frozen=True)
class Question:
    """What is posted for a task."""

    task: str
    language: str
    content: str


def questions(rows: Iterable[tuple[str, str, Mapping[str, str]]], known: Mapping[str, str]) -> list[Question]:
    """The question of each (language, layout, row). known: tasks that were handed out.

    Everything is checked before anything is posted: raises DataError for a task that is not known or comes twice, a
    layout that does not fit its rows, and a page that is too long for a HIT.
    """
    found: dict[str, Question] = {}
    for language, layout, row in rows:
        task = row["task"]
        where = f"tasks-{language}.csv task {task}"
        if task not in known:
            raise DataError(where, "none of this dataset's", "Export the tasks from this dataset, and push them")
        if task in found:
            raise DataError(where, "there twice", "Take one of the rows out; for more raters pass --assignments")
        found[task] = Question(task, language, html_question(layout, row, where))
    return list(found.values())


def post(
    turk: Turk,
    campaign: Campaign,
    asked: Iterable[Question],
    needed: list[dict[str, Any]],
    clock: Callable[[], datetime],
    advance: Callable[[int, int], None] = lambda done, total: None,
) -> int:
    """Post what is not posted yet; how many HITs that were.

    The intention, with its token, is on the disk before the call, the HIT's id after it. An intention without an id is
    of a push that was killed, or whose answer was lost: its HIT is looked for among ours by the token, and if it is
    not listed (yet), the call with the same token makes it, or answers with the one that is there.
    """
    asked = list(asked)
    hits = campaign.hits()
    unsure = {one.token: task for task, one in hits.items() if not one.hit}
    for token, hit in turk.find_hits(unsure).items():
        campaign.note_hit(unsure[token], hit=hit)
        hits = campaign.hits()
    todo = [one for one in asked if one.task not in hits or not hits[one.task].hit]
    for done, one in enumerate(todo):
        advance(done, len(todo))
        token = campaign.token("hit", one.task)
        now = clock()
        expires = (now + timedelta(seconds=campaign.asked.lifetime)).isoformat(timespec="seconds")
        campaign.note_hit(one.task, token=token, at=now.isoformat(timespec="seconds"), expires=expires)
        hit = turk.create_hit(token, **_described(campaign, one, needed))
        campaign.note_hit(one.task, hit=hit)
    advance(len(todo), len(todo))
    return len(todo)


def _described(campaign: Campaign, one: Question, needed: list[dict[str, Any]]) -> dict[str, Any]:
    """What a HIT is created with. The title names the language: HITs of a language are listed together."""
    asked = campaign.asked
    language = language_name(one.language)
    return {
        "Title": asked.title.replace("LANGUAGE", language)[:128],
        "Description": asked.description.replace("LANGUAGE", language)[:2000],
        "Keywords": asked.keywords.replace("LANGUAGE", language),
        "Reward": asked.reward,
        "MaxAssignments": asked.assignments,
        "LifetimeInSeconds": asked.lifetime,
        "AssignmentDurationInSeconds": asked.duration,
        "AutoApprovalDelayInSeconds": asked.auto_approval,
        "QualificationRequirements": needed,
        "Question": one.content,
    }


# ---------------------------------------------------------------- who may work


def exclusion(turk: Turk, campaign: Campaign) -> str:
    """The qualification type that shuts workers out of this campaign: who has it does not find its HITs."""
    return _made(turk, campaign, "share done", {"Description": "Workers who have done their share of these tasks."})


def _made(turk: Turk, campaign: Campaign, purpose: str, described: Mapping[str, Any]) -> str:
    """The campaign's qualification type for that; its name, which workers can see, tells nothing of the campaign."""
    if known := campaign.qualifications().get(purpose):
        return known
    made = turk.qualification(f"Text rating: {purpose} ({campaign.token(purpose)[:12]})", described)
    campaign.note_qualification(purpose, made)
    return made


def needed_of(turk: Turk, campaign: Campaign, test: Test | None, noisy: Iterable[str]) -> list[dict[str, Any]]:
    """The requirements of the campaign's HITs; makes the qualification types they need, and shuts out `noisy`.

    Each type is made once: its name comes from the campaign's key.
    """
    asked = campaign.asked
    minimum = dict(asked.minimum)
    if test:
        described = {"Description": "A short test: read the texts and choose the right answers."}
        asks = {"Test": test.form, "AnswerKey": test.key, "TestDurationInSeconds": TEST_SECONDS}
        minimum[_made(turk, campaign, "test", described | asks)] = asked.test_pass
    shut = exclusion(turk, campaign)
    shut_out(turk, campaign, shut, dict.fromkeys(noisy, NOISY))
    return requirements(
        completed_hits=asked.completed_hits,
        share_approved=asked.share_approved,
        countries=asked.countries,
        adult=asked.adult,
        minimum=minimum,
        excluded_by=[shut],
    )


def shut_out(turk: Turk, campaign: Campaign, qualification: str, workers: Mapping[str, str]) -> int:
    """Keep workers (worker -> why) from further HITs of the campaign; how many are new."""
    before = campaign.shut_out()
    fresh = {worker: why for worker, why in workers.items() if worker not in before}
    for worker, why in fresh.items():
        turk.give(qualification, worker)  # given twice is given once
        campaign.note_shut_out(worker, why)
    for worker, why in workers.items():
        if before.get(worker) == CAP and why == NOISY:  # shut out of this campaign before, now of later ones too
            campaign.note_shut_out(worker, why)
    return len(fresh)
