"""A thin client of Mechanical Turk over boto3. Every call can be repeated safely: nothing is posted
or paid twice.

boto3 finds the credentials in environment variables, in ~/.aws, or in a profile. They are never
written to disk or shown in messages.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from metal.errors import MetalError, MissingExtra, UsageError
from metal.raters.judges.secrets import Secrets

ENDPOINTS = {
    "sandbox": "https://mturk-requester-sandbox.us-east-1.amazonaws.com",
    "production": "https://mturk-requester.us-east-1.amazonaws.com",
}
# of the reward; from 10 assignments a HIT on
FEE, LARGE_BATCH_FEE, LARGE_BATCH = Decimal("0.20"), Decimal("0.40"), 10
LEAST_FEE = Decimal("0.01")  # an assignment
TRIES = 7
FIRST_PAUSE = 0.5  # seconds; doubled with every try
_BUSY = frozenset(
    {"ThrottlingException", "Throttling", "RequestThrottled", "ServiceUnavailable", "ServiceFault"}
)
_HIT_ID = re.compile(r"\b[0-9A-Z]{20,}\b")


class MTurkError(MetalError):
    """Mechanical Turk answered with an error. code: MTurk's name for the error, such as
    AWS.MechanicalTurk.HitAlreadyExists.
    """

    def __init__(self, operation: str, code: str, message: str) -> None:
        self.code, self.message = code, message
        super().__init__(f"Mechanical Turk refused {operation}: {message} ({code})")


def fee(reward: Decimal, assignments: int) -> Decimal:
    """The fee in USD that MTurk takes for each assignment of a HIT. It is 20% of the reward, or 40%
    for a HIT with ten or more assignments, but at least a cent.

    >>> fee(Decimal("0.25"), 3), fee(Decimal("0.25"), 10), fee(Decimal("0.01"), 1)
    (Decimal('0.0500'), Decimal('0.1000'), Decimal('0.01'))
    """
    return max(LEAST_FEE, reward * (LARGE_BATCH_FEE if assignments >= LARGE_BATCH else FEE))


class MTurk:
    """The calls that a campaign needs. Use it as `with MTurk(endpoint) as turk`, which closes
    connections at the end.
    """

    def __init__(self, endpoint: str) -> None:
        """Connect. Raises MissingExtra without boto3, UsageError without credentials."""
        try:
            import boto3
            import botocore.exceptions
            from botocore.config import Config
        except ImportError:
            raise MissingExtra("Mechanical Turk", "mturk") from None
        self._errors: Any = botocore.exceptions
        try:
            session = boto3.session.Session(region_name="us-east-1")
            credentials = session.get_credentials()
            if credentials is None:
                raise UsageError(
                    "Mechanical Turk needs credentials: set AWS_ACCESS_KEY_ID and"
                    " AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
                )
            keys = credentials.get_frozen_credentials()
            config = Config(retries={"total_max_attempts": 1}, connect_timeout=10, read_timeout=60)
            self._client: Any = session.client("mturk", endpoint_url=endpoint, config=config)
        except (botocore.exceptions.BotoCoreError, ValueError) as error:
            raise UsageError(f"Mechanical Turk: {error}") from None
        self._secrets = Secrets(filter(None, [keys.access_key, keys.secret_key, keys.token]))
        self.endpoint = endpoint

    def __enter__(self) -> MTurk:
        return self

    def __exit__(self, *error: object) -> None:
        self._client.close()

    def call(self, operation: str, **parameters: Any) -> dict[str, Any]:
        """Make a call, and repeat it while the service is busy or unreachable.

        Repeating is safe: see the methods that create or pay something. Raises MTurkError if the
        call is refused, UsageError if the service stays unreachable.
        """
        errors, trouble = self._errors, ""
        for attempt in range(TRIES):
            if attempt:
                time.sleep(FIRST_PAUSE * 2 ** (attempt - 1))
            try:
                answer: dict[str, Any] = getattr(self._client, operation)(**parameters)
                return answer
            except errors.ClientError as error:
                reason = error.response.get("Error", {})
                code = error.response.get("TurkErrorCode") or reason.get("Code", "")
                message = self._safe(
                    reason.get("Message") or error.response.get("Message") or "no reason given"
                )
                if (
                    reason.get("Code") not in _BUSY
                    and error.response["ResponseMetadata"]["HTTPStatusCode"] < 500
                ):
                    raise MTurkError(operation, str(code), message) from None
                trouble = message
            except (
                errors.NoCredentialsError,
                errors.PartialCredentialsError,
                errors.ParamValidationError,
            ) as error:
                raise UsageError(f"Mechanical Turk: {self._safe(str(error))}") from None
            except errors.BotoCoreError as error:
                trouble = self._safe(str(error))
        raise UsageError(
            f"Mechanical Turk did not answer {operation} in {TRIES} tries: {trouble}. Try again"
            " later"
        )

    def _safe(self, text: str) -> str:
        return self._secrets.hidden(text.encode("utf-8", "replace")).decode("utf-8", "replace")

    def pages(self, operation: str, key: str, **parameters: Any) -> Iterator[dict[str, Any]]:
        """Everything that an operation lists under `key`, page by page."""
        more: dict[str, str] = {}
        while True:
            page = self.call(operation, MaxResults=100, **parameters, **more)
            yield from page.get(key, [])
            if not page.get("NextToken"):
                return
            more = {"NextToken": page["NextToken"]}

    def balance(self) -> Decimal:
        """The balance of the account in USD."""
        return Decimal(self.call("get_account_balance")["AvailableBalance"])

    # ------------------------------------------------------------ HITs

    def create_hit(self, token: str, **described: Any) -> str:
        """Create the HIT of this token and return its id. If an earlier call created it, return the
        id of that HIT.

        MTurk remembers a token for 24 hours. The HIT keeps the token as its RequesterAnnotation,
        which workers do not see.
        """
        try:
            reply = self.call(
                "create_hit", UniqueRequestToken=token, RequesterAnnotation=token, **described
            )
        except MTurkError as error:
            if "alreadyexists" not in error.code.casefold():
                raise
            for named in _HIT_ID.findall(error.message):
                if self._annotation(named) == token:
                    return str(named)
            if hit := self.find_hits({token}).get(token):
                return hit
            raise
        return str(reply["HIT"]["HITId"])

    def _annotation(self, hit: str) -> str:
        try:
            return str(self.call("get_hit", HITId=hit)["HIT"].get("RequesterAnnotation", ""))
        except MTurkError:
            return ""

    def find_hits(self, tokens: Collection[str]) -> dict[str, str]:
        """Token -> HIT id, for those of the tokens that have a HIT."""
        hits: dict[str, str] = {}
        if tokens:
            for hit in self.pages("list_hits", "HITs"):
                if hit.get("RequesterAnnotation") in tokens:
                    hits[hit["RequesterAnnotation"]] = hit["HITId"]
                    if len(hits) == len(tokens):
                        break
        return hits

    def expire(self, hit: str, when: datetime) -> None:
        """End a HIT at that time, or at once if the time is past. Workers who have begun can still
        submit.
        """
        self.call("update_expiration_for_hit", HITId=hit, ExpireAt=when)

    def assignments(self, hit: str) -> Iterator[dict[str, Any]]:
        """All assignments submitted for a HIT so far, with any status."""
        wanted = ["Submitted", "Approved", "Rejected"]
        return self.pages(
            "list_assignments_for_hit", "Assignments", HITId=hit, AssignmentStatuses=wanted
        )

    # ------------------------------------------------------------ money

    def approve(self, assignment: str) -> None:
        """Approve an assignment, which pays the reward. Does nothing if it is approved already.
        Raises MTurkError if it was rejected.
        """
        self._review("approve_assignment", "Approved", AssignmentId=assignment)

    def reject(self, assignment: str, reason: str) -> None:
        """Reject an assignment, so that it is not paid, and tell the worker why. METAL does this
        only if the user asks for it.
        """
        self._review(
            "reject_assignment", "Rejected", AssignmentId=assignment, RequesterFeedback=reason
        )

    def _review(self, operation: str, status: str, **parameters: str) -> None:
        """Review an assignment, unless it already has that status, perhaps from a call whose
        response was lost.
        """
        try:
            self.call(operation, **parameters)
        except MTurkError:
            current = self.call("get_assignment", AssignmentId=parameters["AssignmentId"])
            if current["Assignment"]["AssignmentStatus"] != status:
                raise

    def bonus(self, token: str, worker: str, assignment: str, usd: Decimal, reason: str) -> None:
        """Pay a bonus once for each token. A bonus that was paid before is recognised by worker,
        sum and reason.
        """
        paid = {
            "WorkerId": worker,
            "AssignmentId": assignment,
            "BonusAmount": f"{usd:.2f}",
            "Reason": reason,
        }
        try:
            self.call("send_bonus", UniqueRequestToken=token, **paid)
        except MTurkError:
            if not self.has_bonus(worker, assignment, usd, reason):
                raise

    def has_bonus(self, worker: str, assignment: str, usd: Decimal, reason: str) -> bool:
        """Whether this bonus was paid for this assignment."""
        return any(
            (bonus["WorkerId"], Decimal(bonus["BonusAmount"]), bonus.get("Reason"))
            == (worker, usd, reason)
            for bonus in self.pages("list_bonus_payments", "BonusPayments", AssignmentId=assignment)
        )

    # ------------------------------------------------------------ qualifications

    def qualification(self, name: str, described: Mapping[str, Any]) -> str:
        """The id of our qualification type of that name. It is created if it does not exist. Names
        are unique.
        """
        if existing := self._own_qualification(name):
            return existing
        try:
            reply = self.call(
                "create_qualification_type",
                Name=name,
                QualificationTypeStatus="Active",
                **described,
            )
        except MTurkError:
            # an earlier try had made it, and its answer was lost
            if existing := self._own_qualification(name):
                return existing
            raise
        return str(reply["QualificationType"]["QualificationTypeId"])

    def _own_qualification(self, name: str) -> str:
        # All of ours are listed: a query would search for words, by rules of its own.
        listed = self.pages(
            "list_qualification_types",
            "QualificationTypes",
            MustBeRequestable=False,
            MustBeOwnedByCaller=True,
        )
        return next(
            (str(each["QualificationTypeId"]) for each in listed if each["Name"] == name), ""
        )

    def give(self, qualification: str, worker: str) -> None:
        """Give a worker one of our qualifications without sending them a message."""
        self.call(
            "associate_qualification_with_worker",
            QualificationTypeId=qualification,
            WorkerId=worker,
            IntegerValue=1,
            SendNotification=False,
        )
