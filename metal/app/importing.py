"""The import wizard: choose a file, see how METAL reads it, change that, and make a dataset.

The app does not store a person's choices. They are in the address, as options of `metal.read`.
"""

from __future__ import annotations

import re
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

from metal.app.choices import Options, each_choice, options_in, query_of
from metal.app.chosen import EACH, options_chosen
from metal.app.library import Kept, Library
from metal.app.naming import free_name
from metal.app.table_view import (
    ROLE_NAMES,
    ROLES,
    AsRead,
    TableShown,
    column_wanted,
    columns_of_file,
    failure,
    table_shown,
)
from metal.app.templating import respond
from metal.app.uploads import Upload, Uploads
from metal.app.ways import FILES, MOST_PEOPLE
from metal.data.languages import find_language
from metal.data.records import DIRECTIONS, KINDS
from metal.data.text import HARMFUL, capital
from metal.errors import MetalError, UsageError
from metal.show.commands import in_commands, named, typed_options

MOST_FILES, MOST_FIELDS = 200, 20_000  # of a form
RATERS = 3  # people for an output, unless somebody chooses another number
KEPT = 500_000  # ratings of tables as read; the last table is always kept
ELSEWHERE = ("hf",)  # formats that are read from another place than a file
NAME = re.compile(rf"[^/\\.{HARMFUL}\t\n][^/\\{HARMFUL}\t\n]{{0,99}}")
# What a warning says of the command line, where the page has a field for it.
HOW_ELSEWHERE = re.compile(r"; import with `metal\.read[^`]*`| \(`metal\.read[^`]*`\)")
FLAGS = {
    name: named(name)
    for name in (
        *("columns", "wide", "ignore", "language", "criterion", "generator", "kinds", "groups"),
        *("missing", "directions", "levels", "measures", "ranges", "shifts", "decimal", "sheet"),
        *("format", "word_orders", "only", "weights"),
    )
}


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
    reading = _shown(request, upload, options_in(request.query_params))
    return _page(request, upload, reading, name=request.query_params.get("name", ""))


async def change(request: Request) -> Response:
    """Read the file as chosen on the form. Make the dataset if the person asks for it and changed
    nothing since the reading was shown.
    """
    upload = _uploads(request).get(request.path_params["key"])
    async with request.form(max_files=0, max_fields=MOST_FIELDS) as form:
        return await run_in_threadpool(_change, request, upload, form)


def _change(request: Request, upload: Upload, form: FormData) -> Response:
    reading = _shown(request, upload, options_in(request.query_params))
    base = request.scope["root_path"]
    asked, name = str(form.get("do", "")), str(form.get("name", "")).strip()
    try:
        options, part = options_chosen(form, reading)
        _check(options)
        if asked in ("make", "audit") and not part:
            _make(request, reading, name)
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


def _check(options: Options) -> None:
    """Raise UsageError for an unknown language, or a format that reads no file."""
    if options.get("format") in ELSEWHERE:
        raise UsageError(f"The format {options['format']} is not one of files")
    language = options.get("language", "")
    if language and language != "und" and find_language(language) is None:
        raise UsageError(
            f"The language {language!r} is not known. Write a code such as hi, or a name such as"
            " Hindi"
        )


def _page(
    request: Request, upload: Upload, reading: TableShown, problem: str = "", *, name: str = ""
) -> Response:
    """The page of a table as read. problem: why the request was not carried out."""
    from metal.api.read import formats

    options = reading.read.options
    name = name or _proposed(request, upload)
    error = reading.read.error
    content = {
        "upload": upload,
        "shown": reading,
        "query": query_of(options),
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
        "problem": _worded(problem, upload),
        "failure": _worded(failure(error), upload),
        "wanted": column_wanted(error),
        "each": EACH,
        "notes": [_worded(note, upload) for note in reading.read.notes],
        "warnings": [
            capital(_worded(HOW_ELSEWHERE.sub("", warning), upload))
            for warning in reading.read.warnings
        ],
        "workbook": upload.path.suffix.lower() == ".xlsx",
        "sheet": options.get("sheet", ""),
        "again": request.query_params.get("again") == "1",
    }
    return respond(request, "import_table.html", content, 400 if problem else 200)


def _worded(message: str, upload: Upload) -> str:
    """A message with options as a person types them, and without the private folder."""
    return in_commands(message.replace(f"{upload.path.parent}/", ""), FLAGS)


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


def _shown(request: Request, upload: Upload, options: Options) -> TableShown:
    kept: Kept = request.app.state.tables_read
    key = (upload.key, query_of(options), upload.path.stat().st_mtime_ns)
    reading: TableShown = kept.get(
        key, lambda: table_shown(as_read(upload.path, options)), lambda reading: reading.read.size
    )
    return reading


def as_read(path: Path, options: Options) -> AsRead:
    """Read a file with these options. An error is part of the result, so that it can be shown
    beside the choices that lead to it.
    """
    from metal.api.read import draft_of
    from metal.auditing.check import lint

    reading = {option: value for option, value in options.items() if option != "format"}
    try:
        _check(options)
        draft = draft_of(path, options.get("format", ""), reading)
        dataset = draft.assemble(path)
    except MetalError as error:
        columns = columns_of_file(path, options.get("sheet", ""))
        return AsRead(path, options, columns=columns, error=error)
    warnings = [finding.message for finding in lint(dataset)]
    return AsRead(path, options, dataset, draft.columns, None, warnings, draft.notes)


def _proposed(request: Request, upload: Upload) -> str:
    """The name to propose for the dataset."""
    library: Library = request.app.state.library
    return free_name(library.root / "datasets", upload.name)


def _make(request: Request, reading: TableShown, name: str) -> None:
    """Write the dataset. Raises UsageError for a name that is taken, or is none."""
    library: Library = request.app.state.library
    dataset = reading.read.dataset
    if dataset is None:
        raise UsageError("The file is not read yet: see what is missing")
    if not NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be the name of a folder. Write up to 100 letters, without / and \\,"
            " that do not begin with a point"
        )
    if (library.root / "datasets" / name).exists():
        raise UsageError(f"datasets/{name} exists. Choose another name")
    dataset.save(library.root / "datasets" / name)


# ---------------------------------------------------------------- a dataset that was made


def imported(request: Request) -> Response:
    """Show a dataset that was just made, and what comes next."""
    library: Library = request.app.state.library
    key = request.path_params["key"]
    folder = library.folder(key)
    kinds = folder.raters or {}
    content = {
        "key": key,
        "folder": folder,
        "path": library.path(key),
        "people": kinds.get("human", 0),
        "judges": kinds.get("llm", 0) + kinds.get("baseline", 0),
        "raters": RATERS,
        "most_people": MOST_PEOPLE,
        "forms": FILES,
    }
    return respond(request, "imported.html", content)


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
    Route("/imported/{key:path}", imported),
    Route("/audit/{key:path}", audit, methods=["POST"]),
]
