"""The folder of `metal adjudicate plan`: what was drawn, the forms, and the answers that came back.

run.toml       from which data, with which settings
key            the secret that task ids are made with; the same in a plan for more outputs
drawn.jsonl    task, output, criterion, language, chance: what a form's ids stand for
answers.jsonl  every answer that was imported: who decided what, and what else would do
*.html, ...    the forms
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from dataclasses import replace as with_fields
from pathlib import Path

from metal.building.also import label_of, others
from metal.building.answers import read_score
from metal.building.tasks import Answer
from metal.data.files import read_jsonl, write_jsonl
from metal.data.records import Criterion
from metal.errors import DataError
from metal.questions.adjudicate.forms import Drawn, asked_in_forms

DRAWN, ANSWERS, KEY = "drawn.jsonl", "answers.jsonl", "key"


@dataclass(frozen=True)
class Decision:
    """What an adjudicator said about an output.

    answer: the value of a level; None if the output cannot be decided. also: the values of other
    levels that would do as well.
    """

    task: str
    adjudicator: str
    answer: float | None
    also: tuple[float, ...] = ()
    comment: str = ""

    def on_other_levels(self, values: Mapping[float, float]) -> Decision | None:
        """The same on a scale whose levels have other values; None if it lacks the answer's level.

        values: of levels with the same label, the earlier value and the one now.
        """
        if self.answer is None:
            return self
        if self.answer not in values:
            return None
        also = tuple(values[value] for value in self.also if value in values)
        return with_fields(self, answer=values[self.answer], also=also)

    def agrees(self, other: Decision) -> bool:
        """Whether two decisions are alike, or one allows the answer of the other."""
        same = self.answer == other.answer
        return same or self.answer in other.also or other.answer in self.also


def read_plan(folder: Path) -> dict[str, Drawn]:
    """Read what was drawn, by task. Raises DataError for a bad file."""
    drawn = {}
    for row, entry in read_jsonl(folder / DRAWN):
        try:
            output = Drawn(**entry)
        except TypeError:
            problem = "not an output that was drawn"
            raise DataError(
                f"{folder / DRAWN} row {row + 1}", problem, "Restore the file, or plan again"
            ) from None
        drawn[output.task] = output
    return drawn


def write_plan(folder: Path, key: str, drawn: Iterable[Drawn]) -> None:
    """Write what was drawn, and the key from which ids of tasks are made."""
    (folder / KEY).touch(0o600)  # before anything is in it
    (folder / KEY).write_text(key, encoding="ascii")
    write_jsonl(folder / DRAWN, map(asdict, drawn))


def read_key(folder: Path) -> str:
    """Read the key of a plan's ids. Raises DataError without a key."""
    path = folder / KEY
    if not path.is_file():
        raise DataError(path, "not there", "Restore the file, or make a new plan")
    return path.read_text(encoding="ascii").strip()


def read_decisions(folder: Path) -> list[Decision]:
    """Read the answers that were imported so far."""
    path = folder / ANSWERS
    if not path.is_file():
        return []
    decisions = []
    for row, entry in read_jsonl(path):
        try:
            decisions.append(Decision(**{**entry, "also": tuple(entry.get("also", ()))}))
        except TypeError:
            raise DataError(
                f"{path} row {row + 1}", "not an answer", "Restore the file from a copy"
            ) from None
    return decisions


def write_decisions(folder: Path, decisions: Iterable[Decision]) -> None:
    """Write all answers."""
    write_jsonl(folder / ANSWERS, map(asdict, decisions))


def decided(
    answers: Sequence[Answer],
    drawn: Mapping[str, Drawn],
    criteria: Mapping[str, Criterion],
    panel: Iterable[str],
    before: Sequence[Decision],
    *,
    replace: bool = False,
) -> list[Decision]:
    """Combine the answers so far with those that came back now, one for each adjudicator and
    output.

    panel: the people with whom the judge is compared. Raises DataError for an output that was
    not drawn, an adjudicator who is one of the panel, an answer off the scale, and two different
    answers of one person, unless a later one may replace the earlier one (`replace`).
    """
    people = {name.strip().casefold() for name in panel}
    if strange := [each.task for each in before if each.task not in drawn]:
        problem = f"task {strange[0]!r} was not drawn in this plan"
        raise DataError(ANSWERS, problem, "Restore the file from a copy")
    latest = {(each.task, each.adjudicator): each for each in before}
    for answer in answers:
        decision = _decision(answer, drawn, criteria, people)
        if decision is None:
            continue
        key = decision.task, decision.adjudicator
        earlier = latest.get(key, decision)
        if (earlier.answer, earlier.also) != (decision.answer, decision.also) and not replace:
            raise DataError(
                answer.where,
                f"{answer.rater} decided task {answer.task} otherwise before",
                "Pass `replace=True` if this answer counts",
            )
        latest[key] = decision
    return list(latest.values())


def _check_asked(answer: Answer, own: str, also: str) -> None:
    """Raise DataError if the second question is answered but the first is not, or has no column.

    The first answer may then be in a column that was renamed.
    """
    if answer.scores.get(also) and not answer.scores.get(own):
        raise DataError(
            answer.where,
            f"an answer under {also!r}, none under {own!r}",
            f"Write the answer under {own!r}, or empty both",
        )


def _decision(
    answer: Answer,
    drawn: Mapping[str, Drawn],
    criteria: Mapping[str, Criterion],
    people: set[str],
) -> Decision | None:
    """The decision in an answer; None if the answer is blank."""
    if answer.task not in drawn:
        raise DataError(
            answer.where,
            f"task {answer.task!r} was not drawn in this plan",
            "Is the file of another plan? Give the folder that its form came from",
        )
    if answer.rater.strip().casefold() in people:
        raise DataError(
            answer.where,
            f"{answer.rater} is one of those that are compared",
            "Let somebody else decide, or plan again with `reference` and leave this person out",
        )
    criterion = criteria[drawn[answer.task].criterion]
    own, also = asked_in_forms(criterion).values()
    _check_asked(answer, own.name, also.name)
    value = read_score(answer.scores.get(own.name, ""), own, answer.where)
    if value is None:
        return None
    if value == own.scale.levels[-1].value:
        return Decision(answer.task, answer.rater, None, (), answer.comment)
    more = read_score(answer.scores.get(also.name, ""), also, answer.where)
    would_do = others(criterion, label_of(also, more), value)
    return Decision(answer.task, answer.rater, value, would_do, answer.comment)
