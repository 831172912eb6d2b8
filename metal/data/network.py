"""A quick check whether a host can be reached: without a network, libraries try for half a minute."""

from __future__ import annotations

import os
import socket

PATIENCE = 1.0  # seconds


def reachable(host: str) -> bool:
    """Whether `host` answers on port 443. Always true with a proxy, which cannot be asked."""
    if any(os.environ.get(name) for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")):
        return True
    try:
        socket.create_connection((host, 443), timeout=PATIENCE).close()
    except OSError:
        return False
    return True
