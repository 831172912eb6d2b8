"""What a page carries for its script: as much as fits, without packing everything to find out."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from metal.questions.audit import disagreements
from metal.questions.audit.run import AuditRun
from metal.show import pages
from metal.show.pages import fitting

ROOM = 120_000


@pytest.fixture(scope="module")
def many(demo_run: Path) -> AuditRun:
    """An audit with 20,000 disagreements, each with a text of its own."""
    run = AuditRun.read(demo_run)
    table = run.disagreement_table
    table = table.take(pa.array(np.arange(20_000) % len(table)))
    for column in ("output", "output_text"):
        texts = pa.array([f"{column} {number}" for number in range(len(table))])
        table = table.set_column(table.schema.get_field_index(column), column, texts)
    return replace(run, disagreement_table=table)


def unpacked(blob: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(blob), -15))
    return data


def test_a_page_is_filled_without_packing_all(
    many: AuditRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    worked_on: list[int] = []
    build = disagreements._payload

    def counted(run: AuditRun, table: pa.Table) -> dict[str, Any]:
        worked_on.append(len(table))
        return build(run, table)

    monkeypatch.setattr(disagreements, "_payload", counted)
    payload = disagreements.pack(many, {}, ROOM)
    items = unpacked(payload.blob)["items"]
    assert len(items) + payload.left_out == 20_000
    assert payload.left_out > 5_000
    assert 0.9 * ROOM < len(payload.blob) <= ROOM
    assert sum(worked_on) <= 3 * len(items)


def test_the_page_has_each_output_as_it_is(many: AuditRun) -> None:
    data = unpacked(disagreements.pack(many, {}, ROOM).blob)
    rows = {row["output"]: row for row in many.disagreement_table.to_pylist()}
    for item in (data["items"][0], data["items"][-1]):
        row = rows[item["o"]]
        assert data["texts"][item["y"]] == row["output_text"]
        assert data["texts"][item["x"]] == row["source_text"]
        assert [rating[1] for rating in item["q"]] == [each["score"] for each in row["ratings"]]
        comments = [data["texts"][rating[4]] for rating in item["q"]]
        assert comments == [each["comment"] for each in row["ratings"]]
        named = [data["raters"][rating[0]][0] for rating in item["q"]]
        assert named == [each["rater"] for each in row["ratings"]]


@pytest.mark.parametrize("rows", [0, 1])
def test_few_disagreements_are_all_there(many: AuditRun, rows: int) -> None:
    few = replace(many, disagreement_table=many.disagreement_table.slice(0, rows))
    payload = disagreements.pack(few, {}, ROOM)
    assert (len(unpacked(payload.blob)["items"]), payload.left_out) == (rows, 0)


def test_the_largest_files_are_left_out_first(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    csv = {
        str(number): rng.bytes(size).hex()
        for number, size in enumerate((50, 800, 300, 900, 10, 400, 700, 600, 500, 200))
    }
    deflated: list[int] = []
    deflate = pages.blob

    def counted(payload: dict[str, Any]) -> str:
        deflated.append(len(payload["csv"]))
        return deflate(payload)

    monkeypatch.setattr(pages, "blob", counted)
    kept = fitting(csv, 2_500)
    assert len(deflate({"csv": kept})) <= 2_500
    assert [*kept] == ["0", "2", "4", "5", "8", "9"]
    more = kept | {"7": csv["7"]}
    assert len(deflate({"csv": more})) > 2_500
    assert len(deflated) <= 4  # halving ten
    assert fitting(csv, -1) == {}
    assert fitting(csv, 1e6) == csv
