"""`metal annotate status`: how the campaigns of a dataset stand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from metal.cli import options

COLUMNS = ("posted", "submitted", "approved", "rejected", "open", "spent", "expires")


@click.command("status", short_help="How campaigns on platforms stand.")
@options.dataset
@options.as_json
def status(dataset: Path, as_json: bool) -> None:
    """List the campaigns of DATASET, as they were at the last push or pull. Asks nobody.

    Of Mechanical Turk, posted is tasks; submitted, approved, rejected and open count assignments: submitted
    ones wait for approval, open ones can still come. spent is what was approved and paid as bonus, with fees.

    \b
    Example:
      metal annotate status datasets/mine
    """
    from metal.building.crowdsourcing import label_studio_campaign as label_studio
    from metal.building.crowdsourcing.campaign import campaigns
    from metal.building.start import clock
    from metal.errors import UsageError
    from metal.show.terminal import console as show

    if not (dataset / "dataset.toml").is_file():
        raise UsageError(f"{dataset} is no dataset: it has no dataset.toml")
    now = clock()
    found = [one.standing(now) for one in campaigns(dataset)]
    there = [one.standing() for one in label_studio.campaigns(dataset)]
    if as_json:
        click.echo(json.dumps([*found, *there], ensure_ascii=False, indent=2))
        return
    if found:
        show_standing(found)
    if there:
        rows = [
            [one["campaign"], one["url"], f"{one['posted']} of {one['projects']}", str(one["tasks"])] for one in there
        ]
        show.table("Campaigns on Label Studio", ["", "", "projects posted", "tasks"], rows, keep=2)
    if not found and not there:
        show.say(f"{dataset} has no campaign; `metal annotate push` begins one")


def show_standing(found: Sequence[Mapping[str, Any]]) -> None:
    """A table with a row a campaign."""
    from metal.show.terminal import console as show

    rows = [
        [
            f"{one['campaign']} ({one['environment']})",
            f"{one['posted']:,} of {one['tasks']:,}",
            *(f"{one[name]:,}" for name in ("submitted", "approved", "rejected", "open")),
            f"${one['spent']:,.2f}",
            one["expires"][:16].replace("T", " ") or "-",
        ]
        for one in found
    ]
    waiting = sum(one["waiting"] for one in found)
    note = f"Approving all that was submitted costs ${waiting:,.2f} more." if waiting else ""
    show.table("Campaigns, as of the last pull (times in UTC)", ["", *COLUMNS], rows, note=note)
