"""What `metal compare` prints: in how many cases each generator has the best mean, by rater; with
`-v`, all means.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from metal.auditing.paper_tables import PEOPLE
from metal.data.languages import language_name, language_order
from metal.data.records import Criterion
from metal.data.text import UNDEFINED, count, listed, name, plural, within
from metal.questions.dataset.columns import MEAN
from metal.show.parts import in_sentence
from metal.show.view import Cell, Paragraph, Rows, Screen, TableView

CASE = ["language", "criterion"]


def compared(table: pd.DataFrame, criteria: Mapping[str, Criterion], *, verbose: bool) -> Screen:
    """The answer: how often each generator has the best mean, by rater; all means if there is a
    single case, or with verbose.
    """
    first = PEOPLE if PEOPLE in set(table["rater"]) else str(table["rater"].iloc[0])
    best = _best(table, criteria)
    of_first = best[best["rater"] == first]
    yield Paragraph(_headline(first, of_first, table, criteria), strong=True)
    cases = len(table[CASE].drop_duplicates())
    if verbose or cases == 1:
        yield from _means(table, criteria)
    if cases > 1 and not best.empty:
        yield _counts(table, best, first)
    if unpaired := _unpaired(table):
        yield Paragraph(unpaired)
    undefined = table[table["mean"].isna()]
    if len(undefined):
        why = "; ".join(dict.fromkeys(undefined["undefined"]))
        figures = plural(len(undefined), "figure")
        fewer = "; fewer `generators` share more sources" if "shared" in why else ""
        yield Paragraph(f"{UNDEFINED} {why} ({figures}){fewer}")


def _unpaired(table: pd.DataFrame) -> str:
    """A warning if means are over different sources; empty if every mean is over shared sources."""
    apart = table[~table["paired"]].drop_duplicates([*CASE, "rater"])
    if apart.empty:
        return ""
    every = len(table.drop_duplicates([*CASE, "rater"]))
    unpaired = (
        "Unpaired" if len(apart) == every else f"Unpaired in {len(apart)} of {every} comparisons"
    )
    generators = table["generator"].nunique()
    fewer = "; fewer `generators` may share some" if generators > 2 else ""
    return (
        f"{unpaired}: no source is shared by all {generators} generators{fewer}, so each mean is"
        " over the generator's own sources. If chance decided which generator got which source,"
        " intervals that do not overlap show that the generators differ; otherwise easier sources"
        " may be the reason."
    )


def _best(table: pd.DataFrame, criteria: Mapping[str, Criterion]) -> pd.DataFrame:
    """A row for each case and rater that has a mean.

    best: the generator with the best mean; empty if several are equal. apart: whether its interval
    overlaps with no other generator's.
    """
    rows = []
    by_case: Any = table.dropna(subset="mean").groupby([*CASE, "rater"], sort=False)
    for (language, criterion, rater), cell in by_case:
        if len(cell) < 2:
            continue  # nothing to be better than
        sign = 1 if criteria[criterion].direction == "higher" else -1
        means = sign * cell["mean"].to_numpy().round(10)
        ends = sign * cell[["mean_low", "mean_high"]].to_numpy(dtype=float)
        first = int(means.argmax())
        others = np.delete(ends, first, axis=0)
        apart = bool(ends[first].min() > others.max()) if others.size else False
        alone = (means == means[first]).sum() == 1
        rows.append(
            (language, criterion, rater, str(cell["generator"].iloc[first]) if alone else "", apart)
        )
    return pd.DataFrame(rows, columns=[*CASE, "rater", "best", "apart"])


def _headline(
    rater: str, best: pd.DataFrame, table: pd.DataFrame, criteria: Mapping[str, Criterion]
) -> str:
    """Say whose mean is best, by these people or this judge."""
    whose = "People's" if rater == PEOPLE else f"{within(rater)}'s"
    if best.empty:
        return "No two generators have means in the same case, so nothing can be compared."
    often = Counter(best["best"][best["best"] != ""])
    if not often:
        return f"{whose} means are the same for several generators everywhere."
    most = max(often.values())
    leading = [generator for generator, number in often.items() if number == most]
    clear = int(best.loc[best["best"].isin(leading), "apart"].sum())
    if len(best) == 1:
        case = best.iloc[0]
        on_case = (
            f"on {in_sentence(criteria[case['criterion']].title)} in"
            f" {language_name(case['language'])}"
        )
        apart = "apart from" if clear else "that overlaps with"
        return (
            f"{whose} mean {on_case} is best for {within(leading[0])}, with an interval {apart}"
            " those of the others."
        )
    leaders = f"{listed([*map(within, leading)])}{' each' if len(leading) > 1 else ''}"
    return (
        f"{whose} mean is best for {leaders} in {count(most)} of {plural(len(best), 'case')} (a"
        f" criterion in a language); in {count(clear)} of these its interval does not overlap with"
        " the others'."
    )


def _counts(table: pd.DataFrame, best: pd.DataFrame, first: str) -> TableView:
    """A table of the number of cases in which each generator has the best mean, by rater.

    It also counts in how many of these cases the first rater agrees.
    """
    generators, reference = (
        list(table["generator"].unique()),
        best[best["rater"] == first].set_index(CASE)["best"],
    )
    raters = [rater for rater in table["rater"].unique() if rater in set(best["rater"])]
    rows: Rows = []
    for rater in [first, *(other for other in raters if other != first)]:
        named = best[best["rater"] == rater].set_index(CASE)["best"]
        often, both = Counter(named), named.index.intersection(reference.index)
        same = int(((named[both] == reference[both]) & (named[both] != "")).sum())
        alike = f"{count(same)} of {count(len(both))}" if len(both) else UNDEFINED
        alike = "" if rater == first else alike
        rows.append(
            (
                name(rater),
                *(count(often[generator]) for generator in generators),
                count(often[""]),
                alike,
            )
        )
    columns = ("", *map(name, generators), "several", f"as {name(first)}")
    notes = ("“Several”: generators with equal means. -v shows means and intervals.",)
    return TableView.of(
        None,
        "compare",
        "Cases with the best mean, by rater",
        columns,
        rows,
        notes=notes,
        turns=True,
    )


def _means(table: pd.DataFrame, criteria: Mapping[str, Criterion]) -> Screen:
    """A table of means for each criterion and language."""
    by_name = table.sort_values(
        "language", key=lambda codes: codes.map(language_order), kind="stable"
    )
    for (language, criterion), cell in by_name.groupby(CASE, sort=False):
        paired = cell.groupby("rater", sort=False)["paired"].first()
        shared = cell.groupby("rater", sort=False)["sources"].first()
        numbers = (str(shared[rater]) if paired[rater] else "own" for rater in shared.index)
        heads = zip(shared.index, numbers, strict=True)
        columns = ("generator", *(f"{name(rater)} ({number})" for rater, number in heads))
        rows: Rows = []
        for generator, of_generator in cell.groupby("generator", sort=False):
            records: list[dict[Any, Any]] = of_generator.to_dict("records")
            rows.append((name(generator), *map(_mean, records)))
        title = f"{name(criteria[str(criterion)].title)} in {language_name(str(language))}"
        title += f": mean score [95% interval] ({'shared' if paired.any() else 'own'} sources)"
        yield TableView.of(None, "compare", title, columns, rows, turns=True)


def _mean(row: dict[Any, Any]) -> Cell:
    own = "" if row["paired"] else plural(int(row["sources"]), "source")
    return Cell(MEAN.text(row), "\n".join(filter(None, [MEAN.ends(row), own])))
