"""The Ray engine: a run on a cluster, from the plan's open questions to new records in the
journal.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from metal.errors import MetalError, UsageError
from metal.raters.judges.call import JudgeStopped
from metal.raters.judges.cluster import nodes, shards
from metal.raters.judges.cluster.coordinator import RunStatus
from metal.raters.judges.cluster.leases import WorkerSetup
from metal.raters.judges.cluster.shards import LEAST_ROWS, MOST_ROWS, REQUESTS, Shards, write_shards
from metal.raters.judges.engine import EngineOptions, Progress, Session, check_clients
from metal.raters.judges.models import Model

EVERY = 0.2  # seconds between two looks at the run's status
PATIENCE = 60.0  # seconds within which a cluster at an address has to admit us
# seconds for which the head of the cluster may be silent; after 60 Ray ends this process
HEADLESS = 15.0
GRACE = 2.0  # seconds within which the pipelines of a stopped run may end by themselves
SPREAD = 6  # shards for each worker, at least, so that none runs out of work while others have much

# What the libraries read from the environment. Every worker uses the driver's.
KEYS = (
    "OPENAI_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "OPENAI_COMPATIBLE_API_KEY",
)
ADDRESSES = (
    "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "AZURE_OPENAI_ENDPOINT",
    "OPENAI_API_VERSION", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL",
    "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "OPENAI_COMPATIBLE_BASE_URL",
)  # fmt: skip


class RayRun:
    """A run on a Ray cluster (metal.raters.judges.engine.Engine). options.address: the cluster's
    address; empty starts a new cluster.

    Raises MissingExtra if Ray is not installed.
    """

    def __init__(self, session: Session) -> None:
        nodes.check_ray()
        self.session, self.plan, self.address = session, session.plan, session.options.address
        self.folder = session.folder.resolve()  # the coordinator has another working directory
        self.over_budget = False
        self.stopping = asyncio.Event()
        begins = session.answered.begins
        self.progress = [
            Progress(model, self.plan.questions_per_model, begins.get(model.name, 0))
            for model in self.plan.models
        ]
        self._coordinator: Any = None
        self._in_flight = 0

    @staticmethod
    async def check(models: Iterable[Model], options: EngineOptions) -> None:
        """Raise UsageError or MissingExtra if a model or the cluster cannot be reached."""
        nodes.check_ray()
        nodes.knock(options.address)
        await check_clients(models)

    def stop(self) -> str:
        """Begin no more calls; those in flight are finished and saved."""
        self.stopping.set()
        if self._coordinator:
            self._coordinator.halt.remote()
        return f"finishing {self._in_flight} calls in flight; Ctrl-C again to drop them"

    async def go(self) -> None:
        """Run until nothing is left to ask. Raises OSError for errors of the disk, UsageError if
        there is no cluster.
        """
        # usually done before the journal was read
        await shards.merge(self.session.journal, self.folder)
        try:
            with nodes.only_ours():
                await self._on_cluster()
        finally:
            await shards.merge(self.session.journal, self.folder)

    async def _on_cluster(self) -> None:
        self._await("a Ray cluster")
        connecting = Connecting(self.address)
        if not await self._connected(connecting):
            return
        try:
            self._await("the requests' files")
            written = await asyncio.to_thread(self._write_shards)
            self._await("")
            if any(written.numbers.values()) and not self.stopping.is_set():
                await self._judge(written)
        finally:
            await asyncio.to_thread(nodes.disconnect)
            connecting.left.set()

    async def _connected(self, connecting: Connecting) -> bool:
        """Wait for the cluster. Return False if the run was stopped before. (Ray itself might try
        forever.)
        """
        until = time.monotonic() + PATIENCE
        while not connecting.tried.is_set():
            if self.address and self.stopping.is_set():
                return False
            if self.address and time.monotonic() > until:
                raise UsageError(
                    f'`address="{self.address}"`: the server there is not a Ray cluster, or refuses'
                    " the connection"
                )
            await asyncio.sleep(EVERY)
        if connecting.failure:
            raise connecting.failure
        return True

    def _write_shards(self) -> Shards:
        limit = self.session.rules.limit
        cores = nodes.cpus()
        workers = max(nodes.workers_for(model, MOST_ROWS, cores) for model in self.plan.models)
        coming = self.plan.questions_per_model if limit is None else limit
        rows = max(LEAST_ROWS, min(MOST_ROWS, coming // (workers * SPREAD)))
        folder = self.folder / REQUESTS
        return write_shards(
            self.plan, self.session.answered, limit, folder, rows, self.stopping.is_set
        )

    async def _judge(self, written: Shards) -> None:
        import ray

        for progress in self.progress:
            progress.done = written.left_out[progress.model.name]
        self._coordinator = nodes.new_coordinator()
        judges = [
            (self._worker_setup(progress.model, written), progress) for progress in self.progress
        ]
        spent, folder = self.session.answered.spent, self.folder / shards.FOLDER
        await self._coordinator.start.remote(folder, self.session.rules, spent, judges)
        if self.stopping.is_set():  # while the coordinator started
            await self._coordinator.halt.remote()
        cores = nodes.cpus()
        pipelines = []
        for model in self.plan.models:
            count = len(written.numbers[model.name])
            if count:
                workers = nodes.workers_for(model, count, cores)
                pipelines.append(Pipeline(model, written, self._coordinator, workers))
        address = nodes.head()
        head = asyncio.create_task(_without_head(address))
        try:
            await self._watch(pipelines, head)
        except ray.exceptions.RayError as error:
            if isinstance(error, OSError):  # of the coordinator's disk
                raise
            failure = await asyncio.to_thread(nodes.unanswered, address)
            why = (
                _headless(address, failure)
                if failure
                else f"the Ray cluster failed: {_last_line(error)}"
            )
            raise JudgeStopped(f"{why}; resume once a cluster is available") from None
        finally:
            head.cancel()
            coordinator, self._coordinator = self._coordinator, None
            with suppress(ray.exceptions.RayActorError):
                await coordinator.close.remote()

    async def _watch(self, pipelines: list[Pipeline], head: asyncio.Task[str]) -> None:
        """Follow the run until all judges are done, or all are closed and nothing is in progress.

        In the second case, the pipelines may still have shards. These shards are not asked, and the
        run does not wait for them.
        """
        idle = 0.0
        while True:
            ended = not any(pipeline.is_alive() for pipeline in pipelines)
            status: RunStatus = await self._coordinator.status.remote()
            self.progress, self.over_budget = status.progress, status.over_budget
            self._in_flight = status.in_flight
            if not any(progress.sent for progress in self.progress):
                self._await("workers")
            if status.failure:
                raise OSError(*status.failure)
            failed = next((pipeline.failure for pipeline in pipelines if pipeline.failure), None)
            if failed:
                raise failed
            if head.done():
                raise JudgeStopped(f"{head.result()}; resume once a cluster is available")
            idle = idle + EVERY if status.all_closed and not status.at_work else 0.0
            if ended or idle > GRACE:
                return
            await asyncio.sleep(EVERY)

    def _worker_setup(self, model: Model, written: Shards) -> WorkerSetup:
        named = [
            model.api_key_env,
            *(value[1:] for value in model.headers.values() if value.startswith("$")),
        ]
        named += (
            [f"{model.model.partition(':')[0].upper()}_API_KEY"]
            if model.provider == "langchain"
            else []
        )
        keys = {name: os.environ[name] for name in (*named, *KEYS) if name and name in os.environ}
        addresses = {name: os.environ.get(name) for name in ADDRESSES}
        return WorkerSetup(
            self.session.setup(model), written.left_out[model.name] > 0, keys | addresses
        )

    def _await(self, what: str) -> None:
        for progress in self.progress:
            progress.awaited = what


async def _without_head(head: str) -> str:
    """Wait until the head of the cluster, HOST:PORT, has stopped answering for a while. Returns the
    failure's message.
    """
    heard = time.monotonic()
    while True:
        failure = await asyncio.to_thread(nodes.unanswered, head)
        if not failure:
            heard = time.monotonic()
        elif time.monotonic() - heard > HEADLESS:
            return _headless(head, failure)
        await asyncio.sleep(HEADLESS / 10)


def _headless(head: str, failure: str) -> str:
    return f"the head of the Ray cluster ({head}) is gone: {failure}"


class Connecting(threading.Thread):
    """A thread that joins or starts the cluster. It is a daemon, so that the program can end while
    Ray still tries. failure: the error, if it fails.

    The thread lives until the run leaves the cluster, because the kernel kills the processes of a
    local cluster together with the thread that started them.
    """

    def __init__(self, address: str) -> None:
        super().__init__(name="connecting", daemon=True)
        self.address = address
        self.failure: Exception | None = None
        self.tried, self.left = threading.Event(), threading.Event()
        self.start()

    def run(self) -> None:
        """Connect, and wait until the cluster is left."""
        try:
            nodes.connect(self.address)
        except Exception as error:
            self.failure = error
            return
        finally:
            self.tried.set()
        self.left.wait()


class Pipeline(threading.Thread):
    """A thread with Ray Data's pipeline of one judge. failure: why the pipeline ended early."""

    def __init__(self, model: Model, written: Shards, coordinator: Any, workers: int) -> None:
        super().__init__(name=f"judge {model.name}", daemon=True)
        self.parts = nodes.judge_shards(model, written, coordinator, workers)
        self.model = model
        self.failure: Exception | None = None
        self.start()

    def run(self) -> None:
        """Run until the judge has been asked everything."""
        try:
            for _ in self.parts:
                pass
        except Exception as error:
            self.failure = _cause(error, self.model)


def _cause(error: Exception, model: Model) -> Exception:
    """The cause of a pipeline's failure. METAL's own errors stay unchanged; Ray's errors are put on
    one line.
    """
    cause: BaseException | None = error
    while cause:
        inner = getattr(cause, "cause", None) or cause.__cause__
        if isinstance(inner, MetalError | OSError):
            return inner
        cause = inner if inner is not cause else None
    return JudgeStopped(
        f"judge {model.name}: its pipeline on the Ray cluster failed: {_last_line(error)}"
    )


def _last_line(error: Exception) -> str:
    line = next(
        (line for line in reversed(str(error).splitlines()) if line.strip()), type(error).__name__
    )
    return line.strip()[:300]
