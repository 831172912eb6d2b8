"""Each provider's client against a local server of its protocol, and a provider that another
package adds.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from metal.data import plugins
from metal.data.files import bundled
from metal.data.records import Output, Source
from metal.errors import UnknownName, UsageError
from metal.raters.judges import call as calls
from metal.raters.judges import providers
from metal.raters.judges.call import MOST_BYTES, CallFailed, ModelRequest, Reply, answer_schema
from metal.raters.judges.collect import Collected, index_journal
from metal.raters.judges.engine import Rules, Session
from metal.raters.judges.journal import Answered, Journal
from metal.raters.judges.models import family_of_name, find_model, with_settings
from metal.raters.judges.plan import JudgingPlan
from metal.raters.judges.prompts import Message, Prompt
from metal.raters.judges.providers import (
    batch_providers,
    open_batch_client,
    open_client,
    provider_names,
)
from metal.raters.judges.providers.bounded import check_redirect
from metal.raters.judges.providers.failures import failure
from metal.raters.judges.rubric import rubrics_for
from metal.raters.judges.runner import LocalRun
from metal.raters.judges.secrets import Secrets
from metal.raters.judges.templates import load_template
from tests.cli.runs import KEY
from tests.conftest import TASK_QUALITY, offer
from tests.llm_server import Fault, LlmServer, always, rejects_parameters
from tests.saying import tells

# The providers' own packages warn of their own future.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::{kind}")
    for kind in ("DeprecationWarning", "FutureWarning")
]


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, llm_server: LlmServer) -> None:
    for name in (
        "OPENAI_API_KEY",
        "AZURE_OPENAI_API_KEY",
        "GEMINI_API_KEY",
        "ANTHROPIC_API_KEY",
        "VERTEX_TOKEN",
    ):
        monkeypatch.setenv(name, KEY)
    for name in ("OPENAI_BASE_URL", "GOOGLE_API_KEY", "GOOGLE_CLOUD_LOCATION", "OPENAI_ORG_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "p1")
    monkeypatch.setenv("OPENAI_API_VERSION", "2024-10-21")


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
    "vertex-endpoint:123": (
        lambda s: s.url,
        "/v1/projects/p1/locations/us-central1/endpoints/123:predict",
    ),
    "anthropic:claude-one": (lambda s: s.url, "/v1/messages"),
    "langchain:openai:gpt-4o": (lambda s: s.openai_url, "/v1/chat/completions"),
    "langchain:anthropic:claude-one": (lambda s: s.url, "/v1/messages"),
    "guidance:openai:gpt-4o": (lambda s: s.openai_url, "/v1/chat/completions"),
    "guidance:openai-compatible:org/llama:8b": (lambda s: s.openai_url, "/v1/chat/completions"),
    "guidance:azure:my-deployment": (
        lambda s: s.url,
        "/openai/deployments/my-deployment/chat/completions",
    ),
}
DIRECT = [
    "openai:gpt-4o",
    "anthropic:claude-one",
    "gemini:gemini-2.5-pro",
    "guidance:openai:gpt-4o",
]
STRUCTURED = [name for name in MODELS if not name.startswith("vertex-endpoint")]
ask = ModelRequest(
    Message("You judge.", "Rate it."),
    answer_schema(TASK_QUALITY.scale),
    {"temperature": 0},
    "json_schema",
    60.0,
)


FULL = {"temperature": 0, "seed": 1, "max_tokens": 50, "top_p": 0.9}


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


SAID = '{"score": 1, "justification": ""}'
CHAT = {
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": SAID}, "finish_reason": "stop"}
    ]
}
# One reply of 40 tokens after 300 that were thought, as each service counts them.
THOUGHTFUL = {
    "openai": (
        CHAT
        | {"id": "x", "object": "chat.completion", "created": 1, "model": "m"}
        | {"usage": {"prompt_tokens": 100, "completion_tokens": 340, "total_tokens": 440}}
    ),
    "gemini": {
        "candidates": [
            {"content": {"parts": [{"text": SAID}], "role": "model"}, "finishReason": "STOP"}
        ],
        "usageMetadata": {
            "promptTokenCount": 100,
            "candidatesTokenCount": 40,
            "thoughtsTokenCount": 300,
        },
    },
    "anthropic": {
        "id": "x",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "stop_reason": "end_turn",
        "content": [
            {"type": "thinking", "thinking": "", "signature": "x"},
            {"type": "text", "text": SAID},
        ],
        "usage": {"input_tokens": 100, "output_tokens": 340},
    },
}


@pytest.mark.parametrize(
    "name", [name for name in MODELS if not name.startswith("vertex-endpoint")]
)
def test_what_a_model_thought_is_paid(name: str, llm_server: LlmServer) -> None:
    llm_server.faults = lambda call: Fault("body", text=json.dumps(THOUGHTFUL[call.api]))
    reply = asked(name, llm_server)
    assert (reply.text, reply.tokens_in, reply.tokens_out) == (SAID, 100, 340)


@pytest.mark.parametrize(
    "name", ["openai-compatible:org/llama", "langchain:openai:gpt-4o", "guidance:openai:gpt-4o"]
)
def test_thoughts_that_only_the_total_counts_are_paid_too(name: str, llm_server: LlmServer) -> None:
    """As xAI counts, and gateways to Gemini."""
    usage = {"prompt_tokens": 100, "completion_tokens": 40, "total_tokens": 440}
    llm_server.faults = always(
        Fault("body", text=json.dumps(THOUGHTFUL["openai"] | {"usage": usage}))
    )
    reply = asked(name, llm_server)
    assert (reply.tokens_in, reply.tokens_out) == (100, 340)


def failed(name: str, server: LlmServer, ask: ModelRequest = ask) -> CallFailed:
    with pytest.raises(CallFailed) as result:
        asked(name, server, ask)
    return result.value


@pytest.mark.slow
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
    body = llm_server.bodies[-1]
    assert "You judge." in json.dumps(body)
    assert "Rate it." in json.dumps(body)
    places = (body, body.get("generationConfig") or {}, body.get("parameters") or {})
    assert [place["temperature"] for place in places if "temperature" in place] == [0]
    if name in STRUCTURED:
        assert '"enum": [0, 1, 2]' in json.dumps(body)
        assert reply.model.endswith("-2026-01-01")
    if name == "openai:gpt-4o":
        assert reply.fingerprint == "fp_1"


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault("429", retry_after=7.0), calls.BUSY),
        (Fault("500"), calls.SERVER),
        (Fault("503"), calls.SERVER),
        (Fault("drop"), calls.DROPPED),
        (Fault("drop_mid_body"), calls.DROPPED),
        (Fault("not_json_body"), calls.NOT_A_REPLY),  # it may be billed: not asked again
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
    quick = ModelRequest(ask.message, ask.schema, ask.parameters, ask.structured, 0.2)
    assert failed(name, llm_server, quick).kind == calls.TIMEOUT


@pytest.mark.parametrize("name", STRUCTURED)
def test_a_body_that_trickles_is_a_timeout_too(name: str, llm_server: LlmServer) -> None:
    llm_server.faults = always(Fault("slow_body", seconds=600.0))
    quick = ModelRequest(ask.message, ask.schema, ask.parameters, ask.structured, 0.2)
    assert failed(name, llm_server, quick).kind == calls.TIMEOUT


@pytest.mark.parametrize("name", DIRECT)
def test_nobody_there_is_not_reached(name: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    nobody = SimpleNamespace(url=url, openai_url=f"{url}/v1")
    failure = failed(name, cast(LlmServer, nobody))
    assert tells(str(failure), f"{url}:", "connection refused")


@pytest.mark.parametrize("name", DIRECT)
def test_a_host_that_nobody_knows_is_not_reached(name: str) -> None:
    nobody = SimpleNamespace(
        url="http://no-such-host.invalid", openai_url="http://no-such-host.invalid/v1"
    )
    failure = failed(name, cast(LlmServer, nobody))
    assert tells(str(failure), "no-such-host.invalid", "(DNS)")


@pytest.fixture
def untrusted(tmp_path: Path) -> Iterator[str]:
    """The address of a server whose certificate nobody has signed."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
    ]
    try:
        subprocess.run(
            [*made, "-keyout", key, "-out", certificate], check=True, capture_output=True
        )
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listening.accept()
                    with (
                        contextlib.suppress(OSError),
                        context.wrap_socket(connection, server_side=True) as secure,
                    ):
                        secure.recv(1)

        threading.Thread(target=serve, daemon=True).start()
        yield f"https://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("name", DIRECT)
def test_an_untrusted_certificate_is_told(name: str, untrusted: str) -> None:
    nobody = SimpleNamespace(url=untrusted, openai_url=f"{untrusted}/v1")
    failure = failed(name, cast(LlmServer, nobody))
    assert failure.kind == calls.UNREACHED
    assert tells(str(failure), f"{untrusted}:", "not trusted (self")


@pytest.mark.parametrize("name", ["openai:gpt-4o", "gemini:gemini-2.5-pro", "anthropic:claude-one"])
@pytest.mark.parametrize(
    "wait", ["zehn Sekunden, bitte später", "١٢٣٤x", "Mon, 01 Jan 99999 00:00:00 GMT", "-1"]
)
def test_too_many_requests_with_an_odd_header_are_that(
    name: str, wait: str, llm_server: LlmServer
) -> None:
    llm_server.faults = always(Fault("429", retry_after=wait))
    failure = failed(name, llm_server)
    assert (failure.kind, failure.status) == (calls.BUSY, 429)


@pytest.mark.parametrize("name", STRUCTURED)
@pytest.mark.parametrize(
    ("fault", "ending"),
    [
        ("truncated", calls.TRUNCATED),
        ("content_filter_reply", calls.FILTERED),
        ("refusal", calls.REFUSED),
    ],
)
def test_how_a_reply_ended(name: str, fault: str, ending: str, llm_server: LlmServer) -> None:
    llm_server.faults = always(Fault(fault))
    result = asked(name, llm_server).ending
    same = {calls.REFUSED, calls.FILTERED}  # Gemini and Anthropic have one word for both
    assert result == ending or {result, ending} <= same


@pytest.mark.parametrize(
    "name",
    ["openai:gpt-4o", "azure:my-deployment", "gemini:gemini-2.5-pro", "guidance:openai:gpt-4o"],
)
def test_a_filtered_prompt(name: str, llm_server: LlmServer) -> None:
    llm_server.faults = always(Fault("content_filter"))
    if name.startswith("gemini"):
        assert asked(name, llm_server).ending == calls.FILTERED
    else:
        assert failed(name, llm_server).kind == calls.BLOCKED


@pytest.mark.parametrize(
    "name",
    ["openai:gpt-4o", "azure:my-deployment", "langchain:openai:gpt-4o", "guidance:openai:gpt-4o"],
)
@pytest.mark.parametrize("code", ["unsupported_value", "unsupported_parameter"])
@pytest.mark.parametrize(
    "parameter", ["temperature", "seed", "response_format", "max_tokens", "top_p"]
)
def test_a_parameter_that_is_rejected_is_named(
    name: str, code: str, parameter: str, llm_server: LlmServer
) -> None:
    llm_server.faults = rejects_parameters(parameter, code=code)
    full = ModelRequest(ask.message, ask.schema, FULL, "json_schema", 60.0)
    if name.startswith("langchain") and parameter == "max_tokens":
        return  # langchain-openai sends max_completion_tokens
    result = failed(name, llm_server, full)
    assert (result.kind, result.parameter) == (calls.PARAMETER, parameter)


@pytest.mark.parametrize("name", ["openai:gpt-4o", "guidance:openai:gpt-4o"])
def test_a_prompt_that_is_too_long_and_a_quota_that_is_used_up(
    name: str, llm_server: LlmServer
) -> None:
    llm_server.faults = always(Fault("context_length_exceeded"))
    assert failed(name, llm_server).kind == calls.TOO_LONG
    llm_server.faults = always(Fault("insufficient_quota"))
    assert failed(name, llm_server).kind == calls.QUOTA


def test_what_a_model_may_think_is_not_taken_from_its_answer() -> None:
    from metal.raters.judges.providers.anthropic_messages import request_body

    thinking = {"thinking": {"type": "enabled", "budget_tokens": 8000}}
    sent = [
        request_body("m", replace(ask, parameters=more))
        for more in ({}, thinking, thinking | {"max_tokens": 9000})
    ]
    assert [body["max_tokens"] for body in sent] == [4096, 12096, 9000]


MISSING = {
    "openai:gpt-4o": ("OPENAI_API_KEY", "OPENAI_API_KEY"),
    "azure:d": ("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_API_KEY"),
    "gemini:gemini-2.5-pro": ("GEMINI_API_KEY", "GEMINI_API_KEY or GOOGLE_API_KEY"),
    "vertex:gemini-2.5-pro": ("GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_PROJECT"),
    "anthropic:claude-one": ("ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY"),
    "langchain:anthropic:claude-one": ("ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY"),
    "langchain:openai:gpt-4o": ("OPENAI_API_KEY", "OPENAI_API_KEY"),
    "guidance:openai:gpt-4o": (
        "OPENAI_API_KEY",
        "guidance:openai:gpt-4o needs a key .* OPENAI_API_KEY",
    ),
    "guidance:azure:d": (
        "AZURE_OPENAI_API_KEY",
        "guidance:azure:d needs a key .* AZURE_OPENAI_API_KEY",
    ),
}


@pytest.mark.parametrize("name", MISSING)
def test_a_missing_key_is_told_before_anything_is_sent(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable, message = MISSING[name]
    monkeypatch.delenv(variable)

    async def opened() -> Any:
        return open_client(find_model(name, {}))

    with pytest.raises(UsageError, match=message):
        asyncio.run(opened())


def test_openai_keys_go_to_openai_only(
    llm_server: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
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
        "Rate limit reached. You can increase it by adding a payment method at"
        " https://example.org/account/billing."
    )
    assert failure(429, message, code="rate_limit_exceeded").kind == calls.BUSY
    assert (
        failure(429, "You exceeded your quota, see billing", code="insufficient_quota").kind
        == calls.QUOTA
    )
    # Gemini, by the minute
    assert failure(429, "You exceeded your quota, see billing", wait=20.0).kind == calls.BUSY


def test_a_limit_that_is_set_too_high_is_no_text_that_is_too_long() -> None:
    result = failure(
        400, "max_tokens is too large: 99999", code="invalid_value", parameter="max_tokens"
    )
    assert (result.kind, result.parameter) == (calls.PARAMETER, "max_tokens")
    assert (
        failure(400, "Input is too long", code="invalid", parameter="messages").kind
        == calls.TOO_LONG
    )


# ---------------------------------------------------------------- what may come back

UNBOUNDED = "langchain:anthropic:claude-one"  # its client is its own
BOUNDED = [name for name in MODELS if name != UNBOUNDED]


@pytest.mark.parametrize("name", BOUNDED)
@pytest.mark.parametrize("status", [302, 307])
def test_nothing_goes_to_another_host(name: str, status: int, llm_server: LlmServer) -> None:
    with LlmServer() as elsewhere:
        place = f"http://localhost:{elsewhere.port}{MODELS[name][1]}"  # 127.0.0.1 by another name
        llm_server.faults = always(Fault("redirect", status=status, text=f"{place}?key={KEY}"))
        result = failed(name, llm_server)
        assert (result.kind, elsewhere.requests) == (calls.REDIRECTED, 0)
    assert f"127.0.0.1:{llm_server.port} redirects to {place};" in result.message


@pytest.mark.parametrize(
    ("asked_at", "sent_to", "followed"),
    [
        ("https://a.example/v1", "https://a.example/v2", True),
        ("http://a.example/v1", "https://a.example/v1", True),
        # the key and the texts would be readable on the way
        ("https://a.example/v1", "http://a.example/v1", False),
        ("http://a.example:8000/v1", "http://a.example:8001/v1", False),  # somebody else's server
        ("http://a.example/v1", "https://b.example/v1", False),
    ],
)
def test_a_redirect_stays_with_the_server_and_encrypted(
    asked_at: str, sent_to: str, followed: bool
) -> None:
    with contextlib.nullcontext() if followed else pytest.raises(CallFailed, match="redirected"):
        check_redirect(307, ("POST", asked_at), ("POST", sent_to))


@pytest.mark.parametrize("name", BOUNDED)
def test_a_redirect_on_the_same_host_keeps_the_question_or_fails(
    name: str, llm_server: LlmServer
) -> None:
    place = llm_server.url + MODELS[name][1]
    llm_server.faults = lambda call: Fault("redirect", text=place) if call.number == 1 else None
    assert json.loads(asked(name, llm_server).text)["justification"]
    # a POST would become a GET
    llm_server.faults = always(Fault("redirect", status=302, text=place))
    assert failed(name, llm_server).kind == calls.REDIRECTED


@pytest.mark.parametrize("name", BOUNDED)
@pytest.mark.parametrize("kind", ["text", "gzip"])
def test_a_reply_has_a_size(name: str, kind: str, llm_server: LlmServer) -> None:
    llm_server.faults = always(Fault(kind, text="x" * MOST_BYTES))
    result = failed(name, llm_server)
    assert (result.kind, result.message) == (calls.TOO_LARGE, "more than 8 MB")
    llm_server.faults = always(Fault(kind, text="x" * (MOST_BYTES // 2)))
    assert len(asked(name, llm_server).text) == MOST_BYTES // 2


@pytest.mark.parametrize("name", DIRECT)
@pytest.mark.parametrize("body", ["<html>", "null", "[1, 2]", "", '{"choices": [{"mess'])
def test_what_is_no_reply_is_not_asked_again(name: str, body: str, llm_server: LlmServer) -> None:
    llm_server.faults = always(Fault("body", text=body))
    assert failed(name, llm_server).kind == calls.NOT_A_REPLY
    assert calls.NOT_A_REPLY not in calls.TRANSIENT


def test_an_error_in_plain_text_is_told(llm_server: LlmServer) -> None:
    llm_server.faults = always(Fault("body", text='{"error": "boom"}'))
    result = failed("openai:gpt-4o", llm_server)
    assert (result.kind, "boom" in result.message) == (calls.NOT_A_REPLY, True)
    assert "boom" in result.body


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (
            {"code": "insufficient_quota", "message": "You exceeded your current quota."},
            calls.QUOTA,
        ),
        ({"type": "invalid_api_key", "message": "Wrong key."}, calls.DENIED),
        ({"code": "model_not_found", "message": "No such model."}, calls.UNKNOWN_MODEL),
        ({"code": "rate_limit_exceeded", "message": "Slow down."}, calls.BUSY),
        ({"code": 503, "message": "Overloaded."}, calls.SERVER),
        ({"type": "server_error", "message": "It broke."}, calls.NOT_A_REPLY),
        ({"message": "It broke."}, calls.NOT_A_REPLY),
        ({"code": True}, calls.NOT_A_REPLY),
        (["broken"], calls.NOT_A_REPLY),
    ],
)
@pytest.mark.parametrize("name", DIRECT)
def test_an_error_that_comes_as_a_success_is_what_it_says(
    name: str, error: Any, kind: str, llm_server: LlmServer
) -> None:
    llm_server.faults = always(Fault("body", text=json.dumps({"error": error})))
    assert failed(name, llm_server).kind == kind


@pytest.mark.parametrize("name", DIRECT)
def test_an_error_beside_a_verdict_is_no_verdict(name: str, llm_server: LlmServer) -> None:
    api = {"anthropic:claude-one": "anthropic", "gemini:gemini-2.5-pro": "gemini"}.get(
        name, "openai"
    )
    llm_server.faults = always(
        Fault("body", text=json.dumps(THOUGHTFUL[api] | {"error": {"message": "It broke."}}))
    )
    reply = asked(name, llm_server)
    assert (reply.text, reply.ending, reply.tokens_out) == (SAID, calls.WITH_ERROR, 340)
    llm_server.faults = always(Fault("body", text=json.dumps(THOUGHTFUL[api] | {"error": None})))
    assert asked(name, llm_server).ending == calls.COMPLETE


def test_choices_are_read_by_their_index(llm_server: LlmServer) -> None:
    def choice(text: str, **place: int) -> dict[str, Any]:
        return {**place, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}

    for choices, text in (
        ([choice("2", index=1), choice("1", index=0)], "1"),
        ([choice("3", index=2), choice("2", index=1)], "2"),
        ([choice("1"), choice("2")], "1"),
        ([choice("2", index=1), choice("1")], "1"),
    ):
        llm_server.faults = always(Fault("body", text=json.dumps({"choices": choices})))
        assert asked("openai:gpt-4o", llm_server).text == text
    parts = [
        {"index": 1, "content": {"parts": [{"text": "2"}]}},
        {"content": {"parts": [{"text": "1"}]}},
    ]
    llm_server.faults = always(Fault("body", text=json.dumps({"candidates": parts})))
    assert asked("gemini:gemini-2.5-pro", llm_server).text == "1"


TOOL = {"function": {"name": "rate", "arguments": '{"score": 2}'}}
ODD = [
    ("openai:gpt-4o", {"choices": []}, calls.NO_CHOICES),
    (
        "openai:gpt-4o",
        {"choices": [{"message": {"content": None, "tool_calls": [TOOL]}}]},
        calls.TOOL_CALL,
    ),
    ("gemini:gemini-2.5-pro", {"candidates": []}, calls.NO_CHOICES),
    (
        "gemini:gemini-2.5-pro",
        {
            "candidates": [
                {"content": {"parts": [{"functionCall": {"name": "rate"}}]}, "finishReason": "STOP"}
            ]
        },
        calls.TOOL_CALL,
    ),
]


@pytest.mark.parametrize(("name", "body", "reason"), ODD)
def test_a_reply_without_text_says_what_it_is(
    name: str, body: Any, reason: str, llm_server: LlmServer
) -> None:
    llm_server.faults = always(Fault("body", text=json.dumps(body)))
    assert asked(name, llm_server).ending == reason


# ---------------------------------------------------------------- a provider of another package


ECHO = """
from metal.raters.judges.call import Reply
from metal.raters.judges.providers import Provider

class Echo:
    def __init__(self, model):
        self.score = int(model.model)

    async def ask(self, ask):
        return Reply('{"score": %d, "justification": "%d letters"}' % (self.score, len(ask.message.user)))

    async def close(self):
        pass

PROVIDER = Provider("echo:SCORE", "says the score that it is named for", Echo, variables=("ECHO_KEY",))
NEEDY = Provider("needy:MODEL", "cannot be asked here", Echo, libraries=("nothing_of_this_name",))
"""  # noqa: E501


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "far_echo.py").write_text(ECHO, encoding="utf-8")
    records = {
        "echo": "far_echo:PROVIDER",
        "needy": "far_echo:NEEDY",
        "no-record": "far_echo:Echo",
        "gone": "gone:ONE",
    }
    lines = "".join(f"{name} = {record}\n" for name, record in records.items())
    offer(tmp_path, "far-echo", "metal.providers", lines)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("far_echo", None)


def test_it_answers_a_run(site: Path, tmp_path: Path) -> None:
    journal_file, folders = tmp_path / "journal.jsonl", [bundled("prompts")]
    prompt = Prompt(load_template("simple", folders), rubrics_for([TASK_QUALITY], folders))
    outputs = [Output(f"o{number}", "s", "g", "en", f"Summary {number}.") for number in range(3)]
    source = Source("s", "en", "The passage.")
    plan = JudgingPlan(
        (find_model("echo:2", {}),),
        (prompt,),
        {TASK_QUALITY.name: TASK_QUALITY},
        outputs,
        {"s": source},
    )

    async def run() -> None:
        journal = Journal(journal_file)
        await LocalRun(Session(plan, journal, Answered(), Rules(), Secrets(), tmp_path)).go()
        await journal.close()

    asyncio.run(run())
    ratings = list(Collected(plan, index_journal(plan, journal_file)).ratings())
    assert [rating.score for rating in ratings] == [2.0] * 3
    assert "letters" in ratings[0].comment


def test_it_is_listed_with_what_it_lacks(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def states() -> dict[str, str]:
        return {form: state for form, _, state in providers.provider_states()}

    assert states()["echo:SCORE"] == "set ECHO_KEY"
    monkeypatch.setenv("ECHO_KEY", "x")
    assert states()["echo:SCORE"] == "ready"
    assert states()["needy:MODEL"] == "install nothing_of_this_name"
    assert "gone:ONE" in states()["gone"]
    assert "is not a Provider" in states()["no-record"]


def test_what_it_cannot_do_is_told(site: Path) -> None:
    with pytest.raises(UsageError, match=r"echo has no batch.*openai.*`batch=True`"):
        open_batch_client(find_model("echo:1", {}))
    with pytest.raises(
        UsageError, match=r"needy:x needs nothing_of_this_name, which is not installed"
    ):
        open_client(find_model("needy:x", {}))
    with pytest.raises(UnknownName, match="did you mean 'echo'"):
        find_model("ecko:1", {})
    with pytest.raises(UsageError, match="cannot be loaded"):
        find_model("gone:1", {})


def test_metals_own_are_listed_without_their_libraries() -> None:
    code = (
        "import sys\nfrom metal.raters.judges.providers import provider_states\n"
        "print(len(provider_states()), "
        "{'openai', 'anthropic', 'google.genai', 'langchain', 'guidance'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["13", "set()"]


def test_without_its_entry_point_a_provider_is_in_no_list(monkeypatch: pytest.MonkeyPatch) -> None:
    every = plugins._plugins("metal.providers", tuple(sys.path))

    def fewer(group: str, path: tuple[str, ...]) -> dict[str, EntryPoint]:
        return {name: point for name, point in every.items() if name != "openai"}

    monkeypatch.setattr(plugins, "_plugins", fewer)
    assert "openai" not in provider_names()
    assert "openai" not in batch_providers()
    assert family_of_name("o3", "openai") == "gpt"
    assert find_model("azure:gpt-4o", {}).price
    with pytest.raises(UnknownName, match="provider 'openai' is not known"):
        find_model("openai:gpt-4o", {})
