"""Slow connections: an upload that makes progress arrives, however long it takes; others are cut.

The test decides when a connection is looked at, so that nothing depends on how fast anything is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from uvicorn import Config
from uvicorn.server import ServerState

from metal.serving import slow
from metal.serving.slow import PunctualConnection

SIZE = 50_000_000
LOOK = 500_000 * int(slow.SLOWEST)  # bytes from one look to the next, at 500 kB/s
HEAD = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % SIZE


class Line(asyncio.Transport):
    """The server's end of a connection. sent: what the server wrote; cut: whether it hung up."""

    def __init__(self) -> None:
        super().__init__()
        self.sent, self.cut, self.closed = b"", False, False

    def write(self, data: Any) -> None:
        self.sent += bytes(data)

    def abort(self) -> None:
        self.cut = True

    def is_closing(self) -> bool:
        return self.cut or self.closed

    def close(self) -> None:
        self.closed = True

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


async def count(request: Request) -> PlainTextResponse:
    """Read a body, as uploads are read: piece by piece."""
    size = 0
    async for piece in request.stream():
        size += len(piece)
    return PlainTextResponse(f"{size} bytes arrived")


async def refuse(request: Request) -> PlainTextResponse:
    """Answer without reading the body."""
    return PlainTextResponse("too large", 413)


async def wait(request: Request) -> PlainTextResponse:
    """Read nothing for the time being, as a server that is busy."""
    await asyncio.Event().wait()
    return PlainTextResponse("never")


Story = Callable[[PunctualConnection, Line], Awaitable[None]]


def connected(story: Story, page: Any = count) -> Line:
    """Let a client do something on a new connection, whose looks the story makes."""
    line = Line()

    async def begin() -> None:
        config = Config(Starlette(routes=[Route("/", page, methods=["POST"])]), lifespan="off")
        config.load()
        connection = PunctualConnection(config, ServerState(), {})
        connection.connection_made(line)
        await story(connection, line)
        connection.connection_lost(None)

    asyncio.run(begin())
    return line


async def bring(connection: PunctualConnection, size: int, piece: int = 2**16) -> None:
    """Send so many bytes of a body, while the server reads."""
    for start in range(0, size, piece):
        connection.data_received(b"x" * min(piece, size - start))
        await asyncio.sleep(0)
        await asyncio.sleep(0)


def test_a_steady_upload_arrives_although_it_takes_minutes() -> None:
    async def story(connection: PunctualConnection, line: Line) -> None:
        connection.data_received(HEAD)
        for start in range(0, SIZE, LOOK):
            await bring(connection, min(LOOK, SIZE - start))
            connection.look()
        for _ in range(20):
            await asyncio.sleep(0)

    line = connected(story)
    assert not line.cut
    assert line.sent.endswith(f"{SIZE} bytes arrived".encode())


@pytest.mark.parametrize("bytes_in_a_look", [0, 1, slow.STEADY * int(slow.SLOWEST) - 1])
def test_a_body_that_trickles_is_cut_at_the_second_look(bytes_in_a_look: int) -> None:
    async def story(connection: PunctualConnection, line: Line) -> None:
        connection.data_received(HEAD)
        await bring(connection, bytes_in_a_look)
        connection.look()
        assert not line.cut
        await bring(connection, bytes_in_a_look)
        connection.look()

    assert connected(story).cut


def test_an_upload_that_stops_is_cut() -> None:
    async def story(connection: PunctualConnection, line: Line) -> None:
        connection.data_received(HEAD)
        for _ in range(2):
            await bring(connection, LOOK)
            connection.look()
        assert not line.cut
        connection.look()

    assert connected(story).cut


@pytest.mark.parametrize("head", [b"", b"POST / HTTP/1.1\r\nHost: x\r\n"])
def test_a_head_that_does_not_end_is_cut_however_fast_it_comes(head: bytes) -> None:
    async def story(connection: PunctualConnection, line: Line) -> None:
        if head:
            connection.data_received(head)
        connection.look()

    assert connected(story).cut


def test_who_goes_on_after_a_refusal_is_cut() -> None:
    async def story(connection: PunctualConnection, line: Line) -> None:
        connection.data_received(HEAD)
        await bring(connection, LOOK)
        connection.look()
        assert not line.cut  # the answer may be on its way
        await bring(connection, LOOK)
        connection.look()

    line = connected(story, refuse)
    assert b" 413 " in line.sent.splitlines()[0]
    assert line.cut


def test_who_waits_for_a_busy_server_is_not_cut() -> None:
    async def story(connection: PunctualConnection, line: Line) -> None:
        connection.data_received(HEAD)
        await bring(connection, 2**17)  # as much as the server takes before it reads
        for _ in range(4):
            connection.look()

    assert not connected(story, wait).cut
