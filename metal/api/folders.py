"""`metal.ls`: the datasets and runs in a folder, without reading ratings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import islice, product
from pathlib import Path
from typing import Any

from metal.api.options import Progress, StrPath, documented, no_progress
from metal.data.holdings import ADJUDICATION
from metal.data.missing import no_such
from metal.data.progress import followed
from metal.data.text import first_few
from metal.errors import MetalError

PLACES = (".", "datasets", "runs")
MOST = 1000  # folders looked into, and of each the folders in it, but for PLACES
FILES = ("dataset.toml", "run.toml")


@dataclass(frozen=True)
class Folder:
    """A dataset or a run.

    kind: `dataset`, or the command of the run. date: the date of the last change, as YYYY-MM-DD.

    languages: None if the folder does not name them. raters: the number of raters of each kind.
    answer: the headline of a run with a page, what a run of judges or metrics rated, the title and
    counts of a dataset, or why the folder cannot be read.
    """

    path: str
    kind: str
    date: str
    languages: Sequence[str] | None = None
    raters: Mapping[str, int] | None = None
    answer: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as the command line prints them with `--json`."""
        return asdict(self)


@documented
def ls(folder: StrPath = ".", *, progress: Progress | None = None) -> tuple[Folder, ...]:
    """List the datasets and runs in a folder and one level below it: kind, size, date and, for
    runs, the answer.

    Args:
        folder: Where to look.
        progress: Called with the number of folders done and of all folders.

    Returns:
        The folders, datasets first. The answer of a damaged folder says what is wrong with it.

    Raises:
        UsageError: If there is no such folder.

    Example:
        for folder in metal.ls("runs"):
            print(folder.path, folder.answer)
    """
    start = Path(folder)
    if not start.is_dir():
        raise no_such(start, "folder")
    children = [
        start,
        *(path for subfolder in PLACES for path in sorted((start / subfolder).glob("*"))),
    ]
    groups = (
        path for path in start.glob("*/") if not any((path / file).is_file() for file in FILES)
    )
    children += [
        path
        for group in sorted(islice(groups, MOST))
        for path in sorted(islice(group.glob("*/"), MOST))
    ]
    places = [(path, file) for path, file in product(children, FILES) if (path / file).is_file()]
    advancing = followed(places, progress or no_progress, len(places))
    listed = {path.resolve(): _read(path, file) for path, file in advancing}
    return tuple(sorted(listed.values(), key=lambda entry: entry.kind != "dataset"))


def _read(path: Path, file: str) -> Folder:
    from metal.data.files import read_toml
    from metal.data.run_toml import read_run_toml

    date = f"{datetime.fromtimestamp((path / file).stat().st_mtime):%Y-%m-%d}"
    kind = "dataset" if file == FILES[0] else "run"
    try:
        content = read_toml(path / file) if kind == "dataset" else read_run_toml(path)
        kind = content.get("command") or kind
        return Folder(str(path), kind, date, *_size_and_answer(path, kind, content))
    except MetalError as error:
        return Folder(str(path), kind, date, answer=f"cannot be read: {error}")


def _size_and_answer(path: Path, kind: str, content: Mapping[str, Any]) -> tuple[Any, Any, str]:
    """The languages, raters and answer of a folder."""
    from metal.data.dataset_lines import read_raters
    from metal.runs.kinds import is_kind

    unfinished = kind == "generate" and not (path / "tables").is_dir()
    if is_kind(kind) and not unfinished:
        return _of_run_with_page(path, kind)
    if kind == ADJUDICATION:
        return _of_plan(path)
    listed = read_raters(path) if (path / "raters.jsonl").is_file() else None
    raters = None if listed is None else dict(Counter(rater.kind for rater in listed))
    if kind != "dataset":
        judges = [rater.rater for rater in listed or () if rater.kind != "human"]
        return _languages_rated(content), raters, _rated(path, content, judges)
    counts = content.get("counts", {}).items()
    sizes = ", ".join(f"{number:,} {what}" for what, number in counts if what != "raters")
    return (
        content.get("languages"),
        raters,
        "; ".join(filter(None, [content.get("title", ""), sizes])),
    )


def _of_plan(path: Path) -> tuple[Any, Any, str]:
    """The languages of a plan of adjudication, who decides, and how many outputs are decided."""
    from metal.data.files import read_jsonl

    drawn = [entry for _, entry in read_jsonl(path / "drawn.jsonl")]
    answers = path / "answers.jsonl"
    decided = [entry for _, entry in read_jsonl(answers)] if answers.is_file() else []
    people, done = ({entry[key] for entry in decided} for key in ("adjudicator", "task"))
    says = f"{len(done):,} of {len(drawn):,} outputs decided"
    return sorted({entry["language"] for entry in drawn}), {"human": len(people)}, says


def _of_run_with_page(path: Path, kind: str) -> tuple[Any, Any, str]:
    """The languages and raters of a run, and the headline of its page."""
    from metal.api.report import open_run
    from metal.runs.parts import fitting
    from metal.show.pages import headline

    with fitting(path, kind):
        run = open_run(path)
        tables = [table for table in run.tables.values() if "language" in table and len(table)]
        languages = None
        if tables:
            languages = list(filter(None, tables[0]["language"].unique()))
        raters = dict(Counter(rater.kind for rater in run.raters.values()))
        return languages, raters, headline(run)


def _languages_rated(content: Mapping[str, Any]) -> Any:
    """The languages to which a run was limited, or those of its dataset; None if the dataset is
    gone.
    """
    from metal.data.files import read_toml

    if languages := content["settings"].get("languages"):
        return languages
    data: Mapping[str, Any] = next(iter(content["datasets"]), {})
    card = Path(data.get("path", "")) / FILES[0]
    return read_toml(card).get("languages") if card.is_file() else None


def _rated(path: Path, content: Mapping[str, Any], judges: Sequence[str]) -> str:
    """How many ratings a run has and by whom or, if it was stopped, how to continue it."""
    state = content["settings"].get("state", {})
    if state.get("not_asked"):
        stopped = f"stopped: {state['not_asked']:,} calls were not made"
        return f'{stopped}; to continue: `metal.judge(resume="{path}")`'
    if not judges:
        return ""
    data: Mapping[str, Any] = next(iter(content["datasets"]), {})
    ratings = f"{state['ratings']:,} ratings" if "ratings" in state else "ratings"
    return f"{ratings} of {data.get('name', 'a dataset')} by {first_few(judges, 3)}"
