"""Several criteria in one call: what is sent, what is read of a reply, and that all engines come to
the same.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import metal
from metal.data.dataset import load_dataset, save_dataset
from metal.data.dataset_lines import read_raters
from metal.data.records import COMPARED, Criterion, Level, Output, Scale
from metal.errors import UsageError
from metal.raters.judges.cluster.shards import read_shards, write_shards
from metal.raters.judges.examples import RatedExample
from metal.raters.judges.journal import INCOMPLETE, Answered
from metal.raters.judges.parts import read_part
from metal.raters.judges.prices import Price
from metal.raters.judges.prompts import Prompt
from metal.raters.judges.reader import (
    CUT_OFF,
    EMPTY,
    LEFT_OUT,
    OFF_SCALE,
    TWO_VERDICTS,
    UNPARSABLE,
)
from metal.raters.judges.rubric import Rubric, rubrics_for
from metal.raters.judges.templates import load_template, variant
from tests.judges.test_batch_run import a_model as batch_model
from tests.judges.test_batch_run import session as batch_session
from tests.judges.test_runner import HALLUCINATIONS, TASK_QUALITY, a_model, a_plan, session
from tests.llm_server import Fault, LlmServer, by_attempt
from tests.openai_batch_server import OpenAIBatchServer

DEMO, PROMPTS = Path("datasets/demo"), Path("prompts")
PERCENT = Criterion(
    "overall quality", Scale("interval", low=0, high=100), question="How good is it?"
)
BOTH = (TASK_QUALITY, HALLUCINATIONS)

pytestmark = [
    *[
        pytest.mark.filterwarnings(f"ignore::{kind}")
        for kind in ("DeprecationWarning", "FutureWarning")
    ],
    pytest.mark.usefixtures("openai_environment"),
]


def prompt_of(name: str, *criteria: Criterion, pairs: bool = False) -> Prompt:
    template = load_template(name, [PROMPTS], pairs=pairs)
    return Prompt(template, rubrics_for(criteria, [PROMPTS], needed=template.needed))


# ---------------------------------------------------------------- what is sent


@pytest.mark.parametrize("name", ["simple", "detailed", "summarization"])
def test_a_call_describes_each_criterion_as_a_call_of_its_own_does(name: str) -> None:
    asked = (*BOTH, PERCENT)
    together = prompt_of(f"{name}-together", *asked)
    message = together.write("hallucinations", "sw", "The source.", "The output.")
    assert message == together.write("task_quality", "sw", "The source.", "The output.")
    places = []
    for criterion in BOTH:
        alone = (
            prompt_of(variant(name), criterion)
            .write(criterion.name, "sw", "The source.", "The output.")
            .user
        )
        described = alone[
            alone.index("Question:") : re.search(r"^(The|Original).*:\n-----", alone, re.M).start()
        ]  # type: ignore[union-attr]
        assert message.user.count(described) == 1
        places.append(message.user.index(described))
    assert places == sorted(places)
    assert 'Criterion: Hallucinations (in your reply: "hallucinations")\n' in message.user
    assert "Scale:\na number from 0 (worst) to 100 (best)\n\n" in message.user
    assert (
        "on each of the criteria that are described to you, each by itself, and do not let"
        in message.system
    )
    form = message.user.rpartition("\n")[2]
    assert re.sub(
        "<[^>]*>", "0", form.replace('"<two or three sentences in English>"', '""')
    ) == json.dumps({each.name: {"score": 0, "justification": ""} for each in asked})
    assert "<a number from 0 (worst) to 100 (best)>" in form


def test_its_name_and_hash_say_what_was_asked_together() -> None:
    assert variant("detailed", together=True) == "detailed-together"
    assert (
        variant("chat-no-reason", references=True, together=True)
        == "chat-reference-together-no-reason"
    )
    assert (
        variant("chat-reference-together-no-reason", together=True)
        == "chat-reference-together-no-reason"
    )
    alone, one, both = (
        prompt_of(name, *criteria).digest("task_quality")
        for name, criteria in (
            ("simple", BOTH),
            ("simple-together", BOTH[:1]),
            ("simple-together", BOTH),
        )
    )
    assert len({alone, one, both}) == 3  # beside which criteria it was asked matters
    assert prompt_of("simple", TASK_QUALITY).digest("task_quality") == alone


def test_examples_and_pairs_are_asked_together_too() -> None:
    output = Output("o", "s", "g", "en", "The text.")
    shown = {"en": [RatedExample(output, "", {"task_quality": 2.0, "hallucinations": 1.0})]}
    prompt = replace(prompt_of("detailed-together", *BOTH), examples=shown, _frames={})
    system = prompt.write("task_quality", "en", "", "Other.").system
    assert '{"task_quality": {"score": 2}, "hallucinations": {"score": 1}}' in system
    assert "other texts on these criteria" in system
    compared = [replace(criterion, scale=COMPARED) for criterion in BOTH]
    message = prompt_of("chat-together", *compared, pairs=True).write(
        "task_quality", "en", "Hi", "One.", "Two."
    )
    assert message.user.count("C = neither is better than the other") == 2
    assert '{"task_quality": {"score": <"A" or "B" or "C">, "justification"' in message.user
    assert (
        "better on each of the criteria that are described to you, each by itself, and"
        in message.system
    )


def test_a_template_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "judge").mkdir()
    text = (
        'system = ""\nuser = """{{ output }}{% for each in criteria %} {{ each.key }}{% endfor'
        ' %}"""\ntogether = true\n'
    )
    (tmp_path / "judge" / "mine.toml").write_text(text, encoding="utf-8")
    prompt = Prompt(load_template("mine", [tmp_path]), {each.name: Rubric(each) for each in BOTH})
    assert prompt.write("task_quality", "en", "", "x").user.endswith(
        'ENDS ----- "task_quality" "hallucinations"'
    )


# ---------------------------------------------------------------- what is read

FLUENCY = Scale("ordinal", tuple(Level(float(value), str(value)) for value in range(1, 6)))


@pytest.mark.parametrize(
    ("reply", "fluency", "overall"),
    [
        ('{"fluency": {"score": 4, "justification": "ok"}, "overall": {"score": 2}}', 4, 2),
        ('```json\n{"Fluency": {"score": "4"}, "overall": 2}\n```', 4, 2),
        ('{"fluency": 4, "overall": 2, "justification": "both"}', 4, 2),
        ('{"scores": {"fluency": {"score": 4}, "overall": {"score": 2}}}', 4, 2),
        ('{"fluency": {"score": 4}}\n{"overall": {"score": 2}}', 4, 2),
        ('<think>{"fluency": {"score": 1}}</think>{"fluency": {"score": 4}, "overall": '
         '{"score": 2}}', 4, 2),
        # What one criterion lacks is no other's.
        ('{"fluency": {"score": 4}}', 4, LEFT_OUT),
        ('{"fluency": {"score": 9}, "overall": {"score": 2}}', OFF_SCALE, 2),
        ('{"fluency": {"score": null}, "overall": {"score": 2}}', UNPARSABLE, 2),
        ('{"fluency": {"justification": "I cannot say; overall 3."}, "overall": {"score": 2}}',
            UNPARSABLE, 2),
        ('{"fluency": 4, "fluency": 5, "overall": 2}', UNPARSABLE, 2),
        # An object amid prose may be quoted: the one that closes the reply counts.
        ('The text says {"fluency": 5, "overall": 5}, a trick. {"fluency": 4, "overall": 2}', 4, 2),
        ('{"fluency": 4, "overall": 2} The text says {"fluency": 5, "overall": 5} of itself.', 4,
            2),
        # What is complete before a reply breaks off counts; a number at its end may go on.
        ('{"fluency": {"score": 4}, "overall": {"sco', 4, CUT_OFF),
        ('{"scores": {"Fluency": {"score": 4, "reason": "\\"overall\\": 3"}, "overall": '
         '{"score": 2, "ju', 4, CUT_OFF),
        ('```json\n{"fluency": 4, "overall": 2', 4, CUT_OFF),
        ('{"fluency": {"score": 4}', 4, LEFT_OUT),
        ('{"fluency": {"score": 4, "justification": "o', CUT_OFF, CUT_OFF),
        ('{"fluency": {"score": 4, "\\x": 1}, "over', UNPARSABLE, UNPARSABLE),
        # Lists of objects that name what they are about.
        ('[{"criterion": "fluency", "score": 4}, {"criterion": "overall", "score": 2}]', 4, 2),
        ('{"scores": [{"name": "Overall", "score": 2, "reason": "r"}, {"name": "Fluency", '
         '"score": "4"}]}', 4, 2),
        ('[{"criterion": "fluency", "score": 4}, {"criterion": "overall", "score": 2', 4, CUT_OFF),
        ('{"scores": [{"criterion": "fluency", "score": 4}, {"criterion": "overall", "score": '
         '2, "j', 4, CUT_OFF),
        ('[{"criterion": "fluency", "score": 4}, {"criterion": "overall", "score": null}] '
         'fluency 3', 4, UNPARSABLE),
        ("Fluency: 4. Overall: 2.", UNPARSABLE, UNPARSABLE),
        ("{}", UNPARSABLE, UNPARSABLE),
        ("", EMPTY, EMPTY),
    ],
)  # fmt: skip
def test_each_criterion_is_read_by_itself(reply: str, fluency: object, overall: object) -> None:
    for criterion, wanted in (("fluency", fluency), ("overall", overall)):
        verdict = read_part(reply, FLUENCY, None, criterion)
        assert (verdict.score or verdict.reason) == wanted, criterion


def test_a_criterion_may_be_called_as_a_part_of_a_verdict_is() -> None:
    reply = (
        '{"score": {"score": 3, "justification": "a"}, "rating": {"score": 5, "justification":'
        ' "b"}}'
    )
    read = {
        name: read_part(reply, FLUENCY, None, name) for name in ("score", "rating", "justification")
    }
    assert [(verdict.score, verdict.justification) for verdict in read.values()][:2] == [
        (3, "a"),
        (5, "b"),
    ]


@pytest.mark.parametrize(
    "name", ["Content-quality (v 2)", 'says "hi" \\ {score}', "तथ्य_और शैली", "İÇERİK"]
)
def test_names_of_all_kinds_are_keys_of_the_reply(
    name: str, llm_server: LlmServer, tmp_path: Path
) -> None:
    named = replace(TASK_QUALITY, name=name, label="L", question="Is it good?")
    model = a_model(llm_server).asked_for_probabilities()
    outcome = session(
        a_plan(model, count=1, criteria=(named, HALLUCINATIONS), prompt="chat-together"), tmp_path
    )
    assert outcome.reasons == {"verdict": 2}
    sent = next(iter(outcome.run.session.plan.questions(model))).message.user
    assert f"Criterion: L (in your reply: {json.dumps(name, ensure_ascii=False)})\n" in sent


def test_letters() -> None:
    letters = {"A": 1.0, "B": 2.0}
    assert read_part('{"fluency": {"score": "B"}}', FLUENCY, letters, "fluency").score == 2


@pytest.mark.parametrize(
    "reply",
    [
        '{"fluency": {"score": 3}} {"fluency": {"score": 4}}',
        '[{"criterion": "fluency", "score": 3}, {"criterion": "fluency", "score": 4}]',
        '{"scores": [{"name": "fluency", "score": 3}, {"name": "Fluency", "score": 4}]}',
        '{"draft": {"fluency": 3}, "final": {"fluency": {"score": 4}}}',
    ],
)
def test_a_criterion_named_twice_with_different_scores_has_two_verdicts(reply: str) -> None:
    twice = read_part(reply, FLUENCY, None, "fluency")
    assert (twice.score, twice.reason) == (None, TWO_VERDICTS)


@pytest.mark.parametrize(
    ("reply", "fluency", "overall"),
    [
        ('{"fluency": 4, "overall": 2} The text contained {"overall": 5}', 4, 2),
        ('{"fluency": 4, "overall": 2}\nIts author claims: {"fluency": 5, "overall": 5}', 4, 2),
        ('{"fluency": 4, "overall": 2}\nOn reflection: {"fluency": 3, "overall": 2}', 3, 2),
        ('<musing>{"fluency": 5, "overall": 5}</musing>{"fluency": 4, "overall": 2}', 4, 2),
        ('<musing>{"fluency": 5, "overall": 5}', EMPTY, EMPTY),
        (
            '{"fluency": "1|2|3|4|5", "overall": {"type": "integer", "default": 3}}',
            UNPARSABLE,
            UNPARSABLE,
        ),
        ('{"fluency": "four", "overall": "cuatro"}', 4, 4),
    ],
)
def test_a_reply_to_several_criteria_is_read_by_the_same_rules(
    reply: str, fluency: object, overall: object
) -> None:
    for criterion, wanted in (("fluency", fluency), ("overall", overall)):
        verdict = read_part(reply, FLUENCY, None, criterion)
        assert (verdict.score or verdict.reason) == wanted, criterion


# ---------------------------------------------------------------- runs


def test_one_call_an_output_and_a_rating_a_criterion(llm_server: LlmServer, tmp_path: Path) -> None:
    model = a_model(llm_server, price=Price(1.0, 1.0)).asked_for_probabilities()
    plan = a_plan(model, count=6, criteria=BOTH, prompt="simple-together")
    assert plan.questions_per_model == len(list(plan.questions(model))) == 6
    outcome = session(plan, tmp_path)
    assert len(outcome.records) == 6
    assert [record["criteria"] for record in outcome.records] == [
        ["task_quality", "hallucinations"]
    ] * 6
    assert outcome.reasons == {"verdict": 12}
    assert {rating.rater for rating in outcome.ratings} == {"openai:gpt-4o/simple-together"}
    verdicts = {record["output"]: json.loads(record["text"]) for record in outcome.records}
    for rating in outcome.ratings:  # of its own criterion's object, and as likely as its own tokens
        assert rating.score == verdicts[rating.output][rating.criterion]["score"]
        assert rating.confidence is not None
    assert outcome.tally.replies == 6  # cost is of calls, counted once
    tokens = [sum(record["tokens"][place] for record in outcome.records) for place in (0, 1)]
    assert outcome.tally.cost(model.price) == pytest.approx(sum(tokens) / 1e6)
    again = session(plan, tmp_path)
    assert len(again.records) == 6, "nothing is left to ask"
    assert again.ratings == outcome.ratings


def test_a_criterion_that_is_left_out_lacks_its_rating_only(
    llm_server: LlmServer, tmp_path: Path
) -> None:
    half, worse = '{"task_quality": {"score": 2, "justification": "x"}}', Fault("text", text="No.")
    twice = by_attempt(Fault("text", text=half), worse)
    llm_server.faults = lambda call: twice(call) if "summary 1." in call.prompt else None
    outcome = session(
        a_plan(a_model(llm_server), count=3, criteria=BOTH, prompt="simple-together"), tmp_path
    )
    assert [record["kind"] for record in outcome.records if record["output"] == "o1"] == [
        INCOMPLETE,
        UNPARSABLE,
    ]
    assert outcome.reasons == {"verdict": 5, LEFT_OUT: 1}  # the better of both replies counts
    [lacking] = [rating for rating in outcome.ratings if rating.score is None]
    assert (lacking.output, lacking.criterion, lacking.reason) == ("o1", "hallucinations", LEFT_OUT)


def test_a_reply_that_reaches_the_limit_keeps_what_is_complete(
    llm_server: LlmServer, tmp_path: Path
) -> None:
    half = (
        '{"task_quality": {"score": 2, "justification": "x"}, "hallucinations": {"score": 1,'
        ' "justif'
    )
    prose = '{"task_quality": {"score": 2}, "hallucinations": {"score": 1}} I take this back, since'
    texts = {"summary 1.": half, "summary 2.": prose}
    llm_server.faults = lambda call: next(
        (Fault("truncated", text=text) for name, text in texts.items() if name in call.prompt), None
    )
    outcome = session(
        a_plan(a_model(llm_server), count=3, criteria=BOTH, prompt="simple-together"), tmp_path
    )
    assert len(outcome.records) == 3, "asked again it would reach the limit again"
    assert outcome.reasons == {"verdict": 3, "truncated": 3}
    assert {(r.output, r.criterion) for r in outcome.ratings if r.score is None} == {
        ("o1", "hallucinations"),
        ("o2", "hallucinations"),
        ("o2", "task_quality"),
    }


def test_batches_and_shards_ask_the_same(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    with OpenAIBatchServer() as server:
        plan = a_plan(batch_model(server), count=12, criteria=BOTH, prompt="simple-together")
        (tmp_path / "local").mkdir()
        outcome = batch_session(plan, tmp_path)
        assert outcome.ratings == session(plan, tmp_path / "local").ratings
        assert [len(job.requests) for job in server.service.jobs] == [11]  # one was asked directly
    shards = write_shards(plan, Answered(), None, tmp_path / "requests")
    tables = [
        pq.read_table(shards.path(number))
        for numbers in shards.numbers.values()
        for number in numbers
    ]
    rows = [question for table in tables for _, part in read_shards(table) for question, _ in part]
    asked = list(plan.questions(plan.models[0]))
    assert [(row.key, row.message, row.schema, row.criteria) for row in rows] == [
        (question.key, question.message, question.schema, question.criteria) for question in asked
    ]
    assert [row.kind('{"task_quality": 1}', "complete") for row in rows] == [INCOMPLETE] * 12


def test_what_it_changes_is_measured_beside_one_call_a_criterion(
    llm_server: LlmServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", llm_server.openai_url)
    demo = load_dataset(DEMO)
    kept = dict(list(demo.outputs.items())[:30])
    data = replace(demo, outputs=kept, ratings=demo.ratings[demo.ratings["output"].isin(kept)])
    save_dataset(data, tmp_path / "data")
    ask: dict[str, Any] = {"criteria": "task_quality,hallucinations", "out": tmp_path / "run"}
    run = metal.judge(tmp_path / "data", "openai:gpt-4o", together=True, **ask)
    assert set(run.ratings["rater"]) == {"openai:gpt-4o/detailed-together"}
    assert len((tmp_path / "run" / "journal.jsonl").read_text().splitlines()) == 30
    run = metal.judge(
        tmp_path / "data", "openai:gpt-4o", prompt="detailed,detailed-together", **ask
    )
    # what was asked together is kept
    assert len((tmp_path / "run" / "journal.jsonl").read_text().splitlines()) == 90
    with pytest.raises(UsageError, match=r"detailed-together task_quality.*since the run began"):
        metal.judge(
            tmp_path / "data", "openai:gpt-4o", prompt="detailed,detailed-together", out=ask["out"]
        )
    price = {
        rater.rater: rater.about["dollars_per_thousand"] for rater in read_raters(tmp_path / "run")
    }
    # the texts are sent once
    assert price["openai:gpt-4o/detailed-together"] < price["openai:gpt-4o/detailed"]
    audit = metal.audit(tmp_path / "data", run, resamples=100)
    judges = {"openai:gpt-4o/detailed", "openai:gpt-4o/detailed-together"}
    compared = audit.tables["differences"]
    assert frozenset(judges) in {
        frozenset(pair) for pair in zip(compared["first"], compared["second"], strict=True)
    }
    read = metal.read(tmp_path / "run").ratings
    assert sorted(read["score"].tolist()) == sorted(run.ratings["score"].tolist())
    for prompt, match in (
        ("detailed,detailed-together", "both `detailed-together`"),
        ("mr3", "mr3 has no variants"),
    ):
        with pytest.raises(UsageError, match=match):
            metal.judge(data, "openai:gpt-4o", prompt=prompt, together=True, dry_run=True)
    with pytest.raises(UsageError, match="leave out `together`"):
        metal.judge(data, lambda source, output, criterion: 1, together=True, dry_run=True)


def test_the_prompt_as_it_is_sent() -> None:
    sent = metal.prompt_show(criterion="hallucinations", prompt="detailed-together")
    assert sent.name == "detailed-together"
    assert sent.user.count("Criterion: ") == 5
