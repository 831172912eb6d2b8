"""Ray talks to the terminal from many places, some below Python; while a run lasts, only METAL does."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


def before_import() -> None:
    """What Ray reads when it is imported: no statistics, no lines of other processes, no cluster begun unasked.

    A pipeline that is still at work when the run leaves the cluster would else start another one.
    """
    os.environ.setdefault("RAY_ENABLE_AUTO_CONNECT", "0")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")


def after_import() -> None:
    """Ray's and Ray Data's own words stay in their log files."""
    for name in ("ray", "ray.data"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


@contextmanager
def only_ours() -> Iterator[None]:
    """What is written to standard error below Python, or by Ray's warnings, is dropped; sys.stderr goes on as it is."""
    shown = sys.stderr
    kept = os.dup(2)
    if _is_second(shown):
        sys.stderr = os.fdopen(os.dup(2), "w", encoding=shown.encoding, errors=shown.errors, buffering=1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="ray")
            yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        if sys.stderr is not shown:
            ours, sys.stderr = sys.stderr, shown
            ours.close()


def _is_second(stream: object) -> bool:
    try:
        return bool(stream.fileno() == 2)  # type: ignore[attr-defined]
    except (AttributeError, OSError, ValueError):
        return False
