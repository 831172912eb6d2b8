"""The result that every analysis returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd


@dataclass(frozen=True)
class Analysed:
    """Tables by name, and warnings to read before using them."""

    tables: Mapping[str, pd.DataFrame]
    warnings: tuple[str, ...]
