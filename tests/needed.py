"""Programs that some tests need: where they must be there, tests fail without them; elsewhere, they
are skipped with the reason.
"""

from __future__ import annotations

import os

import pytest

NEEDED = "METAL_TESTS_NEED"  # programs that .ci/run has installed, with spaces between them


def found_or_not(path: str | None, program: str, message: str) -> str:
    """Where a program is. Without one, the test is skipped with the message; in CI, and where
    .ci/run has installed the program, it fails.
    """
    required = bool(os.environ.get("CI")) or program in os.environ.get(NEEDED, "").split()
    if not path and required:
        pytest.fail(message)
    return path or pytest.skip(message)
