"""A small Mechanical Turk on this machine: the JSON 1.1 protocol of its requester API, and workers
who answer.

It refuses what the real one is documented to refuse, knows tokens, and can throttle, lose an answer
after it did what was asked, or hold an answer back until told. Signatures are not checked.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any
from xml.sax.saxutils import escape

PREFIX = "MTurkRequesterServiceV20170117."
NOW = datetime(2024, 3, 4, 18, tzinfo=UTC).timestamp()
PAGE = 2  # entries on a page, so that everything takes several


class Refusal(Exception):
    """code: Mechanical Turk's own name of an error."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = f"AWS.MechanicalTurk.{code}"


@dataclass
class MturkServer:
    """`with MturkServer() as server`: server.url is its address.

    faults: (operation, its how-manieth call from 1) -> `throttle`, `lose` (done, answer lost),
    `hold` (done, answer held back until `released` is set), `hold-before` (held back, then not
    done).
    """

    balance: Decimal = Decimal("10000.00")
    faults: dict[tuple[str, int], str] = field(default_factory=dict)
    remembers_tokens: bool = True
    hits: dict[str, dict[str, Any]] = field(default_factory=dict)
    assignments: dict[str, dict[str, Any]] = field(default_factory=dict)
    types: dict[str, dict[str, Any]] = field(default_factory=dict)
    given: dict[tuple[str, str], int] = field(default_factory=dict)
    bonuses: list[dict[str, Any]] = field(default_factory=list)
    tokens: dict[str, str] = field(default_factory=dict)
    calls: Counter[str] = field(default_factory=Counter)
    held: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)
    numbers: count[int] = field(default_factory=lambda: count(1))
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __enter__(self) -> MturkServer:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                outer.answer(self)

            def log_message(self, *words: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.thread = threading.Thread(
            target=self.http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )
        self.thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.released.set()
        self.http.shutdown()
        self.http.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http.server_address[1]}"

    # ------------------------------------------------------------ workers

    def submit(self, hit: str, worker: str, said: Mapping[str, str] | str) -> str:
        """A worker's answers, by field or as the document they send. The assignment's id."""
        document = said if isinstance(said, str) else answers_xml(said)
        own = [each for each in self.assignments.values() if each["HITId"] == hit]
        assert len(own) < self.hits[hit]["MaxAssignments"]
        assert worker not in {each["WorkerId"] for each in own}
        assert self.may_work(hit, worker)
        name = f"ASSIGNMENT{next(self.numbers):020}"
        self.assignments[name] = {
            "AssignmentId": name,
            "WorkerId": worker,
            "HITId": hit,
            "AssignmentStatus": "Submitted",
            "AcceptTime": NOW,
            "SubmitTime": NOW + 42,
            "Answer": document,
        }
        return name

    def may_work(self, hit: str, worker: str) -> bool:
        """Whether the types that shut workers out let this one in."""
        return not any(
            each["Comparator"] == "DoesNotExist"
            and (each["QualificationTypeId"], worker) in self.given
            for each in self.hits[hit]["QualificationRequirements"]
        )

    # ------------------------------------------------------------ protocol

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        wish = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        operation = handler.headers["X-Amz-Target"].removeprefix(PREFIX)
        with self.lock:
            self.calls[operation] += 1
            fault = self.faults.get((operation, self.calls[operation]), "")
        if fault == "throttle":
            return self.send(
                handler, 400, {"__type": "ThrottlingException", "message": "Rate exceeded"}
            )
        if fault == "hold-before":
            self.held.set()
            self.released.wait()
            return None
        try:
            with self.lock:
                body = getattr(self, operation)(wish)
            status = 200
        except Refusal as refusal:
            body = {
                "__type": "RequestError",
                "Message": str(refusal),
                "TurkErrorCode": refusal.code,
            }
            status = 400
        if fault == "hold":
            self.held.set()
            self.released.wait()
        if fault in ("lose", "hold"):
            handler.close_connection = True
            return None
        return self.send(handler, status, body)

    @staticmethod
    def send(handler: BaseHTTPRequestHandler, status: int, body: Mapping[str, Any]) -> None:
        content = json.dumps(body).encode()
        handler.send_response(status)
        handler.send_header("Content-Type", "application/x-amz-json-1.1")
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    def page(
        self, wish: Mapping[str, Any], key: str, entries: list[dict[str, Any]]
    ) -> dict[str, Any]:
        begin = int(wish.get("NextToken", "0"))
        more = {"NextToken": str(begin + PAGE)} if begin + PAGE < len(entries) else {}
        return {key: entries[begin : begin + PAGE], "NumResults": len(entries)} | more

    # ------------------------------------------------------------ operations

    def GetAccountBalance(self, wish: dict[str, Any]) -> dict[str, Any]:
        return {"AvailableBalance": f"{self.balance:.2f}"}

    def CreateHIT(self, wish: dict[str, Any]) -> dict[str, Any]:
        token = wish.get("UniqueRequestToken", "")
        if self.remembers_tokens and token in self.tokens:
            raise Refusal(
                "HitAlreadyExists", f"The HIT already exists: {self.tokens[token]} (1709575200000)"
            )
        if len(wish["Question"].encode()) > 65_535:
            raise Refusal("ParameterValidationError", "Question is too long")
        hit = f"3HIT{next(self.numbers):026}"
        self.tokens[token] = hit
        self.hits[hit] = {
            **wish,
            "HITId": hit,
            "CreationTime": NOW,
            "Expiration": NOW + wish["LifetimeInSeconds"],
        }
        return {"HIT": self.shown(hit)}

    def shown(self, hit: str) -> dict[str, Any]:
        names = (
            "HITId",
            "Title",
            "RequesterAnnotation",
            "Reward",
            "MaxAssignments",
            "CreationTime",
            "Expiration",
        )
        return {name: self.hits[hit][name] for name in names}

    def GetHIT(self, wish: dict[str, Any]) -> dict[str, Any]:
        if wish["HITId"] not in self.hits:
            raise Refusal("HITDoesNotExist", f"Hit {wish['HITId']} does not exist.")
        return {"HIT": self.shown(wish["HITId"])}

    def ListHITs(self, wish: dict[str, Any]) -> dict[str, Any]:
        return self.page(wish, "HITs", [self.shown(hit) for hit in reversed(self.hits)])

    def UpdateExpirationForHIT(self, wish: dict[str, Any]) -> dict[str, Any]:
        self.hits[wish["HITId"]]["Expiration"] = wish["ExpireAt"]
        return {}

    def ListAssignmentsForHIT(self, wish: dict[str, Any]) -> dict[str, Any]:
        if wish["HITId"] not in self.hits:
            raise Refusal("HITDoesNotExist", f"Hit {wish['HITId']} does not exist.")
        own = [
            each
            for each in self.assignments.values()
            if each["HITId"] == wish["HITId"]
            and each["AssignmentStatus"] in wish["AssignmentStatuses"]
        ]
        return self.page(wish, "Assignments", own)

    def GetAssignment(self, wish: dict[str, Any]) -> dict[str, Any]:
        return {"Assignment": self.assignments[wish["AssignmentId"]]}

    def ApproveAssignment(self, wish: dict[str, Any]) -> dict[str, Any]:
        return self.review(wish["AssignmentId"], "Approved")

    def RejectAssignment(self, wish: dict[str, Any]) -> dict[str, Any]:
        return self.review(wish["AssignmentId"], "Rejected")

    def review(self, name: str, status: str) -> dict[str, Any]:
        each = self.assignments[name]
        if each["AssignmentStatus"] != "Submitted":
            raise Refusal(
                "InvalidAssignmentState", "This operation can be called with a status of: Submitted"
            )
        each["AssignmentStatus"] = status
        if status == "Approved":
            self.balance -= Decimal(self.hits[each["HITId"]]["Reward"])
        return {}

    def SendBonus(self, wish: dict[str, Any]) -> dict[str, Any]:
        token = wish.pop("UniqueRequestToken")
        if self.remembers_tokens and token in self.tokens:
            raise Refusal("BonusAlreadyPaid", "Request ID 1")
        self.tokens[token] = "bonus"
        self.bonuses.append({**wish, "GrantTime": NOW})
        return {}

    def ListBonusPayments(self, wish: dict[str, Any]) -> dict[str, Any]:
        own = [each for each in self.bonuses if each["AssignmentId"] == wish["AssignmentId"]]
        return self.page(wish, "BonusPayments", own)

    def CreateQualificationType(self, wish: dict[str, Any]) -> dict[str, Any]:
        if wish["Name"] in {each["Name"] for each in self.types.values()}:
            raise Refusal(
                "QualificationTypeAlreadyExists",
                "You have already created a QualificationType with this name",
            )
        name = f"3TYPE{next(self.numbers):025}"
        self.types[name] = {**wish, "QualificationTypeId": name}
        return {"QualificationType": {"QualificationTypeId": name, "Name": wish["Name"]}}

    def ListQualificationTypes(self, wish: dict[str, Any]) -> dict[str, Any]:
        result = [
            {"QualificationTypeId": name, "Name": each["Name"]} for name, each in self.types.items()
        ]
        return self.page(wish, "QualificationTypes", result)

    def AssociateQualificationWithWorker(self, wish: dict[str, Any]) -> dict[str, Any]:
        self.given[wish["QualificationTypeId"], wish["WorkerId"]] = wish["IntegerValue"]
        return {}


def answers_xml(said: Mapping[str, str]) -> str:
    """The document that a submitted form becomes."""
    parts = "".join(
        f"<Answer><QuestionIdentifier>{escape(name)}</QuestionIdentifier><FreeText>{escape(text)}</FreeText></Answer>"
        for name, text in said.items()
    )
    schema = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2005-10-01/QuestionFormAnswers.xsd"
    return (
        '<?xml version="1.0" encoding="ASCII"?><QuestionFormAnswers'
        f' xmlns="{schema}">{parts}</QuestionFormAnswers>'
    )
