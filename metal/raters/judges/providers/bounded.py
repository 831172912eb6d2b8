"""Limits on HTTP responses, for every library: nothing from another host, and no reply above
call.MOST_BYTES.

A redirect is followed only to the same host and port, or from http to https on the same host, and
only with the same method. Any other redirect would send texts and headers elsewhere or unencrypted,
and another server would count as the judge. Streams (the files of batches) have no limit here.
"""

from __future__ import annotations

import io
from functools import partial
from typing import Any
from urllib.parse import urljoin, urlsplit

from metal.raters.judges import call as calls
from metal.raters.judges.call import CallFailed
from metal.raters.judges.models import without_secrets

HOPS = 5
PIECE = 1 << 16  # bytes


def check_redirect(
    status: int, asked: tuple[str, str], following: tuple[str, str], hops: int = 1
) -> None:
    """Raise CallFailed for a redirect that must not be followed. asked, following: (method,
    address).
    """
    (method, address), (next_method, to) = asked, following
    here, target = urlsplit(address), urlsplit(to)
    same_server = (here.scheme, here.netloc) == (target.scheme, target.netloc)
    encrypted = (here.scheme, target.scheme) == ("http", "https")
    if (
        hops
        and method == next_method
        and here.hostname == target.hostname
        and (same_server or encrypted)
    ):
        return
    landing = without_secrets(target._replace(query="", fragment="").geturl())
    message = f"{here.netloc} redirects to {landing}; give that address if it is the model's"
    raise CallFailed(calls.REDIRECTED, f"HTTP {status}: {message}", status=status)


def _add(body: bytearray, piece: bytes) -> None:
    body += piece
    calls.check_size(len(body))


def _whole(response: Any, body: bytearray) -> Any:
    """The response with its decompressed body. Headers stay bytes, because a server may send any
    bytes.
    """
    headers = [
        (name, value) for name, value in response.headers.raw if name.lower() != b"content-encoding"
    ]
    return type(response)(
        response.status_code, headers=headers, content=bytes(body), request=response.request
    )


class BoundedAsync:
    """A mixin that puts the limits on an asynchronous client of httpx or httpx2."""

    async def send(
        self, request: Any, *, stream: bool = False, hops: int = HOPS, **how: Any
    ) -> Any:
        """The response. Raises CallFailed for a redirect elsewhere and for a reply that is too
        large.
        """
        response = await super().send(request, stream=True, **how | {"follow_redirects": False})  # type: ignore[misc]
        body, following = bytearray(), response.next_request
        if stream and not following:
            return response
        try:
            if not following:
                async for piece in response.aiter_bytes():
                    _add(body, piece)
                return _whole(response, body)
        finally:
            await response.aclose()
        asked, to = (request.method, str(request.url)), (following.method, str(following.url))
        check_redirect(response.status_code, asked, to, hops)
        return await self.send(following, stream=stream, hops=hops - 1, **how)


class Bounded:
    """A mixin that puts the limits on a synchronous client of httpx or httpx2."""

    def send(self, request: Any, *, stream: bool = False, hops: int = HOPS, **how: Any) -> Any:
        """The response. Raises CallFailed for a redirect elsewhere and for a reply that is too
        large.
        """
        response = super().send(request, stream=True, **how | {"follow_redirects": False})  # type: ignore[misc]
        body, following = bytearray(), response.next_request
        if stream and not following:
            return response
        try:
            if not following:
                for piece in response.iter_bytes():
                    _add(body, piece)
                return _whole(response, body)
        finally:
            response.close()
        asked, to = (request.method, str(request.url)), (following.method, str(following.url))
        check_redirect(response.status_code, asked, to, hops)
        return self.send(following, stream=stream, hops=hops - 1, **how)


def bound(session: Any) -> None:
    """Put the same limits on a session of the package requests."""
    session.hooks["response"].append(partial(_look, session))
    session.max_redirects = HOPS


def _look(session: Any, response: Any, *, stream: bool = False, **_: Any) -> None:
    """Raise CallFailed for a redirect elsewhere and for a reply that is too large."""
    method = response.request.method
    try:
        if location := session.get_redirect_target(response):
            next_method = "GET" if response.status_code in (301, 302, 303) else method
            following = next_method, urljoin(response.url, location)
            check_redirect(response.status_code, (method, response.url), following)
        elif not stream:
            body = bytearray()
            for piece in response.raw.stream(PIECE, decode_content=True):
                _add(body, piece)
            response.raw = io.BytesIO(body)
    except CallFailed:
        response.close()
        raise
