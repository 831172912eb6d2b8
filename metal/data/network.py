"""Whether a host can be reached, found out quickly: libraries that are offline try for half a minute."""

from __future__ import annotations

import os
import socket

PATIENCE = 1.0  # seconds


def reachable(host: str) -> bool:
    """Whether `host` answers on port 443. True without a look where a proxy is set, which we cannot ask."""
    if any(os.environ.get(name) for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")):
        return True
    try:
        socket.create_connection((host, 443), timeout=PATIENCE).close()
    except OSError:
        return False
    return True
