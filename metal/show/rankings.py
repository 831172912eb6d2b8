"""Phrases that every ranking needs: who rated, and in which languages."""

from __future__ import annotations

from collections.abc import Sequence

from metal.data.text import listed, plural, within
from metal.runs.run import RankingRun, spoken


def people_in_words(run: RankingRun) -> str:
    """The people with their groups, such as `3 people (crowd and expert)`."""
    groups = sorted(
        {run.raters[name].group for name in run.people_names if name in run.raters} - {""}
    )
    by = f" ({listed(list(map(within, groups)))})" if groups else ""
    return people_counted(run) + by


def people_counted(run: RankingRun) -> str:
    """The number of people, such as `3 people`; a rater that is the mean of several is
    `1 panel of people`.
    """
    panels = sum(
        bool(run.raters[name].about.get("panel")) for name in run.people_names if name in run.raters
    )
    alone = len(run.people_names) - panels
    counted = [plural(alone, "person", "people")] if alone or not panels else []
    return listed(
        [*counted, *([plural(panels, "panel of people", "panels of people")] if panels else [])]
    )


def languages_in_words(codes: Sequence[str]) -> str:
    """The names of languages, or their number; "" (all languages together) does not count."""
    names = [spoken(code) for code in codes if code]
    return listed(names) if len(names) <= 12 else plural(len(names), "language")
