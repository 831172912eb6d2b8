"""Corrected scores in words: what is left open, and what the figures mean."""

from __future__ import annotations

from metal.auditing.corrected import LEAST
from metal.data.text import known, plural
from metal.runs.correct_run import CorrectRun
from metal.show.view import Definition, define

SOURCES = {"Corrected": "Angelopoulos et al. 2023 (PPI++)", "Near an end": "Wilson 1927"}


def facts(run: CorrectRun) -> dict[str, str]:
    """What the tables say beyond the headline."""
    rows = run.records("corrected")
    without = [row for row in rows if not known(row["corrected"])]
    lines = {
        "Not to be concluded": "That other people than these would say the same; the wider interval, for people like "
        "these, stands in the table (any_people).",
    }
    if without:
        reason = str(without[0]["undefined"]).removeprefix("corrected: ")
        where = f"{len(without)} of {plural(len(rows), 'case')}, the first because {reason}."
        return {"Not corrected": where, **lines}
    return lines


def definitions(run: CorrectRun) -> list[Definition]:
    """The definitions behind the page."""
    words = {
        "Corrected": "People's mean of the labelled sources, plus the judge's mean on the others less its mean on the "
        "labelled ones, times a weight from 0 to 1 that is fitted on sources apart (ten folds). Source means, as "
        f"shares of the scale; Student's t; at least {LEAST} labelled sources.",
        "Near an end": "Below 0.1 and above 0.9 Wilson's interval, at the number of labels that the mean is worth, at "
        "most twice those there are.",
        "A label is worth": "The variance of people alone over that of the corrected mean: how many labels without the "
        "judge would be as sure, for each one there is. Below 1 the judge does not pay.",
        "People like these": "The interval that also holds for other people of the kind: the jackknife over persons "
        "added.",
    }
    return define(words, SOURCES)
