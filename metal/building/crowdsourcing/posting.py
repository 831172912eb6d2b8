"""Tasks of a campaign on Mechanical Turk become HITs, each once, however often the process is killed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from metal.building.crowdsourcing.mturk import MTurk, fee
from metal.building.crowdsourcing.mturk_campaign import CAP, HITS, NOISY, QUALIFICATIONS, WORKERS, MTurkCampaign
from metal.building.crowdsourcing.mturk_settings import MTurkSettings
from metal.building.crowdsourcing.qualifications import QualificationTest, requirements
from metal.building.crowdsourcing.question import html_question
from metal.data.languages import language_name
from metal.errors import DataError

TEST_SECONDS = 3600


@dataclass(frozen=True)
class PostingCost:
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
class HitQuestion:
    """The document that is posted for a task."""

    task: str
    language: str
    content: str


def questions(rows: Iterable[tuple[str, str, Mapping[str, str]]], tasks: Mapping[str, str]) -> list[HitQuestion]:
    """The question of each (language, layout, row). tasks: those that were handed out.

    Everything is checked before anything is posted: raises DataError for a task that was not handed out or occurs
    twice, a layout that does not fit its rows, and a page that is too long for a HIT.
    """
    by_task: dict[str, HitQuestion] = {}
    for language, layout, row in rows:
        task = row["task"]
        where = f"tasks-{language}.csv task {task}"
        if task not in tasks:
            raise DataError(where, "none of this dataset's", "Export the tasks from this dataset, and push them")
        if task in by_task:
            raise DataError(where, "there twice", "Take one of the rows out; for more raters pass `assignments`")
        by_task[task] = HitQuestion(task, language, html_question(layout, row, where))
    return list(by_task.values())


def still_to_post(
    campaign: MTurkCampaign | None, settings: MTurkSettings, questions: Iterable[HitQuestion]
) -> PostingCost:
    """What it costs to post the questions that are not posted yet. campaign: None if it has not begun."""
    posted = campaign.posted() if campaign else {}
    hits = sum(question.task not in posted for question in questions)
    return PostingCost(hits, settings.assignments, Decimal(settings.reward))


def post(
    turk: MTurk,
    campaign: MTurkCampaign,
    questions: Iterable[HitQuestion],
    needed: list[dict[str, Any]],
    clock: Callable[[], datetime],
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> int:
    """Post what is not posted yet; how many HITs these were. needed: requirements of the HITs.

    The intention, with its token, is on the disk before the call, the HIT's id after it. An intention without an id
    comes from a push that was killed, or whose answer was lost. Its HIT is looked up among ours by the token; if it is
    not listed (yet), the call with the same token creates it, or answers with the existing one.
    """
    unsure = {hit.token: task for task, hit in campaign.hits().items() if not hit.hit}
    for token, hit in turk.find_hits(unsure).items():
        campaign.note(HITS, task=unsure[token], hit=hit)
    posted = campaign.posted()
    todo = [question for question in questions if question.task not in posted]
    for done, question in enumerate(todo):
        progress(done, len(todo))
        token = campaign.token("hit", question.task)
        now = clock()
        expires = (now + timedelta(seconds=campaign.settings.lifetime)).isoformat(timespec="seconds")
        campaign.note(HITS, task=question.task, token=token, at=now.isoformat(timespec="seconds"), expires=expires)
        campaign.note(HITS, task=question.task, hit=turk.create_hit(token, **_described(campaign, question, needed)))
    progress(len(todo), len(todo))
    return len(todo)


def _described(campaign: MTurkCampaign, question: HitQuestion, needed: list[dict[str, Any]]) -> dict[str, Any]:
    """What a HIT is created with. The title names the language, so that a language's HITs are listed together."""
    settings = campaign.settings
    language = language_name(question.language)
    return {
        "Title": settings.title.replace("LANGUAGE", language)[:128],
        "Description": settings.description.replace("LANGUAGE", language)[:2000],
        "Keywords": settings.keywords.replace("LANGUAGE", language),
        "Reward": settings.reward,
        "MaxAssignments": settings.assignments,
        "LifetimeInSeconds": settings.lifetime,
        "AssignmentDurationInSeconds": settings.duration,
        "AutoApprovalDelayInSeconds": settings.auto_approval,
        "QualificationRequirements": needed,
        "Question": question.content,
    }


# ---------------------------------------------------------------- who may work


def exclusion(turk: MTurk, campaign: MTurkCampaign) -> str:
    """The qualification type that excludes workers from this campaign: those who have it do not see its HITs."""
    description = "Workers who have done their share of these tasks."
    return _qualification(turk, campaign, "share done", {"Description": description})


def _qualification(turk: MTurk, campaign: MTurkCampaign, purpose: str, described: Mapping[str, Any]) -> str:
    """The campaign's qualification type for a purpose, made once.

    Workers can see its name, which comes from the campaign's key and says nothing about the campaign.
    """
    if made_before := campaign.qualifications().get(purpose):
        return made_before
    qualification = turk.qualification(f"Text rating: {purpose} ({campaign.token(purpose)[:12]})", described)
    campaign.note(QUALIFICATIONS, purpose=purpose, type=qualification)
    return qualification


def requirements_of(
    turk: MTurk, campaign: MTurkCampaign, test: QualificationTest | None, noisy: Iterable[str]
) -> list[dict[str, Any]]:
    """The requirements of the campaign's HITs; makes the qualification types they need, and excludes `noisy`."""
    settings = campaign.settings
    minimum = dict(settings.minimum)
    if test:
        described = {"Description": "A short test: read the texts and choose the right answers."}
        document = {"Test": test.form, "AnswerKey": test.key, "TestDurationInSeconds": TEST_SECONDS}
        minimum[_qualification(turk, campaign, "test", described | document)] = settings.test_pass
    qualification = exclusion(turk, campaign)
    exclude(turk, campaign, qualification, dict.fromkeys(noisy, NOISY))
    return requirements(
        completed_hits=settings.completed_hits,
        share_approved=settings.share_approved,
        countries=settings.countries,
        adult=settings.adult,
        minimum=minimum,
        excluded_by=[qualification],
    )


def exclude(turk: MTurk, campaign: MTurkCampaign, qualification: str, workers: Mapping[str, str]) -> int:
    """Keep workers (worker -> why) from further HITs of the campaign. Returns how many were not excluded before."""
    before = campaign.excluded()
    fresh = {worker: why for worker, why in workers.items() if worker not in before}
    for worker, why in fresh.items():
        turk.give(qualification, worker)  # giving it twice has no further effect
        campaign.note(WORKERS, worker=worker, why=why)
    for worker, why in workers.items():
        if before.get(worker) == CAP and why == NOISY:  # excluded from this campaign before, now from later ones too
            campaign.note(WORKERS, worker=worker, why=why)
    return len(fresh)
