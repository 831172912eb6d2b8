"""A campaign on Mechanical Turk: what was asked, and all that happened since, in a folder of the dataset's.

DATASET/annotation/campaigns/NAME/
    tasks-LANG.csv, layout-LANG.html   what is posted, as `metal annotate export --to mturk` wrote it
    campaign.toml                      what was asked; written last, so that a folder without it is none
    hits.jsonl                         task, token before a HIT is posted; task, hit, expires after
    assignments.jsonl                  every assignment as it was fetched; later its new status
    bonuses.jsonl                      a bonus before it is paid, its token after
    workers.jsonl                      workers who were shut out, and why
    qualifications.jsonl               the qualification types that were made, and what for

Lines are added, never changed, and are on the disk before what they announce is done (see journal.py).
Nothing of it holds a credential; ids of workers are in it, so treat it as personal data.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime
from decimal import Decimal
from hashlib import blake2b
from pathlib import Path
from typing import Any

from metal.building.crowdsourcing import journal
from metal.building.crowdsourcing.mturk import fee
from metal.building.forms.csv_sheet import csv_rows
from metal.data.dataset import read_toml
from metal.data.folders import new_file
from metal.errors import DataError, UnknownName, UsageError

FOLDER = "annotation/campaigns"
CARD = "campaign.toml"
HITS, ASSIGNMENTS, BONUSES = "hits.jsonl", "assignments.jsonl", "bonuses.jsonl"
WORKERS, QUALIFICATIONS = "workers.jsonl", "qualifications.jsonl"
CAP, NOISY = "cap", "noisy"  # why a worker was shut out


@dataclass(frozen=True)
class Asked:
    """What a campaign asks of Mechanical Turk and its workers.

    reward: USD an assignment. lifetime, duration, auto_approval: seconds that a HIT is offered, that a worker has for
    it, and until MTurk pays by itself what nobody reviewed. cap: assignments a worker may do, 0 for any number.
    minimum: qualification type -> lowest score. fields: of the layouts. digest: of what is posted. key: makes the
    tokens; no secret. start: the schedule it was published on, if any.
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


_MAY_DIFFER = ("key", "created", "start")  # between the push that began a campaign and one that continues it


@dataclass(frozen=True)
class Hit:
    """What is known of a task: the token it was, or is being, posted with, its HIT once there is one, when it ends."""

    token: str
    hit: str = ""
    at: str = ""
    expires: str = ""


@dataclass(frozen=True)
class Campaign:
    """A campaign's folder. Hold the dataset's lock while adding to it."""

    folder: Path
    asked: Asked

    @property
    def name(self) -> str:
        return self.folder.name

    def token(self, *parts: str) -> str:
        """What tells MTurk that a request is the same as one before: always the same for the same parts."""
        return blake2b("\0".join(parts).encode(), key=self.asked.key.encode(), digest_size=24).hexdigest()

    # ------------------------------------------------------------ what is posted

    def rows(self) -> Iterator[tuple[str, str, dict[str, str]]]:
        """(language, layout, row of the CSV) of each task."""
        for language in self.asked.languages:
            names = (f"tasks-{language}.csv", f"layout-{language}.html")
            files = {name: (self.folder / name).read_bytes() for name in names}
            yield from rows_of(files, language, str(self.folder))

    def hits(self) -> dict[str, Hit]:
        """By task, in the order of posting."""
        found: dict[str, Hit] = {}
        for line in journal.records(self.folder / HITS):
            known = {key: str(value) for key, value in line.items() if key in ("token", "hit", "at", "expires")}
            found[line["task"]] = replace(found.get(line["task"], Hit("")), **known)
        return found

    def note_hit(self, task: str, **known: str) -> None:
        journal.append(self.folder / HITS, {"task": task, **known})

    # ------------------------------------------------------------ what came back

    def assignments(self) -> dict[str, dict[str, Any]]:
        """By id, each with its latest status."""
        found: dict[str, dict[str, Any]] = {}
        for line in journal.records(self.folder / ASSIGNMENTS):
            found.setdefault(line["assignment"], {}).update(line)
        return found

    def note_assignment(self, assignment: str, **known: Any) -> None:
        journal.append(self.folder / ASSIGNMENTS, {"assignment": assignment, **known})

    def bonuses(self) -> dict[str, dict[str, Any]]:
        """By token; `paid` where it is known to be."""
        found: dict[str, dict[str, Any]] = {}
        for line in journal.records(self.folder / BONUSES):
            found.setdefault(line["token"], {}).update(line)
        return found

    def note_bonus(self, token: str, **known: Any) -> None:
        journal.append(self.folder / BONUSES, {"token": token, **known})

    def shut_out(self) -> dict[str, str]:
        """Worker -> why."""
        return {line["worker"]: line["why"] for line in journal.records(self.folder / WORKERS)}

    def note_shut_out(self, worker: str, why: str) -> None:
        journal.append(self.folder / WORKERS, {"worker": worker, "why": why})

    def qualifications(self) -> dict[str, str]:
        """What for -> qualification type."""
        return {line["purpose"]: line["type"] for line in journal.records(self.folder / QUALIFICATIONS)}

    def note_qualification(self, purpose: str, made: str) -> None:
        journal.append(self.folder / QUALIFICATIONS, {"purpose": purpose, "type": made})

    # ------------------------------------------------------------ sums

    def standing(self, now: datetime) -> dict[str, Any]:
        """Tasks, HITs and assignments by status, USD spent and still to come, and when the last HIT expires.

        As of the last pull. open: assignments that can still come, of HITs that have not expired by `now`. spent:
        approved assignments and bonuses with MTurk's fees; waiting: what approving all that was submitted would add.
        """
        hits, came = self.hits(), self.assignments()
        status = Counter(one["status"] for one in came.values())
        posted = [one for one in hits.values() if one.hit]
        reward = Decimal(self.asked.reward)
        each = reward + fee(reward, self.asked.assignments)
        taken = Counter(one["hit"] for one in came.values())
        offered = [one for one in posted if not one.expires or datetime.fromisoformat(one.expires) > now]
        bonuses = [Decimal(one["usd"]) for one in self.bonuses().values() if one.get("paid")]
        spent = status["Approved"] * each + sum((usd + fee(usd, 1) for usd in bonuses), Decimal())
        return {
            "campaign": self.name,
            "environment": self.asked.environment,
            "languages": list(self.asked.languages),
            "tasks": sum(1 for _ in self.rows()),
            "posted": len(posted),
            "submitted": status["Submitted"],
            "approved": status["Approved"],
            "rejected": status["Rejected"],
            "open": sum(max(0, self.asked.assignments - taken[one.hit]) for one in offered),
            "workers": len({one["worker"] for one in came.values()}),
            "shut_out": len(self.shut_out()),
            "spent": float(spent),
            "waiting": float(status["Submitted"] * each),
            "expires": max((one.expires for one in posted if one.expires), default=""),
        }


# ---------------------------------------------------------------- folders


def campaigns(dataset: Path) -> list[Campaign]:
    """The dataset's campaigns on MTurk, in the order of their beginning. Folders of other platforms are passed over."""
    found = [open_campaign(dataset, card.parent.name) for card in (dataset / FOLDER).glob(f"*/{CARD}") if _ours(card)]
    return sorted(found, key=lambda one: (one.asked.created, one.name))


def _ours(card: Path) -> bool:
    return read_toml(card).get("platform") == "mturk"


def open_campaign(dataset: Path, name: str = "") -> Campaign:
    """The campaign of that name; without a name the only one. Raises UsageError where there is none, or several."""
    if not name:
        known = campaigns(dataset)
        if len(known) == 1:
            return known[0]
        names = ", ".join(one.name for one in known)
        has = f"several campaigns: {names}; pass --name" if known else "no campaign on Mechanical Turk; push one first"
        raise UsageError(f"{dataset} has {has}")
    folder = _folder(dataset, name)
    if not (folder / CARD).is_file():
        raise UnknownName("campaign", name, [one.name for one in campaigns(dataset)])
    described = read_toml(folder / CARD)
    names_of_fields = {one.name for one in fields(Asked)}
    asked: Any = {key: tuple(value) if isinstance(value, list) else value for key, value in described.items()}
    try:
        return Campaign(folder, Asked(**{key: value for key, value in asked.items() if key in names_of_fields}))
    except TypeError as error:
        raise DataError(folder / CARD, f"not what was written there ({error})", "Restore the file") from None


def _folder(dataset: Path, name: str) -> Path:
    if not name or name in (".", "..") or any(char in name for char in "/\\\0") or name.startswith("."):
        raise UsageError(f"{name!r} cannot name a campaign; give --name without slashes, not beginning with a dot")
    return dataset / FOLDER / name


def begun(dataset: Path, name: str, asked: Asked) -> Campaign | None:
    """The campaign of that name, if there is one. Raises UsageError when it asks something else, or for a bad name."""
    if not (_folder(dataset, name) / CARD).is_file():
        return None
    campaign = open_campaign(dataset, name)
    before, wanted = asdict(campaign.asked), asdict(asked)
    changed = [key for key in wanted if key not in _MAY_DIFFER and before[key] != wanted[key]]
    if changed:
        was = "; ".join(f"{key} was {before[key]!r}, now {wanted[key]!r}" for key in changed[:3])
        raise UsageError(f"campaign {name!r} was begun otherwise ({was}). Ask the same, or give another --name")
    return campaign


def begin(dataset: Path, name: str, asked: Asked, files: Mapping[str, bytes], now: datetime) -> Campaign:
    """The campaign of that name: a new one, or the one that an earlier push began and that asks the same.

    files: what is posted, by name. Raises UsageError when the campaign asks something else.
    """
    if campaign := begun(dataset, name, asked):
        return campaign
    folder = _folder(dataset, name)
    asked = replace(asked, key=secrets.token_hex(12), created=now.isoformat(timespec="seconds"))
    folder.mkdir(parents=True, exist_ok=True)
    for file, content in files.items():
        (folder / file).write_bytes(content)
    import tomli_w

    described = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(asked).items()}
    with new_file(folder / CARD) as partial:
        partial.write_text(tomli_w.dumps(described), encoding="utf-8")
    return Campaign(folder, asked)


def read_export(export: Path, languages: Sequence[str] = ()) -> dict[str, dict[str, bytes]]:
    """Language -> the files of an export to mturk that are posted, by name. Raises UsageError where there are none."""
    found: dict[str, dict[str, bytes]] = {}
    for table in sorted(export.glob("tasks-*.csv")):
        language = table.stem.removeprefix("tasks-")
        layout = export / f"layout-{language}.html"
        if layout.is_file() and (not languages or language in languages):
            found[language] = {path.name: path.read_bytes() for path in (table, layout)}
    missing = [language for language in languages if language not in found]
    if missing or not found:
        what = f"no tasks in {missing[0]!r}" if missing else "no tasks-LANG.csv with its layout-LANG.html"
        raise UsageError(f"{export}: {what}; write them with `metal annotate export DATASET --to mturk --out {export}`")
    return found


def digest_of(files: Mapping[str, bytes]) -> str:
    """Of what is posted."""
    whole = blake2b(digest_size=16)
    for name, content in sorted(files.items()):
        whole.update(f"{name}\0{len(content)}\0".encode() + content)
    return whole.hexdigest()


def rows_of(files: Mapping[str, bytes], language: str, where: str) -> Iterator[tuple[str, str, dict[str, str]]]:
    """(language, layout, row of the CSV) of each task of a language.

    Raises DataError for a row without a task or with too few or too many cells.
    """
    layout = files[f"layout-{language}.html"].decode("utf-8", "replace")
    table = f"{where}/tasks-{language}.csv"
    head, *rest = csv_rows(table, files[f"tasks-{language}.csv"]) or [[]]
    for number, cells in enumerate(rest, 2):
        row = dict(zip(head, cells, strict=False))
        if len(cells) != len(head) or not row.get("task"):
            raise DataError(f"{table} row {number}", "not a row as it was exported", "Export the tasks again")
        yield language, layout, row
