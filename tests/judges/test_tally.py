"""What a journal is found to hold: of several lines of a call the best, and what the calls were like."""

from __future__ import annotations

from pathlib import Path

import pytest

from metal.errors import DataError
from metal.raters.judges import call as calls
from metal.raters.judges.call import VERDICT, CallFailed, Reply
from metal.raters.judges.lines import Tries, failure_line, rejected_line, reply_line
from metal.raters.judges.models import Model, Price
from metal.raters.judges.plan import Call, Plan
from metal.raters.judges.reader import UNPARSABLE
from metal.raters.judges.tally import Tally, look_up, why_none
from tests.judges.test_plan import output, plan

MODEL = Model("openai:m", "openai", "m")
OTHER = Model("openai:other", "openai", "other")


def reply(call: Call, kind: str = VERDICT, model: Model = MODEL, text: str = "{}", tries: Tries | None = None) -> bytes:
    answer = Reply(text, tokens_in=10, tokens_out=None, model="m-1", fingerprint="fp", raw=b"{}")
    return reply_line(model.name, call, kind, answer, tries or Tries(sent={"temperature": 0}))


def failure(call: Call, kind: str = calls.SERVER) -> bytes:
    return failure_line(MODEL.name, call, CallFailed(kind), Tries(failures=1))


@pytest.fixture
def made() -> Plan:
    return plan(*(output(f"o{n}", text=f"Text {n}.") for n in range(2)), models=(MODEL,))


def journal(folder: Path, *lines: bytes) -> Path:
    path = folder / "journal.jsonl"
    path.write_bytes(b"".join(line.rstrip(b"\n") + b"\n" for line in lines))
    return path


def test_the_best_line_of_a_call_counts(made: Plan, tmp_path: Path) -> None:
    first, second, third, *rest = made.calls(MODEL)
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
    records = [record for _, record in look_up(made, path).records(made.calls(MODEL))]
    assert records[0] is not None
    assert records[0]["text"] == "the verdict"
    assert why_none(records[0]) == ""
    assert records[1] is not None
    assert records[1]["text"] == "what?"
    assert records[2] is not None
    assert why_none(records[2]) == f"failed: {calls.SERVER}"
    assert records[3:] == [None] * len(rest)


def test_what_the_calls_were_like(made: Plan, tmp_path: Path) -> None:
    first, second, *_ = made.calls(MODEL)
    path = journal(
        tmp_path,
        rejected_line(MODEL.name, "temperature", "no"),
        rejected_line(OTHER.name, "seed", "no"),
        reply(first, UNPARSABLE),
        reply(first, tries=Tries(asked=2, failures=3, took=1.5)),
        reply(second)[:-1] + b',"reused":true}',
        reply(second, model=OTHER),
    )
    tallies = look_up(made, path).tallies
    tally = tallies["openai:m/simple"]
    assert (tally.retried, tally.asked_again, tally.reused) == (1, 1, 1)
    assert (tally.tokens_in, tally.tokens_out, tally.uncounted) == (20, 0, 2)  # what was reused was not paid here
    assert tally.versions == {"m-1 fp": 3}
    assert tally.rejected == {"temperature": "no"}
    assert tally.latency(100) == 1.5
    assert tally.cost(Price(1, 2)) == pytest.approx(20e-6)
    assert tally.cost(None) is None
    assert tallies["openai:m/detailed"].rejected == {"temperature": "no"}
    assert tallies["openai:m/detailed"].tokens_in == 0


def test_of_nothing_nothing_is_said() -> None:
    assert Tally().latency(50) is None
    assert (Tally().failed, Tally().answered) == (0, 0)


def test_lasting_refusals_are_no_failures(made: Plan, tmp_path: Path) -> None:
    first, *_ = made.calls(MODEL)
    found = look_up(made, journal(tmp_path, failure(first, calls.TOO_LONG)))
    record = next(found.records(made.calls(MODEL)))[1]
    assert record is not None
    assert why_none(record) == calls.TOO_LONG


def test_a_damaged_journal_is_told(made: Plan, tmp_path: Path) -> None:
    first, second, *_ = made.calls(MODEL)
    with pytest.raises(DataError, match="line 2"):
        look_up(made, journal(tmp_path, reply(first), b"what is this", reply(second)))
