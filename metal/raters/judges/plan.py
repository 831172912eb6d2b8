"""The questions to judges: every output on every criterion, for every model and prompt, as often as
requested.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np

from metal.data.languages import check_languages
from metal.data.records import FIRST, SECOND, SWAPPED, Criterion, Output, Scale, Source
from metal.errors import UsageError
from metal.raters.judges import call as calls
from metal.raters.judges.call import VERDICT, answer_schema, object_schema
from metal.raters.judges.journal import INCOMPLETE
from metal.raters.judges.models import Model
from metal.raters.judges.parts import read_part
from metal.raters.judges.passages import merged, passages_of, passages_of_part
from metal.raters.judges.probabilities import level_probabilities
from metal.raters.judges.prompts import Message, Prompt, in_reply
from metal.raters.judges.reader import ReplyVerdict, read_reply

NO_TEXT = "no text"


@dataclass(frozen=True, slots=True)
class JudgingQuestion:
    """A question (metal.raters.judges.call.Question) about an output, on one criterion or on
    several together.

    source: the text of the output's source. references: the references of the source, for a prompt
    that shows them.
    """

    key: str
    output: Output
    source: str
    criteria: tuple[str, ...]
    prompt: Prompt
    sample: int
    rough_tokens: float
    answer_tokens: float
    schema: Mapping[str, Any]
    references: tuple[str, ...] = ()

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Empty, because judges are asked with the model's parameters."""
        return {}

    @property
    def about(self) -> Mapping[str, Any]:
        """What the journal records about the question."""
        template = self.prompt.template
        asked = (
            {"criteria": self.criteria} if template.together else {"criterion": self.criteria[0]}
        )
        named = {
            "prompt": self.prompt.name,
            **asked,
            "output": self.output.output,
            "sample": self.sample,
        }
        return named | ({"letters": True} if template.letters else {})

    def kind(self, text: str, ending: str) -> str:
        """VERDICT, the reason why there is none, or INCOMPLETE."""
        verdicts = [self.verdict(text, ending, criterion) for criterion in self.criteria]
        reasons = [verdict.reason for verdict in verdicts if verdict.score is None]
        if not reasons:
            return VERDICT
        # Asked again, a reply that reached the limit would reach it again.
        return (
            reasons[0] if len(reasons) == len(verdicts) or ending == calls.TRUNCATED else INCOMPLETE
        )

    def verdict(self, text: str, ending: str, criterion: str) -> ReplyVerdict:
        """Read the verdict in a reply. A refused, filtered or truncated reply has none, and the
        reason says so.

        The score is on the rubric's scale, whose labels the judge saw; Rubric.score converts it to
        the dataset's scale.
        """
        together, truncated = self.prompt.template.together, ending == calls.TRUNCATED
        asked = self._asked(criterion)
        if together:
            verdict = read_part(text, *asked, truncated, numbered=True)
        else:
            verdict = read_reply(text, *asked, numbered=True)
        if ending == calls.COMPLETE:
            return verdict
        if (
            truncated
            and verdict.score is not None
            and (together or text.rstrip().endswith(("}", "```")))
        ):
            return verdict  # it was complete before the limit
        return ReplyVerdict(None, ending, verdict.justification)

    def passages(self, text: str, ending: str) -> tuple[tuple[int, int], ...]:
        """The spans of a reply from which its verdicts on the criteria were read."""
        spans: list[tuple[int, int]] = []
        for criterion in self.criteria:
            asked = self._asked(criterion)
            if self.verdict(text, ending, criterion).reason == ending:
                continue  # refused, filtered or cut off
            if self.prompt.template.together:
                truncated = ending == calls.TRUNCATED
                spans += passages_of_part(text, *asked, truncated, numbered=True)
            else:
                spans += passages_of(text, *asked, numbered=True)
        return merged(spans)

    def _asked(self, criterion: str) -> tuple[Scale, Mapping[str, float] | None, str]:
        """What the reader is told: the scale, the letters if the prompt asks for one, and the
        criterion.
        """
        prompt = self.prompt
        return prompt.rubrics[criterion].criterion.scale, prompt.letters(criterion), criterion

    @property
    def message(self) -> Message:
        """The message to send. It is rendered on each access, so that counting questions costs
        almost nothing.
        """
        shown = self.output.shown
        texts = self.output.language, self.source, *shown
        return self.prompt.write(self.criteria[0], *texts, references=self.references)

    def probabilities(
        self, criterion: str, judged: float, reply: object
    ) -> tuple[float | None, float | None, str]:
        """The probability of the level that a raw reply gives, the mean of levels weighted by
        probability, and why a value is missing.

        The mean, on the dataset's scale, needs every level among the alternatives; if one is
        missing, there is no mean.
        """
        scale = self.prompt.rubrics[criterion].criterion.scale
        levels = self.prompt.letters(criterion) or {f"{value:g}": value for value in scale.values}
        under = in_reply(criterion) if self.prompt.template.together else ""
        shares = level_probabilities(reply, judged, levels, under)
        mean = None
        if levels and scale.ends and not scale.compares and len(shares.by_level) == len(levels):
            total = sum(shares.by_level.values())
            mean = (
                sum(
                    share * self.rated(criterion, level) for level, share in shares.by_level.items()
                )
                / total
            )
        return shares.confidence, mean, shares.why

    def rated(self, criterion: str, judged: float) -> float:
        """A verdict's score on the dataset's scale. For a pair that was shown in reverse, the
        preference is turned back.
        """
        score = self.prompt.rubrics[criterion].score(judged)
        turned = self.output.condition == SWAPPED and score in (FIRST, SECOND)
        return FIRST + SECOND - score if turned else score


@dataclass(frozen=True)
class JudgingPlan:
    """The questions of a judging run (metal.raters.judges.call.RunPlan). Equal plans have equal
    questions.

    outputs: the outputs to judge. sources: their sources by id. repeat: how often each question is
    asked.
    """

    models: tuple[Model, ...]
    prompts: tuple[Prompt, ...]
    criteria: Mapping[str, Criterion]
    outputs: Sequence[Output]
    sources: Mapping[str, Source]
    repeat: int = 1

    @cached_property
    def _with_text(self) -> list[tuple[Output, str, bytes, float]]:
        """The outputs with a text, each with its source's text, a digest of both texts, and about
        how many tokens they have.

        A message consists of these texts and of what `Prompt.frame` covers, so keys can be computed
        without rendering messages.
        """
        rows = []
        for output in self.outputs:
            if output.has_text:
                source = self.sources[output.source].text
                texts = "\0".join((source, *output.shown))
                encoded = texts.encode("utf-8", "surrogatepass")
                tokens = rough_tokens(len(texts), len(encoded))
                rows.append((output, source, blake2b(encoded, digest_size=16).digest(), tokens))
        return rows

    @property
    def names(self) -> Mapping[tuple[str, str], str]:
        """(model, prompt) -> the judge's name."""
        return {
            (model.name, prompt.name): rater_name(model, prompt)
            for model in self.models
            for prompt in self.prompts
        }

    @property
    def questions_per_model(self) -> int:
        """The number of questions for each model. Outputs without text have no questions."""
        return (
            len(self._with_text)
            * sum(len(self.calls(prompt)) for prompt in self.prompts)
            * self.repeat
        )

    def calls(self, prompt: Prompt) -> list[tuple[str, ...]]:
        """The criteria that each call about an output asks."""
        return list(dict.fromkeys(map(prompt.asked_with, self.criteria)))

    @property
    def without_text(self) -> int:
        """How many outputs cannot be judged because the dataset has no text for them."""
        return sum(not output.has_text for output in self.outputs)

    @property
    def without_source(self) -> int:
        """How many outputs have to be judged without the text of their source."""
        return sum(
            not self.sources[output.source].text.strip()
            for output in self.outputs
            if output.has_text
        )

    def references(self, output: Output) -> tuple[str, ...]:
        """The references of the output's source, except the output itself."""
        texts = self.sources[output.source].references
        own = {" ".join(text.split()) for text in output.shown}
        return tuple(text for text in texts if text.strip() and " ".join(text.split()) not in own)

    @property
    def without_reference(self) -> int:
        """How many outputs have no reference for prompts that show references."""
        if not any(prompt.template.shows_references for prompt in self.prompts):
            return 0
        return sum(not self.references(output) for output in self.outputs if output.has_text)

    def questions(self, model: Model, start: int = 0) -> Iterator[JudgingQuestion]:
        """The questions for a model, without the first `start`.

        They come prompt by prompt and criterion by criterion (or all criteria together), so that
        providers can cache the parts that messages share.
        """
        for prompt in self.prompts:
            template = prompt.template
            for criteria in self.calls(prompt):
                schemas = {
                    name: answer_schema(
                        self.criteria[name].scale, prompt.letters(name), template.order
                    )
                    for name in criteria
                }
                schema: dict[str, Any] = {}
                if template.together and not template.bare:
                    schema = object_schema(schemas)
                elif not template.bare:
                    schema = schemas[criteria[0]]
                answer = prompt.answer_tokens * len(criteria) + model.thoughts
                identity = json.dumps([model.identity, schema], sort_keys=True, default=str)
                frames: dict[tuple[str, bool, bool], tuple[Any, float]] = {}
                for sample in range(1, self.repeat + 1):
                    rows, start = self._with_text[start:], max(0, start - len(self._with_text))
                    for output, source, texts, tokens in rows:
                        references = (
                            self.references(output) if prompt.template.shows_references else ()
                        )
                        kind = output.language, bool(source), bool(references)
                        if kind not in frames:
                            frame = prompt.frame(criteria[0], *kind)
                            encoded = f"{identity}\0{frame}".encode("utf-8", "surrogatepass")
                            frames[kind] = (
                                blake2b(encoded, digest_size=16),
                                rough_tokens(len(frame), len(frame)),
                            )
                        frame_digest, frame_tokens = frames[kind]
                        digest = frame_digest.copy()
                        digest.update(b"%b%d" % (texts, sample))
                        rough = tokens + frame_tokens
                        if references:
                            encoded = "\0".join(references).encode("utf-8", "surrogatepass")
                            digest.update(encoded)
                            rough += rough_tokens(sum(map(len, references)), len(encoded))
                        key, spoken = digest.hexdigest(), prompt.spoken(output.language)
                        content = key, output, source, criteria, spoken, sample
                        yield JudgingQuestion(*content, rough, answer, schema, references)


def rough_tokens(letters: int, size: int) -> float:
    """About how many tokens a text with these numbers of letters and bytes has: a quarter of Latin
    letters, half of others.

    The estimate can be wrong by a third or more; TokenEstimator corrects it after the first
    replies.

    >>> rough_tokens(400, 400), rough_tokens(100, 300)
    (100.0, 50.0)
    """
    return (letters + (size - letters) / 2) / 4


def rater_name(model: Model, prompt: Prompt, sample: int = 1) -> str:
    """The judge's name in the ratings, such as `openai:gpt-4o/simple`; `#2` is appended if it is
    asked a second time.
    """
    name = f"{model.name}/{prompt.name}" if prompt.name else model.name
    return name + (f"#{sample}" if sample > 1 else "")


def asked_as(model: Model, prompt: Prompt, criteria: Iterable[str]) -> dict[str, Any]:
    """How a judge is asked, as raters.jsonl records it: the model, its settings, the prompt and its
    hashes.
    """
    hashes = {criterion: prompt.digest(criterion) for criterion in criteria}
    return model.described() | {"prompt": prompt.name, "prompt_hash": hashes}


def choose_outputs(
    outputs: Mapping[str, Output], languages: Sequence[str] = (), sample: int = 0, seed: int = 0
) -> list[Output]:
    """Choose the outputs to rate in these languages: all, or a seeded sample spread evenly over
    languages.

    Raises UnknownName for a language without outputs, and UsageError if no output is chosen.
    """
    available = sorted({output.language for output in outputs.values()})
    check_languages(languages, available)
    if outputs and not any(output.chosen for output in outputs.values()):
        if not any(output.has_text for output in outputs.values()):
            raise UsageError(
                "no output has a text, and without a text it cannot be rated; import the texts as"
                " well"
            )
        raise UsageError(
            "no output is chosen to be rated; `metal.generate` chooses some, and"
            " `metal.generate(keep_flagged=True)` also chooses flagged ones"
        )
    wanted = set(languages or available)
    chosen = [output for output in outputs.values() if output.chosen and output.language in wanted]
    if not sample or sample >= len(chosen):
        return chosen
    drawn = _spread_over_languages(chosen, sample, seed)
    return [output for output in chosen if output.output in drawn]


def _spread_over_languages(outputs: Sequence[Output], sample: int, seed: int) -> set[str]:
    """The ids of `sample` random outputs, taken from one language after the other in turn."""
    rng = np.random.default_rng(seed)
    rounds: list[tuple[int, int, Output]] = []
    for column, language in enumerate(sorted({output.language for output in outputs})):
        group = [output for output in outputs if output.language == language]
        order = rng.permutation(len(group))
        rounds += [(turn, column, group[member]) for turn, member in enumerate(order)]
    rounds.sort(key=lambda entry: entry[:2])
    return {output.output for _, _, output in rounds[:sample]}
