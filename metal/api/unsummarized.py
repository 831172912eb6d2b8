"""What `metal.ls` says of folders without a valid summary: plans of adjudication, and runs whose
summary is missing or older than their files. METAL reads the files instead, which takes time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from metal.data.dataset_lines import read_raters
from metal.data.files import read_jsonl, read_toml
from metal.data.run_summary import RunSummary
from metal.runs.kinds import is_kind


def summary_of_files(path: Path, content: Mapping[str, Any]) -> RunSummary:
    """The summary of a run.

    content: that of its run.toml.
    """
    unfinished = content["command"] == "generate" and not (path / "tables").is_dir()
    if is_kind(content["command"]) and not unfinished:
        return _of_run_with_page(path, content["command"])
    raters = read_raters(path) if (path / "raters.jsonl").is_file() else None
    return RunSummary.of(content, raters, languages=_languages_rated(content))


def _of_run_with_page(path: Path, kind: str) -> RunSummary:
    from metal.api.report import open_run
    from metal.runs.parts import fitting
    from metal.runs.summarizing import summary_of

    with fitting(path, kind):
        return summary_of(open_run(path))


def _languages_rated(content: Mapping[str, Any]) -> Sequence[str] | None:
    """The languages to which a run was limited, or those of its dataset; None if the dataset is
    gone.
    """
    languages = content["settings"].get("languages")
    data: Mapping[str, Any] = next(iter(content["datasets"]), {})
    card = Path(data.get("path", "")) / "dataset.toml"
    if not languages and card.is_file():
        languages = read_toml(card).get("languages")
    return tuple(sorted(map(str, languages))) if isinstance(languages, list) else None


def plan_of_adjudication(path: Path, content: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a plan of adjudication: its languages, who decides, and how many outputs are
    decided.
    """
    drawn = [entry for _, entry in read_jsonl(path / "drawn.jsonl")]
    answers = path / "answers.jsonl"
    decided = [entry for _, entry in read_jsonl(answers)] if answers.is_file() else []
    people, done = ({entry[key] for entry in decided} for key in ("adjudicator", "task"))
    data: Mapping[str, Any] = next(iter(content["datasets"]), {})
    return {
        "languages": sorted({entry["language"] for entry in drawn}),
        "raters": {"human": len(people)},
        "title": data.get("title", ""),
        "answer": f"{len(done):,} of {len(drawn):,} outputs decided",
    }
