"""What tests of judges share: keys that are nobody's, and a server that answers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli.runs import KEY
from tests.llm_server import LlmServer


@pytest.fixture
def openai_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key for OpenAI's and Azure's services, and no address of whoever runs the tests."""
    for name in ("OPENAI_API_KEY", "AZURE_OPENAI_API_KEY"):
        monkeypatch.setenv(name, KEY)
    own = (
        "OPENAI_COMPATIBLE_API_KEY",
        "OPENAI_COMPATIBLE_BASE_URL",
        "OPENAI_API_VERSION",
        "AZURE_OPENAI_ENDPOINT",
    )
    for name in ("OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", *own):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def llm_server() -> Iterator[LlmServer]:
    with LlmServer() as server:
        yield server
