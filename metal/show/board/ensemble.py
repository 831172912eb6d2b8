"""The ensemble: its formula, what each member is worth, and how to use it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Any

from metal.data.text import MINUS, figure, known, listed, name, within
from metal.runs.board_run import BoardRun
from metal.show.board.generators import score
from metal.show.charts.intervals import Mark, Row, interval_dots
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
    for one in members:
        sign = MINUS if one["coefficient"] < 0 else "+"
        centre = f"{MINUS if one['mean'] >= 0 else '+'} {score(abs(one['mean']))}"
        terms.append(
            f"{sign} {score(abs(one['coefficient']))} × ({within(one['member'])} {centre}) / {score(one['spread'])}"
        )
    return tuple(terms)


def _target(row: dict[str, Any]) -> str:
    offset, slope = row["target_offset"], row["target_slope"]
    if not known(slope) or (slope == 1 and not offset):
        return "The mean score of the people as it is."
    start = f"{score(offset)} + " if offset else ""
    return f"The mean score of the people on 0 to 100 ({start}{score(slope)} × their score)."


def _alpha(row: dict[str, Any]) -> str:
    """Five digits, for an interval is often narrow."""

    def digits(value: float) -> str:
        return f"{value:.5g}"

    rule = {
        "given": "as asked",
        "smallest": "the smallest of the interval",
        "middle": "the middle of the interval",
    }.get(str(row["rule"]), str(row["rule"]))
    words = f"{digits(row['alpha'])} ({rule})"
    if known(row["alpha_low"]) and known(row["alpha_high"]):
        ends = f"{digits(row['alpha_low'])} to {digits(row['alpha_high'])}"
        words += f"; exactly {int(row['nonzero'])} metrics have a coefficient from {ends}"
    return words + "."


def member_table(run: BoardRun) -> TableView | None:
    """The members with their coefficients, and what their absence costs."""
    members = _members(run)
    if not members:
        return None
    rows = []
    for one in members:
        cost = one["pearson_without"] - one["pearson_unseen"] if known(one["pearson_without"]) else None
        change = "" if cost is None or not known(cost) else f"{cost:+.2f}".replace("-", MINUS)
        rest = listed([within(member) for member in str(one["members_without"] or "").split(", ") if member])
        rows.append(
            (
                Cell(name(one["member"])),
                Cell(score(one["coefficient"])),
                Cell(score(one["mean"])),
                Cell(score(one["spread"])),
                Cell(figure(one["pearson_without"]), change),
                Cell(rest or "none"),
            )
        )
    columns = ("member", "coefficient", "mean", "spread", "r without it", "then of")
    return TableView(
        "members",
        f"Members: {run.where(run.main, run.language)}",
        columns,
        tuple(rows),
        "ensemble_members",
        run.signature_of("ensemble_members"),
        notes=(
            *_negated(run, str(members[0]["ensemble"])),
            "Coefficients are of standardised scores: (score − mean) / spread. Without a member: r on unseen "
            "generators of a new ensemble of the other metrics; above the ensemble's own r, the member did harm there.",
        ),
    )


def _negated(run: BoardRun, signature: str) -> list[str]:
    """Members of which lower is better."""
    record = next((one for one in run.ensembles if one["ensemble"] == signature), {})
    turned = [within(one.get("rater")) for one in record.get("members", []) if one.get("negated")]
    return [f"Lower is better by {listed(turned)}: in the formula stand negated scores."] if turned else []


def ablation_chart(run: BoardRun) -> Chart | None:
    """r without each member against r with all."""
    members = _members(run)
    if not members:
        return None
    whole = members[0]["pearson_unseen"]
    rows = [Row(one["member"], _number(one["pearson_without"]), look="without") for one in members]
    marks = [Mark(_number(whole), "with all members")]
    title = f"The ensemble without each member: {run.where(run.main, run.language)}"
    told = "; ".join(f"without {within(row.label)} {figure(row.value)}" for row in rows)
    numbers = TableView(
        "ablation_numbers",
        title,
        ("without", "r on unseen generators"),
        (
            (Cell("none"), Cell(figure(whole))),
            *((Cell(name(row.label)), Cell(figure(row.value))) for row in rows),
        ),
        "ensemble_members",
    )
    alt = f"Dots of r on unseen generators, with all members {figure(whole)} (dashed line); {told}."
    return Chart("ensemble_ablation", title, alt, interval_dots(rows, LOOKS, marks=marks), numbers)


def ensembles_table(run: BoardRun) -> TableView | None:
    """Every ensemble of the board; None where there are none."""
    rows = run.records("ensembles")
    if not rows:
        return None
    order = {cell: place for place, cell in enumerate(run.cells)}
    rows.sort(key=lambda row: order.get((row["criterion"], row["language"]), len(order)))
    by: dict[tuple[str, str], list[str]] = {(row["criterion"], row["language"]): [] for row in rows}
    for one in run.records("ensemble_members"):
        by.setdefault((one["criterion"], one["language"]), []).append(within(one["member"]))
    shown = tuple(
        (
            Cell(run.where(row["criterion"], row["language"])),
            Cell(figure(row["pearson_unseen"])),
            Cell(figure(row["pearson_in_sample"])),
            Cell(f"{row['alpha']:.4g}"),
            Cell(listed(by[row["criterion"], row["language"]])),
            Cell(name(row["ensemble"], 160)),
        )
        for row in rows[:MOST_ROWS]
    )
    notes = (f"The first {MOST_ROWS} of {len(rows)}; the CSV has all.",) if len(rows) > MOST_ROWS else ()
    columns = ("", "r, unseen", "r, fitted", "alpha", "members", "signature")
    return TableView(
        "ensembles", "All ensembles", columns, shown, "ensembles", run.signature_of("ensembles"), notes=notes
    )


def _number(value: Any) -> float:
    return float(value) if known(value) else float("nan")
