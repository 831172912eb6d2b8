"""A local server that speaks the batches of Gemini and Vertex AI, and what they need of Cloud
Storage.

    with GoogleBatchServer() as server:
        server.service.behaviour = in_turn(Behaviour(expires_after=0.5))
        client = genai.Client(api_key="test", http_options={"base_url": server.url})

Cloud Storage is at the same address: set STORAGE_EMULATOR_HOST to server.url.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from datetime import UTC, datetime
from hashlib import md5
from typing import Any
from urllib.parse import parse_qsl, unquote

from tests import batch_jobs
from tests.batch_jobs import BatchServer, Job, Outcome, Refusal
from tests.llm_server import ErrorShape, HttpReply, SideRequest

Json = dict[str, Any]
STATES = {
    batch_jobs.VALIDATING: "PENDING",
    batch_jobs.RUNNING: "RUNNING",
    batch_jobs.CANCELLING: "CANCELLING",
    batch_jobs.COMPLETED: "SUCCEEDED",
    batch_jobs.FAILED: "FAILED",
    batch_jobs.EXPIRED: "EXPIRED",
    batch_jobs.CANCELLED: "CANCELLED",
}
RPC = {400: 3, 401: 16, 403: 7, 404: 5, 409: 10, 429: 8, 499: 1, 500: 13, 503: 14, 504: 4}
NAMES = {
    400: "INVALID_ARGUMENT",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
}
NOT_ASKED = {
    batch_jobs.EXPIRED: "the batch expired",
    batch_jobs.CANCELLED: "the batch was cancelled",
}
Place = tuple[str, str]  # bucket, name
A_PAGE = 3  # of a list in Cloud Storage
PAGE = 2  # batches on a page, so that finding one takes several
QUEUE_FULL = Refusal(
    "RESOURCE_EXHAUSTED",
    "You exceeded your current quota, please check your plan and billing details.",
)
NOT_PERMITTED = Refusal("PERMISSION_DENIED", "The service agent may not read the file.")
ROUGH = batch_jobs.rough(QUEUE_FULL)


def place_of(uri: str) -> Place:
    """Of gs://BUCKET/NAME."""
    bucket, _, name = uri.removeprefix("gs://").partition("/")
    return bucket, name


class Objects:
    """Files by (bucket, name). missing: buckets that are not there; denied: buckets that may not be
    touched.
    """

    def __init__(self) -> None:
        self.objects: dict[Place, bytes] = {}
        self.missing: frozenset[str] = frozenset()
        self.denied: frozenset[str] = frozenset()
        self._uploads: list[Place] = []

    def reply(self, request: SideRequest, url: str) -> HttpReply:
        """The reply to a request under /storage/v1/, with /upload or /download before it or not."""
        found = re.fullmatch(r"/(upload/|download/)?storage/v1/b/([^/]+)/o(?:/(.+))?", request.path)
        if not found:
            return error(404, f"no such route: {request.path}")
        bucket, name = unquote(found[2]), unquote(found[3] or "")
        query = dict(parse_qsl(request.query))
        if bucket in self.missing:
            return error(404, "The specified bucket does not exist.")
        if bucket in self.denied:
            return error(403, "The caller does not have storage.objects.create access.")
        if found[1] == "upload/":
            return self._upload(request, bucket, query, url)
        if not name:
            return self._list(bucket, query)
        if (bucket, name) not in self.objects:
            return error(404, f"No such object: {bucket}/{name}")
        if request.method == "DELETE":
            del self.objects[bucket, name]
            return HttpReply(b"", 204)
        content = self.objects[bucket, name]
        reply = HttpReply(content, content_type="application/octet-stream")
        reply.headers["x-goog-hash"] = f"md5={_md5(content)}"
        return reply

    def _upload(
        self, request: SideRequest, bucket: str, query: dict[str, str], url: str
    ) -> HttpReply:
        if upload := query.get("upload_id"):
            place = self._uploads[int(upload)]
            self.objects[place] = request.body
            return answer(self._described(place))
        if query["uploadType"] == "resumable":
            self._uploads.append((bucket, json.loads(request.body)["name"]))
            reply = answer({})
            more = f"uploadType=resumable&upload_id={len(self._uploads) - 1}"
            reply.headers["location"] = f"{url}/upload/storage/v1/b/{bucket}/o?{more}"
            return reply
        boundary = re.search(r'boundary="?([^";]+)', request.headers["content-type"])
        assert boundary
        _, about, content, _ = request.body.split(b"--" + boundary[1].encode())
        place = (bucket, json.loads(about.partition(b"\r\n\r\n")[2])["name"])
        self.objects[place] = content.partition(b"\r\n\r\n")[2].removesuffix(b"\r\n")
        return answer(self._described(place))

    def _list(self, bucket: str, query: dict[str, str]) -> HttpReply:
        names = sorted(name for there, name in self.objects if there == bucket)
        names = [name for name in names if name.startswith(query.get("prefix", ""))]
        start = int(query.get("pageToken") or 0)
        found: Json = {
            "items": [self._described((bucket, name)) for name in names[start : start + A_PAGE]]
        }
        return answer(
            found | ({"nextPageToken": str(start + A_PAGE)} if start + A_PAGE < len(names) else {})
        )

    def _described(self, place: Place) -> Json:
        content = self.objects[place]
        return {
            "kind": "storage#object", "bucket": place[0], "name": place[1], "generation": "1",
            "size": str(len(content)), "md5Hash": _md5(content),
        }  # fmt: skip


def _md5(content: bytes) -> str:
    return b64encode(md5(content, usedforsecurity=False).digest()).decode()


class GoogleBatchServer(BatchServer):
    """The server. storage: Cloud Storage. files: of Gemini's Files API.

    batchless: models that take no batches. echoes_keys: whether Vertex AI repeats a request's key
    beside the request. deployed, traffic: what an endpoint says of the models on it. names_errors:
    whether a model of one's own writes errors_0001.jsonl, as documented, or only
    prediction.errors_stats. created: bodies of the calls that made batches.
    """

    def __init__(self) -> None:
        super().__init__(prefix="b")
        self.storage = Objects()
        self.files: dict[str, bytes] = {}
        self.batchless: frozenset[str] = frozenset()
        self.echoes_keys = False
        self.names_errors = True
        self.deployed: list[Json] = [machine("n1-standard-8", "NVIDIA_L4")]
        self.traffic: dict[str, int] = {"1": 100}
        self.created: list[Json] = []
        self._written: set[str] = set()

    def error(self, status: int, message: str, shape: ErrorShape | None = None) -> HttpReply:
        return error(status, message)

    def routed(self, request: SideRequest) -> HttpReply | None:
        path = unquote(request.path)
        if "/storage/v1/" in path:
            self._write_results()
            return self.storage.reply(request, self.url)
        if path == "/upload/v1beta/files":
            return self._upload(request)
        if found := re.fullmatch(r"/v1beta/files/([^/:]+)(:download)?", path):
            return self._file(request.method, found[1], bool(found[2]))
        if found := re.fullmatch(r"/v1beta/models/([^/:]+):batchGenerateContent", path):
            return self._create_gemini(found[1], json.loads(request.body))
        if found := re.fullmatch(r"/v1beta/(batches)(?:/([^/:]+))?(:cancel)?", path):
            return self._batches(request, "", found[2], bool(found[3]))
        if found := re.fullmatch(
            r"/v1[^/]*/(projects/.+)/batchPredictionJobs(?:/([^/:]+))?(:cancel)?", path
        ):
            if request.method == "POST" and not found[2]:
                return self._create_vertex(found[1], json.loads(request.body))
            return self._batches(request, found[1], found[2], bool(found[3]))
        if found := re.fullmatch(r"/v1[^/]*/(projects/.+/endpoints/[^/:]+)", path):
            about = {"name": found[1], "displayName": "judge", "deployedModels": self.deployed}
            return answer(about | {"trafficSplit": self.traffic})
        return None

    # ------------------------------------------------------------ Gemini's files

    def _upload(self, request: SideRequest) -> HttpReply:
        commands = request.headers.get("x-goog-upload-command", "")
        query = dict(parse_qsl(request.query))
        if commands == "start":
            self.files_made += 1
            name = f"f{self.files_made}"
            self.files[name] = b""
            reply = answer({})
            url = f"{self.url}/upload/v1beta/files?upload_id={name}"
            reply.headers |= {"x-goog-upload-url": url, "x-goog-upload-status": "active"}
            return reply
        name = query["upload_id"]
        assert int(request.headers["x-goog-upload-offset"]) == len(self.files[name])
        self.files[name] += request.body
        over = "finalize" in commands
        described = {
            "name": f"files/{name}",
            "sizeBytes": str(len(self.files[name])),
            "state": "ACTIVE",
        }
        reply = answer({"file": described} if over else {})
        reply.headers["x-goog-upload-status"] = "final" if over else "active"
        return reply

    def _file(self, method: str, name: str, download: bool) -> HttpReply:
        job = self.service.job(name.removeprefix("results-"))
        if download and job and job.is_over:
            return HttpReply(b"".join(line + b"\n" for line in map(_gemini_line, *_zipped(job))))
        if name not in self.files:
            return error(
                403, f"You do not have permission to access the File {name} or it may not exist."
            )
        assert method == "DELETE"
        del self.files[name]
        return answer({})

    # ------------------------------------------------------------ batches

    def _create_gemini(self, model: str, body: Json) -> HttpReply:
        self.created.append(body)
        if model in self.batchless:
            return error(
                404, f"models/{model} is not found, or is not supported for batchGenerateContent."
            )
        batch = body["batch"]
        name = batch["inputConfig"]["fileName"].removeprefix("files/")
        if name not in self.files:
            return error(400, f"File {name} does not exist.")
        lines = [json.loads(line) for line in self.files[name].splitlines()]
        requests = [(line["key"], line["request"]) for line in lines]
        path = f"/v1beta/models/{model}:generateContent"
        return self._made(
            path, requests, batch["displayName"], model=f"models/{model}", kind="gemini"
        )

    def _create_vertex(self, parent: str, body: Json) -> HttpReply:
        self.created.append(body)
        model = body["model"].rsplit("/", 1)[-1]
        if model in self.batchless:
            return error(400, f"Model {body['model']} does not support batch prediction.")
        source = place_of(body["inputConfig"]["gcsSource"]["uris"][0])
        if source not in self.storage.objects:
            return error(400, f"gs://{'/'.join(source)} does not exist, or may not be read.")
        lines = [json.loads(line) for line in self.storage.objects[source].splitlines()]
        about = {
            "body": body,
            "parent": parent,
            "output": body["outputConfig"]["gcsDestination"]["outputUriPrefix"],
        }
        if "publishers/" in body["model"]:
            path = f"/v1/{parent}/publishers/google/models/{model}:generateContent"
            requests = [(line["request"]["labels"]["metal"], line["request"]) for line in lines]
            return self._made(path, requests, body["displayName"], kind="vertex", **about)
        assert body["dedicatedResources"]["machineSpec"]["machineType"]
        field = body["instanceConfig"]["keyField"]
        requests = []
        for line in lines:
            key = line.pop(field)
            requests.append((key, {"instances": [line], "parameters": body.get("modelParameters")}))
        return self._made(
            f"/v1/{parent}/models/{model}:predict",
            requests,
            body["displayName"],
            kind="own",
            **about,
        )

    def _made(
        self, path: str, requests: list[tuple[str, Json]], name: str, **about: Any
    ) -> HttpReply:
        job = self.service.submit(path, requests, {"displayName": name}, **about)
        if job.behaviour.refused_call:
            return error(job.behaviour.refused_call, "It cannot be done.")
        reply = answer(self._described(job))
        reply.fault = "drop" if job.behaviour.lost else ""
        return reply

    def _batches(
        self, request: SideRequest, parent: str, name: str | None, cancelling: bool
    ) -> HttpReply:
        if name is None:
            return self._list(parent, dict(parse_qsl(request.query)))
        job = self.service.job(name)
        if not job or job.about.get("parent", "") != parent:
            return error(404, f"The batch {name} does not exist.")
        if cancelling:
            if job.is_over:
                return error(400, f"The batch {name} has ended and cannot be cancelled.")
            self.service.cancel(name)
            return answer({})
        return answer(self._described(job))

    def _list(self, parent: str, query: dict[str, str]) -> HttpReply:
        found = [job for job in self.service.listed() if job.about.get("parent", "") == parent]
        if wanted := re.fullmatch(r'display_name="(.*)"', query.get("filter", "")):
            found = [job for job in found if job.metadata["displayName"] == wanted[1]]
        start = int(query.get("pageToken") or 0)
        page = [self._described(job) for job in found[start : start + PAGE]]
        more = {"nextPageToken": str(start + PAGE)} if start + PAGE < len(found) else {}
        return answer({"batchPredictionJobs" if parent else "operations": page} | more)

    def _described(self, job: Job) -> Json:
        failure = _failure(job.refusal) if job.refusal and job.is_over else None
        counts = {
            "successful": job.answered,
            "failed": len([one for one in job.outcomes if one.status]) - job.answered,
        }
        made = datetime.fromtimestamp(job.made, UTC).isoformat().replace("+00:00", "Z")
        if job.about["kind"] != "gemini":
            found: Json = dict(job.about["body"])
            found |= {
                "name": f"{job.about['parent']}/batchPredictionJobs/{job.id}",
                "createTime": made,
            }
            found |= {"state": f"JOB_STATE_{STATES[job.state]}"} | (
                {"error": failure} if failure else {}
            )
            if job.is_over and not job.refusal:
                found["completionStats"] = {
                    f"{how}Count": str(count) for how, count in counts.items()
                }
            return found
        stats = {"requestCount": str(len(job.requests))}
        stats |= {f"{how}RequestCount": str(count) for how, count in counts.items() if count}
        state = STATES[job.state].replace("CANCELLING", "RUNNING")
        about: Json = {
            "displayName": job.metadata["displayName"],
            "model": job.about["model"],
            "createTime": made,
        }
        about |= {"state": f"BATCH_STATE_{state}", "batchStats": stats, "name": f"batches/{job.id}"}
        if job.is_over and job.state != batch_jobs.EXPIRED and not job.refusal:
            about["output"] = {"responsesFile": f"files/results-{job.id}"}
        found = {"name": f"batches/{job.id}", "metadata": about, "done": job.is_over}
        return found | ({"error": failure} if failure else {})

    def _write_results(self) -> None:
        """What has ended since anybody looked is written into the bucket."""
        for job in self.service.jobs:
            if (
                job.about["kind"] == "gemini"
                or job.id in self._written
                or not job.is_over
                or job.refusal
            ):
                continue
            self._written.add(job.id)
            bucket, folder = place_of(job.about["output"])
            folder = f"{folder}prediction-{job.id}/"
            if job.about["kind"] == "vertex":
                bodies = dict(job.requests)
                lines = [self._vertex_line(job, bodies[one.key], one) for one in job.results]
                name = (
                    "predictions.jsonl"
                    if job.state == batch_jobs.COMPLETED
                    else "incremental_predictions.jsonl"
                )
                self.storage.objects[bucket, folder + name] = b"\n".join(lines)
                continue
            good = [_predicted(one) for one in job.results if one.status == 200]
            bad = [one for one in job.results if one.status not in (0, 200)]
            for number, part in enumerate((good[::2], good[1::2])):
                name = f"{folder}prediction.results-{number:05}-of-00002"
                self.storage.objects[bucket, name] = b"\n".join(part) + b"\n" * (
                    number and bool(part)
                )
            if bad:
                self.storage.objects[bucket, f"{folder}prediction.errors_stats-00000-of-00001"] = (
                    b"('Failed', 4)\n"
                )
            if bad and self.names_errors:
                lines = [
                    json.dumps({"key": one.key, "error": _error_of(one)}).encode() for one in bad
                ]
                self.storage.objects[bucket, f"{folder}errors_0001.jsonl"] = b"\n".join(lines)

    def _vertex_line(self, job: Job, body: Json, one: Outcome) -> bytes:
        head: Json = {"key": one.key} if self.echoes_keys else {}
        head |= {"status": "", "processed_time": "2026-01-01T00:00:00.000+00:00", "request": body}
        response = b"{}"
        if one.status == 200:
            response = one.body
        elif one.status:
            head["status"] = f"Bad Request: {one.body.decode()}"
        else:
            head["status"] = NOT_ASKED[one.why]
        return (
            json.dumps(head, ensure_ascii=False).encode()[:-1] + b', "response": ' + response + b"}"
        )


def machine(
    kind: str, accelerator: str = "", model: str = "projects/1/locations/us-central1/models/77"
) -> Json:
    """A deployed model as an endpoint describes it; kind: its machine, "" for none of its own."""
    about: Json = {"id": "1", "model": model, "modelVersionId": "3"}
    if kind:
        spec: Json = {"machineType": kind}
        spec |= {"acceleratorType": accelerator, "acceleratorCount": 1} if accelerator else {}
        about["dedicatedResources"] = {
            "machineSpec": spec,
            "minReplicaCount": 1,
            "maxReplicaCount": 2,
        }
    return about


def answer(body: Json) -> HttpReply:
    """HTTP 200."""
    return HttpReply(json.dumps(body).encode())


def error(status: int, message: str) -> HttpReply:
    """An error as Google words it."""
    body = {"error": {"code": status, "message": message, "status": NAMES.get(status, "INTERNAL")}}
    return HttpReply(json.dumps(body).encode(), status)


def _zipped(job: Job) -> tuple[list[Job], list[Outcome]]:
    return [job] * len(job.results), job.results


def _gemini_line(job: Job, one: Outcome) -> bytes:
    head = json.dumps({"key": one.key}).encode()[:-1]
    if one.status == 200:
        return head + b', "response": ' + one.body + b"}"
    return head + b', "error": ' + json.dumps(_error_of(one)).encode() + b"}"


def _error_of(one: Outcome) -> Json:
    """The google.rpc.Status of a request that came to nothing."""
    if not one.status:
        return {"code": 1, "message": NOT_ASKED[one.why]}
    told = json.loads(one.body)["error"]
    return {"code": RPC.get(one.status, 2), "message": told["message"]}


def _predicted(one: Outcome) -> bytes:
    return json.dumps(
        {"key": one.key, "prediction": json.loads(one.body)["predictions"][0]}
    ).encode()


def _failure(refusal: Refusal) -> Json:
    name = "RESOURCE_EXHAUSTED" if refusal.code == "token_limit_exceeded" else refusal.code
    status = next((status for status, one in NAMES.items() if one == name), 500)
    return {"code": RPC[status], "message": refusal.message}
