"""What METAL's pages are made with: templates that escape, one style, one script, and a policy that knows both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from metal.data.templates import environment, policy, source
from metal.data.text import count, name, printable_sentence
from metal.show import svg
from metal.show.packing import Packed
from metal.show.view import Chart

PAGE_BYTES = 1_450_000


def document(
    template: str, content: Mapping[str, Any], *, styles: Sequence[str], scripts: Sequence[str]
) -> Callable[[Packed], str]:
    """A page but for what its script unpacks: nothing is loaded from outside, only its own style and script run."""
    own_templates = templates()
    style = _colours() + svg.STYLE + "".join(source(own_templates, file) for file in styles)
    script = "".join(source(own_templates, file) for file in scripts)
    rules = policy(style, script, "img-src data:")
    own = {"style": Markup(style), "script": Markup(script), "policy": rules, "inline": _inline}  # noqa: S704
    page = own_templates.get_template(template)
    return lambda packed: page.render({**content, **own, "packed": packed})


@cache
def templates() -> Environment:
    """One for all pages: it keeps the templates it has compiled."""
    made = environment("metal.show", _harmless)
    made.filters |= {"count": count, "name": name}
    return made


def _harmless(value: Any) -> Any:
    """Whatever a template writes, without characters that a page must not hold."""
    if isinstance(value, Markup):
        return Markup(printable_sentence(value))  # noqa: S704  it was markup before
    return printable_sentence(value) if isinstance(value, str) else value


def _inline(chart: Chart) -> Markup:
    return Markup(chart.svg)  # noqa: S704  metal.show.svg escapes what it is given


def _colours() -> str:
    """The palette as variables, light unless the reader's system is dark; paper is always light."""

    def block(scheme: str) -> str:
        return ":root{" + "".join(f"--{key}:{value};" for key, value in svg.PALETTE[scheme].items()) + "}"

    return f"{block('light')}@media screen and (prefers-color-scheme:dark){{{block('dark')}}}"
