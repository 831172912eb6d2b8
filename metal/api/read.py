"""What public functions take for data: folders, files, DataFrames, datasets, runs; `metal.read` (`metal import`)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

from metal.api.options import (
    ByCriterion,
    Names,
    Option,
    Pairs,
    Progress,
    StrPath,
    by_criterion,
    documented,
    names,
    no_progress,
)
from metal.data.missing import no_such
from metal.data.run_toml import read_run_toml
from metal.errors import DataError, UsageError

if TYPE_CHECKING:
    import pandas as pd

    from metal.data.analysed import Analysed
    from metal.data.dataset import Dataset
    from metal.data.formats import Draft
    from metal.data.records import Manifest, Scale
    from metal.runs.judges_run import RatingsRun
    from metal.runs.run import Run

    Data: TypeAlias = str | Path | Dataset | pd.DataFrame
    Ratings: TypeAlias = str | Path | RatingsRun

AnyRun = TypeVar("AnyRun", bound="Run")


@documented
def read(
    data: StrPath | pd.DataFrame | Dataset,
    format: str = "",
    *,
    into: Annotated[StrPath | None, Option("Existing dataset folder that the ratings join.", metavar="DATASET")] = None,
    map_sources: Annotated[
        StrPath | Pairs | None, Option("JSON object: source ids of PATH to those of `into`.", metavar="FILE", rare=True)
    ] = None,
    map_generators: Annotated[
        StrPath | Pairs | None, Option("JSON object: generators of PATH to those of `into`.", metavar="FILE", rare=True)
    ] = None,
    texts: Annotated[
        StrPath | None,
        Option("Texts that sources lack, by source id: xlsum, or a table of ids and texts.", metavar="FILE", rare=True),
    ] = None,
    name: Annotated[str, Option("Name of the dataset. [default: the format's own]", rare=True)] = "",
    columns: Annotated[
        Pairs | None,
        Option(
            "Which column plays which role: output, source, generator, language, criterion, rater, kind, group, "
            "score, reply, reason, comment, confidence, content, text, source_text, reference; of pairs winner, first, "
            "second, first_text, second_text, shown. Ids in several columns: A+B.",
            metavar="ROLE=COLUMN",
            aliases=("--column",),
        ),
    ] = None,
    only: Annotated[Names, Option("Raters of these kinds only: human, llm, metric, baseline.", rare=True)] = (),
    wide: Annotated[
        Names, Option("Wide table: the columns that hold answers; * allowed, or {rater}_{criterion}.")
    ] = (),
    language: Annotated[
        str,
        Option("Language of all rows, by code or name (basse: which; billboard: where the board's name says none)."),
    ] = "",
    criterion: Annotated[str, Option("Criterion of all rows.", rare=True)] = "",
    kinds: Annotated[
        Pairs | None,
        Option("human, llm, metric or baseline; * allowed.", metavar="RATER=KIND", aliases=("--kind",)),
    ] = None,
    groups: Annotated[
        Pairs | None, Option("Group of raters; * allowed.", metavar="RATER=GROUP", aliases=("--group",), rare=True)
    ] = None,
    missing: Annotated[
        ByCriterion,
        Option(
            "What stands for no answer, besides NA, n/a, -, ? and the like.",
            metavar="[CRITERION=]-1,-999",
            by_criterion=True,
        ),
    ] = None,
    directions: Annotated[
        ByCriterion,
        Option(
            "Which scores are better, higher or lower.",
            metavar="[CRITERION=]DIRECTION",
            aliases=("--direction",),
            by_criterion=True,
        ),
    ] = None,
    levels: Annotated[
        ByCriterion,
        Option("The scale: WORST<BEST (Bad<Good), or 0=Bad,1=Good.", metavar="[CRITERION=]LEVELS", by_criterion=True),
    ] = None,
    measures: Annotated[
        ByCriterion,
        Option(
            "nominal, ordinal or interval.",
            metavar="[CRITERION=]MEASURE",
            aliases=("--measure",),
            by_criterion=True,
            rare=True,
        ),
    ] = None,
    ranges: Annotated[
        ByCriterion,
        Option("The ends of continuous scores: 0-100.", metavar="[CRITERION=]RANGE", by_criterion=True, rare=True),
    ] = None,
    shifts: Annotated[
        ByCriterion,
        Option(
            "Number added to scores: -1.",
            metavar="[CRITERION=]NUMBER",
            aliases=("--shift",),
            by_criterion=True,
            rare=True,
        ),
    ] = None,
    prompt_folders: Annotated[
        Sequence[StrPath],
        Option("Folder whose criteria/NAME.toml say scales, directions and questions.", metavar="DIR", rare=True),
    ] = (),
    sheet: Annotated[str, Option("XLSX: the sheet to read.", metavar="NAME", rare=True)] = "",
    subset: Annotated[str, Option("hf: configuration of the dataset.", rare=True)] = "",
    split: Annotated[str, Option("hf: split to read.", rare=True)] = "",
    revision: Annotated[str, Option("hf: revision of the dataset.", rare=True)] = "",
    progress: Progress | None = None,
) -> Dataset:
    """Read ratings from PATH, a table or somebody's release, into a dataset folder.

    A table may have a rating, a rater or a criterion per row or column; what was recognized, guessed and left out is
    said, with the option that changes it. Judges' replies (`reply`) are read as `metal judge` reads them.

    With `into` the ratings join an existing dataset: outputs meet on source and generator, what does not
    meet is counted and named. Where a release numbers its sources (mqm), number n is the n-th source of its
    language in the dataset.

    data: a dataset folder, which takes no option but `texts`; a table of ratings, as file (CSV, TSV, JSON, JSONL,
    Parquet, XLSX) or DataFrame; or a release of somebody's (pariksha, thumb, ...: `metal.formats()` lists them),
    recognized by its files or named with `format`. progress: called with per cent done of reading a table, and 100.

    Returns the dataset; its `report` says how it was read, line by line. Nothing is written before its `save(folder)`;
    with `into`, `save(folder, update=True)` rewrites the folder and keeps what else lies in it. Raises DataError
    for the first fault in the data, UsageError and UnknownName for options that do not fit.
    """
    from metal.data.dataset import Dataset, load_dataset
    from metal.data.formats import recognize

    if isinstance(data, Dataset):
        return data
    given = {
        "name": name,
        "columns": dict(columns or {}),
        "only": names(only),
        "wide": names(wide),
        "language": language,
        "criterion": criterion,
        "kinds": dict(kinds or {}),
        "groups": dict(groups or {}),
        "missing": {
            criterion: names(str(codes) if isinstance(codes, int | float) else codes)
            for criterion, codes in by_criterion(missing).items()
        },
        "directions": by_criterion(directions),
        "levels": by_criterion(levels),
        "measures": by_criterion(measures),
        "ranges": by_criterion(ranges),
        "shifts": by_criterion(shifts),
        "prompt_folders": tuple(map(Path, prompt_folders)),
        "sheet": sheet,
        "subset": subset,
        "split": split,
        "revision": revision,
    }
    if prompt_folders:
        from metal.running.prompting import prompt_folders as checked

        checked(map(str, prompt_folders), None)
    options: dict[str, Any] = {key: value for key, value in given.items() if value not in (None, (), "", {})}
    if (map_sources or map_generators) and into is None:
        raise UsageError("`map_sources` and `map_generators` rename ids for `into`")
    if isinstance(data, str | os.PathLike) and not format and (Path(data) / "dataset.toml").is_file():
        if options or into is not None:
            raise UsageError(f"{data} is a dataset folder, read as it is; options are for tables and releases")
        return _with_texts(load_dataset(Path(data)), texts)
    base = None if into is None else load_dataset(Path(into))
    draft = draft_of(data, format, options, base, progress or no_progress)
    dataset = draft.assemble(Path(data)) if isinstance(data, str | os.PathLike) else draft.assemble()
    report = dataset.report
    if base is not None:
        from metal.data.merge import merge
        from metal.data.text import note

        dataset, merged = merge(
            base,
            dataset,
            map_sources=_renamed(map_sources or {}),
            map_generators=_renamed(map_generators or {}),
            counted_from=draft.counted_from,
        )
        report += tuple(map(note, merged.lines()))
    origin = None  # of what takes an option to be read, which no command reads by its path alone
    if isinstance(data, str | os.PathLike) and not options and base is None and not texts:
        itself = not format or (Path(data).exists() and format == (recognize(Path(data)) or "table"))
        origin = Path(data) if itself else None
    return replace(_with_texts(replace(dataset, report=report), texts), origin=origin)


def _with_texts(dataset: Dataset, texts: StrPath | None) -> Dataset:
    from metal.data.tables.texts import join_texts

    return join_texts(dataset, str(texts)) if texts else dataset


def draft_of(
    data: Any, format: str, options: Mapping[str, Any], base: Dataset | None = None, progress: Progress = no_progress
) -> Draft:
    """What the reader of its format makes of the data, before it is checked. base: the dataset that it is to join."""
    from metal.data.formats import load_format
    from metal.data.formats import read as read_format
    from metal.data.formats.table import read_ratings
    from metal.raters.judges.rubric import described

    format = format or (_format_of(Path(data)) if isinstance(data, str | os.PathLike) else "table")
    readable = load_format(format).options
    if "described" in readable:
        given = {key: value for key, value in options.items() if key != "prompt_folders"}
        options = given | {"described": partial(described, folders=options.get("prompt_folders", ()))}
    if "reader" in readable:
        scales = {} if base is None else {criterion.name: criterion.scale for criterion in base.criteria.values()}
        options = {**options, "reader": _read_reply, "scales": scales} | ({"base": base} if "base" in readable else {})
    options = {**options, "progress": progress} if "progress" in readable else options
    if not isinstance(data, str | os.PathLike):
        return read_ratings(data, **options)
    draft = read_format(format, Path(data), options)
    return replace(draft, notes=(f"format {format}", *draft.notes)) if format != "table" else draft


def _read_reply(
    text: str, scale: Scale, criterion: str, letters: bool = False, together: bool = False
) -> tuple[float | None, str, str, bool]:
    """What a reply in a table says (see metal.data.tables.replies), by the reader that reads judges' replies. letters:
    whether the prompt asked for the letter of a level; together: for all criteria.
    """
    from metal.data.files import whole_text
    from metal.raters.judges.prompts import letters_of
    from metal.raters.judges.reader import read_part, read_reply

    read = read_part if together else read_reply
    verdict = read(text, scale, letters_of(scale) if letters else None, criterion)
    return verdict.score, verdict.reason, whole_text(verdict.justification or text), verdict.wavering


def _format_of(path: Path) -> str:
    """The release that a file or folder is recognized as, or a table. Raises UsageError for what is neither."""
    from metal.data.formats import recognize
    from metal.data.tables.files import is_table

    if not path.exists():
        raise no_such(path)
    if (recognized := recognize(path)) or is_table(path):
        return recognized or "table"
    if remedy := {".xls": "Save it as .xlsx or CSV", ".zip": "Unpack it"}.get(path.suffix.lower()):
        raise DataError(path, f"{path.suffix} files are not read", remedy)
    if command := (about := read_run_toml(path))["command"]:
        made_from = dict(next(iter(about["datasets"]), {})).get("path", "its dataset")
        raise DataError(path, f"a run of `metal {command}`, which holds no dataset", f"Give {made_from} instead")
    raise UsageError(f"{path}: neither a dataset folder nor a table; say its format: {', '.join([*formats()][:6])}")


def formats() -> dict[str, str]:
    """The formats that `metal.read` knows: name -> what it reads. Other packages' are among them."""
    from metal.data.formats import known_formats

    return {name: format.summary for name, format in known_formats().items()}


def _renamed(names: StrPath | Pairs) -> dict[str, str]:
    from metal.data.merge import read_map

    return dict(names) if isinstance(names, Mapping) else read_map(Path(names))


NOWHERE = Path(os.devnull) / "none"  # in the place of a folder, for data that are in memory only


@dataclass(frozen=True)
class Inputs:
    """A dataset with the ratings of runs added.

    folder: the dataset's, NOWHERE for one in memory. runs: the folders whose ratings were added. digest: of data in
    memory before that. origin: the file or release that they were read from.
    """

    dataset: Dataset
    folder: Path
    runs: tuple[Path, ...] = ()
    digest: str = ""
    origin: Path | None = None

    @property
    def path(self) -> Path:
        """The dataset folder, or the file or release that the data were read from; of others the name alone."""
        return self.folder if self.folder != NOWHERE else self.origin or Path(self.dataset.card.name)

    @property
    def name(self) -> str:
        """What run folders are called after."""
        return self.dataset.card.name if self.folder == NOWHERE else self.folder.resolve().name

    def without_noisy(self, model: str) -> tuple[Dataset, tuple[str, ...]]:
        """The dataset without people who fail the test questions by the model, and a warning for each of them."""
        from metal.genie.exclusion import without_noisy

        dataset, excluded = without_noisy(self.dataset, self.folder, self.runs, model)
        return dataset, tuple(excluded.lines if excluded else ())

    def manifest(
        self, command: str, dataset: Dataset, settings: Mapping[str, Any], raters: Sequence[str], signature: str
    ) -> Manifest:
        """run.toml of a run over these data. dataset: what is left of them."""
        from metal.runs.parts import manifest

        return manifest(command, dataset, [self.path, *self.runs], settings, raters, signature, self.digest)

    def result(
        self,
        kind: type[AnyRun],
        dataset: Dataset,
        asked: Mapping[str, Any],
        made: Analysed,
        judges: Iterable[str],
        signed: Mapping[str, object] | None = None,
    ) -> AnyRun:
        """The run of an analysis of these data. dataset: what is left of them; asked: its settings; judges: those that
        took part; signed: what the signature says, where that is not all settings that are set.
        """
        from metal import __version__
        from metal.data.text import signature_line

        parts = {key: value for key, value in asked.items() if value} if signed is None else signed
        line = signature_line({"metal": __version__, "data": dataset.identity, **parts})
        manifest = self.manifest(kind.command, dataset, asked, sorted(set(judges)), line).to_dict()
        return kind(dataset.card.name, manifest, dataset.criteria, dataset.raters, made.tables, made.warnings)


def load(data: Data, ratings: Sequence[Ratings] = ()) -> Inputs:
    """The data as a dataset with the ratings of the runs added; of a dataset folder with a board, what stands on it.

    Raises what `metal.read` raises, and DataError when two raters of one name are not the same.
    """
    from metal.data.dataset import Dataset

    dataset = as_dataset(data)
    folder = dataset.folder or NOWHERE
    if not isinstance(data, Dataset) and (folder / "board").is_dir():
        from metal.boards.store import with_submissions

        dataset = with_submissions(dataset, folder)
    runs = tuple(folder_of(run) for run in ratings)
    return Inputs(with_runs(dataset, runs), folder, runs, "" if dataset.folder else dataset.digest, dataset.origin)


def as_dataset(data: Data) -> Dataset:
    """The data as a dataset: itself, a dataset folder, or what `metal.read` makes of a file or DataFrame."""
    from metal.data.dataset import Dataset

    return data if isinstance(data, Dataset) else read(data)


def folder_of(run: Ratings) -> Path:
    """The folder of a run whose ratings are to be added."""
    return Path(run) if isinstance(run, str | os.PathLike) else run.folder


def with_runs(dataset: Dataset, runs: Sequence[Path]) -> Dataset:
    """The dataset with the ratings of run folders added; of an audit's or a board's, those that it added."""
    from metal.data.dataset import with_ratings

    for run in runs:
        about = read_run_toml(run)
        added = [run]
        if about["command"] in ("audit", "billboard", "leaderboard") and about["datasets"]:
            added = [Path(path) for path in about["datasets"][0].get("more", [])]
        for folder in added:
            dataset = with_ratings(dataset, folder)
    return dataset
