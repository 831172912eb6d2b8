"""Say in words whether a connection was not made or was lost, and why."""

from __future__ import annotations

import errno
import re
import socket
import ssl
from urllib.parse import urlsplit

from metal.raters.judges import call as calls
from metal.raters.judges.call import CallFailed
from metal.raters.judges.providers.failures import one_line

# Classes of errors before there is a connection. Those of httpx, made of others, are no proof of
# that.
_CONNECTING = re.compile(
    r"(aiohttp|httpcore|urllib3)\..*(ConnectError|Connect(ion)?Timeout(Error)?|NewConnectionError|ClientConnector\w*)"
)
_CLOSED = (ConnectionResetError, ssl.SSLEOFError, ssl.SSLZeroReturnError)
_UNROUTED = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN)


def connection_failure(error: BaseException, to: str = "") -> CallFailed:
    """The failure behind an error of a connection. to: the address asked, in case the error does
    not name it.

    The failure is UNREACHED if no connection was made; otherwise it is a timeout or a lost
    connection.
    """
    causes, innermost = _causes(error), error
    while innermost.__cause__:
        innermost = innermost.__cause__
    to = to or next(filter(None, map(_address, causes)), "the server")
    if why := next(filter(None, map(_unreached, causes)), ""):
        return CallFailed(calls.UNREACHED, f"{to}: {why}")
    if any(
        _CONNECTING.fullmatch(f"{type(cause).__module__}.{type(cause).__name__}")
        for cause in causes
    ):
        closed = any(isinstance(cause, _CLOSED) for cause in causes)
        silent = "the server closed the connection at once" if closed else "no connection in time"
        why = silent if closed else str(innermost) or silent
        return CallFailed(calls.UNREACHED, one_line(f"{to}: {why}"))
    kind = calls.TIMEOUT if isinstance(innermost, TimeoutError) else calls.DROPPED
    return CallFailed(kind, one_line(f"{to}: {str(innermost) or type(innermost).__name__}"))


def server(url: str) -> str:
    """Scheme, host and port of an address, without a password."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}" if parts.scheme else host


def _causes(error: BaseException) -> list[BaseException]:
    """The error and all its causes."""
    causes = [error]
    for cause in causes:  # which grows
        inner = (
            cause.exceptions
            if isinstance(cause, BaseExceptionGroup)
            else (cause.__cause__, cause.__context__)
        )
        causes += [each for each in inner if each is not None and each not in causes]
    return causes


def _unreached(cause: BaseException) -> str:
    """Why there was no connection; empty if the cause does not say."""
    # of ssl's own error, not of those that are made of it
    if distrust := getattr(cause, "verify_message", ""):
        return f"its certificate is not trusted ({distrust})"
    reason = getattr(cause, "reason", None) if isinstance(cause, ssl.SSLError) else None
    if reason and not isinstance(
        cause, ssl.SSLCertVerificationError | ssl.SSLEOFError | ssl.SSLZeroReturnError
    ):
        return (
            f"no encrypted connection ({reason.replace('_', ' ').lower()}); is it an http://"
            " address?"
        )
    if isinstance(cause, socket.gaierror):
        return "the host's name is not known (DNS)"
    if isinstance(cause, ConnectionRefusedError):
        return "connection refused: no server listens there"
    if isinstance(cause, OSError) and cause.errno in _UNROUTED:
        return "there is no route to the host"
    return ""


def _address(cause: BaseException) -> str:
    """The server that a request was sent to, if the library's error has the request."""
    try:
        request = getattr(cause, "request", None)
    except RuntimeError:  # httpx: no request was set
        return ""
    url = str(getattr(request, "url", "") or "")
    return server(url) if url else ""
