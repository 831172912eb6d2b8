"""The start page: the datasets and runs of the folder, newest first."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from metal.api.folders import Folder
from metal.app.templating import respond
from metal.data.languages import language_name


def start(request: Request) -> Response:
    """List the folders; `q` keeps those that have all its words in their name, judges, languages or
    answer.
    """
    query = request.query_params.get("q", "")
    folders = request.app.state.library.folders()
    rows = {key: folder for key, folder in folders.items() if _matches(key, folder, query)}
    content = {
        "query": query,
        "total": len(folders),
        "datasets": _of(rows, dataset=True),
        "runs": _of(rows, dataset=False),
    }
    return respond(request, "start.html", content)


def _of(rows: Mapping[str, Folder], *, dataset: bool) -> list[tuple[str, Folder]]:
    chosen = [(key, row) for key, row in rows.items() if (row.kind == "dataset") == dataset]
    return sorted(chosen, key=lambda entry: entry[1].date, reverse=True)


def _matches(key: str, folder: Folder, query: str) -> bool:
    searched = [key, folder.kind, folder.answer, *(folder.languages or ())]
    searched += map(language_name, folder.languages or ())
    text = " ".join(searched).casefold()
    return all(word in text for word in query.casefold().split())


ROUTES = [Route("/", start, name="start")]
