"""Two people's tasks with everything that could go wrong in a form: scripts, markup, variables, odd
names.
"""

from __future__ import annotations

from metal.building.tasks import Assignment, Task
from metal.data.records import Criterion, Level, Scale
from metal.raters.judges.rubric import LevelText, Rubric

TASK_QUALITY = Criterion(
    "task_quality",
    Scale("ordinal", (Level(0, "Bad"), Level(1, "Medium"), Level(2, "true"))),
    label="Task quality",
    question="Was the task done? It costs $source or $5.",
)
ODD = Criterion(
    'Ton & "Stil" | <x>', Scale("nominal", (Level(-1, "<b>No</b>"), Level(1, 'Yes & "how"')))
)
FLUENCY = Criterion("fluency", Scale("interval", low=0.5, high=5), label="Fluency")
CRITERIA = {criterion.name: criterion for criterion in (TASK_QUALITY, ODD, FLUENCY)}
RUBRICS = {
    "task_quality": Rubric(
        TASK_QUALITY,
        "Looks at the task.\nOnly at the task.",
        "First paragraph & more.\n\nSecond <script>alert(1)</script> paragraph.",
        {
            0: LevelText("It was not done.", ("nothing was done", "something else was done")),
            1: LevelText("Half of it was done."),
            2: LevelText("true", ("all was done",)),
        },
    ),
    ODD.name: Rubric(ODD, "How does it sound?"),
    "fluency": Rubric(FLUENCY, "Reads well."),
}

_ARABIC = (
    "ارتفعت أسعار القمح بنسبة 12% في 2023، وقالت FAO إن السبب هو الجفاف.\nولم تتغير أسعار الأرز."
)
HOSTILE = (
    "$rater <script>alert(1)</script> <img src=x onerror=alert(2)> {{7*7}} & \"q\" 'q'\nnext line"
)

ASSIGNMENTS = (
    Assignment(
        "made",
        "ar-1",
        "ar",
        (
            Task("ta1", "o1", "ar", "القمح", _ARABIC, "ارتفع سعر القمح (12%)، بحسب FAO."),
            Task("ta2", "o2", "ar", "", _ARABIC, "FAO: لم تتغير أسعار الأرز!"),
            Task("ta3", "o3", "ar", "$title", HOSTILE, "ا " + HOSTILE),
        ),
        RUBRICS,
    ),
    Assignment(
        "made",
        "en-1",
        "en",
        (
            Task(
                "te1",
                "o4",
                "en",
                "Wheat",
                "Wheat rose by 12% in 2023.\n\n" + "It rained. " * 300,
                "Wheat rose.",
            ),
            Task("te2", "o5", "en", HOSTILE, HOSTILE, HOSTILE),
            Task("te3", "o6", "en", "", "http://127.0.0.1:9/x", "s3://bucket/key"),
        ),
        RUBRICS,
    ),
)
