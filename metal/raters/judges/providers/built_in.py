"""METAL's own providers, as pyproject.toml declares them. The modules with their clients are imported on first use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from metal.errors import DataError
from metal.raters.judges.providers import Provider, imported

HERE = "metal.raters.judges.providers"
THROUGH_GUIDANCE = ("openai", "azure", "openai-compatible")
STRUCTURED_IN_LANGCHAIN = ("openai", "azure_openai", "anthropic")


def langchain_settings(model: str, place: str) -> Mapping[str, Any]:
    """Plain text, except from the providers whose way of asking for JSON is known.

    LangChain's own structured output is no common way: it loses the text of a reply that is not as it should be.
    """
    provider, colon, _ = model.partition(":")
    if not colon:
        raise DataError(place, "no LangChain provider", "Write langchain:PROVIDER:MODEL, e.g. langchain:anthropic:...")
    return {} if provider in STRUCTURED_IN_LANGCHAIN else {"structured": "none"}


def guidance_settings(model: str, place: str) -> Mapping[str, Any]:
    """Nothing but the check that guidance can ask that provider."""
    provider, _, name = model.partition(":")
    if provider not in THROUGH_GUIDANCE or not name:
        remedy = f"Write guidance:PROVIDER:MODEL with {', '.join(THROUGH_GUIDANCE)}"
        raise DataError(place, "nobody guidance can ask", remedy)
    return {}


OPENAI = Provider(
    "openai:MODEL",
    "OpenAI's API",
    imported(f"{HERE}.openai_like:open_client"),
    imported(f"{HERE}.openai_batch:open_batch_client"),
    variables=("OPENAI_API_KEY",),
    libraries=("openai",),
    extra="openai",
    url_variable="OPENAI_BASE_URL",
)
AZURE = replace(
    OPENAI,
    form="azure:DEPLOYMENT",
    summary="Azure OpenAI",
    variables=("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT"),
    asks_directly=False,  # some deployments are for batches only
    url_variable="AZURE_OPENAI_ENDPOINT",
    maker="openai",
)
OPENAI_COMPATIBLE = replace(
    OPENAI,
    form="openai-compatible:MODEL",
    summary="vLLM, Ollama, OpenRouter, ...",
    variables=(),
    url_variable="OPENAI_COMPATIBLE_BASE_URL",
    needs_url=True,
)
GEMINI = Provider(
    "gemini:MODEL",
    "Gemini by API key",
    imported(f"{HERE}.google:open_client"),
    imported(f"{HERE}.google_batch:open_batch_client"),
    variables=("GEMINI_API_KEY or GOOGLE_API_KEY",),
    libraries=("google.genai",),
    extra="google",
    url_variable="GOOGLE_GEMINI_BASE_URL",
)
VERTEX = replace(
    GEMINI,
    form="vertex:MODEL",
    summary="Gemini through Vertex AI",
    variables=("GOOGLE_CLOUD_PROJECT",),
    batch_libraries=("google.genai", "google.cloud.storage"),
    batch_extra="vertex",
    url_variable="GOOGLE_VERTEX_BASE_URL",
    maker="gemini",
)
VERTEX_ENDPOINT = Provider(
    "vertex-endpoint:ID",
    "a model you deployed on Vertex AI",
    imported(f"{HERE}.vertex_endpoint:open_client"),
    imported(f"{HERE}.vertex_batch:open_batch_client"),
    variables=("GOOGLE_CLOUD_PROJECT",),
    libraries=("google.cloud.aiplatform",),
    extra="vertex",
    batch_libraries=("google.cloud.aiplatform", "google.cloud.storage"),
    half_price_batches=False,  # its machines are paid by the hour
    located=True,
)
LANGCHAIN = Provider(
    "langchain:PROVIDER:MODEL",
    "any chat model LangChain knows",
    imported(f"{HERE}.langchain_chat:open_client"),
    libraries=("langchain",),
    extra="langchain",
    names_maker=True,
    settings=langchain_settings,
)
GUIDANCE = Provider(
    "guidance:PROVIDER:MODEL",
    "OpenAI's protocol, asked through guidance",
    imported(f"{HERE}.guidance_chat:open_client"),
    libraries=("guidance", "openai"),
    extra="guidance",
    through=THROUGH_GUIDANCE,
    settings=guidance_settings,
)
