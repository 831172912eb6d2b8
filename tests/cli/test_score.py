"""`metal score` from the command line to ratings beside the people's."""

from __future__ import annotations

import json
import signal
import tomllib
from collections.abc import Sequence
from math import isnan
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from metal.cli import as_typed
from metal.cli import metal as command
from metal.data.dataset import Card, load_dataset, save_dataset, update_dataset, with_parts
from metal.data.dataset import assemble as assembled
from metal.data.dataset_lines import read_raters
from metal.data.ratings import facts_from
from metal.data.records import Output, Rater, Rating, Source
from metal.errors import MetalError, UsageError
from metal.raters.metrics import find_metric
from metal.raters.metrics.dataset_scores import Scores, score_outputs, with_metric_score
from metal.running.scoring import RunFolder
from tests.cli.forks import Metal, environment
from tests.cli.runs import snapshot, until
from tests.conftest import TASK_QUALITY, write_table
from tests.saying import tells

REFERENCES = {"ar": ("تفتح المكتبة يوم الاثنين", "توقف المطر."), "zh": ("图书馆周一开放", "雨停了")}
TEXTS = {"ar": ("تفتح المكتبة", "توقف المطر"), "zh": ("图书馆开放", "雨没停")}
ROUGE_1 = {  # 2 shared / (tokens of both): words in Arabic, characters in Chinese
    "ar/0": 4 / 6,
    "ar/1": 1.0,
    "zh/0": 10 / 12,
    "zh/1": 4 / 6,
}
OWN = '''
def letters(output):
    """How many letters there are."""
    return len(output)

def picky(output, reference):
    return "too short" if len(output) < 4 else 1.5

def waits(output):
    import pathlib, time
    pathlib.Path("waiting").touch()
    while True:  # a signal that comes just before one long sleep would be seen only after it
        time.sleep(0.01)
'''


@pytest.fixture
def scored(processes: Metal, tmp_path: Path) -> Metal:
    """`metal` in a folder where `mine` has four outputs in Arabic and Chinese that three people
    rated.
    """
    sources, outputs = [], []
    for language, texts in TEXTS.items():
        for number, text in enumerate(texts):
            source = f"{language}-{number}"
            sources.append(
                Source(
                    source, language, f"{text}。" * 3, references=(REFERENCES[language][number],)
                )
            )
            outputs.append(Output(f"{language}/{number}", source, "g", language, text))
    people = [Rater(name, "human", "native") for name in ("A1", "A2", "A3")]
    ratings = [
        Rating(output.output, "task_quality", person.rater, float(number % 3))
        for number, output in enumerate(outputs)
        for person in people
    ]
    save_dataset(
        assembled(Card("mine"), [TASK_QUALITY], sources, outputs, people, facts_from(ratings)),
        tmp_path / "mine",
    )
    (tmp_path / "own.py").write_text(OWN, encoding="utf-8")
    return processes.at(tmp_path, environment(tmp_path))


def ratings(folder: Path, rater: str) -> dict[str, Any]:
    """What a rater gives each output: its score, or the reason why there is none."""
    rows = pd.read_parquet(folder / "ratings.parquet").astype({"reason": str})
    assert set(rows.loc[rows["rater"] == rater, "criterion"]) <= {"score"}
    return {
        row.output: row.reason if isnan(row.score) else row.score
        for row in rows[rows["rater"] == rater].itertuples()
    }


def lines_of(done_out: str) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = json.loads(done_out)["metrics"]
    return lines


def add_output(folder: Path, output: Output) -> None:
    now = load_dataset(folder)
    update_dataset(with_parts(now, outputs=[*now.outputs.values(), output]), folder)


def test_a_run_that_an_audit_takes(scored: Metal) -> None:
    done = scored(
        "score", "mine", "--metric", "rouge-1,ter", "-m", "bleu(tokenize=char, smooth=none)"
    )
    assert max(map(len, done.out.splitlines())) <= 80
    assert tells(done.said, "ter:", "negated")
    run = scored.cwd / "runs" / "mine-scores"
    assert sorted(path.name for path in run.iterdir()) == [
        "raters.jsonl",
        "ratings.parquet",
        "run.toml",
    ]
    assert ratings(run, "rouge-1") == pytest.approx(ROUGE_1)
    # one of three characters too many, one missing
    assert ratings(run, "ter")["zh/1"] == pytest.approx(-200 / 3)
    raters = {rater.rater: rater for rater in read_raters(run)}
    assert list(raters) == ["rouge-1", "ter", "bleu(tokenize=char, smooth=none)"]
    assert {(rater.kind, rater.group) for rater in raters.values()} == {("metric", "metric")}
    assert raters["ter"].about["negated"] is True
    about = tomllib.loads((run / "run.toml").read_text(encoding="utf-8"))
    assert (about["command"], about["settings"]["dataset"]) == ("score", "mine")
    assert about["criteria"]["score"]["measure"] == "interval"
    assert "4 outputs" in scored("check", "mine", run).said
    assert "rouge-1" in scored("check", "mine", run, "-v").said
    audited = scored("audit", "mine", run, "--resamples", "100")
    assert tells(audited.said, "No judge took part", "billboard", "ranks the 3 metrics")
    assert tells(audited.said, "Rank the 3 metrics", f"metal billboard mine {run}")
    assert (scored.cwd / "runs" / "mine" / "report.html").is_file()
    scored("export", "mine", run, "--to", "csv", "--out", "all.csv")
    assert len(pd.read_csv(scored.cwd / "all.csv")) == 12 + 12


def test_only_what_is_missing_is_computed(scored: Metal) -> None:
    scored("score", "mine", "-m", "rouge-1")
    run = scored.cwd / "runs" / "mine-scores"
    before = snapshot(run)
    assert "Nothing to compute" in scored("score", "mine", "-m", "rouge-1").said
    assert snapshot(run) == before
    more = lines_of(scored("score", "mine", "-m", "rouge-1,rouge-l", "--json").out)
    assert [metric["seconds"] is None for metric in more] == [True, False]
    assert [metric["scored"] for metric in more] == [4, 4]
    add_output(scored.cwd / "mine", Output("zh/2", "zh-1", "h", "zh", "雨停了。"))
    assert (
        lines_of(scored("score", "mine", "-m", "rouge-1", "--json").out)[0]["seconds"] is not None
    )
    assert ratings(run, "rouge-1") == pytest.approx(ROUGE_1 | {"zh/2": 1.0})
    assert len(ratings(run, "rouge-l")) == 4


def test_other_texts_and_other_metrics_are_not_mixed(scored: Metal) -> None:
    scored("score", "mine", "-m", "own.py:letters,chrf")
    path = scored.cwd / "own.py"
    path.write_text(
        path.read_text(encoding="utf-8").replace("len(output)\n", "len(output) + 1\n"),
        encoding="utf-8",
    )
    refused = scored.refused("score", "mine", "-m", "own.py:letters")
    assert "own.py:letters has another signature" in refused
    assert "--force replaces runs/mine-scores" in refused
    scored("score", "mine", "-m", "own.py:letters", "--name", "mine-2")
    run = scored.cwd / "runs" / "mine-scores"
    assert (ratings(run, "own.py:letters")["zh/1"], ratings(run, "mine-2")["zh/1"]) == (3, 4)
    sources = scored.cwd / "mine" / "sources.jsonl"
    sources.write_text(
        sources.read_text(encoding="utf-8").replace("雨停了", "雪停了"), encoding="utf-8"
    )
    assert tells(scored.refused("score", "mine", "-m", "chrf"), "chrf", "texts other than")
    scored("score", "mine", "-m", "rouge-1", "--force")
    assert [rater.rater for rater in read_raters(run)] == ["rouge-1"]
    assert ratings(run, "rouge-1")["zh/1"] == pytest.approx(2 / 6)


def test_no_score_has_the_metrics_reason(scored: Metal) -> None:
    add_output(scored.cwd / "mine", Output("no text", "zh-1", "h", "zh", ""))
    done = scored("score", "mine", "-m", "own.py:picky")
    assert "own.py:picky: 1 without score: too short" in done.said
    assert tells(done.said, "1 of 5 outputs", "no text", "not scored")
    run = scored.cwd / "runs" / "mine-scores"
    assert ratings(run, "own.py:picky") == {
        "ar/0": 1.5,
        "ar/1": 1.5,
        "zh/0": 1.5,
        "zh/1": "too short",
    }
    add_output(scored.cwd / "mine", Output("its own", "zh-1", "w", "zh", "雨停了"))
    done = scored("score", "mine", "-m", "own.py:picky", "--force")
    assert tells(done.said, "own.py:picky: 1 without", "the only reference")
    assert tells(done.said, "1 output ('its own')", "reference", "not compared")


def test_ctrl_c_loses_the_metric_at_work_only(scored: Metal) -> None:
    started = scored.start("score", "mine", "-m", "rouge-1,own.py:waits,rouge-l")
    until(lambda: (scored.cwd / "waiting").exists() or started.over)
    started.send(signal.SIGINT)
    done = started.wait()
    assert done.code == 130
    assert [line for line in done.err.splitlines() if line][-1:] == ["metal: interrupted"]
    assert tells(done.err, "1 of 3 metrics", "runs/mine-scores;", "same command")
    lines = lines_of(scored("score", "mine", "-m", "rouge-1,rouge-l", "--json").out)
    assert [metric["seconds"] is None for metric in lines] == [True, False]
    assert not [
        path
        for path in (scored.cwd / "runs").iterdir()
        if path.name not in ("mine-scores", ".mine-scores.lock")
    ]


def test_odd_names_of_files(scored: Metal) -> None:
    folder = scored.cwd / "a, {b} [red](1)"
    folder.mkdir()
    (folder / "m.py").write_text(OWN, encoding="utf-8")
    done = scored(
        "score", "mine", "-m", f"{folder.name}/m.py:letters", "--out", "runs/[bold] {x}, \u202e"
    )
    assert "\u202e" not in done.out
    (out,) = (path for path in (scored.cwd / "runs").iterdir() if path.suffix != ".lock")
    assert ratings(out, "a, {b} [red](1)/m.py:letters")["zh/1"] == 3


def test_into_the_dataset(scored: Metal) -> None:
    mine = scored.cwd / "mine"
    (mine / "notes.txt").write_text("stays")
    scored("score", "mine", "-m", "rouge-1", "--into")
    assert not (scored.cwd / "runs").exists()
    now = load_dataset(mine)
    assert list(now.criteria) == ["task_quality", "score"]
    assert ratings(mine, "rouge-1") == pytest.approx(ROUGE_1)
    assert len(now.ratings) == 12 + 4
    assert (mine / "notes.txt").is_file()
    before = snapshot(mine)
    assert "Nothing to compute" in scored("score", "mine", "-m", "rouge-1", "--into").said
    assert snapshot(mine) == before
    add_output(mine, Output("zh/2", "zh-1", "h", "zh", "雨停了。"))
    scored("score", "mine", "-m", "rouge-1", "--into")
    assert ratings(mine, "rouge-1") == pytest.approx(ROUGE_1 | {"zh/2": 1.0})
    assert "has a rater 'rouge-1' already" in scored.refused("score", "mine", "-m", "rouge-1")
    scored("audit", "mine", "--resamples", "100")


def test_into_with_force_replaces_that_metric_only(scored: Metal) -> None:
    mine = scored.cwd / "mine"
    scored("score", "mine", "-m", "rouge-1", "--name", "r", "--into")
    scored("score", "mine", "-m", "rouge-l", "--into")
    assert "r has another signature" in scored.refused(
        "score", "mine", "-m", "rouge-2", "--name", "r", "--into"
    )
    assert ratings(mine, "r") == pytest.approx(ROUGE_1)
    scored("score", "mine", "-m", "rouge-2", "--name", "r", "--into", "--force")
    assert ratings(mine, "r")["zh/1"] == 0.0
    assert ratings(mine, "rouge-l")["zh/1"] == pytest.approx(4 / 6)
    refused = scored.refused("score", "mine", "-m", "rouge-1", "--name", "A1", "--into", "--force")
    assert "rater 'A1' is of kind human" in refused


def test_of_a_dataset_that_nobody_rated(scored: Metal) -> None:
    rated = load_dataset(scored.cwd / "mine")
    parts = (rated.sources.values(), rated.outputs.values())
    save_dataset(
        assembled(Card("new"), [TASK_QUALITY], *parts, [], facts_from([])), scored.cwd / "new"
    )
    scored("score", "new", "-m", "rouge-1")
    assert "4 ratings of 4 outputs" in scored("check", "new", "runs/new-scores").said
    scored("score", "new", "-m", "rouge-1", "--into")
    assert ratings(scored.cwd / "new", "rouge-1") == pytest.approx(ROUGE_1)
    assert "has no human raters" in scored.refused("audit", "new")


def test_two_at_once_lose_nothing(scored: Metal) -> None:
    names = ["rouge-1", "rouge-2", "rouge-l", "chrf"]
    started = [scored.start("score", "mine", "-m", name, "--into") for name in names]
    assert [process.wait().code for process in started] == [0] * len(names)
    assert len(load_dataset(scored.cwd / "mine").ratings) == 12 + 4 * len(names)
    started = [
        scored.start("score", "mine", "-m", f"{name}(tokenize=char)") for name in ("bleu", "ter")
    ]
    assert [process.wait().code for process in started] == [0, 0]
    assert len(read_raters(scored.cwd / "runs" / "mine-scores")) == 2


def test_what_another_command_added_meanwhile_is_kept(scored: Metal) -> None:
    dataset = with_metric_score(load_dataset(scored.cwd / "mine"))
    out = scored.cwd / "out"
    places = [RunFolder(out, dataset, scored.cwd / "mine", force=False) for _ in range(3)]

    def scores(metric: str) -> Scores:
        return score_outputs(
            find_metric(metric), dataset, list(dataset.outputs.values()), name=metric[:4]
        )

    places[0].add(scores("chrf"))
    places[1].add(scores("bleu(tokenize=char)"))
    assert {rater.rater for rater in read_raters(out)} == {"chrf", "bleu"}
    with pytest.raises(UsageError, match="another command added bleu"):
        places[2].add(scores("bleu"))


def table(path: Path, rows: Sequence[tuple[str, object]]) -> Path:
    return write_table(pd.DataFrame(rows, columns=["output", "score"]), path)


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_from_a_file(scored: Metal, ending: str) -> None:
    add_output(scored.cwd / "mine", Output("007", "zh-1", "h", "zh", "雨停了"))
    path = table(scored.cwd / f"comet{ending}", [("ar/0", 0.25), ("007", -1.5), ("zh/1", None)])
    done = scored("score", "mine", "--from", path.name, "--name", "comet")
    assert f"2 of 5 outputs are not in comet{ending}: 'ar/1', 'zh/0'" in done.said
    run = scored.cwd / "runs" / "mine-scores"
    assert ratings(run, "comet") == {
        "ar/0": 0.25,
        "007": -1.5,
        "zh/1": f"no score in comet{ending}",
    }


def test_the_same_file_again_and_another_one(scored: Metal) -> None:
    path = table(scored.cwd / "comet.csv", [("ar/0", 0.25)])
    again = ("score", "mine", "--from", path.name, "--name", "comet", "--signature", "wmt22")
    scored(*again)
    run = scored.cwd / "runs" / "mine-scores"
    (rater,) = read_raters(run)
    assert rater.about["signature"].startswith("wmt22|from:comet.csv|blake2b:")
    before = snapshot(run)
    assert "Nothing to compute" in scored(*again).said
    assert snapshot(run) == before
    table(path, [("ar/0", 0.75)])
    assert "comet has another signature" in scored.refused(*again)


def test_from_a_file_where_lower_is_better(scored: Metal) -> None:
    table(scored.cwd / "edits.csv", [("ar/0", 3), ("zh/0", 0)])
    done = scored(
        "score",
        "mine",
        "--from",
        "edits.csv",
        "--name",
        "edits",
        "--direction",
        "lower",
        "--into",
        "--json",
    )
    assert ratings(scored.cwd / "mine", "edits") == {"ar/0": -3.0, "zh/0": 0.0}
    (line,) = lines_of(done.out)
    assert (line["negated"], line["direction"], line["scored"], line["mean"]) == (
        True,
        "lower",
        2,
        -1.5,
    )


WRONG = [
    ([], "give --metric, e.g."),
    (["-m", ","], "names nothing"),
    (["-m", "own.py:leters"], "did you mean 'letters'"),
    (["-m", "chrf,ter", "--name", "x"], "--name x is for one metric; 2 were given"),
    (["-m", "chrf", "--direction", "lower"], "go with --from-file"),
    (["-m", "chrf", "--into", "--out", "x"], "--out for a run folder or --into"),
    (["-m", "chrf", "--out", "mine"], "mine is a dataset"),
    (["-m", "chrf", "--out", "own.py"], "own.py exists"),
    (["-m", "chrf", "--name", "A1"], "has a rater 'A1' already"),
    (["--from", "t.csv"], "needs --name"),
    (["--from", "no.csv", "--name", "x"], "no.csv: no such file"),
    (["--from", "t.csv", "--name", "x"], "1 output ('ar/0') more than once. Nothing was imported"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG)
def test_mistakes_in_one_line(
    scored: Metal, arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(scored.cwd)
    monkeypatch.setattr("sys.argv", ["metal", "score"])
    monkeypatch.setattr("sys.dont_write_bytecode", True)  # of own.py
    table(scored.cwd / "t.csv", [("ar/0", 1), ("ar/0", 2)])
    before = snapshot(scored.cwd)
    with pytest.raises(MetalError) as refusal:
        command.main(["score", "mine", *arguments], standalone_mode=False)
    assert message in as_typed(str(refusal.value))
    assert snapshot(scored.cwd) == before


def test_runs_of_other_commands_are_left_alone(scored: Metal) -> None:
    scored("audit", "mine", "--resamples", "100", "--out", "audit")
    assert "not a run of metrics" in scored.refused("score", "mine", "-m", "chrf", "--out", "audit")
    scored("score", "mine", "-m", "chrf", "--out", "scores")
    (scored.cwd / "mine").rename(scored.cwd / "other")
    assert "has scores from mine" in scored.refused(
        "score", "other", "-m", "chrf", "--out", "scores"
    )
