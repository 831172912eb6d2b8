"""Guess what the user meant by a first word that is no verb: another verb, or a verb for this file
or folder.
"""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Sequence
from pathlib import Path

import click

from metal.errors import MetalError

NEARLY = 0.65  # share of letters that a mistyped verb has in common with what was meant

# Words that other programs use for what a verb does here.
OTHER_WORDS = {
    "evaluate": "audit",
    "eval": "audit",
    "help": "--help",
    "list": "ls",
    "open": "report",
    "show": "report",
    "validate": "check",
    "version": "--version",
}


def no_verb(
    word: str, more: Sequence[str], ctx: click.Context, verbs: Sequence[str]
) -> click.UsageError:
    """The error for a first word that is no verb.

    more: the words typed after it.
    """
    path = Path(word)
    try:
        command = _for_path(path)
    except MetalError:  # the folder is damaged: `metal ls` says how
        command = ["metal", "ls", str(path)]
    if command:
        return click.UsageError(
            f"{word!r} is not a verb; did you mean `{shlex.join([*command, *more])}`?"
        )
    near = difflib.get_close_matches(word.lower(), verbs, n=2, cutoff=NEARLY)
    if word.lower() in OTHER_WORDS:
        near = [OTHER_WORDS[word.lower()]]
    suggestion = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    return click.UsageError(f"No such command {word!r}.{suggestion}", ctx)


def _for_path(path: Path) -> list[str]:
    """The words of a command that takes this file or folder; empty if no verb does."""
    from metal.cli.at_hand import kinds
    from metal.data.missing import nearest_path
    from metal.data.tables.files import is_table
    from metal.runs.parts import command_of
    from metal.show.commands import next_command

    if is_table(path):
        meant = path if path.exists() else nearest_path(path)
        return ["metal", "audit", str(meant or path)]
    if (path / "dataset.toml").is_file():
        return shlex.split(next_command(path, kinds(path)))
    if (path / "run.toml").is_file():
        return _for_run(path, command_of(path))
    return []


def _for_run(run: Path, command: str) -> list[str]:
    """The words of a verb that takes a run of this command."""
    from metal.data.run_toml import read_run_toml
    from metal.runs.kinds import is_kind

    if is_kind(command):
        return ["metal", "report", str(run), "--open"]
    datasets = read_run_toml(run)["datasets"]
    data = datasets[0].get("path", "DATASET") if datasets else "DATASET"
    if command == "score":
        return ["metal", "billboard", data, str(run)]
    return ["metal", "audit", data, str(run)] if command == "judge" else ["metal", "ls", str(run)]
