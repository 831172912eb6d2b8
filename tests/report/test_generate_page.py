"""The page of `metal generate`: what was written, how many texts can be rated, what is wrong with
the others.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import metal
from metal.show.pages import headline, page
from tests.cli.test_generate import SENTENCES, a_dataset
from tests.llm_server import LlmServer
from tests.report.checks import Visiting, check_csv, check_names_are_text, check_page

MODEL = "openai-compatible:<img src=x onerror=alert(1)>"
DECLINES = "I'm sorry, but I cannot help with that request."


def answer(prompt: str, body: Any) -> str:
    """A sentence of the passage, or for a bad text no answer."""
    good = next(lines[1] for lines in SENTENCES.values() if lines[1] in prompt)
    text = DECLINES if "adversarial" in prompt else good
    return json.dumps({"summary": text, "justification": "So."}, ensure_ascii=False)


@pytest.fixture
def generated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve passages in three languages; every bad text declines."""
    monkeypatch.chdir(tmp_path)
    a_dataset(Path("mine"))
    with LlmServer() as server:
        server.answer = answer
        metal.generate("mine", MODEL, base_url=server.openai_url, out="run", choose="all")


@pytest.mark.slow
def test_what_it_says(generated: None, visit: Visiting) -> None:
    run = metal.open_run("run")
    assert headline(run) == "24 texts in 3 languages: 12 ready to be rated, 12 flagged."
    rows = run.tables["languages"].set_index("language")
    assert rows.loc["ar"].to_dict() == {
        "passages": 4,
        "texts": 8,
        "qualities": "4 good, 4 bad",
        "declined": 4,
        "flagged": 4,
        "reasons": "4 refuses, 4 in English",
        "chosen": 4,
        "without": 0,
    }
    by_generator = run.tables["texts"].set_index(["generator", "language"])
    assert by_generator.loc[(f"{MODEL}/bad", "en"), ["declined", "chosen", "missing"]].tolist() == [
        4,
        0,
        0,
    ]
    html = Path("run/report.html").read_text(encoding="utf-8")
    assert html == page(run)
    assert "metal annotate export mine --to html" in html.replace("<span>", "").replace(
        "</span>", ""
    )
    check_names_are_text(html)
    check_csv(Path("run"))
    check_page(visit, Path("run/report.html"), "generators")
    assert ("generate", headline(run)) in {(entry.kind, entry.answer) for entry in metal.ls(".")}


def test_a_run_that_was_stopped_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    a_dataset(Path("mine"))
    with LlmServer() as server:
        server.answer = answer
        run = metal.generate(
            "mine", "openai-compatible:m", base_url=server.openai_url, out="run", limit=5
        )
        stopped = metal.open_run("run")
        assert headline(stopped).startswith("5 texts in 2 languages: ")
        assert headline(stopped).endswith("; 19 calls not made yet.")
        assert stopped.tables["texts"]["missing"].sum() == 19
        assert not run.complete
        metal.generate(resume="run")
    assert headline(metal.open_run("run")).startswith("24 texts in 3 languages: 12 ready")
    command = "<span>annotate</span> <span>export</span> <span>mine</span>"
    assert command in Path("run/report.html").read_text(encoding="utf-8")
