"""`metal init` answered with nothing but Enter, in a terminal, reaches its end whatever lies in the
folder.
"""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import DEMO
from tests.cli.forks import ROOT, Metal, environment
from tests.saying import tells

SECONDS = 240
PROMPT = re.compile(rb"[\])]: ?$")
CONTROLS = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\r")
PEOPLE = "text,language,rater_1,rater_2\n" + "".join(
    f"text {n},English,{n % 3 + 1},{n % 2 + 1}\n" for n in range(12)
)
SENTENCE = "Ilé ẹ̀kọ́ náà ti ṣí ní ọjọ́ Ajé, àwọn ọmọ sì ti padà sí kíláàsì wọn. "


def only_enters(folder: Path, **variables: str) -> str:
    """What `metal init` shows in a terminal in which somebody presses Enter at every question; it
    ends with 0.
    """
    main, terminal = pty.openpty()
    env = (
        environment(folder)
        | {"PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "200"}
        | variables
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "metal", "init"],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        cwd=folder,
        env=env,
        start_new_session=True,
    )
    os.close(terminal)
    shown, answered = b"", 0
    while True:
        try:
            more = os.read(main, 1 << 16)
        except OSError:  # nobody holds the other end any more
            break
        shown += more
        if PROMPT.search(shown) and len(shown) > answered:
            answered = len(shown)
            os.write(main, b"\r")
    os.close(main)
    text = CONTROLS.sub("", shown.decode("utf-8", "replace"))
    assert process.wait(SECONDS) == 0, text
    return text


@pytest.mark.slow
def test_enter_at_every_question_in_an_empty_folder_shows_the_demo(tmp_path: Path) -> None:
    assert "metal audit RATINGS.csv" in only_enters(tmp_path)


def test_enter_at_every_question_beside_a_table_audits_it(tmp_path: Path) -> None:
    with_judge = re.sub(r",(\d)\n", r",\1,\1\n", PEOPLE).replace("rater_2\n", "rater_2,gpt_4o\n", 1)
    (tmp_path / "ratings.csv").write_text(with_judge, encoding="utf-8")
    shown = only_enters(tmp_path)
    assert tells(shown, "metal import ratings.csv", "-i --out datasets/ratings")
    assert (tmp_path / "runs" / "ratings" / "report.html").is_file()


@pytest.mark.slow
def test_enter_at_every_question_beside_a_table_of_people_prepares_a_judge(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(PEOPLE, encoding="utf-8")
    shown = only_enters(tmp_path)
    assert "Nothing was asked yet: set OPENAI_API_KEY" in shown
    assert tells(
        shown,
        "Then: metal judge",
        "datasets/people --judge openai:gpt-4o-mini",
        "--question '",
        "overall?'",
        "--out runs/people-judges",
    )
    assert "Then: metal audit datasets/people runs/people-judges\n" in shown
    again = only_enters(tmp_path)  # the dataset that this made
    assert "[datasets/people]" in again
    assert "What it would cost" in again or "Calls to make" in again


def test_enter_where_money_would_be_spent_sends_nothing(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(PEOPLE, encoding="utf-8")
    shown = only_enters(tmp_path, OPENAI_API_KEY="sk-none", OPENAI_BASE_URL="http://127.0.0.1:9/v1")
    assert "Nothing was sent." in shown
    assert "To do: metal judge datasets/people" in shown
    assert "To do: metal audit datasets/people runs/people-judges" in shown


@pytest.mark.slow
def test_enter_at_every_question_beside_yoruba_passages_draws_yoruba(tmp_path: Path) -> None:
    passages = [
        {"id": str(n), "url": "u", "title": f"T{n}", "summary": "S", "text": f"{n} {SENTENCE * 5}"}
        for n in range(40)
    ]
    lines = "".join(json.dumps(passage, ensure_ascii=False) + "\n" for passage in passages)
    (tmp_path / "yoruba_test.jsonl").write_text(lines, encoding="utf-8")
    shown = only_enters(tmp_path)
    assert (
        "metal sample --source yoruba_test.jsonl --languages yo --out datasets/mine --allow-fewer\n"
        in shown
    )
    assert tells(shown, "Then:", "metal annotate export", "datasets/mine --to html", "--raters 3")
    assert (
        json.loads((tmp_path / "datasets/mine/sources.jsonl").read_text("utf-8").splitlines()[0])[
            "language"
        ]
        == "yo"
    )
    again = only_enters(tmp_path)
    assert tells(again, "Then: metal generate", "datasets/mine --model openai:gpt-4o-mini")


def test_enter_at_every_question_beside_a_dataset_nobody_rated_hands_it_out(
    processes: Metal, tmp_path: Path
) -> None:
    metal = processes.at(tmp_path, environment(tmp_path))
    outputs = "output,language,text,rater,kind,score\no1,en,One.,J,llm,1\no2,en,Two.,J,llm,2\n"
    (tmp_path / "judged.csv").write_text(outputs, encoding="utf-8")
    metal("import", "judged.csv", "--out", "datasets/judged")
    shown = only_enters(tmp_path)
    name = re.search(r"Question to people about (\w+) \[", shown)
    assert name
    new = (f"metal criterion new {name[1]} ", "--scale 1=1,2=2", "--question '")
    assert tells(shown, *new)
    export = ("datasets/judged --to html", "--raters 3", "--prompt-folders prompts")
    assert tells(shown, "metal annotate export", *export)
    assert len([*(tmp_path / "runs/judged-html").glob("*.html")]) == 3


@pytest.mark.parametrize("variable", ["", "http://127.0.0.1:1/v1"])
def test_a_judge_that_is_somewhere_is_asked_for_its_address(metal: Metal, variable: str) -> None:
    env = {**metal.env, "OPENAI_COMPATIBLE_BASE_URL": variable}
    address = "" if variable else "http://127.0.0.1:9/v1\n"
    done = metal.at(metal.cwd, env)(
        "init", typed=f"judge\n{DEMO}\nopenai-compatible:qwen3\n{address}n\n"
    )
    typed = f"metal judge {DEMO} --judge openai-compatible:qwen3"
    assert typed + ("" if variable else " --base-url http://127.0.0.1:9/v1") + " --out" in done.out


def test_the_number_of_people_is_asked_for(metal: Metal) -> None:
    done = metal("init", typed="dataset\nxlsum\nsw\nnews\nopenai:gpt-4o\n2\n5\nn\n")
    handed_out = ("datasets/news --to html", "--raters 2", "--people 5")
    assert tells(done.out, "metal annotate export", *handed_out)
