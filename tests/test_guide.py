"""The guide: its commands run, in folders prepared for them, and show what the pages say."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from metal.data.dataset import Card, Dataset, assemble, load_dataset, save_dataset
from metal.data.ratings import facts_from
from metal.data.records import Criterion, Output, Scale, Source
from tests.cli.forks import shared
from tests.llm_server import LlmServer
from tests.openai_batch_server import OpenAIBatchServer
from tests.saying import tells

pytestmark = pytest.mark.slow  # what pages show, command by command
ROOT = Path(__file__).resolve().parent.parent
PAGES = re.findall(r"guide/\w+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
GUIDE = "\n".join((ROOT / "docs" / page).read_text(encoding="utf-8") for page in PAGES)


def blocks(kind: str) -> list[str]:
    """The blocks of a kind: `bash`, or `bash judge` for those with a name, in the order of the
    pages.
    """
    opened = re.escape("{." + kind.replace(" ", " .") + "}" if " " in kind else kind)
    return re.findall(rf"^```{opened}\n(.*?)^```", GUIDE, flags=re.MULTILINE | re.DOTALL)


def metal(command: str, folder: Path, **environment: str) -> str:
    words = shlex.split(command)
    assert words[0] == "metal"
    env = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "80"} | environment
    return shared().at(folder, env)(*words[1:], seconds=300).out


def run_all(kind: str, folder: Path, **environment: str) -> list[str]:
    commands = [line for block in blocks(kind) for line in block.splitlines() if line]
    return [metal(command, folder, **environment) for command in commands]


def test_commands_with_a_judge(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "datasets" / "demo", tmp_path / "datasets" / "demo")
    with LlmServer() as server:
        said = run_all(
            "bash judge",
            tmp_path,
            OPENAI_BASE_URL=server.openai_url,
            OPENAI_API_KEY="sk-0123456789",
        )
    assert "Nothing was sent." in said[0]
    assert server.requests == 1920
    assert "openai:gpt-4o-mini/detailed" in said[2]


def test_commands_with_batches(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "datasets" / "demo", tmp_path / "datasets" / "demo")
    first, second = blocks("bash batch")[0].splitlines()
    with OpenAIBatchServer(wait=3600.0) as server:
        env = {"OPENAI_BASE_URL": server.openai_url, "OPENAI_API_KEY": "sk-0123456789"}
        assert "959 calls" in metal(first, tmp_path, **env)
        server.service.ahead += 3600.0
        assert "960 ratings" in metal(second, tmp_path, **env)


def test_commands_on_ones_own_data(tmp_path: Path) -> None:
    header = "doc_id,system,language,criterion,annotator,rating\n"
    people = [
        f"d{d},{s},{code},quality,{who},{(d + k) % 3}"
        for code in ("hi", "sw")
        for d in range(40)
        for s in ("a", "b")
        for k, who in enumerate(("A1", "A2", "A3", "gpt-4"))
    ]
    # the same documents in two languages would be the same outputs: give each its own id
    people = [row.replace("d", f"{row.split(',')[2]}-", 1) for row in people]
    (tmp_path / "ratings.csv").write_text(header + "\n".join(people) + "\n")
    added = [row.replace("gpt-4", "gpt-5") for row in people if "gpt-4" in row]
    (tmp_path / "scores-of-gpt-5.csv").write_text(header + "\n".join(added) + "\n")
    shown = "\n".join(run_all("bash", tmp_path))
    assert "160 outputs matched" in shown
    assert (tmp_path / "runs" / "with-baselines" / "tables" / "verdicts.csv").is_file()
    assert (tmp_path / "mine.csv").is_file()


def test_commands_with_metrics(tmp_path: Path) -> None:
    sources = [
        Source(f"s{number}", "sw", references=("Mto umefurika leo.",)) for number in range(3)
    ]
    outputs = [
        Output(f"s{number}/a", f"s{number}", "a", "sw", "Mto umefurika.") for number in range(3)
    ]
    made = assemble(
        Card("news"),
        [Criterion("overall", Scale("interval"))],
        sources,
        outputs,
        [],
        facts_from([]),
    )
    save_dataset(made, tmp_path / "datasets" / "news")
    (tmp_path / "comet.csv").write_text("output,score\ns0/a,0.8\ns2/a,0.7\n")
    (tmp_path / "my").mkdir()
    (tmp_path / "my" / "metric.py").write_text(
        "def score(output):\n    return len(output.split())\n"
    )
    said = run_all("bash score", tmp_path)
    assert "chrf" in said[0]
    assert "9 ratings of 3 outputs" in " ".join(said[2].split())
    assert "1 of 3 outputs are not in comet.csv" in " ".join(said[3].split())
    assert len(load_dataset(tmp_path / "datasets" / "news").ratings) == 3


@pytest.mark.reference
def test_commands_on_released_data(reference: Path, tmp_path: Path) -> None:
    """PARIKSHA's are run by test_the_numbers_of_why_f1_alone_misleads."""
    for folder in ("pariksha", "thumb", "alttest"):
        (tmp_path / folder).symlink_to(reference / folder)
    (tmp_path / "systems.json").symlink_to(reference / "oracle" / "summeval_system_map.json")
    assert "Verdicts" in run_all("bash thumb", tmp_path)[-1]


@pytest.mark.reference
def test_commands_that_build_a_dataset(reference: Path, tmp_path: Path) -> None:
    (tmp_path / "passages").symlink_to(reference / "passages")
    with LlmServer() as server:
        said = run_all(
            "bash build",
            tmp_path,
            OPENAI_BASE_URL=server.openai_url,
            OPENAI_API_KEY="sk-0123456789",
        )
    assert "Nothing was sent." in said[1]
    assert server.requests == 2 * 80
    assert len(list((tmp_path / "runs" / "news-html").glob("*.html"))) == 12
    assert re.search(r"good +bad +reference$", said[-1], flags=re.MULTILINE)
    *_, monitored = run_all("bash tests", tmp_path)
    assert re.search(r"^lexical .*\d+ of \d+", monitored, flags=re.MULTILINE)
    assert (
        len((tmp_path / "datasets/news/test_questions/outputs.jsonl").read_text().splitlines()) == 8
    )


@pytest.mark.reference
def test_one_board_for_judges_people_and_metrics(reference: Path, tmp_path: Path) -> None:
    """Experts, crowd, six judges, sixteen metrics, three baselines: the board as shown, its figures
    as published.
    """
    for name in ("billboard", "thumb", "alttest"):
        (tmp_path / name).symlink_to(reference / name)
    (tmp_path / "systems.json").symlink_to(reference / "oracle" / "summeval_system_map.json")
    *_, said = run_all("bash cnndm", tmp_path)
    (shown,) = blocks("text board")
    assert shown in said
    assert "BanditSum and NEUSUM the same score" in " ".join(said.split())
    raters = pd.read_csv(tmp_path / "runs" / "cnndm-board" / "tables" / "raters.csv").query(
        "criterion == 'overall'"
    )
    raters = raters.set_index("rater")
    assert raters["kind"].value_counts().to_dict() == {
        "metric": 17,
        "llm": 6,
        "baseline": 3,
        "human": 1,
    }
    assert raters.loc["wmt20-comet-da", "pearson"] == pytest.approx(0.4069, abs=1e-4)
    assert raters.loc["gpt-4o", "pearson"] == pytest.approx(0.709134, abs=1e-6)
    assert raters.loc["crowd", "pearson"] == pytest.approx(0.067574, abs=1e-6)
    assert raters.loc["majority", ["pearson", "rank"]].isna().all()
    assert "Judge: gpt-4o 0.71" in run_all("bash questions", tmp_path)[0]
    _make_submissions(tmp_path, _cut(tmp_path / "datasets" / "cnndm", 15))
    generator, metric, history, then = run_all("bash submit", tmp_path)
    assert "15 outputs" in generator
    assert "overall: r " in metric
    assert [line.split()[1] for line in history.splitlines() if line[:1].isdigit()] == [
        # two that METAL computes rank what was submitted
        *("dataset", "metric", "metric", "generator", "metric")
    ]
    assert "version 1" in then
    assert "my-metric" not in then


def _cut(folder: Path, number: int) -> Dataset:
    """The dataset with its first sources alone: computed metrics of all take half a minute."""
    data = load_dataset(folder)
    sources = dict(list(data.sources.items())[:number])
    outputs = {name: each for name, each in data.outputs.items() if each.source in sources}
    ratings = data.ratings[data.ratings["output"].isin(list(outputs))]
    shutil.rmtree(folder)
    replace(data, sources=sources, outputs=outputs, ratings=ratings).save(folder)
    return load_dataset(folder)


def _make_submissions(folder: Path, dataset: Dataset) -> None:
    rows = [{"source": name, "text": source.text[:200]} for name, source in dataset.sources.items()]
    (folder / "outputs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "metric.py").write_text(
        "def score(output, *, source):\n    return len(set(output) & set(source))\n"
    )


@pytest.mark.reference
def test_the_board_of_translations(reference: Path, tmp_path: Path) -> None:
    for name in ("billboard", "mqm"):
        (tmp_path / name).symlink_to(reference / name)
    run_all("bash zh-en", tmp_path)
    tables = tmp_path / "runs" / "wmt20-zh-en-board" / "tables"
    raters = pd.read_csv(tables / "raters.csv").set_index("rater")
    assert raters.loc["wmt20-comet-da", ["pearson", "outputs"]].tolist() == pytest.approx(
        [0.5513, 16000], abs=1e-4
    )
    assert pd.read_csv(tables / "ensembles.csv")["pearson_unseen"].tolist() == pytest.approx(
        [0.605], abs=1e-3
    )


@pytest.mark.reference
def test_the_numbers_of_why_f1_alone_misleads(reference: Path, tmp_path: Path) -> None:
    (tmp_path / "pariksha").symlink_to(reference / "pariksha")
    assert "Verdicts" in run_all("bash pariksha", tmp_path)[-1]
    tables = tmp_path / "runs" / "pariksha" / "tables"
    judges = pd.read_csv(tables / "judges.csv").set_index(["language", "criterion"])
    people = pd.read_csv(tables / "people.csv").set_index(["language", "criterion"])
    kannada, hindi = ("kn", "linguistic_acceptability"), ("hi", "task_quality")
    assert judges.loc[kannada, ["weighted_f1", "majority_f1", "kappa"]].round(2).tolist() == [
        0.82,
        0.82,
        0.05,
    ]
    assert round(people.loc[kannada, "pairwise_f1"], 2) == 0.80
    assert judges.loc[hindi, ["weighted_f1", "majority_f1", "kappa"]].round(2).tolist() == [
        0.62,
        0.38,
        0.31,
    ]
    assert judges.loc[hindi, "alt_test_winning_rate"] == 1
    distribution = pd.read_csv(tables / "class_distribution.csv")
    good = distribution.query(
        "language == 'kn' and criterion == 'linguistic_acceptability' and rater == 'people' and"
        " case == 'all items'"
    ).set_index("level")["count"]
    assert round(good["2 Good"] / good.sum(), 1) == 0.9


@pytest.mark.reference
def test_what_it_says_of_the_people_of_pariksha(reference: Path, tmp_path: Path) -> None:
    (tmp_path / "pariksha").symlink_to(reference / "pariksha")
    metal(blocks("bash pariksha")[0].splitlines()[0], tmp_path)
    monitored, ranked, planned = (
        " ".join(said.split()) for said in run_all("bash people", tmp_path)
    )
    why = monitored.split("Who stands out, and why")[1]
    bangla, hindi, tamil, comments = (
        why.split(f"{name} ")[1] for name in ("2429", "10198", "9162", "9961")
    )
    assert "agrees with them in 59% of cases, while they agree with each other in 69%" in bangla
    assert "scores stand 21% of the scale below theirs" in bangla
    assert "agrees with them in 66% of cases, while they agree with each other in 76%" in hindi
    assert tells(comments, "61% of 1,122", "23%")
    assert "Hallucinations, Tamil" in tamil
    assert "Llama-3-70B" in ranked
    assert "$" in planned
