"""An audit in a sentence that can be quoted: where a judge agrees with people, and where not to use
it.

Several cells are spoken of together only as far as their p-values allow (metal.auditing.together):
of one judge in several languages by the list of each criterion, else by all cells of the audit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from metal.auditing.standing import NOTHING, ONE_PERSON, UNKNOWN_PERSON
from metal.auditing.together import ERROR
from metal.auditing.verdict import (
    DISAGREE,
    INFORMATIVE,
    LIKE_A_PERSON,
    UNDECIDED,
    UNINFORMATIVE,
    VERDICTS,
    today,
)
from metal.data.languages import UNNAMED, language_name
from metal.data.text import capital, estimate, known, listed, percent, plural, signed, within
from metal.questions.audit.run import AuditRun
from metal.questions.audit.verdicts import PLACE, kept_of_person, merit, once
from metal.show.parts import case_of, criterion_in_words

AGREES = "agrees with people as they agree with each other"
AGREE = "agree with people as they agree with each other"
SHOWN = 0.005  # less is 0% in words
MOST_NAMED = 3
Cells = Sequence[dict[str, Any]]


def place(run: AuditRun, cell: Mapping[str, Any]) -> str:
    """`on task quality in Hindi`"""
    return f"on {case_of(run, cell)}"


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
    return (
        f"{kept} of what a person knows"
        if kept.startswith("keeps")
        else f"keeps of a person's: {kept}"
    )


def each_place(run: AuditRun, cells: Cells) -> str:
    """`in Hindi and Tamil (task quality)`, however many these are."""
    unnamed = [language_name(UNNAMED)]
    parts = [
        f"on {criterion}" if names == unnamed else f"in {listed(names)} ({criterion})"
        for criterion, names in _by_criterion(run, cells).items()
    ]
    return listed(parts)


def _by_criterion(run: AuditRun, cells: Cells) -> dict[str, list[str]]:
    """criterion, in a sentence -> names of the languages."""
    by_criterion: dict[str, list[str]] = {}
    for cell in cells:
        criterion = criterion_in_words(run, cell["criterion"])
        by_criterion.setdefault(criterion, []).append(language_name(cell["language"]))
    return {criterion: list(dict.fromkeys(names)) for criterion, names in by_criterion.items()}


# ---------------------------------------------------------------- what holds together


def stands_together(
    run: AuditRun, cells: Cells
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The cells *like a person* that hold when all are looked at together, and those by their own
    verdict only.

    Of one judge each criterion has a list of its own, over languages; over several judges, or many
    criteria, all cells are one list.

    Of runs before version 0.2, which have no p-values, and of a single cell: all by their own
    verdict.
    """
    good = [cell for cell in cells if cell["verdict"] == LIKE_A_PERSON]
    if len(cells) < 2 or "together" not in run.tables:
        return good, []
    by = {PLACE(row): row for row in run.records("together")}
    one_judge = len({cell["judge"] for cell in cells}) == 1
    lists = one_judge and all(by[PLACE(cell)]["languages"] > 1 for cell in good)
    named = _sure(good, by, "p_languages" if lists else "p_cells")
    if len({cell["criterion"] for cell in named}) > MOST_NAMED:
        named = _sure(good, by, "p_cells")
    return named, [cell for cell in good if cell not in named]


def _sure(
    cells: Cells, by: Mapping[tuple[str, str, str], Mapping[str, Any]], column: str
) -> list[dict[str, Any]]:
    """The cells whose p-value in the column is small enough."""
    return [cell for cell in cells if by[PLACE(cell)][column] <= ERROR]


def of_judge(judge: str, cells: Cells) -> list[dict[str, Any]]:
    """The cells of a judge."""
    return [cell for cell in cells if cell["judge"] == judge]


def by_language(cells: Cells) -> bool:
    """Whether the cells are one judge's in several languages: then each criterion has a list of its
    own.
    """
    return (
        len({cell["judge"] for cell in cells}) == 1
        and len({cell["language"] for cell in cells}) > 1
    )


def alone(cell: Mapping[str, Any]) -> bool:
    """Whether there is no person beside the judge, as too few items have two people."""
    return any(reason in str(cell.get("unshown", "")) for reason in (ONE_PERSON, UNKNOWN_PERSON))


def surest(run: AuditRun) -> Mapping[str, Any] | None:
    """The row of the judge and cell that surely keeps most; None where nothing is sure."""
    rows = run.records("together") if "together" in run.tables else []
    sure = [row for row in rows if known(row["kept_at_least"]) and row["kept_at_least"] > 0]
    return max(sure, key=lambda row: row["kept_at_least"], default=None)


# ---------------------------------------------------------------- the headline


def headline(run: AuditRun) -> str:
    """The answer in a sentence or two."""
    cells = run.judged
    if not cells:
        return "Only the people were compared: no judge took part."
    judges = list(dict.fromkeys(cell["judge"] for cell in cells))
    verdicts = {cell["verdict"] for cell in cells}
    if LIKE_A_PERSON in verdicts:
        return _good(run, cells, judges)
    if INFORMATIVE in verdicts:
        if all(alone(cell) or cell["verdict"] == UNDECIDED for cell in cells):
            return _one_person(run, cells, judges)
        return _not_good(run, cells, judges)
    if verdicts == {UNDECIDED}:
        return _undecided(cells, judges)
    if DISAGREE in verdicts and UNINFORMATIVE not in verdicts:
        disagreeing = f"people disagree among themselves {_cases(run, cells, DISAGREE)}"
        if verdicts == {DISAGREE}:
            return f"Nobody can be judged here: {disagreeing}."
        return (
            f"{capital(disagreeing)}: nobody can be judged there. Elsewhere the ratings are too few"
            " or too uncertain."
        )
    claim = f"{_nowhere(judges)} shown to know more than a constant answer does."
    return f"{claim} {_avoid(run, cells, judges)}".strip()


def _nowhere(judges: Sequence[str]) -> str:
    """`gpt-4 is nowhere` or `None of the 3 judges is`, to be gone on with."""
    if len(judges) == 1:
        return f"{within(judges[0])} is nowhere"
    return f"None of the {len(judges)} judges is"


def _undecided(cells: Cells, judges: Sequence[str]) -> str:
    """Nothing can be said anywhere."""
    whom = within(judges[0]) if len(judges) == 1 else f"any of the {len(judges)} judges"
    why = "the ratings are too few or too uncertain"
    if all(NOTHING in cell["reason"] for cell in cells):
        why = f"there is {NOTHING} in people's ratings"
    return f"Whether {whom} can be trusted is still undecided: {why}."


def _one_person(run: AuditRun, cells: Cells, judges: Sequence[str]) -> str:
    """One person an item: at best informative."""
    single = all(ONE_PERSON in str(cell["unshown"]) for cell in cells if alone(cell))
    why = "One person rated" if single else "Too few outputs have two people's ratings"
    singles = [cell for cell in cells if alone(cell)]
    claim = f"{why}: no judge can be shown to be like a person."
    if len(singles) < len(cells):
        claim = (
            f"{why} {_in(run, singles, cells)}: no judge can be shown to be like a person there."
        )
    informed = [cell for cell in cells if cell["verdict"] == INFORMATIVE]
    places = _in(run, informed, cells)
    if len(judges) == 1:
        return f"{claim} {within(judges[0])} knows more than a constant answer {places}."
    return f"{claim} {capital(places)} a judge knows more than a constant answer."


def _not_good(run: AuditRun, cells: Cells, judges: Sequence[str]) -> str:
    """No judge is like a person anywhere; some are informative."""
    avoid = _avoid(run, cells, judges)
    if len(cells) == 1:
        return (
            f"{within(judges[0])} is not shown to {AGREE} {place(run, cells[0])}: it"
            f" {knows(cells[0])}."
        )
    return f"{_nowhere(judges)} shown to {AGREE}. {avoid}".strip()


def surest_in_words(run: AuditRun) -> str:
    """What is kept at least in the surest of several cells, where no judge is like a person; empty
    elsewhere.
    """
    cells = run.judged
    verdicts = {cell["verdict"] for cell in cells}
    if len(cells) < 2 or INFORMATIVE not in verdicts or LIKE_A_PERSON in verdicts:
        return ""
    single = len({cell["judge"] for cell in cells}) == 1
    most = surest(run)
    if most:
        it = "it" if single else within(most["judge"])
        sure = f"In the surest of {most['cells']:,} cases, {case_of(run, most)},"
        return (
            f"{sure} {it} keeps at least {percent(most['kept_at_least'])} of what a person knows."
        )
    nearest = min(cells, key=partial(rank, end="_low"))  # a wide interval makes no best case
    it = "it" if single else within(nearest["judge"])
    return f"In the best case, {case_of(run, nearest)}, {it} {knows(nearest)}."


def _good(run: AuditRun, cells: Cells, judges: Sequence[str]) -> str:
    """Some judge is like a person somewhere."""
    named, own = stands_together(run, cells)
    does = _phrase(run)
    wins = Counter(cell["judge"] for cell in named or own)
    best, most = wins.most_common(1)[0]
    of_best = of_judge(best, cells)
    good = of_judge(best, named or own)
    avoid = _avoid(run, of_best, [best])
    if not named:
        who = f"A judge {does} {_count(own, cells)}"
        if len(wins) == 1:
            who = f"{within(best)} {does} {_in(run, good, of_best)}"
        return f"{_by_own_verdict_only(who, own, cells)} {avoid}".strip()
    if len(wins) > 1:
        ahead = [within(judge) for judge, number in wins.items() if number == most]
        if len(ahead) > MOST_NAMED + 1:
            where = f"{_count(named, cells)} a judge {does}, none of the {len(judges)} in more"
            return f"{capital(where)} than {most}{_by_own(own)}."
        where = _count(good, of_best)
        return f"{_ahead(ahead, does, where, len(judges))}{_by_own(own)}. {avoid}".strip()
    where = _in(run, good, of_best) + _expected_wrong(run, good)
    if own_of_best := of_judge(best, own):
        where += f", and {_in(run, own_of_best, of_best)} by its own verdict only"
    if len(judges) == 1:
        return f"{within(best)} {does} {where}. {avoid}".strip()
    others = _by_own([cell for cell in own if cell["judge"] != best])
    only = f"Of {len(judges)} judges only {within(best)} {does}: {where}{others}."
    return f"{only} {avoid}".strip()


def _expected_wrong(run: AuditRun, good: Cells) -> str:
    """How many of many cases may be wrong; empty of few, or where they were not looked at
    together.
    """
    if len(good) <= MOST_NAMED or "together" not in run.tables:
        return ""
    several = len({cell["criterion"] for cell in good}) > 1
    of_these = "each at most {:.0%} expected" if several else "which at most {:.0%} are expected"
    return f", of {of_these.format(ERROR)} to be wrong"


def _by_own_verdict_only(claim: str, own: Cells, cells: Cells) -> str:
    """The claim, which does not hold when all cases are looked at together."""
    verdict = "that case's own verdict" if len(own) == 1 else "these cases' own verdicts"
    together = f"looked at together, the {len(cells):,} cases do not show it"
    return f"{claim} by {verdict} only: {together}."


def _ahead(ahead: Sequence[str], does: str, where: str, judges: int) -> str:
    """Who of several judges is like a person in the most cases."""
    if len(ahead) == 1:
        return f"{ahead[0]} {does} {where}, more often than any other of the {judges} judges"
    others = ", the other judges in fewer" if judges > len(ahead) else ""
    return f"{listed([*ahead])} each {AGREE if does == AGREES else does} {where}{others}"


def _by_own(own: Cells) -> str:
    """`; 2 more by their own verdict only`, as the table has them; empty without any."""
    whose = "its" if len(own) == 1 else "their"
    return f"; {len(own):,} more by {whose} own verdict only" if own else ""


def _phrase(run: AuditRun) -> str:
    """What *like a person* says; runs before version 0.2 say it by other rules, and in
    other words.
    """
    return (
        AGREES
        if run.best_verdict == LIKE_A_PERSON
        else f"is {run.best_verdict} (by the rules before version 0.2)"
    )


def _count(cells: Cells, every: Cells) -> str:
    number = (
        f"all {len(cells):,}" if len(cells) == len(every) else f"{len(cells):,} of {len(every):,}"
    )
    return f"in {number} case{'s' * (len(every) > 1)}"


def _in(run: AuditRun, cells: Cells, every: Cells) -> str:
    """`in Hindi and Tamil (task quality)`; where these are many: `in 11 of 40 languages (task
    quality)`.
    """
    if len(cells) <= MOST_NAMED:
        return each_place(run, cells)
    named, languages = _by_criterion(run, cells), _by_criterion(run, every)
    if not by_language(every) or len(named) > MOST_NAMED:
        return _count(cells, every)
    parts = []
    for criterion, names in named.items():
        number = len(languages[criterion])
        count = f"all {number:,}" if len(names) == number else f"{len(names):,} of {number:,}"
        parts.append(f"in {count} languages ({criterion})")
    return listed(parts)


def _avoid(run: AuditRun, cells: Cells, judges: Sequence[str]) -> str:
    """Where not to use a judge: where it is shown to know hardly more than a constant. Empty where
    that is nowhere.
    """
    useless = [cell for cell in cells if cell["verdict"] == UNINFORMATIVE]
    if not useless:
        return ""
    if len(judges) == 1:
        if len(useless) == len(cells):
            return "Do not use it."
        if len(useless) > MOST_NAMED:
            return f"Do not use it where it is uninformative: {_count(useless, cells)}."
        return f"Do not use it {_for(run, useless)}."
    useless_of = Counter(cell["judge"] for cell in useless)
    cells_of = Counter(cell["judge"] for cell in cells)
    everywhere = [judge for judge in judges if useless_of[judge] == cells_of[judge]]
    if len(everywhere) == len(judges):
        return "Do not use them."
    if 0 < len(everywhere) <= MOST_NAMED and useless_of.keys() == set(everywhere):
        return f"Do not use {listed([within(judge) for judge in everywhere])}."
    return f"Do not use a judge where it is uninformative: {_count(useless, cells)}."


def _for(run: AuditRun, cells: Cells) -> str:
    """`for hallucinations in Malayalam`."""
    parts = [
        f"for {criterion} in {listed(names)}"
        for criterion, names in _by_criterion(run, cells).items()
    ]
    return listed(parts)


def _cases(run: AuditRun, cells: Cells, verdict: str) -> str:
    distinct = {
        (cell["criterion"], cell["language"]): cell for cell in cells if cell["verdict"] == verdict
    }
    cases = list(distinct.values())
    return f"in {len(cases)} cases" if len(cases) > MOST_NAMED else each_place(run, cases)


# ---------------------------------------------------------------- the lines below it


def lead(run: AuditRun) -> str:
    """How often there is each verdict, in plain words; which of the best hold together."""
    cells = run.judged
    if len(cells) < 2:
        return ""
    counts = Counter(ONCE_ONLY if once(cell) else str(cell["verdict"]) for cell in cells)
    who = "it" if len({cell["judge"] for cell in cells}) == 1 else "a judge"
    says = {
        LIKE_A_PERSON: f"{who} is {run.best_verdict}",
        ONCE_ONLY: f"{who} is {run.best_verdict} once recalibrated",
        INFORMATIVE: f"{who} is informative, but not shown to be {run.best_verdict}",
        UNINFORMATIVE: f"{who} tells hardly more than a constant answer would",
        DISAGREE: "people disagree among themselves",
        UNDECIDED: "nothing can be said yet",
    }
    parts = [
        f"in {counts[verdict]:,} {words}" for verdict, words in says.items() if counts[verdict]
    ]
    words = [f"Of {len(cells):,} cases, {'; '.join(parts)}."]
    if len(parts) == 1:
        words = [f"In all {len(cells):,} cases {says[next(iter(counts))]}."]
    words += [surest_in_words(run), _list_in_words(run, cells), _luck(run)]
    return " ".join(filter(None, words))


ONCE_ONLY = "once"


def _list_in_words(run: AuditRun, cells: Cells) -> str:
    """Which verdicts *like a person* hold together, of which at most 5% are expected to be wrong,
    and which do not.
    """
    if "together" not in run.tables:
        return ""
    named, own = stands_together(run, cells)
    words = []
    if len(named) > MOST_NAMED:
        words.append(
            f"{capital(LIKE_A_PERSON)} when all are looked at together: {_named(run, named)}"
        )
    elif named:
        words.append(f"Of cases named so, at most {ERROR:.0%} are expected to be wrong")
    if own:
        whose = "its" if len(own) == 1 else "their"
        words.append(
            f"{len(own):,} {'more ' * bool(named)}by {whose} own verdict only: {_named(run, own)}"
        )
    return f"{'; '.join(words)}." if words else ""


def _named(run: AuditRun, cells: Cells) -> str:
    """All cells by name, judge by judge where there are several."""
    by_judge: dict[str, list[dict[str, Any]]] = {}
    for cell in cells:
        by_judge.setdefault(cell["judge"], []).append(cell)
    if len({cell["judge"] for cell in run.judged}) == 1:
        return each_place(run, cells)
    return "; ".join(f"{within(judge)} {each_place(run, of)}" for judge, of in by_judge.items())


def _luck(run: AuditRun) -> str:
    most = run.tables["picked"]["optimism"].max() if "picked" in run.tables else 0.0
    if not most >= SHOWN:
        return ""
    points = plural(round(100 * most), "percentage point")
    return (
        f"The judge that looks best in a case may be the luckiest: up to {points} of what it keeps"
        " are luck."
    )
