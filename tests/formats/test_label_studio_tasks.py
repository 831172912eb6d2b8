"""Label Studio's own JSON export, of projects of anybody's and of METAL's forms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import metal
from tests.formats.harness_files import kinds, scores, written
from tests.formats.test_tracing_tools import missing
from tests.saying import tells


def choice(control: str, *answers: str, **value: Any) -> dict[str, Any]:
    chosen = {"choices": list(answers), **value}
    return {"from_name": control, "to_name": "text", "type": "choices", "value": chosen}


def rating(control: str, stars: Any) -> dict[str, Any]:
    return {"from_name": control, "to_name": "text", "type": "rating", "value": {"rating": stars}}


def comment(*texts: str) -> dict[str, Any]:
    value = {"text": list(texts)}
    return {"from_name": "why", "to_name": "text", "type": "textarea", "value": value}


def annotated(login: Any, *results: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": 7, "completed_by": login, "result": list(results), "was_cancelled": False} | more


def task(number: int, *annotations: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A task as Label Studio exports it: `project` and times stand beside the data."""
    data = {
        "question": f"q{number}?",
        "answer": f"a {number}",
        "language": ("en", "hi")[number % 2],
    }
    return {
        "id": number,
        "annotations": list(annotations),
        "predictions": [],
        "data": data,
        "meta": {},
        "created_at": "2026-01-01T00:00:00Z",
        "project": 3,
        **more,
    }


def predicted(model: str, *results: dict[str, Any], score: Any = None) -> dict[str, Any]:
    return {"model_version": model, "score": score, "result": list(results)}


def test_people_and_models_of_an_export(tmp_path: Path) -> None:
    ana = {"id": 1, "email": "ana@example.org"}
    tasks = [
        task(
            1,
            annotated(ana, choice("tone", "Good"), rating("stars", 4), comment("nice", "short")),
            annotated(2, choice("tone", "Bad"), rating("stars", 2)),
            predictions=[predicted("gpt-4o", choice("tone", "Good"), score=0.9)],
        ),
        task(
            2,
            annotated(ana, choice("tone", "Bad"), rating("stars", 1)),
            annotated(2, was_cancelled=True),
            predictions=[predicted("gpt-4o", choice("tone", "Bad"), score=0.6), 17],
        ),
        task(3),
    ]
    data = metal.read(written(tmp_path, "export.json", tasks))
    assert kinds(data) == {"2": "human", "ana@example.org": "human", "gpt-4o": "llm"}
    assert [level.label for level in data.criteria["tone"].scale.levels] == ["Bad", "Good"]
    assert scores(data, "ana@example.org") == [1, 4, 0, 1]
    assert scores(data, "gpt-4o") == [1, 0]
    assert set(data.ratings["comment"]) == {"nice\nshort", ""}
    assert sorted(data.ratings["confidence"].dropna()) == [0.6, 0.9]
    assert missing(data) == {("task 2", "2"): "skipped"}
    assert [output.text for output in data.outputs.values()] == ["a 1", "a 2"]
    assert [output.language for output in data.outputs.values()] == ["hi", "en"]
    assert {source.text for source in data.sources.values()} == {"q1?", "q2?"}
    assert tells(data.report, "left out", "1 tasks", "without an annotation")


def test_answers_on_parts_and_several_choices_are_counted(tmp_path: Path) -> None:
    span = {"from_name": "ner", "type": "labels", "value": {"start": 0, "end": 3, "labels": ["X"]}}
    results = [
        *(choice("tone", "1"), choice("many", "a", "b"), choice("part", "1", start=0, end=4)),
        span,
    ]
    tasks = [task(number, annotated(number % 2, *results)) for number in range(4)]
    data = metal.read(written(tmp_path, "export.json", tasks))
    assert [*data.criteria] == ["tone"]
    assert tells(data.report, "8 results of type choices", "4 results of type labels")


def test_a_project_of_each_person_has_the_persons_name(tmp_path: Path) -> None:
    tasks = []
    for number in range(4):
        data = {"task": f"o{number}", "rater": "hi-1", "language": "hi", "output_text": "x"}
        tasks.append(task(number, annotated(9, choice("score:tone", str(number % 2))), data=data))
    path = written(tmp_path, "export.json", tasks)
    assert kinds(metal.read(path)) == {"hi-1": "human"}
    assert [*metal.read(path).criteria] == ["tone"]
    tasks[0]["annotations"].append(annotated(8, choice("score:tone", "1")))
    assert kinds(metal.read(written(tmp_path, "b.json", tasks))) == {"8": "human", "9": "human"}


def test_an_export_of_metal_that_people_completed(tmp_path: Path) -> None:
    path = tmp_path / "tasks.json"
    metal.export("datasets/demo", to="label-studio", out=path)
    tasks = json.loads(path.read_text())
    for number, each in enumerate(tasks):  # as Label Studio saves them
        each |= {"id": number + 1, "project": 1, "drafts": [], "total_annotations": 1}
    tasks[0]["annotations"].append(annotated(4, choice("score:task_quality", "2")))
    data = metal.read(written(tmp_path, "saved.json", tasks))
    demo = metal.read("datasets/demo")
    assert data.criteria == demo.criteria
    assert len(data.ratings) == len(demo.ratings) + 1
    assert scores(data, "4") == [2]
    assert data.outputs == {**demo.outputs, **data.outputs}
