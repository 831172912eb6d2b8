"""The start page: the datasets and runs of the folder, newest first."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from metal.api.folders import NOUNS, Folder
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
    listed = [(key, folder) for key, folder in folders.items() if _matches(key, folder, query)]
    runs = [entry for entry in listed if entry[1].kind != "dataset"]
    number = request.query_params.get("page", "1")
    page = max(int(number), 1) if number.isdecimal() and len(number) < 9 else 1
    seen = {verdict for _, folder in runs for verdict in folder.verdicts or ()}
    content = {
        "folder_name": library.root.resolve().name,
        "query": query,
        "total": len(folders),
        "datasets": [entry for entry in listed if entry[1].kind == "dataset"],
        "runs": runs,
        "page": page,
        "pages": -(-len(runs) // PAGE),
        "first": PAGE * (page - 1),
        "last": PAGE * page,
        "nouns": NOUNS,
        "signs": SIGNS,
        "most": MOST_LANGUAGES,
        "legend": [verdict for verdict in VERDICTS if verdict in seen],
    }
    return respond(request, "start.html", content)


def _matches(key: str, folder: Folder, query: str) -> bool:
    searched = [key, folder.kind, folder.title, folder.answer, folder.state, *folder.judges]
    searched += [*(folder.languages or ()), *map(language_name, folder.languages or ())]
    text = " ".join(searched).casefold()
    return all(word in text for word in query.casefold().split())


ROUTES = [Route("/", start, name="start")]
