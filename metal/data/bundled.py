"""The folders prompts/ and datasets/demo: at the top of a checkout, or inside an installed package."""

from __future__ import annotations

from pathlib import Path

from metal.errors import UsageError

_PACKAGE = Path(__file__).resolve().parents[1]


def bundled(name: str) -> Path:
    """The folder `prompts` or `datasets/demo`. Raises UsageError when the installation lacks it."""
    for folder in (_PACKAGE.parent / name, _PACKAGE / "_bundled" / name):
        if folder.is_dir() and (folder.parts[-2:] != ("site-packages", name)):
            return folder
    raise UsageError(f"the folder {name!r} is missing from this installation of METAL; install metal-eval again")
