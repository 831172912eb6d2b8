"""Campaigns: tasks posted on a crowdsourcing platform, and everything that has happened since.

DATASET/annotation/campaigns/NAME/
    campaign.toml    what was asked; written last, so a folder without it is not a campaign
    *.jsonl          what happened, as each platform's module says

Lines are only added to a journal, never changed. A line that announces a step is on the disk before
the step is taken or counts. A journal is opened again for every line, because an import may have
replaced the folder in the meantime. Campaigns hold no credentials. They do hold ids of workers, so
treat them as personal data.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, Self

from metal.data.files import read_jsonl, read_toml, whole_text, write_new
from metal.errors import DataError, UnknownName, UsageError
from metal.raters.judges.journal import heal

FOLDER = "annotation/campaigns"
CARD = "campaign.toml"
# between the push that began a campaign and one that continues it
MAY_DIFFER = ("key", "created", "start")


@dataclass(frozen=True)
class Campaign:
    """A campaign's folder and its settings. Callers hold the dataset's lock while they add to it.

    Each platform has a subclass with a record of settings. Its fields include `platform`, `digest`
    (a hash of what is posted) and `key` (a mark on everything that belongs to the campaign).
    """

    folder: Path
    settings: Any

    platform: ClassVar[str]
    title: ClassVar[str]  # of the platform, for people
    settings_type: ClassVar[type]

    @property
    def name(self) -> str:
        """The campaign's name, which is the name of its folder."""
        return self.folder.name

    @classmethod
    def of(cls, dataset: Path) -> list[Self]:
        """The dataset's campaigns on this platform, oldest first."""
        cards = [
            card
            for card in (dataset / FOLDER).glob(f"*/{CARD}")
            if _platform_of(card) == cls.platform
        ]
        campaigns = [cls._read(card.parent) for card in cards]
        return sorted(
            campaigns,
            key=lambda campaign: (getattr(campaign.settings, "created", ""), campaign.name),
        )

    @classmethod
    def open(cls, dataset: Path, name: str = "") -> Self:
        """Open the campaign of that name or, without a name, the only campaign.

        Raises UnknownName, and UsageError if no name was given and there are none or several.
        """
        campaigns = {campaign.name: campaign for campaign in cls.of(dataset)}
        if name:
            _folder(dataset, name)
        elif not campaigns:
            raise UsageError(f"{dataset} has no campaign on {cls.title}; push one first")
        elif len(campaigns) > 1:
            raise UsageError(
                f"{dataset} has several campaigns on {cls.title}: {', '.join(campaigns)}; pass"
                " `name`"
            )
        name = name or next(iter(campaigns))
        if name not in campaigns:
            raise UnknownName("campaign", name, list(campaigns))
        return campaigns[name]

    @classmethod
    def _read(cls, folder: Path) -> Self:
        kinds = {each.name: str(each.type).partition("[")[0] for each in fields(cls.settings_type)}
        card = {key: value for key, value in read_toml(folder / CARD).items() if key in kinds}
        try:
            settings = {
                key: tuple(value) if isinstance(value, list) else value
                for key, value in card.items()
            }
            for key, value in settings.items():
                written = type(value).__name__.replace("dict", "Mapping")
                if written != kinds[key] or (written == "tuple" and {*map(type, value)} - {str}):
                    raise TypeError(f"{key} is {card[key]!r}")
            return cls(folder, cls.settings_type(**settings))
        except TypeError as error:
            raise DataError(
                folder / CARD, f"not what METAL wrote there ({error})", "Restore the file"
            ) from None

    @classmethod
    def begun(cls, dataset: Path, name: str, settings: Any) -> Self | None:
        """The campaign of that name, or None if it does not exist. Raises UsageError for a bad
        name, or if the campaign has other settings.
        """
        folder = _folder(dataset, name)
        if not (folder / CARD).is_file():
            return None
        if _platform_of(folder / CARD) != cls.platform:
            raise UsageError(f"campaign {name!r} is on another platform; pass another `name`")
        campaign = cls._read(folder)
        before, wanted = asdict(campaign.settings), asdict(settings)
        changes = [
            (
                "with other tasks"
                if key == "digest"
                else f"{key} was {before[key]!r}, now {wanted[key]!r}"
            )
            for key in wanted
            if key not in MAY_DIFFER and before[key] != wanted[key]
        ]
        if changes:
            how = "; ".join(changes[:3])
            raise UsageError(
                f"campaign {name!r} was begun with other settings ({how}). Use those, or pass"
                " another `name`"
            )
        return campaign

    @classmethod
    def begin(cls, dataset: Path, name: str, settings: Any, files: Mapping[str, bytes]) -> Self:
        """Begin a campaign, or return the one that an earlier push began under that name with the
        same settings.

        files: what is posted, by name. Raises UsageError if the campaign has other settings.
        """
        if campaign := cls.begun(dataset, name, settings):
            return campaign
        import tomli_w

        folder = _folder(dataset, name)
        folder.mkdir(parents=True, exist_ok=True)
        for file, content in files.items():
            (folder / file).write_bytes(content)
        card = {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in asdict(settings).items()
        }
        write_new(folder / CARD, tomli_w.dumps(card))
        return cls(folder, settings)

    def note(self, file: str, **record: Any) -> None:
        """Add a line to a journal, and return when it is on the disk. If a killed process left a
        half-written line, remove it first.
        """
        path = self.folder / file
        heal(path)
        line = whole_text(json.dumps(record, ensure_ascii=False)).encode() + b"\n"
        with path.open("ab") as journal:
            journal.write(line)
            journal.flush()
            os.fsync(journal.fileno())

    def lines(self, file: str) -> Iterator[dict[str, Any]]:
        """All complete lines of a journal; none if it does not exist. Raises DataError for a
        damaged line.
        """
        path = self.folder / file
        if path.is_file():
            heal(path)
            for _, record in read_jsonl(path):
                yield record

    def merged(self, file: str, key: str) -> dict[str, dict[str, Any]]:
        """The lines of a journal by their value of `key`, in the order of first mention. Lines with
        equal keys are merged; later values override earlier ones.
        """
        records: dict[str, dict[str, Any]] = {}
        for line in self.lines(file):
            records.setdefault(str(line[key]), {}).update(line)
        return records


def _platform_of(card: Path) -> Any:
    return read_toml(card).get("platform")


def _folder(dataset: Path, name: str) -> Path:
    if not name or name.startswith(".") or any(char in name for char in "/\\\0"):
        raise UsageError(
            f"{name!r} cannot name a campaign; give `name` without slashes, not beginning with"
            " a dot"
        )
    return dataset / FOLDER / name


def digest_of(files: Mapping[str, bytes]) -> str:
    """A digest of what is posted."""
    digest = blake2b(digest_size=16)
    for name, content in sorted(files.items()):
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()
