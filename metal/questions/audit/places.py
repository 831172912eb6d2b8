"""Names of cells in sentences: by language and criterion if there are few, else by their number."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from metal.data.languages import UNNAMED, language_name
from metal.data.text import listed, within
from metal.questions.audit.holds import (
    Cells,
    by_language,
    judges_of,
    of_judge,
)
from metal.questions.audit.run import AuditRun
from metal.runs.run import Run
from metal.show.parts import case_of, criterion_in_words

MOST_NAMED = 3
MOST_GROUPED = 5  # criteria of the same languages


def place(run: AuditRun, cell: Mapping[str, Any]) -> str:
    """A cell in words: `on task quality in Hindi`."""
    return f"on {case_of(run, cell)}"


def each_place(run: Run, cells: Sequence[Mapping[str, Any]]) -> str:
    """All cells in words, such as `in Hindi and Tamil (task quality)`, however many there are;
    criteria with the same languages share a phrase.
    """
    criteria_of: dict[tuple[str, ...], list[str]] = {}
    for criterion, names in by_criterion_of(run, cells).items():
        criteria_of.setdefault(tuple(names), []).append(criterion)
    return listed(
        [
            f"on {listed(criteria)}"
            if names == (language_name(UNNAMED),)
            else f"in {listed(list(names))} ({listed(criteria)})"
            for names, criteria in criteria_of.items()
        ]
    )


def by_criterion_of(run: Run, cells: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """The names of the languages for each criterion, whose title is written as in a sentence."""
    by_criterion: dict[str, list[str]] = {}
    for cell in cells:
        criterion = criterion_in_words(run, cell["criterion"])
        by_criterion.setdefault(criterion, []).append(language_name(cell["language"]))
    return {criterion: list(dict.fromkeys(names)) for criterion, names in by_criterion.items()}


def in_words(run: AuditRun, cells: Cells, every: Cells) -> str:
    """Some cells in words: by name, or by number if there are many, as in
    `in 11 of 40 languages (task quality)`.
    """
    if len(cells) <= MOST_NAMED:
        return each_place(run, cells)
    named, languages = by_criterion_of(run, cells), by_criterion_of(run, every)
    if len(named) <= MOST_GROUPED and _alike(named) <= MOST_NAMED:
        return each_place(run, cells)
    if not by_language(every) or len(named) > MOST_NAMED:
        return count_of(cells, every)
    parts = []
    for criterion, names in named.items():
        number = len(languages[criterion])
        count = f"all {number:,}" if len(names) == number else f"{len(names):,} of {number:,}"
        parts.append(f"in {count} languages ({criterion})")
    return listed(parts)


def _alike(by_criterion: Mapping[str, Sequence[str]]) -> float:
    """The number of languages, if there are several criteria and all have the same languages;
    otherwise infinite.
    """
    languages = set(map(tuple, by_criterion.values()))
    if len(by_criterion) < 2 or len(languages) > 1:
        return math.inf
    return len(languages.pop())


def count_of(cells: Cells, every: Cells) -> str:
    """How many of the cells, in words: `in 3 of 4 cases`, `in both cases`."""
    if len(cells) < len(every):
        return f"in {len(cells):,} of {len(every):,} {counted(every)}"
    how_many = "both" if len(every) == 2 else f"all {len(every):,}"
    return f"in {how_many} {counted(every)}"


def counts_of(judges: Sequence[str], some: Cells, cells: Cells) -> list[str]:
    """In how many of its cases each judge is among some cells, in words, such as
    `in 3 of 4 cases` for the first judge and `in 2` for the next, if it has as many cases.
    """
    every = [of_judge(judge, cells) for judge in judges]
    counts = [of_judge(judge, some) for judge in judges]
    alike = len({len(of_each) for of_each in every}) == 1
    return [
        f"in {len(of_some):,}"
        if number and alike and len(of_some) < len(of_each)
        else count_of(of_some, of_each)
        for number, (of_some, of_each) in enumerate(zip(counts, every, strict=True))
    ]


def counted(cells: Cells) -> str:
    """What a sentence calls the cells: cases, if there is one judge; comparisons, if several judges
    are compared with people, because each case then occurs once for each judge.
    """
    return "cases" if len(judges_of(cells)) == 1 else "comparisons"


def of_cells(run: AuditRun, some: Cells, cells: Cells) -> str:
    """Some of the cells in words: ` in Hindi (quality)` or ` in 11 of 15 cases`; empty if there is
    only one cell.
    """
    if len(cells) == 1:
        return ""
    several = len(some) > MOST_NAMED and len({cell["criterion"] for cell in some}) > 1
    return f" {count_of(some, cells) if several else in_words(run, some, cells)}"


def for_words(run: AuditRun, cells: Cells) -> str:
    """The cells in words that follow a judge's name: `for hallucinations in Malayalam`."""
    return listed([f"for {each}" for each in each_criterion(run, cells)])


def each_criterion(run: AuditRun, cells: Cells) -> list[str]:
    """A phrase for each criterion, such as `hallucinations in Malayalam`; the language is left out
    if the data name none.
    """
    by_criterion = by_criterion_of(run, cells)
    return [
        criterion + f" in {listed(names)}" * (names != [language_name(UNNAMED)])
        for criterion, names in by_criterion.items()
    ]


def by_name(run: AuditRun, some: Cells, cells: Cells) -> str:
    """Some of the cells by name, such as `gpt for fluency in Hindi and mini for style in Tamil`;
    what all cells share is left out.
    """
    judges = judges_of(some)
    if len(judges_of(cells)) == 1:
        return listed(each_criterion(run, some))
    if len(set(map(case, cells))) == 1:
        return listed([*map(within, judges)])
    at: dict[str, list[str]] = {}
    for judge in judges:
        at.setdefault(for_words(run, of_judge(judge, some)), []).append(within(judge))
    return listed([f"{listed(names)} {cases}" for cases, names in at.items()])


def how_many_of(some: Collection[str], them: str = "them") -> str:
    """The judges by name if there are few, otherwise how many there are."""
    if len(some) <= MOST_NAMED:
        return listed([within(judge) for judge in some])
    return f"{len(some):,} of {them}"


def case(cell: Mapping[str, Any]) -> tuple[str, str]:
    """The criterion and language of a cell."""
    return cell["criterion"], cell["language"]


def one_a_case(cells: Cells) -> Cells:
    """Keep one cell for each criterion and language: the last."""
    return list({case(cell): cell for cell in cells}.values())
