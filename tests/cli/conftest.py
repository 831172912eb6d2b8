"""Commands that ask models, against a local server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.forks import Metal, environment, starter
from tests.cli.runs import KEY
from tests.llm_server import LlmServer


@pytest.fixture(scope="session")
def processes() -> Iterator[Metal]:
    with starter() as metal:
        yield metal


@pytest.fixture
def llm_server() -> Iterator[LlmServer]:
    """Answers as the schema asks for; a module may have its own."""
    with LlmServer() as server:
        yield server


@pytest.fixture
def metal(processes: Metal, llm_server: LlmServer, tmp_path: Path) -> Metal:
    env = environment(tmp_path, OPENAI_BASE_URL=llm_server.openai_url, OPENAI_API_KEY=KEY)
    return processes.at(tmp_path, env)
