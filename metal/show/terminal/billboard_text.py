"""A board as text for a terminal of 80 columns, or for a pipe."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import pandas as pd

from metal.boards.board import Board
from metal.boards.cells import ALL_LANGUAGES
from metal.boards.signature import language_shown
from metal.data.dataset import Dataset
from metal.data.languages import language_name
from metal.show.terminal import console as show

UNDEFINED = "-"


def show_board(found: Board, dataset: Dataset, slices: tuple[str, ...]) -> None:
    """The board of the main criterion, slices as asked, generators, ensemble, overrating, warnings, signature."""
    raters = found.tables["raters"]
    languages = list(dict.fromkeys(raters["language"]))
    mine = raters[(raters["criterion"] == found.main) & (raters["language"] == languages[0])]
    show.say(_headline(found, dataset), bold=True)
    _raters(mine, _title(found, languages[0]), _ceiling(found, languages[0]))
    if len(languages) > 1 and "language" not in slices:
        slices = ("language", *slices)
    for by in slices:
        _slice(found, by, languages[0])
    _generators(found, languages[0])
    _ensemble(found, languages[0])
    _overrating(found.tables["overrating"], found, languages[0], "Machines overrated, in standard deviations")
    _overrating(found.tables["self_preference"], found, languages[0], "Own family overrated, in standard deviations")
    show.warn(found.warnings, more="warnings.txt in the run folder, and the report")
    show.say(f"Signature: {found.signature}", dim=True, wrap=False)


def _headline(found: Board, dataset: Dataset) -> str:
    groups = sorted({dataset.raters[name].group for name in found.people} - {""})
    people = _counted(len(found.people), "person", "people")
    return (
        f"{dataset.card.name}, version {found.settings.version}: "
        f"{_counted(len(found.raters), 'rater')} against {people}" + (f" ({', '.join(groups)})" if groups else "")
    )


def _counted(count: int, one: str, many: str = "") -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"


def _title(found: Board, language: str) -> str:
    where = "all languages" if language == ALL_LANGUAGES else f"{language} {language_name(language)}"
    return f"{found.main}, {where}"


def _ceiling(found: Board, language: str) -> str:
    row = _only(found.tables["people"], criterion=found.main, language=language).iloc[0]
    if row["one_against_others"] != row["one_against_others"]:
        return ""
    return f"One of these people against the others: r {number(row['one_against_others'])}. "


def _raters(rows: pd.DataFrame, title: str, ceiling: str) -> None:
    columns = ["rater", "kind", "cluster", "r", "95%", "coverage"]
    columns += ["rho", "tau", "system r", "SPA", "pairs", "ties up to", "$/1000"]
    listed = [
        [
            f"{_rank(row)} {row['rater']}",
            f"{row['people']:.0f} people" if row["people"] == row["people"] and row["people"] else row["kind"],
            _whole(row["cluster"]),
            number(row["pearson"]),
            _interval(row, "pearson"),
            _coverage(row),
            *(number(row[key]) for key in ("spearman", "kendall", "system_pearson", "soft_pairwise_accuracy")),
            number(row["pairwise_accuracy"]),
            f"{row['tie_epsilon']:.3g}" if row["tie_epsilon"] == row["tie_epsilon"] else UNDEFINED,
            f"{row['cost_per_thousand']:.2f}" if row["cost_per_thousand"] == row["cost_per_thousand"] else "",
        ]
        for row in _records(rows)
    ]
    if not any(row[-1] for row in listed):
        columns, listed = columns[:-1], [row[:-1] for row in listed]
    together = "Languages are taken together: their differences count too. " if title.endswith("all languages") else ""
    note = (
        ceiling
        + together
        + "r: Pearson with people over all outputs; rho Spearman, tau Kendall's tau-b; system r: between "
        "generators' means; SPA: soft pairwise accuracy; pairs: pairwise accuracy with ties. Within a cluster, "
        "raters do not differ significantly from its first."
    )
    show.table(title, columns, listed, note=note)
    for row in _records(rows):
        if row["pearson"] != row["pearson"]:
            show.say(f"{row['rater']}: {row['undefined']}", dim=True)


def _coverage(row: dict[str, Any]) -> str:
    """In whole percent; 100% only where nothing is missing."""
    if 0 < row["outputs"] < row["asked"]:
        return f"{min(max(round(100 * row['coverage']), 1), 99)}%"
    return f"{row['coverage']:.0%}"


def _rank(row: dict[str, Any]) -> str:
    return f"{_whole(row['rank']):>2}"


def _slice(found: Board, by: str, first: str) -> None:
    """Correlations of raters in rows, by language, criterion or generator in columns."""
    if by == "generator":
        rows = _only(found.tables["within_generators"], criterion=found.main, language=first)
        title = f"r within generators, {found.main}"
    elif by == "language":
        rows = _only(found.tables["raters"], criterion=found.main)
        rows = rows.assign(language=[language_shown(code) for code in rows["language"]])
        title = f"r by language, {found.main}"
    else:
        rows = _only(found.tables["raters"], language=first)
        title = "r by criterion"
    columns = list(dict.fromkeys(rows[by]))
    values = {(row["rater"], row[by]): row for row in _records(rows)}
    order = list(dict.fromkeys(_only(found.tables["raters"], criterion=found.main, language=first)["rater"]))
    order += [name for name in dict.fromkeys(rows["rater"]) if name not in order]
    listed = [[name, *(_value(values.get((name, column))) for column in columns)] for name in order]
    show.table(title, ["rater", *map(str, columns)], listed)


def _value(row: dict[str, Any] | None) -> str:
    if row is None:
        return ""
    return f"{number(row['pearson'])}\n{_interval(row, 'pearson')}"


def _generators(found: Board, language: str) -> None:
    rows = _only(found.tables["generators"], criterion=found.main, language=language)
    if rows.empty:
        return
    by = list(dict.fromkeys(rows["by"]))
    values = {(row["generator"], row["by"]): row for row in _records(rows)}
    places = {name: {one: values[name, one]["rank"] for one in by if (name, one) in values} for name, _ in values}
    order = sorted(places, key=lambda name: [places[name].get(one, 10**6) for one in by])
    listed = []
    for name in order:
        human = any(row["human"] for (one, _), row in values.items() if one == name)
        listed.append([name + (" (human)" if human else ""), *(_placed(values.get((name, one))) for one in by)])
    note = "Rank, mean score, its 95% interval by source; =N: cluster N. A blank: the rater did not score it."
    show.table("Generators by", ["generator", *by], listed, note=note)


def _placed(row: dict[str, Any] | None) -> str:
    if row is None:
        return ""
    cluster = f" ={row['cluster']:.0f}" if row["cluster"] == row["cluster"] and row["cluster"] is not None else ""
    low, high = row["score_low"], row["score_high"]
    interval = "" if low != low else f"\n{low:.4g} to {high:.4g}"
    return f"{row['rank']} {row['score']:.4g}{cluster}{interval}"


def _ensemble(found: Board, language: str) -> None:
    rows = _only(found.tables["ensembles"], criterion=found.main, language=language)
    if rows.empty:
        return
    row = _records(rows)[0]
    members = _records(_only(found.tables["ensemble_members"], criterion=found.main, language=language))
    listed = [
        [
            one["member"],
            f"{one['coefficient']:.4g}",
            f"{one['mean']:.4g}",
            f"{one['spread']:.4g}",
            number(one["pearson_without"]),
        ]
        for one in members
    ]
    note = (
        f"{row['ensemble']}: {row['intercept']:.6g} + the sum of coefficient x (score - mean) / spread. With people r "
        f"{number(row['pearson_unseen'])} on generators it has not seen, {number(row['pearson_in_sample'])} on those "
        f"it was fitted to. Alpha {row['alpha']:.5g} ({row['rule']}); {row['nonzero']} members from "
        f"{number(row['alpha_low'], 5)} to {number(row['alpha_high'], 5)}."
    )
    show.table("Ensemble", ["member", "coefficient", "mean", "spread", "r without"], listed, note=note)


def standing_lines(found: Board, name: str, before: Collection[str]) -> Iterator[str]:
    """A rater's or generator's place on the board of the main criterion, and what became of the ensemble.

    before: the ensembles that there were already.
    """
    language = str(found.tables["raters"]["language"].iloc[0])
    where = {"criterion": found.main, "language": language}
    raters = _only(found.tables["raters"], **where)
    for row in _records(_only(raters, rater=name)):
        yield (
            f"{found.main}: r {number(row['pearson'])} ({_interval(row, 'pearson')}) with people, rank "
            f"{_whole(row['rank'])} of {int(raters['rank'].notna().sum())} raters, cluster {_whole(row['cluster'])}"
            if row["pearson"] == row["pearson"]
            else f"{found.main}: {row['undefined']}"
        )
    for row in _records(_only(found.tables["generators"], **where, generator=name)):
        last = len(_only(found.tables["generators"], **where, by=row["by"]))
        yield f"{found.main}: rank {row['rank']} of {last} generators by {row['by']}, mean {row['score']:.4g}"
    for row in _records(_only(found.tables["overrating"], **where, rater=name)):
        if row["value"] == row["value"]:
            yield f"overrates machines by {row['value']:+.2f} sd ({row['low']:+.2f} to {row['high']:+.2f})"
    for row in _records(_only(found.tables["ensembles"], **where)):
        new = "stays" if row["ensemble"] in before else "new"
        yield f"{row['ensemble']} ({new}): {row['members']}; r {number(row['pearson_unseen'])} on unseen generators"


def _overrating(table: pd.DataFrame, found: Board, language: str, title: str) -> None:
    rows = _only(table, criterion=found.main, language=language)
    if rows.empty:
        return
    ordered = sorted(_records(rows), key=lambda row: (row["value"] != row["value"], -(row["value"] or 0)))
    listed = [
        [
            row["rater"],
            row["kind"],
            f"{row['value']:+.2f}" if row["value"] == row["value"] else UNDEFINED,
            f"{row['low']:+.2f} to {row['high']:+.2f}" if row["value"] == row["value"] else "",
            "" if row["value"] != row["value"] else "over" if row["low"] > 0 else "under" if row["high"] < 0 else "",
        ]
        for row in ordered
    ]
    reasons = list(dict.fromkeys(row["undefined"].removeprefix("value: ") for row in ordered if row["undefined"]))
    show.table(title, ["rater", "kind", "by", "90%", ""], listed, note="; ".join(f"-: {reason}" for reason in reasons))


def _only(table: pd.DataFrame, **where: str) -> pd.DataFrame:
    for column, value in where.items():
        table = table[table[column] == value]
    return table


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows with NaN for what is missing, so that one test tells."""
    plain = table.astype(object).where(table.notna(), float("nan"))
    return [{str(key): value for key, value in row.items()} for row in plain.to_dict("records")]


def _whole(value: Any) -> str:
    return UNDEFINED if value != value else f"{value:.0f}"


def _interval(row: dict[str, Any], name: str) -> str:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return "" if low != low else f"{number(low)} to {number(high)}"


def number(value: Any, digits: int = 0) -> str:
    """A coefficient with two digits after the point, or so many that count; a dash where undefined."""
    if value is None or value != value:
        return UNDEFINED
    if digits:
        return f"{value:.{digits}g}"
    text = f"{value:.2f}"
    return "0.00" if float(text) == 0 else text
