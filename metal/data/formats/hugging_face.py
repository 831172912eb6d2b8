"""Any Hugging Face dataset, by local path or hub name: as a table of ratings, or a split of it row
by row.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from metal.data.formats import Draft, Format
from metal.data.formats.table import OPTIONS, draft_from
from metal.data.tokens import reachable
from metal.errors import MetalError, MissingExtra, UsageError

HUB = "huggingface.co"
LOCAL = "give a folder with XL-Sum's files (arabic_test.jsonl, ...) or with your own texts"


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read through `datasets`. options: subset, split, revision, and those of formats.table.

    A local path is a folder of save_to_disk or a folder of data files. Raises MissingExtra without
    the library, UsageError when the name is neither a path nor reachable on the hub.
    """
    datasets = load_library("reading Hugging Face datasets")
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    if is_saved(path):
        loaded = datasets.load_from_disk(str(path))
    elif not path.exists() and not hub_answers():
        raise UsageError(
            f"{path} is not a local folder and {HUB} cannot be reached; give a folder of"
            " save_to_disk or of data files"
        )
    else:
        try:
            loaded = datasets.load_dataset(
                str(path), options.get("subset") or None, revision=options.get("revision") or None
            )
        except Exception as error:  # the library raises many kinds, its own and the hub client's
            raise UsageError(f"{path}: not readable by datasets ({first_line(error)})") from error
    rows = choose_split(loaded, options.get("split") or "", path)
    frame: pd.DataFrame = rows.to_pandas()
    for column, feature in rows.features.items():
        if isinstance(feature, datasets.ClassLabel):  # the number of a class becomes its name
            frame[column] = frame[column].map(dict(enumerate(feature.names)))
    return draft_from(frame, options, Path(options.get("name") or path.name))


def hub_rows(name: str, subset: str, split: str, revision: str) -> Iterable[Mapping[str, Any]]:
    """Rows of a split through `datasets`, from the hub, its cache on this machine, or a local path.

    Raises UsageError in one line when they cannot be read.
    """
    path = Path(name)
    offline = not path.exists() and not hub_answers()
    if offline and not _in_cache(name):
        raise UsageError(f"{HUB} cannot be reached, and {name} is not in its cache here; {LOCAL}")
    if offline:
        os.environ["HF_HUB_OFFLINE"] = "1"  # else the library tries for half a minute
    datasets = load_library(f"reading {name}")
    try:
        if is_saved(path):
            rows = choose_split(datasets.load_from_disk(name), split, path)
        else:
            rows = datasets.load_dataset(
                name, subset or None, split=split, revision=revision or None
            )
    except MetalError:
        raise
    except Exception as error:  # the library raises many kinds, its own and the hub client's
        asked = " ".join(filter(None, (name, subset, split)))
        raise UsageError(f"{asked}: {first_line(error)}; or {LOCAL}") from error
    passages: Iterable[Mapping[str, Any]] = rows
    return passages


def _in_cache(name: str) -> bool:
    """Whether `datasets` may have downloaded it before; its cache has its own spelling of names."""
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    folder = Path(os.environ.get("HF_DATASETS_CACHE") or home / "datasets")

    def letters(text: str) -> str:
        return re.sub("[/_]", "", text).lower()

    return folder.is_dir() and any(
        letters(entry.name) == letters(name) for entry in folder.iterdir() if entry.is_dir()
    )


def load_library(purpose: str) -> Any:
    """The library `datasets`, without its progress bars. Raises MissingExtra if it is not
    installed.
    """
    try:
        import datasets
    except ImportError:
        raise MissingExtra(purpose, "hf") from None
    datasets.disable_progress_bars()
    return datasets


def is_saved(path: Path) -> bool:
    """Whether `path` is a folder of save_to_disk."""
    return any((path / name).is_file() for name in ("dataset_dict.json", "state.json"))


def choose_split(loaded: Any, split: str, path: Path) -> Any:
    """The split of that name, or the only one; all of what was saved without splits. Raises
    UsageError otherwise.
    """
    splits = list(loaded) if hasattr(loaded, "keys") else []
    if not splits:
        return loaded
    if not split and len(splits) == 1:
        return loaded[splits[0]]
    if split not in splits:
        problem = f"no split {split!r} in it; choose one" if split else "choose a split"
        raise UsageError(f"{path}: {problem} with `split` ({', '.join(splits)})")
    return loaded[split]


def hub_answers() -> bool:
    """Whether the hub can be reached; without this check, an offline machine waits half a
    minute.
    """
    if os.environ.get("HF_HUB_OFFLINE", "").lower() in ("1", "true", "yes", "on"):
        return False
    return bool(os.environ.get("HF_ENDPOINT")) or reachable(HUB)


def first_line(error: Exception) -> str:
    """The first line of the innermost cause, which says more than the errors around it."""
    while error.__cause__ and isinstance(error.__cause__, Exception):
        error = error.__cause__
    return str(error).strip().split("\n")[0][:200] or type(error).__name__


FORMAT = Format(
    "a Hugging Face dataset, local path or hub name (extra: hf)",
    read,
    OPTIONS | {"subset", "split", "revision"},
    (("state.json", ("_data_files", "_fingerprint")), ("dataset_dict.json", ("splits",))),
)
