"""A design study: how to spend a budget of labels best, and how much each language needs (GENIE
section 4).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd

from metal.data.dataset import Dataset
from metal.data.languages import language_name
from metal.data.progress import Progress, divided, followed, no_progress
from metal.data.text import plural, signature_line
from metal.errors import Undefined, UsageError
from metal.questions.design.cells import DesignCell, design_cells
from metal.questions.design.labels.sampling import (
    Aggregation,
    Labelling,
    binarised,
    by_panel,
    simulate,
)
from metal.questions.design.plans import NAN, QUESTIONS, SizePlan, plans
from metal.questions.design.settings import DesignSettings, Prices
from metal.version import __version__

ALL = "all"  # all people together, as a population; all languages, in the table of costs
FEW_SOURCES = 30
LEAST_ITEMS = 10  # of a population, to be compared with others
NO_END = "no upper end from this pilot"
VERDICT = 20  # times a score's plan: about how long a simulated verdict's takes
AGGREGATIONS: tuple[Aggregation, ...] = ("mean", "majority")
LABELLINGS: tuple[Labelling, ...] = ("unilabelling", "multilabelling")
_FOR_WHAT = ("language", "criterion", "question", "who", "raters")
_PRICED = ("tasks", "test_questions", "usd", "hours")
_TO_BUY = ("items_to_buy", "usd_to_buy", "hours_to_buy")
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "designs": (
        *(
            "language",
            "criterion",
            "population",
            "people",
            "scale",
            "aggregation",
            "labelling",
            "labels",
            "items",
        ),
        *("mean", "sd", "low", "high", "undefined"),
    ),
    "populations": (
        *("language", "criterion", "scale", "aggregation", "labelling", "populations"),
        *("mean", "sd_between", "lowest", "highest", "undefined"),
    ),
    "raters": ("language", "criterion", "scale", "fixed", "raters", "items", "mean", "sd"),
    "needs": (
        *_FOR_WHAT,
        *(
            "value",
            "sources_now",
            "items_now",
            "now",
            "now_error",
            "target",
            "sources_needed",
            "items_needed",
        ),
        *(
            "items_low",
            "items_high",
            "items_error",
            "at_needed",
            "at_needed_error",
            "extrapolated",
            "verdict",
            *_PRICED,
            *_TO_BUY,
        ),
        *("dropped", "undefined"),
    ),
    "curves": (*_FOR_WHAT, "sources", "items", "value", "error", "extrapolated"),
    "costs": ("language", "question", "raters", "items_needed", "for", *_PRICED, "undefined"),
}


@dataclass(frozen=True)
class DesignTables:
    """A design study.

    tables: by name, with the columns of COLUMNS. An undefined figure is NaN, and another column has
    the reason.
    """

    tables: Mapping[str, pd.DataFrame]
    warnings: tuple[str, ...]
    raters: tuple[str, ...]
    signature: str


def design(
    dataset: Dataset, settings: DesignSettings, *, progress: Progress = no_progress
) -> DesignTables:
    """Make the study of a dataset. Raises the errors of `design_cells`."""
    cells, warnings = design_cells(dataset, settings)
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in COLUMNS}
    advances = divided(progress, *[1, 19] * len(cells))  # plans take longest
    for cell, designing, planning in zip(cells, advances[::2], advances[1::2], strict=True):
        sizes = [VERDICT if settings.thorough else 1] * (
            2 * len(cell.judged_sizes) * (1 + len(cell.judges))
        )
        if cell.scored:
            rows["designs"] += design_rows(cell, designing)
            rows["raters"] += rater_rows(cell)
            sizes += [1] * (len(cell.sizes) * len(np.unique(cell.generators)))
        for plan in followed(plans(cell), planning, sum(sizes), sizes):
            rows["needs"].append(_need(cell, plan))
            rows["curves"] += _curve(cell, plan)
    rows["populations"] = population_rows(rows["designs"])
    outputs: dict[str, float] = {}
    for cell in cells:
        each = len(cell.scores) / cell.source_count
        outputs[cell.language] = max(each, outputs.get(cell.language, 0.0))
    rows["costs"] += cost_rows(rows["needs"], outputs, settings.prices)
    tables = {
        name: _typed(pd.DataFrame(rows[name], columns=list(names)))
        for name, names in COLUMNS.items()
    }
    raters = sorted({name for cell in cells for name in (*cell.people, *cell.judges)})
    warnings = [*warnings, *_warnings(cells, settings)]
    return DesignTables(
        tables, tuple(warnings), tuple(raters), signature(dataset.identity, settings)
    )


# ---------------------------------------------------------------- budgets of labels


def design_rows(cell: DesignCell, progress: Progress) -> Iterator[dict[str, Any]]:
    """Rows for every design: first with all people together, then with each population alone."""
    populations = {ALL: tuple(range(len(cell.people)))}
    if len(cell.populations) > 1:
        populations |= cell.populations
    designs = list(product(populations.items(), _scales(cell), AGGREGATIONS, LABELLINGS))
    for (population, places), (scale, labels), aggregation, labelling in followed(
        designs, progress, len(designs)
    ):
        row = {"population": population, "people": len(places), "scale": scale}
        row |= {"aggregation": aggregation, "labelling": labelling}
        # One label is its own mean and its own majority: one simulation serves both.
        rng = cell.random(
            "design",
            population,
            scale,
            labelling,
            aggregation if labelling == "multilabelling" else "",
        )
        try:
            figures = vars(
                simulate(labels[:, list(places)], labelling, aggregation, cell.settings.rounds, rng)
            )
            yield {**cell.place, **row, **figures, "undefined": ""}
        except Undefined as error:
            yield {**cell.place, **row, "undefined": str(error)}


def _scales(cell: DesignCell) -> list[tuple[str, Any]]:
    if cell.binary:
        return [("binary", cell.shares)]
    return [("as rated", cell.shares), ("binary", binarised(cell.shares))]


def population_rows(designs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """How far the mean score of a design differs between populations, for example between raters of
    different days.

    Populations with fewer than LEAST_ITEMS items in a round are left out.
    """
    keys = ("language", "criterion", "scale", "aggregation", "labelling")
    by_design: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in designs:
        if row["population"] != ALL:
            by_design.setdefault(itemgetter(*keys)(row), []).append(row)
    table = []
    for key, rows in by_design.items():
        means = np.array(
            [row["mean"] for row in rows if not row["undefined"] and row["items"] >= LEAST_ITEMS]
        )
        summary: dict[str, Any] = {**dict(zip(keys, key, strict=True)), "populations": len(means)}
        if len(means) > 1:
            summary |= {"mean": means.mean(), "sd_between": means.std(ddof=1)}
            summary |= {"lowest": means.min(), "highest": means.max(), "undefined": ""}
        else:
            reasons = "; ".join(dict.fromkeys(row["undefined"] for row in rows if row["undefined"]))
            summary |= {
                "undefined": reasons or f"fewer than two populations with {LEAST_ITEMS} items"
            }
        table.append(summary)
    return table


def rater_rows(cell: DesignCell) -> Iterator[dict[str, Any]]:
    """The spread of a score with 1, 2, ... labels per item: once with the total number of labels
    held equal, once with the number of items.
    """
    for scale, labels in _scales(cell):
        for fixed in ("labels", "items"):
            rng = cell.random("raters", scale, fixed)
            for simulated in by_panel(labels, fixed, cell.settings.rounds, rng):
                row = {
                    "scale": scale,
                    "fixed": fixed,
                    "raters": simulated.labels,
                    "items": simulated.items,
                }
                yield {**cell.place, **row, "mean": simulated.mean, "sd": simulated.sd}


def panel_rows(dataset: Dataset, seed: int) -> list[dict[str, Any]]:
    """The spread of people's mean score with 1, 2, ... people per output; empty if nothing can be
    simulated.
    """
    try:
        cells, _ = design_cells(dataset, DesignSettings(seed=seed))
    except UsageError:  # people rated no criterion whose scale has ends
        return []
    rows = []
    for cell in cells:
        if cell.scored:
            scale = "binary" if cell.binary else "as rated"
            simulated = [row for row in rater_rows(cell) if row["fixed"] == "items"]
            rows += [row for row in simulated if row["scale"] == scale]
    return rows


# ---------------------------------------------------------------- needs and costs


def _asked(cell: DesignCell, plan: SizePlan) -> dict[str, Any]:
    return {**cell.place, "question": plan.question, "who": plan.who, "raters": plan.raters}


def _need(cell: DesignCell, plan: SizePlan) -> dict[str, Any]:
    row: dict[str, Any] = {
        **_asked(cell, plan),
        "value": plan.value,
        "sources_now": plan.sources,
        "items_now": plan.items,
        "now": NAN,
        "now_error": NAN,
        "target": plan.target,
        "extrapolated": bool(plan.needed and plan.most > plan.sources),
        "verdict": plan.verdict,
        "dropped": plan.dropped,
        "undefined": plan.reason,
        "items_low": _items_at(plan, plan.low),
        "items_high": _items_at(plan, plan.high),
    }
    if plan.now:
        row |= {"now": plan.now.value, "now_error": plan.now.error}
    if plan.needed:
        prices = cell.settings.prices
        items = plan.items_of(plan.needed.sources)
        row |= {
            "sources_needed": plan.needed.sources,
            "items_needed": items,
            "items_error": plan.needed.error * plan.items / plan.sources,
            "at_needed": plan.needed.value,
            "at_needed_error": plan.needed.value_error,
        }
        if plan.open_end:  # as many again as there are, and then another look
            most = 2 * plan.items
        else:
            most = items if math.isnan(plan.high) else int(row["items_high"])
            row |= prices.cost(most, plan.raters)
        new = max(most - plan.items, 0)
        rest = prices.cost(new, plan.raters)
        row |= zip(_TO_BUY, (new, rest["usd"], rest["hours"]), strict=True)
    return row


def _items_at(plan: SizePlan, sources: float) -> float:
    """The number of items that this many sources have; NaN if the number of sources is unknown."""
    return plan.items_of(int(sources)) if math.isfinite(sources) else NAN


def _curve(cell: DesignCell, plan: SizePlan) -> Iterator[dict[str, Any]]:
    for point in plan.curve:
        yield {
            **_asked(cell, plan),
            "sources": point.sources,
            "items": plan.items_of(point.sources),
            "value": point.value,
            "error": point.error,
            "extrapolated": point.sources > plan.sources,
        }


def cost_rows(
    needs: list[dict[str, Any]], outputs: Mapping[str, float], prices: Prices
) -> Iterator[dict[str, Any]]:
    """What each language needs for all its criteria, judges and generators at once, then the sum
    over languages.

    outputs: language -> rated outputs per source. A task asks all criteria of an output, and every
    generator is rated on the same sources, so a language needs as many sources as its most
    demanding row, with all outputs of these sources.
    """
    by: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for question in QUESTIONS:
        for language in sorted(outputs):
            rows = [
                row for row in needs if (row["language"], row["question"]) == (language, question)
            ]
            for raters in sorted({row["raters"] for row in rows}):
                of_raters = [row for row in rows if row["raters"] == raters]
                dearest = _dearest(of_raters, outputs[language], prices)
                by.setdefault((question, raters), []).append(
                    {"language": language, "question": question, "raters": raters, **dearest}
                )
                yield by[question, raters][-1]
    for (question, raters), rows in by.items():
        if len(rows) > 1 and (sums := _sums(rows)):
            yield {"language": ALL, "question": question, "raters": raters, **sums}


def _sums(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The cost of all languages together, and which languages it leaves out; empty if none has a
    cost.
    """
    defined = [row for row in rows if "tasks" in row]
    if not defined:
        return {}
    sums = {key: sum(row[key] for row in defined) for key in ("items_needed", *_PRICED)}
    missing = ", ".join(language_name(row["language"]) for row in rows if "tasks" not in row)
    return {**sums, "undefined": f"without {missing}" if missing else ""}


def _dearest(rows: list[dict[str, Any]], outputs: float, prices: Prices) -> dict[str, Any]:
    """The cost of the row that needs the most sources, at the upper ends of the intervals."""
    defined = [row for row in rows if "tasks" in row]
    if not defined:
        return {"undefined": "; ".join(dict.fromkeys(row["undefined"] or NO_END for row in rows))}

    def sources(row: Mapping[str, Any]) -> int:
        items = row["items_needed"] if math.isnan(row["items_high"]) else row["items_high"]
        return max(
            int(items * row["sources_now"] / row["items_now"] + 1e-9), int(row["sources_needed"])
        )

    most = max(defined, key=sources)
    items = math.ceil(sources(most) * outputs)
    left = f"without {len(rows) - len(defined)} undefined" if len(defined) < len(rows) else ""
    priced = prices.cost(items, most["raters"])
    return {
        "items_needed": items,
        "for": f"{most['criterion']}, {most['who']}",
        **priced,
        "undefined": left,
    }


# ---------------------------------------------------------------- about the study


_WHOLE = {
    "labels",
    "items",
    "people",
    "populations",
    "sources",
    "sources_now",
    "items_now",
    "sources_needed",
}
_WHOLE |= {
    "items_needed",
    "items_low",
    "items_high",
    "items_to_buy",
    "tasks",
    "test_questions",
    "raters",
}
_TEXT = {
    "language",
    "criterion",
    "population",
    "scale",
    "aggregation",
    "labelling",
    "undefined",
    "fixed",
}
_TEXT |= {"question", "who", "dropped", "for", "verdict"}


def _typed(table: pd.DataFrame) -> pd.DataFrame:
    """The table with whole numbers stored as integers, even if some are missing, and no numbers
    stored as objects.
    """
    for name in table.columns:
        if name in _TEXT:
            table[name] = table[name].fillna("").astype(str)
        elif name == "extrapolated":
            table[name] = table[name].astype(bool)
        else:
            table[name] = table[name].astype("Int64" if name in _WHOLE else "float64")
    return table


def _warnings(cells: list[DesignCell], settings: DesignSettings) -> Iterator[str]:
    yield from settings.prices.warnings
    few: dict[int, list[str]] = {}
    for language in dict.fromkeys(cell.language for cell in cells):
        in_language = [cell for cell in cells if cell.language == language]
        least = min(cell.source_count for cell in in_language)
        if any(len(cell.people) == 1 for cell in in_language):
            yield (
                f"{language_name(language)}: one person only, so it is unknown how people differ"
            )
        if least < FEW_SOURCES:
            few.setdefault(least, []).append(language)
    for least, languages in few.items():
        yield (
            f"{', '.join(map(language_name, languages))}: {plural(least, 'different input')}"
            f" (source{'s' * (least > 1)}) cannot show well how inputs differ; treat the numbers "
            f"of items as rough"
        )


def signature(data: str, settings: DesignSettings) -> str:
    """A line with the program, the data, and every setting that affects a figure.

    data: Dataset.identity.
    """
    parts: dict[str, object] = {"metal": __version__, "data": data, "design": "verdicts"}
    without = f"noisy@{settings.exclude_noisy}" if settings.exclude_noisy else ""
    return signature_line(
        parts
        | {
            "ref": settings.reference or "all-people",
            "without": without,
            "by": settings.by,
            "judges": "+".join(settings.judges),
            "criteria": "+".join(settings.criteria),
            "langs": "+".join(settings.languages),
            "k": "+".join(map(str, settings.raters)),
            "width": f"{settings.width:g}",
            "power": f"{settings.power:g}",
            "margin": f"{settings.margin:g}",
            "keep": f"{settings.keep:g}",
            "floor": f"{settings.people_floor:g}",
            "bad": settings.bad,
            "rounds": settings.rounds,
            "seed": settings.seed,
            "how": "simulated" if settings.thorough else "formula",
        }
    )
