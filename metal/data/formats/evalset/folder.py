"""The texts of an EvalSet folder: sources, references and systems' outputs, a segment a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import langcodes

from metal.data.files import read_jsonl, read_text
from metal.data.languages import is_language
from metal.data.text import first_few, plural
from metal.errors import DataError, UsageError

NO_TRANSLATION = "NO_TRANSLATION"  # the line of a system that gave no output
NOT_TRANSLATED = "no translation"  # the flag of such an output
RESERVED = ("all", "src")  # in names of metrics: every reference, and none
BY_PEOPLE = "synthetic"  # references with it in their names are no person's


@dataclass(frozen=True)
class PairTexts:
    """The texts of a language pair. folder: the pair in the names of files; all lists are as long
    as `sources`. documents, domains: empty texts if the folder has none.
    """

    folder: str
    language: str
    sources: list[str]
    documents: list[str]
    domains: list[str]
    references: dict[str, list[str]]
    systems: dict[str, list[str]]

    @cached_property
    def translators(self) -> list[str]:
        """The references that people wrote."""
        return [name for name in self.references if BY_PEOPLE not in name.lower()]

    @cached_property
    def document_names(self) -> list[str]:
        """The documents in their order."""
        return list(dict.fromkeys(self.documents))

    @cached_property
    def domain_names(self) -> list[str]:
        """The domains in their order."""
        return sorted(set(self.domains))


def read_texts(path: Path, language: str = "") -> list[PairTexts]:
    """The texts of each language pair, or of the one asked for, which may be named as the folder
    does or by its code.
    """
    names = sorted({file.stem for file in (path / "sources").glob("*-*.*")})
    if not names:
        remedy = "Give the folder of a test set, which has sources/LP.txt for each language pair"
        raise DataError(path / "sources", "no files of sources there", remedy)
    codes = {name: _code(name, path) for name in names}
    if language:
        codes = {name: code for name, code in codes.items() if language in (name, code)}
        if not codes:
            raise UsageError(f"{path}: no {language} there; it has {first_few(names, 30)}")
    alike = [name for name, code in codes.items() if list(codes.values()).count(code) > 1]
    if alike:
        problem = f"{' and '.join(alike)} are both {codes[alike[0]]}"
        raise DataError(path, problem, f"Read one of them: `language={alike[0]!r}`")
    return [_pair_texts(path, name, code) for name, code in codes.items()]


def _code(name: str, path: Path) -> str:
    """The code of a language pair; countries are left out (`en-zh_CN` is `en-zh`)."""
    if is_language(name):
        return name
    tags = [side.replace("_", "-") for side in name.split("-")]
    code = "-".join(
        langcodes.Language.get(tag).language or "" for tag in tags if langcodes.tag_is_valid(tag)
    )
    if len(tags) != 2 or not is_language(code) or code.count("-") != 1:
        remedy = "Name the files for a pair of languages, such as en-de"
        raise DataError(path / "sources" / name, f"{name!r} is not a language pair", remedy)
    return code


def _pair_texts(path: Path, name: str, code: str) -> PairTexts:
    plain = path / "sources" / f"{name}.txt"
    sources = _lines(plain if plain.is_file() else plain.with_suffix(".jsonl"), "source")
    domains, documents = _documents(path / "documents" / f"{name}.docs", len(sources))
    references: dict[str, list[str]] = {}
    for file in sorted((path / "references").glob(f"{name}.*.*")):
        reference = file.name.split(".")[-2]
        if "-" in reference or reference in RESERVED:
            problem = f"a reference named {reference!r}"
            raise DataError(file, problem, "Names have no dash, and are neither `all` nor `src`")
        references[reference] = _parallel(file, "target", len(sources), name)
    systems: dict[str, list[str]] = {}
    for file in sorted((path / "system-outputs" / name).glob("*.*")):
        if file.suffix in (".txt", ".jsonl"):
            systems[file.stem] = _parallel(file, "hypothesis", len(sources), name)
    if not systems:
        folder = path / "system-outputs" / name
        raise DataError(folder, "no outputs of systems", "It should hold SYSTEM.txt for each")
    return PairTexts(name, code, sources, documents, domains, references, systems)


def _parallel(file: Path, key: str, segments: int, pair: str) -> list[str]:
    """The lines of a file, which are as many as the sources."""
    lines = _lines(file, key)
    check_as_many(file, lines, segments, pair)
    return lines


def check_as_many(file: Path, lines: Sequence[str], segments: int, pair: str) -> None:
    """Raise DataError unless a file has a line for each segment."""
    if len(lines) != segments:
        problem = f"{plural(len(lines), 'line')}, but {pair} has {plural(segments, 'segment')}"
        raise DataError(file, problem, "Each file of texts has a line for each line of sources")


def _lines(file: Path, key: str) -> list[str]:
    """The texts of a file: its lines, or in JSON Lines what each has under `key`."""
    if file.suffix != ".jsonl":
        content = read_text(file)
        lines = content.removesuffix("\n").split("\n") if content else []
        return [line.removesuffix("\r") for line in lines]
    texts = []
    for row, record in read_jsonl(file):
        text = record.get(key)
        if not isinstance(text, str):
            raise DataError(f"{file} row {row + 1}", f"no text {key!r}", f'Write "{key}": "..."')
        texts.append(text)
    return texts


def _documents(file: Path, segments: int) -> tuple[list[str], list[str]]:
    """The domain and the document of each segment."""
    if not file.is_file():
        return [""] * segments, [""] * segments
    lines = _lines(file, "")
    check_as_many(file, lines, segments, file.stem)
    domains, documents = list[str](), list[str]()
    for number, line in enumerate(lines, 1):
        fields = line.split(maxsplit=1)
        if len(fields) != 2:
            raise DataError(f"{file} line {number}", f"{line!r}", "Write DOMAIN DOCUMENT")
        domains.append(fields[0])
        documents.append(fields[1].strip())
    return domains, documents
