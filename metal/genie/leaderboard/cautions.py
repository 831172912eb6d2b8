"""What to know before a ranking is read: who rated whom, on what, and what its clusters do not say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from metal.data.languages import language_name
from metal.data.text import p_words
from metal.genie.leaderboard.generator_scores import LEAST_SHARED, Ranking
from metal.genie.leaderboard.output_scores import OVERALL, OutputScores
from metal.stats.patterns import Codes

NAMED = 3  # generators named in a warning; the rest are counted
EXAMPLES = 2
LEVEL = 0.05


def about_one_person(people: Sequence[str]) -> list[str]:
    """What one person cannot say."""
    return [f"{people[0]} is the only person: how people differ is in no interval"] if len(people) == 1 else []


def about_people(ranking: Ranking, where: str) -> list[str]:
    """Generators that other groups of people rated than most, and how to rank them all by the same people."""
    if not (mixed := ranking.mixed):
        return []
    by_panel: dict[str, list[str]] = {}
    for generator, panel in mixed.odd[:NAMED]:
        by_panel.setdefault(panel, []).append(repr(generator))
    named = "; ".join(f"{', '.join(names)} by {panel}" for panel, names in by_panel.items())
    more = f"; {len(mixed.odd) - NAMED} more by others than most" if len(mixed.odd) > NAMED else ""
    rated_all = " or ".join(f"`reference={f'group={name}'!r}`" for name in mixed.of_all[:NAMED])
    remedy = (
        f"{rated_all} ranks all by the same people"
        if rated_all
        else 'no group rated every generator; `reference="group=NAME"` ranks those that it rated'
    )
    return [
        f"{where}: generators were rated by different groups of people, who can differ in how high they score: {named}"
        f"{more}; the rest by {mixed.others}. Their scores are not comparable, no test compares them, and the former "
        f"are in no cluster; {remedy}"
    ]


def about_a_ranking(ranking: Ranking, where: str, permutations: int) -> list[str]:
    """Who is in no cluster for want of shared sources, what differs between texts, and what clusters hold together."""
    rows, warnings = ranking.rows, []
    few = [row["generator"] for row in rows if "cluster: fewer than" in row["undefined"]]
    if few:
        named = ", ".join(map(repr, few[:NAMED])) + (f" and {len(few) - NAMED} more" if len(few) > NAMED else "")
        warnings.append(
            f"{where}: fewer than {LEAST_SHARED} sources are shared with some other generators, so no test says "
            f"whether these are better or worse: {named}"
        )
    warnings += _about_texts(ranking, where)
    if apart := told_apart(rows, ranking.pairs):
        examples = " and ".join(
            f"{pair['first']!r} above {pair['second']!r} by {pair['difference']:.3f} ({p_words(pair['p_adjusted'])} on "
            f"{pair['sources']} sources)"
            for pair in apart[:EXAMPLES]
        )
        many = f"{len(apart)} pairs" if len(apart) > 1 else "1 pair"
        warnings.append(
            f"{where}: {many} of generators in one cluster differ{'' if len(apart) > 1 else 's'} by a test of their "
            f"own, for a cluster holds whoever is not shown to be worse than its first: {examples}; the corrected p of "
            "each pair is in tables/comparisons.csv"
        )
    if len(rows) - 1 > LEVEL * (1 + permutations):
        needed = 20 * len(rows)
        warnings.append(
            f"{where}: too few permutations for {len(rows)} generators; use `permutations={needed}` or more"
        )
    return warnings


def _about_texts(ranking: Ranking, where: str) -> list[str]:
    """Whether generators were rated on different sources, and in different languages."""
    by_sources = sorted((row["sources"], row["languages"]) for row in ranking.rows)
    (least, least_languages), (most, most_languages) = by_sources[0], by_sources[-1]
    if any(row["languages"] < ranking.languages for row in ranking.rows):
        ends = (f"{least} in {_languages(least_languages)}", f"{most} in {_languages(most_languages)}")
        each = f"from {ends[0]} to {ends[1]}" if ends[0] != ends[1] else f"{ends[0]} each, not the same"
        return [
            f"{where}: generators were rated in different languages (sources: {each}); scores are not of the same "
            'texts, people or languages, tests are on shared sources only; `by="language"` ranks within each language'
        ]
    if least == most:
        return []
    return [
        f"{where}: generators were rated on different sources, {least} to {most} of them; scores are not of the "
        "same texts, tests are on shared sources only"
    ]


def _languages(number: int) -> str:
    return f"{number} language{'' if number == 1 else 's'}"


def told_apart(rows: Iterable[Mapping[str, Any]], pairs: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The pairs of a ranking that are in one cluster and that their own test (p_adjusted) tells apart.

    Clearest first: by p, then by the lead summed over shared sources. rows, pairs: of one language and criterion of
    the tables `leaderboard` and `comparisons`.
    """
    cluster = {row["generator"]: row["cluster"] for row in rows if row["cluster"]}
    both = [pair for pair in pairs if pair["first"] in cluster and pair["second"] in cluster]
    apart = [pair for pair in both if pair["p_adjusted"] <= LEVEL and cluster[pair["first"]] == cluster[pair["second"]]]
    return sorted(apart, key=lambda pair: (pair["p"], -pair["difference"] * pair["sources"]))


def about_overall(cells: Sequence[OutputScores], items: Codes, language: str) -> list[str]:
    """Outputs that are not in overall, and that there is none."""
    if len(cells) < 2:
        return []
    parts, last = [part for part in cells if part.criterion != OVERALL], cells[-1]
    where = language_name(language) if language else "all languages"
    if last.criterion != OVERALL:
        return [f"{where}: no output was rated on all {len(parts)} criteria, so there is no overall score"]
    rated = np.any([~np.isnan(part.share) for part in parts], axis=0)
    partly = int((items & rated & np.isnan(last.share)).sum())
    return [f"{where}: {partly:,} outputs were rated on some criteria only and are not in overall"] if partly else []
