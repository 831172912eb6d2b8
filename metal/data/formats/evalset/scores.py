"""The score files of an EvalSet folder, read as whole columns: [DOMAIN] SYSTEM SCORE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from metal.data.text import first_few, plural
from metal.errors import DataError

Numbers = np.ndarray[Any, np.dtype[np.float64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]

LEVELS = ("seg", "doc", "domain", "sys")
PARTS = {"seg": "segment", "doc": "document", "domain": "domain", "sys": "score"}
LINES = {"domain": "DOMAIN SYSTEM SCORE"}


@dataclass(frozen=True)
class ScoreFile:
    """What a file says. scored: (systems,) which have lines in it; scores: (systems, parts), NaN
    for None and for systems without lines.
    """

    scored: Flags
    scores: Numbers

    def has_means(self, systems: ScoreFile) -> bool:
        """Whether the scores of systems are the means of their parts, by these scores."""
        counts = (~np.isnan(self.scores)).sum(axis=1)
        means = np.full(len(counts), np.nan)
        np.divide(np.nansum(self.scores, axis=1), counts, out=means, where=counts > 0)
        return np.allclose(systems.scores[:, 0], means, rtol=1e-6, atol=1e-9, equal_nan=True)


def read_scores(file: Path, level: str, systems: Sequence[str], parts: Sequence[str]) -> ScoreFile:
    """Read a score file. systems: those that may be in it. parts: the segments, documents or
    domains, in their order; one for the level `sys`.

    Raises DataError for a line of other fields, an unknown system or domain, a system with more or
    fewer lines than there are parts, and a score that is no finite number.
    """
    content = file.read_bytes().removeprefix(b"\xef\xbb\xbf")
    width = 3 if level == "domain" else 2
    fields = content.split()
    lines = content.count(b"\n") + (not content.endswith(b"\n"))
    if len(fields) != width * lines:
        fields = _checked_fields(content, file, width)
    system = _places(fields[width - 2 :: width], systems, file, "system")
    score = _numbers(fields[width - 1 :: width], file)
    if level == "domain":
        part = _places(fields[::width], parts, file, "domain")
    else:
        part = _in_order(system, systems, len(parts), file, level)
    cell = system * len(parts) + part
    _check_once(cell, file)
    scores = np.full(len(systems) * len(parts), np.nan)
    scores[cell] = score
    scored = np.bincount(system, minlength=len(systems)) > 0
    return ScoreFile(scored, scores.reshape(len(systems), len(parts)))


def _checked_fields(content: bytes, file: Path, width: int) -> list[bytes]:
    """The fields of all lines; blank lines are skipped. Raises DataError for the first line that
    has more or fewer than `width`.
    """
    fields = list[bytes]()
    for number, line in enumerate(content.split(b"\n"), 1):
        parts = line.split()
        if parts and len(parts) != width:
            form = LINES["domain"] if width == 3 else "SYSTEM SCORE"
            problem = f"{plural(len(parts), 'field')} in a line"
            raise DataError(f"{file} line {number}", problem, f"Each line is {form}")
        fields += parts
    return fields


def _places(
    names: list[bytes], allowed: Sequence[str], file: Path, what: str
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The place of each name among those allowed."""
    codes, used = pd.factorize(pd.Series(names, dtype=object))
    places = {name.encode(): at for at, name in enumerate(allowed)}
    for code, name in enumerate(used):
        if name not in places:
            line = int(np.flatnonzero(codes == code)[0]) + 1
            text = name.decode("utf-8", "replace")
            remedy = f"The folder has {first_few(list(allowed), 30)}"
            raise DataError(f"{file} line {line}", f"{what} {text!r} is not in the folder", remedy)
    codes_of = np.array([places[name] for name in used], dtype=np.int64)
    return codes_of[codes] if len(used) else np.zeros(0, np.int64)


def _numbers(texts: list[bytes], file: Path) -> Numbers:
    """The scores; NaN for None."""
    column = np.array(texts) if texts else np.zeros(0, "S4")
    column[column == b"None"] = b"nan"
    try:
        numbers = column.astype(np.float64)
    except ValueError:
        _refuse_number(texts, file)
    if np.isinf(numbers).any():
        line = int(np.isinf(numbers).argmax())
        _refuse(texts[line], file, line)
    return numbers


def _refuse_number(texts: list[bytes], file: Path) -> NoReturn:
    """Raise DataError for the first score that is no number."""
    for line, text in enumerate(texts):
        try:
            float(text.replace(b"None", b"nan"))
        except ValueError:
            _refuse(text, file, line)
    raise DataError(file, "scores that are not numbers", "Write None if there is no score")


def _refuse(score: bytes, file: Path, line: int) -> NoReturn:
    problem = f"score {score.decode('utf-8', 'replace')!r} is not a finite number"
    raise DataError(f"{file} line {line + 1}", problem, "Write None if there is no score")


def _in_order(
    system: np.ndarray[Any, np.dtype[np.int64]],
    systems: Sequence[str],
    parts: int,
    file: Path,
    level: str,
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The part that each line scores: a system's lines are in the order of the parts. Raises
    DataError for a system with another number of lines.
    """
    counts = np.bincount(system, minlength=len(systems))
    wrong = np.flatnonzero((counts > 0) & (counts != parts))
    if len(wrong):
        name, number = systems[wrong[0]], int(counts[wrong[0]])
        expected = plural(parts, PARTS[level])
        problem = f"{name!r} has {plural(number, 'line')}, and the language pair {expected}"
        raise DataError(file, problem, f"Write one line for each system and {PARTS[level]}")
    order = np.argsort(system, kind="stable")
    part = np.empty(len(system), np.int64)
    starts = np.cumsum(counts) - counts
    part[order] = np.arange(len(system)) - starts[system[order]]
    return part


def _check_once(cell: np.ndarray[Any, np.dtype[np.int64]], file: Path) -> None:
    is_repeated = pd.Series(cell).duplicated().to_numpy()
    if is_repeated.any():
        line = int(is_repeated.argmax()) + 1
        raise DataError(f"{file} line {line}", "scored a second time", "Keep one of the lines")
