"""Ask models of OpenAI's protocol through guidance (guidance:openai:gpt-4o, guidance:azure:...,
...).

METAL's authors used guidance for generation, and this module uses its roles and its `json`.
Compared with openai:, it costs a thread per call and four to five times the CPU (2 ms per call
instead of 0.45). It also sends messages in parts, which some servers do not accept. If you do not
need guidance, use openai: instead; the model is the same.

guidance 0.3 composes the message, and uses the connection of `openai_like` as its client. Alone,
guidance leaves out a temperature of 0, has no seed, asks for log probabilities (which newer models
reject), raises an error at a refusal, and silently treats a broken or cut reply as complete. Here
parameters are put into the body as requested, and nothing is streamed. METAL keeps the reply's body
as it came, and reads it before guidance sees its text. guidance is synchronous, so its program runs
on a thread and its request on the event loop. Both end with the call.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import guidance
from guidance.models import Model as Program
from guidance.models._openai_base import (
    BaseOpenAIClientWrapper,
    BaseOpenAIInterpreter,
    OpenAIJSONMixin,
    OpenAIRegexMixin,
    OpenAIRuleMixin,
)
from openai.types.chat import ChatCompletionChunk
from openai.types.chat.chat_completion_chunk import Choice, ChoiceDelta

from metal.raters.judges import call as calls
from metal.raters.judges.call import CallFailed, Client, ModelRequest, Reply
from metal.raters.judges.models import Model
from metal.raters.judges.providers import called, openai_like
from metal.raters.judges.providers.failures import one_line

UNANSWERED = Reply("")


def open_client(model: Model) -> Client:
    """A client for guidance: models, with the keys and addresses of the provider beneath."""
    provider, name = called(model.provider, model.model)
    return GuidanceChat(
        openai_like.open_client(replace(model, provider=provider, model=name)),
        name,
        model.concurrency,
    )


class GuidanceChat:
    """A connection to one model, and a thread for each call in flight."""

    def __init__(self, connection: openai_like.OpenAILike, name: str, concurrency: int) -> None:
        self._connection, self._name = connection, name
        self._threads = ThreadPoolExecutor(concurrency, thread_name_prefix="guidance")
        self._answers: dict[str, Any] = {}

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        await self._connection.close()

    async def ask(self, ask: ModelRequest) -> Reply:
        """One call. Raises CallFailed."""
        loop = asyncio.get_running_loop()
        # a new one, and a new program: what they share, guidance would keep
        line = Line(self._connection, loop, ask)
        try:
            await loop.run_in_executor(self._threads, self._run, line, ask)
        finally:
            line.cut()  # of use when this call was cancelled: its thread then ends at once
        return line.reply

    def _run(self, line: Line, ask: ModelRequest) -> None:
        """Run the program of one call, on a thread. Texts are passed as `string`, because guidance
        looks for its tags in a bare str.
        """
        program = Program(Interpreter(self._name, line), sampling_params={}, echo=False)
        try:
            if ask.message.system:
                with guidance.system():
                    program += guidance.string(ask.message.system)
            with guidance.user():
                program += guidance.string(ask.message.user)
            with guidance.assistant():
                program += self._answer(ask.structured, ask.schema)
        except CallFailed:
            raise
        # a schema or a text that guidance does not take; an answer that is here is kept
        except Exception as error:
            if line.reply is not UNANSWERED:
                return
            raise CallFailed(
                calls.REJECTED, one_line(f"guidance: {type(error).__name__}: {error}")
            ) from None

    def _answer(self, structured: str, schema: Mapping[str, Any]) -> Any:
        """guidance's node for the answer. It is cached, because guidance compiles the schema to
        check it.
        """
        form = json.dumps([structured, schema], sort_keys=True)
        if form not in self._answers:
            wanted = schema if structured == "json_schema" else None
            self._answers[form] = (
                guidance.gen() if structured == "none" else guidance.json(schema=wanted)
            )
        return self._answers[form]


class Interpreter(OpenAIRuleMixin, OpenAIJSONMixin, OpenAIRegexMixin, BaseOpenAIInterpreter):  # type: ignore[misc]
    """guidance's own interpreter for OpenAI's protocol, without log probabilities, which no judge
    needs.
    """

    logprobs = False


class Line(BaseOpenAIClientWrapper):  # type: ignore[misc]
    """The object that guidance uses as its client. It sends one request from guidance's thread over
    the connection of the event loop.
    """

    def __init__(
        self, connection: openai_like.OpenAILike, loop: asyncio.AbstractEventLoop, ask: ModelRequest
    ) -> None:
        self._connection, self._loop, self._ask = connection, loop, ask
        self._under_way: Future[Reply] | None = None
        self._is_cut = False
        self.reply = UNANSWERED

    def streaming_chat_completions(
        self, model: str, messages: list[dict[str, Any]], logprobs: bool, **settings: Any
    ) -> AbstractContextManager[Iterator[ChatCompletionChunk]]:
        """Send the message that guidance composed, with the question's parameters. Raises
        CallFailed.
        """
        composed = {name: value for name, value in settings.items() if value is not None}
        body = {"model": model, "messages": messages, **composed, **self._ask.parameters}
        self._under_way = asyncio.run_coroutine_threadsafe(
            self._connection.post(body, self._ask.timeout), self._loop
        )
        if self._is_cut:
            self._under_way.cancel()
        self.reply = self._under_way.result()
        choice = Choice(delta=ChoiceDelta(content=self.reply.text), index=0, finish_reason="stop")
        chunk = ChatCompletionChunk(
            id="", choices=[choice], created=0, model=model, object="chat.completion.chunk"
        )
        return nullcontext(iter([chunk]))

    def cut(self) -> None:
        """Give up the request if it is still under way."""
        self._is_cut = True
        if self._under_way:
            self._under_way.cancel()
