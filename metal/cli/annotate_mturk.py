"""`metal annotate push mturk`: exported tasks are posted on Mechanical Turk, each once."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metal.cli import options

if TYPE_CHECKING:
    from decimal import Decimal

    from metal.building.crowdsourcing.campaign import Asked
    from metal.building.crowdsourcing.posting import Cost, Question
    from metal.building.crowdsourcing.qualifications import Test

DAY, MINUTE = 86_400, 60
DESCRIPTION = "Read a text in LANGUAGE and say how good it is. Guidelines are on the page."
KEYWORDS = "LANGUAGE, text, rating, quality, reading"
PLENTY, TRUSTED = 5000, 99  # HITs done, percent approved: GENIE, section 6
WORKERS_SITE = {"production": "https://worker.mturk.com", "sandbox": "https://workersandbox.mturk.com"}
FILE = click.Path(path_type=Path, exists=True, dir_okay=False)

production_option = click.option("--production", is_flag=True, help="Real workers and real money, not the sandbox.")
yes_option = click.option("--yes", is_flag=True, help="Spend without asking.")
endpoint_option = click.option("--endpoint-url", metavar="URL", help="Another server that speaks MTurk's protocol.")


def _push_options(command: options.F) -> options.F:
    days, percent = click.FloatRange(0.01, 365), click.IntRange(0, 100)
    for option in reversed(
        (
            click.option("--reward", required=True, metavar="USD", help="What a worker gets for a task, e.g. 0.25."),
            click.option(
                "--assignments",
                type=click.IntRange(1, 1000),
                default=3,
                show_default=True,
                metavar="N",
                help="Workers a task; from 10 on MTurk's fee is 40%, not 20%.",
            ),
            click.option("--name", metavar="NAME", help="Name of the campaign. [default: that of EXPORT]"),
            options.names("--languages", "-l", what="Languages; default all in EXPORT."),
            click.option("--days", type=days, default=7.0, show_default=True, help="How long tasks are offered."),
            click.option("--minutes", type=click.IntRange(1), default=30, show_default=True, help="Time for a task."),
            click.option(
                "--auto-approval",
                type=click.IntRange(1, 30),
                default=30,
                show_default=True,
                metavar="DAYS",
                help="After which MTurk itself pays what nobody reviewed.",
            ),
            click.option("--title", default="Read a short text in LANGUAGE and rate it", show_default=True),
            click.option("--adult", is_flag=True, help="Texts may offend: only for workers who agreed to that."),
            click.option(
                "--completed-hits",
                type=click.IntRange(0),
                metavar="N",
                help=f"HITs a worker must have done. [default: {PLENTY}; 0 in the sandbox]",
            ),
            click.option(
                "--approved",
                type=percent,
                metavar="PERCENT",
                help=f"Of a worker's assignments. [default: {TRUSTED}; 0 in the sandbox]",
            ),
            options.names("--country", what="Where workers are: US, IN, US-CA, ...; default anywhere."),
            click.option("--test", type=FILE, help="Test to be passed first: items (.jsonl), or XML."),
            click.option("--answer-key", type=FILE, help="Right answers of a test in XML."),
            click.option("--test-pass", type=percent, default=80, show_default=True, help="Percent that passes."),
            options.names("--qualification", what="Qualification types of yours: ID or ID=LOWEST."),
            click.option(
                "--cap", type=click.IntRange(1), metavar="N", help="Tasks a worker may do, kept at each pull."
            ),
            click.option("--start", metavar="WHEN", help="Wait for the next: 'Mon-Fri 10:00 America/Los_Angeles'."),
            click.option("--print-start", is_flag=True, help="Say when --start is next; post nothing."),
            production_option,
            yes_option,
            endpoint_option,
        )
    ):
        command = option(command)
    return command


@click.command("mturk", short_help="Post tasks on Mechanical Turk.")
@options.dataset
@click.argument("export", type=click.Path(path_type=Path, exists=True, file_okay=False))
@_push_options
def push_mturk(dataset: Path, export: Path, **wanted: Any) -> None:
    """Post the tasks in EXPORT, which `metal annotate export DATASET --to mturk` wrote, on Mechanical Turk.

    Goes to the sandbox, which costs nothing, unless --production is given; then the cost is shown and has
    to be confirmed. Credentials are those of AWS's own tools (AWS_ACCESS_KEY_ID, AWS_PROFILE, ...).
    A HIT is a task; all are checked before the first is posted. What happens is kept in
    DATASET/annotation/campaigns/NAME: after an interruption the same command goes on, and nothing is
    posted twice. With --start it waits, with nothing posted until then.

    Workers are chosen as GENIE does: HITs done, share approved, country, a test. An item of a test is a
    line {"question": "...", "choices": ["...", "..."], "right": "..."}. The test items and the countries
    should be those of the language: push one language at a time with -l.

    \b
    Examples:
      metal annotate export datasets/mine --to mturk --out runs/mine-mturk
      metal annotate push mturk datasets/mine runs/mine-mturk --reward 0.25
      metal annotate push mturk datasets/mine runs/mine-mturk --reward 0.25 \\
        --name en-1 -l en --country US,GB --test en.jsonl --cap 50 \\
        --start "Mon-Fri 10:00 America/Los_Angeles" --production
    """
    from metal.building.crowdsourcing.campaign import read_export, rows_of
    from metal.building.crowdsourcing.mturk import Turk
    from metal.building.crowdsourcing.posting import questions
    from metal.building.crowdsourcing.qualifications import read_test, requirements
    from metal.building.start import show_start, start_of, wait_until
    from metal.building.store import read_tasks
    from metal.data.folders import recover
    from metal.errors import UsageError

    if wanted["print_start"] and not wanted["start"]:
        raise UsageError("--print-start says when --start is; give one, such as 'Mon-Fri 10:00 America/Los_Angeles'")
    start = start_of(wanted["start"]) if wanted["start"] else None
    if wanted["print_start"] and start:
        show_start(start)
        return
    recover(dataset.resolve())
    tasks = read_tasks(dataset)
    if not tasks:
        raise UsageError(f"{dataset}: no tasks were handed out from it; begin with `metal annotate export`")
    found = read_export(export, wanted["languages"])
    files = {name: content for mine in found.values() for name, content in mine.items()}
    test = read_test(wanted["test"], wanted["answer_key"]) if wanted["test"] else None
    asked = _asked(wanted, tuple(found), files, test)
    posts = questions((row for language in found for row in rows_of(files, language, str(export))), tasks)
    requirements(countries=asked.countries)  # raises now for what is no country, not when half is done
    turk = click.get_current_context().with_resource(Turk(asked.endpoint))
    name = wanted["name"] or export.resolve().name
    cost = _cost(dataset, name, asked, posts)
    _confirm(cost, wanted["production"], wanted["yes"])
    _check_balance(turk.balance(), cost)
    if start:
        wait_until(start)
    _post(dataset, name, asked, files, posts, test, turk)


def _asked(wanted: dict[str, Any], languages: tuple[str, ...], files: dict[str, bytes], test: Test | None) -> Asked:
    from metal.building.crowdsourcing.campaign import Asked, digest_of
    from metal.building.crowdsourcing.question import fields_of

    production = wanted["production"]
    minimum = dict(_minimum(text) for text in wanted["qualification"])
    layouts = [files[f"layout-{language}.html"].decode("utf-8", "replace") for language in languages]
    return Asked(
        environment="production" if production else "sandbox",
        endpoint=read_endpoint(wanted["endpoint_url"], production),
        reward=f"{read_usd(wanted['reward'], '--reward'):.2f}",
        assignments=wanted["assignments"],
        lifetime=round(wanted["days"] * DAY),
        duration=wanted["minutes"] * MINUTE,
        auto_approval=wanted["auto_approval"] * DAY,
        languages=languages,
        title=wanted["title"],
        description=DESCRIPTION + (" It may hold offensive content." if wanted["adult"] else ""),
        keywords=KEYWORDS,
        completed_hits=_default(wanted["completed_hits"], PLENTY if production else 0),
        share_approved=_default(wanted["approved"], TRUSTED if production else 0),
        countries=wanted["country"],
        minimum=minimum,
        cap=wanted["cap"] or 0,
        adult=wanted["adult"],
        test=digest_of({"form": test.form.encode(), "key": test.key.encode()}) if test else "",
        test_pass=wanted["test_pass"] if test else 0,
        fields=tuple(dict.fromkeys(field for layout in layouts for field in fields_of(layout))),
        digest=digest_of(files),
        start=wanted["start"] or "",
    )


def _default(given: int | None, default: int) -> int:
    return default if given is None else given


def read_usd(text: str, what: str) -> Decimal:
    """Money in whole cents."""
    from decimal import Decimal, InvalidOperation

    from metal.errors import UsageError

    try:
        usd = Decimal(text.strip().removeprefix("$"))
    except InvalidOperation:
        usd = Decimal(-1)
    if not usd.is_finite() or usd <= 0 or usd != usd.quantize(Decimal("0.01")):
        raise UsageError(f"{what} {text!r} is not a sum in USD and whole cents, such as 0.25")
    return usd


def _minimum(text: str) -> tuple[str, int]:
    """(qualification type, lowest score) of `ID=LOWEST`; without a score 1."""
    from metal.errors import UsageError

    kind, _, lowest = text.partition("=")
    if not kind.isalnum() or not (lowest or "1").isdecimal():
        raise UsageError(f"--qualification {text!r} is not ID or ID=LOWEST")
    return kind, int(lowest or 1)


def read_endpoint(url: str | None, production: bool) -> str:
    """Where calls go. Raises UsageError for an address with a password in it, and for production by the back door."""
    from urllib.parse import urlsplit

    from metal.building.crowdsourcing.mturk import ENDPOINTS
    from metal.errors import UsageError

    if not url:
        return ENDPOINTS["production" if production else "sandbox"]
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or "@" in url:
        raise UsageError("--endpoint-url is an address such as http://127.0.0.1:8000, without a name or password in it")
    if parts.hostname.endswith(".amazonaws.com") and "sandbox" not in parts.hostname and not production:
        raise UsageError(
            f"{parts.hostname} is the real Mechanical Turk; pass --production, or leave --endpoint-url out"
        )
    return url


# ---------------------------------------------------------------- money


def _cost(dataset: Path, name: str, asked: Asked, posts: Iterable[Question]) -> Cost:
    """Of what is still to be posted."""
    from decimal import Decimal

    from metal.building.crowdsourcing.campaign import begun
    from metal.building.crowdsourcing.posting import Cost

    campaign = begun(dataset, name, asked)  # raises now, not when the start has come
    there = {task for task, hit in campaign.hits().items() if hit.hit} if campaign else set()
    return Cost(sum(one.task not in there for one in posts), asked.assignments, Decimal(asked.reward))


def _confirm(cost: Cost, production: bool, yes: bool) -> None:
    from metal.show.terminal import console as show

    if not cost.hits:
        return
    show.say(
        f"{cost.hits:,} tasks x {cost.assignments} workers x ${cost.reward:.2f} = ${cost.rewards:,.2f}, and "
        f"${cost.fees:,.2f} for Mechanical Turk: ${cost.total:,.2f} in all"
        + ("." if production else ", in the sandbox: nothing is paid.")
    )
    if production:
        confirm_spending(f"Post them in production, for up to ${cost.total:,.2f}?", yes)


def confirm_spending(question: str, yes: bool) -> None:
    """Go on only when somebody agrees: --yes, or an answer in a terminal. Raises UsageError otherwise."""
    from metal.errors import UsageError

    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError("this costs money: pass --yes where nobody can be asked. Nothing was sent")
    if not click.confirm(question, default=False):
        raise UsageError("nothing was sent")


def _check_balance(balance: Decimal, cost: Cost) -> None:
    from metal.errors import UsageError

    if balance < cost.total:
        raise UsageError(
            f"the account has ${balance:,.2f} and this costs ${cost.total:,.2f}; nothing was posted. "
            "Prepay on requester.mturk.com, or push fewer tasks"
        )


# ---------------------------------------------------------------- posting


def _post(
    dataset: Path, name: str, asked: Asked, files: dict[str, bytes], posts: list[Question], test: Test | None, turk: Any
) -> None:
    from metal.building.crowdsourcing.campaign import FOLDER, NOISY, begin, campaigns
    from metal.building.crowdsourcing.posting import needed_of, post
    from metal.building.start import clock
    from metal.data.folders import one_writer
    from metal.show.terminal import console as show

    with one_writer(dataset):  # an import would put another folder in the dataset's place
        noisy = {
            worker
            for one in campaigns(dataset)
            if one.asked.environment == asked.environment and one.name != name
            for worker, why in one.shut_out().items()
            if why == NOISY
        }
        campaign = begin(dataset, name, asked, files, clock())
        needed = needed_of(turk, campaign, test, sorted(noisy))
        with show.progress("Posting") as advance:
            count = post(turk, campaign, posts, needed, clock, advance)
    there = f", {len(posts) - count:,} were there" if count < len(posts) else ""
    show.say(f"Posted {count:,} tasks in the {asked.environment}{there}. State: {dataset / FOLDER / name}", wrap=False)
    if not asked.endpoint.startswith("http://"):
        show.say(f"Workers find them on {WORKERS_SITE[asked.environment]}", wrap=False)
    more = f" --name {name}" if len(campaigns(dataset)) > 1 else ""
    show.say(f"Next: metal annotate pull mturk {dataset}{more}", wrap=False)
