"""Judge models by name, and what is known of them: judges.toml, limits, prices, models that are gone.

openai:MODEL             OpenAI's API                      OPENAI_API_KEY
azure:DEPLOYMENT         Azure OpenAI                      AZURE_OPENAI_API_KEY, AZURE_OPENAI_ENDPOINT
gemini:MODEL             Gemini by API key                 GEMINI_API_KEY or GOOGLE_API_KEY
vertex:MODEL             Gemini through Vertex AI          GOOGLE_CLOUD_PROJECT, GOOGLE_CLOUD_LOCATION
vertex-endpoint:ID       a model you deployed on Vertex AI the same
openai-compatible:MODEL  vLLM, Ollama, OpenRouter, ...     a base URL; OPENAI_COMPATIBLE_API_KEY if it wants one
langchain:PROVIDER:MODEL whatever LangChain knows          as LangChain has it
guidance:PROVIDER:MODEL  openai, azure, openai-compatible  as these have it; asked through guidance
NAME                     a judge of judges.toml
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from metal.data.dataset import read_toml
from metal.errors import DataError, UnknownName, UsageError
from metal.raters.judges.batch.settings import BatchSettings, read_batch_settings

PROVIDERS = ("openai", "azure", "gemini", "vertex", "vertex-endpoint", "openai-compatible", "langchain", "guidance")
THROUGH_GUIDANCE = ("openai", "azure", "openai-compatible")
STRUCTURED_IN_LANGCHAIN = ("openai", "azure_openai", "anthropic")
STRUCTURED = ("json_schema", "json_object", "none")
FILE = "judges.toml"

# Models that can no longer be called: what they were, since when, and the nearest live choice.
GONE = {
    r"(text|chat|code|codechat|embedding|textembedding)-(bison|unicorn|gecko)([-@].*)?": (
        "PaLM 2",
        "2025-04-09",
        "vertex:gemini-2.5-flash",
    ),
    r"gemini-(1\.0-)?(pro|ultra)(-vision)?(-latest|-\d+)?": ("Gemini 1.0", "2025-04-09", "vertex:gemini-2.5-pro"),
    r"gemini-1\.5-(pro|flash).*": ("Gemini 1.5", "2025-09-24", "vertex:gemini-2.5-flash"),
}


@dataclass(frozen=True)
class Price:
    """US dollars a million tokens. as_of: the date of the list it comes from; empty for the user's own."""

    input: float
    output: float
    as_of: str = ""

    def cost(self, tokens_in: float, tokens_out: float) -> float:
        """US dollars."""
        return (tokens_in * self.input + tokens_out * self.output) / 1e6

    def halved(self) -> Price:
        """What the batch services of OpenAI, Azure and Google take."""
        return Price(self.input / 2, self.output / 2, self.as_of)


@dataclass(frozen=True)
class Model:
    """A model to judge with, and how to call it.

    name: as it stands in the ratings; provider and model: whom to ask. parameters: as they are asked for (temperature
    0 unless said otherwise). structured: how a JSON answer is asked for first. api_key_env: the environment variable
    with the key, where it is not the provider's usual one. batch_price: of what comes through the batch service.
    Limits are a minute's; None: no limit of our own.
    """

    name: str
    provider: str
    model: str
    base_url: str = ""
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"temperature": 0})
    structured: str = "json_schema"
    price: Price | None = None
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    concurrency: int = 16
    timeout: float = 120.0
    headers: Mapping[str, str] = field(default_factory=dict)
    api_key_env: str = ""
    api_version: str = ""
    project: str = ""
    location: str = ""
    family: str = ""
    batch: BatchSettings = field(default_factory=BatchSettings)
    batch_price: Price | None = None

    @property
    def identity(self) -> dict[str, Any]:
        """Whatever may change its answers: part of the key of each of them."""
        return {
            "provider": self.provider,
            "model": self.model,
            "base_url": self.base_url or _default_url(called(self.provider, self.model)[0]),
            "api_version": self.api_version,
            "project": self.project or _set("GOOGLE_CLOUD_PROJECT", self.provider),
            "location": self.location or _set("GOOGLE_CLOUD_LOCATION", self.provider),
            "structured": self.structured,
            "parameters": dict(sorted(self.parameters.items())),
        }

    def sent_headers(self) -> dict[str, str]:
        """The extra headers; `$NAME` stands for an environment variable. Raises UsageError when it is not set."""
        for value in self.headers.values():
            if value.startswith("$") and value[1:] not in os.environ:
                raise UsageError(
                    f"judge {self.name!r}: a header needs {value[1:]} in the environment, which is not set"
                )
        return {
            name: os.environ[value[1:]].strip() if value.startswith("$") else value
            for name, value in self.headers.items()
        }

    def described(self) -> dict[str, Any]:
        """The settings for run.toml and raters.jsonl: names of headers, never their values; no key."""
        asked = f"{self.provider}:{self.model}"
        about: dict[str, Any] = {"model": self.name, "family": self.family}
        about |= {"asked": asked} if asked != self.name else {}
        about |= {"base_url": without_secrets(self.base_url)} if self.base_url else {}
        about |= {"parameters": dict(self.parameters), "structured": self.structured}
        about |= {"headers": sorted(self.headers)} if self.headers else {}
        return about


def called(provider: str, model: str) -> tuple[str, str]:
    """Whose service is called in the end, and for which of its models: guidance:openai:gpt-4o is OpenAI's gpt-4o."""
    if provider != "guidance":
        return provider, model
    beneath, _, name = model.partition(":")
    return beneath, name


def _default_url(provider: str) -> str:
    """Where the provider's own client goes unless told otherwise: another place gives other answers."""
    variables = {"openai": "OPENAI_BASE_URL", "azure": "AZURE_OPENAI_ENDPOINT", "gemini": "GOOGLE_GEMINI_BASE_URL"}
    variables |= {"vertex": "GOOGLE_VERTEX_BASE_URL", "openai-compatible": "OPENAI_COMPATIBLE_BASE_URL"}
    return os.environ.get(variables.get(provider, ""), "")


def _set(variable: str, provider: str) -> str:
    """Where an endpoint is: its number says nothing without its project and place."""
    return os.environ.get(variable, "") if provider == "vertex-endpoint" else ""


def without_secrets(url: str) -> str:
    """A URL without a user's name and password in it."""
    bare = re.sub(r"(?<=://)[^/?#]*@", "", url)
    return re.sub(r"(?<=[?&])([^=&#]*(?:key|token|secret|sig|password)[^=&#]*)=[^&#]*", r"\1=hidden", bare, flags=re.I)


# ---------------------------------------------------------------- by name


def find_model(name: str, named: Mapping[str, Model], *, base_url: str = "") -> Model:
    """The model of that name: of judges.toml, or PROVIDER:MODEL.

    base_url: for openai-compatible models. Raises UnknownName, or UsageError for a model that is gone.
    """
    if name in named:
        return _usable(with_settings(named[name], base_url=_if_compatible(named[name], base_url)))
    if not name.partition(":")[2]:
        known = [*named, *(f"{provider}:MODEL" for provider in PROVIDERS)]
        raise UnknownName("judge", name, known, "`metal judges list` shows them; name your own in judges.toml")
    found = _model(name, {"model": name}, "")
    return _usable(with_settings(found, base_url=_if_compatible(found, base_url)))


def _if_compatible(model: Model, base_url: str) -> str | None:
    return base_url if base_url and called(model.provider, model.model)[0] == "openai-compatible" else None


def _usable(model: Model) -> Model:
    """The model. Raises UsageError when it is gone, or nobody knows where it is."""
    place = f"judge {model.name!r}"
    if model.provider in ("vertex", "gemini"):
        for pattern, (what, when, nearest) in GONE.items():
            if re.fullmatch(pattern, model.model):
                raise UsageError(
                    f"{place}: {what} was shut down on {when} and cannot be called any more; try {nearest}"
                )
    provider = called(model.provider, model.model)[0]
    if provider == "openai-compatible" and not (model.base_url or _default_url(provider)):
        raise UsageError(
            f"{place}: where is it? Give --base-url, e.g. http://127.0.0.1:8000/v1, base_url in {FILE}, or "
            "OPENAI_COMPATIBLE_BASE_URL in the environment"
        )
    if model.base_url != without_secrets(model.base_url):
        raise UsageError(f"{place}: a key or password in base_url would be written down; use api_key_env or headers")
    return model


_TEXTS = ("base_url", "structured", "api_key_env", "api_version", "project", "location", "family")
_NUMBERS = ("requests_per_minute", "tokens_per_minute", "concurrency", "timeout")
_TABLES = ("parameters", "headers", "price", "batch")
_KEYS = ("model", "temperature", *_TEXTS, *_NUMBERS, *_TABLES)


def _model(name: str, entry: Mapping[str, Any], where: str) -> Model:
    place = f"{where}: judge {name}" if where else f"judge {name!r}"
    for key in entry:
        if key not in _KEYS:
            raise UnknownName(f"{place}: key", key, _KEYS)
    provider, _, model = str(entry.get("model", "")).partition(":")
    if not model:
        raise DataError(place, "no model", 'Write model = "openai:gpt-4o"')
    if provider not in PROVIDERS:
        raise UnknownName(f"{place}: provider", provider, PROVIDERS, "Others are called as langchain:PROVIDER:MODEL")
    if provider == "langchain" and ":" not in model:
        raise DataError(place, "no LangChain provider", "Write langchain:PROVIDER:MODEL, e.g. langchain:anthropic:...")
    beneath, name_there = called(provider, model)
    if provider == "guidance" and not (beneath in THROUGH_GUIDANCE and name_there):
        raise DataError(
            place, "nobody guidance can ask", f"Write guidance:PROVIDER:MODEL with {', '.join(THROUGH_GUIDANCE)}"
        )
    for key, kind, what in (*((key, str, "a text") for key in _TEXTS), *((key, dict, "a table") for key in _TABLES)):
        if not isinstance(entry.get(key, kind()), kind):
            raise DataError(place, f"{key} is not {what}", "See `metal judges --help`")
    for key in _NUMBERS:
        value = entry.get(key, 1)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
            raise DataError(place, f"{key} is not a number above 0", "Leave it out for no limit of our own")
    if not isinstance(entry.get("concurrency", 1), int):
        raise DataError(place, "concurrency is not a whole number", "Write how many calls may be in flight, e.g. 16")
    if entry.get("structured", STRUCTURED[0]) not in STRUCTURED:
        raise UnknownName(f"{place}: structured", str(entry["structured"]), STRUCTURED)
    parameters = {"temperature": entry.get("temperature", 0)} | dict(entry.get("parameters", {}))
    settings = {key: entry[key] for key in (*_TEXTS, *_NUMBERS) if key in entry}
    if provider == "langchain" and model.partition(":")[0] not in STRUCTURED_IN_LANGCHAIN:
        settings.setdefault("structured", "none")  # LangChain has no common way that keeps the reply's own text
    price = _price(entry.get("price"), place) or listed_price(provider, model)
    batch = dict(entry.get("batch", {}))
    batch_price = _price(batch.pop("price", None), f"{place}: batch")
    if price and not batch_price and provider != "vertex-endpoint":  # whose machines cost the same by the hour
        batch_price = price.halved()
    return Model(
        name,
        provider,
        model,
        parameters={key: value for key, value in parameters.items() if value != "unset"},
        price=price,
        batch=read_batch_settings(batch, place),
        batch_price=batch_price,
        headers={str(key): str(value) for key, value in entry.get("headers", {}).items()},
        **({"family": family(provider, model)} | settings),
    )


def _price(entry: Mapping[str, Any] | None, place: str) -> Price | None:
    if not entry:
        return None
    for key in entry:
        if key not in ("input", "output"):
            raise UnknownName(f"{place}: price: key", key, ("input", "output"))
    said: list[Any] = [entry.get(key) for key in ("input", "output")]
    if not all(type(dollars) in (int, float) and 0 <= dollars < float("inf") for dollars in said):
        raise DataError(place, f"price {entry!r}", "Write price = { input = 2.5, output = 10 }: $ a million tokens")
    return Price(float(entry["input"]), float(entry["output"]))


def family(provider: str, model: str) -> str:
    """The maker's line of models, for telling when a judge judges its own kind: gpt, gemini, llama, claude, ..."""
    provider, model = called(provider, model)
    base = (model.partition(":")[2] if provider == "langchain" else model).rsplit("/", 1)[-1].removeprefix("ft:")
    found = re.match(r"[a-z]+", base.lower())
    line = found[0] if found else ""
    return "gpt" if line in ("gpt", "chatgpt", "o") and provider in ("openai", "azure") else line


# ---------------------------------------------------------------- judges.toml and prices


def judges_files() -> list[Path]:
    """The user's and the project's judges.toml, those that exist; the later one wins."""
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return [path for path in (home / "metal" / FILE, Path(FILE)) if path.is_file()]


def named_models(files: Iterable[Path]) -> dict[str, Model]:
    """The judges that judges.toml files name. Raises DataError for a fault in one of them."""
    found: dict[str, Model] = {}
    for path in files:
        content = read_toml(path)
        for key in content:
            if key != "judges":
                raise UnknownName(f"{path}: table", key, ["judges"], 'Write [judges.NAME] with model = "openai:gpt-4o"')
        judges = content.get("judges", {})
        if not isinstance(judges, dict):
            raise DataError(path, "judges is no table", 'Write [judges.NAME] with model = "openai:gpt-4o"')
        for name, entry in judges.items():
            if not isinstance(entry, dict):
                raise DataError(path, f"judge {name} is no table", f"Write [judges.{name}]")
            found[name] = _model(name, entry, str(path))
    return found


@lru_cache(maxsize=1)
def _price_list() -> Mapping[str, Any]:
    return read_toml(Path(__file__).with_name("prices.toml"))


def listed_price(provider: str, model: str) -> Price | None:
    """The list price of a model, where the bundled list has it: exact name, or the name before its date."""
    provider, model = called(provider, model)
    maker, _, name = model.rpartition(":") if provider == "langchain" else (provider, "", model)
    listed = _price_list().get({"azure": "openai", "vertex": "gemini", "google_genai": "gemini"}.get(maker, maker))
    if not isinstance(listed, dict):
        return None
    for candidate in (name, re.sub(r"-(\d{4}-\d{2}-\d{2}|\d{8}|\d{3,4}|latest)$", "", name)):
        if candidate in listed:
            tokens_in, tokens_out = map(float, listed[candidate])
            return Price(tokens_in, tokens_out, str(_price_list()["as_of"]))
    return None


def with_settings(model: Model, **changes: Any) -> Model:
    """The model with some settings changed from the command line; None leaves one as it is."""
    return replace(model, **{key: value for key, value in changes.items() if value is not None})
