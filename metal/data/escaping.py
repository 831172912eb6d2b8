"""Text from anywhere in files that people open: no formulas in a spreadsheet, no markup or scripts in a page."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from jinja2 import Environment

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def guard(table: pd.DataFrame) -> pd.DataFrame:
    """The table with an apostrophe before every text that a spreadsheet would read as a formula.

    Numbers stay as they are; so does text that is a number or only a dash (an undefined figure).
    """
    import pandas as pd

    safe = table.copy(deep=False)
    for place, (_, column) in enumerate(table.items()):
        if not pd.api.types.is_numeric_dtype(column):  # numbers and truth values
            cells = column.astype(object).tolist()
            if any(map(_risky, cells)):
                guarded = [f"'{cell}" if _risky(cell) else cell for cell in cells]
                safe.isetitem(place, pd.array(guarded, dtype=object))
    return safe


def csv_text(table: pd.DataFrame) -> str:
    """The table as CSV with guarded cells: the one way METAL writes a table of figures."""
    return str(guard(table).to_csv(index=False, lineterminator="\n"))


def _risky(value: object) -> bool:
    if not isinstance(value, str) or not value.startswith(FORMULA_STARTS) or value == "-":
        return False
    try:
        float(value)
    except ValueError:
        return True
    return False


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
