"""A campaign on Label Studio: projects that tasks were put into, and all that is known of them, in a folder.

DATASET/annotation/campaigns/NAME/
    interface-LANG.xml, PERSON.json   what is posted, as `metal annotate export --to label-studio` wrote it
    campaign.toml                     platform = "label-studio", url, shared, ...; written last
    projects.jsonl                    sheet, title before a project is made; project after; tasks when all are in it

A sheet is a person's, or with `shared` all of a language's. The title of a project carries the campaign's key and the
sheet, so that one whose number was lost is found again by it; tasks are compared with what is in the project already.
"""

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import tomli_w

from metal.building.crowdsourcing import journal
from metal.building.crowdsourcing.label_studio import TITLE_LIMIT, LabelStudio
from metal.data.dataset import read_toml
from metal.data.folders import new_file
from metal.errors import DataError, UsageError

FOLDER = "annotation/campaigns"
CARD, PROJECTS = "campaign.toml", "projects.jsonl"
PLATFORM = "label-studio"


@dataclass(frozen=True)
class Sheet:
    """What goes into a project. raters: people a task is for."""

    name: str
    interface: str
    tasks: tuple[Mapping[str, Any], ...]
    raters: int = 1

    @property
    def ids(self) -> list[str]:
        return [str(task["data"]["task"]) for task in self.tasks]


@dataclass(frozen=True)
class Asked:
    """What a campaign is. key: part of its projects' titles. digest: of what is posted."""

    url: str
    shared: bool
    digest: str
    platform: str = PLATFORM
    key: str = ""


@dataclass(frozen=True)
class Campaign:
    """A campaign's folder. Hold the dataset's lock while adding to it."""

    folder: Path
    asked: Asked

    @property
    def name(self) -> str:
        return self.folder.name

    def title(self, sheet: str) -> str:
        """Of a sheet's project: the sheet, for people; the campaign's key, for us."""
        ending = f" [metal {self.asked.key}]"
        shown = sheet
        if len(sheet) + len(ending) > TITLE_LIMIT:
            shown = blake2b(sheet.encode(), digest_size=6).hexdigest()
        return shown + ending

    def sheets(self) -> list[Sheet]:
        """What is posted, read back from the campaign's folder."""
        return read_sheets({path.name: path.read_bytes() for path in _files(self.folder)}, shared=self.asked.shared)

    def known(self) -> dict[str, dict[str, Any]]:
        """By sheet: title, and project and tasks where they are known."""
        found: dict[str, dict[str, Any]] = {}
        for line in journal.records(self.folder / PROJECTS):
            found.setdefault(str(line["sheet"]), {}).update(line)
        return found

    def standing(self) -> dict[str, Any]:
        """Projects and tasks that are posted, of those there are to be."""
        known, sheets = self.known(), self.sheets()
        posted = [sheet for sheet in sheets if "project" in known.get(sheet.name, {})]
        return {
            "campaign": self.name,
            "platform": PLATFORM,
            "url": self.asked.url,
            "projects": len(sheets),
            "posted": len(posted),
            "tasks": sum(len(sheet.ids) for sheet in sheets),
        }

    def note(self, sheet: str, **known: Any) -> None:
        journal.append(self.folder / PROJECTS, {"sheet": sheet, **known})


# ---------------------------------------------------------------- what is posted


def _files(folder: Path) -> Iterator[Path]:
    yield from sorted(folder.glob("interface-*.xml"))
    yield from sorted(folder.glob("*.json"))


def read_export(export: Path) -> dict[str, bytes]:
    """The files of an export to label-studio that are posted, by name. Raises UsageError where there are none."""
    found = {path.name: path.read_bytes() for path in _files(export)} if export.is_dir() else {}
    if not any(name.endswith(".xml") for name in found) or not any(name.endswith(".json") for name in found):
        raise UsageError(
            f"{export}: no interface-LANG.xml with its PERSON.json; write them with "
            f"`metal annotate export DATASET --to label-studio --out {export}`"
        )
    return found


def read_sheets(files: Mapping[str, bytes], *, shared: bool) -> list[Sheet]:
    """The sheets in exported files: one a person; shared, one a language with each task once.

    Raises DataError for a file that is not as it was exported.
    """
    people: dict[str, list[list[Mapping[str, Any]]]] = {}
    sheets = []
    for name, content in files.items():
        if not name.endswith(".json"):
            continue
        tasks = _tasks(name, content)
        language = str(tasks[0]["data"]["language"])
        people.setdefault(language, []).append(tasks)
        if not shared:
            sheets.append(Sheet(name.removesuffix(".json"), _interface(files, language, name), tuple(tasks)))
    for language, theirs in people.items() if shared else ():
        whole = {task["data"]["task"]: task for tasks in theirs for task in tasks}
        usual = Counter(Counter(task["data"]["task"] for tasks in theirs for task in tasks).values()).most_common(1)
        merged = tuple({"data": {**task["data"], "rater": language}} for task in whole.values())
        sheets.append(Sheet(language, _interface(files, language, language), merged, usual[0][0]))
    return sheets


def _tasks(name: str, content: bytes) -> list[Mapping[str, Any]]:
    try:
        tasks = json.loads(content)
        whole = all(isinstance(task["data"][key], str) for task in tasks for key in ("task", "rater", "language"))
    except (ValueError, TypeError, KeyError, RecursionError):
        whole = False
    if not whole or not tasks:
        raise DataError(name, "not tasks as they were exported", "Export them again")
    return list(tasks)


def _interface(files: Mapping[str, bytes], language: str, name: str) -> str:
    if f"interface-{language}.xml" not in files:
        raise DataError(name, f"no interface-{language}.xml beside it", "Export the tasks again")
    return files[f"interface-{language}.xml"].decode()


def _digest(files: Mapping[str, bytes]) -> str:
    whole = blake2b(digest_size=16)
    for name, content in sorted(files.items()):
        whole.update(f"{name}\0{len(content)}\0".encode() + content)
    return whole.hexdigest()


# ---------------------------------------------------------------- folders


def campaigns(dataset: Path) -> list[Campaign]:
    """The dataset's campaigns on Label Studio, by name. Folders of other platforms are passed over."""
    cards = sorted((dataset / FOLDER).glob(f"*/{CARD}"))
    return [_open(card.parent) for card in cards if read_toml(card).get("platform") == PLATFORM]


def open_campaign(dataset: Path, name: str = "") -> Campaign:
    """The campaign of that name; without a name the only one. Raises UsageError where there is none, or several."""
    known = campaigns(dataset)
    found = [one for one in known if one.name == name or not name]
    if len(found) == 1:
        return found[0]
    names = ", ".join(one.name for one in known)
    if not known:
        raise UsageError(f"{dataset} has no campaign on Label Studio; begin with `metal annotate push label-studio`")
    raise UsageError(
        f"{dataset} has {'no such campaign' if name else 'several campaigns'} on Label Studio: {names}; pass --name"
    )


def _open(folder: Path) -> Campaign:
    described = read_toml(folder / CARD)
    try:
        return Campaign(folder, Asked(**described))
    except TypeError as error:
        raise DataError(folder / CARD, f"not what was written there ({error})", "Restore the file") from None


def begin(dataset: Path, name: str, url: str, files: Mapping[str, bytes], *, shared: bool) -> Campaign:
    """The campaign of that name: a new one, or the one that an earlier push began and that asks the same."""
    if not name or name.startswith(".") or any(char in name for char in "/\\\0"):
        raise UsageError(f"{name!r} cannot name a campaign; give --name without slashes, not beginning with a dot")
    folder, digest = dataset / FOLDER / name, _digest(files)
    if (folder / CARD).is_file():
        if read_toml(folder / CARD).get("platform") != PLATFORM:
            raise UsageError(f"campaign {name!r} is one on another platform; give another --name")
        campaign = _open(folder)
        if campaign.asked.digest != digest or campaign.asked.shared != shared or campaign.asked.url != url:
            what = "with other tasks" if campaign.asked.digest != digest else "as shared or not, or at another --url"
            raise UsageError(f"campaign {name!r} was begun otherwise ({what}). Ask the same, or give another --name")
        return campaign
    asked = Asked(url, shared, digest, key=secrets.token_hex(5))
    folder.mkdir(parents=True, exist_ok=True)
    for file, content in files.items():
        (folder / file).write_bytes(content)
    with new_file(folder / CARD) as partial:
        partial.write_text(tomli_w.dumps(asdict(asked)), encoding="utf-8")
    return Campaign(folder, asked)


# ---------------------------------------------------------------- posting and fetching


def post(
    server: LabelStudio, campaign: Campaign, advance: Callable[[int, int], None] = lambda done, total: None
) -> int:
    """Make every project that is missing and fill it; how many there were to make or fill.

    Whatever an earlier push did, also where its last word was lost, is found again and not done twice. Raises DataError
    for a project with tasks that are not its sheet's, or with some twice.
    """
    sheets, known = campaign.sheets(), campaign.known()
    missing = [sheet for sheet in sheets if "tasks" not in known.get(sheet.name, {})]
    lost = [sheet for sheet in missing if "title" in known.get(sheet.name, {}) and "project" not in known[sheet.name]]
    titles = {str(one.get("title")): int(one["id"]) for one in server.projects()} if lost else {}
    for done, sheet in enumerate(missing, 1):
        project = known.get(sheet.name, {}).get("project") or titles.get(campaign.title(sheet.name))
        if not project:
            campaign.note(sheet.name, title=campaign.title(sheet.name))
            project = server.create_project(campaign.title(sheet.name), sheet.interface, sheet.raters)
        campaign.note(sheet.name, project=project)
        _fill(server, int(project), sheet)
        campaign.note(sheet.name, tasks=len(sheet.tasks))
        advance(done, len(missing))
    return len(missing)


def _fill(server: LabelStudio, project: int, sheet: Sheet) -> None:
    """Import the tasks that the project does not have."""
    there = server.tasks(project) if server.count_tasks(project) else []
    wanted = [task for task in sheet.tasks if task["data"]["task"] not in set(there)]
    if wanted:
        server.import_tasks(project, wanted)
    count = server.count_tasks(project)
    if count != len(sheet.tasks) or set(there) - set(sheet.ids):
        raise DataError(
            f"Label Studio project {project} ({sheet.name})",
            f"it has {count:,} tasks, and {len(sheet.tasks):,} were to be in it",
            "Delete in it what is there twice or not of this campaign, then give the same command again",
        )


def fetch(
    server: LabelStudio, campaign: Campaign, advance: Callable[[int, int], None] = lambda done, total: None
) -> Iterator[tuple[str, bytes]]:
    """(name, export) of each project, whatever is done in it so far. Raises UsageError before anything was posted."""
    made = {sheet: int(known["project"]) for sheet, known in campaign.known().items() if "project" in known}
    if not made:
        raise UsageError(f"campaign {campaign.name!r} has no project yet; give its `push` again")
    for done, (sheet, project) in enumerate(made.items(), 1):
        yield f"project {project} ({sheet})", server.export(project)
        advance(done, len(made))
