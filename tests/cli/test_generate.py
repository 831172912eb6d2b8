"""`metal generate` as people run it: what is on the wire, what the dataset then holds, what goes
wrong on the way.
"""

from __future__ import annotations

import json
import signal
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from metal.data.dataset import (
    Card,
    assemble,
    load_dataset,
    save_dataset,
    update_dataset,
    with_parts,
)
from metal.data.metal_criteria import METAL_CRITERIA, metal_criterion
from metal.data.ratings import facts_from
from metal.data.records import Output, Rater, Rating, Source
from tests.cli.forks import Metal
from tests.cli.runs import KEY, records, snapshot, until
from tests.llm_server import Fault, LlmServer, always, prompt_digest, rejects_parameters
from tests.saying import tells

MODEL = "openai:gpt-4o"
GOOD, BAD = f"{MODEL}/good", f"{MODEL}/bad"
EACH = 4  # passages of each language
SENTENCES = {
    "ar": [
        "صوّت المجلس يوم الاثنين على إبقاء العبّارة رقم {n}.",
        "ستُدفع الخسارة من رسوم المواقف في المدينة.",
        "طالب التجار بذلك منذ بداية الربيع الماضي.",
        "أراد المعارضون إنفاق المال على إصلاح الجسر القديم.",
    ],
    "en": [
        "The council voted on Monday to keep ferry number {n}.",
        "It will pay the yearly loss from parking fees.",
        "Traders had asked for this since early spring.",
        "Opponents wanted to spend the money on the old bridge.",
    ],
    "zh": [
        "市议会周一投票决定保留第{n}号渡轮。",
        "每年的亏损将由全市的停车费支付。",
        "商户自今年春天以来一直要求这样做。",
        "反对者希望把这笔钱用于修理旧桥。",
    ],
}
REFERENCES = {"ar": "قرر المجلس إبقاء العبّارة.", "en": "The ferry stays.", "zh": "渡轮将保留。"}
SOURCES = [
    Source(f"{code}-{n}", code, " ".join(lines * 2).format(n=n), f"Title {n}", (REFERENCES[code],))
    for code, lines in SENTENCES.items()
    for n in range(EACH)
]
PASSAGES = len(SOURCES)


def a_dataset(
    folder: Path,
    sources: list[Source] = SOURCES,
    outputs: tuple[Output, ...] = (),
    rated: tuple[str, ...] = (),
) -> Path:
    """A dataset as `metal sample` leaves it; rated: outputs that a person has rated."""
    ratings = facts_from([Rating(output, "task_quality", "A1", 1.0) for output in rated])
    raters = [Rater("A1", "human", "native")] if rated else []
    criteria = [metal_criterion(name) for name in METAL_CRITERIA]
    save_dataset(
        assemble(Card("made"), criteria, sources, outputs, raters, ratings),
        folder,
        force=folder.exists(),
    )
    return folder


def medium(prompts: Path, system: str = "You.") -> Path:
    """The instruction of a quality that METAL does not have, in a folder of prompts."""
    path = prompts / "generate" / "medium.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'system = "{system}"\nuser = "{{{{ source }}}}"\ntemperature = 0.5\n')
    return path


def rate(folder: Path, names: list[str]) -> None:
    """A person rates these outputs of a dataset."""
    dataset = load_dataset(folder)
    facts = facts_from([Rating(name, "task_quality", "A1", 1.0) for name in names])
    update_dataset(
        with_parts(dataset, raters=[Rater("A1", "human", "native")], facts=facts), folder
    )


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    return a_dataset(tmp_path / "mine")


def outputs(folder: Path) -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for line in (folder / "outputs.jsonl").read_text(encoding="utf-8").splitlines()
    ]


def chosen(folder: Path) -> set[str]:
    return {one["output"] for one in outputs(folder) if one.get("chosen", True)}


def card(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "dataset.toml").read_text(encoding="utf-8"))


def answer_with(server: LlmServer, **texts: str) -> None:
    """The text that comes for a quality instead of the server's own."""

    def answer(prompt: str, body: Any) -> str:
        quality = "bad" if "adversarial" in prompt else "good"
        text = texts.get(quality, f"<{prompt_digest(prompt)}>")
        return json.dumps({"summary": text, "justification": "So."}, ensure_ascii=False)

    server.answer = answer


def said_to(body: dict[str, Any]) -> str:
    """All that a request says, in one text."""
    parts = [message["content"] for message in body["messages"]]
    return "\n".join(
        part if isinstance(part, str) else "".join(one["text"] for one in part) for part in parts
    )


# ---------------------------------------------------------------- a whole run


@pytest.mark.parametrize("model", [MODEL, f"guidance:{MODEL}"])
def test_temperatures_and_schema_are_on_the_wire(
    model: str, metal: Metal, llm_server: LlmServer, mine: Path
) -> None:
    metal("generate", mine, "-m", model)
    bodies = [body for body in llm_server.bodies if "messages" in body]
    assert len(bodies) == llm_server.requests == 2 * PASSAGES
    for body in bodies:
        assert body["temperature"] == (1 if "adversarial" in said_to(body) else 0)
        sent = body["response_format"]["json_schema"]["schema"]
        assert sent["required"] == ["summary", "justification"]
        assert {name: field["type"] for name, field in sent["properties"].items()} == dict.fromkeys(
            ["summary", "justification"], "string"
        )
    assert Counter(body["temperature"] for body in bodies) == {0: PASSAGES, 1: PASSAGES}
    whole = "\n".join(map(said_to, bodies))
    for source in SOURCES:
        assert whole.count(source.text) == 2
    about = card(mine)["generators"]
    through = "guidance" if model.startswith("guidance") else "structured output"
    assert {one["through"] for one in about.values()} == {through}
    assert {one["family"] for one in about.values()} == {"gpt"}


def test_what_a_dataset_then_holds(
    metal: Metal, llm_server: LlmServer, mine: Path, tmp_path: Path
) -> None:
    done = metal("generate", mine, "-m", MODEL, "-q", "good,bad,reference")
    found = outputs(mine)
    assert Counter(one["generator"] for one in found) == {
        GOOD: PASSAGES,
        BAD: PASSAGES,
        "reference": PASSAGES,
    }
    assert Counter(one["source"] for one in found if one.get("chosen", True)) == dict.fromkeys(
        (source.source for source in SOURCES), 1
    )
    by_name = {one["output"]: one for one in found}
    first = by_name[f"ar-0/{GOOD}"]
    # in Arabic letters, as the server wrote it
    assert first["text"] == " ".join(SENTENCES["ar"][:2]).format(n=0)
    assert first["note"].startswith("Because of")
    assert first["tokens"] > 20
    assert by_name["zh-1/reference"]["text"] == REFERENCES["zh"]
    assert "note" not in by_name["zh-1/reference"]
    assert not [one for one in found if "flags" in one]
    about = card(mine)["generators"]
    assert set(about) == {GOOD, BAD, "reference"}
    assert about["reference"] == {"quality": "reference", "family": "people"}
    for name, quality, temperature in ((GOOD, "good", 0), (BAD, "bad", 1)):
        assert about[name]["model"] == MODEL
        assert about[name]["quality"] == quality
        assert about[name]["prompt"].startswith(f"{quality}@")
        assert about[name]["asked_temperature"] == temperature
        assert about[name]["sent"] == {"temperature": temperature, "structured": "json_schema"}
        assert about[name]["versions"] == {"gpt-4o-2026-01-01 fp_1": PASSAGES}
        assert "rejected" not in about[name]
    assert card(mine)["generate"] == {"seed": 0, "choose": "one", "keep_flagged": False}
    assert card(mine)["counts"]["outputs"] == 3 * PASSAGES
    run = tomllib.loads((tmp_path / "runs" / "mine-generate" / "run.toml").read_text())
    assert run["settings"]["state"] == {"outputs": 3 * PASSAGES, "not_asked": 0, "complete": True}
    assert "warning" not in done.said
    assert max(map(len, done.out.splitlines())) <= 80 + len(str(tmp_path)) * 2
    before = snapshot(mine)
    metal("generate", mine, "-m", MODEL, "-q", "good,bad,reference")
    metal("generate", "--resume", "runs/mine-generate")
    assert llm_server.requests == 2 * PASSAGES
    assert snapshot(mine) == before


def test_what_else_lies_in_the_dataset_survives(
    metal: Metal, llm_server: LlmServer, mine: Path
) -> None:
    instruction = medium(mine / "prompts", "You write in {{ language }}.").read_bytes()
    (mine / "lengths.svg").write_bytes(b"<svg/>\xff")
    (mine / "annotation" / "round 1").mkdir(parents=True)
    (mine / "annotation" / "round 1" / "ar-1.html").write_text("صفحة", encoding="utf-8")
    (mine / "link").symlink_to("lengths.svg")
    others = {
        name: body
        for name, body in snapshot(mine).items()
        if not name.endswith((".jsonl", ".toml", ".parquet"))
    }
    metal("generate", mine, "-m", MODEL, "-q", "medium")
    after = snapshot(mine)
    assert others.items() <= after.items()
    assert after["prompts/generate/medium.toml"] == instruction
    assert (mine / "link").is_symlink()
    assert {body["temperature"] for body in llm_server.bodies} == {0.5}
    assert {one["generator"] for one in outputs(mine)} == {f"{MODEL}/medium"}


@pytest.mark.slow
def test_judges_are_shown_what_is_chosen_only(
    metal: Metal, llm_server: LlmServer, mine: Path
) -> None:
    metal("generate", mine, "-m", MODEL)
    before = llm_server.requests
    metal("judge", mine, "-j", "openai:gpt-4o-mini", "-c", "task_quality", "--out", "judged")
    assert llm_server.requests - before == PASSAGES
    asked = {record["output"] for record in records(mine.parent / "judged")}
    assert asked == chosen(mine)
    metal("generate", "--resume", "runs/mine-generate", "--choose", "all")
    metal("judge", mine, "-j", "openai:gpt-4o-mini", "-c", "task_quality", "--out", "judged")
    # of equal texts one is asked
    table = pd.read_parquet(mine.parent / "judged" / "ratings.parquet")
    assert set(table["output"]) == {one["output"] for one in outputs(mine)}
    assert len(table) == 2 * PASSAGES
    metal("generate", "--resume", "runs/mine-generate")
    assert len(chosen(mine)) == 2 * PASSAGES
    metal("generate", "--resume", "runs/mine-generate", "--choose", "one")
    assert chosen(mine) == asked


def test_outputs_that_people_brought_stay_as_they_are(
    metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    theirs = (
        Output("x", "en-0", "a person", "en", "A text."),
        Output("y", "en-0", "other", "en", "", chosen=False),
    )
    folder = a_dataset(tmp_path / "theirs", outputs=theirs, rated=("x",))
    metal("generate", folder, "-m", MODEL, "-l", "en")
    found = load_dataset(folder)
    assert (found.outputs["x"], found.outputs["y"]) == theirs
    assert len(found.outputs) == 2 + 2 * EACH
    assert len(found.ratings) == 1
    assert found.raters["A1"].kind == "human"


# ---------------------------------------------------------------- stopped and resumed


@pytest.mark.slow
def test_killed_and_resumed(
    metal: Metal, llm_server: LlmServer, mine: Path, tmp_path: Path
) -> None:
    run = tmp_path / "r"
    untouched = snapshot(mine)
    for number in (3, 8):
        # it cannot end before the kill
        llm_server.held_from = llm_server.requests + number - len(records(run)) + 1
        started = metal.start("generate", mine, "-m", MODEL, "--concurrency", "2", "--out", run)
        until(lambda number=number, started=started: len(records(run)) >= number or started.over)
        started.send(signal.SIGKILL)
        assert started.wait().code == -signal.SIGKILL
        llm_server.settle()
        assert snapshot(mine) == untouched
    llm_server.release()
    known = {record["key"] for record in records(run)}
    assert 8 <= len(known) < 2 * PASSAGES
    seen, lost = llm_server.requests, llm_server.requests - len(known)
    assert lost <= 4  # in flight at the two kills
    metal("generate", "--resume", run)
    assert llm_server.requests == seen + 2 * PASSAGES - len(known)
    assert len(records(run)) == len({record["key"] for record in records(run)}) == 2 * PASSAGES
    assert len(outputs(mine)) == 2 * PASSAGES


def test_a_dataset_that_a_kill_left_aside_is_put_back(
    metal: Metal, llm_server: LlmServer, mine: Path
) -> None:
    """Between taking the old folder away and putting the new one in its place."""
    metal("generate", mine, "-m", MODEL, "-l", "en", "--limit", "2")
    mine.rename(mine.with_name(".mine.4194000.old"))
    metal("generate", "--resume", "runs/mine-generate")
    assert len(outputs(mine)) == 2 * EACH


@pytest.mark.slow
def test_ctrl_c_keeps_what_has_come(
    metal: Metal, llm_server: LlmServer, mine: Path, tmp_path: Path
) -> None:
    llm_server.held_from = 5
    started = metal.start("generate", mine, "-m", MODEL, "--concurrency", "2", "--out", "r")
    until(lambda: (len(records(tmp_path / "r")) == 4 and llm_server.in_flight == 2) or started.over)
    started.send(signal.SIGINT)
    until(lambda: "calls in flight" in started.files["err"].read_text() or started.over)
    llm_server.release()
    done = started.wait()
    assert done.code == 130
    assert "Traceback" not in done.err
    assert tells(done.said, "metal generate", "--resume r")
    assert len(outputs(mine)) == len(records(tmp_path / "r")) == llm_server.requests == 6
    metal("generate", "--resume", "r")
    assert llm_server.requests == len(outputs(mine)) == 2 * PASSAGES


# ---------------------------------------------------------------- faults


def test_faults_are_counted_and_told(
    metal: Metal, llm_server: LlmServer, mine: Path, tmp_path: Path
) -> None:
    faults = {
        "ferry number 0": Fault("refusal"),
        "ferry number 1": Fault("content_filter"),
        "ferry number 2": Fault("truncated"),
        "ferry number 3": Fault("malformed"),
    }
    passing = {
        "第0号": Fault("429", retry_after=0.05),
        "第1号": Fault("500"),
        "第2号": Fault("malformed"),
    }

    def fault(call: Any) -> Fault | None:
        lasting = next((one for text, one in faults.items() if text in call.prompt), None)
        return lasting or next(
            (one for text, one in passing.items() if text in call.prompt and call.attempt == 1),
            None,
        )

    llm_server.faults = fault
    done = metal("generate", mine, "-m", MODEL, "-l", "en,zh", "--concurrency", "2")
    for name in (GOOD, BAD):
        said = done.said.split(f"{name}: no text: ")[1].split(f"{MODEL}/")[0]
        for kind in ("1 refused", "1 filtered", "1 truncated", "1 unparsable"):
            assert kind in said
        assert f"{name}: 2 replies" in done.said
    assert "no score" not in done.said
    assert tells(done.said, "4 passages in 1 language;", "4 of 4.")
    assert {one["source"] for one in outputs(mine)} == {f"zh-{n}" for n in range(EACH)}
    assert Counter(one["generator"] for one in outputs(mine)) == {GOOD: EACH, BAD: EACH}


def test_a_model_that_takes_no_temperature(metal: Metal, llm_server: LlmServer, mine: Path) -> None:
    llm_server.faults = rejects_parameters("temperature")
    done = metal("generate", mine, "-m", MODEL, "-l", "en", "--concurrency", "1")
    assert llm_server.requests == 2 * EACH + 1
    about = card(mine)["generators"]
    for name in (GOOD, BAD):
        assert tells(done.said, f"{name}:", "without temperature", "rejects")
        assert "temperature" in about[name]["rejected"]
        assert about[name]["sent"] == {"structured": "json_schema"}
    assert about[BAD]["asked_temperature"] == 1


def test_hostile_texts_and_versions(metal: Metal, llm_server: LlmServer, tmp_path: Path) -> None:
    texts = [
        "{{ 7*7 }} {% for x in y %}",
        "half \ud83d",
        "\x00\x1b[2J\u202e\u2028",
        '"""\n[criteria]',
        "=1+1",
        "plain",
    ]
    sources = [
        Source(f"s{n}", "en", f"The passage number {n}: {text}") for n, text in enumerate(texts)
    ]
    folder = a_dataset(tmp_path / "d", sources)
    llm_server.answer = lambda prompt, body: json.dumps(
        {"summary": "t \ud83d \x00\x1b[31m\n</script>", "justification": "\ud800"}
    )
    llm_server.faults = always(
        Fault("model_version", model='v\ud83d"\n]\x1b[0m', fingerprint="\x00'")
    )
    done = metal("generate", folder, "-m", MODEL)
    assert not set(done.out + done.err) & {"\x1b", "\x00", "\u202e"}
    found = load_dataset(folder)
    assert len(found.outputs) == 2 * len(texts)
    assert all("</script>" in one.text for one in found.outputs.values())
    assert "warning: openai" not in done.said


def test_the_key_is_in_no_file(
    metal: Metal, llm_server: LlmServer, mine: Path, tmp_path: Path
) -> None:
    answer_with(llm_server, good=f"The key is {KEY}.", bad=f"{KEY}")
    llm_server.faults = lambda call: (
        Fault("400", text=f"temperature is not supported with {KEY}")
        if "temperature" in call.body
        else None
    )
    done = metal("generate", mine, "-m", MODEL)
    assert llm_server.requests > 2 * PASSAGES
    assert KEY not in done.out + done.err
    assert not [name for name, body in snapshot(tmp_path).items() if KEY.encode() in body]
    assert {one["text"] for one in outputs(mine)} == {"The key is [key hidden].", "[key hidden]"}


# ---------------------------------------------------------------- what is paid for


def test_a_dry_run_sends_and_writes_nothing(
    metal: Metal, llm_server: LlmServer, mine: Path, tmp_path: Path
) -> None:
    del metal.env["OPENAI_API_KEY"]
    before = snapshot(tmp_path)
    done = metal("generate", mine, "-m", MODEL, "--dry-run")
    assert llm_server.requests == 0
    assert snapshot(tmp_path) == before
    assert "Nothing was sent." in done.said
    assert "12 passages, quality good, bad" in done.said
    assert "Write a" in done.said or "Summarise" in done.said
    assert "$" in done.said


@pytest.mark.slow
def test_max_cost_and_limit(
    metal: Metal, llm_server: LlmServer, mine: Path, tmp_path: Path
) -> None:
    refused = metal.refused(
        "generate", mine, "-m", "openai:own-tune", "--max-cost", "1", "--out", "r"
    )
    assert "price of openai:own-tune is not known" in refused
    done = metal("generate", mine, "-m", MODEL, "--max-cost", "0.03", "--out", "r")
    assert tells(done.said, "Stopped", "--max-cost")
    spent = 0.0
    for record in records(tmp_path / "r"):
        tokens_in, tokens_out = record["tokens"]
        spent += (tokens_in * 2.5 + tokens_out * 10) / 1e6
    metal("report", "r")  # which does not know what the calls cost, and keeps it
    (listed,) = [row for row in json.loads(metal("ls", "--json").out) if row["path"] == "r"]
    assert (listed["kind"], listed["state"]) == ("generate", "stopped")
    assert listed["cost"] == pytest.approx(spent)
    made = records(tmp_path / "r")
    assert 0 < len(made) < 2 * PASSAGES
    assert sum(one["tokens"][0] * 2.5 + one["tokens"][1] * 10 for one in made) / 1e6 <= 0.03
    assert len(outputs(mine)) == len(made)
    before = llm_server.requests
    done = metal("generate", "--resume", "r", "--limit", "2")
    assert tells(done.said, "$0.03", "--max-cost")  # the limit holds
    assert llm_server.requests == before
    metal("generate", "--resume", "r", "--limit", "2", "--max-cost", "inf")
    assert llm_server.requests == before + 2
    done = metal("generate", "--resume", "r")
    assert llm_server.requests == 2 * PASSAGES
    assert "not made" not in done.said


@pytest.mark.slow
def test_more_models_qualities_and_languages_pay_for_the_new_part(
    metal: Metal, llm_server: LlmServer, mine: Path
) -> None:
    base = ("generate", mine, "--out", "r")
    for command, requests, found in (
        ((*base, "-m", MODEL, "-q", "good", "-l", "en"), EACH, EACH),
        ((*base, "-m", MODEL, "-q", "good,bad", "-l", "en"), 2 * EACH, 2 * EACH),
        ((*base, "-m", MODEL, "-q", "good,bad,reference", "-l", "en"), 2 * EACH, 3 * EACH),
        ((*base, "-m", MODEL, "-q", "good,bad,reference", "-l", "en,zh"), 4 * EACH, 6 * EACH),
        (
            (*base, "-m", f"{MODEL},openai:gpt-4o-mini", "-q", "good,bad,reference", "-l", "en,zh"),
            8 * EACH,
            10 * EACH,
        ),
        (
            (*base, "-m", f"{MODEL},openai:gpt-4o-mini", "-q", "good,bad,reference"),
            12 * EACH,
            15 * EACH,
        ),
    ):
        metal(*command)
        assert llm_server.requests == requests
        assert len(outputs(mine)) == found
    assert set(llm_server.counts.values()) == {2}
    said = metal.refused(*base, "-m", MODEL, "-q", "good,bad,reference")
    assert f"begun with --model '{MODEL}, openai:gpt-4o-mini'; ask" in said


@pytest.mark.slow
def test_another_run_adds_to_the_dataset(metal: Metal, llm_server: LlmServer, mine: Path) -> None:
    metal("generate", mine, "-m", MODEL, "-l", "en", "--out", "first")
    metal("generate", mine, "-m", "openai:gpt-4o-mini", "-l", "en,zh", "--out", "second")
    about = card(mine)["generators"]
    assert set(about) == {
        f"openai:{model}/{quality}"
        for model in ("gpt-4o", "gpt-4o-mini")
        for quality in ("good", "bad")
    }
    assert about[GOOD]["versions"] == {"gpt-4o-2026-01-01 fp_1": EACH}
    assert len(outputs(mine)) == 6 * EACH
    assert Counter(name.split("/")[0] for name in chosen(mine)) == {
        f"{c}-{n}": 1 for c in ("en", "zh") for n in range(EACH)
    }
    done = metal("generate", mine, "-m", MODEL, "--reuse", "first", "--out", "third")
    assert "8 answers taken from first" in done.said
    assert llm_server.requests == 2 * EACH + 4 * EACH + 4 * EACH
    assert len(outputs(mine)) == 2 * PASSAGES + 4 * EACH


def test_what_another_run_sent_stays_recorded(
    metal: Metal, llm_server: LlmServer, mine: Path
) -> None:
    metal("generate", mine, "-m", MODEL, "-l", "en", "--out", "first")
    before = card(mine)["generators"]
    # a good one, no bad one
    metal("generate", mine, "-m", MODEL, "-l", "zh", "--limit", "1", "--out", "second")
    now = card(mine)["generators"]
    assert now[BAD] == before[BAD]
    assert (
        now[GOOD]["sent"] == before[GOOD]["sent"] == {"temperature": 0, "structured": "json_schema"}
    )


def test_references_need_no_model(metal: Metal, llm_server: LlmServer, mine: Path) -> None:
    del metal.env["OPENAI_API_KEY"]
    done = metal("generate", mine, "-q", "reference", "-l", "ar,zh", "-v")
    assert llm_server.requests == 0
    assert len(outputs(mine)) == 2 * EACH == len(chosen(mine))
    # Nobody was asked, so that no text is missing.
    assert f"Chinese reference reference {EACH} – 0 0 {EACH}" in done.said
    assert "replies" not in done.said
    dry = metal("generate", mine, "-q", "reference", "--dry-run", "--out", "other")
    assert "No calls to make: 12 passages, quality reference. Nothing was sent." in dry.said


# ---------------------------------------------------------------- refused


def test_what_is_missing_or_wrong_is_told_before_anything_is_written(
    metal: Metal, llm_server: LlmServer, mine: Path, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    a_dataset(tmp_path / "textless", [Source("s", "en", " ")])
    before = snapshot(tmp_path)

    def refused(*command: object) -> str:
        said = metal.refused("generate", *command)
        assert snapshot(tmp_path) == before
        return said

    assert "give a dataset" in refused()
    assert "--model" in refused(mine)
    assert "did you mean 'good'" in refused(mine, "-m", MODEL, "-q", "god")
    assert "known: ar (Arabic), en (English), zh (Chinese)" in refused(
        mine, "-m", MODEL, "-l", "sw"
    )
    assert "not a dataset" in refused("empty", "-m", MODEL)
    assert "no such dataset" in refused("nowhere", "-m", MODEL)
    assert "no passages with a text" in refused("textless", "-m", MODEL)
    assert "provider" in refused(mine, "-m", "gpt:4")
    assert "no such folder" in refused(mine, "-m", MODEL, "--prompt-folders", "nowhere")
    assert "no journal.jsonl" in refused(mine, "-m", MODEL, "--reuse", "empty")
    assert "is inside the dataset" in refused(mine, "-m", MODEL, "--out", mine / "run")
    assert "is inside the dataset" in refused(mine, "-m", MODEL, "--out", mine)
    assert "no run to continue" in refused("--resume", "empty")
    for model in (MODEL, f"guidance:{MODEL}"):
        metal.env.pop("OPENAI_API_KEY", None)
        assert "OPENAI_API_KEY" in refused(mine, "-m", model)
    assert llm_server.requests == 0


@pytest.mark.slow
def test_from_inside_the_dataset(metal: Metal, llm_server: LlmServer, mine: Path) -> None:
    """It is written anew: who stands in it would stand in a folder that is no more."""
    before = snapshot(mine)
    inside = metal.at(mine, metal.env)
    assert "outside" in inside.refused("generate", ".", "-m", MODEL, "--out", "../r")
    assert snapshot(mine) == before
    assert llm_server.requests == 0


@pytest.mark.slow
def test_changes_under_a_run_are_refused(
    metal: Metal, llm_server: LlmServer, mine: Path, tmp_path: Path
) -> None:
    medium(tmp_path / "own")
    (tmp_path / "judges.toml").write_text(f'[judges.fast]\nmodel = "{MODEL}"\n')
    base = (
        "generate",
        mine,
        "-m",
        "fast",
        "-q",
        "medium",
        "--prompt-folders",
        "own",
        "-l",
        "en",
        "--out",
        "r",
    )
    metal(*base)
    other = a_dataset(tmp_path / "other")
    assert "is a run over" in metal.refused(*base[:1], other, *base[2:])
    assert "--quality medium" in metal.refused(
        "generate", mine, "-m", "fast", "-q", "good", "--out", "r"
    )
    (tmp_path / "judges.toml").write_text(
        f'[judges.fast]\nmodel = "{MODEL}"\nparameters = {{ seed = 3 }}\n'
    )
    assert "judges.toml or the" in metal.refused(*base)
    (tmp_path / "judges.toml").write_text(f'[judges.fast]\nmodel = "{MODEL}"\nconcurrency = 3\n')
    medium(tmp_path / "own", "You!")
    for command in (base, ("generate", "--resume", "r"), (*base[:-1], "elsewhere")):
        assert "medium" in metal.refused(*command)
    assert llm_server.requests == EACH
    for more in (
        ("-m", MODEL),
        ("-q", "bad"),
        ("-l", "zh"),
        ("--out", "s"),
        ("--force",),
        ("--prompt-folders", "own"),
    ):
        assert "--resume r" in metal.refused("generate", "--resume", "r", *more)
    assert "keeps its dataset" in metal.refused("generate", mine, "--resume", "r")
    assert "not a run of LLM judges" in metal.refused("judge", "--resume", "r")


def test_another_prompt_takes_the_place_of_texts_that_nobody_rated(
    metal: Metal, llm_server: LlmServer, mine: Path
) -> None:
    for text, requests in (("You.", EACH), ("You!", 2 * EACH)):
        answer_with(llm_server, good=f"A text by {text}")
        if requests > EACH:
            rate(mine, [f"en-0/{MODEL}/medium"])
            llm_server.faults = lambda call: (
                Fault("refusal") if "ferry number 1" in call.prompt else None
            )
        medium(mine / "prompts", text)
        out = f"runs/{requests}"
        done = metal(
            "generate", mine, "-m", MODEL, "-q", "medium", "-l", "en", "--force", "--out", out
        )
        assert llm_server.requests == requests
    assert {one["output"].split("/")[0]: one["text"] for one in outputs(mine)} == {
        "en-0": "A text by You.", "en-2": "A text by You!", "en-3": "A text by You!",
    }  # fmt: skip
    assert tells(done.said, "1 outputs", "keep their text")


def test_a_prompt_that_brings_nothing_takes_nothing_away(
    metal: Metal, llm_server: LlmServer, mine: Path
) -> None:
    medium(mine / "prompts")
    metal("generate", mine, "-m", MODEL, "-q", "medium", "-l", "en")
    before = outputs(mine), card(mine)
    medium(mine / "prompts", "You!")
    llm_server.faults = always(Fault("401"))
    metal(
        "generate",
        mine,
        "-m",
        MODEL,
        "-q",
        "medium",
        "-l",
        "en",
        "--force",
        "--out",
        "runs/new",
        expect=2,
    )
    assert (outputs(mine), card(mine)) == before


# ---------------------------------------------------------------- flags and choices


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "flag"),
    [
        (
            (
                "The council voted on Monday to keep the ferry and pay its yearly loss from parking"
                " fees."
            ),
            "in English",
        ),
        ("I'm sorry, but I can't help with writing a bad summary of that.", "refuses"),
    ],
)
def test_a_generator_that_goes_wrong(
    text: str, flag: str, metal: Metal, llm_server: LlmServer, mine: Path
) -> None:
    answer_with(
        llm_server, good="صوّت المجلس على إبقاء العبّارة ودفع الخسارة من رسوم المواقف.", bad=text
    )
    done = metal("generate", mine, "-m", MODEL, "-l", "ar")
    assert f"{EACH} of {EACH} texts flagged (" in done.said
    assert f"{EACH} {flag}" in done.said
    assert all(flag in one["flags"] for one in outputs(mine) if one["generator"] == BAD)
    assert chosen(mine) == {f"ar-{n}/{GOOD}" for n in range(EACH)}
    metal("generate", "--resume", "runs/mine-generate", "--keep-flagged", "--seed", "5")
    assert llm_server.requests == 2 * EACH
    assert len(chosen(mine)) == EACH
    assert [name for name in chosen(mine) if name.endswith("/bad")]
    assert card(mine)["generate"] == {"seed": 5, "choose": "one", "keep_flagged": True}


def test_copies_are_flagged_and_a_passage_may_be_left_without_an_output(
    metal: Metal, llm_server: LlmServer, mine: Path
) -> None:
    def copy(prompt: str, body: Any) -> str:
        return json.dumps(
            {
                "summary": next(one.text for one in SOURCES if one.text in prompt),
                "justification": "",
            }
        )

    llm_server.answer = copy
    done = metal("generate", mine, "-m", MODEL)
    assert chosen(mine) == set()
    assert f"{2 * PASSAGES} texts in 3 languages: 0 ready to be rated, {2 * PASSAGES}" in done.said
    assert f"{2 * EACH} copies the passage" in done.said
    assert f"{PASSAGES} passages in 3 languages; in Arabic {EACH} of {EACH}" in done.said
    assert "output is chosen" in metal.refused("judge", mine, "-j", MODEL)
    metal("generate", mine, "-m", MODEL, "--keep-flagged")
    assert llm_server.requests == 2 * PASSAGES
    assert len(chosen(mine)) == PASSAGES


def test_rated_outputs_stay_chosen(metal: Metal, llm_server: LlmServer, mine: Path) -> None:
    metal("generate", mine, "-m", MODEL, "-l", "en")
    usual = chosen(mine)
    others = sorted({one["output"] for one in outputs(mine)} - usual)
    rate(mine, others[:2])
    metal("generate", mine, "-m", f"{MODEL},openai:gpt-4o-mini", "-q", "good,bad,reference", "-l",
        "en", "--seed", "3",
          "--choose", "one")  # fmt: skip
    now = chosen(mine)
    assert set(others[:2]) <= now
    assert Counter(name.split("/")[0] for name in now) == {f"en-{n}": 1 for n in range(EACH)}
    assert len(load_dataset(mine).ratings) == 2


def test_translations_are_expected_in_the_second_language(
    metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    sources = [
        Source(
            f"{pair}-{n}", pair, " ".join(SENTENCES[pair[:2]]).format(n=n), references=(reference,)
        )
        for pair, reference in (
            ("zh-en", SENTENCES["en"][2]),
            ("en-zh", SENTENCES["zh"][2] + SENTENCES["zh"][3]),
        )
        for n in range(2)
    ]
    folder = a_dataset(tmp_path / "pairs", sources)
    answer_with(
        llm_server,
        good="The council keeps the ferry, and the island is relieved.",
        bad="市议会决定保留渡轮,岛上居民都松了一口气。",
    )
    metal("generate", folder, "-m", MODEL)
    assert {(one["language"], one["generator"]): one.get("flags") for one in outputs(folder)} == {
        ("zh-en", GOOD): None, ("zh-en", BAD): ["in Chinese"], ("en-zh", GOOD): ["in English"],
        ("en-zh", BAD): None,
    }  # fmt: skip
    assert {body["temperature"] for body in llm_server.bodies if "in Chinese" in said_to(body)} == {
        0,
        1,
    }


def test_a_dataset_written_by_hand(metal: Metal, llm_server: LlmServer, mine: Path) -> None:
    """Keys of dataset.toml that METAL writes itself hold something else."""
    whole = (mine / "dataset.toml").read_text(encoding="utf-8")
    for line in ('generators = "gpt"', "generators = { a = 1 }", 'sample = "yes"'):
        (mine / "dataset.toml").write_text(f"{line}\n{whole}", encoding="utf-8")
        said = metal.refused("generate", mine, "-m", MODEL, "--out", "r")
        assert f"{line.split()[0].removesuffix('s')}" in said
        assert "take this line out" in said
    (mine / "dataset.toml").write_text(
        f'sample = {{ encoding = "unheard" }}\n{whole}', encoding="utf-8"
    )
    done = metal("generate", mine, "-m", MODEL, "-l", "en", "--out", "r")
    assert tells(done.said, "note: tokens were not", "encoding 'unheard'", "not known")
    assert not [one for one in outputs(mine) if "tokens" in one]


def test_a_passage_that_goes_while_it_is_summarised(
    metal: Metal, llm_server: LlmServer, mine: Path
) -> None:
    """Somebody works on the dataset meanwhile: what is there at the end counts, and nothing of
    theirs is lost.
    """
    llm_server.held_from = 1
    started = metal.start(
        "generate", mine, "-m", MODEL, "-l", "en", "--concurrency", "1", "--out", "r"
    )
    until(lambda: llm_server.requests or started.over)
    kept = [source for source in SOURCES if source.source != "en-0"]
    a_dataset(mine, kept, (Output("x", "en-1", "a person", "en", "A text."),), ("x",))
    llm_server.release()
    done = started.wait()
    assert done.code == 0, done.err
    found = load_dataset(mine)
    assert {one.source for one in found.outputs.values()} == {"en-1", "en-2", "en-3"}
    assert len(found.outputs) == 1 + 2 * 3
    assert len(found.ratings) == 1
