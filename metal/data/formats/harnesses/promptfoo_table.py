"""promptfoo's table (CSV, or what a spreadsheet made of it): variables, and for each prompt its
output, `Status`, `Score`, `Named Scores`, `Grader Reason`, `Comment`, under the same names for
every prompt.

The table does not say which scores are a model's. All named scores are read as promptfoo's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metal.data.files import parse_json
from metal.data.formats.harnesses import HarnessRows
from metal.data.formats.harnesses.values import is_number, language_in, mapping, prefixed
from metal.data.formats.harnesses.verdicts import Verdicts
from metal.data.formats.rows import numbered_rows
from metal.data.tables.first_names import named_ending
from metal.errors import DataError

THUMBS = "give thumbs in promptfoo's viewer and export the results again"
SUITE, PERSON, OVERALL = "promptfoo", "human", "overall"
BY_A_PERSON = "Manual result"  # how the reason begins where a person has overridden the result
STATUS = {"PASS": True, "FAIL": False}
BEFORE = ("Reasoning",)  # columns between an output and its status
_LABEL = re.compile(r"\[(?P<provider>[^\]]{1,200})\] (?P<prompt>.*)", re.DOTALL)


@dataclass(frozen=True)
class _Block:
    """The columns of one prompt: the column of its output, and the columns about this output, by
    name.
    """

    output: int
    generator: str
    columns: Mapping[str, int]


def gathered_from(path: Path) -> tuple[HarnessRows, Verdicts]:
    """The ratings in the table, with the verdict on each."""
    if named_ending(path) == ".parquet":
        problem = "METAL reads promptfoo's results from JSON, CSV and XLSX only"
        raise DataError(path, problem, "Save the table as CSV (UTF-8), or export JSON")
    gathered, verdicts = HarnessRows("promptfoo (table)", THUMBS), Verdicts()
    header, *rows = [row for _, row in numbered_rows(path)] or [[]]
    blocks = list(_blocks(header))
    first = min((block.output for block in blocks), default=len(header))
    gathered.notes.append(
        f"the table does not say which scores a model gave: all are read as scores of the judge"
        f" {SUITE!r}; results in JSON say which (`promptfoo export eval`)"
    )
    sources: dict[tuple[str, ...], str] = {}
    for number, row in enumerate(filter(any, rows)):
        source = sources.setdefault(tuple(row[:first]), f"test {number}")
        item = {"source": source, "output": f"test {number}"}
        variables = dict(zip(header[:first], row, strict=False))
        for block in blocks:
            _add(gathered, verdicts, block, row, {"variables": variables, **item})
    return gathered, verdicts


def _blocks(header: list[str]) -> Iterator[_Block]:
    """The prompts of the table."""
    starts = []
    for number, name in enumerate(header):
        if name == "Status":
            before = number - 1
            while header[before] in BEFORE and before > 0:
                before -= 1
            starts.append(before)
    labels = [_LABEL.fullmatch(header[start]) for start in starts]
    providers = [
        label["provider"] if label else header[start]
        for start, label in zip(starts, labels, strict=True)
    ]
    for number, start in enumerate(starts):
        end = starts[number + 1] if number + 1 < len(starts) else len(header)
        generator = providers[number]
        if providers.count(generator) > 1:
            generator += f"/prompt {number + 1}"
        columns = {header[at]: at for at in range(start + 1, end)}
        yield _Block(start, generator, columns)


def _add(
    gathered: HarnessRows,
    verdicts: Verdicts,
    block: _Block,
    row: list[str],
    test: Mapping[str, Any],
) -> None:
    cells = {column: row[at] for column, at in block.columns.items() if at < len(row)}
    status, reason = cells.get("Status", ""), cells.get("Grader Reason", "")
    if status not in (*STATUS, "ERROR"):
        gathered.leave_out("outputs without a status")
        return
    variables = mapping(test["variables"])
    item = {
        "source": test["source"],
        "output": f"{test['output']}/{block.generator}",
        "generator": block.generator,
        "language": language_in(variables),
        "source_text": "\n".join(f"{key}: {value}" for key, value in variables.items()),
        "text": row[block.output],
    }
    further = prefixed("vars", variables)
    named = _named(cells)
    by_a_person = reason.startswith(BY_A_PERSON)
    if not named and not by_a_person:
        named = {OVERALL: cells.get("Score", "")}
    # of several criteria, the file does not say which one the reason is for
    comment = reason if len(named) == 1 and not by_a_person else None
    for criterion, score in named.items():
        answer = {"score": float(score) if is_number(score) else None, "comment": comment}
        who = {"rater": SUITE, "kind": "llm", "criterion": criterion}
        gathered.add(further, **item, **who, **answer, reason=f"status {status}")
        if len(named) == 1 and not by_a_person:
            verdicts.note(gathered, STATUS.get(status))
    if by_a_person and status in STATUS:
        thumb = {"score": STATUS[status], "comment": cells.get("Comment")}
        gathered.add(further, **item, **_person(named), **thumb)
    gathered.add_people(variables, further, **item)


def _person(named: Mapping[str, Any]) -> dict[str, str]:
    """The roles of the person in the viewer. named: the scores of the output, by criterion."""
    criterion = next(iter(named)) if len(named) == 1 else OVERALL
    return {"rater": PERSON, "kind": "human", "criterion": criterion}


def _named(cells: Mapping[str, str]) -> dict[str, Any]:
    """Criterion -> score, from the column of named scores or from one column for each criterion."""
    columns = {
        name.removeprefix("Metric: "): cell
        for name, cell in cells.items()
        if name.startswith("Metric: ") and cell
    }
    if columns:
        return columns
    try:
        return dict(mapping(parse_json(cells.get("Named Scores") or "{}")))
    except json.JSONDecodeError:
        return {}
