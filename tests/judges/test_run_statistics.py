"""What a journal is found to hold: of several lines of a call the best, and what the calls were like."""

from __future__ import annotations

from pathlib import Path

import pytest

from metal.errors import DataError
from metal.raters.judges import call as calls
from metal.raters.judges.call import VERDICT, CallFailed, Reply
from metal.raters.judges.collect import CallStatistics, failure_reason, index_journal
from metal.raters.judges.journal import Attempt, failure_line, rejected_line, reply_line
from metal.raters.judges.models import Model, Price
from metal.raters.judges.plan import JudgingPlan, JudgingQuestion
from metal.raters.judges.reader import UNPARSABLE
from tests.judges.test_plan import output, plan

MODEL = Model("openai:m", "openai", "m")
OTHER = Model("openai:other", "openai", "other")


def reply(
    call: JudgingQuestion, kind: str = VERDICT, model: Model = MODEL, text: str = "{}", attempt: Attempt | None = None
) -> bytes:
    answer = Reply(text, tokens_in=10, tokens_out=None, model="m-1", fingerprint="fp", raw=b"{}")
    return reply_line(model.name, call, kind, answer, attempt or Attempt(sent={"temperature": 0}))


def failure(call: JudgingQuestion, kind: str = calls.SERVER) -> bytes:
    return failure_line(MODEL.name, call, CallFailed(kind), Attempt(failures=1))


@pytest.fixture
def made() -> JudgingPlan:
    return plan(*(output(f"o{n}", text=f"Text {n}.") for n in range(2)), models=(MODEL,))


def journal(folder: Path, *lines: bytes) -> Path:
    path = folder / "journal.jsonl"
    path.write_bytes(b"".join(line.rstrip(b"\n") + b"\n" for line in lines))
    return path


def test_the_best_line_of_a_call_counts(made: JudgingPlan, tmp_path: Path) -> None:
    first, second, third, *rest = made.questions(MODEL)
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
    records = [record for _, record in index_journal(made, path).records(made.questions(MODEL))]
    assert records[0] is not None
    assert records[0]["text"] == "the verdict"
    assert failure_reason(records[0]) == ""
    assert records[1] is not None
    assert records[1]["text"] == "what?"
    assert records[2] is not None
    assert failure_reason(records[2]) == f"failed: {calls.SERVER}"
    assert records[3:] == [None] * len(rest)


def test_what_the_calls_were_like(made: JudgingPlan, tmp_path: Path) -> None:
    first, second, *_ = made.questions(MODEL)
    path = journal(
        tmp_path,
        rejected_line(MODEL.name, "temperature", "no"),
        rejected_line(OTHER.name, "seed", "no"),
        reply(first, UNPARSABLE),
        reply(first, attempt=Attempt(number=2, failures=3, took=1.5)),
        reply(second)[:-1] + b',"reused":true}',
        reply(second, model=OTHER),
    )
    statistics = index_journal(made, path).statistics
    tally = statistics["openai:m/simple"]
    assert (tally.retried, tally.asked_again, tally.reused) == (1, 1, 1)
    assert (tally.tokens_in, tally.tokens_out, tally.uncounted) == (20, 0, 2)  # what was reused was not paid here
    assert tally.versions == {"m-1 fp": 3}
    assert tally.rejected == {"temperature": "no"}
    assert tally.latency(100) == 1.5
    assert tally.cost(Price(1, 2)) == pytest.approx(20e-6)
    assert tally.cost(None) is None
    assert statistics["openai:m/detailed"].rejected == {"temperature": "no"}
    assert statistics["openai:m/detailed"].tokens_in == 0


def test_of_nothing_nothing_is_said() -> None:
    assert CallStatistics().latency(50) is None
    assert (CallStatistics().failed, CallStatistics().answered) == (0, 0)


def test_lasting_refusals_are_no_failures(made: JudgingPlan, tmp_path: Path) -> None:
    first, *_ = made.questions(MODEL)
    index = index_journal(made, journal(tmp_path, failure(first, calls.TOO_LONG)))
    record = next(index.records(made.questions(MODEL)))[1]
    assert record is not None
    assert failure_reason(record) == calls.TOO_LONG


def test_a_damaged_journal_is_told(made: JudgingPlan, tmp_path: Path) -> None:
    first, second, *_ = made.questions(MODEL)
    with pytest.raises(DataError, match="line 2"):
        index_journal(made, journal(tmp_path, reply(first), b"what is this", reply(second)))
