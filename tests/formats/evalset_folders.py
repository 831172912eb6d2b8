"""A small EvalSet folder, written for tests."""

from __future__ import annotations

import json
from pathlib import Path

SYSTEMS = ("A", "B", "refA")


def write(folder: Path, files: dict[str, str]) -> Path:
    """A folder with these files."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def lines(*texts: object) -> str:
    return "".join(f"{text}\n" for text in texts)


def blocks(**scores: list[object]) -> str:
    """A score file: a system's scores one after the other."""
    return lines(*(f"{name}\t{score}" for name, each in scores.items() for score in each))


def errors(*weights: float | None) -> str:
    """A rating, with an error of each weight."""
    marked = [
        {"start": 0, "end": 1, "category": "style", "severity": "minor", "score": weight}
        for weight in weights
    ]
    return json.dumps({"errors": marked})


def test_set(folder: Path, **more: str) -> Path:
    """Two segments of one document, three systems of which refA is a reference. more: further
    files, by their names with __ for / and _DOT_ for a dot.
    """
    files = {
        "documents/en-de.docs": lines("news\taj.1", "news\taj.1"),
        "sources/en-de.txt": lines("one", "two"),
        "references/en-de.refA.txt": lines("eins", "zwei"),
        "references/en-de.refB.txt": lines("Eins", "Zwei"),
        **{f"system-outputs/en-de/{name}.txt": lines(f"1{name}", f"2{name}") for name in SYSTEMS},
        "human-scores/en-de.mqm.seg.score": blocks(A=[-1.0, "None"], B=[-5.1, -0.0]),
        "human-scores/en-de.mqm.sys.score": blocks(A=[-1.0], B=[-2.55]),
        "metric-scores/en-de/BLEU-refA.seg.score": blocks(A=[10, 20], B=[30, 40]),
        "metric-scores/en-de/BLEU-refA.sys.score": blocks(A=[14.5], B=[36]),
        "metric-scores/en-de/Kiwi-src.seg.score": blocks(A=[0.1, 0.2], B=[0.3, 0.4], refA=[1, 1]),
    }
    return write(folder, files | more)
