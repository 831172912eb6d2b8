"""What others may see of a run: no paths of this machine, no addresses of servers, no keys and, if
wanted, no texts.
"""

from __future__ import annotations

import base64
import os
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from markupsafe import escape

from metal.app.outputs import NO_SCORE
from metal.show.pages import LEVEL

if TYPE_CHECKING:
    from metal.app.outputs import OutputPart, Shown
    from metal.runs.run import Run

HIDDEN = "hidden"  # what stands for a reason that was given
PACKED = re.compile(r'(<script type="text/plain" id="texts">)([\w+/=]+)(</script>)', re.ASCII)
TEXTS = ("title", "source_text", "output_text")
COMMENT, REASON = "comment", "reason"
SERVER, KEY = "SERVER", "KEY"  # what stands for an address of a server, and for a key
SECRET = re.compile(r"(_|^)(KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
SHORTEST = 8  # characters of a key; what is shorter may be a word
# an absolute path inside a sentence that METAL wrote
PATHS = re.compile(r"(?<![\w.~/:\\-])(?:/|[A-Za-z]:\\)(?:[\w.@+-]+[/\\])+[\w@+-]+(?:\.\w+)*")
NOT_BEFORE, NOT_AFTER = r"(?<![\w.~/\\-])", r"(?![\w-]|\.\w)"
MESSAGES_HIDDEN = "Texts, comments, messages and replies are left out of these pages."


@dataclass(frozen=True)
class Sharing:
    """What is kept from others.

    hide_texts: whether texts, comments, reasons given, messages and replies are left out. replaced:
    what stands for a path, an address or a key.
    """

    hide_texts: bool
    replaced: Mapping[str, str]

    @classmethod
    def of(cls, root: Path, hide_texts: bool) -> Sharing:
        """What is kept from others, for every run in a folder."""
        replaced = {str(Path.home()): "~", str(Path.cwd()): ".", str(root.resolve()): "."}
        for name, value in os.environ.items():
            if SECRET.search(name) and len(value) >= SHORTEST:
                replaced[value] = KEY
        return cls(hide_texts, {text: by for text, by in replaced.items() if len(text) > 1})

    def also_of(self, *contents: Any) -> Sharing:
        """The same, with what these file contents name added: absolute paths and servers."""
        replaced = dict(self.replaced)
        for key, text in _texts_in(contents, ""):
            if key == "base_url" and text:
                replaced[text] = SERVER
            else:
                for path in filter(_is_path, [text, *PATHS.findall(text)]):
                    if self.text(path) == path:
                        replaced[path] = PureWindowsPath(path).name
        return replace(self, replaced=replaced)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(map(_as_pattern, sorted(self._spelled, key=len, reverse=True))))

    @cached_property
    def _spelled(self) -> dict[str, str]:
        """What is replaced, as it is and as HTML has it."""
        escaped = {str(escape(text)): by for text, by in self.replaced.items()}
        return {**self.replaced, **escaped}

    def text(self, text: str) -> str:
        """A text without what is kept from others."""
        return self._pattern.sub(self._instead, text)

    def _instead(self, match: re.Match[str]) -> str:
        path = match.group()
        if path in self._spelled:
            return self._spelled[path]
        by = self._spelled[path[:-1]]
        return "" if by == "." else by + path[-1]

    def page(self, html: str) -> str:
        """A page without what is kept from others, also in the data that its script unpacks."""
        return PACKED.sub(self._repacked, self.text(html))

    def _repacked(self, match: re.Match[str]) -> str:
        packed = unpacked(match[2])
        shared = self.text(packed)
        return match.group() if shared == packed else match[1] + repacked(shared) + match[3]

    def of_any(self, value: Any) -> Any:
        """A value from a file, with all texts in it as `text` leaves them."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {key: self.of_any(each) for key, each in value.items()}
        return [*map(self.of_any, value)] if isinstance(value, list | tuple) else value

    def of_run(self, run: Run) -> Run:
        """A run as others may see it."""
        sharing = self.also_of(
            run.manifest, run.warnings, [rater.about for rater in run.raters.values()]
        )
        raters = {
            name: replace(rater, about=sharing.of_any(rater.about))
            for name, rater in run.raters.items()
        }
        warnings = tuple(map(sharing.text, run.warnings))
        manifest = sharing.of_any(run.manifest)
        shared = replace(run, manifest=manifest, raters=raters, warnings=warnings)
        return without_texts(shared) if self.hide_texts else shared

    def of_output(self, shown: Shown) -> Shown:
        """An output as others may see it. Its page must still be passed through `text`."""
        if not self.hide_texts:
            return shown
        empty: dict[str, Any] = dict.fromkeys(TEXTS, "")
        empty |= {"references": (), "calls": (), "notes": (MESSAGES_HIDDEN,)}
        return replace(shown, **empty, parts=[*map(_without_comments, shown.parts)])


def unpacked(blob: str) -> str:
    """The JSON in the data of a page (metal.show.pages.blob)."""
    return zlib.decompress(base64.b64decode(blob), -15).decode("utf-8")


def repacked(text: str) -> str:
    """JSON as the data of a page."""
    squeezed = zlib.compressobj(LEVEL, zlib.DEFLATED, -15)
    return base64.b64encode(squeezed.compress(text.encode()) + squeezed.flush()).decode("ascii")


def _as_pattern(text: str) -> str:
    """The pattern of a text to replace; a path also with the separator after it."""
    if _is_path(text):
        return rf"{NOT_BEFORE}{re.escape(text)}(?:[/\\]|{NOT_AFTER})"
    return re.escape(text)


def _is_path(text: str) -> bool:
    """Whether a text is an absolute path of any system."""
    if not 2 < len(text) < 4096 or "\n" in text:
        return False
    return PurePosixPath(text).is_absolute() or PureWindowsPath(text).is_absolute()


def _texts_in(content: Any, key: str) -> Iterator[tuple[str, str]]:
    """All texts in a value from a file, each with its key."""
    if isinstance(content, str):
        yield key, content
    elif isinstance(content, Mapping):
        for name, value in content.items():
            yield from _texts_in(value, str(name))
    elif isinstance(content, list | tuple):
        for value in content:
            yield from _texts_in(value, key)


def without_texts(run: Run) -> Run:
    """A run without texts, comments and warnings, which may quote texts."""
    changed: dict[str, Any] = {"tables": {**run.tables}}
    if run.warnings:
        number = len(run.warnings)
        changed["warnings"] = (
            f"{number} warnings are left out here, because warnings may quote texts"
            if number > 1
            else "A warning is left out here, because warnings may quote texts",
        )
    if "justifications" in run.tables:  # of an audit: how most reasons begin
        changed["tables"]["justifications"] = run.tables["justifications"].assign(opening=HIDDEN)
    if hasattr(run, "disagreement_table"):
        changed["disagreement_table"] = blanked(run.disagreement_table)
    return replace(run, **changed)


def blanked(table: pa.Table) -> pa.Table:
    """An audit's disagreements without texts, comments and reasons given."""
    for name in TEXTS:
        empty = pa.array([""] * len(table), table.schema.field(name).type)
        table = table.set_column(table.schema.get_field_index(name), name, empty)
    at = table.schema.get_field_index("ratings")
    kind = table.schema.field(at).type
    ratings = [_blanked_ratings(chunk, kind) for chunk in table["ratings"].chunks]
    return table.set_column(at, "ratings", pa.chunked_array(ratings, kind))


def _blanked_ratings(ratings: pa.ListArray, kind: pa.ListType) -> pa.ListArray:
    flat = ratings.flatten()
    values: list[pa.Array] = []
    for field in kind.value_type:
        column = flat.field(field.name)
        if field.name == COMMENT:
            column = pa.array([""] * len(flat), field.type)
        elif field.name == REASON:
            has_one = pc.greater(pc.utf8_length(pc.fill_null(column, "")), 0)
            column = pc.if_else(has_one, HIDDEN, "").cast(field.type)
        values.append(column)
    lengths = pc.fill_null(ratings.value_lengths(), 0).to_pylist()
    ends = [0]
    for length in lengths:
        ends.append(ends[-1] + length)
    structs = pa.StructArray.from_arrays(values, fields=list(kind.value_type))
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), structs, type=kind)


def _without_comments(part: OutputPart) -> OutputPart:
    ratings = []
    for rating in part.ratings:
        says = NO_SCORE if rating.says.startswith(f"{NO_SCORE}:") else rating.says
        ratings.append(replace(rating, comment="", says=says))
    return replace(part, ratings=ratings)
