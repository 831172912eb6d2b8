"""Classifiers, cross-encoders and reward models on a local server that speaks as vLLM does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import metal
from metal.data.dataset import Dataset, save_dataset
from metal.data.records import Scale
from metal.errors import UsageError
from metal.raters.judges import call as calls
from metal.raters.judges.call import CallFailed, JudgeStopped, ModelRequest, answer_schema
from metal.raters.judges.functions import direct_prompt
from metal.raters.judges.models import Model
from metal.raters.judges.providers import open_client
from tests.llm_server import HttpReply, LlmServer, SideRequest

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.usefixtures("openai_environment"),
]
Json = dict[str, Any]
QUALITIES = [(item * 7) % 10 / 10 for item in range(30)]  # of the outputs, which their texts say


class HeadServer(LlmServer):
    """`head(path, body)` gives the first row of the data; None is a 404, as of a model without that
    head.
    """

    def __init__(self, head: Callable[[str, Json], Json | None]) -> None:
        super().__init__()
        self.head, self.asked = head, list[tuple[str, Json]]()

    def side_reply(self, request: SideRequest) -> HttpReply:
        body = json.loads(request.body)
        self.asked.append((request.path, body))
        row = self.head(*self.asked[-1])
        usage = {
            "prompt_tokens": 12,
            "total_tokens": 12,
            "completion_tokens": 0,
            "prompt_tokens_details": None,
        }
        reply = {
            "id": "x",
            "object": "list",
            "created": 1,
            "model": body["model"],
            "data": [row],
            "usage": usage,
        }
        return HttpReply(
            json.dumps(reply if row else {"detail": "Not Found"}).encode(), 200 if row else 404
        )


@pytest.fixture
def serve() -> Iterator[Callable[[Callable[[str, Json], Json | None]], HeadServer]]:
    with ExitStack() as servers:
        yield lambda head: servers.enter_context(HeadServer(head))


def rated(measure: str) -> Dataset:
    """Outputs that three people rate from 0 to 2 by their quality."""
    scores = [min(2, int(3 * quality)) for quality in QUALITIES]
    rows = [
        {
            "source": f"s{item}",
            "output": f"o{item}",
            "generator": "g",
            "language": "en",
            "criterion": "quality",
        }
        | {"rater": f"A{person}", "score": score if (item + person) % 9 else 1}
        | {"text": f"quality {QUALITIES[item]}", "source_text": f"question {item}"}
        for item, score in enumerate(scores)
        for person in range(3)
    ]
    return metal.read(pd.DataFrame(rows), measures={"quality": measure})


def quality_in(text: str) -> float:
    return float(text.removeprefix("quality "))


def classes(path: str, body: Json) -> Json | None:
    """The text's class has .6, the others share the rest."""
    place = min(2, int(3 * quality_in(body["input"])))
    return {
        "index": 0,
        "label": f"LABEL_{place}",
        "num_classes": 3,
        "probs": [0.2 + 0.4 * (at == place) for at in range(3)],
    }


def test_a_classifiers_classes_are_the_levels(serve: Any, tmp_path: Path) -> None:
    """The likeliest is the score; their probabilities give its confidence and the mean of the
    levels.
    """
    server, data = serve(classes), rated("ordinal")
    run = metal.judge(data, "vllm-classify:c", base_url=server.openai_url, out=tmp_path / "run")
    assert (
        "note: the classes of vllm-classify:c are read as 0, 1, 2, in this order"
        in run.job.warnings[0]
    )
    path, body = server.asked[0]
    assert path == "/classify"
    assert body == {"model": "c", "input": body["input"]}  # the text, no prompt, no temperature
    ratings = run.ratings.set_index("output")
    assert set(ratings["rater"]) == {"vllm-classify:c"}
    for item, quality in enumerate(QUALITIES):
        level, row = min(2, int(3 * quality)), ratings.loc[f"o{item}"]
        assert row["score"] == level
        assert row["confidence"] == pytest.approx(0.6)
        assert row["expected"] == pytest.approx(0.2 * 3 + 0.4 * level)
    statistics = run.outcome.statistics["vllm-classify:c"]
    assert (statistics.tokens_in, statistics.tokens_out) == (360, 0)
    turned = metal.judge(
        data, "vllm-classify:c", base_url=server.openai_url, flip="quality", out=tmp_path / "turned"
    ).ratings
    assert (turned["score"].to_numpy() == 2 - run.ratings["score"].to_numpy()).all()
    assert turned["expected"].to_numpy() == pytest.approx(2 - run.ratings["expected"].to_numpy())


@pytest.mark.parametrize(
    ("judge", "path", "sent"),
    [
        ("vllm-score:m", "/score", {"text_1": "question 3", "text_2": "quality 0.1"}),
        (
            "vllm-reward:m",
            "/pooling",
            {
                "messages": [
                    {"role": "user", "content": "question 3"},
                    {"role": "assistant", "content": "quality 0.1"},
                ]
            },
        ),
    ],
)
def test_a_number_is_a_score_on_a_criterion_without_levels(
    serve: Any, tmp_path: Path, judge: str, path: str, sent: Json
) -> None:
    def answer(at: str, body: Json) -> Json:
        if at == "/score":
            return {"index": 0, "object": "score", "score": quality_in(body["text_2"])}
        reward = 8 * quality_in(body["messages"][1]["content"]) - 4
        # a number for each token
        return {"index": 0, "object": "pooling", "data": [[0.0], [reward]]}

    server = serve(answer)
    run = metal.judge(rated("interval"), judge, base_url=server.openai_url, out=tmp_path / "run")
    assert (path, {"model": "m"} | sent) in server.asked
    scores = run.ratings.set_index("output")["score"]
    wanted = [quality if path == "/score" else 8 * quality - 4 for quality in QUALITIES]
    assert scores[[f"o{item}" for item in range(30)]].tolist() == pytest.approx(wanted)
    audit = metal.audit(rated("interval"), run, resamples=100)  # a continuous verdict
    [verdict] = audit.tables["verdicts"].to_dict("records")
    assert (verdict["verdict"], verdict["items"]) == ("informative", 30)
    assert verdict["above_constant"] > 0.4  # concordance hangs on the unit
    assert verdict["p_informative"] == pytest.approx(0, abs=1e-4)  # the order of answers does not


@pytest.mark.parametrize(
    ("judge", "measure", "words"),
    [
        (
            "vllm-score:m",
            "ordinal",
            "quality has levels .0, 1, 2.",
        ),
        ("vllm-classify:m,openai:gpt-4o", "ordinal", "get no prompt"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_sent(
    judge: str, measure: str, words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        metal.judge(rated(measure), judge, base_url="http://127.0.0.1:9/v1", dry_run=True)


def test_a_head_gives_one_score_an_output() -> None:
    with pytest.raises(UsageError, match=r"its criterion.*`criteria`"):
        metal.judge("datasets/demo", "vllm-classify:m", base_url="http://127.0.0.1:9", dry_run=True)
    with pytest.raises(UsageError, match="leave out `together`"):
        metal.judge(
            rated("ordinal"),
            "vllm-classify:m",
            base_url="http://127.0.0.1:9",
            together=True,
            dry_run=True,
        )
    with pytest.raises(UsageError, match=r"gives scores.*cannot write"):
        metal.generate(
            "datasets/demo", "vllm-reward:m", base_url="http://127.0.0.1:9", dry_run=True
        )
    with pytest.raises(UsageError, match="server is unknown"):
        metal.judge(rated("ordinal"), "vllm-classify:m", dry_run=True)


def asked(server: HeadServer, provider: str, measure: str, source: str = "question") -> calls.Reply:
    """What one call comes to."""
    criterion = rated(measure).criteria["quality"]
    message = direct_prompt([criterion]).write("quality", "en", source, "quality 0.1")
    model = Model(f"{provider}:m", provider, "m", base_url=server.url, parameters={})

    async def ask() -> calls.Reply:
        client = open_client(model)
        try:
            return await client.ask(
                ModelRequest(message, answer_schema(criterion.scale), {}, "none", 60.0)
            )
        finally:
            await client.close()

    return asyncio.run(ask())


@pytest.mark.parametrize(
    ("provider", "measure", "row", "kind", "words"),
    [
        ("vllm-classify", "ordinal", {"probs": [0.5, 0.5]}, calls.UNFIT,
            "2 classes, but the criterion has 3 levels"),
        ("vllm-classify", "ordinal", {"probs": [0.5]}, calls.UNFIT,
            "gives one number, but the criterion has 3 levels"),
        ("vllm-classify", "interval", {"probs": [0.5, 0.5]}, calls.UNFIT,
            "criterion has no levels"),
        ("vllm-classify", "ordinal", {"probs": [0.9, 0.8, 0.1]}, calls.UNFIT,
            "not give probabilities"),
        ("vllm-classify", "ordinal", {"probs": [2.0, -1.5, 0.5]}, calls.UNFIT,
            "not give probabilities"),
        ("vllm-classify", "ordinal", {"probs": ["a", "b", "c"]}, calls.NO_NUMBER,
            "gives .'a', 'b', 'c'"),
        ("vllm-score", "interval", {"score": None}, calls.NO_NUMBER, "vllm-score:m gives None"),
        ("vllm-score", "interval", {"score": float("nan")}, calls.NO_NUMBER,
            "vllm-score:m gives nan"),
        ("vllm-reward", "interval", {"data": []}, calls.NO_NUMBER, "vllm-reward:m gives"),
        ("vllm-reward", "interval", {"index": 0}, calls.NOT_A_REPLY, "no score"),
        ("vllm-reward", "interval", None, calls.UNKNOWN_MODEL, "404"),
    ],
)  # fmt: skip
def test_what_is_no_score_on_the_criterion_is_none(
    serve: Any, provider: str, measure: str, row: Json | None, kind: str, words: str
) -> None:
    with pytest.raises(CallFailed, match=words) as failed:
        asked(serve(lambda path, body: row), provider, measure)
    assert failed.value.kind == kind


def test_a_small_question(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve(
        lambda path, body: {"score": 0.5} if path == "/score" else {"probs": [0.1, 0.2, 0.7]}
    )
    tried = [
        metal.judges_test(f"vllm-{head}:m", base_url=server.openai_url).rating
        for head in ("score", "classify")
    ]
    assert [rating.score for rating in tried] == [0.5, 2]
    assert tried[1].confidence == 0.7


def test_a_number_alone_and_a_source_without_text(serve: Any) -> None:
    server = serve(
        lambda path, body: {"probs": [0.25]} if path == "/classify" else {"score": [0.5]}
    )
    assert asked(server, "vllm-classify", "interval").text == '{"score": 0.25}'
    # in a list, as older servers had it
    assert asked(server, "vllm-score", "interval").text == '{"score": 0.5}'
    with pytest.raises(CallFailed, match=calls.NO_SOURCE):
        asked(server, "vllm-score", "interval", source=" ")
    assert len(server.asked) == 2, "nothing is sent"


def test_a_head_that_does_not_fit_stops_in_one_line(serve: Any, tmp_path: Path) -> None:
    server = serve(lambda path, body: {"probs": [0.5, 0.5]})
    out, data = tmp_path / "run", rated("ordinal")
    with pytest.raises(JudgeStopped) as stopped:
        metal.judge(data, "vllm-classify:m", base_url=server.openai_url, concurrency=1, out=out)
    why = (
        "vllm-classify:m gives 2 classes, but the criterion has 3 levels; there has to be a class"
        " for each level, in the same order"
    )
    assert (
        str(stopped.value)
        == f"vllm-classify:m: no score on this criterion: {why}. No call was answered; {out} was"
        " not kept"
    )
    assert len(server.asked) == 1
    assert not out.exists()


def test_what_lies_beyond_the_ends_of_a_scale_is_lost_for_nobody(tmp_path: Path) -> None:
    data = rated("interval")
    ended = replace(data.criteria["quality"], scale=Scale("interval", low=0, high=2))
    save_dataset(replace(data, criteria={"quality": ended}), tmp_path / "data")
    for judge in ("vllm-reward:m", "vllm-classify:m"):
        with pytest.raises(
            UsageError,
            match=r"quality has ends \(0 to 2\)",
        ):
            metal.judge(tmp_path / "data", judge, base_url="http://127.0.0.1:9/v1", dry_run=True)


def test_a_head_that_gives_no_numbers_is_not_down(serve: Any, tmp_path: Path) -> None:
    def scored(path: str, body: Json) -> Json:
        return {"score": float("nan") if silent or body["text_2"] == "quality 0.1" else 0.5}

    silent, server = False, serve(scored)
    run = metal.judge(
        rated("interval"), "vllm-score:m", base_url=server.openai_url, out=tmp_path / "some"
    )
    assert run.ratings.groupby("reason")["output"].count().to_dict() == {"": 27, "no number": 3}
    silent = True
    run = metal.judge(
        rated("interval"),
        "vllm-score:m",
        base_url=server.openai_url,
        concurrency=1,
        out=tmp_path / "none",
    )
    assert run.outcome.stopped == {"vllm-score:m": "no number: vllm-score:m gives nan"}
    assert len(server.asked) == 33
