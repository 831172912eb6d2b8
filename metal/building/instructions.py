"""What generators are told: prompts/generate/QUALITY.toml with a passage, and what they have to reply.

A file is a quality: `good` and `bad` are METAL's, any other name is a quality of your own (`--quality medium`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

from metal.data.dataset import read_toml
from metal.data.languages import language_name, sides
from metal.data.records import Source
from metal.errors import DataError, UnknownName
from metal.raters.judges.prompts import Message, compiled, fence, fence_code, rubric_variables
from metal.raters.judges.reader import field_of, justification_in, objects_with, without_thoughts
from metal.raters.judges.rubric import Rubric

REFERENCE = "reference"  # the quality of the summaries people wrote, which nobody is asked for
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
    """A quality to write in: the templates, the temperature, and the criteria it is about."""

    quality: str
    system: str
    user: str
    temperature: float
    rubrics: Mapping[str, Rubric]
    path: Path

    def write(self, source: Source) -> Message:
        """What is sent about one passage. Raises DataError for a template that cannot be filled."""
        values = {
            "language": language_name(sides(source.language)[1]),
            "source": fence("PASSAGE", fence_code(source.text), source.text),
            "title": fence("TITLE", fence_code(source.title), source.title) if source.title else "",
            "criteria": self._criteria,
        }
        try:
            return Message(*(template.render(values).strip() for template in self._compiled))
        except Exception as error:  # whatever a template can bring about
            raise DataError(self.path, f"not a template METAL can fill ({error})", _VARIABLES) from None

    @cached_property
    def digest(self) -> str:
        """Eight hex digits of what it says, whatever the passage."""
        written = [self.system, self.user, self.temperature, self._criteria]
        return blake2b(json.dumps(written, sort_keys=True).encode(), digest_size=4).hexdigest()

    @cached_property
    def _criteria(self) -> list[dict[str, str]]:
        return [_described(rubric) for rubric in self.rubrics.values()]

    @cached_property
    def _compiled(self) -> tuple[Any, ...]:
        return compiled(self.path, (self.system, self.user), _VARIABLES)


def _described(rubric: Rubric) -> dict[str, str]:
    said = rubric_variables(rubric)
    levels = said["levels"] if rubric.criterion.direction == "higher" else said["levels"][::-1]
    ends = [f"{one['label']}. {one['definition']}".strip() for one in (levels[0], levels[-1])] if levels else ["", ""]
    described: dict[str, str] = said["criterion"] | {"worst": ends[0], "best": ends[1]}
    return described


def instruction_names(folders: Sequence[Path]) -> list[str]:
    """The qualities there are instructions for."""
    return sorted({path.stem for folder in folders for path in (folder / "generate").glob("*.toml")})


def load_instruction(quality: str, folders: Sequence[Path], rubrics: Mapping[str, Rubric]) -> Instruction:
    """The first instruction of that name in the folders. Raises UnknownName, or DataError for a file that is none."""
    for folder in folders:
        if quality not in instruction_names([folder]):
            continue
        path = folder / "generate" / f"{quality}.toml"
        found = read_toml(path)
        for key in found:
            if key not in _KEYS:
                raise UnknownName(f"{path}: key", key, _KEYS)
        if not all(isinstance(found.get(key), str) for key in ("system", "user")):
            raise DataError(path, "needs the texts 'system' and 'user'", "prompts/generate/good.toml is one")
        temperature = found.get("temperature")
        if isinstance(temperature, bool) or not isinstance(temperature, int | float) or not 0 <= temperature <= 2:
            raise DataError(path, f"temperature is {temperature!r}", "Give a number from 0 to 2, e.g. temperature = 0")
        made = Instruction(quality, found["system"], found["user"], temperature, rubrics, path)
        mark = "\ue000"
        if mark not in made.write(Source("try", "en", mark)).user + made.write(Source("try", "en", mark)).system:
            raise DataError(path, "nowhere says {{ source }}", "The passage has to be in what is sent")
        return made
    known = [*instruction_names(folders), REFERENCE]
    raise UnknownName("quality", quality, known, "Or give your own as generate/NAME.toml with --prompts DIR")


@dataclass(frozen=True)
class Written:
    """What a generator replied."""

    summary: str
    justification: str


def read_written(text: str) -> Written | None:
    """The last JSON object with a summary in a reply, also inside fences, prose and other objects; None without one."""
    found = None
    for one in objects_with(without_thoughts(text), ("summary",), str):
        summary = str(field_of(one, ("summary",))).strip()
        if summary:
            found = Written(summary, justification_in(one))
    return found
