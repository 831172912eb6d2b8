"""Layouts: which tasks a table has, what each counts, and whose scores are compared with whose.

METAL's own are the files of layouts/; anybody can write another:

title, source      what the table is, and where it was published
gold               the criterion on which people gave the scores to compare with; several in a list,
                   or "*" for all that people scored: each has every task
exact              whether scores that differ in their last digits only are different
raters, baselines  those in the table, by name or by what raters.jsonl calls `metric`; all if none
common             whether only what every rater scored is compared; else a rater without a score
                   has no value
known_by           criteria, in small letters, by which METAL knows data of this field; it names
                   the table to whoever has people's ratings of two or more
remark             what to know before the table is believed
[languages.LP]     gold: if another; reference: the reference that metrics may use, not itself
                   compared; without: generators left out; people: whether people among the
                   generators are compared
[[tasks]]          statistic: of STATISTICS; level: outputs or generators; by: the groups within
                   which outputs are compared; together: all languages as one task; weight: for each
                   language
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any

from metal.data.files import read_toml
from metal.errors import DataError, UnknownName, check_known

LEVELS = ("outputs", "generators")
BY = ("all", "source", "generator", "document", "domain")
# Statistic -> what it is called, and its smallest value. All have 1 as their largest.
STATISTICS: Mapping[str, tuple[str, float]] = {
    "pearson": ("Pearson's r", -1.0),
    "spearman": ("Spearman's rho", -1.0),
    "kendall": ("Kendall's tau-b", -1.0),
    "kendall-c": ("Kendall's tau-c", -1.0),
    "kendall-like": ("Kendall-like", -1.0),
    "pairwise-difference-pearson": ("pairwise difference Pearson", -1.0),
    "pairwise-accuracy": ("pairwise accuracy", 0.0),
    "pairwise-accuracy-with-ties": ("pairwise accuracy, ties calibrated", 0.0),
    "soft-pairwise-accuracy": ("soft pairwise accuracy", 0.0),
}
# Statistics of pairs of outputs, which cannot be taken over scores of generators.
OF_OUTPUTS = ("kendall-like", "pairwise-difference-pearson", "pairwise-accuracy-with-ties")
FOLDER = Path(__file__).with_name("layouts")


@dataclass(frozen=True)
class LayoutTask:
    """A task of a layout, for each language or for all languages together. See the head of this
    module.
    """

    statistic: str
    level: str
    by: str = "all"
    together: bool = False
    weight: float = 1.0


@dataclass(frozen=True)
class LayoutLanguage:
    """What is compared in a language. See the head of this module."""

    gold: str = ""
    reference: str = ""
    without: tuple[str, ...] = ()
    people: bool = False


@dataclass(frozen=True)
class Layout:
    """A table's tasks, and what they compare. See the head of this module."""

    name: str
    title: str
    gold: tuple[str, ...]
    tasks: tuple[LayoutTask, ...]
    source: str = ""
    exact: bool = False
    common: bool = False
    raters: tuple[str, ...] = ()
    baselines: tuple[str, ...] = ()
    known_by: tuple[str, ...] = ()
    remark: str = ""
    languages: Mapping[str, LayoutLanguage] = field(default_factory=dict)

    def language(self, language: str) -> LayoutLanguage:
        """What is compared in a language. A language that the layout does not name has no rules."""
        return self.languages.get(language, LayoutLanguage())


def layout_names() -> list[str]:
    """METAL's own layouts."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def find_layout(name: str) -> Layout:
    """The layout with this name, or in this TOML file. Raises UnknownName, or DataError for a fault
    in the file.
    """
    path = Path(name)
    if path.suffix == ".toml":
        return _layout(path.stem, read_toml(path), path)
    check_known("layout", [name], layout_names())
    path = FOLDER / f"{name}.toml"
    return _layout(name, read_toml(path), path)


def _layout(name: str, content: Mapping[str, Any], path: Path) -> Layout:
    parts = dict(content)
    tasks, languages = parts.pop("tasks", None), parts.pop("languages", {})
    if not isinstance(tasks, list) or not tasks:
        raise DataError(path, "no [[tasks]]", "Write one for each task of the table")
    if not isinstance(languages, dict):
        raise DataError(path, "languages is not a table", "Write [languages.en-de]")
    layout: Layout = _record(
        Layout,
        {"name": name, "title": name, **parts},
        str(path),
        tasks=tuple(_task(task, f"{path} task {number}") for number, task in enumerate(tasks, 1)),
        languages={
            language: _record(LayoutLanguage, rules, f"{path} languages.{language}")
            for language, rules in languages.items()
        },
    )
    return layout


def _task(content: Any, location: str) -> LayoutTask:
    task: LayoutTask = _record(LayoutTask, content, location)
    for key, choices in (("statistic", tuple(STATISTICS)), ("level", LEVELS), ("by", BY)):
        try:
            check_known(key, [getattr(task, key)], choices)
        except UnknownName as error:
            raise DataError(location, str(error), f"Write one of {', '.join(choices)}") from None
    if task.level == "generators" and (task.by != "all" or task.statistic in OF_OUTPUTS):
        problem = f"{task.statistic} by {task.by} of generators"
        raise DataError(
            location, problem, 'This statistic is taken over outputs: write level = "outputs"'
        )
    if task.level == "outputs" and task.statistic == "soft-pairwise-accuracy":
        problem = f"{task.statistic} of outputs"
        raise DataError(
            location, problem, 'This statistic compares generators: write level = "generators"'
        )
    if task.together and (task.level, task.statistic) != ("generators", "pairwise-accuracy"):
        problem = f"{task.statistic} of all languages together"
        raise DataError(
            location,
            problem,
            "Leave out `together`: only pairwise-accuracy of generators can have it",
        )
    if not 0 < task.weight < float("inf"):
        raise DataError(location, f"weight {task.weight:g}", "Write a number above 0")
    return task


def _record(kind: type, content: Any, location: str, **more: Any) -> Any:
    """A record from a table of TOML, with the types of its fields checked."""
    if not isinstance(content, dict):
        raise DataError(location, "not a table", "Write KEY = VALUE lines")
    types = {each.name: str(each.type) for each in fields(kind) if each.name not in more}
    values = {}
    for key, value in content.items():
        if key not in types:
            raise DataError(location, f"an unknown key {key!r}", f"Known: {', '.join(types)}")
        values[key] = _checked(value, types[key], f"{location} {key}")
    missing = [
        each.name
        for each in fields(kind)
        if each.name not in {*values, *more} and each.default is each.default_factory is MISSING
    ]
    if missing:
        raise DataError(location, f"no {missing[0]}", f"Write {missing[0]} = ...")
    return kind(**values, **more)


def _checked(value: Any, kind: str, location: str) -> Any:
    """The value, checked to have the type of its field."""
    if kind.startswith("tuple"):
        if isinstance(value, Sequence) and all(isinstance(each, str) and each for each in value):
            return (value,) if isinstance(value, str) else tuple(value)
        raise DataError(location, f"{value!r} is not a list of names", 'Write ["NAME", "NAME"]')
    if kind == "float" and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    expected = {"str": str, "bool": bool}.get(kind)
    if expected is None or not isinstance(value, expected):
        raise DataError(location, f"{value!r} is not a {kind}", f"Write a value of type {kind}")
    return value
