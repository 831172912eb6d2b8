"""Warnings for readers of a ranking: who rated which generator, and on which sources."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from metal.data.languages import language_name
from metal.genie.output_scores import OVERALL, OWN, OutputScores
from metal.questions.leaderboard.generator_scores import LEAST_SHARED, Ranking
from metal.stats.patterns import Codes

NAMED = 3  # generators named in a warning; the rest are counted


def about_one_person(people: Sequence[str]) -> list[str]:
    """A warning about what one person's ratings cannot show."""
    return (
        [f"{people[0]} is the only person: no interval includes how people differ"]
        if len(people) == 1
        else []
    )


def about_people(ranking: Ranking, title: str) -> list[str]:
    """A warning that some generators were rated by different groups of people than most, with a way
    to rank all by the same people.
    """
    if not (mixed := ranking.mixed):
        return []
    by_panel: dict[str, list[str]] = {}
    for generator, panel in mixed.odd[:NAMED]:
        by_panel.setdefault(panel, []).append(repr(generator))
    named = "; ".join(f"{', '.join(names)} by {panel}" for panel, names in by_panel.items())
    more = f"; {len(mixed.odd) - NAMED} more by further groups" if len(mixed.odd) > NAMED else ""
    rated_all = " or ".join(f"`reference={f'group={name}'!r}`" for name in mixed.of_all[:NAMED])
    remedy = (
        f"{rated_all} ranks all by the same people"
        if rated_all
        else (
            'no group rated every generator; `reference="group=NAME"` ranks those that the'
            " group rated"
        )
    )
    return [
        f"{title}: generators were rated by different groups of people, who can differ in how high"
        f" they score: {named}{more}; the rest by {mixed.others}. Their scores are not "
        f"comparable, and no test compares the named generators with the rest; {remedy}"
    ]


def about_a_ranking(ranking: Ranking, title: str) -> list[str]:
    """Warnings about generators that share too few sources to be compared, and about differing
    texts.
    """
    rows, warnings = ranking.rows, []
    few = [row["generator"] for row in rows if "ranks: fewer than" in row["undefined"]]
    if few:
        named = ", ".join(map(repr, few[:NAMED])) + (
            f" and {len(few) - NAMED} more" if len(few) > NAMED else ""
        )
        warnings.append(
            f"{title}: fewer than {LEAST_SHARED} sources are shared with some other generators, so"
            f" no test says whether these are better or worse: {named}"
        )
    warnings += _about_texts(ranking, title)
    return warnings


def _about_texts(ranking: Ranking, title: str) -> list[str]:
    """Warnings if generators were rated on different sources, or in different languages."""
    by_sources = sorted((row["sources"], row["languages"]) for row in ranking.rows)
    (least, least_languages), (most, most_languages) = by_sources[0], by_sources[-1]
    if any(row["languages"] < ranking.languages for row in ranking.rows):
        ends = (
            f"{least} in {_languages(least_languages)}",
            f"{most} in {_languages(most_languages)}",
        )
        each = (
            f"from {ends[0]} to {ends[1]}"
            if ends[0] != ends[1]
            else f"{ends[0]} each, but not in the same ones"
        )
        return [
            f"{title}: generators were rated in different languages (sources: {each}); their"
            " scores are about different texts, people and languages; tests use shared sources"
            ' only; `by="language"` ranks within each language'
        ]
    if least == most:
        return []
    return [
        f"{title}: generators were rated on different sources, {least} to {most} of them, so their"
        " scores are about different texts; tests use shared sources only"
    ]


def _languages(number: int) -> str:
    return f"{number} language{'' if number == 1 else 's'}"


def about_overall(cells: Sequence[OutputScores], items: Codes, language: str) -> list[str]:
    """Notes on criteria and outputs that do not count for overall, or a note that there is no
    overall score.
    """
    parts = [part for part in cells if part.criterion != OVERALL and part.scale != OWN]
    if len(parts) < 2:
        return []
    last = cells[-1]
    title = language_name(language) if language else "all languages"
    if last.criterion != OVERALL:
        return [
            f"{title}: no output was rated on all {len(parts)} criteria, so there is no overall"
            " score"
        ]
    rated = np.any([~np.isnan(part.score) for part in parts], axis=0)
    partly = int((items & rated & np.isnan(last.score)).sum())
    notes = [
        f"criterion {part.criterion!r} does not count for overall: its scale has no ends"
        for part in cells
        if part.scale == OWN
    ]
    if partly:
        notes.append(
            f"{title}: {partly:,} outputs were rated on only some criteria and do not count for"
            " overall"
        )
    return notes
