"""The examples run as they are written: notebooks in a real kernel, against a local server in the
place of a model.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from nbclient import NotebookClient

import metal
from tests.llm_server import LlmServer

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """examples/ and datasets/demo as in a checkout."""
    shutil.copytree(ROOT / "datasets" / "demo", tmp_path / "datasets" / "demo")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    return tmp_path / "examples"


def run(path: Path) -> dict[int, str]:
    """The notebook's outputs as plain text, by the number of the code cell."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook, timeout=300, resources={"metadata": {"path": str(path.parent)}}
    ).execute()
    nbformat.write(notebook, path)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return {
        number: "\n".join(
            str(output.get("data", {}).get("text/plain", "")) for output in cell.outputs
        )
        for number, cell in enumerate(cells)
    }


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_audit_your_table(folder: Path) -> None:
    shown = run(folder / "audit_your_table.ipynb")
    assert "rater from 'annotator'" in shown[1]
    assert "Estimate(value=" in shown[5]
    assert (folder / "runs" / "mine" / "report.html").is_file()
    audit = metal.open_run(folder / "runs" / "mine")
    assert isinstance(audit, metal.Audit)
    assert audit.manifest["settings"]["resamples"] == 500


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_add_a_judge(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with LlmServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
        shown = run(folder / "add_a_judge.ipynb")
        assert server.requests == 240  # a call an output, none in the dry run
    assert "240" in shown[1]
    assert shown[7].strip() == "True"
    ratings = metal.open_run(folder / "runs" / "by-length")
    assert len(ratings.ratings) == 240


@pytest.mark.slow
def test_the_script(folder: Path) -> None:
    metal.export(ROOT / "datasets" / "demo", to="csv", out=folder / "all.csv")
    table = pd.read_csv(folder / "all.csv").rename(
        columns={"source": "doc", "rater": "annotator", "score": "rating"}
    )
    table = table[["doc", "generator", "language", "criterion", "annotator", "rating"]]
    table.to_csv(folder / "ratings.csv", index=False)
    done = subprocess.run(
        [sys.executable, "audit_your_table.py", "ratings.csv"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "columns read" in done.stdout
    assert (folder / "runs" / "mine" / "tables" / "people.csv").is_file()
