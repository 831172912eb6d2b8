"""A design study as text for a terminal of 80 columns, or for a pipe."""

from __future__ import annotations

import re
import textwrap
from typing import Any

import pandas as pd

from metal.genie.design.planning import F1, SCORE, TEST
from metal.genie.design.study import ALL, Design
from metal.show.terminal import console as show

UNDEFINED = "-"
LABEL = 14  # characters of a line of a name
SHORT = {F1: "F1", SCORE: "score", TEST: "test"}


def show_design(found: Design) -> None:
    """Budgets of labels, populations, what each language needs, what that costs, warnings, signature."""
    _designs(found.tables["designs"])
    _populations(found.tables["populations"])
    _panels(found.tables["raters"])
    needs = found.tables["needs"]
    for question in (F1, TEST, SCORE):
        _needs(needs[needs["question"] == question], question, found)
    _costs(found)
    show.warn(found.warnings, more="warnings.txt in the run folder, and the report")
    show.say(f"Signature: {found.signature}", dim=True, wrap=False)


def _designs(table: pd.DataFrame) -> None:
    """Standard deviations by design, as in GENIE's Figure 3."""
    rows = _records(table[table["population"] == ALL])
    by: dict[tuple[str, ...], dict[str, dict[str, Any]]] = {}
    for row in rows:
        key = (row["language"], row["criterion"], row["scale"], row["aggregation"])
        by.setdefault(key, {})[row["labelling"]] = row
    listed = []
    for (language, criterion, scale, aggregation), one in by.items():
        uni, multi = one["unilabelling"], one["multilabelling"]
        size = f"{_count(multi['items'])} x {_count(multi['labels'])}" if known(multi["items"]) else UNDEFINED
        figures = [number(uni["mean"], 3), number(uni["sd"], 4), size, number(multi["mean"], 3), number(multi["sd"], 4)]
        listed.append([_label(language, criterion), f"{scale.removeprefix('as ')} {aggregation}", *figures])
    reasons = dict.fromkeys(row["undefined"] for row in rows if row["undefined"])
    note = (
        "Mean score and its standard deviation over rounds at one budget of labels; one: a label each for as many "
        "items "
        "as there are labels; several: for fewer items (items x labels). Rated: the scale as rated; binary: its upper "
        "half, its middle included. Generators together." + "".join(f" {UNDEFINED}: {reason}." for reason in reasons)
    )
    columns = ["", "design", "one", "sd", "several", "", "sd"]
    show.table("What a budget of labels buys", columns, _once(listed), note=note, keep=2)


def _label(language: str, criterion: str, *more: str) -> str:
    """A name on lines of at most LABEL characters, broken at blanks and underscores where they have some."""
    parts = re.split(r"(?<=[_ /-])", " ".join((language, criterion, *more)))
    lines = [""]
    for part in parts:
        if lines[-1] and len(lines[-1]) + len(part.rstrip()) > LABEL:
            lines.append("")
        lines[-1] += part
    return "\n".join(piece.rstrip() for line in lines for piece in textwrap.wrap(line, LABEL) or [""])


def _once(rows: list[list[str]]) -> list[list[str]]:
    """A label that is the one above is left out."""
    above = [None, *(row[0] for row in rows)]
    return [["" if row[0] == before else row[0], *row[1:]] for row, before in zip(rows, above, strict=False)]


def _populations(table: pd.DataFrame) -> None:
    rows = _records(table[(table["aggregation"] == "mean") & (table["populations"].fillna(0) > 1)])
    listed = [
        [
            _label(row["language"], row["criterion"]),
            row["scale"],
            row["labelling"],
            _count(row["populations"]),
            number(row["sd_between"], 3),
            f"{number(row['lowest'])} to {number(row['highest'])}",
        ]
        for row in rows
    ]
    if listed:
        columns = ["", "scale", "labels", "number", "sd", "means"]
        note = "How far the mean score differs between populations of raters (days, groups, or each person)."
        show.table("Stability across populations", columns, _once(listed), note=note)


def _panels(table: pd.DataFrame) -> None:
    """SD by people an item, on the scale as rated."""
    rows = [row for row in _records(table) if row["scale"] == "as rated" or not _has_rated(table, row)]
    sizes = sorted({int(row["raters"]) for row in rows})
    by = {(row["language"], row["criterion"], row["fixed"], int(row["raters"])): row["sd"] for row in rows}
    listed = [
        [_label(*cell), f"same {fixed}", *(number(by.get((*cell, fixed, size)), 4) for size in sizes)]
        for *cell, fixed in dict.fromkeys((row["language"], row["criterion"], row["fixed"]) for row in rows)
    ]
    if len(sizes) > 1:
        note = "Standard deviation of the mean score with so many people an item."
        show.table("People an item", ["", "", *map(str, sizes)], _once(listed), note=note, keep=2)


def _has_rated(table: pd.DataFrame, row: dict[str, Any]) -> bool:
    mine = table[(table["language"] == row["language"]) & (table["criterion"] == row["criterion"])]
    return bool((mine["scale"] == "as rated").any())


def _needs(table: pd.DataFrame, question: str, found: Design) -> None:
    """The table of one question; of generators the one that needs most."""
    if table.empty:
        return
    rows = _records(table)
    if question == SCORE:
        rows = [_widest(rows, key) for key in dict.fromkeys((r["language"], r["criterion"], r["raters"]) for r in rows)]
    several = len({row["who"] for row in rows}) > 1 and question != SCORE
    listed = [
        [
            _label(row["language"], row["criterion"], *([row["who"]] if several else [])),
            _count(row["raters"]),
            number(row["value"]),
            _count(row["items_now"]),
            number(row["now"], 3 if question != TEST else 2),
            _needed(row),
            _times(row),
            *(_money(row) if known(row["tasks"]) else (UNDEFINED, UNDEFINED)),
        ]
        for row in rows
    ]
    what = {
        F1: f"Items for an F1 interval narrower than {found.settings.width:g}",
        SCORE: f"Items of a generator for a score interval narrower than {found.settings.width:g}",
        TEST: f"Items for the alternative annotator test with power {found.settings.power:g}",
    }[question]
    value, now = {F1: ("F1", "width"), SCORE: ("score", "width"), TEST: ("won", "power")}[question]
    who = "" if several or question == SCORE else f", judge {rows[0]['who']}"
    columns = ["", "k", value, "items", now, "needed", "", "USD", "hours"]
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if row["undefined"]:
            reasons.setdefault(row["undefined"], []).append(f"{row['language']} {row['criterion']} x {row['raters']}")
    note = f"k: people an item; items, {now}: now; xN: as if there were N times as many sources like these."
    note += " Rows rest on the items with k people or more, which need not be the same ones."
    note += " Of each the generator that needs most." if question == SCORE else ""
    show.table(what + who, columns, _once(listed), note=note)
    for reason, where in reasons.items():
        more = f" and {len(where) - 6} more" if len(where) > 6 else ""
        show.say(f"{UNDEFINED} {reason} ({', '.join(where[:6])}{more})", dim=True)


def _widest(rows: list[dict[str, Any]], key: tuple[Any, ...]) -> dict[str, Any]:
    mine = [row for row in rows if (row["language"], row["criterion"], row["raters"]) == key]
    return max(mine, key=lambda row: row["items_needed"] if known(row["items_needed"]) else -1)


def _needed(row: dict[str, Any]) -> str:
    if not known(row["items_needed"]):
        return UNDEFINED
    return f"{int(row['items_needed']):,} ±{rounded(row['items_error'])}"


def _times(row: dict[str, Any]) -> str:
    """How many times the sources that there are; empty where these are enough."""
    if not row["extrapolated"]:
        return ""
    times = row["sources_needed"] / row["sources_now"]
    return f"x{times:.0f}" if times >= 10 else f"x{times:.1f}"


def rounded(value: float) -> str:
    """An error, with two digits that count."""
    whole = max(1, round(value))
    digits = max(0, len(str(whole)) - 2)
    return f"{round(whole, -digits):,}"


def _money(row: dict[str, Any]) -> tuple[str, str]:
    usd = f"{row['usd']:,.0f}" if known(row["usd"]) else UNDEFINED
    return usd, f"{row['hours']:,.0f}" if known(row["hours"]) else UNDEFINED


def _costs(found: Design) -> None:
    prices = found.settings.prices
    listed = [
        [
            row["language"],
            SHORT[row["question"]],
            _count(row["raters"]),
            _count(row["items_needed"]),
            _count(row["tasks"]),
            *_money(row),
        ]
        for row in _records(found.tables["costs"])
        if known(row["tasks"])
    ]
    hourly = f" {prices.hourly:.2f} USD an hour." if prices.hourly is not None else ""
    given = [] if prices.pay is not None else ["USD: give --pay"]
    given += [] if prices.seconds is not None else ["hours: give --seconds; no form measured them"]
    note = (
        "All criteria of an output in one task, all generators on the same sources; fee "
        f"{prices.fee:.0%}, test questions {prices.test_share:.0%} of the tasks.{hourly}"
        + "".join(f" {UNDEFINED} {what}." for what in given)
    )
    columns = ["", "for", "people", "items", "tasks", "USD", "hours"]
    show.table("What a language needs for all of it", columns, listed, note=note, keep=2)


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows with None for what is missing."""
    plain = table.astype(object).where(table.notna(), None)
    return [{str(key): value for key, value in row.items()} for row in plain.to_dict("records")]


def known(value: Any) -> bool:
    """Whether there is a figure."""
    return value is not None and value == value


def number(value: Any, digits: int = 2) -> str:
    """A figure with so many digits after the point; a dash where undefined."""
    return f"{value:.{digits}f}" if known(value) else UNDEFINED


def _count(value: Any) -> str:
    return f"{int(value):,}" if known(value) else UNDEFINED
