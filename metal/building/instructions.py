"""Instructions for generators: prompts/generate/QUALITY.toml, filled with a passage; and how replies are read.

A file is a quality: `good` and `bad` are METAL's, any other name is a quality of your own (`quality="medium"`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

from metal.data.files import read_toml
from metal.data.languages import language_name, sides
from metal.data.records import Source
from metal.errors import DataError, UnknownName
from metal.raters.judges.prompts import Message, compiled, fence, fence_code, rubric_variables
from metal.raters.judges.reader import field_of, justification_in, objects_with, without_thoughts
from metal.raters.judges.rubric import Rubric

REFERENCE = "reference"  # the quality of the summaries that people wrote
SCHEMA = {
    "type": "object",
    "properties": {"summary": {"type": "string"}, "justification": {"type": "string"}},
    "required": ["summary", "justification"],
    "additionalProperties": False,
}
_KEYS = ("system", "user", "temperature")
_VARIABLES = "It may use language, source, title, and criteria (name, label, question, simple, detailed, best, worst)"


@dataclass(frozen=True)
class Instruction:
    """How to write in a quality: the templates, the temperature, and the criteria that the quality is about."""

    quality: str
    system: str
    user: str
    temperature: float
    rubrics: Mapping[str, Rubric]
    path: Path

    def write(self, source: Source) -> Message:
        """The message about one passage. Raises DataError for a template that cannot be filled."""
        values = {
            "language": language_name(sides(source.language)[1]),
            "source": fence("PASSAGE", fence_code(source.text), source.text),
            "title": fence("TITLE", fence_code(source.title), source.title) if source.title else "",
            "criteria": self._criteria,
        }
        try:
            return Message(*(template.render(values).strip() for template in self._compiled))
        except Exception as error:  # a template can raise anything
            raise DataError(self.path, f"not a template METAL can fill ({error})", _VARIABLES) from None

    @cached_property
    def digest(self) -> str:
        """Eight hex digits that identify the instruction, independent of the passage."""
        written = [self.system, self.user, self.temperature, self._criteria]
        return blake2b(json.dumps(written, sort_keys=True).encode(), digest_size=4).hexdigest()

    @cached_property
    def _criteria(self) -> list[dict[str, str]]:
        return [_described(rubric) for rubric in self.rubrics.values()]

    @cached_property
    def _compiled(self) -> tuple[Any, ...]:
        return compiled(self.path, (self.system, self.user), _VARIABLES)


def _described(rubric: Rubric) -> dict[str, str]:
    """The criterion's variables, with its worst and its best level in words."""
    variables = rubric_variables(rubric)
    levels = variables["levels"] if rubric.criterion.direction == "higher" else variables["levels"][::-1]
    described: dict[str, str] = variables["criterion"] | {"worst": "", "best": ""}
    if levels:
        for name, level in (("worst", levels[0]), ("best", levels[-1])):
            described[name] = f"{level['label']}. {level['definition']}".strip()
    return described


def instruction_names(folders: Sequence[Path]) -> list[str]:
    """The qualities that have instructions in the folders."""
    return sorted({path.stem for folder in folders for path in (folder / "generate").glob("*.toml")})


def load_instruction(quality: str, folders: Sequence[Path], rubrics: Mapping[str, Rubric]) -> Instruction:
    """The first instruction of that name in the folders. Raises UnknownName, or DataError for a bad file."""
    for folder in folders:
        if quality not in instruction_names([folder]):
            continue
        path = folder / "generate" / f"{quality}.toml"
        content = read_toml(path)
        for key in content:
            if key not in _KEYS:
                raise UnknownName(f"{path}: key", key, _KEYS)
        if not all(isinstance(content.get(key), str) for key in ("system", "user")):
            raise DataError(path, "needs the texts 'system' and 'user'", "prompts/generate/good.toml is one")
        temperature = content.get("temperature")
        if isinstance(temperature, bool) or not isinstance(temperature, int | float) or not 0 <= temperature <= 2:
            raise DataError(path, f"temperature is {temperature!r}", "Give a number from 0 to 2, e.g. temperature = 0")
        instruction = Instruction(quality, content["system"], content["user"], temperature, rubrics, path)
        mark = "\ue000"
        trial = instruction.write(Source("try", "en", mark))
        if mark not in trial.user + trial.system:
            raise DataError(path, "nowhere says {{ source }}", "The passage has to be in what is sent")
        return instruction
    names = [*instruction_names(folders), REFERENCE]
    remedy = "Or give your own as generate/NAME.toml with `prompt_folders='DIR'`"
    raise UnknownName("quality", quality, names, remedy)


@dataclass(frozen=True)
class GeneratedText:
    """A generator's reply."""

    summary: str
    justification: str


def read_generated(text: str) -> GeneratedText | None:
    """The last JSON object with a summary in a reply, even inside fences, prose or other objects; None without one.

    >>> read_generated('Here: {"summary": "It rained.", "justification": "short"}')
    GeneratedText(summary='It rained.', justification='short')
    """
    last = None
    for entry in objects_with(without_thoughts(text), ("summary",), str):
        summary = str(field_of(entry, ("summary",))).strip()
        if summary:
            last = GeneratedText(summary, justification_in(entry))
    return last
