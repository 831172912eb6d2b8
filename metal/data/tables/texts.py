"""Fill in missing texts of a dataset's sources by the source's id, from XL-Sum or from a file of
ids and texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from metal.data.dataset import Dataset, with_parts
from metal.data.formats.passages import Passage, find_passages
from metal.data.languages import sides
from metal.data.missing import no_such
from metal.data.tables.files import read_frame
from metal.data.text import first_few
from metal.errors import DataError, UnknownName

IDS, TEXTS = ("id", "source", "source_id"), ("text", "source_text", "passage")
XLSUM_SPLITS = ("test", "validation", "train")


def join_texts(dataset: Dataset, origin: str) -> Dataset:
    """Fill in the missing texts of a dataset's sources; its report says how many were found.

    origin: `xlsum` (all its splits), a folder as `find_passages` reads it, or a table with columns
    IDS and TEXTS. A source's id may include its language (`sw/12`) even if the passage's id does
    not. Titles and references are filled in as well. Raises UsageError if `origin` is none of
    these, DataError for an id with two texts, and if no id matches.
    """
    if origin != "xlsum" and not Path(origin).exists():
        raise no_such(origin, remedy="; `texts` is one, or xlsum")
    lacking = {name: source.language for name, source in dataset.sources.items() if not source.text}
    if not lacking:
        return replace(dataset, report=(*dataset.report, "every source has its text already"))
    passages = _passages_of(dataset, lacking, origin)
    without = [name for name in lacking if name not in passages]
    line = f"{len(passages):,} of {len(lacking):,} missing texts are from {origin}"
    if without:
        line += f"; without text: {first_few(without)}"
    sources = dict(dataset.sources)
    for name, passage in passages.items():
        source = sources[name]
        references = source.references or tuple(filter(str.strip, [passage.summary]))
        title = source.title or passage.title
        sources[name] = replace(source, text=passage.text, title=title, references=references)
    joined = with_parts(dataset, sources=[*sources.values()])
    return replace(joined, folder=dataset.folder, report=(*dataset.report, line))


def _passages_of(dataset: Dataset, lacking: Mapping[str, str], origin: str) -> dict[str, Passage]:
    """The passage of each source for which there is one.

    lacking: {source: its language}.
    """
    names = _named_there(dataset)
    passages: dict[str, Passage] = {}
    met, example = False, ""
    languages = sorted({sides(language)[0] for language in lacking.values()})
    for language, passage in _passages(origin, languages):
        name = names.get(f"{language}/{passage.id}") or names.get(passage.id, "")
        met, example = met or bool(name), example or passage.id
        if name not in lacking or not passage.text.strip():
            continue
        if passages.setdefault(name, passage).text != passage.text:
            raise DataError(passage.where, f"id {passage.id!r} has two texts", "Keep one of them")
        if origin == "xlsum" and len(passages) == len(lacking):
            break
    if not met:
        problem = (
            f"no id belongs to a source: ids there are like {example!r}, those of sources like"
            f" {next(iter(lacking))!r}"
        )
        raise DataError(origin, problem, "Rename the ids in one of the two")
    return passages


def _named_there(dataset: Dataset) -> dict[str, str]:
    """{id of a passage: source}, for each source's own id, and for the id without its language if
    only one source then has it.
    """
    bare = {
        name: name.removeprefix(f"{source.language}/") for name, source in dataset.sources.items()
    }
    times = Counter(bare.values())
    short = {without: name for name, without in bare.items() if times[without] == 1}
    return short | {name: name for name in bare}


def _passages(origin: str, languages: Sequence[str]) -> Iterator[tuple[str, Passage]]:
    """The passages of these languages, each with its language; for passages of a table the language
    is unknown (empty).
    """
    if Path(origin).is_file():
        for passage in _table(Path(origin)):
            yield "", passage
        return
    for split in XLSUM_SPLITS if origin == "xlsum" else XLSUM_SPLITS[:1]:
        for language in languages:
            opened = find_passages(origin, split=split, language=language)
            try:
                code = opened.resolve(language)
            except UnknownName:  # others may have it; what is left without text is said
                continue
            for passage in opened.split(code):
                yield language, passage


def _table(path: Path) -> Iterator[Passage]:
    """The rows of a table as passages. Raises DataError without a column of ids or of texts."""
    frame = read_frame(path)
    columns = []
    for choices in (IDS, TEXTS):
        named = [column for column in choices if column in frame]
        if not named:
            problem = (
                f"no column {' or '.join(choices)} (columns found: {', '.join(map(str, frame))})"
            )
            raise DataError(path, problem, "Rename the columns of ids and of texts")
        columns.append(frame[named[0]])
    for row, (name, text) in enumerate(zip(*columns, strict=True), 1):
        if not pd.isna(name) and not pd.isna(text):
            yield Passage(str(text), str(name), where=f"{path} row {row}")
