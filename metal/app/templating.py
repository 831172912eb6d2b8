"""Pages of the app from templates; all text from people and models is escaped."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse

from metal.data.escaping import environment, source
from metal.data.languages import language_name, text_direction
from metal.data.text import (
    count,
    dollars,
    duration,
    figure,
    isolated,
    name,
    plural,
    printable,
    printable_sentence,
    without_isolates,
)
from metal.show import pages
from metal.show.commands import in_commands
from metal.show.replies import marked_html

LONGEST_MESSAGE = 2_000
BREAKS = re.compile(r"[:/_-](?=\w{2})")  # after these signs, a name goes on in a new line


@cache
def templates(package: str = "metal.app") -> Environment:
    """The template environment of the app, or of another package with pages like its own."""
    own = environment(package, pages.harmless)
    own.filters |= {
        "count": count,
        "name": name,
        "figure": figure,
        "dollars": dollars,
        "duration": duration,
        "plural": plural,
        "printable": printable,
        "language": lambda code: name(language_name(code)),
        "direction": text_direction,
        "zipped": lambda names: [(each, name(each)) for each in names],
        "message": lambda text: isolated(
            in_commands(name(without_isolates(str(text)), LONGEST_MESSAGE), {})
        ),
        "sentence": lambda text: printable_sentence(isolated(str(text))),
        "path": quote,
        "breakable": lambda text: Markup(BREAKS.sub(r"\g<0><wbr>", str(escape(text)))),  # noqa: S704
        "query": urlencode,
        "marked": lambda text, spans: Markup(printable(marked_html(text, spans))),  # noqa: S704
    }
    return own


def respond(
    request: Request, template: str, content: Mapping[str, Any], status: int = 200
) -> HTMLResponse:
    """A page; addresses in it begin with `base`."""
    common = {"root": request.app.state.library.root, **content}
    return HTMLResponse(rendered(template, request.scope["root_path"], common), status)


def rendered(template: str, base: str, content: Mapping[str, Any]) -> str:
    """The HTML of a page; addresses in it begin with `base`.

    `static` in the content says that no server answers: nothing is offered that needs one.
    """
    common = {"base": base, "error": "", "static": False}
    return templates().get_template(template).render({**common, **content})


@cache
def static(file: str) -> str:
    """The style sheet or script of the app's pages. The style sheet contains that of METAL's
    reports and the app's own rules.
    """
    if file == "app.css":
        return pages.stylesheet(("report.css",)) + source(templates(), file)
    return source(templates(), file)
