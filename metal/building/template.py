"""What a task shows people, and what it asks them: prompts/annotate/NAME.toml, a file for each kind of task.

    reference = "hidden"      # or "shown": the reference beside the output; or "paired": both side by side, blind
    instructions = "..."      # how to go about it; paragraphs
    [headings]                # source, output, reference; of a pair: source, first, second
    [[levels]]                # of every criterion without levels of its own
    [criteria.NAME]           # as in a rubric file (see metal.raters.judges.rubric), and:
    compares = true           # its levels compare the second text with the first; for each level, `shown` is what
                              # people read, and `label` what it means for the output: more is better for the output

A criterion whose table is empty is the one of prompts/criteria/NAME.toml.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from metal.data.files import read_toml
from metal.data.records import Criterion
from metal.errors import DataError, UnknownName
from metal.raters.judges.rubric import Rubric, declared

Reference = Literal["hidden", "shown", "paired"]
REFERENCES = ("hidden", "shown", "paired")
DEFAULT = "metal"
HEADINGS: Mapping[str, Mapping[str, str]] = {
    "hidden": {"source": "Source", "output": "Output to rate"},
    "shown": {"source": "Source", "reference": "Reference", "output": "Output to rate"},
    "paired": {"source": "Source", "first": "Text A", "second": "Text B"},
}
TEXTS = ("reference", "output", "first", "second")  # every name that a text beside the source has in a form
_KEYS = ("reference", "instructions", "headings", "levels", "criteria")


@dataclass(frozen=True)
class TaskTemplate:
    """How a task is shown. The default is METAL's own: a source and an output; nobody sees the reference.

    headings: by field, those that differ from HEADINGS. criteria: as a dataset has to declare them. rubrics: what
    people read about them, for those that the template describes. compared: those that compare the texts of a pair.
    """

    name: str = DEFAULT
    reference: Reference = "hidden"
    instructions: str = ""
    headings: Mapping[str, str] = field(default_factory=dict)
    criteria: Mapping[str, Criterion] = field(default_factory=dict)
    rubrics: Mapping[str, Rubric] = field(default_factory=dict)
    compared: frozenset[str] = frozenset()

    @property
    def paired(self) -> bool:
        """Whether people see the reference and the output side by side, without knowing which is which."""
        return self.reference == "paired"

    def heading(self, name: str) -> str:
        """The heading above the source or a text."""
        return self.headings.get(name) or HEADINGS[self.reference][name]

    @property
    def texts(self) -> tuple[str, ...]:
        """The names of the texts beside the source, in order. The last is one that is rated."""
        return tuple(name for name in HEADINGS[self.reference] if name != "source")

    @property
    def rated(self) -> tuple[str, ...]:
        """The names of the texts that are rated."""
        return tuple(name for name in self.texts if name != "reference")

    @property
    def paragraphs(self) -> list[str]:
        """The instructions, paragraph by paragraph."""
        return [" ".join(part.split()) for part in self.instructions.split("\n\n") if part.strip()]


METAL = TaskTemplate()


def named_files(folders: Iterable[Path], kind: str) -> dict[str, Path]:
    """Name -> the first KIND/NAME.toml in the folders."""
    files = [path for folder in folders for path in (folder / kind).glob("*.toml")]
    return {path.stem: path for path in reversed(files)}


def load_template(name: str, folders: Sequence[Path]) -> TaskTemplate:
    """The first template of that name in the folders. Raises UnknownName, or DataError for a bad file."""
    paths = named_files(folders, "annotate")
    if name in paths:
        return _read(name, paths[name], folders)
    remedy = "Or give your own as annotate/NAME.toml with `prompt_folders='DIR'`"
    raise UnknownName("template", name, sorted(paths), remedy)


def _read(name: str, path: Path, folders: Sequence[Path]) -> TaskTemplate:
    content = read_toml(path)
    for key in content:
        if key not in _KEYS:
            raise UnknownName(f"{path}: key", key, _KEYS)
    reference = content.get("reference", "hidden")
    if reference not in REFERENCES:
        raise DataError(path, f"reference is {reference!r}", f"It is one of {', '.join(REFERENCES)}")
    instructions, headings = content.get("instructions", ""), content.get("headings", {})
    if not isinstance(instructions, str):
        raise DataError(path, "instructions is not a text", 'Write instructions = """..."""')
    if not isinstance(headings, dict) or not all(isinstance(text, str) for text in headings.values()):
        raise DataError(path, "headings is not a table of texts", 'Write source = "Article" under [headings]')
    for key in headings:
        if key not in HEADINGS[reference]:
            raise UnknownName(f"{path}: headings: key", key, HEADINGS[reference])
    tables = content.get("criteria", {})
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        raise DataError(path, "criteria is not a table of tables", "Write [criteria.NAME] before each")
    criteria, rubrics, compared = {}, {}, set()
    for criterion, table in tables.items():
        if not table:
            criteria[criterion] = _bundled(criterion, path, folders)
            continue
        criteria[criterion], rubrics[criterion] = _criterion(
            criterion, {"levels": content.get("levels", [])} | table, path
        )
        if _compares(criterion, table, path):
            _check_compared(criteria[criterion], reference, path)
            compared.add(criterion)
    return TaskTemplate(name, reference, instructions, headings, criteria, rubrics, frozenset(compared))


def _bundled(name: str, path: Path, folders: Sequence[Path]) -> Criterion:
    for folder in folders:
        rubric = folder / "criteria" / f"{name}.toml"
        if rubric.is_file():
            return declared(name, read_toml(rubric), rubric).criterion
    raise DataError(path, f"criterion {name} is empty, and there is no criteria/{name}.toml", "Say what is asked")


def _criterion(name: str, table: Mapping[str, Any], path: Path) -> tuple[Criterion, Rubric]:
    """The criterion as a dataset declares it, and as people read it, with the labels that are `shown`."""
    if not isinstance(table["levels"], list):
        raise DataError(path, f"criterion {name}: levels is not a list of tables", "Write [[levels]] before each")
    levels = [dict(level) if isinstance(level, dict) else level for level in table["levels"]]
    shown = [level.pop("shown", level.get("label", "")) if isinstance(level, dict) else "" for level in levels]
    plain = {key: value for key, value in table.items() if key not in ("compares", "levels")}
    rubric = declared(name, plain | ({"levels": levels} if levels else {}), path)
    return rubric.criterion, replace(rubric, criterion=relabelled(rubric.criterion, [str(text) for text in shown]))


def _compares(name: str, table: Mapping[str, Any], path: Path) -> bool:
    compares = table.get("compares", False)
    if not isinstance(compares, bool):
        raise DataError(path, f"criterion {name}: compares is {compares!r}", "It is true or false")
    return compares


def _check_compared(criterion: Criterion, reference: str, path: Path) -> None:
    if reference != "paired":
        raise DataError(path, f"criterion {criterion.name} compares, but nothing is", 'Set reference = "paired"')
    if criterion.scale.ends is None:
        raise DataError(
            path,
            f"criterion {criterion.name} compares on a scale without ends, which cannot be turned round",
            "Give it levels in an order, or a range",
        )


def relabelled(criterion: Criterion, labels: Sequence[str]) -> Criterion:
    """The criterion with other labels for its levels."""
    levels = tuple(replace(level, label=label) for level, label in zip(criterion.scale.levels, labels, strict=True))
    return replace(criterion, scale=replace(criterion.scale, levels=levels))
