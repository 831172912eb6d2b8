"""Platforms on which people rate: entry points of the group `metal.platforms`, one `Platform` each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metal.building.crowdsourcing.schedule import now
from metal.data.plugins import load_plugin, plugins
from metal.errors import UsageError

if TYPE_CHECKING:
    from metal.running.importing import ImportReport

GROUP = "metal.platforms"

Say = Callable[[str], None]
Progress = Callable[[int, int], None]


def silent(*anything: object) -> None:
    """A callback that does nothing."""


@dataclass(frozen=True)
class Platform:
    """A platform, and the functions that serve it.

    title: its name for people. push(data, export, *, ...) -> Posted, pull(data, *, ...) -> Pulled: their keyword
    parameters are the options of `metal annotate push` and `pull`, described in their docstrings (see
    metal.data.parameters). Those called say, confirm, progress, countdown and imported are callbacks.
    campaigns(dataset, now): a record of figures for each campaign in the dataset's folder.
    """

    title: str
    push: Callable[..., Posted | None]
    pull: Callable[..., Pulled]
    campaigns: Callable[[Path, datetime], Sequence[Mapping[str, Any]]]


@dataclass(frozen=True)
class Posted:
    """What a push did. count: `unit`s (tasks, projects) posted now; before: those that an earlier push had posted.

    where: on which server, in words. state: the campaign's folder. workers: the page where people find the tasks.
    campaigns: how many the dataset has on this platform.
    """

    campaign: str
    count: int
    before: int
    unit: str
    where: str
    state: Path
    workers: str = ""
    campaigns: int = 1


@dataclass(frozen=True)
class Pulled:
    """What a pull did. report: None if nothing had been submitted. standing: the campaign's figures now."""

    campaign: str
    report: ImportReport | None
    standing: Mapping[str, Any]


def platform(name: str) -> Platform:
    """The platform of that name. Raises UnknownName."""
    loaded: Platform = load_plugin(GROUP, "platform", name)
    return loaded


def annotate_status(data: str | Path) -> dict[str, list[Mapping[str, Any]]]:
    """The campaigns of a dataset, by platform, as they were at the last push or pull. No platform is asked.

    data: the dataset's folder. Raises UsageError for a folder that is not a dataset.
    """
    if not (Path(data) / "dataset.toml").is_file():
        raise UsageError(f"{data} is no dataset: it has no dataset.toml")
    return {name: list(platform(name).campaigns(Path(data), now())) for name in plugins(GROUP)}


def confirm_spending(question: str, yes: bool, confirm: Callable[[str], bool] | None) -> None:
    """Go on only if somebody agrees. yes: they did already. confirm: asks them. Raises UsageError otherwise."""
    if yes:
        return
    if confirm is None:
        raise UsageError("this costs money: pass `yes=True` where nobody can be asked. Nothing was sent")
    if not confirm(question):
        raise UsageError("nothing was sent")
