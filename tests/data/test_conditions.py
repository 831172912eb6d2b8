"""Outputs that were made from others are no generator's work: audits, boards and leaderboards are
as without them.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import metal
from metal.data.dataset import load_dataset, with_parts
from metal.data.ratings import FACTS, tidy_facts
from tests.saying import tells

DEMO = Path("datasets/demo")

LINE = ("20 outputs made", "(swapped output)", "left out")


@pytest.fixture
def probed(tmp_path: Path) -> Path:
    """The dataset with 20 changed outputs, rated like their originals but the worst."""
    dataset = load_dataset(DEMO)
    changed = {
        name: replace(output, output=f"{name}/probe", of=name, condition="swapped output")
        for name, output in list(dataset.outputs.items())[:20]
    }
    facts = dataset.ratings.loc[:, list(FACTS)].astype(
        {name: object for name in FACTS if name != "score"}
    )
    more = facts[facts["output"].isin(list(changed))].assign(score=0.0, reason="")
    more["output"] = [changed[name].output for name in more["output"]]
    both = tidy_facts(pd.concat([facts, more], ignore_index=True))
    with_parts(dataset, outputs=[*dataset.outputs.values(), *changed.values()], facts=both).save(
        tmp_path / "demo"
    )
    return tmp_path / "demo"


@pytest.mark.parametrize("command", ["audit", "billboard", "leaderboard"])
def test_they_change_no_figure(probed: Path, tmp_path: Path, command: str) -> None:
    work = getattr(metal, command)
    chosen = {"languages": ["en", "hi"], "criteria": "task_quality"}
    if command != "leaderboard":
        chosen |= {"resamples": 100}
    # a board keeps its versions in the dataset's folder
    demo = shutil.copytree(DEMO, tmp_path / "plain" / "demo")
    plain, result = work(load_dataset(demo), **chosen), work(probed, **chosen)
    assert tells(result.warnings, *LINE)
    assert not tells(plain.warnings, *LINE)
    for name, table in plain.tables.items():
        if name in ("generators", "verdicts", "judges", "people", "raters", "leaderboard"):
            drop = [column for column in table if column in ("signature",)]
            pd.testing.assert_frame_equal(
                result.tables[name].drop(columns=drop), table.drop(columns=drop)
            )


def test_what_compares_generators_leaves_them_out(probed: Path) -> None:
    compared = metal.compare(
        probed, generators=["constructed-strong", "constructed-weak"], languages="en"
    )
    assert tells(compared.warnings, *LINE)
