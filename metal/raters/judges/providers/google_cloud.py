"""The common parts of Google's batches: states, errors, names, and files in Cloud Storage
(gs://...).

Gemini with an API key does not need the libraries of Google Cloud, so they are imported only when
needed. Their own retries are off. The methods of Bucket block, so call them on a thread.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import google.auth.exceptions

from metal.data.files import new_file
from metal.errors import UsageError
from metal.raters.judges import call as calls
from metal.raters.judges.call import CallFailed, Status
from metal.raters.judges.models import FILE, Model
from metal.raters.judges.providers.bounded import bound
from metal.raters.judges.providers.connecting import connection_failure
from metal.raters.judges.providers.failures import failure, one_line, retry_after, retry_delay
from metal.raters.judges.providers.google import NO_LOGIN, QUEUE_FULL, credentials, login_needed

FOLDER = "metal"  # in the user's bucket
P = ParamSpec("P")
T = TypeVar("T")
ENDED = ("SUCCEEDED", "PARTIALLY_SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED")
# google.rpc.Code, in the order of its numbers, with the HTTP status of each.
_STATUS = {
    "CANCELLED": 499,
    "UNKNOWN": 500,
    "INVALID_ARGUMENT": 400,
    "DEADLINE_EXCEEDED": 504,
    "NOT_FOUND": 404,
    "ALREADY_EXISTS": 409,
    "PERMISSION_DENIED": 403,
    "RESOURCE_EXHAUSTED": 429,
    "FAILED_PRECONDITION": 400,
    "ABORTED": 409,
    "OUT_OF_RANGE": 400,
    "UNIMPLEMENTED": 400,
    "INTERNAL": 500,
    "UNAVAILABLE": 503,
    "DATA_LOSS": 500,
    "UNAUTHENTICATED": 401,
}
_STATUS_OF_NUMBER = dict(enumerate(_STATUS.values(), 1))
# Otherwise the client asks, on a thread that outlives it, what the bucket is: for traces, which
# METAL does not make.
_NO_TRACES = "DISABLE_GCS_PYTHON_CLIENT_OTEL_BUCKET_METADATA", "true"


def on_thread(
    method: Callable[Concatenate[Any, P], T],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """Turn a blocking method into a coroutine method that runs on a thread."""

    @wraps(method)
    async def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(method, self, *args, **kwargs)

    return call


def batch_name(token: str) -> str:
    """The display name of a batch, by which METAL also finds the batch."""
    return f"metal-{token}"


def job_status(
    state: str, answered: int, failed: int, failure: CallFailed | None, *, counted: bool = True
) -> Status:
    """The status behind JOB_STATE_... answered, failed: numbers of requests, if they are counted.

    A failed batch with some answers counts as ended, not as failed, so that its answers can be
    fetched.
    """
    stage = state.removeprefix("JOB_STATE_")
    refused = None
    if stage == "FAILED" and not answered:
        refused = failure or CallFailed(calls.SERVER, "the batch failed and does not say why")
    done = answered + failed if counted else None
    return Status(stage.lower().replace("_", " ") or "unknown", stage in ENDED, done, refused)


def file_gone(refused: CallFailed, uploaded: str) -> CallFailed:
    """The failure that refused a batch. If the batch's file is gone, the failure is of a kind that
    makes METAL upload it again.
    """
    gone = refused.status in (400, 404) or "not exist" in refused.message
    if gone and uploaded.removeprefix("files/") in refused.message:
        return CallFailed(
            calls.SERVER, f"the uploaded file is gone; {refused.message}", status=refused.status
        )
    return refused


def read_error(error: object, whose: str) -> CallFailed:
    """The failure behind a google.rpc.Status, or behind its text, such as {"code", "message"} or
    `Bad Request: {"error": {...}}`.
    """
    if isinstance(error, Mapping):
        inner = error.get("error")
        return _read_status(inner if isinstance(inner, Mapping) else error, whose)
    text = str(error or "")
    if match := re.search(r"\{.*\}", text, re.S):
        try:
            inner = json.loads(match[0])
        except (ValueError, RecursionError):
            inner = None
        if isinstance(inner, dict) and inner:
            return read_error(inner, whose)
    if not text:
        return CallFailed(calls.SERVER, "a result with neither reply nor error")
    if re.search(r"expired|cancell?ed", text, re.I):
        return CallFailed(calls.EXPIRED, one_line(text))
    http = re.search(r"\b[45]\d\d\b", text)
    by_name = next(
        (status for name, status in _STATUS.items() if name in text.upper().replace(" ", "_")), 500
    )
    return failure(int(http[0]) if http else by_name, one_line(text), code=QUEUE_FULL, whose=whose)


def _read_status(error: Mapping[str, Any], whose: str) -> CallFailed:
    name, code = str(error.get("status") or ""), str(error.get("code") or "")
    number = int(code) if code.isdigit() else 0
    status = (
        _STATUS.get(name)
        or _STATUS_OF_NUMBER.get(number)
        or (number if 400 <= number < 600 else 500)
    )
    message = str(error.get("message") or name or json.dumps(dict(error), default=str))
    if status == 499:  # the batch ended before this request's turn
        return CallFailed(calls.EXPIRED, one_line(message))
    return failure(status, message, code=QUEUE_FULL, wait=retry_delay(dict(error)), whose=whose)


@contextmanager
def failures(whose: str, code: str = "", no_answer: str = calls.SERVER) -> Iterator[None]:
    """Turn errors of a call inside the `with` block into CallFailed.

    whose: the model and key that they are about. code: as in `failure`. no_answer: the kind of
    failure for a body that is not an answer.
    """
    import requests
    import urllib3
    from google.api_core import exceptions
    from google.protobuf.json_format import ParseError

    try:
        yield
    except exceptions.GoogleAPICallError as error:
        response: Any = getattr(error, "response", None)
        wait = retry_after(getattr(response, "headers", {}))
        with suppress(ValueError, AttributeError):  # not JSON, or of no HTTP response
            wait = wait or retry_delay(response.json())
        raise failure(
            int(error.code or 500), error.message or str(error), code=code, wait=wait, whose=whose
        ) from None
    except (
        requests.exceptions.RequestException,
        urllib3.exceptions.HTTPError,
        exceptions.RetryError,
    ) as error:
        late = isinstance(
            error, requests.exceptions.Timeout | exceptions.RetryError
        ) or "timed out" in str(error)
        if late:
            raise CallFailed(calls.TIMEOUT, one_line(str(error))) from None
        raise connection_failure(error) from None
    except google.auth.exceptions.GoogleAuthError as error:
        raise CallFailed(calls.DENIED, f"{whose}: {NO_LOGIN}; {one_line(str(error))}") from None
    except (ValueError, ParseError) as error:
        raise CallFailed(no_answer, f"not an answer: {one_line(str(error))}") from None


def open_bucket(model: Model, project: str) -> Bucket:
    """The bucket of the model's batches. Raises UsageError if judges.toml names no bucket."""
    if not model.batch.bucket:
        raise UsageError(
            f"judge {model.name!r}: batches on Vertex AI are read from Cloud Storage and written"
            " there: name a bucket "
            f'of yours in {FILE}: [judges.NAME.batch] bucket = "gs://..."'
        )
    name, _, folder = model.batch.bucket.removeprefix("gs://").strip("/").partition("/")
    if not name or not model.batch.bucket.startswith("gs://"):
        raise UsageError(
            f"judge {model.name!r}: bucket {model.batch.bucket!r} is not a bucket of Cloud Storage;"
            " write gs://NAME or gs://NAME/FOLDER"
        )
    from google.cloud import storage  # type: ignore[attr-defined]

    os.environ.setdefault(*_NO_TRACES)
    with login_needed(model):
        client = storage.Client(project=project, credentials=credentials(model))
        bound(client._http)
    return Bucket(client, name, "/".join(filter(None, (folder, FOLDER))), model.timeout)


class Bucket:
    """A folder in a bucket, with a place for each batch. Its methods raise CallFailed."""

    def __init__(self, client: Any, name: str, folder: str, timeout: float) -> None:
        self._client, self.name, self._folder = client, name, folder
        self._settings = {"timeout": timeout, "retry": None}

    def results(self, token: str) -> str:
        """The folder that holds only the results of a batch."""
        return f"gs://{self.name}/{self._folder}/{token}/results/"

    def upload(self, file: Path, token: str) -> str:
        """Write a batch's requests, replacing an existing file. Returns its address, gs://..."""
        address = f"gs://{self.name}/{self._folder}/{token}/requests.jsonl"
        with failures(f"bucket {self.name}"):
            self._blob(address).upload_from_filename(
                str(file), content_type="application/jsonl", checksum="md5", **self._settings
            )
        return address

    def fetch(self, batch: str, folder: str | None, into: Path) -> None:
        """Write all lines of results from a batch's folder to `into`, file by file."""
        if not folder:
            raise CallFailed(calls.SERVER, f"{batch} does not say where its results are")
        bucket, _, prefix = folder.removeprefix("gs://").partition("/")
        with new_file(into) as partial, failures(f"bucket {bucket}"), partial.open("w+b") as out:
            blobs = {
                blob.name: blob
                for blob in self._client.list_blobs(bucket, prefix=prefix, **self._settings)
            }
            for name in result_files(list(blobs)):
                blobs[name].download_to_file(out, checksum="md5", **self._settings)
                if out.tell() and (out.seek(-1, 1), out.read(1))[1] != b"\n":
                    out.write(b"\n")  # a file's last line may have no break

    def remove(self, address: str) -> None:
        """Delete a file."""
        with failures(f"bucket {self.name}"):
            self._blob(address).delete(**self._settings)

    def close(self) -> None:
        """Give back connections."""
        self._client.close()

    def _blob(self, address: str) -> Any:
        bucket, _, name = address.removeprefix("gs://").partition("/")
        return self._client.bucket(bucket).blob(name)


def result_files(names: list[str]) -> list[str]:
    """The files of a batch that hold its results, with each result once.

    Gemini writes predictions.jsonl. While a batch runs, it also writes
    incremental_predictions.jsonl, which stays if the batch does not end well. A deployed model
    writes prediction.results-00000-of-00010 or predictions_0001.jsonl, and errors_0001.jsonl. Its
    prediction.errors_stats-... has counts of errors without keys, and is not read.
    """
    files = [name for name in names if not name.endswith("/")]
    results = sorted(name for name in files if "errors_stats" not in name.rsplit("/", 1)[-1])
    final = [name for name in results if not name.rsplit("/", 1)[-1].startswith("incremental_")]
    return final or results
