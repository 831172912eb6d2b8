"""Compare a run's figures with those of other libraries, and find to how many digits they are
equal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from metal.data.dataset import Dataset
from metal.data.grouping import grouped
from metal.data.people import judges_in, people_named, who_saw
from metal.data.progress import Progress, followed
from metal.data.text import known
from metal.questions.verify import of_audit
from metal.questions.verify.libraries import Recomputed
from metal.questions.verify.of_board import Means, of_rater
from metal.questions.verify.panels import Panel, by_vote, panels

LEAST_DIGITS = 12  # from which two figures are equal
MOST_DIGITS = 15  # that a float holds
OWN_FILES = "the run's other files"
NO_NUMBER = "the library gives no number"
OF_TEST = ("alt_test_winning_rate", "alt_test_advantage")
EQUAL, DIFFERS = "equal", "differs"
UNDEFINED, NO_LIBRARY, LEFT = "undefined in both", "undefined in the library", "left undefined"
FIGURES = (
    *("table", "language", "criterion", "rater", "figure", "file", "value", "library"),
    *("recomputed", "difference", "digits", "items", "says", "undefined", "signature"),
)
SUMMARY = (
    *("table", "figure", "library", "compared", "equal", "differ", "digits"),
    *("undefined_in_both", "undefined_in_library", "left_undefined", "signature"),
)


@dataclass(frozen=True)
class Recorded:
    """A table of a run as each of its files has it, by the file's name; rows are in the
    same order.
    """

    name: str
    files: Mapping[str, pd.DataFrame]

    @property
    def rows(self) -> list[dict[Any, Any]]:
        """The rows of the last file."""
        return [*self.files.values()][-1].to_dict("records")

    def values(self, row: int, figure: str) -> dict[str, float]:
        """The values of a row's figure, one from each file."""
        return {file: float(table[figure].iloc[row]) for file, table in self.files.items()}

    @cached_property
    def torn(self) -> dict[int, list[str]]:
        """The numbers on which the files disagree: columns by the position of the row."""
        *others, last = self.files.values()
        columns = last.select_dtypes("number").columns
        apart: dict[int, list[str]] = {}
        for other in others:
            same = (other[columns] == last[columns]) | (
                other[columns].isna() & last[columns].isna()
            )
            for row, column in zip(*np.nonzero(~same.to_numpy()), strict=True):
                apart.setdefault(int(row), []).append(str(columns[column]))
        return apart

    def middle(self, row: int, figure: str) -> Recomputed:
        """What most files say; this replaces a library for a number that no library computes."""
        return Recomputed(float(np.median([*self.values(row, figure).values()])), OWN_FILES, 0)


def digits_equal(value: float, other: float) -> int:
    """The number of equal digits of two numbers: digits after the point or, for numbers above 1,
    digits in all.

    >>> digits_equal(0.123456, 0.123457), digits_equal(0.5, 0.5), digits_equal(2000, 2001)
    (5, 15, 3)
    """
    apart = abs(value - other) / max(abs(value), abs(other), 1.0)
    if apart == 0:
        return MOST_DIGITS
    return min(max(math.floor(-math.log10(apart)), 0), MOST_DIGITS)


def kind_of(value: float, of_library: float, reason: str) -> str:
    """EQUAL, DIFFERS, or the reason why there is no comparison.

    reason: why the run has no number.
    """
    if known(value) and known(of_library):
        return EQUAL if digits_equal(value, of_library) >= LEAST_DIGITS else DIFFERS
    if known(value):
        return NO_LIBRARY
    if not reason:  # a number that was taken out
        return DIFFERS
    return LEFT if known(of_library) else UNDEFINED


def compared(values: Mapping[str, float], recomputed: Recomputed, reason: str) -> dict[str, Any]:
    """Compare a figure with the library's, in the file whose value is farthest from it.

    values: the figure in each file; if these are not equal, the figure counts as different. reason:
    why the run leaves it undefined.
    """
    of_library = recomputed.value
    file = max(values, key=lambda name: _apart(values[name], of_library))
    value, kind = values[file], DIFFERS
    if len(set(map(repr, values.values()))) == 1:
        kind = kind_of(value, of_library, reason)
    both = known(value) and known(of_library)
    return {
        "file": file,
        "value": value,
        "library": recomputed.library,
        "recomputed": of_library,
        "difference": value - of_library,
        "digits": digits_equal(value, of_library) if both else math.nan,
        "items": recomputed.items,
        "says": kind,
        "undefined": recomputed.reason or {NO_LIBRARY: NO_NUMBER}.get(kind, reason),
    }


def _apart(value: float, other: float) -> float:
    """The absolute difference of two numbers; infinite if one of them is not a number."""
    if known(value) and known(other):
        return abs(value - other)
    return math.inf if known(value) or known(other) else 0.0


def reasons_of(row: Mapping[str, Any]) -> dict[str, str]:
    """The reasons why figures of a row are undefined, by figure."""
    parts = (part.partition(": ") for part in str(row.get("undefined") or "").split("; "))
    reasons = {figure: reason for figure, _, reason in parts if reason}
    of_test = dict.fromkeys(OF_TEST, reasons.get("alt_test", ""))  # one for all its figures
    return of_test | reasons


Recompute = Callable[[Mapping[str, Any]], Iterable[tuple[str, Recomputed]]]


def figure_rows(
    table: Recorded, who: str, recompute: Recompute, progress: Progress
) -> Iterator[dict[str, Any]]:
    """A row for each figure of a table that a library can compute, or on which the files disagree.

    who: the column that names the rater.
    """
    for number, row in enumerate(followed(table.rows, progress)):
        reasons = reasons_of(row)
        figures = {name: figure for name, figure in recompute(row) if name in row}
        for name in table.torn.get(number, ()):
            figures.setdefault(name, table.middle(number, name))
        for figure, recomputed in figures.items():
            values = table.values(number, figure)
            yield {
                "table": table.name,
                "language": row["language"],
                "criterion": row["criterion"],
                "rater": row.get(who, ""),
                "figure": figure,
                **compared(values, recomputed, reasons.get(figure, "")),
            }


def by_cell(every: Iterable[Panel]) -> dict[tuple[str, str], Panel]:
    """Panels by language and criterion."""
    return {(panel.language, panel.criterion.name): panel for panel in every}


def audit_rows(
    dataset: Dataset,
    settings: Mapping[str, Any],
    tables: Mapping[str, Recorded],
    progress: Progress,
) -> Iterator[dict[str, Any]]:
    """A row for each figure of an audit.

    settings: the settings of the run.
    """
    people = people_named(dataset, settings.get("reference", ""))
    judges = judges_in(dataset.raters)
    cells = by_cell(panels(dataset, people, judges, settings))
    left_out = {
        (row["language"], row["criterion"], row["judge"]): [
            name for name in people if f", {name}, " in f", {row['left_out']}, "
        ]
        for row in tables["verdicts"].rows
    }

    saw = who_saw(dataset.raters, people)

    def panel_of(row: Mapping[str, Any]) -> Panel:
        panel = cells[row["language"], row["criterion"]]
        aided = [name for name in saw.get(row.get("judge", ""), ()) if name in panel.people]
        return replace(panel, people=panel.people.drop(columns=aided)) if aided else panel

    def judge(row: Mapping[str, Any]) -> Iterable[tuple[str, Recomputed]]:
        without = left_out.get((row["language"], row["criterion"], row["judge"]), [])
        return of_audit.of_judge(panel_of(row), row, without)

    def scores(row: Mapping[str, Any]) -> Iterable[tuple[str, Recomputed]]:
        return of_audit.of_scores(panel_of(row), row, [])

    yield from figure_rows(
        tables["people"], "", lambda row: of_audit.of_people(panel_of(row)), progress
    )
    if by_vote(settings):
        yield from figure_rows(tables["judges"], "judge", judge, progress)
    if "scores" in tables and not settings.get("standardise"):
        yield from figure_rows(tables["scores"], "judge", scores, progress)
    yield from figure_rows(tables["verdicts"], "judge", lambda row: (), progress)


def board_rows(
    dataset: Dataset,
    settings: Mapping[str, Any],
    tables: Mapping[str, Recorded],
    progress: Progress,
) -> Iterator[dict[str, Any]]:
    """A row for each correlation of a board's raters; groups of people and ensembles have none."""
    means = Means(dataset, people_named(dataset, settings.get("reference", "")))

    def rater(row: Mapping[str, Any]) -> Iterable[tuple[str, Recomputed]]:
        named = dataset.raters.get(row["rater"])
        return of_rater(means, row) if named and named.kind != "human" else ()

    yield from figure_rows(tables["raters"], "rater", rater, progress)


def monitor_rows(
    dataset: Dataset,
    settings: Mapping[str, Any],
    tables: Mapping[str, Recorded],
    progress: Progress,
) -> Iterator[dict[str, Any]]:
    """A row for each figure of people's agreement in a monitor, before noisy people are
    left out.
    """
    people = people_named(dataset, settings.get("reference", ""))
    cells = by_cell(panels(dataset, people, (), {}))

    def everybody(row: Mapping[str, Any]) -> Iterable[tuple[str, Recomputed]]:
        if row["without_noisy"]:
            return ()
        return of_audit.of_people(cells[row["language"], row["criterion"]])

    yield from figure_rows(tables["agreement"], "", everybody, progress)


RECOMPUTE = {"audit": audit_rows, "billboard": board_rows, "monitor": monitor_rows}


def summary_rows(figures: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A row for each kind of figure and library: how many figures are equal, and to which digit."""
    groups = grouped(figures, lambda row: (row["table"], row["figure"], row["library"]))
    rows = []
    for (table, figure, library), of_figure in groups.items():
        counts = pd.Series([row["says"] for row in of_figure]).value_counts()
        equal, differ = (int(counts.get(kind, 0)) for kind in (EQUAL, DIFFERS))
        digits = [row["digits"] for row in of_figure if row["says"] == EQUAL]
        rows.append(
            {
                "table": table,
                "figure": figure,
                "library": library,
                "compared": equal + differ,
                "equal": equal,
                "differ": differ,
                "digits": min(digits, default=math.nan),
                "undefined_in_both": int(counts.get(UNDEFINED, 0)),
                "undefined_in_library": int(counts.get(NO_LIBRARY, 0)),
                "left_undefined": int(counts.get(LEFT, 0)),
            }
        )
    return rows
