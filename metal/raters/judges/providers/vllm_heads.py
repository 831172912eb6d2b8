"""Score heads on vLLM: classifiers (/classify), cross-encoders (/score) and reward models
(/pooling).

They get texts, not a prompt: a classifier gets the output, a cross-encoder gets source and output,
and a reward model gets both as a conversation. If a head returns one number, it is the score. If it
returns several classes, the likeliest class is the level at the same position, and the
probabilities give the rating's confidence and expected score.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from metal.raters.judges import call as calls
from metal.raters.judges.call import CallFailed, ModelRequest, Reply
from metal.raters.judges.models import Model, url_of
from metal.raters.judges.probabilities import class_probabilities
from metal.raters.judges.providers.failures import as_object, one_line_json, read_json, token_counts
from metal.raters.judges.providers.openai_like import OpenAILike, connect


def _conversation(texts: Mapping[str, str]) -> dict[str, Any]:
    roles = {"user": "source", "assistant": "output"}
    return {"messages": [{"role": role, "content": texts[part]} for role, part in roles.items()]}


# Provider -> where its models are asked, and the texts as they are sent.
HEADS: dict[str, tuple[str, Callable[[Mapping[str, str]], dict[str, Any]]]] = {
    "vllm-classify": ("/classify", lambda texts: {"input": texts["output"]}),
    "vllm-score": ("/score", lambda texts: {"text_1": texts["source"], "text_2": texts["output"]}),
    "vllm-reward": ("/pooling", _conversation),
}


def open_client(model: Model) -> ScoreHead:
    """A client for vllm-classify:, vllm-score: and vllm-reward: models."""
    return ScoreHead(model)


class ScoreHead(OpenAILike):
    """A connection to one model; the address may end in /v1, like that of its chat."""

    def __init__(self, model: Model) -> None:
        path, self._sent = HEADS[model.provider]
        here = replace(model, base_url=url_of(model).rstrip("/").removesuffix("/v1"))
        super().__init__(*connect(here), here, path)

    async def ask(self, ask: ModelRequest) -> Reply:
        """Make one call. Raises CallFailed. If the model cannot give a score on the criterion, the
        failure stops the whole judge.
        """
        texts = json.loads(ask.message.user)
        sent = self._sent(texts)
        with_source = "input" not in sent
        if with_source and not texts["source"].strip():
            raise CallFailed(calls.NO_SOURCE)
        body = await self.content(
            {"model": self._model.model, **sent, **ask.parameters}, ask.timeout
        )
        return self._read(body, ask.schema["properties"]["score"].get("enum", ()))

    def _read(self, body: bytes, levels: Sequence[float]) -> Reply:
        content = read_json(body, calls.NOT_A_REPLY)
        data = content.get("data")
        row = as_object(data[0] if isinstance(data, list) and data else None)
        answers = [row[key] for key in ("probs", "score", "data") if key in row]
        if not answers:
            raise CallFailed(
                calls.NOT_A_REPLY, "no score in it", body=body.decode("utf-8", "replace")
            )
        numbers = _numbers(answers[0])
        if not numbers:
            raise CallFailed(calls.NO_NUMBER, f"{self._model.name} gives {answers[0]}"[:80])
        if fault := _fault(numbers, class_probabilities(content), levels):
            raise CallFailed(calls.UNFIT, f"{self._model.name} {fault}")
        score = levels[numbers.index(max(numbers))] if levels else numbers[0]
        tokens, model = token_counts(content.get("usage")), str(content.get("model") or "")
        return Reply(
            json.dumps({"score": score}), calls.COMPLETE, one_line_json(body), model, "", *tokens
        )


def _fault(numbers: Sequence[float], classes: Sequence[float], levels: Sequence[float]) -> str:
    """Why these numbers are not a score on a criterion with these levels; empty if they are."""
    if len(numbers) != max(1, len(levels)):
        size = "one number" if len(numbers) == 1 else f"{len(numbers)} classes"
        return (
            f"gives {size}, but the criterion has {len(levels) or 'no'} levels; there has to be a"
            " class for each level, in the same order"
        )
    if levels and not classes:
        return "does not give probabilities of its classes, which would add up to 1"
    return ""


def _numbers(value: Any) -> list[float]:
    """Read numbers: one number, a list of numbers, or one number per token; then the last one is
    about the whole text.
    """
    while isinstance(value, list) and value and isinstance(value[-1], list):
        value = value[-1]
    numbers = value if isinstance(value, list) else [value]
    if all(type(number) in (int, float) and math.isfinite(number) for number in numbers):
        return numbers
    return []
