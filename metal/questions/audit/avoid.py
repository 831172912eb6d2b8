"""Where not to use a judge, which cases are still open, and who left questions unanswered: the end
of an audit's headline.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from metal.auditing.clauses import MIN_COVERAGE
from metal.auditing.verdict import (
    DISAGREE,
    INFORMATIVE,
    LIKE_A_PERSON,
    TURNED,
    UNDECIDED,
    UNINFORMATIVE,
)
from metal.data.languages import language_name
from metal.data.text import capital, coverage, known, listed, plural, within
from metal.questions.audit.holds import (
    Cells,
    alone,
    judges_of,
    of_judge,
    verdicts_of,
    with_verdict,
)
from metal.questions.audit.places import MOST_NAMED, by_name, case, count_of, counts_of, for_words
from metal.questions.audit.run import AuditRun


def avoid(run: AuditRun, cells: Cells, judges: Sequence[str]) -> str:
    """A sentence on where not to use a judge, because it is shown to know hardly more than a
    constant. Empty if there is no such case.
    """
    useless = with_verdict(UNINFORMATIVE, cells)
    if not useless:
        return ""
    if len(judges) == 1:
        return _avoid_it(run, useless, cells)
    if len(useless) == len(cells):
        return "Do not use them."
    useless_of = Counter(cell["judge"] for cell in useless)
    cells_of = Counter(cell["judge"] for cell in cells if cell["verdict"] != DISAGREE)
    everywhere = [judge for judge in judges if useless_of[judge] == cells_of[judge]]
    none = [] if everywhere else _all_useless(useless, cells)
    rest = [cell for cell in useless if case(cell) not in map(case, none)]
    sentence = f"Use none of them {for_words(run, none)}." if none else ""
    return f"{sentence} {_avoid_some(run, rest, cells, everywhere)}".strip()


def _avoid_it(run: AuditRun, useless: Cells, cells: Cells) -> str:
    """A sentence on where not to use the audit's only judge."""
    turned = all(TURNED in str(cell["reason"]) for cell in useless)
    if len(useless) == len(cells):
        return "Do not use it as it is." if turned else "Do not use it."
    doubt = f" as it is: {TURNED}" if turned else ""
    if verdicts_of(cells) == {UNINFORMATIVE, DISAGREE}:
        return f"Do not use it there{' as it is' * turned}."
    if len(useless) > MOST_NAMED:
        return f"Do not use it {count_of(useless, cells)}: those marked uninformative."
    return f"Do not use it {for_words(run, useless)}{doubt}."


def _all_useless(useless: Cells, cells: Cells) -> Cells:
    """One cell for each place in which all judges are useless; empty if there are many such
    places.
    """
    often, judged = Counter(map(case, useless)), Counter(map(case, cells))
    cell_at = {case(cell): cell for cell in useless if often[case(cell)] == judged[case(cell)]}
    return list(cell_at.values()) if len(cell_at) <= MOST_NAMED else []


def _avoid_some(run: AuditRun, useless: Cells, cells: Cells, everywhere: Sequence[str]) -> str:
    """Which of several judges not to use, and where. everywhere: the judges that are useless in
    every case.
    """
    if not useless:
        return ""
    somewhere = [cell for cell in useless if cell["judge"] not in everywhere]
    if len(everywhere) > MOST_NAMED:
        return f"Do not use a judge {count_of(useless, cells)}, those marked uninformative."
    parts = [f"{listed([within(judge) for judge in everywhere])} at all"] if everywhere else []
    if len(somewhere) > MOST_NAMED >= len(judges_of(somewhere)):
        names = judges_of(somewhere)
        for judge, in_cases in zip(names, counts_of(names, somewhere, cells), strict=True):
            parts.append(f"{within(judge)} {in_cases}")
    elif len(somewhere) > MOST_NAMED:
        others = [cell for cell in cells if cell["judge"] not in everywhere]
        judge = "another judge" if everywhere else "a judge"
        parts.append(f"{judge} {count_of(somewhere, others)}, those marked uninformative")
    else:
        for judge in judges_of(somewhere):
            parts.append(f"{within(judge)} {for_words(run, of_judge(judge, somewhere))}")
    return f"Do not use {', nor '.join(parts)}."


def silent(cells: Cells, judges: Sequence[str]) -> str:
    """A sentence on judges that left many questions unanswered: in all languages or in some; on
    some criteria, if there is one language.
    """
    by = "language" if len({cell["language"] for cell in cells}) > 1 else "criterion"
    shares = _shares_by(by, cells)
    low = {group: share for group, share in shares.items() if share < MIN_COVERAGE}
    silent_ones, enough = {judge for judge, _ in low}, {judge for judge, _ in {*shares} - {*low}}
    names = [judge for judge in judges if judge in silent_ones]
    if not low:
        return ""
    if enough.isdisjoint(names) and len(names) <= MOST_NAMED:
        who, its = listed([*map(within, names)]), "its" if len(names) == 1 else "their"
        often = listed([coverage(_answered(of_judge(judge, cells))) for judge in names])
        return f"{who} answered only {often} of {its} questions ({MIN_COVERAGE:.0%} needed)."
    return _silent_somewhere(names, low, by)


def _shares_by(by: str, cells: Cells) -> dict[tuple[str, str], float]:
    """The share that each judge answered, by language or criterion."""
    of_each: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for cell in cells:
        of_each.setdefault((cell["judge"], cell[by]), []).append(cell)
    return {group: _answered(some) for group, some in of_each.items()}


def _silent_somewhere(names: Sequence[str], low: Mapping[tuple[str, str], float], by: str) -> str:
    """The sentence if judges answered enough in other languages or on other criteria.

    low: the share answered, by judge and language or criterion.
    """
    named = [
        f"in {language_name(value)}" if by == "language" else f"on {within(value)}"
        for _, value in low
    ]
    if len(names) > 1 or len(low) > MOST_NAMED:
        number = len({*named})
        places = f"In {plural(number, 'language')}"
        if by == "criterion":
            places = f"On {plural(number, 'criterion', 'criteria')}"
        return f"{places} a judge answered less than the {MIN_COVERAGE:.0%} needed."
    often = [*map(coverage, low.values())]
    often[0] += " of its questions"
    parts = [f"{share} {asked_in}" for share, asked_in in zip(often, named, strict=True)]
    return f"{within(names[0])} answered only {listed(parts)} ({MIN_COVERAGE:.0%} needed)."


def _answered(cells: Cells) -> float:
    """The share of the questions in all these cells that were answered; 1 if none was asked. Cells
    of scores do not count, because their questions are not counted.
    """
    counted = [cell for cell in cells if known(cell["asked"])]
    asked = sum(cell["asked"] for cell in counted)
    return sum(cell["answered"] for cell in counted) / asked if asked else 1.0


def undecided(run: AuditRun, cells: Cells) -> str:
    """A sentence on the cases that are still open; empty if the headline has already said so."""
    still_open = with_verdict(UNDECIDED, cells)
    if not still_open or _said_already(cells):
        return ""
    if len(still_open) <= MOST_NAMED:
        return f"Nothing can be said yet of {by_name(run, still_open, cells)}."
    names = judges_of(still_open)
    of_names = [cell["verdict"] for cell in cells if cell["judge"] in names]
    if len(names) <= MOST_NAMED and {*of_names} <= {UNDECIDED, DISAGREE}:
        return f"Nothing can be said yet of {listed([*map(within, names)])}."
    return f"{capital(count_of(still_open, cells))} nothing can be said yet."


def _said_already(cells: Cells) -> bool:
    """Whether the headline has already counted the open cases, in its claim or in its sentence on
    people who disagree.
    """
    rest = [cell for cell in cells if cell["verdict"] != UNDECIDED]
    verdicts = verdicts_of(rest)
    if LIKE_A_PERSON in verdicts:
        return False
    return verdicts <= {DISAGREE} or (INFORMATIVE in verdicts and not all(map(alone, rest)))
