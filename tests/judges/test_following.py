"""How far a run is, read from its folder while it grows."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import metal
from metal.api.read import load
from metal.data.people import people_in
from metal.data.run_toml import read_run_toml
from metal.raters.judges.journal import lock_run
from metal.running.asking import Callbacks
from metal.running.first_figures import AnswerCounts, FirstFigures
from metal.running.following import RUNNING, RunFollower
from tests.llm_server import Fault, LlmServer, first_attempts
from tests.saying import tells

DEMO = Path(__file__).parents[2] / "datasets" / "demo"


@pytest.fixture
def server() -> Iterator[LlmServer]:
    with LlmServer() as server:
        yield server


def judged(out: Path, server: LlmServer, **more: Any) -> Any:
    options = {"prompt": "simple", "languages": "hi", "criteria": "task_quality"} | more
    url = server.openai_url
    return metal.judge(DEMO, "openai-compatible:m", base_url=url, out=out, **options)


def line(key: str, kind: str = "verdict", **more: Any) -> str:
    record = {"key": key, "kind": kind, "judge": "m", "prompt": "p", "criterion": "c"}
    record |= {"output": key, "sample": 1, "ask": 1, "at": "2026-01-01T00:00:00.000+00:00"}
    if kind == "failed":
        record |= {"retries": 2, "why": "server error", "status": 500, "said": "down"}
    else:
        record |= {"seconds": 1.0, "retries": 0, "sent": {}, "model": "m", "fingerprint": ""}
        record |= {"tokens": [100, 10], "ending": "complete", "text": '{"score": 1}', "reply": {}}
    return json.dumps(record | more, separators=(",", ":")) + "\n"


def test_a_limit_holds_when_a_run_is_resumed_until_another_is_stated(
    tmp_path: Path, server: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "judges.toml").write_text(
        '[judges.mine]\nmodel = "openai-compatible:m"\nprice = {input = 2, output = 8}\n'
        f'base_url = "{server.openai_url}"\n'
    )
    monkeypatch.chdir(tmp_path)
    options = {"prompt": "simple", "languages": "hi", "criteria": "task_quality"}
    metal.judge(DEMO, "mine", out="run", max_cost=0.0, limit=3, **options)
    assert server.requests == 0

    def resumed(**more: Any) -> tuple[Any, list[str]]:
        lines: list[str] = []
        run = metal.judge(resume="run", callbacks=Callbacks(say=lines.append), **more)
        return run, lines

    run, lines = resumed()
    assert (server.requests, run.terms.max_cost, run.outcome.over_budget) == (0, 0.0, True)
    assert tells(lines, "$0", "`max_cost`")
    assert read_run_toml(Path("run"))["settings"]["max_cost"] == 0.0
    run, lines = resumed(max_cost=5.0, limit=2)
    assert (server.requests, lines) == (2, [])
    assert read_run_toml(Path("run"))["settings"]["max_cost"] == 5.0
    run, lines = resumed(max_cost=float("inf"))
    assert run.complete
    assert run.terms.max_cost is None
    assert "max_cost" not in read_run_toml(Path("run"))["settings"]


def test_a_run_says_its_totals_prices_and_limit(tmp_path: Path, server: LlmServer) -> None:
    (tmp_path / "judges.toml").write_text(
        '[judges.mine]\nmodel = "openai-compatible:m"\nprice = {input = 2, output = 8}\n'
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(tmp_path)
        run = metal.judge(
            DEMO, "mine", base_url=server.openai_url, prompt="simple", languages="hi",
            criteria="task_quality", out="run", max_cost=3.0,
        )  # fmt: skip
        progress = RunFollower(Path("run")).look()
        settings, ratings = run.manifest["settings"], run.ratings
    assert settings["planned"]["mine"]["calls"] == progress.done == 60
    assert (settings["planned"]["mine"]["input"], settings["planned"]["mine"]["output"]) == (2, 8)
    assert (progress.state, progress.total, progress.read) == ("finished", len(ratings), 1.0)
    (statistics,) = run.outcome.statistics.values()
    (judge,) = progress.judges
    assert (judge.tokens_in, judge.answered) == (statistics.tokens_in, statistics.answered)
    assert progress.cost == pytest.approx(
        (statistics.tokens_in * 2 + statistics.tokens_out * 8) / 1e6
    )
    assert (progress.max_cost, progress.not_made, progress.rate) == (3.0, 0, None)


def test_the_totals_change_nothing_of_a_run(tmp_path: Path, server: LlmServer) -> None:
    judged(tmp_path / "run", server, limit=3)
    before = read_run_toml(tmp_path / "run")
    assert before["settings"]["planned"]["openai-compatible:m"] == {"calls": 60}
    progress = RunFollower(tmp_path / "run").look()
    assert (progress.state, progress.done, progress.not_made) == ("stopped", 3, 57)
    metal.judge(resume=tmp_path / "run")
    assert server.completed == 60  # nothing was asked twice
    after = read_run_toml(tmp_path / "run")
    for part in ("signature", "datasets", "criteria"):
        assert after[part] == before[part]
    for part in ("identities", "prompt_hashes", "planned"):
        assert after["settings"][part] == before["settings"][part]


def test_a_look_reads_only_what_is_new(tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    journal.write_text(line("aa") + line("bb", "unparsable") + line("cc")[:50])
    follower = RunFollower(tmp_path)
    progress = follower.look()
    (judge,) = progress.judges
    assert (judge.judge, judge.answered, judge.without) == ("m/p", 1, {"unparsable": 1})
    # what was read may change: nobody looks at it again
    content = journal.read_bytes()
    with journal.open("r+b") as file:
        file.write(b"x" * 30)
        file.seek(len(content))
        file.write((line("cc")[50:] + line("bb")).encode())
    progress = follower.look()
    (judge,) = progress.judges
    assert (judge.answered, judge.without, progress.done, progress.damaged) == (3, {}, 3, 0)
    assert judge.tokens_in == 400


def test_failures_are_counted_by_cause_until_they_are_answered(tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    said = "<script>alert(1)</script>" * 100
    journal.write_text(line("aa") + line("bb", "failed") + line("cc", "failed", said=said))
    follower = RunFollower(tmp_path)
    (judge,) = follower.look().judges
    assert judge.failures == {"server error": 2}
    assert judge.messages == {"server error": said[:300]}
    assert (judge.failed, judge.done) == (2, 1)
    with journal.open("a") as file:
        file.write(line("cc") + line("aa", "failed"))  # a failure does not undo an answer
    (judge,) = follower.look().judges
    assert (judge.failures, judge.answered) == ({"server error": 1}, 2)


def test_damaged_lines_are_counted(tmp_path: Path) -> None:
    lines = ["nonsense", "[]", '{"key":"zz","kind":"verdict"}', '{"key":"", "kind": 3}', "[" * 9999]
    lines += [line("aa", tokens=3), line("ab", judge=["m"]), line("ac", at="yesterday"), line("ad")]
    (tmp_path / "journal.jsonl").write_text("\n".join(each.strip() for each in lines) + "\n")
    progress = RunFollower(tmp_path).look()
    # a model that is no text is shown as what it is; the time of a reply counts for the rate only
    assert progress.damaged == 7
    assert sorted(judge.judge for judge in progress.judges) == ["['m']/p", "m/p"]


def test_a_replaced_run_is_read_again(tmp_path: Path) -> None:
    journal, other = tmp_path / "journal.jsonl", tmp_path / "other"
    journal.write_text(line("aa") + line("bb"))
    forgotten: list[int] = []
    follower = RunFollower(tmp_path, restarting=lambda: forgotten.append(1))
    assert follower.look().done == 2
    other.write_text(line("dd") + line("ee") + line("ff"))
    other.replace(journal)
    assert (follower.look().done, forgotten) == (3, [1])
    journal.write_text(line("aa"))
    assert (follower.look().done, forgotten) == (1, [1, 1])
    journal.unlink()
    assert follower.look().done == 0


def test_a_long_journal_is_read_in_several_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metal.running.following.PIECE", 1000)
    lines = [line(f"{number:04x}") for number in range(50)]
    (tmp_path / "journal.jsonl").write_text("".join(lines) + line("ffff", text="x" * 5000))
    follower = RunFollower(tmp_path)
    first = follower.look(-1)
    assert 0 < first.done < 50
    assert 0 < first.read < 1
    assert follower.look().done == 51


def test_the_rate_and_the_time_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = datetime.now(UTC)
    monkeypatch.setattr("metal.running.following.time.time", now.timestamp)
    times = [
        (now - timedelta(seconds=age)).isoformat(timespec="milliseconds") for age in (90, 20, 10)
    ]
    rows = [line(f"{number:02x}", at=at) for number, at in enumerate(times)]
    (tmp_path / "journal.jsonl").write_text("".join(rows))
    (tmp_path / "run.toml").write_text('command = "judge"\n[settings.planned.m]\ncalls = 9\n')
    follower = RunFollower(tmp_path)
    assert follower.look().seconds_left is None  # nobody works on it
    with lock_run(tmp_path):
        (tmp_path / ".worker").unlink()
        progress = follower.look()
    assert (progress.state, progress.stoppable) == (RUNNING, False)
    assert progress.rate == pytest.approx(2 / 20, rel=1e-3)  # in the last minute, since the first
    assert progress.seconds_left == pytest.approx(6 / (2 / 20), rel=1e-3)


@pytest.mark.parametrize(
    "settings",
    [
        "planned = 3",
        "[settings.planned]\nm = 3",
        '[settings.planned.m]\ncalls = "many"',
        "[settings.planned.m]\ncalls = -1\ninput = nan\noutput = -2",
        '[settings.planned.m]\ninput = "x"\noutput = inf',
    ],
)
def test_settings_of_others_are_not_trusted(tmp_path: Path, settings: str) -> None:
    head = settings if settings.startswith("[") else f"[settings]\n{settings}"
    (tmp_path / "run.toml").write_text(f'command = "judge"\n{head}\n')
    (tmp_path / "journal.jsonl").write_text(line("aa"))
    progress = RunFollower(tmp_path).look()
    assert (progress.total, progress.cost, progress.done) == (None, None, 1)


# ---------------------------------------------------------------- first figures


def test_answers_are_compared_with_each_person() -> None:
    #   people  judge   equal   pairs   people equal   their pairs
    #   0 0 1     0       2       3          1              3
    #   2 2       1       0       2          1              1
    #   -         2       -       -          -              -
    counts = AnswerCounts()
    counts.add(0, {0: 2, 1: 1})
    counts.add(1, {2: 2})
    counts.add(2, {})
    assert (counts.same, counts.pairs, counts.outputs) == (2, 5, 2)
    assert (counts.people_same, counts.people_pairs) == (2, 4)
    assert counts.scores == {0: 1, 1: 1, 2: 1}
    assert (counts + counts).pairs == 10


@pytest.mark.parametrize(
    "more",
    [{}, {"prompt": "detailed,simple"}, {"together": True, "criteria": ()}, {"question": "Good?"}],
    ids=["simple", "two prompts", "together", "question"],
)
def test_the_figures_are_those_of_the_ratings(
    tmp_path: Path, server: LlmServer, more: dict[str, Any]
) -> None:
    run = judged(tmp_path / "run", server, **more)
    dataset = load(DEMO).dataset
    figures = FirstFigures(tmp_path / "run", DEMO, dataset)
    RunFollower(tmp_path / "run", figures.count).look()
    assert figures.why == ""
    for (judge, criterion), counts in figures.by_criterion().items():
        rated = run.ratings[
            (run.ratings["rater"] == judge) & (run.ratings["criterion"] == criterion)
        ]
        assert counts.scores == rated["score"].value_counts().to_dict()
        assert counts.outputs == len(rated)
        people = dataset.ratings[dataset.ratings["criterion"] == criterion]
        people = people[people["rater"].isin(people_in(dataset.raters))]
        both = rated.merge(people, on="output", suffixes=("", "_person"))
        assert counts.pairs == len(both)
        assert counts.same == (both["score"] == both["score_person"]).sum()
    assert (
        len(figures.by_criterion())
        == run.ratings.groupby(["rater", "criterion"], observed=True).ngroups
    )


def test_judges_without_a_prompt_have_figures_too(tmp_path: Path) -> None:
    run = metal.judge(DEMO, "fake:blind", languages="hi,ar", out=tmp_path / "run", repeat=2)
    figures = FirstFigures(tmp_path / "run", DEMO, load(DEMO).dataset)
    RunFollower(tmp_path / "run", figures.count).look()
    first = run.ratings[~run.ratings["rater"].astype(str).str.endswith("#2")]
    assert sum(each.scores.total() for each in figures.counts.values()) == len(first)
    assert {language for _, _, language in figures.counts} == {"hi", "ar"}


def test_nothing_that_a_run_names_is_imported(tmp_path: Path) -> None:
    metal.judge(DEMO, "fake:blind", languages="hi", criteria="task_quality", out=tmp_path / "run")
    path = tmp_path / "run" / "run.toml"
    text = path.read_text().replace(
        'judges = [\n    "fake:blind",', 'judges = [\n    "antigravity:x",'
    )
    assert "antigravity" in text
    path.write_text(text)
    figures = FirstFigures(tmp_path / "run", DEMO, load(DEMO).dataset)
    RunFollower(tmp_path / "run", figures.count).look()
    assert "antigravity" not in sys.modules
    assert figures.counts


def test_without_its_dataset_a_run_has_no_figures(tmp_path: Path) -> None:
    metal.judge(DEMO, "fake:blind", languages="hi", criteria="task_quality", out=tmp_path / "run")
    figures = FirstFigures(tmp_path / "run", tmp_path / "gone", None)
    RunFollower(tmp_path / "run", figures.count).look()
    assert figures.counts == {}
    assert "gone" in figures.why


def test_replies_without_an_answer_have_their_reason(tmp_path: Path, server: LlmServer) -> None:
    server.faults = first_attempts(Fault("malformed", text="no idea"), times=9)
    judged(tmp_path / "run", server, limit=4, reask=0)
    (judge,) = RunFollower(tmp_path / "run").look().judges
    assert (judge.answered, judge.without) == (0, {"unparsable": 4})
