"""`metal annotate push label-studio` and `pull label-studio`: projects are made and filled, answers fetched."""

from __future__ import annotations

from pathlib import Path

import click

from metal.cli import options

_LOCAL = ("localhost", "127.0.0.1", "::1")


@click.command("label-studio", short_help="Post tasks on a Label Studio server.")
@options.dataset
@click.argument("export", required=False, type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--url", default="http://127.0.0.1:8080", show_default=True, metavar="URL", help="Where Label Studio is.")
@click.option("--name", metavar="NAME", help="Name of the campaign. [default: that of EXPORT]")
@click.option("--shared", is_flag=True, help="One project a language that all its people share.")
def push_label_studio(dataset: Path, export: Path | None, url: str, name: str | None, shared: bool) -> None:
    """Post the tasks in EXPORT, which `metal annotate export DATASET --to label-studio` wrote, on Label Studio.

    EXPORT is runs/DATASET-label-studio if it is left out. The token is in LABEL_STUDIO_API_KEY: a personal
    access token (Account & Settings), or a legacy token. Each person gets a project, so that nobody sees
    what others said; with --shared a language has one, each person a login, and ratings carry
    LANGUAGE:LOGIN. What was made is kept in DATASET/annotation/campaigns/NAME: after an interruption the
    same command goes on, and makes no project or task twice.

    \b
    Example:
      metal annotate export datasets/mine --to label-studio
      export LABEL_STUDIO_API_KEY=...
      metal annotate push label-studio datasets/mine --url http://127.0.0.1:8080
    """
    from metal.building.crowdsourcing.label_studio import LabelStudio
    from metal.building.crowdsourcing.label_studio_campaign import (
        FOLDER,
        begin,
        campaigns,
        post,
        read_export,
        read_sheets,
    )
    from metal.building.store import read_tasks
    from metal.data.folders import one_writer, recover
    from metal.errors import UsageError
    from metal.show.terminal import console as show
    from metal.show.terminal.annotation_text import counted

    click.get_current_context().with_resource(one_writer(dataset))
    recover(dataset.resolve())
    tasks = read_tasks(dataset)
    if not tasks:
        raise UsageError(f"{dataset}: no tasks were handed out from it; begin with `metal annotate export`")
    export = export or Path("runs") / f"{dataset.resolve().name}-label-studio"
    files = read_export(export)
    sheets = read_sheets(files, shared=shared)
    unknown = [task for sheet in sheets for task in sheet.ids if task not in tasks]
    if unknown:
        raise UsageError(f"{export}: task {unknown[0]!r} is none of {dataset}; is it the export of another dataset?")
    server = LabelStudio(url)
    _warn_of_plain(server.url)
    name = name or export.resolve().name
    campaign = begin(dataset, name, server.url, files, shared=shared)
    with show.progress("Posting") as advance:
        count = post(server, campaign, advance)
    there = f", {len(sheets) - count:,} were there" if count < len(sheets) else ""
    show.say(f"Posted {counted(count, 'project')} on {server.url}{there}. State: {dataset / FOLDER / name}", wrap=False)
    more = f" --name {name}" if len(campaigns(dataset)) > 1 else ""
    show.say(f"Next: metal annotate pull label-studio {dataset}{more}", wrap=False)


@click.command("label-studio", short_help="Fetch answers from Label Studio.")
@options.dataset
@click.option("--name", metavar="NAME", default="", help="The campaign. [default: the only one]")
@click.option("--url", metavar="URL", help="Where Label Studio is now. [default: where tasks were posted]")
@click.option("--replace", is_flag=True, help="A rating that is there already gives way to a new one.")
@click.option("--group", default="native", show_default=True, help="Group of the raters, e.g. native, expert, crowd.")
@click.option("--dry-run", is_flag=True, help="Fetch and check; write nothing.")
def pull_label_studio(dataset: Path, name: str, url: str | None, replace: bool, group: str, dry_run: bool) -> None:
    """Fetch what people have submitted so far for a campaign of DATASET, and take it in as ratings.

    As often as you like, also while people are at work. The token is in LABEL_STUDIO_API_KEY, as for push.
    What somebody changed after an earlier pull needs --replace.

    \b
    Example:
      metal annotate pull label-studio datasets/mine
    """
    from metal.building.crowdsourcing.label_studio import LabelStudio
    from metal.building.crowdsourcing.label_studio_campaign import fetch, open_campaign
    from metal.building.forms import label_studio
    from metal.building.take_in import import_answers
    from metal.data.dataset import load_dataset
    from metal.data.folders import one_writer
    from metal.show.terminal import console as show
    from metal.show.terminal.annotation_text import counted

    click.get_current_context().with_resource(one_writer(dataset))
    loaded = load_dataset(dataset)
    campaign = open_campaign(dataset, name)
    server = LabelStudio(url or campaign.asked.url)
    _warn_of_plain(server.url)
    answers, notes = [], []
    with show.progress("Fetching") as advance:
        for place, content in fetch(server, campaign, advance):
            answers += label_studio.read(place, content, loaded.criteria, shared=campaign.asked.shared)
            if count := label_studio.skipped(place, content):
                notes.append(f"{place}: {counted(count, 'task')} skipped")
    if not answers:
        show.say("Nobody has submitted an answer yet.")
        return
    import_answers(dataset, loaded, answers, notes, replace=replace, group=group, dry_run=dry_run)


def _warn_of_plain(url: str) -> None:
    """Say when the token travels where others can read it."""
    from urllib.parse import urlsplit

    from metal.show.terminal import console as show

    parts = urlsplit(url)
    if parts.scheme == "http" and parts.hostname not in _LOCAL:
        show.say(f"warning: {url} is not encrypted; whoever is on the way can read the token. Use https")
