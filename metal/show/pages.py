"""The page of a run, its charts and tables, and what a terminal shows of it, for every kind of run."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from itertools import accumulate, islice
from typing import Any

from jinja2 import Environment, pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from metal.data.escaping import csv_text, environment, policy, source
from metal.data.progress import Progress, divided, followed, no_progress
from metal.data.text import END_ISOLATE, ISOLATE, count, name, printable_sentence
from metal.runs.run import Run
from metal.show import svg
from metal.show.commands import in_commands, of_run
from metal.show.parts import closing, to_go_on
from metal.show.view import Chart, Paragraph, Screen, Section, TableView

MOST_ROWS = 8  # of a table on a first screen
_PLAIN = f"[^\\s`{ISOLATE}{END_ISOLATE}]"
_HYPHENATED = re.compile(rf"(?<!\S)(?=\S*\w[-/]\w)(?:{ISOLATE}{_PLAIN}+{END_ISOLATE}|{_PLAIN})+(?!\S)")
MOST_DEFLATED = 100  # no table of figures is deflated to less than a hundredth
LEVEL = 6  # of deflate: 7 takes half again the time for 3% less


@dataclass(frozen=True)
class Payload:
    """What a page carries for its script.

    blob: deflated JSON in base64. csv: the tables whose CSV files are in it; left_out: how many disagreements are not;
    undetailed: how many verdicts are there without their details.
    """

    blob: str
    csv: frozenset[str]
    left_out: int = 0
    undetailed: int = 0


def blob(payload: Mapping[str, Any]) -> str:
    """The payload as text that the page's script unpacks."""
    squeezed = zlib.compressobj(LEVEL, zlib.DEFLATED, -15)
    data = squeezed.compress(json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode("utf-8"))
    return base64.b64encode(data + squeezed.flush()).decode("ascii")


def fitting(csv: Mapping[str, str], room: float) -> dict[str, str]:
    """The CSV files that fit into `room` characters of a blob; the largest are left out first."""
    kept = dict(csv)
    while kept and (size := len("".join(kept.values()))) > room:
        if size < MOST_DEFLATED * room and len(blob({"csv": kept})) <= room:
            break
        del kept[max(kept, key=lambda key: len(kept[key]))]
    return kept


def pack_csv(run: Run, csv: Mapping[str, str], room: int) -> Payload:
    """As many CSV files as fit into `room` characters, and nothing else."""
    kept = fitting(csv, room)
    return Payload(blob({"csv": kept}), frozenset(kept))


def within_cells(titled: Sequence[tuple[str, TableView]], cells: int) -> tuple[Sequence[tuple[str, TableView]], int]:
    """As many of the first tables as have at most `cells` cells in all, and how many tables that leaves out."""
    totals = accumulate(len(table.rows) * len(table.columns) for _, table in titled)
    number = sum(total <= cells for total in totals)
    return titled[:number], len(titled) - number


def cut_to_cells(shown: Sequence[TableView], cells: int) -> list[TableView]:
    """The tables with about `cells` cells in all: the largest lose rows first, and say that their CSV has them."""
    most, left = 0.0, cells
    for after, size in enumerate(sorted(len(table.rows) * len(table.columns) for table in shown)):
        most = left / (len(shown) - after)
        if size > most:
            break
        left -= size
    return [table.first(max(int(most) // len(table.columns), 1)) for table in shown]


PAGE_BYTES = 1_450_000
PAYLOAD = "<!--payload-->"  # where the template has it; text on a page is escaped and cannot contain it


def document(
    template: str, content: Mapping[str, Any], *, styles: Sequence[str], scripts: Sequence[str]
) -> Callable[[Payload], str]:
    """A page that lacks only what its script unpacks. It loads nothing and runs its own script only."""
    own_templates = templates()
    light, dark = (_colours(place) for place in (0, 1))
    style = f"{light}@media screen and (prefers-color-scheme:dark){{{dark}}}{svg.STYLE}"  # paper is always light
    style += "".join(source(own_templates, file) for file in styles)
    script = "".join(source(own_templates, file) for file in scripts)
    rules = policy(style, script, "img-src data:")
    own = {"style": Markup(style), "script": Markup(script), "policy": rules, "inline": _inline}  # noqa: S704
    written = own_templates.get_template(template)
    around = cache(lambda empty: written.render({**content, **own, "packed": empty}).split(PAYLOAD))
    return lambda packed: packed.blob.join(around(replace(packed, blob="")))


@cache
def templates() -> Environment:
    """The environment of all pages, which keeps the templates it has compiled."""
    page_environment = environment("metal.show", _harmless)
    page_environment.filters |= {"count": count, "name": name, "code": _code, "unbroken": _unbroken}
    return page_environment


@pass_context
def _code(context: Context, words: str) -> Markup:
    """Words as HTML, parameters as their flags: what stands between backticks as code, and `_unbroken`."""
    typed = in_commands(words, of_run(context["run"]))
    return Markup(re.sub("`([^`]*)`", r"<code>\1</code>", str(_unbroken(typed))))  # noqa: S704


def _unbroken(words: str) -> Markup:
    """Words as HTML, names such as gpt-4-32k/detailed not broken at a hyphen."""
    escaped = str(escape(printable_sentence(words)))
    return Markup(_HYPHENATED.sub(r'<span class="word">\g<0></span>', escaped))  # noqa: S704


def _harmless(value: Any) -> Any:
    """A value of a template, without characters that a page must not hold."""
    # What was markup before is markup again.
    return type(value)(printable_sentence(value)) if isinstance(value, str) else value


def _inline(chart: Chart) -> Markup:
    return Markup(chart.svg)  # noqa: S704  metal.show.svg escapes what it is given


def _colours(place: int) -> str:
    """The colours as variables."""
    return ":root{" + "".join(f"--{key}:{values[place]};" for key, values in svg.COLOURS.items()) + "}"


@dataclass(frozen=True)
class Kind:
    """How the page of one kind of run is made.

    package: its module `answer` has the first screen (`headline`, `scope`, `cards`, perhaps `lead`), `words` `facts`,
    `definitions` and their SOURCES; `page` has `answer`, the table that answers, and `sections`, all that follows; a
    page with a template of its own has `charts` and `tables` (all of them in the page's order, also for files of their
    own), `content` (what the template shows besides) and `screen` (all that a terminal shows) in their place. Perhaps
    `brief` (what a terminal shows first, where that is not the first of these tables), and where CSV files are not all
    that the page carries for its script, `pack` as `pack_csv`. brand: what kind of page it is.
    """

    package: str
    brand: str
    template: str = "sections.html"
    styles: tuple[str, ...] = ("report.css", "board.css")
    scripts: tuple[str, ...] = ("common.js", "board.js")


# By the command of a run.
KINDS = {
    "audit": Kind(
        "metal.show.audit",
        "audit of judges per language",
        "report.html",
        ("report.css",),
        ("common.js", "disagreements.js", "answer.js"),
    ),
    "billboard": Kind("metal.show.board", "board of raters and generators", "board.html"),
    "bias language": Kind("metal.show.bias", "judges between languages"),
    "correct": Kind("metal.show.correct", "corrected scores"),
    "design": Kind("metal.show.design", "design study", "design.html"),
    "diff": Kind("metal.show.drift", "judges before and after"),
    "gate": Kind("metal.show.drift", "gate for judges"),
    "generate": Kind("metal.show.generate", "generated texts"),
    "design labels": Kind("metal.show.labels", "plan of labels"),
    "jury": Kind("metal.show.jury", "several judges as one"),
    "leaderboard": Kind("metal.show.leaderboard", "leaderboard by people", "leaderboard.html"),
    "probe report": Kind("metal.show.probe", "what judges are blind to"),
    "monitor": Kind("metal.show.monitor", "people as raters"),
    "passport": Kind("metal.show.passport", "passport of judges"),
    "select": Kind("metal.show.select", "what judges may answer alone"),
}


def _module(run: Run, name: str = "page") -> Any:
    return import_module(f"{KINDS[run.command].package}.{name}")


def headline(run: Run) -> str:
    """The answer in a sentence."""
    return str(_module(run, "answer").headline(run))


def page(run: Run, progress: Progress = no_progress) -> str:
    """The whole page as HTML. Two runs with equal tables give equal pages."""
    drawing, guarding, packing, _ = divided(progress, 5, 2, 5, 4)
    drawing(0, 5)
    kind, module, words, answer = KINDS[run.command], _module(run), _module(run, "words"), _module(run, "answer")
    own = run.data.get("name") or run.name
    common = {
        "headline": headline(run),
        "lead": answer.lead(run) if hasattr(answer, "lead") else "",
        "scope": answer.scope(run),
        "cards": list(answer.cards(run)),
        "answer": None,
        "most_rows": MOST_ROWS,
        "run": run,
        "title": run.data.get("title") or (own if own != "ratings" else run.name),  # "ratings": of a table without name
        "brand": kind.brand,
        "facts": words.facts(run),
        "definitions": words.definitions(run),
        "sources": words.sources(run) if hasattr(words, "sources") else words.SOURCES,
        "settings": settings_in_words(run),
    }
    drawing(2, 5)
    if hasattr(module, "content"):
        content = module.content(run)
    else:
        content = {"answer": module.answer(run), "sections": _sections(run)}
    write = document(kind.template, {**common, **content}, styles=kind.styles, scripts=kind.scripts)
    room = PAGE_BYTES - len(write(Payload("", frozenset(run.tables))).encode())
    pack = getattr(module, "pack", pack_csv)
    drawing(5, 5)
    named, sizes = run.tables.items(), [table.size for table in run.tables.values()]
    packed = pack(run, {key: csv_text(table) for key, table in followed(named, guarding, sum(sizes), sizes)}, room)
    packing(1, 1)
    return write(packed)


def charts(run: Run) -> list[Chart]:
    """Every chart of the page, in its order."""
    module = _module(run)
    if hasattr(module, "charts"):
        return list(module.charts(run))
    return [chart for section in _sections(run) for chart in section.charts]


def tables(run: Run) -> list[TableView]:
    """Every table of the page, in its order, and those that the page leaves out."""
    module = _module(run)
    if hasattr(module, "tables"):
        return list(module.tables(run))
    further = (table for section in _sections(run) for table in (*section.tables, *section.further))
    return [*filter(None, [module.answer(run)]), *further]


def _sections(run: Run) -> list[Section]:
    return list(_module(run).sections(run))


def _screen(run: Run, by: Sequence[str]) -> Screen:
    """All that a terminal shows below the headline."""
    module = _module(run)
    if hasattr(module, "screen"):
        yield from module.screen(run, by)
        return
    yield from tables(run)
    yield from closing(run)


def screen(run: Run, by: Sequence[str] = (), *, verbose: bool = False) -> Screen:
    """What a terminal shows, in its order: the answer, what it rests on, what to beware of, what to do next.

    by: slices that are shown as well (language, criterion, generator). verbose: all tables and warnings.
    """
    yield Paragraph(headline(run), strong=True)
    module = _module(run)
    if verbose or by:
        yield from _screen(run, by)
        return
    every = (part for part in _screen(run, by) if isinstance(part, TableView))
    for table in module.brief(run) if hasattr(module, "brief") else islice(every, 1):
        rest = f"-v shows {'more' if table.cut else 'all'}"
        cut = table.strong_first(MOST_ROWS).first(MOST_ROWS, rest=rest)
        yield table if table.turns else replace(cut, brief=True)
    yield Paragraph("")
    yield from to_go_on(run, list(_module(run, "answer").cards(run)))


def settings_in_words(run: Run) -> str:
    """The settings as `name value`, without those that are empty or false; 0 is shown."""
    shown = ((key, value) for key, value in run.settings.items() if value is not False and value not in ("", [], {}))
    return ", ".join(f"{key} {_plain(value)}" for key, value in shown)


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{key}={part}" for key, part in value.items())
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
