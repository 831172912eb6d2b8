"""The judge wizard: from a dataset to a run of judges, with the first prompt, the cost and a few
trial answers before.
"""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from metal.api.criteria import PROMPTS
from metal.app.asking import NEW, JudgeAsking, JudgeWish, Looked, choices_for, where_asked
from metal.app.jobs import RUNNING, Jobs, job_page
from metal.app.library import Library, NoSuchPage
from metal.app.opening import dataset_in
from metal.app.processes import called
from metal.app.templating import respond
from metal.data.run_toml import RUN_TOML
from metal.data.text import duration
from metal.errors import MetalError
from metal.raters.judges.models import without_secrets
from metal.show.commands import in_commands

# what the form calls the options of `metal judge`, for messages
FIELDS = {
    "base_url": "the address of your server",
    "max_cost": "the most dollars",
    "sample": "the number of outputs",
    "criteria": "the criterion",
    "with_reference": "show the references",
    "together": "all criteria in one call",
    "prompt_language": "the language of the prompt",
    "question": "your own question",
    "languages": "outputs in",
    "prompt": "the prompt",
    "judge": "the judge",
}
CHANGED = "Something was changed after the cost was shown. This is what would be asked now."


def wizard(request: Request) -> Response:
    """Show the form, with what the address asks for."""
    return _page(request, JudgeWish.of(request.query_params), {})


async def wished(request: Request) -> Response:
    """Check, try or start the run that the form describes. A run is started only if its cost was
    shown.
    """
    form = await request.form()
    return await run_in_threadpool(_answered, request, dict(form))


def _answered(request: Request, form: dict[str, Any]) -> Response:
    library: Library = request.app.state.library
    path, private = library.path(request.path_params["key"]), request.app.state.jobs.folder
    wish = JudgeWish()
    content: dict[str, Any] = {}
    try:
        wish = JudgeWish.of(form)
        asking = JudgeAsking(wish, path, library.root, private)
        do, same = form.get("do"), form.get("seen") == wish.seen
        if do == "run" and same:
            return _run(request, asking)
        large = library.is_large(path)
        content = _looked(asking, called(JudgeAsking.look, asking, aside=large))
        if do == "try" and same:
            content["trials"] = called(JudgeAsking.try_out, asking, aside=large)
        elif do in ("try", "run"):
            content["note"] = CHANGED
    except MetalError as error:
        content["problem"] = in_commands(str(error), FIELDS)
    return _page(request, wish, content)


def _looked(asking: JudgeAsking, looked: Looked) -> dict[str, Any]:
    rows = []
    for each in looked.estimates:
        time = duration(each.seconds) if each.seconds or not each.calls else ""
        rows.append({"estimate": each, "time": time})
    commands = filter(None, (asking.new_criterion(), asking.command()))
    return {
        "looked": looked,
        "rows": rows,
        "where": where_asked(asking.wish),
        "first": looked.first.message if looked.first else None,
        "commands": [shlex.join(["metal", *arguments]) for arguments in commands],
        "out": asking.out,
    }


def _run(request: Request, asking: JudgeAsking) -> Response:
    """Write a new criterion and start the run."""
    jobs: Jobs = request.app.state.jobs
    command = asking.command()
    asking.check()
    asking.write_criterion(asking.root / PROMPTS)
    job = jobs.start(command)
    return RedirectResponse(f"{request.scope['root_path']}/judge-started/{job.key}", 303)


def started(request: Request) -> Response:
    """Show the command until its run is there, and then the run."""
    jobs: Jobs = request.app.state.jobs
    job, base = jobs.job(request.path_params["key"]), request.scope["root_path"]
    if (jobs.root / job.out / RUN_TOML).is_file():
        return RedirectResponse(f"{base}/live/{quote(job.out)}", 303)
    if job.state != RUNNING:
        return RedirectResponse(f"{base}/job/{job.key}", 303)
    return job_page(request)


def _page(request: Request, wish: JudgeWish, shown: dict[str, Any]) -> Response:
    library: Library = request.app.state.library
    key = request.path_params["key"]
    path = library.path(key)
    if library.folder(key).kind != "dataset":
        raise NoSuchPage(f"{key} is not a dataset, so there is nothing for a judge to rate")
    dataset = dataset_in(library, path)
    content = {
        "key": key,
        "title": dataset.card.title or path.name,
        "wish": replace(wish, base_url=without_secrets(wish.base_url)),
        "choices": choices_for(dataset, library.root),
        "new": NEW,
        **dict.fromkeys(("problem", "note", "looked", "trials")),
        **shown,
    }
    return respond(request, "judging.html", content, 400 if shown.get("problem") else 200)


ROUTES = [
    Route("/judge/{key:path}", wizard, name="judge"),
    Route("/judge/{key:path}", wished, methods=["POST"]),
    Route("/judge-started/{key}", started),
]
