"""Whether a host can be reached is found out with one short look, or none."""

from __future__ import annotations

import socket

import pytest

from metal.data.network import PATIENCE, reachable

PROXIES = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")


class Looks:
    """Stands for socket.create_connection: what it was asked for, and how it answers."""

    def __init__(self, error: OSError | None = None) -> None:
        self.asked: list[tuple[tuple[str, int], float]] = []
        self.closed = 0
        self.error = error

    def __call__(self, address: tuple[str, int], timeout: float) -> Looks:
        self.asked.append((address, timeout))
        if self.error:
            raise self.error
        return self

    def close(self) -> None:
        self.closed += 1


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)


def test_a_host_that_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = Looks()
    monkeypatch.setattr(socket, "create_connection", looks)
    assert reachable("example.org")
    assert looks.asked == [(("example.org", 443), PATIENCE)]
    assert looks.closed == 1


@pytest.mark.parametrize("error", [TimeoutError(), ConnectionRefusedError(), socket.gaierror(-3, "no name server")])
def test_a_host_that_does_not(monkeypatch: pytest.MonkeyPatch, error: OSError) -> None:
    monkeypatch.setattr(socket, "create_connection", Looks(error))
    assert not reachable("example.org")


@pytest.mark.parametrize("name", PROXIES)
def test_behind_a_proxy_nobody_looks(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    looks = Looks(OSError())
    monkeypatch.setattr(socket, "create_connection", looks)
    monkeypatch.setenv(name, "http://proxy:3128")
    assert reachable("example.org")
    assert looks.asked == []
