"""Label Studio as a platform: projects are made and filled, answers fetched."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

from metal.data.parameters import Option
from metal.data.text import plural
from metal.errors import UsageError
from metal.running.platforms import Platform, Posted, Progress, Pulled, Say, silent

if TYPE_CHECKING:
    from metal.running.importing import ImportReport

_LOCAL = ("localhost", "127.0.0.1", "::1")


def annotate_push_label_studio(
    data: str | Path,
    export: Annotated[str | Path | None, Option("[EXPORT]", existing=True)] = None,
    *,
    url: Annotated[str, Option("URL")] = "http://127.0.0.1:8080",
    name: Annotated[str | None, Option("NAME")] = None,
    shared: bool = False,
    say: Say = silent,
    progress: Progress = silent,
) -> Posted:
    """Post exported tasks on a Label Studio server. The token is in LABEL_STUDIO_API_KEY.

    Each person gets a project. What was made is kept in the dataset's folder `annotation/campaigns/NAME`: after an
    interruption the same call goes on, and makes no project or task twice.

    data: The dataset's folder.
    export: What `annotate_export(data, to="label-studio")` wrote. [default: runs/DATASET-label-studio]
    url: Where Label Studio is.
    name: Name of the campaign. [default: that of EXPORT]
    shared: One project a language that all its people share.
    say: Told warnings. progress: told (done, total) projects.

    Raises UsageError without a token, for tasks of another dataset, and for a campaign of that name with other
    settings; DataError for a project with foreign or repeated tasks; MetalError if the server refuses.
    """
    from metal.building.crowdsourcing.campaign import digest_of
    from metal.building.crowdsourcing.label_studio import LabelStudio
    from metal.building.crowdsourcing.label_studio_campaign import (
        LabelStudioCampaign,
        LabelStudioSettings,
        post,
        read_export,
        read_projects,
    )
    from metal.building.store import tasks_handed_out
    from metal.data.folders import one_writer, recover

    dataset = Path(data)
    with one_writer(dataset):
        recover(dataset.resolve())
        tasks = tasks_handed_out(dataset)
        folder = Path(export) if export else Path("runs") / f"{dataset.resolve().name}-label-studio"
        files = read_export(folder)
        projects = read_projects(files, shared=shared)
        unknown = [task for project in projects for task in project.ids if task not in tasks]
        if unknown:
            raise UsageError(f"{folder}: task {unknown[0]!r} is none of {dataset}; is it the export of another dataset?")
        server = LabelStudio(url)
        _warn_of_plain(server.url, say)
        settings = LabelStudioSettings(server.url, shared, digest_of(files), key=secrets.token_hex(5))
        campaign = LabelStudioCampaign.begin(dataset, name or folder.resolve().name, settings, files)
        count = post(server, campaign, progress)
        return Posted(
            campaign.name,
            count,
            before=len(projects) - count,
            unit="project",
            where=f"on {server.url}",
            state=campaign.folder,
            campaigns=len(LabelStudioCampaign.of(dataset)),
        )


def annotate_pull_label_studio(
    data: str | Path,
    *,
    name: Annotated[str, Option("NAME")] = "",
    url: Annotated[str | None, Option("URL")] = None,
    replace: bool = False,
    group: str = "native",
    dry_run: bool = False,
    say: Say = silent,
    progress: Progress = silent,
    imported: Callable[[ImportReport], None] = silent,
) -> Pulled:
    """Fetch what people have submitted so far, and take it into the dataset as ratings.

    As often as you like, also while people are at work. The token is in LABEL_STUDIO_API_KEY.

    data: The dataset's folder.
    name: The campaign. [default: the only one]
    url: Where Label Studio is now. [default: where tasks were posted]
    replace: A rating that is there already gives way to a new one.
    group: Group of the raters, e.g. native, expert, crowd.
    dry_run: Fetch and check; write nothing.
    say: Told warnings. progress: told (done, total) projects. imported: told of the import.

    Raises UsageError without a token or a campaign, and for errors of `annotate_import`.
    """
    from metal.building.crowdsourcing.label_studio import LabelStudio
    from metal.building.crowdsourcing.label_studio_campaign import LabelStudioCampaign, fetch
    from metal.building.forms import label_studio
    from metal.data.dataset import load_dataset
    from metal.data.folders import one_writer
    from metal.running.importing import import_answers

    dataset = Path(data)
    with one_writer(dataset):
        loaded = load_dataset(dataset)
        campaign = LabelStudioCampaign.open(dataset, name)
        server = LabelStudio(url or campaign.settings.url)
        _warn_of_plain(server.url, say)
        answers, notes = [], []
        for place, content in fetch(server, campaign, progress):
            answers += label_studio.read(place, content, loaded.criteria, shared=campaign.settings.shared)
            if count := label_studio.skipped(place, content):
                notes.append(f"{place}: {plural(count, 'task')} skipped")
        if not answers:
            say("Nobody has submitted an answer yet.")
            return Pulled(campaign.name, None, campaign.standing())
        report = import_answers(dataset, loaded, answers, notes, replace=replace, group=group, dry_run=dry_run)
        imported(report)
        return Pulled(campaign.name, report, campaign.standing())


def _warn_of_plain(url: str, say: Say) -> None:
    """Warn if the token travels where others can read it."""
    parts = urlsplit(url)
    if parts.scheme == "http" and parts.hostname not in _LOCAL:
        say(f"warning: {url} is not encrypted; whoever is on the way can read the token. Use https")


def _campaigns(dataset: Path, now: object) -> list[dict[str, object]]:
    from metal.building.crowdsourcing.label_studio_campaign import LabelStudioCampaign

    return [campaign.standing() for campaign in LabelStudioCampaign.of(dataset)]


PLATFORM = Platform("Label Studio", annotate_push_label_studio, annotate_pull_label_studio, _campaigns)
