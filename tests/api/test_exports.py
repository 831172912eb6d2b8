"""`metal export --to`: what each target gets. The packages themselves read the files in
tests/adapters.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pandas as pd
import pytest

import metal
from metal.api.exports.argilla import user_id
from metal.data.dataset import Card, Dataset, assemble
from metal.data.formats.harnesses.argilla_metal import slug
from metal.data.plugins import plugins
from metal.data.ratings import facts_from
from metal.data.records import Criterion, Level, Output, Rater, Rating, Scale, Source
from metal.errors import UnknownName, UsageError
from tests.conftest import offer
from tests.saying import tells

ODD = 'He said "=1+1"\n</script>\u2028'
HELPFUL = Criterion(
    "helpful", Scale("ordinal", (Level(0, "No"), Level(1, "Partly"), Level(2, "Yes")))
)
ERRORS = Criterion("errors", Scale("interval"), "lower", question="How many errors?")
UUID_OF_BEN = "7f1d5b0a-31f5-4e0e-9d57-1f2f5c5f3c11"
FIRST = {
    ("helpful", "ana@example.org"): 2,
    ("helpful", UUID_OF_BEN): 0,
    ("helpful", "gpt"): 1,
    ("helpful", "qwen"): 2,
    ("errors", "ana@example.org"): 0.5,
    ("errors", "gpt"): None,
}


@pytest.fixture
def dataset() -> Dataset:
    """Two outputs of one source, by two systems; the second was rated on errors alone."""
    ratings = [
        Rating("o1", criterion, rater, score, "" if score is not None else "refused", ODD)
        for (criterion, rater), score in FIRST.items()
    ]
    ratings.append(Rating("o2", "errors", "gpt", 3))
    return assemble(
        Card("answers"),
        (HELPFUL, ERRORS),
        (Source("s1", "hi", "क्या?", "Title", ("Right.",)),),
        (Output("o1", "s1", "new", "hi", ODD), Output("o2", "s1", "old", "hi", "Old.")),
        (
            Rater("ana@example.org", "human"),
            Rater(UUID_OF_BEN, "human"),
            Rater("gpt", "llm"),
            Rater("qwen", "llm"),
        ),
        facts_from(ratings),
    )


def exported(dataset: Any, to: str, folder: Path, **options: Any) -> Any:
    """What is in the file: the JSON; of inspect, that of each line."""
    path = folder / f"out.{to}"
    metal.export(dataset, to=to, out=path, force=True, **options)
    text = path.read_text(encoding="utf-8")
    if to == "inspect":
        return [json.loads(line) for line in text.strip().split("\n")]
    return json.loads(text)


def notes(dataset: Any, to: str, folder: Path) -> list[str]:
    warnings: list[str] = metal.export(dataset, to=to, out=folder / "noted").attrs["warnings"]
    return warnings


JSON = ("inspect", "promptfoo", "deepeval", "argilla", "label-studio")


# ---------------------------------------------------------------- each target


def test_inspect_gets_arguments_of_edit_score(dataset: Dataset, tmp_path: Path) -> None:
    edits = exported(dataset, "inspect", tmp_path)
    assert len(edits) == 7
    assert {key for edit in edits for key in edit} == {"sample_id", "score_name", "edit"}
    by_name = {(edit["sample_id"], edit["score_name"]): edit["edit"] for edit in edits[:6]}
    person = by_name["s1", "helpful by ana@example.org"]
    assert (person["value"], person["answer"], person["explanation"]) == (2, "Yes", ODD)
    assert person["provenance"]["author"] == "ana@example.org"
    assert (person["metadata"]["language"], person["metadata"]["kind"]) == ("hi", "human")
    unscored = by_name["s1", "errors by gpt"]
    assert math.isnan(unscored["value"])
    assert unscored["reason"] == "refused"
    assert tells(notes(dataset, "inspect", tmp_path), "2 generators", "edit.metadata.generator")


def test_promptfoo_gets_results_with_named_scores(dataset: Dataset, tmp_path: Path) -> None:
    out = exported(dataset, "promptfoo", tmp_path)
    first, second = out["results"]["results"]
    assert first["namedScores"] == {
        f"{criterion} by {rater}": score
        for (criterion, rater), score in FIRST.items()
        if score is not None
    }
    # positions on helpful: 1, 0, .5 and 1; errors has no ends
    assert first["score"] == pytest.approx((1 + 0 + 0.5 + 1) / 4)
    assert first["success"]
    assert (first["promptIdx"], second["promptIdx"], first["testIdx"]) == (0, 1, 0)
    assert [prompt["provider"] for prompt in out["results"]["prompts"]] == ["new", "old"]
    assert first["vars"] == {"input": "क्या?", "language": "hi"}
    assert first["response"]["output"] == ODD
    kinds = [part["assertion"]["type"] for part in first["gradingResult"]["componentResults"]]
    assert kinds == ["human", "human", "llm-rubric", "llm-rubric", "human"]
    assert first["metadata"]["unscored"] == [
        {"rater": "gpt", "kind": "llm", "criterion": "errors", "reason": "refused", "comment": ODD}
    ]
    # nothing says whether 3 errors pass
    assert (second["failureReason"], second["success"]) == (2, False)
    assert tells(second["error"], "no score on a scale")
    assert out["results"]["stats"]["errors"] == 1
    assert out["config"]["tests"][0]["vars"] == first["vars"]
    told = notes(dataset, "promptfoo", tmp_path)
    assert tells(told, "1 output", "error")
    assert tells(told, "1 rating", "metadata.unscored")


def test_promptfoos_output_without_any_score_is_read_back_once(
    dataset: Dataset, tmp_path: Path
) -> None:
    table = dataset.ratings.copy()
    table.loc[(table["output"] == "o2"), ["score", "reason"]] = [None, "refused"]
    path = tmp_path / "out.json"
    metal.export(replace(dataset, ratings=table), to="promptfoo", out=path)
    again = metal.read(path).ratings
    assert len(again) == len(table)
    missing = again[again["score"].isna()]
    assert list(missing["reason"]) == ["refused", "refused"]


def test_several_outputs_of_a_generator_for_one_source(dataset: Dataset, tmp_path: Path) -> None:
    outputs = {**dataset.outputs, "o2": replace(dataset.outputs["o2"], generator="new")}
    twice = replace(dataset, outputs=outputs, ratings=dataset.ratings.assign(generator="new"))
    results = exported(twice, "promptfoo", tmp_path)["results"]["results"]
    assert [(each["promptIdx"], each["testIdx"]) for each in results] == [(0, 0), (0, 1)]
    assert tells(notes(twice, "inspect", tmp_path), "1 output", "`epoch`")


def test_deepeval_gets_goldens(dataset: Dataset, tmp_path: Path) -> None:
    first, second = exported(dataset, "deepeval", tmp_path)
    texts = (first["input"], first["actual_output"], first["expected_output"], first["name"])
    assert texts == ("क्या?", ODD, "Right.", "o1")
    metadata = first["additional_metadata"]
    assert (metadata["language"], metadata["generator"]) == ("hi", "new")
    scores = {(row["criterion"], row["rater"]): row.get("score") for row in metadata["ratings"]}
    assert scores == FIRST
    assert metadata["ratings"][-1]["reason"] == "refused"
    assert [row["score"] for row in second["additional_metadata"]["ratings"]] == [3]


def test_argilla_gets_people_as_responses(dataset: Dataset, tmp_path: Path) -> None:
    first, second = exported(dataset, "argilla", tmp_path)
    assert first["responses"]["helpful"] == [
        {"value": "Yes", "user_id": user_id("ana@example.org")},
        {"value": "No", "user_id": UUID_OF_BEN},
    ]
    assert first["suggestions"] == {"helpful": {"value": "Partly", "agent": "gpt"}}
    assert first["metadata"]["qwen_helpful"] == 2
    assert first["metadata"]["people"] == [f"{user_id('ana@example.org')} ana@example.org"]
    assert second["suggestions"]["errors"]["value"] == 3
    told = notes(dataset, "argilla", tmp_path)
    assert tells(told, "1 rating", "further judges")
    assert tells(told, "1 rating", "without a score")


def test_names_for_argilla() -> None:
    assert (slug("Task Quality"), slug("gpt-4_b")) == ("task-quality", "gpt-4_b")
    assert slug("परख") != slug("गुण")
    UUID(user_id("Ana"))
    assert user_id("Ana") == user_id("Ana") != user_id("Ben")


def test_label_studio_gets_annotations_and_predictions(dataset: Dataset, tmp_path: Path) -> None:
    first, second = exported(dataset, "label-studio", tmp_path)
    assert "source" not in first["data"]  # Label Studio's own
    assert first["data"]["output_text"] == ODD
    ana, ben = first["annotations"]
    assert ana["completed_by"] == {"email": "ana@example.org"}
    assert "completed_by" not in ben
    helpful, errors, comment = ana["result"]
    assert (helpful["from_name"], helpful["value"]) == ("score:helpful", {"choices": ["2"]})
    assert (errors["type"], errors["value"]) == ("number", {"number": 0.5})
    assert (comment["from_name"], comment["value"]) == ("comment", {"text": [ODD]})
    assert [each["model_version"] for each in first["predictions"]] == ["gpt", "qwen"]
    assert len(first["predictions"][0]["result"]) == 1
    assert second["annotations"] == []


@pytest.mark.parametrize("to", ["promptfoo", "deepeval", "argilla", "label-studio"])
def test_what_utf8_cannot_hold_is_replaced(dataset: Dataset, to: str, tmp_path: Path) -> None:
    outputs = {**dataset.outputs, "o1": replace(dataset.outputs["o1"], text="half \ud83d")}
    exported(replace(dataset, outputs=outputs), to, tmp_path)
    assert "half \ufffd" in (tmp_path / f"out.{to}").read_text(encoding="utf-8")


# ---------------------------------------------------------------- an audit's verdicts


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("audit") / "run"
    result = metal.audit("datasets/demo", languages="en", criteria="task_quality", resamples=100)
    result.save(folder)
    return folder


def verdicts_in(path: Path) -> list[str]:
    """Every `verdict` in a file of JSON, in its order."""
    verdicts: list[str] = []

    def hook(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        verdicts.extend(value for name, value in pairs if name.endswith("verdict") and value)
        return dict(pairs)

    text = path.read_text(encoding="utf-8")
    for part in text.splitlines() if text.startswith('{"') else [text]:
        json.loads(part, object_pairs_hook=hook)
    return verdicts


@pytest.mark.parametrize("to", [*JSON, "jsonl"])
def test_verdicts_go_with_the_ratings_of_judges(audit: Path, to: str, tmp_path: Path) -> None:
    path = tmp_path / "out"
    table = metal.export("datasets/demo", to=to, out=path, verdicts=audit)
    judged = table[
        (table["kind"] != "human")
        & (table["language"] == "en")
        & (table["criterion"] == "task_quality")
    ]
    expected = dict(
        metal.open_run(audit).verdicts[["judge", "verdict"]].itertuples(index=False, name=None)
    )
    assert dict(zip(judged["rater"], judged["verdict"], strict=True)) == expected
    assert (judged["verdict_reason"] != "").all()
    assert (table.drop(judged.index)["verdict"] == "").all()
    of_the_file = verdicts_in(path)
    assert sorted(of_the_file) == sorted(judged["verdict"])


def test_a_table_with_verdicts_is_known_as_an_export(audit: Path, tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    for texts in (False, True, False):
        metal.export(
            "datasets/demo", to="csv", out=path, verdicts=audit, texts=texts, force=path.exists()
        )
    again = metal.read(path)
    ours = metal.read("datasets/demo")
    pd.testing.assert_series_equal(again.ratings["score"], ours.ratings["score"])
    # label and verdict repeat what is read
    assert not any("not read" in finding.message for finding in metal.check(again).findings)


def test_verdicts_on_other_judges_are_refused(
    audit: Path, dataset: Dataset, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as refused:
        metal.export(dataset, to="deepeval", out=tmp_path / "out", verdicts=audit)
    assert tells(str(refused.value), "constructed", "none", "judges rated", "audit of these data")
    assert not (tmp_path / "out").exists()
    with pytest.raises(UsageError):
        metal.export(dataset, to="csv", out=tmp_path / "out", verdicts="datasets/demo")


# ---------------------------------------------------------------- files and targets


@pytest.mark.parametrize("to", JSON)
def test_only_its_own_files_are_replaced(dataset: Dataset, to: str, tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    metal.export(dataset, to=to, out=path)
    with pytest.raises(UsageError, match="exists"):
        metal.export(dataset, to=to, out=path)
    metal.export(dataset, to=to, out=path, force=True)
    # Saved by their program, perhaps with answers of people.
    records = exported(dataset, to, tmp_path)
    if to == "inspect":
        del records[0]["edit"]["metadata"]["exported_by"]
        path.write_text("\n".join(map(json.dumps, records)))
    else:
        path.write_text(json.dumps(records))
    before = path.read_bytes()
    with pytest.raises(UsageError, match=r"not written.*command"):
        metal.export(dataset, to=to, out=path, force=True)
    assert path.read_bytes() == before


def test_a_target_of_another_package(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(tmp_path, "squid", "metal.exports", "squid = squid_for_metal:TARGET\nodd = json:dumps")
    (tmp_path / "squid_for_metal.py").write_text(
        "from metal.api.exports import Target\n"
        "def write(exported, path, progress):\n"
        "    path.write_text(' '.join(each.output.output for each in exported.outputs(progress)))\n"
        "    return ['ink']\n"
        "TARGET = Target('ink', write)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert list(plugins("metal.exports"))[-1] == "squid"
    table = metal.export(dataset, to="squid", out=tmp_path / "out")
    assert (tmp_path / "out").read_text() == "o1 o2"
    assert table.attrs["warnings"] == ["ink"]
    with pytest.raises(UsageError, match=r"target odd .* is not a metal\.api\.exports\.Target"):
        metal.export(dataset, to="odd", out=tmp_path / "other")
    with pytest.raises(UnknownName, match="squids"):
        metal.export(dataset, to="squids", out=tmp_path / "other")


def test_a_target_that_fails_leaves_nothing(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*anything: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr("metal.api.exports.deepeval._golden", fail)
    with pytest.raises(RuntimeError):
        metal.export(dataset, to="deepeval", out=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
