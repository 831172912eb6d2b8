"""A job that asks models: its run folder (begun, resumed or replaced), and the engine that it
needs.
"""

from __future__ import annotations

import json
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import tomli_w

from metal.data.dataset import Dataset
from metal.data.files import write_new
from metal.data.holdings import LOCK, WORKER
from metal.data.missing import no_such
from metal.data.progress import Progress, no_progress
from metal.data.records import Rater
from metal.data.replacing import check_new, kept_parts
from metal.data.run_summary import WAITING, RunSummary, with_summary
from metal.data.run_toml import read_run_toml
from metal.data.text import in_list
from metal.errors import DataError, UsageError
from metal.raters.judges.batch.ledger import FILE as LEDGER
from metal.raters.judges.batch.ledger import FOLDER as BATCHES
from metal.raters.judges.batch.ledger import open_calls, read_ledger
from metal.raters.judges.call import Client
from metal.raters.judges.cluster.shards import clear as clear_shards
from metal.raters.judges.collect import CallStatistics
from metal.raters.judges.engine import BATCH, LOCAL, EngineOptions
from metal.raters.judges.journal import FILE as JOURNAL
from metal.raters.judges.limits import CostEstimate
from metal.raters.judges.models import Model
from metal.raters.judges.providers import open_client
from metal.runs.parts import manifest

PARTS = (
    "run.toml",
    JOURNAL,
    LEDGER,
    "raters.jsonl",
    "ratings.parquet",
    "warnings.txt",
    "report.html",
)
MAX_COST = "max_cost"  # in the settings of run.toml, of the last session
PLANNED = (
    "planned"  # in the settings of run.toml: {model: its calls, and prices per million tokens}
)
# where a setting is named otherwise
PARAMETERS = {"judges": "judge", "prompts": "prompt", "models": "model"}


def engine_of(out: Path) -> str:
    """The engine with which a run was begun, which a resumed run continues to use."""
    return BATCH if (out / BATCHES).is_dir() else LOCAL  # there before the first question is asked


def under_way(out: Path, how: EngineOptions) -> set[bytes]:
    """The keys of questions in open batches. Raises UsageError if another engine would pay for them
    again.
    """
    keys = open_calls(out)
    if keys and how.engine != BATCH:
        raise UsageError(
            f"{out}: {len(keys):,} calls are in open batches; fetch them with"
            f' `metal.judge(resume="{out}")`, or cancel them with `metal.judge_cancel("{out}")`'
        )
    return keys


@dataclass(frozen=True)
class Request:
    """What a run was asked to do: texts, whole numbers and tuples of texts that decide which calls
    it makes.

    LISTS: tuples that may grow when the run is resumed. OPEN: the LISTS for which empty means all.
    SAME: settings that must not change.
    """

    LISTS: ClassVar[tuple[str, ...]]
    OPEN: ClassVar[tuple[str, ...]]
    SAME: ClassVar[tuple[str, ...]]

    def first_conflict(self, older: Any) -> str:
        """The first setting that differs from the older request's without asking for more; empty if
        none does.
        """
        for name in self.LISTS:
            asked, before = getattr(self, name), getattr(older, name)
            if name in self.OPEN and not asked:
                continue
            if (name in self.OPEN and not before) or not set(before) <= set(asked):
                return name
        changed = (name for name in self.SAME if getattr(self, name) != getattr(older, name))
        return self.reduced(older) or next(changed, "")

    def reduced(self, older: Any) -> str:
        """The first setting outside LISTS that asks for less than the older request; empty if none
        does.
        """
        return ""


Kind = TypeVar("Kind", bound=Request)


@dataclass
class Job(ABC):
    """A request with its parts: the questions that a verb wants to ask, and what it does with the
    answers.

    folder: the dataset's folder. warnings: warnings to show before anything is asked. concurrency:
    the number of calls in flight, if it was given. planned: the number of calls to each model over
    all sessions, once it is known. max_cost: the most dollars that the run may cost, if that was
    given. DESCRIBED: the key in run.toml under which the models' settings
    are. wanted: what a reply should contain.
    """

    command: ClassVar[str]
    DESCRIBED: ClassVar[str]
    wanted: ClassVar[str]

    request: Any
    folder: Path
    dataset: Dataset
    plan: Any
    open_client: Callable[[Model], Client] = open_client
    warnings: tuple[str, ...] = ()
    concurrency: int | None = None
    planned: Mapping[str, int] = field(default_factory=dict)
    max_cost: float | None = None

    @property
    def raters(self) -> tuple[str, ...]:
        """The raters that run.toml names."""
        return ()

    @property
    def answers_itself(self) -> bool:
        """Whether some questions are answered without asking a model."""
        return False

    @property
    @abstractmethod
    def languages(self) -> tuple[str, ...]:
        """The languages of what the job asks about, sorted."""

    @property
    def signature(self) -> str:
        """Everything on which the run's figures depend; empty if other functions compute the
        figures.
        """
        return ""

    @abstractmethod
    def what(self) -> str:
        """What the job asks for, in a few words."""

    @abstractmethod
    def digests(self) -> dict[str, str]:
        """A hash of each text from which the plan's messages are made, by name."""

    def check(self, out: Path) -> None:
        """Raise UsageError unless the run in the folder is an earlier part of this one."""
        if not (out / "run.toml").is_file():
            return
        older, settings = read_request(out, self.command, type(self.request))
        self._check_same(out, older, settings.get("dataset", ""))
        for key, now, changed in (
            ("identities", self._identities(), "its code, judges.toml or the environment"),
            (
                "prompt_hashes",
                self.digests(),
                "the prompts' files, or the criteria asked together,",
            ),
        ):
            for name, digest in settings.get(key, {}).items():
                if now.get(name, digest) != digest:
                    raise UsageError(
                        f"{out}: {name} has changed since the run began ({changed}), so every call"
                        " would be made again; change it back, or give another `out`"
                    )

    def _check_same(self, out: Path, older: Request, dataset: str) -> None:
        """Raise UsageError if the request is about another dataset, or differs from the older one
        other than by asking for more.
        """
        different = self.request.first_conflict(older)
        if different:
            had = getattr(older, different) or "all"
            shown = ", ".join(had) if isinstance(had, tuple) else had
            parameter = PARAMETERS.get(different, different)
            more = "ask for the same or for more"
            if different == "judges":
                more = f'`metal.judge(resume="{out}", judge="{in_list(self.raters)}")` adds to them'
            raise UsageError(
                f'{out} was begun with `{parameter}="{shown}"`; {more}, or give another `out` '
                f'(and `reuse="{out}"`, so that nothing is paid twice)'
            )
        if dataset != str(self.folder) and Path(dataset).resolve() != self.folder.resolve():
            raise UsageError(f"{out} is a run over {dataset}; give another `out`")

    def _identities(self) -> dict[str, str]:
        """A hash of each thing that may change a model's answers, by name."""
        texts = {
            model.name: json.dumps(model.identity, sort_keys=True, default=str)
            for model in self.plan.models
        }
        return {
            name: blake2b(text.encode(), digest_size=8).hexdigest() for name, text in texts.items()
        }

    def expect(
        self, coming: Iterable[CostEstimate], limit: int | None, max_cost: float | None
    ) -> None:
        """Note how many calls the run has in all, and what it may cost."""
        self.planned = {each.model.name: each.calls + each.answered for each in coming}
        if limit is not None:  # the estimate ends there
            self.planned = dict.fromkeys(self.planned, self.plan.questions_per_model)
        self.max_cost = max_cost

    def begin(self, out: Path, *, force: bool) -> None:
        """Remove files that a killed process left and, with force, another run; then write
        run.toml.
        """
        for path in _left_over(out):
            path.unlink()
        if force:
            with kept_parts(out, (*PARTS, "tables")):
                clear(out)
                self.write_run(out)
        else:
            self.write_run(out)

    @abstractmethod
    def finish(self, out: Path, progress: Progress = no_progress) -> Mapping[str, CallStatistics]:
        """Write the results from the journal in the form that the verb needs."""

    def write_run(
        self,
        out: Path,
        raters: Iterable[Rater] | None = None,
        statistics: Mapping[str, CallStatistics] | None = None,
        **more: Any,
    ) -> None:
        """Write run.toml, with everything needed to repeat or resume the run, and its summary.

        raters: None until they are known. statistics: those of all calls so far. more: how far the
        run has come.
        """
        asked = asdict(self.request)
        settings = {
            key: list(value) if isinstance(value, tuple) else value for key, value in asked.items()
        }
        settings |= {
            "dataset": str(self.folder),
            "identities": self._identities(),
            "prompt_hashes": self.digests(),
        }
        settings |= {"concurrency": self.concurrency} if self.concurrency else {}
        settings |= {PLANNED: self._planned()} if self.planned else {}
        settings |= {} if self.max_cost is None else {MAX_COST: self.max_cost}
        settings |= {
            self.DESCRIBED: {model.name: model.described() for model in self.plan.models}
        } | more
        content = manifest(
            self.command, self.dataset, [self.folder], settings, self.raters, self.signature
        )
        text = tomli_w.dumps(content.to_dict()).encode()
        summary = self._summary(content.to_dict(), raters, statistics, out)
        write_new(out / "run.toml", with_summary(text, summary, out))

    def _planned(self) -> dict[str, dict[str, float]]:
        """The number of calls to each model and its prices, for those who follow the run."""
        planned = {}
        for model in self.plan.models:
            entry: dict[str, float] = {"calls": self.planned.get(model.name, 0)}
            for prefix, price in (("", model.price), ("batch_", model.batch_price)):
                if price:
                    prices = {"input": price.input, "output": price.output}
                    entry |= {f"{prefix}{name}": value for name, value in prices.items()}
            planned[model.name] = entry
        return planned

    def _summary(
        self,
        content: Mapping[str, Any],
        raters: Iterable[Rater] | None,
        statistics: Mapping[str, CallStatistics] | None,
        out: Path,
    ) -> RunSummary:
        """What `metal ls` says of the run."""
        waiting = sum(batch.requests for batch in read_ledger(out) if batch.open)
        cost = None if statistics is None else self._cost(statistics)
        facts: dict[str, Any] = {"languages": self.languages, "waiting": waiting, "cost": cost}
        return RunSummary.of(content, raters, **facts | ({"state": WAITING} if waiting else {}))

    def _cost(self, statistics: Mapping[str, CallStatistics]) -> float | None:
        """What all replies cost so far, in dollars; None if the cost of some is not known."""
        models = {model.name: model for model in self.plan.models}
        total = 0.0
        for (model, _), name in self.plan.names.items():
            calls, asked = statistics[name], models[model]
            dollars = calls.cost(asked.price, asked.batch_price) if calls.replies else 0.0
            if dollars is None or calls.uncounted:
                return None
            total += dollars
        return total


def check_place(out: Path, command: str, *, force: bool) -> None:
    """Make the run folder if it is missing. Raises UsageError if it contains something else."""
    if (out / "run.toml").is_file() and not ((out / "dataset.toml").is_file() or force):
        read_settings(out, command)  # a run of this kind
    elif not out.is_dir() or any(
        path.name not in (LOCK, WORKER) and path not in _left_over(out) for path in out.iterdir()
    ):
        check_new(out, command, force=force)
    out.mkdir(parents=True, exist_ok=True)


def _left_over(out: Path) -> list[Path]:
    """Files that a killed process left unfinished (see metal.data.files.new_file)."""
    return [path for name in PARTS for path in out.glob(f".{name}.*.part")]


def clear(out: Path) -> None:
    """Remove the files that a run has written to its folder."""
    clear_shards(out)
    for name in PARTS:
        (out / name).unlink(missing_ok=True)
    for folder in (BATCHES, "tables"):
        shutil.rmtree(out / folder, ignore_errors=True)


def discard(out: Path) -> None:
    """Remove a folder to which nothing was written, unless it contains something else."""
    for name in (LOCK, WORKER):
        (out / name).unlink(missing_ok=True)
    if not any(out.iterdir()):
        out.rmdir()


def read_settings(out: Path, command: str) -> Mapping[str, Any]:
    """The settings of a run of this command. Raises UsageError if the folder has none."""
    if not out.exists():
        raise no_such(out, "run folder", "; begin a run with `out`")
    if not (out / "run.toml").is_file():
        raise UsageError(f"{out}: no run to continue (run.toml is missing); start one with `out`")
    content = read_run_toml(out)
    settings: Mapping[str, Any] = content["settings"]
    if content["command"] != command or "identities" not in settings:
        kind = {"judge": "LLM judges", "generate": "generation"}[command]
        raise UsageError(f"{out}: not a run of {kind}; give another `out`")
    return settings


def read_request(out: Path, command: str, kind: type[Kind]) -> tuple[Kind, Mapping[str, Any]]:
    """The request and all settings of a run. Raises UsageError if it is not a run of this command.

    A missing setting gets its default, because the run was begun before the setting existed.
    """
    settings = read_settings(out, command)
    defaults = {each.name: each.default for each in fields(kind)}
    asked = {key: settings.get(key, default) for key, default in defaults.items()}
    for key in asked:
        if asked[key] is MISSING:
            raise DataError(out / "run.toml", f"no {key!r}", "Begin a new run with `out`")
    for key, value in asked.items():
        parts = value if isinstance(value, list | tuple) else [value]
        wanted = type(defaults[key]) if type(defaults[key]) in (int, bool) else str
        if not all(type(part) is wanted for part in parts) or not isinstance(
            settings.get("dataset"), str
        ):
            raise DataError(
                out / "run.toml",
                f"{key} is {value!r}",
                "Restore the file, or begin a new run with `out`",
            )
    if type(settings.get("concurrency", 1)) is not int or settings.get("concurrency", 1) < 1:
        problem = f"concurrency is {settings['concurrency']!r}"
        raise DataError(
            out / "run.toml", problem, "Write how many calls may be in flight, or delete it"
        )
    plain: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in asked.items()
    }
    return kind(**plain), settings
