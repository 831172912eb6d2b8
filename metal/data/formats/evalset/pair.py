"""A language pair of an EvalSet folder, read: its sources, outputs, raters, ratings and notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from metal.data.formats.evalset.folder import NO_TRANSLATION, NOT_TRANSLATED, RESERVED, PairTexts
from metal.data.formats.evalset.people import (
    MarkedErrors,
    PeoplesScores,
    RatedOutputs,
    peoples_scores,
    read_errors,
)
from metal.data.formats.evalset.scores import LEVELS, ScoreFile, read_scores
from metal.data.records import METRIC_SCORE, Criterion, Output, Rater, Source
from metal.data.text import first_few, plural
from metal.errors import DataError

ScoreFiles = dict[str, dict[str, ScoreFile]]  # by scorer and level
NO_REFERENCE = "src"
RATING = ".seg.rating"


@dataclass(frozen=True)
class LanguagePair:
    """A language pair. people, metrics: the scores in its files; peoples: what people said, by
    name.
    """

    texts: PairTexts
    people: ScoreFiles
    metrics: ScoreFiles
    peoples: dict[str, PeoplesScores]

    @property
    def languages(self) -> list[str]:
        """The language pair."""
        return [self.texts.language]

    @property
    def people_among_systems(self) -> list[str]:
        """The generators that are people."""
        return [name for name in self.texts.translators if name in self.texts.systems]

    @cached_property
    def sources(self) -> list[Source]:
        texts = self.texts
        references = list(zip(*texts.references.values(), strict=True)) or [()] * len(texts.sources)
        columns = zip(texts.sources, references, texts.documents, texts.domains, strict=True)
        return [
            Source(
                f"{texts.language}/{number}",
                texts.language,
                text,
                references=written,
                document=document,
                domain=domain,
            )
            for number, (text, written, document, domain) in enumerate(columns, 1)
        ]

    @cached_property
    def outputs(self) -> list[Output]:
        """System by system, each in the order of the segments."""
        return [
            _output(self.texts.language, number, system, text)
            for system, lines in self.texts.systems.items()
            for number, text in enumerate(lines, 1)
        ]

    @cached_property
    def standard_reference(self) -> str:
        """The reference that most metrics use; the first by name if several do."""
        uses = Counter(_references(name)[1] for name in self.metrics)
        names = [name for name in self.texts.references if uses[name]]
        return max(
            names, key=lambda name: uses[name], default=next(iter(self.texts.references), "")
        )

    def metric_name(self, scorer: str) -> str:
        """The rater of METRIC-REF."""
        metric, references = _references(scorer)
        if references == NO_REFERENCE:
            return f"{metric}[noref]"
        return metric if references == self.standard_reference else scorer

    def references_of(self, scorer: str) -> list[str]:
        """The references that METRIC-REF uses."""
        names = _references(scorer)[1]
        if names in RESERVED:
            return [] if names == NO_REFERENCE else list(self.texts.references)
        return names.split(".")

    @cached_property
    def scorer_of(self) -> dict[str, str]:
        """Rater -> METRIC-REF."""
        return {self.metric_name(scorer): scorer for scorer in self.metrics}

    def raters(self, pairs: Sequence[LanguagePair]) -> Iterator[Rater]:
        """People and metrics. pairs: all of the folder; a metric may use other references in
        another.
        """
        for each in self.peoples.values():
            yield from (rated.rater for rated in each.ratings)
            yield each.panel
        for name, scorer in self.scorer_of.items():
            having = [pair for pair in pairs if name in pair.scorer_of]
            references = {
                pair.texts.language: pair.references_of(pair.scorer_of[name]) for pair in having
            }
            facts = {"metric": _references(scorer)[0], "references": references}
            yield Rater(name, "metric", "metric", facts)

    @cached_property
    def ratings(self) -> list[RatedOutputs]:
        """The ratings of people, then of metrics."""
        rated = [ratings for each in self.peoples.values() for ratings in each.ratings]
        segments = len(self.texts.sources)
        for name, scorer in self.scorer_of.items():
            scores = self.metrics[scorer].get("seg")
            if scores:
                outputs = np.flatnonzero(np.repeat(scores.scored, segments))
                rater = Rater(name, "metric")
                of_metric = scores.scores.ravel()[outputs]
                rated.append(RatedOutputs(METRIC_SCORE.name, rater, outputs, of_metric))
        return rated

    @property
    def criteria(self) -> list[Criterion]:
        """Those of people, and that of metrics."""
        own = [criterion for each in self.peoples.values() for criterion in each.criteria]
        return [*own, METRIC_SCORE] if self.metrics else own

    @property
    def described(self) -> dict[str, Any]:
        """What dataset.toml says of the pair."""
        files: dict[str, list[str]] = {}
        for each in self.peoples.values():
            for name, rater in each.files:
                files.setdefault(name, []).extend([rater] if rater else [])
        return {
            "folder": self.texts.folder,
            "references": list(self.texts.references),
            "standard_reference": self.standard_reference,
            "ratings": files,
        }

    @property
    def of_generators(self) -> Iterator[tuple[Any, ...]]:
        """The scores of systems, and of domains and documents: rows of the table of generators'
        scores.
        """
        for name, by_level in self.people.items():
            yield from self._scores(name, self.peoples[name].panel.rater, by_level)
        for rater, scorer in self.scorer_of.items():
            yield from self._scores(METRIC_SCORE.name, rater, self.metrics[scorer])

    def _scores(
        self, criterion: str, rater: str, by_level: dict[str, ScoreFile]
    ) -> Iterator[tuple[Any, ...]]:
        language, systems = self.texts.language, list(self.texts.systems)
        for level in set(LEVELS) & by_level.keys() - {"seg"}:
            parts = parts_of(self.texts, level)
            scores = by_level[level].scores
            for system, part in np.argwhere(~np.isnan(scores)).tolist():
                domain = parts[part] if level == "domain" else ""
                document = parts[part] if level == "doc" else ""
                whose = (language, systems[system], domain, document, criterion, rater)
                yield (*whose, scores[system, part])

    @property
    def notes(self) -> Iterator[str]:
        """What was read, chosen and left out."""
        yield from _notes_on_texts(self)
        for name, by_level in self.people.items():
            yield from _notes_on_unrated(self.texts.folder, name, by_level.get("seg"))
        for each in self.peoples.values():
            yield from each.notes
        yield from _notes_on_metrics(self)
        yield from _notes_on_generators(self)


# ---------------------------------------------------------------- read


def read_pair(path: Path, texts: PairTexts) -> LanguagePair:
    """A language pair of the folder. Raises DataError for the first file that does not fit."""
    pair = texts.folder
    metrics = _score_files(sorted((path / "metric-scores" / pair).glob("*.score")), "", texts)
    for scorer in metrics:
        _check_references(path / "metric-scores" / pair / scorer, texts)
    human = path / "human-scores"
    files = sorted(human.glob(f"{pair}.*.score"), key=_mqm_first)
    people = _score_files(files, f"{pair}.", texts)
    errors: dict[str, list[MarkedErrors]] = {}
    for file in sorted(human.glob(f"{pair}.*{RATING}")):
        label = file.name.removeprefix(f"{pair}.").removesuffix(RATING)
        names = [name for name in people if label == name or label.startswith(f"{name}.")]
        name = max(names, key=len, default=label.partition(".")[0])  # `mqm` of `mqm.rater1`
        rater = label.removeprefix(f"{name}.")
        experts = read_errors(file, rater, list(texts.systems), len(texts.sources))
        errors.setdefault(name, []).extend(experts)
    for name in errors:
        people.setdefault(name, {})
    peoples = {
        name: peoples_scores(name, pair, by_level.get("seg"), errors.get(name, ()))
        for name, by_level in people.items()
    }
    return LanguagePair(texts, people, metrics, peoples)


def parts_of(texts: PairTexts, level: str) -> list[str]:
    """What files of a level score, in their order: segments, documents, domains, or everything."""
    if level == "seg":
        return texts.sources
    by_level = {"doc": texts.document_names, "domain": texts.domain_names}
    return by_level.get(level, [""])


def _score_files(files: Sequence[Path], start: str, texts: PairTexts) -> ScoreFiles:
    """Score files by scorer and level. start: what their names begin with."""
    scores: ScoreFiles = {}
    for file in files:
        scorer, _, level = file.name.removeprefix(start).removesuffix(".score").rpartition(".")
        if level not in LEVELS or not scorer:
            problem = f"level {level!r} in its name"
            raise DataError(file, problem, f"Name it NAME.LEVEL.score; levels: {', '.join(LEVELS)}")
        parts = parts_of(texts, level)
        scores.setdefault(scorer, {})[level] = read_scores(file, level, list(texts.systems), parts)
    return scores


def _mqm_first(file: Path) -> tuple[bool, str]:
    """The order of people's scores: MQM, WMT's standard, then the others by name."""
    return ".mqm." not in file.name, file.name


def _check_references(file: Path, texts: PairTexts) -> None:
    """Raise DataError unless a metric's name ends with references of the folder."""
    references = _references(file.name)[1]
    names = references.split(".") if references not in RESERVED else []
    unknown = [name for name in names if name not in texts.references]
    if unknown:
        remedy = (
            f"Name it METRIC-REF; REF is src, all, or some of {', '.join(texts.references)} joined "
            "by points"
        )
        raise DataError(
            f"{file}.*.score", f"{texts.folder} has no reference {unknown[0]!r}", remedy
        )


def _references(scorer: str) -> tuple[str, str]:
    """METRIC and REF of METRIC-REF."""
    metric, _, references = scorer.rpartition("-")
    return metric, references


def _output(language: str, number: int, system: str, text: str) -> Output:
    lacks = text == NO_TRANSLATION
    source = f"{language}/{number}"
    output = Output(f"{source}/{system}", source, system, language, "" if lacks else text)
    return replace(output, flags=(NOT_TRANSLATED,)) if lacks else output


# ---------------------------------------------------------------- notes


def _notes_on_texts(pair: LanguagePair) -> Iterator[str]:
    texts = pair.texts
    parts = [plural(len(texts.sources), "segment")]
    if any(texts.documents):
        parts.append(f"of {plural(len(texts.document_names), 'document')}")
        parts.append(f"in {plural(len(texts.domain_names), 'domain')},")
    yield f"{texts.folder}: {' '.join(parts)} {plural(len(texts.systems), 'system')}"
    if texts.folder != texts.language:
        yield f"{texts.folder}: read as the language pair {texts.language}"
    by_people = pair.people_among_systems
    others = [n for n in texts.references if n in texts.systems and n not in by_people]
    if by_people:
        yield f"{texts.folder}: references that count as human generators: {first_few(by_people)}"
    if others:
        yield (
            f"{texts.folder}: references that were not written by people, judging by their "
            f"names: {first_few(others)}"
        )
    lacking = sum(line == NO_TRANSLATION for lines in texts.systems.values() for line in lines)
    if lacking:
        yield f"{texts.folder}: {plural(lacking, 'output')} without a text ({NO_TRANSLATION})"


def _notes_on_unrated(pair: str, name: str, scores: ScoreFile | None) -> Iterator[str]:
    if scores:
        outputs = scores.scores[scores.scored]
        unrated = int(np.isnan(outputs).sum())
        if unrated:
            yield f"{pair} {name}: {unrated:,} of {outputs.size:,} outputs were not rated (None)"


def _notes_on_metrics(pair: LanguagePair) -> Iterator[str]:
    folder = pair.texts.folder
    other = [name for name, scorer in pair.scorer_of.items() if name == scorer]
    if other:
        yield (
            f"{folder}: the name of a metric shows its reference only if that is not "
            f"{pair.standard_reference}: {first_few(other)}"
        )
    for rated in pair.ratings:
        missing = int(np.isnan(rated.scores).sum())
        if missing:
            yield f"{folder}: {rated.rater.rater} has no score for {plural(missing, 'output')}"


def _notes_on_generators(pair: LanguagePair) -> Iterator[str]:
    """Which scores of systems are no means of segments' scores."""
    only, other = list[str](), list[str]()
    named = {name: pair.metrics[scorer] for name, scorer in pair.scorer_of.items()} | pair.people
    for name, by_level in named.items():
        if "sys" not in by_level:
            continue
        if "seg" not in by_level:
            only.append(name)
        elif not by_level["seg"].has_means(by_level["sys"]):
            other.append(name)
    if only:
        yield f"{pair.texts.folder}: scores of systems only, none of segments: {first_few(only)}"
    if other:
        yield (
            f"{pair.texts.folder}: the scores of systems are not the means of their segments:"
            f" {first_few(other)}"
        )
