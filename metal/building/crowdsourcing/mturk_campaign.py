"""A campaign on Mechanical Turk: what was asked, and everything that has happened since.

DATASET/annotation/campaigns/NAME/
    tasks-LANG.csv, layout-LANG.html   what is posted, as the form `mturk` wrote it
    campaign.toml                      the settings; written last
    hits.jsonl                         task and token before a HIT is posted;
                                       task, hit and expires after
    assignments.jsonl                  every assignment as it was fetched; later its new status
    bonuses.jsonl                      a bonus before it is paid; its token after
    workers.jsonl                      workers who were excluded, and why
    qualifications.jsonl               the qualification types that were made, and what for
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal, InvalidOperation
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

from metal.building.crowdsourcing.campaign import Campaign
from metal.building.crowdsourcing.label_studio import checked_url
from metal.building.crowdsourcing.mturk import ENDPOINTS, fee
from metal.building.forms.sheet import csv_rows
from metal.errors import DataError, UsageError


@dataclass(frozen=True)
class MTurkSettings:
    """What a campaign requires of Mechanical Turk and its workers.

    reward: USD per assignment. lifetime: seconds for which a HIT is offered. duration: seconds that
    a worker has for it. auto_approval: seconds after which MTurk itself pays an assignment that
    nobody reviewed. cap: how many assignments a worker may do, 0 for any number. minimum:
    qualification type -> lowest score. fields: the fields of the layouts. digest: hash of what is
    posted. key: the basis of the tokens; not secret. start: the schedule by which the campaign was
    published, if any.
    """

    environment: str
    endpoint: str
    reward: str
    assignments: int
    lifetime: int
    duration: int
    auto_approval: int
    languages: tuple[str, ...]
    title: str
    description: str
    keywords: str
    completed_hits: int = 0
    share_approved: int = 0
    countries: tuple[str, ...] = ()
    minimum: Mapping[str, int] = field(default_factory=dict)
    cap: int = 0
    adult: bool = False
    test: str = ""
    test_pass: int = 0
    fields: tuple[str, ...] = ()
    digest: str = ""
    platform: str = "mturk"
    key: str = ""
    created: str = ""
    start: str = ""


def read_usd(text: str, parameter: str) -> Decimal:
    """Read an amount of USD in whole cents. Raises UsageError, which names the parameter.

    >>> read_usd("$0.25", "reward")
    Decimal('0.25')
    """
    try:
        usd = Decimal(text.strip().removeprefix("$"))
    except InvalidOperation:
        usd = Decimal(-1)
    if not usd.is_finite() or usd <= 0 or usd != usd.quantize(Decimal("0.01")):
        raise UsageError(
            f"`{parameter}` {text!r} is not a sum in USD and whole cents, such as 0.25"
        )
    return usd


def read_qualification(text: str) -> tuple[str, int]:
    """Read (qualification type, lowest score) from `ID=LOWEST`; from `ID` alone the score is 1."""
    kind, _, lowest = text.partition("=")
    if not kind.isalnum() or not (lowest or "1").isdecimal():
        raise UsageError(f"`qualification` {text!r} is not ID or ID=LOWEST")
    return kind, int(lowest or 1)


def read_bonus(text: str) -> tuple[str, Decimal]:
    """Read (worker, USD) from `WORKER=USD`."""
    worker, equals, usd = text.rpartition("=")
    if not equals or not worker:
        raise UsageError(f"`bonus` {text!r} is not WORKER=USD, such as A1B2C3=2.50")
    return worker.removeprefix("mturk:"), read_usd(usd, "bonus")


def read_rejection(text: str) -> tuple[str, str]:
    """Read (assignment, reason) from `ASSIGNMENT=REASON`."""
    assignment, _, reason = text.partition("=")
    if not assignment or not reason.strip():
        raise UsageError(f"`reject` {text!r} is not ASSIGNMENT=REASON; workers are told why")
    return assignment, reason.strip()


def read_endpoint(url: str | None, production: bool) -> str:
    """The address to which calls go. Raises UsageError for an address with a password, and for the
    real Mechanical Turk without `production`.
    """
    if not url:
        return ENDPOINTS["production" if production else "sandbox"]
    checked_url(url, "endpoint_url", "http://127.0.0.1:8000")
    host = urlsplit(url).hostname or ""
    if host.endswith(".amazonaws.com") and "sandbox" not in host and not production:
        raise UsageError(
            f"{host} is the real Mechanical Turk; pass `production=True`, or leave"
            " `endpoint_url` out"
        )
    return url


HITS, ASSIGNMENTS, BONUSES = "hits.jsonl", "assignments.jsonl", "bonuses.jsonl"
WORKERS, QUALIFICATIONS = "workers.jsonl", "qualifications.jsonl"
CAP, NOISY = "cap", "noisy"  # why a worker was excluded


@dataclass(frozen=True)
class MTurkCampaign(Campaign):
    """A campaign on Mechanical Turk (see `Campaign`)."""

    settings: MTurkSettings

    platform: ClassVar[str] = "mturk"
    title: ClassVar[str] = "Mechanical Turk"
    settings_type: ClassVar[type] = MTurkSettings

    def token(self, *parts: str) -> str:
        """The token of a request. Equal parts give equal tokens, from which MTurk sees that a
        request was made before.
        """
        return blake2b(
            "\0".join(parts).encode(), key=self.settings.key.encode(), digest_size=24
        ).hexdigest()

    def rows(self) -> Iterator[tuple[str, str, dict[str, str]]]:
        """(language, layout, row of the CSV) of each task."""
        for language in self.settings.languages:
            names = (f"tasks-{language}.csv", f"layout-{language}.html")
            files = {name: (self.folder / name).read_bytes() for name in names}
            yield from rows_of(files, language, str(self.folder))

    def hits(self) -> dict[str, dict[str, Any]]:
        """Task -> token, the HIT's id (`hit`) once it is known, when it began (`at`) and `expires`;
        in the order of posting.
        """
        return self.merged(HITS, "task")

    def posted(self) -> dict[str, str]:
        """Task -> HIT id, for the tasks that are posted."""
        return {task: hit["hit"] for task, hit in self.hits().items() if "hit" in hit}

    def assignments(self) -> dict[str, dict[str, Any]]:
        """Assignment id -> the assignment, with its latest status."""
        return self.merged(ASSIGNMENTS, "assignment")

    def bonuses(self) -> dict[str, dict[str, Any]]:
        """Token -> the bonus, with `paid` if the bonus is known to be paid."""
        return self.merged(BONUSES, "token")

    def excluded(self) -> dict[str, str]:
        """Excluded worker -> why they are excluded."""
        return {line["worker"]: line["why"] for line in self.lines(WORKERS)}

    def qualifications(self) -> dict[str, str]:
        """Purpose -> qualification type."""
        return {line["purpose"]: line["type"] for line in self.lines(QUALIFICATIONS)}

    def standing(self, now: datetime) -> dict[str, Any]:
        """Tasks, HITs and assignments by status, USD spent and still to come, and when the last HIT
        expires.

        Figures are as of the last pull. open: assignments that can still come, because their HIT
        has not expired by `now`. spent: USD for approved assignments and bonuses, with MTurk's
        fees. waiting: USD that approving all submitted assignments would add.
        """
        assignments = self.assignments()
        status = Counter(assignment["status"] for assignment in assignments.values())
        posted = [hit for hit in self.hits().values() if "hit" in hit]
        reward = Decimal(self.settings.reward)
        each = reward + fee(reward, self.settings.assignments)
        taken = Counter(assignment["hit"] for assignment in assignments.values())
        offered = [hit["hit"] for hit in posted if datetime.fromisoformat(hit["expires"]) > now]
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
            "open": sum(max(0, self.settings.assignments - taken[hit]) for hit in offered),
            "workers": len({assignment["worker"] for assignment in assignments.values()}),
            "shut_out": len(self.excluded()),
            "spent": float(spent),
            "waiting": float(status["Submitted"] * each),
            "expires": max((hit["expires"] for hit in posted), default=""),
        }


def noisy_workers(dataset: Path, name: str, environment: str) -> list[str]:
    """The workers whom the dataset's other campaigns in this environment excluded as noisy. name:
    the name of this campaign.
    """
    noisy: list[str] = []
    for campaign in MTurkCampaign.of(dataset):
        if campaign.settings.environment == environment and campaign.name != name:
            noisy += [worker for worker, why in campaign.excluded().items() if why == NOISY]
    return sorted(noisy)


def read_export(export: Path, languages: Sequence[str] = ()) -> dict[str, dict[str, bytes]]:
    """Language -> the exported files to post, by name. Raises UsageError if there are none."""
    files: dict[str, dict[str, bytes]] = {}
    for table in sorted(export.glob("tasks-*.csv")):
        language = table.stem.removeprefix("tasks-")
        layout = export / f"layout-{language}.html"
        if layout.is_file() and (not languages or language in languages):
            files[language] = {path.name: path.read_bytes() for path in (table, layout)}
    missing = [language for language in languages if language not in files]
    if missing or not files:
        what = (
            f"no tasks in {missing[0]!r}"
            if missing
            else "no tasks-LANG.csv with its layout-LANG.html"
        )
        raise UsageError(
            f'{export}: {what}; write them with `metal.annotate_export(DATASET, to="mturk",'
            f' out="{export}")`'
        )
    return files


def rows_of(
    files: Mapping[str, bytes], language: str, folder: str
) -> Iterator[tuple[str, str, dict[str, str]]]:
    """(language, layout, row of the CSV) of each task of a language.

    Raises DataError if a row has no task, or too few or too many cells.
    """
    layout = files[f"layout-{language}.html"].decode("utf-8", "replace")
    table = f"{folder}/tasks-{language}.csv"
    head, *rows = csv_rows(table, files[f"tasks-{language}.csv"]) or [[]]
    for number, cells in enumerate(rows, 2):
        row = dict(zip(head, cells, strict=False))
        if len(cells) != len(head) or not row.get("task"):
            raise DataError(
                f"{table} row {number}",
                "not a row as METAL exports it",
                "Export the tasks again",
            )
        yield language, layout, row
