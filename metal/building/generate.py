"""Generate texts of several qualities, and choose which of them people rate (METAL 3.1.2).

Instructions for generators are in prompts/generate/QUALITY.toml; METAL inserts the passage. Each
file defines a quality: `good` and `bad` are METAL's own, for summaries; any other name is a quality
of your own (`quality="medium"`). `writes` names the field of the reply that holds the text; the
default is `summary`. METAL's released templates (generation_prompts/QUALITY_prompt.md, for guidance
0.0.64) are read unchanged: METAL adds nothing to what they send.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from metal.building.flags import LanguageProfiles, flags
from metal.data.files import read_text, read_toml
from metal.data.grouping import grouped
from metal.data.languages import language_name, sides
from metal.data.records import Output, Source
from metal.errors import DataError, UnknownName, check_known
from metal.raters.judges import call as calls
from metal.raters.judges.attempts import parameters_of
from metal.raters.judges.call import VERDICT, object_schema
from metal.raters.judges.collect import FAILED_AS, JournalIndex, failure_reason
from metal.raters.judges.models import Model
from metal.raters.judges.plan import rough_tokens
from metal.raters.judges.prompts import Message, compiled, fence, fence_code, rubric_variables
from metal.raters.judges.reader import EMPTY, UNPARSABLE
from metal.raters.judges.rubric import Rubric
from metal.raters.judges.structured import field_of, justification_in, objects_with
from metal.raters.judges.thoughts import without_thoughts

REFERENCE = "reference"  # the quality of the summaries that people wrote
TRANSLATION = "translation"  # the quality that is written into another language
SUMMARY = "summary"  # the field of a reply that holds the text
_RELEASED = "_prompt"  # ends the names of METAL's released files
_KEYS = ("system", "user", "temperature", "writes")
_VARIABLES = (
    "It may use language, source, title, and criteria (name, label, question, simple, detailed,"
    " best, worst)"
)


@dataclass(frozen=True)
class Instruction:
    """The instruction for texts of a quality: the templates, the temperature, and the criteria that
    the templates mention.

    writes: the field of the reply that holds the text.
    """

    quality: str
    system: str
    user: str
    temperature: float
    rubrics: Mapping[str, Rubric]
    path: Path
    writes: str = SUMMARY

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON schema that a reply must follow."""
        return object_schema({name: {"type": "string"} for name in (self.writes, "justification")})

    def write(self, source: Source) -> Message:
        """Write the message about one passage. Raises DataError for a template that cannot be
        filled.
        """
        values = {
            "language": language_name(sides(source.language)[1]),
            "source": fence("PASSAGE", fence_code(source.text), source.text),
            "passage": source.text,
            "title": fence("TITLE", fence_code(source.title), source.title) if source.title else "",
            "criteria": self._criteria,
        }
        templates = self._compiled
        try:
            return Message(*(template.render(values).strip() for template in templates))
        except Exception as error:  # a template can raise anything
            raise DataError(
                self.path, f"METAL cannot fill this template ({error})", _VARIABLES
            ) from None

    @cached_property
    def digest(self) -> str:
        """Eight hex digits that identify the instruction, independent of the passage."""
        written: list[Any] = [self.system, self.user, self.temperature, self._criteria]
        written += [self.writes] if self.writes != SUMMARY else []
        return blake2b(json.dumps(written, sort_keys=True).encode(), digest_size=4).hexdigest()

    @property
    def shows_criteria(self) -> bool:
        """Whether the instruction mentions the criteria."""
        return "criteria" in self.system + self.user

    @cached_property
    def _criteria(self) -> list[dict[str, str]]:
        return list(map(_described, self.rubrics.values()))

    @cached_property
    def _compiled(self) -> tuple[Any, ...]:
        return compiled(self.path, (self.system, self.user), _VARIABLES)


def _described(rubric: Rubric) -> dict[str, str]:
    """The variables that a template may use about a criterion, with the worst and the best answer
    in words.
    """
    variables, scale = rubric_variables(rubric), rubric.criterion.scale
    answers = (
        [f"{level['label']}. {level['definition']}".strip() for level in variables["levels"]]
        or [f"{end:g}, on a scale of {scale.describe()}" for end in scale.ends or ()]
        or ["a score as low as can be", "a score as high as can be"]
    )
    if rubric.criterion.direction == "lower":
        answers.reverse()
    described: dict[str, str] = variables["criterion"] | {"worst": answers[0], "best": answers[-1]}
    return described


def load_instruction(
    quality: str, folders: Sequence[Path], rubrics: Mapping[str, Rubric]
) -> Instruction:
    """Load the first instruction of that name in the folders. Raises UnknownName, or DataError for
    a bad file.
    """
    paths = {
        path.stem.removesuffix(_RELEASED): path
        for folder in reversed(folders)
        for path in [
            *(folder / "generation_prompts").glob(f"*{_RELEASED}.md"),
            *(folder / "generate").glob("*.toml"),
        ]
    }
    if quality not in paths:
        remedy = "Or give your own as generate/NAME.toml with `prompt_folders='DIR'`"
        raise UnknownName("quality", quality, [*sorted(paths), REFERENCE], remedy)
    path = paths[quality]
    content = read_toml(path) if path.suffix == ".toml" else _read_released(path)
    check_known(f"{path}: key", content, _KEYS)
    if not all(isinstance(content.get(key), str) for key in ("system", "user")):
        raise DataError(
            path, "needs the texts 'system' and 'user'", "See prompts/generate/good.toml"
        )
    temperature = _temperature_in(content, path)
    writes = content.get("writes", SUMMARY)
    if not isinstance(writes, str) or not writes.isidentifier() or writes == "justification":
        raise DataError(
            path,
            f"writes is {writes!r}",
            'Name the field of the reply that has the text: writes = "answer"',
        )
    instruction = Instruction(
        quality, content["system"], content["user"], temperature, rubrics, path, writes
    )
    mark = "\ue000"
    trial = instruction.write(Source("try", "en", mark))
    if mark not in trial.user + trial.system:
        raise DataError(path, "lacks {{ source }}", "The message must contain the passage")
    return instruction


def _temperature_in(content: Mapping[str, Any], path: Path) -> float:
    """The temperature of an instruction. Raises DataError if it is not a number in range."""
    temperature = content.get("temperature")
    if (
        isinstance(temperature, bool)
        or not isinstance(temperature, int | float)
        or not 0 <= temperature <= 2
    ):
        raise DataError(
            path,
            f"temperature is {temperature!r}",
            "Give a number from 0 to 2, e.g. temperature = 0",
        )
    return temperature


def _read_released(path: Path) -> dict[str, Any]:
    """Read a template for guidance 0.0.64: its system and user message, and the temperature in its
    `gen`.
    """
    text = read_text(path)
    parts = dict(re.findall(r"\{\{#(system|user)~?\}\}(.*?)\{\{~?/\1\}\}", text, re.S))
    temperature = re.search(r"\{\{~?gen [^}]*\btemperature=([\d.]+)", text)
    if not {"system", "user"} <= parts.keys() or not temperature:
        raise DataError(
            path,
            "not a template of METAL's release",
            "It needs #system, #user and gen with a temperature",
        )
    return parts | {"temperature": float(temperature[1])}


def read_generated(text: str, writes: str = SUMMARY) -> tuple[str, str] | None:
    """(text, justification) from the last JSON object in a reply that has the field; None if there
    is no such object.

    >>> read_generated('Here: {"summary": "It rained.", "justification": "short"}')
    ('It rained.', 'short')
    """
    last = None
    for _, fields in objects_with(without_thoughts(text), (writes,)):
        written = field_of(fields, (writes,))
        if isinstance(written, str) and written.strip():
            last = written.strip(), justification_in(fields)
    return last


ANSWER_TOKENS = 400  # tokens of a summary with its justification


def generator_name(model: Model, quality: str) -> str:
    """The generator's name, such as `openai:gpt-4o/good`. A model told to write well and the same
    model told to write badly are different generators.
    """
    return f"{model.name}/{quality}"


@dataclass(frozen=True, slots=True)
class TextRequest:
    """One text to be generated (metal.raters.judges.call.Question)."""

    key: str
    source: Source
    instruction: Instruction
    generator: str
    rough_tokens: float
    answer_tokens: float = ANSWER_TOKENS

    @property
    def message(self) -> Message:
        """The message that is sent."""
        return self.instruction.write(self.source)

    @property
    def schema(self) -> Mapping[str, Any]:
        """The JSON schema of the reply."""
        return self.instruction.schema

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The parameters of the call: the temperature that is set for this quality."""
        return {"temperature": self.instruction.temperature}

    @property
    def output(self) -> str:
        """The id of the output that the text will become."""
        return f"{self.source.source}/{self.generator}"

    @property
    def about(self) -> Mapping[str, Any]:
        """What the journal records about the request."""
        return {"prompt": self.instruction.quality, "output": self.output, "sample": 1}

    def kind(self, text: str, ending: str) -> str:
        """Classify a reply: VERDICT if it contains the text."""
        if ending != calls.COMPLETE:
            return ending
        if not text.strip():
            return EMPTY
        return VERDICT if read_generated(text, self.instruction.writes) else UNPARSABLE


@dataclass(frozen=True)
class Generation:
    """All texts to generate, one for every source, model and quality
    (metal.raters.judges.call.RunPlan).
    """

    models: tuple[Model, ...]
    instructions: tuple[Instruction, ...]
    sources: Sequence[Source]

    @property
    def names(self) -> Mapping[tuple[str, str], str]:
        """(model, quality) -> the generator's name."""
        return {
            (model.name, instruction.quality): generator_name(model, instruction.quality)
            for model in self.models
            for instruction in self.instructions
        }

    @property
    def questions_per_model(self) -> int:
        """How many texts each model has to write."""
        return len(self.sources) * len(self.instructions)

    def questions(self, model: Model, start: int = 0) -> Iterator[TextRequest]:
        """The requests to a model, one quality after the other."""
        for instruction in self.instructions:
            asked, start = self.sources[start:], max(0, start - len(self.sources))
            for source in asked:
                yield self._request(model, instruction, source)

    def _request(self, model: Model, instruction: Instruction, source: Source) -> TextRequest:
        message = instruction.write(source)
        text = f"{message.system}\0{message.user}"
        sent = text.encode("utf-8", "surrogatepass")
        request = TextRequest(
            "", source, instruction, generator_name(model, instruction.quality), 0.0
        )
        identity = replace(model, parameters=parameters_of(model, request)).identity
        asked_of = json.dumps([identity, instruction.schema], sort_keys=True, default=str).encode()
        key = blake2b(asked_of + b"\0" + sent, digest_size=16).hexdigest()
        rough = rough_tokens(len(text), len(sent))
        return replace(
            request, key=key, rough_tokens=rough, answer_tokens=ANSWER_TOKENS + model.thoughts
        )


def generated_outputs(plan: Generation, replies: JournalIndex) -> Iterator[Output]:
    """Turn the texts in a journal into outputs, which are neither flagged nor chosen yet. Also
    updates the statistics in `replies`.
    """
    for model in plan.models:
        for request, record in replies.records(plan.questions(model)):
            tally = replies.statistics[request.generator]
            if record is None:
                tally.not_asked += 1
                continue
            reason = failure_reason(record)
            kind = reason or request.kind(record["text"], record["ending"])
            tally.kinds[kind] += 1
            tally.failed += reason.startswith(FAILED_AS)
            text = (
                read_generated(record["text"], request.instruction.writes)
                if kind == VERDICT
                else None
            )
            if text:
                source = request.source
                yield Output(
                    request.output, source.source, request.generator, source.language, *text
                )


def references(sources: Iterable[Source]) -> Iterator[Output]:
    """The references of the sources as outputs of the generator `reference`. Sources without a
    reference are skipped.
    """
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
    """Add flags and numbers of tokens to the outputs. count: counts the tokens of a text."""
    for output in outputs:
        faults = flags(output.text, sources[output.source], profiles)
        yield replace(output, flags=faults, tokens=count(output.text))


def choose(
    candidates: Iterable[Output],
    *,
    held: Iterable[str] = (),
    every: bool = False,
    keep_flagged: bool = False,
    seed: int = 0,
) -> list[Output]:
    """Choose one output of each source at random, seeded by (seed, source); with `every`, choose
    all. Returns all outputs.

    Flagged outputs are not chosen unless keep_flagged. held: outputs that people have rated or were
    given to rate. They stay chosen, and no other output of their source is chosen.
    """
    by_source = grouped(candidates, lambda output: output.source)
    held = set(held)
    chosen: set[str] = set()
    for source, outputs in by_source.items():
        usable = [output.output for output in outputs if keep_flagged or not output.flags]
        kept = [output.output for output in outputs if output.output in held]
        if every:
            chosen.update(usable, kept)
        elif kept:
            chosen.update(kept)
        else:
            order = sorted(output.output for output in outputs)
            rng = np.random.default_rng([seed, *blake2b(source.encode(), digest_size=8).digest()])
            drawn = (order[index] for index in rng.permutation(len(order)))
            chosen.update([name for name in drawn if name in usable][:1])
    in_order = chain.from_iterable(by_source.values())
    return [replace(output, chosen=output.output in chosen) for output in in_order]
