"""How far long work has come: what its callback is told."""

from __future__ import annotations

import json
import zipfile
from contextvars import copy_context
from pathlib import Path
from types import SimpleNamespace

import pytest

import metal
from metal.data.files import bundled
from metal.data.progress import FOLLOWER, counted_as, divided, followed
from metal.data.tables.files import read_frame
from metal.show.terminal import console, stages

Steps = list[tuple[int, int]]


@pytest.fixture
def reported() -> Steps:
    return []


def test_steps_are_counted_once_they_are_done(reported: Steps) -> None:
    for step in followed("abc", lambda *now: reported.append(now), 3):
        reported.append((ord(step), 0))
    assert reported == [(0, 3), (97, 0), (1, 3), (98, 0), (2, 3), (99, 0), (3, 3)]


def test_steps_count_for_their_sizes(reported: Steps) -> None:
    assert list(followed("ab", lambda *now: reported.append(now), 10, [9, 1])) == ["a", "b"]
    assert reported == [(0, 10), (9, 10), (10, 10)]


def test_many_steps_are_reported_a_few_hundred_times(reported: Steps) -> None:
    assert (
        sum(1 for _ in followed(range(100_000), lambda *now: reported.append(now), 100_000))
        == 100_000
    )
    assert reported[:3] == [(0, 100_000), (500, 100_000), (1000, 100_000)]
    assert len(reported) == 201
    assert reported[-1] == (100_000, 100_000)


def test_parts_of_a_job_share_its_progress(reported: Steps) -> None:
    first, second = divided(lambda *now: reported.append(now), 1, 3)
    first(1, 2)
    second(0, 0)
    second(2, 3)
    second(3, 3)
    assert reported == [(12, 100), (25, 100), (75, 100), (100, 100)]


def test_rows_of_jsonl_and_bytes_of_csv_and_xlsx_are_counted(
    tmp_path: Path, reported: Steps
) -> None:
    import openpyxl

    rows = [
        {"output": f"o{n}", "rater": rater, "score": n % 3}
        for n in range(6)
        for rater in ("A1", "A2")
    ]
    lines, sheet = tmp_path / "ratings.jsonl", tmp_path / "ratings.xlsx"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    book = openpyxl.Workbook()
    for row in ([*rows[0]], *(list(row.values()) for row in rows)):
        book.active.append(row)
    book.save(sheet)
    read_frame(lines, progress=lambda *now: reported.append(now))
    assert reported == [(done, 12) for done in range(13)]
    reported.clear()
    read_frame(sheet, progress=lambda *now: reported.append(now))
    with zipfile.ZipFile(sheet) as archive:
        size = archive.getinfo("xl/worksheets/sheet1.xml").file_size
    assert reported == sorted(reported)
    assert (reported[0], reported[-1]) == ((0, size), (size, size))
    table = tmp_path / "ratings.csv"
    table.write_text(
        "output,rater,score\n" + "".join(f"o{n},A{n % 2},1\n" for n in range(9)), encoding="utf-8"
    )
    reported.clear()
    read_frame(table, progress=lambda *now: reported.append(now))
    assert reported[0] == (0, table.stat().st_size)
    assert reported[-1] == (table.stat().st_size,) * 2
    for path in (lines, table):
        reported.clear()
        metal.read(path, language="hi", progress=lambda *now: reported.append(now))
        assert reported == sorted(reported)
        # two fifths are the file, the rest what comes of it
        assert {(0, 100), (40, 100), (100, 100)} < set(reported)


def test_files_of_a_dataset_are_followed_by_who_shows_it(tmp_path: Path, reported: Steps) -> None:
    context = copy_context()
    units: list[str] = []

    def follow(unit: str, *now: int) -> None:
        units.append(unit)
        reported.append(now)

    context.run(FOLLOWER.set, follow)
    demo = context.run(metal.read, bundled("datasets/demo"))
    sizes = [
        (bundled("datasets/demo") / f"{name}.jsonl").stat().st_size
        for name in ("raters", "sources", "outputs")
    ]
    begun = [
        now for now, unit in zip(reported, units, strict=True) if now[0] == 0 and unit == "bytes"
    ]
    assert begun == [(0, size) for size in sizes]
    assert all((size, size) in reported for size in sizes)
    assert {"columns", "checks"} < {*units}  # of the ratings
    reported.clear()
    units.clear()
    context.run(demo.save, tmp_path / "copy")
    counts = [len(demo.sources), len(demo.outputs), len(demo.raters)]
    assert [now for now in reported if now[0] == now[1]] == [(count, count) for count in counts]
    assert [*dict.fromkeys(units)] == ["sources", "outputs", "raters"]
    for name in ("sources.jsonl", "outputs.jsonl"):
        assert (tmp_path / "copy" / name).read_bytes() == (
            bundled("datasets/demo") / name
        ).read_bytes()
    reported.clear()
    metal.read(tmp_path / "copy")
    assert not reported  # nobody follows


def test_writing_and_drawing_a_run_is_followed_to_its_last_stage(
    tmp_path: Path, reported: Steps
) -> None:
    demo = Path(__file__).parent / "data/demo"
    audit = metal.audit(demo, resamples=100, progress=lambda *now: reported.append(now))
    assert reported == [(done, 50) for done in range(51)]
    reported.clear()
    audit.save(tmp_path / "run", progress=lambda *now: reported.append(now))
    assert reported == sorted(reported)
    assert reported[0] == (0, 100)
    assert (25, 100) in reported
    assert 70 <= reported[-1][0] < 100  # packing what the page's script unpacks has no steps


def test_a_line_now_and_then_says_the_rate_in_its_unit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 0.0
    monkeypatch.setattr(stages, "QUIET_EVERY", 10.0)
    monkeypatch.setattr(stages, "time", SimpleNamespace(monotonic=lambda: now))
    with console.progress("auditing", "cells") as advance:
        for done in range(5):
            advance(done, 8)
            now += 4
        for _ in counted_as("abc", "bytes", 120_000_000, [40_000_000] * 3):  # within a cell
            now += 11
        advance(6, 8)  # counted from where it began
        now += 6
    with console.progress("ranking", "cells") as advance:
        now += 9.5
        advance(0, 2)
        for _ in counted_as("ab", "criteria"):
            now += 0.6
    with console.progress("reading") as advance:
        advance(0, 8)
        now += 10
        advance(2, 8)
    with console.named_progress("sampling", "passages") as named:
        named("hi", 1_000, 0)
        now += 10
        named("hi", 5_000, 0)
    printed = capsys.readouterr()
    assert printed.err.splitlines() == [
        "auditing: 3/8; 0.2 cells/s; 0:00:20 left",
        "auditing: 4/8; 0.2 cells/s; 0:00:01 left",  # not what is left of the file
        "auditing: 80/120; 3.6 MB/s",  # the cell takes longer: nobody knows what is left
        "auditing: 6/8; 0.1 cells/s; 0:00:18 left",
        "ranking: 1/2; 1.7 criteria/s",  # of the first cell
        "reading: 25%; 0:00:30 left",
        "sampling, hi: 5,000; 500 passages/s; 0:00:10",
    ]
    assert not printed.out


def test_a_percentage_has_no_rate_and_what_there_is_none_of_is_not_counted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 0.0
    monkeypatch.setattr(stages, "QUIET_EVERY", 0.0)
    monkeypatch.setattr(stages, "time", SimpleNamespace(monotonic=lambda: now))
    with console.progress("reading") as advance:
        advance(0, 1_000_000)
        now += 1e-3
        advance(400_000, 1_000_000)
        now += 1.0
        advance(500_000, 1_000_000)
    with console.named_progress("sampling", "passages") as named:
        named("yo", 100, 0)
        now += 1.0
        for _ in counted_as([], "raters"):  # a dataset that nobody has rated
            pass
        named("yo", 200, 0)
    lines = capsys.readouterr().err.splitlines()
    assert "reading: 50%; 0:00:02 left" in lines
    assert not [line for line in lines if "%/s" in line or "raters" in line]
