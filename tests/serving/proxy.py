"""A reverse proxy in front of a server: it shows the server under a path, which it removes."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

OWN = ("connection", "keep-alive", "transfer-encoding", "date", "server", "content-length")


class Proxy:
    """A proxy at work. strayed: what was asked for outside of its path."""

    def __init__(self, prefix: str, port: int) -> None:
        self.prefix, self.port = prefix, port
        self.strayed: list[str] = []
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                proxy.forward(self)

            do_GET = do_HEAD = do_POST = answer

            def log_message(self, *args: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.origin = f"http://127.0.0.1:{self.server.server_port}"

    def forward(self, handler: BaseHTTPRequestHandler) -> None:
        """Ask the server, and pass on what it says. Nothing is below another path."""
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        if not handler.path.startswith(f"{self.prefix}/"):
            self.strayed.append(f"{handler.command} {handler.path}")
            handler.send_error(404)
            return
        headers = {
            name: value for name, value in handler.headers.items() if name.lower() not in OWN
        }
        headers |= {"X-Forwarded-For": handler.client_address[0], "X-Forwarded-Proto": "http"}
        asked = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        below = handler.path.removeprefix(self.prefix)
        asked.request(handler.command, below, body or None, headers)
        reply = asked.getresponse()
        content = reply.read()
        asked.close()
        handler.send_response(reply.status)
        for name, value in reply.getheaders():
            if name.lower() not in OWN:
                handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)


@contextmanager
def proxy_of(prefix: str, port: int) -> Iterator[Proxy]:
    """A proxy that shows the server at a port of this machine under a path."""
    proxy = Proxy(prefix, port)
    thread = threading.Thread(target=proxy.server.serve_forever, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.server.shutdown()
        proxy.server.server_close()
        thread.join()
