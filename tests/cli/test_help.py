"""`--help` is a screen of what is often needed, `--help-all` the whole."""

from __future__ import annotations

import re

import click
import pytest
from click.testing import CliRunner

from metal.cli import metal
from metal.cli.verb import HEIGHT
from tests.api.test_public import verbs


def shown(*words: str) -> str:
    done = CliRunner().invoke(metal, words, prog_name="metal", terminal_width=80)
    assert done.exit_code == 0
    return done.output


def options(text: str) -> set[str]:
    """The long flags at the beginnings of lines below a heading."""
    listed = text.partition("\nOptions:\n")[2]
    lines = re.findall(r"^  (?:-\w, )?(--[\w-]+(?: / --[\w-]+)?)", listed, re.MULTILINE)
    return {flag for line in lines for flag in line.split(" / ")}


@pytest.mark.parametrize("words", verbs(), ids=" ".join)
def test_help_fits_a_screen_and_every_option_is_in_one_group(words: tuple[str, ...]) -> None:
    brief, whole = shown(*words, "--help"), shown(*words, "--help-all")
    assert len(brief.splitlines()) <= HEIGHT == 40
    assert max(map(len, [*brief.splitlines(), *whole.splitlines()])) <= 80
    usual, _, rare = whole.partition("\nRarely needed:\n")
    rare = f"\nOptions:\n{rare}"
    assert options(usual) == options(brief)
    assert not options(usual) & options(rare)
    declared = [option for option in verbs()[words].params if isinstance(option, click.Option)]
    longest = {max(set(option.opts) - set(getattr(option, "aliases", ())), key=len) for option in declared}
    assert options(usual) | options(rare) >= longest
    assert bool(options(rare)) == any(getattr(option, "rare", False) for option in declared)


def test_rarely_needed_options_paragraphs_and_examples_come_with_help_all() -> None:
    brief, whole = shown("judge", "--help"), shown("judge", "--help-all")
    for text in ("--prompt-language", "--engine ray", "--out runs/baselines"):
        assert text in whole
        assert text not in brief
    assert "--resample" not in shown("billboard", "--help")
    for part in ("--resamples", "references  Agreement", "`metal score`"):  # a group's help is its default's
        assert part in shown("billboard", "--help-all")
