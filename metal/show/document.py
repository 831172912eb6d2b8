"""What METAL's pages are made with: templates that escape, a style, a script, and a policy that allows only these."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from metal.data.text import count, name, printable_sentence
from metal.show import svg
from metal.show.packing import Payload
from metal.show.view import Chart

PAGE_BYTES = 1_450_000


def document(
    template: str, content: Mapping[str, Any], *, styles: Sequence[str], scripts: Sequence[str]
) -> Callable[[Payload], str]:
    """A page that lacks only what its script unpacks. It loads nothing and runs its own script only."""
    environment = templates()
    assert environment.loader is not None
    light, dark = (_colours(place) for place in (0, 1))
    style = f"{light}@media screen and (prefers-color-scheme:dark){{{dark}}}{svg.STYLE}"  # paper is always light
    style += "".join(environment.loader.get_source(environment, file)[0] for file in styles)
    script = "".join(environment.loader.get_source(environment, file)[0] for file in scripts)
    own = {"style": Markup(style), "script": Markup(script), "policy": _policy(style, script), "inline": _inline}  # noqa: S704
    written = environment.get_template(template)
    return lambda packed: written.render({**content, **own, "packed": packed})


@cache
def templates() -> Environment:
    """The environment of all pages, which keeps the templates it has compiled."""
    environment = Environment(
        loader=PackageLoader("metal.show"),
        autoescape=True,
        finalize=_harmless,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"count": count, "name": name}
    return environment


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


def _policy(style: str, script: str) -> str:
    """Content security policy: this style and this script, and nothing from anywhere else."""

    def hashed(text: str) -> str:
        return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"

    return (
        f"default-src 'none'; style-src {hashed(style)}; script-src {hashed(script)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
