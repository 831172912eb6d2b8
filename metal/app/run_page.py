"""The page of a run, as `metal report` writes it, with the way on to its answers."""

from __future__ import annotations

from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from metal.api.folders import DAMAGED
from metal.app.drawing import drawn
from metal.app.guard import IN_NOTEBOOKS
from metal.app.library import Library
from metal.app.live import FOLLOWED, has_ended
from metal.app.ways import COMMANDS
from metal.data.holdings import FILLED_IN
from metal.errors import UsageError
from metal.runs.kinds import is_kind
from metal.show.pages import Links

# The page brings its own policy for its own style and script.
OWN_POLICY = {"Content-Security-Policy": f"{IN_NOTEBOOKS}; base-uri 'none'"}


def run_page(request: Request) -> Response:
    """Show a run; one without a page of its own leads to its answers."""
    library: Library = request.app.state.library
    key, base = request.path_params["key"], request.scope["root_path"]
    folder = library.path(key)
    if library.folder(key).state == DAMAGED and library.folders()[key].state == DAMAGED:
        raise UsageError(f"{folder} {library.folder(key).answer}")
    kind, path = library.folder(key).kind, quote(key)
    if kind == "dataset":
        return RedirectResponse(f"{base}/dataset/{path}", 303)
    if kind in FOLLOWED and not has_ended(folder):
        return RedirectResponse(f"{base}/live/{path}", 303)
    if kind in FILLED_IN:
        return RedirectResponse(f"{base}/handed-out/{path}", 303)
    if not is_kind(kind):
        return RedirectResponse(f"{base}/answers/{path}", 303)
    titles = {"All datasets and runs": f"{base}/", "About this run": f"{base}/about/{path}"}
    links = Links(titles)
    if kind == "audit":
        titles["Answers"] = f"{base}/answers/{path}"
        links = Links(titles, f"{base}/output/{path}", f"{base}/on/{path}", COMMANDS)
    return HTMLResponse(drawn(library, folder, links), headers=OWN_POLICY)


ROUTES = [Route("/run/{key:path}", run_page, name="run")]
