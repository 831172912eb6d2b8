"""Providers: one file each. `open_client` gives the connection to a model; PROVIDERS says who makes it.

To add a provider: a file here with a function `open_client(model) -> Client`, a line in OPENERS, its name in
models.PROVIDERS, and its library in an extra of pyproject.toml. To add its batch service: a file with
`open_batch_client(model) -> BatchClient` and a line in BATCH_OPENERS.
"""

from __future__ import annotations

import importlib.util
from importlib import import_module

from metal.errors import MissingExtra, UsageError
from metal.raters.judges.batch.contract import BatchClient
from metal.raters.judges.call import Client
from metal.raters.judges.models import Model

# provider: (module here, the libraries it needs, the extra that brings them)
OPENERS = {
    "openai": ("openai_like", "openai", "openai"),
    "azure": ("openai_like", "openai", "openai"),
    "openai-compatible": ("openai_like", "openai", "openai"),
    "gemini": ("google", "google.genai", "google"),
    "vertex": ("google", "google.genai", "google"),
    "vertex-endpoint": ("vertex_endpoint", "google.cloud.aiplatform", "vertex"),
    "langchain": ("langchain_chat", "langchain", "langchain"),
    "guidance": ("guidance_chat", "guidance openai", "guidance"),
}

# provider: (module here with open_batch_client, the libraries it needs, the extra that brings them)
BATCH_OPENERS = {
    "openai": ("openai_batch", "openai", "openai"),
    "azure": ("openai_batch", "openai", "openai"),
    "openai-compatible": ("openai_batch", "openai", "openai"),
    "gemini": ("google_batch", "google.genai", "google"),
    "vertex": ("google_batch", "google.genai google.cloud.storage", "vertex"),
    "vertex-endpoint": ("vertex_batch", "google.cloud.aiplatform google.cloud.storage", "vertex"),
}


def installed(provider: str) -> bool:
    """Whether the libraries that a provider needs are there; nothing is imported."""
    return _installed(OPENERS[provider][1])


def _installed(libraries: str) -> bool:
    try:
        return all(importlib.util.find_spec(library) for library in libraries.split())
    except ImportError:  # the package above it is missing
        return False


def open_client(model: Model) -> Client:
    """A connection to the model, for the running event loop.

    Raises MissingExtra when its library is not installed, UsageError when a key or an address is missing.
    """
    module, _, extra = OPENERS[model.provider]
    if not installed(model.provider):
        raise MissingExtra(f"judge {model.name}", extra)
    client: Client = import_module(f"metal.raters.judges.providers.{module}").open_client(model)
    return client


def open_batch_client(model: Model) -> BatchClient:
    """A connection to the model's batch service, for the running event loop.

    Raises UsageError where there is none, and what `open_client` raises.
    """
    if model.provider not in BATCH_OPENERS:
        raise UsageError(
            f"judge {model.name}: {model.provider} has no batch service; {', '.join(BATCH_OPENERS)} have. Ask it "
            "without --batch"
        )
    module, libraries, extra = BATCH_OPENERS[model.provider]
    if not _installed(libraries):
        raise MissingExtra(f"batches of {model.name}", extra)
    client: BatchClient = import_module(f"metal.raters.judges.providers.{module}").open_batch_client(model)
    return client


def asks_directly(provider: str) -> bool:
    """Whether a model with a batch service surely answers single questions too: Azure deploys some for batches only."""
    return provider != "azure"
