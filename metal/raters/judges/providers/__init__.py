"""Providers: the services and libraries through which judge models are called.

A provider is a `Provider` record, named by an entry point of the group `metal.providers`. METAL
declares its own in pyproject.toml (the records are at the end of this file); another package adds
one with a file and an entry point:

    # pyproject.toml
    [project.entry-points."metal.providers"]
    echo = "my_package.echo:PROVIDER"

    # my_package/echo.py
    PROVIDER = Provider("echo:MODEL", "repeats the question", open_client)

Everything that lists or opens providers reads these entry points. Listing names imports nothing; a
record is imported when it is used, so a record's module imports heavy libraries inside functions
only.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from metal.data.plugins import load_plugin, plugins
from metal.errors import DataError, MissingExtra, UsageError

if TYPE_CHECKING:
    from metal.raters.judges.call import BatchClient, Client
    from metal.raters.judges.models import Model

GROUP = "metal.providers"


@dataclass(frozen=True)
class Provider:
    """Everything that METAL has to know about a provider before any of its libraries is imported.

    form: how its models are named, such as `openai:MODEL`.
    summary: what it is, for lists.
    open_client: opens a connection to a model, for the running event loop; raises UsageError if a
        key is missing.
    open_batch_client: the same for its batch service; None if it has none.
    variables: environment variables that must be set; "A or B" means one of the two.
    libraries, extra: modules that open_client imports, and the extra of metal-eval that installs
        them (empty if no extra does).
    batch_libraries, batch_extra: the same for open_batch_client, if it needs others.
    half_price_batches: whether a question in a batch costs half of one that is asked directly.
    asks_directly: whether each model with a batch service surely answers single questions too.
    url_variable: the environment variable with another address for its client; another address
        gives other answers.
    needs_url: whether an address must be given, as `base_url` or in url_variable.
    located: whether its models are identified by Google Cloud project and location, besides their
        names.
    maker: whose models it calls, for prices and families; empty means the provider's own name.
    lines: how the names of models begin that it offers, for users who name only a model.
    names_maker: whether the model's name contains the maker instead, as in
        langchain:anthropic:claude-sonnet-4.
    probabilities: parameters that ask for the probabilities of the likeliest tokens (empty: it does
        not give them).
    direct: whether its models get the texts without a prompt, and give a score.
    classes: whether the numbers that they give may be probabilities of classes.
    through: providers that it calls in turn; a model is then named THIS:PROVIDER:MODEL.
    settings: (MODEL, location) -> settings of that model unless judges.toml sets others; raises
        DataError about `location` if MODEL cannot be a model's name.
    """

    form: str
    summary: str
    open_client: Callable[[Model], Client]
    open_batch_client: Callable[[Model], BatchClient] | None = None
    variables: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    extra: str = ""
    batch_libraries: tuple[str, ...] = ()
    batch_extra: str = ""
    half_price_batches: bool = True
    asks_directly: bool = True
    url_variable: str = ""
    needs_url: bool = False
    located: bool = False
    maker: str = ""
    lines: tuple[str, ...] = ()
    names_maker: bool = False
    probabilities: Mapping[str, Any] = field(default_factory=dict)
    direct: bool = False
    classes: bool = False
    through: tuple[str, ...] = ()
    settings: Callable[[str, str], Mapping[str, Any]] = lambda model, location: {}

    @property
    def state(self) -> str:
        """What the user still has to do before the provider can be asked; `ready` if nothing.
        Nothing is imported.
        """
        if not _installed(self.libraries):
            return (
                f"pip install 'metal-eval[{self.extra}]'"
                if self.extra
                else f"install {', '.join(self.libraries)}"
            )
        missing = [
            names for names in self.variables if not any(map(os.environ.get, names.split(" or ")))
        ]
        return f"set {', '.join(missing)}" if missing else "ready"


def provider_names() -> list[str]:
    """The names of all providers: first METAL's, then those of other packages."""
    return list(plugins(GROUP))


def find_provider(name: str) -> Provider:
    """The provider of that name. Raises UnknownName, and UsageError if its record cannot be
    imported.
    """
    record = load_plugin(GROUP, "provider", name)
    if not isinstance(record, Provider):
        raise UsageError(f"provider {name} ({plugins(GROUP)[name].value}) is not a Provider")
    return record


def called(provider: str, model: str) -> tuple[str, str]:
    """The provider that is finally called, and its model: guidance:openai:gpt-4o calls openai's
    gpt-4o.
    """
    if not find_provider(provider).through:
        return provider, model
    beneath, _, name = model.partition(":")
    return beneath, name


def provider_states() -> list[tuple[str, str, str]]:
    """For every provider, in order of names: how its models are named, what it is, and what is
    still to be done.

    For a provider that cannot be loaded, the last item says why.
    """
    states = []
    for name in provider_names():
        try:
            provider = find_provider(name)
            states.append((provider.form, provider.summary, provider.state))
        except UsageError as error:
            states.append((name, "", str(error)))
    return states


def open_client(model: Model) -> Client:
    """A connection to the model, for the running event loop.

    Raises MissingExtra if its library is not installed, UsageError if a key or an address is
    missing.
    """
    provider = find_provider(model.provider)
    _check_installed(provider.libraries, provider.extra, f"judge {model.name}")
    return provider.open_client(model)


def open_batch_client(model: Model) -> BatchClient:
    """A connection to the model's batch service, for the running event loop.

    Raises UsageError if there is no batch service, and the errors of `open_client`.
    """
    provider = find_provider(model.provider)
    if provider.open_batch_client is None:
        raise UsageError(
            f"judge {model.name}: {model.provider} has no batch service; these"
            f" have one: {', '.join(batch_providers())}. Ask it without `batch=True`"
        )
    libraries, extra = (
        provider.batch_libraries or provider.libraries,
        provider.batch_extra or provider.extra,
    )
    _check_installed(libraries, extra, f"batches of {model.name}")
    return provider.open_batch_client(model)


def batch_providers() -> list[str]:
    """The names of the providers that have a batch service. A provider that cannot be loaded counts
    as having none.
    """
    names = []
    for name in provider_names():
        with suppress(UsageError):
            if find_provider(name).open_batch_client:
                names.append(name)
    return names


def _check_installed(libraries: tuple[str, ...], extra: str, what: str) -> None:
    if _installed(libraries):
        return
    if extra:
        raise MissingExtra(what, extra)
    raise UsageError(f"{what} needs {', '.join(libraries)}, which is not installed")


def _installed(libraries: tuple[str, ...]) -> bool:
    try:
        return all(map(importlib.util.find_spec, libraries))
    except ImportError:  # the package above it is missing
        return False


# ---------------------------------------------------------------- METAL's own, as pyproject.toml
# declares them

THROUGH_GUIDANCE = ("openai", "azure", "openai-compatible")
STRUCTURED_IN_LANGCHAIN = ("openai", "azure_openai", "anthropic")


def imported(function: str) -> Callable[[Model], Any]:
    """The function `module:name` of a module in this folder. The module is imported when the
    function is first called.
    """
    return lambda model: resolve_name(f"{__name__}.{function}")(model)


def langchain_settings(model: str, location: str) -> Mapping[str, Any]:
    """The settings of a LangChain model: plain text replies, except from providers whose way of
    asking for JSON is known.

    LangChain's own structured output is not used, because it loses the text of an unexpected reply.
    """
    provider, colon, _ = model.partition(":")
    if not colon:
        raise DataError(
            location,
            "no LangChain provider",
            "Write langchain:PROVIDER:MODEL, e.g. langchain:anthropic:...",
        )
    return {} if provider in STRUCTURED_IN_LANGCHAIN else {"structured": "none"}


def guidance_settings(model: str, location: str) -> Mapping[str, Any]:
    """Empty settings, after a check that guidance can ask that provider."""
    provider, _, name = model.partition(":")
    if provider not in THROUGH_GUIDANCE or not name:
        remedy = f"Write guidance:PROVIDER:MODEL with {', '.join(THROUGH_GUIDANCE)}"
        raise DataError(location, "guidance cannot ask this model", remedy)
    return {}


OPENAI = Provider(
    "openai:MODEL",
    "OpenAI's API",
    imported("openai_like:open_client"),
    imported("openai_batch:open_batch_client"),
    variables=("OPENAI_API_KEY",),
    libraries=("openai",),
    extra="openai",
    url_variable="OPENAI_BASE_URL",
    lines=("gpt", "chatgpt", "o"),
    probabilities={"logprobs": True, "top_logprobs": 20},
)
AZURE = replace(
    OPENAI,
    form="azure:DEPLOYMENT",
    summary="Azure OpenAI",
    variables=("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT"),
    asks_directly=False,  # some deployments are for batches only
    url_variable="AZURE_OPENAI_ENDPOINT",
    maker="openai",
    lines=(),  # deployments have names of their users'
)
OPENAI_COMPATIBLE = replace(
    OPENAI,
    form="openai-compatible:MODEL",
    summary="vLLM, Ollama, OpenRouter, ...",
    variables=(),
    url_variable="OPENAI_COMPATIBLE_BASE_URL",
    needs_url=True,
    lines=("llama", "qwen", "mistral", "mixtral", "gemma", "deepseek", "phi", "glm", "aya", "olmo"),
)
VLLM_CLASSIFY = replace(
    OPENAI_COMPATIBLE,
    form="vllm-classify:MODEL",
    summary="a classifier on vLLM",
    open_client=imported("vllm_heads:open_client"),
    open_batch_client=None,
    lines=(),
    probabilities={},
    direct=True,
    classes=True,
)
VLLM_SCORE = replace(
    VLLM_CLASSIFY, form="vllm-score:MODEL", summary="a cross-encoder on vLLM", classes=False
)
VLLM_REWARD = replace(VLLM_SCORE, form="vllm-reward:MODEL", summary="a reward model on vLLM")
GEMINI = Provider(
    "gemini:MODEL",
    "Gemini by API key",
    imported("google:open_client"),
    imported("google_batch:open_batch_client"),
    variables=("GEMINI_API_KEY or GOOGLE_API_KEY",),
    libraries=("google.genai",),
    extra="google",
    url_variable="GOOGLE_GEMINI_BASE_URL",
    lines=("gemini",),
    probabilities={"response_logprobs": True, "logprobs": 20},
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
    imported("vertex_endpoint:open_client"),
    imported("vertex_endpoint:open_batch_client"),
    variables=("GOOGLE_CLOUD_PROJECT",),
    libraries=("google.cloud.aiplatform",),
    extra="vertex",
    half_price_batches=False,  # its machines are paid by the hour
    located=True,
)
ANTHROPIC = Provider(
    "anthropic:MODEL",
    "Anthropic's API",
    imported("anthropic_messages:open_client"),
    imported("anthropic_batch:open_batch_client"),
    variables=("ANTHROPIC_API_KEY",),
    libraries=("anthropic",),
    extra="anthropic",
    url_variable="ANTHROPIC_BASE_URL",
    lines=("claude",),
)
LANGCHAIN = Provider(
    "langchain:PROVIDER:MODEL",
    "any chat model LangChain knows",
    imported("langchain_chat:open_client"),
    libraries=("langchain",),
    extra="langchain",
    names_maker=True,
    settings=langchain_settings,
)
GUIDANCE = Provider(
    "guidance:PROVIDER:MODEL",
    "OpenAI's protocol, asked through guidance",
    imported("guidance_chat:open_client"),
    libraries=("guidance", "openai"),
    extra="guidance",
    through=THROUGH_GUIDANCE,
    settings=guidance_settings,
)
