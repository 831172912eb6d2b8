"""Messages name functions and parameters that are there: each call in backticks in the code is read
as the command line reads it.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import metal
from metal.api.options import shared_options_of

PACKAGE = Path(metal.__file__).parent
CALL = re.compile(r"`metal\.(\w+)(\([^`]*\))`")
HOLE = "hole"  # for a value of an f-string
METHODS = (".save(folder)",)  # of what a call returns, which no command line has


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text of each string of a module, with HOLE for each value of an f-string."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    parts = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in node.values
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            values = [
                str(part.value) if isinstance(part, ast.Constant) else HOLE for part in node.values
            ]
            yield node.lineno, "".join(values)
        elif (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts
        ):
            yield node.lineno, node.value


def wrong(text: str) -> Iterator[str]:
    """What no function takes: calls of functions and names of parameters that are not there."""
    for match in CALL.finditer(text):
        function, arguments = getattr(metal, match[1], None), match[2]
        if function is None:
            if match[1] != HOLE:
                yield match[0]
            continue
        for method in METHODS:
            arguments = arguments.removesuffix(method)
        try:
            call = ast.parse(f"f{arguments}", mode="eval").body
        except SyntaxError:
            yield match[0]
            continue
        taken = {*inspect.signature(function).parameters, *shared_options_of(function)}
        if not isinstance(call, ast.Call) or {each.arg for each in call.keywords} - taken - {None}:
            yield match[0]


def test_calls_in_messages_are_calls_of_functions_that_are_there() -> None:
    number, odd = 0, []
    for path in sorted(PACKAGE.rglob("*.py")):
        for line, text in texts(path):
            number += len(CALL.findall(text))
            odd += [f"{path.relative_to(PACKAGE)}:{line} {call}" for call in wrong(text)]
    assert odd == []
    assert number > 80


def test_a_slip_is_found() -> None:
    assert [*wrong('Ask again: `metal.judge("d", resme="runs/x")`')]
    assert [*wrong("`metal.adit(x)`")]
    assert not [*wrong('`metal.judge("d", resume="runs/x")`')]
