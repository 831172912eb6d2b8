"""What an option is and may be is declared once: for functions, commands and settings records."""

from __future__ import annotations

import ast
import inspect
import math
import re
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_args

import click
import pytest
from click.testing import CliRunner

import metal
from metal.api.options import Option, documented_by, options_of, shared_options_of
from metal.auditing.settings import AuditSettings
from metal.boards.settings import BoardSettings
from metal.cli import metal as command_line
from metal.errors import UsageError
from metal.questions.design.settings import DesignSettings, LabelSettings
from metal.questions.leaderboard.settings import LeaderboardSettings
from tests.api import reference

RECORDS: dict[str, Any] = {
    "audit": AuditSettings(),
    "billboard": BoardSettings(),
    "design": DesignSettings(),
    "design_labels": LabelSettings(),
    "leaderboard": LeaderboardSettings(),
}
ENDS = [
    (verb, name, end)
    for verb, record in RECORDS.items()
    for name, (_, about, _) in options_of(getattr(metal, verb)).items()
    if name in {field.name for field in fields(record)} and not about.open_ends
    for end in (about.least, about.most)
    if end is not None
]
FUNCTIONS = {
    name: function
    for name in metal.__all__
    if inspect.isfunction(function := getattr(metal, name)) and options_of(function)
}


def beyond(kind: Any, about: Option) -> list[Any]:
    """Values that an option may not have."""
    values: list[Any] = [f"not {about.choices[0]}"] if about.choices else []
    step = 0 if about.open_ends else 1 if int in {kind, *get_args(kind)} else 0.001
    values += [] if about.least is None else [about.least - step]
    values += [] if about.most is None else [about.most + step]
    return [int(each) if step == 1 else each for each in values]


BEYOND = [
    (name, parameter, value)
    for name, function in FUNCTIONS.items()
    for parameter, (kind, about, _) in options_of(function).items()
    for value in beyond(kind, about)
]


def filled(function: Callable[..., Any]) -> dict[str, Any]:
    """What a function needs at least; nothing of it exists."""
    return {
        name: 1 if name == "labels" else "nowhere"
        for name, each in inspect.signature(function).parameters.items()
        if each.default is each.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
    }


@pytest.mark.parametrize(("verb", "name", "end"), ENDS)
def test_the_ends_of_an_option_are_settings(verb: str, name: str, end: Any) -> None:
    record = RECORDS[verb]
    whole = isinstance(getattr(record, name), int)
    assert getattr(replace(record, **{name: int(end) if whole else end}), name) == end


@pytest.mark.parametrize(("name", "parameter", "value"), BEYOND)
def test_a_function_refuses_a_value_before_it_reads(name: str, parameter: str, value: Any) -> None:
    function = FUNCTIONS[name]
    with pytest.raises(UsageError, match=f"^`{parameter}` .*: use "):
        function(**filled(function) | {parameter: value})


@pytest.mark.parametrize("value", ["half", math.nan, 1.5])
def test_what_is_no_share_is_no_epsilon(value: Any) -> None:
    with pytest.raises(UsageError, match=r"^`epsilon` .*: use a share from 0 to 1$"):
        metal.audit("nowhere.csv", epsilon=value)


def test_the_command_line_refuses_what_functions_refuse() -> None:
    """By the range that it shows; the words of the error are click's."""
    checked = 0
    for words, command in reference.verbs().items():
        name = "_".join(words).replace("-", "_")
        if name not in FUNCTIONS or isinstance(command, click.Group):
            continue
        flags = {each.name: each.opts[0] for each in command.params}
        for verb, parameter, value in BEYOND:
            if verb == name and parameter in flags and not isinstance(value, str):
                line = [*words, f"{flags[parameter]}={value}"]
                answer = CliRunner().invoke(command_line, line)
                assert answer.exit_code == 2, line
                assert re.search(r"Invalid value|range|use ", answer.output), answer.output
                checked += 1
    assert checked > 60


@pytest.mark.parametrize("name", FUNCTIONS)
def test_help_shows_plain_types(name: str) -> None:
    shown = str(inspect.signature(FUNCTIONS[name]))
    assert "Annotated" not in shown
    assert "Option(" not in shown


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_parameter_is_an_option_or_told_in_words(name: str) -> None:
    function = FUNCTIONS[name]
    options = {**options_of(function), **shared_options_of(function)}
    for parameter, each in inspect.signature(function).parameters.items():
        if each.kind is not each.VAR_KEYWORD and not (
            parameter in options and options[parameter][1].help
        ):
            assert re.search(rf"\b{parameter}\b", function.__doc__ or "", re.IGNORECASE), parameter


def test_a_default_that_differs_from_the_record_is_no_function() -> None:
    def audits(*, keep: float = 0.8) -> None:
        """Nothing."""

    with pytest.raises(TypeError, match=r"audits: `keep` is 0.8 here and 0.7 in AuditSettings"):
        documented_by(AuditSettings)(audits)


def test_settings_are_checked_by_their_options_alone() -> None:
    """A comparison of a setting with a number is an Option's; one end in, one end out is not."""
    by_hand, checked = set(), set()
    for path in Path(metal.__file__).parent.rglob("settings.py"):
        for record in ast.walk(ast.parse(path.read_text())):
            if isinstance(record, ast.FunctionDef) and record.name == "__post_init__":
                checked.add(path.parent.name)
                assert "check_options(self)" in ast.unparse(record), path
                by_hand |= {
                    ast.unparse(each) for each in ast.walk(record) if isinstance(each, ast.Compare)
                }
    assert checked == {"auditing", "boards", "design", "drift", "leaderboard"}
    assert by_hand == {"0 <= self.test_share < 1", "self.prices.pay is None"}


def test_several_members_may_be_one_text() -> None:
    with pytest.raises(UsageError, match=r"^`members` 'robot': use one of human, llm, metric"):
        metal.billboard("nowhere.csv", members="metric, robot")
    with pytest.raises(metal.errors.MetalError, match=r"nowhere\.csv"):
        metal.billboard("nowhere.csv", members="metric, llm")
