"""Commands that ask models, against a local server; and a dataset whose outputs are to be rated."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from metal.data.dataset import Card, assemble, save_dataset
from metal.data.ratings import facts_from
from metal.data.records import Output, Rater, Rating, Source
from tests.cli.forks import Metal, environment, shared
from tests.cli.mturk_crowd import FLUENCY, crowd, mturk_server, mturk_template  # noqa: F401 - fixtures
from tests.cli.runs import KEY
from tests.cli.small_board import Commands, build_board
from tests.conftest import HALLUCINATIONS, TASK_QUALITY
from tests.llm_server import LlmServer

TEXTS = {
    "ar": ("تفتح المكتبة يوم الاثنين.", "أُغلق الجسر القديم (2024).", "توقف المطر 🌧️."),
    "en": ("The bridge is closed.", "=1+1 is a formula.", "The rain <b>stopped</b>."),
    "zh": ("桥要关闭一年。", "图书馆周一开放。", "雨停了。"),
}
# In ids and notes: nobody who rates sees them.
SECRETS = ("xgoodx", "xbadx", "generatorx", "notex", "sourcex", "judgex")


@pytest.fixture(scope="session")
def processes() -> Metal:
    return shared()


@pytest.fixture
def llm_server() -> Iterator[LlmServer]:
    """Answers as the schema asks for; a module may have its own."""
    with LlmServer() as server:
        yield server


@pytest.fixture
def metal(processes: Metal, llm_server: LlmServer, tmp_path: Path) -> Metal:
    env = environment(tmp_path, OPENAI_BASE_URL=llm_server.openai_url, OPENAI_API_KEY=KEY)
    return processes.at(tmp_path, env)


@pytest.fixture
def people(processes: Metal, tmp_path: Path) -> Metal:
    """`metal` in a folder where `mine` is a dataset of three outputs in each of three languages."""
    sources, outputs = [], []
    for language, texts in TEXTS.items():
        for number, text in enumerate(texts):
            source = f"sourcex-{language}-{number}"
            quality = ("xgoodx", "xbadx")[number % 2]
            sources.append(Source(source, language, f"{text} " * 9, f"Nr. {number}"))
            outputs.append(
                Output(
                    f"{quality}-{language}-{number}",
                    source,
                    f"generatorx-{quality}",
                    language,
                    text,
                    "notex",
                )
            )
    unused = Output(
        "xbadx-en-9", "sourcex-en-0", "generatorx-xbadx", "en", "Not chosen.", chosen=False
    )
    ratings = [
        Rating(one.output, "task_quality", "judgex", 1.0, "", "because") for one in outputs[:-1]
    ]
    ratings.append(Rating(outputs[-1].output, "task_quality", "judgex", None, "refused"))
    criteria = (TASK_QUALITY, HALLUCINATIONS, FLUENCY)
    raters = [Rater("judgex", "llm", "judgex")]
    made = assemble(
        Card("mine"), criteria, sources, [*outputs, unused], raters, facts_from(ratings)
    )
    save_dataset(made, tmp_path / "mine")
    return processes.at(tmp_path, environment(tmp_path))


@pytest.fixture(scope="session")
def board_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("board") / "small"
    build_board(folder)
    return folder


@pytest.fixture
def commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Commands:
    """`metal` within this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return Commands(tmp_path, capsys)


@pytest.fixture
def small(board_template: Path, commands: Commands) -> Commands:
    """`metal` in a folder where `small` is a board of four generators in two languages."""
    shutil.copytree(board_template, commands.board)
    return commands
