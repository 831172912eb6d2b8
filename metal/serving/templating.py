"""Pages of the server from templates; all text from people and models is escaped."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from metal.app.templating import static, templates
from metal.data.escaping import source
from metal.serving.desk import address

PACKAGE = "metal.serving"
TYPES = {"serve.css": "text/css", "serve.js": "text/javascript"}
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src data:;"
    " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def respond(
    request: Request, template: str, content: Mapping[str, Any], status: int = 200
) -> HTMLResponse:
    """A page; addresses in it begin with `base`."""
    common = {"base": address(request, ""), "csrf": ""}
    page = templates(PACKAGE).get_template(template).render({**common, **content})
    return HTMLResponse(page, status, {"Content-Security-Policy": POLICY})


def static_file(request: Request) -> Response:
    """The style sheet or the script."""
    file = request.path_params["file"]
    if file not in TYPES:
        raise HTTPException(404)
    headers = {"Cache-Control": "max-age=60"}
    return Response(_static(file), media_type=f"{TYPES[file]}; charset=utf-8", headers=headers)


@cache
def _static(file: str) -> str:
    own = source(templates(PACKAGE), file)
    return static("app.css") + own if file == "serve.css" else own
