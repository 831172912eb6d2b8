"""A local server that speaks OpenAI's and Azure's files and batches, beside the chat completions of
`llm_server`.

    with OpenAIBatchServer() as server:
        server.service.behaviour = in_turn(Behaviour(expires_after=0.5))
        client = AsyncOpenAI(base_url=server.openai_url, api_key="test")   # or server.url for Azure

As a process: `python tests/openai_batch_server.py --rate 2000`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from tests import batch_jobs
from tests.batch_jobs import BatchServer, Job, Outcome, Refusal
from tests.llm_server import INVALID, ErrorShape, HttpReply, SideRequest

Json = dict[str, Any]
OPENAI_ENDPOINT, AZURE_ENDPOINT = "/v1/chat/completions", "/chat/completions"
ROUGH = batch_jobs.rough(batch_jobs.TOO_MANY_TOKENS)


@dataclass
class StoredFile:
    """A file that was uploaded. ready: time.time() from which a batch can use it."""

    id: str
    name: str
    purpose: str
    content: bytes
    made: float = field(default_factory=time.time)
    ready: float = 0.0


class OpenAIBatchServer(BatchServer):
    """The server.

    most_bytes: of a file. file_pending: seconds until a file can be used, as Azure has it.
    batch_only: single calls are refused, as by Azure's batch deployments. old_azure: statuses with
    capitals, dates as texts, counts unknown.
    """

    def __init__(self, port: int = 0, **timing: float) -> None:
        super().__init__(port, **timing)
        self.most_bytes = 200_000_000
        self.file_pending = 0.0
        self.batch_only = False
        self.old_azure = False
        self.files: dict[str, StoredFile] = {}
        self.sizes: list[int] = []  # of all files, in bytes

    @property
    def azure_v1_url(self) -> str:
        """Azure's newer address, without versions."""
        return self.url + "/openai/v1"

    def stats(self) -> Json:
        """Of batches; prompts_answered_twice: by prompt, directly or in a batch."""
        twice = sum(times > 1 for times in self.counts.values())
        return self.service.stats() | {"prompts_answered_twice": twice}

    def reply_to(self, head: bytes, raw: bytes) -> HttpReply:
        if self.batch_only and re.match(rb"POST \S+/chat/completions[ ?]", head):
            message = (
                "The chatCompletion operation does not work with the specified model. Please choose"
                " another one."
            )
            return _error(400, message, "OperationNotSupported")
        return super().reply_to(head, raw)

    def error(self, status: int, message: str, shape: ErrorShape | None = None) -> HttpReply:
        return (
            _error(status, message, shape.code, kind=shape.type)
            if shape
            else _error(status, message)
        )

    def routed(self, request: SideRequest) -> HttpReply | None:
        found = re.fullmatch(
            r"(?:/openai)?(?:/v1)?/(files|batches)(?:/([^/]+))?(?:/(content|cancel))?", request.path
        )
        if not found:
            return None
        if not any(request.headers.get(name) for name in ("authorization", "api-key")):
            return _error(401, "You didn't provide an API key.", "invalid_api_key")
        what, name, action = found.groups()
        return (
            self._answer_batches(request, name, action)
            if what == "batches"
            else self._files(request, name, action)
        )

    # ------------------------------------------------------------ files

    def _files(self, request: SideRequest, name: str | None, action: str | None) -> HttpReply:
        if name is None:
            return self._upload(request)
        if action == "content":
            return self._content(name)
        if name not in self.files:
            return _error(404, f"No such File object: {name}", param="id")
        if request.method == "DELETE":
            del self.files[name]
            return _json({"id": name, "object": "file", "deleted": True})
        return _json(self._described(self.files[name]))

    def _upload(self, request: SideRequest) -> HttpReply:
        parts = _multipart(request)
        name, content = parts.get("file", ("", b""))
        purpose = parts.get("purpose", ("", b""))[1].decode()
        if purpose != "batch" or not name.endswith(".jsonl"):
            return _error(400, f"Invalid file or purpose: {name!r}, {purpose!r}", param="file")
        if len(content) > self.most_bytes:
            return _error(413, "Maximum content size limit exceeded.")
        self.files_made += 1
        self.sizes.append(len(content))
        made = StoredFile(f"file-{self.files_made:06d}", name, purpose, content)
        made.ready = made.made + self.file_pending
        self.files[made.id] = made
        return _json(self._described(made))

    def _described(self, file: StoredFile) -> Json:
        status = "processed" if time.time() >= file.ready else "pending"
        return {
            "id": file.id, "object": "file", "bytes": len(file.content),
            "created_at": int(file.made),
            "filename": file.name, "purpose": file.purpose, "status": status,
            "status_details": None,
        }  # fmt: skip

    def _content(self, name: str) -> HttpReply:
        if name in self.files:
            return HttpReply(self.files[name].content, content_type="application/octet-stream")
        kind, _, of = name.removeprefix("file-").partition("-")
        job = self.service.job(of)
        if not job or not job.is_over or kind not in ("output", "error"):
            return _error(404, f"No such File object: {name}", param="id")
        lines = [
            _line(job, turn, one)
            for turn, one in enumerate(_kept(job))
            if (one.status == 200) == (kind == "output")
        ]
        return HttpReply(
            b"".join(line + b"\n" for line in lines), content_type="application/octet-stream"
        )

    # ------------------------------------------------------------ batches

    def _answer_batches(
        self, request: SideRequest, name: str | None, action: str | None
    ) -> HttpReply:
        azure = request.path.startswith("/openai")
        if name is None:
            return self._create(request, azure) if request.method == "POST" else self._list(request)
        job = self.service.job(name)
        if not job:
            return _error(404, f"No batch found with id '{name}'.")
        if action == "cancel":
            if job.is_over:
                return _error(409, f"Cannot cancel a batch with status '{job.state}'.")
            job = self.service.cancel(name) or job
        return _json(self._batch(job))

    def _create(self, request: SideRequest, azure: bool) -> HttpReply:
        asked = json.loads(request.body)
        file = self.files.get(asked.get("input_file_id"))
        endpoints = (AZURE_ENDPOINT, OPENAI_ENDPOINT) if azure else (OPENAI_ENDPOINT,)
        if not file:
            return _error(
                404, f"No such File object: {asked.get('input_file_id')}", param="input_file_id"
            )
        if time.time() < file.ready:
            return _error(
                400, f"File '{file.id}' is not in a processed state.", param="input_file_id"
            )
        if asked.get("completion_window") != "24h" or asked.get("endpoint") not in endpoints:
            return _error(
                400, "Invalid 'completion_window' or 'endpoint'.", "invalid_value", param="endpoint"
            )
        metadata = asked.get("metadata") or {}
        if not all(
            isinstance(value, str) and len(key) <= 64 and len(value) <= 512
            for key, value in metadata.items()
        ):
            return _error(400, "Invalid 'metadata'.", "invalid_type", param="metadata")
        requests, refusal = self._read(file, asked["endpoint"])
        path = request.path.removesuffix("/batches") + "/chat/completions"
        job = self.service.submit(
            path, requests, metadata, file=file.id, endpoint=asked["endpoint"]
        )
        if refused := job.behaviour.refused_call:
            return _error(refused, "The server is overloaded.", kind="server_error")
        job.refusal = job.refusal or refusal
        reply = _json(self._batch(job))
        reply.fault = "drop" if job.behaviour.lost else ""
        return reply

    def _read(
        self, file: StoredFile, endpoint: str
    ) -> tuple[list[tuple[str, Json]], Refusal | None]:
        """The requests of a file, or what is wrong with it."""
        found: dict[str, Json] = {}
        lines = [line for line in file.content.split(b"\n") if line.strip()]
        if not lines:
            return [], Refusal("empty_file", "The input file is empty.")
        for number, line in enumerate(lines, 1):
            try:
                asked = json.loads(line)
                key, body = asked["custom_id"], asked["body"]
            except (ValueError, KeyError, TypeError):
                return [], Refusal(
                    "invalid_json_line", "This line is not parseable as valid JSON.", None, number
                )
            if key in found:
                return [], Refusal(
                    "duplicate_custom_id",
                    "The custom_id of this request is a duplicate.",
                    "custom_id",
                    number,
                )
            if asked.get("url") != endpoint or asked.get("method") != "POST":
                return [], Refusal(
                    "invalid_url", "The URL does not match the batch endpoint.", "url", number
                )
            found[key] = body
        return list(found.items()), None

    def _list(self, request: SideRequest) -> HttpReply:
        """A part of the list, newest first: `limit` of them, after the one that is called
        `after`.
        """
        listed = [self._batch(job) for job in self.service.listed()]
        query = dict(parse_qsl(request.query))
        limit = int(query.get("limit", 20))
        if not 1 <= limit <= 100:
            return _error(400, "Invalid 'limit'.", param="limit")
        names = [one["id"] for one in listed]
        start = names.index(query["after"]) + 1 if query.get("after") in names else 0
        page = listed[start : start + limit]
        ends = (
            {"first_id": page[0]["id"], "last_id": page[-1]["id"]}
            if page
            else {"first_id": None, "last_id": None}
        )
        return _json(
            {"object": "list", "data": page, "has_more": len(listed) > start + limit} | ends
        )

    def _batch(self, job: Job) -> Json:
        """The batch object."""
        over = job.is_over and job.state != batch_jobs.FAILED
        kept = _kept(job)
        refused = job.refusal if job.state == batch_jobs.FAILED else None
        errors = {"object": "list", "data": [refused._asdict()]} if refused else None
        counts: Json = {"total": len(job.requests), "completed": job.answered, "failed": job.failed}
        ended = int(job.ended) if job.ended else None
        has_output = over and any(one.status == 200 for one in kept)
        has_errors = over and any(one.status != 200 for one in kept)
        described = {
            "id": job.id, "object": "batch", "endpoint": job.about["endpoint"], "errors": errors,
            "input_file_id": job.about["file"], "completion_window": "24h", "status": job.state,
            "output_file_id": f"file-output-{job.id}" if has_output else None,
            "error_file_id": f"file-error-{job.id}" if has_errors else None,
            "created_at": int(job.made), "expires_at": int(job.made) + 86_400,
            "in_progress_at": None, "finalizing_at": None, "cancelling_at": None,
            **{f"{state}_at": None for state in sorted(batch_jobs.ENDED)},
            **({f"{job.state}_at": ended} if job.state in batch_jobs.ENDED else {}),
            "request_counts": (
                counts if job.state != batch_jobs.VALIDATING else dict.fromkeys(counts, 0)
            ),
            "metadata": dict(job.metadata) or None,
        }  # fmt: skip
        if self.old_azure:
            described |= {"status": job.state.capitalize(), "request_counts": dict.fromkeys(counts)}
            described |= {"created_at": datetime.fromtimestamp(job.made, UTC).isoformat()}
            described["error_file_id"] = described["error_file_id"] or ""
        return described


def _kept(job: Job) -> list[Outcome]:
    """The outcomes that files tell of; what was never asked is told as an error."""
    return [one for one in job.results if one.status or one.why == batch_jobs.EXPIRED]


def _line(job: Job, turn: int, one: Outcome) -> bytes:
    """A line of the output file or the error file; the body stands in it as it is."""
    about = {"id": f"batch_req_{turn:06d}", "custom_id": one.key}
    if one.status:
        body = (
            one.body
            if one.body[:1] == b"{"
            else json.dumps(one.body.decode("utf-8", "replace")).encode()
        )
        answer = {"status_code": one.status, "request_id": f"req_{turn:06d}", "body": 0}
        whole = json.dumps(about | {"response": answer, "error": None}).encode()
        line = whole.replace(b'"body": 0', b'"body": ' + body.replace(b"\n", b" "), 1)
    else:
        error = {
            "code": "batch_expired",
            "message": "This request could not be executed before the completion window expired.",
        }
        line = json.dumps(about | {"response": None, "error": error}).encode()
    return line


def _json(body: Json) -> HttpReply:
    return HttpReply(json.dumps(body).encode())


def _error(
    status: int,
    message: str,
    code: str | None = None,
    *,
    param: str | None = None,
    kind: str | None = INVALID,
) -> HttpReply:
    error = {"message": message, "type": kind, "param": param, "code": code}
    return HttpReply(json.dumps({"error": error}).encode(), status)


def _multipart(request: SideRequest) -> dict[str, tuple[str, bytes]]:
    """Field -> (file name, content)."""
    found = re.search(r'boundary="?([^";]+)', request.headers.get("content-type", ""))
    parts: dict[str, tuple[str, bytes]] = {}
    if not found:
        return parts
    for part in request.body.split(b"--" + found[1].encode())[1:-1]:
        head, _, content = part.partition(b"\r\n\r\n")
        named = dict(re.findall(r'(name|filename)="([^"]*)"', head.decode("utf-8", "replace")))
        parts[named.get("name", "")] = (named.get("filename", ""), content.removesuffix(b"\r\n"))
    return parts


def main() -> None:
    parser = argparse.ArgumentParser(
        description="A local server of OpenAI's and Azure's files and batches."
    )
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument(
        "--wait", type=float, default=0.0, help="seconds before a batch is answered"
    )
    parser.add_argument(
        "--rate", type=float, default=float("inf"), help="requests per second of each batch"
    )
    options = parser.parse_args()
    server = OpenAIBatchServer(options.port, wait=options.wait, rate=options.rate)
    asyncio.run(server.serve(lambda: print(server.url, flush=True)))


if __name__ == "__main__":
    main()
