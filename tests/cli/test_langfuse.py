"""A company that has its scores on Langfuse: one command from its export to a verdict."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pandas as pd

import metal as metal_api
from tests.cli.forks import Metal
from tests.saying import tells

COLUMNS = ("id", "traceId", "name", "value", "dataType", "source", "authorUserId", "metadata")


def export(folder: Path) -> None:
    """120 traces in three languages, scored by an evaluator and two people."""
    with (folder / "langfuse_scores.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for number in range(120):
            truth = number % 2
            own = json.dumps({"language": ("en", "hi", "sw")[number % 3]})
            by = {
                ("EVAL", ""): truth if number % 10 else 1 - truth,
                ("ANNOTATION", "u1"): truth if number % 15 else 1 - truth,
                ("ANNOTATION", "u2"): truth if number % 15 != 7 else 1 - truth,
            }
            for (source, author), value in by.items():
                row = (f"{number}{author}", f"t{number}", "helpful", value, "NUMERIC")
                writer.writerow((*row, source, author, own))


def test_a_verdict_without_an_option(tmp_path: Path, metal: Metal) -> None:
    export(tmp_path)
    done = metal("audit", "langfuse_scores.csv")
    assert tells(done.out, "Verdicts on evaluator", "English", "Hindi", "Swahili", "helpful")
    assert tells(done.out, "What to do next")
    assert tells(done.err, "format langfuse")


def test_a_workbook_is_read_as_the_table_it_holds(tmp_path: Path, metal: Metal) -> None:
    export(tmp_path)
    table = pd.read_csv(tmp_path / "langfuse_scores.csv")
    table.to_excel(tmp_path / "scores.xlsx", index=False)
    for file, folder in (("langfuse_scores.csv", "csv"), ("scores.xlsx", "xlsx")):
        assert metal.start("import", file, "--out", folder).wait(60).code == 0
    of_csv, of_xlsx = (metal_api.read(tmp_path / folder) for folder in ("csv", "xlsx"))
    pd.testing.assert_frame_equal(of_xlsx.ratings, of_csv.ratings)


def test_without_people_the_next_step_is_said(tmp_path: Path, metal: Metal) -> None:
    export(tmp_path)
    path = tmp_path / "langfuse_scores.csv"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if "ANNOTATION" not in line))
    done = metal.start("audit", "langfuse_scores.csv").wait(60)
    assert done.code == 2
    assert tells(done.err, "metal annotate export") or tells(done.err, "--kinds")
