"""Passports: JSON files with a SHA-256 that say what judges may be used for, by language and
criterion, and until when.

`read_passport` reads a passport, and `check` refuses what it does not allow; `metal.passport`
issues passports.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from metal.data.files import read_json
from metal.data.text import first_few, plural
from metal.errors import DataError, UsageError, nearest
from metal.runs.run import DISQUALIFIES, IDENTITY

VERSION = 1  # of the file; another one is not read
FILE = "passport.json"
ALONE, BESIDE, NEITHER = "alone", "beside people", "no"
FIGURES = ("share_kept", "order_kept", "below_person", "above_constant")
# In every file, beside its hash, and on its page.
HASH_NOTE = (
    "sha256 guards against accidents: a file that was cut off or changed by mistake is refused."
    " It has no key, so it does not guard against a forger, who can compute it again; take a"
    " passport only from where you trust it."
)
AGAIN = "Issue it again with `metal.passport(RUN)`"


@dataclass(frozen=True)
class IssuedPassport:
    """The content of a passport file, with the name that messages use for it."""

    called: str
    content: Mapping[str, Any]


def today() -> date:
    """Today's date in UTC; no other function for passports reads the clock."""
    return datetime.now(UTC).date()


def digest(content: Mapping[str, Any]) -> str:
    """The SHA-256 of the canonical content: everything but `sha256`, as ASCII JSON with sorted keys
    and no blanks.
    """
    rest = {key: value for key, value in content.items() if key != "sha256"}
    return sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def read_passport(path: str | Path) -> IssuedPassport:
    """Read a passport from a file, or from the run folder of `metal.passport`.

    Raises UsageError if there is no file, DataError if the file is no passport, has another version
    or was altered.
    """
    path = Path(path)
    path = path / FILE if path.is_dir() else path
    content = read_json(path, "a passport")
    if not isinstance(content, dict) or "passport" not in content:
        raise DataError(path, "not a passport", "Make one with `metal.passport(RUN)`")
    if content["passport"] != VERSION:
        problem = (
            f"a passport of version {content['passport']!r}; this METAL reads version {VERSION}"
        )
        raise DataError(path, problem, "Update METAL, or issue the passport again")
    if content.get("sha256") != (actual := digest(content)):
        recorded = str(content.get("sha256", ""))[:12] or "none"
        raise DataError(
            path,
            f"altered since it was issued: the SHA-256 in it is {recorded}, but that of its content"
            f" is {actual[:12]}",
            AGAIN,
        )
    try:
        for key in ("issued", "expires"):
            date.fromisoformat(content[key])
        cells = [cell for record in content["judges"].values() for cell in record["cells"]]
        missing = [
            key
            for key in ("language", "criterion", "verdict", "use")
            if not all(key in cell for cell in cells)
        ]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(
            path, f"a passport with parts missing ({type(error).__name__}: {error})", AGAIN
        ) from None
    if missing:
        raise DataError(path, f"a passport with a cell that lacks {missing[0]!r}", AGAIN)
    return IssuedPassport(str(path), content)


def check(
    passport: IssuedPassport,
    judge: str,
    identity: Mapping[str, Any],
    cells: Iterable[tuple[str, str]],
    *,
    use: tuple[str, ...] = (ALONE,),
    on: date | None = None,
) -> None:
    """Raise UsageError for the first thing asked of a judge that the passport does not allow.

    judge: its name in the ratings. identity: how it is asked, as raters.jsonl records it (model,
    parameters, prompt and prompt_hash by criterion, ...; versions if it has already answered).
    cells: each (language, criterion) that it is to rate. use: the least permission that is enough.
    on: the day; today if None. Before the first call, nothing more can be checked, because the
    version of the model that answers is only known afterwards.
    """
    content, called = passport.content, passport.called
    day = (on or today()).isoformat()
    if not content["issued"] <= day < content["expires"]:
        late = (
            f"expired on {content['expires']}"
            if day >= content["expires"]
            else f"valid only from {content['issued']}"
        )
        raise UsageError(
            f"{called}: {late} (today is {day}); audit the judges again and issue another"
        )
    if judge not in content["judges"]:
        raise UsageError(
            f"{called}: judge {judge!r} is not in it; {nearest(judge, list(content['judges']))}"
        )
    record, cells = content["judges"][judge], sorted(set(cells))
    _check_same(
        called,
        judge,
        record,
        json.loads(json.dumps(dict(identity), default=str)),
        {name for _, name in cells},
    )
    uses = {(cell["language"], cell["criterion"]): cell for cell in record["cells"]}
    denied = [cell for cell in cells if cell not in uses or uses[cell]["use"] not in use]
    if denied:
        language, criterion = denied[0]
        more = f" (and {plural(len(denied) - 1, 'more case')})" if len(denied) > 1 else ""
        why, remedy = _why_denied(uses.get(denied[0], {}))
        raise UsageError(
            f"{called}: {judge} is not allowed on {criterion} in {language}: {why}{more}; {remedy}"
        )


def _why_denied(cell: Mapping[str, Any]) -> tuple[str, str]:
    """Why a judge may not be used in a cell, and what to do about it; the cell is empty if it was
    not tested.
    """
    against = next(
        (line["line"] for line in cell.get("lines", ()) if line["weight"] == DISQUALIFIES), ""
    )
    remedy = "leave that out with `languages` and `criteria`"
    if cell.get("use") == BESIDE:
        remedy += (
            ", or rate it without `require` and correct the scores with people's ratings"
            " (`metal.correct`)"
        )
    return against or cell.get("verdict", "not tested"), remedy


def _check_same(
    called: str,
    judge: str,
    record: Mapping[str, Any],
    identity: Mapping[str, Any],
    criteria: Iterable[str],
) -> None:
    """Raise UsageError if a judge is not the one that was audited: another model, parameters,
    prompt or version.
    """
    if not record.get("prompt_hash"):
        raise UsageError(
            f"{called}: no prompt of {judge} is recorded, so no judge can be shown to be the same"
            " one; audit a run of `metal.judge` and issue another"
        )
    for key in IDENTITY:
        if key != "prompt_hash" and (record.get(key) or None) != (identity.get(key) or None):
            raise UsageError(
                f"{called}: {judge} has {key} {_short(identity.get(key))}, but"
                f" {_short(record.get(key))} was audited; ask it as it was asked then, or audit it"
                " as it is now"
            )
    hashes, current = record["prompt_hash"], identity.get("prompt_hash") or {}
    if changed := sorted(
        name for name in criteria if hashes.get(name, current.get(name)) != current.get(name)
    ):
        raise UsageError(
            f"{called}: the prompt of {judge} on {first_few(changed)} is not the one that was"
            " audited; restore it, or audit the judge as it is now"
        )
    audited, since = _models_of(record), _models_of(identity)
    if audited and (others := [name for name in since if name not in audited]):
        raise UsageError(
            f"{called}: {judge} answered as {first_few(others)}, but {first_few(audited)} was"
            " audited; audit it again"
        )


def _models_of(identity: Mapping[str, Any]) -> list[str]:
    """The model's own name in each version, without the fingerprint of the machine that may follow
    it.
    """
    return [version.split()[0] for version in identity.get("versions") or ()]


def _short(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if value else "none"
