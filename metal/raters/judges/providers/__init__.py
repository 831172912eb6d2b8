"""Providers: the services and libraries through which judge models are called.

A provider is a `Provider` record, named by an entry point of the group `metal.providers`. METAL declares its own in
pyproject.toml (the records are in built_in.py); another package adds one with a file and an entry point:

    # pyproject.toml
    [project.entry-points."metal.providers"]
    echo = "my_package.echo:PROVIDER"

    # my_package/echo.py
    PROVIDER = Provider("echo:MODEL", "repeats the question", open_client)

Everything that lists or opens providers reads these entry points. Listing names imports nothing; a record is imported
when it is used, so a record's module imports heavy libraries inside functions only.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from metal.data.plugins import load_plugin, plugins
from metal.errors import MissingExtra, UsageError

if TYPE_CHECKING:
    from metal.raters.judges.batch.contract import BatchClient
    from metal.raters.judges.call import Client
    from metal.raters.judges.models import Model

GROUP = "metal.providers"


def _no_settings(model: str, place: str) -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True)
class Provider:
    """What METAL has to know of a provider before any of its libraries is imported.

    form              how its models are named: `openai:MODEL`
    summary           what it is, for lists
    open_client       a connection to a model, for the running event loop; raises UsageError when a key is missing
    open_batch_client the same for its batch service; None where it has none
    variables         environment variables that must be set; "A or B": one of the two
    libraries, extra  modules that open_client imports, and the extra of metal-eval that brings them (empty: none does)
    batch_libraries, batch_extra  the same for open_batch_client, where it needs others
    half_price_batches  whether a question in a batch costs half of one that is asked directly
    asks_directly     whether each model with a batch service surely answers single questions too
    url_variable      the environment variable that leads its client elsewhere: another place gives other answers
    needs_url         whether an address must be given, as `base_url` or in url_variable
    located           whether its models are known by Google Cloud project and location, beside their names
    maker             whose models it calls, for prices and families; empty: the provider's own name
    names_maker       whether the maker stands in the name instead: langchain:anthropic:claude-sonnet-4
    through           providers that it calls in turn: a model is named THIS:PROVIDER:MODEL
    settings          (MODEL, place) -> settings of that model unless judges.toml says otherwise; raises DataError
                      about `place` where MODEL cannot be a model's name
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
    names_maker: bool = False
    through: tuple[str, ...] = ()
    settings: Callable[[str, str], Mapping[str, Any]] = _no_settings

    @property
    def installed(self) -> bool:
        """Whether the libraries of open_client are installed; nothing is imported."""
        return _installed(self.libraries)

    @property
    def state(self) -> str:
        """What is still to be done before it can be asked; `ready` when nothing is."""
        if not self.installed:
            return f"pip install 'metal-eval[{self.extra}]'" if self.extra else f"install {', '.join(self.libraries)}"
        missing = [names for names in self.variables if not any(map(os.environ.get, names.split(" or ")))]
        return f"set {', '.join(missing)}" if missing else "ready"


def provider_names() -> list[str]:
    """The names of all providers: METAL's, then those of other packages."""
    return list(plugins(GROUP))


def find_provider(name: str) -> Provider:
    """The provider of that name. Raises UnknownName, and UsageError when its record cannot be imported."""
    record = load_plugin(GROUP, "provider", name)
    if not isinstance(record, Provider):
        raise UsageError(f"provider {name} ({plugins(GROUP)[name].value}) is not a Provider")
    return record


def provider_states() -> list[tuple[str, str, str]]:
    """(how its models are named, what it is, what is still to be done) of every provider, in the order of their names.

    For a provider that cannot be loaded the last says why.
    """
    states = []
    for name in provider_names():
        try:
            provider = find_provider(name)
            states.append((provider.form, provider.summary, provider.state))
        except UsageError as error:
            states.append((name, "", str(error)))
    return states


def imported(function: str) -> Callable[[Model], Any]:
    """The function `package.module:name`, whose module is imported when it is first called."""

    def call(model: Model) -> Any:
        return resolve_name(function)(model)

    return call


def open_client(model: Model) -> Client:
    """A connection to the model, for the running event loop.

    Raises MissingExtra when its library is not installed, UsageError when a key or an address is missing.
    """
    provider = find_provider(model.provider)
    _check_installed(provider.libraries, provider.extra, f"judge {model.name}")
    return provider.open_client(model)


def open_batch_client(model: Model) -> BatchClient:
    """A connection to the model's batch service, for the running event loop.

    Raises UsageError where there is none, and what `open_client` raises.
    """
    provider = find_provider(model.provider)
    if provider.open_batch_client is None:
        raise UsageError(
            f"judge {model.name}: {model.provider} has no batch service; {', '.join(batch_providers())} have. Ask it "
            "without `batch=True`"
        )
    libraries, extra = provider.batch_libraries or provider.libraries, provider.batch_extra or provider.extra
    _check_installed(libraries, extra, f"batches of {model.name}")
    return provider.open_batch_client(model)


def batch_providers() -> list[str]:
    """The names of the providers that have a batch service; a provider that cannot be loaded has none."""
    names = []
    for name in provider_names():
        try:
            if find_provider(name).open_batch_client:
                names.append(name)
        except UsageError:
            continue
    return names


def asks_directly(provider: str) -> bool:
    """Whether a model with a batch service surely answers single questions too: Azure deploys some for batches only."""
    return find_provider(provider).asks_directly


def _check_installed(libraries: tuple[str, ...], extra: str, what: str) -> None:
    if _installed(libraries):
        return
    if extra:
        raise MissingExtra(what, extra)
    raise UsageError(f"{what} needs {', '.join(libraries)}, which is not installed")


def _installed(libraries: tuple[str, ...]) -> bool:
    try:
        return all(importlib.util.find_spec(library) for library in libraries)
    except ImportError:  # the package above it is missing
        return False
