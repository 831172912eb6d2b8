"""METAL's basic records, which are frozen and check themselves. Everything that computes is a
function of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from metal.data.scale_texts import ends_of, numbered_labels
from metal.errors import DataError

if TYPE_CHECKING:
    import numpy as np

# of raters, in words
KINDS = {"human": "person", "llm": "LLM judge", "metric": "metric", "baseline": "baseline"}
MEASURES = ("nominal", "ordinal", "interval")
DIRECTIONS = ("higher", "lower")

Kind = Literal["human", "llm", "metric", "baseline"]
Measure = Literal["nominal", "ordinal", "interval"]
Direction = Literal["higher", "lower"]

SWAPPED = "swapped"  # the condition of a pair that was shown the other way round
NOT_TOLD = "not told"  # the version of a model that its replies do not name
SYNTHETIC = "synthetic"  # the family of judges whose answers are made up
EMPTY = "empty"  # the condition of an output whose text was taken away
FIRST, SECOND, TIE = 0.0, 1.0, 2.0  # the scores of a pair

Scores = TypeVar("Scores", float, "np.ndarray[Any, np.dtype[np.float64]]")


def _named(record: object, own: str, *others: str) -> None:
    """Raise DataError if the record's own name, or another name in it, is empty."""
    for field_name in (own, *others):
        name = getattr(record, field_name)
        if not isinstance(name, str) or not name.strip():
            what = type(record).__name__.lower()
            subject = what if field_name == own else f"{what} {getattr(record, own)}: {field_name}"
            raise DataError(subject, "the name is empty", "give it a name")


@dataclass(frozen=True)
class Level:
    """One answer of a criterion: the number in the table and the word people see.

    judges_only: whether the scale was derived from the answers and no person gave this one. It then
    counts as a level only for the judges that gave it, so that the scale does not get wider for
    others.
    """

    value: float
    label: str
    judges_only: bool = field(default=False, compare=False)

    @property
    def shown(self) -> str:
        """The level in messages: `2 Good`, or `2` if the label is only the number."""
        return self.label if self.label == f"{self.value:g}" else f"{self.value:g} {self.label}"


MANY_LABELS = 100
MOST_LEVELS = 11  # of a scale given by its ends; a longer one is a line of scores


def is_free_text(labels: int, answers: int) -> bool:
    """Whether there are too many labels for a scale: more than 1,000, or more than 100 and more
    than a third of the number of answers.
    """
    return labels > 1000 or (labels > MANY_LABELS and 3 * labels > answers)


@dataclass(frozen=True)
class Scale:
    """The answers that a criterion allows, in the order in which its author lists them.

    levels is empty for a continuous score (measure "interval"); class-based figures leave such
    criteria out. low and high are then the ends of the scale, if it has any.
    """

    measure: Measure
    levels: tuple[Level, ...] = ()
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        if self.measure not in MEASURES:
            raise DataError(
                "scale", f"measure {self.measure!r}", f"use one of {', '.join(MEASURES)}"
            )
        if not self.levels and self.measure != "interval":
            raise DataError("scale", f"a {self.measure} scale without levels", "list its levels")
        if len(self.levels) == 1:
            raise DataError("scale", "only one level", "a scale needs two or more")
        values = [level.value for level in self.levels]
        if len(set(values)) != len(values) or not all(map(math.isfinite, values)):
            raise DataError("scale", f"level values {values}", "they must be finite and different")
        labels = [level.label for level in self.levels]
        if len(set(labels)) != len(labels) or not all(labels):
            raise DataError(
                "scale", f"level labels {labels}", "they must be different, and none empty"
            )
        if self.measure != "nominal" and values != sorted(values):
            raise DataError(
                "scale", f"level values {values} do not rise", "list them in rising order"
            )
        self._check_ends()

    def _check_ends(self) -> None:
        """Raise DataError if there is only one end, if there are ends as well as levels, or if the
        ends do not rise.
        """
        if (self.low is None) != (self.high is None) or (self.levels and self.low is not None):
            raise DataError(
                "scale", "a range needs both ends, and no levels", "write range = [1, 5]"
            )
        if self.low is not None and self.high is not None and not self.low < self.high:
            raise DataError(
                "scale", f"range {self.low:g} to {self.high:g}", "write the low end first, e.g. 1-5"
            )

    @classmethod
    def of(cls, text: str) -> Scale:
        """The scale that a text describes: `1-10`, `0-100`, `Bad<Medium<Good`, `0=No,1=Yes`, or
        labels without an order.

        Two whole numbers at most ten apart mean levels; other numbers are the ends of a line of
        scores.

        >>> Scale.of("1-3").values, Scale.of("rude<polite").describe()
        ((1.0, 2.0, 3.0), '0 rude, 1 polite')
        """
        if "<" in text or "=" in text:
            return cls("ordinal", tuple(Level(*pair) for pair in numbered_labels(text)))
        if "," in text:
            labels = [label.strip() for label in text.split(",")]
            return cls(
                "nominal", tuple(Level(float(index), label) for index, label in enumerate(labels))
            )
        low, high = ends_of(text)
        if low.is_integer() and high.is_integer() and 0 < high - low < MOST_LEVELS:
            values = range(int(low), int(high) + 1)
            return cls("ordinal", tuple(Level(float(value), str(value)) for value in values))
        return cls("interval", low=low, high=high)

    def allows(self, score: float) -> bool:
        """Whether this score is on the scale."""
        if self.levels:
            return score in self.values
        if self.low is not None and self.high is not None:
            return self.low <= score <= self.high
        return math.isfinite(score)

    @cached_property
    def values(self) -> tuple[float, ...]:
        """The level values in order; a level's position is its class code in the statistics."""
        return tuple(level.value for level in self.levels)

    @property
    def tie(self) -> int | None:
        """The position of the level that says that neither output is better; None without such a
        level.
        """
        return next(
            (index for index, level in enumerate(self.levels) if level.label.casefold() == "tie"),
            None,
        )

    @property
    def compares(self) -> bool:
        """Whether the answers say which output of a pair is better."""
        answers = [(level.value, level.label.casefold()) for level in self.levels[:2]]
        return answers == [(FIRST, "first"), (SECOND, "second")]

    @property
    def ends(self) -> tuple[float, float] | None:
        """The lowest and the highest score; None for a scale without ends, and for three or more
        unordered levels.
        """
        if self.levels:
            ranked = self.measure != "nominal" or len(self.levels) == 2
            return (min(self.values), max(self.values)) if ranked else None
        return (self.low, self.high) if self.low is not None and self.high is not None else None

    def describe(self) -> str:
        """The scale in messages: `0 Bad, 1 Medium, 2 Good`."""
        if self.low is not None and self.high is not None:
            return f"{self.low:.15g} to {self.high:.15g}"
        if not self.levels:
            return "any number"
        return ", ".join(level.shown for level in self.levels)


# Which of a pair is better.
COMPARED = Scale("nominal", (Level(FIRST, "first"), Level(SECOND, "second"), Level(TIE, "tie")))
BETTER = "Which of the two is better?"  # what is asked of a pair where nothing more is


@dataclass(frozen=True)
class Criterion:
    """What was asked of an output. direction says whether a higher score is better or worse.

    of_source: whether the answer depends on the source, so that a flawless output of another source
    would be bad. called: its name on pages if the data do not name it; judges and forms do not see
    this name.
    """

    name: str
    scale: Scale
    direction: Direction = "higher"
    abbreviation: str = ""
    label: str = ""
    question: str = ""
    of_source: bool = True
    called: str = ""

    def __post_init__(self) -> None:
        _named(self, "name")
        if self.direction not in DIRECTIONS:
            remedy = "say 'higher' or 'lower' (is better)"
            raise DataError(f"criterion {self.name}", f"direction {self.direction!r}", remedy)

    @property
    def title(self) -> str:
        """The criterion's name for readers."""
        return self.label or self.called or self.name

    @property
    def asked_as(self) -> str:
        """The criterion's name for people and judges who rate."""
        return self.label or self.name

    @property
    def short(self) -> str:
        """The name for narrow tables."""
        return self.abbreviation or self.called or self.name

    @property
    def wording(self) -> str:
        """The question to raters; for pairs without a question, which of the two is better."""
        return self.question or (BETTER if self.scale.compares else "")

    def share(self, score: Scores) -> Scores:
        """The position of a score (or an array of scores) on the scale, from 0 for the worst to 1
        for the best.

        Five Likert levels become 0, .25, .5, .75, 1, two classes 0 and 1 (GENIE, footnote 6). NaN
        if the scale has no ends (see Scale.ends).
        """
        if self.scale.ends is None:
            return score * math.nan
        low, high = self.scale.ends
        return (
            (score - low) / (high - low)
            if self.direction == "higher"
            else (high - score) / (high - low)
        )

    def score_at(self, share: float) -> float:
        """The score that is at this share of the scale (see `share`). NaN if the scale has no
        ends.
        """
        if self.scale.ends is None:
            return math.nan
        low, high = self.scale.ends
        return low + (high - low) * (share if self.direction == "higher" else 1 - share)


# A metric's score: one number for all criteria, higher is better; others are negated when they join
# (`negated`).
METRIC_SCORE = Criterion(
    "score", Scale("interval"), label="Score", question="What a metric gives the output."
)


@dataclass(frozen=True)
class Source:
    """An input: a passage, a prompt, an image, or a segment to translate.

    tokens: the number of tokens in its text. content: equal for sources that are translations of
    each other. document: the text of which it is a part; the parts are in the order of the sources.
    domain: the kind of text (news, speech).
    """

    source: str
    language: str
    text: str = ""
    title: str = ""
    references: tuple[str, ...] = ()
    tokens: int | None = None
    content: str = ""
    document: str = ""
    domain: str = ""

    def __post_init__(self) -> None:
        _named(self, "source")


def pair_text(texts: Sequence[str]) -> str:
    """The two texts of a pair as one text, for fields that show only one."""
    return "first:\n{}\n\nsecond:\n{}".format(*texts)


@dataclass(frozen=True)
class Output:
    """A generator's output for a source. note: the generator's own remark about it.

    chosen: whether it is to be rated; other outputs are only kept. flags: what is wrong with it.
    tokens: the number of tokens in its text, if counted. first, second: for a pair, who wrote its
    two outputs. texts: for a pair, these two outputs, from which `text` is made. of: the output
    from which this one was made. condition: how it was made; SWAPPED for a pair shown in reverse
    order.
    """

    output: str
    source: str
    generator: str
    language: str
    text: str = ""
    note: str = ""
    chosen: bool = True
    flags: tuple[str, ...] = ()
    tokens: int | None = None
    first: str = ""
    second: str = ""
    of: str = ""
    condition: str = ""
    texts: tuple[str, ...] = ()

    @property
    def has_text(self) -> bool:
        """Whether it has a text to judge; a text that was removed on purpose counts too."""
        return bool(self.text.strip()) or self.condition == EMPTY

    def __post_init__(self) -> None:
        _named(self, "output", "source", "generator")
        if self.texts:
            if len(self.texts) != 2 or self.text not in ("", pair_text(self.texts)):
                raise DataError(
                    f"output {self.output}",
                    "the texts are not those of the pair's two outputs",
                    "leave `text` out",
                )
            object.__setattr__(self, "text", pair_text(self.texts))

    @property
    def shown(self) -> tuple[str, ...]:
        """The texts to judge, in the order in which they are shown: its text, or the two
        of a pair.
        """
        return (self.texts[::-1] if self.condition == SWAPPED else self.texts) or (self.text,)

    @property
    def is_pair(self) -> bool:
        """Whether it consists of two outputs to compare."""
        return bool(self.texts or self.second)

    @property
    def swapped(self) -> Output:
        """The same pair in reverse order."""
        return replace(self, output=f"{self.output}/{SWAPPED}", of=self.output, condition=SWAPPED)

    @property
    def as_named(self) -> Output:
        """The pair in its own order, if this is the reverse order."""
        return replace(self, output=self.of, of="", condition="")


def with_swapped(outputs: Mapping[str, Output], names: Iterable[str]) -> dict[str, Output]:
    """The outputs, and those among `names` that are a pair in reverse order."""
    pairs = [output for output in outputs.values() if output.is_pair]
    other = (pair.as_named if pair.condition == SWAPPED else pair.swapped for pair in pairs)
    wanted = set(names) - outputs.keys() if pairs else ()
    return {**outputs, **{pair.output: pair for pair in other if pair.output in wanted}}


@dataclass(frozen=True)
class Rater:
    """Someone or something that scores outputs: a person, an LLM judge, a metric, a baseline.

    about: further facts, kept unchanged (model, prompt, family, settings, signature). For a person,
    `assisted_by` may name the judges whose answers this person saw.
    """

    rater: str
    kind: Kind
    group: str = ""
    about: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _named(self, "rater")
        if self.kind not in KINDS:
            raise DataError(
                f"rater {self.rater}", f"kind {self.kind!r}", f"use one of {', '.join(KINDS)}"
            )

    @property
    def assisted_by(self) -> tuple[str, ...]:
        """The judges whose answers a person saw before rating; empty if there are none."""
        names = self.about.get("assisted_by", ())
        return (names,) if isinstance(names, str) else tuple(names)

    @property
    def lasting(self) -> Rater:
        """The rater without facts that may differ between runs.

        These are the prices of a judge, the number of answers of each version, and whose answers a
        person saw, which may be added later.
        """
        passing = ("dollars_per_thousand", "assisted_by")
        facts = {key: value for key, value in self.about.items() if key not in passing}
        return replace(
            self,
            about=facts | ({"versions": set(facts["versions"])} if "versions" in facts else {}),
        )


@dataclass(frozen=True)
class Rating:
    """A rater's answer to a criterion about an output. A missing answer is a rating with a reason,
    never a number.

    also: the values of other levels that would do as well, as `0|2`.
    """

    output: str
    criterion: str
    rater: str
    score: float | None
    reason: str = ""
    comment: str = ""
    confidence: float | None = None
    expected: float | None = None
    also: str = ""

    def __post_init__(self) -> None:
        missing = self.score is None or math.isnan(self.score)
        if missing and not self.reason:
            rating = f"rating of {self.output} by {self.rater}"
            raise DataError(rating, "neither a score nor a reason", "say why there is no answer")


@dataclass(frozen=True)
class Estimate:
    """A figure with its uncertainty.

    value, low, high: None if undefined, with the reason in `reason`. n: the number of items from
    which it is computed. dropped: items left out, by reason. method: how the interval is computed.
    caveats: what a reader should know.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    _: KW_ONLY
    n: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    method: str = ""
    caveats: tuple[str, ...] = ()
    reason: str = ""

    def __post_init__(self) -> None:
        if self.value is None and not self.reason:
            raise DataError("estimate", "no value and no reason", "say why it is undefined")
        if self.value is not None and math.isnan(self.value):
            raise DataError(
                "estimate", "NaN is not a value", "build it with Estimate.undefined(reason)"
            )

    @classmethod
    def undefined(
        cls, reason: str, n: int = 0, dropped: Mapping[str, int] | None = None
    ) -> Estimate:
        """A figure that has no value here, with the reason."""
        return cls(None, n=n, dropped=dropped or {}, reason=reason)


@dataclass(frozen=True)
class Manifest:
    """run.toml: everything needed to repeat a run."""

    command: str
    metal: str
    datasets: tuple[Mapping[str, Any], ...]
    settings: Mapping[str, Any]
    libraries: Mapping[str, str]
    raters: tuple[str, ...] = ()
    signature: str = ""
    criteria: Mapping[str, Any] = field(default_factory=dict)  # as dataset.toml declares them

    def to_dict(self) -> dict[str, Any]:
        """Plain values, in the order of run.toml."""
        return {
            "command": self.command,
            "metal": self.metal,
            "signature": self.signature,
            "raters": list(self.raters),
            "settings": dict(self.settings),
            "libraries": dict(self.libraries),
            "datasets": list(map(dict, self.datasets)),
        } | ({"criteria": dict(self.criteria)} if self.criteria else {})
