"""Sentences of an audit's headline on what a judge can do where it is not like a person: rank
outputs, or more once its scores are recalibrated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from metal.auditing.verdict import INFORMATIVE, LIKE_A_PERSON
from metal.data.grouping import grouped
from metal.data.text import capital, listed, within
from metal.questions.audit.holds import (
    Cells,
    falls_short,
    judges_of,
    of_judge,
    verdicts_of,
    with_verdict,
)
from metal.questions.audit.places import (
    MOST_NAMED,
    by_name,
    case,
    count_of,
    counts_of,
    how_many_of,
    in_words,
    of_cells,
)
from metal.questions.audit.run import AuditRun
from metal.questions.audit.verdicts import once

EACH = "each of the judges"
RANK = "rank outputs"  # as the sentences below say it
ONCE_RECALIBRATED = "only once its scores are recalibrated"


def helps(run: AuditRun, cells: Cells, judges: Sequence[str]) -> str:
    """Say where a judge that is not shown to be like a person still knows something; empty if
    nowhere.
    """
    helpful = with_verdict(INFORMATIVE, cells)
    if not helpful:
        return ""
    sentences = (_it_helps if len(judges) == 1 else _they_help)(run, helpful, cells)
    scales = {run.criteria[cell["criterion"]].scale.measure for cell in helpful}
    if scales == {"nominal"}:
        # answers without an order rank nothing
        return sentences.replace(RANK, "tell outputs apart")
    return sentences


def _they_help(run: AuditRun, helpful: Cells, cells: Cells) -> str:
    """The sentences of `helps` if the audit has several judges."""
    ranks = {cell["judge"] for cell in helpful if not once(cell)}
    elsewhere = [cell for cell in helpful if cell["judge"] in ranks]
    sentences = [
        _who_may_help(run, elsewhere, cells) if elsewhere else "",
        _once_recalibrated(run, [cell for cell in helpful if once(cell)], cells, ranks),
    ]
    return " ".join(filter(None, sentences))


def _it_helps(run: AuditRun, helpful: Cells, cells: Cells) -> str:
    """The sentence of `helps` if the audit has one judge."""
    recalibrated = list(filter(once, helpful))
    if recalibrated == helpful and len(helpful) == len(cells):  # the claim has said the rest
        return "As it is, it can only help to rank outputs."
    in_cases, misses = of_cells(run, helpful, cells), _misses_bad(run, helpful, cells)
    less = [cell for cell in cells if falls_short(cell)]
    claim = f"It can still help to rank outputs{in_cases}{misses}."
    if LIKE_A_PERSON in verdicts_of(cells):
        it = "it agrees less, but" if all(map(falls_short, helpful)) else "it"
        claim = f"{capital(in_cases.strip())} {it} can still help to rank outputs{misses}."
    elif less == helpful and len(cells) > 1:  # the claim has named them
        claim = f"It can still help to rank outputs there{misses}."
    if not recalibrated:
        return claim
    return f"{claim} It agrees so well{of_cells(run, recalibrated, cells)} {ONCE_RECALIBRATED}."


def _misses_bad(run: AuditRun, helpful: Cells, cells: Cells) -> str:
    """A clause that names the cases in which the judge does not find the bad outputs, or is not
    shown to; empty if there are none.
    """
    blind = [cell for cell in helpful if cell.get("misses_bad")]
    if not blind:
        unclear = [cell for cell in helpful if cell.get("bad_open")]
        if len(cells) == 1 and cells[0].get("plainly"):  # the claim has said it
            return ""
        some = f" {in_words(run, unclear, helpful)}" * (0 < len(unclear) <= MOST_NAMED)
        some *= len(unclear) < len(helpful)
        return f"; whether it finds the bad ones{some} is open" if unclear else ""
    if len(blind) == len(helpful):
        return ", but not to find the bad ones"
    if len(blind) <= MOST_NAMED:
        return f", but not to find the bad ones {in_words(run, blind, helpful)}{_open_too(helpful)}"
    return f", but not to find the bad ones in {len(blind):,} of these{_open_too(helpful)}"


def _open_too(helpful: Cells) -> str:
    """A clause on how many further cases leave open if the judge finds the bad outputs."""
    unclear = sum(bool(cell.get("bad_open")) for cell in helpful)
    return f"; in {unclear:,} more this is open" if unclear else ""


def _who_may_help(run: AuditRun, helpful: Cells, cells: Cells) -> str:
    """Say which of several judges can help, in how many cases, and which do not find the bad
    outputs.
    """
    claim = _who_and_where(run, helpful, cells)
    good = {cell["judge"] for cell in with_verdict(LIKE_A_PERSON, cells)}
    others = {*judges_of(cells)} - good
    if good & {*judges_of(helpful)}:
        claim = f"Otherwise {claim}"
    elif good and len(others) > 1 and others == {*judges_of(helpful)}:
        claim = f"The others, {claim.replace(' can still', ', can still', 1)}"
    elif good and len(others) > 1:
        claim = f"Of the others, {claim}"
    elif not good:
        claim = claim.replace("each", "Each", claim.startswith(EACH))
    return claim + _who_misses_bad(run, helpful, cells)


def _who_misses_bad(run: AuditRun, helpful: Cells, cells: Cells) -> str:
    """The end of the sentence on several judges, with a further sentence on those that do not find
    the bad outputs or, if there are none, on those that are not shown to.
    """
    blind = [cell for cell in helpful if cell.get("misses_bad")]
    unclear = [cell for cell in helpful if cell.get("bad_open")]
    if blind and len(blind) == len(helpful):
        return ", but not to find the bad ones."
    find = "help to find the bad ones"
    if not blind and len(unclear) == len(helpful):
        return "; whether they find the bad ones is open."
    if len(blind) > MOST_NAMED and not {*judges_of(unclear)} <= {*judges_of(blind)}:
        return f". {capital(count_of(blind, cells))} a judge does not {find}{_open_too(helpful)}."
    if blind:
        blind_ones = _each_says(run, blind, cells, f"does not {find}", f"do not {find}")
        return f".{blind_ones.removesuffix('.')}{_open_too(helpful)}."
    return (
        f".{_each_says(run, unclear, cells, f'is not shown to {find}', f'are not shown to {find}')}"
    )


def _each_says(run: AuditRun, some: Cells, cells: Cells, does: str, do: str) -> str:
    """Like `_says`, but the cases of several judges are named if they are few."""
    several = len(set(map(case, cells))) > 1 and len(judges_of(some)) > 1
    if several and len(some) <= MOST_NAMED:
        return f" {by_name(run, some, cells)} {do}."
    return _says(run, some, cells, does, do)


def _who_and_where(run: AuditRun, helpful: Cells, cells: Cells) -> str:
    """`gpt can still help to rank outputs in 3 of 4 cases, mini in 2 of 4 cases`."""
    often, of_all = (Counter(cell["judge"] for cell in some) for some in (helpful, cells))
    best = max(often, key=often.__getitem__)
    who = EACH if len(often) == len(of_all) else how_many_of(often, "the judges")
    claim = f"{who} can still help to rank outputs"
    if len(set(map(case, cells))) == 1:
        return claim
    if len(often) == 1:
        return f"{claim}{of_cells(run, helpful, of_judge(best, cells))}"
    if len(often) <= MOST_NAMED and len(set(often.values())) > 1:
        _, *others = [judge for judge, _ in often.most_common()]
        first, *rest = counts_of([best, *others], helpful, cells)
        named = [
            f"{within(judge)} {in_cases}" for judge, in_cases in zip(others, rest, strict=True)
        ]
        return f"{within(best)} can still help to rank outputs {first}, {listed(named)}"
    return _in_groups(
        often, of_all, claim, count_of(of_judge(best, helpful), of_judge(best, cells))
    )


def _in_groups(often: Counter[str], of_all: Counter[str], claim: str, in_cases: str) -> str:
    """The sentence for many judges: judges that help equally often are named together.

    claim: which judges can help at all. in_cases: how often the best judge helps.
    """
    groups = grouped(often, lambda judge: (often[judge], of_all[judge]))
    (_, best), *others = sorted(groups.items(), reverse=True)
    if not others:
        return f"{claim} {in_cases}"
    if len(groups) > MOST_NAMED or len({*of_all.values()}) > 1:
        return f"{claim} somewhere, {how_many_of(best)} most often: {in_cases}"
    named = [
        f"{how_many_of(names).replace(' of them', ' others')} in {number:,}"
        for (number, _), names in others
    ]
    who = how_many_of(best, "the judges")
    return f"{who} can still help to rank outputs {in_cases}, {listed(named)}"


def _once_recalibrated(run: AuditRun, some: Cells, cells: Cells, ranks: Collection[str]) -> str:
    """Say which of several judges are like a person once their scores are recalibrated.

    ranks: the judges that the sentence before names as able to rank outputs without recalibration.
    """
    only = [cell for cell in some if cell["judge"] not in ranks]
    also = [cell for cell in some if cell["judge"] in ranks]
    does, do = (
        f"agrees so well {ONCE_RECALIBRATED}",
        f"agree so well {ONCE_RECALIBRATED.replace('its', 'their')}",
    )
    rank = "only help to rank outputs"
    return (
        _says(run, also, cells, does, do)
        + _says(
            run,
            only,
            cells,
            f"{does}; as it is, it can {rank}",
            f"{do}; as they are, they can {rank}",
        )
    ).strip()


def _says(run: AuditRun, some: Cells, cells: Cells, does: str, do: str) -> str:
    """A sentence on some of the judges, such as ` In 2 of 4 cases mini does not ...`; empty without
    cells.
    """
    names = judges_of(some)
    if not names:
        return ""
    of_names = [cell for cell in cells if cell["judge"] in names]
    if len(names) == 1:
        in_cases = capital(of_cells(run, some, of_names).strip())
        return f" {in_cases}{' ' * bool(in_cases)}{within(names[0])} {does}."
    if len(set(map(case, cells))) == 1:
        return f" {how_many_of(names)} {do}."
    if len(names) <= MOST_NAMED:
        return f" {capital(count_of(some, of_names))} {listed([*map(within, names)])} {do}."
    return f" {capital(count_of(some, cells))} a judge {does}."
