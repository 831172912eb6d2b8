"""The wheel carries prompts and demo, and works in an empty environment, away from the checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent


def run(*command: object, cwd: Path) -> str:
    # pip asks the index
    environment = {name: value for name, value in os.environ.items() if name != "SSL_CERT_FILE"}
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--outdir", folder, ROOT, cwd=folder)
    return next(folder.glob("metal_eval-*.whl"))


def install(wheel: Path, environment: Path) -> Path:
    """An empty environment with nothing but the wheel and what it asks for, of what is installed
    here; its python.
    """
    venv.create(environment)
    python = environment / "bin" / "python"
    uv = shutil.which("uv")
    pip = (
        (uv, "pip", "install", "--python", python)
        if uv
        else (sys.executable, "-m", "pip", "--python", python, "install")
    )
    run(*pip, "--quiet", "--no-deps", wheel, cwd=environment.parent)
    (site,) = environment.glob("lib/*/site-packages")
    needed: dict[str, metadata.Distribution] = {}
    asked_for = list(metadata.distributions(name="metal-eval", path=[str(site)]))
    while asked_for:
        for requirement in map(Requirement, asked_for.pop().requires or ()):
            name, marker = canonicalize_name(requirement.name), requirement.marker
            if name not in needed and (marker is None or marker.evaluate({"extra": ""})):
                needed[name] = metadata.distribution(name)
                asked_for.append(needed[name])
    for package in needed.values():
        for top in {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}:
            (site / top).symlink_to(package.locate_file(top))
    return python


@pytest.mark.wheel
def test_wheel_contents(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert "metal/_bundled/prompts/criteria/task_quality.toml" in names
    assert "metal/_bundled/prompts/annotate/summarization.toml" in names
    assert "metal/_bundled/datasets/demo/dataset.toml" in names
    assert {
        f"metal/_bundled/datasets/mlqe/{name}"
        for name in ("ratings.parquet", "README.md", "LICENSE")
    } <= names
    assert "metal/py.typed" in names
    assert not [name for name in names if name.startswith(("tests/", "datasets/", "prompts/"))]


@pytest.mark.slow
@pytest.mark.wheel
def test_demo_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    python = install(wheel, tmp_path / "environment")
    metal = python.with_name("metal")
    code = "from metal.data import files, metal_criteria; print(files.bundled('datasets/demo'))"
    code += "; print(metal_criteria.metal_criterion('hallucinations').direction)"
    demo, direction = run(python, "-c", code, cwd=tmp_path).splitlines()
    assert "_bundled" in demo
    assert direction == "lower"
    run(metal, "judge", demo, "-j", "majority,lexical", "--out", "judges", cwd=tmp_path)
    shown = run(metal, "audit", demo, "judges", "--out", "run", "--resamples", "100", cwd=tmp_path)
    assert "Verdicts" in shown
    assert "Report: metal-demo/mlqe/report.html" in run(metal, "demo", cwd=tmp_path)


def test_checkout_finds_its_own_folders() -> None:
    from metal.data.files import bundled

    assert bundled("prompts") == ROOT / "prompts"
    assert bundled("datasets/demo") == ROOT / "datasets" / "demo"
