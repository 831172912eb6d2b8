"""The services that tests ask, each started once."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.services.label_studio import LabelStudio, label_studio


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabelStudio]:
    """Label Studio at work, which METAL_LABEL_STUDIO names."""
    executable = os.environ.get("METAL_LABEL_STUDIO")
    if not executable:
        pytest.skip("METAL_LABEL_STUDIO does not name a label-studio executable")
    with label_studio(executable, tmp_path_factory.mktemp("label-studio")) as started:
        yield started
