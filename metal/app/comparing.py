"""Two runs beside each other: what `metal diff` says, and the outputs whose answer has changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from math import isnan
from typing import TYPE_CHECKING
from urllib.parse import unquote

from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from metal.app.answer_list import NONE_GIVEN, clipped
from metal.app.library import Library, NoSuchPage, changed
from metal.app.opening import answers_of
from metal.app.outputs import Shown, level_of, of_run, plain_rows
from metal.app.processes import called
from metal.app.run_page import OWN_POLICY
from metal.app.templating import respond
from metal.app.verdicts_compared import are_audits, compare_verdicts
from metal.data.languages import language_name
from metal.data.text import first_few, name, percent, printable
from metal.show import pages
from metal.show.pages import Links

if TYPE_CHECKING:
    import pandas as pd

    from metal.app.outputs import Rated
    from metal.questions.drift.run import Diff

COMPARED = ("judge", "audit")  # the kinds of runs that can be compared
PAGE = 50  # rows
CHOICES = ("language", "criterion", "judge")
MOST_WORDS = 1_000  # of a reason whose words are compared
TOKENS = re.compile(r"\s+|[^\s。、，！？；：]+[。、，！？；：]*|[。、，！？；：]+")


def compare(request: Request) -> Response:
    """Show what `metal diff` says of two runs, the later one against the earlier one, and the
    outputs whose answer has changed. Ask for two runs if there are more or fewer.
    """
    from metal.questions.drift.verb_diff import RatingsGone

    library: Library = request.app.state.library
    keys = _keys(request)
    if len(keys) != 2:
        runs = [entry for entry in library.folders().items() if entry[1].kind in COMPARED]
        return respond(request, "compare.html", {"runs": runs, "ticked": keys})
    run, baseline = _in_order(library, keys)
    try:
        diff = diff_of(library, run, baseline)
    except RatingsGone:
        if not are_audits(library, keys):
            raise
        return compare_verdicts(request, run, baseline)
    asked = {each: request.query_params.get(each, "") for each in CHOICES}
    every = diff.changed_answers
    chosen = every
    for column, value in asked.items():
        chosen = chosen[chosen[column] == value] if value else chosen
    number = request.query_params.get("page", "1")
    page = max(int(number), 1) if number.isdecimal() and len(number) < 9 else 1
    rows = chosen.iloc[PAGE * (page - 1) : PAGE * page]
    content = {
        "run": run,
        "baseline": baseline,
        "judges": first_few(diff.tables["drift"]["judge"].unique().tolist()),
        "headline": pages.headline(diff),
        "answer": pages.page_of(diff).answer(diff),
        "asked": {key: value for key, value in asked.items() if value},
        "choices": _choices(diff),
        "titles": {each.name: each.title for each in diff.criteria.values()},
        "rows": list(_listed(library, diff, run, baseline, rows)),
        "total": len(chosen),
        "page": page,
        "pages": -(-len(chosen) // PAGE),
    }
    return respond(request, "compared.html", content)


def figures(request: Request) -> Response:
    """Show the whole page of `metal diff`."""
    library: Library = request.app.state.library
    keys = _keys(request)
    if len(keys) != 2:
        raise NoSuchPage("Name two runs to see all figures of their comparison")
    run, baseline = _in_order(library, keys)
    base = request.scope["root_path"]
    links = Links(
        {
            "All datasets and runs": f"{base}/",
            "Changed answers": f"{base}/compare?{request.url.query}",
        }
    )
    folders = library.path(run), library.path(baseline)
    diff = diff_of(library, run, baseline)
    html = library.page_of_two(*folders, lambda: pages.page(diff, links=links))
    return HTMLResponse(html, headers=OWN_POLICY)


def _keys(request: Request) -> list[str]:
    """The runs in an address, quoted because browsers change line breaks in what they send."""
    return list(dict.fromkeys(map(unquote, request.query_params.getlist("run"))))


def _in_order(library: Library, keys: Sequence[str]) -> list[str]:
    """The keys of two runs, the later one first."""
    return sorted(keys, key=lambda key: library.folder(key).changed, reverse=True)


def diff_of(library: Library, run: str, baseline: str) -> Diff:
    """`metal diff` of two runs, kept until one of them changes."""
    from metal.questions.drift.verb_diff import diff

    path, earlier = library.path(run), library.path(baseline)
    what = f"diff {earlier} {changed(earlier)}"

    def compared() -> Diff:
        large = library.is_large(path) or library.is_large(earlier)
        return called(diff, path, earlier, aside=large)

    return library.opened(path, what, compared, lambda each: len(each.changed_answers))


def _choices(diff: Diff) -> dict[str, list[tuple[str, str]]]:
    """The values of each filter with how they are shown."""
    called: dict[str, Callable[[str], str]] = {
        "language": language_name,
        "criterion": diff.criterion,
        "judge": str,
    }
    choices = {}
    for field, spelled in called.items():
        values = map(str, diff.changed_answers[field].unique())
        choices[field] = sorted((value, name(spelled(value))) for value in values)
    return choices


@dataclass(frozen=True)
class ChangedAnswer:
    """A row of the list. key: the run that has the output's page; empty if neither has."""

    key: str
    output: str
    text: str
    language: str
    criterion: str
    judge: str
    before: str
    now: str
    people: str
    size: str


def _listed(
    library: Library, diff: Diff, run: str, baseline: str, rows: pd.DataFrame
) -> Iterator[ChangedAnswer]:
    """The changed answers with how the texts begin, and what people say."""
    facts: dict[tuple[str, str], tuple[str, str, float]] = {}
    for key in (baseline, run):
        answers = answers_of(library, library.path(key))
        items = answers.items[answers.items["output"].isin(rows["output"])]
        texts = answers.texts_of(items)
        for item, begins in zip(plain_rows(items), texts, strict=True):
            at = (item["output"], item["criterion"])
            facts[at] = key, clipped(begins["output_text"]), item["people"]
    for row in plain_rows(rows):
        criterion = diff.criteria.get(row["criterion"])
        key, text, people = facts.get((row["output"], row["criterion"]), ("", "", float("nan")))
        before, now, of_people = (
            NONE_GIVEN if isnan(score) else level_of(criterion, score)
            for score in (row["score_before"], row["score"], people)
        )
        size = NONE_GIVEN if isnan(row["size"]) else percent(row["size"])
        yield ChangedAnswer(
            key,
            row["output"],
            text,
            row["language"],
            row["criterion"],
            row["judge"],
            before,
            now,
            of_people,
            size,
        )


# ---------------------------------------------------------------- an output in both runs


@dataclass(frozen=True)
class ChangedReason:
    """A judge's answer to an output in two runs. reason_before, reason: with the words marked that
    only one of the two has.
    """

    criterion: str
    judge: str
    before: str
    now: str
    reason_before: Markup
    reason: Markup


def reasons_of(library: Library, diff: Diff, shown: Shown, baseline: str) -> list[ChangedReason]:
    """What judges said of an output in both runs, where the answer has changed.

    shown: the output in the later run.
    """
    rows = diff.changed_answers
    rows = rows[rows["output"] == shown.output]
    if rows.empty:
        return []
    folder = library.path(baseline)
    items = answers_of(library, folder).items
    numbers = items.index[items["output"] == shown.output].tolist()
    if not numbers:
        return []
    earlier = of_run(library, folder, shown.output, numbers)
    now, before = _by_rater(shown), _by_rater(earlier)
    changes = []
    for row in plain_rows(rows):
        old = before.get((row["criterion"], row["before_judge"]))
        new = now.get((row["criterion"], row["judge"]))
        if old and new:
            title, reasons = (
                diff.criterion(row["criterion"]),
                marked_words(old.comment, new.comment),
            )
            changes.append(ChangedReason(title, new.rater, old.says, new.says, *reasons))
    return changes


def _by_rater(shown: Shown) -> dict[tuple[str, str], Rated]:
    return {
        (part.criterion, rating.rater): rating for part in shown.parts for rating in part.ratings
    }


def marked_words(before: str, now: str) -> tuple[Markup, Markup]:
    """Two texts as HTML, with the words marked that only one of them has.

    >>> marked_words("It is <good>.", "It is bad.")
    (Markup('It is <del>&lt;good&gt;.</del>'), Markup('It is <ins>bad.</ins>'))
    """
    old, new = (TOKENS.findall(printable(text)) for text in (before, now))
    if not old or not new or max(len(old), len(new)) > MOST_WORDS:
        return escape(printable(before)), escape(printable(now))
    left, right = [], []
    for kind, start, end, first, last in SequenceMatcher(
        None, old, new, autojunk=False
    ).get_opcodes():
        left.append(_marked("del", old[start:end], kind))
        right.append(_marked("ins", new[first:last], kind))
    return Markup().join(left), Markup().join(right)


def _marked(tag: str, tokens: Sequence[str], kind: str) -> Markup:
    text = escape("".join(tokens))
    if kind == "equal" or not text:
        return text
    return Markup(f"<{tag}>{text}</{tag}>")  # noqa: S704  escaped above


ROUTES = [
    Route("/compare", compare, name="compare"),
    Route("/comparison", figures, name="comparison"),
]
