"""The data folders of the alternative-annotator-test paper: who gave which label to which item.

    human_annotations.json, llm_annotations.json    {rater: {item: label}}

Item ids are `DOC__SYSTEM__CRITERION` and the like; SPLITS says how to split those of each published
folder.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from metal.data.dataset import Card
from metal.data.files import read_json
from metal.data.formats import OF_THE_TEXT, Draft, Format
from metal.data.ratings import tidy_facts
from metal.data.records import Criterion, Level, Output, Rater, Scale, Source
from metal.errors import DataError, UsageError

FILES = {"human": "human_annotations.json", "llm": "llm_annotations.json"}
CITATION = (
    "Calderon, Reichart and Dror (ACL 2025), The Alternative Annotator Test for LLM-as-a-Judge"
)
Label = str | int | float
Labels = list[tuple["AlttestItem", str, str, Label]]  # item, kind of rater, rater, label


@dataclass(frozen=True)
class AlttestItem:
    """The parts of an item id: the source, the generator of the output, the criterion."""

    source: str
    generator: str
    criterion: str

    @property
    def output(self) -> str:
        """The id of the output that was labelled."""
        return f"{self.source}/{self.generator}"


def _summeval(item: str) -> AlttestItem:
    # The document's hash is its id in other releases of the same data (THumB's seg_id).
    document, system, criterion = item.rsplit("__", 2)
    return AlttestItem(document.rsplit("-", 1)[-1], system, criterion)


def _last_is_criterion(item: str) -> AlttestItem:
    source, _, criterion = item.rpartition("__")
    return AlttestItem(source, "text", criterion)


def _mtbench(item: str) -> AlttestItem:
    question, first, second, turn = item.split("__")
    return AlttestItem(question, f"{first} against {second}, turn {turn}", "preference")


SPLITS: Mapping[str, Callable[[str], AlttestItem]] = {
    "summeval": _summeval,
    "cebab_aspects": _last_is_criterion,
    "cebab_stars": _last_is_criterion,
    "lesion": _last_is_criterion,
    "lgbteen": lambda item: AlttestItem(*item.rsplit("__", 2)),
    "mtbench": _mtbench,
    "wax": lambda item: AlttestItem(item, "text", "relation"),
}
GROUPS = {
    "summeval": "expert",
    "mtbench": "expert",
    "wax": "crowd",
    "cebab_aspects": "crowd",
    "cebab_stars": "crowd",
}


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read one data folder. The folder's name decides how item ids are split; in other folders they
    stay whole.
    """
    by_kind = {kind: _read_labels(_file(path, name)) for kind, name in FILES.items()}
    name = path.resolve().name
    split = SPLITS.get(name, lambda item: AlttestItem(item, "text", "label"))
    labels = []
    for kind, ratings in by_kind.items():
        for rater, by_item in ratings.items():
            for item, label in by_item.items():
                labels.append((_split(split, item, path), kind, rater, label))
    criteria, codes = _scales(labels)
    outputs = {item.output: item for item, *_ in labels}
    rows = [
        (item.output, item.criterion, rater, codes[item.criterion][label])
        for item, _, rater, label in labels
    ]
    facts = pd.DataFrame(rows, columns=["output", "criterion", "rater", "score"])
    again = facts.duplicated(["output", "criterion", "rater"])
    return Draft(
        Card(
            name=f"alttest-{name}",
            title=f"{name} of the alternative annotator test",
            citation=CITATION,
        ),
        tuple(criteria),
        tuple(
            Source(source, "en")
            for source in dict.fromkeys(item.source for item in outputs.values())
        ),
        tuple(
            Output(output, item.source, item.generator, "en") for output, item in outputs.items()
        ),
        tuple(Rater(rater, "human", GROUPS.get(name, "annotator")) for rater in by_kind["human"])
        + tuple(Rater(rater, "llm", rater, {"model": rater}) for rater in by_kind["llm"]),
        tidy_facts(facts[~again]),
        tuple(_notes(labels, int(again.sum()))),
    )


def _file(path: Path, name: str) -> Path:
    if (path / name).is_file():
        return path / name
    inside = sorted(file.parent.name for file in path.glob(f"*/{name}"))
    both = " and ".join(FILES.values())
    hint = f"give one of its folders: {', '.join(inside)}" if inside else f"it should hold {both}"
    raise UsageError(f"{path}: no {name}; {hint}")


def _read_labels(path: Path) -> dict[str, dict[str, Label]]:
    labels: Any = read_json(path, "{rater: {item: label}}")
    if not isinstance(labels, dict) or not all(
        isinstance(by_item, dict) for by_item in labels.values()
    ):
        raise DataError(
            path, "not {rater: {item: label}}", "One object per rater, one label per item"
        )
    return labels


def _split(split: Callable[[str], AlttestItem], item: str, path: Path) -> AlttestItem:
    try:
        return split(item)
    except ValueError:
        raise DataError(
            path, f"item {item!r} is not of the form this data set uses", "Rename the folder"
        ) from None


def _scales(labels: Labels) -> tuple[list[Criterion], dict[str, dict[Label, float]]]:
    """The criteria with all labels that occur, and the score of each label.

    Numbers are ordinal and their own scores; words are nominal and scored by their position in
    string order.
    """
    used: dict[str, set[Label]] = {}
    for item, _, _, label in labels:
        used.setdefault(item.criterion, set()).add(label)
    criteria, codes = [], {}
    for name, answers in sorted(used.items()):
        numeric = all(isinstance(label, int | float) for label in answers)
        ordered = sorted(answers) if numeric else sorted(answers, key=str)
        codes[name] = {
            label: float(label) if numeric else float(code) for code, label in enumerate(ordered)
        }
        levels = tuple(Level(codes[name][label], f"{label}") for label in ordered)
        if len(levels) == 1:  # all raters always gave the same answer; a scale has at least two
            levels = (*levels, Level(levels[0].value + 1, "(other)"))
        scale = Scale("ordinal" if numeric else "nominal", levels)
        criteria.append(Criterion(name, scale, of_source=name not in OF_THE_TEXT))
    return criteria, codes


def _notes(labels: Labels, again: int) -> list[str]:
    by_people = {(item.criterion, label) for item, kind, _, label in labels if kind == "human"}
    by_llms = ((item.criterion, label) for item, kind, _, label in labels if kind == "llm")
    only = Counter(answer for answer in by_llms if answer not in by_people)
    notes = [
        f"{criterion}: LLMs say {label!r} {n} times, no person does"
        for (criterion, label), n in only.items()
    ]
    if again:
        notes.append(f"{again} ratings of an item a rater had rated before were left out")
    notes.append(
        "labels were published with unparsed LLM replies already replaced by a default label"
    )
    return notes


FORMAT = Format(
    "alternative annotator test folder: labels of people and LLMs",
    read,
    marks=tuple((name, ()) for name in FILES.values()),
)
