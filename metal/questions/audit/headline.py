"""An audit in a sentence that can be quoted: where a judge agrees with people, and where not to use
it.

Several cells are spoken of together only as far as their p-values allow (metal.auditing.together):
of one judge in several languages by the list of each criterion, else by all cells of the audit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import Any

from metal.auditing.standing import NOTHING, ONE_PERSON
from metal.auditing.together import ERROR
from metal.auditing.verdict import (
    DISAGREE,
    INFORMATIVE,
    LIKE_A_PERSON,
    TURNED,
    UNDECIDED,
    UNINFORMATIVE,
    VERDICTS,
    today,
)
from metal.data.text import capital, estimate, known, listed, percent, plural, signed, within
from metal.questions.audit.holds import Cells, alone, of_judge, stands_together
from metal.questions.audit.places import (
    MOST_NAMED,
    case,
    count_of,
    each_criterion,
    each_place,
    for_words,
    in_words,
    of_cells,
    one_a_case,
    place,
)
from metal.questions.audit.run import AuditRun
from metal.questions.audit.verdicts import kept_of_person, merit, once

AGREES = "agrees with people as they agree with each other"
AGREE = "agree with people as they agree with each other"


def rank(cell: Mapping[str, Any], end: str = "") -> tuple[int, bool, float]:
    """Low for a good verdict and, among equal verdicts, for a judge that knows much (`merit`)."""
    return VERDICTS.index(today(cell["verdict"])), *merit(cell, end)


def knows(cell: Mapping[str, Any]) -> str:
    """What the judge keeps of what a person knows, or how far above a constant it is, with
    intervals.
    """
    if once(cell):
        return "is like a person once recalibrated"
    if known(cell["share_kept"]) and cell["share_kept"] < 0:
        return "is below a constant answer as given"
    kept = kept_of_person(cell, lambda row, column: estimate(row, column, percent))
    if not kept:
        return f"is {estimate(cell, 'above_constant', signed)} above a constant answer"
    if kept.startswith("keeps"):
        return f"{kept} of what a person knows"
    return f"keeps {kept.replace('exact', 'exact answers')} of a person's"


def headline(run: AuditRun) -> str:
    """The answer in a few sentences: where a judge agrees with people, what else it is good for,
    where not to use it, and where nobody can be judged.
    """
    claim, helps, avoid, disagreement = _sentences(run)
    return " ".join(filter(None, (claim, helps, avoid, disagreement)))


def opening(run: AuditRun) -> tuple[str, str]:
    """The headline in two: what stands large on the page, and what in the text below it."""
    claim, helps, avoid, disagreement = _sentences(run)
    if not claim:
        return disagreement, ""
    return f"{claim} {avoid}".strip(), f"{helps} {disagreement}".strip()


def _sentences(run: AuditRun) -> tuple[str, str, str, str]:
    """Of agreement, of what a judge may help with, of where not to use it, of people who
    disagree.
    """
    cells = run.judged
    if not cells:
        return "Only people were looked at: no judge took part.", "", "", ""
    judges = list(dict.fromkeys(cell["judge"] for cell in cells))
    if {cell["verdict"] for cell in cells} == {UNDECIDED}:
        return _undecided(cells, judges), "", "", ""
    claim = _claim(run, cells, judges)
    helps, avoid = _helps(run, cells, judges), _avoid(run, cells, judges)
    return claim, helps, avoid, _disagreement(run, cells)


def _claim(run: AuditRun, cells: Cells, judges: Sequence[str]) -> str:
    """What can be said of agreement with people; empty if nobody can be judged."""
    verdicts = {cell["verdict"] for cell in cells}
    if LIKE_A_PERSON in verdicts:
        return _good(run, cells, judges)
    if INFORMATIVE in verdicts:
        if all(alone(cell) or cell["verdict"] == UNDECIDED for cell in cells):
            return _one_person(run, cells)
        if len(cells) == 1:
            return _why_not(run, cells[0])
        if all(
            cell.get("not_like") or cell["verdict"] in (UNINFORMATIVE, DISAGREE) for cell in cells
        ):
            whom = (
                f"{within(judges[0])} nowhere"
                if len(judges) == 1
                else f"None of the {len(judges)} judges"
            )
            return f"{whom} {AGREES}."
        return f"{_nowhere(judges)} shown to {AGREE}."
    if UNINFORMATIVE in verdicts:
        return f"{_nowhere(judges)} shown to do better than always giving the same answer."
    return ""


def _nowhere(judges: Sequence[str]) -> str:
    """`gpt-4 is nowhere` or `None of the 3 judges is`, to be gone on with."""
    if len(judges) == 1:
        return f"{within(judges[0])} is nowhere"
    return f"None of the {len(judges)} judges is"


def _undecided(cells: Cells, judges: Sequence[str]) -> str:
    """Nothing can be said anywhere."""
    whom = within(judges[0]) if len(judges) == 1 else f"any of the {len(judges)} judges"
    why = "there are too few ratings, or they are too uncertain"
    if all(NOTHING in cell["reason"] for cell in cells):
        why = f"there is {NOTHING} in people's ratings"
    return f"Whether {whom} can be trusted is still undecided: {why}."


def _one_person(run: AuditRun, cells: Cells) -> str:
    """One person an item: at best informative."""
    singles = [cell for cell in cells if alone(cell)]
    why = "Too few outputs have two people's ratings"
    if all(ONE_PERSON in str(cell["unshown"]) for cell in singles):
        people = sum(rater.kind == "human" for rater in run.raters.values())
        why = "One person rated" if people == 1 else "Each output has one person's rating"
    if len(singles) == len(cells):
        return f"{why}: no judge can be shown to be like a person."
    return (
        f"{why} {in_words(run, singles, cells)}: no judge can be shown to be like a person there."
    )


def _why_not(run: AuditRun, cell: Mapping[str, Any]) -> str:
    """A single case: not like a person, or not shown to be, and for which reason."""
    does = "does not" if cell.get("not_like") else "is not shown to"
    claim = f"{within(cell['judge'])} {does} {AGREE} {place(run, cell)}"
    if once(cell):
        return f"{claim}: it is like a person once recalibrated."
    return f"{claim}: {cell.get('plainly') or 'it ' + knows(cell)}."


def _helps(run: AuditRun, cells: Cells, judges: Sequence[str]) -> str:
    """Where a judge that is not shown to be like a person still knows something."""
    helpful = [cell for cell in cells if cell["verdict"] == INFORMATIVE]
    good = any(cell["verdict"] == LIKE_A_PERSON for cell in cells)
    if not helpful or (good and len(judges) > 1):
        return ""
    if len(judges) == 1:
        also = "also " if good else ""
        return f"To rank outputs it may {also}help{of_cells(run, helpful, cells)}."
    return f"To rank outputs {_who_may_help(run, helpful, cells, judges)}."


def _who_may_help(run: AuditRun, helpful: Cells, cells: Cells, judges: Sequence[str]) -> str:
    """Which of several judges may help, and where or how often."""
    often, of_all = (Counter(cell["judge"] for cell in some) for some in (helpful, cells))
    best = max(often, key=often.__getitem__)
    who = _how_many_of(often, judges)
    if len(set(map(case, cells))) == 1:
        return f"{who} may help"
    if len(often) == 1:
        return f"{who} may help{of_cells(run, helpful, of_judge(best, cells))}"
    as_good = [each for each in often if (often[each], of_all[each]) == (often[best], of_all[best])]
    where = count_of(of_judge(best, helpful), of_judge(best, cells))
    if len(as_good) == len(often):
        return f"{who} may help {where}"
    return f"{who} may help somewhere, {_how_many_of(as_good, ())} {where}"


def _how_many_of(some: Collection[str], judges: Sequence[str]) -> str:
    """`each of them`, their names where they are few, or how many."""
    if len(some) == len(judges):
        return "each of them"
    if len(some) <= MOST_NAMED:
        return listed([within(judge) for judge in some])
    return f"{len(some):,} of them"


def _disagreement(run: AuditRun, cells: Cells) -> str:
    """Where people disagree among themselves, and what is said of the rest, if nothing was yet."""
    verdicts = {cell["verdict"] for cell in cells}
    if DISAGREE not in verdicts:
        return ""
    disagree = one_a_case([cell for cell in cells if cell["verdict"] == DISAGREE])
    cases = f"in {len(disagree)} cases"
    if len(disagree) <= MOST_NAMED:
        cases = f"on {listed(each_criterion(run, disagree))}"
    if verdicts == {DISAGREE}:
        return f"Nobody can be judged here: people disagree among themselves {cases}."
    sentence = f"People disagree {cases}."
    if verdicts == {DISAGREE, UNDECIDED}:
        return f"{sentence} Elsewhere there are too few ratings, or they are too uncertain."
    return sentence


def _good(run: AuditRun, cells: Cells, judges: Sequence[str]) -> str:
    """Some judge is like a person somewhere."""
    named, own = stands_together(run, cells)
    does = _phrase(run)
    wins = Counter(cell["judge"] for cell in named or own)
    best = max(wins, key=wins.__getitem__)
    good, of_best = of_judge(best, named or own), of_judge(best, cells)
    if not named:
        who = f"A judge {does} {count_of(own, cells)}"
        if len(wins) == 1:
            who = f"{within(best)} {does} {in_words(run, good, of_best)}"
        return _looked_at_alone(who, own, cells)
    if len(wins) > 1:
        return f"{_several(run, named, judges, does)}{_by_own(own)}."
    where = in_words(run, good, of_best) + _expected_wrong(run, good)
    if own_of_best := of_judge(best, own):
        where += f", and {in_words(run, own_of_best, of_best)} by its own verdict only"
    if len(judges) == 1:
        return f"{within(best)} {does} {where}."
    others = _by_own([cell for cell in own if cell["judge"] != best])
    return f"{within(best)} {does} {where}{others}{_of_the_others(len(judges) - 1)}."


def _of_the_others(number: int) -> str:
    """What is said of judges beside those that are named."""
    others = "other judge" if number == 1 else f"other {number} judges"
    return f"; of the {others} this is not shown" if number else ""


def _several(run: AuditRun, good: Cells, judges: Sequence[str], does: str) -> str:
    """Several judges are like a person: who, where; or how often, where these are many."""
    of_each: dict[str, list[dict[str, Any]]] = {}
    for cell in good:
        of_each.setdefault(cell["judge"], []).append(cell)
    if len(of_each) <= MOST_NAMED + 1 and max(map(len, of_each.values())) <= MOST_NAMED:
        return _each_by_name(run, of_each, does) + _of_the_others(len(judges) - len(of_each))
    return _most_often(run, of_each, judges, does)


def _each_by_name(run: AuditRun, of_each: Mapping[str, Cells], does: str) -> str:
    """A few judges, each with its places; together where these are the same."""
    each, names = AGREE if does == AGREES else does, listed([*map(within, of_each)])
    (first, good), *more = of_each.items()
    if len(set(map(case, run.judged))) == 1:
        return f"{names} {each} {place(run, good[0])}"
    if len({frozenset(map(case, cells)) for cells in of_each.values()}) == 1:
        return f"{names} each {each} {each_place(run, good)}"
    parts = [f"{within(judge)} {each_place(run, cells)}" for judge, cells in more]
    return f"{within(first)} {does} {each_place(run, good)}, {listed(parts)}"


def _most_often(
    run: AuditRun, of_each: Mapping[str, Cells], judges: Sequence[str], does: str
) -> str:
    """Who of several judges is like a person in the most cases."""
    cells, each = run.judged, AGREE if does == AGREES else does
    most = max(map(len, of_each.values()))
    ahead = [judge for judge, good in of_each.items() if len(good) == most]
    if len(ahead) > MOST_NAMED + 1:
        often = count_of(list(chain.from_iterable(of_each.values())), cells)
        return capital(f"{often} a judge {does}, none of the {len(judges)} in more than {most}")
    where = count_of(of_each[ahead[0]], of_judge(ahead[0], cells))
    if len(ahead) == 1:
        fewer = f"more often than any other of the {len(judges)} judges"
        return f"{within(ahead[0])} {does} {where}, {fewer}"
    fewer = ", the other judges in fewer" if len(judges) > len(ahead) else ""
    return f"{listed([*map(within, ahead)])} each {each} {where}{fewer}"


def _expected_wrong(run: AuditRun, good: Cells) -> str:
    """How many of many cases may be named wrongly; empty of few, or where they were not looked at
    together.
    """
    if len(good) <= MOST_NAMED or "together" not in run.tables:
        return ""
    several = len({cell["criterion"] for cell in good}) > 1
    of_these = "each at most {:.0%} expected" if several else "which at most {:.0%} are expected"
    return f", of {of_these.format(ERROR)} to be named wrongly"


def _looked_at_alone(claim: str, own: Cells, cells: Cells) -> str:
    """The claim, which does not hold when all cases are looked at together."""
    alone = "" if len(own) == 1 else "each "
    return f"{claim}, {alone}looked at alone: of {len(cells):,} cases some may look so by luck."


def _by_own(own: Cells) -> str:
    """`; in 2 more cases by their own verdict only`, as the table has them; empty without any."""
    whose = "its" if len(own) == 1 else "their"
    return f"; {plural(len(own), 'more case')} by {whose} own verdict only" if own else ""


def _phrase(run: AuditRun) -> str:
    """What *like a person* says; runs before version 0.2 say it by other rules, and in
    other words.
    """
    return (
        AGREES
        if run.best_verdict == LIKE_A_PERSON
        else f"is {run.best_verdict} (by the rules before version 0.2)"
    )


def _avoid(run: AuditRun, cells: Cells, judges: Sequence[str]) -> str:
    """Where not to use a judge: where it is shown to know hardly more than a constant. Empty where
    that is nowhere.
    """
    useless = [cell for cell in cells if cell["verdict"] == UNINFORMATIVE]
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
    """Where not to use the one judge."""
    doubt = ""
    if all(TURNED in str(cell["reason"]) for cell in useless):
        doubt = f" as it is: {TURNED}"
    if len(useless) == len(cells):
        return f"Do not use it{doubt}."
    if len(useless) > MOST_NAMED:
        return f"Do not use it where it is uninformative: {count_of(useless, cells)}."
    return f"Do not use it {for_words(run, useless)}{doubt}."


def _all_useless(useless: Cells, cells: Cells) -> Cells:
    """A cell of each place where all judges are useless; nothing where these are many."""
    often, judged = Counter(map(case, useless)), Counter(map(case, cells))
    cell_at = {case(cell): cell for cell in useless if often[case(cell)] == judged[case(cell)]}
    return list(cell_at.values()) if len(cell_at) <= MOST_NAMED else []


def _avoid_some(run: AuditRun, useless: Cells, cells: Cells, everywhere: Sequence[str]) -> str:
    """Which of several judges not to use, and where. everywhere: those of no use at all."""
    if not useless:
        return ""
    somewhere = [cell for cell in useless if cell["judge"] not in everywhere]
    if len(everywhere) > MOST_NAMED:
        return f"Do not use a judge where it is uninformative: {count_of(useless, cells)}."
    parts = [listed([within(judge) for judge in everywhere])] if everywhere else []
    if len(somewhere) > MOST_NAMED:
        others = [cell for cell in cells if cell["judge"] not in everywhere]
        another = "another" if everywhere else "a judge"
        parts.append(f"{another} where it is uninformative: {count_of(somewhere, others)}")
    else:
        for judge in dict.fromkeys(cell["judge"] for cell in somewhere):
            parts.append(f"{within(judge)} {for_words(run, of_judge(judge, somewhere))}")
    return f"Do not use {', nor '.join(parts)}."
