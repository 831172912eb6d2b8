"""Large tables of the import wizard, read in a process of their own, whose memory is given back
when it ends.

The wizard asks for the rows to look at once for each file, and for a reading of all rows only if
somebody wants it. The job that makes the dataset reads all rows, and writes nothing if they read
differently from what the wizard showed.
"""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from starlette.datastructures import QueryParams

from metal.app.choices import Options, options_in, query_of, worded
from metal.app.reading import as_read
from metal.app.table_rows import TableRows
from metal.app.table_view import TableShown, table_shown
from metal.data.records import KINDS
from metal.data.tables.files import is_table
from metal.data.text import first_few, plural
from metal.errors import DataError, MetalError

LARGE = 2_000_000  # bytes of a file
PACKED = {".gz", ".parquet", ".xlsx"}  # endings of files that are much larger in memory
PACKING = 10  # how much larger
ROWS, WHOLE = "rows", "whole"
PERSON = KINDS["human"]
RATER = "rater"

Facts = Mapping[str, Mapping[str, str]]


def rows_of(path: Path, options: Options) -> TableRows | None:
    """The rows of a table to look at; None if all are read at each change. Raises DataError,
    UsageError.
    """
    from metal.data.formats import recognize

    if not path.is_file() or not is_table(path) or options.get("format", "table") != "table":
        return None
    size = path.stat().st_size * (PACKING if path.suffix.lower() in PACKED else 1)
    if size <= LARGE or recognize(path):
        return None
    rows: TableRows = _asked(ROWS, path, {"sheet": options.get("sheet", "")})
    return rows if rows.is_sample else None


def read_whole(path: Path, options: Options) -> TableShown:
    """What the wizard shows of all rows of a table. Raises DataError if reading breaks off."""
    shown: TableShown = _asked(WHOLE, path, options)
    return shown


def _asked(what: str, path: Path, options: Mapping[str, Any]) -> Any:
    """What a process of its own answers. Raises what it raises, if that is a MetalError."""
    task = {"what": what, "path": str(path), "query": query_of(options)}
    done = subprocess.run(
        [sys.executable, "-m", "metal.app.aside"],
        input=json.dumps(task).encode(),
        capture_output=True,
        check=False,
    )
    if done.returncode:
        last = done.stderr.decode("utf-8", "replace").strip().split("\n")[-1]
        raise DataError(path, f"it cannot be read ({last})", "Try a part of it")
    answer = pickle.loads(done.stdout)  # noqa: S301  METAL's own program wrote it
    if isinstance(answer, MetalError):
        raise answer
    return answer


def _answer(task: Mapping[str, str]) -> Any:
    """The answer to a task of `_asked`."""
    from metal.data.tables.files import read_frame

    path, options = Path(task["path"]), options_in(QueryParams(task["query"]))
    if task["what"] == ROWS:
        try:
            return TableRows.of(read_frame(path, options.get("sheet", "")), path)
        except MetalError as error:
            return error
    shown = table_shown(as_read(path, options))
    return replace(shown, read=replace(shown.read, dataset=None, whole=True))


# ---------------------------------------------------------------- the job


def task_of(path: Path, shown: TableShown, dataset: str, audit: str) -> dict[str, Any]:
    """What the job that makes a dataset has to do: read all rows, compare, write, and audit.

    shown: what somebody looked at. dataset, audit: the folders to write; no audit if empty.
    """
    return {
        "path": str(path.resolve()),
        "query": query_of(shown.read.options),
        "facts": shown.facts,
        "dataset": dataset,
        "audit": audit,
    }


def differences(before: Facts, now: Facts) -> tuple[list[str], int]:
    """How a reading differs from an earlier one of some of the rows, in words; and how many people
    are new, which is no difference: not all raters were among those rows.
    """
    lines, people = [], 0
    for what, facts in now.items():
        for name in dict.fromkeys([*before.get(what, {}), *facts]):
            was, has = before.get(what, {}).get(name), facts.get(name)
            if what == RATER and was is None and has == PERSON:
                people += 1
            elif was != has:
                lines.append(f"{what} {name}: {has or 'none'} instead of {was or 'none'}")
    return lines, people


def make(task: Mapping[str, Any]) -> None:
    """Read all rows of a table and write the dataset. Raises DataError if they read differently."""
    from metal.questions.dataset.contents import sizes

    path, options = Path(task["path"]), options_in(QueryParams(task["query"]))
    print(f"Reading all rows of {path.name}", flush=True)
    shown = table_shown(as_read(path, options))
    dataset = shown.read.dataset
    if dataset is None:
        assert shown.read.error is not None
        raise shown.read.error
    lines, people = differences(task["facts"], shown.facts)
    if lines:
        problem = (
            f"the whole table differs from the rows that were looked at: {first_few(lines, 8)}"
        )
        remedy = "Nothing was written. Go back to the table, read all rows there, and look again"
        raise DataError(path, problem, remedy)
    if people:
        verb = "was" if people == 1 else "were"
        print(f"{plural(people, 'person', 'people')} {verb} not among the rows looked at")
    dataset.save(Path(task["dataset"]))
    print(f"{task['dataset']}: {sizes(dataset)}", flush=True)


def main() -> None:
    """Answer the task on the standard input or, with a file as argument, do what it says."""
    if len(sys.argv) < 2:
        sys.stdout.buffer.write(pickle.dumps(_answer(json.load(sys.stdin)), 5))
        return
    task = json.loads(Path(sys.argv[-1]).read_text(encoding="utf-8"))
    try:
        make(task)
    except MetalError as error:
        print(f"metal: {worded(str(error), Path(task['path']).parent)}", file=sys.stderr)
        sys.exit(2)
    if task["audit"]:
        command = [sys.executable, "-m", "metal", "audit", f"--out={task['audit']}", "--"]
        sys.exit(subprocess.call([*command, task["dataset"]]))  # noqa: S603  as above


if __name__ == "__main__":
    main()
