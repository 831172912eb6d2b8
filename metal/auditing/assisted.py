"""People who saw a judge's answers before they rated: who of them is left out of the judge's
verdicts, and who may have seen its answers without a note of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from metal.auditing.cells import AuditCell
from metal.auditing.verdict import Verdict
from metal.data.dataset import Dataset
from metal.data.languages import language_name
from metal.data.people import judges_in
from metal.data.records import Rater
from metal.data.text import first_few, percent, within
from metal.errors import nearest
from metal.stats.copied import Copied, copied

ERROR = 0.05  # of an audit, that somebody is asked in vain


def aided_warnings(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """A line for each judge whose verdicts leave out people who saw its answers."""
    aided: dict[str, dict[str, None]] = {}
    for each in verdicts:
        if each.aided:
            aided.setdefault(each.judge, {}).update(dict.fromkeys(each.aided))
    for judge, people in aided.items():
        named = first_few(list(map(within, people)))
        yield f"verdicts on {within(judge)} leave out {named}, who saw its answers"


def misnamed(dataset: Dataset) -> Iterator[str]:
    """A line for each `assisted_by` that is nearly the name of a judge in the data.

    Other unknown names give no line, because a judge of that name may be added later.
    """
    judges = judges_in(dataset.raters)
    for rater in dataset.raters.values():
        for name in rater.assisted_by:
            if name not in judges and (nearly := nearest(name, judges)).startswith("did you mean"):
                yield (
                    f"assisted_by of {within(rater.rater)} names {within(name)}, which is no judge"
                    f" here; {nearly}"
                )


@dataclass(frozen=True)
class Look:
    """How alike a person's and an LLM judge's answers in a cell are."""

    person: str
    judge: str
    case: str
    copied: Copied


def looks(cell: AuditCell, raters: Mapping[str, Rater]) -> Iterator[Look]:
    """Compare each LLM judge with each person who is not known to have seen its answers; scores
    without classes are skipped.
    """
    case = f"{cell.criterion.title}, {language_name(cell.language)}"
    for judge in cell.judges:
        if raters[judge].kind != "llm" or cell.continuous:
            continue
        seen = cell.seen_by(judge)
        answers = copied(seen.by_people, seen.by_judge(judge), seen.matrix.sources, seen.levels)
        for person, each in zip(seen.people, answers, strict=True):
            if each is not None:
                yield Look(person, judge, case, each)


def questions(every: Sequence[Look], dataset: Dataset) -> Iterator[str]:
    """A line for each person whose answers look copied from a judge.

    The probability of any false line is at most 5% over all pairs that were compared.
    """
    clear = [look for look in every if look.copied.p * len(every) < ERROR]
    clearest: dict[tuple[str, str], Look] = {}
    for look in sorted(clear, key=lambda look: look.copied.p):
        clearest.setdefault((look.person, look.judge), look)
    first = "" if dataset.folder else "`metal import` the table, then "
    for (person, judge), look in clearest.items():
        agree, most = percent(look.copied.agreement), percent(look.copied.others)
        yield (
            f"did {within(person)} see {within(judge)}'s answers before rating? These"
            f" two agree on {agree}, {within(judge)} and other people on at most {most}"
            f" ({look.case}); people's agreement with each other does not explain that. If so,"
            f' {first}write "assisted_by": "{judge}" into the line of {within(person)} in'
            " raters.jsonl: these ratings then do not count for this judge"
        )
