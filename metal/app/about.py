"""What a run was made with: its judges, data, versions and cost, as its files record them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from metal.app.library import Library, NoSuchPage
from metal.app.live import FOLLOWED
from metal.app.templating import respond
from metal.data.dataset_lines import read_criteria, read_raters
from metal.data.files import whole_text
from metal.data.records import KINDS
from metal.data.run_toml import RUN_TOML, read_run_toml
from metal.data.text import count, dollars, name, plural
from metal.questions.drift.compute import PARTS, identity_parts
from metal.runs.parts import fitting

MOST_TEXT = 200_000  # characters of run.toml
TITLES = dict(zip(PARTS, ("Model", "Prompt", "Form", "Parameters", "Version told"), strict=True))


@dataclass(frozen=True)
class RunFacts:
    """What is recorded of a run.

    facts: by their titles. judges: each with its kind and the parts of its identity (PARTS).
    followed: whether a page counts its calls. run_toml: how the file begins.
    """

    facts: Mapping[str, str]
    judges: Sequence[tuple[str, str, Sequence[str]]]
    followed: bool
    run_toml: str


def about_run(library: Library, key: str) -> RunFacts:
    """What is recorded of a run. Raises NoSuchPage for a dataset."""
    entry, folder = library.folder(key), library.path(key)
    if entry.kind == "dataset":
        raise NoSuchPage(f"{name(key)} is a dataset; only runs were made with settings")
    content = read_run_toml(folder)
    with (folder / RUN_TOML).open(encoding="utf-8", errors="replace") as file:
        text = whole_text(file.read(MOST_TEXT))
    with fitting(folder, entry.kind):
        facts = {
            "Made with": f"metal {entry.kind}, METAL {content['metal']}",
            "Last change": entry.date,
            "Data": ", ".join(map(_data, content["datasets"])),
            "Planned": _planned(content["settings"].get("planned", {})),
            "Cost": "" if entry.cost is None else dollars(entry.cost),
            "Settings": _listed(content["settings"]),
            "Libraries": _listed(content["libraries"]),
            "Signature": content["signature"],
        }
        judges = _judges(folder, content)
    recorded = {title: fact for title, fact in facts.items() if fact}
    return RunFacts(recorded, judges, entry.kind in FOLLOWED, text)


def _data(described: Mapping[str, Any]) -> str:
    """The data of a run: where they are, and which they were."""
    more = "".join(f" + {run}" for run in described.get("more", ()))
    identity = f" ({described['identity']})" if described.get("identity") else ""
    return f"{described.get('path', 'only in memory')}{identity}{more}"


def _planned(planned: Mapping[str, Any]) -> str:
    """The calls that were planned, and their tokens."""
    plans = [plan for plan in planned.values() if isinstance(plan, Mapping)]
    calls, read, written = (
        sum(plan.get(key, 0) for plan in plans) for key in ("calls", "input", "output")
    )
    tokens = f", about {count(read)} tokens in and {count(written)} out" if read or written else ""
    return f"{plural(calls, 'call')}{tokens}" if calls else ""


def _listed(settings: Mapping[str, Any]) -> str:
    """The settings that say something; tables have their own place."""
    parts = []
    for key, value in settings.items():
        if isinstance(value, list):
            value = ", ".join(map(str, value))
        if not isinstance(value, Mapping) and value not in ("", False):
            parts.append(f"{key} {value}" if value is not True else key)
    return "; ".join(parts)


def _judges(folder: Path, content: Mapping[str, Any]) -> list[tuple[str, str, Sequence[str]]]:
    """The judges, metrics and baselines of a run."""
    if not (folder / "raters.jsonl").is_file():
        return []
    criteria = read_criteria(content["criteria"], folder / RUN_TOML)
    titles = {key: criterion.title for key, criterion in criteria.items()}
    judges: list[tuple[str, str, Sequence[str]]] = []
    for rater in read_raters(folder):
        if rater.kind != "human":
            parts = identity_parts(rater.about, lambda key: titles.get(key, key))
            judges.append((rater.rater, KINDS[rater.kind], parts))
    return judges


def about_page(request: Request) -> Response:
    """Show what is recorded of a run."""
    key = request.path_params["key"]
    facts = about_run(request.app.state.library, key)
    return respond(request, "about.html", {"key": key, "about": facts, "titles": TITLES.values()})


ROUTES = [Route("/about/{key:path}", about_page, name="about")]
