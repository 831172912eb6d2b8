"""The run folder of a command that asks models: begun, resumed, replaced; and the engine that it needs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

import tomli_w

from metal.data.dataset import Dataset
from metal.data.files import check_new, new_file, read_toml
from metal.errors import DataError, UsageError
from metal.raters.judges.batch.ledger import FILE as LEDGER
from metal.raters.judges.batch.ledger import FOLDER as BATCHES
from metal.raters.judges.batch.ledger import open_calls
from metal.raters.judges.cluster.shards import clear as clear_shards
from metal.raters.judges.engine import EngineOptions
from metal.raters.judges.journal import FILE as JOURNAL
from metal.raters.judges.journal import LOCK
from metal.raters.judges.models import Model
from metal.runs.manifest import manifest

PARTS = ("run.toml", JOURNAL, LEDGER, "raters.jsonl", "ratings.parquet")
LOCAL, BATCH = "local", "batch"
PARAMETERS = {"judges": "judge", "prompts": "prompt", "models": "model"}  # where a setting is named otherwise


@dataclass(frozen=True)
class How(EngineOptions):
    """An engine by name, and its options."""

    engine: str = LOCAL


def engine_of(out: Path) -> str:
    """The engine that a run continues with when it is resumed: the one it was begun with."""
    return BATCH if (out / BATCHES).is_dir() else LOCAL  # there before the first question is asked


def under_way(out: Path, how: How) -> set[bytes]:
    """The keys of questions in open batches. Raises UsageError when another engine would pay for them again."""
    keys = open_calls(out)
    if keys and how.engine != BATCH:
        raise UsageError(
            f'{out}: {len(keys):,} calls are in open batches; fetch them with `metal.judge(resume="{out}")`, or '
            f'cancel them with `metal.judge_cancel("{out}")`'
        )
    return keys


class Request(Protocol):
    """What a run was asked to do: a frozen dataclass of texts, whole numbers and tuples of texts."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def first_conflict(self, older: Any) -> str:
        """The first setting that neither equals the older request's nor asks for more than it; empty if none."""
        ...


Kind = TypeVar("Kind", bound=Request)


def check_place(out: Path, command: str, *, force: bool) -> None:
    """Make the run folder where it is missing. Raises UsageError when something else is there."""
    if (out / "dataset.toml").is_file():
        raise UsageError(f"{out} is a dataset; it is not replaced. Give another `out`")
    if (out / "run.toml").is_file() and not force:
        read_settings(out, command)  # a run of this kind
    elif not out.is_dir() or any(path.name != LOCK and path not in set(_left_over(out)) for path in out.iterdir()):
        check_new(out, force=force, marks=("run.toml",))
    out.mkdir(parents=True, exist_ok=True)


def _left_over(out: Path) -> Iterator[Path]:
    """Files that a killed process had not finished (see metal.data.files.new_file)."""
    for name in PARTS:
        yield from out.glob(f".{name}.*.part")


def clear(out: Path, *, force: bool) -> None:
    """Take away what a killed process left, and with force what another run wrote; the lock is held."""
    for path in list(_left_over(out)):
        path.unlink()
    if force:
        clear_shards(out)
        for name in PARTS:
            (out / name).unlink(missing_ok=True)
        shutil.rmtree(out / BATCHES, ignore_errors=True)


def discard(out: Path) -> None:
    """Take away a folder that nothing was written to."""
    (out / LOCK).unlink(missing_ok=True)
    out.rmdir()


def check_same(out: Path, request: Kind, older: Kind, dataset: Path, first: str) -> None:
    """Raises UsageError when the request is not the older one, or more of it, over the same dataset (first)."""
    different = request.first_conflict(older)
    if different:
        had = getattr(older, different) or "all"
        shown = ", ".join(had) if isinstance(had, tuple) else had
        parameter = PARAMETERS.get(different, different)
        raise UsageError(
            f'{out} was begun with `{parameter}="{shown}"`; ask for the same or for more of it, or give another `out` '
            f'(and `reuse="{out}"`, so that nothing is paid twice)'
        )
    if first != str(dataset) and Path(first).resolve() != dataset.resolve():
        raise UsageError(f"{out} is a run over {first}; give another `out`")


def check_unchanged(out: Path, before: Mapping[str, str], now: Mapping[str, str], where: str) -> None:
    """Raises UsageError when a hash of before is another one now. where: what must have changed."""
    for name, digest in before.items():
        if name in now and now[name] != digest:
            raise UsageError(
                f"{out}: {name} is not what it was when the run began ({where} changed), and every call would be made "
                f"anew; change it back, or give another `out`"
            )


def identities(models: Iterable[Model]) -> dict[str, str]:
    """A hash of all that may change a model's answers, by name."""
    return {model.name: short_hash(json.dumps(model.identity, sort_keys=True, default=str)) for model in models}


def short_hash(text: str) -> str:
    """Sixteen hex digits."""
    return blake2b(text.encode(), digest_size=8).hexdigest()


def write_run(
    out: Path,
    command: str,
    request: Request,
    dataset: Dataset,
    folder: Path,
    more: Mapping[str, Any],
    raters: Iterable[str] = (),
) -> None:
    """run.toml: all that is needed to repeat or resume the run. more: further settings."""
    asked = asdict(request)
    settings = {key: list(value) if isinstance(value, tuple) else value for key, value in asked.items()}
    settings |= {"dataset": str(folder)} | dict(more)
    about = manifest(command, dataset, [folder], settings, raters)
    with new_file(out / "run.toml") as partial:
        partial.write_text(tomli_w.dumps(about.to_dict()), encoding="utf-8")


def read_settings(out: Path, command: str) -> Mapping[str, Any]:
    """The settings of a run of this command. Raises UsageError when the folder holds none."""
    if not (out / "run.toml").is_file():
        raise UsageError(f"{out}: no run to go on with (run.toml is missing); begin one with `out`")
    about = read_toml(out / "run.toml")
    settings: Mapping[str, Any] = about.get("settings", {})
    if about.get("command") != command or "identities" not in settings:
        kind = {"judge": "LLM judges", "generate": "generation"}[command]
        raise UsageError(f"{out}: not a run of {kind}; give another `out`, or `force=True` to replace it")
    return settings


def read_request(out: Path, command: str, kind: type[Kind]) -> tuple[Kind, Mapping[str, Any]]:
    """What a run was asked to do, and all of its settings. Raises UsageError when it is no run of this command."""
    settings = read_settings(out, command)
    try:
        asked = {key: settings[key] for key in kind.__dataclass_fields__}
    except KeyError as missing:
        raise DataError(out / "run.toml", f"no {missing}", "Begin a new run with `out`") from None
    for key, value in asked.items():
        parts = value if isinstance(value, list) else [value]
        default = kind.__dataclass_fields__[key].default
        wanted = type(default) if type(default) in (int, bool) else str
        if not all(type(part) is wanted for part in parts) or not isinstance(settings.get("dataset"), str):
            raise DataError(out / "run.toml", f"{key} is {value!r}", "Restore the file, or begin a new run with `out`")
    plain: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in asked.items()}
    return kind(**plain), settings
