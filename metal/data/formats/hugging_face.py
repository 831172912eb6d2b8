"""Any Hugging Face dataset, by local path or hub name; its columns are then read like any table's."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from metal.data.formats import Format
from metal.data.formats.draft import Draft
from metal.data.formats.table import OPTIONS, draft_from
from metal.data.network import reachable
from metal.errors import MissingExtra, UsageError

HUB = "huggingface.co"


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read through `datasets`. options: subset, split, revision, and those of formats.table.

    A local path is a folder of save_to_disk or a folder of data files. Raises MissingExtra without the
    library, UsageError when the name is neither a path nor reachable on the hub.
    """
    try:
        import datasets
    except ImportError:
        raise MissingExtra("reading Hugging Face datasets", "hf") from None
    datasets.disable_progress_bars()
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    loaded = (
        _saved(path, options) if (path / "state.json").is_file() or (path / "dataset_dict.json").is_file() else None
    )
    if loaded is None:
        loaded = _load(path, options)
    where = Path(options.get("name") or path.name)
    return draft_from(_named_classes(loaded), options, where)


def _named_classes(loaded: Any) -> pd.DataFrame:
    """The split as a table; what the library stores as the number of a class (ClassLabel) becomes its name."""
    import datasets

    table: pd.DataFrame = loaded.to_pandas()
    for column, feature in loaded.features.items():
        if isinstance(feature, datasets.ClassLabel):
            names = dict(enumerate(feature.names))
            table[column] = table[column].map(names)
    return table


def _saved(path: Path, options: Mapping[str, Any]) -> Any:
    import datasets

    loaded = datasets.load_from_disk(str(path))
    return _one_split(loaded, options, path)


def _load(path: Path, options: Mapping[str, Any]) -> Any:
    import datasets

    local = path.exists()
    if not local and not hub_answers():
        raise UsageError(
            f"{path} is no local folder and {HUB} cannot be reached; give a folder of save_to_disk or of data files"
        )
    try:
        loaded = datasets.load_dataset(
            str(path), options.get("subset") or None, revision=options.get("revision") or None
        )
    except Exception as error:  # the library raises many kinds, its own and the hub client's
        raise UsageError(f"{path}: not readable by datasets ({first_line(error)})") from error
    return _one_split(loaded, options, path)


def _one_split(loaded: Any, options: Mapping[str, Any], path: Path) -> Any:
    """The split asked for; the only one where there is one."""
    splits = list(loaded) if hasattr(loaded, "keys") else []
    if not splits:
        return loaded
    split = options.get("split") or (splits[0] if len(splits) == 1 else "")
    if split not in splits:
        raise UsageError(f"{path}: choose a split with `split` ({', '.join(splits)})")
    return loaded[split]


def hub_answers() -> bool:
    """Whether the hub can be asked; without this look, an offline machine waits half a minute."""
    if os.environ.get("HF_HUB_OFFLINE", "").lower() in ("1", "true", "yes", "on"):
        return False
    return bool(os.environ.get("HF_ENDPOINT")) or reachable(HUB)


def first_line(error: Exception) -> str:
    """The innermost cause says more than what it was wrapped in."""
    while error.__cause__ and isinstance(error.__cause__, Exception):
        error = error.__cause__
    return str(error).strip().split("\n")[0][:200] or type(error).__name__


FORMAT = Format(
    "a Hugging Face dataset, local path or hub name (extra: hf)", read, OPTIONS | {"subset", "split", "revision"}
)
