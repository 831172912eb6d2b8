"""Any chat model that LangChain knows (langchain:PROVIDER:MODEL), opened with init_chat_model.

LangChain's own structured output loses the text of an unexpected reply. So the JSON schema is sent
in the provider's own parameter, if METAL knows it, and METAL's reader reads the text.

The integrations of OpenAI and Azure send through METAL's client with its limits. Others bring their
own client, which METAL cannot limit: it follows redirects, and a reply can be measured only after
it is in memory.
"""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

from langchain.chat_models import init_chat_model

from metal.errors import UsageError
from metal.raters.judges import call as calls
from metal.raters.judges.call import CallFailed, Client, ModelRequest, Reply
from metal.raters.judges.models import Model
from metal.raters.judges.providers.connecting import connection_failure
from metal.raters.judges.providers.failures import failure, one_line, retry_after, token_counts

# Providers that do not say at once that their key is missing, and the variable it is in.
KEYS = {
    "anthropic": "ANTHROPIC_API_KEY",
    "mistralai": "MISTRAL_API_KEY",
    "cohere": "COHERE_API_KEY",
}
ENDINGS = {
    "stop": calls.COMPLETE,
    "end_turn": calls.COMPLETE,
    "length": calls.TRUNCATED,
    "max_tokens": calls.TRUNCATED,
    "content_filter": calls.FILTERED,
    "safety": calls.FILTERED,
    "refusal": calls.REFUSED,
}


def open_client(model: Model) -> Client:
    """A client for langchain: models. LangChain takes the key from its own variables, or from the
    variable in api_key_env.
    """
    provider, _, name = model.model.partition(":")
    key = os.environ.get(model.api_key_env) if model.api_key_env else None
    wanted = model.api_key_env or KEYS.get(provider, "")
    if wanted and not os.environ.get(wanted):
        raise UsageError(
            f"{model.name} needs a key in the environment variable {wanted}, which is not set"
        )
    settings: dict[str, Any] = {"max_retries": 0, "timeout": model.timeout}
    http = None
    if provider in ("openai", "azure_openai"):
        from metal.raters.judges.providers.openai_like import PlainHttpClient

        http = settings["http_async_client"] = PlainHttpClient(timeout=model.timeout)
    settings |= {"api_key": key} if key else {}
    settings |= {"base_url": model.base_url} if model.base_url else {}
    settings |= {"default_headers": model.sent_headers()} if model.headers else {}
    client = LangChainChat(model, name, provider, settings, http)
    client.chat({}, "none", {})  # a missing package or key shows here
    return client


class LangChainChat:
    """A connection to one model; LangChain's object is created again when parameters change."""

    def __init__(
        self, model: Model, name: str, provider: str, settings: dict[str, Any], http: Any
    ) -> None:
        self._model, self._name, self._provider, self._settings, self._http = (
            model,
            name,
            provider,
            settings,
            http,
        )
        self._chats: dict[str, Any] = {}

    async def close(self) -> None:
        self._chats.clear()
        if self._http:
            await self._http.aclose()

    def chat(self, parameters: dict[str, Any], structured: str, schema: dict[str, Any]) -> Any:
        """LangChain's chat model with these parameters. Raises UsageError if LangChain cannot
        create it.
        """
        settings = json.dumps([parameters, structured, schema], sort_keys=True, default=str)
        if settings not in self._chats:
            arguments = (
                self._settings | parameters | _structured(self._provider, structured, schema)
            )
            try:
                self._chats[settings] = init_chat_model(
                    self._name, model_provider=self._provider, **arguments
                )
            # each package has its own way to say that a key or setting is missing
            except Exception as error:
                kind = "" if isinstance(error, ImportError) else f"{type(error).__name__}: "
                raise UsageError(f"{self._model.name}: {kind}{one_line(str(error))}") from None
        return self._chats[settings]

    async def ask(self, ask: ModelRequest) -> Reply:
        """One call. Raises CallFailed."""
        parameters = dict(ask.parameters)
        try:
            chat = self.chat(parameters, ask.structured, dict(ask.schema))
        except UsageError as error:
            raise CallFailed(calls.DENIED, str(error)) from None
        messages = [("system", ask.message.system), ("user", ask.message.user)]
        try:
            async with asyncio.timeout(ask.timeout):
                answer = await chat.ainvoke([message for message in messages if message[1]])
        except TimeoutError:
            raise CallFailed(calls.TIMEOUT, f"no complete reply within {ask.timeout:g} s") from None
        except CallFailed:
            raise
        except Exception as error:  # every integration has exceptions of its own
            raise self._failure(error) from None
        dropped = tuple(
            name
            for name in ("temperature",)
            if name in parameters and getattr(chat, name, 0) is None
        )
        return _reply(answer, dropped)

    def _failure(self, error: Exception) -> CallFailed:
        status = getattr(error, "status_code", None) or getattr(error, "code", None)
        message = one_line(str(error)) or type(error).__name__
        if isinstance(status, int):
            headers = getattr(getattr(error, "response", None), "headers", None) or {}
            code = getattr(error, "code", None)
            return failure(
                status,
                message,
                code=code if isinstance(code, str) else "",
                parameter=str(getattr(error, "param", None) or ""),
                wait=retry_after(headers),
                whose=f"model {self._model.model}",
            )
        if isinstance(error, TimeoutError) or "Timeout" in type(error).__name__:
            return CallFailed(calls.TIMEOUT, message)
        if isinstance(error, OSError) or "Connect" in type(error).__name__:
            return connection_failure(error)
        unreadable = isinstance(error, ValueError | TypeError | AttributeError | LookupError)
        kind = calls.NOT_A_REPLY if unreadable else calls.SERVER
        return CallFailed(
            kind, f"not a reply that LangChain can read: {type(error).__name__}: {message}"
        )


def _structured(provider: str, structured: str, schema: dict[str, Any]) -> dict[str, Any]:
    """The parameters that ask a provider for JSON."""
    if provider in ("openai", "azure_openai") and structured == "json_schema":
        form = {
            "type": "json_schema",
            "json_schema": {"name": "verdict", "strict": True, "schema": schema},
        }
        return {"extra_body": {"response_format": form}}
    if provider in ("openai", "azure_openai") and structured == "json_object":
        return {"extra_body": {"response_format": {"type": "json_object"}}}
    if provider == "anthropic" and structured == "json_schema":
        return {"output_config": {"format": {"type": "json_schema", "schema": schema}}}
    return {}


def _reply(answer: Any, dropped: tuple[str, ...]) -> Reply:
    facts = answer.response_metadata or {}
    refusal = (answer.additional_kwargs or {}).get("refusal")
    finish = str(facts.get("finish_reason") or facts.get("stop_reason") or "").lower()
    usage = answer.usage_metadata or {}
    raw = {
        "content": answer.content,
        "additional_kwargs": answer.additional_kwargs,
        "response_metadata": facts,
    }
    text, ending = answer.text, ENDINGS.get(finish, calls.COMPLETE)
    if refusal:
        text, ending = refusal, calls.REFUSED
    return Reply(
        str(text),
        ending,
        json.dumps(raw | {"usage_metadata": usage}, default=str).encode(),
        str(facts.get("model_name") or facts.get("model") or ""),
        str(facts.get("system_fingerprint") or ""),
        *token_counts(usage, ("input_tokens", "output_tokens")),
        dropped,
    )
