"""Post a campaign's tasks as HITs on Mechanical Turk. Each is posted exactly once, even if the
process is killed several times.

The requirements for workers follow GENIE (section 6, Quality Control): 5,000 completed HITs, 99% of
assignments approved, a country where the language is spoken, and a passed test for each task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from metal.building.crowdsourcing.mturk import MTurk, fee
from metal.building.crowdsourcing.mturk_campaign import (
    CAP,
    HITS,
    NOISY,
    QUALIFICATIONS,
    WORKERS,
    MTurkCampaign,
    MTurkSettings,
)
from metal.building.crowdsourcing.mturk_documents import QualificationTest, html_question
from metal.data.languages import language_name
from metal.data.progress import Progress, no_progress
from metal.errors import DataError, UsageError

TEST_SECONDS = 3600
# System qualification types, the same in the sandbox.
COMPLETED_HITS, SHARE_APPROVED = "00000000000000000040", "000000000000000000L0"
LOCALE, ADULT = "00000000000000000071", "00000000000000000060"


@dataclass(frozen=True)
class PostingCost:
    """The cost in USD of the HITs that are still to be posted."""

    hits: int
    rewards: Decimal
    fees: Decimal

    @property
    def total(self) -> Decimal:
        return self.rewards + self.fees


def questions(
    rows: Iterable[tuple[str, str, Mapping[str, str]]], tasks: Mapping[str, str]
) -> dict[str, tuple[str, str]]:
    """Make the document to post for each (language, layout, row): task -> (language, document).
    tasks: the tasks that were handed out.

    Everything is checked before anything is posted. Raises DataError if a task was not handed out
    or occurs twice, if a layout does not fit its rows, or if a page is too long for a HIT.
    """
    by_task: dict[str, tuple[str, str]] = {}
    for language, layout, row in rows:
        task = row["task"]
        location = f"tasks-{language}.csv task {task}"
        if task not in tasks:
            raise DataError(
                location, "not in this dataset", "Export the tasks from this dataset, and push them"
            )
        if task in by_task:
            raise DataError(
                location,
                "there twice",
                "Take one of the rows out; for more raters pass `assignments`",
            )
        by_task[task] = language, html_question(layout, row, location)
    return by_task


def still_to_post(
    campaign: MTurkCampaign | None, settings: MTurkSettings, tasks: Iterable[str]
) -> PostingCost:
    """The cost of posting the tasks that are not posted yet. campaign: None if the campaign has not
    begun.
    """
    posted = campaign.posted() if campaign else {}
    hits = sum(task not in posted for task in tasks)
    assignments, reward = hits * settings.assignments, Decimal(settings.reward)
    return PostingCost(hits, assignments * reward, assignments * fee(reward, settings.assignments))


def post(
    turk: MTurk,
    campaign: MTurkCampaign,
    questions: Mapping[str, tuple[str, str]],
    needed: list[dict[str, Any]],
    clock: Callable[[], datetime],
    progress: Progress = no_progress,
) -> int:
    """Post the tasks that are not posted yet; return the number of HITs posted. needed: the
    requirements of the HITs.

    The intention, with its token, is on the disk before the call; the HIT's id is added after it.
    If the id is missing, the push was killed or MTurk's response was lost. Then the HIT is looked
    up by the token among our HITs. If it is not listed (yet), a call with the same token creates it
    or returns the existing HIT.
    """
    unsure = {hit["token"]: task for task, hit in campaign.hits().items() if "hit" not in hit}
    for token, hit in turk.find_hits(unsure).items():
        campaign.note(HITS, task=unsure[token], hit=hit)
    posted = campaign.posted()
    todo = [task for task in questions if task not in posted]
    for done, task in enumerate(todo):
        progress(done, len(todo))
        token = campaign.token("hit", task)
        now = clock()
        expires = (now + timedelta(seconds=campaign.settings.lifetime)).isoformat(
            timespec="seconds"
        )
        campaign.note(
            HITS, task=task, token=token, at=now.isoformat(timespec="seconds"), expires=expires
        )
        described = _described(campaign.settings, *questions[task])
        campaign.note(
            HITS,
            task=task,
            hit=turk.create_hit(token, QualificationRequirements=needed, **described),
        )
    progress(len(todo), len(todo))
    return len(todo)


def _described(settings: MTurkSettings, code: str, question: str) -> dict[str, Any]:
    """The description with which a HIT is created. The title names the language, so HITs of a
    language are listed together.
    """
    language = language_name(code)
    return {
        "Title": settings.title.replace("LANGUAGE", language)[:128],
        "Description": settings.description.replace("LANGUAGE", language)[:2000],
        "Keywords": settings.keywords.replace("LANGUAGE", language),
        "Reward": settings.reward,
        "MaxAssignments": settings.assignments,
        "LifetimeInSeconds": settings.lifetime,
        "AssignmentDurationInSeconds": settings.duration,
        "AutoApprovalDelayInSeconds": settings.auto_approval,
        "Question": question,
    }


# ---------------------------------------------------------------- who may work


def _exclusion(turk: MTurk, campaign: MTurkCampaign) -> str:
    """The qualification type that excludes workers: those who have it do not see the campaign's
    HITs.
    """
    description = "Workers who have done their share of these tasks."
    return _qualification(turk, campaign, "share done", {"Description": description})


def _qualification(
    turk: MTurk, campaign: MTurkCampaign, purpose: str, described: Mapping[str, Any]
) -> str:
    """The campaign's qualification type for a purpose. It is created only once.

    Workers can see its name, so the name comes from the campaign's key and says nothing about the
    campaign.
    """
    if made_before := campaign.qualifications().get(purpose):
        return made_before
    qualification = turk.qualification(
        f"Text rating: {purpose} ({campaign.token(purpose)[:12]})", described
    )
    campaign.note(QUALIFICATIONS, purpose=purpose, type=qualification)
    return qualification


def requirements_of(
    turk: MTurk, campaign: MTurkCampaign, test: QualificationTest | None, noisy: Iterable[str]
) -> list[dict[str, Any]]:
    """Make the qualification types that the campaign's HITs need, exclude the workers in `noisy`,
    and return the requirements of the HITs.
    """
    settings = campaign.settings
    minimum = dict(settings.minimum)
    if test:
        described = {"Description": "A short test: read the texts and choose the right answers."}
        document = {"Test": test.form, "AnswerKey": test.key, "TestDurationInSeconds": TEST_SECONDS}
        minimum[_qualification(turk, campaign, "test", described | document)] = settings.test_pass
    exclude(turk, campaign, dict.fromkeys(noisy, NOISY))
    return requirements(settings, minimum, _exclusion(turk, campaign))


def requirements(
    settings: MTurkSettings, minimum: Mapping[str, int] | None = None, excluded_by: str = ""
) -> list[dict[str, Any]]:
    """The QualificationRequirements of a HIT. Makes no call to Mechanical Turk.

    minimum: qualification type -> the lowest score that qualifies. excluded_by: the qualification
    type that excludes a worker. Raises UsageError for a bad country code.
    """
    required: list[dict[str, Any]] = []
    scores = {COMPLETED_HITS: settings.completed_hits, SHARE_APPROVED: settings.share_approved}
    lowest = {kind: score for kind, score in scores.items() if score} | dict(minimum or {})
    for kind, score in lowest.items():
        required.append(
            {
                "QualificationTypeId": kind,
                "Comparator": "GreaterThanOrEqualTo",
                "IntegerValues": [score],
            }
        )
    if settings.countries:
        places = [_place(code) for code in settings.countries]
        required.append({"QualificationTypeId": LOCALE, "Comparator": "In", "LocaleValues": places})
    if settings.adult:  # only workers who agreed to see offensive content
        required.append(
            {"QualificationTypeId": ADULT, "Comparator": "EqualTo", "IntegerValues": [1]}
        )
    if excluded_by:
        required.append({"QualificationTypeId": excluded_by, "Comparator": "DoesNotExist"})
    # Workers who can still take a test must see the HIT; those who fail another requirement do not
    # even find it.
    for requirement in required:
        tested = requirement["QualificationTypeId"] in (minimum or {})
        requirement["ActionsGuarded"] = "Accept" if tested else "DiscoverPreviewAndAccept"
    return required


def _place(code: str) -> dict[str, str]:
    country, _, part = code.upper().partition("-")
    if len(country) != 2 or not country.isalpha():
        raise UsageError(f"country {code!r} is not a code such as US, IN or US-CA")
    return {"Country": country} | ({"Subdivision": part} if part else {})


def exclude(turk: MTurk, campaign: MTurkCampaign, workers: Mapping[str, str]) -> int:
    """Exclude workers (worker -> why) from further HITs of the campaign. Returns how many are newly
    excluded.
    """
    before = campaign.excluded()
    fresh = {worker: why for worker, why in workers.items() if worker not in before}
    for worker, why in fresh.items():
        turk.give(_exclusion(turk, campaign), worker)  # giving it twice has no further effect
        campaign.note(WORKERS, worker=worker, why=why)
    for worker, why in workers.items():
        # excluded from this campaign before, now from later ones too
        if before.get(worker) == CAP and why == NOISY:
            campaign.note(WORKERS, worker=worker, why=why)
    return len(fresh)
