"""What tests of Mechanical Turk share: `metal` within this process beside a server, and a dataset
that was exported.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from metal.building.crowdsourcing import mturk
from metal.building.crowdsourcing.mturk_campaign import MTurkCampaign
from metal.building.store import read_tasks
from metal.cli import metal as command
from metal.data.dataset import Card, assemble, load_dataset, save_dataset
from metal.data.ratings import facts_from
from metal.data.records import Criterion, Output, Scale, Source
from tests.cli.runs import InProcess
from tests.conftest import HALLUCINATIONS, TASK_QUALITY
from tests.mturk_server import MturkServer

FLUENCY = Criterion("fluency", Scale("interval", (), 1, 100), question="How fluent is it?")
TEXTS = {
    "en": (
        "It costs ${source} ]]> and ${nothing}.",
        "<script>alert('x')</script></crowd-form>",
        "=1+1, &lt;b&gt; & \u202eright to left\u202c \U0001f327\ufe0f",
    ),
    "ar": ("تفتح المكتبة يوم الاثنين (2024).",),
}
HIDDEN = ("xgoodx", "generatorx", "notex", "sourcex", "goldx")
KEY_ID, SECRET = "AKIAMADEUPFORTESTS00", "made-up-secret-of-the-tests-0123456789"
AWS = {
    "AWS_ACCESS_KEY_ID": KEY_ID,
    "AWS_SECRET_ACCESS_KEY": SECRET,
    "AWS_EC2_METADATA_DISABLED": "true",
}
SAID = {
    "task_quality": "2",
    "hallucinations": "0",
    "fluency": "73.5",
    "comment": "=cmd ]]> \u202eشكرا </b>\nline 2",
}


@dataclass
class Crowd(InProcess):
    """`metal` beside a Mechanical Turk, with the dataset `mine` and its export `out`."""

    server: MturkServer

    @property
    def state(self) -> Path:
        return self.folder / "mine" / "annotation" / "campaigns" / "out"

    @property
    def pushing(self) -> list[object]:
        return [
            *("annotate", "push", "mturk", "mine", "out"),
            *("--reward", "0.25", "--assignments", "2", "--endpoint-url", self.server.url),
        ]

    def push(self, *more: object) -> str:
        return self(*self.pushing, *more)

    def pull(self, *more: object) -> str:
        return self("annotate", "pull", "mturk", "mine", *more)

    def standing(self) -> dict[str, Any]:
        [each] = json.loads(self.printed("annotate", "status", "mine", "--json"))
        return dict(each)

    def hit_of(self) -> dict[str, str]:
        """Output -> HIT, by the task that the campaign's state says."""
        tasks = read_tasks(self.folder / "mine")
        return {
            tasks[task]: each["hit"]
            for task, each in MTurkCampaign.open(self.folder / "mine").hits().items()
        }

    def ratings(self) -> dict[tuple[str, str, str], float]:
        table = load_dataset(self.folder / "mine").ratings
        keys = zip(table["output"], table["criterion"], table["rater"], strict=True)
        return dict(zip(keys, table["score"], strict=True))

    def once(self) -> None:
        """Every task has one HIT, and the state knows which."""
        assert sorted(self.hit_of().values()) == sorted(self.server.hits)
        assert len(self.server.hits) == sum(map(len, TEXTS.values()))


@pytest.fixture(scope="session")
def mturk_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("template")
    sources, outputs = [], []
    for language, texts in TEXTS.items():
        for number, text in enumerate(texts):
            source = f"sourcex-{language}-{number}"
            sources.append(Source(source, language, f"{text} " * 3, f"Nr. {number}"))
            outputs.append(
                Output(
                    f"xgoodx-{language}-{number}",
                    source,
                    "generatorx-goldx",
                    language,
                    text,
                    "notex-goldx",
                )
            )
    made = assemble(
        Card("mine"), (TASK_QUALITY, HALLUCINATIONS, FLUENCY), sources, outputs, [], facts_from([])
    )
    save_dataset(made, folder / "mine")
    arguments = [
        "annotate",
        "export",
        str(folder / "mine"),
        "--to",
        "mturk",
        "--out",
        str(folder / "out"),
    ]
    command.main(arguments, prog_name="metal", standalone_mode=False)
    return folder


@pytest.fixture
def mturk_server() -> Iterator[MturkServer]:
    with MturkServer() as running:
        yield running


@pytest.fixture
def crowd(
    mturk_template: Path,
    tmp_path: Path,
    mturk_server: MturkServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Crowd:
    if not os.environ.get("CI"):  # where it must be there
        pytest.importorskip("boto3")
    from botocore import loaders

    shutil.copytree(mturk_template, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL_MTURK"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {**AWS, "HOME": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(mturk, "FIRST_PAUSE", 0.001)
    loader = _loader()
    monkeypatch.setattr(loaders, "create_loader", lambda path: loader)
    return Crowd(tmp_path, capsys, mturk_server)


@cache
def _loader() -> Any:
    """Reads botocore's megabytes of JSON once."""
    from botocore import loaders

    return loaders.create_loader()
