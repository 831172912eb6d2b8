"""The pages of a dataset's or run's answers: a list, and one output with everything that is known
of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from metal.api.answer_files import csv_lines, json_lines
from metal.api.answer_table import Choice, RunAnswers
from metal.app.about import TITLES, about_run
from metal.app.answer_list import content_of
from metal.app.comparing import ChangedReason, diff_of, reasons_of
from metal.app.library import Library, NoSuchPage
from metal.app.opening import answers_of
from metal.app.outputs import Shown, of_run
from metal.app.templating import respond
from metal.data.text import slug
from metal.errors import check_known
from metal.show.replies import about_answer

if TYPE_CHECKING:
    import pandas as pd

PAGE = 50  # rows
FILES = {  # of a download, by their ending
    "csv": (csv_lines, "text/csv; charset=utf-8"),
    "jsonl": (json_lines, "application/jsonl; charset=utf-8"),
}


def answers_page(request: Request) -> Response:
    """The outputs of a dataset or run, those with the largest differences first."""
    library, key = _asked(request)
    folder = library.path(key)
    answers = answers_of(library, folder)
    choice = _choice(request)
    chosen = answers.chosen(choice)
    kind = library.folder(key).kind
    number = request.query_params.get("page", "1")
    page = max(int(number), 1) if number.isdecimal() and len(number) < 9 else 1
    content = {
        **content_of(answers, choice, chosen.iloc[PAGE * (page - 1) : PAGE * page]),
        "key": key,
        "total": len(chosen),
        "page": page,
        "pages": -(-len(chosen) // PAGE),
        "title": folder.name,
        "has_verdicts": kind == "audit",
        "only_differing": kind == "audit",
        "datasets": library.datasets_of(folder),
        "about": None if kind == "dataset" else about_run(library, key),
        "parts_titles": TITLES.values(),
    }
    return respond(request, "answers.html", content)


def download(request: Request) -> Response:
    """All outputs of a choice as a file."""
    library, key = _asked(request)
    folder = library.path(key)
    ending = request.path_params["ending"]
    check_known("format", [ending], FILES)
    lines, kind = FILES[ending]
    answers, choice = answers_of(library, folder), _choice(request)
    name = slug("-".join([folder.resolve().name, choice.language, choice.criterion]))
    headers = {"Content-Disposition": f'attachment; filename="{name}.{ending}"'}
    content = lines(answers, answers.chosen(choice))
    return StreamingResponse(content, media_type=kind, headers=headers)


def output_page(request: Request) -> Response:
    """One output: its texts, all scores, what the judges were asked, and what they replied.

    `beside` in the address names an earlier run: what judges said there is shown beside it, and the
    outputs before and after are those whose answer has changed since.
    """
    library, key = _asked(request)
    folder = library.path(key)
    output, of, earlier = (
        request.query_params.get(name, "") for name in ("output", "of", "beside")
    )
    answers, choice = answers_of(library, folder), _choice(request)
    shown = _shown(library, folder, answers, output)
    changes: Sequence[ChangedReason] = ()
    if earlier:
        diff = diff_of(library, key, earlier)
        listed = diff.changed_answers.drop_duplicates(["output", "criterion"])
        changes = reasons_of(library, diff, shown, earlier)
    else:
        listed = answers.chosen(choice)
    content = {
        "key": key,
        "title": folder.name,
        "choice": choice,
        "query": choice.to_dict() | ({"beside": earlier} if earlier else {}),
        "earlier": earlier,
        "changes": changes,
        **_steps(listed, output, of),
        "shown": shown,
        "of": of,
        "about": about_answer,
    }
    return respond(request, "output.html", content)


def _steps(listed: pd.DataFrame, output: str, of: str) -> dict[str, Any]:
    """Where an output is in a list, and which come before and after it."""
    at = (listed["output"] == output) & (listed["criterion"] == of)
    position = next(iter(np.flatnonzero(at).tolist()), None)
    first = max(position - 1, 0) if position else 0
    near = listed.iloc[first : first + 3]
    order = list(zip(near["output"].astype(str), near["criterion"].astype(str), strict=True))
    before, after = beside_of(order, None if position is None else position - first)
    return {"position": position, "total": len(listed), "before": before, "after": after}


def beside_of(
    order: Sequence[tuple[str, str]], position: int | None
) -> tuple[tuple[str, str] | None, tuple[str, str] | None]:
    """The outputs before and after a position in a list."""
    if position is None:
        return None, order[0] if order else None
    before = order[position - 1] if position else None
    after = order[position + 1] if position + 1 < len(order) else None
    return before, after


def _asked(request: Request) -> tuple[Library, str]:
    return request.app.state.library, request.path_params["key"]


def _choice(request: Request) -> Choice:
    """The choice in an address."""
    names = Choice.__annotations__
    return Choice(**{name: request.query_params.get(name, "") for name in names})


def _shown(library: Library, folder: Path, answers: RunAnswers, output: str) -> Shown:
    numbers = answers.items.index[answers.items["output"] == output]
    if not len(numbers):
        raise NoSuchPage(f"There is no output {output!r} among the answers of {folder.name}")
    return of_run(library, folder, output, list(map(int, numbers)))


ROUTES = [
    Route("/answers/{key:path}", answers_page, name="answers"),
    Route("/answers.{ending}/{key:path}", download, name="download"),
    Route("/output/{key:path}", output_page, name="output"),
]
