"""METAL's released prompts: what is sent is what its authors' program would send, to the blank."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from metal.data.records import Criterion, Scale
from metal.errors import DataError, MissingExtra
from metal.raters.judges.prompts import Message, Prompt
from metal.raters.judges.reader import read_reply
from metal.raters.judges.rubric import rubrics_for
from metal.raters.judges.templates import load_template
from tests.conftest import TASK_QUALITY

PROMPTS = Path("prompts")
SYSTEM = (
    "\n# Rôle\nWeigh texts in {language}: {{not a field}} {{{{ nor this }}}} 😀\n-"
    " {format_instructions}\n"
)
HUMAN = (
    "\nTEXT = '{passage}'\nSHORT = '{summary}'\nIN ="
    " '{language}'\n```json\n{metric_description}\n```\n"
)
METRIC = {
    "name": "task_quality",
    "description": "Is it “good”?",
    "scoring": {"0": {"(a)": "no"}, "2": {"(a)": "yes"}},
}
OUTPUT = """
import a_package_that_is_not_there

class Output(BaseModel):
    score: int = Field(name="score", description="The score.")
    justification: str = Field(name="justification", description="Why, **briefly**.")
"""


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """A release in the form of METAL's, in other words."""
    names = {"EN": "english", "ZH": "chinese_simplified"}
    constants = (
        f"1 / 0\ncode_to_name = {names!r}\nSYSTEM_MESSAGE = {SYSTEM!r}\nHUMAN_MESSAGE = {HUMAN!r}\n"
    )
    files = {
        "utils/constants.py": constants,
        "utils/utils.py": OUTPUT,
        "metrics/detailed/task_quality.json": json.dumps(METRIC),
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def written(folder: Path, criterion: Criterion, language: str, *texts: str) -> Message:
    template = load_template("detailed", [folder, PROMPTS])
    prompt = Prompt(template, rubrics_for([criterion], [folder, PROMPTS], needed=template.needed))
    assert len(prompt.digest(criterion.name)) == 8
    return prompt.write(criterion.name, language, *texts)


def test_what_is_sent_is_what_the_authors_program_sends(release: Path) -> None:
    """str.format, LangChain's format instructions, and the criterion's file as JSON."""
    pytest.importorskip("langchain_core")
    from langchain_core.output_parsers import PydanticOutputParser
    from pydantic import Field, create_model

    texts = {"score": (int, "The score."), "justification": (str, "Why, **briefly**.")}
    fields = {
        name: (kind, Field(description=words, json_schema_extra={"name": name}))
        for name, (kind, words) in texts.items()
    }
    output = create_model("Output", **fields)  # type: ignore[call-overload]
    filled = {
        "passage": "Rain {fell}.",
        "summary": "{{ 1 }} '''",
        "format_instructions": (
            PydanticOutputParser(pydantic_object=output).get_format_instructions()
        ),
        "metric_description": json.dumps([METRIC], indent=4, ensure_ascii=False),
    }
    for folder in (release, release / "metrics"):
        for code, language in (
            ("en", "english"),
            ("zh-Hans", "chinese_simplified"),
            ("sw", "Swahili"),
        ):
            message = written(folder, TASK_QUALITY, code, " Rain {fell}.\n", "{{ 1 }} '''")
            assert message.system == SYSTEM.format(**filled, language=language)
            assert message.user == HUMAN.format(**filled, language=language)
    reply = (
        '```json\n{"score": 2, "justification": "line 1", "metric_description": "2 is high, 0 is'
        ' low"}\n```'
    )
    assert read_reply(reply, TASK_QUALITY.scale, None, "task_quality").score == 2


def test_a_criterion_that_the_release_does_not_have_stands_in_its_form(release: Path) -> None:
    pytest.importorskip("langchain_core")
    user = written(
        release, Criterion("depth", Scale.of("no<yes"), question="How deep?"), "en", "s", "o"
    ).user
    metric = json.loads(user.split("```json\n")[1].split("```")[0])
    assert metric == [
        {"name": "depth", "description": "How deep?", "scoring": {"0": "no", "1": "yes"}}
    ]


def test_rubrics_alone_have_the_frame_of_the_other_prompts(release: Path) -> None:
    (release / "utils" / "constants.py").unlink()
    message = written(release, TASK_QUALITY, "en", "s", "o")
    assert "Is it “good”?" in message.user
    assert "BEGINS" in message.user


def test_faults(release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    constants = release / "utils" / "constants.py"
    text = constants.read_text(encoding="utf-8")
    for wrong in (
        "SYSTEM_MESSAGE =",
        text.replace("{summary}", "{other}"),
        text.replace("SYSTEM", "X"),
    ):
        constants.write_text(wrong, encoding="utf-8")
        with pytest.raises(DataError, match=r"constants\.py.*from the release again"):
            load_template("detailed", [release, PROMPTS])
    constants.write_text(text, encoding="utf-8")
    monkeypatch.setitem(sys.modules, "langchain_core.output_parsers", None)
    with pytest.raises(MissingExtra, match=r"metal-eval\[langchain\]"):
        load_template("detailed", [release, PROMPTS])
