"""The part of Cloud Storage's JSON API that google-cloud-storage uses for whole files; for a server of tests."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import md5
from typing import Any
from urllib.parse import parse_qsl, unquote

from tests.llm_server import HttpReply, SideRequest

Json = dict[str, Any]
Place = tuple[str, str]  # bucket, name
PAGE = 3  # files on a page of a list


def place_of(uri: str) -> Place:
    """Of gs://BUCKET/NAME."""
    bucket, _, name = uri.removeprefix("gs://").partition("/")
    return bucket, name


class Objects:
    """Files by (bucket, name). missing: buckets that are not there; denied: buckets that may not be touched."""

    def __init__(self) -> None:
        self.objects: dict[Place, bytes] = {}
        self.missing: frozenset[str] = frozenset()
        self.denied: frozenset[str] = frozenset()
        self._uploads: dict[str, tuple[Place, bytes]] = {}

    def reply(self, request: SideRequest, url: str) -> HttpReply:
        """The reply to a request under /storage/v1/, with /upload or /download before it or not."""
        found = re.fullmatch(r"/(upload/|download/)?storage/v1/b/([^/]+)/o(?:/(.+))?", request.path)
        if not found:
            return _error(404, f"no such route: {request.path}")
        bucket, name = unquote(found[2]), unquote(found[3] or "")
        query = dict(parse_qsl(request.query))
        if bucket in self.missing:
            return _error(404, "The specified bucket does not exist.")
        if bucket in self.denied:
            return _error(403, "The caller does not have storage.objects.create access.")
        if found[1] == "upload/":
            return self._upload(request, bucket, query, url)
        if not name:
            return self._list(bucket, query)
        if (bucket, name) not in self.objects:
            return _error(404, f"No such object: {bucket}/{name}")
        if request.method == "DELETE":
            del self.objects[bucket, name]
            return HttpReply(b"", 204)
        content = self.objects[bucket, name]
        if found[1] == "download/" or query.get("alt") == "media":
            reply = HttpReply(content, content_type="application/octet-stream")
            reply.headers["x-goog-hash"] = f"md5={_md5(content)}"
            return reply
        return _answer(self._described((bucket, name)))

    def _upload(self, request: SideRequest, bucket: str, query: dict[str, str], url: str) -> HttpReply:
        if upload := query.get("upload_id"):
            place, content = self._uploads[upload]
            content += request.body
            self._uploads[upload] = (place, content)
            total = request.headers["content-range"].rpartition("/")[2]
            if total == "*" or len(content) < int(total):
                reply = HttpReply(b"", 308)
                reply.headers["range"] = f"bytes=0-{len(content) - 1}"
                return reply
            self.objects[place] = content
            return _answer(self._described(place))
        if query["uploadType"] == "resumable":
            place = (bucket, json.loads(request.body)["name"])
            self._uploads[f"u{len(self._uploads)}"] = (place, b"")
            reply = _answer({})
            more = f"uploadType=resumable&upload_id=u{len(self._uploads) - 1}"
            reply.headers["location"] = f"{url}/upload/storage/v1/b/{bucket}/o?{more}"
            return reply
        boundary = re.search(r'boundary="?([^";]+)', request.headers["content-type"])
        assert boundary
        _, about, content, _ = request.body.split(b"--" + boundary[1].encode())
        place = (bucket, json.loads(about.partition(b"\r\n\r\n")[2])["name"])
        self.objects[place] = content.partition(b"\r\n\r\n")[2].removesuffix(b"\r\n")
        return _answer(self._described(place))

    def _list(self, bucket: str, query: dict[str, str]) -> HttpReply:
        names = sorted(name for there, name in self.objects if there == bucket)
        names = [name for name in names if name.startswith(query.get("prefix", ""))]
        start = int(query.get("pageToken") or 0)
        found: Json = {"items": [self._described((bucket, name)) for name in names[start : start + PAGE]]}
        return _answer(found | ({"nextPageToken": str(start + PAGE)} if start + PAGE < len(names) else {}))

    def _described(self, place: Place) -> Json:
        content = self.objects[place]
        return {
            "kind": "storage#object", "bucket": place[0], "name": place[1], "generation": "1",
            "size": str(len(content)), "md5Hash": _md5(content),
        }  # fmt: skip


def _md5(content: bytes) -> str:
    return b64encode(md5(content, usedforsecurity=False).digest()).decode()


def _answer(body: Json) -> HttpReply:
    return HttpReply(json.dumps(body).encode())


def _error(status: int, message: str) -> HttpReply:
    return HttpReply(json.dumps({"error": {"code": status, "message": message}}).encode(), status)
