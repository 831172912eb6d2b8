"""Passages to summarise, read one after another: XL-Sum on the hub or in files, any Hugging Face dataset, plain texts.

Where files lie in a folder, the language is in their names: `arabic_test.jsonl`, `ar_test.parquet`, `ar.jsonl`,
`arabic/test.parquet`, `arabic/test/0000.parquet`, or `ar/*.txt` with one passage a file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metal.errors import DataError, MissingExtra, UnknownName, UsageError
from metal.formats import hugging_face, xlsum
from metal.json_files import not_utf8, read_jsonl
from metal.languages import find_language

ROLES = ("id", "title", "summary", "text")
TABLES = (".jsonl", ".parquet")
ENDINGS = (*TABLES, ".txt")
SPLITS = ("train", "test", "validation", "val", "dev")
LOCAL = "give --source a folder with XL-Sum's files (arabic_test.jsonl, ...) or with your own texts"


@dataclass(frozen=True, slots=True)
class Passage:
    """A text with what XL-Sum knows of it. where: for messages."""

    text: str
    id: str = ""
    title: str = ""
    summary: str = ""
    where: str = ""


@dataclass(frozen=True)
class Passages:
    """Where passages come from. split(language) begins to read them from the start, each time it is called.

    languages: those that are there, or those meant where none is named. about: for dataset.toml.
    """

    languages: tuple[str, ...]
    split: Callable[[str], Iterator[Passage]]
    resolve: Callable[[str], str]
    about: Mapping[str, Any] = field(default_factory=dict)
    licence: str = ""
    citation: str = ""


def find_passages(
    source: str,
    *,
    split: str = "test",
    columns: Mapping[str, str] | None = None,
    subset: str = "",
    revision: str = "",
    language: str = "",
) -> Passages:
    """The passages that `source` names: `xlsum`, a file, a folder, or `hf:NAME`.

    columns: {role: column} where columns are not called as in XL-Sum. language: the one of a source without languages.
    Raises UsageError, or UnknownName for a role that is none.
    """
    for role in columns or {}:
        if role not in ROLES:
            raise UnknownName("role", role, ROLES, "Write --column text=article")
    roles = {role: role for role in ROLES} | dict(columns or {})
    about: dict[str, Any] = {"source": source, "split": split}
    about |= {"columns": dict(columns)} if columns else {}
    if source == "xlsum":
        return _xlsum(split, revision or xlsum.REVISION, roles, about)
    if source.startswith("hf:"):
        about |= {"subset": subset} if subset else {}
        about |= {"revision": revision} if revision else {}
        return _hugging_face(source.removeprefix("hf:"), subset, split, revision, roles, about, language)
    path = Path(source)
    if not path.exists():
        raise UsageError(f"--source {source}: no such file or folder, and neither xlsum nor hf:NAME")
    return _local(path, split, roles, about, language)


# ---------------------------------------------------------------- Hugging Face


def _xlsum(split: str, revision: str, roles: Mapping[str, str], about: dict[str, Any]) -> Passages:
    def read(language: str) -> Iterator[Passage]:
        name = xlsum.names_by_code()[language]
        rows = hub_rows(xlsum.HUB_NAME, name, split, revision)
        return _from_rows(rows, roles, f"XL-Sum {name} {split}")

    about |= {"name": xlsum.HUB_NAME, "revision": revision}
    return Passages(xlsum.METALS, read, xlsum.language_code, about, xlsum.LICENCE, xlsum.CITATION)


def _hugging_face(
    name: str, subset: str, split: str, revision: str, roles: Mapping[str, str], about: dict[str, Any], language: str
) -> Passages:
    """A dataset in one language; {language} in the subset's name stands for the language's code."""
    if "{language}" not in subset and not language:
        raise UsageError(f"--source hf:{name}: name its language with --languages, e.g. --languages en")

    def read(code: str) -> Iterator[Passage]:
        rows = hub_rows(name, subset.replace("{language}", code), split, revision)
        return _from_rows(rows, roles, f"{name} {split}")

    return Passages((language,) if language else (), read, _known_language, about)


def hub_rows(name: str, subset: str, split: str, revision: str) -> Iterable[Mapping[str, Any]]:
    """Rows of a split through `datasets`, from the hub, its cache on this machine, or a local path.

    Raises UsageError in one line when it cannot be had.
    """
    local = Path(name).exists()
    offline = not local and not hugging_face.hub_answers()
    if offline and not _in_cache(name):
        raise UsageError(f"{hugging_face.HUB} cannot be reached, and {name} is not in its cache here; {LOCAL}")
    if offline:
        os.environ["HF_HUB_OFFLINE"] = "1"  # else the library tries for half a minute
    try:
        import datasets
    except ImportError:
        raise MissingExtra(f"reading {name}", "hf") from None
    datasets.disable_progress_bars()
    try:
        if local and (Path(name) / "dataset_dict.json").is_file():
            loaded: Any = datasets.load_from_disk(name)[split]
        else:
            loaded = datasets.load_dataset(name, subset or None, split=split, revision=revision or None)
    except Exception as error:  # the library raises many kinds, its own and the hub client's
        raise UsageError(f"{name} {subset} {split}: {hugging_face.first_line(error)}; or {LOCAL}") from error
    rows: Iterable[Mapping[str, Any]] = loaded
    return rows


def _in_cache(name: str) -> bool:
    """Whether `datasets` may have it from an earlier time."""
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    folder = Path(os.environ.get("HF_DATASETS_CACHE") or home / "datasets")
    return (folder / name.replace("/", "___")).is_dir()


# ---------------------------------------------------------------- files


def _local(path: Path, split: str, roles: Mapping[str, str], about: dict[str, Any], language: str) -> Passages:
    found = _files_by_language(path, split) if path.is_dir() else {}
    if not found:
        files = [path] if path.is_file() else sorted(filter(_is_nameless, path.iterdir()))
        if not files:
            raise UsageError(
                f"{path}: no passages of a split {split!r} there. Files are called like arabic_{split}.jsonl, "
                f"ar_{split}.parquet, ar/*.txt, or are all in one language"
            )
        if any(one.suffix not in ENDINGS for one in files):
            raise UsageError(f"{path}: passages are read from {', '.join(ENDINGS)}")
        if not language:
            raise UsageError(f"{path}: which language is it in? Name one with --languages, e.g. --languages en")
        found = {language: files}

    def read(code: str) -> Iterator[Passage]:
        return _from_files(found[code], roles)

    def resolve(asked: str) -> str:
        code = find_language(asked)
        if code not in found:
            raise UnknownName("language", asked, sorted(found), f"These are in {path}")
        return code

    return Passages(tuple(sorted(found)), read, resolve, about)


def _files_by_language(folder: Path, split: str) -> dict[str, list[Path]]:
    """Code -> its files, where names tell the language. A file that names another split is none."""
    found: dict[str, list[Path]] = {}
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith("."):
            continue
        if entry.is_dir():
            files = _of_split(entry, split)
            language = find_language(entry.name)
        else:
            files = [entry] if entry.suffix in TABLES else []
            language = next(
                (
                    code
                    for mark in (f"_{split}", f"-{split}", f".{split}", "")
                    if entry.stem.endswith(mark) and (code := find_language(entry.stem.removesuffix(mark)))
                ),
                None,
            )
        if language and files:
            if language in found:
                raise UsageError(f"{folder}: both {found[language][0].name} and {entry.name} are in {language!r}")
            found[language] = files
    return found


def _is_nameless(path: Path) -> bool:
    """Whether a file may hold passages, and is not of another split: arabic_train.jsonl is no test split."""
    parts = re.split("[_.-]", path.stem)
    return path.suffix in ENDINGS and not (len(parts) > 1 and parts[-1] in SPLITS)


def _of_split(folder: Path, split: str) -> list[Path]:
    """Files of a language's folder: those of the split, or texts."""
    inner = folder / split
    files = [one for place in (inner, folder) if place.is_dir() for one in sorted(place.iterdir()) if one.is_file()]
    tables = [one for one in files if one.suffix in TABLES and (one.parent == inner or split in one.stem)]
    return tables or [one for one in files if one.suffix == ".txt"]


def _known_language(asked: str) -> str:
    code = find_language(asked)
    if not code:
        raise UnknownName("language", asked, xlsum.NAMES, "Use a BCP-47 code such as 'sw', or an English name")
    return code


def _from_files(files: Sequence[Path], roles: Mapping[str, str]) -> Iterator[Passage]:
    for path in files:
        if path.suffix == ".txt":
            yield _from_text(path)
        elif path.suffix == ".parquet":
            yield from _from_rows(_parquet_rows(path, roles), roles, str(path))
        else:
            yield from _from_rows((record for _, record in read_jsonl(path)), roles, str(path))


def _from_text(path: Path) -> Passage:
    try:
        return Passage(path.read_bytes().decode("utf-8-sig"), path.stem, where=str(path))
    except UnicodeDecodeError as error:
        raise not_utf8(path, error.object[: error.start].count(b"\n"), error) from None


def _parquet_rows(path: Path, roles: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            columns = [name for name in file.schema_arrow.names if name in roles.values()]
            if roles["text"] not in columns:
                _no_column(str(path), roles["text"], file.schema_arrow.names)
            for batch in file.iter_batches(256, columns=columns):
                yield from batch.to_pylist()
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(path, f"not readable as Parquet ({error})", "Write it again") from None


def _from_rows(rows: Iterable[Mapping[str, Any]], roles: Mapping[str, str], where: str) -> Iterator[Passage]:
    for number, row in enumerate(rows, 1):
        if roles["text"] not in row:
            _no_column(f"{where} row {number}", roles["text"], row)
        for role in ("title", "summary"):
            if number == 1 and roles[role] != role and roles[role] not in row:
                _no_column(f"{where} row {number}", roles[role], row)
        texts = {role: row.get(column) for role, column in roles.items()}
        for role, text in texts.items():
            if not isinstance(text, str | int | None):
                raise DataError(f"{where} row {number}", f"{roles[role]} is not a text", "Each row is one passage")
        text, name, title, summary = (str(texts[role] or "") for role in ("text", "id", "title", "summary"))
        yield Passage(text, name, title, summary, f"{where} row {number}")


def _no_column(where: str, column: str, found: Iterable[str]) -> None:
    raise DataError(
        where, f"no column {column!r} (columns found: {', '.join(found)})", "Name it with --column, e.g. text=article"
    )
