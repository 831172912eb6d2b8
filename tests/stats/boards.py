"""The two released boards joined with their human scores, for tests against the published figures."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

BOARDS = ("cnndm", "wmt20-zh-en")


@dataclass(frozen=True)
class ReleasedBoard:
    """One row an output that people scored. target: what the ensemble was fitted to."""

    scores: pd.DataFrame  # (rows, metrics), `ensemble` among them
    human: np.ndarray
    target: np.ndarray
    generator: np.ndarray
    source: np.ndarray

    @property
    def metrics(self) -> list[str]:
        """What the ensemble chooses from."""
        return [name for name in self.scores.columns if name != "ensemble"]


def read_board(reference: Path, name: str) -> ReleasedBoard:
    """MQM counts segments from 1 and the board from 0."""
    if name == "cnndm":
        lines = (reference / "thumb/cnndm_THumB-1.0.jsonl").read_text(encoding="utf-8").splitlines()
        people = pd.DataFrame([json.loads(line) for line in lines])[["SYS", "set_id", "human_score"]]
    else:
        people = pd.read_csv(reference / "mqm/mqm_newstest2020_zhen.avg_seg_scores.tsv", sep=" ")
        people = people.rename(columns={"system": "SYS", "mqm_avg_score": "human_score"})
        people["set_id"] = people["seg_id"] - 1
    scored = set(people["SYS"])
    files = sorted((reference / "billboard/results" / name).glob("*.csv"))
    rows = pd.concat([pd.read_csv(file) for file in files if file.name.split("||")[0] in scored])
    wide = rows.pivot(index=["SYS", "set_id"], columns="metric", values="score").reset_index()
    joined = wide.merge(people[["SYS", "set_id", "human_score"]], on=["SYS", "set_id"])
    human = joined["human_score"].to_numpy(dtype=np.float64)
    return ReleasedBoard(
        joined.drop(columns=["SYS", "set_id", "human_score"]),
        human,
        20 * human if name == "cnndm" else 100 + 4 * human,
        joined["SYS"].to_numpy(dtype=str),
        joined["set_id"].to_numpy(),
    )


def read_oracle(reference: Path, name: str) -> dict[str, Any]:
    return json.loads((reference / "oracle/billboard.json").read_text(encoding="utf-8"))[name]
