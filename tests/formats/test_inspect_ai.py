"""Logs of inspect_ai, as its own package writes them, edited by people, damaged and hostile."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner

import metal
from metal.cli import metal as command
from metal.data.formats.harnesses.archive import Archive
from metal.errors import DataError, MetalError
from tests.formats.harness_files import kinds, scores, written
from tests.saying import tells


def cli(*arguments: str, answers: str = "") -> str:
    result = CliRunner().invoke(command, arguments, input=answers)
    return f"{result.output}\n{result.exception or ''}"


def inspect_log(*samples: dict[str, Any], **evaluation: Any) -> dict[str, Any]:
    told = {"task_id": "t", "task": "qa", "model": "m", "created": "2026-01-01", **evaluation}
    return {"version": 2, "status": "success", "eval": told, "samples": list(samples)}


def inspected(number: int = 0, /, **more: Any) -> dict[str, Any]:
    scores = more.pop("scores", {})
    return {
        "id": f"q{number}",
        "epoch": 1,
        "input": [{"role": "user", "content": f"question {number}"}],
        "output": {"completion": f"answer {number}"},
        "target": ["gold"],
        "metadata": {"language": "hi"},
        "scores": {
            name: score if isinstance(score, dict) and "value" in score else {"value": score}
            for name, score in scores.items()
        },
        **more,
    }


def archive(path: Path, log: dict[str, Any], compression: int = zipfile.ZIP_DEFLATED) -> Path:
    """A log as older versions of inspect_ai write it, or newer ones on a Python without zstd."""
    with zipfile.ZipFile(path, "w", compression) as file:
        for sample in log["samples"]:
            name = f"samples/{sample['id']}_epoch_{sample['epoch']}.json"
            file.writestr(name, json.dumps(sample))
        header = {key: value for key, value in log.items() if key != "samples"}
        file.writestr("header.json", json.dumps(header))
    return path


def zstd_archive(path: Path, name: str, content: bytes, claimed: int | None = None) -> Path:
    """A zip of one member compressed by zstd: written as stored, then marked. claimed: the size
    that it says it has.
    """
    packed = pa.compress(content, codec="zstd", asbytes=True)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr(name, packed)
    raw = bytearray(buffer.getvalue())
    for start, at in ((0, 8), (raw.index(b"PK\x01\x02"), 10)):  # both headers
        raw[start + at : start + at + 2] = (93).to_bytes(2, "little")
        raw[start + at + 6 : start + at + 10] = zlib.crc32(content).to_bytes(4, "little")
        size = len(content) if claimed is None else claimed
        raw[start + at + 14 : start + at + 18] = size.to_bytes(4, "little")
    path.write_bytes(bytes(raw))
    return path


GRADED = "CICCCCCCICCC"  # of q0 to q11


@pytest.mark.reference
@pytest.mark.parametrize("file", ["qa.eval", "log.json", "samples.csv"])
def test_logs_of_inspect_ai(reference: Path, file: str) -> None:
    data = metal.read(reference / "harness" / "inspect" / file)
    assert kinds(data) == {"match": "metric", "model_graded_qa": "llm"}
    assert [*data.criteria] == ["correctness"]
    assert scores(data, "match") == [0.0] * 12
    languages = [data.outputs[f"q{number}"].language for number in range(12)]
    assert languages == ["en", "hi", "sw"] * 4
    graded = data.ratings[data.ratings["rater"] == "model_graded_qa"].set_index("output")
    in_order = [graded["score"][f"q{number}"] for number in range(12)]
    assert in_order == [float(letter == "C") for letter in GRADED]
    assert graded["comment"]["q1"].endswith("GRADE: I")
    assert data.sources["q3"].text == "question 3"
    if file != "samples.csv":
        assert data.outputs["q3"].text == "answer 3"
        assert data.outputs["q3"].generator == "mockllm/model"
        assert any("inspect_ai 0.3.285: 24 ratings" in line for line in data.report)


@pytest.mark.reference
def test_a_frame_of_samples_df(reference: Path, tmp_path: Path) -> None:
    path = reference / "harness" / "inspect" / "samples.csv"
    frame = pd.read_csv(path)
    data = metal.read(frame)
    assert kinds(data) == {"match": "metric", "model_graded_qa": "llm"}
    frame.to_parquet(tmp_path / "samples.parquet")
    assert metal.read(tmp_path / "samples.parquet").digest == data.digest
    with pytest.raises(MetalError, match=r"does not use.*for wide"):
        metal.read(frame, wide=["score_match"])


@pytest.mark.parametrize("empty", ["NaN", "nan", "None", "null", " NaN ", "#N/A", "-"])
def test_texts_for_empty_cells_leave_the_criterion(empty: str, tmp_path: Path) -> None:
    """As with a blank cell. The table has two epochs, and numbers by people."""
    head = "sample_id,eval_id,id,epoch,input,target,metadata_human_correctness,score_match"
    lines = [f"{head},score_model_graded_qa,score_model_graded_qa_explanation,error"]
    for n in range(12):
        value, failed = (empty, "timeout") if n == 3 else ("CI"[n % 2], "")
        row = f"s{n},e,q{n // 2},{n % 2 + 1},ask {n // 2},gold,{n // 2 % 2}"
        lines.append(f"{row},{'IC'[n % 3 > 0]},{value},because {n},{failed}")
    path = tmp_path / "samples.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    blank = tmp_path / "blank" / "samples.csv"
    blank.parent.mkdir()
    blank.write_text("\n".join(lines).replace(f",{empty},", ",,"), encoding="utf-8")
    data = metal.read(path)
    assert set(data.criteria) == {"correctness"}
    assert kinds(data)["human"] == "human"
    missing = data.ratings[data.ratings["score"].isna()]
    assert missing[["rater", "reason"]].astype(str).to_numpy().tolist() == [
        ["model_graded_qa#2", "error: timeout"]
    ]
    assert data.digest == metal.read(blank).digest


def test_words_of_a_scorer_beside_none_stay_words(tmp_path: Path) -> None:
    rows = [f"s{n},e,q{n},1,ask {n},{('none', 'minor', 'major')[n % 3]}" for n in range(9)]
    path = tmp_path / "samples.csv"
    path.write_text("\n".join(["sample_id,eval_id,id,epoch,input,score_harm", *rows]))
    assert metal.read(path).ratings["score"].notna().all()


def test_inspects_letters_are_its_own_numbers(tmp_path: Path) -> None:
    letters = [inspected(n, scores={"grade": letter}) for n, letter in enumerate("CPIN")]
    data = metal.read(written(tmp_path, "log.json", inspect_log(*letters)))
    assert scores(data, "grade") == [1, 0.5, 0, 0]
    levels = data.criteria["correctness"].scale.levels
    assert [level.value for level in levels] == [0, 0.5, 1]
    assert tells(data.report, "grade: N (no answer)", "counts as 0", "inspect_ai: 1")


def test_inspects_values_by_key_numbers_and_lists(tmp_path: Path) -> None:
    told = [
        inspected(n, scores={"tone": {"value": {"warm": n % 3, "rude": "C"}}, "len": n, "f1": [1]})
        for n in range(4)
    ]
    data = metal.read(written(tmp_path, "log.json", inspect_log(*told)))
    assert sorted(data.criteria) == ["len", "rude", "warm"]
    assert scores(data, "tone") == [0, 1, 1, 1, 2, 1, 0, 1]
    assert any("4 values that are lists" in line for line in data.report)


def test_what_inspect_did_not_score_is_missing_with_its_reason(tmp_path: Path) -> None:
    nan = float("nan")
    told = [
        inspected(0, scores={"qa": "C"}),
        inspected(1, scores={"qa": {"value": nan, "explanation": "no grade found"}}),
        inspected(2, scores={"qa": {"value": nan, "metadata": {"reason": "refusal"}}}),
        inspected(3, error={"message": "rate limit"}),
        inspected(4),
    ]
    data = metal.read(written(tmp_path, "log.json", inspect_log(*told)))
    reasons = data.ratings.set_index("output")["reason"].to_dict()
    wanted = ["", "no grade found", "refusal", "error: rate limit", "not scored"]
    assert [reasons[f"q{n}"] for n in range(5)] == wanted


def test_inspects_epochs_are_repeats(tmp_path: Path) -> None:
    told = [inspected(n, epoch=e, scores={"qa": "CI"[n]}) for n in (0, 1) for e in (1, 2)]
    same = metal.read(written(tmp_path, "log.json", inspect_log(*told)))
    assert sorted(same.raters) == ["qa", "qa#2"]
    for sample in told:
        sample["output"] = {"completion": f"text of epoch {sample['epoch']}"}
    anew = metal.read(written(tmp_path, "log.json", inspect_log(*told)))
    assert sorted(anew.outputs) == ["q0/1", "q0/2", "q1/1", "q1/2"]
    assert sorted(anew.sources) == ["q0", "q1"]


def test_a_scorer_that_asks_a_model_is_a_judge(tmp_path: Path) -> None:
    spans = [
        {"event": "span_begin", "type": "scorer", "name": "mine", "id": "a"},
        {"event": "span_begin", "type": "x", "name": "inner", "id": "b", "parent_id": "a"},
        {"event": "model", "span_id": "b"},
        {"event": "span_begin", "type": "scorer", "name": "gpt_like", "id": "c"},
        {"event": "model", "span_id": "solver"},
    ]
    steps = [
        {"event": "step", "action": "begin", "type": "scorer", "name": "old"},
        {"event": "model"},
        {"event": "step", "action": "end", "type": "scorer", "name": "old"},
    ]
    names = {"mine": 1, "gpt_like": 0, "old": 1, "match1": 0, "human_grader": 1}
    explained = {"value": 1, "answer": "a", "explanation": "as it is right"}
    sample = inspected(scores=names | {"unclear": explained}, events=[*spans, *steps])
    data = metal.read(written(tmp_path, "log.json", inspect_log(sample)))
    judges = {"mine", "old", "unclear"}
    assert {name for name, kind in kinds(data).items() if kind == "llm"} == judges
    assert set(kinds(data).values()) == {"llm", "metric"}


def edited(value: Any, *edits: tuple[str, Any]) -> dict[str, Any]:
    history = [{"value": value, "explanation": "as graded", "provenance": None}]
    for author, new in edits:
        told = {"author": author, "reason": "looked again"}
        history.append({"value": new, "explanation": "UNCHANGED", "provenance": told})
    changed = [new for _, new in edits if new != "UNCHANGED"]
    return {"value": [value, *changed][-1], "explanation": "as graded", "history": history}


def test_people_are_the_authors_of_edited_scores(tmp_path: Path) -> None:
    told = [
        inspected(0, scores={"qa": edited("C", ("ana", "C"), ("ben", "I"))}),
        inspected(1, scores={"qa": edited("C", ("ana", "C"), ("ana", "I"), ("ana", "UNCHANGED"))}),
        inspected(2, scores={"qa": "I"}),
    ]
    data = metal.read(archive(tmp_path / "a.eval", inspect_log(*told)))
    assert kinds(data) == {"ana": "human", "qa": "llm"}
    assert scores(data, "qa") == [1, 1, 0]
    assert scores(data, "ana") == [1, 0]
    assert any(tells(line, "1 edit by ben left out", "same value") for line in data.report)


def test_scores_that_metal_wrote_into_a_log_are_its_raters_own(tmp_path: Path) -> None:
    mark = {"exported_by": "metal 0.2.0", "rater": "gpt-4/simple", "kind": "llm"}
    ours = {"value": 2, "metadata": mark, "history": [{"value": 2, "provenance": {"author": "x"}}]}
    ana = {"value": 1, "metadata": {**mark, "rater": "ana", "kind": "human"}}
    by_both = {"tone by gpt-4/simple": ours, "tone by ana": ana}
    data = metal.read(written(tmp_path, "log.json", inspect_log(inspected(scores=by_both))))
    assert kinds(data) == {"ana": "human", "gpt-4/simple": "llm"}
    assert [*data.criteria] == ["tone"]


def of_metal(rater: str, kind: str, value: float, **more: Any) -> dict[str, Any]:
    """A score that an edit exported by METAL put into a log."""
    mark = {"exported_by": "metal 0.2.0", "rater": rater, "kind": kind}
    return {"value": value, "metadata": mark, **more}


def test_scores_of_a_log_that_metal_exported_back_count_once(tmp_path: Path) -> None:
    copied = {
        "correctness by model_graded": of_metal("model_graded", "llm", 1),
        "model_graded": "C",
    }
    people = {"correctness by ana": of_metal("ana", "human", 0)}
    told = [
        inspected(0, scores=copied | people),
        inspected(1, scores=copied | {"model_graded": "I"}),
    ]
    data = metal.read(written(tmp_path, "log.json", inspect_log(*told)))
    assert kinds(data) == {"model_graded": "llm", "ana": "human"}
    assert scores(data, "model_graded") == [1, 0]  # the log's own
    assert scores(data, "ana") == [0]  # and nothing is missing: ana was not asked about the other
    assert tells(data.report, "2 scores exported by METAL", "itself")


def test_labels_of_metals_scores_are_levels(tmp_path: Path) -> None:
    labels = ((0, "Bad"), (2, "Good"), (1, "Fair"))
    told = [
        inspected(n, scores={"tone by ana": of_metal("ana", "human", score, answer=label)})
        for n, (score, label) in enumerate(labels)
    ]
    data = metal.read(written(tmp_path, "log.json", inspect_log(*told)))
    levels = [level.shown for level in data.criteria["tone"].scale.levels]
    assert levels == ["0 Bad", "1 Fair", "2 Good"]


def test_a_table_does_not_say_who_is_a_person(tmp_path: Path) -> None:
    rows = {"sample_id": ["a", "b"], "eval_id": "e", "epoch": 1, "input": "?", "id": ["a", "b"]}
    frame = pd.DataFrame({**rows, "score_qa": ["C", "I"], "score_correctness by ana": [1, 0]})
    data = metal.read(frame)
    assert [*data.raters] == ["qa"]
    assert tells(data.report, "2 scores of raters", "read the log")
    mark = json.dumps(of_metal("ana", "human", 1)["metadata"])
    frame["score_correctness by ana_metadata"] = mark
    assert kinds(metal.read(frame))["ana"] == "human"


def test_a_log_on_the_command_line(tmp_path: Path) -> None:
    log = inspect_log(*(inspected(n, scores={"qa": "CI"[n % 2]}) for n in range(4)))
    path = archive(tmp_path / "a.eval", log)
    refused = cli("audit", str(path), "--out", str(tmp_path / "run"))
    assert tells(refused, "no human raters", f"metal import {path} --out", "metal annotate export")
    asked = cli("import", str(path), "-i", "--out", str(tmp_path / "a"), answers="\n" * 9)
    assert tells(asked, "same without questions")
    assert "--columns" not in asked.partition("same without questions")[2]
    named = cli("import", "inspect", str(path), "--out", str(tmp_path / "b"))
    assert tells(named, "4 ratings of 4 outputs")


def test_a_folder_of_inspects_logs(tmp_path: Path) -> None:
    for number, model in enumerate(("a/x", "b/y", "b/y")):
        log = inspect_log(
            inspected(scores={"qa": "C" if number else "I"}),
            model=model,
            task_id=f"t{min(number, 1)}",
            created=f"2026-01-0{number + 1}",
        )
        archive(tmp_path / f"{number}.eval", log)
    data = metal.read(tmp_path)
    assert sorted(data.outputs) == ["q0/a/x", "q0/b/y"]
    assert sorted(data.sources) == ["q0"]
    assert any("2 logs read" in line for line in data.report)
    archive(tmp_path / "4.eval", inspect_log(inspected(scores={"qa": "C"}), task="z", task_id="z"))
    data = metal.read(tmp_path)
    assert sorted(data.sources) == ["qa/q0", "z/q0"]


def test_a_folder_of_inspects_logs_of_both_kinds(tmp_path: Path) -> None:
    log = inspect_log(inspected(0, scores={"qa": "C"}), inspected(1, scores={"qa": "I"}))
    written(tmp_path, "a.json", log)
    written(tmp_path, "notes.json", {"eval": "none"})
    alone = metal.read(tmp_path)
    assert scores(alone, "qa") == [1, 0]
    assert any(tells(line, "1 JSON file left out", "notes.json") for line in alone.report)
    other = inspect_log(inspected(2, scores={"qa": "C"}), task_id="u", created="2026-01-02")
    archive(tmp_path / "b.eval", other)
    both = metal.read(tmp_path)
    assert scores(both, "qa") == [1, 0, 1]
    assert any("2 logs read" in line for line in both.report)
    archive(tmp_path / "c.eval", {**other, "eval": {**other["eval"], "created": "2026-01-03"}})
    again = metal.read(tmp_path)
    assert scores(again, "qa") == [1, 0, 1]
    assert any(tells(line, "1 log left out", "same task id", "b.eval") for line in again.report)
    more = inspect_log(*(inspected(n, scores={"qa": "I"}) for n in (2, 3)), task_id="u")
    more["eval"]["created"] = "2026-01-03"
    written(tmp_path, "aa.json", more)  # a copy of c.eval to which a sample was added
    longer = metal.read(tmp_path)
    assert scores(longer, "qa") == [1, 0, 0, 0]
    assert any(tells(line, "2 logs left out", "b.eval", "c.eval") for line in longer.report)
    for file in ("a.json", "aa.json", "b.eval", "c.eval"):
        (tmp_path / file).unlink()
    with pytest.raises(DataError, match=r"no log of inspect_ai.*folder"):
        metal.read(tmp_path, "inspect")


@pytest.mark.parametrize("name", ["qa.bin", "qa.zip", "qa.csv", "qa"])
def test_a_zipped_log_of_inspect_under_another_name(tmp_path: Path, name: str) -> None:
    log = inspect_log(inspected(0, scores={"qa": "C"}), inspected(1, scores={"qa": "I"}))
    assert scores(metal.read(archive(tmp_path / name, log)), "qa") == [1, 0]


@pytest.mark.parametrize("name", ["no.json", "no.csv", "no"])
def test_a_file_that_is_missing_is_said_to_be(tmp_path: Path, name: str) -> None:
    for format in ("inspect", "langfuse"):
        with suppress(MetalError):
            metal.read(tmp_path / name, format)
            pytest.fail("nothing can be read there")


def test_another_zip_is_no_log_of_inspect(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as file:
        file.writestr("header.json", "{}")
    with pytest.raises(DataError, match="zip files are not read"):
        metal.read(tmp_path / "x.zip")


@pytest.mark.parametrize("name", ["log.txt", "log.csv", "log.tsv"])
def test_a_json_log_of_inspect_under_another_name(tmp_path: Path, name: str) -> None:
    log = inspect_log(inspected(0, scores={"qa": "C"}), inspected(1, scores={"qa": "I"}))
    assert scores(metal.read(written(tmp_path, name, log)), "qa") == [1, 0]


def test_a_run_of_inspect_that_died_and_texts_kept_apart(tmp_path: Path) -> None:
    sample = inspected(
        scores={"qa": "C"},
        input="attachment://1",
        output={"choices": [{"message": {"content": [{"type": "text", "text": "yes"}]}}]},
        attachments={"1": "a long question"},
    )
    path = tmp_path / "died.eval"
    with zipfile.ZipFile(path, "w") as file:
        log = inspect_log()
        file.writestr("_journal/start.json", json.dumps({"eval": log["eval"]}))
        shell = {key: value for key, value in sample.items() if key != "metadata"}
        file.writestr("samples/a/b_epoch_1/sample.json", json.dumps(shell))
        file.writestr("samples/a/b_epoch_1/metadata.json", json.dumps({"language": "sw"}))
        file.writestr("samples/a/b_epoch_1/events/0.json", "[]")
    data = metal.read(path)
    assert data.outputs["q0"].text == "yes"
    assert data.sources["q0"].text == "a long question"
    assert data.outputs["q0"].language == "sw"
    assert any("not success" in line for line in data.report)


def test_zstd_is_read_and_its_bombs_are_not(tmp_path: Path) -> None:
    content = b"x" * (1 << 20)
    path = zstd_archive(tmp_path / "a.eval", "m", content)
    with Archive(path) as archive:
        assert archive.read("m") == content
    bomb = zstd_archive(tmp_path / "b.eval", "m", b"\0" * (1 << 26))  # 64 MiB in 6 KiB
    with Archive(bomb) as archive, pytest.raises(DataError, match="unpacked it has 64 MiB"):
        archive.read("m")
    liar = zstd_archive(tmp_path / "c.eval", "m", b"\0" * (1 << 26), claimed=10)
    with Archive(liar) as archive, pytest.raises(DataError, match="size or checksum"):
        archive.read("m")


def test_damaged_logs_of_inspect_ai_are_refused_in_one_line(tmp_path: Path) -> None:
    whole = archive(tmp_path / "w.eval", inspect_log(inspected(scores={"qa": "C"})))
    raw = whole.read_bytes()
    packed = zstd_archive(tmp_path / "p.eval", "header.json", b"{}" * 50).read_bytes()
    files = {
        "cut": raw[: len(raw) // 2],
        "empty": b"",
        "no_zip": b"PK\x03\x04 but nothing more",
        "turned": bytes(reversed(raw)),
        "flipped": packed[:60] + bytes([packed[60] ^ 255]) + packed[61:],
        "no_header": raw.replace(b"header.json", b"hoader.json"),
    }
    for name, content in files.items():
        path = tmp_path / f"{name}.eval"
        path.write_bytes(content)
        with pytest.raises(DataError) as caught:
            metal.read(path)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "sample",
    [
        {"scores": None},
        {"scores": [1, 2]},
        {"scores": {"qa": {"value": {"a": {"b": 1}}}}},
        {"scores": {"qa": {"value": 10**30}}, "metadata": "x", "events": 5},
        {"scores": {"qa": {"value": "C", "history": [None, 3, {"provenance": 4}]}}},
        {"scores": {"qa": {"value": "1e999"}}, "input": {"a": 1}, "output": [], "target": {}},
        {"scores": {"": {"value": "C"}}, "id": None, "epoch": "x"},
        {"scores": {"qa": {"value": "C"}}, "metadata": {"language": "x" * 9000}},
        {"scores": {"qa": {"value": "C"}}, "metadata": {str(n): n for n in range(3000)}},
    ],
)
def test_hostile_samples_of_inspect_ai(tmp_path: Path, sample: dict[str, Any]) -> None:
    log = inspect_log(inspected(1, scores={"qa": "I"}), {**inspected(), **sample})
    path = written(tmp_path, "log.json", log)
    with suppress(MetalError):
        assert len(metal.read(path).ratings) >= 1
