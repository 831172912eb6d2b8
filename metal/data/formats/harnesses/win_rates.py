"""AlpacaEval's win rates: the mean preference for a model's outputs over those of the baseline."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from metal.data.formats.harnesses.values import is_number
from metal.data.people import WIN_RATES
from metal.data.text import plural

DRAWS = (0, 1.5)  # 0 in older files
MOST_SHOWN = 20  # models in the note


def win_of(preference: Any) -> float:
    """The win of the second output, from 0 to 1; half for a draw, NaN for no preference.

    >>> win_of(1.25), win_of(2), win_of(0), win_of(None)
    (0.25, 1.0, 0.5, nan)
    """
    number = float(preference) if is_number(preference) else math.nan
    if number in DRAWS:
        return 0.5
    return number - 1 if 1 <= number <= 2 else math.nan


@dataclass
class WinRates:
    """The wins of each model: (annotator, baseline, model) -> a win for each annotation. People are
    one annotator, "people".
    """

    wins: dict[tuple[str, str, str], list[float]] = field(default_factory=lambda: defaultdict(list))

    def add(self, annotator: str, baseline: Any, model: Any, preference: Any) -> None:
        """Add an annotation; without a preference or the names of two models, it does not count."""
        win = win_of(preference)
        if baseline and model and baseline != model and not math.isnan(win):
            self.wins[annotator, str(baseline), str(model)].append(win)

    def note(self) -> str:
        """A note with the win rates, the highest first; empty if there are none."""
        listed = list(self._listed())
        more = "; ..." if len(listed) > MOST_SHOWN else ""
        highest = "; ".join(listed[:MOST_SHOWN])
        return f"{WIN_RATES}{highest}{more}" if listed else ""

    def _listed(self) -> Iterator[str]:
        several = len({annotator for annotator, _, _ in self.wins}) > 1
        ranked = sorted(self.wins.items(), key=lambda item: -float(np.mean(item[1])))
        for (annotator, baseline, model), wins in ranked:
            count = plural(len(wins), "annotation")
            if len(wins) > 1:
                error = float(np.std(wins, ddof=1)) / math.sqrt(len(wins))
                count = f"standard error {100 * error:.2f}, {count}"
            by = f" by {annotator}" if several else ""
            yield f"{model} {100 * float(np.mean(wins)):.2f}% against {baseline}{by} ({count})"
