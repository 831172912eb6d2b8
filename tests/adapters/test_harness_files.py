"""Results of inspect_ai, DeepEval, lm-eval and promptfoo, written anew by those packages as they
are: `make test-adapters` installs each beside METAL. Models are scripted, so nothing is asked.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import metal
from tests.formats.harness_files import kinds, scores

LANGUAGES = ("en", "hi", "sw")
NODE = (22, 22)  # promptfoo's oldest


# ---------------------------------------------------------------- inspect_ai


def inspect_ai_log(folder: Path) -> Any:
    """Six samples in two epochs: a judge that says C and I in turn, a metric, values by key, and a
    scorer that has no value for the last sample.
    """
    from inspect_ai import Task
    from inspect_ai import eval as evaluate
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import Score, Target, match, mean, model_graded_qa, scorer
    from inspect_ai.solver import TaskState, generate

    def model(*texts: str) -> Any:
        outputs = [ModelOutput.from_content("mockllm/model", text) for text in texts * 12]
        for output in outputs:  # else inspect_ai counts tokens, for which it downloads a list
            output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return get_model("mockllm/model", custom_outputs=outputs)

    @scorer(metrics={"*": [mean()]})
    def traits() -> Any:
        async def score(state: TaskState, target: Target) -> Score:
            return Score(value={"warm": 2, "rude": 0})

        return score

    @scorer(metrics=[mean()])
    def length() -> Any:
        async def score(state: TaskState, target: Target) -> Score:
            if state.sample_id == "q5":
                return Score.unscored(explanation="too long")
            return Score(value=3)

        return score

    samples = []
    for number in range(6):
        metadata = {"language": LANGUAGES[number % 3], "human_correctness": number % 2}
        sample = Sample(f"question {number}", target="gold", id=f"q{number}", metadata=metadata)
        samples.append(sample)
    grader = model_graded_qa(model=model("GRADE: C", "Wrong.\n\nGRADE: I"))
    task = Task(
        dataset=MemoryDataset(samples),
        solver=generate(),
        scorer=[grader, match(), traits(), length()],
        epochs=2,
        name="qa",
    )
    (log,) = evaluate(
        task, model=model("answer"), log_dir=str(folder), display="none", max_connections=1
    )
    assert log.status == "success"
    return log


def test_an_inspect_ai_log(tmp_path: Path) -> None:
    pytest.importorskip("inspect_ai")
    from inspect_ai.analysis import samples_df
    from inspect_ai.log import read_eval_log, write_eval_log

    log = inspect_ai_log(tmp_path / "logs")
    (path,) = (tmp_path / "logs").glob("*.eval")
    write_eval_log(read_eval_log(str(path)), str(tmp_path / "log.json"))
    frame = samples_df(str(path))
    frame.to_csv(tmp_path / "samples.csv", index=False)
    for source in (path, path.parent, tmp_path / "log.json", tmp_path / "samples.csv", frame):
        data = metal.read(source)
        assert kinds(data) == {
            "human": "human",
            "length": "metric",
            "length#2": "metric",
            "match": "metric",
            "match#2": "metric",
            "model_graded_qa": "llm",
            "model_graded_qa#2": "llm",
            "traits": "metric",
            "traits#2": "metric",
        }
        assert sorted(data.criteria) == ["correctness", "length", "rude", "warm"]
        graded = scores(data, "model_graded_qa") + scores(data, "model_graded_qa#2")
        assert sorted(graded) == [0.0] * 6 + [1.0] * 6
        missing = data.ratings[data.ratings["score"].isna()]
        assert set(missing["rater"]) == {"length", "length#2"}
        in_log = isinstance(source, Path) and source.suffix != ".csv"
        assert {*missing["reason"]} == {"too long" if in_log else "unscored"}
        assert {output.language for output in data.outputs.values()} == {*LANGUAGES}
    assert log.eval.model == next(iter(metal.read(path).outputs.values())).generator


def test_scores_of_an_inspect_ai_log_that_people_edited(tmp_path: Path) -> None:
    pytest.importorskip("inspect_ai")
    from inspect_ai.log import ProvenanceData, edit_score, write_eval_log
    from inspect_ai.scorer import ScoreEdit

    log = inspect_ai_log(tmp_path / "logs")
    for number in range(6):
        edit = ScoreEdit(value="C", provenance=ProvenanceData(author="ana", reason="read it"))
        edit_score(log, f"q{number}", "model_graded_qa", edit, epoch=1)
    for name in ("edited.eval", "edited.json"):
        write_eval_log(log, str(tmp_path / name))
        data = metal.read(tmp_path / name)
        assert scores(data, "ana") == [1.0] * 6
        assert kinds(data)["ana"] == "human"
        graded = scores(data, "model_graded_qa") + scores(data, "model_graded_qa#2")
        assert sorted(graded) == [0.0] * 6 + [1.0] * 6  # as before the edits


# ---------------------------------------------------------------- DeepEval


def test_a_deepeval_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("deepeval")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DEEPEVAL_TELEMETRY_OPT_OUT", "YES")
    monkeypatch.setenv("DEEPEVAL_RESULTS_FOLDER", str(tmp_path / "runs"))
    from deepeval import evaluate
    from deepeval.evaluate import AsyncConfig, DisplayConfig
    from deepeval.metrics import ExactMatchMetric, GEval
    from deepeval.models import DeepEvalBaseLLM
    from deepeval.test_case import LLMTestCase
    from deepeval.test_case import SingleTurnParams as Param

    class Scripted(DeepEvalBaseLLM):  # type: ignore[misc]
        asked = 0

        def load_model(self) -> Any:
            return self

        def generate(self, prompt: str, schema: Any = None, **more: Any) -> Any:
            answer = {"steps": ["read it"], "score": 2 * self.asked % 11, "reason": "as it is"}
            self.asked += 1
            if schema is None:
                return json.dumps(answer)
            return schema(**{name: answer[name] for name in schema.model_fields})

        async def a_generate(self, prompt: str, schema: Any = None, **more: Any) -> Any:
            return self.generate(prompt, schema)

        def get_model_name(self) -> str:
            return "scripted"

    correctness = GEval(
        name="Correctness",
        evaluation_steps=["read it"],
        evaluation_params=[Param.ACTUAL_OUTPUT],
        model=Scripted(),
        async_mode=False,
    )
    cases = []
    for number in range(5):
        metadata = {"language": LANGUAGES[number % 3], "human": 2 * number}
        case = LLMTestCase(
            input=f"q{number}",
            actual_output="a",
            expected_output="ab"[number % 2],
            additional_metadata=metadata,
        )
        cases.append(case)
    result = evaluate(
        cases,
        [correctness, ExactMatchMetric()],
        display_config=DisplayConfig(show_indicator=False, print_results=False),
        async_config=AsyncConfig(run_async=False),
    )
    (tmp_path / "result.json").write_text(json.dumps(result.model_dump(mode="json")))
    written = [*(tmp_path / "runs").rglob("*.json")]
    assert written
    for path in (tmp_path / "result.json", *written):
        data = metal.read(path)
        metrics = {name for name, kind in kinds(data).items() if kind == "metric"}
        assert kinds(data) == {"human": "human", "scripted/GEval": "llm"} | dict.fromkeys(
            metrics, "metric"
        )
        assert sorted(scores(data, "scripted/GEval")) == [0, 2, 4, 6, 8]
        assert sorted(scores(data, *metrics)) == [0, 0, 1, 1, 1]
        assert {output.language for output in data.outputs.values()} == {*LANGUAGES}
        assert "as it is" in set(data.ratings["comment"])


# ---------------------------------------------------------------- lm-eval


def test_lm_eval_samples(tmp_path: Path) -> None:
    pytest.importorskip("lm_eval")
    asked = [
        {"q": f"q{n}", "a": "lol" if n < 2 else "no", "language": LANGUAGES[n % 2]}
        for n in range(6)
    ]
    data_file = tmp_path / "asked.jsonl"
    data_file.write_text("\n".join(map(json.dumps, asked)))
    task = {
        "task": "toy",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(data_file)}},
        "test_split": "test",
        "output_type": "generate_until",
        "doc_to_text": "{{q}}",
        "doc_to_target": "{{a}}",
        "generation_kwargs": {"until": ["\n"]},
        "metric_list": [{"metric": "exact_match"}],
    }
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "toy.yaml").write_text(json.dumps(task))  # YAML, too
    command = [shutil.which("lm_eval", path=os.path.dirname(sys.executable)), "--model", "dummy"]
    command += ["--tasks", "toy", "--include_path", str(tmp_path / "tasks"), "--log_samples"]
    command += ["--output_path", str(tmp_path / "out")]
    environment = {**os.environ, "HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "1"}
    subprocess.run(command, check=True, env=environment, cwd=tmp_path)
    (path,) = (tmp_path / "out").rglob("samples_toy_*.jsonl")
    data = metal.read(path)
    assert kinds(data) == {"exact_match": "metric"}
    assert scores(data, "exact_match") == [1, 1, 0, 0, 0, 0]  # the model writes lol each time
    assert any("exact_match: higher is better (as told)" in line for line in data.report)
    assert {output.generator for output in data.outputs.values()} == {path.parent.name}  # its own
    assert [output.language for output in data.outputs.values()] == ["en", "hi"] * 3
    assert {output.text for output in data.outputs.values()} == {"lol"}
    assert [source.text for source in data.sources.values()] == [f"q{n}" for n in range(6)]


# ---------------------------------------------------------------- promptfoo

GRADER = """
let asked = 0
module.exports = class {
  id() { return 'scripted' }
  async callApi(prompt) {
    asked += 1
    const pass = asked % 2 === 1
    return {output: JSON.stringify({pass, score: pass ? 0.9 : 0.2, reason: 'as it is'})}
  }
}
"""


def promptfoo(folder: Path, *arguments: str) -> None:
    """Run promptfoo in a folder; skip the test, with the reason, where it cannot run."""
    program, node = os.environ.get("METAL_PROMPTFOO", ""), shutil.which("node")
    if not Path(program).is_file() or not node:
        pytest.skip("promptfoo is not installed: `make test-adapters` does it, with npm")
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < NODE:
        oldest = ".".join(map(str, NODE))
        pytest.skip(f"promptfoo needs Node {oldest} or later, not {version.strip()}")
    silent = {"PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1"}
    environment = {**os.environ, **silent, "PROMPTFOO_CONFIG_DIR": str(folder / "home")}
    done = subprocess.run([program, *arguments], env=environment, cwd=folder, capture_output=True)
    assert done.returncode in (0, 100), done.stderr.decode()  # 100: one of its own tests fails


def test_promptfoo_results(tmp_path: Path) -> None:
    tests = []
    for number, language in enumerate(LANGUAGES):
        graded = {"type": "llm-rubric", "value": "is polite", "metric": "polite"}
        said = {"type": "contains", "value": ("q0", "q1", "nothing")[number]}
        tests.append({"vars": {"q": f"q{number}", "language": language}, "assert": [graded, said]})
    config = {
        "prompts": ["Answer {{q}}"],
        "providers": ["echo"],
        "defaultTest": {"options": {"provider": "file://grader.js"}},
        "tests": tests,
    }
    (tmp_path / "grader.js").write_text(GRADER)
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    files = [part for name in ("out.json", "out.jsonl", "out.csv") for part in ("-o", name)]
    arguments = ("-c", "promptfooconfig.json", "--no-cache", "-j", "1", *files)
    promptfoo(tmp_path, "eval", *arguments)
    for name in ("out.json", "out.jsonl"):
        data = metal.read(tmp_path / name)
        judge = "file://grader.js/llm-rubric"
        assert kinds(data) == {"contains": "metric", judge: "llm"}
        assert sorted(scores(data, judge)) == [0.2, 0.9, 0.9]
        assert scores(data, "contains") == [1, 1, 0]
        assert [output.language for output in data.outputs.values()] == [*LANGUAGES]
    table = metal.read(tmp_path / "out.csv")
    assert kinds(table) == {"promptfoo": "llm"}
    assert sorted(scores(table, "promptfoo")) == [0.2, 0.9, 0.9]


def test_an_export_comes_back_through_promptfoo(tmp_path: Path) -> None:
    demo = metal.read("datasets/demo")
    metal.export(demo, to="promptfoo", out=tmp_path / "results.json")
    identity = json.loads((tmp_path / "results.json").read_text())["evalId"]
    promptfoo(tmp_path, "import", "results.json")
    promptfoo(tmp_path, "export", "eval", identity, "-o", "saved.json")
    back = metal.read(tmp_path / "saved.json")
    assert back.criteria == demo.criteria
    assert {name: back.outputs[name].text for name in demo.outputs} == {
        name: output.text for name, output in demo.outputs.items()
    }
    columns = ["output", "criterion", "rater", "kind", "score", "comment"]
    ours, theirs = (each.ratings[columns].astype(str) for each in (demo, back))
    assert {*theirs.itertuples(index=False)} == {*ours.itertuples(index=False)}
