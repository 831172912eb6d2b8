"""Ray writes to the terminal from many places, some of them below Python; during a run only METAL may."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


def before_import() -> None:
    """Set what Ray reads when it is imported: no statistics, no lines of other processes, no automatic cluster.

    Otherwise a pipeline that still works when the run leaves the cluster would start another one.
    """
    os.environ.setdefault("RAY_ENABLE_AUTO_CONNECT", "0")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")


def after_import() -> None:
    """Keep Ray's and Ray Data's messages in their log files."""
    for name in ("ray", "ray.data"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


@contextmanager
def only_ours() -> Iterator[None]:
    """Drop what is written to standard error below Python, or by Ray's warnings; sys.stderr keeps working."""
    shown = sys.stderr
    kept = os.dup(2)
    try:
        is_stderr = shown.fileno() == 2
    except (AttributeError, OSError, ValueError):
        is_stderr = False
    if is_stderr:
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
