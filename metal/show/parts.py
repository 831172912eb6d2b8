"""Parts that several kinds of run show alike: notes under tables, heat maps, exclusions, and the
end of a screen.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import PurePath
from typing import Any

from metal.auditing.as_read import OWN_SOURCES
from metal.boards.cells import ALL_LANGUAGES, OVERALL
from metal.data.grouping import grouped
from metal.data.languages import UNNAMED, language_name
from metal.data.text import (
    UNDEFINED,
    capital,
    count,
    known,
    listed,
    name,
    plural,
    within,
    without_ending,
)
from metal.runs.columns import Row, title_of
from metal.runs.run import RankingRun, Run, spoken
from metal.show.commands import typed_options
from metal.show.view import Cell, Paragraph, Remark, Rows, TableView

MOST_COLUMNS = 40  # of a map
MOST_WARNINGS = 20
NAMED = 6  # places named in a note; the rest are counted
OR = "Or"  # the title of a remark that is an alternative to what to do next


def parts(undefined: Any) -> list[tuple[str, str]]:
    """(figure, reason) of each entry in a text such as
    `pearson: no two scores differ; kendall: ...`.
    """
    reasons = (part.partition(": ") for part in str(undefined or "").split("; "))
    return [(figure, reason) for figure, _, reason in reasons if reason]


def commonest_reason(rows: Iterable[Row]) -> str:
    """The most frequent reason, for a table in which no row has a figure."""
    counted = Counter(reason for row in rows for _, reason in parts(row["undefined"])[:1])
    return counted.most_common(1)[0][0] if counted else "there are no cases"


def languages_shown(rows: Sequence[Row], says: Collection[str]) -> list[str]:
    """The languages for columns, ordered by how often their rows have one of these conclusions,
    because a terminal shows only the first columns.
    """
    often = Counter(row["language"] for row in rows if row["says"] in says)
    return sorted(
        {row["language"] for row in rows},
        key=lambda language: (-often[language], language_name(language)),
    )


def across_languages(
    run: Run,
    source: str,
    title: str,
    rows: Iterable[Row],
    keys: Mapping[str, str],
    cell: Callable[[list[Row]], Cell],
    languages: Sequence[str] = (),
    **options: Any,
) -> TableView:
    """A table of the rows of the run's table `source` with languages in columns.

    keys: the columns that name a row of the view, with their headings; a single judge is left out.
    cell: a function that makes a cell from the rows of a language. languages: their order; by name
    if not given. options: name, notes and turns, as in `TableView.of`.
    """
    rows = list(rows)
    if len({row.get("judge") for row in rows}) <= 1:
        keys = {key: heading for key, heading in keys.items() if key != "judge"}
    groups: dict[tuple[str, ...], dict[str, list[Row]]] = {}
    for row in rows:
        by_language = groups.setdefault(tuple(row[key] for key in keys), {})
        by_language.setdefault(row["language"], []).append(row)
    languages = languages or sorted({row["language"] for row in rows}, key=language_name)
    forms = [run.criterion if key == "criterion" else name for key in keys]
    shown: Rows = []
    for group, by_language in groups.items():
        heads = (form(head) for form, head in zip(forms, group, strict=True))
        cells: dict[str, Cell | str] = dict.fromkeys(languages, UNDEFINED)
        for language, rows_there in by_language.items():
            filled = cell(rows_there)
            cells[language] = replace(filled, text=capital(filled.text))
        shown.append((*heads, *map(cells.__getitem__, languages)))
    columns = (*keys.values(), *(name(language_name(language)) for language in languages))
    options = {"turns": len(keys) == 1, **options}
    return TableView.of(run, source, title, columns, shown, heads=len(keys), **options)


def places(names: Sequence[str], most: int = NAMED) -> str:
    """The first few texts, and the number of the rest."""
    more = [f"{len(names) - most} more"] if len(names) > most else []
    return listed([*names[:most], *more])


def reasons(
    run: Run, table: str, rows: Iterable[Row], who: str = "rater", shown: Collection[str] = ()
) -> tuple[str, ...]:
    """One line per reason why figures are undefined, with the figures and the raters that it
    concerns.

    who: the column that names the raters. shown: the figures that the view has, if it has few.
    """
    by_reason: dict[str, tuple[list[str], list[str]]] = {}
    for row in rows:
        for column, reason in parts(row["undefined"]):
            if shown and column not in shown:
                continue
            figures, names = by_reason.setdefault(reason, ([], []))
            figures.append(title_of(run.columns(table), column) or column)
            names.append(language_name(row[who]) if who == "language" else within(row[who]))
    return tuple(
        f"{UNDEFINED} {', '.join(dict.fromkeys(figures))}: {reason}"
        f" ({places(list(dict.fromkeys(names)))})"
        for reason, (figures, names) in by_reason.items()
    )


def in_sentence(label: str) -> str:
    """A criterion's label as written in the middle of a sentence: `task quality`."""
    return within(label[:1].lower() + label[1:] if label[1:2].islower() else label)


def main_place(run: RankingRun) -> str:
    """The case that a ranking shows first: `on coherence in Hindi`,
    `overall, all languages together`.
    """
    criterion = run.main if run.main == OVERALL else f"on {in_sentence(run.criterion(run.main))}"
    if run.language == ALL_LANGUAGES:
        return f"{criterion}, all languages together"
    return f"{criterion} in {language_name(run.language)}"


def exclusions_table(run: Run) -> TableView | None:
    """A table of exclusions with one row per person; None if the run has no table `exclusions`."""
    if "exclusions" not in run.tables or run.tables["exclusions"].empty:
        return None
    by_rater = grouped(run.records("exclusions"), lambda row: str(row["rater"]))
    rows = []
    for rater, left_out in by_rater.items():
        cells = (f"{case_of(run, row)} {count(row['ratings'])}" for row in left_out)
        total = count(sum(row["ratings"] for row in left_out))
        rows.append((name(rater), Cell(total, ", ".join(cells)), str(left_out[-1]["why"])))
    return TableView.of(
        run, "exclusions", "Ratings of noisy people", ("rater", "ratings", "why"), rows
    )


def criterion_in_words(run: Run, criterion: str) -> str:
    """A criterion's name as written in a sentence: `task quality`."""
    return in_sentence(run.criterion(criterion))


def headings(languages: Sequence[str]) -> list[str]:
    """The headings above verdicts: the names of languages; `verdict` if the only language has no
    name.
    """
    return ["verdict"] if [*languages] == [UNNAMED] else list(map(language_name, languages))


def case_of(run: Run, row: Row) -> str:
    """The criterion and language of a row, in a sentence: `task quality in Hindi`; a language
    without a name is left out.
    """
    criterion = criterion_in_words(run, row["criterion"])
    return (
        criterion
        if row["language"] == UNNAMED
        else f"{criterion} in {language_name(row['language'])}"
    )


def by_criterion_and_judge(run: Run, table: str) -> dict[tuple[str, str], list[Row]]:
    """The rows grouped by criterion and judge."""
    return grouped(run.records(table), lambda row: (row["criterion"], row["judge"]))


def judges_by_language(run: Run, table: str) -> str:
    """How many judges and languages a table is about: `2 judges · 6 languages`; a single judge is
    named.
    """
    rows = run.tables[table]
    judges = rows["judge"].unique()
    who = within(judges[0]) if len(judges) == 1 else plural(len(judges), "judge")
    return f"{who} · {plural(rows['language'].nunique(), 'language')}"


@dataclass(frozen=True)
class Heat:
    """A heat map of a run's figures: raters or generators in rows, darker cells for higher figures.

    who: the column that names the rows. figure: the column that is shown; `words` names it, `form`
    formats it in a row, and `shade` gives the shade of a row (0 to 9). head: the first cell of a
    row. order: the order of rows. blank: the reason for a cell without a figure. most: the largest
    number of rows.
    """

    run: RankingRun
    who: str
    figure: str
    words: str
    form: Callable[[Row], str]
    shade: Callable[[Row], int]
    head: Callable[[str], Cell | str]
    order: Sequence[str]
    blank: str
    most: int

    def by_language(
        self, source: str, order: Sequence[str] = (), least: int = 2
    ) -> list[TableView]:
        """A map of languages for each criterion that was rated in several; the main criterion
        first.
        """
        maps = []
        for index, criterion in enumerate(self.run.measured):
            rows = self.run.records(source, criterion=criterion)
            key = "languages" if criterion == self.run.main else f"languages_{index + 1}"
            title = f"{self.words} by language: {self.run.criterion(criterion)}"
            maps.append(self.view(source, key, title, rows, "language", spoken, order, least))
        return list(filter(None, maps))

    def by_criterion(self, source: str, left_out: Collection[str] = ()) -> TableView | None:
        """A map of criteria in the language of the main ranking; None if there is only one
        criterion. left_out: criteria that the map is to leave out.
        """
        run = self.run
        every = run.records(source, language=run.language)
        rows = [row for row in every if row["criterion"] not in left_out]
        title = f"{self.words} by criterion: {spoken(run.language)}"
        return self.view(source, "criteria", title, rows, "criterion", run.criterion, run.measured)

    def view(
        self,
        source: str,
        key: str,
        title: str,
        rows: Sequence[Row],
        column: str,
        called: Callable[[str], str],
        order: Sequence[str] = (),
        least: int = 2,
    ) -> TableView | None:
        """The map for rows of the run's table `source`; None if it would have fewer columns than
        `least`.

        column: the field shown in columns. called: a function that names its values. order: the
        order of columns; by default as in the rows.
        """
        values = {(row[self.who], row[column]): row for row in rows}
        present = dict.fromkeys(head for _, head in values)
        if len(present) < least:
            return None
        columns = [head for head in order if head in present] or list(present)
        raters = dict.fromkeys(who for who, _ in values)
        names = [who for who in dict.fromkeys([*self.order, *raters]) if who in raters]
        heads = columns[:MOST_COLUMNS]
        body = [
            (self.head(who), *(self._cell(values.get((who, head))) for head in heads))
            for who in names[: self.most]
        ]
        named = ({**row, self.who: f"{row[self.who]} on {called(row[column])}"} for row in rows)
        notes = [*reasons(self.run, source, named, self.who, {self.figure})]
        if not values.keys() >= set(product(names, columns)):
            notes.append(f"{UNDEFINED}: {self.blank}")
        if (len(heads), len(body)) != (len(columns), len(names)):
            notes.append(
                f"Cut to {len(body)} of {len(names)} {self.who}s and {len(heads)} of {len(columns)}"
                " columns; the CSV has all."
            )
        titles = ("", *map(called, heads))
        return TableView.of(
            self.run, source, title, titles, body, name=f"map_{key}", notes=notes, look="heat"
        )

    def _cell(self, row: Row | None) -> Cell | str:
        if row is None:
            return UNDEFINED
        shade = f"q{self.shade(row)}" if known(row[self.figure]) else "none"
        return Cell(self.form(row), mark=shade)


def to_go_on(run: Run, remarks: Sequence[Remark]) -> Iterator[Paragraph]:
    """What a page says first and last: its first remark, what to do next and the alternatives to it
    (each with its command), and the first warning.
    """
    last = [at for at, remark in enumerate(remarks) if remark.title != OR][-1:] or [0]
    for remark in [*remarks[:1], *remarks[max(last[0], 1) :]]:
        yield Paragraph(f"{remark.title}: {remark.words}")
        if remark.command:
            yield Paragraph(f"  {remark.command}", copied=True)
    read = "data" in run.data  # from a table: what it lacks was said then
    warnings = [
        warning for warning in run.warnings if not (read and warning.startswith(OWN_SOURCES))
    ]
    if warnings:
        more = f", the first of {len(warnings):,} (-v)" if len(warnings) > 1 else ""
        yield Paragraph(f"warning{more}: {warnings[0]}", cut=True)


def path_of(run: Run) -> str:
    """The path of the run's data; DATASET if they are only in memory, or if no command can read
    them.
    """
    path = str(run.data.get("path", "DATASET"))
    return "DATASET" if "data" in run.data and path == run.data["name"] else path


def data_of(run: Run) -> str:
    """The run's data as words of a command: the path and, for a table, the options with which it
    was read.
    """
    return shlex.join([path_of(run), *typed_options(run.data.get("reading", {}))])


def standard_table(run: Run, layout: str) -> str:
    """The command that makes the table of a field from the same data and runs."""
    more = map(str, run.data.get("more", ()))
    read_as = typed_options(run.data.get("reading", {}))
    return f"metal billboard {shlex.join([path_of(run), *more, *read_as, '--layout', layout])}"


def go_on(run: Run, verb: str) -> str:
    """The command of a verb on the same data, with the same runs of judges and the same people."""
    arguments = [
        path_of(run),
        *map(str, run.data.get("more", ())),
        *typed_options(run.data.get("reading", {})),
    ]
    arguments += (
        ["--reference", str(run.settings["reference"])] if run.settings.get("reference") else []
    )
    return f"metal {verb} {shlex.join(arguments)}"


def to_hand_out(run: Run, more: str = "") -> str:
    """The command that hands out outputs to people; a table or release is first made a dataset.

    more: further options.
    """
    first, folder = in_a_folder(run)
    return f"{first}metal annotate export {folder} --to html{more}"


def in_a_folder(run: Run) -> tuple[str, str]:
    """The command that first makes a dataset folder (empty if the data are one already), and that
    folder.
    """
    path = path_of(run)
    if "data" not in run.data or path == "DATASET":
        return "", shlex.quote(path)
    folder = shlex.quote(f"datasets/{without_ending(PurePath(path).name)}")
    return f"metal import {data_of(run)} --out {folder} && ", folder


def closing(run: Run) -> Iterator[Paragraph]:
    """The end of a screen: the warnings, and the signature."""
    if run.warnings:
        yield Paragraph("")
    yield from (Paragraph(f"warning: {warning}") for warning in run.warnings[:MOST_WARNINGS])
    more = len(run.warnings) - MOST_WARNINGS
    if more > 0:
        yield Paragraph(
            f"... and {more:,} more warnings: warnings.txt in the run folder, and the report"
        )
    yield Paragraph(f"Signature: {run.signature}", soft=True, copied=True)
