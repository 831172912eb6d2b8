"""A local server that speaks Anthropic's Message Batches, beside the messages of `llm_server`."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl

from tests import batch_jobs
from tests.batch_jobs import BatchServer, Job, Outcome
from tests.llm_server import ErrorShape, HttpReply, SideRequest

Json = dict[str, Any]
STATES = {
    batch_jobs.VALIDATING: "in_progress",
    batch_jobs.RUNNING: "in_progress",
    batch_jobs.CANCELLING: "canceling",
}


class AnthropicBatchServer(BatchServer):
    """The server: batches have no names of ours, and their results are there when they have
    ended.
    """

    def error(self, status: int, message: str, shape: ErrorShape | None = None) -> HttpReply:
        kinds = {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error"}
        error = {
            "type": kinds.get(status, "rate_limit_error" if status == 429 else "api_error"),
            "message": message,
        }
        return HttpReply(json.dumps({"type": "error", "error": error}).encode(), status)

    def routed(self, request: SideRequest) -> HttpReply | None:
        place = re.fullmatch(
            r"/v1/messages/batches(?:/([^/]+))?(?:/(results|cancel))?", request.path
        )
        if not place:
            return None
        if not (
            request.headers.get("x-api-key") or request.headers.get("authorization")
        ) or not request.headers.get("anthropic-version"):
            return self.error(401, "x-api-key header is required")
        name, action = place.groups()
        if name is None:
            return self._made(request) if request.method == "POST" else self._listed(request)
        job = self.service.cancel(name) if action == "cancel" else self.service.job(name)
        if not job:
            return self.error(404, f"Message batch {name} not found")
        if action != "results":
            return HttpReply(json.dumps(self._batch(job)).encode())
        if not job.is_over:
            return self.error(404, f"No results for {name} yet")
        asked = {outcome.key for outcome in job.results}
        outcomes = [
            *job.results,
            *(Outcome(key, 0, why="canceled") for key, _ in job.requests if key not in asked),
        ]
        return HttpReply(b"".join(_line(outcome) + b"\n" for outcome in outcomes))

    def _made(self, request: SideRequest) -> HttpReply:
        requests = [
            (asked["custom_id"], asked["params"]) for asked in json.loads(request.body)["requests"]
        ]
        names = [name for name, _ in requests]
        if len(set(names)) < len(names) or not all(
            re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in names
        ):
            return self.error(
                400, "requests: custom_id must be unique and match ^[a-zA-Z0-9_-]{1,64}$"
            )
        if not all(params.get("max_tokens") for _, params in requests):
            return self.error(400, "requests.0.params.max_tokens: Field required")
        job = self.service.submit("/v1/messages", requests)
        if job.behaviour.refused_call:
            return self.error(job.behaviour.refused_call, "Overloaded")
        reply = HttpReply(json.dumps(self._batch(job)).encode())
        reply.fault = "drop" if job.behaviour.lost else ""
        return reply

    def _listed(self, request: SideRequest) -> HttpReply:
        query = dict(parse_qsl(request.query))
        batches = [self._batch(job) for job in self.service.listed()]
        names = [batch["id"] for batch in batches]
        start = names.index(query["after_id"]) + 1 if query.get("after_id") in names else 0
        page = batches[start : start + min(int(query.get("limit", 20)), self.page)]
        more = len(batches) > start + len(page)
        return HttpReply(
            json.dumps(
                {"data": page, "has_more": more, "last_id": page[-1]["id"] if page else None}
            ).encode()
        )

    page = 1000
    archived = False  # whether the results of all batches are gone

    def _batch(self, job: Job) -> Json:
        asked = {
            "succeeded": job.answered,
            "errored": sum(each.status not in (0, 200) for each in job.outcomes),
        }
        rest = len(job.requests) - sum(asked.values())
        over = {"processing": 0, "expired" if job.state == batch_jobs.EXPIRED else "canceled": rest}
        counts = asked | (over if job.is_over else {"processing": rest})
        return {
            "id": job.id,
            "type": "message_batch",
            "processing_status": STATES.get(job.state, "ended"),
            "request_counts": counts,
            "created_at": datetime.fromtimestamp(job.made, UTC).isoformat(),
            "archived_at": datetime.now(UTC).isoformat() if self.archived else None,
            "results_url": (
                f"{self.url}/v1/messages/batches/{job.id}/results" if job.is_over else None
            ),
        }


def _line(outcome: Outcome) -> bytes:
    body = json.loads(outcome.body) if outcome.body else {}
    if outcome.status == 200:
        result: Json = {"type": "succeeded", "message": body}
    elif outcome.status:
        result = {"type": "errored", "error": body}
    else:
        result = {"type": outcome.why}
    return json.dumps({"custom_id": outcome.key, "result": result}).encode()
