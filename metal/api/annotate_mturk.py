"""Mechanical Turk as a platform: post tasks as HITs, fetch answers, and pay workers."""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from metal.api.options import Names, Option, Progress, StrPath, documented, names
from metal.api.platforms import (
    Confirm,
    Platform,
    Say,
    confirm_spending,
    silent,
    standings,
    taken_in,
)
from metal.data.text import plural
from metal.errors import UsageError
from metal.running.annotating import Posted, Pulled

if TYPE_CHECKING:
    from metal.building.crowdsourcing.mturk import MTurk
    from metal.building.crowdsourcing.mturk_campaign import MTurkCampaign, MTurkSettings
    from metal.building.crowdsourcing.mturk_documents import QualificationTest
    from metal.building.crowdsourcing.posting import PostingCost
    from metal.running.annotating import ImportReport

DAY, MINUTE = 86_400, 60  # seconds
DESCRIPTION = "Read a text in LANGUAGE and say how good it is. Guidelines are on the page."
KEYWORDS = "LANGUAGE, text, rating, quality, reading"
PLENTY, TRUSTED = 5000, 99  # HITs done, percent approved: GENIE, section 6
WORKERS_SITE = {
    "production": "https://worker.mturk.com",
    "sandbox": "https://workersandbox.mturk.com",
}
GROUP = {"production": "crowd", "sandbox": "sandbox"}


@documented
def annotate_push_mturk(
    data: StrPath,
    export: StrPath,
    *,
    reward: Annotated[str, Option("Dollars a worker gets per task, e.g. 0.25.", metavar="USD")],
    assignments: Annotated[
        int,
        Option(
            "Workers per task; from 10, MTurk's fee is 40% instead of 20%.",
            metavar="N",
            least=1,
            most=1000,
        ),
    ] = 3,
    name: Annotated[
        str | None, Option("Name of the campaign. [default: that of EXPORT]", metavar="NAME")
    ] = None,
    languages: Annotated[Names, Option("Languages. [default: all in EXPORT]", "-l")] = (),
    days: Annotated[float, Option("How long tasks are offered.", least=0.01, most=365)] = 7.0,
    minutes: Annotated[int, Option("Time for a task.", least=1, rare=True)] = 30,
    auto_approval: Annotated[
        int,
        Option(
            "Delay after which MTurk pays work that nobody reviewed.",
            metavar="DAYS",
            least=1,
            most=30,
            rare=True,
        ),
    ] = 30,
    title: Annotated[
        str,
        Option(
            "What workers see in the list of tasks; LANGUAGE stands for the language.", rare=True
        ),
    ] = "Read a short text in LANGUAGE and rate it",
    adult: Annotated[
        bool,
        Option("Offensive texts: only for workers who accept adult content.", rare=True),
    ] = False,
    completed_hits: Annotated[
        int | None,
        Option(
            "HITs a worker must have done. [default: 5000; 0 in the sandbox]",
            metavar="N",
            least=0,
            rare=True,
        ),
    ] = None,
    approved: Annotated[
        int | None,
        Option(
            "Approval rate a worker must have. [default: 99; 0 in the sandbox]",
            metavar="PERCENT",
            least=0,
            most=100,
            rare=True,
        ),
    ] = None,
    country: Annotated[
        Names, Option("Workers' locations: US, IN, US-CA, ... [default: anywhere]")
    ] = (),
    test: Annotated[
        StrPath | None,
        Option("Test to pass first: items (.jsonl), or XML.", metavar="FILE", rare=True),
    ] = None,
    answer_key: Annotated[
        StrPath | None, Option("Right answers of a test in XML.", metavar="FILE", rare=True)
    ] = None,
    test_pass: Annotated[int, Option("Percentage to pass.", least=0, most=100, rare=True)] = 80,
    qualification: Annotated[
        Names, Option("Your qualification types: ID or ID=LOWEST.", rare=True)
    ] = (),
    cap: Annotated[
        int | None,
        Option("Tasks a worker may do; checked at each pull.", metavar="N", least=1, rare=True),
    ] = None,
    start: Annotated[
        str | None,
        Option(
            "Wait for the next such time: 'Mon-Fri 10:00 America/Los_Angeles'.",
            metavar="WHEN",
            rare=True,
        ),
    ] = None,
    print_start: Annotated[
        bool, Option("Show when `start` is next; post nothing.", rare=True)
    ] = False,
    production: Annotated[bool, Option("Real workers and real money, not the sandbox.")] = False,
    yes: Annotated[bool, Option("Spend without asking.")] = False,
    endpoint_url: Annotated[
        str | None, Option("Another server that speaks MTurk's protocol.", metavar="URL", rare=True)
    ] = None,
    say: Say = silent,
    confirm: Confirm | None = None,
    progress: Progress = silent,
    countdown: Callable[[timedelta], None] = silent,
) -> Posted | None:
    """Post the tasks in `export`, which `metal.annotate_export(..., to="mturk")` wrote, on
    Mechanical Turk.

    Tasks go to the sandbox, which costs nothing, unless `production` is given; then you confirm the
    cost. Credentials are those of AWS's own tools (AWS_ACCESS_KEY_ID, AWS_PROFILE, ...). Each task
    is one HIT; all are checked before the first is posted. annotation/campaigns/NAME in the
    dataset's folder records what was posted: after an interruption the same command continues, and
    posts nothing twice.

    Workers are selected as in GENIE: by HITs done, approval rate, country, and a test. Each test
    item is a line {"question": "...", "choices": ["...", "..."], "right": "..."}. Test and
    countries should match the language, so push one language at a time with `languages`.

    Args:
        data: The dataset's folder.
        export: The folder of the exported tasks.
        say: Called with the cost and the time of the start.
        confirm: Called for consent before money is spent; without it, spending needs `yes=True`.
        progress: Called with the number of tasks done and of all tasks.
        countdown: Called every second with the time left until `start`.

    Returns:
        What was posted, None with `print_start`.

    Raises:
        UsageError: For settings that make no sense, too little money, or a refusal.
        DataError: For files that were changed, and tasks that do not fit into a HIT.
        MTurkError: If Mechanical Turk refuses.

    Example:
        metal.annotate_push_mturk("datasets/news", "runs/news-mturk", reward="0.40")
    """
    options = dict(locals())
    from metal.building.crowdsourcing import posting
    from metal.building.crowdsourcing.mturk import MTurk
    from metal.building.crowdsourcing.mturk_campaign import (
        MTurkCampaign,
        noisy_workers,
        read_export,
        rows_of,
    )
    from metal.building.crowdsourcing.mturk_documents import read_test
    from metal.building.crowdsourcing.schedule import now, start_line, start_of
    from metal.building.store import tasks_handed_out
    from metal.data.files import one_writer, recover

    if print_start and not start:
        raise UsageError("`print_start` needs `start`: 'Mon-Fri 10:00 America/Los_Angeles'")
    starting = start_of(start) if start else None
    if print_start and starting:
        say(start_line(starting))
        return None
    dataset, folder = Path(data), Path(export)
    recover(dataset.resolve())
    tasks = tasks_handed_out(dataset)
    by_language = read_export(folder, names(languages))
    files = {file: content for group in by_language.values() for file, content in group.items()}
    quiz = None
    if test:
        quiz = read_test(Path(test), Path(answer_key) if answer_key else None)
    settings = _settings(options, by_language, quiz)
    posts = posting.questions(
        (row for language in by_language for row in rows_of(files, language, str(folder))), tasks
    )
    posting.requirements(settings)  # a bad code is an error now, not when half is done
    campaign_name = name or folder.resolve().name
    with MTurk(settings.endpoint) as turk:
        cost = posting.still_to_post(
            MTurkCampaign.begun(dataset, campaign_name, settings), settings, posts
        )
        _confirm(cost, settings, yes, say, confirm)
        _check_balance(turk.balance(), cost)
        if starting:
            _wait(starting, say, countdown)
        with one_writer(dataset):  # an import would put another folder in the dataset's place
            noisy = noisy_workers(dataset, campaign_name, settings.environment)
            marked = dataclasses.replace(
                settings, key=secrets.token_hex(12), created=now().isoformat(timespec="seconds")
            )
            campaign = MTurkCampaign.begin(dataset, campaign_name, marked, files)
            wanted = posting.requirements_of(turk, campaign, quiz, noisy)
            count = posting.post(turk, campaign, posts, wanted, now, progress)
    return Posted(
        campaign.name,
        count,
        before=len(posts) - count,
        unit="task",
        where=f"in the {settings.environment}",
        state=campaign.folder,
        workers=(
            "" if settings.endpoint.startswith("http://") else WORKERS_SITE[settings.environment]
        ),
        campaigns=len(MTurkCampaign.of(dataset)),
    )


def _settings(
    options: Mapping[str, Any],
    by_language: Mapping[str, Mapping[str, bytes]],
    quiz: QualificationTest | None,
) -> MTurkSettings:
    """The settings with which a campaign begins.

    options: the options of `annotate_push_mturk`, by name. by_language: the exported files.
    """
    from metal.building.crowdsourcing.campaign import digest_of
    from metal.building.crowdsourcing.mturk_campaign import (
        MTurkSettings,
        read_endpoint,
        read_qualification,
        read_usd,
    )
    from metal.building.crowdsourcing.mturk_documents import fields_of

    production, adult = options["production"], options["adult"]
    completed_hits, approved = options["completed_hits"], options["approved"]
    if completed_hits is None:
        completed_hits = PLENTY if production else 0
    if approved is None:
        approved = TRUSTED if production else 0
    files: dict[str, bytes] = {}
    fields: list[str] = []
    for language, group in by_language.items():
        files |= group
        fields += fields_of(group[f"layout-{language}.html"].decode("utf-8", "replace"))
    description, test, test_pass = DESCRIPTION, "", 0
    if adult:
        description += " It may hold offensive content."
    if quiz:
        test = digest_of({"form": quiz.form.encode(), "key": quiz.key.encode()})
        test_pass = options["test_pass"]
    return MTurkSettings(
        environment="production" if production else "sandbox",
        endpoint=read_endpoint(options["endpoint_url"], production),
        reward=f"{read_usd(options['reward'], 'reward'):.2f}",
        assignments=options["assignments"],
        lifetime=round(options["days"] * DAY),
        duration=options["minutes"] * MINUTE,
        auto_approval=options["auto_approval"] * DAY,
        languages=tuple(by_language),
        title=options["title"],
        description=description,
        keywords=KEYWORDS,
        completed_hits=completed_hits,
        share_approved=approved,
        countries=names(options["country"]),
        minimum=dict(map(read_qualification, names(options["qualification"]))),
        cap=options["cap"] or 0,
        adult=adult,
        test=test,
        test_pass=test_pass,
        fields=tuple(dict.fromkeys(fields)),
        digest=digest_of(files),
        start=options["start"] or "",
    )


def _confirm(
    cost: PostingCost, settings: MTurkSettings, yes: bool, say: Say, confirm: Confirm | None
) -> None:
    if not cost.hits:
        return
    production = settings.environment == "production"
    say(
        f"{cost.hits:,} tasks x {settings.assignments} workers x ${settings.reward} ="
        f" ${cost.rewards:,.2f}, and ${cost.fees:,.2f} for Mechanical Turk: ${cost.total:,.2f}"
        " in all" + ("." if production else ", in the sandbox: nothing is paid.")
    )
    if production:
        confirm_spending(f"Post them in production, for up to ${cost.total:,.2f}?", yes, confirm)


def _check_balance(balance: Decimal, cost: PostingCost) -> None:
    if balance < cost.total:
        raise UsageError(
            f"the account has ${balance:,.2f} and this costs ${cost.total:,.2f}; nothing was"
            " posted. Prepay on requester.mturk.com, or push fewer tasks"
        )


def _wait(start: datetime, say: Say, countdown: Callable[[timedelta], None]) -> None:
    from metal.building.crowdsourcing.schedule import start_line, wait_until

    say(start_line(start))
    say("Waiting; nothing is posted before then. Ctrl-C stops this.")
    try:
        wait_until(start, countdown)
    except KeyboardInterrupt:
        say("Nothing was posted.")
        raise


# ---------------------------------------------------------------- answers back


@documented
def annotate_pull_mturk(
    data: StrPath,
    *,
    name: Annotated[str, Option("The campaign. [default: the only one]", metavar="NAME")] = "",
    approve: Annotated[bool, Option("Approve (and pay for) complete answers.")] = False,
    reject: Annotated[
        Sequence[str],
        Option("Reject an assignment, with a reason; repeatable.", metavar="ASSIGNMENT=REASON"),
    ] = (),
    bonus: Annotated[
        Sequence[str], Option("Pay a worker a bonus; repeatable.", metavar="WORKER=USD")
    ] = (),
    bonus_reason: Annotated[
        str, Option("Message to the worker.", rare=True)
    ] = "Thank you for your careful work.",
    exclude: Annotated[Names, Option("Workers to exclude, now and in later campaigns.")] = (),
    expire: Annotated[
        bool, Option("Stop offering the tasks; workers can finish tasks that they have begun.")
    ] = False,
    extend: Annotated[
        float | None,
        Option(
            "Keep offering the tasks for this long from now.", metavar="DAYS", least=0.01, most=365
        ),
    ] = None,
    replace: Annotated[bool, Option("Let new ratings replace existing ones.")] = False,
    group: Annotated[
        str | None, Option("Group of the raters. [default: crowd, or sandbox]", metavar="NAME")
    ] = None,
    yes: Annotated[bool, Option("Spend without asking.")] = False,
    endpoint_url: Annotated[
        str | None, Option("Another server that speaks MTurk's protocol.", metavar="URL", rare=True)
    ] = None,
    say: Say = silent,
    confirm: Confirm | None = None,
    progress: Progress = silent,
    imported: Callable[[ImportReport], None] = silent,
) -> Pulled:
    """Fetch what workers have submitted in a campaign, and import it as ratings.

    You can pull as often as you like, even while the campaign runs. Workers become raters called
    mturk:WORKER. Rejected assignments are left out. Answers that cannot be read or are off the
    scale are left out and listed. Only `approve` approves, and only assignments in `reject` are
    rejected. A bonus of the same sum and reason is paid to a worker once per campaign.

    Args:
        data: The dataset's folder.
        say: Called with a note on every step.
        confirm: Called for consent before bonuses are paid in production; without it, paying needs
            `yes=True`.
        progress: Called with the number of HITs done and of all HITs.
        imported: Called with the report of the import, before anything is paid.

    Returns:
        The report and the campaign's figures.

    Raises:
        UsageError, DataError, UnknownName: For settings that make no sense, a refusal, bad answers.
        MTurkError: If Mechanical Turk refuses.

    Example:
        pulled = metal.annotate_pull_mturk("datasets/news", approve=True, exclude=["A2CZ"])
    """
    from metal.building.crowdsourcing import fetching, posting
    from metal.building.crowdsourcing.mturk import MTurk
    from metal.building.crowdsourcing.mturk_campaign import (
        NOISY,
        MTurkCampaign,
        read_bonus,
        read_endpoint,
        read_rejection,
    )
    from metal.building.crowdsourcing.schedule import now
    from metal.data.dataset import dataset_to_change

    if expire and extend:
        raise UsageError("`expire` and `extend` are mutually exclusive")
    sums = dict(map(read_bonus, bonus))
    reasons = dict(map(read_rejection, reject))
    dataset = Path(data)
    with dataset_to_change(dataset) as loaded:
        campaign = MTurkCampaign.open(dataset, name)
        environment = campaign.settings.environment
        production = environment == "production"
        endpoint = (
            read_endpoint(endpoint_url, production) if endpoint_url else campaign.settings.endpoint
        )
        with MTurk(endpoint) as turk:
            fresh, gone = fetching.fetch(turk, campaign, progress)
            if reasons:
                say(f"Rejected: {fetching.reject(turk, campaign, reasons):,}")
            received = fetching.received(campaign, loaded.criteria)
            say(f"Fetched {fresh:,} new assignments of campaign {campaign.name} ({environment})")
            if gone:
                say(
                    f"note: {plural(gone, 'task')} can no longer be found on Mechanical Turk; the"
                    " answers that were fetched before are kept"
                )
            options = {"replace": replace, "group": group or GROUP[environment]}
            notes = received.notes()
            report = taken_in(dataset, loaded, received.answers, notes, say, imported, **options)
            if approve:
                say(f"Approved: {fetching.approve(turk, campaign, received.complete):,}")
            if sums:
                _pay(turk, campaign, sums, bonus_reason, yes, say, confirm)
            noisy = {worker.removeprefix("mturk:"): NOISY for worker in names(exclude)}
            if count := fetching.enforce_cap(turk, campaign) + posting.exclude(
                turk, campaign, noisy
            ):
                more = plural(count, "more worker", "more workers")
                say(f"No further tasks for {more}")
            if expire or extend:
                until = now() + timedelta(days=extend or 0)
                offered = (
                    f"offered until {until:%Y-%m-%d %H:%M} UTC" if extend else "not offered now"
                )
                say(f"{plural(fetching.expire(turk, campaign, until), 'task')}: {offered}")
        return Pulled(campaign.name, report, campaign.standing(now()))


def _pay(
    turk: MTurk,
    campaign: MTurkCampaign,
    sums: Mapping[str, Decimal],
    reason: str,
    yes: bool,
    say: Say,
    confirm: Confirm | None,
) -> None:
    """Pay the bonuses (worker -> USD) that were not paid before, if the user agrees."""
    from metal.building.crowdsourcing import fetching
    from metal.building.crowdsourcing.mturk import fee

    due = fetching.planned_bonuses(campaign, sums, reason)
    total = sum(usd + fee(usd, 1) for usd in (Decimal(bonus["usd"]) for bonus in due))
    if due:
        agreed = yes or campaign.settings.environment != "production"
        confirm_spending(f"Pay {len(due):,} bonuses, ${total:,.2f} with fees?", agreed, confirm)
    paid = fetching.pay(turk, campaign, due)
    say(
        f"Bonuses paid: {paid:,}"
        + (f", {len(sums) - paid:,} were paid before" if paid < len(sums) else "")
    )


PLATFORM = Platform(
    "Mechanical Turk",
    annotate_push_mturk,
    annotate_pull_mturk,
    standings("metal.building.crowdsourcing.mturk_campaign:MTurkCampaign"),
)
