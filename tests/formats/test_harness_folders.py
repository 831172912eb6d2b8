"""Folders of harnesses' results, packed files, and files whose names say something else."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import metal
from metal.errors import DataError
from tests.formats.harness_files import kinds, scores, written
from tests.formats.test_inspect_ai import inspect_log, inspected
from tests.formats.test_promptfoo import component, output, results
from tests.saying import tells

EARLY, LATE = "2026-01-01T10-00-00.123456", "2026-01-02T10-00-00.654321"


def sample(number: int, right: float, **more: Any) -> dict[str, Any]:
    return {
        "doc_id": number,
        "doc": {"q": f"q{number}", "language": "en", "human": number % 2},
        "arguments": [[f"q{number}", {}]],
        "resps": [["a"]],
        "filtered_resps": ["a"],
        "metrics": ["acc"],
        "acc": right,
        **more,
    }


def lm_eval_run(folder: Path, model: str, time: str, right: float) -> None:
    """What `lm_eval --output_path` leaves: two tasks with the same numbers of documents."""
    run = folder / f"org__{model}"
    run.mkdir(parents=True, exist_ok=True)
    told = {"results": {}, "configs": {}, "n-shot": {}, "model_name": f"org/{model}"}
    told["higher_is_better"] = {"sums": {"acc": True}, "law": {"acc": True}}
    written(run, f"results_{time}.json", told)
    for task in ("sums", "law"):
        written(run, f"samples_{task}_{time}.jsonl", [sample(n, right) for n in range(3)])


def test_a_folder_of_lm_eval(tmp_path: Path) -> None:
    out = tmp_path / "out"
    lm_eval_run(out, "small", EARLY, 0.5)
    lm_eval_run(out, "small", LATE, 1.0)
    lm_eval_run(out, "large", LATE, 0.0)
    data = metal.read(out)
    assert len(data.sources) == 6
    assert len(data.outputs) == 12
    assert {each.generator for each in data.outputs.values()} == {"org/small", "org/large"}
    assert sorted(scores(data, "acc")) == [0] * 6 + [1] * 6  # not the earlier run's 0.5
    assert tells(data.report, "2 files of samples left out", "same task and model", EARLY)
    assert tells(data.report, "acc: higher is better (as told)")
    assert kinds(metal.read(out / "org__small")) == {"acc": "metric", "human": "human"}
    of_run = metal.read(out / "org__large" / f"results_{LATE}.json")
    assert {*scores(of_run, "acc")} == {0}
    assert len(of_run.sources) == 6


def test_results_of_lm_eval_without_samples_are_refused_with_a_remedy(tmp_path: Path) -> None:
    lm_eval_run(tmp_path, "small", EARLY, 0.5)
    for file in (tmp_path / "org__small").glob("samples_*"):
        file.unlink()
    with pytest.raises(DataError) as refused:
        metal.read(next((tmp_path / "org__small").iterdir()))
    assert tells(str(refused.value), "no samples of lm-eval", "--log_samples")


def test_logs_of_inspect_in_folders_of_a_folder(tmp_path: Path) -> None:
    for task in ("sums", "law"):
        folder = tmp_path / "logs" / "2026" / task
        folder.mkdir(parents=True)
        log = inspect_log(*(inspected(n, scores={"qa": "CI"[n % 2]}) for n in range(2)))
        log["eval"] |= {"task": task, "task_id": task}
        written(folder, "log.json", log)
        written(folder, "notes.json", {"a": 1})
    data = metal.read(tmp_path / "logs")
    assert sorted(data.sources) == sorted(f"{task}/q{n}" for task in ("sums", "law") for n in "01")
    assert tells(data.report, "2 JSON files left out", "2026/law/notes.json")


PROMPTFOO = results(
    *(output(n, component("llm-rubric", n > 0), component("contains", True)) for n in range(3))
)
ENDINGS = (".json", ".json.gz", ".gz", ".csv.gz", ".txt.gz", ".jsonl.gz", ".jsonl", ".out.gz")


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("content", [PROMPTFOO, PROMPTFOO["results"]["results"]])
def test_packed_and_misnamed_results(tmp_path: Path, ending: str, content: Any) -> None:
    text = json.dumps(content, indent=1)
    if isinstance(content, list):
        text = "\n".join(map(json.dumps, content))
    path = tmp_path / f"results{ending}"
    path.write_bytes(gzip.compress(text.encode()) if ending.endswith("gz") else text.encode())
    data = metal.read(path)
    assert kinds(data) == {"llm-rubric": "llm", "contains": "metric"}
    assert scores(data, "llm-rubric") == [0, 1, 1]


def test_a_table_without_an_inner_ending(tmp_path: Path) -> None:
    rows = "output,language,rater,criterion,score\n" + "".join(f"o{n},en,a,t,{n}\n" for n in "012")
    path = tmp_path / "ratings.gz"
    path.write_bytes(gzip.compress(rows.encode()))
    assert scores(metal.read(path), "a") == [0, 1, 2]


@pytest.mark.parametrize("name", ["log.json.gz", "log.jsonl.gz", "log.csv.gz", "log.gz"])
def test_damaged_and_swollen_packed_files(tmp_path: Path, name: str, monkeypatch: Any) -> None:
    path = tmp_path / name
    whole = gzip.compress(json.dumps(PROMPTFOO).encode())
    for content in (whole[:-20], b"\x1f\x8b\x08" + b"\0" * 40, b"no gzip"):
        path.write_bytes(content)
        with pytest.raises(DataError):
            metal.read(path, "promptfoo")
    monkeypatch.setattr("metal.data.files.LARGE", 1 << 16)
    path.write_bytes(gzip.compress(b'[{"gradingResult": "' + b" " * (1 << 24) + b'"}]'))
    with pytest.raises(DataError, match=r"unpacked.*more than"):
        metal.read(path, "promptfoo")
