"""The ensemble: its formula, what each member is worth, and how to use it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Any

from metal.data.text import MINUS, figure, known, listed, name, score, within
from metal.runs.board_run import BoardRun
from metal.runs.columns import Row
from metal.show.charts.intervals import Dot, Mark
from metal.show.dots import dots_chart
from metal.show.view import Cell, Chart, TableView

MOST_ROWS = 60
LOOKS = {"without": (0, "without this member: a new ensemble of the rest")}


@dataclass(frozen=True)
class Fitted:
    """The main ensemble in words. formula: its terms; command: how to apply it to outputs in a file."""

    signature: str
    formula: tuple[str, ...]
    target: str
    alpha: str
    worth: str
    command: str


def fitted(run: BoardRun) -> Fitted | None:
    """The ensemble of the main ranking; None where there is none."""
    for row in run.records("ensembles", criterion=run.main, language=run.language):
        return Fitted(
            str(row["ensemble"]),
            _formula(row, _members(run)),
            _target(row),
            _alpha(row),
            f"r {figure(row['pearson_unseen'])} on generators that it has not seen (each left out in turn), "
            f"{figure(row['pearson_in_sample'])} on those it was fitted to: {int(row['outputs']):,} outputs of "
            f"{int(row['generators'])} generators, {int(row['candidates'])} metrics to choose from.",
            f"metal billboard apply {shlex.quote(str(row['ensemble']))} outputs.jsonl",
        )
    return None


def _members(run: BoardRun) -> list[dict[str, Any]]:
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
    """Five digits, for an interval is often narrow."""
    rules = {"given": "as asked", "smallest": "the smallest of the interval", "middle": "the middle of the interval"}
    words = f"{row['alpha']:.5g} ({rules.get(str(row['rule']), str(row['rule']))})"
    if known(row["alpha_low"]) and known(row["alpha_high"]):
        ends = f"{row['alpha_low']:.5g} to {row['alpha_high']:.5g}"
        words += f"; exactly {int(row['nonzero'])} metrics have a coefficient from {ends}"
    return words + "."


def member_table(run: BoardRun) -> TableView | None:
    """The members with their coefficients, and what their absence costs."""
    members = _members(run)
    if not members:
        return None
    explained = (
        "Coefficients are of standardised scores: (score − mean) / spread. Without a member: r on unseen generators of "
        "a new ensemble of the other metrics; above the ensemble's own r, the member did harm there."
    )
    return TableView.of_figures(
        run,
        "ensemble_members",
        f"Members: {run.where(run.main, run.language)}",
        members,
        cells={"members_without": lambda row: Cell(_rest(row) or "none")},
        name="members",
        notes=(*_negated(run, str(members[0]["ensemble"])), explained),
    )


def _rest(row: Row) -> str:
    """The members of the ensemble that is fitted without this one."""
    return listed([within(member) for member in str(row["members_without"] or "").split(", ") if member])


def _negated(run: BoardRun, signature: str) -> list[str]:
    """Members of which lower is better."""
    record = next((each for each in run.ensembles if each["ensemble"] == signature), {})
    negated = [within(member.get("rater")) for member in record.get("members", []) if member.get("negated")]
    return [f"Lower is better by {listed(negated)}: in the formula stand negated scores."] if negated else []


def ablation_chart(run: BoardRun) -> Chart | None:
    """r without each member against r with all."""
    members = _members(run)
    if not members:
        return None
    of_all = members[0]["pearson_unseen"]
    rows = [Dot(member["member"], member["pearson_without"], look="without") for member in members]
    each = "; ".join(f"without {within(dot.label)} {figure(dot.value)}" for dot in rows)
    return dots_chart(
        "ensemble_ablation",
        f"The ensemble without each member: {run.where(run.main, run.language)}",
        f"Dots of r on unseen generators, with all members {figure(of_all)} (dashed line); {each}.",
        rows,
        LOOKS,
        label="without",
        value="r on unseen generators",
        before=[Dot("none", of_all)],
        source="ensemble_members",
        marks=[Mark(of_all, "with all members")],
    )


def ensembles_table(run: BoardRun) -> TableView | None:
    """Every ensemble of the board; None where there are none."""
    rows = run.records("ensembles")
    if not rows:
        return None
    order = {cell: place for place, cell in enumerate(run.cells)}
    rows.sort(key=lambda row: order.get((row["criterion"], row["language"]), len(order)))
    members: dict[tuple[str, str], list[str]] = {(row["criterion"], row["language"]): [] for row in rows}
    for member in run.records("ensemble_members"):
        members.setdefault((member["criterion"], member["language"]), []).append(within(member["member"]))
    body = (
        (
            Cell(run.where(row["criterion"], row["language"])),
            Cell(figure(row["pearson_unseen"])),
            Cell(figure(row["pearson_in_sample"])),
            Cell(score(row["alpha"])),
            Cell(listed(members[row["criterion"], row["language"]])),
            Cell(name(row["ensemble"], 160)),
        )
        for row in rows
    )
    columns = ("", "r, unseen", "r, fitted", "alpha", "members", "signature")
    return TableView.of(run, "ensembles", "All ensembles", columns, body, most=MOST_ROWS)
