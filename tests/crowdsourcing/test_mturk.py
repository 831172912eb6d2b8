"""The client against a Mechanical Turk on this machine, and the documents that it takes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest

from metal.building.crowdsourcing import mturk
from metal.building.crowdsourcing.campaign import Campaign
from metal.building.crowdsourcing.mturk import MTurk, MTurkError, fee
from metal.building.crowdsourcing.mturk_campaign import MTurkSettings
from metal.building.crowdsourcing.mturk_documents import (
    fields_of,
    html_question,
    make_test,
    read_answers,
    read_test,
)
from metal.building.crowdsourcing.posting import requirements
from metal.building.forms.mturk import HIT_LIMIT
from metal.errors import DataError, MissingExtra, UsageError
from tests.mturk_server import MturkServer, answers_xml

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
    with pytest.raises(
        UsageError, match="did not answer get_account_balance in 7 tries: Rate exceeded"
    ):
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
    with pytest.raises(
        MTurkError, match=r"refused create_hit: Question is too long .AWS.MechanicalTurk.Parameter"
    ):
        turk.create_hit("token-1", **DESCRIBED | {"Question": "x" * 65_536})
    assert (
        turk._safe("for made-up-secret-of-the-tests-0123456789 in AKIAMADEUPFORTESTS00")
        == "for [key hidden] in [key hidden]"
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
    with pytest.raises(UsageError, match="AWS_ACCESS_KEY_ID"):
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


LAYOUT = '<crowd-form><p>${text}</p><input type="radio" name="task_quality" value="1"></crowd-form>'


def page_of(question: str) -> str:
    """The page in an HTMLQuestion, as an XML parser gives it."""
    content = fromstring(question)[0]
    assert content.tag.endswith("HTMLContent")
    return content.text or ""


def test_a_cell_is_put_in_once_and_stays_what_it_was():
    page = page_of(html_question(LAYOUT, {"text": "a ]]> b ${text} &lt;c&gt;"}, "here"))
    assert "<p>a ]]> b ${text} &lt;c&gt;</p>" in page
    assert page.startswith("<!DOCTYPE html>")


def test_a_layout_with_its_own_form_posts_by_itself():
    assert "externalSubmit" not in html_question(LAYOUT, {"text": "a"}, "here")


def test_a_layout_without_a_form_is_posted_to_mturk():
    page = page_of(html_question('<p>${text}</p><input name="x">', {"text": "{braces}"}, "here"))
    assert '<form name="mturk_form" id="mturk_form" method="post"' in page
    assert 'action="https://www.mturk.com/mturk/externalSubmit"' in page
    assert 'name="assignmentId"' in page
    assert "<p>{braces}</p>" in page
    assert "/^https:\\/\\/[a-z.]+\\.mturk\\.com(\\/|$)/.test(to)" in page


def test_a_variable_without_a_column():
    with pytest.raises(DataError, match=r"row 7: the layout has \$\{text\}"):
        html_question(LAYOUT, {"other": ""}, "row 7")


def test_the_limit_counts_bytes_of_the_whole_document():
    size = len(html_question(LAYOUT, {"text": ""}, "here").encode())
    html_question(LAYOUT, {"text": "x" * (HIT_LIMIT - size)}, "here")
    with pytest.raises(DataError, match="65,536 bytes; a HIT takes 65,535"):
        html_question(LAYOUT, {"text": "x" * (HIT_LIMIT - size + 1)}, "here")
    with pytest.raises(DataError, match="a HIT takes"):
        html_question(LAYOUT, {"text": "ب" * (HIT_LIMIT // 2)}, "here")


def test_fields_are_those_of_inputs():
    page = (
        '<meta name="viewport"><input type=radio name="a b"><input name=\'c\'><textarea rows=2'
        ' name="d">'
    )
    assert fields_of(page + '<crowd-slider name="e"><input name="c">') == ["a b", "c", "d", "e"]


def test_answers_by_field():
    words = {"task_quality": "2", "comment": "\u202eشكرا </b> ]]> &amp; \U0001f327 a\nb"}
    assert read_answers(answers_xml(words), "here") == words


def test_a_field_that_comes_twice_holds_both():
    each = (
        "<Answer><QuestionIdentifier>a</QuestionIdentifier><SelectionIdentifier>{}"
        "</SelectionIdentifier></Answer>"
    )
    assert read_answers(f"<A>{each.format(1)}{each.format(2)}</A>", "here") == {"a": "1, 2"}


BOMB = (
    '<!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c'
    ' "&b;&b;&b;">]><QuestionFormAnswers>&c;</QuestionFormAnswers>'
)


@pytest.mark.parametrize(
    ("document", "words"), [(BOMB, "declares XML entities"), ("<a>", "not XML"), ("", "not XML")]
)
def test_what_is_not_read(document, words):
    with pytest.raises(DataError, match=words):
        read_answers(document, "assignment 7")


def settings(**asked) -> MTurkSettings:
    return MTurkSettings("sandbox", "", "0.25", 3, 60, 60, 60, ("en",), "", "", "", **asked)


def test_genies_requirements():
    genie = settings(completed_hits=5000, share_approved=99, countries=("us", "CA-ON"), adult=True)
    result = requirements(genie, {"3TEST": 80}, "3SHUT")
    everywhere = "DiscoverPreviewAndAccept"
    at_least = "GreaterThanOrEqualTo"
    places = [{"Country": "US"}, {"Country": "CA", "Subdivision": "ON"}]
    assert [tuple(each.values()) for each in result] == [
        ("00000000000000000040", at_least, [5000], everywhere),
        ("000000000000000000L0", at_least, [99], everywhere),
        ("3TEST", at_least, [80], "Accept"),
        ("00000000000000000071", "In", places, everywhere),
        ("00000000000000000060", "EqualTo", [1], everywhere),
        ("3SHUT", "DoesNotExist", everywhere),
    ]
    assert requirements(settings()) == []
    with pytest.raises(UsageError, match="'Kenya' is not a code"):
        requirements(settings(countries=("Kenya",)))


def named(root, tag: str) -> list:
    return [each for each in root.iter() if each.tag.endswith(f"}}{tag}")]


def test_a_test_asks_without_telling(tmp_path):
    path = tmp_path / "test.jsonl"
    path.write_text(
        '{"question": "Which is <b>?", "choices": ["right", "wrong & more"], "right": "right"}\n'
        '{"question": "؟", "choices": ["a", "b"], "right": ["a", "b"]}\n',
        encoding="utf-8",
    )
    test = read_test(path)
    form, key = fromstring(test.form), fromstring(test.key)
    assert [each.text for each in named(form, "QuestionIdentifier")] == ["q1", "q2"]
    assert [each.text for each in named(form, "SelectionIdentifier")] == ["c1", "c2", "c1", "c2"]
    assert [each.text for each in named(form, "Text")] == [
        "Which is <b>?",
        "right",
        "wrong & more",
        "؟",
        "a",
        "b",
    ]
    right = [
        [each.text for each in named(question, "SelectionIdentifier")]
        for question in named(key, "Question")
    ]
    assert right == [["c1"], ["c1", "c2"]]
    assert [each.text for each in named(key, "MaximumSummedScore")] == ["2"]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (
            '\n{"question": "q", "choices": ["a", "b"], "right": "c"}\n',
            r"row 1: `right` is .'c'., which is not among",
        ),
        ('{"question": "q", "choices": ["a"], "right": "a"}\n', "no question with choices"),
        ("", "no items"),
    ],
)
def test_bad_items(tmp_path, line, problem):
    path = tmp_path / "test.jsonl"
    path.write_text(line, encoding="utf-8")
    with pytest.raises(DataError, match=problem):
        make_test(path)


def test_xml_needs_its_key(tmp_path):
    (tmp_path / "test.xml").write_text("<QuestionForm/>")
    (tmp_path / "key.xml").write_text("<AnswerKey/>")
    with pytest.raises(UsageError, match="needs `answer_key="):
        read_test(tmp_path / "test.xml")
    assert read_test(tmp_path / "test.xml", tmp_path / "key.xml").key == "<AnswerKey/>"
    (tmp_path / "test.xml").write_text("x" * 65_536)
    with pytest.raises(DataError, match="a test takes 65,535"):
        read_test(tmp_path / "test.xml", tmp_path / "key.xml")
