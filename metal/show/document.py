"""What METAL's pages are made with: templates that escape, one style, one script, and a policy that knows both."""

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
from metal.show.packing import Packed
from metal.show.view import Chart

PAGE_BYTES = 1_450_000


def document(
    template: str, content: Mapping[str, Any], *, styles: Sequence[str], scripts: Sequence[str]
) -> Callable[[Packed], str]:
    """A page but for what its script unpacks: nothing is loaded from outside, only its own style and script run."""
    environment = templates()
    style = _colours() + svg.STYLE + "".join(_file(environment, file) for file in styles)
    script = "".join(_file(environment, file) for file in scripts)
    own = {"style": Markup(style), "script": Markup(script), "policy": _policy(style, script), "inline": _inline}  # noqa: S704
    found = environment.get_template(template)
    return lambda packed: found.render({**content, **own, "packed": packed})


@cache
def templates() -> Environment:
    """One for all pages: it keeps the templates it has compiled."""
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
    """Whatever a template writes, without characters that a page must not hold."""
    if isinstance(value, Markup):
        return Markup(printable_sentence(value))  # noqa: S704  it was markup before
    return printable_sentence(value) if isinstance(value, str) else value


def _inline(chart: Chart) -> Markup:
    return Markup(chart.svg)  # noqa: S704  metal.show.svg escapes what it is given


def _file(environment: Environment, file: str) -> str:
    assert environment.loader is not None
    return environment.loader.get_source(environment, file)[0]


def _colours() -> str:
    """The palette as variables, light unless the reader's system is dark; paper is always light."""

    def block(scheme: str) -> str:
        return ":root{" + "".join(f"--{key}:{value};" for key, value in svg.PALETTE[scheme].items()) + "}"

    return f"{block('light')}@media screen and (prefers-color-scheme:dark){{{block('dark')}}}"


def _policy(style: str, script: str) -> str:
    """Content security policy: this style and this script, and nothing from anywhere else."""

    def hashed(text: str) -> str:
        return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"

    return (
        f"default-src 'none'; style-src {hashed(style)}; script-src {hashed(script)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
