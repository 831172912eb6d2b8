"""The sentences below an audit's headline: how often each verdict occurs, which verdicts hold
together, and which judges refused too often.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any

from metal.auditing.together import ERROR
from metal.auditing.verdict import (
    DISAGREE,
    INFORMATIVE,
    LIKE_A_PERSON,
    UNDECIDED,
    UNINFORMATIVE,
)
from metal.data.text import capital, known, listed, percent, plural, within
from metal.questions.audit.avoid import silent
from metal.questions.audit.headline import NOT_ERRORS, NOT_RIGHT, in_plain_words, rank
from metal.questions.audit.holds import (
    Cells,
    judges_of,
    stands_together,
    surest,
    verdicts_of,
)
from metal.questions.audit.places import MOST_NAMED, each_place
from metal.questions.audit.run import AuditRun
from metal.questions.audit.verdicts import once
from metal.show.parts import case_of

SHOWN = 0.005  # less is 0% in words


def lead(run: AuditRun) -> str:
    """Say in plain words how often each verdict occurs, which of the best verdicts hold together,
    and which judges left too many questions unanswered.
    """
    cells = run.judged
    if len(cells) < 2:
        return ""
    counts = Counter(map(_counted_as, cells))
    if not counts[LIKE_A_PERSON]:  # the headline has counted these apart
        counts[INFORMATIVE] = counts.pop(OPEN, 0) + counts.pop(DIFFERS, 0)
    who = "it" if len(judges_of(cells)) == 1 else "a judge"
    says = {
        LIKE_A_PERSON: f"{who} is {run.best_verdict}",
        ONCE_ONLY: f"{who} is {run.best_verdict} once recalibrated",
        INFORMATIVE: f"{who} is informative (better than always giving the same answer)",
        OPEN: f"{who} is informative, and may be like a person or not",
        DIFFERS: f"{who} is informative, and shown not to be like a person",
        UNINFORMATIVE: f"{who} does hardly better than always giving the same answer",
        DISAGREE: "people disagree among themselves",
        UNDECIDED: "nothing can be said yet",
    }
    parts = [
        f"in {counts[verdict]:,} {claim}" for verdict, claim in says.items() if counts[verdict]
    ]
    sentences = [f"Of {len(cells):,} cases{_each_a(cells)}, {'; '.join(parts)}."]
    if len(parts) == 1:
        every = "both" if len(cells) == 2 else f"all {len(cells):,}"
        sentences = [f"In {every} cases{_each_a(cells)} {says[next(iter(counts))]}."]
    refused = silent(cells, judges_of(cells))
    sentences += [surest_in_words(run), _list_in_words(run, cells), refused, _luck(run)]
    return " ".join(filter(None, sentences))


ONCE_ONLY, OPEN, DIFFERS = "once", "open", "differs"


def _each_a(cells: Cells) -> str:
    """What the cases differ in, such as ` (one for each judge and language)`."""
    differ = [
        key for key in ("judge", "criterion", "language") if len({cell[key] for cell in cells}) > 1
    ]
    return f" (one for each {listed(differ)})"


def _counted_as(cell: Mapping[str, Any]) -> str:
    """The verdict of a cell; for an informative judge also whether it is shown not to be like a
    person.
    """
    if once(cell):
        return ONCE_ONLY
    if cell["verdict"] == INFORMATIVE:
        return DIFFERS if cell.get("not_like") else OPEN
    return str(cell["verdict"])


def _list_in_words(run: AuditRun, cells: Cells) -> str:
    """Say which verdicts *like a person* hold with all cases looked at together, and which only
    alone.

    Of the verdicts that hold together, at most 5% are expected to be wrong.
    """
    if "together" not in run.tables:
        return ""
    named, own = stands_together(run, cells)
    clauses = []
    if len(named) > MOST_NAMED:
        clauses.append(
            f"{capital(LIKE_A_PERSON)} with all cases looked at together: {_named(run, named)}"
        )
    if named and not (len(named) > MOST_NAMED and len(judges_of(named)) == 1):
        these = "these" if len(named) > MOST_NAMED else f"all that is called {LIKE_A_PERSON}"
        clauses.append(
            f"Of {these}, at most {ERROR:.0%} is expected to be a false finding {NOT_ERRORS}"
        )
    if own:
        each = "" if len(own) == 1 else " if each case is"
        clauses.append(
            f"{capital(LIKE_A_PERSON)} only{each} looked at alone: {_named(run, own)};"
            " have more outputs rated there before you rely on it"
        )
    return f"{'. '.join(clauses)}." if clauses else ""


def _named(run: AuditRun, cells: Cells) -> str:
    """All cells by name; if the audit has several judges, grouped by judge."""
    by_judge: dict[str, list[dict[str, Any]]] = {}
    for cell in cells:
        by_judge.setdefault(cell["judge"], []).append(cell)
    if len(judges_of(run.judged)) == 1:
        return each_place(run, cells)
    return "; ".join(f"{within(judge)} {each_place(run, of)}" for judge, of in by_judge.items())


def _luck(run: AuditRun) -> str:
    """How much better the best of several judges may look than it is; empty if no share is
    shown.
    """
    most = run.tables["picked"]["optimism"].max() if "picked" in run.tables else 0.0
    shares = [
        cell["share_kept"] for cell in run.judged if cell["verdict"] in (LIKE_A_PERSON, INFORMATIVE)
    ]
    if not most >= SHOWN or not any(map(known, shares)):
        return ""
    points = plural(round(100 * most), "percentage point")
    return (
        "The best of several judges looks a little better than it is: take up to"
        f" {points} off the share that it keeps of what a person knows."
    )


def surest_in_words(run: AuditRun) -> str:
    """If no judge is like a person: the case with the highest lower limit of the share kept, in
    words. Otherwise empty.
    """
    cells = run.judged
    verdicts = verdicts_of(cells)
    if len(cells) < 2 or INFORMATIVE not in verdicts or LIKE_A_PERSON in verdicts:
        return ""
    single = len(judges_of(cells)) == 1
    most = surest(run)
    if most:
        it = "it" if single else within(most["judge"])
        kept = f"{it} keeps at least {percent(most['kept_at_least'])} of what a person knows"
        return (
            f"Surest case: {case_of(run, most)}, where {kept} {NOT_RIGHT}, even after correction"
            f" for having picked it from {most['cells']:,} cases."
        )
    nearest = min(cells, key=partial(rank, end="_low"))  # a wide interval makes no best case
    it = "it" if single else within(nearest["judge"])
    return f"Best case: {case_of(run, nearest)}, where {it} {in_plain_words(nearest)}."
