"""Judge models by name: their settings from judges.toml, and models that were shut down.

A judge is named PROVIDER:MODEL (`openai:gpt-4o`), or by a name from judges.toml.
metal.raters.judges.providers has the providers and how each names its models; `metal.judges_list()`
shows them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from metal.data.dataset import Dataset
from metal.data.files import read_toml
from metal.data.present import PRESENT
from metal.errors import DataError, UnknownName, UsageError, check_known, nearest
from metal.raters.judges.prices import Price, listed_price, thoughts
from metal.raters.judges.providers import called, find_provider, provider_names

OTHERS = (
    "Name models of other providers langchain:PROVIDER:MODEL, and a function of a module that can"
    " be imported MODULE:FUNCTION"
)
JUDGES = "`metal.judges_list()` shows them; name your own in judges.toml"
STRUCTURED = ("json_schema", "json_object", "none")
FILE = "judges.toml"
LOGPROBS = "logprobs"  # in the name of every parameter that asks for token probabilities

# Models that can no longer be called: what they were, when they were shut down, and the nearest
# live choice.
SHUT_DOWN = {
    r"(text|chat|code|codechat|embedding|textembedding)-(bison|unicorn|gecko)([-@].*)?": (
        "PaLM 2",
        "2025-04-09",
        "vertex:gemini-2.5-flash",
    ),
    r"gemini-(1\.0-)?(pro|ultra)(-vision)?(-latest|-\d+)?": (
        "Gemini 1.0",
        "2025-04-09",
        "vertex:gemini-2.5-pro",
    ),
    r"gemini-1\.5-(pro|flash).*": ("Gemini 1.5", "2025-09-24", "vertex:gemini-2.5-flash"),
}


@dataclass(frozen=True)
class BatchSettings:
    """How batches are made, from [judges.NAME.batch] in judges.toml. 0 or "" means the provider's
    default.

    requests, bytes: the most in one batch. tokens: the most tokens that may wait at the provider,
    over all batches. poll: seconds between two status requests. settle: seconds after which the
    provider's list shows a submitted batch. bucket: gs://... for Vertex AI. machine_type,
    accelerator_type, accelerator_count, replicas: for a model that you deployed, if its endpoint
    does not name them.
    """

    requests: int = 0
    bytes: int = 0
    tokens: float = 0
    poll: float = 0
    settle: float = 0
    bucket: str = ""
    machine_type: str = ""
    accelerator_type: str = ""
    accelerator_count: int = 0
    replicas: int = 0


@dataclass(frozen=True)
class Model:
    """A model that judges, and how to call it.

    name: the model's name in the ratings. provider, model: the provider and its name for the model.
    parameters: sent with each question (temperature 0 by default). structured: how a JSON answer is
    requested first. api_key_env: the environment variable with the key, if it is not the provider's
    usual variable. batch_price: the price of answers from the batch service. thoughts: an estimate
    of the tokens that the model thinks before an answer, used until its replies show the number;
    they are paid like answers. Limits are per minute; None means that METAL sets no limit.
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
    thoughts: float = 0

    @property
    def seconds_a_call(self) -> float:
        """A guess, for estimating the time of a run. For functions and synthetic judges, the time
        is unknown and this is 0.
        """
        return 0.0 if self.provider in ("function", "fake") else 2.0

    @property
    def identity(self) -> dict[str, Any]:
        """Everything that may change the model's answers. These facts are part of the key of each
        answer.
        """
        project, location = self.project, self.location
        if find_provider(self.provider).located:
            project = project or os.environ.get("GOOGLE_CLOUD_PROJECT", "")
            location = location or os.environ.get("GOOGLE_CLOUD_LOCATION", "")
        return {
            "provider": self.provider,
            "model": self.model,
            "base_url": url_of(self),
            "api_version": self.api_version,
            "project": project,
            "location": location,
            "structured": self.structured,
            "parameters": dict(sorted(self.parameters.items())),
        }

    @cached_property
    def gives_probabilities(self) -> bool:
        """Whether the model's parameters ask for token probabilities, or the model gives
        probabilities of classes.
        """
        return (
            any(LOGPROBS in name for name in self.parameters)
            or find_provider(self.provider).classes
        )

    def asked_for_probabilities(self) -> Model:
        """Add the parameters that ask for token probabilities; parameters from judges.toml have
        priority.
        """
        return replace(
            self, parameters={**find_provider(self.provider).probabilities, **self.parameters}
        )

    def sent_headers(self) -> dict[str, str]:
        """The extra headers. `$NAME` means an environment variable; raises UsageError if it is not
        set.
        """
        headers = dict(self.headers)
        for name, value in self.headers.items():
            if not value.startswith("$"):
                continue
            if value[1:] not in os.environ:
                raise UsageError(
                    f"judge {self.name!r}: a header needs {value[1:]} in the environment, which is"
                    " not set"
                )
            headers[name] = os.environ[value[1:]].strip()
        return headers

    def described(self) -> dict[str, Any]:
        """The settings for run.toml and raters.jsonl. They have the names of headers, but never
        their values, and no key.
        """
        settings: dict[str, Any] = {"model": self.name, "family": self.family}
        if self.name != f"{self.provider}:{self.model}":
            settings["asked"] = f"{self.provider}:{self.model}"
        if self.base_url:
            settings["base_url"] = without_secrets(self.base_url)
        settings |= {"parameters": dict(self.parameters), "structured": self.structured}
        if self.headers:
            settings["headers"] = sorted(self.headers)
        return settings


def with_settings(model: Model, **changes: Any) -> Model:
    """The model with some settings changed; None leaves a setting unchanged."""
    return replace(model, **{key: value for key, value in changes.items() if value is not None})


def without_secrets(url: str) -> str:
    """The URL without the user's name and password."""
    bare = re.sub(r"(?<=://)[^/?#]*@", "", url)
    return re.sub(
        r"(?<=[?&])([^=&#]*(?:key|token|secret|sig|password)[^=&#]*)=[^&#]*",
        r"\1=hidden",
        bare,
        flags=re.I,
    )


def url_of(model: Model) -> str:
    """The address at which a model is asked: its own, else the one in the environment; empty for
    the provider's usual address.
    """
    provider = find_provider(called(model.provider, model.model)[0])
    return model.base_url or os.environ.get(provider.url_variable, "")


# ---------------------------------------------------------------- by name


def find_model(name: str, named: Mapping[str, Model], *, base_url: str = "") -> Model:
    """The model of that name, from judges.toml or as PROVIDER:MODEL.

    base_url: the address of models whose provider needs an address; other models keep theirs.
    Raises UnknownName. Raises UsageError for a model that was shut down, or whose address is
    missing or impossible.
    """
    if name in named:
        model = named[name]
    elif name.partition(":")[2]:
        model = _read_model(name, {"model": name}, "")
    else:
        raise UnknownName("judge", name, (), JUDGES, instead=_meant(name, named))
    provider = find_provider(called(model.provider, model.model)[0])
    if base_url and provider.needs_url:
        model = replace(model, base_url=base_url)
    _check_callable(model)
    if provider.needs_url and not url_of(model):
        raise UsageError(
            f"judge {model.name!r}: its server is unknown. Pass `base_url`, e.g. http://127.0.0.1:8000/v1,"
            f" base_url in {FILE}, or {provider.url_variable} in the environment"
        )
    if provider.url_variable and (url := url_of(model)) and not _is_address(url):
        source = "base_url" if model.base_url else provider.url_variable
        raise UsageError(
            f"judge {model.name!r}: {source} {without_secrets(url)!r} is not an address such as"
            " http://127.0.0.1:8000/v1"
        )
    if model.base_url != without_secrets(model.base_url):
        raise UsageError(
            f"judge {model.name!r}: a key or password in base_url would be stored in files; use"
            " api_key_env or headers"
        )
    return model


def check_base_url(base_url: str, models: Iterable[Model]) -> None:
    """Raise UsageError for an address that none of these models uses, because texts would then go
    to another address than the user meant.
    """
    if base_url and all(model.base_url != base_url for model in models):
        raise UsageError(
            "none of these models uses `base_url`; only openai-compatible:MODEL and"
            " vllm-...:MODEL do"
        )


def _is_address(url: str) -> bool:
    """Whether a client can use this address, which needs http or https, a host, and a possible port
    if it names one.
    """
    try:
        parts = urlsplit(url)
        return (
            parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and parts.port != 0
            and not url.split()[1:]
        )
    except ValueError:
        return False


def _meant(name: str, named: Mapping[str, Model]) -> str:
    """The hint for an unknown name of a judge: similar judges, or the providers of such a model."""
    line = family_of_name(name)
    asking = [
        f"{provider}:{name}" for provider in provider_names() if line and line in _lines(provider)
    ]
    if close := [*get_close_matches(name, named, n=1, cutoff=0.75), *asking]:
        return f"did you mean {' or '.join(map(repr, close))}?"
    return nearest(name, [*named, *(f"{provider}:MODEL" for provider in provider_names())])


def _lines(provider: str) -> tuple[str, ...]:
    try:
        return find_provider(provider).lines
    except UsageError:  # of another package, and cannot be loaded
        return ()


def _check_callable(model: Model) -> None:
    """Raise UsageError for a model of Google's that was shut down."""
    if (find_provider(model.provider).maker or model.provider) != "gemini":
        return
    for pattern, (what, date, alive) in SHUT_DOWN.items():
        if re.fullmatch(pattern, model.model):
            raise UsageError(
                f"judge {model.name!r}: {what} was shut down on {date} and cannot be called any"
                f" more; try {alive}"
            )


_TEXTS = ("base_url", "structured", "api_key_env", "api_version", "project", "location", "family")
_NUMBERS = ("requests_per_minute", "tokens_per_minute", "concurrency", "timeout")
_TABLES = ("parameters", "headers", "price", "batch")
_KEYS = ("model", "temperature", *_TEXTS, *_NUMBERS, *_TABLES)


def _read_model(name: str, entry: Mapping[str, Any], file: str) -> Model:
    """Read a model from its table in judges.toml, or from {"model": NAME} if `file` is empty."""
    location = f"{file}: judge {name}" if file else f"judge {name!r}"
    _check_entry(entry, location)
    provider, _, model = str(entry.get("model", "")).partition(":")
    if not model:
        raise DataError(location, "no model", 'Write model = "openai:gpt-4o"')
    check_known(f"{location}: provider", [provider], provider_names(), OTHERS)
    record = find_provider(provider)
    settings = {
        **record.settings(model, location),
        **{key: entry[key] for key in (*_TEXTS, *_NUMBERS) if key in entry},
    }
    usual = {} if record.direct else {"temperature": entry.get("temperature", 0)}
    parameters = usual | dict(entry.get("parameters", {}))
    _check_budget(parameters, location)
    batch = dict(entry.get("batch", {}))
    price = _read_price(entry.get("price"), location) or listed_price(provider, model)
    batch_price = _read_price(batch.pop("price", None), f"{location}: batch")
    if price and not batch_price and record.half_price_batches:
        batch_price = price.halved()
    return Model(
        name,
        provider,
        model,
        parameters={key: value for key, value in parameters.items() if value != "unset"},
        price=price,
        thoughts=thoughts(provider, model, parameters),
        batch=_read_batch_settings(batch, location),
        batch_price=batch_price,
        headers={str(key): str(value) for key, value in entry.get("headers", {}).items()},
        **({"family": family(provider, model)} | settings),
    )


def _check_budget(parameters: Mapping[str, Any], location: str) -> None:
    """Raise DataError if the model's thoughts alone may use up all tokens of a reply."""
    most, thinking = parameters.get("max_tokens"), parameters.get("thinking")
    budget = thinking.get("budget_tokens") if isinstance(thinking, dict) else None
    if type(most) is int and type(budget) is int and most <= budget:
        fault = f"max_tokens = {most} is not above thinking.budget_tokens = {budget}"
        raise DataError(
            location,
            fault,
            "max_tokens covers thoughts and answer: raise it, or lower budget_tokens",
        )


def _check_entry(entry: Mapping[str, Any], location: str) -> None:
    """Raise UnknownName or DataError for an impossible key or value in a judge's table."""
    check_known(f"{location}: key", entry, _KEYS)
    for key in _TEXTS:
        if not isinstance(entry.get(key, ""), str):
            raise DataError(location, f"{key} is not a text", f'Write {key} = "..."')
    for key in _TABLES:
        if not isinstance(entry.get(key, {}), dict):
            raise DataError(location, f"{key} is not a table", f"Write {key} = {{ ... }}")
    for key in _NUMBERS:
        value = entry.get(key, 1)
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not 0 < value < float("inf")
        ):
            raise DataError(
                location,
                f"{key} is not a number above 0",
                "Leave it out if METAL should set no limit",
            )
    if not isinstance(entry.get("concurrency", 1), int):
        raise DataError(
            location,
            "concurrency is not a whole number",
            "Write how many calls may be in flight, e.g. 16",
        )
    if entry.get("structured", STRUCTURED[0]) not in STRUCTURED:
        raise UnknownName(f"{location}: structured", str(entry["structured"]), STRUCTURED)


def _read_batch_settings(entry: Mapping[str, Any], location: str) -> BatchSettings:
    """Read the settings from their TOML table. Raises UnknownName, or DataError for a value of the
    wrong type.
    """
    kinds = {field.name: type(field.default) for field in fields(BatchSettings)}
    check_known(f"{location}: batch: key", entry, kinds)
    for key, value in entry.items():
        if kinds[key] is str:
            if not isinstance(value, str):
                raise DataError(location, f"batch: {key} = {value!r}", "It must be a text")
            continue
        integer = isinstance(value, int) and not isinstance(value, bool)
        if not integer and not (isinstance(value, float) and key in ("tokens", "poll", "settle")):
            raise DataError(location, f"batch: {key} = {value!r}", "Write a number above 0")
        if not 0 < value < float("inf"):
            raise DataError(
                location,
                f"batch: {key} = {value!r}",
                "Write a number above 0, or leave it out for the default",
            )
    return BatchSettings(**entry)


def _read_price(entry: Any, location: str) -> Price | None:
    if entry is None:
        return None
    table = entry if isinstance(entry, dict) else {}
    check_known(f"{location}: price: key", table, ("input", "output"))
    amounts: list[Any] = list(map(table.get, ("input", "output")))
    if not all(
        type(dollars) in (int, float) and 0 <= dollars < float("inf") for dollars in amounts
    ):
        raise DataError(
            location,
            f"price {entry!r}",
            "Write price = { input = 2.5, output = 10 }: $ per million tokens",
        )
    return Price(float(entry["input"]), float(entry["output"]))


# ---------------------------------------------------------------- families, judges.toml


def family(provider: str, model: str) -> str:
    """The maker's line of models (gpt, gemini, llama, claude, ...), which shows whether a judge
    rates its own family.
    """
    provider, model = called(provider, model)
    record = find_provider(provider)
    if record.names_maker:
        return family_of_name(model.partition(":")[2])
    return family_of_name(model, record.maker or provider)


def family_of_name(name: str, maker: str = "") -> str:
    """The line of models that a model's name begins with; OpenAI's gpt, chatgpt and o models are
    one line, gpt.

    >>> family_of_name("meta-llama/Llama-3.3-70B"), family_of_name("o3-mini", "openai")
    ('llama', 'gpt')
    """
    letters = re.match(r"[a-z]*", name.rsplit("/", 1)[-1].removeprefix("ft:").lower())
    line = letters[0] if letters else ""
    return "gpt" if maker == "openai" and line in ("chatgpt", "o") else line


def family_of_judge(name: str, kind: str, identity: Mapping[str, Any]) -> str:
    """A judge's family: the declared one, else from its model's name; empty if it has none."""
    if identity.get("family") or kind != "llm":
        return str(identity.get("family") or "")
    return family_of_name(str(identity.get("model") or name), "openai")


def family_of_generator(dataset: Dataset, name: str) -> str:
    """A generator's family: the one that dataset.toml declares, else from its name."""
    identity = dataset.extra.get("generators", {}).get(name, {})
    return str(identity.get("family") or family_of_name(name, "openai"))


def judges_files() -> list[Path]:
    """The user's and the project's judges.toml, if they exist. Settings in the later file override
    the earlier.
    """
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return [path for path in (home / "metal" / FILE, PRESENT.get() / FILE) if path.is_file()]


def named_models(files: Iterable[Path]) -> dict[str, Model]:
    """The judges that judges.toml files define. Raises DataError or UnknownName for a fault in a
    file.
    """
    models: dict[str, Model] = {}
    for path in files:
        content = read_toml(path)
        for key in content:
            if key != "judges":
                raise UnknownName(
                    f"{path}: table",
                    key,
                    ["judges"],
                    'Write [judges.NAME] with model = "openai:gpt-4o"',
                )
        judges = content.get("judges", {})
        if not isinstance(judges, dict):
            raise DataError(
                path, "judges is not a table", 'Write [judges.NAME] with model = "openai:gpt-4o"'
            )
        for name, entry in judges.items():
            if not isinstance(entry, dict):
                raise DataError(path, f"judge {name} is not a table", f"Write [judges.{name}]")
            models[name] = _read_model(name, entry, str(path))
    return models
