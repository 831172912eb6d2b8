"""Metrics of the user's own: a function in a Python file, or what another package offers.

A function scores one text. Its parameters say what it needs; it may have any of these:

    def score(output, *, references, reference, source, language): ...

`output` is the text to score. With `reference` it is called once for each reference, and the best
score counts; with `references` it gets all of them as a tuple of strings. It returns a number, or
None or a sentence (str) if there is no score. Attributes say more: `score.direction = "lower"`,
`score.range = (0, 1)`, `score.version = "2"`. The first line of the docstring is the summary.

A package offers metrics as entry points of the group `metal.metrics`, NAME =
"package.module:object". The object is such a function, a `metal.Metric` of that name, or a
MetricFactory (metal.raters.metrics.contract) for a metric with options. METAL runs the code that
you name, so name only code that you trust.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from metal.data.missing import no_such
from metal.data.plugins import plugins
from metal.errors import UnknownName, UsageError
from metal.raters.metrics.contract import Answer, Asked, Item, Metric, MetricFactory, Need

GROUP = "metal.metrics"
RAISED = "the metric raised"
PARAMETERS = ("output", "reference", "references", "source", "language")
_NEEDS: Mapping[str, Need] = {
    "reference": "references",
    "references": "references",
    "source": "source",
}


def is_file(name: str) -> bool:
    """Whether a metric's name is `path/to/metric.py:function`."""
    return ".py:" in name


def metric_from_file(name: str) -> Metric:
    """Make a metric from `path/to/metric.py:function`. The file is run.

    Raises UsageError if there is no such file, if it cannot be run, or if the function does not fit
    the description above.
    """
    path_text, _, function_name = name.rpartition(":")
    path = Path(path_text)
    if not path.is_file():
        raise no_such(path_text, "file", f" (of metric {name})")
    module, program = ModuleType(f"metal_metric_{path.stem}"), path.read_bytes()
    module.__file__ = str(path)
    try:
        # Not by an import, which would leave bytecode beside the file, and may take an older one
        # for the file's.
        exec(compile(program, str(path), "exec"), vars(module))  # noqa: S102  named by the user
    except Exception as error:  # a file can raise anything
        raise UsageError(f"metric {name}: {path_text} cannot be run: {_shown(error)}") from error
    function = getattr(module, function_name, None)
    if not callable(function):
        functions = [
            key
            for key, value in vars(module).items()
            if inspect.isfunction(value) and key[:1] != "_"
        ]
        raise UnknownName(f"function of {path_text}", function_name, functions)
    digest = hashlib.blake2b(program, digest_size=8).hexdigest()
    return metric_from_function(name, function, f"{name}|blake2b:{digest}")


def metric_from_function(name: str, function: Callable[..., Any], signature: str) -> Metric:
    """Make a metric from a function as described above. If the function raises an error for an
    item, the error is the reason why this item has no score.
    """
    asked = _parameters_asked(name, function)
    low, high = getattr(function, "range", (None, None))
    version = getattr(function, "version", "")

    def score(items: Sequence[Item]) -> list[Answer]:
        return [_answer(function, {key: _given(item)[key] for key in asked}) for item in items]

    return Metric(
        name,
        (inspect.getdoc(function) or "").partition("\n")[0],
        score,
        signature + (f"|version:{version}" if version else ""),
        needs=tuple(sorted({_NEEDS[key] for key in asked if key in _NEEDS})),
        direction=getattr(function, "direction", "higher"),
        low=low,
        high=high,
        multi_reference="references" in asked,
    )


def _parameters_asked(name: str, function: Callable[..., Any]) -> list[str]:
    """The parts of an item that the function takes. Raises UsageError if its parameters do not
    fit.
    """
    parameters = inspect.signature(function).parameters
    asked = [key for key in parameters if key in PARAMETERS]
    required = [
        key for key, parameter in parameters.items() if parameter.default is inspect.Parameter.empty
    ]
    surplus = [key for key in required if key not in PARAMETERS]
    if "output" not in parameters or surplus or {"reference", "references"} <= set(asked):
        problem = (
            f"parameter {surplus[0]!r} is not known" if surplus else "its parameters do not fit"
        )
        raise UsageError(
            f"metric {name}: {problem}; write def {getattr(function, '__name__', 'score')}(output,"
            " ...) with any of reference or references, source, language"
        )
    return asked


def metric_offered(asked: Asked) -> Metric:
    """Open a metric of an installed package. Raises UsageError if it cannot be loaded, has another
    name, or takes no options but got some.
    """
    name, point = asked.name, plugins(GROUP)[asked.name]
    try:
        loaded = point.load()
    except Exception as error:  # a package's import may raise anything
        raise UsageError(
            f"metric {name}: {point.value} cannot be loaded: {_shown(error)}"
        ) from error
    if isinstance(loaded, MetricFactory):
        return loaded.open(asked)
    if asked.options:
        raise UsageError(f"metric {name} is from {point.value} and has no options")
    if not isinstance(loaded, Metric):
        version = point.dist.version if point.dist else "unknown"
        return metric_from_function(name, loaded, f"{name}|{point.value}|package:{version}")
    if loaded.name != name:
        raise UsageError(
            f"metric {name}: {point.value} is a metric called {loaded.name!r}; use one name for"
            " both"
        )
    return loaded


def _given(item: Item) -> dict[str, Any]:
    return {
        "output": item.text,
        "reference": item.references[0] if item.references else "",
        "references": item.references,
        "source": item.source,
        "language": item.language,
    }


def _answer(function: Callable[..., Any], arguments: Mapping[str, Any]) -> Answer:
    try:
        result = function(**arguments)
    except Exception as error:  # a function can raise anything
        return f"{RAISED} {_shown(error)}"
    if result is None or isinstance(result, str):
        return result or "the metric gave none"
    try:
        return float(result)
    except (TypeError, ValueError, OverflowError):
        return f"the metric gave {type(result).__name__}, no finite number"


def _shown(error: Exception) -> str:
    line = next(iter(str(error).splitlines()), "")
    return f"{type(error).__name__}: {line}"[:200]
