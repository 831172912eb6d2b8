"""The pages of a run's answers: a list, and one output with everything that is known of it."""

from __future__ import annotations

from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from metal.api.answers import DIFFERS, KINDS, Choice, RunAnswers, of_audit, of_judges
from metal.app.library import Library, NoSuchPage
from metal.app.outputs import Shown, level_of, of_run, replies_of
from metal.app.templating import respond
from metal.data.languages import language_name
from metal.data.text import percent
from metal.show.replies import about_answer

if TYPE_CHECKING:
    import pandas as pd

PAGE = 50  # rows


def answers_page(request: Request) -> Response:
    """The outputs of a run, those with the largest differences first."""
    library, key = _asked(request)
    folder = library.path(key)
    answers = answers_of(library, folder)
    choice = _choice(request)
    chosen = answers.chosen(choice)
    number = request.query_params.get("page", "1")
    page = max(int(number), 1) if number.isdecimal() and len(number) < 9 else 1
    rows = chosen.iloc[PAGE * (page - 1) : PAGE * page]
    content = {
        **content_of(answers, choice, rows),
        "key": key,
        "total": len(chosen),
        "page": page,
        "pages": -(-len(chosen) // PAGE),
        "title": folder.name,
        "has_verdicts": library.folder(key).kind == "audit",
    }
    return respond(request, "answers.html", content)


def content_of(answers: RunAnswers, choice: Choice, rows: pd.DataFrame) -> dict[str, Any]:
    """What the list of a run's outputs shows.

    rows: those on the page, from the outputs of the choice.
    """
    return {
        "answers": answers,
        "choice": choice,
        "kinds": KINDS,
        "rows": rows.to_dict("records"),
        "share": percent,
        "titles": {name: each.title for name, each in answers.by_name.items()},
        "level": lambda row, score: (
            "" if isnan(score) else level_of(answers.by_name.get(row["criterion"]), score)
        ),
        "named": [(code, language_name(code)) for code in answers.languages],
    }


def output_page(request: Request) -> Response:
    """One output: its texts, all scores, what the judges were asked, and what they replied."""
    library, key = _asked(request)
    folder = library.path(key)
    output = request.query_params.get("output", "")
    answers, choice = answers_of(library, folder), _choice(request)
    chosen = answers.chosen(choice)
    names = chosen["output"].astype(str).tolist()
    criteria = chosen["criterion"].astype(str).tolist()
    at = (output, request.query_params.get("of", ""))
    positions = [
        position for position, each in enumerate(zip(names, criteria, strict=True)) if each == at
    ]
    position = positions[0] if positions else None
    before, after = beside_of(list(zip(names, criteria, strict=True)), position)
    content = {
        "key": key,
        "title": folder.name,
        "choice": choice,
        "position": position,
        "total": len(chosen),
        "before": before,
        "after": after,
        "shown": _shown(library, folder, answers, output),
        "of": at[1],
        "about": about_answer,
    }
    return respond(request, "output.html", content)


def beside_of(
    order: list[tuple[str, str]], position: int | None
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
    """The choice that an address names. Without a kind, it is the outputs on which a judge differs
    from people.
    """
    query = request.query_params
    parts = {name: query.get(name, "") for name in ("language", "criterion", "judge")}
    return Choice(**parts, kind=query.get("kind", DIFFERS))


def answers_of(library: Library, folder: Path) -> RunAnswers:
    """The answers in a run. Raises NoSuchPage for a run that has none."""
    return library.opened(folder, "answers", lambda: _read(library, folder))


def _read(library: Library, folder: Path) -> RunAnswers:
    from metal.runs.judges_run import COMMANDS
    from metal.runs.parts import command_of

    command = command_of(folder)
    if command == "audit":
        return of_audit(folder)
    if command in COMMANDS:
        opened = replies_of(library, folder)
        return of_judges(opened.table, opened.dataset.criteria if opened.dataset else {})
    what = f"A run of `metal {command}`" if command else "A dataset"
    raise NoSuchPage(f"{what} has no list of answers; open an audit or a run of judges")


def _shown(library: Library, folder: Path, answers: RunAnswers, output: str) -> Shown:
    numbers = answers.items.index[answers.items["output"] == output]
    if not len(numbers):
        raise NoSuchPage(f"There is no output {output!r} among the answers of {folder.name}")
    return of_run(library, folder, output, list(map(int, numbers)))


ROUTES = [
    Route("/answers/{key:path}", answers_page, name="answers"),
    Route("/output/{key:path}", output_page, name="output"),
]
