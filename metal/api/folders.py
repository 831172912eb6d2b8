"""`metal.ls`: the datasets and runs in a folder, without reading ratings."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import lru_cache
from itertools import chain, islice, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metal.api.options import Progress, StrPath, documented, no_progress
from metal.data.files import REPLACED
from metal.data.holdings import ADJUDICATION
from metal.data.missing import no_such
from metal.data.progress import followed
from metal.data.text import first_few, plural
from metal.errors import MetalError

if TYPE_CHECKING:
    from metal.data.run_summary import RunSummary

PLACES = (".", "datasets", "runs")
MOST = 1000  # groups of folders looked into, and of each the folders in it
FILES = ("dataset.toml", "run.toml")
CARD = {"title": str, "languages": [str], "counts": {}}  # what is shown of dataset.toml
NOUNS = {
    "human": ("person", "people"),
    "llm": ("judge", ""),
    "metric": ("metric", ""),
    "baseline": ("baseline", ""),
}
RUNNING, DAMAGED = "running", "damaged"  # states that no summary has


@dataclass(frozen=True)
class Folder:
    """A dataset or a run.

    kind: `dataset`, or the command of the run. date: the date of the last change, as YYYY-MM-DD.

    languages: None if the folder does not name them. raters: the number of raters of each kind.
    answer: the headline of a run with a page, what a run of judges or metrics rated, the title and
    counts of a dataset, or the reason why the folder cannot be read.

    name: the folder's own name. title: the title of the dataset, or of the dataset that a run is
    of. judges: the names of a run's judges, metrics and baselines. changed: the time of the last
    change, in UTC. state: `finished`, `running`, `stopped` (some calls were not made), `waiting`
    (for the answers of a batch service) or `damaged`; empty for other folders. cost: the cost of
    the replies so far in dollars; None if it is not known.

    verdicts: of an audit, how many cells (judge, language, criterion) have each verdict.
    by_language: the same for each language. Both are None for all other folders.
    """

    path: str
    kind: str
    date: str
    languages: Sequence[str] | None = None
    raters: Mapping[str, int] | None = None
    answer: str = ""
    name: str = ""
    title: str = ""
    judges: Sequence[str] = ()
    changed: str = ""
    state: str = ""
    cost: float | None = None
    verdicts: Mapping[str, int] | None = None
    by_language: Mapping[str, Mapping[str, int]] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as the command line prints them with `--json`."""
        return asdict(self)


@documented
def ls(folder: StrPath = ".", *, progress: Progress | None = None) -> tuple[Folder, ...]:
    """List the datasets and runs in a folder and one level below it: kind, size, date and, for
    runs, the answer and the number of verdicts.

    In the folders `datasets` and `runs`, one more level is listed. Results that `force` replaced
    (NAME.replaced) are not listed.

    Args:
        folder: Where to look.
        progress: Called with the number of folders done and of all folders.

    Returns:
        The folders: datasets first, then runs, each with the latest change first. The answer of a
        damaged folder says what is wrong with it.

    Raises:
        UsageError: If there is no such folder.

    Example:
        for folder in metal.ls("runs"):
            print(folder.path, folder.answer)
    """
    start = Path(folder)
    if not start.is_dir():
        raise no_such(start, "folder")
    once: dict[Path, tuple[Path, str]] = {}
    for path, file in product(_candidates(start), FILES):
        if _is_in(path, file):
            once[path.resolve()] = path, file
    advancing = followed(once.values(), progress or no_progress, len(once))
    ordered = sorted((_read(path, file) for path, file in advancing), key=lambda each: each.path)
    ordered.sort(key=lambda entry: entry.changed, reverse=True)
    return tuple(sorted(ordered, key=lambda entry: entry.kind != "dataset"))


def replaced_in(folder: Path) -> list[Path]:
    """The folders of datasets and runs that were replaced: they are kept, and `ls` does not list
    them.
    """
    return [path for path in _below(folder) if path.name.endswith(REPLACED) and _is_entry(path)]


def is_listed(run: Path, folder: Path) -> bool:
    """Whether `ls` of a folder looks for a run where it is. Both paths are absolute."""
    if not run.is_relative_to(folder):
        return False
    parts = run.relative_to(folder).parts
    deepest = 3 if parts[:1] in (("datasets",), ("runs",)) else 2
    return len(parts) <= deepest


def _candidates(start: Path) -> Iterator[Path]:
    """The folder, and the folders in it that may be listed."""
    yield start
    for path in _below(start):
        if not path.name.endswith(REPLACED):
            yield path


def _below(start: Path) -> Iterator[Path]:
    """The folders in PLACES, and the folders inside each of them that is not itself a dataset or
    run. Hidden folders are left out.
    """
    places = [start / subfolder for subfolder in PLACES]
    inside = list(chain.from_iterable(map(_visible, places)))
    yield from inside
    groups = [
        path
        for path in inside
        if not (path in places or path.name.endswith(REPLACED) or _is_entry(path))
    ]
    for group in groups[:MOST]:
        yield from islice(_visible(group), MOST)


def _is_entry(folder: Path) -> bool:
    """Whether a folder is a dataset or a run."""
    return any(_is_in(folder, file) for file in FILES)


def _visible(folder: Path) -> list[Path]:
    """The folders in a folder, sorted; those that are being written have hidden names. None if
    the folder cannot be read.
    """
    try:
        entries = [entry for entry in os.scandir(folder) if not entry.name.startswith(".")]
        return [folder / name for name in sorted(entry.name for entry in entries if entry.is_dir())]
    except OSError:
        return []


def _is_in(folder: Path, file: str) -> bool:
    return os.path.isfile(folder / file)


def _read(path: Path, file: str) -> Folder:
    from metal.data.files import read_toml

    changed = _last_change(path, file)
    of_any: dict[str, Any] = {
        "name": path.resolve().name,
        "date": f"{datetime.fromtimestamp(changed):%Y-%m-%d}",
        "changed": datetime.fromtimestamp(changed, UTC).isoformat(timespec="microseconds"),
    }
    kind = "dataset" if file == FILES[0] else "run"
    try:
        if kind == "dataset":
            return Folder(str(path), kind, **of_any, **_of_dataset(path, read_toml(path / file)))
        kind, facts = _of_run(path)
        return Folder(str(path), kind or "run", **of_any, **facts)
    except (MetalError, OSError) as error:
        problem = str(error)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        problem = f"its files do not fit together ({type(error).__name__}: {error})"
    kind = _command_in(path) if kind == "run" else kind
    return Folder(str(path), kind, **of_any, answer=f"cannot be read: {problem}", state=DAMAGED)


def _last_change(path: Path, file: str) -> float:
    """The time at which a folder's card, or the journal of its replies, was written."""
    times = [os.stat(path / file).st_mtime]
    if _is_in(path, "journal.jsonl"):
        times.append(os.stat(path / "journal.jsonl").st_mtime)
    return max(times)


def _of_dataset(path: Path, content: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a dataset."""
    from metal.data.dataset_lines import read_raters
    from metal.data.run_toml import check_shape

    check_shape(content, CARD, "", path / FILES[0], "Restore the file")
    raters = None
    if _is_in(path, "raters.jsonl"):
        raters = dict(Counter(rater.kind for rater in read_raters(path)))
    title = content.get("title", "")
    counts = content.get("counts", {}).items()
    sizes = ", ".join(
        plural(number, what.removesuffix("s"), what) for what, number in counts if what != "raters"
    )
    answer = "; ".join(filter(None, [title, sizes]))
    languages = content.get("languages")
    return {"languages": languages, "raters": raters, "title": title, "answer": answer}


def _command_in(path: Path) -> str:
    """The command that a run's run.toml names; `run` if it cannot be read."""
    from metal.data.run_toml import read_run_toml

    try:
        return read_run_toml(path)["command"] or "run"
    except (MetalError, OSError):
        return "run"


def _of_run(path: Path) -> tuple[str, dict[str, Any]]:
    """The command of a run, and its other fields. They come from its summary or, if no summary fits
    the run, from all of its files.
    """
    from metal.api.unsummarized import plan_of_adjudication
    from metal.data.run_summary import read_summary
    from metal.data.run_toml import read_run_toml

    summary = read_summary(path)
    if summary is None:
        content = read_run_toml(path)
        if content["command"] == ADJUDICATION:
            return ADJUDICATION, plan_of_adjudication(path, content)
        files = [path / "run.toml", *path.glob("tables/*"), path / "ratings.parquet"]
        changes = tuple(file.stat().st_mtime_ns for file in files if file.is_file())
        summary = _unsummarized(path, changes)
    return summary.kind, _of_summary(path, summary)


@lru_cache(maxsize=MOST)
def _unsummarized(path: Path, changes: tuple[int, ...]) -> RunSummary:
    """The summary of a run that has none, computed once until its files change."""
    from metal.api.unsummarized import summary_of_files
    from metal.data.run_toml import read_run_toml

    return summary_of_files(path, read_run_toml(path))


def _of_summary(path: Path, summary: RunSummary) -> dict[str, Any]:
    """The fields of a run that has a summary."""
    from metal.data.run_summary import is_running

    state = RUNNING if is_running(path) else summary.state
    verdicts = by_language = None
    if summary.cells is not None:
        verdicts = {word: sum(counts.values()) for word, counts in summary.cells.items()}
        by_language = _turned(summary.cells)
    return {
        "languages": summary.languages,
        "raters": summary.raters,
        "judges": summary.judges,
        "title": summary.title,
        "answer": summary.headline or _progress(path, summary, state),
        "state": state.replace("begun", "stopped"),
        "cost": summary.cost,
        "verdicts": verdicts,
        "by_language": by_language,
    }


def _turned(cells: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    """Counts by verdict and language as counts by language and verdict."""
    turned: dict[str, dict[str, int]] = {}
    for word, counts in cells.items():
        for language, number in counts.items():
            turned.setdefault(language, {})[word] = number
    return turned


def _progress(path: Path, summary: RunSummary, state: str) -> str:
    """How many ratings a run has, and by whom. If the run has not ended, say how to continue it."""
    resume = f'`metal.{summary.kind}(resume="{path}")`'
    if state == RUNNING:
        return "at work now"
    if state == "waiting":
        return f"{summary.waiting:,} calls are in open batches; to fetch them: {resume}"
    if summary.not_asked:
        return f"stopped: {summary.not_asked:,} calls were not made; to continue: {resume}"
    if state == "begun":
        return f"stopped before its end; to continue: {resume}"
    if not summary.judges:
        return ""
    ratings = "ratings" if summary.ratings is None else f"{summary.ratings:,} ratings"
    return f"{ratings} of {summary.dataset or 'a dataset'} by {first_few(summary.judges, 3)}"
