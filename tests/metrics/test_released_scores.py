"""The scores that Billboard released for its CNNDM board, ten references a text, come out again."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from metal.raters.metrics import Item, find_metric, score_all

GENERATOR, TEXTS = "BART", 25


@pytest.mark.reference
@pytest.mark.parametrize(
    ("name", "released"),
    [("bleu", "SentBLEU"), ("chrf", "chrF"), ("chrf++", "chrFpp"), ("rouge-3", "ROUGE-3"), ("rouge-l", "ROUGE-L")],
)
def test_as_released(name: str, released: str, reference: Path) -> None:
    references = {line["set_id"]: tuple(line["refs"]) for line in lines(reference / "thumb/cnndm_references.jsonl")}
    outputs = {
        line["set_id"]: line["hyp"]
        for line in lines(reference / "thumb/cnndm_THumB-1.0.jsonl")
        if line["SYS"] == GENERATOR
    }
    with (reference / f"billboard/results/cnndm/{GENERATOR}||{released}.csv").open(
        encoding="utf-8", newline=""
    ) as file:
        theirs = {int(row["set_id"]): float(row["score"]) for row in csv.DictReader(file)}
    # Their ROUGE drops letters with accents; ours keeps them.
    plain = [item for item in outputs if "".join((outputs[item], *references[item])).isascii()][:TEXTS]
    assert len(plain) == TEXTS
    items = [Item(outputs[item], references[item], "", "en") for item in plain]
    assert score_all(find_metric(name), items) == pytest.approx([theirs[item] for item in plain])


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
