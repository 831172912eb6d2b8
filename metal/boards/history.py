"""A board's history: what joined and what was withdrawn, and what the board was like after each of it.

A board is a dataset and a list of entries that only grows. Nothing that joined is ever changed: the board at a version
is the dataset as it was then, with all that had joined and was not withdrawn. Source: Bidimensional Leaderboards, 2.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import pandas as pd

from metal.data.dataset import Dataset, assemble, concat_facts
from metal.data.ratings import FACTS, tidy_facts
from metal.data.records import METRIC_SCORE, Output, Rater
from metal.errors import DataError, UnknownName, UsageError

What = Literal["data", "generator", "metric", "withdrawn"]
WHATS = ("data", "generator", "metric", "withdrawn")
ANONYMOUS = "anonymous"
DIGEST = re.compile("[0-9a-f]{8,64}")  # the name of a folder as well


@dataclass(frozen=True)
class Entry:
    """A line of history.jsonl.

    version: 1, 2, ... what: data (the dataset itself is new or changed), generator or metric (joined), withdrawn.
    digest: of the dataset's files that this version stands on, in hexadecimal. name: of the generator or metric.
    at: UTC. by: who; about: whatever else is known (outputs, direction, signature, ...).
    """

    version: int
    at: str
    what: What
    digest: str
    name: str = ""
    by: str = ""
    about: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The line's values; what is not known is left out."""
        return {key: value for key, value in asdict(self).items() if value not in ("", None, {})}

    @classmethod
    def of(cls, record: Mapping[str, Any], where: str) -> Entry:
        """From a line. Raises DataError where it is none."""
        try:
            entry = cls(**record)
            json.dumps(entry.about, allow_nan=False)  # NaN is not equal to itself, and so no history to itself
        except (TypeError, ValueError):
            raise DataError(where, "not a line of a board's history", "Take the file from a backup") from None
        if wrong := entry._wrong():
            raise DataError(where, f"{wrong[0]} {wrong[1]!r}", "Take the file from a backup")
        return entry

    def _wrong(self) -> tuple[str, object] | None:
        """A field that is not what it should be, and what it is."""
        if type(self.version) is not int:
            return "version", self.version
        if not isinstance(self.digest, str) or not DIGEST.fullmatch(self.digest):
            return "digest", self.digest
        if self.about is not None and not isinstance(self.about, Mapping):
            return "about", self.about
        if self.what not in WHATS:
            return "what", self.what
        if not self.at:
            return "at", self.at
        texts = ("at", self.at), ("name", self.name), ("by", self.by)
        return next((one for one in texts if not isinstance(one[1], str)), None)


@dataclass(frozen=True)
class Submission:
    """What joined with an entry: outputs of a generator with their scores, or a metric with its scores."""

    entry: Entry
    outputs: tuple[Output, ...]
    raters: tuple[Rater, ...]
    facts: pd.DataFrame


def entry_at(entries: Sequence[Entry], version: int) -> Entry:
    """The entry of a version. Raises UsageError for one that the board never had."""
    if not 1 <= version <= len(entries):
        raise UsageError(f"version {version}: the board has versions 1 to {len(entries)}")
    return entries[version - 1]


def standing(entries: Sequence[Entry], version: int) -> list[Entry]:
    """The submissions that had joined and were not withdrawn at a version."""
    found: dict[tuple[str, str], Entry] = {}
    for entry in entries[:version]:
        if entry.what in ("generator", "metric"):
            found[entry.what, entry.name] = entry
        elif entry.what == "withdrawn":
            found.pop((str((entry.about or {}).get("was")), entry.name), None)
    return list(found.values())


def find_standing(entries: Sequence[Entry], name: str) -> Entry:
    """The submission of this name that is on the board now. Raises UnknownName."""
    there = standing(entries, len(entries))
    found = [entry for entry in there if entry.name == name]
    if not found:
        raise UnknownName("submission", name, [entry.name for entry in there], "What came with the dataset stays")
    return found[-1]


def board_at(base: Dataset, submissions: Sequence[Submission]) -> Dataset:
    """The board as a dataset: the base with what joined. Scores of or about what is not there are left out, and so are
    those of or about something else that had the same name, and was withdrawn.

    Raises DataError where a submission does not fit the base (its output or rater is there already).
    """
    if not submissions:
        return base
    outputs = {**base.outputs}
    raters = {**base.raters}
    for one in submissions:
        for output in one.outputs:
            if output.output in outputs:
                raise DataError(_where(one), f"output {output.output!r} is in the dataset", "Withdraw the submission")
            if output.source not in base.sources:
                raise DataError(
                    _where(one), f"source {output.source!r} has gone from the dataset", "Withdraw the submission"
                )
            outputs[output.output] = output
    for one in submissions:
        for rater in one.raters:
            if one.entry.what == "metric":
                if rater.rater in base.raters:
                    raise DataError(_where(one), f"rater {rater.rater!r} is in the dataset", "Withdraw the submission")
                raters[rater.rater] = rater
    parts = [base.ratings.loc[:, list(FACTS)]]
    since = _joined_at(submissions)
    for one in submissions:
        parts.append(one.facts.loc[_still_said(one, outputs, raters, since), list(FACTS)])
    facts = tidy_facts(concat_facts([part for part in parts if len(part)])) if any(map(len, parts)) else parts[0]
    facts = facts[~facts.duplicated(["output", "criterion", "rater"])].reset_index(drop=True)
    for name in ("output", "criterion", "rater"):  # what is not there any more is no category either
        facts[name] = facts[name].cat.remove_unused_categories()
    criteria = {METRIC_SCORE.name: METRIC_SCORE} | dict(base.criteria)
    return assemble(
        base.card,
        criteria.values(),
        base.sources.values(),
        outputs.values(),
        raters.values(),
        facts,
        extra=_with_generators(base.extra, submissions),
    )


def _joined_at(submissions: Sequence[Submission]) -> dict[tuple[str, str], int]:
    """The version with which an output or a rater joined; those of the dataset are not in it."""
    outputs = {("output", output.output): one.entry.version for one in submissions for output in one.outputs}
    metrics = [one for one in submissions if one.entry.what == "metric"]
    return outputs | {("rater", rater.rater): one.entry.version for one in metrics for rater in one.raters}


def _still_said(
    one: Submission, outputs: Mapping[str, Output], raters: Mapping[str, Rater], since: Mapping[tuple[str, str], int]
) -> pd.Series:
    """Which of a submission's facts are by and about what is on the board: there when it joined, and the same since.

    A rater is the same while its signature and direction are.
    """
    joined = one.entry.version
    theirs = {rater.rater: rater for rater in one.raters}
    about = {name for name in outputs if since.get(("output", name), joined) <= joined}
    by = {
        name
        for name, rater in raters.items()
        if since.get(("rater", name), joined) <= joined and name in theirs and _alike(rater, theirs[name])
    }
    return one.facts["output"].isin(about) & one.facts["rater"].isin(by)


def _alike(one: Rater, other: Rater) -> bool:
    return all(one.about.get(key) == other.about.get(key) for key in ("signature", "direction", "negated"))


def _with_generators(extra: Mapping[str, Any], submissions: Sequence[Submission]) -> dict[str, Any]:
    """What dataset.toml says of generators, with what submitters said of theirs."""
    there = extra.get("generators", {})
    known = dict(there) if isinstance(there, Mapping) else {}
    for one in submissions:
        said = (one.entry.about or {}).get("generator")
        if one.entry.what == "generator" and isinstance(said, Mapping) and said:
            known[one.entry.name] = dict(said)
    return dict(extra) | ({"generators": known} if known else {})


def _where(one: Submission) -> str:
    return f"version {one.entry.version}, {one.entry.what} {one.entry.name}"
