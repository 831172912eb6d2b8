"""The client against a Mechanical Turk on this machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from metal.building.crowdsourcing import mturk
from metal.building.crowdsourcing.campaign import Campaign
from metal.building.crowdsourcing.mturk import MTurk, MTurkError, fee
from metal.errors import MissingExtra, UsageError
from tests.mturk_server import MturkServer

if not os.environ.get("CI"):  # where it must be there
    pytest.importorskip("boto3")
DESCRIBED = {
    "Title": "t",
    "Description": "d",
    "Reward": "0.10",
    "MaxAssignments": 2,
    "LifetimeInSeconds": 60,
    "AssignmentDurationInSeconds": 60,
    "QualificationRequirements": [],
    "Question": "<q/>",
}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[MturkServer]:
    monkeypatch.setattr(mturk, "FIRST_PAUSE", 0.001)
    credentials(monkeypatch, tmp_path)
    with MturkServer() as running:
        yield running


def credentials(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Of nobody, and none of whoever runs the tests."""
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL_MTURK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAMADEUPFORTESTS00")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "made-up-secret-of-the-tests-0123456789")


@pytest.fixture
def turk(server: MturkServer) -> Iterator[MTurk]:
    with MTurk(server.url) as client:
        yield client


def test_a_busy_service_is_asked_again(server, turk):
    server.faults = {("GetAccountBalance", 1): "throttle", ("GetAccountBalance", 2): "throttle"}
    assert turk.balance() == Decimal("10000.00")
    assert server.calls["GetAccountBalance"] == 3


def test_one_that_stays_busy_is_given_up(server, turk):
    server.faults = {("GetAccountBalance", number): "throttle" for number in range(1, 99)}
    with pytest.raises(UsageError, match="did not answer get_account_balance in 7 tries: Rate exceeded"):
        turk.balance()


def test_an_answer_that_was_lost_is_no_second_hit(server, turk):
    server.faults = {("CreateHIT", 1): "lose"}
    hit = turk.create_hit("token-1", **DESCRIBED)
    assert list(server.hits) == [hit]
    assert server.hits[hit]["RequesterAnnotation"] == "token-1"


def test_a_hit_is_found_where_the_error_does_not_name_it(server, turk, monkeypatch):
    first = turk.create_hit("token-1", **DESCRIBED)
    for number in range(3):
        turk.create_hit(f"another-{number}", **DESCRIBED)
    monkeypatch.setattr(mturk, "_HIT_ID", mturk.re.compile("never"))
    assert turk.create_hit("token-1", **DESCRIBED) == first
    assert server.calls["ListHITs"] == 2  # of two a page


def test_a_refusal_is_one_line_without_the_key(turk):
    with pytest.raises(MTurkError, match=r"refused create_hit: Question is too long .AWS.MechanicalTurk.Parameter"):
        turk.create_hit("token-1", **DESCRIBED | {"Question": "x" * 65_536})
    assert turk._safe("for made-up-secret-of-the-tests-0123456789 in AKIAMADEUPFORTESTS00") == (
        "for [key hidden] in [key hidden]"
    )


def test_approving_twice_pays_once(server, turk):
    hit = turk.create_hit("token-1", **DESCRIBED)
    name = server.submit(hit, "A1", {"x": "1"})
    turk.approve(name)
    turk.approve(name)
    assert server.balance == Decimal("9999.90")
    rejected = server.submit(hit, "A2", {"x": "1"})
    turk.reject(rejected, "because")
    with pytest.raises(MTurkError, match="can be called with a status"):
        turk.approve(rejected)


def test_a_bonus_whose_answer_was_lost_is_paid_once(server, turk):
    name = server.submit(turk.create_hit("token-1", **DESCRIBED), "A1", {"x": "1"})
    server.faults = {("SendBonus", 1): "lose"}
    turk.bonus("bonus-1", "A1", name, Decimal("1.5"), "thanks")
    assert [each["BonusAmount"] for each in server.bonuses] == ["1.50"]


def test_a_qualification_type_is_made_once(server, turk):
    server.faults = {("CreateQualificationType", 1): "lose"}
    first = turk.qualification("Name 1", {"Description": "d"})
    assert turk.qualification("Name 1", {"Description": "d"}) == first
    assert turk.qualification("Name 12", {"Description": "d"}) != first
    assert len(server.types) == 2


def test_without_credentials(server, monkeypatch):
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(UsageError, match="needs credentials: set AWS_ACCESS_KEY_ID"):
        MTurk(server.url)


def test_without_boto3(monkeypatch):
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(MissingExtra, match=r"pip install 'metal-eval\[mturk\]'"):
        MTurk("http://127.0.0.1:1")


def test_fees():
    # 20% of 0.25 is 0.05, 40% from ten assignments on; of 0.02 it would be less than a cent.
    assert fee(Decimal("0.25"), 9) == Decimal("0.05")
    assert fee(Decimal("0.25"), 10) == Decimal("0.10")
    assert fee(Decimal("0.02"), 3) == Decimal("0.01")


def test_a_journal_survives_a_torn_line(tmp_path):
    campaign = Campaign(tmp_path, None)
    assert list(campaign.lines("hits.jsonl")) == []
    campaign.note("hits.jsonl", task="a", answer="\u2028 \ud800")
    with (tmp_path / "hits.jsonl").open("ab") as file:
        file.write(b'{"task": "b", "hi')
    assert [line["task"] for line in campaign.lines("hits.jsonl")] == ["a"]
    campaign.note("hits.jsonl", task="c")
    assert [line["task"] for line in campaign.lines("hits.jsonl")] == ["a", "c"]
