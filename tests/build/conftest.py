"""Sheets as they are handed out: a few texts in four languages, METAL's five criteria, two or three
people each.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from metal.building.tasks import Assignment, assign, make_tasks
from metal.data.files import bundled
from metal.data.records import Criterion, Level, Output, Scale, Source
from metal.raters.judges.rubric import Rubric, rubrics_for
from tests.browser import browser, visit

__all__ = ["browser", "visit"]

QUALITY = (Level(0, "Bad"), Level(1, "Medium"), Level(2, "Good"))
PRESENCE = (Level(0, "Absent"), Level(1, "Present"))
# what nobody who rates may see
SECRETS = ("secret-output", "secret-generator", "secret-source", "secret-note")

TEXTS = {
    "en": [
        (
            "Bridge",
            "The old bridge was closed on Monday.\n\nRepairs take a year.",
            "The bridge is closed for a year.",
        ),
        ("=1+1", "@SUM(A1:A9) is a formula.", '=HYPERLINK("http://example.org","press")'),
        (
            "<b>Tags</b>",
            "<script>alert(1)</script> & ${title}",
            "-1; a \"quoted\" text, with 'marks' ${output}",
        ),
    ],
    "ar": [
        (
            "الجسر",
            "أُغلق الجسر القديم يوم الاثنين. تستغرق الإصلاحات 12 شهرًا.",
            "الجسر مغلق لمدة سنة.",
        ),
        (
            "المطر",
            "قال \u202bالمتحدث\u202c إن المطر 😀 توقف (أخيرًا).",
            "توقف المطر 🌧️.\nوعادت الشمس.",
        ),
    ],
    "hi": [("पुल", "पुराना पुल सोमवार को बंद कर दिया गया।", "पुल एक साल के लिए बंद है।")],
    "zh": [("", "旧桥周一关闭,\r\n维修需要一年。\x07", "桥要关闭一年。" * 8000)],
}


@pytest.fixture
def pages() -> None:
    """Every visit has a context of its own: forms keep answers in the browser."""


@pytest.fixture(scope="session")
def criteria() -> dict[str, Criterion]:
    """METAL's five, as a dataset declares them."""
    named = {
        "linguistic_acceptability": Criterion(
            "linguistic_acceptability", Scale("ordinal", QUALITY)
        ),
        "output_content_quality": Criterion("output_content_quality", Scale("ordinal", QUALITY)),
        "task_quality": Criterion("task_quality", Scale("ordinal", QUALITY)),
    }
    for name in ("problematic_content", "hallucinations"):
        named[name] = Criterion(name, Scale("nominal", PRESENCE), "lower")
    return named


@pytest.fixture(scope="session")
def rubrics(criteria: Mapping[str, Criterion]) -> dict[str, Rubric]:
    return rubrics_for(criteria.values(), [bundled("prompts")], needed=("simple", "detailed"))


@pytest.fixture(scope="session")
def assignments(rubrics: Mapping[str, Rubric]) -> list[Assignment]:
    """Three people a language."""
    return assign(tasks_of(TEXTS), "made", rubrics, raters=3)


def tasks_of(texts: Mapping[str, list[tuple[str, str, str]]]) -> list:
    """A task for each (title, source, output) of a language, with secrets that must stay behind."""
    outputs, sources = [], {}
    for language, listed in texts.items():
        for number, (title, text, made) in enumerate(listed):
            source = f"secret-source-{language}-{number}"
            sources[source] = Source(source, language, text, title)
            name = f"secret-output-{language}-{number}"
            outputs.append(Output(name, source, "secret-generator", language, made, "secret-note"))
    return make_tasks("made", outputs, sources)


def criterion(name: str, scale: Scale) -> Rubric:
    """A rubric that says nothing but its question."""
    return Rubric(Criterion(name, scale, question="How much?"), simple="How much?")
