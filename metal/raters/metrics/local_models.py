"""Models of learned metrics: folders on this machine, or what the Hugging Face cache already holds.

Nothing is downloaded: a name that is not in the cache is an error that says how to get it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

from metal.errors import MissingExtra, UsageError

BATCH = 32

Thing = TypeVar("Thing")


def versions(metric: str, *packages: str) -> str:
    """`torch:2.9.0|transformers:5.0.0`, for a signature. Raises MissingExtra where one is not installed."""
    try:
        return "|".join(f"{package}:{metadata.version(package)}" for package in packages)
    except metadata.PackageNotFoundError:
        raise MissingExtra(f"metric {metric}", "neural") from None


def load(metric: str, model: str, loader: Callable[[], Thing]) -> Thing:
    """What `loader` gives. Raises UsageError with what to do where the model is not there or not of the right kind."""
    local = Path(model).exists()
    if not local and model.startswith(("/", ".", "~")):
        raise UsageError(f"metric {metric}: there is no model in {model}")
    try:
        return loader()
    except Exception as error:  # the libraries raise many kinds
        line = next(iter(str(error).splitlines()), type(error).__name__).rstrip(".")
        remedy = "" if local else f". Name a folder with model=PATH, or get it first: hf download {model}"
        raise UsageError(f"metric {metric}: model {model!r} cannot be loaded: {line}{remedy}") from error


def tokenizer_and_network(kind: str, model: str) -> tuple[Any, Any]:
    """A model of Transformers' class `kind` and its tokenizer, ready to be asked.

    Raises UsageError where the files lack some of its weights: Transformers would fill them in by chance.
    """
    import transformers

    transformers.utils.logging.disable_progress_bar()
    tokenizer = transformers.AutoTokenizer.from_pretrained(model, local_files_only=True)
    network, about = getattr(transformers, kind).from_pretrained(model, local_files_only=True, output_loading_info=True)
    missing = sorted(key for key in about["missing_keys"] if "pooler" not in key)
    if missing:
        raise UsageError(f"its files lack {missing[0]}: it is another kind of model")
    return tokenizer, network.eval()


def batches(items: Sequence[Thing], size: int = BATCH) -> Iterator[Sequence[Thing]]:
    """The items, `size` at a time."""
    return (items[at : at + size] for at in range(0, len(items), size))
