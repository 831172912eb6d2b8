"""THumB 1.0 on CNNDM: three experts and the crowd rate summaries on four criteria.

cnndm_THumB-1.0.jsonl     SYS, seg_id, hyp, expert_annotations, turker_annotations (bare NaN: none)
cnndm_references.jsonl    seg_id, refs (optional, beside it)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from metal.data.dataset import Card
from metal.data.formats import Format
from metal.data.formats.criteria import OF_THE_TEXT
from metal.data.formats.draft import Draft, human_generators, only_file
from metal.data.json_files import read_jsonl
from metal.data.ratings import tidy_facts
from metal.data.records import Criterion, Level, Output, Rater, Scale, Source
from metal.errors import DataError

CRITERIA = ("coherence", "consistency", "fluency", "relevance")
PANELS = {"expert_annotations": ("E", "expert"), "turker_annotations": ("C", "crowd")}
CARD = Card(
    name="thumb-cnndm",
    title="THumB 1.0, CNNDM: expert and crowd ratings of summaries",
    citation="Kasai et al. (NAACL 2022); Fabbri et al. (TACL 2021) for the ratings",
)


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read the JSONL file, or the folder that holds it. Raters are named by position: E1.., C1..."""
    file = only_file(path, "*THumB*.jsonl")
    references = _references(file.parent)
    sources: dict[str, Source] = {}
    outputs: list[Output] = []
    raters: dict[str, Rater] = {}
    rows: list[tuple[str, str, str, float, str]] = []
    without: Counter[str] = Counter()
    for row, record in read_jsonl(file):
        where = f"{file} row {row + 1}"
        output = _output(record, where)
        sources.setdefault(output.source, Source(output.source, "en", "", "", references.get(output.source, ())))
        outputs.append(output)
        for key, (letter, group) in PANELS.items():
            panel = record.get(key)
            if not isinstance(panel, list):
                without[f"{output.generator}: no {group} ratings"] += 1
                continue
            for place, ratings in enumerate(panel, 1):
                rater = f"{letter}{place}"
                raters.setdefault(rater, Rater(rater, "human", group))
                rows += [(output.output, name, rater, *_score(ratings, name, where)) for name in CRITERIA]
    facts = pd.DataFrame(rows, columns=["output", "criterion", "rater", "score", "reason"])
    levels = tuple(Level(value, str(value)) for value in range(1, 6))
    notes = [f"{what} for {count} summaries" for what, count in without.items()]
    crowd = sum(rater.group == "crowd" for rater in raters.values())
    notes.append(f"{crowd} crowd workers and {len(raters) - crowd} experts a summary, named by position")
    return Draft(
        CARD,
        tuple(Criterion(name, Scale("ordinal", levels), of_source=name not in OF_THE_TEXT) for name in CRITERIA),
        tuple(sources.values()),
        tuple(outputs),
        tuple(raters.values()),
        tidy_facts(facts),
        tuple(notes),
        human_generators(output.generator for output in outputs),
    )


def _references(folder: Path) -> dict[str, tuple[str, ...]]:
    found = {}
    for file in folder.glob("*references*.jsonl"):
        for row, record in read_jsonl(file):
            if not isinstance(record.get("refs"), list) or "seg_id" not in record:
                raise DataError(f"{file} row {row + 1}", "no seg_id or refs", "Take the file from the release again")
            found[str(record["seg_id"])] = tuple(map(str, record["refs"]))
    return found


def _output(record: dict[str, Any], where: str) -> Output:
    missing = [name for name in ("SYS", "seg_id", "hyp") if name not in record]
    if missing:
        raise DataError(where, f"no {missing[0]!r} (keys found: {', '.join(record)})", "Is this a THumB file?")
    source, system = str(record["seg_id"]), str(record["SYS"])
    return Output(f"{source}/{system}", source, system, "en", str(record["hyp"]))


def _score(ratings: Any, criterion: str, where: str) -> tuple[float, str]:
    try:
        score = float(ratings[criterion])
    except (KeyError, TypeError, ValueError):
        raise DataError(where, f"a rating without {criterion}", "Take the file from the release again") from None
    return (score, "") if score == score else (score, "not rated")


FORMAT = Format("THumB 1.0 JSONL: expert and crowd ratings of CNNDM summaries", read)
