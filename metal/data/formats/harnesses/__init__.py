"""Results of other evaluation harnesses, one file each.

A reader turns its file into plain rows, one per rating, whose keys are the roles of a table
(`rater`, `kind`, `criterion`, `score`, ...; see metal.data.tables.names.GUESSES). `HarnessRows`
hands them to the table reader, so scales, levels, languages, repeats and missing answers are read
as in any table, and the user's reading options apply.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from metal.data.dataset_lines import read_criterion
from metal.data.formats import Draft
from metal.data.formats.harnesses.means import note_on_means
from metal.data.formats.harnesses.people import (
    criterion_named,
    is_a_person,
    name_people,
    without_criterion,
)
from metal.data.formats.harnesses.values import as_answer, as_text, is_number, is_scalar, mapping
from metal.data.formats.table import OPTIONS as OF_TABLES
from metal.data.formats.table import draft_from
from metal.data.holdings import REPEAT_OF
from metal.data.languages import UNNAMED
from metal.data.people import NO_CRITERION, NO_PERSON
from metal.data.records import Criterion
from metal.data.tables.described import Described, below
from metal.data.tables.names import GUESSES
from metal.data.text import first_few, plural
from metal.errors import DataError

# The options that every reader of a harness has; its columns are known, and its cells are typed.
OPTIONS = OF_TABLES - {"wide", "decimal", "sheet", "reader", "scales"}
BY_TABLE = "import the file and join a table of their ratings with the same ids of outputs"
LONGEST_NAME = 200  # of a field that may be a person's
MOST_FURTHER = 100  # columns that no role reads, for the option `columns`; more are ids or texts
_ANSWERS = ("score", "winner")  # columns that stay, though nobody answered
_TEXTS = frozenset(GUESSES) - {"score", "confidence", "repeat"}


@dataclass
class HarnessRows:
    """What a reader has gathered so far.

    harness: its name in notes, with its version if the file says it. people: how its results get
    scores by people; a sentence that begins "To add people,". rows: one dictionary per rating.
    beside: numbers in an item's metadata, which may be people's ratings, with the name of their
    field; placed: those names that were read so. left_out: what was not read, with counts.
    per_criterion: option -> {criterion: value}, what the harness itself says of its scales; the
    user's options come first. criteria: by name, as METAL's own exports describe them. repeated:
    {rater: the judge who answered again under this name, and the number of the time}.
    """

    harness: str
    people: str = BY_TABLE
    rows: list[dict[str, Any]] = field(default_factory=list)
    beside: list[tuple[str, Any, Mapping[str, Any], Mapping[str, Any]]] = field(
        default_factory=list
    )
    placed: set[str] = field(default_factory=set)
    left_out: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    per_criterion: dict[str, dict[str, Any]] = field(default_factory=dict)
    criteria: dict[str, Criterion] = field(default_factory=dict)
    repeated: dict[str, tuple[str, int]] = field(default_factory=dict)

    def add(self, further: Mapping[str, Any] | None = None, **cells: Any) -> None:
        """Add a rating. cells: {role: value}; of `score` a number, a text or None, and `reason`
        says why it is None; `rater` is None for a person whom the file does not name. further: what
        else the file says of it, {column: value}, as metadata. `repeats` and `sample` are no roles:
        METAL's exports say with them which judge answered again under the rater's name.

        Raises ValueError for a role that does not exist.
        """
        judge, time = (cells.pop(name, None) for name in REPEAT_OF)
        if isinstance(judge, str) and judge and type(time) is int and time > 1:
            self.repeated[str(cells["rater"])] = (judge, time)
        self.rows.append(self._row(further, cells))

    def add_people(self, metadata: Any, further: Mapping[str, Any], **cells: Any) -> None:
        """Add the numbers in an item's metadata whose names are people's (`human`, `annotator_1`,
        `human_fluency`) as their ratings of the item, for harnesses that have no mark of people;
        and those whose names the option `kinds` calls human.

        cells: the roles of the item, without rater, criterion and score. The criterion is the one
        that the name names, else the judges' only one.
        """
        for name, value in mapping(metadata).items():
            if is_number(value) and len(str(name)) <= LONGEST_NAME:
                self.beside.append((str(name), value, further, cells))

    def _row(self, further: Mapping[str, Any] | None, cells: Mapping[str, Any]) -> dict[str, Any]:
        if unknown := [role for role in cells if role not in GUESSES]:
            raise ValueError(f"no such role: {', '.join(sorted(unknown))}")
        row = {name: value for name, value in (further or {}).items() if is_scalar(value)}
        for role, value in cells.items():
            row[role] = as_text(value) if role in _TEXTS else as_answer(value)
        if row.get("score") is not None:
            row.pop("reason", None)  # it says why there is no score
        return row

    def leave_out(self, what: str, count: int = 1) -> None:
        """Count what is not read; `what` is a plural ("events of other types")."""
        self.left_out[what] += count

    def say_scale(self, criterion: str, **options: Any) -> None:
        """Declare the criterion's scale as the harness defines it: options of a table such as
        `levels`, `directions`, `ranges`.
        """
        for option, value in options.items():
            self.per_criterion.setdefault(option, {})[criterion] = value

    def describe(self, records: Any, file: Path) -> None:
        """Take the criteria in records that `metal export` wrote: {name: as in dataset.toml}.

        Raises DataError for a record that is no criterion.
        """
        for name, record in mapping(records).items():
            self.criteria[str(name)] = read_criterion(str(name), record, file)

    def draft(self, options: Mapping[str, Any], file: Path, notes: Iterable[str] = ()) -> Draft:
        """The draft of everything gathered. options: the user's; file: the file that messages name;
        notes: on how its table was read.

        Raises DataError if there is no rating, and what the table reader raises.
        """
        if not self.rows:
            problem = f"no scores in these results of {self.harness}{self._left()}"
            raise DataError(file, problem, "Run the evaluation with a scorer, and export it again")
        self.notes[:0] = notes
        if nameless := name_people(self.rows):
            self.notes.append(nameless)
        self.place_people(options)
        self._complete_sources()
        if not any(row["kind"] == "human" for row in self.rows):
            self.notes.append(f"{NO_PERSON}{self.people}")
        frame = self._frame()
        columns = {role: role for role in GUESSES if role in frame}
        own: dict[str, Any] = {"columns": columns | dict(options.get("columns") or {})}
        _complete_languages(frame, own["columns"], options)
        options = Described(self.criteria).options(options)
        for option, by_criterion in self.per_criterion.items():
            own[option] = below(options.get(option), self._of_rows(by_criterion, options))
        draft = draft_from(frame, {**options, **own, "repeated": self.repeated}, file)
        if means := note_on_means(draft):
            draft = replace(draft, notes=(*draft.notes, means))
        if draft.columns is None:
            return draft
        of_format = frozenset(role for role, name in own["columns"].items() if role == name)
        return replace(draft, columns=replace(draft.columns, of_format=of_format))

    def place_people(self, options: Mapping[str, Any]) -> None:
        """Move ratings of people in metadata to the criteria that they belong to; `draft` does it
        unless a reader needs them before. Notes: which, and those for which there are several
        criteria.
        """
        of_judges = dict.fromkeys(row["criterion"] for row in self.rows if row["kind"] == "llm")
        criteria = list(of_judges or dict.fromkeys(row["criterion"] for row in self.rows))
        criterion_of: dict[str, str] = {}
        unclear: Counter[str] = Counter()
        kinds = options.get("kinds") or {}
        beside, self.beside = self.beside, []
        seen: set[tuple[Any, ...]] = set()
        for name, value, further, cells in beside:
            same = (name, *(str(cells.get(role)) for role in ("output", "source", "text")), value)
            if not is_a_person(name, kinds) or same in seen:  # an item's, repeated with each epoch
                continue
            seen.add(same)
            criterion = criterion_named(name, criteria)
            if criterion is None:
                unclear[name] += 1
                continue
            criterion_of[name] = criterion
            rater = without_criterion(name, criterion)
            row = self._row(further, {**cells, "kind": "human", "score": value})
            self.rows.append({**row, "criterion": criterion, "rater": rater})
        self.placed |= criterion_of.keys()
        if criterion_of:
            listed = [f"{name} ({criterion})" for name, criterion in criterion_of.items()]
            self.notes.append(f"people's scores in the metadata, by name: {first_few(listed)}")
        for name, count in unclear.items():
            self.notes.append(
                f"{plural(count, 'score')} in the metadata's {name!r} {NO_CRITERION}"
                f" {len(criteria)} criteria: call it {name}_CRITERION"
            )

    def _complete_sources(self) -> None:
        """Make outputs without a source sources of their own, if others have one. Note: how many
        ratings.
        """
        without = [row for row in self.rows if not row.get("source") and row.get("output")]
        if not without or len(without) == len(self.rows):
            return
        for row in without:
            row["source"] = row["output"]
        count = plural(len(without), "rating")
        self.notes.append(f"{count} of outputs whose source is unknown: each output has its own")

    def _of_rows(
        self, by_criterion: Mapping[str, Any], options: Mapping[str, Any]
    ) -> dict[str, Any]:
        """What the harness says of the criteria that were read; if the user names one for all rows,
        what it says of all of them alike.
        """
        read = {str(row["criterion"]) for row in self.rows}
        kept = {name: by_criterion[name] for name in by_criterion.keys() & read}
        kept = {name: value for name, value in kept.items() if name not in self.criteria}
        named = options.get("criterion")
        if not named:
            return kept
        values = list(kept.values())
        alike = kept.keys() == read and all(value == values[0] for value in values)
        return {named: values[0]} if alike else {}

    def _is_placed(self, column: str) -> bool:
        """Whether a further column, `metadata.human`, was read as a person's scores."""
        return column.partition(".")[2] in self.placed

    def _frame(self) -> pd.DataFrame:
        """The rows as a frame; its notes say what was read and what was left out."""
        count = plural(len(self.rows), "rating")
        notes = [f"results of {self.harness}: {count} read{self._left()}", *self.notes]
        names = Counter(name for row in self.rows for name in row)
        further = [name for name in names if name not in GUESSES and not self._is_placed(name)]
        dropped = further[MOST_FURTHER:]
        if dropped:
            notes.append(f"{plural(len(dropped), 'further field')} left out: {first_few(dropped)}")
        kept = [name for name in names if name in GUESSES or name in further[:MOST_FURTHER]]
        frame = pd.DataFrame(
            {name: pd.Series([row.get(name) for row in self.rows], dtype=object) for name in kept}
        )
        empty = [name for name in frame if name not in _ANSWERS and frame[name].isna().all()]
        frame = frame.drop(columns=empty)
        frame.attrs["notes"] = notes
        return frame

    def _left(self) -> str:
        counts = [f"{count:,} {what}" for what, count in self.left_out.items()]
        return f"; left out: {', '.join(counts)}" if counts else ""


def _complete_languages(
    frame: pd.DataFrame, columns: Mapping[str, str], options: Mapping[str, Any]
) -> None:
    """Make the language of ratings that name none unknown, if others name theirs. Note: how
    many.
    """
    column = columns.get("language", "")
    if options.get("language") or column not in frame:
        return
    unnamed = frame[column].isna()
    if unnamed.any():
        frame[column] = frame[column].mask(unnamed, UNNAMED)
        frame.attrs["notes"].append(
            f"{int(unnamed.sum()):,} of {len(frame):,} ratings name no language, so it is unknown"
            f" ({UNNAMED}). Write it into each item's metadata, or give one language for all:"
            ' `language="en"`'
        )
