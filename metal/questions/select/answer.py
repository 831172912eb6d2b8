"""The first screen of a selection: how many outputs may be left to which judge."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from metal.data.text import known, percent, plural, within
from metal.questions.select.compute import NO_CONFIDENCE, UNKNOWN
from metal.questions.select.run import Selection
from metal.runs.columns import Row
from metal.show.parts import case_of, data_of, go_on, judges_by_language
from metal.show.view import Remark


def _best(run: Selection) -> Row | None:
    """The row that leaves the fewest outputs to people."""
    rows = [
        row for row in run.records("selection") if known(row["coverage"]) and row["coverage"] > 0
    ]
    return max(rows, key=lambda row: row["coverage"], default=None)


def headline(run: Selection) -> str:
    """Say what is the most that a judge may answer alone, and in how many cases it may answer
    anything.
    """
    rows, best = run.records("selection"), _best(run)
    if best is None:
        unsaid = sum(row["says"] == UNKNOWN for row in rows)
        if unsaid == len(rows):
            return (
                "The data cannot tell whether a judge can be left alone"
                f" ({plural(unsaid, 'case')})."
            )
        more = f"; {unsaid} could not be tested" if unsaid else ""
        tried = len(rows) - unsaid
        which = "the one case does not reach" if tried == 1 else f"none of {tried} cases reaches"
        return f"No judge can be left alone: {which} the required agreement{more}."
    some = sum(known(row["coverage"]) and row["coverage"] > 0 for row in rows)
    return (
        f"{within(best['judge'])} can rate {percent(best['coverage'])} of outputs alone on"
        f" {case_of(run, best)}, with at least {percent(best['at_least'])} agreement. A judge can"
        f" be left alone on some outputs in {some} of {plural(len(rows), 'case')}."
    )


def cards(run: Selection) -> Iterator[Remark]:
    """Cards: which judge is surer than it should be, where nothing can be concluded, and what to do
    next.
    """
    reason = ""
    rows = [row for row in run.records("calibration") if known(row["ece"])]
    if rows:
        worst = max(rows, key=lambda row: row["sure"] - row["agreement"])
        if worst["sure"] > worst["agreement"]:
            sentence = (
                f"{within(worst['judge'])} on {case_of(run, worst)}: it is"
                f" {percent(worst['sure'])} sure on average, but agrees with people in only"
                f" {percent(worst['agreement'])}."
            )
            yield Remark("Overconfident", sentence)
    unsaid = [row for row in run.records("selection") if row["says"] == UNKNOWN]
    if unsaid:
        reason = str(unsaid[0]["undefined"]).removeprefix("threshold: ")
        sentence = (
            f"In {plural(len(unsaid), 'case')}, for instance {case_of(run, unsaid[0])}: {reason}."
        )
        yield Remark("Could not be tested", sentence)
    title, best = "What to do next", _best(run)
    if unsaid and reason == NO_CONFIDENCE:
        sentence = "Ask the judge with token probabilities, or several times, and add that run:"
        yield Remark(title, sentence, f"metal judge {data_of(run)} --judge MODEL --repeat 5")
    elif best is None:
        sentence = "Check whether a judge is good enough to have people rate more outputs:"
        yield Remark(title, sentence, go_on(run, "audit"))
    elif not run.settings.get("costs"):
        command = (
            f"{go_on(run, 'select')} --alpha {run.settings['alpha']:g} --costs"
            f" {shlex.quote(best['judge'])}=0.001"
        )
        yield Remark(
            title,
            "Compute the savings from the price of a judge's answer and of a person's:",
            f"{command},people=0.2",
        )
    else:
        yield Remark(
            title, "Check whether the judge is like a person on all outputs:", go_on(run, "audit")
        )


def scope(run: Selection) -> str:
    """What was compared, for the line above the headline."""
    return judges_by_language(run, "calibration")
