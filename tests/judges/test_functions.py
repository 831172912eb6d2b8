"""Functions as judges by name: `module:function`, entry points, LangChain runnables."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import metal
from metal.errors import MetalError, UsageError
from metal.raters.judges.adapters import adapted, stretched
from metal.raters.judges.functions import function_model, is_function
from tests.conftest import HALLUCINATIONS, TASK_QUALITY, offer

DEMO = "datasets/demo"
PROGRAM = """
calls = []
def judge(source, output, criterion, language):
    calls.append(output)
    return max(criterion.scale.values), ", ".join(str(each) for each in [len(output)])
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module with a judge, in a folder of sys.path; its name is the test's own."""
    name = f"judges_of_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(PROGRAM, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    return name


def test_a_named_function_is_resumed_by_its_name(module: str, tmp_path: Path) -> None:
    name, out = f"{module}:judge", tmp_path / "run"
    begun = metal.judge(DEMO, name, criteria="task_quality", out=out, limit=30)
    assert (begun.outcome.missing, begun.complete) == (210, False)
    run = metal.judge(resume=out)
    assert run.complete
    assert set(run.ratings["rater"]) == {name}
    assert len(__import__(module).calls) == 240


def test_a_run_over_a_table_is_resumed_and_audited(module: str, tmp_path: Path) -> None:
    """The run names the file, not the dataset that was made of it, which is nowhere."""
    table, out = tmp_path / "my ratings.csv", tmp_path / "run"
    table.write_text(
        "id,text,annotator,score\n"
        + "".join(f"o{n},Text {n},{who},{n % 2}\n" for n in range(9) for who in "xy")
    )
    assert not metal.judge(table, f"{module}:judge", out=out, limit=2).complete
    run = metal.judge(resume=out)
    assert (run.complete, run.job.folder) == (True, table)
    assert set(metal.audit(run.job.folder, out, resamples=100).judges["judge"]) >= {
        f"{module}:judge"
    }


def test_a_changed_module_is_another_judge(module: str, tmp_path: Path) -> None:
    metal.judge(DEMO, f"{module}:judge", criteria="task_quality", out=tmp_path / "run", limit=5)
    (tmp_path / f"{module}.py").write_text(PROGRAM + "# another\n", encoding="utf-8")
    with pytest.raises(UsageError, match="its code"):
        metal.judge(resume=tmp_path / "run")


def test_an_entry_point_is_a_judge(module: str, tmp_path: Path) -> None:
    offer(tmp_path, "theirs", "metal.judges", f"longest = {module}:judge\n")
    run = metal.judge(DEMO, "longest", criteria="task_quality", out=tmp_path / "run", limit=5)
    assert set(run.ratings["rater"]) == {"longest"}


def test_names_that_are_none(module: str, tmp_path: Path) -> None:
    def refused(judge: Any, message: str) -> None:
        with pytest.raises(MetalError, match=message):
            metal.judge(DEMO, judge, out=tmp_path / "run")

    # a package of that name may be installed; a provider stays one
    assert not is_function("openai:gpt")
    refused(f"{module}:jugde", "no attribute 'jugde'")
    refused(f"{module}:calls", "not list")
    refused(f"{module}:judge,openai:gpt-4o", "get no prompt")
    refused("nowhere_at_all:judge", "MODULE:FUNCTION")
    (tmp_path / f"{module}.py").write_text("1 / 0", encoding="utf-8")
    refused(f"{module}2:judge", "MODULE:FUNCTION")
    (tmp_path / f"broken_{module}.py").write_text("1 / 0", encoding="utf-8")
    refused(f"broken_{module}:judge", "cannot be imported: ZeroDivisionError")


def test_a_function_has_the_same_fingerprint_wherever_its_code_is() -> None:
    program = (
        "def judge(source, output, criterion):\n    return [each for each in (lambda x: [x])(1)]"
    )
    first: dict[str, Any] = {}
    second: dict[str, Any] = {}
    exec(program, first)
    exec(program, second)
    assert function_model("f", first["judge"]).model == function_model("f", second["judge"]).model


def test_shares_are_stretched_from_the_worst_to_the_best() -> None:
    assert [stretched(share, TASK_QUALITY) for share in (0, 0.2, 0.3, 0.8, 1)] == [0, 0, 1, 2, 2]
    assert [stretched(share, HALLUCINATIONS) for share in (0, 1)] == [1, 0]  # lower is better
    with pytest.raises(ValueError, match="not between"):
        stretched(2, TASK_QUALITY)


def test_a_langchain_runnable_is_a_judge(tmp_path: Path) -> None:
    from langchain_core.language_models import FakeListChatModel
    from langchain_core.prompts import ChatPromptTemplate

    prompt = ChatPromptTemplate.from_messages(
        [("human", "{question} {levels} {language} {source} {output}")]
    )
    chain = prompt | FakeListChatModel(responses=['{"score": 2, "justification": "fine"}'])
    run = metal.judge(
        DEMO, chain, name="chain", criteria="task_quality", out=tmp_path / "run", limit=5
    )
    answered = run.ratings.dropna(subset="score")
    assert len(answered) == 5
    assert set(answered["score"]) == {2.0}
    assert set(answered["comment"]) == {"fine"}


def test_what_is_no_judge_is_refused() -> None:
    with pytest.raises(UsageError, match="the class int"):
        adapted(int)


def test_a_coroutine_that_never_waits_leaves_turns_to_others(tmp_path: Path) -> None:
    """Such as who shows the progress: not all questions are answered in one turn of the event
    loop.
    """
    turns, asked = 0, []

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def immediate(source: str, output: str, criterion: Any) -> int:
        asked.append(turns)
        return int(criterion.scale.values[0])

    async def both() -> None:
        counting = asyncio.create_task(count_turns())
        await metal.judge_async(
            "datasets/demo", immediate, out=tmp_path / "run", criteria="task_quality"
        )
        counting.cancel()

    asyncio.run(both())
    assert len(asked) == 240
    assert len(set(asked)) >= len(asked) / 16  # questions are asked at once
