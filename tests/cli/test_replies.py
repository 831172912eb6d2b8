"""`metal replies`: what judges were asked about an output, what they replied, how it was read, what
people said.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from rich.console import Console

import metal
from metal.api.replies import OpenedReplies
from metal.data.dataset import load_dataset, save_dataset
from metal.errors import UnknownName, UsageError
from metal.running import replying
from metal.running.replying import AskedCall
from metal.show.terminal import console
from metal.show.terminal.asking_text import show_block
from metal.show.terminal.console import ON_PAPER
from tests import DEMO
from tests.cli.runs import InProcess, reword
from tests.llm_server import Fault, LlmServer, by_attempt
from tests.saying import tells

JUDGE = "openai:gpt-4o/detailed"
HOSTILE = "Well \x1b[31m\u202eevil `limit`\r\n``` | <script>alert(1)</script>"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[LlmServer]:
    with LlmServer() as server:
        server.answer = lambda prompt, body: json.dumps(
            {"score": 1, "justification": "It is all right."}
        )
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        yield server


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The demo, which people rated, in a folder of its own."""
    shutil.copytree(DEMO, tmp_path / "data")
    return tmp_path / "data"


@pytest.fixture
def commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[InProcess]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    console.of_output.cache_clear()  # it keeps the width
    yield InProcess(tmp_path, capsys)
    console.of_output.cache_clear()


def judged(data: Path, out: Path, **more: Any) -> Path:
    ask: dict[str, Any] = {"criteria": "task_quality", "languages": "en,sw", "out": out}
    metal.judge(data, **{"judge": "openai:gpt-4o", **ask, **more})
    return out


def test_a_table_of_replies_with_people_beside_them(
    server: LlmServer, data: Path, tmp_path: Path
) -> None:
    run = judged(data, tmp_path / "run")
    said = metal.replies(run)
    assert len(said.table) == said.total == 16
    assert set(said.table["language"]) == {"en", "sw"}
    assert set(said.table["judge"]) == {JUDGE}
    assert (said.table["score"] == 1).all()
    dataset = load_dataset(data)
    people = [name for name, rater in dataset.raters.items() if rater.kind == "human"]
    first = said.table.iloc[0]
    ratings = dataset.ratings
    same = ratings[
        (ratings["output"] == first["output"]) & (ratings["criterion"] == "task_quality")
    ]
    scores = same[same["rater"].isin(people)]["score"].dropna()
    assert first["people"] == pytest.approx(scores.mean())
    assert first["raters"] == len(scores) > 1
    assert not said.calls
    assert len(metal.replies(run, language="Swahili").table) == 8
    assert len(metal.replies(run, limit=3).table) == 3
    assert metal.replies(run, limit=3).total == 16
    assert len(metal.replies(run, judge="openai:gpt-4o").table) == 16
    assert metal.replies(run, unread=True).total == 0


def test_a_reply_in_full(server: LlmServer, data: Path, tmp_path: Path) -> None:
    run = judged(data, tmp_path / "run", prompt="simple,detailed")
    name = str(metal.replies(run).table["output"].iloc[0])
    sent = {json.dumps(body["messages"]) for body in server.bodies}
    looked_up = metal.replies(run, name)
    assert [call.judge for call in looked_up.calls] == ["openai:gpt-4o/simple", JUDGE]
    for call in looked_up.calls:
        messages = [
            {"role": "system", "content": call.system},
            {"role": "user", "content": call.user},
        ]
        assert json.dumps(messages) in sent  # to the letter
        assert call.about_messages == ""
        [answer] = call.answers
        assert json.loads(answer.text)["score"] == 1
        assert answer.tokens_in
        assert answer.dollars
        assert answer.reply["choices"][0]["message"]["content"] == answer.text
        own = [rating for rating in call.ratings if rating["kind"] == "llm"]
        assert [(rating["score"], rating["comment"]) for rating in own] == [
            (1.0, "It is all right.")
        ]
        assert len([rating for rating in call.ratings if rating["kind"] == "human"]) > 1
    assert [call.judge for call in metal.replies(run, name, judge=JUDGE).calls] == [JUDGE]


def test_messages_of_a_question_in_one_line_are_built_again(
    server: LlmServer, data: Path, tmp_path: Path
) -> None:
    run = judged(data, tmp_path / "run", question="Does the answer help?", languages="en")
    name = str(metal.replies(run).table["output"].iloc[0])
    [call] = metal.replies(run, name).calls
    assert "Question: Does the answer help?" in (call.user or "")


def test_what_was_asked_twice_shows_both_replies(
    server: LlmServer, data: Path, tmp_path: Path
) -> None:
    server.faults = by_attempt(Fault("text", text="I would rather not say."))
    run = judged(data, tmp_path / "run", languages="en")
    name = str(metal.replies(run).table["output"].iloc[0])
    [call] = metal.replies(run, name).calls
    assert [answer.ask for answer in call.answers] == [1, 2]
    assert call.answers[0].text == "I would rather not say."


def test_what_could_not_be_read_is_listed_and_shown(
    server: LlmServer, data: Path, tmp_path: Path, commands: InProcess
) -> None:
    names = [
        output.output for output in load_dataset(data).outputs.values() if output.language == "en"
    ]
    text = load_dataset(data).outputs[names[0]].text
    server.faults = lambda call: Fault("text", text=HOSTILE) if text in call.prompt else None
    run = judged(data, tmp_path / "run", languages="en")
    listed = metal.replies(run, unread=True)
    assert list(listed.table["output"]) == [names[0]]
    assert list(listed.table["reason"]) == ["unparsable"]
    shown = commands("replies", "run", "--unread")
    assert f"One in full: metal replies run {names[0]}" in shown
    full = commands.printed("replies", "run", names[0])
    assert f"{JUDGE} on task_quality: no score (unparsable)" in full
    assert "\x1b" not in full
    assert "\u202e" not in full
    assert "evil `limit`" in full  # what others wrote is not put into words of the command line
    marked = commands.printed("replies", "run", names[0], "--markdown")
    assert "\x1b" not in marked
    assert "````text\nWell" in marked  # a fence that the reply cannot close
    exact = json.loads(commands.printed("replies", "run", names[0], "--json"))
    assert exact["calls"][0]["answers"][0]["text"] == HOSTILE
    assert json.loads(commands.printed("replies", "run", "--json"))["total"] == 8


def test_messages_that_cannot_be_built_again_are_not_shown(
    server: LlmServer, data: Path, tmp_path: Path
) -> None:
    run = judged(
        data,
        tmp_path / "run",
        languages="en",
        prompt_folders=[str(prompts(tmp_path))],
        prompt="own",
    )
    name = str(metal.replies(run).table["output"].iloc[0])
    assert metal.replies(run, name).calls[0].system == "You judge."
    reword(tmp_path / "prompts" / "judge" / "own.toml", "You judge.", "You rate.")
    [call] = metal.replies(run, name).calls
    assert call.system is None
    assert call.about_messages.startswith("cannot be built again: prompt own task_quality was ")
    assert call.answers[0].text
    reword(tmp_path / "prompts" / "judge" / "own.toml", "You rate.", "You judge.")
    text = load_dataset(data).outputs[name].text
    reword(data / "outputs.jsonl", json.dumps(text, ensure_ascii=False)[1:-1], "Another text.")
    [call] = metal.replies(run, name).calls
    assert tells(call.about_messages, "have changed since")
    shutil.rmtree(data)
    looked_up = metal.replies(run, name)
    assert looked_up.calls[0].about_messages.startswith("cannot be built")
    assert looked_up.notes
    assert looked_up.table["language"].tolist() == [""]


def prompts(folder: Path) -> Path:
    place = folder / "prompts" / "judge"
    place.mkdir(parents=True)
    (place / "own.toml").write_text(
        'system = "You judge."\nuser = "{{ criterion.question }} {{ output }}"\n'
    )
    return folder / "prompts"


def test_another_address_is_told(
    server: LlmServer, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = judged(data, tmp_path / "run", languages="en")
    name = str(metal.replies(run).table["output"].iloc[0])
    monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere.invalid/v1")
    [call] = metal.replies(run, name).calls
    assert tells(call.about_messages, "by the hashes", "address")
    assert call.user


@pytest.mark.slow
def test_an_audit_of_judges_shows_their_replies(
    server: LlmServer, data: Path, tmp_path: Path
) -> None:
    run = judged(data, tmp_path / "run")
    metal.audit(data, run, resamples=100).save(tmp_path / "audit")
    pd.testing.assert_frame_equal(metal.replies(tmp_path / "audit").table, metal.replies(run).table)
    metal.audit(data, resamples=100).save(tmp_path / "alone")
    with pytest.raises(UsageError, match="names no run of judges"):
        metal.replies(tmp_path / "alone")


def test_names_that_are_not_there(
    server: LlmServer, data: Path, tmp_path: Path, commands: InProcess
) -> None:
    run = judged(data, tmp_path / "run", languages="en")
    name = str(metal.replies(run).table["output"].iloc[0])
    with pytest.raises(UnknownName, match=f"output '{name}x' is not known; did you mean '{name}'"):
        metal.replies(run, f"{name}x")
    for more in ({"language": "Swahilli"}, {"criterion": "task_qualty"}, {"judge": "gpt-5"}):
        with pytest.raises(UnknownName):
            metal.replies(run, **more)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="not a run; give the run folder"):
        metal.replies(data)
    assert "--json or --markdown" in commands.refused("replies", "run", "--json", "--markdown")
    (run / "ratings.parquet").unlink()
    with pytest.raises(UsageError, match="no ratings yet"):
        metal.replies(run)


def test_two_names_of_one_model_show_the_reply_that_both_have(
    server: LlmServer, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "judges.toml").write_text('[judges.mine]\nmodel = "openai:gpt-4o"\n')
    run = judged(data, tmp_path / "run", judge="openai:gpt-4o,mine", languages="en")
    name = str(metal.replies(run).table["output"].iloc[0])
    assert {call.judge for call in metal.replies(run, name).calls} == {JUDGE, "mine/detailed"}


def test_all_criteria_in_one_call_are_one_call(
    server: LlmServer, data: Path, tmp_path: Path
) -> None:
    server.answer = None
    run = judged(
        data,
        tmp_path / "run",
        languages="en",
        criteria="task_quality,hallucinations",
        together=True,
    )
    name = str(metal.replies(run).table["output"].iloc[0])
    [call] = metal.replies(run, name, criterion="hallucinations").calls
    assert call.criteria == ("task_quality", "hallucinations")


def test_a_function_has_no_messages_but_replies(data: Path, tmp_path: Path) -> None:
    def fixed(source: str, output: str, criterion: metal.Criterion) -> tuple[float, str]:
        return 1.0, "because"

    run = judged(data, tmp_path / "run", judge=fixed, languages="en")
    name = str(metal.replies(run).table["output"].iloc[0])
    [call] = metal.replies(run, name).calls
    assert call.system is None
    assert call.about_messages.startswith("cannot be built again")
    assert "because" in call.answers[0].text


def test_a_dataset_may_lack_people(server: LlmServer, data: Path, tmp_path: Path) -> None:
    dataset = load_dataset(data)
    bare = dataset.ratings.iloc[:0]
    save_dataset(type(dataset)(**{**vars(dataset), "ratings": bare}), tmp_path / "bare")
    run = judged(tmp_path / "bare", tmp_path / "run", languages="en")
    assert metal.replies(run).table["people"].isna().all()


# ---------------------------------------------------------------- what the score was read from


def passages(call: AskedCall) -> list[list[str]]:
    """The passages that decided, of each answer to a call."""
    return [[answer.text[slice(*span)] for span in answer.read_from] for answer in call.answers]


def test_the_words_that_decided_are_shown(
    server: LlmServer, data: Path, tmp_path: Path, commands: InProcess
) -> None:
    text = "<think>Score: 2?</think>It is <b>short</b>.\n\n**Score: 1**"
    server.answer = lambda prompt, body: text
    run = judged(data, tmp_path / "run", languages="en")
    name = str(metal.replies(run).table["output"].iloc[0])
    looked_up = metal.replies(run, name)
    [call] = looked_up.calls
    begin = text.index("Score: 1")
    assert call.answers[0].read_from == ((begin, begin + len("Score: 1")),)
    assert 'read from: "Score: 1"\n' in commands.printed("replies", "run", name)
    marked = commands.printed("replies", "run", name, "--markdown")
    assert '```\n\nRead from: "Score: 1"\n' in marked
    exact = json.loads(commands.printed("replies", "run", name, "--json"))
    assert exact["calls"][0]["answers"][0]["read_from"] == [[begin, begin + 8]]
    html = looked_up._repr_html_()
    assert "&lt;b&gt;short&lt;/b&gt;.\n\n**<mark>Score: 1</mark>**</pre>" in html


def test_replies_without_a_verdict_mark_what_differs_or_nothing(
    server: LlmServer, data: Path, tmp_path: Path, commands: InProcess
) -> None:
    server.faults = by_attempt(
        Fault("text", text="It is a 1. It is a 2."), Fault("text", text="I would rather not say.")
    )
    run = judged(data, tmp_path / "run", languages="en", reask=2)
    name = str(metal.replies(run).table["output"].iloc[0])
    [call] = metal.replies(run, name).calls
    assert passages(call) == [["It is a 1", "It is a 2"], [], ['"score": 1']]
    shown = commands.printed("replies", "run", name)
    assert 'read from: "It is a 1", "It is a 2"' in shown
    assert shown.count("read from") == 2


def test_replies_to_several_criteria_mark_each_part(
    server: LlmServer, data: Path, tmp_path: Path
) -> None:
    server.answer = None
    criteria = "task_quality,hallucinations"
    run = judged(data, tmp_path / "run", languages="en", criteria=criteria, together=True)
    name = str(metal.replies(run).table["output"].iloc[0])
    [call] = metal.replies(run, name).calls
    [parts] = passages(call)
    assert [part.split(":")[0] for part in parts] == ['"task_quality"', '"hallucinations"']


def test_nothing_is_marked_if_the_question_is_not_the_one_that_was_asked(
    server: LlmServer, data: Path, tmp_path: Path
) -> None:
    own = [str(prompts(tmp_path))]
    run = judged(data, tmp_path / "run", languages="en", prompt_folders=own, prompt="own")
    name = str(metal.replies(run).table["output"].iloc[0])
    assert passages(metal.replies(run, name).calls[0]) == [['"score": 1']]
    reword(tmp_path / "prompts" / "judge" / "own.toml", "You judge.", "You rate.")
    assert passages(metal.replies(run, name).calls[0]) == [[]]


def test_passages_are_highlighted_where_the_output_has_styles() -> None:
    text = "Well.\r\nScore:\r\n\r\n1 of 5\x1b[31m\r"
    begin, end = text.index("Score"), text.index(" of")
    paper = Console(file=StringIO(), force_terminal=True, color_system="standard", width=80)
    token = ON_PAPER.set(paper)
    try:
        show_block("reply", text, [(begin, end)])
    finally:
        ON_PAPER.reset(token)
    assert isinstance(paper.file, StringIO)
    printed = paper.file.getvalue()
    assert "Well.\n\x1b[1;7mScore:\x1b[0m\n\n\x1b[1;7m1\x1b[0m of 5\ufffd[31m" in printed
    assert "read from" not in printed
    assert "\x1b" not in re.sub(r"\x1b\[[\d;]*m", "", printed)


def test_opened_replies_read_journal_and_dataset_once(
    server: LlmServer, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = judged(data, tmp_path / "run", prompt="simple,detailed")
    opened = OpenedReplies.of(run)
    names = list(dict.fromkeys(opened.table["output"]))
    first = opened.calls(names[0])
    assert first == list(metal.replies(run, names[0]).calls)
    assert [call.judge for call in opened.calls(names[0], judges={JUDGE})] == [JUDGE]
    assert opened.calls(names[0], criteria={"hallucinations"}) == []
    assert opened.calls("elsewhere") == []
    assert opened.dataset is not None
    assert opened.models == dict.fromkeys(["openai:gpt-4o/simple", JUDGE], "openai:gpt-4o")
    monkeypatch.setattr(replying, "judge_job", None)
    shutil.rmtree(data)
    expected = OpenedReplies.of(run)
    for name in names[1:]:
        for call, without in zip(opened.calls(name), expected.calls(name), strict=True):
            assert call.output == without.output == name
            assert call.user
            assert passages(call) == [['"score": 1']]
            assert [answer.text for answer in call.answers] == [
                answer.text for answer in without.answers
            ]
            judges = [rating for rating in call.ratings if rating["kind"] == "llm"]
            assert judges == list(without.ratings)
            assert len(call.ratings) > len(judges)
    lines = (run / "journal.jsonl").read_bytes().splitlines(keepends=True)
    with (run / "journal.jsonl").open("ab") as file:
        file.write(lines[0])  # what arrives later is there
    again = opened.calls(json.loads(lines[0])["output"])
    assert sorted(len(call.answers) for call in again) == [1, 2]
