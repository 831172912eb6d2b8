"""A campaign on Label Studio: the projects that hold its tasks, and what is known about them.

DATASET/annotation/campaigns/NAME/
    interface-LANG.xml, PERSON.json   what is posted, as the form `label-studio` wrote it
    campaign.toml                     the settings; written last
    projects.jsonl                    sheet and title before a project is created, its number after,
                                      and tasks when all tasks are imported

A project is for one person or, with `shared`, for one language. Its title contains this name and
the campaign's key, so METAL finds the project again if its number was lost. Tasks that the project
already has are not imported again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar

from metal.building.crowdsourcing.campaign import Campaign
from metal.building.crowdsourcing.label_studio import TITLE_LIMIT, LabelStudio
from metal.data.progress import Progress, no_progress
from metal.errors import DataError, UsageError

PROJECTS = "projects.jsonl"


@dataclass(frozen=True)
class Project:
    """The contents of a project. name: of the person, or of the language. raters: how many people
    rate each task.
    """

    name: str
    interface: str
    tasks: tuple[Mapping[str, Any], ...]
    raters: int = 1

    @property
    def ids(self) -> list[str]:
        """The ids of its tasks."""
        return [str(task["data"]["task"]) for task in self.tasks]


@dataclass(frozen=True)
class LabelStudioSettings:
    """The settings of a campaign. shared: whether the people of a language share a project. key:
    part of the titles of all projects.
    """

    url: str
    shared: bool
    digest: str
    platform: str = "label-studio"
    key: str = ""


@dataclass(frozen=True)
class LabelStudioCampaign(Campaign):
    """A campaign on Label Studio (see `Campaign`)."""

    settings: LabelStudioSettings

    platform: ClassVar[str] = "label-studio"
    title: ClassVar[str] = "Label Studio"
    settings_type: ClassVar[type] = LabelStudioSettings

    def title_of(self, project: str) -> str:
        """A project's title: its name, for people to read, and the campaign's key, with which METAL
        finds it again.
        """
        ending = f" [metal {self.settings.key}]"
        if len(project) + len(ending) > TITLE_LIMIT:
            project = blake2b(project.encode(), digest_size=6).hexdigest()
        return project + ending

    def projects(self) -> list[Project]:
        """The projects to post, read from the campaign's folder."""
        return read_projects(
            {path.name: path.read_bytes() for path in _files(self.folder)},
            shared=self.settings.shared,
        )

    def journal(self) -> dict[str, dict[str, Any]]:
        """Project name -> its title, and its number (`project`) and `tasks` if they are known."""
        return self.merged(PROJECTS, "sheet")

    def standing(self, now: object = None) -> dict[str, Any]:
        """How many projects and tasks there are, and how many projects are posted. None expires."""
        journal, projects = self.journal(), self.projects()
        return {
            "campaign": self.name,
            "platform": self.platform,
            "url": self.settings.url,
            "projects": len(projects),
            "posted": sum("project" in journal.get(project.name, {}) for project in projects),
            "tasks": sum(len(project.tasks) for project in projects),
        }


# ---------------------------------------------------------------- what is posted


def _files(folder: Path) -> Iterator[Path]:
    yield from sorted(folder.glob("interface-*.xml"))
    yield from sorted(folder.glob("*.json"))


def read_export(export: Path) -> dict[str, bytes]:
    """The exported files to post, by name. Raises UsageError if there are none."""
    files = {path.name: path.read_bytes() for path in _files(export)} if export.is_dir() else {}
    if not any(name.endswith(".xml") for name in files) or not any(
        name.endswith(".json") for name in files
    ):
        raise UsageError(
            f"{export}: no interface-LANG.xml with its PERSON.json; write them with "
            f'`metal.annotate_export(DATASET, to="label-studio", out="{export}")`'
        )
    return files


def read_projects(files: Mapping[str, bytes], *, shared: bool) -> list[Project]:
    """The projects of exported files: one for each person or, if shared, one for each language,
    with each task once.

    Raises DataError if a file was changed after the export.
    """
    by_language: dict[str, list[list[Mapping[str, Any]]]] = {}
    projects = []
    for name, content in files.items():
        if not name.endswith(".json"):
            continue
        tasks = _tasks(name, content)
        language = str(tasks[0]["data"]["language"])
        by_language.setdefault(language, []).append(tasks)
        if not shared:
            projects.append(
                Project(name.removesuffix(".json"), _interface(files, language, name), tuple(tasks))
            )
    for language, people in by_language.items() if shared else ():
        tasks_by_id = {task["data"]["task"]: task for tasks in people for task in tasks}
        raters = Counter(task["data"]["task"] for tasks in people for task in tasks)
        usual = Counter(raters.values()).most_common(1)[0][0]
        tasks = [{"data": {**task["data"], "rater": language}} for task in tasks_by_id.values()]
        projects.append(
            Project(language, _interface(files, language, language), tuple(tasks), usual)
        )
    return projects


def _tasks(name: str, content: bytes) -> list[Mapping[str, Any]]:
    try:
        tasks = json.loads(content)
        complete = all(
            isinstance(task["data"][key], str)
            for task in tasks
            for key in ("task", "rater", "language")
        )
    except (ValueError, TypeError, KeyError, RecursionError):
        complete = False
    if not complete or not tasks:
        raise DataError(name, "not tasks as METAL exports them", "Export them again")
    return list(tasks)


def _interface(files: Mapping[str, bytes], language: str, name: str) -> str:
    if f"interface-{language}.xml" not in files:
        raise DataError(name, f"no interface-{language}.xml beside it", "Export the tasks again")
    return files[f"interface-{language}.xml"].decode()


# ---------------------------------------------------------------- posting and fetching


def post(
    server: LabelStudio, campaign: LabelStudioCampaign, progress: Progress = no_progress
) -> int:
    """Create and fill every project that is missing or incomplete; return the number of these
    projects.

    METAL recognises what an earlier push did, even if the server's last response was lost, and does
    not do it twice. Raises DataError if a project has tasks that are not its own, or has a task
    twice.
    """
    journal = campaign.journal()
    missing = [
        project for project in campaign.projects() if "tasks" not in journal.get(project.name, {})
    ]
    lost = any("title" in record and "project" not in record for record in journal.values())
    titles = (
        {str(listed.get("title")): int(listed["id"]) for listed in server.projects()}
        if lost
        else {}
    )
    for done, project in enumerate(missing, 1):
        title = campaign.title_of(project.name)
        number = journal.get(project.name, {}).get("project") or titles.get(title)
        if not number:
            campaign.note(PROJECTS, sheet=project.name, title=title)
            number = server.create_project(title, project.interface, project.raters)
        campaign.note(PROJECTS, sheet=project.name, project=number)
        _fill(server, int(number), project)
        campaign.note(PROJECTS, sheet=project.name, tasks=len(project.tasks))
        progress(done, len(missing))
    return len(missing)


def _fill(server: LabelStudio, number: int, project: Project) -> None:
    """Import the tasks that the project still lacks."""
    present = set(server.tasks(number)) if server.count_tasks(number) else set()
    absent = [task for task in project.tasks if task["data"]["task"] not in present]
    if absent:
        server.import_tasks(number, absent)
    count = server.count_tasks(number)
    if count != len(project.tasks) or present - set(project.ids):
        raise DataError(
            f"Label Studio project {number} ({project.name})",
            f"it has {count:,} tasks, but should have {len(project.tasks):,}",
            "Delete the tasks in it that occur twice or do not belong to this campaign, then run"
            " the same command again",
        )


def fetch(
    server: LabelStudio, campaign: LabelStudioCampaign, progress: Progress = no_progress
) -> Iterator[tuple[str, bytes]]:
    """(label, JSON export) of each project, with everything submitted so far. Raises UsageError if
    nothing was posted.
    """
    numbers = {
        name: int(record["project"])
        for name, record in campaign.journal().items()
        if "project" in record
    }
    if not numbers:
        raise UsageError(f"campaign {campaign.name!r} has no project yet; run its `push` again")
    for done, (name, number) in enumerate(numbers.items(), 1):
        yield f"project {number} ({name})", server.export(number)
        progress(done, len(numbers))
