"""Each provider's client against a local server of its protocol: what is sent, what is read, what each fault is."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from metal.errors import UsageError
from metal.raters.judges import call as calls
from metal.raters.judges.call import CallFailed, ModelRequest, Reply, answer_schema
from metal.raters.judges.models import find_model, with_settings
from metal.raters.judges.prompts import Message
from metal.raters.judges.providers import open_client
from metal.raters.judges.providers.failures import failure
from tests.conftest import TASK_QUALITY
from tests.llm_server import Fault, LlmServer, always, rejects_parameters

# The providers' own packages warn of their own future.
pytestmark = [pytest.mark.filterwarnings(f"ignore::{kind}") for kind in ("DeprecationWarning", "FutureWarning")]

KEY = "sk-canary-key-0123456789"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, llm_server: LlmServer) -> None:
    for name in ("OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "GEMINI_API_KEY", "ANTHROPIC_API_KEY", "VERTEX_TOKEN"):
        monkeypatch.setenv(name, KEY)
    for name in ("OPENAI_BASE_URL", "GOOGLE_API_KEY", "GOOGLE_CLOUD_LOCATION", "OPENAI_ORG_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "p1")
    monkeypatch.setenv("OPENAI_API_VERSION", "2024-10-21")


@pytest.fixture
def llm_server() -> Iterator[LlmServer]:
    with LlmServer() as server:
        yield server


# name, where its server is, the path that is called
MODELS: dict[str, tuple[Callable[[LlmServer], str], str]] = {
    "openai:gpt-4o": (lambda s: s.openai_url, "/v1/chat/completions"),
    "openai-compatible:org/llama": (lambda s: s.openai_url, "/v1/chat/completions"),
    "azure:my-deployment": (lambda s: s.url, "/openai/deployments/my-deployment/chat/completions"),
    "gemini:gemini-2.5-pro": (lambda s: s.url, "/v1beta/models/gemini-2.5-pro:generateContent"),
    "vertex:gemini-2.5-pro": (
        lambda s: s.url,
        "/v1beta1/projects/p1/locations/global/publishers/google/models/gemini-2.5-pro:generateContent",
    ),
    "vertex-endpoint:123": (lambda s: s.url, "/v1/projects/p1/locations/us-central1/endpoints/123:predict"),
    "langchain:openai:gpt-4o": (lambda s: s.openai_url, "/v1/chat/completions"),
    "langchain:anthropic:claude-one": (lambda s: s.url, "/v1/messages"),
}
STRUCTURED = [name for name in MODELS if not name.startswith("vertex-endpoint")]
ask = ModelRequest(
    Message("You judge.", "Rate it."), answer_schema(TASK_QUALITY.scale), {"temperature": 0}, "json_schema", 5.0
)


def asked(name: str, server: LlmServer, ask: ModelRequest = ask) -> Reply:
    model = find_model(name, {}, base_url=MODELS[name][0](server))
    own = {"api_key_env": "VERTEX_TOKEN"} if name.startswith("vertex") else {}
    model = with_settings(model, timeout=ask.timeout, base_url=MODELS[name][0](server), **own)

    async def once() -> Reply:
        client = open_client(model)
        try:
            return await client.ask(ask)
        finally:
            await client.close()

    return asyncio.run(once())


def failed(name: str, server: LlmServer, ask: ModelRequest = ask) -> CallFailed:
    with pytest.raises(CallFailed) as result:
        asked(name, server, ask)
    return result.value


@pytest.mark.parametrize("name", MODELS)
def test_one_call(name: str, llm_server: LlmServer) -> None:
    reply = asked(name, llm_server)
    verdict = json.loads(reply.text)
    assert verdict["score"] in (0, 1, 2)
    assert verdict["justification"]
    assert reply.ending == calls.COMPLETE
    assert reply.tokens_in
    assert reply.tokens_out
    assert json.loads(reply.raw)
    assert b"\n" not in reply.raw
    assert llm_server.calls[-1].path == MODELS[name][1]
    body = json.dumps(llm_server.bodies[-1])
    assert "You judge." in body
    assert "Rate it." in body


@pytest.mark.parametrize("name", MODELS)
def test_temperature_zero_is_really_sent(name: str, llm_server: LlmServer) -> None:
    asked(name, llm_server)
    body = llm_server.bodies[-1]
    sent = body.get("temperature", (body.get("generationConfig") or {}).get("temperature"))
    sent = sent if sent is not None else (body.get("parameters") or {}).get("temperature")
    assert sent == 0


@pytest.mark.parametrize("name", STRUCTURED)
def test_the_schema_is_sent(name: str, llm_server: LlmServer) -> None:
    asked(name, llm_server)
    assert '"enum": [0, 1, 2]' in json.dumps(llm_server.bodies[-1])


@pytest.mark.parametrize("name", [n for n in MODELS if not n.startswith("vertex-endpoint")])
def test_the_model_version_is_recorded(name: str, llm_server: LlmServer) -> None:
    assert asked(name, llm_server).model.endswith("-2026-01-01")


def test_the_fingerprint_is_recorded(llm_server: LlmServer) -> None:
    assert asked("openai:gpt-4o", llm_server).fingerprint == "fp_1"


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault("429", retry_after=7.0), calls.BUSY),
        (Fault("500"), calls.SERVER),
        (Fault("503"), calls.SERVER),
        (Fault("drop"), calls.DROPPED),
        (Fault("drop_mid_body"), calls.DROPPED),
        (Fault("not_json_body"), calls.SERVER),
        (Fault("forbidden"), calls.DENIED),
        (Fault("model_not_found"), calls.UNKNOWN_MODEL),
    ],
    ids=lambda value: value.kind if isinstance(value, Fault) else "",
)
def test_each_fault_has_its_name(name: str, fault: Fault, kind: str, llm_server: LlmServer) -> None:
    llm_server.faults = always(fault)
    result = failed(name, llm_server)
    assert result.kind == kind, result
    if fault.kind == "429":
        assert result.wait == 7.0
    assert len(llm_server.calls) == 1, "a hidden retry"


@pytest.mark.parametrize("name", ["openai:gpt-4o", "azure:my-deployment"])
def test_a_byte_that_is_no_utf8_costs_no_answer(name: str, llm_server: LlmServer) -> None:
    llm_server.faults = always(Fault("bad_utf8"))
    reply = asked(name, llm_server)
    assert "\N{REPLACEMENT CHARACTER}" in reply.raw.decode()
    assert json.loads(reply.raw)


def test_what_is_no_reply_is_kept(llm_server: LlmServer) -> None:
    llm_server.faults = always(Fault("not_json_body"))
    assert "<" in failed("openai:gpt-4o", llm_server).body


@pytest.mark.parametrize("name", MODELS)
def test_a_reply_that_never_comes_is_a_timeout(name: str, llm_server: LlmServer) -> None:
    llm_server.faults = always(Fault("hang"))
    quick = ModelRequest(ask.message, ask.schema, ask.parameters, ask.structured, 0.5)
    assert failed(name, llm_server, quick).kind == calls.TIMEOUT


@pytest.mark.parametrize("name", [n for n in MODELS if not n.startswith("vertex-endpoint")])
def test_a_body_that_trickles_is_a_timeout_too(name: str, llm_server: LlmServer) -> None:
    llm_server.faults = always(Fault("slow_body", seconds=20.0))
    quick = ModelRequest(ask.message, ask.schema, ask.parameters, ask.structured, 0.5)
    assert failed(name, llm_server, quick).kind == calls.TIMEOUT


@pytest.mark.parametrize("name", ["openai:gpt-4o", "gemini:gemini-2.5-pro", "langchain:anthropic:claude-one"])
def test_nobody_there_is_a_lost_connection(name: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    nobody = SimpleNamespace(url=url, openai_url=f"{url}/v1")
    assert failed(name, cast(LlmServer, nobody)).kind == calls.DROPPED


@pytest.mark.parametrize("name", [n for n in MODELS if not n.startswith("vertex-endpoint")])
@pytest.mark.parametrize(
    ("fault", "ending"),
    [("truncated", calls.TRUNCATED), ("content_filter_reply", calls.FILTERED), ("refusal", calls.REFUSED)],
)
def test_how_a_reply_ended(name: str, fault: str, ending: str, llm_server: LlmServer) -> None:
    llm_server.faults = always(Fault(fault))
    result = asked(name, llm_server).ending
    same = {calls.REFUSED, calls.FILTERED}  # Gemini and Anthropic have one word for both
    assert result == ending or {result, ending} <= same


@pytest.mark.parametrize("name", ["openai:gpt-4o", "azure:my-deployment", "gemini:gemini-2.5-pro"])
def test_a_filtered_prompt(name: str, llm_server: LlmServer) -> None:
    llm_server.faults = always(Fault("content_filter"))
    if name.startswith("gemini"):
        assert asked(name, llm_server).ending == calls.FILTERED
    else:
        assert failed(name, llm_server).kind == calls.BLOCKED


@pytest.mark.parametrize("name", ["openai:gpt-4o", "azure:my-deployment", "langchain:openai:gpt-4o"])
@pytest.mark.parametrize("code", ["unsupported_value", "unsupported_parameter"])
@pytest.mark.parametrize("parameter", ["temperature", "seed", "response_format", "max_tokens"])
def test_a_parameter_that_is_rejected_is_named(name: str, code: str, parameter: str, llm_server: LlmServer) -> None:
    llm_server.faults = rejects_parameters(parameter, code=code)
    full = ModelRequest(ask.message, ask.schema, {"temperature": 0, "seed": 1, "max_tokens": 50}, "json_schema", 5.0)
    if name.startswith("langchain") and parameter == "max_tokens":
        return  # langchain-openai sends max_completion_tokens
    result = failed(name, llm_server, full)
    assert (result.kind, result.parameter) == (calls.PARAMETER, parameter)


def test_a_prompt_that_is_too_long_and_a_quota_that_is_used_up(llm_server: LlmServer) -> None:
    llm_server.faults = always(Fault("context_length_exceeded"))
    assert failed("openai:gpt-4o", llm_server).kind == calls.TOO_LONG
    llm_server.faults = always(Fault("insufficient_quota"))
    assert failed("openai:gpt-4o", llm_server).kind == calls.QUOTA


MISSING = {
    "openai:gpt-4o": ("OPENAI_API_KEY", "OPENAI_API_KEY"),
    "azure:d": ("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_API_KEY"),
    "gemini:gemini-2.5-pro": ("GEMINI_API_KEY", "GEMINI_API_KEY or GOOGLE_API_KEY"),
    "vertex:gemini-2.5-pro": ("GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_PROJECT"),
    "langchain:anthropic:claude-one": ("ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY"),
    "langchain:openai:gpt-4o": ("OPENAI_API_KEY", "OPENAI_API_KEY"),
}


@pytest.mark.parametrize("name", MISSING)
def test_a_missing_key_is_told_before_anything_is_sent(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    variable, message = MISSING[name]
    monkeypatch.delenv(variable)

    async def opened() -> Any:
        return open_client(find_model(name, {}))

    with pytest.raises(UsageError, match=message):
        asyncio.run(opened())


def test_openai_keys_go_to_openai_only(llm_server: LlmServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-secret")
    asked("openai-compatible:org/llama", llm_server)
    sent = json.dumps(dict(llm_server.seen_headers))
    assert KEY not in sent
    assert "org-secret" not in sent


def test_a_langchain_provider_without_its_package() -> None:
    async def opened() -> Any:
        return open_client(find_model("langchain:cohere:command-r", {}))

    with pytest.raises(UsageError, match=r"langchain-cohere|COHERE_API_KEY"):
        asyncio.run(opened())


def test_a_rate_limit_that_speaks_of_billing_is_no_used_up_quota() -> None:
    message = (
        "Rate limit reached. You can increase it by adding a payment method at https://example.org/account/billing."
    )
    assert failure(429, message, code="rate_limit_exceeded").kind == calls.BUSY
    assert failure(429, "You exceeded your quota, see billing", code="insufficient_quota").kind == calls.QUOTA
    assert failure(429, "You exceeded your quota, see billing", wait=20.0).kind == calls.BUSY  # Gemini, by the minute


def test_a_limit_that_is_set_too_high_is_no_text_that_is_too_long() -> None:
    result = failure(400, "max_tokens is too large: 99999", code="invalid_value", parameter="max_tokens")
    assert (result.kind, result.parameter) == (calls.PARAMETER, "max_tokens")
    assert failure(400, "Input is too long", code="invalid", parameter="messages").kind == calls.TOO_LONG
