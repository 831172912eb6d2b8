"""Hand out the outputs on which an audit's judges and people differ."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Callable, Collection
from pathlib import Path

import pytest

import metal
from metal.building.store import read_tasks
from metal.errors import UnknownName, UsageError
from metal.running.annotating import HandedOut
from tests.saying import tells

DEMO = Path(__file__).parents[2] / "datasets" / "demo"
CELL = {"languages": "ar", "criteria": "task_quality"}
BLIND = "constructed:blind"


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("audited") / "audit"
    metal.audit(DEMO, languages="ar,hi", resamples=100).save(folder)
    return folder


@pytest.fixture
def handed_out(tmp_path: Path) -> Callable[..., HandedOut]:
    """annotate_export on a copy of the demo, with these options."""
    shutil.copytree(DEMO, tmp_path / "demo")

    def export(**options: object) -> HandedOut:
        out = tmp_path / "sheets"
        return metal.annotate_export(tmp_path / "demo", to="csv", raters=1, out=out, **options)

    return export


def differing(audit: Path, criterion: str = "task_quality") -> dict[str, float]:
    """The outputs in Arabic on which BLIND differs from the people, with the distances."""
    table = metal.open_run(audit).disagreement_table
    apart = {}
    for row in table.to_pylist():
        of_judge = [each["score"] for each in row["ratings"] if each["rater"] == BLIND]
        in_cell = row["language"] == "ar" and row["criterion"] == criterion
        if in_cell and row["people"] is not None and of_judge[0] != row["people"]:
            apart[row["output"]] = abs(of_judge[0] - row["people"])
    return apart


def outputs_of(handed: HandedOut) -> set[str]:
    tasks = read_tasks(handed.dataset)
    return {tasks[task.task] for each in handed.assignments for task in each.tasks}


def test_outputs_on_which_a_judge_differs_go_to_a_new_person(
    audit: Path, handed_out: Callable[..., HandedOut]
) -> None:
    handed = handed_out(only=audit, judges=BLIND, **CELL)
    assert outputs_of(handed) == set(differing(audit))
    assert [each.rater for each in handed.assignments] == ["ar-4"]  # ar-1 to ar-3 have rated
    settings = tomllib.loads((handed.out / "run.toml").read_text("utf-8"))["settings"]
    assert settings["judges"] == [BLIND]
    assert settings["only"] == str(audit)


def test_the_largest_differences_come_first(
    audit: Path, handed_out: Callable[..., HandedOut]
) -> None:
    apart = differing(audit, "overall_quality")
    at_most = sorted(apart.values(), reverse=True)[:10]
    assert len({*apart.values()}) > 20  # so that the order tells
    cell = CELL | {"criteria": "overall_quality"}
    chosen = outputs_of(handed_out(only=audit, judges=BLIND, items=10, **cell))
    assert sorted((apart[output] for output in chosen), reverse=True) == at_most


def of_language(outputs: Collection[str], language: str) -> int:
    return sum(output.startswith(language) for output in outputs)


def test_items_count_for_each_language(audit: Path, handed_out: Callable[..., HandedOut]) -> None:
    chosen = outputs_of(handed_out(only=audit, judges=BLIND, items=5, criteria="task_quality"))
    assert (of_language(chosen, "ar"), of_language(chosen, "hi"), len(chosen)) == (5, 5, 10)


def test_mistakes_are_refused(
    audit: Path, handed_out: Callable[..., HandedOut], tmp_path: Path
) -> None:
    with pytest.raises(UnknownName, match="constructed:blond"):
        handed_out(only=audit, judges="constructed:blond", **CELL)
    with pytest.raises(UsageError) as without:
        handed_out(items=5)
    assert tells(str(without.value), "`items`", "audit", "`only`")
    with pytest.raises(UsageError) as no_audit:
        handed_out(only=tmp_path / "demo")
    assert tells(str(no_audit.value), "demo", "run")
    assert not (tmp_path / "sheets").exists()


def test_an_audit_of_other_data_is_refused(audit: Path, tmp_path: Path) -> None:
    rows = [("a", "x", 1), ("a", "y", 0), ("b", "x", 0), ("b", "y", 1)]
    lines = [f"{output},overall,{rater},{score}" for output, rater, score in rows]
    table = tmp_path / "other.csv"
    table.write_text("\n".join(["output,criterion,rater,score", *lines]) + "\n", "utf-8")
    metal.read(table).save(tmp_path / "other")
    texts = tmp_path / "other" / "outputs.jsonl"
    texts.write_text(texts.read_text("utf-8").replace('"text": ""', '"text": "x"'), "utf-8")
    with pytest.raises(UsageError, match=r"not an audit.*data"):
        metal.annotate_export(tmp_path / "other", only=audit, out=tmp_path / "sheets")


def test_pairs_that_were_only_shown_in_reverse_order_are_handed_out(tmp_path: Path) -> None:
    rows = ["prompt,model_a,model_b,response_a,response_b,judge,winner"]
    for number in range(12):
        pair = f"question {number},zebra,apple,zebra says {number},apple says {number}"
        rows += [f"{pair},{who},{'zebra' if number % 2 else 'apple'}" for who in ("anna", "ben")]
        rows.append(f"{pair},gpt-4o,zebra")
    table = tmp_path / "pairs.csv"
    table.write_text("\n".join(rows) + "\n", "utf-8")
    data = tmp_path / "data"
    metal.read(table, language="en").save(data)
    assert all(each.condition == "swapped" for each in metal.read(data).outputs.values())
    metal.audit(data, resamples=100).save(tmp_path / "audit")
    handed = metal.annotate_export(
        data, to="html", only=tmp_path / "audit", judges="gpt-4o", items=4, out=tmp_path / "out"
    )
    assert len(outputs_of(handed)) == 4
