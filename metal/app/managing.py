"""Renaming runs and moving them to the bin and back."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from metal.app.jobs import Jobs
from metal.app.library import HERE, Library, NoSuchPage
from metal.app.naming import free_name
from metal.app.templating import respond
from metal.data.run_summary import is_running
from metal.errors import UsageError

BIN = ".bin"  # in the app's folder; `metal ls` lists no hidden folders
LONGEST_NAME = 100
FILES = ("run.toml", "dataset.toml")


def manage(request: Request) -> Response:
    """Offer to rename a folder or to move it to the bin."""
    library: Library = request.app.state.library
    key = request.path_params["key"]
    folder = library.folder(key)
    users = _users(library, key)
    return respond(request, "manage.html", {"key": key, "folder": folder, "users": users})


async def rename(request: Request) -> Response:
    """Give a folder another name in the same place."""
    library: Library = request.app.state.library
    path = _movable(request)
    async with request.form(max_files=0, max_fields=5) as form:
        new = str(form.get("name", "")).strip()
    target = path.with_name(checked_name(new))
    if target.exists():
        raise UsageError(f"{target} is there already; choose another name")
    path.rename(target)
    library.folders()
    return _to(request, f"manage/{quote(library.key(target))}")


def checked_name(name: str) -> str:
    """The name, if it is valid for a folder on every system. Raises UsageError if it is not."""
    harmful = any(
        char in '/\\:*?"<>|' or unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")
        for char in name
    )
    if not name or harmful or name.startswith((".", "-")) or len(name.encode()) > LONGEST_NAME:
        raise UsageError(
            f"{name!r} cannot be the name of a folder; use at most {LONGEST_NAME} letters, digits"
            " and signs, without slashes, and no dot or dash first"
        )
    return name


def to_bin(request: Request) -> Response:
    """Move a folder to the bin."""
    library: Library = request.app.state.library
    key = request.path_params["key"]
    path = _movable(request)
    inside = library.root / BIN
    target = inside / free_name(inside, key)
    target.parent.mkdir(parents=True, exist_ok=True)
    path.rename(target)
    return _to(request, "bin")


def bin_page(request: Request) -> Response:
    """List what is in the bin."""
    library: Library = request.app.state.library
    content = {"binned": sorted(_binned(library)), "folder": library.root.resolve() / BIN}
    return respond(request, "bin.html", content)


def restore(request: Request) -> Response:
    """Move a folder from the bin to where it was."""
    library: Library = request.app.state.library
    key = request.path_params["key"]
    path = _binned(library).get(key)
    if path is None:
        raise NoSuchPage(f"There is no {key!r} in the bin")
    target = library.root / key
    if target.exists():
        raise UsageError(f"{target} is there again; rename it first, then bring {key} back")
    target.parent.mkdir(parents=True, exist_ok=True)
    path.rename(target)
    return _to(request, "")


def _movable(request: Request) -> Path:
    """The path of a folder that can be moved. Raises UsageError if it cannot."""
    library: Library = request.app.state.library
    jobs: Jobs = request.app.state.jobs
    key = request.path_params["key"]
    path = library.path(key)
    if key == HERE or path.is_symlink():
        raise UsageError(
            f"{path} is the opened folder itself, or a link; rename or remove it outside the app"
        )
    if is_running(path):
        raise UsageError(f"A judge is at work on {path}; stop it first, or wait until it has ended")
    job = jobs.at_work_on(path)
    if job is not None:
        raise UsageError(
            f"`{job.command}` is at work with {path}; stop it first, or wait until it has ended"
        )
    return path


def _binned(library: Library) -> dict[str, Path]:
    """The folders in the bin, by the keys that they had."""
    inside = library.root / BIN
    return {
        Path(folder).relative_to(inside).as_posix(): Path(folder)
        for folder, _, files in os.walk(inside)
        if any(file in files for file in FILES)
    }


def _users(library: Library, key: str) -> list[str]:
    """The runs whose run.toml names this folder: they no longer find it if it is moved."""
    path = library.path(key)
    spelled = {str(path), str(path.resolve()), key}
    return [
        other
        for other, folder in library.folders().items()
        if other != key and _names(Path(folder.path) / "run.toml", spelled)
    ]


def _names(file: Path, paths: set[str]) -> bool:
    if not file.is_file():
        return False
    text = file.read_text(encoding="utf-8", errors="replace")
    return any(f'"{path}"' in text for path in paths)


def _to(request: Request, page: str) -> Response:
    return RedirectResponse(f"{request.scope['root_path']}/{page}", 303)


ROUTES = [
    Route("/manage/{key:path}", manage, name="manage"),
    Route("/rename/{key:path}", rename, methods=["POST"]),
    Route("/to-bin/{key:path}", to_bin, methods=["POST"]),
    Route("/bin", bin_page, name="bin"),
    Route("/restore/{key:path}", restore, methods=["POST"]),
]
