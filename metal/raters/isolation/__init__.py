"""Run a stranger's metric, a Python file (see metal.raters.metrics.own), in an isolated process.

Each run is a new child process: one run describes the function, another scores all texts. Before
the file is run, the child gives up the network, all files except those it needs, access to other
processes, and memory, disk and time beyond its limits (child.py), as far as the system allows.
`protections` says what is possible on this system. Only text comes back, never objects, and it is
checked like any foreign input. When a run is over, the child and all processes that it started have
ended.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import signal
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from metal.data.missing import no_such
from metal.errors import DataError, UsageError
from metal.raters.isolation.asking import ChildReply, ask
from metal.raters.isolation.limits import Disk, Limits
from metal.raters.metrics.contract import Answer, Item, Metric

__all__ = ["Limits", "isolated_metric", "lacking", "protections"]

# How sentences of `protections` begin that say what this system cannot prevent (see child.py).
UNPROTECTED = (
    "network: no TCP; UDP",
    "network: open",
    "files: it can read and write like its user",
    "owners, permissions and dates of its user's files are not",
    "signals: it can end other processes",
    "memory: not limited",
)
LINE = 4096  # bytes of one answer at most
REASON = 200  # characters of a reason that are kept
NO_NUMBER = "the metric gave no number"
# How Python words an error of a program that met a limit of what it may write.
WRITING_ERRORS = tuple(f"[Errno {number}]" for number in (errno.ENOSPC, errno.EFBIG))
REFUSALS = tuple(f"[Errno {number}]" for number in (errno.EPERM, errno.EACCES))
WRITING_SIGNALS = ("SIGBUS", "SIGXFSZ")  # the same, of a mapped file, and where it asked for one


def isolated_metric(
    program: Path,
    function: str = "score",
    *,
    readable: Sequence[Path] = (),
    limits: Limits | None = None,
) -> Metric:
    """The function of a Python file as a metric; its code never runs in this process.

    readable: files and folders that the function may read besides its own file, such as word lists
    or a model. The metric has the name and the signature that metal.raters.metrics.find_metric
    gives to the same function.

    Raises UsageError if there is no such file or function, or running the file fails; scoring
    raises UsageError if a run fails as a whole, DataError if it does not answer with one score per
    text.
    """
    limits = limits or Limits()
    name = f"{program}:{function}"
    if not program.is_file():
        raise no_such(program, "file", f" (of metric {name})")
    if not function.isidentifier():
        raise UsageError(f"metric {name}: {function!r} is not the name of a function")
    if missing := [path for path in readable if not path.exists()]:
        raise UsageError(f"metric {name}: there is no {missing[0]}, which it should read")
    resolved = program.resolve()
    digest = _digest(resolved)
    request = {
        "name": f"{resolved}:{function}",
        "readable": [str(resolved), *(str(path.resolve()) for path in readable)],
    }

    def score(items: Sequence[Item]) -> list[Answer]:
        if _digest(resolved) != digest:
            raise DataError(
                f"metric {name}", "its file has changed since it was loaded", "Open it again"
            )
        reply = ask(
            {**request, "action": "score"}, map(asdict, items), limits, LINE * (len(items) + 1)
        )
        lines = _lines(name, reply, limits, len(items))
        if len(lines) != len(items):
            raise DataError(
                f"metric {name}",
                f"{len(lines)} scores for {len(items)} texts",
                "It should give one for each text",
            )
        return [_with_limit(_answer(line), reply, limits) for line in lines]

    reply = ask({**request, "action": "describe"}, (), limits, 16 * LINE)
    lines = _lines(name, reply, limits, 1)
    if len(lines) != 1 or not isinstance(lines[0], dict):
        raise _odd(name, "no description of its function")
    return _described(name, f"blake2b:{digest}", lines[0], score)


def protections(limits: Limits | None = None) -> tuple[str, ...]:
    """The protections against a program on this system, one sentence each. A child process finds
    them by isolating itself.

    Raises UsageError if no child can be started.
    """
    limits = limits or Limits()
    reply = ask({"action": "protections", "readable": []}, (), limits, 16 * LINE)
    (answer,) = _lines("(none)", reply, limits, 1)  # no stranger's code ran for this
    return tuple(answer["protections"])


def lacking(sentences: Sequence[str]) -> tuple[str, ...]:
    """Those of `protections` that say what a program could do here that it should not."""
    return tuple(each for each in sentences if each.startswith(UNPROTECTED))


def _digest(path: Path) -> str:
    return hashlib.blake2b(path.read_bytes(), digest_size=8).hexdigest()


def _lines(name: str, reply: ChildReply, limits: Limits, expected: int) -> list[Any]:
    """The values of a child's lines; None for a line that is not JSON. Raises UsageError if the run
    failed as a whole.
    """
    # the last has no end, and so is none
    lines = list(map(_value, reply.answers.split(b"\n")[:-1]))
    problem = _problem(lines, reply, limits, expected)
    if problem or reply.left:
        raise UsageError(f"metric {name}: " + "; ".join(filter(None, (problem, reply.left))))
    return lines


def _problem(lines: Sequence[Any], reply: ChildReply, limits: Limits, expected: int) -> str:
    """Why a run failed as a whole; empty if it succeeded."""
    if len(lines) == 1 and isinstance(lines[0], dict) and isinstance(lines[0].get("error"), str):
        reason = _clean(lines[0]["error"], 2 * REASON)
        memory = f" (it may use {limits.memory_mb:,} MB)" if "MemoryError" in reason else ""
        return f"{_with_limit(reason, reply, limits)}{memory}"
    if reply.flooded:
        return f"it answered more than {LINE:,} bytes per text and was ended"
    if reply.late:
        return f"not done after {limits.seconds:,g} s and was ended; allow it more time"
    if reply.excess:
        return f"{reply.excess} and was ended"
    if len(lines) < expected:
        return f"{_ending(reply, limits)} after {len(lines):,} of {expected:,} answers"
    return ""


def _with_limit(answer: Answer, reply: ChildReply, limits: Limits) -> Answer:
    """The answer; if it is an error about writing too much, the limit is added."""
    if not isinstance(answer, str):
        return answer
    refused = reply.disk is Disk.NONE and any(error in answer for error in REFUSALS)
    if refused or any(error in answer for error in WRITING_ERRORS):
        return f"{answer} (it may write {limits.writing(reply.disk)})"
    return answer


def _ending(reply: ChildReply, limits: Limits) -> str:
    if reply.code >= 0:
        last = next((line for line in reversed(reply.printed.splitlines()) if line.strip()), "")
        return f"it ended itself (code {reply.code}" + (
            f", its last line {_clean(last)!r})" if last else ")"
        )
    try:
        named = signal.Signals(-reply.code).name
    except ValueError:
        named = f"signal {-reply.code}"
    limit = f"use {limits.memory_mb:,} MB of memory"
    if named in WRITING_SIGNALS:
        limit = f"write {limits.writing(reply.disk)}"
    return f"it was ended by {named} (it may {limit})"


def _value(line: bytes) -> Any:
    if len(line) > LINE * 16:
        return None
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _answer(value: Any) -> Answer:
    """A finite number, unchanged. Otherwise the reason why there is no number, in words, as for any
    metric.
    """
    if isinstance(value, str):
        return _clean(value) or "the metric gave none"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return NO_NUMBER
    try:
        number = float(value)
    except OverflowError:
        return NO_NUMBER
    return number if math.isfinite(number) else "no finite number"


def _clean(text: str, most: int = REASON) -> str:
    """The text on one line, with only characters that every encoding can hold."""
    line = " ".join(text[: 4 * most].encode("utf-8", "replace").decode().split())
    return line if len(line) <= most else line[: most - 3] + "..."


def _described(name: str, digest: str, fields: Mapping[str, Any], score: Any) -> Metric:
    """Read a metric's description of itself. Raises DataError if it is not valid."""
    low, high, needs, claimed = map(fields.get, ("low", "high", "needs", "signature"))
    for end in (low, high):
        if end is not None and (isinstance(end, bool) or not isinstance(_answer(end), float)):
            raise _odd(name, "a range that is not two numbers")
    if not isinstance(needs, list) or not isinstance(claimed, str):
        raise _odd(name, "no description of its function")
    before, version_mark, version = claimed.partition(f"|{digest}")[2].partition("|version:")
    if digest not in claimed or before:
        raise _odd(name, "another file's signature")
    return Metric(
        name,
        _clean(str(fields.get("summary"))),
        score,
        f"{name}|{digest}" + (f"{version_mark}{_clean(version)}" if version_mark else ""),
        needs=tuple(_clean(str(need)) for need in needs),  # type: ignore[misc]  # the metric checks it, and direction
        direction=_clean(str(fields.get("direction"))),  # type: ignore[arg-type]
        low=low,
        high=high,
        multi_reference=fields.get("multi_reference") is True,
    )


def _odd(name: str, problem: str) -> DataError:
    return DataError(
        f"metric {name}", f"it gives {problem}", "Write it as metal.raters.metrics.own says"
    )
