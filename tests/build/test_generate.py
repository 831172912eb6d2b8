"""What generators are told, which texts are asked for and under which keys, how replies are read,
which are chosen.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import metal
from metal.building.flags import LanguageProfiles
from metal.building.generate import (
    Generation,
    Instruction,
    choose,
    flagged,
    generated_outputs,
    load_instruction,
    read_generated,
    references,
)
from metal.building.tasks import named_files
from metal.data.dataset import Card, assemble, load_dataset, save_dataset
from metal.data.files import bundled
from metal.data.ratings import facts_from
from metal.data.records import Criterion, Direction, Output, Scale, Source
from metal.errors import DataError, MetalError, UsageError
from metal.raters.judges.call import COMPLETE, FILTERED, REFUSED, TRUNCATED, VERDICT
from metal.raters.judges.collect import CallStatistics, JournalIndex
from metal.raters.judges.models import Model, find_model
from metal.raters.judges.prompts import Message, fence, fence_code
from metal.raters.judges.reader import EMPTY, UNPARSABLE
from metal.raters.judges.rubric import Rubric
from tests.judges.test_prompts import HOSTILE
from tests.llm_server import LlmServer
from tests.saying import tells

OURS = bundled("prompts")
GOOD = 'system = "You write."\nuser = "{{ language }}: {{ source }}"\ntemperature = 0\n'


def passage(text: str = "The passage.", language: str = "sw") -> Source:
    return Source("s", language, text)


def own(folder: Path, text: str, name: str = "medium") -> Path:
    (folder / "generate").mkdir(parents=True, exist_ok=True)
    (folder / "generate" / f"{name}.toml").write_text(text, encoding="utf-8")
    return folder


# ---------------------------------------------------------------- what is sent


@pytest.mark.parametrize("quality", ["good", "bad"])
def test_every_criterion_is_named_with_the_end_to_aim_at(
    quality: str, rubrics: Mapping[str, Rubric]
) -> None:
    made = load_instruction(quality, [OURS], rubrics)
    assert made.temperature == {"good": 0, "bad": 1}[quality]
    user = made.write(passage()).user
    assert "in Swahili" in user
    for rubric in rubrics.values():
        values = rubric.criterion.scale.values
        best = values[-1] if rubric.criterion.direction == "higher" else values[0]
        worst = values[0] if best == values[-1] else values[-1]
        wanted, other = (
            rubric.levels[end].definition
            for end in ((best, worst) if quality == "good" else (worst, best))
        )
        assert rubric.criterion.label in user
        assert wanted in user
        assert other not in user
    assert ("adversarial" in made.write(passage()).system) == (quality == "bad")


@pytest.mark.parametrize("name", ["problematic_content", "hallucinations"])
def test_absent_is_best_where_less_is_better(
    name: str, rubrics: Mapping[str, Rubric], tmp_path: Path
) -> None:
    own(
        tmp_path,
        GOOD.replace(
            "{{ language }}", "{% for c in criteria %}<{{ c.best }}|{{ c.worst }}>{% endfor %}"
        ),
    )
    made = load_instruction("medium", [tmp_path], {name: rubrics[name]})
    best, worst = made.write(passage()).user.split("<")[1].split(">")[0].split("|")
    assert best.startswith("Absent. ")
    assert worst.startswith("Present. ")


@pytest.mark.parametrize(
    ("scale", "direction", "best", "worst"),
    [
        ("0-100", "higher", "100, on a scale of 0 to 100", "0, on a scale of 0 to 100"),
        ("0-100", "lower", "0, on a scale of 0 to 100", "100, on a scale of 0 to 100"),
        ("", "higher", "a score as high as can be", "a score as low as can be"),
    ],
)
def test_a_line_of_scores_has_ends_to_aim_at(
    scale: str, direction: Direction, best: str, worst: str
) -> None:
    line = Scale.of(scale) if scale else Scale("interval")
    about = {"worth": Rubric(Criterion("worth", line, direction, question="What is it worth?"))}
    good, bad = (
        load_instruction(quality, [OURS], about).write(passage()).user
        for quality in ("answer", "bad-answer")
    )
    assert f"Aim at: {best}\n" in good
    assert f"A failure is: {worst}\n" in bad


@pytest.mark.parametrize(
    "text", ["{{ source }}", *(text.replace("OUTPUT", "PASSAGE") for text in HOSTILE)]
)
def test_hostile_passages_stand_as_they_are_inside_their_fence(
    text: str, rubrics: Mapping[str, Rubric]
) -> None:
    made = load_instruction("good", [OURS], rubrics)
    message, harmless = made.write(passage(text)), made.write(passage("x"))
    fenced = fence("PASSAGE", fence_code(text), text)
    assert fence_code(text) not in text
    assert message.system == harmless.system
    assert message.user.replace(fenced, "") == harmless.user.replace(
        fence("PASSAGE", fence_code("x"), "x"), ""
    )


def test_the_target_language_of_a_pair_is_written(rubrics: Mapping[str, Rubric]) -> None:
    user = load_instruction("good", [OURS], rubrics).write(passage("一", "zh-en")).user
    assert "in English" in user
    assert "Chinese" not in user


def test_a_title_is_fenced_too(rubrics: Mapping[str, Rubric], tmp_path: Path) -> None:
    own(tmp_path, GOOD.replace("{{ language }}", "{{ title }}"))
    made = load_instruction("medium", [tmp_path], rubrics)
    titled = Source("s", "en", "Text.", "{{ source }}")
    assert fence("TITLE", fence_code("{{ source }}"), "{{ source }}") in made.write(titled).user
    assert "TITLE" not in made.write(passage()).user


def test_the_digest_is_of_all_that_is_said(rubrics: Mapping[str, Rubric], tmp_path: Path) -> None:
    def digest(text: str, about: Mapping[str, Rubric] = rubrics) -> str:
        made: Instruction = load_instruction("medium", [own(tmp_path, text)], about)
        return made.digest

    first = digest(GOOD)
    assert first == digest(GOOD)
    assert len({first, digest(GOOD.replace("write", "wrote")), digest(GOOD.replace("= 0", "= 0.5")),
                digest(GOOD, dict(list(rubrics.items())[:2]))}) == 4  # fmt: skip


# ---------------------------------------------------------------- files


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (GOOD + 'sytem = "x"\n', "'sytem'"),
        ('user = "{{ source }}"\ntemperature = 0\n', "'system' and 'user'"),
        ('system = 3\nuser = "{{ source }}"\ntemperature = 0\n', "'system' and 'user'"),
        (GOOD.replace("= 0", "= 2.5"), "temperature is 2.5"),
        (GOOD.replace("= 0", "= -1"), "temperature is -1"),
        (GOOD.replace("= 0", "= nan"), "temperature is nan"),
        (GOOD.replace("= 0", "= true"), "temperature is True"),
        (GOOD.replace("= 0", '= "hot"'), "temperature is 'hot'"),
        (GOOD.replace("temperature = 0", ""), "temperature is None"),
        (GOOD.replace("{{ source }}", "the passage"), "lacks {{ source }}"),
        (GOOD.replace("{{ source }}", "{{ source"), "fill this template"),
        (GOOD.replace("{{ language }}", "{{ langauge }}"), "langauge"),
        (GOOD.replace("{{ language }}", "{{ ().__class__.__mro__ }}"), "fill this template"),
        (GOOD.replace("{{ language }}", "{{ 1 / 0 }}"), "fill this template"),
        ("system = ", "not TOML"),
    ],
)
def test_a_faulty_file_is_told_in_one_line(
    text: str, words: str, rubrics: Mapping[str, Rubric], tmp_path: Path
) -> None:
    with pytest.raises(MetalError) as raised:
        load_instruction("medium", [own(tmp_path, text), OURS], rubrics)
    assert words in str(raised.value)
    assert "medium.toml" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_an_own_quality_and_an_own_good_one(rubrics: Mapping[str, Rubric], tmp_path: Path) -> None:
    own(tmp_path, GOOD.replace("= 0", "= 0.7"))
    own(tmp_path, GOOD.replace("You write.", "Mine."), "good")
    folders = [tmp_path, OURS]
    assert {"bad", "good", "medium"} < named_files(folders, "generate").keys()
    assert load_instruction("medium", folders, rubrics).temperature == 0.7
    assert load_instruction("good", folders, rubrics).system == "Mine."
    with pytest.raises(MetalError, match="did you mean 'medium'"):
        load_instruction("medum", folders, rubrics)
    with pytest.raises(MetalError, match=r"known: answer, bad, .*good, medium, .*reference"):
        load_instruction("zzz", folders, rubrics)


@pytest.mark.parametrize(
    "name", ["../criteria/hallucinations", "a/b", "..", "", "/etc/passwd", "good.toml", "x\x00y"]
)
def test_a_quality_is_a_name(name: str, rubrics: Mapping[str, Rubric], tmp_path: Path) -> None:
    own(tmp_path / "generate" / "a", GOOD, "b")
    (tmp_path / "generate" / "a" / "generate" / "b.toml").rename(
        tmp_path / "generate" / "a" / "b.toml"
    )
    with pytest.raises(MetalError, match="quality"):
        load_instruction(name, [tmp_path, OURS], rubrics)


# ---------------------------------------------------------------- replies

BARE = '{"summary": "A text.", "justification": "Why."}'


@pytest.mark.parametrize(
    "text",
    [
        BARE,
        f"```json\n{BARE}\n```",
        f"Here you are:\n\n{BARE}\n\nI hope {{this}} helps.",
        f'{{"summary": "Before.", "justification": "No."}}\n{BARE}',
        f'{BARE} {{"summary": 3}} {{"summary": "  "}} {{"other": "x"}}',
        f'{{"result": {BARE}}}',
        f"[{BARE}]",
        f'<think>{{"summary": "A draft."}}</think>{BARE}',
        '{"Summary": "A text.", "Justification": ["Why."]}',
        '{"justification": "Why.", "summary": " A text.\\n", "more": {"summary": "inside"}}',
    ],
)
def test_a_summary_is_found(text: str) -> None:
    assert read_generated(text) == ("A text.", "Why.")


@pytest.mark.parametrize(
    "text",
    ["", "A text.", '{"summary": "A text', '{"summary": ["A", "text"]}', '{"summary": null}',
        '{"summary": ""}', "[]",
     '{"summary": "  \\n"}', "null", "{}", '<think>{"summary": "A draft."}</think> No.',
     '{"summary": true}'],
)  # fmt: skip
def test_where_there_is_no_summary_there_is_none(text: str) -> None:
    assert read_generated(text) is None


def test_the_text_stands_in_the_field_that_the_quality_names(tmp_path: Path) -> None:
    assert read_generated('{"answer": "Goethe.", "justification": "So."}', "answer") == (
        "Goethe.",
        "So.",
    )
    assert read_generated('{"summary": "Goethe."}', "answer") is None
    answer, good = (
        load_instruction(quality, [bundled("prompts")], {}) for quality in ("answer", "good")
    )
    assert (
        list(answer.schema["properties"])
        == ["answer", "justification"]
        == answer.schema["required"]
    )
    assert list(good.schema["properties"]) == ["summary", "justification"]
    assert answer.digest != replace(answer, writes="reply").digest
    (tmp_path / "generate").mkdir()
    for writes in ('"a b"', "3", '"justification"'):
        text = f'system = "x"\nuser = "{{{{ source }}}}"\ntemperature = 0\nwrites = {writes}\n'
        (tmp_path / "generate" / "own.toml").write_text(text)
        with pytest.raises(DataError, match="writes is"):
            load_instruction("own", [tmp_path], {})


def test_released_generation_templates_are_read(
    tmp_path: Path, rubrics: Mapping[str, Rubric]
) -> None:
    """Of the form of METAL's release, for guidance 0.0.64; what is sent holds nothing of ours."""
    (tmp_path / "generation_prompts").mkdir()
    path = tmp_path / "generation_prompts" / "good_prompt.md"
    text = (
        "{{#system~}}\n[system](#x)\nWrite it in {{language}}.\n"
        '```json\n{\n  "a": {"0": {"b": "c"}}\n}\n```\n{{~/system}}\n\n'
        '{{#user~}}\npassage = "{{passage}}"\nlanguage = "{{language}}"\n{{~/user}}\n\n'
        "{{#assistant~}}\n{{gen 'evaluation' max_tokens=2048 temperature=0.3}}\n{{~/assistant}}"
    )
    path.write_text(text)
    instruction = load_instruction("good", [tmp_path, OURS], rubrics)
    message = instruction.write(passage("The {{ passage }}."))
    system = '[system](#x)\nWrite it in Swahili.\n```json\n{\n  "a": {"0": {"b": "c"}}\n}\n```'
    assert message == Message(system, 'passage = "The {{ passage }}."\nlanguage = "Swahili"')
    assert (instruction.temperature, instruction.writes, instruction.path) == (0.3, "summary", path)
    path.write_text(text.replace("{{gen", "{{make"))
    with pytest.raises(DataError, match="not a template of METAL"):
        load_instruction("good", [tmp_path, OURS], rubrics)


def test_answers_are_generated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    demo = load_dataset("datasets/demo")
    sources = dict(list(demo.sources.items())[:3])
    bare = replace(demo, sources=sources, outputs={}, ratings=demo.ratings.iloc[:0], raters={})
    save_dataset(bare, tmp_path / "questions")
    with LlmServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        metal.generate(
            tmp_path / "questions",
            "openai:gpt-4o",
            quality="answer,bad-answer",
            choose="all",
            out=tmp_path / "run",
        )
    outputs = load_dataset(tmp_path / "questions").outputs.values()
    assert {output.generator for output in outputs} == {
        "openai:gpt-4o/answer",
        "openai:gpt-4o/bad-answer",
    }
    assert len(outputs) == 6
    assert all(output.text and output.note for output in outputs)


def test_what_cannot_be_generated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A translation is into another language, whatever the criteria; references are counted."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    bare = Criterion("adequacy", Scale.of("0-100"))

    def dry(quality: str, *sources: Source) -> Any:
        save_dataset(
            assemble(Card("made"), [bare], sources, [], [], facts_from([])),
            tmp_path / "made",
            force=True,
        )
        out = tmp_path / "run"
        return metal.generate(
            tmp_path / "made", "openai:gpt-4o", quality=quality, out=out, dry_run=True
        ).job

    [request] = dry("translation", passage(language="en-hi")).plan.questions(GPT)
    assert "Translate the passage below into Hindi" in request.message.user
    with pytest.raises(UsageError, match=r"\(en-hi\), not in Hindi"):
        dry("translation", passage(language="hi"), Source("t", "en-hi", "Text."))
    with pytest.raises(UsageError, match="adequacy has no simple description"):
        dry("answer", passage())
    with pytest.raises(UsageError, match=r"no passage of .* has a reference"):
        dry("reference", passage())
    (warning,) = dry("reference", passage(), Source("t", "sw", "Text.", references=("R",))).warnings
    assert tells(warning, "1 passage without", "`reference` has no")


def test_texts_come_as_they_were_written_and_need_no_justification() -> None:
    for words in ("", ', "justification": null', ', "justification": {}', ', "justification": " "'):
        assert read_generated('{"summary": "A text."' + words + "}") == ("A text.", "")
    text = 'ملخص \u200f🌧️ "so" \\ {braces} \ud83d\nتم'
    assert read_generated(json.dumps({"summary": text, "justification": "x"})) == (text, "x")
    assert read_generated('{"summary": "two\nlines\tand a tab"}') == ("two\nlines\tand a tab", "")


@pytest.mark.parametrize(
    "text",
    ['{"a":' * 60_000, "{" * 300_000, '{"summary": "' + "x{" * 200_000, '{"summary": ' * 50_000],
)
def test_replies_that_never_end_are_read_to_their_end(text: str) -> None:
    """Work that grows with the square of the reply would take hours here."""
    assert read_generated(text) is None
    assert read_generated(text + BARE) in (("A text.", "Why."), None)


GPT, GEMINI = (find_model(name, {}) for name in ("openai:gpt-4o", "gemini:gemini-2.5-pro"))
SOURCES = [Source(f"s{n}", "en", f"Passage {n}.", references=("R",) * (n % 2)) for n in range(3)]


@pytest.fixture
def instructions(rubrics: Mapping[str, Rubric]) -> tuple[Instruction, ...]:
    return tuple(
        load_instruction(quality, [bundled("prompts")], rubrics) for quality in ("good", "bad")
    )


def keys(plan: Generation, model: Model = GPT) -> list[str]:
    return [call.key for call in plan.questions(model)]


# ---------------------------------------------------------------- calls


def test_one_call_a_model_quality_and_source(instructions: tuple[Instruction, ...]) -> None:
    plan = Generation((GPT, GEMINI), instructions, SOURCES)
    for model in plan.models:
        calls = list(plan.questions(model))
        assert len(calls) == plan.questions_per_model == 6
        assert [call.output for call in calls] == [
            f"s{n}/{model.name}/{quality}" for quality in ("good", "bad") for n in range(3)
        ]
        assert [call.parameters["temperature"] for call in calls] == [0, 0, 0, 1, 1, 1]
        assert {call.about["prompt"] for call in calls} == {"good", "bad"}
        for start in range(8):
            assert list(plan.questions(model, start)) == calls[start:]
    assert len({*keys(plan), *keys(plan, GEMINI)}) == 12
    assert plan.names["openai:gpt-4o", "bad"] == "openai:gpt-4o/bad"


def test_the_same_question_has_the_same_key(instructions: tuple[Instruction, ...]) -> None:
    plan = Generation((GPT,), instructions, SOURCES)
    again = Generation((GEMINI, GPT), instructions[::-1], SOURCES[::-1])
    assert set(keys(plan)) == set(keys(again))
    assert set(keys(plan)) == set(keys(Generation((replace(GPT, name="mine", concurrency=1),),
        instructions, SOURCES),
                                       replace(GPT, name="mine", concurrency=1)))  # fmt: skip


@pytest.mark.parametrize(
    "changes",
    [{"temperature": 0.5}, {"system": "You."}, {"user": "{{ source }}"}],
    ids=["temperature", "system", "user"],
)
def test_another_instruction_has_other_keys(
    changes: dict[str, Any], instructions: tuple[Instruction, ...]
) -> None:
    now = tuple(replace(each, **changes) for each in instructions[:1])
    assert not set(keys(Generation((GPT,), now, SOURCES))) & set(
        keys(Generation((GPT,), instructions, SOURCES))
    )


def test_another_model_setting_or_passage_has_another_key(
    instructions: tuple[Instruction, ...],
) -> None:
    before = keys(Generation((GPT,), instructions, SOURCES[:1]))
    for model in (find_model("openai:gpt-4o-mini", {}),
        replace(GPT, parameters={"temperature": 0, "seed": 1}),
                  replace(GPT, structured="none")):  # fmt: skip
        assert not set(before) & set(keys(Generation((model,), instructions, SOURCES[:1]), model))
    other = replace(SOURCES[0], text="Passage 0!")
    assert not set(before) & set(keys(Generation((GPT,), instructions, [other])))
    half = replace(SOURCES[0], text="half \ud83d")
    assert len(set(keys(Generation((GPT,), instructions, [half]))) - set(before)) == 2
    unread = replace(SOURCES[0], source="other", references=("x",))  # nothing that is sent
    assert before == keys(Generation((GPT,), instructions, [unread]))


@pytest.mark.parametrize(
    ("text", "ending", "kind"),
    [
        ('{"summary": "x"}', COMPLETE, VERDICT),
        ('{"summary": "x"}', TRUNCATED, TRUNCATED),
        ("", REFUSED, REFUSED),
        ("", FILTERED, FILTERED),
        (" \n", COMPLETE, EMPTY),
        ("I'd rather not.", COMPLETE, UNPARSABLE),
        ('{"summary": ""}', COMPLETE, UNPARSABLE),
    ],
)
def test_kinds_of_replies(
    text: str, ending: str, kind: str, instructions: tuple[Instruction, ...]
) -> None:
    call = next(Generation((GPT,), instructions, SOURCES).questions(GPT))
    assert call.kind(text, ending) == kind


# ---------------------------------------------------------------- what came of them


class Journal(JournalIndex):
    """Records by output, without a file."""

    def __init__(self, plan: Generation, records: Mapping[str, dict[str, Any]]) -> None:
        super().__init__(Path(), {}, {name: CallStatistics() for name in plan.names.values()})
        object.__setattr__(self, "known", records)

    def records(self, calls: Any) -> Any:
        return ((call, self.known.get(call.output)) for call in calls)  # type: ignore[attr-defined]


def test_texts_become_outputs_and_all_else_is_counted(
    instructions: tuple[Instruction, ...],
) -> None:
    plan = Generation((GPT,), instructions, SOURCES)
    text = json.dumps({"summary": " A text. ", "justification": "Why."})
    result = Journal(plan, {
        "s0/openai:gpt-4o/good": {"kind": VERDICT, "text": text, "ending": COMPLETE},
        "s1/openai:gpt-4o/good": {"kind": REFUSED, "text": "", "ending": REFUSED},
        "s2/openai:gpt-4o/good": {"kind": "failed", "why": "server error", "ending": ""},
        "s0/openai:gpt-4o/bad": {"kind": UNPARSABLE, "text": "What?", "ending": COMPLETE},
        "s1/openai:gpt-4o/bad": {"kind": TRUNCATED, "text": text, "ending": TRUNCATED},
    })  # fmt: skip
    assert list(generated_outputs(plan, result)) == [
        Output("s0/openai:gpt-4o/good", "s0", "openai:gpt-4o/good", "en", "A text.", "Why.")
    ]
    good, bad = (result.statistics[f"openai:gpt-4o/{quality}"] for quality in ("good", "bad"))
    assert good.kinds == {VERDICT: 1, REFUSED: 1, "failed: server error": 1}
    assert (good.answered, good.failed, good.not_asked) == (1, 1, 0)
    assert bad.kinds == {UNPARSABLE: 1, TRUNCATED: 1}
    assert (bad.answered, bad.not_asked) == (0, 1)


def test_references_are_outputs_of_people() -> None:
    assert list(references(SOURCES)) == [Output("s1/reference", "s1", "reference", "en", "R")]
    several = Source("s", "zh-en", "x", references=("first", "second"))
    assert [each.text for each in references([several])] == ["first"]


def test_outputs_get_flags_and_token_counts() -> None:
    texts = {"a": "I'm sorry, but I can't help with that.", "b": "A text."}
    outputs = [Output(name, "s0", name, "en", text) for name, text in texts.items()]
    result = list(
        flagged(outputs, {each.source: each for each in SOURCES}, LanguageProfiles([]), len)
    )
    assert [each.flags for each in result] == [("refuses",), ()]
    assert [each.tokens for each in result] == [len(text) for text in texts.values()]
    assert (
        next(flagged(outputs, {"s0": SOURCES[0]}, LanguageProfiles([]), lambda text: None)).tokens
        is None
    )


# ---------------------------------------------------------------- choosing


def candidates(count: int, qualities: tuple[str, ...] = ("good", "bad")) -> list[Output]:
    return [
        Output(f"s{n}/{quality}", f"s{n}", quality, "en")
        for n in range(count)
        for quality in qualities
    ]


def chosen(outputs: list[Output], **wish: Any) -> list[str]:
    return [each.output for each in choose(outputs, **wish) if each.chosen]


def test_one_of_each_source_and_about_half_of_each_quality() -> None:
    result = choose(candidates(400))
    assert len(result) == 800
    assert set(Counter(each.source for each in result if each.chosen).values()) == {1}
    assert 160 <= sum(each.chosen for each in result if each.generator == "good") <= 240
    three = Counter(
        each.generator
        for each in choose(candidates(600, ("good", "bad", "reference")))
        if each.chosen
    )
    assert three.total() == 600
    assert min(three.values()) >= 150


@given(seed=st.integers(0, 2**32), kept=st.sets(st.integers(0, 29)), order=st.randoms())
def test_a_choice_is_seeded_and_independent_of_other_sources(
    seed: int, kept: set[int], order: Any
) -> None:
    full = candidates(30, ("good", "bad", "medium"))
    all_of_them = set(chosen(full, seed=seed))
    part = [each for each in full if int(each.source[1:]) in kept]
    order.shuffle(part)
    assert set(chosen(part, seed=seed)) == {
        name for name in all_of_them if int(name[1:].split("/")[0]) in kept
    }


def test_flagged_outputs_are_not_chosen_unless_wished() -> None:
    outputs = [
        replace(each, flags=("refuses",) * (each.generator == "bad")) for each in candidates(60)
    ]
    outputs[0] = replace(outputs[0], flags=("refuses",))  # now all of s0
    result = chosen(outputs)
    assert len(result) == 59
    assert all(name.endswith("/good") for name in result)
    kept = chosen(outputs, keep_flagged=True)
    assert len(kept) == 60
    assert 15 <= sum(name.endswith("/bad") for name in kept) <= 45
    # a flag elsewhere moves no choice
    same = {name.split("/")[0] for name in kept if name.endswith("/good")}
    assert {f"{source}/good" for source in same} - {"s0/good"} <= set(result)


def test_what_people_rated_stays_chosen_and_nothing_else_of_its_source() -> None:
    outputs = candidates(20)
    usual = set(chosen(outputs))
    others = [each.output for each in outputs if each.output not in usual]
    assert chosen(outputs, held=others[:5]) != sorted(usual)
    for wish in ({}, {"keep_flagged": True}, {"seed": 9}):
        result = set(chosen(outputs, held=others, **wish))
        assert result == set(others)
    both = ["s0/good", "s0/bad"]
    assert set(chosen(outputs[:2], held=both)) == set(both)
    flagged_one = [replace(outputs[0], flags=("refuses",)), outputs[1]]
    assert chosen(flagged_one, held=["s0/good", "of another dataset"]) == ["s0/good"]


def test_every_one() -> None:
    outputs = candidates(3)
    outputs[0] = replace(outputs[0], flags=("refuses",))
    assert chosen(outputs, every=True) == [each.output for each in outputs[1:]]
    assert len(chosen(outputs, every=True, keep_flagged=True)) == 6
    assert len(chosen(outputs, every=True, held=["s0/good"])) == 6


def test_choosing_again_changes_nothing_and_another_seed_chooses_otherwise() -> None:
    assert chosen(candidates(50), seed=1) != chosen(candidates(50), seed=2)
    once = choose(candidates(40), seed=3)
    assert choose(once, seed=3) == once
    assert choose(once[::-1], seed=3) == once[::-1]
