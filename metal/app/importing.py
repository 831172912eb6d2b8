"""The import wizard: choose a file, see how METAL reads it, change that, and make a dataset.

The app does not store a person's choices. They are in the address, as options of `metal.read`.
"""

from __future__ import annotations

import json
import re
import secrets
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from metal.app import aside
from metal.app.choices import (
    ELSEWHERE,
    check_options,
    each_choice,
    options_in,
    query_of,
    worded,
)
from metal.app.chosen import EACH, options_chosen
from metal.app.jobs import Jobs
from metal.app.library import Kept, Library
from metal.app.naming import free_name
from metal.app.reading import AsRead, as_read
from metal.app.table_view import (
    ROLE_NAMES,
    ROLES,
    TableShown,
    column_wanted,
    failure,
    table_shown,
)
from metal.app.templating import respond
from metal.app.uploads import Upload, Uploads
from metal.data.records import DIRECTIONS, KINDS
from metal.data.text import HARMFUL, capital
from metal.errors import MetalError, UsageError
from metal.show.commands import typed_options

MOST_FILES, MOST_FIELDS = 200, 20_000  # of a form
WHOLE = "whole"  # in an address: all rows of a large table are read
KEPT = 500_000  # ratings of tables as read; the last table is always kept
NAME = re.compile(rf"[^/\\.{HARMFUL}\t\n][^/\\{HARMFUL}\t\n]{{0,99}}")
# What a warning says of the command line, where the page has a field for it.
HOW_ELSEWHERE = re.compile(r"; import with `metal\.read[^`]*`| \(`metal\.read[^`]*`\)")


def choose(request: Request) -> Response:
    """Ask for a file."""
    return respond(request, "import.html", {"tables": _uploads(request).tables()})


async def take(request: Request) -> Response:
    """Keep the sent files, or take a table of the app's folder, and show how it is read."""
    uploads = _uploads(request)
    async with request.form(max_files=MOST_FILES, max_fields=MOST_FIELDS) as form:
        sent = [
            (each.filename, each.file)
            for each in form.getlist("file")
            if isinstance(each, UploadFile) and each.filename
        ]
        table = form.get("table")
        if sent:
            upload = await run_in_threadpool(uploads.take, sent)
        elif isinstance(table, str):
            upload = await run_in_threadpool(uploads.open, table)
        else:
            raise UsageError("No file was chosen. Go back, choose one, and read it again")
    return RedirectResponse(f"{request.scope['root_path']}/import/{upload.key}", 303)


def table(request: Request) -> Response:
    """Show how a file is read with the options in the address."""
    upload = _uploads(request).get(request.path_params["key"])
    reading = _shown(request, upload)
    return _page(request, upload, reading, name=request.query_params.get("name", ""))


async def change(request: Request) -> Response:
    """Read the file as chosen on the form. Make the dataset if the person asks for it and changed
    nothing since the reading was shown.
    """
    upload = _uploads(request).get(request.path_params["key"])
    async with request.form(max_files=0, max_fields=MOST_FIELDS) as form:
        return await run_in_threadpool(_change, request, upload, form)


def _change(request: Request, upload: Upload, form: FormData) -> Response:
    reading = _shown(request, upload)
    base = request.scope["root_path"]
    asked, name = str(form.get("do", "")), str(form.get("name", "")).strip()
    try:
        options, part = options_chosen(form, reading)
        check_options(options)
        if asked in ("make", "audit") and not part:
            _check_name(request, reading, name)
            if reading.read.dataset is None or reading.read.total:
                return _make_aside(request, upload, reading, name, with_audit=asked == "audit")
            reading.read.dataset.save(_root(request) / "datasets" / name)
    except MetalError as error:
        return _page(request, upload, reading, str(error), name=name)
    if not asked or part:
        more = {"again": "1"} if asked else {}
        if name and name != _proposed(request, upload):
            more["name"] = name
        query = "&".join(filter(None, [query_of(options), urlencode(more)]))
        anchor = "" if asked else f"#{part}"
        return RedirectResponse(f"{base}/import/{upload.key}?{query}{anchor}", 303)
    if asked == "audit":
        return _audit(request, f"datasets/{name}")
    return RedirectResponse(f"{base}/imported/datasets/{quote(name)}", 303)


def _page(
    request: Request, upload: Upload, reading: TableShown, problem: str = "", *, name: str = ""
) -> Response:
    """The page of a table as read. problem: why the request was not carried out."""
    from metal.api.read import formats

    options, of_all = reading.read.options, reading.read.whole
    name = name or _proposed(request, upload)
    error, folder = reading.read.error, upload.path.parent
    content = {
        "upload": upload,
        "shown": reading,
        "query": "&".join(filter(None, [query_of(options), f"{WHOLE}=1" if of_all else ""])),
        "query_of_all": "&".join(filter(None, [query_of(options), f"{WHOLE}=1"])),
        "roles": ROLES,
        "role_names": ROLE_NAMES,
        "kinds": KINDS,
        "directions": DIRECTIONS,
        "formats": [name for name in formats() if name not in ELSEWHERE],
        "choices": [(text, query_of(rest)) for text, rest in each_choice(options)],
        "decimal": options.get("decimal", ""),
        "format": options.get("format", ""),
        "name_of_dataset": name,
        "command": command(upload, options, name),
        "problem": worded(problem, folder),
        "failure": worded(failure(error), folder),
        "wanted": column_wanted(error),
        "each": EACH,
        "notes": [worded(note, folder) for note in reading.read.notes],
        "warnings": [
            capital(worded(HOW_ELSEWHERE.sub("", warning), folder))
            for warning in reading.read.warnings
        ],
        "workbook": upload.path.suffix.lower() == ".xlsx",
        "sheet": options.get("sheet", ""),
        "again": request.query_params.get("again") == "1",
    }
    return respond(request, "import_table.html", content, 400 if problem else 200)


def command(upload: Upload, options: Mapping[str, Any], name: str) -> str:
    """The command that makes the same dataset."""
    reading = {option: value for option, value in options.items() if option != "format"}
    format = [options["format"]] if "format" in options else []
    out = ["--out", f"datasets/{name}"]
    return shlex.join(["metal", "import", *format, upload.typed, *typed_options(reading), *out])


# ---------------------------------------------------------------- reading and writing


def _uploads(request: Request) -> Uploads:
    uploads: Uploads = request.app.state.uploads
    return uploads


def _shown(request: Request, upload: Upload) -> TableShown:
    """How a file is read with the options in the address.

    Of a large table, some rows are read; with `whole` in the address, all are.
    """
    kept: Kept = request.app.state.tables_read
    options = options_in(request.query_params)
    of_all = request.query_params.get(WHOLE) == "1"
    changed = upload.path.stat().st_mtime_ns

    def read() -> TableShown:
        try:
            rows = kept.get(
                (upload.key, changed, options.get("format"), options.get("sheet")),
                lambda: aside.rows_of(upload.path, options),
                lambda rows: len(rows.frame) if rows else 1,
            )
            if rows and of_all:
                return aside.read_whole(upload.path, options)
        except MetalError as error:
            return table_shown(AsRead(upload.path, options, error=error))
        return table_shown(as_read(upload.path, options, rows))

    key = (upload.key, changed, query_of(options), of_all)
    return kept.get(key, read, lambda reading: reading.read.size)


def _proposed(request: Request, upload: Upload) -> str:
    """The name to propose for the dataset."""
    library: Library = request.app.state.library
    return free_name(library.root / "datasets", upload.name)


def _root(request: Request) -> Path:
    library: Library = request.app.state.library
    return library.root


def _check_name(request: Request, reading: TableShown, name: str) -> None:
    """Raise UsageError if there is nothing to write, or the name is taken or cannot be one."""
    if not reading.read.done:
        raise UsageError("The file is not read yet: see what is missing")
    if not NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be the name of a folder. Write up to 100 letters, without / and \\,"
            " that do not begin with a point"
        )
    if (_root(request) / "datasets" / name).exists():
        raise UsageError(f"datasets/{name} exists. Choose another name")


def _make_aside(
    request: Request, upload: Upload, reading: TableShown, name: str, *, with_audit: bool
) -> Response:
    """Start the job that reads all rows of a large table and writes the dataset."""
    jobs: Jobs = request.app.state.jobs
    dataset, typed = f"datasets/{name}", command(upload, reading.read.options, name)
    audit = f"runs/{free_name(_root(request) / 'runs', name)}" if with_audit else ""
    if audit:
        typed += f" && {shlex.join(['metal', 'audit', dataset, '--out', audit])}"
    task = aside.task_of(upload.path, reading, dataset, audit)
    file = jobs.folder / f"{secrets.token_hex(6)}.json"
    file.write_text(json.dumps(task), encoding="utf-8")
    job = jobs.start(
        [f"--out={audit or dataset}", f"--dataset={dataset}", str(file)],
        program="metal.app.aside",
        typed=typed,
        before=f"import/{upload.key}?{request.url.query}",
    )
    return RedirectResponse(f"{request.scope['root_path']}/job/{job.key}", 303)


# ---------------------------------------------------------------- an audit of a dataset


def audit(request: Request) -> Response:
    """Start an audit of a dataset."""
    return _audit(request, request.path_params["key"])


def _audit(request: Request, key: str) -> Response:
    library: Library = request.app.state.library
    library.path(key)  # only of folders that are listed
    run = free_name(library.root / "runs", Path(key).name)
    job = request.app.state.jobs.start(["audit", f"--out=runs/{run}", "--", key])
    return RedirectResponse(f"{request.scope['root_path']}/job/{job.key}", 303)


ROUTES = [
    Route("/import", choose, name="import"),
    Route("/import", take, methods=["POST"]),
    Route("/import/{key}", table),
    Route("/import/{key}", change, methods=["POST"]),
    Route("/audit/{key:path}", audit, methods=["POST"]),
]
