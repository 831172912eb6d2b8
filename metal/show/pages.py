"""The page of a run, its charts and tables, and its terminal output, for every kind of run."""

from __future__ import annotations

import base64
import json
import re
import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice
from pathlib import PurePath
from typing import Any

from jinja2 import Environment, pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from metal.data.escaping import csv_text, environment, policy, source
from metal.data.progress import Progress, divided, followed, no_progress
from metal.data.text import END_ISOLATE, ISOLATE, count, name, printable, printable_sentence
from metal.runs.kinds import kind_of, load
from metal.runs.run import Run
from metal.show import svg
from metal.show.commands import in_commands, of_run
from metal.show.parts import closing, to_go_on
from metal.show.view import Chart, Paragraph, Remark, Screen, Section, TableView

MOST_ROWS = 8  # of a table on a first screen
PAGE_ROWS = 300  # of any other table on a page
FOLDED_CELLS = 4_000  # of tables that are closed at first, in each section: about 300 KB
_PLAIN = f"[^\\s`{ISOLATE}{END_ISOLATE}]"
_HYPHENATED = re.compile(
    rf"(?<!\S)(?=\S*\w[-/]\w)(?:{ISOLATE}{_PLAIN}+{END_ISOLATE}|{_PLAIN})+(?!\S)"
)
MOST_DEFLATED = 100  # no table of figures is deflated to less than a hundredth
LEVEL = 6  # of deflate: 7 takes half again the time for 3% less


@dataclass(frozen=True)
class Payload:
    """The data that a page carries for its script.

    blob: deflated JSON in base64. csv: the tables whose CSV files are in it. left_out: how many
    disagreements it leaves out. undetailed: how many verdicts it has without their details.
    """

    blob: str
    csv: frozenset[str]
    left_out: int = 0
    undetailed: int = 0


def blob(payload: Mapping[str, Any]) -> str:
    """The payload as text that the page's script unpacks."""
    squeezed = zlib.compressobj(LEVEL, zlib.DEFLATED, -15)
    data = squeezed.compress(
        json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    )
    return base64.b64encode(data + squeezed.flush()).decode("ascii")


def fitting(csv: Mapping[str, str], room: float) -> dict[str, str]:
    """The CSV files that fit into `room` characters of a blob; the largest are left out first."""
    largest_first = sorted(csv, key=lambda key: len(csv[key]), reverse=True)

    def without(number: int) -> dict[str, str]:
        left_out = {*largest_first[:number]}
        return {key: text for key, text in csv.items() if key not in left_out}

    def fits(number: int) -> bool:
        kept = without(number)
        size = sum(map(len, kept.values()))
        return size <= room or (size < MOST_DEFLATED * room and len(blob({"csv": kept})) <= room)

    return without(bisect_left(range(len(csv)), True, key=fits))


def pack_csv(run: Run, csv: Mapping[str, str], room: int) -> Payload:
    """As many CSV files as fit into `room` characters, and nothing else."""
    kept = fitting(csv, room)
    return Payload(blob({"csv": kept}), frozenset(kept))


def cut_to_cells(shown: Sequence[TableView], cells: int) -> list[TableView]:
    """The tables, shortened to about `cells` cells in all: the largest lose rows first, with a note
    that the CSV has them.
    """
    most, left = 0.0, cells
    for after, size in enumerate(sorted(len(table.rows) * len(table.columns) for table in shown)):
        most = left / (len(shown) - after)
        if size > most:
            break
        left -= size
    return [table.first(max(int(most) // len(table.columns), 1)) for table in shown]


@dataclass(frozen=True)
class Room:
    """Size limits of a page.

    charts: the number of characters of all charts. cells: the number of cells of all tables; None
    for no limit. Folded tables have a limit of their own: FOLDED_CELLS per section.
    """

    charts: int = 530_000
    cells: int | None = None


def _tables(sections: Iterable[Section]) -> list[TableView]:
    """The tables of all sections and their parts, in order."""
    parts = [part for section in sections for part in section.every]
    return [table for part in parts for table in part.tables]


def fitted(sections: Sequence[Section], room: Room) -> list[Section]:
    """The sections with as much as the page has room for; each section says what it leaves out."""
    shown = [table.first(PAGE_ROWS) for table in _tables(sections)]
    cut = iter(shown if room.cells is None else cut_to_cells(shown, room.cells))
    left = room.charts

    def fit(section: Section) -> Section:
        nonlocal left
        tables, charts = tuple(islice(cut, len(section.tables))), []
        for chart in section.charts:
            size = len(chart.svg) + 60 * len(chart.numbers.rows) * len(chart.numbers.columns)
            charts += [chart] if size <= left else []
            left -= size
        parts = tuple(map(fit, section.parts))
        within = _within_room(parts)
        dropped = len(section.charts) - len(charts)
        return replace(
            section,
            charts=tuple(charts),
            tables=tables,
            parts=within,
            left=_left_out(dropped, parts[len(within) :]),
        )

    return list(map(fit, sections))


def _within_room(parts: tuple[Section, ...]) -> tuple[Section, ...]:
    """The first of the folded parts, with at most FOLDED_CELLS cells in all."""
    cells, kept = 0, []
    for part in parts:
        if part.folded:
            cells += sum(len(table.rows) * len(table.columns) for table in part.tables)
        if part.folded and (cells > FOLDED_CELLS or not (part.tables or part.charts)):
            break
        kept.append(part)
    return tuple(kept)


def _left_out(charts: int, parts: Sequence[Section]) -> str:
    """Say what is left out, and where to find it."""
    sources = dict.fromkeys(table.source for part in parts for table in part.tables)
    places = [f"`tables/{source}.csv` has all" for source in sources if source]
    number = charts + len(parts)
    if not number:
        return ""
    homes = "; ".join(places) or "`metal report RUN --figures DIR` draws all"
    return f"{count(number)} more are left out to keep this page small; {homes}."


PAGE_BYTES = 1_450_000
# where the template has it; text on a page is escaped and cannot contain it
PAYLOAD = "<!--payload-->"


def document(
    template: str, content: Mapping[str, Any], *, styles: Sequence[str], scripts: Sequence[str]
) -> Callable[[Payload], str]:
    """A page that lacks only the data that its script unpacks. It loads nothing, and runs only its
    own script.
    """
    own_templates = templates()
    style = stylesheet(styles)
    script = "".join(source(own_templates, file) for file in scripts)
    rules = policy(style, script, "img-src data:")
    own = {
        "style": Markup(style),  # noqa: S704
        "script": Markup(script),  # noqa: S704
        "policy": rules,
        "inline": _inline,
    }
    written = own_templates.get_template(template)
    around = cache(lambda empty: written.render({**content, **own, "packed": empty}).split(PAYLOAD))
    return lambda packed: packed.blob.join(around(replace(packed, blob="")))


def stylesheet(files: Sequence[str]) -> str:
    """The colours and these style sheets as one."""
    light, dark = map(_colours, (0, 1))
    # paper is always light
    colours = f"{light}@media screen and (prefers-color-scheme:dark){{{dark}}}{svg.STYLE}"
    return colours + "".join(source(templates(), file) for file in files)


@cache
def templates() -> Environment:
    """The template environment of all pages, which caches compiled templates."""
    page_environment = environment("metal.show", harmless)
    page_environment.filters |= {"count": count, "name": name, "code": _code, "unbroken": _unbroken}
    return page_environment


@pass_context
def _code(context: Context, message: str) -> Markup:
    """A message as HTML: parameters become flags, text between backticks becomes code, and names
    are kept `_unbroken`.
    """
    typed = in_commands(message, of_run(context["run"]))
    return Markup(re.sub("`([^`]*)`", r"<code>\1</code>", str(_unbroken(typed))))  # noqa: S704


def _unbroken(sentence: str) -> Markup:
    """Text as HTML in which names such as gpt-4-32k/detailed are not broken at a hyphen."""
    escaped = str(escape(printable_sentence(sentence)))
    return Markup(_HYPHENATED.sub(r'<span class="word">\g<0></span>', escaped))  # noqa: S704


def harmless(value: Any) -> Any:
    """A value for a template, without characters that must not occur on a page."""
    if isinstance(value, PurePath):
        return printable(value)
    # What was markup before is markup again.
    return type(value)(printable_sentence(value)) if isinstance(value, str) else value


def _inline(chart: Chart) -> Markup:
    return Markup(chart.svg)  # noqa: S704  metal.show.svg escapes what it is given


def _colours(theme: int) -> str:
    """The colours as CSS variables."""
    return (
        ":root{" + "".join(f"--{key}:{values[theme]};" for key, values in svg.COLOURS.items()) + "}"
    )


@dataclass(frozen=True)
class Page:
    """How the page and the terminal output of one kind of run are made; most fields are functions
    of the run.

    Attributes:
        brand: What kind of page it is.
        headline: The answer in a sentence.
        scope: The line below the headline: what the answer is based on.
        cards: Short remarks: what to know, what to be careful about, and what to do next.
        facts, definitions, sources: The texts at the end of the page, by title, and the sources of
        the definitions.
        answer: The table or chart that answers; None if there is none.
        sections: All sections after the answer.
        screen: What a terminal shows with -v, if that is not the tables of the sections.
        brief: What a terminal shows first; the first table if None.
        lead: A sentence below the headline.
        opening: The headline in two parts: the large text on the page, and the text below it, which
            is shown only without a lead.
        content: Further content for a template that only this kind has.
        pack: The data that the page carries for its script.
        room: The size limits of the page.
    """

    brand: str
    headline: Callable[[Any], str]
    scope: Callable[[Any], str]
    cards: Callable[[Any], Iterable[Remark]]
    facts: Callable[[Any], Mapping[str, str]]
    definitions: Callable[[Any], Mapping[str, str]]
    sources: Callable[[Any], Mapping[str, str]]
    answer: Callable[[Any], TableView | Chart | None] = lambda run: None
    sections: Callable[[Any], Sequence[Section]] = lambda run: ()
    content: Callable[[Any], Mapping[str, Any]] = lambda run: {}
    screen: Callable[[Any, Sequence[str]], Screen] | None = None
    brief: Callable[[Any], Iterable[TableView]] | None = None
    lead: Callable[[Any], str] = lambda run: ""
    opening: Callable[[Any], tuple[str, str]] | None = None
    pack: Callable[[Any, Mapping[str, str], int], Payload] = pack_csv
    room: Callable[[Any], Room] = lambda run: Room()
    template: str = "sections.html"
    styles: tuple[str, ...] = ("report.css", "board.css")
    scripts: tuple[str, ...] = ("common.js", "board.js")


def facts_of(run: Run) -> dict[str, str]:
    """The texts at the end of the page, by title; a kind may leave a text empty."""
    return {title: says for title, says in page_of(run).facts(run).items() if says}


def page_of(run: Run) -> Page:
    """The Page that the kind of this run declares."""
    recipe: Page = load(kind_of(run.command).page)
    return recipe


@dataclass(frozen=True)
class Links:
    """The addresses that an app has on the page of a run.

    pages: by their titles. output: the page of one output. on: the page with the next steps for a
    cell. Both are empty if the app has no such page. A query at the end of these addresses names
    the output or cell. ways: commands that `on` makes and runs, each with its `way` in the query.
    """

    pages: Mapping[str, str]
    output: str = ""
    on: str = ""
    ways: Mapping[str, str] = field(default_factory=dict)

    def way(self, remark: Remark) -> str:
        """The way that does what a remark's command does; empty if there is none."""
        last = remark.command.rpartition(" && ")[2]
        ways = (way for command, way in self.ways.items() if last.startswith(f"metal {command} "))
        return next(ways, "")


def headline(run: Run) -> str:
    """The answer in a sentence."""
    return page_of(run).headline(run)


def page(run: Run, progress: Progress = no_progress, *, links: Links | None = None) -> str:
    """The whole page as HTML. Two runs with equal tables give equal pages.

    links: for a page that an app shows, the way to its other pages.
    """
    drawing, guarding, packing, _ = divided(progress, 5, 2, 5, 4)
    drawing(0, 5)
    face = page_of(run)
    own = run.data.get("name") or run.name
    large, below = face.opening(run) if face.opening else (face.headline(run), "")
    common = {
        "headline": large,
        "lead": face.lead(run) or below,
        "scope": face.scope(run),
        "cards": list(face.cards(run)),
        "answer": face.answer(run),
        "sections": fitted(face.sections(run), face.room(run)),
        "most_rows": MOST_ROWS,
        "run": run,
        "links": links,
        # "ratings": of a table without name
        "title": run.data.get("title") or (own if own != "ratings" else run.name),
        "brand": face.brand,
        "facts": facts_of(run),
        "definitions": face.definitions(run),
        "sources": face.sources(run),
        "settings": settings_in_words(run),
    }
    drawing(2, 5)
    content = {**common, **face.content(run)}
    write = document(face.template, content, styles=face.styles, scripts=face.scripts)
    room = PAGE_BYTES - len(write(Payload("", frozenset(run.tables))).encode())
    drawing(5, 5)
    named, sizes = run.tables.items(), [table.size for table in run.tables.values()]
    packed = face.pack(
        run,
        {key: csv_text(table) for key, table in followed(named, guarding, sum(sizes), sizes)},
        room,
    )
    packing(1, 1)
    return write(packed)


def charts(run: Run) -> list[Chart]:
    """Every chart of the page in order, including those that the page leaves out."""
    face = page_of(run)
    answer = face.answer(run)
    first = [answer] if isinstance(answer, Chart) else []
    parts = [part for section in face.sections(run) for part in section.every]
    return first + [chart for part in parts for chart in part.charts]


def tables(run: Run) -> list[TableView]:
    """Every table of the page in order, including those that the page leaves out."""
    face = page_of(run)
    answer = face.answer(run)
    first = [answer] if isinstance(answer, TableView) else []
    rest = _tables(face.sections(run))
    return first + [table for table in rest if table != answer]


def _screen(run: Run, by: Sequence[str]) -> Screen:
    """All that a terminal shows below the headline.

    by: as in `screen`.
    """
    face = page_of(run)
    if face.screen:
        yield from face.screen(run, by)
        return
    yield Paragraph(face.scope(run))
    yield from (Paragraph(f"{title}: {says}") for title, says in facts_of(run).items())
    answer, sections = face.answer(run), face.sections(run)
    if isinstance(answer, TableView):
        yield answer
    every = [part for section in sections for part in section.every]
    for part in every:
        if set(part.by) <= set(by):
            yield from (table.first(PAGE_ROWS) for table in part.tables if table != answer)
            for remark in part.remarks:
                yield from _remark(remark)
    sliced = {slice_ for part in every for slice_ in part.by}
    for slice_ in by:
        if slice_ not in sliced:
            yield Paragraph(f"By {slice_}: there is only one.")
    yield from _cards(face.cards(run))
    yield from closing(run)


def _remark(remark: Remark) -> Screen:
    if remark.words:
        yield Paragraph(f"{remark.title}: {remark.words}", soft=True)
    if remark.command:
        yield Paragraph(remark.command, copied=True)


def _cards(cards: Iterable[Remark]) -> Screen:
    for card in cards:
        yield Paragraph(f"{card.title}: {card.words}")
        if card.command:
            yield Paragraph(f"  {card.command}", copied=True)


def screen(run: Run, by: Sequence[str] = (), *, verbose: bool = False) -> Screen:
    """What a terminal shows, in this order: the answer, what it is based on, warnings, and what to
    do next.

    by: slices to show in addition (language, criterion, generator). verbose: whether to show all
    tables and warnings.
    """
    yield Paragraph(headline(run), strong=True)
    face = page_of(run)
    if verbose or by:
        yield from _screen(run, by)
        return
    every = (part for part in _screen(run, by) if isinstance(part, TableView))
    for table in face.brief(run) if face.brief else islice(every, 1):
        rest = f"-v shows {'more' if table.cut else 'all'}"
        cut = table.strong_first(MOST_ROWS).first(MOST_ROWS, rest=rest)
        yield table if table.turns else replace(cut, brief=True)
    yield Paragraph("")
    yield from to_go_on(run, list(face.cards(run)))


def settings_in_words(run: Run) -> str:
    """The settings as `name value`, without empty or false ones; 0 is shown."""
    shown = (
        (key, value)
        for key, value in run.settings.items()
        if value is not False and value not in ("", [], {})
    )
    return ", ".join(f"{key} {_plain(value)}" for key, value in shown)


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{key}={part}" for key, part in value.items())
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
