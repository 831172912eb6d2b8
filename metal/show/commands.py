"""Turn messages into the words of the command line.

Outside `cli/`, messages name parameters and functions: `resamples`, `force=True`,
`metal.judge(resume="runs/x")`. On a page and in a terminal these become --resamples, --force and
`metal judge --resume runs/x`.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metal.data.tables.typed import several_pairs
from metal.data.text import in_list

if TYPE_CHECKING:
    from metal.runs.run import Run

# `metal.verb`, `metal.verb(arguments)`, `metal.read(...).save(folder)`; or `parameter`,
# `parameter=value`.
_CALL = re.compile(r"`metal\.([a-z_]+)(\([^`]*\))?`")
_PARAMETER = re.compile(r"`([a-z][a-z0-9_]*)(?:=([^`]*))?`")

# Functions whose command is no verb of their names.
SPELLED = {
    "read": "import",
    "formats": "import --list",
    "sample_labels": "sample",
    "design_labels": "design --for scores",
    "design_anchors": "design --for anchors",
    "judges_list": "judges",
    "judges_test": "judges",
    "prompt_list": "prompt",
    "prompt_show": "prompt",
    "metric_list": "metric",
    "metric_check": "metric",
    "bias_language": "bias",
    "bias_plan": "bias --plan",
    "billboard_history": "billboard --history",
    "monitor_simulate": "monitor --simulate",
    "gate_watch": "gate --watch",
    "diff": "gate",
}

Flags = Mapping[str, str]  # parameter -> as it is typed


def in_commands(
    message: str, flags: Flags, of_verb: Callable[[Sequence[str]], Flags] = lambda typed: {}
) -> str:
    """The message with its parameters as flags, and calls of functions as command lines.

    of_verb: a function that returns the flags of the verb with these words; a parameter without one
    is named as a flag.
    """
    message = _CALL.sub(
        lambda match: _command_line(match[0], match[1], match[2] or "", of_verb), message
    )
    return _PARAMETER.sub(lambda match: _flag(match[0], match[1], match[2], flags), message)


def of_run(run: Run) -> dict[str, str]:
    """The flags for a run's settings."""
    return {parameter: named(parameter) for parameter in run.settings}


def next_command(data: Path, kinds: Collection[str], unexplained: Collection[str] = ()) -> str:
    """The command to type next for a dataset folder or table whose raters are of these kinds.

    unexplained: criteria on which judges can only be asked with a question.
    """
    typed = shlex.quote(str(data))
    if "human" not in kinds:
        return f"metal check {typed}"
    if "llm" in kinds or "baseline" in kinds:
        return f"metal audit {typed}"
    if "metric" in kinds:  # scores of metrics have no classes to audit: they are for a board
        return f"metal billboard {typed}"
    question = ' --question "..."' if unexplained else ""
    return f"metal judge {typed} --judge openai:gpt-4o{question}"


SEVERAL_PAIRS = ("kinds", "groups")  # options in which commas part pairs, unless in double quotes


def typed_options(options: Mapping[str, Any]) -> list[str]:
    """Options as words of a command line: NAME=VALUE for each item of a dictionary, and paths that
    work from any folder.
    """
    typed_words = []
    for name, value in options.items():
        if isinstance(value, Mapping):
            typed = {
                key: in_list(item) if isinstance(item, tuple | list) else item
                for key, item in value.items()
            }
            pairs = [f"{key}={item}" for key, item in typed.items()]
            for pair in pairs:
                is_split = name in SEVERAL_PAIRS and len(several_pairs(pair)) > 1
                typed_words += [named(name), in_list([pair]) if is_split else pair]
        elif isinstance(value, tuple | list):
            typed_words += [named(name), in_list(value)] if value else []
        else:
            here = isinstance(value, Path) and value.exists()
            typed_words += [named(name), str(value.absolute() if here else value)]
    return typed_words


def named(parameter: str) -> str:
    """A parameter as an option: `--half-width`."""
    return f"--{parameter.replace('_', '-')}"


def _flag(unchanged: str, name: str, value: str | None, flags: Flags) -> str:
    if name not in flags:
        return unchanged
    try:
        return " ".join(_typed(flags[name], ast.parse(value or "True", mode="eval").body))
    except SyntaxError:
        return f"{flags[name]} {value}"


def _command_line(
    unchanged: str, function: str, arguments: str, of_verb: Callable[[Sequence[str]], Flags]
) -> str:
    """A call as a command line: `metal.annotate_export("d", to="html")` becomes
    `metal annotate export d --to html`; unchanged if that fails.
    """
    typed = SPELLED.get(function, function.replace("_", " ")).split()
    flags = of_verb(function.split("_") if function in SPELLED else typed)
    try:
        call = ast.parse(f"verb{arguments.removesuffix('.save(folder)') or '()'}", mode="eval").body
    except SyntaxError:
        return unchanged
    if not isinstance(call, ast.Call):
        return unchanged
    parts = list(map(_word, call.args))
    for keyword in call.keywords:
        name = keyword.arg or ""
        parts += _typed(flags.get(name) or named(name), keyword.value)
    return f"`{' '.join(['metal', *typed, *filter(None, parts)])}`"


def _typed(flag: str, value: ast.expr) -> list[str]:
    """A flag with its value as they are typed: no value for True, NAME=VALUE for each item of a
    dictionary.
    """
    if isinstance(value, ast.Constant) and value.value is True:
        return [flag]
    if isinstance(value, ast.Dict):
        parts = []
        for key, item in zip(value.keys, value.values, strict=True):
            if key:
                parts += [flag, shlex.quote(f"{_text(key)}={_text(item)}")]
        return parts
    if isinstance(value, ast.List | ast.Tuple):
        return [flag, ",".join(map(_item, value.elts))]
    return [flag, _word(value)]


def _text(node: ast.expr) -> str:
    """A constant as it is typed; `...` gives an empty text, and a name stays as it is."""
    if isinstance(node, ast.Constant):
        return "" if node.value is ... else str(node.value)
    return ast.unparse(node)


def _item(node: ast.expr) -> str:
    """A text from a list, quoted for use within one word of a shell command."""
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    if not is_text:
        return _word(node)
    text = _text(node)
    is_quoted = text.startswith('"') and "," in text  # whoever wrote the message did it
    return shlex.quote(text if is_quoted else in_list([text]))


def _word(node: ast.expr) -> str:
    """A text as one word of a shell command."""
    return (
        shlex.quote(_text(node))
        if isinstance(node, ast.Constant) and node.value not in (..., "")
        else _text(node)
    )
