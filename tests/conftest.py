"""What tests share: the published data, small datasets made on the spot, packages that offer
plug-ins.
"""

from __future__ import annotations

import gc
import math
import os
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

from metal.data.dataset import Card, Dataset, assemble
from metal.data.ratings import facts_from
from metal.data.records import Criterion, Level, Output, Rater, Rating, Scale, Source
from metal.show.terminal import stages

# A busy machine is no failure, and luck finds none: the same examples every time.
settings.register_profile("metal", deadline=None, max_examples=20, derandomize=True, database=None)
settings.load_profile("metal")
# Hypothesis also draws constants of whatever modules a process has imported by then: of METAL's,
# that is luck.
providers._get_local_constants = providers.Constants
stages.QUIET_EVERY = math.inf  # what takes longer on a busy machine prints no more


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What starts a cluster comes first: it takes longest, and processes beside it would wait for
    it at the end.
    """
    items.sort(key=lambda item: item.get_closest_marker("cluster") is None)


def pytest_collection_finish() -> None:
    """What is imported by now stays to the end: a search for garbage that goes through it costs 6%
    of all time.
    """
    gc.freeze()


TASK_QUALITY = Criterion(
    "task_quality",
    Scale("ordinal", (Level(0, "Bad"), Level(1, "Medium"), Level(2, "Good"))),
    abbreviation="TQ",
)
HALLUCINATIONS = Criterion(
    "hallucinations",
    Scale("nominal", (Level(0, "Absent"), Level(1, "Present"))),
    direction="lower",
    abbreviation="H",
)


@pytest.fixture(scope="session")
def reference() -> Path:
    """The folder of published data: METAL_REFERENCE. In CI it must be there."""
    named = os.environ.get("METAL_REFERENCE")
    folder = Path(named) if named else None
    if folder and folder.is_dir():
        return folder
    message = f"published data not found: METAL_REFERENCE is {named or 'not set'}"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


MakeDataset = Callable[..., Dataset]


@pytest.fixture(scope="session")
def make_dataset() -> MakeDataset:
    """make_dataset({"en": {"A1": [0, 1, 2], "judge": [0, None, 2]}}): one source and output per
    item.

    Raters called A... are people, the rest are LLM judges; None is a refusal.
    """

    def make(
        scores: dict[str, dict[str, list[int | None]]],
        criterion: Criterion = TASK_QUALITY,
        outputs_per_source: int = 1,
        name: str = "made",
    ) -> Dataset:
        sources: dict[str, Source] = {}
        outputs, ratings, raters = [], [], {}
        for language, by_rater in scores.items():
            for item in range(max(len(row) for row in by_rater.values())):
                source = f"{language}-{item // outputs_per_source}"
                sources[source] = Source(source, language, f"text {item}")
                generator = f"g{item % outputs_per_source}"
                outputs.append(
                    Output(f"{source}/{generator}", source, generator, language, f"summary {item}")
                )
            rated = [output.output for output in outputs if output.language == language]
            for rater, row in by_rater.items():
                person = rater.startswith("A")
                raters[rater] = Rater(
                    rater, "human" if person else "llm", "native" if person else rater
                )
                ratings += [
                    Rating(
                        output, criterion.name, rater, score, "" if score is not None else "refused"
                    )
                    for output, score in zip(rated, row, strict=True)
                ]
        card = Card(name)
        return assemble(
            card, [criterion], sources.values(), outputs, raters.values(), facts_from(ratings)
        )

    return make


def write_table(frame: pd.DataFrame, path: Path) -> Path:
    """A file of the table, in the format of its ending."""
    writers = {
        ".csv": lambda: frame.to_csv(path, index=False),
        ".tsv": lambda: frame.to_csv(path, index=False, sep="\t"),
        ".jsonl": lambda: frame.to_json(path, orient="records", lines=True, force_ascii=False),
        ".parquet": lambda: frame.to_parquet(path, index=False),
        ".xlsx": lambda: frame.to_excel(path, index=False),
    }
    writers[path.suffix]()
    return path


def offer(site: Path, package: str, group: str, lines: str) -> None:
    """Write the metadata of a package (version 1.5) that offers plug-ins into a folder of
    `sys.path`.
    """
    folder = site / f"{package.replace('-', '_')}-1.5.dist-info"
    folder.mkdir(exist_ok=True)
    (folder / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.5\n", encoding="utf-8"
    )
    (folder / "entry_points.txt").write_text(f"[{group}]\n{lines}", encoding="utf-8")
