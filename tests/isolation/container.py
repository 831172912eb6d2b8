"""Runs a stranger's program where the system refuses what would shut it in, as containers do."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from metal.raters.isolation.asking import child_path
from metal.raters.isolation.calls import MACHINES, SECCOMP, numbers
from metal.raters.isolation.kernel import CREATE

REFUSED = {
    "namespaces": numbers("unshare 272 97")["unshare"],
    "counting": SECCOMP,
    "Landlock": (CREATE, CREATE),
}

RUN = """
import ctypes, sys
machine, column, refused, path, text, limits = {arguments!r}
sys.path[:] = {path!r}
from metal.raters.isolation.calls import ALLOW, EQUAL, LOAD, MACHINE_AT, NUMBER_AT, PR_SET_SECCOMP
from metal.raters.isolation.calls import RETURN, SECCOMP_FILTER, _error, _packed
from metal.raters.isolation.kernel import PR_SET_NO_NEW_PRIVS, libc

instructions = [(LOAD, 0, 0, MACHINE_AT), (EQUAL, 1, 0, machine), (RETURN, 0, 0, ALLOW)]
instructions.append((LOAD, 0, 0, NUMBER_AT))
for numbers in refused:
    instructions += [(EQUAL, 0, 1, numbers[column]), _error(1)]
program = _packed([*instructions, (RETURN, 0, 0, ALLOW)])
libc().prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
if refused and libc().prctl(PR_SET_SECCOMP, SECCOMP_FILTER, ctypes.byref(program), 0, 0) != 0:
    raise SystemExit("no filter")

from pathlib import Path
from metal.errors import MetalError
from metal.raters.isolation import Limits, isolated_metric, protections
from metal.raters.metrics import Item, scored
if not path:
    print(*protections(Limits(**limits)), sep="\\n")
    raise SystemExit
try:
    (answer,) = scored(isolated_metric(Path(path), limits=Limits(**limits)), [Item(text)])
    print(answer.reason or answer.score)
except MetalError as error:
    print(error)
"""


def in_container(
    program: Path | None,
    temporary: Path,
    refused: tuple[str, ...],
    text: str = "a",
    limits: Mapping[str, float] | None = None,
) -> str:
    """The score of a text by a program, or why there is none; without a program, the protections.

    refused: of REFUSED. temporary: the system's folder for temporary files meanwhile.
    """
    machine, column = MACHINES[os.uname().machine]
    calls = [REFUSED[name] for name in refused]
    arguments = (machine, column, calls, str(program or ""), text, dict(limits or {}))
    temporary.mkdir(exist_ok=True)
    result = subprocess.run(
        [sys.executable, "-c", RUN.format(arguments=arguments, path=child_path())],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    return result.stdout.strip() or result.stderr
