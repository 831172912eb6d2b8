"""A board's history: what joined and what was withdrawn, and what the board was like after each of it.

A board is a dataset and a list of entries that only grows. Nothing that joined is ever changed: the board at a version
is the dataset as it was then, with all that had joined and was not withdrawn. Source: Bidimensional Leaderboards, 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import pandas as pd

from metal.dataset import Dataset, assemble, concat_facts
from metal.errors import DataError, UnknownName, UsageError
from metal.ratings import FACTS, tidy_facts
from metal.records import METRIC_SCORE, Output, Rater

What = Literal["data", "generator", "metric", "withdrawn"]
WHATS = ("data", "generator", "metric", "withdrawn")
ANONYMOUS = "anonymous"


@dataclass(frozen=True)
class Entry:
    """A line of history.jsonl.

    version: 1, 2, ... what: data (the dataset itself is new or changed), generator or metric (joined), withdrawn.
    digest: of the dataset (Dataset.digest) that this version stands on. name: of the generator or metric. at: UTC.
    by: who; about: whatever else is known (outputs, metrics that scored them, direction, signature, ...).
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
        except TypeError:
            raise DataError(where, "not a line of a board's history", "Take the file from a backup") from None
        if type(entry.version) is not int or entry.what not in WHATS or not isinstance(entry.name, str):
            raise DataError(where, f"version {entry.version!r}, what {entry.what!r}", "Take the file from a backup")
        return entry


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
    """The board as a dataset: the base with what joined. Scores of or about what is not there are left out.

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
    joined = {rater.rater for one in submissions if one.entry.what == "metric" for rater in one.raters}
    for one in submissions:
        for rater in one.raters:
            if one.entry.what == "metric":
                if rater.rater in base.raters:
                    raise DataError(_where(one), f"rater {rater.rater!r} is in the dataset", "Withdraw the submission")
                raters[rater.rater] = rater
    parts = [base.ratings.loc[:, list(FACTS)]]
    for one in submissions:
        there = one.facts["output"].isin(list(outputs)) & one.facts["rater"].isin([*base.raters, *joined])
        parts.append(one.facts.loc[there, list(FACTS)])
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


def _with_generators(extra: Mapping[str, Any], submissions: Sequence[Submission]) -> dict[str, Any]:
    """What dataset.toml says of generators, with what submitters said of theirs."""
    known = dict(extra.get("generators", {}))
    for one in submissions:
        said = (one.entry.about or {}).get("generator")
        if one.entry.what == "generator" and isinstance(said, Mapping) and said:
            known[one.entry.name] = dict(said)
    return dict(extra) | ({"generators": known} if known else {})


def _where(one: Submission) -> str:
    return f"version {one.entry.version}, {one.entry.what} {one.entry.name}"
