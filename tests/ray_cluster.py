"""A real Ray cluster of two nodes on this machine, started once for all tests that ask for it."""

from __future__ import annotations

import atexit
import os
import warnings
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OBJECT_STORE = 80 << 20


@cache
def two_nodes() -> str:
    """The address of the cluster; it ends with the tests."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_BACKEND_LOG_LEVEL"] = "fatal"
    path = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *path.split(os.pathsep)] if path else [str(ROOT)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from ray.cluster_utils import Cluster

        cluster = Cluster()
        for _ in range(2):
            cluster.add_node(num_cpus=1, object_store_memory=OBJECT_STORE, include_dashboard=False, wait=False)
        cluster.wait_for_nodes()
    atexit.register(cluster.shutdown)
    return str(cluster.address)
