"""The page of `metal monitor`: what it says, and that nothing of it runs."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from metal.data.dataset import load_dataset
from metal.data.records import Source
from metal.genie.gold_questions import side_of
from metal.questions.people.run import Monitor
from metal.questions.people.sections import sections
from metal.questions.people.words import facts
from metal.show.pages import charts, page, tables
from tests.genie import people
from tests.genie.people import always_best, metal
from tests.report.checks import Visiting, check_page
from tests.saying import tells

ATTACK = '<script>window.pwned = 1</script><img src=x onerror="window.pwned = 1">'
NOISY = f"mturk:{ATTACK} =1+1"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three people and one who does not read and has a hostile name, of sources with hostile ids
    and golds.
    """
    folder = tmp_path_factory.mktemp("people")
    dataset = people.with_golds(12, languages=("en",), generators=("good", "bad"))
    name = {source: f"{source} {ATTACK}" for source in dataset.sources}
    sources = [
        Source(
            name[source.source], "en", source.text, ATTACK, (f"{source.references[0]} {ATTACK}",)
        )
        for source in dataset.sources.values()
    ]
    outputs = [
        replace(output, source=name[output.source], text=f"{output.text} {ATTACK}")
        for output in dataset.outputs.values()
    ]
    made = people.assemble(
        people.Card(ATTACK), dataset.criteria.values(), sources, outputs, [], dataset.ratings
    )
    people.save_dataset(made, folder / "sim")
    metal(
        "annotate",
        "export",
        folder / "sim",
        "--to",
        "mturk",
        "--out",
        folder / "out",
        "--test-questions=25%+25%",
    )
    answers(folder)
    metal("monitor", folder / "sim", "--bootstrap", "100", "--out", folder / "run")
    return folder / "run"


def answers(folder: Path) -> None:
    """A CSV of a platform: everybody rates everything."""
    import csv

    tasks = people.read_tasks(folder / "sim")
    with (folder / "back.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["task", "worker", *people.METAL])
        writer.writeheader()
        for worker in ("A", "B", "C", NOISY.removeprefix("mturk:")):
            says = always_best if worker.startswith("<") else people.careful
            for task, output in tasks.items():
                scores = {criterion: says(worker, output, criterion) for criterion in people.METAL}
                writer.writerow({"task": task, "worker": worker} | scores)
    metal("annotate", "import", folder / "sim", folder / "back.csv", "--platform", "mturk")


def test_the_page_says_who_is_noisy_and_why(run: Path) -> None:
    read = Monitor.read(run)
    assert read.noisy == [NOISY]
    lines = facts(read)
    assert tells(lines["Looked at"], "4 people who rated", "4 of whom", "test questions")
    assert "<script>window.pwned" in lines["Noisy"]  # escaped where it is written
    assert "120 ratings of 1 person would be dropped" in lines["Without them"]
    anchors = [section.anchor for section in sections(read)]
    assert anchors == [
        "tests",
        "questions",
        "beside",
        "agreement",
        "exclusions",
        "design",
        "history",
    ]
    assert {
        "examined",
        "workers",
        "questions",
        "behaviour",
        "agreement",
        "exclusions",
        "rounds",
    } <= {table.name for table in tables(read)}
    drawn = [chart.name for chart in charts(read)]
    assert drawn[:2] == ["share_right", "agreement_difference"]
    assert all(name.startswith("design_") for name in drawn[2:])


def test_nothing_hostile_is_markup(run: Path) -> None:
    html = (run / "report.html").read_text(encoding="utf-8")
    assert "<script>window.pwned" not in html
    assert "<img src=x" not in html
    assert "&lt;script&gt;window.pwned" in html
    assert not re.search(r"(src|href)=[\"']?https?:", html)
    assert html == page(Monitor.read(run))
    csv = (run / "tables/raters.csv").read_text(encoding="utf-8")
    assert "=1+1" in csv
    assert not re.search(r"(^|,)\"?=", csv, re.MULTILINE)


@pytest.mark.slow
def test_nothing_runs_and_nothing_is_loaded(run: Path, visit: Visiting) -> None:
    check_page(visit, run / "report.html", "tests")
    assert ATTACK in visit(run / "report.html").page.locator("#tests").inner_text()


def test_without_test_questions_the_page_says_so(run: Path, tmp_path: Path) -> None:
    shutil.copytree(
        run.parent / "sim", tmp_path / "sim", ignore=shutil.ignore_patterns("test_questions")
    )
    metal("monitor", tmp_path / "sim", "--bootstrap", "100", "--out", tmp_path / "run")
    read = Monitor.read(tmp_path / "run")
    lines = facts(read)
    assert tells(lines["Looked at"], "4 people who rated", "test question")
    assert "Noisy" not in lines
    assert "Without them" not in lines
    assert "--test-questions" in lines["Do not conclude"]
    assert [section.anchor for section in sections(read)] == [
        "beside",
        "agreement",
        "design",
        "history",
    ]
    assert (tmp_path / "run/report.html").is_file()


def test_no_question_is_an_output(run: Path) -> None:
    assert not any(side_of(name) for name in load_dataset(run.parent / "sim").outputs)
