"""The child's side: it shuts itself in, runs the program and answers in lines of JSON.

The request is the first line of standard input; the items follow, one a line. Answers go through a pipe of their own,
so that what the program prints is no answer. From the first line of the program on, nothing here can be relied upon:
the parent takes every answer for a stranger's.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from metal.errors import MetalError
from metal.raters.isolation.confine import confine
from metal.raters.isolation.limits import Limits
from metal.raters.metrics.contract import Item, Metric
from metal.raters.metrics.own import metric_from_file

REASON = 200  # characters of a reason that are sent


def main(request: Mapping[str, Any]) -> None:
    """Carry out a request of metal.raters.isolation.parent and end this process."""
    sys.dont_write_bytecode = True
    answers = os.fdopen(request["answers"], "w", encoding="ascii")
    os.set_inheritable(answers.fileno(), False)
    items = [_item(line) for line in sys.stdin.buffer]
    try:
        protections = confine(
            Limits(**request["limits"]), Path.cwd(), [Path(path) for path in request["readable"]], request["parent"]
        )
        if request["action"] == "protections":
            lines: list[Any] = [{"protections": protections}]
        elif request["action"] == "describe":
            lines = [_described(metric_from_file(request["name"]))]
        else:
            answers_of_metric = metric_from_file(request["name"]).score(items)
            lines = [answer[:REASON] if isinstance(answer, str) else float(answer) for answer in answers_of_metric]
        text = "".join(json.dumps(line) + "\n" for line in lines)
    except MetalError as error:
        text = json.dumps({"error": str(error).removeprefix(f"metric {request['name']}: ")}) + "\n"
    except BaseException as error:  # a program can raise anything, sys.exit included
        first = next(iter(str(error).splitlines()), "")
        text = json.dumps({"error": f"{type(error).__name__}: {first[:REASON]}"}) + "\n"
    answers.write(text)
    answers.flush()
    os._exit(0)  # what the program left to be done at the end is not done


def _item(line: bytes) -> Item:
    fields = json.loads(line)
    return Item(**{**fields, "references": tuple(fields["references"])})


def _described(metric: Metric) -> dict[str, Any]:
    """All of a metric but the function and its name."""
    return {
        field.name: getattr(metric, field.name)
        for field in dataclasses.fields(metric)
        if field.name not in ("name", "score")
    }
