"""A user at WMT: one command from the folder of the metrics task to an audit, and to a board."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.forks import Metal
from tests.saying import tells

pytestmark = [pytest.mark.reference, pytest.mark.slow]


def test_the_folder_is_audited_in_one_command(metal: Metal, reference: Path) -> None:
    done = metal("audit", str(reference / "wmt23-metrics"))
    assert tells(done.err, "format evalset")
    assert tells(done.out, "People agree least", "MQM in Chinese to English")


def test_the_folder_gives_a_board_in_one_command(metal: Metal, reference: Path) -> None:
    out = metal("billboard", str(reference / "wmt23-metrics"), "--permutations", "100").said
    assert tells(out, "agrees best with people on MQM, all languages together")
    assert tells(out, "XCOMET-QE-Ensemble[noref]", "metric")
    assert not tells(out, "of several groups")
