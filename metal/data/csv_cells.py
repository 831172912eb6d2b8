"""Table cells that are safe to open: text in a CSV must not become a formula in a spreadsheet."""

from __future__ import annotations

import pandas as pd

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def guard(table: pd.DataFrame) -> pd.DataFrame:
    """The table with an apostrophe before every text that a spreadsheet would read as a formula.

    Numbers stay as they are; so does text that is a number or only a dash (an undefined figure).
    """
    safe = table.copy()
    for name in safe.columns:
        if pd.api.types.is_numeric_dtype(safe[name]) or pd.api.types.is_bool_dtype(safe[name]):
            continue
        column = safe[name].astype(object)
        risky = column.map(_risky)
        safe[name] = column.where(~risky, column.map(lambda text: f"'{text}")) if risky.any() else column
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
