"""The data that public functions take: folders, files, DataFrames, datasets, runs; `metal.read`
(`metal import`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar, Unpack

from metal.api.options import (
    Option,
    Pairs,
    Progress,
    StrPath,
    by_criterion,
    documented,
    names,
    no_progress,
)
from metal.api.reading import (
    BY_CRITERION,
    LISTS,
    ReadingOptions,
    TableOptions,
    given,
    no_answers,
    plain,
)
from metal.data.missing import no_such
from metal.data.run_toml import named_by, read_run_toml
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
else:  # on the command line a path; the other types are not read before they are needed
    Data = str | Path | Any

AnyRun = TypeVar("AnyRun", bound="Run")


@documented
def read(
    data: StrPath | pd.DataFrame | Dataset,
    format: str = "",
    *,
    into: Annotated[
        StrPath | None, Option("Existing dataset folder to add the ratings to.", metavar="DATASET")
    ] = None,
    map_sources: Annotated[
        StrPath | Pairs | None,
        Option(
            "JSON object that maps source ids of PATH to those of `into`.",
            metavar="FILE",
            rare=True,
        ),
    ] = None,
    map_generators: Annotated[
        StrPath | Pairs | None,
        Option(
            "JSON object that maps generators of PATH to those of `into`.",
            metavar="FILE",
            rare=True,
        ),
    ] = None,
    texts: Annotated[
        StrPath | None,
        Option(
            "Missing source texts, by source id: xlsum, or a table of ids and texts.",
            metavar="FILE",
            rare=True,
        ),
    ] = None,
    name: Annotated[
        str, Option("Name of the dataset. [default: the format's own]", rare=True)
    ] = "",
    prompt_folders: Annotated[
        Sequence[StrPath],
        Option(
            "Folder with criteria/NAME.toml: scales, directions, questions.",
            metavar="DIR",
            rare=True,
        ),
    ] = (),
    subset: Annotated[str, Option("hf: configuration of the dataset.", rare=True)] = "",
    split: Annotated[str, Option("hf: split to read.", rare=True)] = "",
    revision: Annotated[str, Option("hf: revision of the dataset.", rare=True)] = "",
    progress: Progress | None = None,
    **reading: Unpack[TableOptions],
) -> Dataset:
    """Read a table of ratings, or a published release, into a dataset folder.

    A table may have a rating, a rater or a criterion per row or column. METAL reports what it
    recognized, guessed and left out, each with the option that changes it. Judges' replies
    (`reply`) are read as `metal judge` reads them.

    With `into` the ratings join an existing dataset. Outputs are matched by source and generator;
    outputs without a match are counted and listed. If a release numbers its sources (mqm), number n
    is the n-th source of its language in the dataset.

    Args:
        format: The format's name, if the files do not say it.
        data: A dataset folder, for which only the option `texts` applies; a table of ratings, as
            file (CSV, TSV, JSON, JSONL, Parquet, XLSX) or DataFrame; or a published release
            (pariksha, thumb, ...: `metal.formats()` lists them), recognized by its files or named
            with `format`.
        progress: Called with the percentage of a table that has been read, and with 100.

    Returns:
        The dataset; its `report` says how it was read, line by line. Nothing is written before its
        `save(folder)`; with `into`, `save(folder, update=True)` rewrites the folder and keeps
        other files in it.

    Raises:
        DataError: For the first fault in the data.
        UsageError, UnknownName: For options that do not fit.

    Example:
        dataset = metal.read("ratings.csv", directions={"fluency": "higher"})
        print(dataset.report)
    """
    from metal.data.dataset import Dataset, load_dataset

    own = {"name": name, "prompt_folders": tuple(map(Path, prompt_folders))}
    own |= {"subset": subset, "split": split, "revision": revision}
    options = _for_the_reader({**own, **reading})
    if isinstance(data, Dataset):
        _check_table(data, options)
        return data
    if prompt_folders:
        from metal.running.prompting import prompt_folders as checked

        checked(map(str, prompt_folders), None)
    if into is None and any((map_sources, map_generators)):
        raise UsageError("`map_sources` and `map_generators` rename ids for `into`")
    path = Path(data) if isinstance(data, str | os.PathLike) else None
    if path and not format and (path / "dataset.toml").is_file():
        _check_table(data, options, into)
        return _with_texts(load_dataset(path), texts)
    base = None if into is None else load_dataset(Path(into))
    draft = draft_of(data, format, options, base, progress or no_progress)
    dataset = draft.assemble(path) if path else draft.assemble()
    if base is not None:
        return _with_texts(_joined(base, dataset, draft, map_sources, map_generators), texts)
    if path is None or any([*own.values(), texts]):  # verbs have no such options
        return replace(_with_texts(dataset, texts), origin=None, reading={})
    return replace(dataset, origin=path, reading=plain(_with_format(options, path, format)))


def _joined(
    base: Dataset,
    dataset: Dataset,
    draft: Draft,
    map_sources: StrPath | Pairs | None,
    map_generators: StrPath | Pairs | None,
) -> Dataset:
    """Merge the dataset into another one; the report says how the data were read and how they were
    merged.
    """
    from metal.data.merge import merge
    from metal.data.text import note

    both, merged = merge(
        base,
        dataset,
        map_sources=_renamed(map_sources or {}),
        map_generators=_renamed(map_generators or {}),
        counted_from=draft.counted_from,
    )
    report = (*dataset.report, *map(note, merged.lines()))
    return replace(both, report=report, origin=None, reading={})


def _with_format(options: Mapping[str, Any], path: Path, format: str) -> dict[str, Any]:
    """The options, including the format if the files do not show it."""
    from metal.data.formats import recognize

    if path.exists() and format in ("", recognize(path) or "table"):
        return dict(options)
    return {**options, "format": format}


def _for_the_reader(reading: Mapping[str, Any]) -> dict[str, Any]:
    """The given options in the form that readers of formats take."""
    options: dict[str, Any] = {**given(reading)}
    for name, value in options.items():
        if name in LISTS:
            options[name] = names(value)
        elif name == "missing":
            options[name] = no_answers(value)
        elif name in BY_CRITERION:
            options[name] = by_criterion(value)
        elif isinstance(value, Mapping):
            options[name] = dict(value)
    return given(options)  # type: ignore[return-value]


def _check_table(data: object, options: Mapping[str, Any], into: StrPath | None = None) -> None:
    """Raise UsageError for options about reading a table if the data are already a dataset."""
    if options or into is not None:
        what = (
            f"{data} is a dataset folder"
            if isinstance(data, str | os.PathLike)
            else "the data are a dataset"
        )
        raise UsageError(
            f"`{next(iter(options), 'into')}` is for tables and releases only; {what} and is read"
            " as it is: leave it out, or import the data again with it"
        )


def _with_texts(dataset: Dataset, texts: StrPath | None) -> Dataset:
    if not texts:
        return dataset
    from metal.data.tables.texts import join_texts

    return join_texts(dataset, str(texts))


def draft_of(
    data: Any,
    format: str,
    options: Mapping[str, Any],
    base: Dataset | None = None,
    progress: Progress = no_progress,
) -> Draft:
    """Read the data with the reader of their format; they are not checked yet.

    base: the dataset that they are to join.
    """
    from metal.data.formats import load_format, read_as, recognize_frame
    from metal.data.formats import read as read_format
    from metal.data.tables.word_orders import own_orders
    from metal.raters.judges.rubric import described

    path = Path(data) if isinstance(data, str | os.PathLike) else None
    if not format:
        format = _format_of(path) if path else recognize_frame(data.columns) or "table"
    readable = load_format(format).options
    if "described" in readable:
        others = {key: value for key, value in options.items() if key != "prompt_folders"}
        options = others | {
            "described": partial(described, folders=options.get("prompt_folders", ()))
        }
    if "reader" in readable:
        scales = (
            {}
            if base is None
            else {criterion.name: criterion.scale for criterion in base.criteria.values()}
        )
        options = {**options, "reader": _read_reply, "scales": scales} | (
            {"base": base} if "base" in readable else {}
        )
    options = {**options, "progress": progress} if "progress" in readable else options
    with own_orders(options.get("word_orders")):
        if path:
            draft = read_format(format, path, options)
        else:
            draft = read_as(format, data, options)
    return replace(draft, notes=(f"format {format}", *draft.notes)) if format != "table" else draft


def _read_reply(
    text: str,
    scale: Scale,
    criterion: str,
    letters: bool = False,
    together: bool = False,
    numbered: bool = False,
) -> tuple[float | None, str, str, bool]:
    """Read a reply in a table (see metal.data.tables.replies) as judges' replies are read.

    letters: whether the prompt asked for the letter of a level. together: whether it asked for all
    criteria. numbered: whether it showed the numbers of levels.
    """
    from metal.data.files import whole_text
    from metal.raters.judges.parts import read_part
    from metal.raters.judges.prompts import letters_of
    from metal.raters.judges.reader import read_reply

    read = read_part if together else read_reply
    verdict = read(
        text, scale, letters_of(scale) if letters else None, criterion, numbered=numbered
    )
    return (
        verdict.score,
        verdict.reason,
        whole_text(verdict.justification or text),
        verdict.wavering,
    )


MOST_LOOKED_AT = 100  # files of a folder, for one to name in a message


def _format_of(path: Path) -> str:
    """The format of a file or folder: a known release, or a table. Raises UsageError if it is
    neither.
    """
    from metal.data.formats import recognize
    from metal.data.formats.evalset.parts import check_whole
    from metal.data.tables.files import is_table

    if not path.exists():
        raise no_such(path)
    if recognized := recognize(path):
        return recognized
    check_whole(path)
    if is_table(path):
        return "table"
    remedies = {
        ".xls": "Save it as .xlsx or CSV",
        ".zip": "Unpack it",
    }
    if path.suffix.lower() in remedies:
        raise DataError(path, f"{path.suffix} files are not read", remedies[path.suffix.lower()])
    if command := (run_toml := read_run_toml(path))["command"]:
        made_from = dict(next(iter(run_toml["datasets"]), {})).get("path", "its dataset")
        raise DataError(
            path, f"a run of `metal {command}`, which holds no dataset", f"Give {made_from} instead"
        )
    files = (file for file in sorted(path.glob("*"))[:MOST_LOOKED_AT] if file.is_file())
    if table := next((file for file in files if recognize(file) or is_table(file)), None):
        raise UsageError(f"{path}: not a dataset folder; give a file in it, such as {table}")
    raise UsageError(
        f"{path}: neither a dataset folder nor a table; say its format:"
        f" {', '.join([*formats()][:6])}"
    )


@documented
def formats() -> dict[str, str]:
    """List the formats that `metal.read` knows, including those of other packages: name -> what it
    reads.

    Returns:
        The formats by their names.

    Example:
        metal.formats()["pariksha"]
    """
    from metal.data.formats import known_formats

    return {name: format.summary for name, format in known_formats().items()}


def _renamed(names: StrPath | Pairs) -> dict[str, str]:
    from metal.data.merge import read_map

    return dict(names) if isinstance(names, Mapping) else read_map(Path(names))


NOWHERE = Path(os.devnull) / "none"  # in the place of a folder, for data that are in memory only


@dataclass(frozen=True)
class Inputs:
    """A dataset with the ratings of runs added.

    folder: the dataset's folder; NOWHERE for a dataset in memory. runs: the run folders whose
    ratings were added. digest: a hash of data in memory, before ratings were added. origin: the
    file or release from which the data were read. reading: the options with which they were read.
    """

    dataset: Dataset
    folder: Path
    runs: tuple[Path, ...] = ()
    digest: str = ""
    origin: Path | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        """The dataset folder, or the file or release from which the data were read; for other data
        only the name.
        """
        return (
            self.folder if self.folder != NOWHERE else self.origin or Path(self.dataset.card.name)
        )

    @property
    def name(self) -> str:
        """The name that run folders are named after."""
        return self.dataset.card.name if self.folder == NOWHERE else self.folder.resolve().name

    def without_noisy(self, model: str) -> tuple[Dataset, tuple[str, ...]]:
        """The dataset without people who fail the test questions according to the model, and a
        warning for each of them.
        """
        from metal.genie.exclusion import without_noisy

        dataset, excluded = without_noisy(self.dataset, self.folder, self.runs, model)
        return dataset, tuple(excluded.lines if excluded else ())

    def manifest(
        self,
        command: str,
        dataset: Dataset,
        settings: Mapping[str, Any],
        raters: Sequence[str],
        signature: str,
    ) -> Manifest:
        """The content of run.toml for a run on these data.

        dataset: the part of the data that was used.
        """
        from metal.runs.parts import manifest

        paths = [self.path, *self.runs]
        return manifest(
            command, dataset, paths, settings, raters, signature, self.digest, self.reading
        )

    def result(
        self,
        kind: type[AnyRun],
        dataset: Dataset,
        asked: Mapping[str, Any],
        analysed: Analysed,
        judges: Iterable[str],
        signed: Mapping[str, object] | None = None,
    ) -> AnyRun:
        """The run of an analysis of these data.

        dataset: the part of the data that was used. asked: the settings of the analysis. judges:
        the judges that took part. signed: what the signature contains, if not all settings.
        """
        from metal.data.text import signature_line
        from metal.version import __version__

        parts = {key: value for key, value in asked.items() if value} if signed is None else signed
        line = signature_line({"metal": __version__, "data": dataset.identity, **parts})
        manifest = self.manifest(kind.command, dataset, asked, sorted(set(judges)), line).to_dict()
        return kind(
            dataset.card.name,
            manifest,
            dataset.criteria,
            dataset.raters,
            analysed.tables,
            analysed.warnings,
        )


def load(
    data: Data, ratings: Sequence[Ratings] = (), reading: ReadingOptions | None = None
) -> Inputs:
    """Load the data as a dataset and add the ratings of the runs.

    A dataset folder with a board is loaded with everything that is on the board.

    reading: how to read a table. Raises what `metal.read` raises, and DataError if two different
    raters have the same name.
    """
    from metal.data.dataset import Dataset

    dataset = as_dataset(data, reading)
    folder = dataset.folder or NOWHERE
    if not isinstance(data, Dataset) and (folder / "board").is_dir():
        from metal.boards.store import with_submissions

        dataset = with_submissions(dataset, folder)
    runs = tuple(map(folder_of, ratings))
    digest = "" if dataset.folder else dataset.digest
    return Inputs(with_runs(dataset, runs), folder, runs, digest, dataset.origin, dataset.reading)


def as_dataset(data: Data, reading: ReadingOptions | None = None) -> Dataset:
    """Turn the data into a dataset: a dataset, a dataset folder, or whatever `metal.read` reads."""
    return read(data, **(reading or {}))


def reading_of(run: Path) -> ReadingOptions:
    """The options used to read the table from which the run was made."""
    first_data: Mapping[str, Any] = next(iter(read_run_toml(run)["datasets"]), {})
    return given(first_data.get("reading", {}))


def folder_of(run: Ratings) -> Path:
    """The folder of a run whose ratings are added."""
    return Path(run) if isinstance(run, str | os.PathLike) else run.folder


def with_runs(dataset: Dataset, runs: Sequence[Path]) -> Dataset:
    """Add the ratings of run folders to the dataset.

    An audit or a board has no ratings of its own; those of the runs added to it are taken.
    """
    from metal.data.dataset import with_ratings

    for run in runs:
        run_toml = read_run_toml(run)
        added = [run]
        if run_toml["command"] in ("audit", "billboard", "leaderboard") and run_toml["datasets"]:
            added = [named_by(run, path) for path in run_toml["datasets"][0].get("more", ())]
        for folder in added:
            dataset = with_ratings(dataset, folder)
    return dataset
