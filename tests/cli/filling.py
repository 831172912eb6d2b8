"""Forms filled in as the programs do in which people fill them in."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.build.test_label_studio import annotation, as_bytes, exported, result

# What somebody says of a task: (rater, task) -> scores by criterion; None leaves the task alone.
Opinion = Callable[[str, str], Mapping[str, str] | None]
COMMENT = 'a "comment"; تعليق\u2028=1+1'


def filled(form: str, folder: Path, back: Path, opinion: Opinion) -> list[Path]:
    """All forms in `folder`, filled in: the files that come back."""
    back.mkdir(exist_ok=True)
    rows_read = []
    for path in sorted(folder.iterdir()):
        if path.name not in ("run.toml", "README.txt", "guidelines.html") and path.suffix != ".xml":
            made = FILLERS[form](path, opinion)
            if made:
                name, content = made
                (back / name).write_bytes(content)
                rows_read.append(back / name)
    assert rows_read
    return rows_read


def html(path: Path, opinion: Opinion) -> tuple[str, bytes]:
    """The answers file that the page saves: all tasks, blanks where nothing was said."""
    page = path.read_text("utf-8")
    [data] = re.findall(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    sheet = json.loads(data)
    answers = []
    for number, task in enumerate(sheet["tasks"]):
        text = opinion(sheet["rater"], task["task"])
        scores = {each["name"]: (text or {}).get(each["name"], "") for each in sheet["criteria"]}
        comment = COMMENT if text else ""
        answers.append(
            {"task": task["task"], "scores": scores, "comment": comment, "seconds": number + 0.5}
        )
    full = {
        "metal": "answers",
        "version": 1,
        "dataset": sheet["dataset"],
        "rater": sheet["rater"],
        "answers": answers,
    }
    return sheet["file"], json.dumps(full, ensure_ascii=False, indent=1).encode()


def _rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline="")))


def _csv(rows: list[dict[str, str]], **dialect: Any) -> str:
    file = io.StringIO(newline="")
    writer = csv.DictWriter(
        file, list(dict.fromkeys(name for row in rows for name in row)), **dialect
    )
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def csv_sheet(path: Path, opinion: Opinion) -> tuple[str, bytes]:
    """As a German Excel saves it."""
    rows = _rows(path)
    for row in rows:
        text = opinion(row["rater"], row["task"])
        row.update({**text, "comment": COMMENT} if text else {})
    return path.name, _csv(rows, delimiter=";").encode("utf-8-sig")


def xlsx(path: Path, opinion: Opinion) -> tuple[str, bytes]:
    """What is chosen from the lists stands in the cells; numbers are numbers."""
    import openpyxl

    book = openpyxl.load_workbook(path)
    page = book["Tasks"]
    place = {cell.value: cell.column for cell in page[1]}
    shown = [[str(cell.value) for cell in column] for column in book["Levels"].columns]
    for row in range(2, page.max_row + 1):
        text = opinion(page.cell(row, place["rater"]).value, page.cell(row, place["task"]).value)
        for name, score in (text or {}).items():
            offered = [
                level for column in shown for level in column if level.startswith(f"{score} ")
            ]
            page.cell(row, place[name]).value = (
                _offered(name, offered) if name != "fluency" else float(score)
            )
        if text:
            page.cell(row, place["comment"]).value = COMMENT
    file = io.BytesIO()
    book.save(file)
    return path.name, file.getvalue()


def _offered(name: str, levels: list[str]) -> str:
    """The level of this criterion among those with the same value."""
    if len(set(levels)) == 1:
        return levels[0]
    words = (
        ("Absent", "Present")
        if name in ("hallucinations", "problematic_content")
        else ("Bad", "Medium", "Good")
    )
    return next(level for level in levels if level.endswith(words))


def label_studio(path: Path, opinion: Opinion) -> tuple[str, bytes]:
    """A project's export: the tasks with an annotation each, submitted by one login."""
    entries: list[dict[str, Any]] = []
    for number, entry in enumerate(json.loads(path.read_bytes()), 1):
        data = entry["data"]
        text = opinion(data["rater"], data["task"])
        results = [
            result(f"score:{name}", "number", {"number": float(score)})
            if name == "fluency"
            else result(f"score:{name}", "choices", {"choices": [score]})
            for name, score in (text or {}).items()
        ]
        results.append(result("comment", "textarea", {"text": [COMMENT]}))
        entries.append(
            exported(*([annotation(results)] if text else []), number=number) | {"data": data}
        )
    return f"project-{path.name}", as_bytes(*entries)


def mturk(path: Path, opinion: Opinion) -> tuple[str, bytes] | None:
    """A batch's results: three workers a HIT; without answers there are no results."""
    if path.suffix != ".csv":
        return None
    rows = []
    for row in _rows(path):
        for worker in ("A1", "A2", "A3"):
            text = opinion(f"mturk:{worker}", row["task"])
            if text:
                rows.append(
                    {
                        "HITId": "H",
                        "AssignmentId": "A",
                        "WorkerId": worker,
                        "AssignmentStatus": "Approved",
                    }
                    | {"WorkTimeInSeconds": "30"}
                    | {f"Input.{name}": cell for name, cell in row.items()}
                    | {f"Answer.{name}": score for name, score in text.items()}
                    | {"Answer.comment": COMMENT}
                )
    if not rows:
        return None
    return f"batch-{path.name}", _csv(rows, quoting=csv.QUOTE_ALL).encode()


def crowd_csv(path: Path, opinion: Opinion) -> tuple[str, bytes]:
    """What a survey tool writes: three people a task, its own columns beside."""
    rows = [
        {
            "StartDate": "2026-01-01",
            "task": row["task"],
            "PROLIFIC_PID": person,
            **text,
            "comment": COMMENT,
        }
        for row in _rows(path)
        for person in ("A1", "A2", "A3")
        if (text := opinion(f"prolific:{person}", row["task"]))
    ]
    return f"answers-{path.name}", _csv(rows).encode()


FILLERS: Mapping[str, Callable[[Path, Opinion], tuple[str, bytes] | None]] = {
    "html": html,
    "csv": csv_sheet,
    "xlsx": xlsx,
    "label-studio": label_studio,
    "mturk": mturk,
    "crowd-csv": crowd_csv,
}
