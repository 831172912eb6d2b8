"""The manifest that every run folder has: everything needed to repeat the run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from metal import __version__
from metal.data.dataset import Dataset
from metal.data.dataset_lines import criterion_record
from metal.data.records import Manifest

LIBRARIES = ("numpy", "pandas", "pyarrow", "scipy", "krippendorff")


def manifest(
    command: str,
    dataset: Dataset,
    paths: Iterable[Path],
    settings: Mapping[str, Any],
    raters: Iterable[str] = (),
    signature: str = "",
) -> Manifest:
    """The manifest of a run over a dataset and the run folders added to it."""
    first, *more = [str(path) for path in paths]
    described = {"path": first, "identity": dataset.identity, "digest": dataset.digest, "more": more}
    described |= {key: value for key, value in vars(dataset.card).items() if value}
    criteria = {name: criterion_record(criterion) for name, criterion in dataset.criteria.items()}
    return Manifest(command, __version__, (described,), settings, _versions(), tuple(raters), signature, criteria)


def _versions() -> dict[str, str]:
    versions = {}
    for name in LIBRARIES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions
