"""The Ray engine: a run on a cluster, from the journal's open questions to the journal's new lines."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from metal.errors import MetalError, UsageError
from metal.raters.judges.call import JudgeStopped, Questions
from metal.raters.judges.cluster import nodes, quiet, shards
from metal.raters.judges.cluster.coordinator import Standing, Start
from metal.raters.judges.cluster.messages import Settings
from metal.raters.judges.cluster.requests import FOLDER as REQUESTS
from metal.raters.judges.cluster.requests import LEAST_ROWS, MOST_ROWS, Shards, write_requests
from metal.raters.judges.engine import Progress, Rules
from metal.raters.judges.journal import Journal
from metal.raters.judges.lines import Answered
from metal.raters.judges.models import Model
from metal.raters.judges.secrets import Secrets

EVERY = 0.2  # seconds between two looks at how the run stands
PATIENCE = 60.0  # seconds in which a cluster at an address has to let us in
HEADLESS = 15.0  # seconds in which the head of the cluster may be silent; after 60 Ray ends this process
GRACE = 2.0  # seconds in which pipelines of a stopped run may come to their own end
SPREAD = 6  # shards a worker, at least, so that none is left with nothing while others have much

# What the libraries take from the environment. Addresses are the driver's, wherever a call is made.
KEYS = ("OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENAI_COMPATIBLE_API_KEY")
ADDRESSES = (
    "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "AZURE_OPENAI_ENDPOINT", "OPENAI_API_VERSION",
    "GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION",
    "OPENAI_COMPATIBLE_BASE_URL",
)  # fmt: skip


class RayRun:
    """A run on a Ray cluster (metal.raters.judges.engine.Engine). folder: the run's; address: a cluster's, or "".

    Raises MissingExtra when Ray is not installed.
    """

    def __init__(
        self,
        plan: Questions,
        journal: Journal,
        answered: Answered,
        rules: Rules,
        secrets: Secrets,
        folder: Path,
        address: str = "",
    ) -> None:
        nodes.check_ray()
        self.plan, self.journal, self.answered, self.rules, self.secrets = plan, journal, answered, rules, secrets
        self.folder, self.address = folder.resolve(), address  # the coordinator works in another folder
        self.over_budget = False
        self.stopping = asyncio.Event()
        self._progress = [
            Progress(model, plan.calls_a_model, answered.begins.get(model.name, 0)) for model in plan.models
        ]
        self._coordinator: Any = None
        self._in_flight = 0

    @property
    def progress(self) -> list[Progress]:
        """A model each, in the plan's order."""
        return self._progress

    def stop(self) -> str:
        """Begin no more calls; those in flight are finished and saved."""
        self.stopping.set()
        if self._coordinator:
            self._coordinator.halt.remote()
        return f"finishing {self._in_flight} calls in flight; Ctrl-C again to drop them"

    async def go(self) -> None:
        """Until nothing is left to ask. Raises OSError of the disk, UsageError when there is no cluster."""
        await shards.merge(self.journal, self.folder)  # nothing, unless somebody forgot to before he looked it through
        try:
            with quiet.only_ours():
                await self._on_cluster()
        finally:
            await shards.merge(self.journal, self.folder)

    async def _on_cluster(self) -> None:
        self._await("a Ray cluster")
        connecting = Connecting(self.address)
        if not await self._connected(connecting):
            return
        try:
            self._await("the requests' files")
            written = await asyncio.to_thread(self._write)
            self._await("")
            if any(written.waiting.values()) and not self.stopping.is_set():
                await self._judge(written)
        finally:
            await asyncio.to_thread(nodes.disconnect)
            connecting.left.set()

    async def _connected(self, connecting: Connecting) -> bool:
        """Wait for the cluster; False: the run was stopped before. Ray itself may try for ever."""
        until = time.monotonic() + PATIENCE
        while not connecting.tried.is_set():
            if self.address and self.stopping.is_set():
                return False
            if self.address and time.monotonic() > until:
                raise UsageError(
                    f"--address {self.address}: what answers there is no Ray cluster, or does not let us in"
                )
            await asyncio.sleep(EVERY)
        if connecting.failure:
            raise connecting.failure
        return True

    def _write(self) -> Shards:
        cores = nodes.cpus()
        workers = max(nodes.workers_for(model, MOST_ROWS, cores) for model in self.plan.models)
        coming = self.plan.calls_a_model if self.rules.limit is None else self.rules.limit
        rows = max(LEAST_ROWS, min(MOST_ROWS, coming // (workers * SPREAD)))
        folder = self.folder / REQUESTS
        return write_requests(self.plan, self.answered, self.rules.limit, folder, rows, self.stopping.is_set)

    async def _judge(self, written: Shards) -> None:
        import ray

        for one in self._progress:
            one.done = written.known[one.model.name]
        self._coordinator = nodes.new_coordinator()
        settings = [self._settings(model, written) for model in self.plan.models]
        await self._coordinator.start.remote(
            Start(self.folder / shards.FOLDER, self.rules, self.answered.spent, settings, self._progress)
        )
        if self.stopping.is_set():  # while the coordinator was begun
            await self._coordinator.halt.remote()
        readers = [ray.put(written.readers)]
        cores = nodes.cpus()
        pipelines = []
        for model in self.plan.models:
            count = len(written.numbers[model.name])
            if count:
                workers = nodes.workers_for(model, count, cores)
                pipelines.append(Pipeline(model, written, self._coordinator, readers, workers))
        address = nodes.head()
        head = asyncio.create_task(_without_head(address))
        try:
            await self._watch(pipelines, head)
        except ray.exceptions.RayError as error:
            if isinstance(error, OSError):  # of the coordinator's disk
                raise
            failure = await asyncio.to_thread(nodes.unanswered, address)
            said = _headless(address, failure) if failure else f"the Ray cluster failed: {_last_line(error)}"
            raise JudgeStopped(f"{said}; resume when there is a cluster again") from None
        finally:
            head.cancel()
            coordinator, self._coordinator = self._coordinator, None
            with suppress(ray.exceptions.RayActorError):
                await coordinator.close.remote()

    async def _watch(self, pipelines: list[Pipeline], head: asyncio.Task[str]) -> None:
        """Follow the run until all judges are done, or none goes on and nothing is under way.

        Then what is left of the pipelines, shards of which nothing is asked, need not be waited for.
        """
        idle = 0.0
        while True:
            ended = not any(pipeline.is_alive() for pipeline in pipelines)
            standing: Standing = await self._coordinator.standing.remote()
            self._progress, self.over_budget = standing.progress, standing.over_budget
            self._in_flight = standing.in_flight
            if not any(one.sent for one in self._progress):
                self._await("workers")
            if standing.failure:
                raise OSError(*standing.failure)
            failed = next((one.failure for one in pipelines if one.failure), None)
            if failed:
                raise failed
            if head.done():
                raise JudgeStopped(f"{head.result()}; resume when there is a cluster again")
            idle = idle + EVERY if standing.all_closed and not standing.at_work else 0.0
            if ended or idle > GRACE:
                return
            await asyncio.sleep(EVERY)

    def _settings(self, model: Model, written: Shards) -> Settings:
        named = [model.api_key_env, *(value[1:] for value in model.headers.values() if value.startswith("$"))]
        named += [f"{model.model.partition(':')[0].upper()}_API_KEY"] if model.provider == "langchain" else []
        return Settings(
            replace(model),
            self.rules,
            self.plan.answer_tokens,
            self.answered.rejected.get(model.name, {}),
            ever_answered=written.known[model.name] > 0,
            keys={name: os.environ[name] for name in (*named, *KEYS) if name and name in os.environ},
            addresses={name: os.environ.get(name) for name in ADDRESSES},
            secrets=self.secrets,
        )

    def _await(self, what: str) -> None:
        for one in self._progress:
            one.awaited = what


async def _without_head(head: str) -> str:
    """Waits until the head of the cluster, HOST:PORT, has not answered for a while; what to say then."""
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
    """Joins or starts the cluster; a daemon, so that the program can end while Ray still tries. failure: why not.

    It stays until the cluster is left: the kernel kills the processes of a cluster that was started here with the
    thread that started them.
    """

    def __init__(self, address: str) -> None:
        super().__init__(name="connecting", daemon=True)
        self.address = address
        self.failure: Exception | None = None
        self.tried, self.left = threading.Event(), threading.Event()
        self.start()

    def run(self) -> None:
        """Once."""
        try:
            nodes.connect(self.address)
        except Exception as error:
            self.failure = error
            return
        finally:
            self.tried.set()
        self.left.wait()


class Pipeline(threading.Thread):
    """Ray Data's pipeline of one judge. failure: why it ended before its end."""

    def __init__(self, model: Model, written: Shards, coordinator: Any, readers: Any, workers: int) -> None:
        super().__init__(name=f"judge {model.name}", daemon=True)
        self.parts = nodes.judge_shards(model, written, coordinator, readers, workers)
        self.model = model
        self.failure: Exception | None = None
        self.start()

    def run(self) -> None:
        """Until the judge has been asked everything."""
        try:
            for _ in self.parts:
                pass
        except Exception as error:
            self.failure = _told(error, self.model)


def _told(error: Exception, model: Model) -> Exception:
    """What a pipeline's failure comes down to: METAL's own errors as they are, Ray's on one line."""
    cause: BaseException | None = error
    while cause:
        inner = getattr(cause, "cause", None) or cause.__cause__
        if isinstance(inner, MetalError | OSError):
            return inner
        cause = inner if inner is not cause else None
    return JudgeStopped(f"judge {model.name}: its pipeline on the Ray cluster failed: {_last_line(error)}")


def _last_line(error: Exception) -> str:
    said = next((line for line in reversed(str(error).splitlines()) if line.strip()), type(error).__name__)
    return said.strip()[:300]
