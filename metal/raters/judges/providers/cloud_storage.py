"""Files in Cloud Storage (gs://...), where Vertex AI's batches read requests and write results.

The package's own retries are off. Every function blocks: call it on a thread.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from metal.errors import UsageError
from metal.raters.judges.call import CallFailed
from metal.raters.judges.models import FILE, Model
from metal.raters.judges.providers.google import credentials, login_needed
from metal.raters.judges.providers.google_cloud import cloud_failures

FOLDER = "metal"  # in the user's bucket


def open_bucket(model: Model, project: str) -> Bucket:
    """The bucket of the model's batches. Raises UsageError when judges.toml names none."""
    if not model.batch.bucket:
        raise UsageError(
            f"judge {model.name!r}: batches on Vertex AI are read from Cloud Storage and written there: name a bucket "
            f'of yours in {FILE}: [judges.NAME.batch] bucket = "gs://..."'
        )
    name, _, folder = model.batch.bucket.removeprefix("gs://").strip("/").partition("/")
    if not name or not model.batch.bucket.startswith("gs://"):
        raise UsageError(
            f"judge {model.name!r}: bucket {model.batch.bucket!r} is no bucket of Cloud Storage; write gs://NAME or "
            "gs://NAME/FOLDER"
        )
    from google.cloud import storage  # type: ignore[attr-defined]

    with login_needed(model):
        client = storage.Client(project=project, credentials=credentials(model))
    return Bucket(client, name, "/".join(filter(None, (folder, FOLDER))), model.timeout)


class Bucket:
    """A folder in a bucket, with a place for each batch. Its methods raise CallFailed."""

    def __init__(self, client: Any, name: str, folder: str, timeout: float) -> None:
        self._client, self.name, self._folder = client, name, folder
        self._settings = {"timeout": timeout, "retry": None}

    def requests(self, token: str) -> str:
        """Where the requests of a batch are."""
        return f"gs://{self.name}/{self._folder}/{token}/requests.jsonl"

    def results(self, token: str) -> str:
        """The folder that the results of a batch are written into, and nothing else."""
        return f"gs://{self.name}/{self._folder}/{token}/results/"

    def upload(self, file: Path, place: str) -> None:
        """Write a file to gs://..., over what is there."""
        with cloud_failures(f"bucket {self.name}"):
            self._blob(place).upload_from_filename(
                str(file), content_type="application/jsonl", checksum="md5", **self._settings
            )

    def download(self, folder: str, into: Path) -> None:
        """All lines of results in a folder of a batch, one file after the other."""
        bucket, _, prefix = folder.removeprefix("gs://").partition("/")
        with cloud_failures(f"bucket {bucket}"), into.open("w+b") as out:
            blobs = {blob.name: blob for blob in self._client.list_blobs(bucket, prefix=prefix, **self._settings)}
            for name in result_files(list(blobs)):
                blobs[name].download_to_file(out, checksum="md5", **self._settings)
                if out.tell() and (out.seek(-1, 1), out.read(1))[1] != b"\n":
                    out.write(b"\n")  # a file's last line may have no break

    def remove(self, place: str) -> None:
        """Take a file away; one that is not there is as good."""
        try:
            with cloud_failures(f"bucket {self.name}"):
                self._blob(place).delete(**self._settings)
        except CallFailed as error:
            if error.status != 404:
                raise

    def close(self) -> None:
        """Give back connections."""
        self._client.close()

    def _blob(self, place: str) -> Any:
        bucket, _, name = place.removeprefix("gs://").partition("/")
        return self._client.bucket(bucket).blob(name)


def result_files(names: list[str]) -> list[str]:
    """The files that a batch has written whose lines are results, each result once.

    Gemini: predictions.jsonl, and incremental_predictions.jsonl while it runs, which stays when it never ends well.
    A deployed model: prediction.results-00000-of-00010 or predictions_0001.jsonl, errors_0001.jsonl; its
    prediction.errors_stats-... has counts of errors, without keys.
    """
    files = [name for name in names if not name.endswith("/")]
    results = sorted(name for name in files if "errors_stats" not in name.rsplit("/", 1)[-1])
    final = [name for name in results if not name.rsplit("/", 1)[-1].startswith("incremental_")]
    return final or results
