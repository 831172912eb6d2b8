"""One concept, one verb: which command words mean, and that the older ones still mean theirs."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from metal.cli import metal as root
from metal.cli.groups import Group


def meant(*words: str) -> tuple[click.Command, str, list[str]]:
    """The command that these words mean, as its usage names it, and what is left of them."""
    group, args = root.get_command(click.Context(root), words[0]), [*words[1:]]
    assert group
    if not isinstance(group, Group):
        return group, words[0], args
    context = click.Context(group, info_name=words[0])
    group.parse_args(context, args)
    left = [*context._protected_args, *context.args]
    name, command, rest = group.resolve_command(context, left)
    assert command
    return command, f"{words[0]} {name}".strip(), rest


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("design --for scores d", "design labels d"),
        ("design d --for=anchors -l en", "design anchors d -l en"),
        ("sample d --labels=5", "sample labels d --labels=5"),
        ("monitor --simulate", "monitor simulate"),
        ("bias d -l hi", "bias language d -l hi"),
        ("bias d --plan", "bias plan d"),
        ("billboard b --history", "billboard history b"),
        ("gate --watch g.toml r", "gate watch g.toml r"),
        ("judges", "judges list"),
        ("judges fake:x", "judges test fake:x"),
        ("metric --json", "metric list --json"),
        ("metric chrf", "metric check chrf"),
        ("prompt", "prompt list"),
        ("prompt d -c tone", "prompt show d -c tone"),
    ],
)
def test_new_and_older_words_mean_one_command(new: str, old: str) -> None:
    command, _, rest = meant(*new.split())
    older, _, left = meant(*old.split())
    assert (command, rest) == (older, left)


def test_usage_names_the_words_that_were_typed() -> None:
    assert meant("design", "d", "--for", "scores")[1] == "design --for scores"
    assert meant("design", "d")[1] == meant("design", "d", "--for", "verdict")[1][:6] == "design"


def test_a_gate_is_told_from_two_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("today", "before"):
        (tmp_path / folder).mkdir()
    for file in ("gate.toml", "mine.gate", "ratings.csv"):
        (tmp_path / file).touch()
    diff = root.get_command(click.Context(root), "diff")
    assert meant("gate", "today", "before")[0] is diff
    assert meant("gate", "ratings.csv", "before", "--margin", "0.2")[0] is diff
    for gate in ("gate.toml", "mine.gate"):
        assert meant("gate", gate, "today")[0] is not diff
        assert meant("gate", "--out", "before", gate, "today")[0] is not diff
    assert meant("gate", "not-there.toml", "nowhere")[0] is not diff


@pytest.mark.parametrize(
    "words", ["design d --for nonsense", "design --for", "design --for=score d"]
)
def test_a_choice_that_there_is_not_names_those_there_are(words: str) -> None:
    with pytest.raises(click.UsageError, match="--for verdict, --for scores, --for anchors"):
        meant(*words.split())
