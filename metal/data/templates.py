"""Jinja templates for pages that show text from anywhere."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment


def environment(package: str, finalize: Callable[[Any], Any]) -> Environment:
    """The templates in a package's folder `templates`. Values are escaped, and unknown names are errors.

    finalize: applied to every value before it is escaped and written.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        finalize=finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def source(templates: Environment, file: str) -> str:
    """The text of a file among the templates, as it is."""
    assert templates.loader is not None
    return templates.loader.get_source(templates, file)[0]


def policy(style: str, script: str, *directives: str) -> str:
    """A content security policy that allows this style, this script, and nothing from anywhere else.

    directives: added to those that every page has.
    """
    style, script = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script))
    return "; ".join(
        [
            "default-src 'none'",
            f"style-src 'sha256-{style}'",
            f"script-src 'sha256-{script}'",
            *directives,
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
