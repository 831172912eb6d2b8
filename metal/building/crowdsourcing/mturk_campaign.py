"""A campaign on Mechanical Turk: what was asked, and everything that has happened since.

DATASET/annotation/campaigns/NAME/
    tasks-LANG.csv, layout-LANG.html   what is posted, as the form `mturk` wrote it
    campaign.toml                      the settings; written last
    hits.jsonl                         task, token before a HIT is posted; task, hit, expires after
    assignments.jsonl                  every assignment as it was fetched; later its new status
    bonuses.jsonl                      a bonus before it is paid, its token after
    workers.jsonl                      workers who were excluded, and why
    qualifications.jsonl               the qualification types that were made, and what for
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar

from metal.building.crowdsourcing.campaign import Campaign
from metal.building.crowdsourcing.mturk import fee
from metal.building.crowdsourcing.mturk_settings import MTurkSettings
from metal.building.forms.csv_files import csv_rows
from metal.errors import DataError, UsageError

HITS, ASSIGNMENTS, BONUSES = "hits.jsonl", "assignments.jsonl", "bonuses.jsonl"
WORKERS, QUALIFICATIONS = "workers.jsonl", "qualifications.jsonl"
CAP, NOISY = "cap", "noisy"  # why a worker was excluded


@dataclass(frozen=True)
class Hit:
    """A task's HIT: the token it is posted with, its id once there is one, and when it ends."""

    token: str = ""
    hit: str = ""
    at: str = ""
    expires: str = ""


@dataclass(frozen=True)
class MTurkCampaign(Campaign):
    """A campaign on Mechanical Turk (see `Campaign`)."""

    settings: MTurkSettings

    platform: ClassVar[str] = "mturk"
    title: ClassVar[str] = "Mechanical Turk"
    settings_type: ClassVar[type] = MTurkSettings

    def token(self, *parts: str) -> str:
        """The token of a request, the same for the same parts: it tells MTurk that a request was made before."""
        return blake2b("\0".join(parts).encode(), key=self.settings.key.encode(), digest_size=24).hexdigest()

    def rows(self) -> Iterator[tuple[str, str, dict[str, str]]]:
        """(language, layout, row of the CSV) of each task."""
        for language in self.settings.languages:
            names = (f"tasks-{language}.csv", f"layout-{language}.html")
            files = {name: (self.folder / name).read_bytes() for name in names}
            yield from rows_of(files, language, str(self.folder))

    def hits(self) -> dict[str, Hit]:
        """By task, in the order of posting."""
        names = ("token", "hit", "at", "expires")
        return {
            task: Hit(**{name: str(record[name]) for name in names if name in record})
            for task, record in self.merged(HITS, "task").items()
        }

    def posted(self) -> dict[str, str]:
        """Task -> HIT id, of tasks that are posted."""
        return {task: hit.hit for task, hit in self.hits().items() if hit.hit}

    def assignments(self) -> dict[str, dict[str, Any]]:
        """By id, each with its latest status."""
        return self.merged(ASSIGNMENTS, "assignment")

    def bonuses(self) -> dict[str, dict[str, Any]]:
        """By token; with `paid` if it is known to be."""
        return self.merged(BONUSES, "token")

    def excluded(self) -> dict[str, str]:
        """Worker -> why."""
        return {line["worker"]: line["why"] for line in self.lines(WORKERS)}

    def qualifications(self) -> dict[str, str]:
        """Purpose -> qualification type."""
        return {line["purpose"]: line["type"] for line in self.lines(QUALIFICATIONS)}

    def standing(self, now: datetime) -> dict[str, Any]:
        """Tasks, HITs and assignments by status, USD spent and still to come, and when the last HIT expires.

        As of the last pull. open: assignments that can still come, of HITs that have not expired by `now`. spent:
        approved assignments and bonuses with MTurk's fees; waiting: what approving everything submitted would add.
        """
        assignments = self.assignments()
        status = Counter(assignment["status"] for assignment in assignments.values())
        posted = [hit for hit in self.hits().values() if hit.hit]
        reward = Decimal(self.settings.reward)
        each = reward + fee(reward, self.settings.assignments)
        taken = Counter(assignment["hit"] for assignment in assignments.values())
        offered = [hit for hit in posted if not hit.expires or datetime.fromisoformat(hit.expires) > now]
        bonuses = [Decimal(bonus["usd"]) for bonus in self.bonuses().values() if bonus.get("paid")]
        spent = status["Approved"] * each + sum((usd + fee(usd, 1) for usd in bonuses), Decimal())
        return {
            "campaign": self.name,
            "environment": self.settings.environment,
            "languages": list(self.settings.languages),
            "tasks": sum(1 for _ in self.rows()),
            "posted": len(posted),
            "submitted": status["Submitted"],
            "approved": status["Approved"],
            "rejected": status["Rejected"],
            "open": sum(max(0, self.settings.assignments - taken[hit.hit]) for hit in offered),
            "workers": len({assignment["worker"] for assignment in assignments.values()}),
            "shut_out": len(self.excluded()),
            "spent": float(spent),
            "waiting": float(status["Submitted"] * each),
            "expires": max((hit.expires for hit in posted if hit.expires), default=""),
        }


def noisy_workers(dataset: Path, name: str, environment: str) -> list[str]:
    """The workers that other campaigns of the dataset in this environment excluded as noisy. name: of this campaign."""
    return sorted(
        worker
        for campaign in MTurkCampaign.of(dataset)
        if campaign.settings.environment == environment and campaign.name != name
        for worker, why in campaign.excluded().items()
        if why == NOISY
    )


def read_export(export: Path, languages: Sequence[str] = ()) -> dict[str, dict[str, bytes]]:
    """Language -> the exported files that are posted, by name. Raises UsageError if there are none."""
    files: dict[str, dict[str, bytes]] = {}
    for table in sorted(export.glob("tasks-*.csv")):
        language = table.stem.removeprefix("tasks-")
        layout = export / f"layout-{language}.html"
        if layout.is_file() and (not languages or language in languages):
            files[language] = {path.name: path.read_bytes() for path in (table, layout)}
    missing = [language for language in languages if language not in files]
    if missing or not files:
        what = f"no tasks in {missing[0]!r}" if missing else "no tasks-LANG.csv with its layout-LANG.html"
        raise UsageError(
            f'{export}: {what}; write them with `metal.annotate_export(DATASET, to="mturk", out="{export}")`'
        )
    return files


def rows_of(files: Mapping[str, bytes], language: str, where: str) -> Iterator[tuple[str, str, dict[str, str]]]:
    """(language, layout, row of the CSV) of each task of a language.

    Raises DataError for a row without a task, or with too few or too many cells.
    """
    layout = files[f"layout-{language}.html"].decode("utf-8", "replace")
    table = f"{where}/tasks-{language}.csv"
    head, *rows = csv_rows(table, files[f"tasks-{language}.csv"]) or [[]]
    for number, cells in enumerate(rows, 2):
        row = dict(zip(head, cells, strict=False))
        if len(cells) != len(head) or not row.get("task"):
            raise DataError(f"{table} row {number}", "not a row as it was exported", "Export the tasks again")
        yield language, layout, row
