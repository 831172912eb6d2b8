"""Generators by people, by the best rater and by the ensemble; the ensemble and the worth of its
members.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from metal.data.text import (
    MINUS,
    UNDEFINED,
    count,
    estimate,
    figure,
    known,
    listed,
    name,
    ranks,
    score,
    share,
    within,
)
from metal.questions.board.run import Billboard
from metal.runs.columns import Row
from metal.show.charts.dots import Dot, Numbers, dots_chart, generator_dots
from metal.show.charts.lines import Ranks, rank_lines
from metal.show.parts import places
from metal.show.view import Cell, Chart, Section, TableView, folded

MOST_ROWS = 60
LOOKS = {"without": (0, "without this member: a new ensemble of the rest")}

Ranked = dict[str, Any]  # a row of the table `generators`


def generator_table(
    run: Billboard, criterion: str, language: str, key: str = "generators"
) -> TableView:
    """One row per generator: rank, mean score with interval, and possible ranks, by each rater that
    ranks them.
    """
    rankings = _rankings(run, criterion, language)
    generators = list(dict.fromkeys(chain.from_iterable(rankings.values())))
    rows = []
    for generator in generators:
        human = any(
            ranked[generator]["human"] for ranked in rankings.values() if generator in ranked
        )
        placed = [cell for ranked in rankings.values() for cell in _placed(ranked.get(generator))]
        rows.append((Cell(name(generator), "human writing" if human else ""), *placed))
    columns = ("generator", *(head for by in rankings for head in (f"by {name(by)}", "ranks")))
    blank = any(len(ranked) < len(generators) for ranked in rankings.values())
    notes = ["A dash: not scored, or not rated."] if blank else []
    fitted_to = [
        by
        for by, ranked in rankings.items()
        if not any(known(row["rank"]) for row in ranked.values())
    ]
    notes += [
        f"No ranks by {name(by)}: it was fitted to people's scores of these very outputs."
        for by in fitted_to
    ]
    title = f"Generators: {run.where(criterion, language)}"
    return TableView.of(run, "generators", title, columns, rows, name=key, notes=notes)


def _rankings(run: Billboard, criterion: str, language: str) -> dict[str, dict[str, Ranked]]:
    """by -> generator -> row, in the order of ranks."""
    rankings: dict[str, dict[str, Ranked]] = {}
    for row in run.records("generators", criterion=criterion, language=language):
        rankings.setdefault(row["by"], {})[row["generator"]] = row
    return rankings


def _placed(row: Ranked | None) -> tuple[Cell | str, str]:
    if row is None:
        return UNDEFINED, UNDEFINED
    below = estimate(row, "score", share)
    return Cell(count(row["rank"]), below.strip()), ranks(row.get("rank_low"), row.get("rank_high"))


def generator_charts(run: Billboard) -> list[Chart]:
    """Charts of where the rankings differ, and of people's scores with intervals."""
    rankings = _rankings(run, run.main, run.language)
    lines = _lines(
        run,
        {
            by: rows
            for by, rows in rankings.items()
            if any(known(row["rank"]) for row in rows.values())
        },
    )
    charts = [lines] if lines else []
    if by_people := list(rankings.get("people", {}).values()):
        key, label = "generators_people", "the mean score"
        charts.append(generator_dots(run, key, by_people, label, "mean score", "generators", share))
    return charts


def _lines(run: Billboard, rankings: dict[str, dict[str, Ranked]]) -> Chart | None:
    """Ranks among the generators that everybody ranked; None if these are too few."""
    generators = list(dict.fromkeys(chain.from_iterable(rankings.values())))
    ranked_by_all = set(generators).intersection(*rankings.values())
    if min(len(rankings), len(ranked_by_all)) < 2:
        return None
    # Each ranking again among these alone, so that nobody moves because others are missing.
    places_by = {}
    for by, ranked in rankings.items():
        order = [generator for generator in ranked if generator in ranked_by_all]
        places_by[by] = {generator: rank for rank, generator in enumerate(order, 1)}
    human = [
        generator
        for generator in ranked_by_all
        if any(ranked[generator]["human"] for ranked in rankings.values())
    ]
    shown = Ranks(places_by, frozenset(human))
    title = f"Where rankings disagree: {run.where(run.main, run.language)}"
    notes: tuple[str, ...] = ()
    if missing := [within(each) for each in generators if each not in ranked_by_all]:
        notes = (
            f"Ranks are among the {len(ranked_by_all)} generators that all of these ranked, which"
            f" leaves out {places(missing)}.",
        )
    columns = ("generator", *(f"by {name(by)}" for by in places_by))
    rows = [
        (name(generator), *(str(by[generator]) for by in places_by.values()))
        for generator in shown.generators
    ]
    numbers = TableView.of(
        None, "generators", title, columns, rows, name="generators_ranks_numbers"
    )
    return Chart(
        "generators_ranks", title, shown.words(), rank_lines(shown), numbers, notes, shown.finding()
    )


def further_generators(run: Billboard) -> tuple[Section, ...]:
    """A folded section for each other criterion and language: its best generator, and the table."""
    further = []
    for number, cell in enumerate(run.cells[1:], 2):
        if rankings := _rankings(run, *cell):
            best = next(iter(next(iter(rankings.values()))))
            table = generator_table(run, *cell, f"generators_{number}")
            title = f"{run.where(*cell)}: {within(best)}"
            further.append(folded(table, title, run.slices(*cell)))
    return tuple(further)


@dataclass(frozen=True)
class Fitted:
    """The main ensemble in words. formula: its terms; command: how to apply it to outputs in a
    file.
    """

    signature: str
    formula: tuple[str, ...]
    target: str
    alpha: str
    worth: str
    command: str


def fitted(run: Billboard) -> Fitted | None:
    """The ensemble of the main ranking; None if there is none."""
    for row in run.records("ensembles", criterion=run.main, language=run.language):
        return Fitted(
            str(row["ensemble"]),
            _formula(row, _members(run)),
            _target(row),
            _alpha(row),
            f"r {figure(row['pearson_unseen'])} on generators that it has not seen (each left out"
            f" in turn), {figure(row['pearson_in_sample'])} on those it was fitted to:"
            f" {int(row['outputs']):,} outputs of {int(row['generators'])} generators,"
            f" {int(row['candidates'])} metrics to choose from.",
            f"metal billboard apply {shlex.quote(str(row['ensemble']))} outputs.jsonl",
        )
    return None


def _members(run: Billboard) -> list[dict[str, Any]]:
    return run.records("ensemble_members", criterion=run.main, language=run.language)


def _formula(row: dict[str, Any], members: list[dict[str, Any]]) -> tuple[str, ...]:
    terms = [score(row["intercept"])]
    for member in members:
        sign = MINUS if member["coefficient"] < 0 else "+"
        centre = f"{MINUS if member['mean'] >= 0 else '+'} {score(abs(member['mean']))}"
        standardised = f"({within(member['member'])} {centre}) / {score(member['spread'])}"
        terms.append(f"{sign} {score(abs(member['coefficient']))} × {standardised}")
    return tuple(terms)


def _target(row: dict[str, Any]) -> str:
    offset, slope = row["target_offset"], row["target_slope"]
    if not known(slope) or (slope == 1 and not offset):
        return "The mean score of the people as it is."
    start = f"{score(offset)} + " if offset else ""
    return f"The mean score of the people on 0 to 100 ({start}{score(slope)} × their score)."


def _alpha(row: dict[str, Any]) -> str:
    """Alpha with five digits, because its interval is often narrow."""
    rules = {
        "given": "as asked",
        "smallest": "the smallest of the interval",
        "middle": "the middle of the interval",
    }
    sentence = f"{row['alpha']:.5g} ({rules.get(str(row['rule']), str(row['rule']))})"
    if known(row["alpha_low"]) and known(row["alpha_high"]):
        ends = f"{row['alpha_low']:.5g} to {row['alpha_high']:.5g}"
        sentence += f"; exactly {int(row['nonzero'])} metrics have a coefficient from {ends}"
    return sentence + "."


def member_table(run: Billboard) -> TableView | None:
    """The members with their coefficients, and the loss without each."""
    members = _members(run)
    if not members:
        return None
    explained = (
        "Coefficients are of standardised scores: (score − mean) / spread. Without a member: r on"
        " unseen generators for a new ensemble of the other metrics; if it is above the"
        " ensemble's own r, the member did harm there."
    )
    return TableView.of_figures(
        run,
        "ensemble_members",
        f"Members: {run.where(run.main, run.language)}",
        members,
        cells={"members_without": lambda row: _rest(row) or "none"},
        name="members",
        notes=(*_negated(run, str(members[0]["ensemble"])), explained),
    )


def _rest(row: Row) -> str:
    """The members of the ensemble that is fitted without this one."""
    return listed(
        [within(member) for member in str(row["members_without"] or "").split(", ") if member]
    )


def _negated(run: Billboard, signature: str) -> list[str]:
    """A sentence that names the members for which lower is better."""
    record = next((each for each in run.ensembles if each["ensemble"] == signature), {})
    negated = [
        within(member.get("rater")) for member in record.get("members", []) if member.get("negated")
    ]
    return (
        [f"Lower is better by {listed(negated)}: the formula uses negated scores."]
        if negated
        else []
    )


def ablation_chart(run: Billboard) -> Chart | None:
    """r without each member against r with all."""
    members = _members(run)
    if not members:
        return None
    of_all = members[0]["pearson_unseen"]
    rows = [Dot(member["member"], member["pearson_without"], look="without") for member in members]
    each = "; ".join(f"without {within(dot.label)} {figure(dot.value)}" for dot in rows)
    return dots_chart(
        "ensemble_ablation",
        f"The ensemble without each member in turn: {run.where(run.main, run.language)}",
        f"Dots of r on unseen generators, with all members {figure(of_all)} (dashed line); {each}.",
        rows,
        LOOKS,
        Numbers(
            "r on unseen generators",
            label="without",
            before=[Dot("none", of_all)],
            source="ensemble_members",
        ),
        mark=(of_all, "with all members") if known(of_all) else None,
        finding=_missed(members, of_all),
    )


def _missed(members: Sequence[Row], of_all: float) -> str:
    """A sentence on the member that the ensemble would miss most."""
    without = [row for row in members if known(row["pearson_without"])]
    if not without or not known(of_all):
        return ""
    missed = min(without, key=lambda row: row["pearson_without"])
    if missed["pearson_without"] >= of_all:
        return "Leaving out any one member makes the ensemble no worse."
    ends = f"from {figure(of_all)} to {figure(missed['pearson_without'])}"
    return f"Without {within(missed['member'])} r falls most, {ends}."


def ensembles_table(run: Billboard) -> TableView | None:
    """Every ensemble of the board; None if there are none."""
    rows = run.records("ensembles")
    if not rows:
        return None
    order = {cell: position for position, cell in enumerate(run.cells)}
    rows.sort(key=lambda row: order.get((row["criterion"], row["language"]), len(order)))
    members: dict[tuple[str, str], list[str]] = {
        (row["criterion"], row["language"]): [] for row in rows
    }
    for member in run.records("ensemble_members"):
        members.setdefault((member["criterion"], member["language"]), []).append(
            within(member["member"])
        )
    body = (
        (
            run.where(row["criterion"], row["language"]),
            figure(row["pearson_unseen"]),
            figure(row["pearson_in_sample"]),
            score(row["alpha"]),
            listed(members[row["criterion"], row["language"]]),
            name(row["ensemble"], 160),
        )
        for row in rows
    )
    columns = ("", "r, unseen", "r, fitted", "alpha", "members", "signature")
    return TableView.of(run, "ensembles", "All ensembles", columns, body, most=MOST_ROWS)
