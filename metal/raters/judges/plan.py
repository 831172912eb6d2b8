"""What has to be asked: every output on every criterion, by every model with every prompt, as often as wished."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np

from metal.data.records import Criterion, Output, Source
from metal.errors import UnknownName, UsageError
from metal.raters.judges import call as calls
from metal.raters.judges.call import VERDICT, answer_schema
from metal.raters.judges.models import Model
from metal.raters.judges.prompts import Message, Prompt
from metal.raters.judges.reader import Verdict, read_reply

NO_TEXT = "no text"
ANSWER_TOKENS = 120  # of a verdict with two or three sentences


@dataclass(frozen=True, slots=True)
class Call:
    """One question (metal.raters.judges.call.Question): an output, a criterion, a prompt. source: the source's text."""

    key: str
    output: Output
    source: str
    criterion: str
    prompt: Prompt
    sample: int
    rough_tokens: float
    schema: Mapping[str, Any]

    @property
    def parameters(self) -> Mapping[str, Any]:
        """None of its own: judges are asked as the model's settings say."""
        return {}

    @property
    def about(self) -> Mapping[str, str | int]:
        """For the journal."""
        named = {"prompt": self.prompt.name, "criterion": self.criterion, "output": self.output.output}
        return named | {"sample": self.sample}

    def kind(self, text: str, ending: str) -> str:
        """VERDICT, or the reason why there is none."""
        verdict = self.verdict(text, ending)
        return VERDICT if verdict.score is not None else verdict.reason

    def verdict(self, text: str, ending: str) -> Verdict:
        """The verdict in a reply that ended so; a refused, filtered or cut reply has none, and says so.

        It is read on the rubric's scale, whose labels the judge was shown; Rubric.score makes it the dataset's.
        """
        scale = self.prompt.rubrics[self.criterion].criterion.scale
        found = read_reply(text, scale, self.prompt.letters(self.criterion))
        if ending == calls.COMPLETE:
            return found
        if ending == calls.TRUNCATED and found.score is not None and text.rstrip().endswith(("}", "```")):
            return found  # the verdict was complete before the limit
        return Verdict(None, ending, found.justification)

    @property
    def message(self) -> Message:
        """What is sent; written anew each time, so that calls that are only counted cost next to nothing."""
        return self.prompt.write(self.criterion, self.output.language, self.source, self.output.text)


@dataclass(frozen=True)
class Plan:
    """The calls of a run; the same plan always gives the same calls in the same order.

    outputs: those to be judged; sources: theirs by id. repeat: how often each question is asked.
    """

    models: tuple[Model, ...]
    prompts: tuple[Prompt, ...]
    criteria: Mapping[str, Criterion]
    outputs: Sequence[Output]
    sources: Mapping[str, Source]
    repeat: int = 1
    answer_tokens: int = ANSWER_TOKENS
    _schemas: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def _asked(self) -> list[tuple[Output, str, bytes, float]]:
        """The outputs with a text: each with its source's text, a digest of both, and about how many tokens they have.

        A message is made of these and of what `Prompt.frame` digests, so keys need no message.
        """
        found = []
        for output in self.outputs:
            if output.text.strip():
                source = self.sources[output.source].text
                whole = f"{source}\0{output.text}"
                written = whole.encode("utf-8", "surrogatepass")
                tokens = rough_tokens(len(whole), len(written))
                found.append((output, source, blake2b(written, digest_size=16).digest(), tokens))
        return found

    @property
    def names(self) -> Mapping[tuple[str, str], str]:
        """(model, prompt) -> the judge's name."""
        return {
            (model.name, prompt.name): rater_name(model, prompt) for model in self.models for prompt in self.prompts
        }

    @property
    def calls_a_model(self) -> int:
        """Calls for each model, those of outputs without text left out."""
        return len(self._asked) * len(self.criteria) * len(self.prompts) * self.repeat

    @property
    def without_text(self) -> int:
        """Outputs that cannot be judged because the dataset has no text for them."""
        return sum(not output.text.strip() for output in self.outputs)

    @property
    def without_source(self) -> int:
        """Outputs that have to be judged without their source's text."""
        return sum(not self.sources[output.source].text.strip() for output in self.outputs if output.text.strip())

    def schema(self, criterion: str, prompt: Prompt) -> dict[str, Any]:
        """The JSON schema of an answer on the criterion."""
        known = (criterion, prompt.name)
        if known not in self._schemas:
            self._schemas[known] = answer_schema(self.criteria[criterion].scale, prompt.letters(criterion))
        return self._schemas[known]

    def calls(self, model: Model, start: int = 0) -> Iterator[Call]:
        """The calls for a model, one prompt and criterion after the other: providers can cache what they share.

        start: so many calls at the beginning are left out.
        """
        for prompt in self.prompts:
            for criterion in self.criteria:
                schema = self.schema(criterion, prompt)
                known = json.dumps([model.identity, schema], sort_keys=True, default=str)
                frames: dict[tuple[str, bool], tuple[Any, float]] = {}
                for sample in range(1, self.repeat + 1):
                    asked, start = self._asked[start:], max(0, start - len(self._asked))
                    for output, source, texts, tokens in asked:
                        kind = output.language, bool(source)
                        if kind not in frames:
                            whole = prompt.frame(criterion, *kind)
                            written = f"{known}\0{whole}".encode("utf-8", "surrogatepass")
                            frames[kind] = blake2b(written, digest_size=16), rough_tokens(len(whole), len(whole))
                        begun, more = frames[kind]
                        digest = begun.copy()
                        digest.update(b"%b%d" % (texts, sample))
                        key = digest.hexdigest()
                        yield Call(key, output, source, criterion, prompt, sample, tokens + more, schema)


def rough_tokens(letters: int, size: int) -> float:
    """About how many tokens a text of so many letters and bytes has: a quarter of Latin letters, half of others.

    Off by a third and more; the first replies put it right (TokenGuess).
    """
    return (letters + (size - letters) / 2) / 4


def rater_name(model: Model, prompt: Prompt, sample: int = 1) -> str:
    """`openai:gpt-4o/simple`, as it stands in the ratings; `#2` for the second time of asking."""
    name = f"{model.name}/{prompt.name}" if prompt.name else model.name
    return name + (f"#{sample}" if sample > 1 else "")


def choose_outputs(
    outputs: Mapping[str, Output], languages: Sequence[str] = (), sample: int = 0, seed: int = 0
) -> list[Output]:
    """The outputs of the languages that are to be rated; all, or a seeded sample, as even over languages as can be.

    Raises UnknownName for a language without outputs, UsageError when no output is chosen.
    """
    known = sorted({output.language for output in outputs.values()})
    for language in languages:
        if language not in known:
            raise UnknownName("language", language, known)
    if outputs and not any(one.chosen for one in outputs.values()):
        raise UsageError(
            "none of the outputs is chosen to be rated; `metal generate` chooses, also --keep-flagged ones"
        )
    chosen = [one for one in outputs.values() if one.chosen and (not languages or one.language in languages)]
    if not sample or sample >= len(chosen):
        return chosen
    rng = np.random.default_rng(seed)
    rounds: list[tuple[int, int, Output]] = []
    for place, language in enumerate(known):
        group = [output for output in chosen if output.language == language]
        order = rng.permutation(len(group))
        rounds += [(turn, place, group[member]) for turn, member in enumerate(order)]
    rounds.sort(key=lambda entry: entry[:2])
    taken = {output.output for _, _, output in rounds[:sample]}
    return [output for output in chosen if output.output in taken]
