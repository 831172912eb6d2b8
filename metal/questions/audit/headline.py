"""An audit in a sentence that can be quoted: where a judge agrees with people, and where not to use
it.

A sentence covers several cells only as far as their corrected p-values allow
(metal.auditing.together). For one judge in several languages, p-values are corrected within each
criterion; otherwise, over all cells of the audit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from metal.auditing.clauses import ANSWERED_ONLY
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
from metal.questions.audit.avoid import avoid, silent, undecided
from metal.questions.audit.confirmed import hardly_confirmed_cases
from metal.questions.audit.helps import ONCE_RECALIBRATED, helps
from metal.questions.audit.holds import (
    MOST_CRITERIA,
    Cells,
    a_list_each,
    alone,
    falls_short,
    judges_of,
    of_judge,
    stands_together,
    verdicts_of,
    with_verdict,
)
from metal.questions.audit.places import (
    MOST_NAMED,
    by_name,
    case,
    count_of,
    counted,
    each_criterion,
    each_place,
    how_many_of,
    in_words,
    of_cells,
    one_a_case,
    place,
)
from metal.questions.audit.run import AuditRun
from metal.questions.audit.verdicts import merit, once

AGREES = "agrees with people as well as they agree with each other"
AGREE = "agree with people as well as they agree with each other"
LESS = "agrees with people less than they agree with each other"
NOT_SHOWN = "this is not shown"
NOT_ERRORS = "(not how often the judge errs)"
NOT_RIGHT = "(not how often it is right)"


def rank(cell: Mapping[str, Any], end: str = "") -> tuple[int, bool, float]:
    """A sort key for cells. It is low for a good verdict and, among equal verdicts, for a judge
    that knows much (`merit`).
    """
    return VERDICTS.index(today(cell["verdict"])), *merit(cell, end)


def knows(cell: Mapping[str, Any]) -> str:
    """A phrase on how much of what a person knows the judge keeps, or how far above a constant it
    is, with intervals.
    """
    if once(cell):
        return "is like a person once recalibrated"
    if known(cell["share_kept"]) and cell["share_kept"] < 0:
        return "is below a constant answer as given"
    exact = estimate(cell, "share_kept", percent) if known(cell["share_kept"]) else ""
    order = estimate(cell, "order_kept", percent) if known(cell.get("order_kept")) else ""
    if order:
        by_order = "by the order of outputs"
        if exact:
            return f"keeps {exact} of what a person knows by exact answers, {order} {by_order}"
        return f"keeps {order} of what a person knows {by_order}"
    if exact:
        return f"keeps {exact} of what a person knows"
    return f"is {estimate(cell, 'above_constant', signed)} above a constant answer"


def in_plain_words(cell: Mapping[str, Any]) -> str:
    """Like `knows`, for a reader without statistics: it contains no number that would need an
    explanation.
    """
    known_share = knows(cell)
    if "%" in known_share:
        return f"{known_share} {NOT_RIGHT}"
    explained = once(cell) or known(cell["share_kept"])
    return known_share if explained else "is better than always giving the same answer"


def headline(run: AuditRun) -> str:
    """The answer in a few sentences: where a judge agrees with people, what else it is good for,
    where not to use it, and where nobody can be judged.
    """
    return _joined(_sentences(run))


def opening(run: AuditRun) -> tuple[str, str]:
    """The headline in two parts: the one that stands large on the page, and the text below it."""
    claim, helpful, useless, disagreement, unanswered = _sentences(run)
    if not claim:
        return disagreement, ""
    return _joined((claim, useless)), _joined((helpful, disagreement, unanswered))


def _sentences(run: AuditRun) -> tuple[str, str, str, str, str]:
    """The parts of the headline: on agreement, on what a judge may help with, on where not to use
    it, on people who disagree, and on cases and questions that are left open.
    """
    cells = run.judged
    if not cells:
        return _no_judge(run), "", "", "", ""
    judges = judges_of(cells)
    if verdicts_of(cells) == {UNDECIDED}:
        return _undecided(cells, judges), "", "", "", ""
    claim = _claim(run, cells, judges)
    helpful, useless = helps(run, cells, judges), avoid(run, cells, judges)
    disagreement, unanswered = _disagreement(run, cells), ""
    if len(cells) > 1:  # of a single case it is the reason already
        unanswered = _joined((undecided(run, cells), silent(cells, judges)))
    return claim, helpful, useless, disagreement, unanswered


def _no_judge(run: AuditRun) -> str:
    """A sentence on why there is no verdict at all."""
    metrics = run.rankable.metrics
    if not metrics:
        return "Only people were looked at: no judge took part."
    which = "the metric" if metrics == 1 else f"the {metrics} metrics"
    return (
        "No judge took part, so there is no verdict. Metrics get none, because they do not answer"
        f" on people's scale; `metal billboard` ranks {which} by agreement with people."
    )


def _joined(sentences: Iterable[str]) -> str:
    return " ".join(filter(None, sentences))


def _claim(run: AuditRun, cells: Cells, judges: Sequence[str]) -> str:
    """The claim about agreement with people; empty if no judge can be judged."""
    verdicts = verdicts_of(cells)
    if LIKE_A_PERSON in verdicts:
        return _joined((_good(run, cells, judges), _hardly_confirmed(run, cells)))
    if INFORMATIVE in verdicts:
        if all(alone(cell) or cell["verdict"] == UNDECIDED for cell in cells):
            return _one_person(run, cells)
        return _why_not(run, cells[0]) if len(cells) == 1 else _not_like(run, cells, judges)
    if UNINFORMATIVE in verdicts:
        return _no_better(run, cells, judges)
    return ""


def _not_like(run: AuditRun, cells: Cells, judges: Sequence[str]) -> str:
    """The claim if no judge is shown to be like a person: how often a judge is shown not to be, and
    how often this is open.
    """
    less = [cell for cell in cells if falls_short(cell)]
    recalibrated = list(filter(once, cells))
    settled = [*less, *recalibrated, *with_verdict(DISAGREE, cells)]
    # what refuses too often is not like a person, which the headline says at its end
    settled += [cell for cell in cells if ANSWERED_ONLY in cell["reason"]]
    still_open = [cell for cell in cells if cell not in settled]
    whom = within(judges[0]) if len(judges) == 1 else f"any of the {len(judges)} judges"
    if not still_open:
        return _not_open(run, less, recalibrated, judges)
    if not less:
        in_cases = _unless_all(run, still_open, cells)
        if in_cases and len(judges) > 1:
            in_cases = f" {count_of(still_open, cells)}"
        return f"Whether {whom} {AGREES} is still open{in_cases}."
    rest = f"{count_of(less, cells)}; in {len(still_open):,} this is still open"
    if len(still_open) <= MOST_NAMED:
        rest = f"{count_of(less, cells)}; still open: {by_name(run, still_open, cells)}"
    if len(judges) == 1:
        return f"{whom} {LESS} {rest}."
    return f"None of the {len(judges)} judges is shown to {AGREE}: a judge agrees less {rest}."


def _not_open(run: AuditRun, less: Cells, recalibrated: Cells, judges: Sequence[str]) -> str:
    """The claim if no case is open: each judge agrees less, refuses too often, or would have to be
    recalibrated.
    """
    if len(judges) > 1:
        none = "As they are, none" if recalibrated else "None"
        return f"{none} of the {len(judges)} judges {AGREES}."
    whom = within(judges[0])
    if less:
        return f"{whom} {LESS}{of_cells(run, less, run.judged)}."
    if not recalibrated:  # it refuses too often everywhere, which the headline says at its end
        return f"{whom} is not shown to {AGREE}."
    return f"{whom} {AGREES}{of_cells(run, recalibrated, run.judged)}, but {ONCE_RECALIBRATED}."


def _unless_all(run: AuditRun, some: Cells, cells: Cells) -> str:
    """A phrase such as ` in 3 of 4 cases`, or the cases by name; empty if it would be all cases."""
    return of_cells(run, some, cells) if len(some) < len(cells) else ""


def _no_better(run: AuditRun, cells: Cells, judges: Sequence[str]) -> str:
    """The claim if no judge is shown to do better than a constant answer."""
    useless = with_verdict(UNINFORMATIVE, cells)
    if len(judges) == 1:
        claim = "is hardly better than always giving the same answer"
        if all(TURNED in str(cell["reason"]) for cell in useless):
            claim = TURNED.removeprefix("it ")
        return f"{within(judges[0])} {claim}{_unless_all(run, useless, cells)}."
    does = "is shown to be" if len(useless) < len(cells) else "is much"
    return f"None of the {len(judges)} judges {does} better than always giving the same answer."


def _undecided(cells: Cells, judges: Sequence[str]) -> str:
    """The claim if every case is undecided."""
    whom = within(judges[0]) if len(judges) == 1 else f"any of the {len(judges)} judges"
    why = "there are too few ratings, or they are too uncertain"
    if all(NOTHING in cell["reason"] for cell in cells):
        why = f"there is {NOTHING} in people's ratings"
    return f"Whether {whom} can be trusted is still undecided: {why}."


def _one_person(run: AuditRun, cells: Cells) -> str:
    """The claim if each item has one person, so that a judge is at best informative."""
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
    """The reason why the judge of a single case is not like a person, or is not shown to be."""
    judge = within(cell["judge"])
    if once(cell):
        return f"{judge} {AGREES} {place(run, cell)}, but {ONCE_RECALIBRATED}."
    claim = f"Whether {judge} {AGREES} {place(run, cell)} is still open"
    if ANSWERED_ONLY in cell["reason"]:
        claim = f"{judge} is not shown to {AGREE} {place(run, cell)}"
    if cell.get("not_like"):
        claim = f"{judge} {LESS} {place(run, cell)}"
    return f"{claim}. {capital(cell.get('plainly') or 'it ' + in_plain_words(cell))}."


def _disagreement(run: AuditRun, cells: Cells) -> str:
    """A sentence on where people disagree among themselves, and on the other cases if nothing has
    been said about them.
    """
    verdicts = verdicts_of(cells)
    if DISAGREE not in verdicts:
        return ""
    disagree = one_a_case(with_verdict(DISAGREE, cells))
    cases = f"in {len(disagree)} cases"
    if len(disagree) <= MOST_NAMED:
        cases = f"on {listed(each_criterion(run, disagree))}"
    if verdicts == {DISAGREE}:
        return f"Nobody can be judged here: people disagree among themselves {cases}."
    sentence = f"People disagree {cases}: no judge can be tested there."
    if verdicts == {DISAGREE, UNDECIDED}:
        rest = one_a_case(with_verdict(UNDECIDED, cells))
        in_cases = capital(in_words(run, rest, one_a_case(cells)))
        return (
            f"{sentence} {in_cases} nothing can be said yet: there are too few ratings, or they are"
            " too uncertain."
        )
    return sentence


def _hardly_confirmed(run: AuditRun, cells: Cells) -> str:
    """A sentence on cases in which a judge is like people who hardly confirm each other, so that it
    is unknown who is right.
    """
    doubtful = one_a_case(hardly_confirmed_cases(run, cells))
    if not doubtful:
        return ""
    cases = f" in {len(doubtful)} cases"
    if len(doubtful) <= MOST_NAMED:
        cases = f" on {listed(each_criterion(run, doubtful))}"
    if len(doubtful) == len(one_a_case(cells)):
        cases = ""
    return (
        f"But{cases} people hardly confirm each other, so this cannot show who is right: let"
        " somebody who knows decide."
    )


def _good(run: AuditRun, cells: Cells, judges: Sequence[str]) -> str:
    """The claim if some judge is like a person in some case."""
    named, own = stands_together(run, cells)
    does = _phrase(run)
    wins = Counter(cell["judge"] for cell in named or own)
    best = max(wins, key=wins.__getitem__)
    good, of_best = of_judge(best, named or own), of_judge(best, cells)
    if not named:
        who = f"A judge {does} {count_of(own, cells)}"
        if len(wins) == 1:
            who = f"{within(best)} {does} {in_words(run, good, of_best)}"
        only = "if each is looked at alone"
        if len(own) == 1:
            only = "looked at alone"
        return f"{who}, {only}; among {len(cells):,} {counted(cells)} some may look so by luck."
    if len(wins) > 1:
        return f"{_several(run, named, judges, does)}.{_only_alone(own)}"
    in_cases = in_words(run, good, of_best)
    rest = [cell for cell in cells if cell["judge"] != best]
    claim = f"{within(best)} {does} {in_cases}{_of_the_others(rest)}.{_expected_wrong(run, good)}"
    if len(judges) > 1 or not own:
        return f"{claim}{_only_alone(own)}"
    only = "if looked at alone" if len(own) == 1 else "if each is looked at alone"
    return f"{claim} {capital(in_words(run, own, of_best))} it does so only {only}."


def _of_the_others(rest: Cells) -> str:
    """A sentence on the judges that were not named. Empty if there are none, or if each would be
    like a person once recalibrated, because another sentence says so.
    """
    recalibrated = {cell["judge"] for cell in rest if once(cell)}
    rest = [cell for cell in rest if cell["judge"] not in recalibrated]
    judges = judges_of(rest)
    if not judges:
        return ""
    several = len(judges) > 1
    less = all(falls_short(cell) or cell["verdict"] == DISAGREE for cell in rest)
    if recalibrated:
        who = how_many_of(judges)
        return f"; {who} do{'es' * (not several)} not" if less else f"; for {who} {NOT_SHOWN}"
    if less:
        return (
            f"; none of the other {len(judges)} does" if several else "; the other judge does not"
        )
    return _worse_and_others(rest, judges)


def _worse_and_others(rest: Cells, judges: Sequence[str]) -> str:
    """A sentence on judges that were not named, of which some may be like a person."""
    worse = [judge for judge in judges if all(map(falls_short, of_judge(judge, rest)))]
    clause, left = "", list(judges)
    if 0 < len(worse) <= MOST_NAMED:
        agree = "agrees" if len(worse) == 1 else "agree"
        clause = f"; {listed([*map(within, worse)])} {agree} less"
        left = [judge for judge in judges if judge not in worse]
    others = f"the other {len(left)} judges"
    if len(left) <= MOST_NAMED:
        others = listed([*map(within, left)])
    return f"{clause}; for {others} {NOT_SHOWN}"


def _several(run: AuditRun, good: Cells, judges: Sequence[str], does: str) -> str:
    """The claim if several judges are like a person: which judges and where or, if there are many
    cases, how often.
    """
    of_each: dict[str, list[dict[str, Any]]] = {}
    for cell in good:
        of_each.setdefault(cell["judge"], []).append(cell)
    if len(of_each) <= MOST_NAMED + 1 and max(map(len, of_each.values())) <= MOST_NAMED:
        rest = [cell for cell in run.judged if cell["judge"] not in of_each]
        return _each_by_name(run, of_each, does) + _of_the_others(rest)
    return _most_often(run, of_each, judges, does)


def _each_by_name(run: AuditRun, of_each: Mapping[str, Cells], does: str) -> str:
    """A phrase for a few judges, each with its cases; judges with the same cases are named
    together.
    """
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
    """A phrase on which of several judges is like a person in the most cases."""
    cells, each = run.judged, AGREE if does == AGREES else does
    most = max(map(len, of_each.values()))
    ahead = [judge for judge, good in of_each.items() if len(good) == most]
    if len(ahead) > MOST_NAMED + 1:
        often = count_of(list(chain.from_iterable(of_each.values())), cells)
        return capital(f"{often} a judge {does}, none of the {len(judges)} in more than {most}")
    good, of_first = of_each[ahead[0]], of_judge(ahead[0], cells)
    alike = len({frozenset(map(case, of_each[judge])) for judge in ahead}) == 1
    in_cases = in_words(run, good, of_first) if alike else count_of(good, of_first)
    if len(ahead) == 1:
        fewer = f"more often than any other of the {len(judges)} judges"
        return f"{within(ahead[0])} {does} {in_cases}, {fewer}"
    fewer = ", the other judges in fewer cases" if len(judges) > len(ahead) else ""
    if len(judges) > len(of_each):
        fewer += " or none"
    return f"{listed([*map(within, ahead)])} each {each} {in_cases}{fewer}"


def _expected_wrong(run: AuditRun, good: Cells) -> str:
    """A sentence on how many of the named cases may be wrong. Empty if there are few, or if they
    were not looked at together.
    """
    if len(good) <= MOST_NAMED or "together" not in run.tables:
        return ""
    several = 1 < len({cell["criterion"] for cell in good}) <= MOST_CRITERIA
    of_each = " on each criterion" if several and a_list_each(run, run.judged) else ""
    return f" At most {ERROR:.0%} of these findings{of_each} are expected to be false {NOT_ERRORS}."


def _only_alone(own: Cells) -> str:
    """How many more verdicts hold only for their own case, as a sentence; empty if none do."""
    each = "looked at" if len(own) == 1 else "each is looked at"
    more = plural(len(own), "more comparison")
    return f" In {more} a judge does so only if {each} alone, which may be luck." if own else ""


def _phrase(run: AuditRun) -> str:
    """The phrase for *like a person*. Runs before version 0.2 use other rules and other words."""
    return (
        AGREES
        if run.best_verdict == LIKE_A_PERSON
        else f"is {run.best_verdict} (by the rules before version 0.2)"
    )
