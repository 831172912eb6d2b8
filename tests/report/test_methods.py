"""The methods page says how people were put together, whichever rule it was, and every rule can be asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click
import pytest

from metal.cli.analyses import audit
from metal.cli.datasets import describe
from metal.data.dataset import Dataset
from metal.runs.audit_run import AuditRun
from metal.show.audit.words import definitions
from metal.stats.aggregate import ALL_RULES


@pytest.mark.parametrize(
    ("rule", "words", "source"),
    [
        ("majority-or-mean", "the mean of the answers", "METAL 3.2.6"),
        ("dawid-skene", "what they mistake for what; fitted once", "Dawid and Skene 1979"),
        ("mace", "how often they know the answer", "Hovy et al. 2013"),
    ],
)
def test_the_rule_is_defined(
    make_dataset: Callable[..., Dataset], write_run: Callable[..., Path], rule: str, words: str, source: str
) -> None:
    people = {"A1": [0, 1, 2, 0], "A2": [0, 1, 2, 1], "A3": [0, 1, 1, 0], "judge": [0, 1, 2, 0]}
    first = definitions(AuditRun.read(write_run(make_dataset({"hi": people}), aggregate=rule)))[0]
    assert words in first.words
    assert first.source == source


@pytest.mark.parametrize("verb", [audit, describe])
def test_every_rule_can_be_asked_for(verb: click.Command) -> None:
    choices = next(option.type for option in verb.params if option.name == "aggregate")
    assert isinstance(choices, click.Choice)
    assert tuple(choices.choices) == ALL_RULES
