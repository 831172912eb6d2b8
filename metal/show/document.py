"""What METAL's pages are made with: templates that escape, a style, a script, and a policy that allows only these."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from metal.data.escaping import environment, policy, source
from metal.data.text import count, name, printable_sentence
from metal.show import svg
from metal.show.packing import Payload
from metal.show.view import Chart

PAGE_BYTES = 1_450_000
PAYLOAD = "<!--payload-->"  # where the template has it; text on a page is escaped and cannot contain it


def document(
    template: str, content: Mapping[str, Any], *, styles: Sequence[str], scripts: Sequence[str]
) -> Callable[[Payload], str]:
    """A page that lacks only what its script unpacks. It loads nothing and runs its own script only."""
    own_templates = templates()
    light, dark = (_colours(place) for place in (0, 1))
    style = f"{light}@media screen and (prefers-color-scheme:dark){{{dark}}}{svg.STYLE}"  # paper is always light
    style += "".join(source(own_templates, file) for file in styles)
    script = "".join(source(own_templates, file) for file in scripts)
    rules = policy(style, script, "img-src data:")
    own = {"style": Markup(style), "script": Markup(script), "policy": rules, "inline": _inline}  # noqa: S704
    written = own_templates.get_template(template)
    around = cache(lambda empty: written.render({**content, **own, "packed": empty}).split(PAYLOAD))
    return lambda packed: packed.blob.join(around(replace(packed, blob="")))


@cache
def templates() -> Environment:
    """The environment of all pages, which keeps the templates it has compiled."""
    page_environment = environment("metal.show", _harmless)
    page_environment.filters |= {"count": count, "name": name}
    return page_environment


def _harmless(value: Any) -> Any:
    """A value of a template, without characters that a page must not hold."""
    if isinstance(value, Markup):
        return Markup(printable_sentence(value))  # noqa: S704  it was markup before
    return printable_sentence(value) if isinstance(value, str) else value


def _inline(chart: Chart) -> Markup:
    return Markup(chart.svg)  # noqa: S704  metal.show.svg escapes what it is given


def _colours(place: int) -> str:
    """The colours as variables."""
    return ":root{" + "".join(f"--{key}:{values[place]};" for key, values in svg.COLOURS.items()) + "}"
