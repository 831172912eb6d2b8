"""A run folder as an object: the parts that every kind of run has, and how they are written and
read.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar, Self

import pandas as pd

from metal.data.dataset import Dataset
from metal.data.dataset_lines import read_criterion, read_raters
from metal.data.files import of_one_state
from metal.data.languages import language_name, language_order
from metal.data.progress import Progress, divided, no_progress
from metal.data.records import Criterion, Manifest, Rater
from metal.data.replacing import new_folder, replace_file
from metal.data.text import name
from metal.errors import DataError
from metal.runs.columns import Column, Tables, required_names, unshown
from metal.runs.parts import again, need_files, read_lines, read_manifest, read_table, write_parts
from metal.runs.summarizing import summarize

ALL_LANGUAGES = ""
CELL = unshown("language", "criterion")
EXCLUSIONS: Tables = {"exclusions": unshown("rater", "language", "criterion", "ratings", "why")}
# What makes a judge the same judge, as raters.jsonl keeps it.
IDENTITY = ("model", "asked", "base_url", "parameters", "structured", "prompt", "prompt_hash")
DISQUALIFIES, WARNS, NOTED = "disqualifies", "warns", "noted"


@dataclass(frozen=True)
class VerdictLine:
    """A finding of a run about a judge that affects verdicts of an audit.

    language, criterion: empty if it holds for all. weight: DISQUALIFIES (the judge must not be used
    there), WARNS or NOTED.
    """

    judge: str
    language: str
    criterion: str
    line: str
    weight: str = NOTED


@dataclass(frozen=True, repr=False)
class Run:
    """A run: its manifest (run.toml), criteria and raters, its tables by name, and its warnings.

    Each kind of run is a subclass with its own tables and columns. `described` has the tables from
    which a page is made; `optional` names those that a run may lack.
    """

    name: str
    manifest: Mapping[str, Any]
    criteria: Mapping[str, Criterion]
    raters: Mapping[str, Rater]
    tables: Mapping[str, pd.DataFrame]
    warnings: tuple[str, ...]

    command: ClassVar[str]
    described: ClassVar[Tables]
    optional: ClassVar[Tables] = {}

    @classmethod
    def of(
        cls, analysis: Any, dataset: Dataset, manifest: Manifest, raters: Iterable[str], *more: Any
    ) -> Self:
        """Make a run from the result of an analysis, which has tables and warnings.

        raters: the raters that took part; the ensembles of a board are not raters of the dataset.
        more: further fields that the kind of run has.
        """
        facts = manifest.to_dict() | cls._about(analysis) | cls._of_data(dataset)
        took_part = {rater: dataset.raters[rater] for rater in raters if rater in dataset.raters}
        return cls(
            dataset.card.name,
            facts,
            dataset.criteria,
            took_part,
            analysis.tables,
            analysis.warnings,
            *more,
        )

    @classmethod
    def _about(cls, analysis: Any) -> dict[str, Any]:
        """What run.toml says in addition to the manifest."""
        return {}

    @classmethod
    def _of_data(cls, dataset: Dataset) -> dict[str, Any]:
        """What run.toml says of the data in addition to the manifest."""
        return {}

    @classmethod
    def read(cls, folder: Path, name: str = "") -> Self:
        """Read the run in a folder.

        name: what to call it; the folder's name if empty.

        Raises UsageError if the folder is no run of this kind, DataError if a part of it cannot be
        used.
        """
        return of_one_state(folder, lambda: cls._read(folder, name))

    @classmethod
    def _read(cls, folder: Path, name: str, *more: Any) -> Self:
        manifest = read_manifest(folder, cls.command)
        need_files(folder, ("raters.jsonl", "warnings.txt"), cls.command)
        tables = {
            table: read_table(path, required_names(columns), cls.command)
            for table, columns in {**cls.described, **cls.optional}.items()
            if (path := folder / "tables" / f"{table}.parquet").is_file() or table in cls.described
        }
        run = cls(
            name or folder.resolve().name,
            manifest,
            {
                key: read_criterion(key, entry, folder / "run.toml")
                for key, entry in manifest["criteria"].items()
            },
            {rater.rater: rater for rater in read_raters(folder)},
            tables,
            read_lines(folder / "warnings.txt", cls.command),
            *(more or cls._read_more(folder)),
        )
        run._check(folder)
        return run

    def write(
        self,
        folder: Path,
        page: Callable[[Self, Progress], str],
        *,
        force: bool = False,
        again: bool = False,
        progress: Progress = no_progress,
    ) -> None:
        """Write the run folder, completely or not at all, with the page that `page` makes of it.

        force, again: what the folder may contain already (see metal.data.replacing.check_new). The
        bytes of the tables depend only on their figures. The page and the summary are made from
        what was written.
        """
        writing, drawing = divided(progress, 1, 3)
        with (
            new_folder(folder, self.command, force=force, again=again) as partial,
            ThreadPoolExecutor(1) as beside,
        ):
            more = beside.submit(self._write_more, partial)
            write_parts(
                partial, self.manifest, self.warnings, self.raters.values(), self.tables, writing
            )
            if not self._large:
                more.result()
            written = type(self)._read(partial, folder.name, *self._large)
            write_page(page(written, drawing), partial)
            more.result()
            summarize(partial, written)

    @property
    def _large(self) -> tuple[Any, ...]:
        """Large parts that are still in memory unchanged, so that `_read_more` need not read them
        back; empty if it must read them.
        """
        return ()

    @classmethod
    def _read_more(cls, folder: Path) -> tuple[Any, ...]:
        """Read the further fields of a kind of run from files of its own."""
        return ()

    def _write_more(self, folder: Path) -> None:
        """Write the files that `_read_more` reads."""

    def _check(self, folder: Path) -> None:
        """Raise DataError if the parts do not belong to the same run."""

    def __repr__(self) -> str:
        sizes = ", ".join(
            f"{name} {len(table):,}" for name, table in self.tables.items() if len(table)
        )
        return f"<{self.command} {self.name!r}: rows of {sizes or 'no table'}>"

    @property
    def signature(self) -> str:
        """The signature of the run as a whole."""
        return str(self.manifest["signature"])

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings of the run, as a page shows them."""
        settings: Mapping[str, Any] = self.manifest["settings"]
        return settings

    @cached_property
    def data(self) -> Mapping[str, Any]:
        """What run.toml says about the dataset: identity, title, licence, ..."""
        data: Mapping[str, Any] = self.manifest["datasets"][0]
        return data

    def remarks(self) -> Iterator[VerdictLine]:
        """Findings that affect an audit's verdicts (see metal.questions.audit.remarks)."""
        yield from ()

    def verdict_counts(self) -> Mapping[str, Mapping[str, int]] | None:
        """The number of cells with each verdict, by verdict and language; None for runs without
        verdicts.
        """
        return None

    def rows(self, table: str, **values: Any) -> pd.DataFrame:
        """The rows of a table whose columns have these values; an empty table stays empty."""
        rows = self.tables[table]
        for column, value in values.items():
            if rows.empty:
                break
            rows = rows[rows[column] == value]
        return rows

    @cached_property
    def _plain(self) -> dict[tuple[str, ...], dict[tuple[Any, ...], list[dict[str, Any]]]]:
        """A cache of rows as plain dictionaries, by table and requested columns, then by their
        values.
        """
        return {}

    def span(self, criterion: str) -> float:
        """The range of a criterion's scale; if it has no ends, that of the scores that occur; 1 if
        that is unknown.
        """
        if ends := self.criteria[criterion].scale.ends:
            return ends[1] - ends[0]
        having = [name for name, table in self.tables.items() if "span" in table]
        spans = [row["span"] for name in having for row in self.records(name, criterion=criterion)]
        return max((span for span in spans if span > 0), default=1.0)

    def records(self, table: str, **values: Any) -> list[dict[str, Any]]:
        """The result of `rows` as plain dictionaries, sorted by names of languages; do not change
        them.
        """
        asked = (table, *values)
        if asked not in self._plain:
            plain = (
                self.records(table) if values else by_name(self.tables[table].to_dict("records"))
            )
            grouped = self._plain[asked] = {}
            for row in plain:
                grouped.setdefault(tuple(row[column] for column in values), []).append(row)
        return list(self._plain[asked].get(tuple(values.values()), ()))

    @property
    def lines(self) -> list[dict[str, Any]]:
        """What other runs say about the judges: the rows of the table `remarks`; empty without this
        table.
        """
        return self.records("remarks") if "remarks" in self.tables else []

    def columns(self, table: str) -> tuple[Column, ...]:
        """The descriptions of a table's columns, without columns that are newer than the run."""
        described = {**self.described, **self.optional}[table]
        have = self.tables.get(table, ())
        return tuple(column for column in described if not column.later or column.name in have)

    def criterion(self, key: str) -> str:
        """The title of a criterion."""
        criterion = self.criteria.get(key)
        return name(criterion.title if criterion else key)

    def short(self, key: str) -> str:
        """The short name of a criterion."""
        criterion = self.criteria.get(key)
        return name(criterion.short if criterion else key)

    def where(self, criterion: str, language: str) -> str:
        """A criterion and language by name, such as `coherence, Hindi`."""
        return f"{self.criterion(criterion)}, {spoken(language)}"

    def _check_names(
        self, folder: Path, table: str, column: str, choices: Container[str], file: str
    ) -> None:
        """Raise DataError for a name in a table that a file of the run does not have, because then
        parts of two runs are mixed.
        """
        rows = self.tables[table]
        for key in rows[column].unique() if len(rows) else ():
            if key not in choices:
                raise DataError(
                    folder,
                    f"{column} {key!r} of the tables is not in {file}",
                    again(self.command),
                )

    def signature_of(self, table: str) -> str:
        """The signature of a table as a whole."""
        parts = self.signature.split("|")
        return "|".join([*parts[:2], f"stat:{table}", *parts[2:]])


@dataclass(frozen=True, repr=False)
class RankingRun(Run):
    """A run that ranks for each criterion and language: its table `ranks` has the columns criterion
    and language.
    """

    ranks: ClassVar[str]
    # the table of run.toml with the criterion shown first, and the people who count
    about: ClassVar[str]
    listed: ClassVar[tuple[str, ...]] = ("people",)  # what that table lists

    @classmethod
    def _about(cls, analysis: Any) -> dict[str, Any]:
        return {cls.about: {"main": analysis.main, "people": list(analysis.people)}}

    def _check(self, folder: Path) -> None:
        compared = self.manifest.get(self.about)
        if not isinstance(compared, dict) or not isinstance(compared.get("main"), str):
            raise DataError(
                folder / "run.toml",
                f"no table [{self.about}] with main and people",
                again(self.command),
            )
        for part in self.listed:
            if not isinstance(compared.get(part), list) or not all(
                isinstance(name, str) for name in compared[part]
            ):
                raise DataError(
                    folder / "run.toml",
                    f"no {part!r} in the table [{self.about}]",
                    again(self.command),
                )
        if self.main not in self.measured:
            raise DataError(
                folder,
                f"criterion {self.main!r} of run.toml is not in the tables",
                again(self.command),
            )

    @cached_property
    def main(self) -> str:
        """The criterion that is shown first."""
        return str(self.manifest[self.about]["main"])

    @cached_property
    def people_names(self) -> tuple[str, ...]:
        """The names of the people whose ratings count."""
        return tuple(self.manifest[self.about]["people"])

    @cached_property
    def measured(self) -> tuple[str, ...]:
        """The criteria that have a ranking: the main one, then the others in their order."""
        criteria = dict.fromkeys(self.tables[self.ranks]["criterion"])
        return tuple(sorted(criteria, key=lambda criterion: criterion != self.main))

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """The languages that have a ranking, sorted by name; all languages together come first, if
        there are several.
        """
        return tuple(sorted(self.tables[self.ranks]["language"].unique(), key=language_order))

    @cached_property
    def language(self) -> str:
        """The language of the main ranking: all languages together, or the only one."""
        return str(next(iter(self.rows(self.ranks, criterion=self.main)["language"])))

    @cached_property
    def cells(self) -> tuple[tuple[str, str], ...]:
        """The (criterion, language) of each ranking: the main one first, then its other languages,
        other criteria, and the rest.
        """
        table = self.tables[self.ranks]
        cells = dict.fromkeys(zip(table["criterion"], table["language"], strict=True))
        order = {criterion: position for position, criterion in enumerate(self.measured)}
        return tuple(
            sorted(
                cells,
                key=lambda cell: (
                    cell[0] != self.main and cell[1] != self.language,
                    order[cell[0]],
                    language_order(cell[1]),
                ),
            )
        )

    def slices(self, criterion: str, language: str) -> tuple[str, ...]:
        """How a ranking differs from the main one: in its criterion, its language, or both."""
        differs = {"criterion": criterion != self.main, "language": language != self.language}
        return tuple(slice_ for slice_, other in differs.items() if other)


def by_name(
    rows: list[dict[Any, Any]], inside: Sequence[str] = ("criterion", "judge")
) -> list[dict[Any, Any]]:
    """Sort rows by the names of their languages instead of the codes, over all rows or within each
    criterion and judge.
    """
    codes = [row.get("language", "") for row in rows]
    if codes == sorted(codes):
        return sorted(rows, key=lambda row: language_order(row.get("language", "")))
    if not inside:
        return rows
    groups = groupby(rows, key=lambda row: row.get(inside[0]))
    return [row for _, group in groups for row in by_name(list(group), inside[1:])]


def spoken(language: str) -> str:
    """The name of a language in sentences; also for all languages together."""
    return "all languages" if language == ALL_LANGUAGES else language_name(language)


def write_page(html: str, folder: Path) -> Path:
    """Write report.html into the folder; an existing page that differs is kept, because somebody
    may have edited it.
    """
    path = folder / "report.html"
    replace_file(path, html)
    return path
