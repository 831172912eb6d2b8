"""Audits and boards to report on, and a browser to look at the pages with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metal.auditing.audit import audit
from metal.auditing.settings import AuditSettings
from metal.data.dataset import Dataset, concat_facts, load_dataset, with_parts
from metal.questions.audit.run import AuditRun
from metal.raters.judges.baselines import run_baselines
from metal.runs.parts import manifest
from metal.show.pages import page
from tests import DEMO
from tests.browser import browser, pages, visit
from tests.report.board.boards import dataset
from tests.report.board.boards import written as written_board

__all__ = ["browser", "pages", "visit"]

WriteRun = Callable[..., Path]


def written(dataset: Dataset, folder: Path, **settings: Any) -> Path:
    """The run folder of an audit of the dataset."""
    chosen = AuditSettings(resamples=100, **settings)
    result = audit(dataset, chosen)
    about = manifest(
        "audit", dataset, [Path("made")], chosen.to_dict(), result.judges, result.signature
    )
    AuditRun.of(result, dataset, about, result.compared, result.disagreements).write(folder, page)
    return folder


@pytest.fixture
def write_run(tmp_path: Path) -> WriteRun:
    """write_run(dataset, **settings): the folder of its audit."""
    return lambda dataset, **settings: written(
        dataset, tmp_path / f"run-{dataset.card.name}", **settings
    )


@pytest.fixture
def report_on(write_run: WriteRun) -> Callable[..., AuditRun]:
    """report_on(dataset, **settings): its audit as a report reads it."""
    return lambda dataset, **settings: AuditRun.read(write_run(dataset, **settings))


@pytest.fixture(scope="session")
def demo_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An audit of three of the demo's languages, one written from right to left, and three of its
    criteria.
    """
    demo = load_dataset(DEMO)
    raters, facts = run_baselines(demo, ["lexical", "random"])
    judged = with_parts(
        demo, raters=[*demo.raters.values(), *raters], facts=concat_facts([demo.ratings, facts])
    )
    return written(
        judged,
        tmp_path_factory.mktemp("demo") / "run",
        languages=("ar", "en", "zh"),
        criteria=("task_quality", "problematic_content", "hallucinations"),
    )


@pytest.fixture(scope="session")
def rich_board(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of a board with everything: three languages, two criteria, a human generator,
    families, a history.
    """
    made = dataset(languages=("ar", "en", "hi"), criteria=("fluency", "adequacy"), human="g3")
    return written_board(made, tmp_path_factory.mktemp("rich") / "run")


@pytest.fixture(scope="session")
def bare_board(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One rater, one person: no ensemble, no overrating, no comparison, no history."""
    made = dataset(metrics=(), people=("A1",), generators=("g0", "g1"), family="other")
    return written_board(made, tmp_path_factory.mktemp("bare") / "run", history=())
