"""Criterion files that a person gives to the judge wizard; they are kept where `metal judge
--prompt-folders=prompts` finds them.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from urllib.parse import quote, urlencode

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from metal.api.criteria import PROMPTS, check_name
from metal.app.library import Library
from metal.data.files import write_new
from metal.errors import MetalError, UsageError
from metal.raters.judges.rubric import described

ENDING = ".toml"
LARGEST = 2**20  # bytes


async def add(request: Request) -> Response:
    """Keep a criterion file, and show the wizard with its criterion chosen."""
    library: Library = request.app.state.library
    key = request.path_params["key"]
    library.path(key)  # which must be there
    async with request.form(max_files=1, max_fields=5) as form:
        sent = form.get("file")
        if not isinstance(sent, UploadFile) or not sent.filename:
            raise UsageError("Choose the criterion file first")
        file_name, content = sent.filename, await sent.read(LARGEST + 1)
    private = request.app.state.jobs.folder
    name = await run_in_threadpool(keep, file_name, content, library.root, private)
    query = urlencode({"criterion": name})
    return RedirectResponse(f"{request.scope['root_path']}/judge/{quote(key)}?{query}", 303)


def keep(file_name: str, content: bytes, root: Path, private: Path) -> str:
    """Check a criterion file and write it to prompts/criteria below `root`; return the name of the
    criterion, which is the file's.

    private: a folder for the file while it is checked. Raises UsageError for a name that no
    criterion can have or another file has, and for a file that is large or describes no criterion.
    """
    if not file_name.endswith(ENDING):
        raise UsageError(f"{file_name}: a criterion file ends in {ENDING}, such as tone{ENDING}")
    name = file_name.removesuffix(ENDING)
    check_name(name)
    if len(content) > LARGEST:
        raise UsageError(f"{file_name} is larger than 1 MB; shorten its texts")
    trial = private / f"criterion-{secrets.token_hex(4)}"
    write_in_folder(trial / "criteria" / file_name, content)
    try:
        described(name, [trial])
    except MetalError as error:
        raise UsageError(str(error).replace(f"{trial / 'criteria'}/", "")) from None
    file = root / PROMPTS / "criteria" / file_name
    if file.exists() and file.read_bytes() != content:
        raise UsageError(f"{PROMPTS}/criteria/{file_name} exists; give your file another name")
    write_in_folder(file, content)
    return name


def write_in_folder(file: Path, content: bytes) -> None:
    """Write a file, and the folders in which it lies."""
    file.parent.mkdir(parents=True, exist_ok=True)
    write_new(file, content)


ROUTES = [Route("/criterion-file/{key:path}", add, methods=["POST"])]
