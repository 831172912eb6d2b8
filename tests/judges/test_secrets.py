"""Keys that a provider echoes: in whatever letters, they are in nothing that is written."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest

from metal.raters.judges.call import Reply
from metal.raters.judges.secrets import HIDDEN, Secrets, known_keys

KEYS = ("abc/defg+hijk123", "s3cr", "sk-canary-key-0123456789")


def echoes(key: str) -> list[str]:
    codes = "".join(f"\\u{ord(letter):04x}" for letter in key)
    alone = [base64.b64encode(key.encode()), base64.urlsafe_b64encode(key.encode())]
    within = [
        base64.b64encode(f"{before}{key}{after}".encode())
        for before in ("", "a:", "ab:")
        for after in ("", "!")
    ]
    return [
        key,
        key.replace("/", r"\/").replace("+", r"\u002B"),
        codes,
        codes.upper().replace("U", "u"),
        codes.replace("\\", "\\\\"),  # JSON in JSON
        quote(key, safe=""),
        *(text.decode() for text in (*alone, *(within if len(key) >= 8 else ()))),
    ]


@pytest.mark.parametrize("key", KEYS)
def test_an_echo_is_hidden_however_it_is_written(key: str) -> None:
    for echo in echoes(key):
        hidden = Secrets([key]).hidden(f'{{"error": "you sent {echo}."}}'.encode())
        assert HIDDEN in hidden, echo
        assert key.encode() not in hidden


def test_a_short_key_is_hidden_as_a_word() -> None:
    secrets = Secrets(["s3cr", "abc", "true"])
    assert secrets.hidden(b"s3cret as3cr abc true") == b"s3cret as3cr abc true"
    assert secrets.hidden(rb"said\ns3cr.") == rb"said\n[key hidden]."


def test_what_is_hidden_leaves_a_journal_that_can_be_read() -> None:
    reply = Secrets(["12345"]).without(Reply("12345 it is", raw=b'{"created": 12345}'))
    assert (reply.text, json.loads(reply.raw)) == (
        "[key hidden] it is",
        '{"created": [key hidden]}',
    )


def test_api_keys_may_be_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "s3cr")
    monkeypatch.setenv("SOME_KEY", "yes")
    assert "s3cr" in known_keys()
    assert "yes" not in known_keys()
