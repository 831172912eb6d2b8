"""Files of `metal export`, read by the packages that they are for: `make test-adapters`."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import metal

DEMO = "datasets/demo"


def exported(to: str, folder: Path) -> tuple[Any, Path]:
    """The table that was written, with an audit's verdicts, and the file."""
    audit = metal.audit(DEMO, languages="en", criteria="task_quality", resamples=100)
    audit.save(folder / "audit")
    path = folder / "out.json"
    return metal.export(DEMO, to=to, out=path, verdicts=folder / "audit"), path


def test_inspect_ai_applies_score_edits(tmp_path: Path) -> None:
    pytest.importorskip("inspect_ai")
    from inspect_ai import Task
    from inspect_ai import eval as evaluate
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.log import edit_score, read_eval_log, recompute_metrics, write_eval_log
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import ScoreEdit, match

    table, path = exported("inspect", tmp_path)
    answer = ModelOutput.from_content("mockllm/model", "An answer.")
    answer.usage = ModelUsage()  # else tokens are counted, with a file from the network
    samples = [Sample(id=name, input=name, target=name) for name in table["source"].unique()]
    task = Task(dataset=MemoryDataset(samples), scorer=match())
    model = get_model("mockllm/model", custom_outputs=[answer] * len(samples))
    [log] = evaluate(task, model=model, log_dir=str(tmp_path / "logs"), display="none")
    written = {}
    for line in path.read_text(encoding="utf-8").strip().split("\n"):
        arguments = json.loads(line)
        fields = arguments.pop("edit")
        if fields["metadata"]["generator"] == "constructed-strong":
            edit_score(log, edit=ScoreEdit(**fields), recompute_metrics=False, **arguments)
            written[arguments["sample_id"], arguments["score_name"]] = fields
    recompute_metrics(log)
    write_eval_log(log, str(tmp_path / "edited.eval"))
    by_id = {sample.id: sample for sample in read_eval_log(str(tmp_path / "edited.eval")).samples}
    assert len(written) > 1000
    for (sample, name), fields in written.items():
        score = by_id[sample].scores[name]
        both_missing = math.isnan(score.value) and math.isnan(fields["value"])
        assert score.value == fields["value"] or both_missing
        assert score.metadata == fields["metadata"]
    back = metal.read(tmp_path / "edited.eval", language="en").ratings
    ours = table[table["generator"] == "constructed-strong"]
    keys = ["source", "criterion", "rater", "kind", "score", "reason"]
    assert facts(ours[keys]) == facts(back[back["rater"] != "match"][keys])


def facts(ratings: pd.DataFrame) -> set[tuple[str, ...]]:
    return set(ratings.astype(str).itertuples(index=False, name=None))


def test_deepeval_reads_goldens(tmp_path: Path) -> None:
    pytest.importorskip("deepeval")
    from deepeval.dataset import EvaluationDataset

    table, path = exported("deepeval", tmp_path)
    read = EvaluationDataset()
    read.add_goldens_from_json_file(str(path))
    ratings = [(each.name, row) for each in read.goldens for row in row_of(each)]
    assert len(ratings) == len(table)
    theirs = {(name, row["criterion"], row["rater"]): row.get("score") for name, row in ratings}
    ours = table.dropna(subset="score").set_index(["output", "criterion", "rater"])["score"]
    assert {key: score for key, score in theirs.items() if score is not None} == ours.to_dict()
    assert {row["verdict"] for _, row in ratings if "verdict" in row} == {*table["verdict"]} - {""}


def row_of(golden: Any) -> list[dict[str, Any]]:
    ratings: list[dict[str, Any]] = golden.additional_metadata["ratings"]
    return ratings


def test_argilla_reads_records(tmp_path: Path) -> None:
    pytest.importorskip("argilla")
    from argilla.records._io import GenericIO, JsonIO

    table, path = exported("argilla", tmp_path)
    records = JsonIO._records_from_json(path)
    assert [record.id for record in records] == list(table["output"].unique())
    people = table[table["kind"] == "human"].dropna(subset="score")
    assert sum(len(record.responses) for record in records) == len(people)
    agents = {suggestion.agent for record in records for suggestion in record.suggestions}
    assert agents == {"constructed:good"}
    JsonIO.to_json(records, tmp_path / "again.json")
    first, again = (json.loads((tmp_path / name).read_text())[0] for name in (path, "again.json"))
    assert again["responses"] == first["responses"]
    assert again["metadata"] == first["metadata"]
    flat = GenericIO.to_list(records, flatten=True)  # what `to_datasets` makes a table of
    (tmp_path / "flat.json").write_text(json.dumps(flat), encoding="utf-8")
    back = metal.read(tmp_path / "flat.json")
    assert back.raters == metal.read(DEMO).raters
    assert len(back.ratings) == len(table)
    assert {source.text for source in back.sources.values()} == texts_of_demo()


def texts_of_demo() -> set[str]:
    return {source.text for source in metal.read(DEMO).sources.values()}


def test_label_studio_sdk_accepts_tasks(tmp_path: Path) -> None:
    pytest.importorskip("label_studio_sdk")
    from label_studio_sdk.label_interface import LabelInterface

    _, path = exported("label-studio", tmp_path)
    metal.read(DEMO).save(tmp_path / "data")
    metal.annotate_export(tmp_path / "data", to="label-studio", out=tmp_path / "forms")
    interface = LabelInterface((tmp_path / "forms" / "interface-en.xml").read_text())
    tasks = json.loads(path.read_text(encoding="utf-8"))
    assert len(tasks) == 240
    for task in tasks:
        assert all(map(interface.validate_annotation, task["annotations"]))
        assert all(map(interface.validate_prediction, task["predictions"]))
