"""Going on from a cell of an audit: its page, and a page for each next step, which shows its
command and can run it.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from metal.api.answer_table import typical
from metal.app.cells import NAMES, OpenedCell, audit_of, cell_of, choices_of
from metal.app.library import Library, NoSuchPage
from metal.app.outputs import level_of
from metal.app.templating import respond
from metal.app.ways import WAYS, Way, dataset_of, model_of
from metal.data.text import known, percent

MOST_FIELDS = 20
NEEDS_DATASET = "hand-out"
TRIAL = "trial"
WIZARD = "/judge/{key:path}"


def on(request: Request) -> Response:
    """Show a cell and its next steps, or one step with its command."""
    asked = request.query_params
    cell = cell_of(request, asked)
    if cell is None:
        return _choose(request, asked)
    if "way" in asked:
        return _way_page(request, cell, _way(cell, asked), asked)
    return _cell_page(request, cell)


async def start(request: Request) -> Response:
    """Start the command of a way."""
    async with request.form(max_files=0, max_fields=MOST_FIELDS) as form:
        asked = {name: value for name, value in form.items() if isinstance(value, str)}
    cell = cell_of(request, asked)
    if cell is None:
        raise NoSuchPage("The audit has no such verdict any more")
    way = _way(cell, asked)
    closed = way.why_closed(cell)
    if closed:
        raise NoSuchPage(closed)
    typed = way.arguments(cell, way.values(cell, request.app.state.library, asked))
    if asked.get("do") == TRIAL and way.trial[0]:
        typed.insert(typed.index("--"), way.trial[0])
    job = request.app.state.jobs.start(typed)
    return RedirectResponse(f"{request.scope['root_path']}/job/{job.key}", 303)


def _way(cell: OpenedCell, asked: Mapping[str, str]) -> Way:
    """The step that is asked for. If people are to rate and there is no dataset yet, the step that
    makes one.

    Raises NoSuchPage.
    """
    key = asked.get("way", "")
    if key not in WAYS:
        raise NoSuchPage(f"There is no next step {key!r}; there are {', '.join(WAYS)}")
    way = WAYS[key]
    if key == NEEDS_DATASET and not way.why_closed(cell) and not dataset_of(cell):
        return WAYS["keep"]
    return way


def _choose(request: Request, asked: Mapping[str, str]) -> Response:
    """Ask for a judge, a criterion and a language that have a verdict."""
    key, run = audit_of(request)
    content = {
        "key": key,
        "way": WAYS.get(asked.get("way", "")),
        "choices": choices_of(run),
        "asked": {part: asked.get(part, "") for part in NAMES},
        "missing": all(asked.get(part) for part in NAMES),
    }
    return respond(request, "on_choose.html", content)


def _cell_page(request: Request, cell: OpenedCell) -> Response:
    advice, first = cell.settles
    criterion = cell.run.criteria[cell.criterion]
    ways = [(way, way.why_closed(cell)) for way in WAYS.values() if way.listed]
    content = {
        "key": cell.key,
        "cell": cell,
        "asked": cell.query,
        "choices": choices_of(cell.run),
        "settles": advice,
        "first": first,
        "ways": ways,
        "rows": typical(cell.differing, cell.run.criteria).to_dict("records"),
        "total": len(cell.differing),
        "level": lambda score: level_of(criterion, score) if known(score) else "",
        "share": percent,
    }
    return respond(request, "on.html", content)


def _way_page(request: Request, cell: OpenedCell, way: Way, asked: Mapping[str, str]) -> Response:
    library: Library = request.app.state.library
    closed = way.why_closed(cell)
    fields = [] if closed else way.fields(cell, library)
    values = {field.name: field.value(asked) for field in fields}
    typed = [] if closed else ["metal", *way.arguments(cell, values)]
    content = {
        "key": cell.key,
        "cell": cell,
        "way": way,
        "closed": closed,
        "fields": fields,
        "values": values,
        "words": list(map(shlex.quote, typed)),
        "command": shlex.join(typed),
        "total": len(cell.differing),
        "instead": way.key == NEEDS_DATASET and not WAYS["adjudicate"].why_closed(cell),
        "wizard": _wizard(request, cell, way, values),
    }
    return respond(request, "on_way.html", content)


def _wizard(request: Request, cell: OpenedCell, way: Way, values: Mapping[str, str]) -> str:
    """The address of the page on which a judge is set up, with what was chosen here; empty if there
    is none.
    """
    library: Library = request.app.state.library
    paths = [str(getattr(route, "path", "")) for route in request.app.routes]
    if way.key != "ask" or not values or WIZARD not in paths:
        return ""
    key = library.key(cell.root / cell.paths[0])
    if key not in library.folders():
        return ""
    query = {**cell.query, **values, "judge": model_of(cell)}
    return f"{request.scope['root_path']}/judge/{quote(key)}?{urlencode(query)}"


ROUTES = [
    Route("/on/{key:path}", on, name="on"),
    Route("/on/{key:path}", start, methods=["POST"]),
]
