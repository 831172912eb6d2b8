"""action.yml and the workflows of .github: their steps run in a shell, what they use is pinned, and
no input is code.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import metal
from tests.pages import ROOT
from tests.workflows import PINNED, Runner, read

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FEW = "--resamples\n100\n--criteria\ntask_quality"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with anchors, a baseline, a run of today, and a gate."""
    folder = tmp_path_factory.mktemp("checkout")
    shutil.copytree(ROOT / "datasets" / "demo", folder / "anchors")
    few = {"criteria": "task_quality", "languages": "hi"}
    for name, times in (("baseline", 2), ("today", 1)):
        metal.judge(
            folder / "anchors", constant, out=folder / name, repeat=times, name="one", **few
        )
    return folder


def constant(source: str, output: str, criterion: str) -> int:
    return len(output) % 3


def runner(workspace: Path, temp: Path) -> Runner:
    return Runner(workspace, temp / "runner", os.environ | {"PYTHONPATH": str(ROOT)})


@pytest.mark.slow
def test_it_audits_gates_and_keeps_the_passport(checkout: Path, tmp_path: Path) -> None:
    margins = {"margin": 0.9, "mean_margin": 0.9, "coverage_margin": 0.9}
    gate = tmp_path / "gate.toml"
    metal.gate_init(checkout / "anchors", checkout / "baseline", out=gate, **margins)
    job = runner(checkout, tmp_path)
    inputs = {"data": "anchors", "runs": "today\n", "gate": str(gate), "options": FEW}
    outputs = job.use(ROOT, inputs | {"extras": "openai,figures"})
    assert job.ok, job.log
    assert job.installed == ["--quiet", f"{ROOT}[openai,figures]"]
    assert "one" in set(pd.read_csv(outputs["verdicts"])["judge"])
    assert "one" in json.loads(Path(outputs["passport"]).read_text(encoding="utf-8"))["judges"]
    assert "PASS" in job.summary
    assert Path(outputs["summary"]).read_text(encoding="utf-8") == job.summary
    (folder,) = job.uploaded["metal"]
    assert {path.name for path in Path(folder).iterdir()} > {"audit", "passport", "gate.xml"}


@pytest.mark.slow
def test_a_gate_that_does_not_pass_fails_the_job_and_the_passport_is_kept(
    checkout: Path, tmp_path: Path
) -> None:
    gate = tmp_path / "gate.toml"
    metal.gate_init(checkout / "anchors", checkout / "baseline", out=gate, margin=0.01)
    job = runner(checkout, tmp_path)
    outputs = job.use(ROOT, {"data": "anchors", "runs": "today", "gate": str(gate), "options": FEW})
    assert not job.ok
    assert "UNDECIDED" in job.summary
    assert Path(outputs["passport"]).is_file()
    assert job.uploaded


@pytest.mark.slow
def test_a_verdict_that_is_worse_than_required_fails_the_job(
    checkout: Path, tmp_path: Path
) -> None:
    job = runner(checkout, tmp_path)
    required = "constructed:good:hi:*>=informative\n\none:hi:*>=like a person\n"
    outputs = job.use(
        ROOT, {"data": "anchors", "runs": "today", "require": required, "options": FEW}
    )
    assert not job.ok
    assert "Required, and not met: one on task quality in Hindi" in job.summary
    assert "Required, and not met: constructed" not in job.summary
    assert Path(outputs["passport"]).is_file()


def test_what_cannot_be_audited_says_so(tmp_path: Path) -> None:
    job = runner(tmp_path, tmp_path)
    outputs = job.use(ROOT, {"data": "missing.csv"})
    assert not job.ok
    assert "missing.csv: no such" in job.log
    assert not any(outputs.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["data", "runs", "gate", "require", "options", "extras"])
def test_inputs_are_text(name: str, checkout: Path, tmp_path: Path) -> None:
    """An input is at most the name of a file, never code."""
    hostile = "'\"; touch broken; $(touch broken) `touch broken` ]"
    job = runner(checkout, tmp_path)
    job.use(ROOT, {"data": "anchors", "runs": "today", "options": FEW} | {name: hostile})
    assert not job.ok
    assert not [*tmp_path.rglob("broken"), *checkout.rglob("broken")]


def test_a_name_is_no_option(checkout: Path, tmp_path: Path) -> None:
    job = runner(checkout, tmp_path)
    job.use(ROOT, {"data": "--help", "runs": "--version"})
    assert not job.ok
    assert "--help: no such" in job.log


def test_what_data_say_is_no_command_to_the_runner(tmp_path: Path) -> None:
    """All that METAL prints stands between `::stop-commands::` and its end."""
    (tmp_path / "bad.csv").write_text(
        "::error::x,::add-mask::y\n::warning::a,b\n", encoding="utf-8"
    )
    job = runner(tmp_path, tmp_path)
    job.use(ROOT, {"data": "bad.csv"})
    stopped = re.sub(r"::stop-commands::(\w+)\n.*?::\1::\n", "", job.log, flags=re.DOTALL)
    assert "metal:" in job.log
    assert "::" not in stopped.replace("metal: ", "")


def every_step() -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = list(read(ROOT / "action.yml")["runs"]["steps"])
    for path in WORKFLOWS:
        for job in read(path)["jobs"].values():
            steps += job["steps"]
    return steps


def test_steps_are_pinned_and_have_no_expression_in_a_script() -> None:
    assert len(WORKFLOWS) >= 1
    for step in every_step():
        assert PINNED.fullmatch(step.get("uses", f"a/b@{'0' * 40}")), step
        assert "${{" not in step.get("run", ""), step


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_may_read_only_and_keep_no_credentials(path: Path) -> None:
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    assert "pull_request_target" not in workflow["on"]
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"]
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False


def test_the_tests_workflow_runs_what_the_readme_says_on_every_python() -> None:
    (job,) = read(ROOT / ".github" / "workflows" / "test.yml")["jobs"].values()
    assert job["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13"]
    (command,) = re.findall(r"`(make [\w-]+)` runs", (ROOT / "README.md").read_text("utf-8"))
    assert any(step.get("run", "").endswith(command) for step in job["steps"])


def test_the_lock_has_what_pyproject_asks_for_and_no_index() -> None:
    """Names, versions, markers and hashes: right whatever mirror somebody installs from."""
    text = (ROOT / "requirements-dev.txt").read_text(encoding="utf-8")
    assert "://" not in text
    assert not re.findall(r"^-(?!-hash)", text, flags=re.MULTILINE)
    locked = set(re.findall(r"^([\w.-]+)==", text, flags=re.MULTILINE))
    about = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = about["project"]["dependencies"] + about["dependency-groups"]["dev"]
    names = {re.split(r"[\[><=~ ]", line)[0].lower() for line in wanted} - {"metal-eval"}
    assert names <= locked


def test_the_citation_is_of_this_version() -> None:
    citation = read(ROOT / "CITATION.cff")
    assert citation["version"] == metal.__version__
    assert citation["preferred-citation"]["title"].startswith("METAL: ")


def test_forms_of_issues_and_hooks_are_whole() -> None:
    for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"):
        form = read(path)
        assert path.name == "config.yml" or {"name", "description", "body"} <= {*form}
    hooks = [
        hook for repo in read(ROOT / ".pre-commit-config.yaml")["repos"] for hook in repo["hooks"]
    ]
    tools = {hook["entry"].split()[0] for hook in hooks}
    assert tools == {".venv/bin/ruff", ".venv/bin/mypy", ".venv/bin/python"}  # of one version
