"""The HTTP API of boards: a team submits with its token and asks what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from metal.errors import MetalError
from metal.serving.board_pages import MOST_FIELDS, MOST_FILES, BoardSeat, files_apart, team_of_token
from metal.serving.boards import BoardVisitor, ServedBoard
from metal.serving.desk import Desk, TooMany, address, origin_of
from metal.serving.submissions import (
    FAILED,
    FLAGS,
    JOINED,
    LONGEST_DESCRIPTION,
    QUEUED,
    REFUSED,
    RUNNING,
    WAITING,
    WITHDRAWN,
    NoSuchSubmission,
    submission_of,
    submissions_of,
    submit,
)
from metal.serving.submitted_files import FILES, LARGEST_FILE
from metal.serving.templating import respond

WITHOUT = "this token belongs to no team; send `Authorization: Bearer TOKEN` with your team's token"
FIELDS = {
    "kind": "generator: outputs as JSON lines, each with source and text. metric-scores: a CSV with"
    " the columns output and score, or source, generator and score. metric-program: a Python file"
    " with a function score(output, ...).",
    "name": "The name on the board.",
    "description": f"What it is, in at most {LONGEST_DESCRIPTION:,} characters.",
    "file": f"The outputs, scores or program; at most {LARGEST_FILE // 2**20} MB.",
    "scores": "For a generator: its scores by metrics that cannot run on the server; a CSV with the"
    " column source and one for each metric, named as on the board (higher is better).",
    "allow_missing": "For a generator: accept outputs for only some of the sources.",
    "human": "For a generator: whether people wrote the outputs.",
    "family": "For a generator: whose model it is (gpt, gemini, ...), for self-preference.",
    "direction": "For a metric: whether higher or lower scores are better.",
    "signature": "For scores: what produced them (model, version).",
    "function": "For a program: the function to call; default score.",
}
STATES = {
    WAITING: "it waits for the board's owner",
    QUEUED: "it waits for a worker",
    RUNNING: "it is running",
    JOINED: "it is on the board, with `version`",
    FAILED: "it could not join; the log says why",
    REFUSED: "the owner refused it",
    WITHDRAWN: "the owner took it off the board",
}


def _refused(error: Exception, status: int = 400) -> Response:
    if isinstance(error, NoSuchSubmission):
        status = 404
    if isinstance(error, TooMany):
        status = 429
    return JSONResponse({"error": str(error)}, status)


def _unsender() -> Response:
    headers = {"WWW-Authenticate": "Bearer"}
    return JSONResponse({"error": WITHOUT}, 401, headers)


async def post(request: Request) -> Response:
    """Take a submission. A token that is not valid is refused before the file is read."""
    try:
        sender = await run_in_threadpool(team_of_token, request)
        if sender is None:
            return _unsender()
        async with request.form(max_files=MOST_FILES, max_fields=MOST_FIELDS) as form:
            return await run_in_threadpool(_post, request, sender, *files_apart(form))
    except MetalError as error:
        return _refused(error)
    except HTTPException as error:
        return JSONResponse({"error": str(error.detail)}, error.status_code)
    except ClientDisconnect:  # it is too large, or nobody waits for the reply
        return JSONResponse({"error": f"a file has at most {LARGEST_FILE // 2**20} MB"}, 413)


def _post(
    request: Request,
    sender: tuple[Desk, ServedBoard, BoardVisitor],
    fields: Mapping[str, Any],
    file: Any,
    scores: Any,
) -> Response:
    desk, board, team = sender
    desk.limits.take(request)
    submission = submit(desk.ledger, desk.root, board, team, fields, file, scores)
    at = address(request, f"/boards/{board.id}/api/submissions/{submission.id}")
    return JSONResponse(submission.to_dict(), 201, {"Location": at})


def every(request: Request) -> Response:
    """The team's submissions, the newest first."""
    try:
        sender = team_of_token(request)
    except TooMany as error:
        return _refused(error)
    if sender is None:
        return _unsender()
    desk, board, team = sender
    rows = submissions_of(desk.ledger, board.id, team.team)
    return JSONResponse([row.to_dict() for row in rows])


def one(request: Request) -> Response:
    """A submission of the team: its state and log."""
    try:
        sender = team_of_token(request)
        if sender is None:
            return _unsender()
        desk, board, team = sender
        identity = request.path_params["submission"]
        submission = submission_of(desk.ledger, board.id, identity, team.team)
    except MetalError as error:
        return _refused(error)
    return JSONResponse(submission.to_dict())


def openapi(request: Request) -> Response:
    """The description of this API, for programs."""
    return JSONResponse(description(BoardSeat(request)))


def page(request: Request) -> Response:
    """The description of this API, for people."""
    seat = BoardSeat(request)
    origin = origin_of(request)
    content = {"board": seat.board, "here": seat.base, "fields": FIELDS, "states": STATES}
    return respond(request, "board_api.html", {**content, "origin": origin})


def description(seat: BoardSeat) -> dict[str, Any]:
    """The API as OpenAPI 3.1."""
    text = {"type": "string"}
    properties: dict[str, Any] = {
        name: {**text, "description": meaning} for name, meaning in FIELDS.items()
    }
    properties["kind"]["enum"] = list(FILES)
    properties["direction"]["enum"] = ["higher", "lower"]
    for flag in FLAGS:
        properties[flag]["type"] = "boolean"
    for file in ("file", "scores"):
        properties[file]["contentMediaType"] = "application/octet-stream"
    form = {"type": "object", "required": ["kind", "name", "file"], "properties": properties}
    record = {
        "type": "object",
        "properties": {
            **dict.fromkeys(("id", "kind", "name", "description", "at"), text),
            "state": {**text, "enum": list(STATES)},
            "version": {"type": ["integer", "null"]},
            "log": {"type": "array", "items": text},
        },
    }
    error = {"description": "Refused; `error` says why", "content": _json({"type": "object",
             "properties": {"error": text}})}  # fmt: skip
    of_one = {"description": "The submission", "content": _json(record)}
    several = _json({"type": "array", "items": record})
    identity = {"name": "submission", "in": "path", "required": True, "schema": text}
    return {
        "openapi": "3.1.0",
        "info": {"title": f"METAL board {seat.board.id}", "version": "1"},
        "servers": [{"url": seat.base}],
        "security": [{"team": []}],
        "components": {"securitySchemes": {"team": {"type": "http", "scheme": "bearer"}}},
        "paths": {
            "/api/submissions": {
                "post": {
                    "summary": "Submit a generator or a metric",
                    "requestBody": {"required": True,
                                    "content": {"multipart/form-data": {"schema": form}}},
                    "responses": {"201": of_one, "400": error, "401": error, "429": error},
                },
                "get": {
                    "summary": "The submissions of your team",
                    "responses": {"200": {"description": "The newest first", "content": several},
                                  "401": error},
                },
            },
            "/api/submissions/{submission}": {
                "get": {
                    "summary": "State and log of a submission of your team",
                    "parameters": [identity],
                    "responses": {"200": of_one, "401": error, "404": error},
                }
            },
        },
    }  # fmt: skip


def _json(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


ROUTES = [
    Route("/boards/{board}/api", page),
    Route("/boards/{board}/api/openapi.json", openapi),
    Route("/boards/{board}/api/submissions", post, methods=["POST"]),
    Route("/boards/{board}/api/submissions", every),
    Route("/boards/{board}/api/submissions/{submission}", one),
]
