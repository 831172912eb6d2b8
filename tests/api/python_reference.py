"""docs/reference/python.md and the pages below it: public functions by subject, with types."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import metal
from metal.api.options import options_of
from metal.cli import groups

PACKAGE = Path(metal.__file__).parent
# The groups of `metal --help`: the file of each, and its title here.
SUBJECTS = {
    "Start": ("start", "Read, judge, audit"),
    "Data": ("data", "Look at data"),
    "Build": ("build", "Build a dataset"),
    "Judges": ("judges", "Judges, prompts and metrics"),
    "Trust": ("trust", "Ask more about a judge"),
    "In use": ("in-use", "A judge in use"),
    "Rank": ("rank", "Boards and leaderboards"),
    "People": ("people", "People as raters"),
    "Types": ("types", "Types"),
}
# Functions that are no command, or one of another group than their reader looks in.
ELSEWHERE = {"read": "Start", "open": "Start", "report": "Start", "formats": "Data"}
FIRST = ("read", "judge", "audit")
ALIASES = {
    "Data": "What a verb reads: the path of a dataset folder or a table file, a `Dataset`, or a"
    " `pandas.DataFrame`.",
    "Ratings": "Ratings to add: a run folder, or what `metal.judge`, `metal.score` or `metal.jury`"
    " returned.",
    "StrPath": "`str | Path`.",
    "JudgeFunction": "A function that gives a score for an output; see [a Python function as a"
    " judge](../../how-to/function-judge.md).",
    "Progress": "`Callable[[int, int], None]`: called with what is done and what there is in all.",
    "Say": "`Callable[[str], None]`: called with a line to show.",
    "Confirm": "`Callable[[str], bool]`: called with a question; False stops.",
}


def python_pages() -> dict[str, list[str]]:
    """The parts of each page, by its path below docs/reference without the ending."""
    for cached in (_functions, _homes, _classes):  # a package may have come or gone since
        cached.cache_clear()
    pages = {"python": list(_overview())}
    for subject, (file, title) in SUBJECTS.items():
        parts = [f"# {title}"]
        for name in _functions().get(subject, []):
            parts += _function(getattr(metal, name), subject)
        for name in sorted(each for each, home in _homes().items() if home == subject):
            parts += _type(name)
        pages[f"python/{file}"] = parts
    return pages


@cache
def _functions() -> dict[str, list[str]]:
    """The public functions of each subject."""
    group_of = {
        verb: group for group, verbs in groups().items() if group in SUBJECTS for verb in verbs
    } | ELSEWHERE
    functions: dict[str, list[str]] = {}
    names = [name for name in metal.__all__ if inspect.isfunction(getattr(metal, name))]
    for name in [*FIRST, *sorted({*names} - {*FIRST})]:
        group = group_of.get(name.split("_")[0], "Start")
        functions.setdefault(group, []).append(name)
    return functions


@cache
def _homes() -> dict[str, str]:
    """The subject on whose page a type stands: that of the first function that returns it."""
    homes = dict.fromkeys([*ALIASES, "ReadingOptions", "TableOptions"], "Types")
    for subject, names in _functions().items():
        for name in names:
            returned = str(inspect.signature(getattr(metal, name)).return_annotation)
            for each in re.findall(r"\b[A-Z]\w+", returned):
                if each in _classes():
                    homes.setdefault(each, subject)
    for name in metal.__all__:
        if not inspect.isfunction(getattr(metal, name)):
            homes.setdefault(name, "Types")
    return homes


@cache
def _classes() -> dict[str, str]:
    """The module of each class of METAL; no two have one name."""
    modules: dict[str, str] = {}
    for path in PACKAGE.rglob("*.py"):
        module = ".".join(("metal", *path.relative_to(PACKAGE).with_suffix("").parts))
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                modules[node.name] = module.removesuffix(".__init__")
    return modules


def _overview() -> Iterator[str]:
    yield "# Python"
    yield (
        "All functions are in `metal`. What a [verb](verbs.md) does is a function of the same"
        " name, with the same options. Functions return results and print nothing. Most programs"
        " begin with `read`, `judge` and `audit`:"
    )
    yield (
        '```py\nimport metal\n\ndata = metal.read("ratings.csv")\nrun = metal.judge(data,'
        ' "openai:gpt-4o-mini", max_cost=1)\naudit = metal.audit(data, run)\naudit.verdicts\n```'
    )
    for subject, (file, title) in SUBJECTS.items():
        yield f"## [{title}](python/{file}.md)"
        rows = [
            f"| [`{name}`](python/{file}.md#{name}) | {_summary(getattr(metal, name))} |"
            for name in _functions().get(subject, [])
        ]
        if rows:
            yield "\n".join(("| function | what it does |", "|---|---|", *rows))
    yield "A page describes what its functions return; results of several are under types."


def _summary(function: Callable[..., Any]) -> str:
    """The first sentence of its docstring."""
    return " ".join((inspect.getdoc(function) or "").split("\n\n")[0].split())


def _function(function: Callable[..., Any], subject: str) -> Iterator[str]:
    signature = _signature(function)
    yield f"## {function.__name__}"
    yield f"```py\n{signature}\n```"
    links = [
        _link(name, subject)
        for name in dict.fromkeys(re.findall(r"\b[A-Z]\w+", signature))
        if name in _homes()
    ]
    if links:
        yield f"Types: {', '.join(links)}"
    yield _prose(inspect.getdoc(function) or "")


def _link(name: str, subject: str) -> str:
    """A type as a link to where it is described, from a page of the subject."""
    home = _homes()[name]
    file = "" if home == subject else f"{SUBJECTS[home][0]}.md"
    return f"[`{name}`]({file}#type-{name.lower()})"


def _type(name: str) -> Iterator[str]:
    """A type, its docstring and its members."""
    yield f"## {name} {{ #type-{name.lower()} }}"
    if name in ALIASES:
        yield ALIASES[name]
        return
    module = _classes().get(name)
    value = getattr(import_module(module), name) if module else getattr(metal, name)
    if not inspect.isclass(value):
        yield f"`{value}`"
        return
    yield _prose(inspect.getdoc(value) or "")
    yield from _members(value)


def _signature(function: Callable[..., Any]) -> str:
    signature = inspect.signature(function)
    kinds = {
        name: inspect.formatannotation(kind) for name, (kind, _, _) in options_of(function).items()
    }
    parts: list[str] = []
    for name, each in signature.parameters.items():
        if each.kind is each.KEYWORD_ONLY and not {part[0] for part in parts} & {"*"}:
            parts.append("*")
        default = getattr(each.default, "__name__", repr(each.default))
        shown = "" if each.default is each.empty else f" = {default}"
        stars = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
        parts.append(f"{stars}{name}: {kinds.get(name, each.annotation)}{shown}")
    inside = "".join(f"    {part},\n" for part in parts)
    text = f"{function.__name__}(\n{inside}) -> {signature.return_annotation}"
    return re.sub(r"(collections\.abc|typing|pathlib(\._local)?|metal\.api\.\w+)\.", "", text)


def _prose(text: str) -> str:
    """A docstring as Markdown: arguments and errors are lists, an example is code, and what stands
    as it is stands as it is.
    """
    text = re.sub(
        r"^(Args|Raises):\n(.*?)(?=\n\n|\Z)", _listed, text, flags=re.MULTILINE | re.DOTALL
    )
    text = re.sub(r"^Returns:\n", "Returns:\n\n", text, flags=re.MULTILINE)
    text = re.sub(
        r"^Example:\n(.*)\Z",
        lambda example: f"```py\n{textwrap.dedent(example[1]).strip()}\n```",
        text,
        flags=re.MULTILINE | re.DOTALL,
    )
    text = re.sub(r"^    (?=\S)", "", text, flags=re.MULTILINE)
    return re.sub(r"\x08\n(.*?)(?=\n\n|\Z)", r"```text\n\1\n```", text, flags=re.DOTALL)


def _listed(section: re.Match[str]) -> str:
    """A section of a docstring as a list, an item a line."""
    joined = re.sub(r"\n {8}", " ", section[2])
    return f"{section[1]}:\n\n" + re.sub(
        r"^ {4}(\w+(?:, \w+)*): ", r"- `\1`: ", joined, flags=re.MULTILINE
    )


def _members(value: type) -> Iterator[str]:
    lines = (
        [f"- `{field.name}`: `{field.type}`" for field in fields(value)]
        if is_dataclass(value)
        else []
    )
    for name, member in vars(value).items():
        text = inspect.getdoc(member)
        if (
            not name.startswith("_")
            and text
            and not isinstance(member, str | int | float | tuple | dict | None)
        ):
            call = "()" if inspect.isfunction(member) else ""
            lines.append(f"- `{name}{call}`: {' '.join(text.split(chr(10) * 2)[0].split())}")
    if lines:
        yield "\n".join(lines)
