"""The released boards from the command line: what is said, and what it says when it cannot be done."""

from __future__ import annotations

from pathlib import Path

import pytest

from metal.data.dataset import load_dataset
from tests.cli.test_commands import metal, words


def release(folder: Path, board: str = "wmt20-zh-en") -> Path:
    results = folder / "release" / "results" / board
    results.mkdir(parents=True)
    rows = "".join(f"mt,doc::{place + 1},{place},BLEURT,{place}.5\n" for place in range(3))
    (results / "mt||BLEURT.csv").write_text("SYS,seg_id,set_id,metric,score\n" + rows)
    return results


def test_metrics_and_experts_meet(tmp_path: Path) -> None:
    release(tmp_path)
    rows = [f"{system} -{place} {place}" for system in ("mt", "Human-A") for place in (1, 2, 3)]
    (tmp_path / "mqm.tsv").write_text("\n".join(["system mqm_avg_score seg_id", *rows]) + "\n")
    listed = metal("import", "--list", cwd=tmp_path).out
    assert "billboard      Billboard's released scores" in listed
    assert "mqm            MQM scores" in listed
    assert max(map(len, listed.splitlines())) <= 100
    metal("import", "billboard", "release/results/wmt20-zh-en", "--out", "board", cwd=tmp_path)
    done = words(metal("import", "mqm", "mqm.tsv", "--into", "board", cwd=tmp_path).out)
    assert "3 sources met by their place among the zh-en sources of wmt20-zh-en, counting from 1" in done
    assert "3 outputs met on source and generator; 3 ratings added" in done
    assert "3 incoming outputs met nothing and were left out: 1/Human-A" in done
    table = load_dataset(tmp_path / "board").ratings
    lost = ["3 outputs that people rated in mqm-zh-en are not here, of Human-A (3)"]
    assert load_dataset(tmp_path / "board").extra["left_out"] == lost
    assert lost[0] in words(metal("billboard", "board", "-v", cwd=tmp_path).out)
    mqm = table[table["rater"] == "MQM"].set_index("source")["score"]
    assert mqm.to_dict() == {"doc::1": -1, "doc::2": -2, "doc::3": -3}
    metal("import", "mqm", "mqm.tsv", "--out", "mqm", cwd=tmp_path)
    alone = load_dataset(tmp_path / "mqm")
    assert list(alone.sources) == ["1", "2", "3"]
    assert alone.extra == {"generators": {"Human-A": {"kind": "human"}}}  # dataset.toml keeps it
    done = metal("import", "mqm", "mqm.tsv", "--only", "llm", "--out", "none", cwd=tmp_path, expect=2)
    assert "--only llm: no such raters there, only 1 human" in done.err


def test_a_board_without_a_language(tmp_path: Path) -> None:
    results = release(tmp_path, "xsum")
    done = metal("import", "billboard", results, "--out", "board", cwd=tmp_path, expect=2)
    assert "board xsum: its name says no language; give it with --language" in done.err
    assert not (tmp_path / "board").exists()
    metal("import", "billboard", results, "--language", "tr", "--only", "metric,human", "--out", "board", cwd=tmp_path)
    assert load_dataset(tmp_path / "board").languages == ("tr",)


@pytest.mark.reference
def test_judges_join_the_released_board_without_the_experts_a_second_time(reference: Path, tmp_path: Path) -> None:
    systems = reference / "oracle" / "summeval_system_map.json"
    metal("import", "billboard", reference / "billboard/results/cnndm", "--out", "cnndm", cwd=tmp_path)
    metal("import", "thumb", reference / "thumb", "--into", "cnndm", cwd=tmp_path)
    judges = ["alttest", reference / "alttest/summeval", "--only", "llm", "--into", "cnndm"]
    done = words(metal("import", *judges, "--map-generators", systems, cwd=tmp_path).out)
    assert "raters: 16 metric, 8 human, 6 llm" in done
    assert "--only llm left out 3 human raters and their 19,200 ratings" in done
    assert "BanditSum and NEUSUM the same score on all 100 sources" in done
    dataset = load_dataset(tmp_path / "cnndm")
    assert dataset.extra["generators"]["Human-H"] == {"kind": "human"}
    assert dataset.raters["TER"].about == {"direction": "lower", "negated": True}
