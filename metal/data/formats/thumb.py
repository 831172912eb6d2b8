"""THumB 1.0: summaries of CNNDM on four criteria by three experts and the crowd; captions of MSCOCO
with one score each.

cnndm_THumB-1.0.jsonl     SYS, seg_id, hyp, expert_annotations, turker_annotations (bare NaN: none)
mscoco_THumB-1.0.jsonl    SYS, seg_id, hyp, image, P, R, Fl, Inc, Con, human_score
*_references.jsonl        seg_id, refs (optional, beside it)

P and R go from 1 to 5, Fl, Inc and Con are deductions (0 or below), human_score is (P + R) / 2 + Fl
+ Inc + Con.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from metal.data.dataset import Card
from metal.data.files import read_jsonl
from metal.data.formats import (
    Draft,
    Format,
    Reading,
    human_generators,
    only_file,
    summary_criterion,
)
from metal.data.records import Criterion, Output, Rater, Scale, Source
from metal.errors import DataError

CRITERIA = ("coherence", "consistency", "fluency", "relevance")
PANELS = {"expert_annotations": ("E", "expert"), "turker_annotations": ("C", "crowd")}
CAPTIONS = {
    "P": Criterion("precision", Scale("interval", (), 1, 5)),
    "R": Criterion("recall", Scale("interval", (), 1, 5)),
    "Fl": Criterion("fluency", Scale("interval"), of_source=False),
    "Inc": Criterion("inclusive_language", Scale("interval"), of_source=False),
    "Con": Criterion("conciseness", Scale("interval"), of_source=False),
    "human_score": Criterion("overall", Scale("interval"), label="THumB"),
}
THUMB = Rater("THumB", "human", "expert", {"panel": True})
MSCOCO = Card(
    name="thumb-mscoco",
    title="THumB 1.0, MSCOCO: ratings of image captions",
    citation="Kasai et al. (NAACL 2022), Transparent Human Evaluation for Image Captioning",
)
CARD = Card(
    name="thumb-cnndm",
    title="THumB 1.0, CNNDM: expert and crowd ratings of summaries",
    citation="Kasai et al. (NAACL 2022); Fabbri et al. (TACL 2021) for the ratings",
)


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read the JSONL file, or the folder that holds it. Raters are named by position: E1..,
    C1...
    """
    file = only_file(path, "*THumB*.jsonl")
    references = _references(file.parent)
    reading = Reading()
    without: Counter[str] = Counter()
    captions = False
    for row, record in read_jsonl(file):
        location = f"{file} row {row + 1}"
        output = _output(record, location)
        image = str(record.get("image", ""))
        source = Source(
            output.source, "en", title=image, references=references.get(output.source, ())
        )
        reading.sources.setdefault(output.source, source)
        reading.outputs[output.output] = output
        if "P" in record:
            captions = True
            reading.rows += [
                (output.output, criterion.name, THUMB.rater, *_score(record, key, location), "")
                for key, criterion in CAPTIONS.items()
            ]
            continue
        for key, (letter, group) in PANELS.items():
            panel = record.get(key)
            if not isinstance(panel, list):
                without[f"{output.generator}: no {group} ratings"] += 1
                continue
            for number, ratings in enumerate(panel, 1):
                rater = f"{letter}{number}"
                reading.raters.setdefault(rater, Rater(rater, "human", group))
                reading.rows += [
                    (output.output, c, rater, *_score(ratings, c, location), "") for c in CRITERIA
                ]
    people = human_generators(output.generator for output in reading.outputs.values())
    if captions:
        reading.raters[THUMB.rater] = THUMB
        reading.notes = [
            "one score per caption and criterion; the file does not say who gave it, so all"
            " people are one rater"
        ]
        return reading.draft(MSCOCO, CAPTIONS.values(), people)
    crowd = sum(rater.group == "crowd" for rater in reading.raters.values())
    reading.notes = [f"{what} for {count} summaries" for what, count in without.items()]
    reading.notes.append(
        f"{crowd} crowd workers and {len(reading.raters) - crowd} experts per summary, named by"
        " position"
    )
    return reading.draft(CARD, map(summary_criterion, CRITERIA), people)


def _references(folder: Path) -> dict[str, tuple[str, ...]]:
    references = {}
    for file in folder.glob("*references*.jsonl"):
        for row, record in read_jsonl(file):
            if not isinstance(record.get("refs"), list) or "seg_id" not in record:
                raise DataError(
                    f"{file} row {row + 1}",
                    "no seg_id or refs",
                    "Take the file from the release again",
                )
            references[str(record["seg_id"])] = tuple(map(str, record["refs"]))
    return references


def _output(record: dict[str, Any], location: str) -> Output:
    missing = [name for name in ("SYS", "seg_id", "hyp") if name not in record]
    if missing:
        raise DataError(
            location,
            f"no {missing[0]!r} (keys found: {', '.join(record)})",
            "Is this a THumB file?",
        )
    source, system = str(record["seg_id"]), str(record["SYS"])
    return Output(f"{source}/{system}", source, system, "en", str(record["hyp"]))


def _score(ratings: Any, criterion: str, location: str) -> tuple[float, str]:
    try:
        score = float(ratings[criterion])
    except (KeyError, TypeError, ValueError):
        raise DataError(
            location, f"a rating without {criterion}", "Take the file from the release again"
        ) from None
    return score, "not rated" if math.isnan(score) else ""


FORMAT = Format(
    "THumB 1.0 JSONL: people's ratings of CNNDM summaries or MSCOCO captions",
    read,
    marks=(
        ("*.jsonl", ('"SYS"', "expert_annotations")),
        ("*.jsonl", ('"human_score"', '"Inc"', '"Con"')),
    ),
)
