"""The start page: the datasets and runs of the folder, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from metal.api.folders import NOUNS, Folder, replaced_in
from metal.app.library import Library
from metal.app.templating import respond
from metal.auditing.verdict import VERDICTS
from metal.data.languages import language_name
from metal.questions.audit.verdicts import SIGNS

PAGE = 50  # runs
MOST_LANGUAGES = 12  # of a run's strip


def start(request: Request) -> Response:
    """List the folders; `q` keeps those that have all its words in their name, judges, languages or
    answer.
    """
    query = request.query_params.get("q", "")
    library = request.app.state.library
    folders = library.folders()
    listed = [
        (key, folder)
        for key, folder in folders.items()
        if all(word in searched(key, folder) for word in query.casefold().split())
    ]
    runs = [entry for entry in listed if entry[1].kind != "dataset"]
    number = request.query_params.get("page", "1")
    page = max(int(number), 1) if number.isdecimal() and len(number) < 9 else 1
    content = {
        **content_of(library, listed),
        "query": query,
        "total": len(folders),
        "page": page,
        "pages": -(-len(runs) // PAGE),
        "first": PAGE * (page - 1),
        "last": PAGE * page,
        "replaced": [library.key(path) for path in replaced_in(library.root)],
        "nameless": library.nameless,
    }
    return respond(request, "start.html", content)


def content_of(library: Library, listed: Sequence[tuple[str, Folder]]) -> dict[str, Any]:
    """What the start page shows of these folders, all on one page."""
    runs = [entry for entry in listed if entry[1].kind != "dataset"]
    seen = {verdict for _, folder in runs for verdict in folder.verdicts or ()}
    return {
        "folder_name": library.root.resolve().name,
        "query": "",
        "total": len(listed),
        "datasets": [entry for entry in listed if entry[1].kind == "dataset"],
        "runs": runs,
        "page": 1,
        "pages": 1,
        "first": 0,
        "last": len(runs),
        "nouns": NOUNS,
        "signs": SIGNS,
        "most": MOST_LANGUAGES,
        "legend": [verdict for verdict in VERDICTS if verdict in seen],
        "searched": searched,
        "replaced": [],
        "nameless": [],
    }


def searched(key: str, folder: Folder) -> str:
    """What a search looks through."""
    parts = [key, folder.kind, folder.title, folder.answer, folder.state, *folder.judges]
    parts += [*(folder.languages or ()), *map(language_name, folder.languages or ())]
    return " ".join(parts).casefold()


ROUTES = [Route("/", start, name="start")]
