from __future__ import annotations

from dataclasses import dataclass

from metal.dataset import Dataset


@dataclass(frozen=True)
class Warning:
    code: str
    message: str


def lint(dataset: Dataset) -> list[Warning]:
    return []
