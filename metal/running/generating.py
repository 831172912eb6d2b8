"""A run of `metal.generate`: its request, its parts, its run folder, and what it adds to the
dataset.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from metal.building.describe import generated
from metal.building.flags import LanguageProfiles
from metal.building.generate import (
    REFERENCE,
    TRANSLATION,
    Generation,
    Instruction,
    choose,
    flagged,
    generated_outputs,
    load_instruction,
    references,
)
from metal.building.store import read_tasks
from metal.data.dataset import Dataset, dataset_to_change, load_dataset, update_dataset
from metal.data.files import check_outside, whole_text
from metal.data.languages import check_languages, language_name, sides
from metal.data.progress import Progress, no_progress
from metal.data.records import Output, Source
from metal.data.replacing import refusal
from metal.data.text import listed, plural, signature_line
from metal.data.tokens import ENCODING, count_text, load_encoding
from metal.errors import MetalError, UsageError
from metal.raters.judges.collect import CallStatistics, JournalIndex, index_journal
from metal.raters.judges.journal import FILE as JOURNAL
from metal.raters.judges.models import Model, find_model, judges_files, named_models, with_settings
from metal.raters.judges.providers import find_provider
from metal.raters.judges.rubric import Rubric, rubrics_for
from metal.running.job import Job, Request
from metal.running.prompting import prompt_folders
from metal.runs.parts import write_results
from metal.version import __version__


@dataclass(frozen=True)
class GenerateRequest(Request):
    """What a run was asked to write: everything that decides which calls it makes. run.toml records
    it.

    The way of choosing outputs may change when the run is resumed, because that needs no new calls.
    """

    LISTS = ("models", "quality", "languages")
    OPEN = ("languages",)
    SAME = ("prompt_folders", "base_url")

    models: tuple[str, ...]
    quality: tuple[str, ...] = ("good", "bad")
    languages: tuple[str, ...] = ()
    reask: int = 1
    prompt_folders: tuple[str, ...] = ()
    base_url: str = ""
    choose: str = "one"
    keep_flagged: bool = False
    seed: int = 0


@dataclass
class GenerateJob(Job):
    """A request with its parts.

    outputs: the outputs that the dataset's generators have written by the end. notes: notes to show
    after the run.
    """

    command = "generate"
    DESCRIBED = "described"  # models: their names
    wanted = "text"

    request: GenerateRequest
    plan: Generation
    rubrics: Mapping[str, Rubric] = field(default_factory=dict)
    outputs: list[Output] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def what(self) -> str:
        return f"{len(self.plan.sources):,} passages, quality {', '.join(self.request.quality)}"

    def check(self, out: Path) -> None:
        recorded = self.dataset.extra.get("generators", {})
        for name, model in self._generators({}).items():
            before = recorded.get(name, {}).get("prompt")
            if before and before != model["prompt"]:
                elsewhere = " with another `out`" if refusal(out, self.command) else ""
                raise UsageError(
                    f"{self.folder} has texts of {name} with the prompt {before}, but it is now"
                    f" {model['prompt']}; give the new one another name (generate/NAME.toml),"
                    f" or `force=True`{elsewhere} to replace texts that nobody rated"
                )
        super().check(out)

    def finish(self, out: Path, progress: Progress = no_progress) -> Mapping[str, CallStatistics]:
        """Add the outputs to the dataset, which keeps everything else."""
        with dataset_to_change(self.folder) as dataset:  # as it is now: a run takes its time
            return self._add_to_dataset(dataset, out)

    def _add_to_dataset(self, dataset: Dataset, out: Path) -> Mapping[str, CallStatistics]:
        index = index_journal(self.plan, out / JOURNAL) if self.plan.models else None
        tallies = index.statistics if index else {}
        fresh = self._fresh(dataset, index)
        before = dict(dataset.extra.get("generators", {}))
        # answered other runs only
        silent = {name for name in before if not (name in tallies and tallies[name].sent)}
        generators = {
            name: model for name, model in self._generators(tallies).items() if name not in silent
        }
        kept = self._together(dataset, fresh, generators)
        generators = before | generators
        people = dataset.ratings[dataset.ratings["kind"] == "human"]
        # by people, rated or not
        held = {*map(str, people["output"].unique()), *read_tasks(self.folder).values()}
        drawn = choose(
            [output for output in kept.values() if output.generator in generators],
            held=held,
            every=self.request.choose == "all",
            keep_flagged=self.request.keep_flagged,
            seed=self.request.seed,
        )
        self.outputs = drawn
        chosen = {
            "seed": self.request.seed,
            "choose": self.request.choose,
            "keep_flagged": self.request.keep_flagged,
        }
        extra = dict(dataset.extra) | {"generators": generators, "generate": chosen}
        others = [output for output in kept.values() if output.generator not in generators]
        together = {output.output: output for output in [*others, *drawn]}
        changed = replace(dataset, outputs=together, extra=extra)
        update_dataset(changed, self.folder)
        not_asked = sum(tally.not_asked for tally in tallies.values())
        state = {"outputs": len(fresh), "not_asked": not_asked, "complete": not not_asked}
        self.write_run(out, statistics=tallies, state=state)
        tables = generated(changed, drawn, self.languages)
        write_results(out, self.notes, (), tables)
        return tallies

    @property
    def languages(self) -> tuple[str, ...]:
        return tuple(sorted({source.language for source in self.plan.sources}))

    @property
    def signature(self) -> str:
        asked = {"models": "+".join(self.request.models), "quality": "+".join(self.request.quality)}
        chosen = {"choose": self.request.choose, "seed": self.request.seed}
        return signature_line(
            {"metal": __version__, "data": self.dataset.identity} | asked | chosen
        )

    def _fresh(self, dataset: Dataset, index: JournalIndex | None) -> list[Output]:
        """The outputs that the run has written so far, with their flags; those whose source is gone
        are left out.
        """
        texts = list(generated_outputs(self.plan, index)) if index else []
        if REFERENCE in self.request.quality:
            texts += references(self.plan.sources)
        texts = [output for output in texts if output.source in dataset.sources]
        profiles = LanguageProfiles([*_english(self.rubrics), *_in_languages(dataset)])
        return list(flagged(texts, dataset.sources, profiles, self._token_counter(dataset)))

    def _together(
        self, dataset: Dataset, fresh: Iterable[Output], generators: Mapping[str, Mapping[str, Any]]
    ) -> dict[str, Output]:
        """The dataset's outputs together with the fresh ones; a text that has been rated stays as
        it was.

        Texts that one of the generators wrote with other instructions are removed.
        """
        rated = set(map(str, dataset.ratings["output"].unique()))
        before = dataset.extra.get("generators", {})
        stale = {
            name
            for name in generators
            if name in before and before[name].get("prompt") != generators[name].get("prompt")
        }
        old = {
            name: output
            for name, output in dataset.outputs.items()
            if output.generator not in stale or name in rated
        }
        new = {output.output: output for output in fresh}
        kept = rated & old.keys()
        differ = [name for name in kept & new.keys() if new[name].text != old[name].text]
        if differ:
            self.notes.append(
                f"{len(differ):,} outputs have been rated and keep their text, although a new "
                "one was written"
            )
        return old | {name: output for name, output in new.items() if name not in kept}

    def digests(self) -> dict[str, str]:
        return {instruction.quality: instruction.digest for instruction in self.plan.instructions}

    def _generators(self, tallies: Mapping[str, CallStatistics]) -> dict[str, Any]:
        """The facts about each generator that dataset.toml records."""
        generators: dict[str, Any] = {}
        for (model_name, quality), name in self.plan.names.items():
            model = next(model for model in self.plan.models if model.name == model_name)
            instruction = next(each for each in self.plan.instructions if each.quality == quality)
            tally = tallies.get(name, CallStatistics())
            described = {
                key: value for key, value in model.described().items() if key != "parameters"
            }
            generators[name] = described | {
                "quality": quality,
                "through": "guidance" if model.provider == "guidance" else "structured output",
                "prompt": f"{quality}@{instruction.digest}",
                "asked_temperature": instruction.temperature,
                "sent": dict(tally.sent),
            }
            facts: dict[str, dict[str, Any]] = {
                "rejected": {key: whole_text(why) for key, why in tally.rejected.items()},
                "versions": {
                    whole_text(version): count for version, count in tally.versions.most_common()
                },
            }
            generators[name] |= {key: fact for key, fact in facts.items() if fact}
        if REFERENCE in self.request.quality:
            generators[REFERENCE] = {"quality": REFERENCE, "family": "people"}
        return generators

    def _token_counter(self, dataset: Dataset) -> Callable[[str], int | None]:
        """A function that counts tokens in the encoding used for the passages; None if the
        encoding's file is not available.
        """
        name = str(dataset.extra.get("sample", {}).get("encoding", ENCODING))
        try:
            encoding = load_encoding(name)
        # what was generated is paid for, and worth more than its token counts
        except (MetalError, OSError) as error:
            self.notes.append(f"tokens were not counted: {error}")
            return lambda text: None
        return lambda text: count_text(text, encoding)


def _english(rubrics: Mapping[str, Rubric]) -> Iterator[tuple[str, str]]:
    """English texts that are always available: those of the rubrics."""
    for rubric in rubrics.values():
        yield (
            "en",
            " ".join(
                [
                    rubric.simple,
                    rubric.detailed,
                    *(level.definition for level in rubric.levels.values()),
                ]
            ),
        )


def _in_languages(dataset: Dataset) -> Iterator[tuple[str, str]]:
    """The dataset's passages, and texts that people wrote about them, each with its language; for a
    pair of languages, the text's own language.
    """
    for source in dataset.sources.values():
        theirs, ours = sides(source.language)
        yield theirs, source.text
        for text in source.references:
            yield ours, text


def generate_job(
    request: GenerateRequest, folder: Path, concurrency: int | None = None
) -> GenerateJob:
    """Build the job of a request: its dataset, models and instructions. Raises UsageError,
    UnknownName or DataError.
    """
    dataset = load_dataset(folder)
    check_outside(folder)
    if not (os.access(folder, os.W_OK) and os.access(folder.resolve().parent, os.W_OK)):
        raise UsageError(
            f"{folder} cannot be written to; change its rights, or generate into a copy of it"
        )
    models = _find_writers(request, concurrency)
    passages = _find_passages(request, dataset)
    usable = [source for source in passages if source.text.strip()]
    if not usable:
        raise UsageError(f"{folder} has no passages with a text; `metal.sample` draws some")
    folders = prompt_folders(request.prompt_folders, folder)
    rubrics = rubrics_for(dataset.criteria.values(), folders, needed=())
    instructions: list[Instruction] = []
    for quality in request.quality:
        if quality != REFERENCE:
            instructions.append(load_instruction(quality, folders, rubrics))
    if any(instruction.shows_criteria for instruction in instructions):
        rubrics_for(dataset.criteria.values(), folders)  # which refuses what nothing describes
    if instructions and not models:
        raise UsageError('give the model that is to write: `model="openai:gpt-4o"`')
    warnings = []
    if silent := len(passages) - len(usable):
        warnings.append(f"warning: {silent:,} passages have no text and are skipped")
    _check_translation(request, usable)
    if REFERENCE in request.quality:
        warnings += _without_reference(usable, folder, instructions)
    return GenerateJob(
        request,
        folder,
        dataset,
        Generation(models if instructions else (), tuple(instructions), usable),
        warnings=tuple(warnings),
        concurrency=concurrency,
        rubrics=rubrics,
    )


def _find_writers(request: GenerateRequest, concurrency: int | None) -> tuple[Model, ...]:
    """The models of a request. Raises UsageError for a model that cannot write texts."""
    named = named_models(judges_files())
    models = []
    for name in request.models:
        model = find_model(name, named, base_url=request.base_url)
        models.append(with_settings(model, concurrency=concurrency))
    for model in models:
        if find_provider(model.provider).direct:
            raise UsageError(f"{model.name} gives scores and cannot write texts")
    return tuple(models)


def _find_passages(request: GenerateRequest, dataset: Dataset) -> list[Source]:
    """The dataset's sources in the languages of a request."""
    languages = sorted({source.language for source in dataset.sources.values()})
    check_languages(request.languages, languages)
    wanted = request.languages or languages
    return [source for source in dataset.sources.values() if source.language in wanted]


def _without_reference(
    passages: Sequence[Source], folder: Path, instructions: Sequence[Instruction]
) -> Iterator[str]:
    """Warn about passages without a reference. Raises UsageError if no passage has one and no model
    writes anything.
    """
    bare = sum(not source.references for source in passages)
    if bare == len(passages) and not instructions:
        raise UsageError(
            f"no passage of {folder} has a reference; add them to its sources.jsonl:"
            ' "references": ["...", ...]'
        )
    if bare:
        yield (
            f"warning: {plural(bare, 'passage')} without a reference: the generator `reference` "
            "has no output for them"
        )


def _check_translation(request: GenerateRequest, passages: Iterable[Source]) -> None:
    """Raise UsageError if passages to translate have only one language, so that the target language
    is unknown.
    """
    if TRANSLATION not in request.quality:
        return
    alone = set()
    for source in passages:
        theirs, ours = sides(source.language)
        if theirs == ours:
            alone.add(language_name(source.language))
    if alone:
        raise UsageError(
            '`quality="translation"` takes passages of language pairs (en-hi), not in'
            f" {listed(sorted(alone))}; give `languages` that are pairs, as `metal.bias_plan`"
            " writes them"
        )
