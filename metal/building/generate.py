"""Generating summaries of several qualities, and choosing which of them people rate (METAL 3.1.2)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np

from metal.building.flags import flags
from metal.building.instructions import REFERENCE, SCHEMA, Instruction, read_written
from metal.building.languages import LanguageProfiles
from metal.data.records import Output, Source
from metal.raters.judges import call as calls
from metal.raters.judges.attempts import parameters_of
from metal.raters.judges.call import VERDICT
from metal.raters.judges.models import Model
from metal.raters.judges.plan import rough_tokens
from metal.raters.judges.prompts import Message
from metal.raters.judges.reader import EMPTY, UNPARSABLE
from metal.raters.judges.run_statistics import JournalIndex, failure_reason

ANSWER_TOKENS = 400  # of a summary with its justification


def generator_name(model: Model, quality: str) -> str:
    """`openai:gpt-4o/good`: a model told to write well is another generator than one told to write badly."""
    return f"{model.name}/{quality}"


@dataclass(frozen=True, slots=True)
class Request:
    """One text to be written (metal.raters.judges.call.Question)."""

    key: str
    source: Source
    instruction: Instruction
    generator: str
    rough_tokens: float

    @property
    def message(self) -> Message:
        """What is sent."""
        return self.instruction.write(self.source)

    @property
    def schema(self) -> Mapping[str, Any]:
        """Of the answer."""
        return SCHEMA

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The quality's own temperature."""
        return {"temperature": self.instruction.temperature}

    @property
    def output(self) -> str:
        """The id of the output it makes."""
        return f"{self.source.source}/{self.generator}"

    @property
    def about(self) -> Mapping[str, str | int]:
        """For the journal."""
        return {"prompt": self.instruction.quality, "output": self.output, "sample": 1}

    def kind(self, text: str, ending: str) -> str:
        """VERDICT for a reply with a summary in it."""
        if ending != calls.COMPLETE:
            return ending
        if not text.strip():
            return EMPTY
        return VERDICT if read_written(text) else UNPARSABLE


@dataclass(frozen=True)
class Generation:
    """All texts to be written: every source by every model in every quality (metal.raters.judges.call.RunPlan)."""

    models: tuple[Model, ...]
    instructions: tuple[Instruction, ...]
    sources: Sequence[Source]
    answer_tokens: int = ANSWER_TOKENS

    @property
    def names(self) -> Mapping[tuple[str, str], str]:
        """(model, quality) -> the generator's name."""
        return {
            (model.name, one.quality): generator_name(model, one.quality)
            for model in self.models
            for one in self.instructions
        }

    @property
    def questions_per_model(self) -> int:
        """Texts each model has to write."""
        return len(self.sources) * len(self.instructions)

    def questions(self, model: Model, start: int = 0) -> Iterator[Request]:
        """The requests to a model, one quality after the other."""
        for instruction in self.instructions:
            asked, start = self.sources[start:], max(0, start - len(self.sources))
            for source in asked:
                yield self._request(model, instruction, source)

    def _request(self, model: Model, instruction: Instruction, source: Source) -> Request:
        message = instruction.write(source)
        whole = f"{message.system}\0{message.user}"
        sent = whole.encode("utf-8", "surrogatepass")
        made = Request("", source, instruction, generator_name(model, instruction.quality), 0.0)
        identity = replace(model, parameters=parameters_of(model, made)).identity
        known = json.dumps([identity, SCHEMA], sort_keys=True, default=str).encode()
        key = blake2b(known + b"\0" + sent, digest_size=16).hexdigest()
        return replace(made, key=key, rough_tokens=rough_tokens(len(whole), len(sent)))


def written(plan: Generation, found: JournalIndex) -> Iterator[Output]:
    """The texts in a journal as outputs, neither flagged nor chosen yet. Counts into the tallies."""
    for model in plan.models:
        for request, record in found.records(plan.questions(model)):
            tally = found.statistics[request.generator]
            if record is None:
                tally.not_asked += 1
                continue
            kind = failure_reason(record) or request.kind(record["text"], record["ending"])
            tally.kinds[kind] += 1
            text = read_written(record["text"]) if kind == VERDICT else None
            if text:
                source = request.source
                yield Output(
                    request.output, source.source, request.generator, source.language, text.summary, text.justification
                )


def references(sources: Iterable[Source]) -> Iterator[Output]:
    """The summaries that people wrote as outputs of the generator `reference`; sources without one are passed over."""
    for source in sources:
        if source.references:
            name = f"{source.source}/{REFERENCE}"
            yield Output(name, source.source, REFERENCE, source.language, source.references[0])


def flagged(
    outputs: Iterable[Output],
    sources: Mapping[str, Source],
    profiles: LanguageProfiles,
    count: Callable[[str], int | None],
) -> Iterator[Output]:
    """The outputs with what is wrong with them. count: tokens of a text."""
    for output in outputs:
        wrong = flags(output.text, sources[output.source], profiles)
        yield replace(output, flags=wrong, tokens=count(output.text))


def choose(
    candidates: Iterable[Output],
    *,
    held: Iterable[str] = (),
    every: bool = False,
    keep_flagged: bool = False,
    seed: int = 0,
) -> list[Output]:
    """The outputs with one of each source chosen at random, seeded by (seed, source); or every one.

    Flagged ones are not chosen unless keep_flagged. held: outputs that people have rated or were given to rate:
    they stay chosen, and nothing else of their source is.
    """
    by_source: dict[str, list[Output]] = {}
    for output in candidates:
        by_source.setdefault(output.source, []).append(output)
    known = set(held)
    chosen: set[str] = set()
    for source, mine in by_source.items():
        usable = [one.output for one in mine if keep_flagged or not one.flags]
        there = [one.output for one in mine if one.output in known]
        if every or there:
            chosen.update(usable if every else [], there)
            continue
        order = sorted(one.output for one in mine)
        rng = np.random.default_rng([seed, *blake2b(source.encode(), digest_size=8).digest()])
        drawn = (order[place] for place in rng.permutation(len(order)))
        chosen.update([one for one in drawn if one in usable][:1])
    return [replace(one, chosen=one.output in chosen) for mine in by_source.values() for one in mine]
