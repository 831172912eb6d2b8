"""A Python function as a judge: called with texts, journaled, limited and resumed like any model.

The function is called as `judge(source, output, criterion)`: the two texts and the Criterion. Where it has a parameter
named `language`, it gets that too. Of a pair, `output` is a list of the two texts as they are shown, and the score is 0
for the first, 1 for the second, 2 for a tie. It returns a score of the criterion's scale; a score and a
justification; the text of a reply, from which the verdict is read as from a model's; or None for no answer.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

from metal.data.records import Criterion
from metal.errors import UsageError
from metal.raters.judges.call import CallFailed, ModelRequest, Reply
from metal.raters.judges.models import Model
from metal.raters.judges.prompts import Message, Prompt, Template
from metal.raters.judges.rubric import Rubric

JudgeFunction = Callable[..., Any]
PROVIDER = "function"
RAISED = "the judge raised"


@dataclass(frozen=True)
class FunctionModel(Model):
    """A function in the place of a model. model: its name and a fingerprint of its code."""

    @property
    def identity(self) -> dict[str, Any]:
        """Its code is all that its answers depend on."""
        return {"provider": PROVIDER, "model": self.model}


@dataclass(frozen=True)
class DirectPrompt(Prompt):
    """What a function is handed, in the place of a prompt: nothing is worded."""

    @property
    def name(self) -> str:
        """Empty: the judge's name is the function's."""
        return ""

    def letters(self, criterion: str) -> None:
        """Functions answer with scores."""

    def digest(self, criterion: str) -> str:
        """Eight hex digits of the criterion's scale."""
        scale = self.rubrics[criterion].criterion.scale
        return blake2b(scale.describe().encode(), digest_size=4).hexdigest()

    def write(self, criterion: str, language: str, source: str, *outputs: str) -> Message:
        """The texts as JSON; two that are compared as a list."""
        judged = outputs if len(outputs) > 1 else outputs[0]
        return Message(criterion, json.dumps({"language": language, "source": source, "output": judged}))


def direct_prompt(criteria: Iterable[Criterion]) -> DirectPrompt:
    """The one prompt of a run of a function."""
    rubrics = {criterion.name: Rubric(criterion) for criterion in criteria}
    return DirectPrompt(Template("", "", "", Path()), rubrics)


def function_model(name: str, function: JudgeFunction, concurrency: int | None = None) -> Model:
    """A function as a model. A changed function is another judge, whose answers are its own.

    concurrency: calls at a time; by default one for a plain function, 16 for a coroutine function.
    Raises UsageError where the function cannot be called with a source, an output and a criterion.
    """
    try:
        inspect.signature(function).bind("", "", None, **({"language": ""} if _takes_language(function) else {}))
    except TypeError as error:
        raise UsageError(
            f"judge {name}: {error}; a judge is a function of the source's text, the output's text and the criterion"
        ) from None
    at_once = concurrency or (16 if inspect.iscoroutinefunction(function) else 1)
    return FunctionModel(
        name, PROVIDER, f"{name}@{_fingerprint(function)}", parameters={}, structured="none", concurrency=at_once
    )


def _takes_language(function: JudgeFunction) -> bool:
    return "language" in inspect.signature(function).parameters


def _fingerprint(function: JudgeFunction) -> str:
    """Eight hex digits that change with the function's code."""
    code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
    text = repr((code.co_code, code.co_consts, code.co_names)) if code else repr(type(function))
    return blake2b(text.encode(), digest_size=4).hexdigest()


class FunctionClient:
    """A function in the place of a connection to a model. tokens: how many a call takes, where that is known."""

    def __init__(self, function: JudgeFunction, criteria: Mapping[str, Criterion], tokens: int | None = None) -> None:
        self._function, self._criteria, self._tokens = function, criteria, tokens
        self._takes_language = _takes_language(function)

    async def close(self) -> None:
        """Nothing is open."""

    async def ask(self, ask: ModelRequest) -> Reply:
        """One call of the function. Raises CallFailed where it raises."""
        texts = json.loads(ask.message.user)
        extras = {"language": texts["language"]} if self._takes_language else {}
        call = partial(self._function, texts["source"], texts["output"], self._criteria[ask.message.system], **extras)
        try:
            answer = call() if inspect.iscoroutinefunction(self._function) else await asyncio.to_thread(call)
            if inspect.isawaitable(answer):
                answer = await answer
        except Exception as error:
            raise CallFailed(RAISED, f"{type(error).__name__}: {error}"[:300]) from error
        text = _as_reply(answer)
        return Reply(text, raw=json.dumps(text).encode(), tokens_in=self._tokens, tokens_out=self._tokens)


def _as_reply(answer: Any) -> str:
    """What the function returned as the text of a reply."""
    if answer is None:
        return ""
    if isinstance(answer, str):
        return answer
    if isinstance(answer, Mapping):
        return json.dumps(dict(answer), default=str)
    score, justification = answer if isinstance(answer, tuple) and len(answer) == 2 else (answer, "")
    return json.dumps({"score": None if score is None else float(score), "justification": str(justification)})
