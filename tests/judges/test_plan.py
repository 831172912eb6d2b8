"""The plan of a run: which questions, their keys, the sample, what they will cost; and what a
journal holds of it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metal.data.files import bundled
from metal.data.records import Level, Output, Scale, Source
from metal.errors import UnknownName, UsageError
from metal.raters.judges import call as calls
from metal.raters.judges.call import VERDICT, CallFailed, Reply
from metal.raters.judges.collect import failure_reason, index_journal
from metal.raters.judges.journal import Attempt, failure_line, rejected_line, reply_line
from metal.raters.judges.limits import Budget, CostEstimate, TokenEstimator, check_priced, estimates
from metal.raters.judges.models import Model, find_model
from metal.raters.judges.plan import JudgingPlan, JudgingQuestion, choose_outputs, rater_name
from metal.raters.judges.prices import Price
from metal.raters.judges.prompts import ANSWER_TOKENS, Prompt
from metal.raters.judges.reader import UNPARSABLE
from metal.raters.judges.rubric import rubrics_for
from metal.raters.judges.templates import load_template
from tests.conftest import HALLUCINATIONS, TASK_QUALITY

CRITERIA = {criterion.name: criterion for criterion in (TASK_QUALITY, HALLUCINATIONS)}
FOLDERS = [bundled("prompts")]
MODEL = find_model("openai:gpt-4o", {})


def prompt(name: str = "simple", **changes: str) -> Prompt:
    template = replace(load_template(name, FOLDERS), **changes)
    return Prompt(template, rubrics_for(CRITERIA.values(), FOLDERS, needed=template.needed))


def output(
    name: str = "o1", language: str = "en", text: str = "A summary.", source: str = "s1"
) -> Output:
    return Output(name, source, "g", language, text)


def plan(
    *outputs: Output,
    models: tuple[Model, ...] = (MODEL,),
    source: str = "A passage.",
    **changes: object,
) -> JudgingPlan:
    prompts = (prompt(), prompt("detailed"))
    made = JudgingPlan(
        models, prompts, CRITERIA, outputs or (output(),), {"s1": Source("s1", "en", source)}
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def keys(made: JudgingPlan, model: Model = MODEL) -> list[str]:
    return [call.key for call in made.questions(model)]


def test_one_call_an_output_criterion_prompt_and_sample() -> None:
    made = plan(output("o1"), output("o2", text="Another."), output("o3", text=" \n"), repeat=2)
    calls = list(made.questions(MODEL))
    assert len(calls) == made.questions_per_model == 2 * 2 * 2 * 2
    assert len({call.key for call in calls}) == len(calls)
    assert made.without_text == 1
    asked = [
        (call.prompt.name, *call.criteria, call.sample, call.output.output) for call in calls[:5]
    ]
    assert asked == [
        ("simple", "task_quality", 1, "o1"),
        ("simple", "task_quality", 1, "o2"),
        ("simple", "task_quality", 2, "o1"),
        ("simple", "task_quality", 2, "o2"),
        ("simple", "hallucinations", 1, "o1"),
    ]


def test_equal_questions_have_equal_keys() -> None:
    """Names of outputs and judges, limits and prices are no part of a question."""
    assert keys(plan(output("o1"))) == keys(plan(output("other")))
    same = replace(
        MODEL,
        name="mine",
        concurrency=1,
        timeout=1.0,
        price=None,
        family="x",
        requests_per_minute=1.0,
    )
    assert keys(plan(), same) == keys(plan())


@pytest.mark.parametrize(
    "other",
    [
        replace(MODEL, model="gpt-4.1"),
        replace(MODEL, parameters={"temperature": 1}),
        replace(MODEL, parameters={}),
    ],
)
def test_keys_differ_with_the_identity_of_the_model(other: Model) -> None:
    assert not set(keys(plan(), other)) & set(keys(plan()))


@pytest.mark.parametrize(
    "other",
    [
        plan(output(text="A summary!")),
        plan(output(language="sw")),
        plan(source="Another passage."),
        plan(source=""),
        plan(
            prompts=(
                prompt(system="You judge {{ language }}."),
                prompt("detailed", user="{{ output }}"),
            )
        ),
    ],
    ids=["output", "language", "source", "no source", "prompt"],
)
def test_keys_differ_with_the_question(other: JudgingPlan) -> None:
    assert not set(keys(other)) & set(keys(plan()))


def test_keys_differ_with_the_sample_and_the_answers_allowed() -> None:
    first, second = keys(plan(prompts=(prompt(user="{{ output }}", system="x"),), repeat=2))[:2]
    assert first != second
    bare = (prompt(user="{{ output }}", system="x"),)
    wider = replace(
        TASK_QUALITY, scale=Scale("ordinal", tuple(Level(value, str(value)) for value in range(5)))
    )
    narrow, other = (
        plan(prompts=bare, criteria={"task_quality": c}) for c in (TASK_QUALITY, wider)
    )
    assert keys(narrow) != keys(other)


@given(st.text(min_size=1).filter(str.strip), st.text(min_size=1).filter(str.strip))
def test_two_texts_have_two_keys(first: str, second: str) -> None:
    only = plan(output("o1", text=first), output("o2", text=second), prompts=(prompt(),))
    both = keys(only)
    assert (both[0] == both[1]) == (first == second)


def test_the_border_between_source_and_output_counts() -> None:
    assert keys(plan(output(text="b c"), source="a")) != keys(plan(output(text="c"), source="a b"))


def test_without_source_is_counted() -> None:
    assert plan(source=" ").without_source == 1
    assert plan().without_source == 0


def test_raters() -> None:
    assert rater_name(MODEL, prompt()) == "openai:gpt-4o/simple"
    assert rater_name(MODEL, prompt(), 2) == "openai:gpt-4o/simple#2"


# ---------------------------------------------------------------- the sample

LANGUAGES = {"en": 30, "hi": 10, "sw": 3}
OUTPUTS = {
    f"{language}{number}": output(f"{language}{number}", language)
    for language, count in LANGUAGES.items()
    for number in range(count)
}


def sizes(sample: int, seed: int = 0) -> Counter[str]:
    return Counter(entry.language for entry in choose_outputs(OUTPUTS, sample=sample, seed=seed))


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        (1, {"en": 1}),
        (2, {"en": 1, "hi": 1}),
        (9, {"en": 3, "hi": 3, "sw": 3}),
        (14, {"en": 6, "hi": 5, "sw": 3}),
        (42, {"en": 29, "hi": 10, "sw": 3}),
        (43, LANGUAGES),
        (99, LANGUAGES),
        (0, LANGUAGES),
    ],
)
def test_a_sample_is_even_over_languages(sample: int, expected: dict[str, int]) -> None:
    assert sizes(sample) == expected


@given(st.integers(0, 2**32), st.integers(1, 42))
def test_a_smaller_sample_is_part_of_a_larger_one(seed: int, sample: int) -> None:
    small = choose_outputs(OUTPUTS, sample=sample, seed=seed)
    large = choose_outputs(OUTPUTS, sample=sample + 1, seed=seed)
    assert len(small) == sample
    assert {entry.output for entry in small} < {entry.output for entry in large}
    order = list(OUTPUTS)
    assert small == sorted(small, key=lambda entry: order.index(entry.output))


def test_a_sample_is_seeded() -> None:
    drawn = {
        seed: tuple(entry.output for entry in choose_outputs(OUTPUTS, sample=9, seed=seed))
        for seed in range(5)
    }
    assert len(set(drawn.values())) > 1
    assert drawn[3] == tuple(entry.output for entry in choose_outputs(OUTPUTS, sample=9, seed=3))


def test_languages_are_chosen() -> None:
    assert {entry.language for entry in choose_outputs(OUTPUTS, ["sw", "hi"])} == {"sw", "hi"}
    assert len(choose_outputs(OUTPUTS, ["sw", "sw"], sample=2)) == 2
    assert choose_outputs({}) == []
    with pytest.raises(UnknownName, match="language 'xx'"):
        choose_outputs(OUTPUTS, ["xx"])


# ---------------------------------------------------------------- what it will cost


def test_estimates_count_what_is_still_to_be_asked() -> None:
    made = plan(output("o1"), output("o2", text="Another."), output("o3"))  # o3 asks what o1 asks
    counted: list[tuple[int, int]] = []
    (estimate,) = estimates(made, set(), progress=lambda *now: counted.append(now))
    assert counted[0] == (0, 12)
    assert counted[-1] == (12, 12)
    calls = {call.key: call for call in made.questions(MODEL)}
    assert (estimate.calls, estimate.answered) == (8, 0)
    assert estimate.tokens_in == pytest.approx(sum(call.rough_tokens for call in calls.values()))
    assert estimate.tokens_out == 8 * ANSWER_TOKENS
    assert estimate.cost == pytest.approx(
        (estimate.tokens_in * 2.5 + estimate.tokens_out * 10) / 1e6
    )
    (thinking,) = estimates(plan(output("o1"), models=(replace(MODEL, thoughts=500),)), set())
    assert thinking.tokens_out == 4 * (ANSWER_TOKENS + 500)
    assert estimate.first
    assert estimate.first.key == keys(made)[0]
    answered = {bytes.fromhex(key) for key in keys(made)[:2]}
    (rest,) = estimates(made, answered)
    # o1, o2, and o3 which asks the same as o1
    assert (rest.calls, rest.answered, rest.begins) == (6, 2, 3)


def test_calls_from_a_place_on_are_the_rest_of_the_calls() -> None:
    made = replace(plan(output("o1"), output("o2", text="Another.")), repeat=3)
    all_keys = keys(made)
    for start in range(len(all_keys) + 2):
        assert [call.key for call in made.questions(MODEL, start)] == all_keys[start:]


def test_a_limit_is_shared_by_the_models() -> None:
    made = plan(models=(MODEL, replace(MODEL, name="b", model="b", price=None)))
    assert [estimate.calls for estimate in estimates(made, set())] == [4, 4]
    assert [estimate.calls for estimate in estimates(made, set(), limit=5)] == [4, 1]
    assert [estimate.calls for estimate in estimates(made, set(), limit=0)] == [0, 0]
    assert estimates(made, set())[1].cost is None


def test_how_long_it_takes() -> None:
    slow = replace(MODEL, concurrency=4, requests_per_minute=30.0)
    assert CostEstimate(MODEL, calls=160).seconds == 20
    assert CostEstimate(slow, calls=160).seconds == 320
    assert CostEstimate(replace(MODEL, provider="fake"), calls=160).seconds == 0  # not known
    assert (
        CostEstimate(
            replace(slow, tokens_per_minute=100.0), calls=1, tokens_in=900, tokens_out=100
        ).seconds
        == 600
    )


def test_an_unknown_price_cannot_be_kept_to() -> None:
    check_priced([MODEL, replace(MODEL, price=Price(0, 0))])
    with pytest.raises(UsageError, match="the price of mine is not known"):
        check_priced([MODEL, replace(MODEL, name="mine", price=None)])


def test_a_budget_counts_what_is_under_way() -> None:
    budget = Budget(1.0)
    assert budget.take(0.6)
    assert not budget.take(0.5)
    budget.spent += 0.2
    budget.release(0.6)
    assert budget.take(0.8)
    assert not budget.take(0.01)
    assert Budget().take(1e9)
    assert Budget(0.0).take(0.0)
    assert not Budget(0.0).take(1e-9)


def test_the_token_estimator_learns() -> None:
    estimator = TokenEstimator()
    assert estimator.expected(100, ANSWER_TOKENS) == (100, ANSWER_TOKENS)
    assert estimator.most(100, ANSWER_TOKENS, 500) == (100, 500)
    estimator.learn(100, 20, 150, 40)
    estimator.learn(100, 20, 250, None)
    estimator.learn(100, 80, None, 60)
    assert estimator.expected(50, 10) == (100, 10)  # 400 tokens for 200 guessed; 100 for 100
    assert estimator.most(50, 10) == (125, 20)  # the worst of each: 250 for 100, 40 for 20


def test_only_chosen_outputs_are_to_be_rated() -> None:
    outputs = {
        f"{code}{n}": replace(output(f"{code}{n}", code), chosen=n > 0)
        for code in ("en", "sw")
        for n in range(4)
    }
    assert [output.output for output in choose_outputs(outputs)] == [
        "en1",
        "en2",
        "en3",
        "sw1",
        "sw2",
        "sw3",
    ]
    assert [output.output for output in choose_outputs(outputs, ["sw"])] == ["sw1", "sw2", "sw3"]
    for sample in range(1, 9):
        drawn = choose_outputs(outputs, sample=sample)
        assert len(drawn) == min(sample, 6)
        assert all(output.chosen for output in drawn)
    unchosen = {name: replace(output, chosen=False) for name, output in outputs.items()}
    with pytest.raises(UsageError, match="output is chosen"):
        choose_outputs(unchosen)
    with pytest.raises(UsageError, match="output has a text"):
        choose_outputs(
            {name: replace(output, chosen=False, text="") for name, output in outputs.items()}
        )


# ---------------------------------------------------------------- what a journal holds: of several
# lines the best

ASKED, OTHER = Model("openai:m", "openai", "m"), Model("openai:other", "openai", "other")


def reply(
    call: JudgingQuestion,
    kind: str = VERDICT,
    model: Model = ASKED,
    text: str = "{}",
    attempt: Attempt | None = None,
) -> bytes:
    answer = Reply(text, tokens_in=10, tokens_out=None, model="m-1", fingerprint="fp", raw=b"{}")
    return reply_line(model.name, call, kind, answer, attempt or Attempt(sent={"temperature": 0}))


def failure(call: JudgingQuestion, kind: str = calls.SERVER) -> bytes:
    return failure_line(ASKED.name, call, CallFailed(kind), Attempt(failures=1))


@pytest.fixture
def made() -> JudgingPlan:
    return plan(*(output(f"o{n}", text=f"Text {n}.") for n in range(2)), models=(ASKED,))


def journal(folder: Path, *lines: bytes) -> Path:
    path = folder / "journal.jsonl"
    path.write_bytes(b"".join(line.rstrip(b"\n") + b"\n" for line in lines))
    return path


def test_the_best_line_of_a_call_counts(made: JudgingPlan, tmp_path: Path) -> None:
    first, second, third, *rest = made.questions(ASKED)
    path = journal(
        tmp_path,
        reply(first, text="the verdict"),
        reply(first, UNPARSABLE, text="what?"),
        failure(first),
        failure(second),
        reply(second, UNPARSABLE, text="what?"),
        failure(second),
        failure(third),
    )
    records = [record for _, record in index_journal(made, path).records(made.questions(ASKED))]
    assert records[0] is not None
    assert records[0]["text"] == "the verdict"
    assert failure_reason(records[0]) == ""
    assert records[1] is not None
    assert records[1]["text"] == "what?"
    assert records[2] is not None
    assert failure_reason(records[2]) == f"failed: {calls.SERVER}"
    assert records[3:] == [None] * len(rest)


def test_what_the_calls_were_like(made: JudgingPlan, tmp_path: Path) -> None:
    first, second, *_ = made.questions(ASKED)
    path = journal(
        tmp_path,
        rejected_line(ASKED.name, "temperature", "no"),
        rejected_line(OTHER.name, "seed", "no"),
        reply(first, UNPARSABLE),
        reply(first, attempt=Attempt(number=2, failures=3, took=1.5)),
        reply(second)[:-1] + b',"reused":true}',
        reply(second, model=OTHER),
    )
    statistics = index_journal(made, path).statistics
    tally = statistics["openai:m/simple"]
    assert (tally.retried, tally.asked_again, tally.reused) == (1, 1, 1)
    # what was reused was not paid here
    assert (tally.tokens_in, tally.tokens_out, tally.uncounted) == (20, 0, 2)
    assert tally.versions == {"m-1 fp": 3}
    assert tally.rejected == {"temperature": "no"}
    assert tally.latency(100) == 1.5
    assert tally.cost(Price(1, 2)) == pytest.approx(20e-6)
    assert tally.cost(None) is None
    assert statistics["openai:m/detailed"].rejected == {"temperature": "no"}
    assert statistics["openai:m/detailed"].tokens_in == 0
