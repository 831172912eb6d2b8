"""Tests that need a program are skipped where it is missing, and fail in .ci/run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.needed import NEEDED
from tests.serving import postgres

RUN = Path(__file__).parents[1] / ".ci" / "run"


@pytest.mark.parametrize(
    ("variable", "value", "outcome"),
    [
        ("CI", "true", pytest.fail.Exception),
        (NEEDED, "chromium postgresql", pytest.fail.Exception),
        (NEEDED, "chromium", pytest.skip.Exception),
        (NEEDED, "", pytest.skip.Exception),
    ],
)
def test_without_postgresql(
    variable: str, value: str, outcome: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CI", NEEDED):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, value)
    with pytest.raises(outcome, match="no PostgreSQL found: no-such-program"):
        postgres.program("no-such-program")


def test_ci_lets_tests_fail_without_what_it_installs(tmp_path: Path) -> None:
    for name, does in {
        "make": f'echo "$1: ${NEEDED}"',
        "apt-get": "true",
        "chromium": "true",
    }.items():
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n{does}\n")
        program.chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if name not in ("CI", NEEDED)}
    environment["PATH"] = f"{tmp_path}{os.pathsep}{environment['PATH']}"
    ran = subprocess.run([RUN], env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout == "test-all: chromium postgresql\n"
