"""guidance: models against a local server: what is on the wire, what is kept. Faults are in
test_providers.py.
"""

from __future__ import annotations

import asyncio
import gc
import importlib.util
import json
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from importlib.machinery import ModuleSpec
from typing import Any

import pytest

from metal.errors import MetalError, MissingExtra, UsageError
from metal.raters.judges import call as calls
from metal.raters.judges.call import Client, Reply
from metal.raters.judges.models import family, find_model, with_settings
from metal.raters.judges.prices import listed_price
from metal.raters.judges.prompts import Message
from metal.raters.judges.providers import find_provider, open_client
from tests.judges.test_providers import ask, asked, failed
from tests.llm_server import Fault, LlmServer, always

pytestmark = pytest.mark.usefixtures("openai_environment")
GPT = "guidance:openai:gpt-4o"


def with_client(
    server: LlmServer, use: Callable[[Client], Awaitable[Any]], concurrency: int = 16
) -> Any:
    model = with_settings(find_model(GPT, {}), base_url=server.openai_url, concurrency=concurrency)

    async def once() -> Any:
        client = open_client(model)
        try:
            return await use(client)
        finally:
            await client.close()

    return asyncio.run(once())


# ---------------------------------------------------------------- what is sent


def test_parameters_are_sent_as_asked_for_and_no_others(llm_server: LlmServer) -> None:
    wanted = {"seed": 0, "top_p": 0.5, "max_tokens": 80}
    asked(GPT, llm_server, replace(ask, parameters=wanted))
    body = llm_server.bodies[-1]
    assert {name: body[name] for name in wanted} == wanted
    assert set(body) == {"model", "messages", "response_format", *wanted}


def test_roles_and_texts(llm_server: LlmServer) -> None:
    asked(GPT, llm_server)
    asked(GPT, llm_server, replace(ask, message=Message("", "Rate it.")))
    both, alone = (
        [(m["role"], m["content"][0]["text"]) for m in body["messages"]]
        for body in llm_server.bodies
    )
    assert both == [("system", "You judge."), ("user", "Rate it.")]
    assert alone == [("user", "Rate it.")]


@pytest.mark.parametrize(
    "text", ["{{G|140|G}} {{gen 'x'}} <|im_end|>", "\u202bحكم\u202c {{", "\n\tनमस्ते "]
)
def test_texts_are_texts_and_no_programs(text: str, llm_server: LlmServer) -> None:
    asked(GPT, llm_server, replace(ask, message=Message(text, text)))
    assert [m["content"] for m in llm_server.bodies[-1]["messages"]] == [
        [{"type": "text", "text": text}]
    ] * 2


def test_how_json_is_asked_for(llm_server: LlmServer) -> None:
    for structured in ("json_schema", "json_object", "none"):
        asked(GPT, llm_server, replace(ask, structured=structured))
    schema, anything, nothing = (body.get("response_format") for body in llm_server.bodies)
    assert schema["json_schema"]["schema"] == ask.schema
    assert schema["json_schema"]["strict"] is True
    assert anything == {"type": "json_object"}
    assert nothing is None


# ---------------------------------------------------------------- what comes back


@pytest.mark.parametrize("text", ['{"score": 1, "justif', "Score: 1", "", '{"score": 1}\ud800'])
def test_what_the_model_wrote_is_not_repaired(text: str, llm_server: LlmServer) -> None:
    llm_server.faults = always(Fault("text", text=text))
    assert asked(GPT, llm_server).text == text


def test_an_answer_is_not_lost_to_what_guidance_thinks_of_it(
    monkeypatch: pytest.MonkeyPatch, llm_server: LlmServer
) -> None:
    def raises(*_: object) -> Iterator[object]:
        raise ValueError("not as wished")

    monkeypatch.setattr("guidance.models._openai_base.BaseOpenAIInterpreter._handle_stream", raises)
    assert asked(GPT, llm_server).tokens_out


# ---------------------------------------------------------------- what goes wrong


def test_a_schema_that_guidance_does_not_take_is_never_sent(llm_server: LlmServer) -> None:
    result = failed(GPT, llm_server, replace(ask, schema={"type": "no such type"}))
    assert result.kind == calls.REJECTED
    assert "guidance" in result.message
    assert llm_server.requests == 0


def test_a_cancelled_call_gives_up_its_request_and_its_thread(llm_server: LlmServer) -> None:
    llm_server.faults = always(Fault("hang"))

    async def cancel(client: Client) -> None:
        call = asyncio.ensure_future(client.ask(replace(ask, timeout=600.0)))
        while not llm_server.in_flight:
            await asyncio.sleep(0.01)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        llm_server.faults = None
        # there is one thread, which the first call would hold for ten minutes
        async with asyncio.timeout(120):
            await client.ask(replace(ask, message=Message("", "the next")))

    with_client(llm_server, cancel, concurrency=1)


# ---------------------------------------------------------------- many at once


def test_calls_in_flight_get_each_its_own_answer(llm_server: LlmServer) -> None:
    llm_server.held_from = 1
    llm_server.answer = lambda prompt, body: json.dumps({"score": 1, "justification": prompt})

    async def all_at_once(client: Client) -> list[Reply]:
        calls = [
            client.ask(replace(ask, message=Message("You judge.", f"text {n}"))) for n in range(64)
        ]
        replies = asyncio.gather(*calls)
        while llm_server.in_flight < 2 and not replies.done():
            await asyncio.sleep(0.01)
        llm_server.release()
        return await replies

    replies = with_client(llm_server, all_at_once)
    message = [json.loads(reply.text)["justification"] for reply in replies]
    assert message == [f"You judge.\ntext {n}" for n in range(64)]
    assert 1 < llm_server.max_in_flight <= 16


def test_guidance_keeps_nothing_of_calls_that_are_over(llm_server: LlmServer) -> None:
    from guidance.registry import get_trace_handler

    def kept() -> int:
        gc.collect()
        return len(get_trace_handler().id_node_map)

    async def three(client: Client) -> None:
        before = kept()
        for _ in range(3):
            await client.ask(ask)
        assert kept() <= before

    with_client(llm_server, three)


# ---------------------------------------------------------------- names, keys, libraries


@pytest.mark.parametrize("missing", ["guidance", "openai"])
def test_a_missing_library_is_named_by_its_extra(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec

    def without(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name == missing else find(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", without)
    assert find_provider("guidance").state == "pip install 'metal-eval[guidance]'"
    with pytest.raises(
        MissingExtra, match=r"judge guidance:openai:gpt-4o .* pip install 'metal-eval\[guidance\]'"
    ):
        open_client(find_model(GPT, {}))


@pytest.mark.parametrize(
    "name", ["guidance:gpt-4o", "guidance:gemini:gemini-2.5-pro", "guidance:openai:"]
)
def test_models_that_guidance_cannot_ask(name: str) -> None:
    with pytest.raises(
        MetalError, match=r"guidance:PROVIDER:MODEL.*openai, azure.*openai-compatible"
    ):
        find_model(name, {})


def test_what_is_known_of_the_model_beneath(monkeypatch: pytest.MonkeyPatch) -> None:
    assert family("guidance", "openai:gpt-4o") == "gpt"
    assert family("guidance", "azure:o3-mini") == "gpt"
    assert family("guidance", "openai-compatible:meta-llama/Llama-3-8B") == "llama"
    assert listed_price("guidance", "openai:gpt-4o") == listed_price("openai", "gpt-4o") is not None
    assert listed_price("guidance", "azure:my-deployment") is None
    with pytest.raises(UsageError, match="server is unknown"):
        find_model("guidance:openai-compatible:llama", {})
    monkeypatch.setenv("OPENAI_COMPATIBLE_BASE_URL", "http://y/v1")
    assert find_model("guidance:openai-compatible:llama", {}).identity["base_url"] == "http://y/v1"
    assert find_model(GPT, {}).identity != find_model("openai:gpt-4o", {}).identity
