"""A thin client of Label Studio's REST API, with only the calls for handing out tasks and fetching
answers.

The token is in LABEL_STUDIO_API_KEY. It is a legacy token, or a personal access token, which is
exchanged for a token that lasts minutes. It is sent only to the given address, never to a
redirect's target, and never shown. Written for Label Studio 1.23.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from urllib.parse import urlsplit

from metal.errors import MetalError, UsageError

KEY = "LABEL_STUDIO_API_KEY"
PATIENCE = 120  # seconds that an answer may take; an import of thousands of tasks needs them
TRIES, FIRST_PAUSE = 4, 0.5  # of calls that may be repeated; the pause in seconds doubles
PAGE = 100  # projects or tasks per page
TITLE_LIMIT = 50  # characters that Label Studio takes
_BUSY = (429, 502, 503, 504)


class LabelStudioError(MetalError):
    """Label Studio answered with an error. status: the HTTP status."""

    def __init__(self, what: str, status: int, reason: str) -> None:
        self.status = status
        super().__init__(f"Label Studio refused {what}: {reason or 'no reason given'} ({status})")


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Treat redirects as errors, because a redirected request would carry the token."""

    def redirect_request(self, *_: Any) -> None:
        return None


class LabelStudio:
    """A Label Studio server. sleep: the function that waits between attempts."""

    def __init__(
        self, url: str, token: str | None = None, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        """Check address and token. Raises UsageError for a bad address or if there is no token."""
        self.url = checked_url(url)
        self._token = (os.environ.get(KEY, "") if token is None else token).strip()
        if not self._token:
            raise UsageError(
                f"Label Studio needs a token: set {KEY} to the one under Account & Settings >"
                " Personal Access Token"
            )
        if not re.fullmatch("[!-~]+", self._token):
            raise UsageError(f"{KEY} holds characters that no token has; copy it again")
        self._access = ""  # what a personal access token was exchanged for
        self._sleep = sleep
        self._opener = urllib.request.build_opener(_NoRedirect)

    # ------------------------------------------------------------ calls

    def projects(self) -> Iterator[dict[str, Any]]:
        """The id and title of every project that the token may see."""
        yield from self._pages(
            "/api/projects/?include=id,title&page_size={size}&page={page}", "results"
        )

    def create_project(self, title: str, interface: str, raters: int) -> int:
        """Create a project and return its number. raters: how many people rate each task. A failed
        call is not repeated; use `projects` to see whether it worked.
        """
        described = {
            "title": title,
            "label_config": interface,
            "maximum_annotations": raters,
            "sampling": "Sequential sampling",
        }
        project = self._call("POST", "/api/projects/", described)
        if not isinstance(project, dict) or not isinstance(project.get("id"), int):
            raise self._strange("a new project")
        return int(project["id"])

    def count_tasks(self, project: int) -> int:
        """How many tasks a project has."""
        listed = self._call("GET", f"/api/projects/{project}/")
        if not isinstance(listed, dict) or not isinstance(listed.get("task_number"), int):
            raise self._strange("a project")
        return int(listed["task_number"])

    def tasks(self, project: int) -> list[str]:
        """METAL's ids of all tasks in a project; empty for tasks that METAL did not make."""
        path = f"/api/tasks?project={project}&fields=all&page_size={{size}}&page={{page}}"
        contents = [task.get("data") for task in self._pages(path, "tasks")]
        return [str(data.get("task", "")) if isinstance(data, dict) else "" for data in contents]

    def import_tasks(self, project: int, tasks: Iterable[object]) -> None:
        """Add tasks to a project. A failed call is not repeated; use `count_tasks` to see whether
        it worked.
        """
        self._call("POST", f"/api/projects/{project}/import", list(tasks))

    def export(self, project: int) -> bytes:
        """Everything submitted so far, as Label Studio's JSON."""
        return self._send("GET", f"/api/projects/{project}/export?exportType=JSON")

    # ------------------------------------------------------------ underneath

    def _pages(self, path: str, field: str) -> Iterator[dict[str, Any]]:
        page = 1
        while True:
            answer = self._call("GET", path.format(page=page, size=PAGE))
            listed = answer.get(field) if isinstance(answer, dict) else None
            if not isinstance(listed, list) or not all(isinstance(entry, dict) for entry in listed):
                raise self._strange("a list")
            yield from listed
            total = answer.get("count", answer.get("total"))
            if (
                not listed
                or len(listed) < PAGE
                or (isinstance(total, int) and page * PAGE >= total)
            ):
                return
            page += 1

    def _call(self, method: str, path: str, body: object = None) -> Any:
        answer = self._send(method, path, body)
        try:
            return json.loads(answer or b"null")
        except ValueError:
            raise self._strange("JSON") from None

    def _send(self, method: str, path: str, body: object = None) -> bytes:
        """Send a request and return the bytes of the response. A call that only reads is repeated
        if the server is busy or unreachable.
        """
        what = f"{method} {path.partition('?')[0]}"
        for left in reversed(range(TRIES)):
            try:
                return self._once(method, path, body)
            except LabelStudioError as error:
                if error.status == 401 and self._personal and self._access:
                    self._access = ""  # expired
                    continue
                if error.status == 401:
                    raise UsageError(
                        f"{self.url} does not accept the token in {KEY}; make a new one there"
                    ) from None
                if method != "GET" or not left or error.status not in _BUSY:
                    raise
            except (OSError, http.client.HTTPException) as error:
                if method != "GET" or not left or isinstance(error, ConnectionRefusedError):
                    raise self._away(what, error) from None
            self._sleep(FIRST_PAUSE * 2 ** (TRIES - 1 - left))
        raise LabelStudioError(what, 401, "the token is not accepted")

    @property
    def _personal(self) -> bool:
        """Whether the token is a personal access token, which is a JSON web token."""
        return self._token.count(".") == 2

    def _once(self, method: str, path: str, body: object = None) -> bytes:
        if self._personal and not self._access:
            answer = self._raw("POST", "/api/token/refresh/", {"refresh": self._token}, {})
            access = json.loads(answer or b"null") if answer[:1] == b"{" else None
            if not isinstance(access, dict) or not re.fullmatch(
                "[!-~]+", str(access.get("access", ""))
            ):
                raise self._strange("an access token")
            self._access = str(access["access"])
        allowed = f"Bearer {self._access}" if self._personal else f"Token {self._token}"
        return self._raw(method, path, body, {"Authorization": allowed})

    def _raw(self, method: str, path: str, body: object, headers: dict[str, str]) -> bytes:
        data = None if body is None else json.dumps(body).encode()
        named = {"Content-Type": "application/json", "Accept": "application/json", **headers}
        request = urllib.request.Request(self.url + path, data, named, method=method)  # noqa: S310  checked_url
        try:
            with self._opener.open(request, timeout=PATIENCE) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                reason = _detail(error.read(100_000))
            raise LabelStudioError(
                f"{method} {path.partition('?')[0]}", error.code, self._hidden(reason)
            ) from None
        except urllib.error.URLError as error:
            raise (
                error.reason if isinstance(error.reason, OSError) else OSError(str(error.reason))
            ) from None

    def _hidden(self, text: str) -> str:
        for secret in filter(None, (self._token, self._access)):
            text = text.replace(secret, "***")
        return text

    def _away(self, what: str, error: Exception) -> UsageError:
        reason = self._hidden(" ".join(str(error).split())) or type(error).__name__
        return UsageError(
            f"{self.url} does not answer {what} ({reason}). Is Label Studio running there? What"
            " was done so far is kept; run the same command again"
        )

    def _strange(self, wanted: str) -> UsageError:
        return UsageError(
            f"{self.url} does not answer as Label Studio does ({wanted} was expected); see `url`"
        )


def checked_url(url: str, parameter: str = "url", example: str = "http://127.0.0.1:8080") -> str:
    """The address without a final slash. Raises UsageError if the address is bad or contains a
    password.
    """
    parts = urlsplit(url)
    if (
        parts.scheme not in ("http", "https")
        or not parts.hostname
        or parts.query
        or parts.fragment
        or "@" in url
    ):
        raise UsageError(
            f"`{parameter}` is an address such as {example}, without a name or password in it"
        )
    if not re.fullmatch("[!-~]+", url):
        raise UsageError(f"`{parameter}` holds characters that an address cannot have")
    return url.rstrip("/")


def _detail(body: bytes) -> str:
    """The reason given in the body of an error response, on one line."""
    try:
        answer = json.loads(body)
    except ValueError:
        return ""
    if not isinstance(answer, dict):
        return ""
    reason = answer.get("validation_errors") or answer.get("detail") or ""
    return " ".join(
        (reason if isinstance(reason, str) else json.dumps(reason, ensure_ascii=False)).split()
    )[:300]
