"""Small files of other evaluation harnesses, and what was read from them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from metal.data.dataset import Dataset


def kinds(data: Dataset) -> dict[str, str]:
    return {name: rater.kind for name, rater in data.raters.items()}


def scores(data: Dataset, rater: str) -> list[float]:
    """The rater's scores in the order of the file."""
    return data.ratings.loc[data.ratings["rater"] == rater, "score"].tolist()


def written(folder: Path, name: str, content: Any) -> Path:
    path = folder / name
    lines = [json.dumps(line) for line in content] if name.endswith(".jsonl") else []
    path.write_text("\n".join(lines) or json.dumps(content), encoding="utf-8")
    return path
