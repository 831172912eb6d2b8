"""A real Ray cluster of two nodes on this machine, started once for all tests that ask for it."""

from __future__ import annotations

import atexit
import os
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path

from metal.raters.judges.cluster import nodes

ROOT = Path(__file__).resolve().parent.parent
OBJECT_STORE = 80 << 20
# Ray leaves sockets and event loops to the interpreter's end; pytest takes each for a fault of the
# test's.
IGNORED = ("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning")


@cache
def two_nodes() -> str:
    """The address of the cluster; it ends with the tests."""
    nodes.before_import()
    path = os.environ.get("PYTHONPATH", "")
    workers_see = {"PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), path)))}
    before = {name: os.environ.get(name) for name in workers_see}
    os.environ |= workers_see
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from ray.cluster_utils import Cluster

            nodes.after_import()
            cluster = Cluster()
            for _ in range(2):
                cluster.add_node(
                    num_cpus=1,
                    object_store_memory=OBJECT_STORE,
                    include_dashboard=False,
                    wait=False,
                )
            cluster.wait_for_nodes()
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
    atexit.register(cluster.shutdown)
    return str(cluster.address)


def session_logs() -> Path:
    """Where the cluster of `two_nodes` writes its logs."""
    return Path("/tmp/ray/session_latest/logs").resolve()


def workers() -> list[int]:
    """The processes of this cluster that judge."""
    return below(os.getpid(), b"MapWorker")


def below(above: int, named: bytes) -> list[int]:
    """The processes that came of a process and are named so."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if named in (folder / "cmdline").read_bytes() and above in _above(int(folder.name)):
                found.append(int(folder.name))
        except (OSError, ValueError):
            continue  # it has ended
    return found


def listening(above: int) -> set[str]:
    """The addresses, as /proc/net/tcp writes them, on which processes that came of a process wait
    for connections.
    """
    sockets = set()
    for pid in below(above, b""):
        with suppress(OSError):
            sockets |= {os.readlink(path) for path in Path(f"/proc/{pid}/fd").iterdir()}
    tables = [Path(f"/proc/net/{name}").read_text().splitlines()[1:] for name in ("tcp", "tcp6")]
    lines = [line.split() for table in tables for line in table]
    return {
        line[1].partition(":")[0]
        for line in lines
        if line[3] == "0A" and f"socket:[{line[9]}]" in sockets
    }


def _above(process: int) -> list[int]:
    found = []
    while process > 1:
        stat = Path(f"/proc/{process}/stat").read_text()
        process = int(stat.rpartition(")")[2].split()[1])
        found.append(process)
    return found
