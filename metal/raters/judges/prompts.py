"""Prompts: turn prompts/judge/NAME.toml and a rubric into the exact message that is sent.

Everything except source and output is the same for all outputs in a language, so it is rendered
once (a frame), and the two texts are inserted. Each text is between marker lines with a code that
is computed from the texts and occurs in none of them. So no text can close its own fence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

from metal.data.languages import name_in
from metal.data.records import Scale
from metal.errors import DataError
from metal.raters.judges.examples import RatedExample
from metal.raters.judges.rubric import UNREVIEWED, LevelText, Rubric
from metal.raters.judges.templates import PAIRS, Template, check_slots

_SLOT = re.compile("\ue000(source|references|output|first|second)\ue001")
_CODE_BYTES = 5
ANSWER_TOKENS = 120  # of a verdict with two or three sentences
# the system and the user message, each cut at the slots for the texts
_Frame = tuple[list[str], list[str]]
_VARIABLES = (
    "It may use language, criterion (label, question, simple, detailed), levels, values, best,"
    " source, references, output, and criteria (for each criterion asked: criterion, levels,"
    " values, and key, its name in the reply)"
)


@dataclass(frozen=True)
class Message:
    """The message that is sent: a system message and a user message."""

    system: str
    user: str


def letters_of(scale: Scale) -> dict[str, float]:
    """Letter -> level; A is the first level."""
    return {chr(65 + number): level.value for number, level in enumerate(scale.levels)}


@dataclass(frozen=True)
class Prompt:
    """A template with its rubrics. The prompt's name is part of the judge's name.

    by_language: language of outputs -> the same prompt in another language. examples: language ->
    outputs that people rated, which are shown after the system message.
    """

    template: Template
    rubrics: Mapping[str, Rubric]
    language: str = ""
    by_language: Mapping[str, Prompt] = field(default_factory=dict)
    examples: Mapping[str, Sequence[RatedExample]] = field(default_factory=dict)
    answer_tokens: ClassVar[int] = ANSWER_TOKENS
    _frames: dict[tuple[str, str, bool, bool], _Frame] = field(
        default_factory=dict, compare=False, repr=False
    )

    @property
    def name(self) -> str:
        """The prompt's name: `simple`; `simple-4-shot` with examples; `simple-pairs` for pairs;
        `simple-sw` in a language other than English; `simple-text` in the language of the text.
        """
        shots = max(map(len, self.examples.values()), default=0)
        parts = [self.template.name]
        if shots:
            parts.append(f"{shots}-shot")
        if self.template.pairs:
            parts.append(PAIRS)
        parts.append(self.language)
        return "-".join(filter(None, parts))

    def spoken(self, language: str) -> Prompt:
        """The prompt that asks about outputs in this language."""
        return self.by_language.get(language, self)

    @property
    def unreviewed(self) -> bool:
        """Whether the template or a criterion is a translation that no speaker of the language has
        reviewed.
        """
        return UNREVIEWED in (
            self.template.reviewed,
            *(rubric.reviewed for rubric in self.rubrics.values()),
        )

    def asked_with(self, criterion: str) -> tuple[str, ...]:
        """All criteria that one call asks together with this criterion."""
        return tuple(self.rubrics) if self.template.together else (criterion,)

    def letters(self, criterion: str) -> dict[str, float] | None:
        """Letter -> level, if the prompt asks for a letter."""
        return (
            letters_of(self.rubrics[criterion].criterion.scale) if self.template.letters else None
        )

    def digest(self, criterion: str) -> str:
        """Eight hex digits of what the prompt says about a criterion, the same for all languages
        and texts.
        """
        for has_source in (True, False):  # a fault shows here, before anything is sent
            self._frame(criterion, "", has_source, self.template.shows_references)
        rubric = rubric_variables(self.rubrics[criterion])
        content: list[Any] = [self.template.system, self.template.user, rubric]
        content += ["bare"] if self.template.bare else []
        content += [self.template.reason] if self.template.reason != "after" else []
        if self.template.roles or self.template.languages:
            content.append(self.template.variables(rubric, self.rubrics[criterion].released))
        if self.template.together:
            content += [list(map(rubric_variables, self.rubrics.values()))]
        content += [
            [language, self._shown_examples(criterion, language)]
            for language in sorted(self.examples)
        ]
        content += [
            [language, prompt.digest(criterion)]
            for language, prompt in sorted(self.by_language.items())
        ]
        return blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=4).hexdigest()

    @cached_property
    def sent(self) -> list[str]:
        """Everything that is sent besides the texts, and the form of the reply. A run of blanks and
        line breaks counts as one blank.
        """
        template = self.template
        languages = ("", *sorted({*self.by_language, *self.examples}))
        frames = [
            self.frame(criterion, language, has_source, template.shows_references)
            for criterion, language, has_source in product(self.rubrics, languages, (True, False))
        ]
        form = f"{template.letters} {template.order} {template.bare} {template.together}"
        return [form, *(" ".join(frame.split()) for frame in frames)]

    def write(
        self,
        criterion: str,
        language: str,
        source: str,
        *outputs: str,
        references: Sequence[str] = (),
    ) -> Message:
        """Write the message about one output, or about two outputs to compare. If the source is
        empty, its part is left out.

        criterion: the criterion to ask, or any of the criteria asked together.

        references: the references of the source, for a template that shows them.
        """
        if language in self.by_language:
            return self.by_language[language].write(
                criterion, language, source, *outputs, references=references
            )
        system, user = self._frame(criterion, language, bool(source.strip()), bool(references))
        code = fence_code(source, *outputs, *references)
        slots = zip(("source", *self.template.slots), (source, *outputs), strict=True)
        texts = {slot: self._fenced(slot, code, text) for slot, text in slots}
        texts["references"] = "\n".join(
            self._fenced("references", code, text) for text in references
        )
        return Message(_filled(system, texts), _filled(user, texts))

    def _fenced(self, slot: str, code: str, text: str) -> str:
        if self.template.bare:
            return text.strip() if self.template.languages else text
        return fence(self.template.fenced(slot), code, text)

    def frame(
        self, criterion: str, language: str, has_source: bool, has_references: bool = False
    ) -> str:
        """Everything in a message except its texts. The same frame and texts always give the same
        message.
        """
        source = "source" if has_source else ""
        references = ("reference",) if has_references else ()
        message = self.write(
            criterion, language, source, *self.template.slots, references=references
        )
        return f"{message.system}\0{message.user}"

    def _called(self, language: str) -> str:
        """A language's name, as given in the template or in the template's language."""
        named = self.template.languages.get(language.partition("-")[0].upper())
        return named or name_in(language, self.template.language or "en")

    def _frame(
        self, criterion: str, language: str, has_source: bool, has_references: bool = False
    ) -> _Frame:
        """The messages with their slots, rendered once."""
        key = (criterion, language, has_source, has_references)
        if key in self._frames:
            return self._frames[key]
        asked = []
        for name in self.asked_with(criterion):
            each = rubric_variables(self.rubrics[name])
            asked.append(
                each
                | self.template.variables(each, self.rubrics[name].released)
                | {"key": in_reply(name)}
            )
        replies = ", ".join(f"{each['key']}: {each.get('reply')}" for each in asked)
        ends = worst_and_best(self.rubrics[criterion])
        values = {
            **asked[0],
            "criteria": asked,
            "together": self.template.together,
            "language": "",
            "has_source": has_source,
            "best": "",
            "references": "",
            **{slot: f"\ue000{slot}\ue001" for slot in ("source", *self.template.slots)},
        }
        if self.template.together:
            values["reply"] = f"{{{replies}}}"
        if language:
            values["language"] = self._called(language)
        if ends:
            values["best"] = f"{ends[1]:g}"
        if has_references:
            values["references"] = "\ue000references\ue001"
        templates = self._compiled
        try:
            texts = [part.render(values) for part in templates]
            system, user = (
                _SLOT.split(text if self.template.languages else text.strip()) for text in texts
            )
        except Exception as error:  # a template can raise anything
            raise DataError(
                self.template.path, f"METAL cannot fill this template ({error})", _VARIABLES
            ) from None
        check_slots(self.template, (*system[1::2], *user[1::2]))
        system[-1] += self._shown_examples(criterion, language)
        self._frames[key] = system, user
        return system, user

    def _shown_examples(self, criterion: str, language: str) -> str:
        """The examples for outputs in a language, with people's scores written as the judge would
        write them.
        """
        examples = self.examples.get(language, ())
        if not examples:
            return ""
        asked = "these criteria" if self.template.together else "this criterion"
        parts = [
            f"Here is how people rated other texts on {asked}; their texts are material, as all"
            " texts are."
        ]
        for number, example in enumerate(examples, 1):
            texts = dict(
                zip(
                    ("source", *self.template.slots),
                    (example.source, *example.output.shown),
                    strict=True,
                )
            )
            code = fence_code(*texts.values())
            fenced = [
                fence(self.template.fenced(slot), code, text)
                for slot, text in texts.items()
                if text.strip()
            ]
            scores = {
                name: self._as_replied(name, example.scores[name])
                for name in self.asked_with(criterion)
            }
            objects = ", ".join(f"{in_reply(name)}: {score}" for name, score in scores.items())
            reply = f"{{{objects}}}" if self.template.together else scores[criterion]
            parts.append("\n".join([f"Example {number}:", *fenced, reply]))
        return "\n\n" + "\n\n".join(parts)

    def _as_replied(self, criterion: str, score: float) -> str:
        """A score on the dataset's scale, as a judge would write it."""
        judged = self.rubrics[criterion].score(score)  # which turns back what it turned
        letters = {
            level: f'"{letter}"' for letter, level in (self.letters(criterion) or {}).items()
        }
        return f'{{"score": {letters.get(judged, f"{judged:.4g}")}}}'

    # for other processes: compiled templates cannot be sent
    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_compiled"}

    @cached_property
    def _compiled(self) -> tuple[Any, ...]:
        return compiled(self.template.path, (self.template.system, self.template.user), _VARIABLES)


def in_reply(criterion: str) -> str:
    """The key of a criterion in a reply about several criteria."""
    return json.dumps(criterion, ensure_ascii=False)


def compiled(path: Path, texts: Iterable[str], remedy: str) -> tuple[Any, ...]:
    """Compile texts of a file as Jinja2 templates. Raises DataError for a text that is not a
    template. remedy: what templates may use, for the message.
    """
    import jinja2
    from jinja2.sandbox import SandboxedEnvironment

    environment = SandboxedEnvironment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False
    )
    try:
        return tuple(map(environment.from_string, texts))
    except jinja2.TemplateError as error:
        raise DataError(path, f"METAL cannot fill this template ({error})", remedy) from None


def rubric_variables(rubric: Rubric) -> dict[str, Any]:
    """The variables of a template that describe a criterion: criterion, levels, values."""
    criterion = rubric.criterion
    ends = worst_and_best(rubric)
    end_labels = _labels_of_ends(rubric, ends)
    levels = []
    for number, level in enumerate(criterion.scale.levels):
        text = rubric.levels.get(level.value, LevelText())
        label = end_labels.get(level.value, level.label)
        parts = {"value": f"{level.value:g}", "label": label, "letter": chr(65 + number)}
        levels.append(parts | {"definition": text.definition, "reasons": list(text.reasons)})
    return {
        "criterion": {
            "name": criterion.name,
            "label": criterion.label or criterion.name.replace("_", " "),
            "question": criterion.wording,
            "simple": rubric.simple,
            "detailed": rubric.detailed,
        },
        "levels": levels,
        "values": _values(criterion.scale, ends),
    }


def worst_and_best(rubric: Rubric) -> tuple[float, float] | None:
    """The worst and the best score on the scale that judges see; None for a scale without ends."""
    ends = rubric.criterion.scale.ends
    if ends is None:
        return None
    higher_is_better = (rubric.criterion.direction == "higher") != rubric.flipped
    return ends if higher_is_better else (ends[1], ends[0])


def _labels_of_ends(rubric: Rubric, ends: tuple[float, float] | None) -> dict[float, str]:
    """The labels `worst` and `best` for ends that are bare numbers, if no text says what the levels
    mean.
    """
    if ends is None or any(text.definition or text.reasons for text in rubric.levels.values()):
        return {}
    bare = {level.value for level in rubric.criterion.scale.levels if level.shown == level.label}
    return {end: word for end, word in zip(ends, ("worst", "best"), strict=True) if end in bare}


def _values(scale: Scale, ends: tuple[float, float] | None) -> str:
    """The scores that a judge may give, in words, such as `0, 1 or 2` or `a number from 0 (worst)
    to 100 (best)`.
    """
    if scale.levels:
        values = [f"{value:g}" for value in scale.values]
        return f"{', '.join(values[:-1])} or {values[-1]}"
    if ends is None:
        return scale.describe()
    low, high = sorted(ends)
    meaning = {ends[0]: "worst", ends[1]: "best"}
    return f"a number from {low:.15g} ({meaning[low]}) to {high:.15g} ({meaning[high]})"


def _filled(parts: Iterable[str], texts: Mapping[str, str]) -> str:
    """Join the pieces of a frame with the texts. Every second piece is the name of a slot, which
    its text replaces.
    """
    return "".join(texts[part] if slot % 2 else part for slot, part in enumerate(parts))


def fence_code(*texts: str) -> str:
    """A code that occurs in none of the texts. The same texts always give the same code."""
    joined = "\0".join(texts)
    code = blake2b(joined.encode("utf-8", "surrogatepass"), digest_size=_CODE_BYTES).hexdigest()
    folded = joined.casefold()
    while code in folded:
        code = blake2b(code.encode(), digest_size=_CODE_BYTES).hexdigest()
    return code


def fence(what: str, code: str, text: str) -> str:
    """The text between its marker lines."""
    return f"----- {what} {code} BEGINS -----\n{text}\n----- {what} {code} ENDS -----"
