"""Make text from others safe in files that people open: no formula runs in a spreadsheet, no markup
or script in a page.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from metal.data.files import whole_text

if TYPE_CHECKING:
    import pandas as pd
    from jinja2 import Environment

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
_SIGNS = r"=+\-@\uff1d\uff0b\uff0d\uff20"  # also in the width of Chinese letters
# Where a spreadsheet may begin a cell: at the start of a text, and inside it where its own
# separator is another one.
_STARTS = rf"(?:^(?='*[{_SIGNS}\t\r])|(?<=[\r\n;\t])(?='*[{_SIGNS}]))"
_UNGUARDED = re.compile(_STARTS)
_GUARDED = re.compile(_STARTS + "'")
FORMULAS = re.compile(rf"^[{_SIGNS}\t\r]+|(?<=[\r\n;\t])[{_SIGNS}]+")  # what begins one
_QUOTED = re.compile(r"[\x00-\x1f\x7f\",]")
_HALF = re.compile("[\ud800-\udfff]")
_SPECIAL = re.compile(rf"^['{_SIGNS}]|[\x00-\x1f\x7f\ud800-\udfff\",;]")


def guarded(text: str) -> str:
    """The text with an apostrophe wherever a spreadsheet could begin a formula, so that no formula
    runs.

    These places are before = + - @ at the start of the text or after a line break, a tab or a
    semicolon, and before a tab or carriage return at its start. Numbers, and a dash alone (an
    undefined figure), stay as they are.

    >>> guarded("=1+1"), guarded("a\\n-b"), guarded("-1.5")
    ("'=1+1", "a\\n'-b", '-1.5')
    """
    if not _UNGUARDED.search(text) or text == "-" or _is_number(text):
        return text
    return _UNGUARDED.sub("'", text)


def unguarded(text: str) -> str:
    """The text before `guarded`: the apostrophes that it added are removed.

    >>> unguarded("'=1+1"), unguarded("''=1+1"), unguarded("'quoted'")
    ('=1+1', "'=1+1", "'quoted'")
    """
    return _GUARDED.sub("", text)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def csv_text(
    table: pd.DataFrame, *, header: bool = True, ends: str = "\n", guard: bool = True
) -> str:
    """The table as CSV; METAL writes all CSV in this way.

    ends: the characters that end a line. guard: whether cells are guarded.

    Every text can be read back exactly as it was written, whatever it contains: fields with line
    breaks, quotes and control characters are quoted, and pandas
    (`dtype=str, keep_default_na=False`), polars, Python's csv and METAL read them correctly. Other
    programs see a guarded text with its apostrophes; METAL removes them again when it reads what
    `metal.export` wrote (`unguarded`). Half of a surrogate pair, which no UTF-8 file can hold,
    becomes U+FFFD; a missing value is an empty cell.
    """
    columns = [_cells(column, guard) for _, column in table.items()]
    names = [_cell(str(name), guard) for name in table.columns]
    lone = len(names) == 1  # an empty line is no row
    rows: Iterable[Sequence[str]] = zip(*columns, strict=True)
    if header:
        rows = chain([names], rows)
    lines = [",".join(row) or '""' * lone for row in rows]
    return "".join(line + ends for line in lines)


def _cells(column: pd.Series, guard: bool) -> list[str]:
    """The cells of a column; numbers are written as pandas writes them."""
    import numpy as np
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        spelled = np.array([*_cells(pd.Series(column.cat.categories), guard), ""], dtype=object)
        cells: list[str] = spelled[column.cat.codes.to_numpy()].tolist()
        return cells
    missing = column.isna().to_numpy()
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "fiub":
        # Python would give it more digits
        narrow = column.dtype.kind == "f" and column.dtype.itemsize < 8
        texts = list(map(str, column.to_numpy().astype(str) if narrow else column.tolist()))
    else:
        texts = _spelled(list(map(str, column.tolist())), guard)
    for row in np.flatnonzero(missing):
        texts[row] = ""
    return texts


def _spelled(texts: list[str], guard: bool) -> list[str]:
    """The texts as cells. Each distinct text is processed only once, and none if no text needs
    quotes or a guard.
    """
    different = set(texts)
    ends = {end for text in different for end in (text[:1], text[-1:])}
    if not (
        _SPECIAL.search("".join(different))
        or any(end.isspace() or _SPECIAL.match(end) for end in ends)
    ):
        return texts
    cells = {text: _cell(text, guard) for text in different}
    return [cells[text] for text in texts]


def _cell(text: str, guard: bool) -> str:
    blank_ends = text[:1].isspace() or text[-1:].isspace()  # a line of blanks is no row
    if not (blank_ends or _SPECIAL.search(text)):
        return text
    if _HALF.search(text):
        text = whole_text(text)
    if guard:
        text = guarded(text)
    return '"' + text.replace('"', '""') + '"' if blank_ends or _QUOTED.search(text) else text


def environment(package: str, finalize: Callable[[Any], Any]) -> Environment:
    """The template environment of a package's folder `templates`. It escapes values, and treats
    unknown names as errors.

    All templates are read now, so that those of a later version never meet the code of this one.

    finalize: a function applied to every value before it is escaped and written.
    """
    from jinja2 import DictLoader, Environment, PackageLoader, StrictUndefined

    files = PackageLoader(package)
    around = Environment(autoescape=True)  # of which the loader needs nothing
    texts = {file: files.get_source(around, file)[0] for file in files.list_templates()}
    return Environment(
        loader=DictLoader(texts),
        autoescape=True,
        finalize=finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def source(templates: Environment, file: str) -> str:
    """The unchanged text of a file among the templates."""
    assert templates.loader is not None
    return templates.loader.get_source(templates, file)[0]


def policy(style: str, script: str, *directives: str) -> str:
    """A content security policy that allows this style, this script, and nothing from anywhere
    else.

    directives: further directives; one of a kind that every page has takes its place.
    """
    own = {directive.split()[0] for directive in directives}
    usual = ("base-uri 'none'", "form-action 'none'")
    style, script = (
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for text in (style, script)
    )
    return "; ".join(
        [
            "default-src 'none'",
            f"style-src 'sha256-{style}'",
            f"script-src 'sha256-{script}'",
            *directives,
            *(directive for directive in usual if directive.split()[0] not in own),
        ]
    )
