"""What a public function says of itself: its sections, its parameters, an example that can be
typed.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from textwrap import dedent
from typing import Any

import pytest

import metal
from metal.api.options import options_of, shared_options_of
from metal.data.option import check_value

FUNCTIONS = {
    name: getattr(metal, name) for name in metal.__all__ if inspect.isfunction(getattr(metal, name))
}
WITHOUT_ERRORS = {"demo", "formats", "metric_list"}  # they read nothing of a user's


def sections(function: Callable[..., Any]) -> dict[str, str]:
    """Heading -> what stands under it, without its indentation."""
    text = inspect.getdoc(function) or ""
    found = re.findall(
        r"^(Args|Returns|Raises|Example):\n(.*?)(?=^\w|\Z)", text, re.MULTILINE | re.DOTALL
    )
    return {heading: dedent(body).strip() for heading, body in found}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_public_function_says_what_it_takes_gives_and_refuses(name: str) -> None:
    function, parts = FUNCTIONS[name], sections(FUNCTIONS[name])
    expected = ["Args", "Returns", "Raises", "Example"]
    if name in WITHOUT_ERRORS:
        expected.remove("Raises")
    if not inspect.signature(function).parameters:
        expected.remove("Args")
    assert list(parts) == expected
    described = re.findall(r"^(\w+(?:, \w+)*): ", parts.get("Args", ""), re.MULTILINE)
    in_prose = {"ratings"} if "`ratings`" in (inspect.getdoc(function) or "") else set()
    parameters = set(inspect.signature(function).parameters) - {"reading"} - in_prose
    assert parameters <= {each for names in described for each in names.split(", ")}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_example_is_a_call_that_the_function_takes(name: str) -> None:
    example = ast.parse(sections(FUNCTIONS[name])["Example"])
    calls = {}
    for node in ast.walk(example):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name("metal"), attr=called)):
                calls[called] = node
    assert name in calls
    for called, call in calls.items():
        function = FUNCTIONS[called]
        options = options_of(function) | shared_options_of(function)
        named = {each.arg or "": each.value for each in call.keywords}
        bound = inspect.signature(function).bind(*call.args, **named)
        for option, value in bound.arguments.items():
            if option in options and not isinstance(value, ast.Name):
                kind, declared, _ = options[option]
                check_value(option, kind, declared, ast.literal_eval(value))
