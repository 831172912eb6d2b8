"""What judges replied, as readable text: a table of replies, and one call in full."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from metal.data.text import UNDEFINED, dollars, figure, plural, printable
from metal.show.markdown import one_line
from metal.show.view import TableView

if TYPE_CHECKING:
    from metal.running.replying import AskedCall, ReplyRecord

MOST_REASON = 40  # letters of a reason in a table


def table(rows: pd.DataFrame, total: int, more: str) -> TableView:
    """A table with a row per reply; a language or criterion that all replies share is in the title.

    more: words on how to see the rest.
    """
    names, shared = ["output"], []
    for column in ("language", "criterion", "judge"):
        values = list(dict.fromkeys(rows[column]))
        if len(values) == 1 and column != "judge":
            shared += values
        else:
            names.append(column)
    lines = []
    for row in rows.to_dict("records"):
        score = "" if pd.isna(row["score"]) else f"{row['score']:g}"
        people = f"{figure(row['people'])} ({row['raters']})" if row["raters"] else UNDEFINED
        cells = [str(row[name]) for name in names]
        lines.append([*cells, score or str(row["reason"])[:MOST_REASON], people])
    title = ", ".join(filter(None, ["Replies", *map(str, shared)]))
    notes = ["People: the mean of their scores, and how many they are."] if lines else []
    if len(rows) < total:
        notes.insert(0, f"The first {len(rows):,} of {plural(total, 'reply', 'replies')}; {more}.")
    heads = (*(name.capitalize() for name in names), "Score", "People")
    return TableView.of(None, "replies", title, heads, lines, notes=notes)


def heading(call: AskedCall) -> str:
    """The judge and how its reply was read: `openai:gpt-4o/detailed on task_quality: 2`."""
    scores = [_score(rating) for rating in call.ratings if rating["kind"] == "llm"]
    times = f" (time {call.sample})" if call.sample > 1 else ""
    return (
        f"{call.judge}{times} on {', '.join(call.criteria)}: {', '.join(scores) or 'not read yet'}"
    )


class ReplyBlock(NamedTuple):
    """A text that was sent or came back, unchanged. read_from: the spans that decided a verdict."""

    title: str
    text: str
    read_from: tuple[tuple[int, int], ...] = ()


def blocks(call: AskedCall) -> Iterator[ReplyBlock]:
    """Each text that was sent or came back."""
    if call.about_messages:
        yield ReplyBlock("messages", call.about_messages)
    for title, text in (("system", call.system), ("user", call.user)):
        if text:
            yield ReplyBlock(title, text)
    for answer in call.answers:
        raw = "" if answer.reply is None else json.dumps(answer.reply, ensure_ascii=False)
        text = answer.text or answer.message or raw
        yield ReplyBlock(about_answer(answer), text, answer.read_from)
    people = [rating for rating in call.ratings if rating["kind"] == "human"]
    if people:
        lines = [_by_person(rating, len(call.criteria) > 1) for rating in people]
        yield ReplyBlock("people", "\n".join(lines))


def quoted(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """The passages of a text in quotation marks, each on one line."""
    passages = [" ".join(text[begin:end].split()) for begin, end in spans]
    return ", ".join(f'"{passage}"' for passage in passages)


def marked_html(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """The text as HTML with its passages in <mark>."""
    parts, done = [], 0
    for begin, end in spans:
        parts.append(f"{escape(text[done:begin])}<mark>{escape(text[begin:end])}</mark>")
        done = end
    return "".join(parts) + escape(text[done:])


def markdown(calls: Sequence[AskedCall]) -> str:
    """Calls as GitHub Markdown, each text in a fence longer than any fence in the text."""
    parts = []
    for call in calls:
        parts.append(f"### {one_line(heading(call))}")
        for title, text, read_from in blocks(call):
            plain = printable(text)
            fence = "`" * (2 + max([1, *map(len, re.findall("`+", plain))]))
            parts.append(f"{one_line(title)}\n\n{fence}text\n{plain}\n{fence}")
            if read_from:
                parts.append(f"Read from: {one_line(quoted(text, read_from))}")
    return "\n\n".join(parts) + "\n" if parts else ""


def about_answer(answer: ReplyRecord) -> str:
    """The facts about an answer: its time, duration, tokens, cost and model."""
    title = f"no reply: {answer.failure}" if answer.failure else "reply"
    if answer.ask > 1:
        ordinal = {2: "second", 3: "third"}.get(answer.ask, f"{answer.ask}th")
        title += f", asked for the {ordinal} time"
    parts = [title, answer.at[:19].replace("T", " ")]
    if answer.seconds is not None:
        parts.append(f"{answer.seconds:.2f} s")
    if answer.tokens_in is not None and answer.tokens_out is not None:
        parts.append(f"{answer.tokens_in:,} tokens in, {answer.tokens_out:,} out")
    if answer.dollars is not None:
        parts.append(dollars(answer.dollars))
    if answer.version:
        parts.append(f"by {answer.version}")
    if answer.ending not in ("", "complete"):
        parts.append(answer.ending)
    if answer.reused:
        parts.append("taken from another run")
    return "; ".join(filter(None, parts))


def _score(rating: Mapping[str, Any]) -> str:
    return f"no score ({rating['reason']})" if rating["score"] is None else f"{rating['score']:g}"


def _by_person(rating: Mapping[str, Any], several: bool) -> str:
    criterion = f" on {rating['criterion']}" if several else ""
    comment = " ".join(str(rating["comment"]).split())
    return f"{rating['rater']}{criterion}: {_score(rating)}{f' - {comment}' if comment else ''}"
