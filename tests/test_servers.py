"""What tests with a server rely on: a mistake of the test is no failing service, and what is paid
twice is seen.
"""

from __future__ import annotations

import urllib.request
from urllib.error import HTTPError

import pytest

from tests.batch_jobs import BatchService
from tests.llm_server import Fault, LlmServer

PATH = "/v1/chat/completions"


def test_mistakes_of_the_test_are_raised() -> None:
    with pytest.raises(ValueError, match="unknown fault kind"):
        Fault("typo")
    with pytest.raises(ZeroDivisionError), LlmServer() as server:  # noqa: PT012
        server.answer = lambda prompt, body: str(1 / 0)
        with pytest.raises(HTTPError, match="500"):
            urllib.request.urlopen(server.url + PATH, b'{"model": "m", "messages": []}')


def test_what_is_paid_twice_is_seen() -> None:
    with LlmServer() as server:
        service = BatchService(server.line_reply)
        keyed = [(f"key-{number}", {"model": "m", "messages": []}) for number in range(3)]
        service.wait = 10.0
        service.submit(PATH, keyed[:2])
        service.submit(PATH, keyed[1:])
        assert service.overlapping == {"key-1"}
        service.ahead += 10.0
        stats = service.stats()
        assert (stats["answered"], stats["answered_twice"], stats["overlapping"]) == (4, 1, 1)
