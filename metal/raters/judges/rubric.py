"""Rubrics: what judges are told about a criterion.

A rubric comes from prompts/criteria/NAME.toml, from an annotation template, or from METAL's
released JSON files. A rubric file is like a criterion's table in dataset.toml with three additions:
`simple`, one or two sentences; `detailed`, a thorough description; and for each level a
`definition` and `reasons` to choose it.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from metal.data.dataset_lines import read_criterion
from metal.data.files import read_json, read_toml
from metal.data.records import Criterion, Level
from metal.errors import DataError, UsageError, check_known

SIMPLE, DETAILED, REVIEWED = "simple", "detailed", "reviewed"
UNREVIEWED = "unreviewed"


@dataclass(frozen=True)
class LevelText:
    """What a rubric says about one level."""

    definition: str = ""
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rubric:
    """A criterion with its texts. flipped: whether the rubric's scale runs opposite to the
    dataset's.

    reviewed: for a translation, the speaker of the language who has reviewed it, or UNREVIEWED.
    compared: whether its levels compare the output with a reference. optional: whether people may
    leave the criterion out. released: the texts of METAL's released files, as its prompts show
    them.
    """

    criterion: Criterion
    simple: str = ""
    detailed: str = ""
    levels: Mapping[float, LevelText] = field(default_factory=dict)
    flipped: bool = False
    reviewed: str = ""
    compared: bool = False
    optional: bool = False
    released: Mapping[str, str] = field(default_factory=dict)

    def score(self, judged: float) -> float:
        """Convert a judge's score to the dataset's scale; reverse it if the rubric is flipped."""
        if not self.flipped:
            return judged
        scale = self.criterion.scale
        if scale.levels:
            return scale.values[-1 - scale.values.index(judged)]
        return (
            scale.low + scale.high - judged
            if scale.low is not None and scale.high is not None
            else -judged
        )


def rubrics_for(
    criteria: Iterable[Criterion],
    folders: Sequence[Path],
    *,
    needed: Iterable[str] = (SIMPLE,),
    language: str = "",
    flip: Iterable[str] = (),
) -> dict[str, Rubric]:
    """Find the rubric of each criterion: from the first folder that has one, else only its question
    and levels.

    folders: prompt folders, the most specific first; each holds criteria/NAME.toml
    (criteria/NAME.LANGUAGE.toml for prompts in another language), or METAL's released
    simple/NAME.json and detailed/NAME.json. If no folder has one, the rubric comes from the first
    annotation template with a criterion of that name and scale. needed: the descriptions that
    prompts will show. flip: criteria whose rubric runs in reverse. Raises UsageError if a
    description is missing, DataError for a rubric whose scale differs from the dataset's.
    """
    rubrics = {}
    flip, needed = tuple(flip), tuple(needed)
    by_name = {criterion.name: criterion for criterion in criteria}
    check_known("criterion", flip, by_name)
    for name, criterion in by_name.items():
        rubric = _from_folders(criterion, folders, language, name in flip)
        rubric = rubric or Rubric(criterion)
        if name in flip:
            rubric = replace(rubric, flipped=True)
            # a rubric without levels of its own: the words go with it
            if rubric.criterion.scale is criterion.scale:
                rubric = replace(rubric, criterion=_turned(rubric.criterion))
        rubrics[name] = rubric
    check_described(rubrics, needed, language)
    return rubrics


def check_described(
    rubrics: Mapping[str, Rubric], needed: Iterable[str], language: str = ""
) -> None:
    """Raise UsageError if a criterion lacks a description that prompts will show. If prompts need
    no description, its question is enough.
    """
    needed = tuple(needed)
    for name, rubric in rubrics.items():
        worded = rubric.simple or rubric.detailed
        for description in needed if worded or not rubric.criterion.question else ():
            if not getattr(rubric, description, "x"):
                in_language, ending = (
                    (f" in {language!r}", f".{language}") if language else ("", "")
                )
                short = ', or use `prompt="simple"`' if rubric.simple else ""
                raise UsageError(
                    f"criterion {name} has no {description} description{in_language};"
                    f" {where_to_ask(name, ending)}{short}"
                )


def bears_file(name: str) -> bool:
    """Whether a criterion's name can be a file name, because it has only letters with marks,
    digits, `_` and `-`.
    """
    letters = (
        c for c in name if c not in "\u200c\u200d" and not unicodedata.category(c).startswith("M")
    )
    return bool(re.fullmatch(r"[\w-]+", "".join(letters)))


def where_to_ask(name: str, ending: str = "") -> str:
    """What the user can do if judges are told nothing about a criterion. ending: the ending of a
    file in another language.
    """
    if not bears_file(name):
        return (
            'write `question = "..."` for it in dataset.toml, because no file can have such a name'
        )
    remedy = "" if ending else ", as `metal.criterion_new` does with your question"
    return f"write criteria/{name}{ending}.toml in a folder of `prompt_folders`{remedy}"


def translated(rubric: Rubric, folders: Sequence[Path], language: str) -> Rubric:
    """The rubric translated by criteria/NAME.LANGUAGE.toml in the first folder that has this file.
    It stays unchanged without such a file, or if the translation leaves out the detailed
    description.
    """
    other = _from_folders(rubric.criterion, folders, language, rubric.flipped) if language else None
    return other if other and (other.detailed or not rubric.detailed) else rubric


def _turned(criterion: Criterion) -> Criterion:
    """The criterion with its labels in reverse order; labels that are bare numbers stay."""
    scale = criterion.scale
    if all(level.shown == level.label for level in scale.levels):
        return criterion
    labels = reversed([level.label for level in scale.levels])
    levels = tuple(
        replace(level, label=label) for level, label in zip(scale.levels, labels, strict=True)
    )
    return replace(criterion, scale=replace(scale, levels=levels))


def _from_folders(
    criterion: Criterion, folders: Sequence[Path], language: str, flipped: bool
) -> Rubric | None:
    ending = f".{language}" if language else ""
    for folder in folders:
        path = folder / "criteria" / f"{criterion.name}{ending}.toml"
        if path.is_file():
            return read_rubric(path, criterion, flipped)
        released = _released_rubric(criterion, folder) if not language else None
        if released:
            return released
    if language:
        return None
    paths = [sorted((folder / "annotate").glob("*.toml")) for folder in folders]
    for path in chain.from_iterable(paths):
        table = (content := read_toml(path)).get("criteria", {}).get(criterion.name)
        rubric = (
            in_template(criterion.name, table, content.get("levels", []), path)[0]
            if table
            else None
        )
        if rubric and _same_levels(rubric, criterion):
            return _fitting(
                replace(rubric, detailed=rubric.detailed or rubric.simple), criterion, path, flipped
            )
    return None


def _same_levels(rubric: Rubric, criterion: Criterion) -> bool:
    """Whether a template's criterion is the dataset's: the values of levels are equal and, if it
    compares the output with a reference, the labels too. (Scores of 1 to 5 that a table only calls
    `overall` do not compare.)
    """
    theirs, ours = rubric.criterion.scale, criterion.scale
    if rubric.compared and sorted(map(_label, theirs.levels)) != sorted(map(_label, ours.levels)):
        return False
    return theirs.values == ours.values


def _label(level: Level) -> str:
    return level.label.casefold()


def described(name: str, folders: Sequence[Path]) -> Criterion | None:
    """The criterion that the first criteria/NAME.toml in the folders declares; None if there is
    none.
    """
    paths = (folder / "criteria" / f"{name}.toml" for folder in folders)
    return next(
        (declared(name, read_toml(path), path).criterion for path in paths if path.is_file()), None
    )


def in_template(
    name: str, table: Mapping[str, Any], levels: Any, path: Path
) -> tuple[Rubric, list[str]]:
    """Read a criterion of an annotation template as a dataset declares it; also return the labels
    that people read.

    levels: the levels of criteria that declare none. Raises DataError for an invalid criterion.
    """
    listed = table.get("levels", levels)
    if not isinstance(listed, list):
        raise DataError(
            path,
            f"criterion {name}: levels is not a list of tables",
            "Write [[levels]] before each",
        )
    if not all(isinstance(level, dict) for level in listed):
        raise DataError(path, "levels", "Each is a table with value, label, definition and reasons")
    plain = [{key: text for key, text in level.items() if key != "shown"} for level in listed]
    rest = {key: value for key, value in table.items() if key not in ("compares", "levels")}
    rubric = declared(name, rest | ({"levels": plain} if plain else {}), path)
    rubric = replace(rubric, compared=table.get("compares") is True)
    return rubric, [str(level.get("shown", level.get("label", ""))) for level in listed]


def read_rubric(path: Path, criterion: Criterion, flipped: bool = False) -> Rubric:
    """Read a rubric file. Raises DataError if its scale or direction does not fit the dataset's
    criterion.

    flipped: whether the user says that its scale runs in reverse.
    """
    return _fitting(declared(criterion.name, read_toml(path), path), criterion, path, flipped)


def _fitting(rubric: Rubric, criterion: Criterion, path: Path, flipped: bool) -> Rubric:
    if criterion.scale.compares and not rubric.criterion.scale.compares:
        return replace(
            rubric,
            criterion=replace(criterion, label=criterion.label or rubric.criterion.label),
            levels={},
        )
    theirs, ours = rubric.criterion.scale, criterion.scale
    if (theirs.values, theirs.low, theirs.high) != (ours.values, ours.low, ours.high):
        raise DataError(
            path,
            f"its scale ({theirs.describe()}) is not the dataset's ({ours.describe()})",
            "Use the dataset's values, or give another rubric in a folder of `prompt_folders`",
        )
    labels, own_labels = (
        [level.label.casefold() for level in scale.levels] for scale in (theirs, ours)
    )
    if labels != own_labels and sorted(labels) == sorted(own_labels) and not flipped:
        raise DataError(
            path,
            f"its labels are in another order ({theirs.describe()}) than the dataset's"
            f" ({ours.describe()})",
            f'If its scale runs the other way, pass `flip=["{criterion.name}"]`',
        )
    if flipped and labels and labels == own_labels:
        raise DataError(
            path,
            f"its scale runs the same way as the dataset's ({theirs.describe()})",
            f'Leave `flip=["{criterion.name}"]` out',
        )
    if rubric.criterion.direction != criterion.direction:
        raise DataError(
            path,
            (
                f"{rubric.criterion.direction} is better here, but {criterion.direction} is better"
                " in the dataset"
            ),
            "If its scale runs the other way, set the dataset's direction there and pass "
            f'`flip=["{criterion.name}"]`',
        )
    return rubric


def declared(name: str, entry: Mapping[str, Any], path: Path) -> Rubric:
    """Read a rubric, with the criterion that it declares, from its TOML table. path: the file, for
    messages.
    """
    texts, levels = _level_texts(entry, path)
    plain = {key: value for key, value in entry.items() if key not in (SIMPLE, DETAILED, REVIEWED)}
    criterion = read_criterion(name, plain | ({"levels": levels} if levels else {}), path)
    for key in (SIMPLE, DETAILED, REVIEWED):
        if not isinstance(entry.get(key, ""), str):
            raise DataError(path, f"{key} is not a text", f'Write {key} = """..."""')
    simple, detailed, reviewed = (
        entry.get(key, "").strip() for key in (SIMPLE, DETAILED, REVIEWED)
    )
    return Rubric(criterion, simple, detailed, texts, reviewed=reviewed)


def _level_texts(
    entry: Mapping[str, Any], path: Path
) -> tuple[dict[float, LevelText], list[dict[str, Any]]]:
    """The texts by value of the level, and the tables of levels without the texts."""
    texts, bare = {}, []
    listed = entry.get("levels", [])
    if not isinstance(listed, list):
        raise DataError(path, "levels is not a list of tables", "Write [[levels]] before each")
    for level in listed:
        if not isinstance(level, dict):
            raise DataError(
                path, "levels", "Each is a table with value, label, definition and reasons"
            )
        check_known(f"{path}: levels: key", level, ["value", "label", "definition", "reasons"])
        reasons = level.get("reasons", [])
        if not isinstance(reasons, list) or not all(isinstance(reason, str) for reason in reasons):
            raise DataError(
                path, "reasons is not a list of texts", 'Write reasons = ["...", "..."]'
            )
        bare.append({key: level[key] for key in ("value", "label") if key in level})
        if isinstance(level.get("value"), int | float):
            texts[float(level["value"])] = LevelText(
                str(level.get("definition", "")).strip(), tuple(reasons)
            )
    return texts, bare


# ---------------------------------------------------------------- METAL's released rubrics


def _released_rubric(criterion: Criterion, folder: Path) -> Rubric | None:
    """Read a rubric from simple/NAME.json and detailed/NAME.json in the folder or its `metrics`
    folder; None if both are missing.
    """
    for base in (folder, folder / "metrics"):
        simple, detailed = (base / kind / f"{criterion.name}.json" for kind in (SIMPLE, DETAILED))
        if simple.is_file() or detailed.is_file():
            brief = _read_released(simple, criterion) if simple.is_file() else Rubric(criterion)
            full = _read_released(detailed, criterion) if detailed.is_file() else Rubric(criterion)
            named = full if detailed.is_file() else brief
            files = {SIMPLE: simple, DETAILED: detailed}
            shown = {
                kind: json.dumps([read_json(path, "")], indent=4, ensure_ascii=False)
                for kind, path in files.items()
                if path.is_file()
            }
            return Rubric(named.criterion, brief.simple, full.simple, full.levels, released=shown)
    return None


def _read_released(path: Path, criterion: Criterion) -> Rubric:
    """Read a released file: {"name", "description", "scoring": a text, or {"0": {"(a)": reason,
    ...}, ...}}.
    """
    shape = 'an object with "name", "description" and "scoring"'
    content = read_json(path, shape)
    if not isinstance(content, dict) or not isinstance(content.get("description"), str):
        raise DataError(path, 'no "description"', f"It should be {shape}")
    named = replace(criterion, label=str(content.get("name") or criterion.label))
    scoring = content.get("scoring", "")
    if criterion.scale.compares:  # what makes one better is what makes it good
        return Rubric(named, content["description"].strip())
    if isinstance(scoring, str):
        return Rubric(
            named,
            "\n".join(part.strip() for part in (content["description"], scoring) if part.strip()),
        )
    if not isinstance(scoring, dict):
        raise DataError(path, '"scoring" is neither a text nor an object', f"It should be {shape}")
    texts = {}
    for key, reasons in scoring.items():
        try:
            value = float(key)
        except ValueError:
            raise DataError(
                path, f"scoring: {key!r} is not a score", "Its keys are the scores"
            ) from None
        if not criterion.scale.allows(value):
            raise DataError(
                path,
                f"scoring: {key} is not on the scale of {criterion.name}"
                f" ({criterion.scale.describe()})",
                "Import the dataset with the rubric's levels",
            )
        listed = reasons if isinstance(reasons, list) else [reasons]
        if isinstance(reasons, dict):
            listed = list(reasons.values())
        texts[value] = LevelText("", tuple(map(str, listed)))
    return Rubric(named, content["description"].strip(), levels=texts)
