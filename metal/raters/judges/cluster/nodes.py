"""The Ray cluster of a run: join or start it, start its coordinator, and run a Ray Data pipeline
for each judge.

A local cluster listens only on 127.0.0.1, without dashboard and usage statistics. METAL has to be
installed on every node, because no code is shipped. No key is put into a runtime environment,
because Ray would log it.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import socket
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from math import ceil
from pathlib import Path
from typing import Any

from metal.errors import MissingExtra, UsageError
from metal.raters.judges.cluster.asker import Asker
from metal.raters.judges.cluster.coordinator import Coordinator
from metal.raters.judges.cluster.shards import Shards
from metal.raters.judges.models import Model

PLACES = 8  # calls in flight for which another worker is worth its memory
OBJECT_STORE = 256 << 20  # bytes, of a cluster started here: enough for some shards of requests
# Makes Ray serve on 127.0.0.1 as on macOS and Windows, which _node_ip_address does not; read when
# Ray is imported.
ONLY_HERE = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0"
KNOCK = 5.0  # seconds within which an address has to answer; Ray itself tries for minutes
# a worker waits for replies; above 0, so that it does not run on a node without cores
WORKER_CORES = 0.01
AT_ONCE = 2  # shards that a worker asks: when one comes to its end, the other still has questions


def check_ray() -> None:
    """Raise MissingExtra if Ray Data is not installed; nothing is imported."""
    # fsspec: of ray[data]
    if not all(map(importlib.util.find_spec, ("ray", "fsspec"))):
        raise MissingExtra('`engine="ray"`', "ray")


def connect(address: str) -> None:
    """Join the cluster at the address, or start one with this machine's cores. Raises UsageError if
    no cluster answers.
    """
    if address.startswith("ray://"):
        raise UsageError(
            f'`address="{address}"`: run metal on a node of the cluster, with `address="auto"`'
        )
    knock(address)
    before_import()
    if not address:
        os.environ.setdefault(*ONLY_HERE)
    import ray
    import ray.data

    after_import()
    settings: dict[str, Any] = {"log_to_driver": False, "configure_logging": False}
    if address:
        settings["address"] = address
    else:
        settings |= {
            "address": "local",
            "include_dashboard": False,
            "object_store_memory": OBJECT_STORE,
        }
    try:
        ray.init(**settings)
    except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        message = " ".join(str(error).split())[:200]
        raise UsageError(
            f'`address="{address or "local"}"`: no Ray cluster answers there ({message})'
        ) from None
    after_import()
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False


def knock(address: str) -> None:
    """Raise UsageError if nobody listens at HOST:PORT."""
    failure = unanswered(address)
    if failure:
        raise UsageError(
            f'`address="{address}"`: no Ray cluster answers there ({failure}); `ray start --head`'
            " prints its address"
        )


def unanswered(address: str) -> str:
    """Why nobody answers at HOST:PORT; empty if somebody answers, or if the address has another
    form.
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        return ""
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=KNOCK).close()
    except (OSError, OverflowError) as error:
        return str(error) or type(error).__name__
    return ""


def head() -> str:
    """HOST:PORT of the cluster's head. Without the head nothing begins, and after a minute Ray ends
    every process.
    """
    import ray

    return str(ray.get_runtime_context().gcs_address)


def disconnect() -> None:
    """Leave the cluster, and end it if it was started here. All actors of the run end."""
    import ray

    ray.shutdown()


def cpus() -> int:
    """Cores of the cluster."""
    import ray

    resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call,unused-ignore]
    return max(1, int(resources.get("CPU", 1)))


def workers_for(model: Model, shards: int, cores: int) -> int:
    """How many actors ask a judge: one for each PLACES calls, but at most as many as there are
    cores or shards.
    """
    return max(1, min(cores, shards, ceil(model.concurrency / PLACES)))


def new_coordinator() -> Any:
    """Start the coordinator's actor and return its handle. It runs on this node, because it writes
    to this node's disk.
    """
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    actor = ray.remote(Coordinator).options(
        num_cpus=0, max_concurrency=10_000, scheduling_strategy=here, enable_task_events=False
    )
    return actor.remote()


def judge_shards(model: Model, shards: Shards, coordinator: Any, workers: int) -> Iterator[None]:
    """The pipeline of one judge; it yields while it runs."""
    import ray.data
    from ray.data import ActorPoolStrategy

    paths = list(map(shards.path, shards.numbers[model.name]))
    requests = ray.data.read_datasource(
        _shard_source(paths), override_num_blocks=len(paths), num_cpus=0, concurrency=1
    )
    judged = requests.map_batches(
        Asker,
        batch_size=None,
        batch_format="pyarrow",
        zero_copy_batch=True,
        fn_constructor_args=(coordinator, model.name),
        compute=ActorPoolStrategy(
            size=workers,
            max_tasks_in_flight_per_actor=AT_ONCE,
            max_concurrent_calls_per_actor=AT_ONCE,
        ),
        num_cpus=WORKER_CORES,
    )
    for _ in judged.iter_batches(batch_size=None, prefetch_batches=0):
        yield


def _shard_source(paths: list[Path]) -> Any:
    """Ray Data's source of shards: one read task and one block per shard, read on this node, which
    has the files.

    `read_parquet` is not used, because it would put several files into a block, or a file into
    several blocks. It also reads this node's files only through local://, which is deprecated.
    """
    from ray.data import Datasource
    from ray.data.block import BlockMetadata
    from ray.data.datasource import ReadTask

    class ShardSource(Datasource):  # type: ignore[misc,unused-ignore]
        def estimate_inmemory_data_size(self) -> int | None:
            return None

        @property
        def supports_distributed_reads(self) -> bool:
            return False

        def get_read_tasks(
            self, parallelism: int, per_task_row_limit: int | None = None, data_context: Any = None
        ) -> list[Any]:
            unknown: dict[str, Any] = {"num_rows": None, "size_bytes": None, "exec_stats": None}
            return [
                ReadTask(
                    partial(_read, str(path)), BlockMetadata(input_files=(str(path),), **unknown)
                )
                for path in paths
            ]

    return ShardSource()  # type: ignore[no-untyped-call,unused-ignore]


def _read(path: str) -> Iterator[Any]:
    import pyarrow.parquet as pq

    yield pq.read_table(path, memory_map=False)


# ---------------------------------------------------------------- silence
# Ray writes to the terminal from many places, some of them below Python; during a run only METAL
# may.


def before_import() -> None:
    """Set the variables that Ray reads when it is imported: no statistics, no output of other
    processes, no automatic cluster.

    Otherwise a pipeline that is still working when the run leaves the cluster would start another
    cluster.
    """
    os.environ.setdefault("RAY_ENABLE_AUTO_CONNECT", "0")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")


def after_import() -> None:
    """Keep Ray's and Ray Data's messages in their log files."""
    for name in ("ray", "ray.data"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


@contextmanager
def only_ours() -> Iterator[None]:
    """Drop what is written to standard error below Python, or by Ray's warnings; sys.stderr keeps
    working.
    """
    shown = sys.stderr
    kept = os.dup(2)
    try:
        is_stderr = shown.fileno() == 2
    except (AttributeError, OSError, ValueError):
        is_stderr = False
    if is_stderr:
        sys.stderr = os.fdopen(
            os.dup(2), "w", encoding=shown.encoding, errors=shown.errors, buffering=1
        )
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="ray")
            yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        if sys.stderr is not shown:
            ours, sys.stderr = sys.stderr, shown
            ours.close()
