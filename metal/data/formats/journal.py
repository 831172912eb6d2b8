"""A run of `metal.judge`, finished or stopped: the replies in its journal are read again without
asking anybody.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from metal.data.dataset import Card, Dataset, load_dataset
from metal.data.dataset_lines import read_raters
from metal.data.formats import Draft, Format
from metal.data.ratings import tidy_facts
from metal.data.records import Criterion, Rater
from metal.data.run_toml import read_run_toml
from metal.data.tables.justifications import NO_ANSWER
from metal.data.tables.replies import read_replies
from metal.errors import DataError, UsageError

FILE = "journal.jsonl"
RANKS = {
    "verdict": 3,
    "incomplete": 2,
    "failed": 0,
}  # of the replies to a question the best counts, of equals the last


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read the journal of a run of judges. options: `reader`, the function that reads replies (see
    metal.data.tables.replies), and `base`, the dataset that was judged; by default the one that
    run.toml names.
    """
    file = path / FILE if path.is_dir() else path
    base = options.get("base") or _judged(file.parent)
    each: list[dict[str, Any]] = []
    for record in _best_replies(file):
        names = record.get("criteria", [record.get("criterion")])
        each += [record | {"criterion": name} for name in names]
    asked = [r for r in each if r.get("output") in base.outputs and r["criterion"] in base.criteria]
    notes: list[str] = []
    if len(asked) < len(each):
        notes.append(
            f"{len(each) - len(asked):,} answers are about outputs that the dataset does not have"
        )
    if not asked:
        into = f'`metal.read("{file.parent}", into=DATASET)`'
        raise DataError(
            file,
            "no reply about an output of the dataset",
            f"Read it into the one that was judged: {into}",
        )
    tidy = _as_ratings(asked)
    criteria = [base.criteria[name] for name in tidy["criterion"].cat.categories]
    tidy = _read_by_form(tidy, asked, criteria, options["reader"], notes, file)
    _check_read(tidy, np.array([r["kind"] == "verdict" for r in asked]), file)
    raters = _raters(file.parent, list(dict.fromkeys(tidy["rater"])))
    for rater in raters:
        _turn_back(tidy, rater, criteria)
    parts = (
        tuple(criteria),
        tuple(base.sources.values()),
        tuple(base.outputs.values()),
        tuple(raters),
        tidy_facts(tidy),
    )
    return Draft(Card(file.parent.name or "journal"), *parts, tuple(notes))


def _best_replies(file: Path) -> list[dict[str, Any]]:
    """The best reply to each question; of equally good ones the last. Raises DataError for a line
    that is not a record.
    """
    best: dict[str, dict[str, Any]] = {}
    # a crash may have cut the last one
    for number, line in enumerate(file.read_bytes().split(b"\n")[:-1], 1):
        try:
            record = json.loads(line)
            criterion = record.get("criterion") or record.get("criteria")
            if criterion and _rank(record) >= _rank(best.get(record["key"], {"kind": "failed"})):
                best[record["key"]] = record
        except (ValueError, RecursionError, TypeError, KeyError):
            raise DataError(
                f"{file} line {number}", "not a line of a journal", "Take the line out"
            ) from None
    return list(best.values())


def _as_ratings(asked: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """A row for each reply, complete or not, without scores."""
    tidy = pd.DataFrame({name: [r[name] for r in asked] for name in ("output", "criterion")})
    tidy["rater"] = list(map(_name, asked))
    tidy["score"] = np.nan
    replies: list[str | None] = []
    reasons: list[str] = []
    for record in asked:
        complete = record["kind"] == "verdict" or record.get("ending") == "complete"
        replies.append(record["text"] if complete else None)
        reasons.append(NO_ANSWER if complete else _why(record))
    tidy["reply"], tidy["reason"] = replies, reasons
    tidy["criterion"] = tidy["criterion"].astype("category")
    return tidy


def _read_by_form(
    tidy: pd.DataFrame,
    asked: Sequence[Mapping[str, Any]],
    criteria: list[Criterion],
    reader: Callable[..., Any],
    notes: list[str],
    file: Path,
) -> pd.DataFrame:
    """The ratings with their scores, each read in the form that was asked for: with letters, or
    several criteria together.
    """
    forms = np.array([2 * ("criteria" in r) + bool(r.get("letters")) for r in asked])
    parts = []
    for form in np.unique(forms):
        part = tidy[forms == form].copy()
        of_form = partial(reader, letters=bool(form % 2), together=form >= 2, numbered=True)
        read_replies(part, criteria, {"reader": of_form, "columns": {"reply": FILE}}, notes, file)
        parts.append(part)
    read_parts: pd.DataFrame = pd.concat(parts)
    return read_parts.sort_index()


def _raters(run: Path, names: Sequence[str]) -> list[Rater]:
    """The judges, as the run wrote them, if it has finished."""
    if (run / "raters.jsonl").is_file():
        written = {rater.rater: rater for rater in read_raters(run)}
        facts: dict[str, Any] = {}
    else:
        written = {}
        flip = read_run_toml(run)["settings"].get("flip", ())
        facts = {"flipped": list(flip)} if flip else {}
    return [
        written.get(name) or Rater(name, "llm", name.partition("/")[0], dict(facts))
        for name in names
    ]


def _turn_back(tidy: pd.DataFrame, rater: Rater, criteria: Sequence[Criterion]) -> None:
    """Turn a judge's scores on flipped criteria the right way round."""
    for criterion in criteria:
        if criterion.name not in rater.about.get("flipped", ()):
            continue
        rows = (tidy["rater"] == rater.rater) & (tidy["criterion"] == criterion.name)
        turned = dict(zip(criterion.scale.values, criterion.scale.values[::-1], strict=True))
        ends = sum(criterion.scale.ends or (0, 0))
        scores = tidy.loc[rows, "score"]
        tidy.loc[rows, "score"] = [turned.get(score, ends - score) for score in scores]


def _check_read(tidy: pd.DataFrame, had: Any, file: Path) -> None:
    """Raise DataError if no reply gives a score, or if a judge has less than half as many scores as
    in its run.
    """
    unread = tidy["score"].isna()
    for name, share in unread[had].groupby(tidy["rater"][had]).mean().items():
        if share > 0.5:
            problem = f"{share:.0%} of {name}'s replies that its run could read give no score here"
            remedy = (
                "Older journals do not say that letters were asked for: `metal.audit(DATASET, RUN)`"
                " takes the ratings of the run instead"
            )
            raise DataError(file, problem, remedy)
    if unread.all() and tidy["comment"].ne("").any():
        raise DataError(file, "no reply gives a score", "Look at their texts in the file")


def _rank(record: Mapping[str, Any]) -> int:
    return RANKS.get(record["kind"], 1)


def _why(record: Mapping[str, Any]) -> str:
    """The reason why there is no reply."""
    return (
        f"failed: {record['why']}"
        if record["kind"] == "failed"
        else str(record.get("why") or record["ending"])
    )


def _name(record: Mapping[str, Any]) -> str:
    """The judge's name in the ratings."""
    prompt, sample = record.get("prompt"), record.get("sample", 1)
    name = str(record["judge"])
    if prompt:
        name += f"/{prompt}"
    return f"{name}#{sample}" if sample > 1 else name


def _judged(run: Path) -> Dataset:
    """The dataset that the run judged, if it still exists."""
    path = next(
        (Path(dataset["path"]) for dataset in read_run_toml(run)["datasets"] if "path" in dataset),
        None,
    )
    if path is not None and path.is_file():
        raise UsageError(
            f"{run}: it judged the table {path}; pass both, the table first:"
            f' `metal.audit("{path}", "{run}")`'
        )
    if path is None or not (path / "dataset.toml").is_file():
        into = f'`metal.read("{run}", into=DATASET)`'
        raise UsageError(
            f"{run}: the dataset that was judged is not at {path or 'hand'}; read the run into that"
            f" dataset: {into}"
        )
    return load_dataset(path)


FORMAT = Format(
    "a run of `metal judge`: the replies in its journal, read again",
    read,
    frozenset({"base", "reader", "scales"}),
    ((FILE, ('{"key":"', '"criteri')),),
)
