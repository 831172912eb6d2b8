"""What `metal leaderboard` prints."""

from __future__ import annotations

from collections.abc import Sequence

from metal.data.text import plural
from metal.runs.leaderboard_run import LeaderboardRun
from metal.show.leaderboard.beside import beside_table
from metal.show.leaderboard.coverage import commands, coverage_rows, coverage_table, unrated
from metal.show.leaderboard.maps import criterion_map, language_maps
from metal.show.leaderboard.ranking import ranking_table
from metal.show.screen import closing
from metal.show.view import Paragraph, Screen

MOST_COMMANDS = 3


def screen(run: LeaderboardRun, by: Sequence[str] = ()) -> Screen:
    """The main ranking, criteria and languages beside each other, metrics, what is to be rated.

    by: `language` or `criterion`, to show the ranking of each as well.
    """
    yield Paragraph(_headline(run), strong=True)
    yield ranking_table(run, run.main, run.language)
    for criterion, language in run.cells[1:]:
        if ("language" in by and criterion == run.main) or ("criterion" in by and language == run.language):
            yield ranking_table(run, criterion, language)
    by_language = (view for view in language_maps(run) if view.name == "map_languages")
    for view in (criterion_map(run), *by_language, beside_table(run)):
        if view:
            yield view
    yield from _to_rate(run)
    yield from closing(run)


def _headline(run: LeaderboardRun) -> str:
    groups = sorted({run.raters[rater].group for rater in run.people_names if rater in run.raters} - {""})
    named = f" ({', '.join(groups)})" if groups else ""
    sample = f", a sample of {run.sample} sources a language" if run.sample else ""
    generators = plural(run.tables["leaderboard"]["generator"].nunique(), "generator")
    return f"{run.name}: {generators} by {plural(len(run.people_names), 'person', 'people')}{named}{sample}"


def _to_rate(run: LeaderboardRun) -> Screen:
    """Generators that nobody has rated yet, and those that were rated in part."""
    rows = [row for row in coverage_rows(run) if row["outputs_rated"] < row["outputs"]]
    if rows:
        yield coverage_table(run, rows, "Still to be rated")
    for _, command in commands(run)[:MOST_COMMANDS]:
        yield Paragraph(command, copied=True)
    more = len(unrated(run)) - MOST_COMMANDS
    if more > 0:
        yield Paragraph(f"... and so on for {more:,} more; --generators can be given several times")
