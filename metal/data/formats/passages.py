"""Passages to summarise, read one after another: XL-Sum on the hub or in files, any Hugging Face
dataset, plain texts.

The files of a folder have the language in their names: `arabic_test.jsonl`, `ar_test.parquet`,
`ar.jsonl`, `arabic/test.parquet`, `arabic/test/0000.parquet`, or `ar/*.txt` with one passage per
file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from metal.data.files import read_jsonl, read_text
from metal.data.formats.hugging_face import hub_rows
from metal.data.languages import code_among, find_language
from metal.data.missing import no_such
from metal.errors import DataError, UnknownName, UsageError, check_known

ROLES = ("id", "title", "summary", "text")
TABLES = (".jsonl", ".parquet")
TEXTS = (".txt",)
ENDINGS = (*TABLES, *TEXTS)
# XL-Sum (Hasan et al. 2021): news passages with summaries in 45 languages.
XLSUM = "csebuetnlp/xlsum"
# the main branch is a script, which `datasets` no longer runs
XLSUM_REVISION = "refs/convert/parquet"
XLSUM_LICENCE = "CC BY-NC-SA 4.0 (XL-Sum: non-commercial research)"
XLSUM_CITATION = (
    "Hasan et al. (Findings of ACL 2021), XL-Sum: Large-Scale Multilingual Abstractive"
    " Summarization for 44 Languages"
)

# Its configurations, by the names it gives them.
XLSUM_NAMES = """
amharic arabic azerbaijani bengali burmese chinese_simplified chinese_traditional english french gujarati hausa hindi
igbo indonesian japanese kirundi korean kyrgyz marathi nepali oromo pashto persian pidgin portuguese punjabi russian
scottish_gaelic serbian_cyrillic serbian_latin sinhala somali spanish swahili tamil telugu thai tigrinya turkish
ukrainian urdu uzbek vietnamese welsh yoruba
""".split()  # noqa: SIM905, E501

# the languages of METAL's dataset
METALS_LANGUAGES = ("en", "fr", "zh", "hi", "ar", "bn", "ru", "tr", "ja", "sw")

SPLITS = ("train", "test", "validation", "val", "dev")


@dataclass(frozen=True, slots=True)
class Passage:
    """A text with its title and reference summary, if any. where: the file and row, for
    messages.
    """

    text: str
    id: str = ""
    title: str = ""
    summary: str = ""
    where: str = ""


@dataclass(frozen=True)
class Passages:
    """A source of passages.

    languages: those it has, or the default ones if none is named. split(language) reads the
    passages from the start each time it is called; resolve(name) gives the source's code of a
    language. about: facts for dataset.toml.
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

    columns: {role: column}, if columns are not named as in XL-Sum. language: the language of a
    source that names none. Raises UsageError (also for a subset or revision of a source that has
    none),
    or UnknownName for an unknown role.
    """
    _check_options(source, columns or {}, subset, revision)
    roles = {role: role for role in ROLES} | dict(columns or {})
    facts: dict[str, Any] = {"source": source, "split": split}
    facts |= {"columns": dict(columns)} if columns else {}
    if source == "xlsum":
        return _xlsum(split, revision or XLSUM_REVISION, roles, facts)
    if source.startswith("hf:"):
        facts |= {"subset": subset} if subset else {}
        facts |= {"revision": revision} if revision else {}
        return _hugging_face(
            source.removeprefix("hf:"), subset, split, revision, roles, facts, language
        )
    path = Path(source)
    if not source:
        raise UsageError("`source` is empty; give a file or folder, xlsum or hf:NAME")
    if not path.exists():
        raise no_such(source, remedy="; `source` is one, or xlsum, or hf:NAME")
    return _local(path, split, roles, facts, language)


def _check_options(source: str, columns: Collection[str], subset: str, revision: str) -> None:
    """Raise UnknownName for an unknown role, and UsageError for a subset or revision if the source
    has no subsets or revisions.
    """
    check_known("role", columns, ROLES, 'Write `columns={"text": "article"}`')
    on_hub = source.startswith("hf:")
    if subset and not on_hub:
        raise UsageError(f"`subset` {subset}: only hf:NAME has subsets; leave it out")
    if revision and not on_hub and source != "xlsum":
        raise UsageError(
            f"`revision` {revision}: only xlsum and hf:NAME have revisions; leave it out"
        )


# ---------------------------------------------------------------- XL-Sum and others on Hugging Face


def _xlsum(split: str, revision: str, roles: Mapping[str, str], facts: dict[str, Any]) -> Passages:
    def read(language: str) -> Iterator[Passage]:
        name = xlsum_names()[language]
        return _from_rows(hub_rows(XLSUM, name, split, revision), roles, f"XL-Sum {name} {split}")

    facts |= {"name": XLSUM, "revision": revision}
    return Passages(METALS_LANGUAGES, read, xlsum_language, facts, XLSUM_LICENCE, XLSUM_CITATION)


def _hugging_face(
    name: str,
    subset: str,
    split: str,
    revision: str,
    roles: Mapping[str, str],
    facts: dict[str, Any],
    language: str,
) -> Passages:
    """A dataset in one language; {language} in the subset's name stands for the language's code."""
    if not name:
        raise UsageError(
            "`source` hf: names no dataset; write hf:NAME, e.g. hf:abisee/cnn_dailymail"
        )
    if "{language}" not in subset and not language:
        raise UsageError(
            f'`source` hf:{name}: name its language with `languages`, e.g. `languages=["en"]`'
        )

    def read(code: str) -> Iterator[Passage]:
        rows = hub_rows(name, subset.replace("{language}", code), split, revision)
        return _from_rows(rows, roles, f"{name} {split}")

    return Passages((language,) if language else (), read, _code_of, facts)


@lru_cache(maxsize=1)
def xlsum_names() -> Mapping[str, str]:
    """Language code -> XL-Sum's name of the language."""
    return {str(find_language(name)): name for name in XLSUM_NAMES}


def xlsum_language(asked: str) -> str:
    """METAL's code for a language of XL-Sum, given by code (`zh-CN`, `zh`) or name.

    Raises UnknownName for a language that XL-Sum does not have.
    """
    code = code_among(asked, xlsum_names())
    if code is None:
        raise UnknownName(
            "language", asked, [*xlsum_names(), *XLSUM_NAMES], "XL-Sum has 45 languages"
        )
    return code


# ---------------------------------------------------------------- files


def _local(
    path: Path, split: str, roles: Mapping[str, str], facts: dict[str, Any], language: str
) -> Passages:
    files = _files_by_language(path, split) if path.is_dir() else {}
    if not files:
        unnamed = [path] if path.is_file() else _files_of_split(path, split)
        if not unnamed:
            raise UsageError(
                f"{path}: no passages of the split {split!r} there. Files are called like"
                f" arabic_{split}.jsonl, ar_{split}.parquet, ar/*.txt, or are all in one language"
            )
        if any(file.suffix not in ENDINGS for file in unnamed):
            raise UsageError(f"{path}: passages are read from {', '.join(ENDINGS)}")
        language = language or (_language_in(path.stem, split) if path.is_file() else None) or ""
        if not language:
            raise UsageError(
                f"{path}: which language is it in? Name one with `languages`, e.g."
                ' `languages=["en"]`'
            )
        files = {_code_of(language): unnamed}

    def resolve(asked: str) -> str:
        code = code_among(asked, files)
        if code not in files:
            raise UnknownName("language", asked, sorted(files), f"These are in {path}")
        return code

    return Passages(
        tuple(sorted(files)), lambda code: _from_files(files[code], roles), resolve, facts
    )


def _files_by_language(folder: Path, split: str) -> dict[str, list[Path]]:
    """{code: files} if file names contain a language; files that name another split are left
    out.
    """
    by_language: dict[str, list[Path]] = {}
    for entry in _visible(folder):
        # `val` and `dev` are also codes of languages
        if {entry.name, entry.stem} & {*SPLITS, split}:
            continue
        if entry.is_dir():
            files = _files_of_split(entry, split)
            language = find_language(entry.name)
        else:
            files = [entry] if entry.suffix in TABLES and not _names_another(entry, split) else []
            language = _language_in(entry.stem, split)
        if language and files:
            if language in by_language:
                first = by_language[language][0].name
                raise UsageError(f"{folder}: both {first} and {entry.name} are in {language!r}")
            by_language[language] = files
    return by_language


def _language_in(stem: str, split: str) -> str | None:
    """The language of `arabic_test`, `ar-test`, `ar`."""
    for mark in (f"_{split}", f"-{split}", f".{split}", ""):
        if stem.endswith(mark) and (language := find_language(stem.removesuffix(mark))):
            return language
    return None


def _visible(folder: Path) -> list[Path]:
    return (
        [entry for entry in sorted(folder.iterdir()) if not entry.name.startswith(".")]
        if folder.is_dir()
        else []
    )


def _files_of_split(folder: Path, split: str) -> list[Path]:
    """The files of a folder in one language: the tables of the split; if there are none, tables
    that name no split; if there are none, text files.
    """
    inner, outer = (
        _visible(folder / split),
        [entry for entry in _visible(folder) if entry.is_file()],
    )
    of_split = [file for file in outer if _names(file, split)]
    of_any = [file for file in outer if not _names_another(file, split)]
    for files, endings in (
        (inner, TABLES),
        (of_split, TABLES),
        (of_any, TABLES),
        (inner, TEXTS),
        (outer, TEXTS),
    ):
        chosen = [file for file in files if file.suffix in endings]
        if chosen:
            return chosen
    return []


def _names(path: Path, split: str) -> bool:
    """Whether a file's name has the split in it as a word: `test-00000-of-00001`, `arabic_test`."""
    return re.search(rf"(^|[_.-]){re.escape(split)}([_.-]|$)", path.stem) is not None


def _names_another(path: Path, split: str) -> bool:
    return not _names(path, split) and any(_names(path, other) for other in SPLITS)


def _code_of(asked: str) -> str:
    code = find_language(asked)
    if not code:
        raise UnknownName(
            "language", asked, XLSUM_NAMES, "Use a BCP-47 code such as 'sw', or an English name"
        )
    return code


def _from_files(files: Sequence[Path], roles: Mapping[str, str]) -> Iterator[Passage]:
    for path in files:
        if path.suffix == ".txt":
            yield Passage(read_text(path), path.stem, where=str(path))
        elif path.suffix == ".parquet":
            yield from _from_rows(_parquet_rows(path, roles), roles, str(path))
        else:
            yield from _from_rows((record for _, record in read_jsonl(path)), roles, str(path))


def _parquet_rows(path: Path, roles: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            columns = [name for name in file.schema_arrow.names if name in roles.values()]
            _check_columns(str(path), file.schema_arrow.names, roles)
            for batch in file.iter_batches(256, columns=columns):
                yield from batch.to_pylist()
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise DataError(
            path, f"a text in it is not UTF-8 (byte 0x{byte:02x})", "Write it again as UTF-8"
        ) from None
    except (pa.ArrowException, OSError) as error:
        raise DataError(path, f"not readable as Parquet ({error})", "Write it again") from None


def _from_rows(
    rows: Iterable[Mapping[str, Any]], roles: Mapping[str, str], origin: str
) -> Iterator[Passage]:
    for number, row in enumerate(rows, 1):
        location = f"{origin} row {number}"
        _check_columns(location, row, roles if number == 1 else {"text": roles["text"]})
        cells = {role: _cell(row, role, roles[role], location) for role in ROLES}
        yield Passage(**cells, where=location)


def _cell(row: Mapping[str, Any], role: str, column: str, location: str) -> str:
    """The text in a column, empty if there is none. A number is accepted too, except for the
    passage itself.
    """
    cell = row.get(column)
    if cell is None or isinstance(cell, str):
        return cell or ""
    if role != "text" and type(cell) is int:
        return str(cell)
    raise DataError(location, f"{column} is not a text", "Each row is one passage")


def _check_columns(location: str, columns: Collection[str], roles: Mapping[str, str]) -> None:
    """Raise DataError if the column of texts is missing, or if a column that the caller named is
    missing.
    """
    for role, column in roles.items():
        if column not in columns and (role == "text" or column != role):
            problem = f"no column {column!r} (columns found: {', '.join(columns)})"
            raise DataError(location, problem, "Name it with `columns`, e.g. text=article")
