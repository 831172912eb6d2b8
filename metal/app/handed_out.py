"""Forms that were written for people: their files to send, and the answers that come back."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import Route

from metal.app.cells import path_from, unused
from metal.app.jobs import DONE, Jobs
from metal.app.library import HERE, Library, NoSuchPage
from metal.app.naming import typed_path
from metal.app.templating import respond
from metal.app.uploads import file_name
from metal.app.ways import FILES, MOST_PEOPLE
from metal.building.store import read_answered
from metal.data.holdings import ADJUDICATION, FILLED_IN
from metal.data.run_toml import read_run_toml
from metal.data.text import slug
from metal.errors import MetalError, UsageError, check_known

MOST_FILES = 100  # that come back at a time
GROUP = re.compile(r"[\w .-]{1,60}")
# what the person does with a file of each form
TO_DO = {
    "html": (
        "The person opens the file in any browser, without a network, and answers in their own"
        " time: the page saves as they go. At the end, its last page makes a small file of the"
        " answers (.json), and they send you that file."
    ),
    "csv": "The person fills in the sheet, saves it, and sends it back.",
    "xlsx": "The person fills in the sheet, saves it, and sends it back.",
    "crowd-csv": "Upload the tasks to your platform. It gives you a CSV of the answers.",
}


@dataclass(frozen=True)
class HandedOutFolder:
    """A folder of forms.

    key: its key in the library. files: the forms in it, sorted; answers in other files are not
    among them.
    """

    key: str
    path: Path
    content: Mapping[str, Any]
    files: Sequence[Path]

    @property
    def decides(self) -> bool:
        """Whether the forms are for somebody who decides."""
        return bool(self.content["command"] == ADJUDICATION)

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings of the command that wrote it."""
        settings: Mapping[str, Any] = self.content["settings"]
        return settings

    @property
    def form(self) -> str:
        """The kind of its forms."""
        return str(self.settings.get("form", ""))

    def progress(self, root: Path) -> dict[str, tuple[int, int]]:
        """How many outputs each person has rated so far, and how many they were given.

        Empty if run.toml does not say who was given what, or if the dataset is not there.
        """
        numbers = self.settings.get("people_given")
        try:
            answered = read_answered(root / self.data(root))
        except MetalError:
            return {}
        given_out = numbers.items() if isinstance(numbers, dict) else ()
        return {
            str(person): (min(answered[person], number), number)
            for person, number in given_out
            if isinstance(number, int)
        }

    def data(self, root: Path) -> str:
        """The dataset whose tasks they are, as a command names it. Raises UsageError if it is not
        there.
        """
        for dataset in self.content["datasets"]:
            return path_from(root, self.path, str(dataset.get("path", "")))
        raise UsageError(f"{self.key}: its run.toml names no dataset")

    def cell(self, library: Library) -> tuple[str, dict[str, str]]:
        """The key of the audit whose disagreements were handed out, and the cell; empty without
        one.
        """
        only = str(self.settings.get("only", ""))
        key = library.key(library.root / only) if only else ""
        cell = {}
        for part, setting in PARTS.items():
            values = self.settings.get(setting)
            if isinstance(values, list) and len(values) == 1:
                cell[part] = str(values[0])
        is_audit = key in library.folders() and library.folder(key).kind == "audit"
        return (key, cell) if is_audit and len(cell) == len(PARTS) else ("", {})


PARTS = {"language": "languages", "criterion": "criteria", "judge": "judges"}


def folder_of(request: Request) -> HandedOutFolder:
    """The folder of forms that a page is about. Raises NoSuchPage for another folder."""
    library: Library = request.app.state.library
    key = request.path_params["key"]
    path = library.path(key)
    content = read_run_toml(path)
    if content["command"] not in FILLED_IN:
        raise NoSuchPage(f"{key} has no forms for people")
    written = content["settings"].get("files")
    names = set(written) if isinstance(written, dict) else set()
    with os.scandir(path) as entries:
        files = [
            Path(entry.path)
            for entry in entries
            if entry.name in names and entry.is_file(follow_symlinks=False)
        ]
    return HandedOutFolder(key, path, content, sorted(files))


def handed_out(request: Request) -> Response:
    """Show the files to send, and ask for the answers."""
    library: Library = request.app.state.library
    jobs: Jobs = request.app.state.jobs
    folder = folder_of(request)
    audit, cell = folder.cell(library)
    # of an earlier `metal view`, the job is gone and the page stays
    imports = [job for job in jobs.all() if job.key == request.query_params.get("job")]
    job = imports[0] if imports else None
    decided = library.folder(folder.key).answer if folder.decides else ""
    state = job.state if job else ""
    content = {
        "key": folder.key,
        "folder": folder,
        "files": [(number, path.name, path.stat().st_size) for number, path in _numbered(folder)],
        "progress": folder.progress(library.root),
        "decided": decided,
        "to_do": TO_DO.get(folder.form, "The person fills it in, and sends it back."),
        "audit": audit,
        "cell": cell,
        "job": job,
        "state": state,
        "is_done": state == DONE,
    }
    return respond(request, "handed_out.html", content)


def _numbered(folder: HandedOutFolder) -> list[tuple[int, Path]]:
    return list(enumerate(folder.files, 1))


def download(request: Request) -> Response:
    """Send a form as a file; it is never shown as a page of the app."""
    folder = folder_of(request)
    files = dict(_numbered(folder))
    number = request.path_params["number"]
    if number not in files:
        raise NoSuchPage(f"{folder.key} has {len(files)} files, and none with number {number}")
    path = files[number]
    return FileResponse(path, media_type="application/octet-stream", filename=path.name)


async def take(request: Request) -> Response:
    """Import the answers that came back."""
    library: Library = request.app.state.library
    jobs: Jobs = request.app.state.jobs
    folder = folder_of(request)
    async with request.form(max_files=MOST_FILES, max_fields=5) as form:
        sent = [each for each in form.getlist("answers") if isinstance(each, UploadFile)]
        files = _kept(jobs.folder, [each for each in sent if each.filename])
        group = str(form.get("group", "") or "native")
    if not files:
        raise UsageError("Choose the file with the answers first")
    if not GROUP.fullmatch(group):
        raise UsageError("The group: use at most 60 letters, digits, spaces, dots and dashes")
    base = request.scope["root_path"]
    if folder.decides:
        out = unused(library.root, f"{slug(folder.path.name)}-report", jobs)
        plan = folder.key.replace(HERE, ".", folder.key == HERE)
        typed = ["adjudicate", "report", f"--out={out}", "--", plan]
        job = jobs.start([*typed, *map(str, files)])
        return RedirectResponse(f"{base}/job/{job.key}", 303)
    typed = ["annotate", "import", f"--group={group}", "--", folder.data(library.root)]
    job = jobs.start([*typed, *map(str, files)])
    query = urlencode({"job": job.key})
    return RedirectResponse(f"{base}/handed-out/{quote(folder.key)}?{query}", 303)


async def hand_out(request: Request) -> Response:
    """Write forms in which people rate a dataset's outputs."""
    library: Library = request.app.state.library
    jobs: Jobs = request.app.state.jobs
    async with request.form(max_files=0, max_fields=5) as form:
        raters, to = str(form.get("raters", "")), str(form.get("to", ""))
    check_known("kind of file", [to], FILES)
    if not (raters.isascii() and raters.isdecimal() and 1 <= int(raters[:3]) <= MOST_PEOPLE):
        raise UsageError(f"People who rate each output: use a number from 1 to {MOST_PEOPLE}")
    folder = library.path(request.path_params["key"])
    out = unused(library.root, f"{slug(folder.name)}-{to}", jobs)
    typed = ["annotate", "export", f"--to={to}", f"--raters={raters}", f"--out={out}", "--"]
    job = jobs.start([*typed, typed_path(folder, library.root)])
    return RedirectResponse(f"{request.scope['root_path']}/job/{job.key}", 303)


def _kept(private: Path, sent: Sequence[UploadFile]) -> list[Path]:
    """The files that were sent, in a private folder, with harmless names."""
    folder = private / f"answers-{secrets.token_hex(6)}"
    folder.mkdir(mode=0o700)
    paths = []
    for number, upload in enumerate(sent, 1):
        path = folder / f"{number}-{file_name(upload.filename or '')}"
        with path.open("xb") as file:
            shutil.copyfileobj(upload.file, file)
        paths.append(path)
    return paths


ROUTES = [
    Route("/handed-out/{key:path}", handed_out, name="handed_out"),
    Route("/handed-out/{key:path}", take, methods=["POST"]),
    Route("/people/{key:path}", hand_out, methods=["POST"]),
    Route("/form-file/{number:int}/{key:path}", download),
]
