"""Functions that need much memory, called in a process of their own, which gives all of it back."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import TypeVar

from metal.data.memory import keep_little
from metal.data.present import PRESENT
from metal.data.stored_texts import IN_FILE
from metal.errors import MetalError

Result = TypeVar("Result")


class ProcessFailed(MetalError):
    """The process ended without a result."""


def called(function: Callable[..., Result], *arguments: object, aside: bool) -> Result:
    """What a function returns; aside: call it in a process of its own. Raises what the function
    raises, and ProcessFailed.
    """
    return _in_a_process(function, arguments) if aside else function(*arguments)


def _in_a_process(function: Callable[..., Result], arguments: tuple[object, ...]) -> Result:
    done = subprocess.run(
        [sys.executable, "-m", "metal.app.processes"],
        input=pickle.dumps((PRESENT.get(), function, arguments)),
        capture_output=True,
        check=False,
    )
    if done.returncode:
        last = done.stderr.decode("utf-8", "replace").strip().split("\n")[-1]
        why = last or f"exit code {done.returncode}"
        raise ProcessFailed(
            f"The process that was to compute this ended early ({why}). Is there enough memory?"
            " The same command in a terminal says more."
        )
    answer = pickle.loads(done.stdout)  # noqa: S301  METAL's own program wrote it
    if isinstance(answer, MetalError):
        raise answer
    result: Result = answer
    return result


def main() -> None:
    """Call the function on the standard input, and write what it returns or raises."""
    keep_little()
    present, function, arguments = pickle.load(sys.stdin.buffer)  # noqa: S301  as above
    PRESENT.set(present)
    IN_FILE.set(True)
    results, sys.stdout = sys.stdout.buffer, sys.stderr  # nothing else may be among them
    try:
        answer = function(*arguments)
    except MetalError as error:
        answer = error
    results.write(pickle.dumps(answer, 5))
    results.flush()


if __name__ == "__main__":
    main()
