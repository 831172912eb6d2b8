"""The page of a dataset, and the one that comes when it has just been made."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from metal.api.folders import NOUNS
from metal.app.library import Library
from metal.app.templating import respond
from metal.app.ways import FILES, MOST_PEOPLE

RATERS = 3  # people for an output, unless somebody chooses another number


def dataset_page(request: Request) -> Response:
    """Show what a dataset holds, and what comes next."""
    return respond(request, "dataset.html", _content_of(request))


def imported(request: Request) -> Response:
    """Show a dataset that was just made, and what comes next."""
    return respond(request, "imported.html", _content_of(request))


def _content_of(request: Request) -> dict[str, Any]:
    library: Library = request.app.state.library
    key = request.path_params["key"]
    folder = library.folder(key)
    kinds = folder.raters or {}
    return {
        "key": key,
        "folder": folder,
        "path": library.path(key),
        "nouns": NOUNS,
        "people": kinds.get("human", 0),
        "judges": kinds.get("llm", 0) + kinds.get("baseline", 0),
        "raters": RATERS,
        "most_people": MOST_PEOPLE,
        "forms": FILES,
    }


ROUTES = [
    Route("/dataset/{key:path}", dataset_page, name="dataset"),
    Route("/imported/{key:path}", imported),
]
