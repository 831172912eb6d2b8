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


def test_what_an_audit_says_comes_next_works_as_it_stands(metal: Metal, reference: Path) -> None:
    folder = reference / "wmt23-metrics"
    audit = metal("audit", str(folder)).said
    for verb, options, answer in (
        ("billboard", ("--layout", "wmt23"), "XCOMET-Ensemble leads the table"),
        ("leaderboard", (), "People put GPT4-5shot first on MQM"),
    ):
        words = (verb, str(folder), *options)
        assert tells(audit, f"metal {' '.join(words)}")
        assert tells(metal(*words).said, answer)


def test_files_that_differ_only_after_a_dot_do_not_share_a_run(
    metal: Metal, reference: Path
) -> None:
    for name in ("mqm_ted_zhen", "mqm_ted_zhen.avg_seg_scores"):
        done = metal("audit", str(reference / "mqm" / "layouts" / f"{name}.tsv"))
        assert tells(done.said, f"Report: runs/{name}/report.html")
