"""What a page shows is what happens: its blocks, run in order in a folder that begins empty.

- console: lines with `$ ` are commands; below each stands what it prints, on standard error where
  it fails. `...` stands for anything. A command with nothing below it has to succeed.
- bash: every line is a command that has to succeed; one that ends with `&` goes on until the page
  ends, and has begun when the file into which it prints has something.
- python: one program a page, run in the folder; where it has `>>> `, what is printed is compared.
- a block with title="NAME" is a file of that name; every other block (sh, py, text, ...) is only
  shown.
- a workflow that a page shows is carried out after the rest (tests/workflows.py), with METAL's
  checkout in tools/metal.

`<!-- has: datasets/demo, pariksha -->` puts copies of datasets, or of the published data, in the
folder. Models are a local server's.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from tests.cli.forks import shared
from tests.openai_batch_server import OpenAIBatchServer
from tests.workflows import Runner, read

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^( *)```(\w+)([^\n]*)\n(.*?)^\1```", flags=re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block. line: of the page, where its text begins."""

    kind: str
    title: str
    text: str
    line: int


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        named = re.search(r'title="([^"]+)"', found[3])
        yield Block(
            found[2],
            named[1] if named else "",
            dedent(found[4]),
            text[: found.start(4)].count("\n") + 1,
        )


def wanted(page: Path) -> list[str]:
    """What the page says its folder has."""
    named = re.search(r"<!-- has: (.*?) -->", page.read_text(encoding="utf-8"))
    return named[1].split(", ") if named else []


def run(
    page: Path, folder: Path, reference: Path | None, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """Run the page in the folder. Returns the names that its Python made."""
    for name in wanted(page):
        if (ROOT / name).exists():
            shutil.copytree(ROOT / name, folder / name)
        else:
            assert reference
            (folder / name).symlink_to(reference / name)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")
    names: dict[str, Any] = {}
    with OpenAIBatchServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
        with ExitStack() as running:
            for block in blocks(page):
                _run_block(block, f"{page.name}:{block.line}", names, running)
        for workflow in folder.glob(".github/workflows/*.yml"):
            _carry_out_workflow(workflow, folder)
    return names


def _carry_out_workflow(workflow: Path, folder: Path) -> None:
    (folder / "tools").mkdir()
    (folder / "tools" / "metal").symlink_to(ROOT)
    secrets = {"OPENAI_API_KEY": os.environ["OPENAI_API_KEY"]}
    runner = Runner(folder, folder / "runner", os.environ | {"PYTHONPATH": str(ROOT)}, secrets)
    for job in read(workflow)["jobs"].values():
        runner.run(job)
        assert runner.ok, runner.log


def _run_block(block: Block, where: str, names: dict[str, Any], running: ExitStack) -> None:
    if block.title:
        path = Path(block.title)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")
    elif block.kind == "console":
        assert block.text.startswith("$ "), where
        for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
            command, shown = re.split(r"(?<!\\)\n", part, maxsplit=1)
            _check(command, shown, where)
    elif block.kind == "bash":
        for command in re.split(r"(?<!\\)\n", block.text.strip()):
            if command.endswith("&"):
                _begin(command.removesuffix("&"), running)
            else:
                _check(command, "", where)
    elif block.kind == "python" and ">>> " in block.text:
        test = doctest.DocTestParser().get_doctest(block.text, names, where, None, None)
        said: list[str] = []
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        failed = (
            doctest.DocTestRunner(optionflags=flags)
            .run(test, out=said.append, clear_globs=False)
            .failed
        )
        names |= test.globs
        assert not failed, "".join(said)
    elif block.kind == "python":
        exec(compile(block.text, where, "exec"), names)


def _begin(command: str, running: ExitStack) -> None:
    """Start a command that prints into a file, and wait until it has begun."""
    file = Path(command.rpartition(">")[2].strip())
    process = subprocess.Popen(
        ["bash", "-c", f"exec {command}"], env=os.environ | {"PATH": _path()}
    )
    running.callback(process.wait, 60)
    running.callback(process.send_signal, signal.SIGINT)
    while not (file.is_file() and file.stat().st_size):
        assert process.poll() is None, f"{command} ended"
        time.sleep(0.05)


def _path() -> str:
    return f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


def _check(command: str, shown: str, where: str) -> None:
    code, out, err = _carry_out(command)
    assert shown.strip() or not code, f"{where}: {command}\n{out}{err}"
    said, expected = (
        "\n".join(line.rstrip() for line in text.strip("\n").splitlines())
        for text in (err if code else out, shown)
    )
    matches = not expected or re.fullmatch(re.escape(expected).replace(r"\.\.\.", "(?s:.*)"), said)
    assert matches, f"{where}: {command}\n--- shown\n{expected}\n--- said\n{said}"


def _carry_out(command: str) -> tuple[int, str, str]:
    """`metal` as a fork; anything else, and whatever needs a shell, by bash with `metal` and
    `python` at hand.
    """
    command = command.replace("\\\n", " ")
    words = shlex.split(command, comments=True)
    if (
        words
        and words[0] == "metal"
        and not {"|", ">", ">>", "&&", "||"} & set(words)
        and "*" not in command
    ):
        done = (
            shared()
            .at(Path.cwd(), os.environ | {"PYTHONPATH": str(ROOT)})
            .start(*words[1:])
            .wait(300)
        )
        assert "Traceback" not in done.err, done.err
        return done.code, done.out, done.err
    ended = subprocess.run(
        ["bash", "-c", command],
        env=os.environ | {"PATH": _path()},
        capture_output=True,
        text=True,
        timeout=300,
    )
    return ended.returncode, ended.stdout, ended.stderr
