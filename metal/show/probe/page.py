"""The page of a report on probes, and what `metal probe report` prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

from metal.auditing.scored_outputs import UNKNOWN
from metal.data.languages import language_name
from metal.data.text import UNDEFINED, figure, known, listed, name, signed, slug, within
from metal.fairness.conditions import FALLS, STAYS
from metal.fairness.probes import AGAINST, ALL_CERTAIN, BLIND, CAPPED, NOT_BLIND, SHOWN
from metal.runs.columns import Row
from metal.runs.probe_run import ProbeRun
from metal.show.charts.dots import Dot, dots_chart
from metal.show.parts import across_languages, criterion_in_words, languages_shown, reasons
from metal.show.view import Cell, Chart, Section, TableView

LOOKS = {BLIND: (5, BLIND), NOT_BLIND: (0, NOT_BLIND), SHOWN: (7, SHOWN), UNKNOWN: (7, UNKNOWN)}
MOST_CHARTS = 12
MOST_ROWS = 400
KINDS = ("certain", "graded", "invariant", "bait")
EXPLAINED = (
    "A: how often the clean output gets the better score, ties as half; 0.5 is chance. Signed: change of the score. "
    "Of all criteria, the one on which the judge did worst. What is not said to be missed is not shown to be seen."
)


def seen_charts(run: ProbeRun) -> list[Chart]:
    """How well changes are seen, a chart for each judge, criterion and language; those with blindness first."""
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in run.records("probes"):
        if row["expected"] == FALLS and known(row["a"]):
            groups.setdefault((row["judge"], row["criterion"], row["language"]), []).append(row)
    ordered = sorted(groups.items(), key=lambda group: -sum(row["says"] == BLIND for row in group[1]))
    drawn = []
    for (judge, criterion, language), rows in ordered[:MOST_CHARTS]:
        dots = [Dot.of(row, "a", row["what"], row["says"]) for row in rows]
        title = f"{language_name(language)}, {run.criteria[criterion].title}, {name(judge)}"
        blind = listed([row["what"] for row in rows if row["says"] == BLIND])
        alt = f"How often {within(judge)} scores clean outputs higher, {len(rows)} changes; blind: {blind or 'none'}."
        key = f"a_{slug(language)}_{slug(criterion)}_{slug(judge)}"
        chance = (0.5, "chance")
        finding = f"{within(judge)} is blind to {blind}." if blind else "No blindness is shown."
        more: dict[str, Any] = {"value": "A", "label": "changed", "source": "probes", "finding": finding}
        drawn.append(dots_chart(key, title, alt, dots, LOOKS, mark=chance, **more))
    return drawn


def answer(run: ProbeRun) -> TableView:
    """Judges and changes in rows, languages in columns; what is said, on the criterion where the judge did worst."""
    # what a certain or graded change must leave alone is in the table of all figures
    aside = {(kind, STAYS) for kind in ("certain", "graded")} | {(kind, "") for kind in KINDS}
    records = [row for row in run.records("probes") if (row["kind"], row["expected"]) not in aside]
    languages = languages_shown(records, AGAINST)
    together = ALL_CERTAIN["what"]
    against = {(row["judge"], row["what"], row["language"]) for row in records if row["says"] in AGAINST}
    often = Counter((judge, what) for judge, what, _ in against)  # in how many languages
    records.sort(key=lambda row: (row["judge"], row["what"] != together, -often[row["judge"], row["what"]]))
    criteria = {row["criterion"]: run.short(row["criterion"]) for row in records}
    named = {short: words for name, short in criteria.items() if (words := criterion_in_words(run, name)) != short}
    spelled = f" {'; '.join(f'{short}: {words}' for short, words in named.items())}." if named else ""
    notes = (f"{EXPLAINED}{spelled}", *reasons(run, "probes", records, "language"))
    keys, cell = {"judge": "judge", "what": "changed"}, partial(_cell, run)
    options: dict[str, Any] = {"name": "blind", "notes": notes, "turns": False}
    return across_languages(run, "probes", "What judges do not see", records, keys, cell, languages, **options)


def _cell(run: ProbeRun, rows: Sequence[Row]) -> Cell:
    """What is said on the criterion where the judge did worst."""
    usable = [row for row in rows if known(row["a"])]
    if not usable:
        return Cell(UNDEFINED)
    falls = usable[0]["expected"] == FALLS
    worst = min(usable, key=lambda row: (row["says"] not in AGAINST, row["a"] if falls else -_moved(run, row)))
    value, of = figure(worst["a"]) if falls else signed(worst["change"]), run.short(worst["criterion"])
    if worst["says"] in AGAINST:
        return Cell(worst["says"], f"{value} {of}", "strong")
    return Cell(value, of)


def _moved(run: ProbeRun, row: Row) -> float:
    """How far a score went the wrong way, as a share of its scale: criteria have scales of their own."""
    return float(row["change"] if row["expected"] == CAPPED else abs(row["change"])) / run.span(row["criterion"])


def sections(run: ProbeRun) -> list[Section]:
    """How well changes are seen, every figure, doses."""
    rows = sorted(run.records("probes"), key=lambda row: row["says"] not in AGAINST)
    options: dict[str, Any] = {"heads": 3, "most": MOST_ROWS}
    changed = {"condition": lambda row: Cell(name(row["what"]), row["kind"])}
    shown = [TableView.of_figures(run, "probes", "All figures", rows, cells=changed, **options)]
    if len(run.tables["trends"]):
        title, trends = "Whether scores fall with the dose", run.records("trends")
        titles = {row["probe"]: row["what"].rpartition(" (")[0] for row in rows if known(row["dose"])}
        named = {"probe": lambda row: name(titles[row["probe"]])}
        shown.append(TableView.of_figures(run, "trends", title, trends, cells=named, **options))
    return [
        Section("seen", "How well changes are seen", charts=tuple(seen_charts(run))),
        Section("figures", "All figures, and doses", tables=tuple(shown)),
    ]
