"""An EvalSet folder, as mt-metrics-eval reads it: see metal.data.formats.evalset.

A dataset that was read from such a folder is written as it was. Of any other dataset, the means of
people's scores (one file for each criterion) and the errors that people marked are written for each
language pair. Every other rater is written as a metric. Scores of systems are then the means of
their segments.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from metal.api.exports import Exported, Target
from metal.api.exports.evalset_notes import are_errors, notes_on_left_out
from metal.data.dataset import Dataset
from metal.data.files import whole_text
from metal.data.formats.evalset.folder import NO_TRANSLATION, NOT_TRANSLATED
from metal.data.holdings import EVALSET_MARK
from metal.data.languages import sides
from metal.data.progress import Progress, followed
from metal.data.records import METRIC_SCORE, Rater, Source
from metal.data.text import first_few, plural
from metal.errors import UsageError
from metal.version import __version__

LINE_BREAK = re.compile(r"\r\n?|\n")  # where mt-metrics-eval ends a line
BYTE_ORDER_MARK = "\ufeff"
BY_RATER = "-by-rater"  # ends the criterion of experts whose means are not the released scores
Scores = np.ndarray[Any, np.dtype[np.float64]]
Rows = np.ndarray[Any, np.dtype[np.int64]]
NO_ROWS: Rows = np.zeros(0, np.int64)


@dataclass(frozen=True)
class WrittenPair:
    """What is written of a language pair.

    folder: the pair in names of files. systems: generator -> its name in files. described: what
    dataset.toml says of the pair, if it was read from such a folder.
    """

    dataset: Dataset
    language: str
    folder: str
    systems: Mapping[str, str]
    described: Mapping[str, Any]

    @cached_property
    def sources(self) -> list[Source]:
        """The segments, with those of each document together."""
        own = [each for each in self.dataset.sources.values() if each.language == self.language]
        first: dict[str, int] = {}
        for number, source in enumerate(own):
            first.setdefault(source.document, number)
        return sorted(own, key=lambda source: first[source.document])

    @cached_property
    def places(self) -> dict[str, int]:
        """Output -> its place: system by system, each in the order of the segments."""
        segment = {source.source: number for number, source in enumerate(self.sources)}
        system = {name: number for number, name in enumerate(self.systems)}
        return {
            output.output: system[output.generator] * len(segment) + segment[output.source]
            for output in self.dataset.outputs.values()
            if output.source in segment and output.generator in system
        }

    @property
    def references(self) -> list[str]:
        """The names of the references of each segment."""
        most = max((len(source.references) for source in self.sources), default=0)
        listed = self.described.get("references", [])
        named = [str(name) for name in listed] if isinstance(listed, list) else []
        letters = [f"ref{chr(ord('A') + number)}" for number in range(min(most, 26))]
        return named if len(named) == most else letters

    @property
    def rating_files(self) -> dict[str, list[str]]:
        """{rating file: its raters} of the folder that was read."""
        files = self.described.get("ratings")
        files = files if isinstance(files, Mapping) else {}
        return {str(file): list(raters) for file, raters in files.items()}

    @cached_property
    def _rows(self) -> dict[tuple[str, str], Rows]:
        """(criterion, rater) -> the numbers of the rows of the pair's ratings."""
        table = self.dataset.ratings
        own = np.flatnonzero((table["language"] == self.language).to_numpy())
        raters = table["rater"].cat.categories.tolist()
        criteria = table["criterion"].cat.categories.tolist()
        criterion = table["criterion"].array.codes[own].astype(np.int64)
        key = criterion * len(raters) + table["rater"].array.codes[own]
        order = np.argsort(key, kind="stable")
        starts = np.flatnonzero(np.diff(key[order], prepend=-1))
        return {
            (criteria[key[rows[0]] // len(raters)], raters[key[rows[0]] % len(raters)]): own[rows]
            for rows in np.split(order, starts[1:])
            if len(rows)
        }

    @cached_property
    def _place_of_rows(self) -> Rows:
        """For each row of all ratings, the place of its output; -1 if the output is not written."""
        outputs = self.dataset.ratings["output"]
        places = [self.places.get(name, -1) for name in outputs.cat.categories]
        return np.asarray(np.array([*places, -1], dtype=np.int64)[outputs.array.codes])

    def rows(self, criterion: str, raters: Iterable[str]) -> Rows:
        """The numbers of the rows with ratings of these raters on the criterion."""
        of_raters = [self._rows.get((criterion, rater), NO_ROWS) for rater in raters]
        rows = np.concatenate([NO_ROWS, *of_raters])
        return np.asarray(rows[self._place_of_rows[rows] >= 0])

    def ratings(self, rows: Rows) -> Iterator[tuple[int, str, str]]:
        """The place, the rater and the comment of these rows."""
        table = self.dataset.ratings.iloc[rows]
        places = self._place_of_rows[rows].tolist()
        return zip(places, table["rater"].astype(str), table["comment"], strict=True)

    def sign(self, criterion: str) -> float:
        """The number by which scores are multiplied, so that a higher score is better."""
        return -1.0 if self.dataset.criteria[criterion].direction == "lower" else 1.0

    def means(self, rows: Rows) -> Scores:
        """The mean scores of outputs, (systems, segments); NaN for an output without a score."""
        size = (len(self.systems), len(self.sources))
        scores = self.dataset.ratings["score"].to_numpy()[rows]
        places, scored = self._place_of_rows[rows], ~np.isnan(scores)
        counts = np.bincount(places[scored], minlength=size[0] * size[1])
        sums = np.bincount(places[scored], scores[scored], minlength=len(counts))
        means = np.full(len(sums), np.nan)
        np.divide(sums, counts, out=means, where=counts > 0)
        return means.reshape(size)


def write(exported: Exported, path: Path, progress: Progress) -> Iterable[str]:
    """Write the folder. Raises UsageError for a dataset whose languages are no pairs."""
    dataset = exported.dataset
    single = [code for code in dataset.languages if sides(code)[0] == sides(code)[1]]
    if single:
        problem = f"{first_few(single)}: no language pair"
        raise UsageError(f"{problem}; an EvalSet folder holds translations (zh-en). Leave it out")
    (path / EVALSET_MARK).write_text(f"# Written by metal {__version__}\n", encoding="utf-8")
    notes = list[str]()
    for language in followed(dataset.languages, progress):
        pair = _pair(dataset, language)
        notes += _write_texts(pair, path)
        notes += _write_people(pair, path)
        notes += _write_metrics(pair, path)
    return [*notes, *notes_on_left_out(exported)]


def _pair(dataset: Dataset, language: str) -> WrittenPair:
    described = dataset.extra.get("evalset", {}).get(language, {})
    outputs = dataset.outputs.values()
    generators = dict.fromkeys(each.generator for each in outputs if each.language == language)
    folder = _plain(str(described.get("folder", language)))
    return WrittenPair(dataset, language, folder, _file_names(generators), described)


def _plain(name: str) -> str:
    """The name with characters replaced, so that it can be a file's name and one word in a line."""
    return re.sub(r"[\s/\\\x00-\x1f]", "_", whole_text(name)).lstrip(".") or "_"


def _file_names(names: Iterable[str]) -> dict[str, str]:
    """A different plain name for each of the names."""
    files: dict[str, str] = {}
    for name in names:
        plain, number = _plain(name), 1
        while plain in files.values():
            number += 1
            plain = f"{_plain(name)}_{number}"
        files[name] = plain
    return files


# ---------------------------------------------------------------- texts


def _write_texts(pair: WrittenPair, path: Path) -> Iterator[str]:
    folder, sources = pair.folder, pair.sources
    outputs = [NO_TRANSLATION] * (len(sources) * len(pair.systems))
    for output, position in pair.places.items():
        written = pair.dataset.outputs[output]
        outputs[position] = NO_TRANSLATION if NOT_TRANSLATED in written.flags else written.text
    columns = {f"sources/{folder}.txt": [source.text for source in sources]}
    for number, name in enumerate(pair.references):
        columns[f"references/{folder}.{_plain(name)}.txt"] = [
            source.references[number] if number < len(source.references) else ""
            for source in sources
        ]
    for number, name in enumerate(pair.systems.values()):
        start = number * len(sources)
        columns[f"system-outputs/{folder}/{name}.txt"] = outputs[start : start + len(sources)]
    broken = 0
    for file, texts in columns.items():
        in_one_line = [LINE_BREAK.sub(" ", text) for text in texts]
        broken += sum(text != line for text, line in zip(texts, in_one_line, strict=True))
        _write_lines(path / file, map(whole_text, in_one_line))
    parts = ((source.domain or "all", source.document or "all") for source in sources)
    _write_lines(
        path / f"documents/{folder}.docs", ("\t".join(map(_plain, each)) for each in parts)
    )
    yield from _notes_on_texts(pair, broken, len(outputs) - len(pair.places))


def _notes_on_texts(pair: WrittenPair, broken: int, lacking: int) -> Iterator[str]:
    """Notes on how the written texts differ from the dataset's. broken: texts of several lines;
    lacking: outputs that systems do not have.
    """
    if broken:
        yield f"{pair.folder}: line breaks became spaces in {plural(broken, 'text')}"
    if lacking:
        yield f"{pair.folder}: {plural(lacking, 'output')} missing; written as {NO_TRANSLATION}"
    renamed = [name for name, file in pair.systems.items() if name != file]
    if renamed:
        yield (
            f"{pair.folder}: systems renamed, because names may have no spaces:"
            f" {first_few(renamed)}"
        )


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines, each of which is a whole text without a line break. A text at the beginning that
    begins with a byte order mark gets a second one, because whoever reads the file removes one.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    content = "".join(f"{line}\n" for line in lines)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(f"{BYTE_ORDER_MARK}{content}" if content[:1] == BYTE_ORDER_MARK else content)


# ---------------------------------------------------------------- scores


def _write_people(pair: WrittenPair, path: Path) -> Iterator[str]:
    """People's scores, a file for each criterion, and the errors that they marked."""
    people = {name: r for name, r in pair.dataset.raters.items() if r.kind == "human"}
    start = path / "human-scores" / f"{pair.folder}."
    for criterion in pair.dataset.criteria:
        rows = pair.rows(criterion, people)
        name = _plain(criterion.removesuffix(BY_RATER))
        if not criterion.endswith(BY_RATER):
            if len(rows):
                _write_seg(pair, f"{start}{name}", pair.sign(criterion) * pair.means(rows))
            _write_parts(pair, f"{start}{name}", criterion, people, rows)
        for file, raters in _rating_files(pair, name, rows, people).items():
            _write_errors(pair, pair.rows(criterion, raters), path / "human-scores" / file)
    lower = [name for name in pair.dataset.criteria if pair.sign(name) < 0]
    if lower:
        yield f"{pair.folder}: scores negated, so that higher is better: {first_few(lower)}"


def _write_metrics(pair: WrittenPair, path: Path) -> Iterator[str]:
    """The scores of every other rater."""
    dataset = pair.dataset
    table = dataset.ratings[dataset.ratings["language"] == pair.language]
    criteria = table.groupby("rater", observed=True)["criterion"].unique()
    others = {name: each for name, each in dataset.raters.items() if each.kind != "human"}
    folder = path / "metric-scores" / pair.folder
    unnamed, missing = list[str](), 0
    for name, rater in others.items():
        rated = [str(each) for each in criteria.get(name, [])] or [METRIC_SCORE.name]
        scorer = _scorer(pair, rater)
        if scorer is None:
            unnamed.append(name)
        for criterion in rated:
            more = f"_{_plain(criterion)}" if len(rated) > 1 else ""
            file = scorer or f"{_plain(name)}{more}-src"
            rows = pair.rows(criterion, [name])
            if len(rows):
                scores = pair.sign(criterion) * pair.means(rows)
                missing += _write_seg(pair, f"{folder}/{file}", scores)
            _write_parts(pair, f"{folder}/{file}", criterion, [name], rows)
    if unnamed:
        named = first_few(unnamed)
        yield f"{pair.folder}: scores named as if without references (-src): {named}"
    if missing:
        yield (
            f"{pair.folder}: {plural(missing, 'score')} of metrics missing (None);"
            " mt-metrics-eval refuses missing scores"
        )


def _scorer(pair: WrittenPair, rater: Rater) -> str | None:
    """The scorer METRIC-REF of a metric that was read from an EvalSet folder; None for other
    raters.
    """
    references = rater.about.get("references", {})
    metric = rater.about.get("metric")
    if not isinstance(metric, str) or not isinstance(references, Mapping):
        return None
    if rater.rater == f"{metric}[noref]":
        return f"{_plain(metric)}-src"
    if rater.rater == metric:
        return f"{_plain(metric)}-{_plain(str(pair.described.get('standard_reference', 'src')))}"
    return _plain(rater.rater)


def _write_seg(pair: WrittenPair, start: str, scores: Scores) -> int:
    """Write the scores of segments. Return how many scores are missing in systems that have
    some.
    """
    scored = ~np.isnan(scores)
    used = np.flatnonzero(scored.any(axis=1))
    names = list(pair.systems.values())
    _write_lines(
        Path(f"{start}.seg.score"),
        (f"{names[at]}\t{_number(score)}" for at in used for score in scores[at].tolist()),
    )
    return int((~scored[used]).sum())


def _number(score: float) -> str:
    return "None" if np.isnan(score) else repr(score)


def _write_parts(
    pair: WrittenPair, start: str, criterion: str, raters: Iterable[str], rows: Rows
) -> None:
    """Write the scores of systems, domains and documents. If the dataset was not read from such a
    folder, a system's score is the mean of its segments' scores.
    """
    scores = pair.dataset.generator_scores
    kept = (scores["language"] == pair.language) & (scores["criterion"] == criterion)
    own = scores[kept & scores["rater"].isin(list(raters))]
    parts = own[["domain", "document", "generator"]].astype(str).itertuples(index=False, name=None)
    by_part = dict(zip(parts, (pair.sign(criterion) * own["score"]).tolist(), strict=True))
    if not pair.described and not by_part and len(rows):
        for generator, means in zip(pair.systems, pair.means(rows), strict=True):
            if not np.isnan(means).all():
                by_part["", "", generator] = float(pair.sign(criterion) * np.nanmean(means))
    _write_levels(pair, start, by_part)


def _write_levels(pair: WrittenPair, start: str, by_part: Mapping[tuple[Any, ...], float]) -> None:
    domains = sorted({source.domain for source in pair.sources} - {""})
    documents = dict.fromkeys(source.document for source in pair.sources)
    levels = {
        "sys": [("", "")],
        "domain": [(name, "") for name in domains],
        "doc": [("", name) for name in documents if name],
    }
    for level, parts in levels.items():
        lines = []
        for generator, name in pair.systems.items():
            values = [by_part.get((*part, generator), np.nan) for part in parts]
            if parts and not np.isnan(values).all():
                first = [f"{_plain(domain)}\t" if level == "domain" else "" for domain, _ in parts]
                pairs = zip(first, values, strict=True)
                lines += [f"{domain}{name}\t{_number(value)}" for domain, value in pairs]
        if lines:
            _write_lines(Path(f"{start}.{level}.score"), lines)


# ---------------------------------------------------------------- errors that people marked


def _rating_files(
    pair: WrittenPair, name: str, rows: Rows, people: Mapping[str, Rater]
) -> dict[str, list[str]]:
    """The raters of each rating file, for raters whose comments are marked errors."""
    marked = (rater for _, rater, comment in pair.ratings(rows) if are_errors(comment))
    raters = list(dict.fromkeys(marked))
    files: dict[str, list[str]] = {}
    for file, named in pair.rating_files.items():
        panel = [rater for rater in raters if people[rater].about.get("panel")]
        within = [rater for rater in raters if rater in named] if named else panel
        if within and _plain(file) == file and file.startswith(f"{pair.folder}.{name}."):
            files[file] = within
    for rater in raters:
        if not any(rater in within for within in files.values()):
            label = _plain(rater.removeprefix(f"{pair.folder}/"))
            files[f"{pair.folder}.{name}.{label}.seg.rating"] = [rater]
    return files


def _write_errors(pair: WrittenPair, rows: Rows, file: Path) -> None:
    """Write a rating file; its name says the rater if it holds the ratings of one."""
    segments = len(pair.sources)
    lines = ["None"] * (segments * len(pair.systems))
    marked = [rating for rating in pair.ratings(rows) if are_errors(rating[2])]
    several = len({rater for _, rater, _ in marked}) > 1
    for position, rater, comment in marked:
        who = f"\t{_plain(rater.removeprefix(f'{pair.folder}/'))}" if several else ""
        lines[position] = f"{comment}{who}"
    names = list(pair.systems.values())
    numbered = enumerate(lines)
    _write_lines(file, (f"{names[at // segments]}\t{line}" for at, line in numbered))


TARGET = Target("an EvalSet folder for mt-metrics-eval", write, folder=True, lacks=("pairs",))
