"""The first screen of a leaderboard: which generator people put first, and whether it is shown to
be better.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from metal.boards.cells import ALL_LANGUAGES
from metal.data.text import plural, score, within
from metal.questions.leaderboard.coverage import commands
from metal.questions.leaderboard.run import Leaderboard, form_of, has_own_mean, in_own_units
from metal.questions.leaderboard.words import (
    differing_texts,
    first_by_language,
    not_shown_worse,
    score_of,
    why_alone,
)
from metal.show.parts import go_on, main_place
from metal.show.rankings import people_in_words
from metal.show.view import Remark


def headline(run: Leaderboard) -> str:
    """The answer in a sentence."""
    rows, on_main = run.ranking(run.main, run.language), main_place(run)
    best = rows[0]
    who, points = within(best["generator"]), f"({_points(run, best)})"
    if len(rows) == 1:
        return f"{who} is the only generator that people rated {on_main} {points}."
    first = f"People put {who} first {on_main} {points}"
    rivals = [row for row in rows[1:] if not why_alone(row)]
    if why_alone(best) or not rivals:
        return (
            f"{first}, but it cannot be compared with the others: {why_alone(best) or 'no test'}."
        )
    alike = not_shown_worse(run, best)
    if len(alike) == 1:
        return f"{first}; {within(alike[0])} is not shown to be worse."
    if alike:
        return f"{first}; {len(alike)} others are not shown to be worse."
    compared = f"the {len(rivals) if len(rivals) > 1 else 'one'} it can be compared with"
    if len(rivals) == len(rows) - 1:
        compared = "the other" if len(rows) == 2 else "the others"
    return f"{first}, significantly ahead of {compared}."


def _points(run: Leaderboard, row: dict[str, Any]) -> str:
    """A score for the headline, with its scale."""
    value = form_of(row)(row["score"])
    if not in_own_units(row):
        mean = f"; mean {score(row['mean'])}" if has_own_mean(row) else ""
        return f"{value} of 1{mean}"
    return f"mean {value}, {run.criteria[run.main].direction} is better"


def lead(run: Leaderboard) -> str:
    """Say which generator is next, and how many cannot be compared."""
    rows = run.ranking(run.main, run.language)
    if len(rows) == 1:
        return ""
    comparable = [row for row in rows if not why_alone(row)]
    following, role = rows[1], "Next"
    if why_alone(rows[0]) and comparable:
        following, role = comparable[0], "First of those that can be compared"
    alone = len(rows) - len(comparable)
    apart = f" {alone} of {len(rows)} cannot be compared with most others." if alone else ""
    return f"{role} is {within(following['generator'])}, {score_of(following)}.{apart}"


def scope(run: Leaderboard) -> str:
    """What was compared, for the line above the headline."""
    ratings = sum(int(row["ratings"]) for row in run.ranking(run.main, run.language))
    generators = plural(run.tables["leaderboard"]["generator"].nunique(), "generator")
    languages = plural(sum(code != ALL_LANGUAGES for code in run.languages), "language")
    return " · ".join([generators, people_in_words(run), languages, plural(ratings, "rating")])


def cards(run: Leaderboard) -> Iterator[Remark]:
    """Cards: what to be careful about, which generator is first in each language, and what to do
    next.
    """
    if differing := differing_texts(run.ranking(run.main, run.language)):
        yield Remark("Beware of different texts", differing)
    if first := first_by_language(run):
        yield Remark("Language by language", first)
    for generator, command in commands(run)[:1]:
        yield Remark(
            "What to do next",
            f"Nobody has rated {within(generator)} yet. Give its outputs to people:",
            command,
        )
        return
    if all(map(in_own_units, run.records("leaderboard"))):  # which `metal design` cannot plan
        yield _without_ends(run)
        return
    advice = "Plan how many more ratings make the scores as precise as you need:"
    yield Remark("What to do next", advice, go_on(run, "design"))


def _without_ends(run: Leaderboard) -> Remark:
    """What to do next if no scale has ends: rank the metrics and judges by these people, or see how
    far the people agree.
    """
    title = "What to do next"
    if not run.tables["beside"].empty:
        return Remark(title, "Rank the metrics by these people:", go_on(run, "billboard"))
    return Remark(title, "See how far these people agree:", go_on(run, "audit"))
