"""What `metal billboard` prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metal.boards.cells import ALL_LANGUAGES
from metal.data.text import figure, plural
from metal.runs.board_run import BoardRun
from metal.show.board.ensemble import fitted, member_table
from metal.show.board.generators import generator_table
from metal.show.board.maps import criterion_map, generator_map, language_maps
from metal.show.board.overrating import overrating_tables
from metal.show.board.ranking import one_person, ranking_table
from metal.show.screen import closing
from metal.show.view import Paragraph, Screen, TableView

EXPLAINED = (
    "r: Pearson with people over all outputs; rho Spearman, tau Kendall's tau-b; r between generators: of their means; "
    "SPA: soft pairwise accuracy. Within a cluster, raters do not differ significantly from its first."
)


def screen(run: BoardRun, by: Sequence[str] = ()) -> Screen:
    """The main ranking, slices of it, generators, the ensemble, overrating. by: language, criterion, generator."""
    raters = run.rows("raters")["rater"].nunique()
    reference = run.manifest["settings"].get("reference")
    people = plural(len(run.people_names), "person", "people") + (f" ({reference})" if reference else "")
    yield Paragraph(f"{run.name}, version {run.version}: {plural(raters, 'rater')} against {people}", strong=True)
    yield ranking_table(run, run.main, run.language)
    yield Paragraph(_note(run), soft=True)
    slices = ("language", *by) if len(run.languages) > 1 else by
    for column in dict.fromkeys(slices):
        yield from _slice(run, column)
    generators = generator_table(run, run.main, run.language)
    if generators.rows:
        yield generators
    if (ensemble := fitted(run)) and (members := member_table(run)):
        yield members
        yield Paragraph(f"{ensemble.signature}: {' '.join(ensemble.formula)}", soft=True)
        yield Paragraph(f"With people {ensemble.worth} Alpha {ensemble.alpha}", soft=True)
    yield from overrating_tables(run)
    yield from closing(run)


def _note(run: BoardRun) -> str:
    ceiling = one_person(run, run.main, run.language)
    words = [f"One of these people against the others: r {figure(ceiling)}."] if ceiling is not None else []
    if run.language == ALL_LANGUAGES:
        words.append("Languages are taken together: their differences count too.")
    return " ".join([*words, EXPLAINED])


def _slice(run: BoardRun, column: str) -> Iterator[TableView | Paragraph]:
    maps = {"language": _by_language, "criterion": criterion_map, "generator": generator_map}
    view = maps[column](run)
    yield view or Paragraph(f"By {column}: there is one only.")


def _by_language(run: BoardRun) -> TableView | None:
    return next((view for view in language_maps(run) if view.name == "map_languages"), None)
