"""Sheets, forms made of them, and what comes back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from metal.building.forms.html_form import write
from metal.building.tasks import Answer, Assignment, make_tasks
from metal.data.records import Criterion, Output, Scale, Source
from metal.raters.judges.rubric import LevelText, Rubric
from tests.conftest import HALLUCINATIONS, TASK_QUALITY

FLUENCY = Criterion(
    "fluency", Scale("interval", (), 0, 100), label="Fluency", question="How fluent is it?"
)
CRITERIA = {each.name: each for each in (TASK_QUALITY, HALLUCINATIONS, FLUENCY)}
RUBRICS = {
    "task_quality": Rubric(
        TASK_QUALITY,
        "In brief.",
        "In detail.",
        {0: LevelText("Not of use.", ("it is about something else",))},
    ),
    "hallucinations": Rubric(HALLUCINATIONS),
    "fluency": Rubric(FLUENCY),
}
TEXTS = {
    "en": (
        "The library",
        "The library opens on Monday, and everyone may come in. " * 40,
        "It opens on Monday.",
    ),
    "ar": (
        "المكتبة",
        "تفتح المكتبة أبوابها يوم الاثنين للجميع، والدخول مجاني. " * 40,
        "تفتح يوم الاثنين (2024).",
    ),
}


def assignment(
    language: str = "en", count: int = 3, rater: str = "", texts: tuple[str, str, str] | None = None
) -> Assignment:
    title, text, summary = texts or TEXTS[language]
    sources = {
        f"secret-source-{n}": Source(f"secret-source-{n}", language, f"{n} {text}", title)
        for n in range(count)
    }
    outputs = [
        Output(
            f"secret-output-{n}",
            source,
            "secret-generator",
            language,
            f"{n} {summary}",
            "secret-note",
        )
        for n, source in enumerate(sources)
    ]
    return Assignment(
        "demo",
        rater or f"{language}-1",
        language,
        tuple(make_tasks("demo", outputs, sources)),
        RUBRICS,
    )


def form(folder: Path, chosen: Assignment) -> Path:
    """The file that this person is given."""
    [(name, content)] = write([chosen])
    (folder / name).write_bytes(content)
    return folder / name


def downloaded(page: Any, button: str = "#download") -> tuple[str, bytes]:
    with page.expect_download() as download:
        page.click(button)
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()


def scores(answers: list[Answer]) -> list[tuple[str, ...]]:
    return [tuple(answer.scores.values()) for answer in answers]


def turn_to(page: Any, view: str) -> None:
    """To the view of the form of this address: guidelines, task-1, tasks."""
    page.goto(page.url.split("#")[0] + f"#{view}")
    page.locator(f"#view-{view.split('-')[0]}").wait_for()
