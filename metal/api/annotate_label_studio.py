"""Label Studio as a platform: create and fill projects, and fetch answers."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

from metal.api.options import Option, Progress, StrPath, documented
from metal.api.platforms import Platform, Say, silent, standings, taken_in
from metal.data.text import plural
from metal.errors import UsageError
from metal.running.annotating import Posted, Pulled

if TYPE_CHECKING:
    from metal.running.annotating import ImportReport

_LOCAL = ("localhost", "127.0.0.1", "::1")


@documented
def annotate_push_label_studio(
    data: StrPath,
    export: StrPath | None = None,
    *,
    url: Annotated[str, Option("URL of Label Studio.", metavar="URL")] = "http://127.0.0.1:8080",
    name: Annotated[
        str | None, Option("Name of the campaign. [default: that of EXPORT]", metavar="NAME")
    ] = None,
    shared: Annotated[bool, Option("One project per language, shared by all its people.")] = False,
    say: Say = silent,
    progress: Progress = silent,
) -> Posted:
    """Post the tasks in `export`, which `metal.annotate_export(..., to="label-studio")` wrote, on
    Label Studio.

    `export` defaults to runs/DATASET-label-studio. The token is in LABEL_STUDIO_API_KEY: a personal
    access token (Account & Settings), or a legacy token. Each person gets a project, so that nobody
    sees others' answers. With `shared` there is one project per language; each person has a login,
    and ratings carry LANGUAGE:LOGIN. annotation/campaigns/NAME in the dataset's folder records what
    was posted: after an interruption the same command continues, and makes no project or task
    twice.

    Args:
        data: The dataset's folder.
        export: The folder of the exported tasks.
        say: Called with warnings.
        progress: Called with the number of projects done and of all projects.

    Returns:
        What was posted.

    Raises:
        UsageError: Without a token, for tasks of another dataset, and if a campaign of that name
            has other settings.
        DataError: For a project with foreign or repeated tasks.
        LabelStudioError: If the server refuses.

    Example:
        metal.annotate_push_label_studio("datasets/news", "runs/news-label-studio")
    """
    from metal.building.crowdsourcing import label_studio_campaign
    from metal.building.crowdsourcing.campaign import digest_of
    from metal.building.crowdsourcing.label_studio import LabelStudio
    from metal.building.crowdsourcing.label_studio_campaign import (
        LabelStudioCampaign,
        LabelStudioSettings,
    )
    from metal.building.store import tasks_handed_out
    from metal.data.files import one_writer, recover

    dataset = Path(data)
    recover(dataset.resolve())
    tasks = tasks_handed_out(dataset)
    with one_writer(dataset):
        folder = Path(export) if export else Path("runs") / f"{dataset.resolve().name}-label-studio"
        files = label_studio_campaign.read_export(folder)
        projects = label_studio_campaign.read_projects(files, shared=shared)
        posted = chain.from_iterable(project.ids for project in projects)
        unknown = [task for task in posted if task not in tasks]
        if unknown:
            raise UsageError(
                f"{folder}: task {unknown[0]!r} is not a task of {dataset}; is it the export of"
                " another dataset?"
            )
        server = LabelStudio(url)
        _warn_of_plain(server.url, say)
        settings = LabelStudioSettings(
            server.url, shared, digest_of(files), key=secrets.token_hex(5)
        )
        campaign = LabelStudioCampaign.begin(
            dataset, name or folder.resolve().name, settings, files
        )
        count = label_studio_campaign.post(server, campaign, progress)
        return Posted(
            campaign.name,
            count,
            before=len(projects) - count,
            unit="project",
            where=f"on {server.url}",
            state=campaign.folder,
            campaigns=len(LabelStudioCampaign.of(dataset)),
        )


@documented
def annotate_pull_label_studio(
    data: StrPath,
    *,
    name: Annotated[str, Option("The campaign. [default: the only one]", metavar="NAME")] = "",
    url: Annotated[
        str | None,
        Option("Current URL of Label Studio. [default: where tasks were posted]", metavar="URL"),
    ] = None,
    replace: Annotated[bool, Option("Let new ratings replace existing ones.")] = False,
    group: Annotated[str, Option("Group of the raters, e.g. native, expert, crowd.")] = "native",
    dry_run: Annotated[bool, Option("Fetch and check; write nothing.")] = False,
    say: Say = silent,
    progress: Progress = silent,
    imported: Callable[[ImportReport], None] = silent,
) -> Pulled:
    """Fetch what people have submitted so far in a campaign, and import it as ratings.

    You can pull as often as you like, even while people are still rating. The token is in
    LABEL_STUDIO_API_KEY, as for the push. Answers that changed after an earlier pull need
    `replace`.

    Args:
        data: The dataset's folder.
        say: Called with warnings.
        progress: Called with the number of projects done and of all projects.
        imported: Called with the report of the import.

    Returns:
        The report and the campaign's figures.

    Raises:
        UsageError: Without a token or a campaign.
        UsageError, DataError, UnknownName: As `metal.annotate_import`.
        LabelStudioError: If the server refuses.

    Example:
        pulled = metal.annotate_pull_label_studio("datasets/news", url="http://localhost:8080")
    """
    from metal.building.crowdsourcing.label_studio import LabelStudio
    from metal.building.crowdsourcing.label_studio_campaign import LabelStudioCampaign, fetch
    from metal.building.forms import label_studio
    from metal.data.dataset import dataset_to_change

    dataset = Path(data)
    with dataset_to_change(dataset) as loaded:
        campaign = LabelStudioCampaign.open(dataset, name)
        server = LabelStudio(url or campaign.settings.url)
        _warn_of_plain(server.url, say)
        answers, notes = [], []
        for location, content in fetch(server, campaign, progress):
            answers += label_studio.read(
                location, content, loaded.criteria, shared=campaign.settings.shared
            )
            if count := label_studio.skipped(location, content):
                notes.append(f"{location}: {plural(count, 'task')} skipped")
        options = {"replace": replace, "group": group, "dry_run": dry_run}
        report = taken_in(dataset, loaded, answers, notes, say, imported, **options)
        return Pulled(campaign.name, report, campaign.standing())


def _warn_of_plain(url: str, say: Say) -> None:
    """Warn if the token travels unencrypted, so that others can read it."""
    parts = urlsplit(url)
    if parts.scheme == "http" and parts.hostname not in _LOCAL:
        say(f"warning: {url} is not encrypted, so others can read the token; use https")


PLATFORM = Platform(
    "Label Studio",
    annotate_push_label_studio,
    annotate_pull_label_studio,
    standings("metal.building.crowdsourcing.label_studio_campaign:LabelStudioCampaign"),
)
