"""Scores of inspect_ai as ratings: what a value means, which criterion a scorer answers, which
scorers are judges, and what people edited.

C, P, I and N are 1, 0.5, 0 and 0, as inspect_ai counts them, and answer the criterion correctness.
Other values answer a criterion with the scorer's name. Values by key (`{"fluency": 3}`) answer
criteria with the keys' names.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from metal.data.formats.harnesses import HarnessRows
from metal.data.formats.harnesses.records import LabelledNumbers
from metal.data.formats.harnesses.values import mapping, objects
from metal.data.holdings import EXPORT_MARK
from metal.data.records import KINDS
from metal.data.tables.names import is_machine
from metal.data.text import first_few, plural

CORRECTNESS = "correctness"
LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
UNCHANGED = "UNCHANGED"
# Scorers of inspect_ai that compare with the target, without a model.
COMPARING = frozenset({"match", "includes", "exact", "f1", "pattern", "answer", "choice", "math"})
MOST_REASON = 120  # characters; a reason is a kind of case, a comment says more


@dataclass(frozen=True)
class InspectScore:
    """A scorer's value of a sample, or the value to which a person (`author`) changed it.

    item: the sample's roles; further: its metadata. key: the key, for a value by key. reason: why
    there is no value. kind: the author's, and label: the value's, if METAL wrote the score
    (`metal export --to inspect`).
    """

    item: Mapping[str, Any]
    further: Mapping[str, Any]
    scorer: str
    value: Any
    comment: Any = None
    reason: str = ""
    key: str = ""
    author: str = ""
    kind: str = ""
    label: str = ""

    @property
    def answered(self) -> tuple[str, str]:
        """The scorer and the key, which together have a scale of their own."""
        return self.scorer, self.key


@dataclass
class Scorers:
    """What the file shows about its scorers: which of them ask a model, which certainly do not, and
    which give explanations.
    """

    asking: set[str] = field(default_factory=set)
    seen: set[str] = field(default_factory=set)
    explaining: set[str] = field(default_factory=set)

    def note_score(self, name: str, score: Mapping[str, Any]) -> None:
        """Note what a score shows about its scorer: a conversation with a model, or an
        explanation.
        """
        if "grading" in mapping(score.get("metadata")):
            self.asking.add(name)
        if score.get("explanation") not in (None, "", score.get("answer")):
            self.explaining.add(name)

    def kind(self, name: str) -> str:
        """llm for a scorer that asks a model, else metric; by its name and explanations if the file
        does not show what it did.
        """
        if name in self.asking or "model_graded" in name:
            return "llm"
        plain = name.rpartition("/")[2].rstrip("0123456789")
        if name in self.seen or plain in COMPARING:
            return "metric"
        return "llm" if is_machine(name) or name in self.explaining else "metric"


# ---------------------------------------------------------------- from a file's values


def scores_of(
    item: Mapping[str, Any], further: Mapping[str, Any], scorer: str, score: Mapping[str, Any]
) -> Iterator[InspectScore]:
    """The scorer's values of a sample, and those that people gave instead. score: as in the log."""
    ours = mapping(score.get("metadata"))
    rater = ours.get("rater")
    if EXPORT_MARK in ours and isinstance(rater, str) and ours.get("kind") in KINDS:
        criterion = scorer.removesuffix(f" by {rater}")
        kind, label = str(ours["kind"]), str(score.get("answer") or "")
        for each in _values(item, further, scorer, score):
            yield replace(each, key=criterion, author=rater, kind=kind, label=label)
        return
    history = objects(score.get("history"))
    first = history[0] if history and not history[0].get("provenance") else score
    yield from _values(item, further, scorer, {**score, **_changed(first)})
    for author, edit in _edits(history).items():
        metadata = mapping(edit.get("provenance")).get("metadata")
        for each in _values(item, further, scorer, {"metadata": metadata, **_changed(edit)}):
            yield replace(each, author=author)


def _changed(edit: Mapping[str, Any]) -> dict[str, Any]:
    fields = {name: edit.get(name) for name in ("value", "explanation", "metadata")}
    return {name: value for name, value in fields.items() if value != UNCHANGED}


def _edits(history: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """The last edit of a value by each author."""
    edits: dict[str, Mapping[str, Any]] = {}
    for edit in history:
        author = str(mapping(edit.get("provenance")).get("author") or "")
        if author and edit.get("value") not in (None, UNCHANGED):
            edits.pop(author, None)
            edits[author] = edit
    return edits


def _values(
    item: Mapping[str, Any], further: Mapping[str, Any], scorer: str, score: Mapping[str, Any]
) -> Iterator[InspectScore]:
    value, comment = score.get("value"), score.get("explanation")
    by_key = value if isinstance(value, dict) else {"": value}
    for key, each in by_key.items():
        reason = ""
        if each is None or (isinstance(each, float) and math.isnan(each)):
            why = mapping(score.get("metadata")).get("reason") or comment or "unscored"
            why = score.get("reason") or why
            reason = str(why).strip()[:MOST_REASON]
            each = None
        yield InspectScore(item, further, scorer, each, comment, reason, str(key))


# ---------------------------------------------------------------- to ratings


def add_scores(gathered: HarnessRows, scores: Sequence[InspectScore], scorers: Scorers) -> None:
    """Add the scores of all samples as ratings, and note what was decided about them."""
    lettered = _lettered(scores)
    kept = _without_corrections(gathered, scores)
    own = {_rated(score, lettered) for score in kept if not score.author}
    labels = LabelledNumbers()
    for score in kept:
        if isinstance(score.value, list | dict):
            gathered.leave_out("values that are lists")
            continue
        if score.kind and _rated(score, lettered) in own:
            gathered.leave_out("scores exported by METAL that the log also has itself")
            continue
        letters = score.answered in lettered
        *_, criterion = _rated(score, lettered)
        value = score.value
        if letters and isinstance(value, str):
            value = LETTERS[value]
        who = {"rater": score.scorer, "kind": scorers.kind(score.scorer)}
        if score.author:
            who = {"rater": score.author, "kind": score.kind or "human"}
        if score.kind:
            labels.note(criterion, score.label, value)
        answer = {"score": value, "reason": score.reason, "comment": score.comment}
        gathered.add(score.further, **score.item, **who, criterion=criterion, **answer)
    labels.say(gathered)
    _say_levels(gathered, scores, lettered)
    _say_kinds(gathered, dict.fromkeys(score.scorer for score in kept if not score.author), scorers)


def _rated(
    score: InspectScore, lettered: Mapping[tuple[str, str], set[str]]
) -> tuple[int, str, str]:
    """The sample, the rater and the criterion of a score."""
    criterion = score.key or (CORRECTNESS if score.answered in lettered else score.scorer)
    return id(score.item), score.author or score.scorer, criterion


def _lettered(scores: Iterable[InspectScore]) -> dict[tuple[str, str], set[str]]:
    """The scorers whose values are all letters of inspect_ai, or true and false; each with the
    letters that occur.
    """
    values: dict[tuple[str, str], set[Any]] = {}
    for score in scores:
        value = score.value
        if isinstance(value, bool):
            value = "C" if value else "I"
        if isinstance(value, str | int | float):
            values.setdefault(score.answered, set()).add(value)
    return {answered: each for answered, each in values.items() if each <= LETTERS.keys()}


def _without_corrections(
    gathered: HarnessRows, scores: Sequence[InspectScore]
) -> list[InspectScore]:
    """The scores without the edits of people who never confirmed a score, because such edits show
    where these people disagree with the scorer, but not where they agree. A note says how many
    edits are left out.
    """
    original: dict[tuple[int, str, str], Any] = {}
    confirming: set[str] = set()
    edits: Counter[str] = Counter()
    for score in scores:
        rated = (id(score.item), *score.answered)
        if not score.author or score.kind:
            original[rated] = score.value
            continue
        edits[score.author] += 1
        if original.get(rated) == score.value:
            confirming.add(score.author)
    for author, count in edits.items():
        if author not in confirming:
            gathered.notes.append(
                f"{plural(count, 'edit')} by {author} left out: each changes a score, so nothing"
                " shows which scores the person agreed with; edit these, too, with the same value"
            )
    return [
        score for score in scores if not score.author or score.kind or score.author in confirming
    ]


def _say_levels(
    gathered: HarnessRows,
    scores: Iterable[InspectScore],
    lettered: Mapping[tuple[str, str], set[str]],
) -> None:
    """Declare the levels of criteria answered in letters. A note says how often N counts as 0."""
    letters_of: dict[str, set[str]] = {}
    for (_, key), letters in lettered.items():
        letters_of.setdefault(key or CORRECTNESS, set()).update(letters)
    for criterion, letters in letters_of.items():
        partly = "0.5=partly correct," * ("P" in letters)
        levels = f"0=incorrect,{partly}1=correct"
        gathered.say_scale(criterion, levels=levels, directions="higher")
    unanswered = Counter(score.scorer for score in scores if score.value == "N")
    for scorer, count in unanswered.items():
        if scorer in {name for name, _ in lettered}:
            gathered.notes.append(
                f"{scorer}: N (no answer) counts as 0, as in inspect_ai: {count:,}"
            )


def _say_kinds(gathered: HarnessRows, names: Iterable[str], scorers: Scorers) -> None:
    judges = [name for name in names if scorers.kind(name) == "llm"]
    metrics = [name for name in names if name not in judges]
    lists = {"judges": judges, "metrics": metrics}
    taken = "; ".join(f"{kind}: {first_few(each)}" for kind, each in lists.items() if each)
    if taken:
        gathered.notes.append(
            f"scorers that ask a model are judges, and all others are metrics; {taken}"
        )
