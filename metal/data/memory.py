"""Memory that nobody needs any more goes back to the system, as far as the C library lets it."""

from __future__ import annotations

import ctypes
import gc
from contextlib import suppress

_MMAP_THRESHOLD = -3  # a parameter of glibc's mallopt
LARGE = 2**17  # bytes of a block that is given back as soon as it is free; glibc would raise it


def keep_little() -> None:
    """Have this process give back each large block of memory as soon as it is free."""
    with _if_it_can():
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, LARGE)


def give_back() -> None:
    """Give back what is free now, after something large was read or forgotten."""
    gc.collect()  # a run refers to itself, and may hold 200 MB
    with _if_it_can():
        ctypes.CDLL(None).malloc_trim(0)


def _if_it_can() -> suppress:
    """Other systems have neither function, or no such library."""
    return suppress(OSError, AttributeError, TypeError)
