"""Steps of GitHub workflows and actions, carried out in a shell on this machine.

What a step runs is run by bash as the runner would, with the files and variables that the runner
gives it; expressions (`${{ }}`) may stand in `if`, `env` and `with` only. An action of the checkout
(`uses: ./path`) is carried out step by step. Actions of others are not: they have to be pinned to a
commit, and what is uploaded has to exist. `pip install` is recorded in the place of being done.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from glob import glob
from pathlib import Path
from typing import Any

import yaml

PINNED = re.compile(r"[\w-]+/[\w./-]+@[0-9a-f]{40}")
EXPRESSION = re.compile(r"\$\{\{ *(.*?) *\}\}")
# Of Python: installing is left out, all else is done.
PYTHON = """#!/bin/bash
if [ "$1 $2 $3" = "-m pip install" ]; then printf '%s\\n' "${@:4}" >> "$INSTALLED"; exit; fi
exec {python} "$@"
"""
PIP = """#!/bin/bash
exec python -m pip "$@"
"""


def read(path: Path) -> dict[str, Any]:
    """A workflow or an action; its triggers by the name `on`, which YAML takes for a truth."""
    content: dict[Any, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {"on" if name is True else name: value for name, value in content.items()}


@dataclass
class Runner:
    """The runner of one job.

    workspace: where the checkout is. temp: a folder for what the runner keeps. After `run`: ok,
    whether every step succeeded; log, what steps printed; uploaded, paths by the artefact's name.
    """

    workspace: Path
    temp: Path
    env: Mapping[str, str]
    secrets: Mapping[str, str] = field(default_factory=dict)
    ok: bool = True
    log: str = ""
    uploaded: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.temp.mkdir()
        programs = self.temp / "bin"
        programs.mkdir()
        python = PYTHON.replace("{python}", sys.executable)
        for program, script in {"python": python, "pip": PIP, "pip3": PIP}.items():
            (programs / program).write_text(script, encoding="utf-8")
            (programs / program).chmod(0o755)
        (self.temp / "runner").mkdir()

    @property
    def summary(self) -> str:
        path = self.temp / "summary"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    @property
    def installed(self) -> list[str]:
        """What pip was told, a word each."""
        path = self.temp / "installed"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def run(self, job: Mapping[str, Any]) -> None:
        """The steps of a job."""
        self._steps(job["steps"], {"secrets": dict(self.secrets)}, job.get("env", {}), Path())

    def use(self, action: Path, inputs: Mapping[str, str]) -> dict[str, str]:
        """The steps of an action in a folder, with these inputs. Returns its outputs."""
        about = read(action / "action.yml")
        unknown = {*inputs} - {*about["inputs"]}
        assert not unknown, f"no inputs of {action}: {unknown}"
        values = {name: about.get("default", "") for name, about in about["inputs"].items()}
        values |= dict(inputs)
        missing = [name for name, each in about["inputs"].items() if each.get("required")]
        assert all(values[name] for name in missing), missing
        context: dict[str, Any] = {"inputs": values}
        self._steps(about["runs"]["steps"], context, {}, action)
        return {name: filled(each["value"], context) for name, each in about["outputs"].items()}

    def _steps(
        self, steps: Any, context: dict[str, Any], env: Mapping[str, Any], action: Path
    ) -> None:
        context["steps"] = {}
        for step in steps:
            wish = str(step.get("if", "true"))
            if not (self.ok or "always()" in wish) or not true(wish, context):
                continue
            if "uses" in step:
                self._uses(step["uses"], texts(step.get("with", {}), context))
                continue
            assert "${{" not in step["run"], "an expression in a script is code to the shell"
            outputs = self._script(
                step["run"], texts({**env, **step.get("env", {})}, context), action
            )
            context["steps"][step.get("id")] = outputs

    def _uses(self, what: str, inputs: dict[str, str]) -> None:
        if what.startswith("./"):
            self.use(self.workspace / what, inputs)
            return
        assert PINNED.fullmatch(what), f"{what} is not pinned to a commit"
        if what.startswith("actions/upload-artifact@"):
            paths = inputs["path"].split()
            found = [path for path in paths if glob(str(self.workspace / path))]
            assert found == paths or not self.ok, f"nothing to upload in {paths}"
            self.uploaded |= {inputs["name"]: found}

    def _script(self, script: str, env: Mapping[str, str], action: Path) -> dict[str, str]:
        """Run it as `shell: bash` does. Returns what it wrote to GITHUB_OUTPUT."""
        output = self.temp / "output"
        output.write_text("", encoding="utf-8")
        beside = f"{self.temp / 'bin'}{os.pathsep}{Path(sys.executable).parent}"
        given = {
            "GITHUB_ACTION_PATH": str(action),
            "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(self.temp / "summary"),
            "GITHUB_WORKSPACE": str(self.workspace),
            "INSTALLED": str(self.temp / "installed"),
            "PATH": f"{beside}{os.pathsep}{os.environ['PATH']}",
            "RUNNER_TEMP": str(self.temp / "runner"),
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            cwd=self.workspace,
            env={**self.env, **env, **given},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
        self.log += done.stdout
        self.ok = self.ok and not done.returncode
        lines = output.read_text(encoding="utf-8").splitlines()
        return dict(line.split("=", 1) for line in lines)


def texts(values: Mapping[str, Any], context: Mapping[str, Any]) -> dict[str, str]:
    return {name: filled(str(value), context) for name, value in values.items()}


def filled(text: str, context: Mapping[str, Any]) -> str:
    """The text with its expressions replaced: names only, as in `inputs.data`."""
    return EXPRESSION.sub(lambda each: looked_up(each[1], context), text)


def looked_up(name: str, context: Mapping[str, Any]) -> str:
    """What a name stands for; nothing where there is nothing."""
    value: Any = context
    for part in name.split("."):
        value = value.get(part, {}) if part != "outputs" else value
    return value or ""


def true(wish: str, context: Mapping[str, Any]) -> bool:
    """Whether a condition holds: parts `NAME != ''`, `always()`, joined by &&."""
    parts = [part.strip() for part in wish.split("&&")]
    names = [part.removesuffix("!= ''").strip() for part in parts if part.endswith("!= ''")]
    assert len(names) + sum(part in ("always()", "true") for part in parts) == len(parts), wish
    return all(looked_up(name, context) for name in names)
