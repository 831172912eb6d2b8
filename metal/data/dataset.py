"""A dataset folder: read and checked as a whole, or refused; written as a whole, or not at all.

dataset.toml     name, licence, citation, languages, criteria with their scales, counts
sources.jsonl    source, language, text, title, references, tokens, content, document, domain
outputs.jsonl    output, source, generator, language, text, note, chosen, flags, tokens
raters.jsonl     rater, kind, group, and further facts about the rater
ratings.parquet  output, criterion, rater, score, reason, comment; confidence, expected, also if known (or .csv, .jsonl)
generator_scores.parquet  language, generator, domain, document, criterion, rater, score; only if raters scored generators as a whole
"""  # noqa: E501

from __future__ import annotations

import hashlib
import html
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sized
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from metal.data import ratings, ratings_files
from metal.data.dataset_lines import (
    checked_tables,
    criterion_record,
    numbered_records,
    rater_record,
    read_criteria,
    read_output,
    read_raters,
    read_source,
    text_record,
)
from metal.data.files import copy_others, of_one_state, one_writer, read_toml, recover, write_jsonl
from metal.data.generator_scores import (
    FILE,
    among,
    check_generator_scores,
    generator_scores,
    read_generator_scores,
    write_generator_scores,
)
from metal.data.holdings import IMPORT, JOINED, NO_FILES, Files, made_by
from metal.data.languages import check_language
from metal.data.missing import no_such
from metal.data.progress import counted_as
from metal.data.records import METRIC_SCORE, Criterion, Output, Rater, Source, with_swapped
from metal.data.replacing import new_folder, rewritten
from metal.data.run_toml import RUN_TOML, read_run_toml
from metal.data.seen import check_seen
from metal.data.stored_texts import with_texts_in_file
from metal.data.text import plural
from metal.data.updating import check_same_scores, count_joined
from metal.errors import DataError, UsageError


@dataclass(frozen=True)
class Card:
    """What a dataset says about itself. texts: where to find the texts, if the dataset has none."""

    name: str
    title: str = ""
    description: str = ""
    licence: str = ""
    citation: str = ""
    texts: str = ""


@dataclass(frozen=True)
class Dataset:
    """Sources, outputs, raters and the tidy ratings table, all checked against each other.

    generator_scores: what raters gave generators as a whole (metal.data.generator_scores). extra:
    further keys of dataset.toml, kept as they are. folder: the dataset folder it was read from,
    origin: the file or release, if any; reading: the options it was read with, as texts. report:
    how it was read: what the reader changed, left out or found odd. The last four are not saved.
    """

    card: Card
    criteria: Mapping[str, Criterion]
    sources: Mapping[str, Source]
    outputs: Mapping[str, Output]
    raters: Mapping[str, Rater]
    ratings: pd.DataFrame
    extra: Mapping[str, Any] = field(default_factory=dict)
    generator_scores: pd.DataFrame = field(default_factory=generator_scores, compare=False)
    folder: Path | None = field(default=None, compare=False)
    origin: Path | None = field(default=None, compare=False)
    reading: Mapping[str, Any] = field(default_factory=dict, compare=False)
    report: tuple[str, ...] = field(default=(), compare=False)

    def __repr__(self) -> str:
        """`Dataset('demo': 40 sources, 40 outputs, 5 raters, 900 ratings; en hi sw; 5 criteria)`"""
        languages = (
            " ".join(self.languages)
            if len(self.languages) <= 12
            else f"{len(self.languages)} languages"
        )
        parts = counts(
            source=self.sources, output=self.outputs, rater=self.raters, rating=self.ratings
        )
        criteria = plural(len(self.criteria), "criterion", "criteria")
        return f"Dataset({self.card.name!r}: {parts}; {languages}; {criteria})"

    def _repr_html_(self) -> str:
        """A description for notebooks, with the number of ratings by language and criterion."""
        ratings_by = pd.crosstab(
            self.ratings["language"].astype(str), self.ratings["criterion"].astype(str)
        )
        ratings_by = ratings_by.reindex(
            index=list(self.languages), columns=list(self.criteria), fill_value=0
        )
        table = ratings_by.rename_axis(index=None, columns=None).to_html(escape=True)
        return f"<p>{html.escape(repr(self))}</p>\n{table}"

    def save(self, folder: str | Path, *, force: bool = False, update: bool = False) -> None:
        """Write a dataset folder: a new one; with force, in place of another; with update, into an
        existing one.

        Raises UsageError if the folder holds something else or, with update, scores that differ
        from the dataset's.
        """
        if update:
            update_dataset(self, folder, keep_scores=True)
        else:
            save_dataset(self, folder, force=force)

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """The languages of the outputs, in string order."""
        return tuple(sorted({output.language for output in self.outputs.values()}))

    @property
    def asked(self) -> Mapping[str, Criterion]:
        """The criteria that people and judges can be asked: all but METRIC_SCORE, if there are
        others.
        """
        return {
            name: each for name, each in self.criteria.items() if each != METRIC_SCORE
        } or self.criteria

    def called(self, criterion: str) -> str:
        """The title of a criterion; for a criterion that the data lack, such as a board's
        `overall`, its name.
        """
        return self.criteria[criterion].title if criterion in self.criteria else criterion

    @cached_property
    def digest(self) -> str:
        """Twelve hex digits that change with ratings, outputs, criteria, sources, and the facts
        about raters (who is in the reference group, a judge's family) and generators; not with
        texts, nor the order of ratings and outputs.
        """
        facts = pd.util.hash_pandas_object(
            self.ratings.loc[:, ratings.facts_in(self.ratings)], index=False
        ).to_numpy()
        table = pd.DataFrame(
            [(o.output, o.source, o.generator, o.language) for o in self.outputs.values()]
        )
        outputs = (
            pd.util.hash_pandas_object(table, index=False).to_numpy()
            if len(table)
            else np.array([])
        )
        digest = hashlib.sha256(np.sort(facts).tobytes() + np.sort(outputs).tobytes())
        # Which criteria look at the source matters to test questions only, and `called` to pages.
        criteria = {
            name: criterion_record(replace(criterion, of_source=True, called=""))
            for name, criterion in self.criteria.items()
        }
        raters = [rater_record(self.raters[name]) for name in sorted(self.raters)]
        declared = [list(self.sources), criteria, raters, self.extra.get("generators", {})]
        if len(self.generator_scores):
            declared.append(sorted(map(str, self.generator_scores.itertuples(index=False))))
        digest.update(
            json.dumps(declared, sort_keys=True, default=str).encode("utf-8", "surrogatepass")
        )
        return digest.hexdigest()[:12]

    @property
    def identity(self) -> str:
        """`NAME@3f9c`, as signatures carry it."""
        return f"{self.card.name}@{self.digest[:4]}"


def counts(**parts: Sized) -> str:
    """How many of each: `40 sources, 1 rater`. parts: {singular: the things}."""
    return ", ".join(plural(len(part), name) for name, part in parts.items())


def assemble(
    card: Card,
    criteria: Iterable[Criterion],
    sources: Iterable[Source],
    outputs: Iterable[Output],
    raters: Iterable[Rater],
    facts: pd.DataFrame,
    *,
    ratings_file: Path | None = None,
    extra: Mapping[str, Any] | None = None,
    of_generators: pd.DataFrame | None = None,
) -> Dataset:
    """A Dataset from its parts, after checking each of them and how they fit together.

    ratings_file: the ratings file that messages name. of_generators: the scores of generators.
    Raises DataError for the first fault.
    """
    folder = ratings_file.parent if ratings_file else Path(card.name)
    ratings_file = ratings_file or Path(card.name) / "ratings"
    by_criterion = _unique(criteria, "name", folder / "dataset.toml")
    by_source = _unique(sources, "source", folder / "sources.jsonl")
    by_output = _unique(outputs, "output", folder / "outputs.jsonl")
    by_rater = _unique(raters, "rater", folder / "raters.jsonl")
    for file, records in (
        (folder / "sources.jsonl", by_source),
        (folder / "outputs.jsonl", by_output),
    ):
        languages = [record.language for record in records.values()]
        for language in dict.fromkeys(languages):
            check_language(language, f"{file} row {languages.index(language) + 1}")
    for row, output in enumerate(by_output.values(), 1):
        if output.source not in by_source:
            problem = (
                f"output {output.output!r} is of source {output.source!r}, which does not exist"
            )
            raise DataError(
                f"{folder / 'outputs.jsonl'} row {row}",
                problem,
                "Every output needs a source in sources.jsonl",
            )
    table = ratings.join(
        facts, criteria=by_criterion, outputs=by_output, raters=by_rater, ratings_file=ratings_file
    )
    dataset = Dataset(card, by_criterion, by_source, by_output, by_rater, table, extra or {})
    if of_generators is None:
        return dataset
    check_generator_scores(of_generators, _scoring_names(dataset), folder / FILE)
    return replace(dataset, generator_scores=of_generators)


def _scoring_names(dataset: Dataset) -> dict[str, Collection[str]]:
    """The names that scores of generators may have in the columns that name parts of a dataset."""
    generators = {output.generator for output in dataset.outputs.values()}
    return {"criterion": dataset.criteria, "rater": dataset.raters, "generator": generators}


def _scores_left(dataset: Dataset, scores: pd.DataFrame) -> pd.DataFrame:
    """The scores of generators whose criterion, rater and generator the dataset has."""
    return among(scores, **_scoring_names(dataset)) if len(scores) else scores


def with_parts(dataset: Dataset, *, ratings_file: Path | None = None, **parts: Any) -> Dataset:
    """The dataset with some of its parts replaced (as `assemble` takes them), after the same
    checks.
    """
    own: dict[str, Any] = {
        "criteria": dataset.criteria.values(),
        "sources": dataset.sources.values(),
        "outputs": dataset.outputs.values(),
        "raters": dataset.raters.values(),
        "facts": dataset.ratings,
        "extra": dataset.extra,
    }
    changed = assemble(dataset.card, **(own | parts), ratings_file=ratings_file)
    return replace(changed, generator_scores=_scores_left(changed, dataset.generator_scores))


def _unique(records: Iterable[Any], key: str, file: Path) -> dict[str, Any]:
    by_name: dict[str, Any] = {}
    for row, record in enumerate(records, 1):
        name = getattr(record, key)
        if name in by_name:
            raise DataError(f"{file} row {row}", f"{key} {name!r} occurs twice", "Keep one of them")
        by_name[name] = record
    return by_name


# ---------------------------------------------------------------- read


def load_dataset(folder: str | Path) -> Dataset:
    """Read and check a dataset folder. Raises UsageError if it is not one, DataError for the first
    fault in it.

    If another command replaces the folder meanwhile, it is read again: its parts must fit together.
    """
    return of_one_state(Path(folder), lambda: _load(Path(folder)))


@contextmanager
def dataset_to_change(folder: Path) -> Iterator[Dataset]:
    """The dataset, locked against other commands; without one, no lock file is left."""
    recover(folder.resolve())
    _card_path(folder)
    with one_writer(folder):
        yield load_dataset(folder)


def _card_path(folder: Path) -> Path:
    card_path = folder / "dataset.toml"
    make = " (make one with `metal.read(...).save(folder)`)"
    if not folder.is_dir():
        raise no_such(folder, "dataset folder", make)
    if not card_path.is_file():
        raise UsageError(f"{folder}: not a dataset folder, dataset.toml is missing{make}")
    return card_path


def _load(folder: Path) -> Dataset:
    card_path = _card_path(folder)
    card, criteria, extra = _read_card(read_toml(card_path), card_path)
    file = ratings_files.find_ratings(folder)
    sources = with_texts_in_file(
        read_source(record, row) for row, record in numbered_records(folder / "sources.jsonl")
    )
    outputs = with_texts_in_file(
        read_output(record, row) for row, record in numbered_records(folder / "outputs.jsonl")
    )
    parts = (card, criteria, sources, outputs, read_raters(folder), ratings_files.read_facts(file))
    scores = read_generator_scores(folder)
    dataset = assemble(*parts, ratings_file=file, extra=extra, of_generators=scores)
    return replace(dataset, folder=folder)


def _read_card(
    described: dict[str, Any], path: Path
) -> tuple[Card, list[Criterion], dict[str, Any]]:
    on_card = {field.name for field in fields(Card)}
    if not isinstance(described.get("name"), str) or not described["name"]:
        raise DataError(path, "no name", 'Add a line such as name = "my-dataset"')
    if not isinstance(described.get("criteria"), dict) or not described["criteria"]:
        raise DataError(
            path, "no criteria", "Add a table [criteria.NAME] with its levels for each criterion"
        )
    card = Card(**{key: str(described[key]) for key in on_card if key in described})
    others = described.keys() - on_card - {"criteria", "counts", "languages"}
    extra = {key: value for key, value in described.items() if key in others}
    return card, [*read_criteria(described["criteria"], path).values()], checked_tables(extra, path)


# ---------------------------------------------------------------- more ratings


def with_ratings(dataset: Dataset, path: str | Path) -> Dataset:
    """The dataset with the ratings of a run folder (or of another folder with raters.jsonl) added.

    Scores of metrics add METRIC_SCORE to the criteria; judges add criteria that only they were
    asked, from run.toml. Raises DataError when a rater of that folder rates something that the
    dataset's own table already holds.
    """
    path = Path(path)
    if not path.is_dir():
        joins = (
            f"; a table joins a dataset: metal import {path} --into DATASET"
            if path.is_file()
            else ""
        )
        raise no_such(path, f"run folder (a run holds raters.jsonl and ratings.parquet){joins}")
    added, more, file = read_run(path)
    check_seen(file, dataset.outputs, dataset.sources)
    raters = dict(dataset.raters)
    for rater in added:
        if raters.setdefault(rater.rater, rater).lasting != rater.lasting:
            problem = f"the dataset has a different rater of the name {rater.rater!r}"
            raise DataError(path / "raters.jsonl", problem, "Rename one of them")
    own = read_criteria(read_run_toml(path)["criteria"], path / RUN_TOML) | {
        METRIC_SCORE.name: METRIC_SCORE
    }
    lacking = set(more["criterion"].cat.categories) - dataset.criteria.keys()
    criteria = dict(dataset.criteria) | {
        name: criterion for name, criterion in own.items() if name in lacking
    }
    outputs = with_swapped(dataset.outputs, more["output"].cat.categories)
    # Check the added rows by themselves first, so that messages name their rows.
    ratings.join(more, criteria=criteria, outputs=outputs, raters=raters, ratings_file=file)
    facts = concat_facts([dataset.ratings, more])
    again = np.flatnonzero(
        pd.Series(ratings.rating_keys(facts)).duplicated().to_numpy()[len(dataset.ratings) :]
    )
    if len(again):
        line = more.iloc[int(again[0])]
        first = f"the first by {line['rater']!r} about {line['output']!r}"
        raise DataError(
            file, f"{len(again)} ratings are in the dataset already, {first}", "Give each run once"
        )
    table = ratings.join(
        facts, criteria=criteria, outputs=outputs, raters=raters, ratings_file=file
    )
    return replace(dataset, criteria=criteria, outputs=outputs, raters=raters, ratings=table)


def read_run(folder: Path) -> tuple[list[Rater], pd.DataFrame, Path]:
    """The raters of a run folder and their ratings, in one state; and the ratings' file."""

    def read() -> tuple[list[Rater], pd.DataFrame, Path]:
        file = ratings_files.find_ratings(folder)
        return read_raters(folder), ratings_files.read_facts(file), file

    return of_one_state(folder, read)


def concat_facts(tables: list[pd.DataFrame]) -> pd.DataFrame:
    """Facts of several tables one after the other, names recoded to common categories."""
    columns: dict[str, Any] = {}
    # an empty table's categories have no type
    tables = list(filter(len, tables)) or tables[:1]
    for name in ratings.facts_in([str(name) for table in tables for name in table]):
        absent = "" if name == ratings.ALSO else np.nan
        parts = [table.get(name, pd.Series(absent, index=table.index)) for table in tables]
        named = isinstance(parts[0].dtype, pd.CategoricalDtype)
        columns[name] = (
            pd.api.types.union_categoricals(parts) if named else pd.concat(parts, ignore_index=True)
        )
    return pd.DataFrame(columns)


# ---------------------------------------------------------------- write


def save_dataset(
    dataset: Dataset,
    folder: str | Path,
    *,
    force: bool = False,
    files: Files = NO_FILES,
    maker: str = IMPORT,
) -> None:
    """Write a dataset folder as a whole, or not at all; with force, in place of one that the same
    verb wrote.

    files: {path in the folder: content} of further files. maker: the verb. Raises UsageError when
    the folder exists.
    """
    target = Path(folder)
    lock = one_writer(target) if (target / "dataset.toml").is_file() else nullcontext()
    with lock, new_folder(target, maker, force=force) as partial:
        write_dataset(replace(dataset, extra=made_by(maker, dataset.extra)), partial, files)


def update_dataset(
    dataset: Dataset,
    folder: str | Path,
    files: Files = NO_FILES,
    *,
    keep_scores: bool = False,
    without: str = "",
) -> None:
    """Replace an existing dataset folder as a whole, or not at all; its other files stay.

    files: {path: content} of further files. keep_scores: whether existing ratings must keep their
    scores. without: a rater who leaves, with all their ratings. The folder may be `.` or a link; a
    link stays a link. Raises UsageError if the folder holds other ratings that the dataset lacks,
    because another command has added them.
    """
    target = Path(folder).resolve()
    with one_writer(target):
        recover(target)
        if keep_scores:
            check_same_scores(dataset.ratings, target, folder)
        joined = count_joined(dataset.ratings, target, folder, without)
        if joined:
            joined += int(dataset.extra.get(JOINED, 0))
            dataset = replace(dataset, extra={**dataset.extra, JOINED: joined})
        with rewritten(target) as partial:
            copy_others(target, partial, _FILES)
            write_dataset(dataset, partial, files)


_FILES = {"dataset.toml", "sources.jsonl", "outputs.jsonl", "raters.jsonl", FILE}
_FILES |= {f"ratings{ending}" for ending in ratings_files.FORMATS}


def write_dataset(dataset: Dataset, folder: Path, files: Files = NO_FILES) -> None:
    """Write the files of a dataset into a folder, which exists; `save_dataset` writes all or
    nothing.
    """
    (folder / "dataset.toml").write_text(_card_toml(dataset), encoding="utf-8")
    for name, record in (
        ("sources", text_record),
        ("outputs", text_record),
        ("raters", rater_record),
    ):
        lines = map(record, counted_as(vars(dataset)[name].values(), name))
        write_jsonl(folder / f"{name}.jsonl", lines)
    ratings_files.write_facts(dataset.ratings, folder / "ratings.parquet")
    write_generator_scores(_scores_left(dataset, dataset.generator_scores), folder)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def _card_toml(dataset: Dataset) -> str:
    import tomli_w

    described: dict[str, Any] = {key: value for key, value in vars(dataset.card).items() if value}
    described["languages"] = sorted(
        {*dataset.languages, *(source.language for source in dataset.sources.values())}
    )
    described |= dict(dataset.extra)
    described["counts"] = {
        name: len(getattr(dataset, name)) for name in ("sources", "outputs", "raters", "ratings")
    }
    described["criteria"] = {
        name: criterion_record(criterion) for name, criterion in dataset.criteria.items()
    }
    return tomli_w.dumps(described)
