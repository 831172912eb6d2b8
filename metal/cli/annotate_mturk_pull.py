"""`metal annotate pull mturk`: what workers submitted so far becomes ratings; approvals and bonuses."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from metal.cli import options
from metal.cli.annotate_mturk import confirm_spending, endpoint_option, read_endpoint, read_usd, yes_option

if TYPE_CHECKING:
    from decimal import Decimal

    from metal.building.crowdsourcing.campaign import Campaign
    from metal.building.crowdsourcing.fetching import Received
    from metal.building.crowdsourcing.mturk import Turk

SHOWN = 10
REHEARSAL = "answers of the sandbox are ratings like any other from now on; rehearse on a copy of the dataset"


@click.command("mturk", short_help="Fetch answers from Mechanical Turk.")
@options.dataset
@click.option("--name", metavar="NAME", default="", help="The campaign. [default: the only one]")
@click.option("--approve", is_flag=True, help="Approve, and so pay, what was answered completely.")
@click.option(
    "--reject", multiple=True, metavar="ASSIGNMENT=REASON", help="Do not pay it, and tell why; several times."
)
@click.option("--bonus", multiple=True, metavar="WORKER=USD", help="Pay a worker a bonus; several times.")
@click.option("--bonus-reason", default="Thank you for your careful work.", show_default=True, help="Told the worker.")
@options.names("--exclude", what="Workers who get no further tasks, also of later campaigns.")
@click.option("--expire", is_flag=True, help="Offer the tasks no longer; what was begun can be finished.")
@click.option("--extend", type=click.FloatRange(0.01, 365), metavar="DAYS", help="Offer the tasks so long from now.")
@click.option("--replace", is_flag=True, help="A rating that is there already gives way to a new one.")
@click.option("--group", metavar="NAME", help="Group of the raters. [default: crowd, or sandbox]")
@yes_option
@endpoint_option
def pull_mturk(
    dataset: Path,
    name: str,
    approve: bool,
    reject: tuple[str, ...],
    bonus: tuple[str, ...],
    bonus_reason: str,
    exclude: tuple[str, ...],
    expire: bool,
    extend: float | None,
    replace: bool,
    group: str | None,
    yes: bool,
    endpoint_url: str | None,
) -> None:
    """Fetch what workers have submitted for a campaign of DATASET, and take it in as ratings.

    As often as you like, also while the campaign runs. Workers become raters called mturk:WORKER. Rejected
    assignments are left out; an answer that cannot be read, or is off the scale, is left out and named.
    Nothing is approved without --approve, and nothing is rejected but what you name with --reject. A bonus of the same
    sum and reason is paid to a worker once in a campaign, however often the command is given.

    \b
    Examples:
      metal annotate pull mturk datasets/mine
      metal annotate pull mturk datasets/mine --approve --exclude A2X...
      metal annotate pull mturk datasets/mine --bonus A1B...=2.50
    """
    from metal.building.crowdsourcing import fetching
    from metal.building.crowdsourcing.campaign import open_campaign
    from metal.building.crowdsourcing.mturk import Turk
    from metal.building.start import clock
    from metal.building.take_in import import_answers
    from metal.data.dataset import load_dataset
    from metal.data.folders import one_writer, recover
    from metal.errors import UsageError
    from metal.show.terminal import console as show
    from metal.show.terminal.annotation_text import counted

    if expire and extend:
        raise UsageError("--expire ends the tasks and --extend goes on with them; give one of the two")
    sums = dict(_bonus(text) for text in bonus)
    reasons = dict(_rejection(text) for text in reject)
    click.get_current_context().with_resource(one_writer(dataset))
    recover(dataset.resolve())
    loaded = load_dataset(dataset)
    campaign = open_campaign(dataset, name)
    production = campaign.asked.environment == "production"
    endpoint = read_endpoint(endpoint_url, production) if endpoint_url else campaign.asked.endpoint
    turk = click.get_current_context().with_resource(Turk(endpoint))
    with show.progress("Fetching") as advance:
        fetched = fetching.fetch(turk, campaign, advance)
    if reasons:
        show.say(f"Rejected: {fetching.reject(turk, campaign, reasons):,}")
    got = fetching.received(campaign, loaded.criteria)
    show.say(f"Fetched {fetched.fresh:,} new assignments of campaign {campaign.name} ({campaign.asked.environment})")
    if fetched.gone:
        show.say(f"note: no longer on Mechanical Turk: {counted(fetched.gone, 'task')}; what was fetched is kept")
    if got.answers:
        notes = _notes(got) if production else [*_notes(got), REHEARSAL]
        group = group or ("crowd" if production else "sandbox")
        import_answers(dataset, loaded, got.answers, notes, replace=replace, group=group)
    else:
        for note in ["nothing to take in yet", *_notes(got)]:
            show.say(f"note: {note}")
    _afterwards(turk, campaign, got, approve, sums, bonus_reason, production, yes)
    if count := _shut_out(turk, campaign, exclude):
        show.say(f"Workers who get no further tasks: {count:,} more")
    if expire or extend:
        until = clock() + timedelta(days=extend or 0)
        count = fetching.expire(turk, campaign, until)
        show.say(
            f"{counted(count, 'task')}: {f'offered until {until:%Y-%m-%d %H:%M} UTC' if extend else 'not offered now'}"
        )
    from metal.cli.annotate_status import show_standing

    show_standing([campaign.standing(clock())])


def _bonus(text: str) -> tuple[str, Decimal]:
    from metal.errors import UsageError

    worker, equals, usd = text.rpartition("=")
    if not equals or not worker:
        raise UsageError(f"--bonus {text!r} is not WORKER=USD, such as A1B2C3=2.50")
    return worker.removeprefix("mturk:"), read_usd(usd, "--bonus")


def _rejection(text: str) -> tuple[str, str]:
    from metal.errors import UsageError

    assignment, _, reason = text.partition("=")
    if not assignment or not reason.strip():
        raise UsageError(f"--reject {text!r} is not ASSIGNMENT=REASON; workers are told why")
    return assignment, reason.strip()


def _notes(got: Received) -> list[str]:
    """What was left out."""
    notes = [f"{got.rejected:,} rejected assignments left out"] if got.rejected else []
    notes += [f"left out: {why}" for why in list(got.unreadable.values())[:SHOWN]]
    if len(got.unreadable) > SHOWN:
        notes.append(f"left out: {len(got.unreadable) - SHOWN:,} more that cannot be read")
    return notes


def _afterwards(
    turk: Turk,
    campaign: Campaign,
    got: Received,
    approve: bool,
    sums: Mapping[str, Decimal],
    reason: str,
    production: bool,
    yes: bool,
) -> None:
    """Approvals, then bonuses. Whatever is paid was asked for; bonuses in production are confirmed."""
    from metal.building.crowdsourcing import fetching
    from metal.building.crowdsourcing.mturk import fee
    from metal.show.terminal import console as show

    if approve:
        show.say(f"Approved: {fetching.approve(turk, campaign, got.complete):,}")
    if sums:
        due = fetching.planned_bonuses(campaign, sums, reason)
        total = sum(one.usd + fee(one.usd, 1) for one in due)
        if due and production:
            confirm_spending(f"Pay {len(due):,} bonuses, ${total:,.2f} with fees?", yes)
        paid = fetching.pay(turk, campaign, due)
        there = f", {len(sums) - paid:,} were paid before" if paid < len(sums) else ""
        show.say(f"Bonuses paid: {paid:,}{there}")


def _shut_out(turk: Turk, campaign: Campaign, exclude: tuple[str, ...]) -> int:
    from metal.building.crowdsourcing import fetching
    from metal.building.crowdsourcing.campaign import NOISY
    from metal.building.crowdsourcing.posting import exclusion, shut_out

    count = fetching.enforce_cap(turk, campaign)
    if exclude:
        named = {worker.removeprefix("mturk:"): NOISY for worker in exclude}
        count += shut_out(turk, campaign, exclusion(turk, campaign), named)
    return count
