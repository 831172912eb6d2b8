"""The page of a judges' run at work: how far it is, what fails, first figures; stop and resume."""

from __future__ import annotations

import asyncio
import json
import shlex
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from metal.app.jobs import RUNNING as JOB_RUNNING
from metal.app.jobs import AppJob, Jobs
from metal.app.library import Library, NoSuchPage, changed
from metal.app.naming import typed_path
from metal.app.opening import dataset_at
from metal.app.templating import respond, templates
from metal.data.at_work import ask_to_stop
from metal.data.run_summary import FINISHED, is_running
from metal.data.run_toml import named_by, read_run_toml
from metal.data.text import duration, first_few, percent
from metal.errors import MetalError
from metal.running.first_figures import AnswerCounts, FirstFigures
from metal.running.following import RUNNING, RunFollower, RunProgress
from metal.runs.parts import command_of
from metal.show.terminal.stages import per_second

EVERY = 1.0  # seconds between two looks
LOOK = 0.1  # seconds that a look may read; a long journal is read in several looks
PARTS = ("state", "numbers", "judges", "trouble", "figures", "act")  # of the page, by their ids
FOLLOWED = ("judge", "generate")
UNREAD = 10_000  # answers that wait to be read; of more, the first are left out of the figures
NO_LIMIT = "inf"  # dollars
FEW = 5  # comparisons with people below which no share is shown


@dataclass
class LiveRun:
    """A run that a page follows.

    figures: None for a run that rates nothing. asked: the start time of the process that was asked
    to stop; 0 if none was. job: the command that resumes the run, if the app started one. audits:
    the
    keys of audits of the run; None while nobody has looked for them. unread: records that the
    figures lack, because reading an answer takes longer than counting it.
    """

    folder: Path
    figures: FirstFigures | None
    follower: RunFollower = field(init=False)
    asked: float = 0.0
    job: AppJob | None = None
    audits: list[str] | None = None
    unread: deque[Mapping[str, Any]] = field(default_factory=lambda: deque(maxlen=UNREAD))
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        if self.figures is None:
            self.follower = RunFollower(self.folder)
        else:
            self.follower = RunFollower(self.folder, self.unread.append, self._restart)

    def _restart(self) -> None:
        """Forget all answers, because the run was replaced."""
        assert self.figures
        self.figures.clear()
        self.unread.clear()

    @classmethod
    def of(cls, library: Library, folder: Path) -> LiveRun:
        """Open a run. Raises NoSuchPage if it asks no models."""
        command = command_of(folder)
        if command not in FOLLOWED:
            raise NoSuchPage(f"{folder.name} asks no models, so there is no progress to show")
        return cls(folder, _figures_of(library, folder) if command == "judge" else None)

    def look(self) -> RunProgress:
        """Read what is new, and then some of the answers that the figures lack."""
        with self.lock:
            progress = self.follower.look(LOOK)
            until = time.monotonic() + LOOK
            while self.figures and self.unread and time.monotonic() < until:
                with suppress(LookupError, TypeError, ValueError, AttributeError):  # damaged
                    self.figures.count(self.unread.popleft())
            return progress

    def stop(self) -> None:
        """Ask the process to stop. The second call asks it to drop the calls in flight."""
        progress = self.look()
        if ask_to_stop(self.folder):
            self.asked = progress.began or 0.0

    def resume(self, jobs: Jobs, max_cost: str) -> None:
        """Start the command that makes the remaining calls, unless one is at work.

        max_cost: dollars, as somebody typed them; empty for no limit.
        """
        if not max_cost and self.look().max_cost is not None:
            max_cost = NO_LIMIT
        with self.lock:
            if self.job is None or self.job.state != JOB_RUNNING:
                self.job = jobs.start(resuming(self.folder, jobs.root, max_cost))


def _figures_of(library: Library, folder: Path) -> FirstFigures:
    """First figures of a judges' run, without any if its dataset cannot be read."""
    from metal.api.read import reading_of

    path = named_by(folder, read_run_toml(folder)["settings"]["dataset"])
    try:
        dataset = dataset_at(library, path, reading_of(folder))
    except (MetalError, OSError):
        dataset = None
    return FirstFigures(folder, path, dataset)


def resuming(folder: Path, root: Path, max_cost: str = "") -> list[str]:
    """The arguments of `metal` that resume a run.

    max_cost: dollars, as somebody typed them; empty for the limit that the run has.
    """
    limit = [f"--max-cost={max_cost}"] if max_cost else []
    return [command_of(folder), f"--resume={typed_path(folder, root)}", "--yes", *limit]


def has_ended(folder: Path) -> bool:
    """Whether a run has made all of its calls, and nobody works on it."""
    state: Mapping[str, Any] = read_run_toml(folder)["settings"].get("state", {})
    return bool(state.get("complete")) and not is_running(folder)


def auditing(folder: Path, root: Path) -> list[str]:
    """The arguments of `metal` that compare a run with people."""
    run = typed_path(folder, root)
    dataset = str(read_run_toml(folder)["settings"]["dataset"])
    return ["audit", f"--out={run}-audit", "--", dataset, run]


def audits_of(folder: Path, library: Library) -> list[str]:
    """The keys of the audits that have this run among their data."""
    keys = []
    for key, entry in library.folders().items():
        if entry.kind == "audit":
            datasets = read_run_toml(Path(entry.path))["datasets"]
            paths = [path for data in datasets for path in data.get("more", ())]
            here = {folder.resolve(), library.root / folder}
            if any({Path(path).resolve(), library.root / path} & here for path in paths):
                keys.append(key)
    return keys


# ---------------------------------------------------------------- what the page shows


@dataclass(frozen=True)
class Trouble:
    """Calls of a judge that failed for the same reason.

    what: a plural noun. message: what the provider said last.
    """

    number: int
    what: str
    cause: str
    judge: str
    message: str


def troubles(progress: RunProgress) -> list[Trouble]:
    """What went wrong, the most frequent first."""
    rows = []
    for judge in progress.judges:
        for cause, number in judge.failures.items():
            message = judge.messages.get(cause, "")
            rows.append(Trouble(number, "failed calls", cause, judge.judge, message))
        for reason, number in judge.without.items():
            rows.append(Trouble(number, "replies without an answer", reason, judge.judge, ""))
    return sorted(rows, key=lambda row: -row.number)


@dataclass(frozen=True)
class LevelShare:
    """How often a judge gave a level: its label, its share in percent, and where its part of a bar
    begins and how wide it is.
    """

    label: str
    share: str
    left: float
    width: float


@dataclass(frozen=True)
class FigureRow:
    """First figures of a judge on a criterion, perhaps in one language.

    levels: empty for a scale without levels, which has a mean.
    """

    judge: str
    criterion: str
    language: str
    answers: int
    levels: tuple[LevelShare, ...]
    mean: str
    outputs: int
    same: str
    people_same: str


def figure_rows(figures: FirstFigures) -> tuple[list[FigureRow], list[FigureRow]]:
    """The rows by judge and criterion, and the same by language."""
    together = [
        _row(figures, judge, criterion, "", counts)
        for (judge, criterion), counts in figures.by_criterion().items()
    ]
    parts = [
        _row(figures, judge, criterion, language, counts)
        for (judge, criterion, language), counts in sorted(figures.counts.items())
    ]
    return together, parts


def _row(
    figures: FirstFigures, judge: str, criterion: str, language: str, counts: AnswerCounts
) -> FigureRow:
    asked = figures.criteria[criterion]
    answers = counts.scores.total()
    levels: list[LevelShare] = []
    left = 0.0
    for level in asked.scale.levels:
        width = 100 * counts.scores[level.value] / answers
        levels.append(LevelShare(level.label, percent(width / 100), left, width))
        left += width
    # on a scale without levels, equal scores are rare and say little
    compared = counts if levels else AnswerCounts()
    mean = sum(score * times for score, times in counts.scores.items()) / answers
    return FigureRow(
        judge,
        asked.title,
        language,
        answers,
        tuple(levels),
        f"{mean:.4g}",
        counts.outputs,
        _share(compared.same, compared.pairs),
        _share(compared.people_same, compared.people_pairs),
    )


def _share(same: int, pairs: int) -> str:
    """A share of comparisons; empty if there are too few."""
    return percent(same / pairs) if pairs >= FEW else ""


def content_of(request: Request, live: LiveRun) -> dict[str, Any]:
    """What the page of a run shows now."""
    key, jobs = request.path_params["key"], request.app.state.jobs
    progress = live.look()
    job = live.job
    pace = {"rate": "", "left": ""}
    state = job.state if job else ""
    rows: tuple[list[FigureRow], list[FigureRow]] = [], []
    if live.figures is not None:
        with live.lock:
            rows = figure_rows(live.figures)
    if progress.state == FINISHED and live.audits is None:
        live.audits = audits_of(live.folder, request.app.state.library)
    if progress.rate:
        pace["rate"] = per_second(progress.rate, " calls")
    if progress.seconds_left is not None:
        pace["left"] = duration(progress.seconds_left)
    models = sorted(progress.totals) or sorted({judge.model for judge in progress.judges})
    return {
        "base": request.scope["root_path"],
        "key": key,
        "live": live,
        "command": command_of(live.folder),
        "progress": progress,
        "running": progress.state == RUNNING,
        "starting": state == JOB_RUNNING and progress.state != RUNNING,
        "stopping": progress.state == RUNNING and live.asked == (progress.began or -1.0),
        "job": job,
        "job_state": state,
        "models": first_few(models, 3),
        "read": percent(progress.read),
        "whole": rows[0],
        "several": len(progress.judges) > 1,
        "parts": rows[1],
        "resuming": shlex.join(["metal", *resuming(live.folder, jobs.root)]),
        "audits": live.audits or (),
        "auditing": shlex.join(["metal", *auditing(live.folder, jobs.root)]),
        "troubles": troubles(progress),
        **pace,
    }


# ---------------------------------------------------------------- the addresses


def live_page(request: Request) -> Response:
    """Show how far a run is."""
    live = _live(request)
    live.audits = None
    content = content_of(request, live) | {"still": "still" in request.query_params}
    return respond(request, "live.html", content)


async def live_events(request: Request) -> Response:
    """Send the parts of the page that have changed, as server-sent events."""
    from sse_starlette import EventSourceResponse

    live = await run_in_threadpool(_live, request)
    return EventSourceResponse(_changes(request, live))


async def _changes(request: Request, live: LiveRun) -> AsyncIterator[Mapping[str, str]]:
    """Events with the HTML of changed parts, as JSON by id, until the reader leaves or the app
    ends.
    """
    before: dict[str, str] = {}
    while not request.app.state.ending.is_set():
        now = await run_in_threadpool(_drawn, request, live)
        changed = {part: html for part, html in now.items() if before.get(part) != html}
        if changed:
            yield {"data": json.dumps(changed)}
        before = now
        await asyncio.sleep(EVERY)


def _drawn(request: Request, live: LiveRun) -> dict[str, str]:
    template = templates().get_template("live.html")
    context = template.new_context(content_of(request, live))
    return {part: "".join(template.blocks[part](context)) for part in PARTS}


def stop_run(request: Request) -> Response:
    """Ask the process that works on a run to stop."""
    _live(request).stop()
    return _back(request)


async def resume_run(request: Request) -> Response:
    """Start the command that makes the remaining calls of a run."""
    form = await request.form()
    live = await run_in_threadpool(_live, request)
    typed = str(form.get("max_cost", "")).strip()
    await run_in_threadpool(live.resume, request.app.state.jobs, typed)
    return _back(request)


def audit_run(request: Request) -> Response:
    """Start the command that compares a run with people."""
    jobs: Jobs = request.app.state.jobs
    job = jobs.start(auditing(_live(request).folder, jobs.root))
    return RedirectResponse(f"{request.scope['root_path']}/job/{job.key}", 303)


def _back(request: Request) -> Response:
    key = quote(request.path_params["key"])
    return RedirectResponse(f"{request.scope['root_path']}/live/{key}", 303)


def _live(request: Request) -> LiveRun:
    """The run of an address, followed since somebody first looked at it."""
    library: Library = request.app.state.library
    folder = library.path(request.path_params["key"])
    settings = read_run_toml(folder)["settings"]
    # a run that was resumed with more, or whose dataset changed, is opened again
    asked = [sorted(settings.get(part, {})) for part in ("prompt_hashes", "identities")]
    dataset = changed(named_by(folder, str(settings.get("dataset", ""))))
    live: LiveRun = request.app.state.followed.get(
        (folder, repr(asked), dataset), lambda: LiveRun.of(library, folder)
    )
    return live


ROUTES = [
    Route("/live/{key:path}", live_page, name="live"),
    Route("/live-events/{key:path}", live_events),
    Route("/live-stop/{key:path}", stop_run, methods=["POST"]),
    Route("/live-resume/{key:path}", resume_run, methods=["POST"]),
    Route("/live-audit/{key:path}", audit_run, methods=["POST"]),
]
