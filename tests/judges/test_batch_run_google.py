"""Whole runs through Google's batch services: Gemini by key, Gemini on Vertex AI, a model deployed there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import certifi
import pytest

from metal.raters.judges.models import BatchSettings, Model, find_model, with_settings
from tests.batch_jobs import EXPIRED, Behaviour, drawn
from tests.google_batch_server import ROUGH, GoogleBatchServer
from tests.judges.test_batch_run import session
from tests.judges.test_runner import a_plan
from tests.judges.test_runner import session as local_session

pytestmark = [pytest.mark.filterwarnings(f"ignore::{kind}") for kind in ("DeprecationWarning", "FutureWarning")]
NAMES = ("gemini:gemini-2.5-flash", "vertex:gemini-2.5-flash", "vertex-endpoint:123")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[GoogleBatchServer]:
    # The package reads all certificates for each client, which takes most of a test's time.
    certificates = tmp_path / "one.pem"
    end = "-----END CERTIFICATE-----\n"
    certificates.write_text(Path(certifi.where()).read_text().partition(end)[0] + end)
    with GoogleBatchServer() as server:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificates))
        monkeypatch.setenv("GEMINI_API_KEY", "secret-key-of-gemini")
        monkeypatch.setenv("VERTEX_TOKEN", "secret-token-of-vertex")
        monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "p1")
        monkeypatch.delenv("GOOGLE_CLOUD_LOCATION", raising=False)
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", server.url)
        yield server


def a_model(name: str, server: GoogleBatchServer) -> Model:
    own = {"api_key_env": "VERTEX_TOKEN"} if name.startswith("vertex") else {}
    model = with_settings(find_model(name, {}), timeout=5.0, base_url=server.url, **own)
    return replace(model, batch=BatchSettings(requests=12, poll=0.01, settle=0.05, bucket="gs://ours/judging"))


@pytest.mark.parametrize("name", NAMES)
def test_rough_batches_come_to_what_is_asked_directly(name: str, server: GoogleBatchServer, tmp_path: Path) -> None:
    server.service.behaviour = drawn(5, *ROUGH, attempts=2)
    plan = a_plan(a_model(name, server), count=40)
    outcome = session(plan, tmp_path)
    assert outcome.stopped == [""]
    assert not server.service.overlapping
    twice = {key for key, times in server.service.answers.items() if times > 1}
    if name.startswith("gemini"):  # it keeps what a batch that expires has answered
        twice -= {key for job in server.service.jobs if job.state == EXPIRED for key, _ in job.requests}
    assert not twice
    server.service.behaviour = lambda job: Behaviour()
    (tmp_path / "local").mkdir()
    assert outcome.ratings == local_session(plan, tmp_path / "local").ratings
    assert outcome.reasons == {"verdict": 40}
