"""How functions are written, counted: what a formatter and ruff do not see."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeGuard

import pytest

from tests.test_architecture import nodes as nodes_of

PRODUCT = Path(__file__).resolve().parents[1] / "metal"
MOST_BRANCHES = 15
MEAN_BRANCHES = 4.3  # of all functions; those of a nested function count for both
MOST_PARAMETERS = 12
SHORT = 3  # lines of a helper's body
# Private helpers of so few lines that are called once. Each was read: its name, or its docstring,
# says what a comprehension or a condition at the call would not. Inline a new one instead.
MOST_SHORT_HELPERS = 66
# Tests that hold so many characters in a row of a sentence of the product: they break when an
# editor rewords it. Those that are left have the wording, a command or a file as their subject.
PINNED = 25
MOST_PINNING_TESTS = 150
BRANCHING = (
    *(ast.If, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.Assert),
    *(ast.IfExp, ast.comprehension, ast.match_case),
)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
Functions = ast.FunctionDef | ast.AsyncFunctionDef
Nodes = tuple[ast.AST, ...]
Finding = tuple[int, str]  # line, what stands there


def branches(function: ast.AST) -> int:
    """Branches of a function, those in comprehensions, conditional expressions and `and`/`or`
    counted, and 1.
    """
    number = 1
    for node in ast.walk(function):
        number += isinstance(node, BRANCHING)
        if isinstance(node, ast.comprehension):
            number += len(node.ifs)
        elif isinstance(node, ast.BoolOp):
            number += len(node.values) - 1
    return number


def branching(nodes: Nodes) -> Iterator[Finding]:
    for node in nodes:
        if isinstance(node, Functions) and branches(node) > MOST_BRANCHES:
            yield node.lineno, f"{node.name} has {branches(node)} branches"


def conditionals(nodes: Nodes) -> Iterator[Finding]:
    """Conditional expressions inside another, and statements with several."""
    for node in nodes:
        if not isinstance(node, ast.stmt) or isinstance(node, Functions | ast.ClassDef):
            continue
        heads = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        number = sum(isinstance(part, ast.IfExp) for head in heads for part in ast.walk(head))
        if number > 1:
            yield node.lineno, f"{number} conditional expressions in one statement"


def comprehensions(nodes: Nodes) -> Iterator[Finding]:
    for node in nodes:
        if isinstance(node, COMPREHENSIONS):
            clauses = len(node.generators) + sum(len(each.ifs) for each in node.generators)
            if clauses > 2:
                yield node.lineno, f"a comprehension of {clauses} clauses"


def parameters(nodes: Nodes) -> Iterator[Finding]:
    """Functions with more parameters than a caller can keep apart; public ones and options, whose
    parameters are a command's, may have them.
    """
    for node in nodes:
        if not isinstance(node, Functions) or any(
            _declares_options(d) for d in node.decorator_list
        ):
            continue
        number = len(node.args.posonlyargs + node.args.args + node.args.kwonlyargs)
        if number > MOST_PARAMETERS:
            yield node.lineno, f"{node.name} has {number} parameters"


def _declares_options(decorator: ast.expr) -> bool:
    name = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(name, ast.Name) and name.id.startswith("documented")


@pytest.mark.parametrize("rule", [branching, conditionals, comprehensions, parameters])
def test_code_stays_plain(rule: Callable[[Nodes], Iterator[Finding]]) -> None:
    found = [
        f"{path.relative_to(PRODUCT.parent)}:{line}: {what}"
        for path in sorted(PRODUCT.rglob("*.py"))
        for line, what in rule(nodes_of(path))
    ]
    assert found == []


def test_functions_have_few_branches_on_average() -> None:
    """Lift a nested function to the module, or split a long one, if this fails."""
    numbers = [
        branches(node)
        for path in sorted(PRODUCT.rglob("*.py"))
        for node in nodes_of(path)
        if isinstance(node, Functions)
    ]
    assert sum(numbers) / len(numbers) <= MEAN_BRANCHES


def short_helpers(trees: dict[Path, ast.Module]) -> Iterator[str]:
    """Private functions of up to SHORT lines that one place calls and nothing else names."""
    outside = " ".join(
        path.read_text(encoding="utf-8") for path in PRODUCT.parent.glob("tests/**/*.py")
    )
    in_tests = set(re.findall(r"\b_[a-z]\w*", outside))
    for path, tree in trees.items():
        nodes = list(ast.walk(tree))
        named = Counter(node.id for node in nodes if isinstance(node, ast.Name))
        called = Counter(
            node.func.id
            for node in nodes
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        )
        for function in filter(_is_short_and_private, tree.body):
            name = function.name
            inside = any(getattr(node, "id", "") == name for node in ast.walk(function))
            if named[name] == called[name] == 1 and name not in in_tests and not inside:
                yield f"{path.relative_to(PRODUCT.parent)}:{function.lineno}: {name}"


def _is_short_and_private(node: ast.stmt) -> TypeGuard[ast.FunctionDef]:
    if not isinstance(node, ast.FunctionDef) or node.decorator_list:
        return False
    body = node.body[1:] if ast.get_docstring(node) else node.body
    short = bool(body) and (body[-1].end_lineno or 0) - body[0].lineno < SHORT
    return short and node.name.startswith("_")


def test_few_short_helpers_are_called_once() -> None:
    trees = {
        path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(PRODUCT.rglob("*.py"))
    }
    found = list(short_helpers(trees))
    assert len(found) <= MOST_SHORT_HELPERS, "\n".join(found)


def literals(tree: ast.AST) -> Iterator[str]:
    """Strings that stand in code, without those that stand alone, as docstrings do."""
    nodes = list(ast.walk(tree))
    alone = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if not isinstance(node, ast.Constant) or id(node) in alone:
            continue
        if isinstance(node.value, str):
            yield node.value


def pieces(text: str) -> Iterator[str]:
    """Pieces of three words or more, as long as PINNED."""
    for start in range(len(text) - PINNED + 1):
        piece = text[start : start + PINNED]
        if piece.count(" ") >= 2:
            yield piece


def pinning(sentences: set[str]) -> Iterator[str]:
    tests = PRODUCT.parent / "tests"
    for path in sorted(tests.rglob("test_*.py")):
        for node in nodes_of(path):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                for text in literals(node):
                    if not sentences.isdisjoint(pieces(text)):
                        yield f"{path.relative_to(tests)}:{node.lineno}: {text[:60]!r}"
                        break


def test_few_tests_pin_the_words_of_a_sentence() -> None:
    sentences = {
        piece
        for path in PRODUCT.rglob("*.py")
        for text in literals(nodes_of(path)[0])
        for piece in pieces(text)
    }
    found = list(pinning(sentences))
    assert len(found) <= MOST_PINNING_TESTS, (
        f"{len(found)} tests hold a sentence of the product, {MOST_PINNING_TESTS} may. Write"
        ' `assert tells(message, "fact", ...)` (tests/saying.py) with names, numbers and options'
        " in place of the words:\n" + "\n".join(found)
    )
