"""Providers: one file each. `open_client` gives the connection to a model; PROVIDERS says who makes it.

To add a provider: a file here with a function `open_client(model) -> Client`, a line in OPENERS, its name in
metal.judges.models.PROVIDERS, and its library in an extra of pyproject.toml.
"""

from __future__ import annotations

import importlib.util
from importlib import import_module

from metal.errors import MissingExtra
from metal.judges.call import Client
from metal.judges.models import Model

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


def installed(provider: str) -> bool:
    """Whether the libraries that a provider needs are there; nothing is imported."""
    try:
        return all(importlib.util.find_spec(library) for library in OPENERS[provider][1].split())
    except ImportError:  # the package above it is missing
        return False


def open_client(model: Model) -> Client:
    """A connection to the model, for the running event loop.

    Raises MissingExtra when its library is not installed, UsageError when a key or an address is missing.
    """
    module, _, extra = OPENERS[model.provider]
    if not installed(model.provider):
        raise MissingExtra(f"judge {model.name}", extra)
    client: Client = import_module(f"metal.judges.providers.{module}").open_client(model)
    return client
