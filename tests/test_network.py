"""Whether a host can be reached is found out with one short check, or none."""

from __future__ import annotations

import io
import socket
from typing import Any

import pytest

from metal.data.tokens import PATIENCE, reachable

PROXIES = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")


@pytest.mark.parametrize("answer", ["yes", "no", *PROXIES])
def test_a_host_is_asked_once_and_never_behind_a_proxy(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    asked: list[Any] = []
    connection = io.BytesIO()

    def connect(address: tuple[str, int], timeout: float) -> io.BytesIO:
        asked.append((address, timeout))
        if answer != "yes":
            raise socket.gaierror(-3, "no name server")
        return connection

    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
    if answer in PROXIES:
        monkeypatch.setenv(answer, "http://proxy:3128")
    monkeypatch.setattr(socket, "create_connection", connect)
    assert reachable("example.org") == (answer != "no")
    assert asked == ([] if answer in PROXIES else [(("example.org", 443), PATIENCE)])
    assert connection.closed == (answer == "yes")
